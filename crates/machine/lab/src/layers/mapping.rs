//! Device-mapper devices with a name and UUID of the lab, so that a later release finds exactly
//! these.

use std::path::PathBuf;

use treering_sys::{DeviceMapper, Errno, MapperTarget};

use super::recorded_device::RecordedDevice;
use super::removal::{free_mapping, name, uuid};
use crate::device::{MappedDevices, MemberDevice};
use crate::machine::DeviceNumber;
use crate::register::{ResourceKind, mapped_line};
use crate::{Lab, LabError};

/// Unit of device-mapper tables, in bytes.
pub(super) const SECTOR: u64 = 512;

/// Mapped devices of a layer; each may be on earlier ones. Dropping removes the last one first.
#[derive(Debug, Default)]
pub(super) struct MappingStack {
    mappings: Vec<RecordedDevice>,
    /// Number of devices, at the end of the list, for use by the next layer or the filesystem.
    pub(super) tops: usize,
}

impl MappingStack {
    /// Makes one more device.
    pub(super) fn push(
        &mut self,
        lab: &Lab,
        table: &[MapperTarget],
    ) -> Result<&RecordedDevice, LabError> {
        self.mappings.push(mapped_device(lab, table)?);
        Ok(&self.mappings[self.mappings.len() - 1])
    }
}

impl MappedDevices for MappingStack {
    fn members(&self) -> Vec<MemberDevice> {
        let inner = self.mappings.len().saturating_sub(self.tops);
        self.mappings.iter().skip(inner).map(|mapping| mapping.member.clone()).collect()
    }

    fn forget(&self) -> Result<(), LabError> {
        self.mappings.iter().try_for_each(RecordedDevice::forget)
    }

    fn release(mut self: Box<Self>) -> Result<(), LabError> {
        while let Some(mut mapping) = self.mappings.pop() {
            mapping.free()?;
        }
        Ok(())
    }
}

impl Drop for MappingStack {
    fn drop(&mut self) {
        while self.mappings.pop().is_some() {}
    }
}

/// Makes a device with this table, which must cover the device without gaps.
fn mapped_device(lab: &Lab, table: &[MapperTarget]) -> Result<RecordedDevice, LabError> {
    let kind = table.first().map(|target| target.kind).unwrap_or_default();
    let failed = |action: &'static str| {
        move |errno: Errno| LabError::io(action, format!("a {kind} device"))(errno.into())
    };
    let mapper = DeviceMapper::open().map_err(failed("cannot make"))?;
    let target = kind.to_owned();
    let mut record =
        lab.register.record(&lab.machine, |_| ResourceKind::Mapping { target, number: None })?;
    let (name, uuid) = (name(record.id()), uuid(record.id()));
    let number = match mapper.create(&name, &uuid) {
        Ok(number) => DeviceNumber::from_stat(number),
        Err(errno) => {
            record.remove()?;
            return Err(failed("cannot make")(errno));
        }
    };
    record.append(&mapped_line(number))?;
    let node = PathBuf::from(format!("/dev/dm-{}", number.minor));
    let member = MemberDevice { asked_path: node.clone(), node, number, bytes: 0 };
    let mut mapping = RecordedDevice::new(&lab.machine, member, record, |machine, record, own| {
        free_mapping(machine, record.id(), Some(own.number))
    });
    mapper.load(&uuid, table).map_err(failed("the kernel's log says why it refuses"))?;
    mapper.resume(&uuid).map_err(failed("cannot start"))?;
    mapping.open()?;
    Ok(mapping)
}

/// Sends a message to the target of a mapped device.
pub(super) fn message(mapping: &RecordedDevice, message: &str) -> Result<(), LabError> {
    let Some(record) = mapping.record() else { return Ok(()) };
    let sent = DeviceMapper::open().and_then(|it| it.message(&uuid(record.id()), message));
    sent.map_err(|errno| LabError::io("cannot set up", &mapping.member.node)(errno.into()))
}

//! Devices that are made of several disks: of the devices below, or of the parts of a single one.

use super::mapping::{MappingStack, SECTOR};
use super::recorded_device::RecordedDevice;
use super::targets::linear;
use crate::device::{MappedDevices, MemberDevice};
use crate::error::unfit;
use crate::{Lab, LabError};

/// Unit of the parts of a device that is cut, in bytes.
const PART_UNIT: u64 = 1 << 20;

/// Cuts a device into parts whose sizes are in these proportions.
pub(super) fn cut(
    lab: &Lab,
    whole: &MemberDevice,
    shares: &[u64],
) -> Result<MappingStack, LabError> {
    let mut parts = MappingStack::default();
    let mut from = 0;
    for share in shares {
        let bytes = whole.bytes / shares.iter().sum::<u64>() * share / PART_UNIT * PART_UNIT;
        if bytes == 0 {
            let count = shares.len();
            return Err(unfit(format!("the device is too small to be cut into {count} disks")));
        }
        let sectors = bytes / SECTOR;
        parts.push(lab, &linear(std::slice::from_ref(whole), from, sectors))?;
        from += sectors;
    }
    parts.tops = shares.len();
    Ok(parts)
}

/// A device, and the parts that it stands on; none if it stands on whole devices.
#[derive(Debug)]
pub(super) struct DeviceOverParts {
    // Fields are dropped in this order: the device first.
    pub(super) device: RecordedDevice,
    pub(super) parts: MappingStack,
}

impl MappedDevices for DeviceOverParts {
    fn members(&self) -> Vec<MemberDevice> {
        vec![self.device.member.clone()]
    }

    fn forget(&self) -> Result<(), LabError> {
        self.device.forget()?;
        self.parts.forget()
    }

    fn release(self: Box<Self>) -> Result<(), LabError> {
        let Self { mut device, parts } = *self;
        device.free()?;
        Box::new(parts).release()
    }
}

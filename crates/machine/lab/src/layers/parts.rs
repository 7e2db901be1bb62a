//! Disks for layers that need several: the devices below, or the parts of a single device.

use super::mapping::{MappingStack, SECTOR};
use super::recorded_device::RecordedDevice;
use super::targets::linear;
use crate::device::{MappedDevices, MemberDevice};
use crate::error::unfit;
use crate::{Lab, LabError};

/// Granularity in bytes of the parts into which a device is cut.
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

/// A device, and the parts below it; no parts if it is on whole devices.
#[derive(Debug)]
pub(super) struct DeviceOverParts {
    // Drop order matters: the device is dropped before its parts.
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

//! Device that a layer made in the kernel, with the record by which it is ended: a mapped device, an
//! array or a cache.

use std::fs::File;

use treering_sys::{Errno, device_bytes, flush_buffers};

use super::mapping::open_node;
use crate::LabError;
use crate::device::MemberDevice;
use crate::machine::{KernelMounts, block_number};
use crate::register::OwnedRecord;

/// Ends a device of the kernel, as its record and its own facts name it.
type EndDevice = fn(&KernelMounts, &OwnedRecord, &MemberDevice) -> Result<(), LabError>;

/// Device of a layer. Dropping ends it.
#[derive(Debug)]
pub(super) struct RecordedDevice {
    machine: KernelMounts,
    pub(super) member: MemberDevice,
    /// Record of the device; `None` after its end.
    record: Option<OwnedRecord>,
    /// Open descriptor of the device; `None` until it is started, and while it is ended.
    device: Option<File>,
    end: EndDevice,
}

impl RecordedDevice {
    /// Device that is being made: from here on it is ended, also when it does not start.
    pub(super) fn new(
        machine: &KernelMounts,
        member: MemberDevice,
        record: OwnedRecord,
        end: EndDevice,
    ) -> Self {
        Self { machine: machine.clone(), member, record: Some(record), device: None, end }
    }

    /// Record of the device; `None` after its end.
    pub(super) fn record(&self) -> Option<&OwnedRecord> {
        self.record.as_ref()
    }

    /// Opens the node of the device that was started, and reads its size and number.
    pub(super) fn open(&mut self) -> Result<(), LabError> {
        let device = open_node(&self.member.node)?;
        let failed = LabError::io("cannot look at", &self.member.node);
        let bytes = device_bytes(&device).map_err(|errno: Errno| failed(errno.into()))?;
        self.member.bytes = bytes;
        self.member.number = block_number(&self.member.node).unwrap_or(self.member.number);
        self.device = Some(device);
        Ok(())
    }

    /// Writes back and drops the kernel's buffers of the device.
    pub(super) fn forget(&self) -> Result<(), LabError> {
        let Some(device) = &self.device else { return Ok(()) };
        let failed = LabError::io("cannot flush", &self.member.node);
        flush_buffers(device).map_err(|errno| failed(errno.into()))
    }

    /// Ends the device and removes its record.
    pub(super) fn free(&mut self) -> Result<(), LabError> {
        self.device = None;
        let Some(record) = self.record.take() else { return Ok(()) };
        (self.end)(&self.machine, &record, &self.member)?;
        record.remove()
    }
}

impl Drop for RecordedDevice {
    fn drop(&mut self) {
        // A device that is in use stays in the register.
        let _in_the_register = self.free();
    }
}

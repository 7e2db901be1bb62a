//! Kernel device of a layer (a mapped device, an array or a cache), with the record that is used to
//! remove it.

use std::fs::File;
use std::path::Path;
use std::thread::sleep;
use std::time::Duration;

use treering_sys::{DeviceOpenMode, Errno, device_bytes, flush_buffers, open_device};

use crate::LabError;
use crate::device::MemberDevice;
use crate::machine::{KernelMounts, block_number};
use crate::register::OwnedRecord;

/// Longest wait for the node of a new device.
const PATIENCE: Duration = Duration::from_secs(5);
const STEP: Duration = Duration::from_millis(20);

/// Function that removes a kernel device, identified by its record and its properties.
type EndDevice = fn(&KernelMounts, &OwnedRecord, &MemberDevice) -> Result<(), LabError>;

/// Kernel device of a layer. Dropping removes it.
#[derive(Debug)]
pub(super) struct RecordedDevice {
    machine: KernelMounts,
    pub(super) member: MemberDevice,
    /// Record of the device; `None` after its removal.
    record: Option<OwnedRecord>,
    /// Open descriptor of the device; `None` before its start and during its removal.
    device: Option<File>,
    end: EndDevice,
}

impl RecordedDevice {
    /// Takes charge of a device that is about to be made, so that it is removed even if its start
    /// fails.
    pub(super) fn new(
        machine: &KernelMounts,
        member: MemberDevice,
        record: OwnedRecord,
        end: EndDevice,
    ) -> Self {
        Self { machine: machine.clone(), member, record: Some(record), device: None, end }
    }

    /// Record of the device; `None` after its removal.
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

    /// Removes the device and its record.
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

/// Opens the node of a new device, waiting for it.
pub(super) fn open_node(node: &Path) -> Result<File, LabError> {
    let mut waited = Duration::ZERO;
    loop {
        match open_device(node, DeviceOpenMode::Look) {
            Err(Errno::NOENT) if waited < PATIENCE => {
                sleep(STEP);
                waited += STEP;
            }
            opened => return opened.map_err(|e| LabError::io("cannot open", node)(e.into())),
        }
    }
}

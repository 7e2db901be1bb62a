//! Removes mapped devices by the UUID that the lab gave them, and only if the device number is the
//! recorded one.

use std::thread::sleep;
use std::time::Duration;

use treering_sys::{DeviceMapper, Errno};

use crate::machine::{DeviceNumber, KernelMounts};
use crate::register::RecordId;
use crate::{DeviceError, LabError};

/// Longest wait for a program that has a mapped device open for a moment.
const PATIENCE: Duration = Duration::from_secs(5);
const STEP: Duration = Duration::from_millis(20);

/// Removes the mapped device of a record. A missing device is no error.
pub(crate) fn free_mapping(
    machine: &KernelMounts,
    id: &RecordId,
    number: Option<DeviceNumber>,
) -> Result<(), LabError> {
    let (name, uuid) = (name(id), uuid(id));
    let failed =
        |errno: Errno| LabError::io("cannot remove the mapped device", &name)(errno.into());
    let mapper = match DeviceMapper::open() {
        // Without the driver the device cannot exist.
        Err(Errno::NOENT | Errno::NODEV | Errno::NXIO) => return Ok(()),
        opened => opened.map_err(failed)?,
    };
    let mut waited = Duration::ZERO;
    loop {
        let Some(status) = mapper.status(&uuid).map_err(failed)? else { return Ok(()) };
        let present = DeviceNumber::from_stat(status.device);
        if number.is_some_and(|number| number != present) {
            let why = format!("its number is {present}, another than it was made with");
            return Err(DeviceError::NotOurs { what: name, why }.into());
        }
        match mapper.remove(&uuid) {
            Ok(()) | Err(Errno::NXIO) => return Ok(()),
            Err(Errno::BUSY) if waited < PATIENCE => {}
            Err(Errno::BUSY) => {
                let by = users(machine, present);
                return Err(DeviceError::StillUsed { what: name, by }.into());
            }
            Err(errno) => return Err(failed(errno)),
        }
        sleep(STEP);
        waited += STEP;
    }
}

/// Devices that are built on this one.
fn users(machine: &KernelMounts, number: DeviceNumber) -> Vec<String> {
    let folder = machine.block_folder(number).unwrap_or_default();
    let holders = crate::machine::names(&folder.join("holders"));
    if holders.is_empty() { vec!["a program that has it open".to_owned()] } else { holders }
}

/// Name of the mapped device of a record.
pub(super) fn name(id: &RecordId) -> String {
    format!("treering-{}", id.as_str())
}

/// UUID of the mapped device of a record.
pub(super) fn uuid(id: &RecordId) -> String {
    format!("TREERING-{}", id.as_str())
}

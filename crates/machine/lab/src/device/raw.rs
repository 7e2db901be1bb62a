//! Inspects and locks block devices, before formatting or for runs that write to the raw device.

use std::fs::File;
use std::path::PathBuf;

use crate::error::unfit;
use crate::guard::{EraseList, Inspection, inspect_on};
use crate::lab::Lab;
use crate::{DeviceError, LabError};

/// Inspects and locks devices, before any of them is changed.
pub(super) fn inspected(
    paths: &[PathBuf],
    erasing: &EraseList,
    lab: &Lab,
) -> Result<Vec<(Inspection, File)>, LabError> {
    let mut taken: Vec<(Inspection, File)> = Vec::new();
    for path in paths {
        let inspection = inspect_on(&lab.machine, path)?;
        if let Some((twin, _)) = taken.iter().find(|(i, _)| i.number == inspection.number) {
            let (first, second) = (twin.asked_path.display(), path.display());
            return Err(unfit(format!("{first} and {second} are the same device")));
        }
        let may_erase = erasing.names(&inspection.resolved);
        let refused = inspection.is_in_use() || (!inspection.obstacles.is_empty() && !may_erase);
        if refused {
            return Err(DeviceError::Refused(inspection).into());
        }
        let lock = lab.register.take_device(inspection.number, &inspection.resolved)?;
        taken.push((inspection, lock));
    }
    Ok(taken)
}

/// Devices that a run writes without a filesystem, locked against other runs.
#[derive(Debug)]
pub struct RawDevices {
    _locks: Vec<File>,
}

impl RawDevices {
    /// Acquires unused block devices that are empty or named with `--erase`.
    ///
    /// # Errors
    /// When the guard refuses a device, or another run holds it.
    pub fn take(paths: &[PathBuf], erasing: &EraseList, lab: &Lab) -> Result<Self, LabError> {
        let taken = inspected(paths, erasing, lab)?;
        Ok(Self { _locks: taken.into_iter().map(|(_, lock)| lock).collect() })
    }
}

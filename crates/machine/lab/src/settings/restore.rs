//! Restores the old values of settings, at the end of a trial and for a killed run.

use std::fs;

use super::attribute::{Attribute, is_companion, is_setting, priority};
use crate::machine::KernelMounts;
use crate::register::SettingChange;
use crate::{DeviceError, LabError};

/// False if the register must keep the record, since a later attempt may succeed.
pub(crate) fn is_final(restored: &Result<(), LabError>) -> bool {
    matches!(restored, Ok(()) | Err(LabError::Device(DeviceError::NotOurs { .. })))
}

/// Restores the old values, first of attributes with side effects on others.
pub(crate) fn put_back(
    machine: &KernelMounts,
    mut changes: Vec<SettingChange>,
) -> Result<(), LabError> {
    changes.sort_by_key(|change| priority(&change.path));
    let mut outcome = Ok(());
    // Set once a value is written, since that may have changed companion attributes.
    let mut is_touched = false;
    for change in changes {
        let restored = put_back_one(machine, &change, is_touched);
        is_touched |= matches!(restored, Ok(true));
        if let Err(error) = restored
            && (outcome.is_ok() || is_final(&outcome))
        {
            outcome = Err(error);
        }
    }
    outcome
}

/// Restores one value; true if it had to be written.
fn put_back_one(
    machine: &KernelMounts,
    change: &SettingChange,
    is_touched: bool,
) -> Result<bool, LabError> {
    let path = &change.path;
    if fs::symlink_metadata(path).is_err() {
        // The device or filesystem is gone, with its settings.
        return Ok(false);
    }
    if !is_setting(path, machine) {
        let (what, why) = (path.display().to_string(), "it is no kernel setting".to_owned());
        return Err(DeviceError::NotOurs { what, why }.into());
    }
    let attribute = Attribute::new(path);
    let current = attribute.read()?;
    if current == change.before {
        return Ok(false);
    }
    let is_ours = match &change.after {
        Some(after) => current == *after || (is_touched && is_companion(path)),
        // The run was killed before the new value was recorded.
        None => true,
    };
    if !is_ours {
        let why = format!("it is {current} now, which treering did not set");
        return Err(DeviceError::NotOurs { what: path.display().to_string(), why }.into());
    }
    attribute.restore(&change.before)?;
    Ok(true)
}

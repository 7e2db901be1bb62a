//! Applies the limits of a variant by a control group with this process and all processes that it
//! starts.
//!
//! The group is recorded before it is made, so that `lab release` removes it after a kill.

use std::fs::DirBuilder;
use std::path::PathBuf;

use treering_model::LimitSettings;

use super::control_group::{
    CHILD_CONTROLLERS, PROCESSES, check_limits, free_group, has_word, identity, name, own_group,
    root, write,
};
use crate::lab::Lab;
use crate::machine::{DeviceNumber, KernelMounts};
use crate::register::{
    OwnedRecord, RecordId, RecordedGroup, ResourceKind, controller_line, file_line,
};
use crate::{DeviceError, LabError};

/// The group of a trial, with this process in it. Dropping leaves and removes the group; on failure
/// it stays in the register.
#[derive(Debug)]
pub(crate) struct ControlGroup {
    machine: KernelMounts,
    /// Former group of this process.
    home: PathBuf,
    record: Option<OwnedRecord>,
}

impl ControlGroup {
    /// Makes a group with these limits, of which I/O limits apply to these devices, and moves this
    /// process into it.
    ///
    /// # Errors
    /// When the kernel refuses the group or a limit.
    pub(crate) fn enter(
        limits: &LimitSettings,
        devices: &[DeviceNumber],
        lab: &Lab,
    ) -> Result<Self, LabError> {
        let machine = lab.machine.clone();
        check_limits(limits, &machine)?;
        let (root, home) = root(&machine).zip(own_group(&machine)).ok_or_else(|| {
            DeviceError::Unfit("control groups of version 2 are not mounted here".to_owned())
        })?;
        let group = |id: &RecordId| RecordedGroup {
            folder: root.join(name(id)),
            file: None,
            enabled: Vec::new(),
        };
        let mut record = lab.register.record(&machine, |id| ResourceKind::Group(group(id)))?;
        let folder = root.join(name(record.id()));
        let made = (|| {
            for controller in limits.controllers() {
                if !has_word(&root.join(CHILD_CONTROLLERS), controller) {
                    record.append(&controller_line(controller))?;
                    write(&root.join(CHILD_CONTROLLERS), &format!("+{controller}"))?;
                }
            }
            DirBuilder::new().create(&folder).map_err(LabError::io("cannot make", &folder))?;
            record.append(&file_line(identity(&folder)?))?;
            for (file, value) in limit_files(limits, devices) {
                write(&folder.join(file), &value)?;
            }
            write(&folder.join(PROCESSES), &std::process::id().to_string())
        })();
        let entered = Self { machine, home, record: Some(record) };
        // On failure, dropping `entered` removes the group.
        made.map(|()| entered)
    }

    /// Moves this process back to its former group; processes that it has started stay in the
    /// group.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub(crate) fn leave(&mut self) -> Result<(), LabError> {
        write(&self.home.join(PROCESSES), &std::process::id().to_string())
    }

    /// Removes the group after this process has left it.
    ///
    /// # Errors
    /// When processes are still in the group; it then stays in the register.
    pub(crate) fn remove(mut self) -> Result<(), LabError> {
        self.finish()
    }

    fn finish(&mut self) -> Result<(), LabError> {
        let Some(record) = self.record.take() else { return Ok(()) };
        let ResourceKind::Group(group) = record.facts()?.kind else { return record.remove() };
        free_group(&self.machine, record.id(), &group)?;
        record.remove()
    }
}

impl Drop for ControlGroup {
    fn drop(&mut self) {
        if self.record.is_some() {
            let _stays_in_the_register = self.leave().and_then(|()| self.finish());
        }
    }
}

/// Files of a group, each with the limit to write.
fn limit_files(limits: &LimitSettings, devices: &[DeviceNumber]) -> Vec<(&'static str, String)> {
    /// Period of the CPU limit, in microseconds.
    const PERIOD_US: u64 = 100_000;
    let mut files = Vec::new();
    if let Some(bytes) = limits.memory_bytes {
        files.push(("memory.max", bytes.to_string()));
    }
    if let Some(percent) = limits.cpu_percent {
        let quota_us = u64::from(percent) * PERIOD_US / 100;
        files.push(("cpu.max", format!("{quota_us} {PERIOD_US}")));
    }
    let rates = [("rbps", limits.io_read_bytes), ("wbps", limits.io_write_bytes)];
    let rates: Vec<String> =
        rates.into_iter().filter_map(|(name, bytes)| Some(format!("{name}={}", bytes?))).collect();
    if !rates.is_empty() {
        let of_device = |device| ("io.max", format!("{device} {}", rates.join(" ")));
        files.extend(devices.iter().map(of_device));
    }
    files
}

#[cfg(test)]
mod tests {
    use super::{ControlGroup, PROCESSES, limit_files, own_group, root};
    use crate::Lab;
    use crate::machine::DeviceNumber;
    use std::fs;
    use std::path::Path;
    use treering_model::LimitSettings;

    const ALL: LimitSettings = LimitSettings {
        memory_bytes: Some(512 << 20),
        cpu_percent: Some(150),
        io_read_bytes: Some(10 << 20),
        io_write_bytes: None,
    };

    #[test]
    fn limits_are_written_in_the_format_of_the_kernel() {
        let devices = [7, 8].map(|minor| DeviceNumber { major: 253, minor });
        let files = limit_files(&ALL, &devices);
        let expected = [
            ("memory.max", "536870912"),
            ("cpu.max", "150000 100000"),
            ("io.max", "253:7 rbps=10485760"),
            ("io.max", "253:8 rbps=10485760"),
        ];
        assert_eq!(files, expected.map(|(file, value)| (file, value.to_owned())));
        assert!(limit_files(&LimitSettings::default(), &devices).is_empty());
    }

    /// Lab on this machine, if the user is root and control groups of version 2 are usable.
    #[expect(clippy::disallowed_macros, reason = "a test that must be skipped says so")]
    fn real_lab(top: &Path) -> Option<Lab> {
        let lab = Lab::open(&top.join("register")).unwrap();
        if !treering_sys::is_root() || root(&lab.machine).is_none() {
            println!("skipped: control groups of version 2 and root are needed");
            return None;
        }
        Some(lab)
    }

    #[test]
    fn the_group_of_a_trial_holds_this_process_until_it_is_removed() {
        let top = tempfile::tempdir().unwrap();
        let Some(lab) = real_lab(top.path()) else { return };
        let home = own_group(&lab.machine).unwrap();
        let mut group = ControlGroup::enter(&LimitSettings::default(), &[], &lab).unwrap();
        let inside = own_group(&lab.machine).unwrap();
        assert_ne!(inside, home);
        let left = lab.list().unwrap();
        let words = left[0].kind.to_string();
        assert!(words.contains(&inside.display().to_string()), "{words}");
        group.leave().unwrap();
        assert_eq!(own_group(&lab.machine).unwrap(), home);
        group.remove().unwrap();
        assert!(!inside.exists() && lab.list().unwrap().is_empty());

        let group = ControlGroup::enter(&LimitSettings::default(), &[], &lab).unwrap();
        let inside = own_group(&lab.machine).unwrap();
        drop(group);
        assert!(!inside.exists() && own_group(&lab.machine).unwrap() == home);

        // Simulates a kill, which closes the record, runs no destructor, and leaves no process in
        // the group.
        let mut group = ControlGroup::enter(&LimitSettings::default(), &[], &lab).unwrap();
        let inside = own_group(&lab.machine).unwrap();
        let pid = std::process::id().to_string();
        fs::write(home.join(PROCESSES), pid).unwrap();
        drop(group.record.take());
        drop(group);
        assert!(inside.exists());
        let left = lab.list().unwrap();
        assert!(lab.release(left)[0].1.is_ok());
        assert!(!inside.exists() && lab.list().unwrap().is_empty());
    }
}

//! Kernel settings of a variant: sysctls and sysfs attributes that are written for a trial and
//! restored afterwards, even after a kill.
//!
//! Each old value is recorded before the new one is written. An old value is restored only if the
//! attribute still has the value that treering wrote.

mod attribute;
pub(crate) mod cleanup;
mod commands;
pub(crate) mod control_group;
mod in_force;
mod limited;
pub(crate) mod restore;

use std::path::{Path, PathBuf};

use crate::machine::KernelMounts;
use crate::register::{
    LabRegister, OwnedRecord, ResourceKind, SettingChange, changed_line, setting_line,
};
use crate::{DeviceError, LabError};
use restore::{is_final, put_back};

use attribute::{Attribute, FilesystemFolders, SettingTarget, companions, priority};
pub use in_force::SettingsInForce;
pub(crate) use in_force::{impossible_attribute, impossible_sysctl, refused_attribute};

/// Applied settings. Dropping restores the old values; those that cannot be restored stay in the
/// register.
#[derive(Debug)]
pub(crate) struct AppliedSettings {
    machine: KernelMounts,
    record: Option<OwnedRecord>,
    changes: Vec<SettingChange>,
}

impl AppliedSettings {
    /// Empty set of applied settings for a lab.
    pub(crate) fn new(lab: &crate::Lab) -> Self {
        Self { machine: lab.machine.clone(), record: None, changes: Vec::new() }
    }

    /// Writes these settings, as (name, value), for the target.
    ///
    /// # Errors
    /// When a setting does not exist, is refused by the kernel, or does not keep its value.
    pub(crate) fn apply(
        &mut self,
        settings: &[(String, String)],
        target: &SettingTarget<'_>,
        lab: &crate::Lab,
    ) -> Result<(), LabError> {
        let mut requests: Vec<(PathBuf, &str)> = Vec::new();
        for (name, value) in settings {
            let paths = target.paths(name, &self.machine)?;
            requests.extend(paths.into_iter().map(|path| (path, value.as_str())));
        }
        // Writing some attributes changes others, which are therefore written afterwards.
        requests.sort_by_key(|(path, _)| priority(path));
        for (path, value) in requests {
            self.write(&path, value, &lab.register)?;
        }
        Ok(())
    }

    fn write(&mut self, path: &Path, value: &str, register: &LabRegister) -> Result<(), LabError> {
        let attribute = Attribute::new(path);
        let mut befores = vec![(path.to_owned(), attribute.read()?)];
        for companion in companions(path) {
            // Companions that cannot be read are skipped, since the kernel does not change them
            // either.
            if let Ok(before) = Attribute::new(&companion).read() {
                befores.push((companion, before));
            }
        }
        befores.retain(|(path, _)| !self.changes.iter().any(|change| change.path == *path));
        let record = match &mut self.record {
            Some(record) => record,
            vacant => vacant.insert(
                register
                    .record(&self.machine, |_| ResourceKind::Settings { changes: Vec::new() })?,
            ),
        };
        for (path, before) in befores {
            record.append(&setting_line(&path, &before))?;
            self.changes.push(SettingChange { path, before, after: None });
        }
        attribute.write(value)?;
        let read_back = attribute.read()?;
        // Companions changed by the kernel count as changed by treering.
        for change in &mut self.changes {
            let current = Attribute::new(&change.path).read().ok();
            if current != change.after && current.as_ref() != Some(&change.before) {
                if let Some(current) = &current {
                    record.append(&changed_line(&change.path, current))?;
                }
                change.after = current;
            }
        }
        if !attribute::is_same_value(&read_back, value) {
            let why = format!("the kernel keeps {read_back}");
            let (path, value) = (path.to_owned(), value.to_owned());
            return Err(DeviceError::Setting { path, value, why }.into());
        }
        Ok(())
    }

    /// Restores the old values.
    ///
    /// # Errors
    /// When the kernel refuses an old value, or another program has changed a setting, which then
    /// keeps its value.
    pub(crate) fn put_back(&mut self) -> Result<(), LabError> {
        let changes = std::mem::take(&mut self.changes);
        let restored = put_back(&self.machine, changes);
        if is_final(&restored)
            && let Some(record) = self.record.take()
        {
            record.remove()?;
        }
        restored
    }
}

impl Drop for AppliedSettings {
    fn drop(&mut self) {
        let _stays_in_the_register = self.put_back();
    }
}

#[cfg(test)]
mod tests {
    use super::{AppliedSettings, SettingTarget};
    use crate::{DeviceError, Lab, LabError};
    use std::fs;
    use std::path::{Path, PathBuf};

    /// A lab whose /proc and /sys are folders of ordinary files.
    fn lab(top: &Path) -> Lab {
        for (name, value) in [
            ("proc/sys/vm/dirty_ratio", "20\n"),
            ("proc/sys/vm/dirty_bytes", "0\n"),
            ("proc/sys/vm/swappiness", "60\n"),
            ("sys/block/sdz/queue/scheduler", "[none] mq-deadline\n"),
            ("sys/block/sdz/queue/read_ahead_kb", "128\n"),
            ("sys/block/sdz/sdz1/partition", "1\n"),
        ] {
            let path = top.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, value).unwrap();
        }
        let mut lab = Lab::open(&top.join("register")).unwrap();
        lab.machine.proc = top.join("proc");
        lab.machine.sys = top.join("sys");
        lab
    }

    fn pairs(settings: &[(&str, &str)]) -> Vec<(String, String)> {
        settings.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    fn sysctl(top: &Path, name: &str) -> String {
        fs::read_to_string(top.join("proc/sys").join(name)).unwrap().trim().to_owned()
    }

    #[test]
    fn sysctls_are_written_and_put_back() {
        let top = tempfile::tempdir().unwrap();
        let lab = lab(top.path());
        let mut settings = AppliedSettings::new(&lab);
        let wanted = pairs(&[("vm.swappiness", "1"), ("vm.dirty_ratio", "5")]);
        settings.apply(&wanted, &SettingTarget::Machine, &lab).unwrap();
        assert_eq!(sysctl(top.path(), "vm/swappiness"), "1");
        assert_eq!(lab.list().unwrap().len(), 1);
        settings.put_back().unwrap();
        assert_eq!(sysctl(top.path(), "vm/swappiness"), "60");
        assert_eq!(sysctl(top.path(), "vm/dirty_ratio"), "20");
        assert!(lab.list().unwrap().is_empty());
    }

    #[test]
    fn settings_of_a_killed_run_are_put_back_by_a_release() {
        let top = tempfile::tempdir().unwrap();
        let lab = lab(top.path());
        let mut settings = AppliedSettings::new(&lab);
        settings.apply(&pairs(&[("vm.swappiness", "1")]), &SettingTarget::Machine, &lab).unwrap();
        // Simulates a kill, which closes the record and runs no destructor.
        let record = settings.record.take();
        settings.changes.clear();
        drop((record, settings));
        assert_eq!(sysctl(top.path(), "vm/swappiness"), "1");
        let left = lab.list().unwrap();
        assert!(left[0].kind.to_string().contains("vm/swappiness"), "{}", left[0].kind);
        assert!(lab.release(left)[0].1.is_ok());
        assert_eq!(sysctl(top.path(), "vm/swappiness"), "60");
        assert!(lab.list().unwrap().is_empty());
    }

    #[test]
    fn settings_changed_by_others_are_not_restored() {
        let top = tempfile::tempdir().unwrap();
        let lab = lab(top.path());
        let mut settings = AppliedSettings::new(&lab);
        settings.apply(&pairs(&[("vm.swappiness", "1")]), &SettingTarget::Machine, &lab).unwrap();
        fs::write(top.path().join("proc/sys/vm/swappiness"), "33\n").unwrap();
        let refused = settings.put_back();
        assert!(matches!(refused, Err(LabError::Device(DeviceError::NotOurs { .. }))));
        assert_eq!(sysctl(top.path(), "vm/swappiness"), "33");
        assert!(lab.list().unwrap().is_empty());
    }

    #[test]
    fn invalid_setting_names_are_refused() {
        let top = tempfile::tempdir().unwrap();
        let lab = lab(top.path());
        for name in ["vm.nothing", "../../etc/passwd", "vm", "", "vm..x", "/etc/passwd"] {
            let mut settings = AppliedSettings::new(&lab);
            let refused = settings.apply(&pairs(&[(name, "1")]), &SettingTarget::Machine, &lab);
            let Err(LabError::Device(DeviceError::Setting { .. })) = refused else {
                panic!("{name}: {refused:?}")
            };
        }
        let folders = [PathBuf::from("/sys/block/none")];
        let target = SettingTarget::Device { folders: &folders };
        for name in ["../x", "/etc/passwd", "queue/../../x", "/sys/../etc/passwd"] {
            let mut settings = AppliedSettings::new(&lab);
            let refused = settings.apply(&pairs(&[(name, "1")]), &target, &lab);
            assert!(
                matches!(refused, Err(LabError::Device(DeviceError::Setting { .. }))),
                "{name}"
            );
        }
    }

    #[test]
    fn a_partition_has_the_queue_of_its_disk() {
        let top = tempfile::tempdir().unwrap();
        let lab = lab(top.path());
        let folders = [top.path().join("sys/block/sdz/sdz1")];
        let mut settings = AppliedSettings::new(&lab);
        let target = SettingTarget::Device { folders: &folders };
        settings.apply(&pairs(&[("queue/read_ahead_kb", "16")]), &target, &lab).unwrap();
        let file = top.path().join("sys/block/sdz/queue/read_ahead_kb");
        assert_eq!(fs::read_to_string(&file).unwrap(), "16");
        settings.put_back().unwrap();
        assert_eq!(fs::read_to_string(&file).unwrap(), "128");
    }
}

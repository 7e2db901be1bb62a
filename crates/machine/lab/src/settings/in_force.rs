//! Applies a variant's settings and commands for one trial: settings of the machine and of the
//! devices before mkfs, settings of the filesystem after the mount, then the prepare command.
//! Undoes everything in reverse order.

use std::path::{Path, PathBuf};

use treering_model::{DeviceSpec, Variant, VariantSettings};

use super::attribute::Attribute;
use super::commands::{PreparedPlace, TrialCommands};
use super::limited::ControlGroup;
use super::{AppliedSettings, FilesystemFolders, SettingTarget};
use crate::machine::{DeviceNumber, block_number};
use crate::{DeviceError, Lab, LabError};

/// Prefixes of sysfs attributes that exist only while the filesystem is mounted.
const MOUNT_PREFIXES: [&str; 2] = ["fs/", "bdi/"];

/// Settings of a variant that are applied for a trial. Dropping undoes them as far as possible.
#[derive(Debug)]
pub struct SettingsInForce {
    group: Option<ControlGroup>,
    prepared: Vec<PreparedPlace>,
    applied: AppliedSettings,
    settings: VariantSettings,
    /// Filesystem type.
    fs_type: String,
    /// Nodes of the devices.
    nodes: Vec<PathBuf>,
    lab: Lab,
}

impl SettingsInForce {
    /// Writes the settings of the machine and of the devices with these nodes, before a filesystem
    /// of this type is mounted on them.
    ///
    /// # Errors
    /// When the kernel does not have a setting, or refuses it.
    pub fn begin(
        settings: &VariantSettings,
        (fs_type, nodes): (&str, Vec<PathBuf>),
        lab: &Lab,
    ) -> Result<Self, LabError> {
        let mut applied = AppliedSettings::new(lab);
        applied.apply(&settings.sysctl, &SettingTarget::Machine, lab)?;
        let (_, of_device) = split(&settings.sysfs);
        let folders = device_folders(&nodes, lab);
        applied.apply(&of_device, &SettingTarget::Device { folders: &folders }, lab)?;
        let (settings, lab, fs_type) = (settings.clone(), lab.clone(), fs_type.to_owned());
        Ok(Self { group: None, prepared: Vec::new(), applied, settings, fs_type, nodes, lab })
    }

    /// Sets the nodes below the filesystem, if there are layers on the devices.
    pub fn layered(&mut self, nodes: Vec<PathBuf>) {
        self.nodes = nodes;
    }

    /// Writes the settings of the mounted filesystem. A remount resets them, so this is called
    /// again after it.
    ///
    /// # Errors
    /// When the kernel does not have a setting, or refuses it.
    pub fn mounted(&mut self) -> Result<(), LabError> {
        let (of_mount, _) = split(&self.settings.sysfs);
        if of_mount.is_empty() {
            return Ok(());
        }
        let folders = filesystem_folders(&self.fs_type, &self.nodes, &self.lab);
        let target = SettingTarget::Filesystem { folders: &folders };
        self.applied.apply(&of_mount, &target, &self.lab)
    }

    /// Runs the prepare commands, first of the variant, then of the job, in the work directory,
    /// which is made if missing. `root` is the mount point.
    ///
    /// # Errors
    /// When a command fails.
    pub fn prepare(
        &mut self,
        variant: &Variant,
        (root, work): (&Path, &Path),
        of_job: (&[String], &[String]),
    ) -> Result<(), LabError> {
        let settings = &self.settings;
        let of_variant = (settings.prepare.as_slice(), settings.cleanup.as_slice());
        for (prepare, cleanup) in [of_variant, of_job] {
            if prepare.is_empty() && cleanup.is_empty() {
                continue;
            }
            std::fs::create_dir_all(work).map_err(LabError::io("cannot make", work))?;
            let mut environment = settings.env.clone();
            environment.extend(trial_variables(variant, &self.nodes, (root, work)));
            let (environment, folder) = (&environment, work);
            let commands = TrialCommands { prepare, cleanup, environment, folder };
            self.prepared.push(PreparedPlace::prepare(commands, &self.lab)?);
        }
        Ok(())
    }

    /// Moves this process into a control group with the limits of the variant, if it has any.
    ///
    /// # Errors
    /// When the kernel refuses the group or a limit.
    pub fn limit(&mut self) -> Result<(), LabError> {
        let limits = &self.settings.limits;
        if limits.is_empty() {
            return Ok(());
        }
        let numbers = self.nodes.iter().filter_map(|node| block_number(node));
        let disks: Vec<DeviceNumber> =
            numbers.map(|number| self.lab.machine.whole_disk(number)).collect();
        self.group = Some(ControlGroup::enter(limits, &disks, &self.lab)?);
        Ok(())
    }

    /// Leaves the control group, runs the cleanup commands, and restores the settings; continues
    /// after errors.
    ///
    /// # Errors
    /// The first error.
    pub fn end(mut self) -> Result<(), LabError> {
        let left = self.group.as_mut().map_or(Ok(()), ControlGroup::leave);
        let mut cleaned = Ok(());
        while let Some(prepared) = self.prepared.pop() {
            let done = prepared.clean_up();
            cleaned = cleaned.and(done);
        }
        // The group goes last, since the cleanup commands may have ended its last processes.
        let removed = self.group.take().map_or(Ok(()), ControlGroup::remove);
        let restored = self.applied.put_back();
        left.and(cleaned).and(removed).and(restored)
    }
}

impl Drop for SettingsInForce {
    fn drop(&mut self) {
        drop(self.group.take());
        // Cleans up the last command first; the settings are restored afterwards.
        while self.prepared.pop().is_some() {}
    }
}

/// First sysctl of a variant that the kernel does not have, or whose value is of another kind, with
/// the error. Writes nothing.
pub(crate) fn impossible_sysctl(
    settings: &VariantSettings,
    lab: &Lab,
) -> Option<(String, LabError)> {
    impossible(&settings.sysctl, &SettingTarget::Machine, lab)
}

/// First sysfs attribute that does not exist for a mounted filesystem of this type on these
/// devices, or for the devices `of_device`, or whose value is of another kind. Writes nothing.
pub(crate) fn impossible_attribute(
    settings: &VariantSettings,
    (fs_type, nodes): (&str, &[PathBuf]),
    of_device: &[PathBuf],
    lab: &Lab,
) -> Option<(String, LabError)> {
    let (of_mount, others) = split(&settings.sysfs);
    let device = device_folders(of_device, lab);
    let filesystem = filesystem_folders(fs_type, nodes, lab);
    impossible(&others, &SettingTarget::Device { folders: &device }, lab)
        .or_else(|| impossible(&of_mount, &SettingTarget::Filesystem { folders: &filesystem }, lab))
}

/// First sysfs attribute that the kernel refuses for a mounted filesystem of this type on these
/// devices, which must be the lab's own. Writes the attributes below the folders of the devices and
/// of the filesystem, and restores them.
pub(crate) fn refused_attribute(
    settings: &VariantSettings,
    (fs_type, nodes): (&str, &[PathBuf]),
    lab: &Lab,
) -> Option<(String, LabError)> {
    let (of_mount, mut others) = split(&settings.sysfs);
    others.retain(|(name, _)| !name.starts_with('/'));
    let folders = device_folders(nodes, lab);
    let filesystem = filesystem_folders(fs_type, nodes, lab);
    let mut applied = AppliedSettings::new(lab);
    let error = applied
        .apply(&others, &SettingTarget::Device { folders: &folders }, lab)
        .and_then(|()| {
            applied.apply(&of_mount, &SettingTarget::Filesystem { folders: &filesystem }, lab)
        })
        .err()?;
    let LabError::Device(DeviceError::Setting { path, .. }) = &error else { return None };
    let is_of_path = |name: &str| {
        let inside = MOUNT_PREFIXES.iter().find_map(|prefix| name.strip_prefix(prefix));
        path.ends_with(inside.unwrap_or(name))
    };
    let name = settings.sysfs.iter().map(|(name, _)| name).find(|name| is_of_path(name))?.clone();
    Some((name, error))
}

fn impossible(
    settings: &[(String, String)],
    target: &SettingTarget<'_>,
    lab: &Lab,
) -> Option<(String, LabError)> {
    let mut errors = settings.iter().filter_map(|(name, value)| {
        let checked = target
            .paths(name, &lab.machine)
            .and_then(|paths| paths.iter().try_for_each(|path| Attribute::new(path).check(value)));
        Some((name.clone(), checked.err()?))
    });
    errors.next()
}

/// Folders of block devices in sysfs.
fn device_folders(nodes: &[PathBuf], lab: &Lab) -> Vec<PathBuf> {
    let numbers = nodes.iter().filter_map(|node| block_number(node));
    numbers.filter_map(|number| lab.machine.block_folder(number)).collect()
}

/// Folders in sysfs of a mounted filesystem, found by its first device.
fn filesystem_folders(fs_type: &str, nodes: &[PathBuf], lab: &Lab) -> FilesystemFolders {
    let number = nodes.first().and_then(|node| block_number(node));
    number.map_or_else(FilesystemFolders::default, |number| {
        FilesystemFolders::new(fs_type, number, &lab.machine)
    })
}

/// Settings as (name, value).
type Settings = Vec<(String, String)>;

/// Splits sysfs attributes into those of the mounted filesystem and all others.
fn split(sysfs: &[(String, String)]) -> (Settings, Settings) {
    let is_of_mount =
        |(name, _): &(String, String)| MOUNT_PREFIXES.iter().any(|prefix| name.starts_with(prefix));
    sysfs.iter().cloned().partition(is_of_mount)
}

/// Environment variables that tell a command about its trial.
fn trial_variables(
    variant: &Variant,
    nodes: &[PathBuf],
    (root, work): (&Path, &Path),
) -> Vec<(String, String)> {
    let kind = match variant.device {
        DeviceSpec::Loop { .. } => "loop",
        DeviceSpec::Block { .. } => "block",
        DeviceSpec::Directory { .. } => "directory",
    };
    let nodes: Vec<String> = nodes.iter().map(|node| node.display().to_string()).collect();
    let variable = |name: &str, value: String| (format!("TREERING_{name}"), value);
    vec![
        variable("VARIANT", variant.name.clone()),
        variable("FILESYSTEM", variant.filesystem.clone()),
        variable("MOUNT_OPTIONS", variant.mount.join(",")),
        variable("DEVICE_KIND", kind.to_owned()),
        variable("DEVICE", nodes.join(" ")),
        variable("MOUNT", root.display().to_string()),
        variable("DIR", work.display().to_string()),
    ]
}

//! Unmounts a foreign filesystem, and mounts it again with the same options.
//!
//! `unmounted` makes this safe against kills. `aged` uses it to save a filesystem as an image.

use std::path::{Path, PathBuf};

use treering_sys::{Mount, MountTable, open_top};

use crate::error::unfit;
use crate::families::mounted_families;
use crate::machine::{DeviceNumber, KernelMounts, block_number};
use crate::unmounted::TemporaryUnmount;
use crate::{DeviceError, Lab, LabError};

/// A foreign filesystem that can be unmounted and mounted again.
#[derive(Debug)]
pub struct RemountableFilesystem {
    lab: Lab,
    mount: Mount,
    /// Target directory on the filesystem.
    directory: PathBuf,
}

impl RemountableFilesystem {
    /// Examines the filesystem of a directory, without any change.
    ///
    /// # Errors
    /// When the filesystem is not on a single block device, is mounted only in part, or is needed
    /// while it is unmounted.
    pub fn examine(directory: &Path, lab: &Lab) -> Result<Self, LabError> {
        if !rustix::process::geteuid().is_root() {
            return Err(DeviceError::NotRoot { what: "remounting" }.into());
        }
        let directory = directory.canonicalize().map_err(LabError::io("cannot find", directory))?;
        let opened = open_top(&directory);
        let opened = opened.map_err(|e| LabError::io("cannot open", &directory)(e.into()))?;
        let table = MountTable::read();
        let table = table.map_err(LabError::io("cannot read", "/proc/self/mountinfo"))?;
        let none = || unfit(format!("{} is on no known mount", directory.display()));
        let mount = table.mount_of(&opened).cloned().ok_or_else(none)?;
        let point = mount.point.display();
        let number = block_number(Path::new(&mount.source));
        let number = number.ok_or_else(|| {
            unfit(format!("{point} is not on a block device: it cannot be mounted again"))
        })?;
        refuse_parts(&mount, number)?;
        refuse_used(&mount, &table)?;
        Ok(Self { lab: lab.clone(), mount, directory })
    }

    /// Unmounts the filesystem and mounts it again; returns the target directory.
    ///
    /// # Errors
    /// When the filesystem is in use, or cannot be mounted again.
    pub fn remount(&self) -> Result<PathBuf, LabError> {
        let lab = (&*self.lab.register, &self.lab.machine);
        TemporaryUnmount::begin(&self.mount, lab, ": leave it in every shell")?.end()?;
        Ok(self.directory.clone())
    }
}

/// Refuses a mount of only a part of a filesystem, and a multi-device filesystem.
pub(crate) fn refuse_parts(mount: &Mount, number: DeviceNumber) -> Result<(), LabError> {
    let point = mount.point.display();
    if mount.root != Path::new("/") {
        let root = mount.root.display();
        return Err(unfit(format!("only {root} of the filesystem is mounted at {point}")));
    }
    let families = mounted_families(&KernelMounts::default());
    let is_of_several =
        families.iter().any(|family| family.numbers.contains(&number) && family.devices.len() > 1);
    if is_of_several {
        return Err(unfit(format!("the filesystem at {point} is on several devices")));
    }
    Ok(())
}

/// Refuses a mount below which another filesystem is mounted, or that holds the root or the current
/// directory.
pub(crate) fn refuse_used(mount: &Mount, table: &MountTable) -> Result<(), LabError> {
    let (point, shown) = (&mount.point, mount.point.display());
    if let Some(other) = table.mounts.iter().find(|other| other.parent == mount.id) {
        let other = other.point.display();
        return Err(unfit(format!("{shown} cannot be unmounted: {other} is mounted on it")));
    }
    if point == Path::new("/")
        || std::fs::read_link("/proc/self/cwd").is_ok_and(|here| here.starts_with(point))
    {
        return Err(unfit(format!(
            "{shown} cannot be unmounted: the current directory is on it; start from another"
        )));
    }
    Ok(())
}

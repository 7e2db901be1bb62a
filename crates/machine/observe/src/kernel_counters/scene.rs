//! Places of the counters of one trial: devices, and directories of the mounted filesystem in
//! `/sys/fs` and `/proc/fs`.

use std::fs::read_dir;
use std::path::{Path, PathBuf};

use treering_sys::MountTable;

use crate::block_trace::{TracedDevice, devices_under, mounted_folders};
use crate::places::KernelRoots;

/// Places of the counters of one trial.
#[derive(Clone, Debug, Default)]
pub(super) struct CounterScene {
    pub(super) roots: KernelRoots,
    /// Devices at the bottom of all layers.
    pub(super) devices: Vec<TracedDevice>,
    /// Names of the devices that the filesystem is mounted from.
    pub(super) mounted: Vec<String>,
    /// Type of the filesystem as mounted; empty if unknown.
    pub(super) fs_type: String,
    /// Directories of the filesystem below `/sys/fs`.
    pub(super) sysfs: Vec<PathBuf>,
    /// Directories of the filesystem below `/proc/fs`, those of its journal included.
    pub(super) procfs: Vec<PathBuf>,
}

impl CounterScene {
    /// Looks up the places for a directory; without a block device only the machine's remain.
    pub(super) fn at(target: &Path) -> Self {
        let folders = mounted_folders(target).unwrap_or_default();
        let names = folders.iter().filter_map(|folder| folder.file_name());
        let mounted: Vec<String> = names.map(|name| name.to_string_lossy().into_owned()).collect();
        let fs_type = std::fs::File::open(target)
            .ok()
            .and_then(|dir| Some(MountTable::read().ok()?.mount_of(&dir)?.fs_type.clone()));
        let roots = KernelRoots::default();
        Self {
            devices: devices_under(target).unwrap_or_default(),
            fs_type: fs_type.unwrap_or_default(),
            sysfs: sysfs_of(&roots.sys, &mounted),
            procfs: procfs_of(&roots.proc, &mounted),
            mounted,
            roots,
        }
    }
}

/// Directories in `/sys/fs/TYPE` that are named after one of these devices or list one.
pub(super) fn sysfs_of(sys: &Path, mounted: &[String]) -> Vec<PathBuf> {
    let is_of_one = |folder: &Path| {
        let is_named =
            folder.file_name().is_some_and(|name| mounted.iter().any(|one| name == &**one));
        is_named || mounted.iter().any(|one| folder.join("devices").join(one).exists())
    };
    children(&sys.join("fs"))
        .iter()
        .flat_map(|driver| children(driver))
        .filter(|folder| is_of_one(folder))
        .collect()
}

/// Directories in `/proc/fs/TYPE` that are named after one of these devices: `sda1`, or `sda1-8` of
/// the journal in inode 8.
pub(super) fn procfs_of(proc: &Path, mounted: &[String]) -> Vec<PathBuf> {
    let is_of_one = |folder: &Path| {
        let name = folder.file_name().map(|name| name.to_string_lossy());
        let name = name.as_deref().unwrap_or_default();
        let is_named = |device: &String| {
            let end = name.strip_prefix(device.as_str());
            end.is_some_and(|end| end.is_empty() || is_inode(end))
        };
        mounted.iter().any(is_named)
    };
    children(&proc.join("fs"))
        .iter()
        .flat_map(|driver| children(driver))
        .filter(|folder| is_of_one(folder))
        .collect()
}

/// True for a suffix like `-8`: a dash and an inode number.
fn is_inode(end: &str) -> bool {
    end.strip_prefix('-').is_some_and(|digits| {
        !digits.is_empty() && digits.chars().all(|digit| digit.is_ascii_digit())
    })
}

fn children(folder: &Path) -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> =
        read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    paths.sort();
    paths
}

#[cfg(test)]
mod tests {
    use super::{procfs_of, sysfs_of};
    use std::fs::create_dir_all;

    #[test]
    fn directories_of_the_mounted_device_are_found_by_name_and_by_member() {
        let top = tempfile::tempdir().unwrap();
        let mounted = ["loop1".to_owned()];
        for folder in
            ["fs/ext4/loop1", "fs/ext4/loop10", "fs/btrfs/1-2/devices/loop1", "fs/btrfs/3"]
        {
            create_dir_all(top.path().join(folder)).unwrap();
        }
        let found = sysfs_of(top.path(), &mounted);
        assert_eq!(found, ["fs/btrfs/1-2", "fs/ext4/loop1"].map(|one| top.path().join(one)));
        for folder in ["fs/jbd2/loop1-8", "fs/jbd2/loop10-8", "fs/jbd2/loop1p2-8", "fs/own/loop1"] {
            create_dir_all(top.path().join(folder)).unwrap();
        }
        let found = procfs_of(top.path(), &mounted);
        let right = ["fs/ext4/loop1", "fs/jbd2/loop1-8", "fs/own/loop1"];
        assert_eq!(found, right.map(|one| top.path().join(one)));
    }
}

//! Block devices below a directory whose requests the kernel's block layer traces.
//!
//! Requests of a partition are separated from the rest of its disk; for multi-device filesystems
//! and stacked devices (device mapper, md) the bottom devices are used. A loop device is a bottom
//! device: the cost of its backing file elsewhere is ignored.

use std::collections::BTreeSet;
use std::fs::{DirEntry, File, read_dir, read_to_string};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use treering_model::filesystems::{EXT4, MemberLocation, OVERLAY, by_name};
use treering_sys::{Mount, MountTable};
use treering_trace::{DeviceNumber, TraceDevice};

use super::BlockTraceError;

/// Limit of device stacking.
const DEPTH_MAX: usize = 16;

/// Device whose requests are recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TracedDevice {
    /// Device or partition.
    pub device: TraceDevice,
    /// Disk of the partition, or the device itself.
    pub disk: DeviceNumber,
    /// First sector on the disk.
    pub first_sector: u64,
}

impl TracedDevice {
    /// Reports whether the device is a partition.
    pub fn is_partition(&self) -> bool {
        self.disk != self.device.number
    }

    /// Sector on this device of a kernel event; `None` for events of other devices. Requests
    /// without data have sector 0.
    pub(super) fn place(&self, number: DeviceNumber, sector: u64, sectors: u64) -> Option<u64> {
        if sectors == 0 {
            return (number == self.disk || number == self.device.number).then_some(0);
        }
        if !self.is_partition() {
            return (number == self.disk).then_some(sector);
        }
        // Events of a partition's bios also have sectors relative to the disk.
        let place = sector.checked_sub(self.first_sector)?;
        let ours = number == self.device.number || number == self.disk;
        (ours && place < self.device.sectors).then_some(place)
    }

    /// Kernel event filter for this device.
    pub(super) fn filter(&self) -> String {
        let disk = self.disk.0;
        if !self.is_partition() {
            return format!("dev == {disk}");
        }
        let (from, own) = (self.first_sector, self.device.number.0);
        let until = from.saturating_add(self.device.sectors);
        format!(
            "dev == {own} || (dev == {disk} && \
             ((sector >= {from} && sector < {until}) || nr_sector == 0))"
        )
    }
}

/// Devices below a directory.
///
/// # Errors
/// If the directory cannot be read, or is not on a block device (tmpfs, network filesystems).
pub fn devices_under(dir: &Path) -> Result<Vec<TracedDevice>, BlockTraceError> {
    bottom(&mounted_folders(dir)?, dir)
}

/// Folders in `/sys` of the devices that the filesystem of a directory is mounted from, above all
/// layers.
///
/// # Errors
/// As [`devices_under`].
pub(crate) fn mounted_folders(dir: &Path) -> Result<Vec<PathBuf>, BlockTraceError> {
    let sys = Path::new("/sys");
    let unread = |source| BlockTraceError::Unreadable { device: dir.display().to_string(), source };
    let open = File::open(dir).map_err(unread)?;
    let number = open.metadata().map_err(unread)?.dev();
    let table = MountTable::read().map_err(unread)?;
    let mount = table.mount_of(&open);
    if let Some(folder) = folder(sys, split(number)) {
        let journal =
            mount.and_then(|mount| journal_folder((sys, Path::new("/proc")), mount, &folder));
        return Ok(std::iter::once(folder).chain(journal).collect());
    }
    let none = || BlockTraceError::NoDevice { device: dir.display().to_string() };
    let mount = mount.ok_or_else(none)?;
    if let Some(upper) = upper_dir(mount) {
        return mounted_folders(upper);
    }
    let source = std::fs::metadata(&mount.source).map_err(|_not_there| none())?;
    if !source.file_type().is_block_device() {
        return Err(none());
    }
    let mounted = folder(sys, split(source.rdev())).ok_or_else(none)?;
    let all = members(sys, &mount.fs_type, &mounted);
    Ok(all.unwrap_or_else(|| vec![mounted]))
}

/// Bytes that kernels before 5.17 keep of a thread's name.
const THREAD_NAME_BYTES: usize = 15;

/// Folder of the device of a journal that is not inside its filesystem: xfs names it among the
/// mount options, and the thread of an ext4's journal is called after it.
fn journal_folder((sys, proc): (&Path, &Path), mount: &Mount, mounted: &Path) -> Option<PathBuf> {
    let named = mount.super_options.split(',').find_map(|option| option.strip_prefix("logdev="));
    if let Some(node) = named {
        return folder(sys, split(std::fs::metadata(node).ok()?.rdev()));
    }
    let own = mounted.file_name()?.to_str()?;
    let thread =
        read_to_string(sys.join("fs").join(EXT4.name).join(own).join("journal_task")).ok()?;
    let name = read_to_string(proc.join(thread.trim()).join("comm")).ok()?;
    let name = name.trim();
    let device = name.strip_prefix("jbd2/")?;
    // A journal inside ends with its inode; kernels before 5.17 cut names of threads.
    let is_cut = name.len() == THREAD_NAME_BYTES;
    if device.starts_with(&format!("{own}-")) || is_cut && own.starts_with(device) {
        return None;
    }
    sys.join("class/block").join(device).canonicalize().ok()
}

/// Directory that an overlay writes to.
fn upper_dir(mount: &Mount) -> Option<&Path> {
    let mut options = mount.super_options.split(',');
    let upper = options.find_map(|option| option.strip_prefix("upperdir="))?;
    (mount.fs_type == OVERLAY).then(|| Path::new(upper))
}

/// Bottom devices of a device node.
///
/// # Errors
/// If the node is not a block device.
pub fn device_at(node: &Path) -> Result<Vec<TracedDevice>, BlockTraceError> {
    let device = node.display().to_string();
    let metadata = std::fs::metadata(node)
        .map_err(|source| BlockTraceError::Unreadable { device: device.clone(), source })?;
    if !metadata.file_type().is_block_device() {
        return Err(BlockTraceError::NotADevice { device });
    }
    let sys = Path::new("/sys");
    let base = folder(sys, split(metadata.rdev())).ok_or(BlockTraceError::NoDevice { device })?;
    bottom(&[base], node)
}

/// Major and minor number of a `dev_t`.
fn split(number: u64) -> (u32, u32) {
    (rustix::fs::major(number), rustix::fs::minor(number))
}

fn folder(sys: &Path, (major, minor): (u32, u32)) -> Option<PathBuf> {
    sys.join(format!("dev/block/{major}:{minor}")).canonicalize().ok()
}

/// All devices of a multi-device filesystem with this member, if sysfs lists them.
fn members(sys: &Path, fs_type: &str, mounted: &Path) -> Option<Vec<PathBuf>> {
    let listed = by_name(fs_type)?.members?;
    for filesystem in read_dir(sys.join("fs").join(fs_type)).ok()?.flatten() {
        let (folder, link) = match listed {
            MemberLocation::Folder(name) => (filesystem.path().join(name), ""),
            MemberLocation::Linked(link) => (filesystem.path(), link),
        };
        let Ok(members) = read_dir(folder) else { continue };
        let device = |member: DirEntry| member.path().join(link).canonicalize().ok();
        let mut members: Vec<PathBuf> = members.flatten().filter_map(device).collect();
        members.sort();
        if members.iter().any(|member| member == mounted) {
            return Some(members);
        }
    }
    None
}

/// Bottom devices of these devices.
fn bottom(folders: &[PathBuf], of: &Path) -> Result<Vec<TracedDevice>, BlockTraceError> {
    let mut traced = Vec::new();
    let mut seen = BTreeSet::new();
    folders.iter().for_each(|folder| descend(folder, 0, &mut seen, &mut traced));
    if traced.is_empty() {
        return Err(BlockTraceError::NoDevice { device: of.display().to_string() });
    }
    Ok(traced)
}

fn descend(at: &Path, depth: usize, seen: &mut BTreeSet<PathBuf>, devices: &mut Vec<TracedDevice>) {
    if depth > DEPTH_MAX || !seen.insert(at.to_owned()) {
        return;
    }
    let mut below = slaves(at);
    if below.is_empty()
        && at.join("partition").exists()
        && let Some(disk) = at.parent()
    {
        // A partition of an array passes its requests on to the array's devices.
        below = slaves(disk);
    }
    if below.is_empty() {
        devices.extend(traced(at));
    }
    below.iter().for_each(|slave| descend(slave, depth + 1, seen, devices));
}

/// Devices directly below a stacked device.
fn slaves(at: &Path) -> Vec<PathBuf> {
    let slaves = read_dir(at.join("slaves")).into_iter().flatten().flatten();
    let mut slaves: Vec<PathBuf> =
        slaves.filter_map(|slave| slave.path().canonicalize().ok()).collect();
    slaves.sort();
    slaves
}

fn traced(at: &Path) -> Option<TracedDevice> {
    let word = |folder: &Path, file: &str| {
        read_to_string(folder.join(file)).ok().map(|text| text.trim().to_owned())
    };
    let number_of = |folder: &Path| {
        let word = word(folder, "dev")?;
        let (major, minor) = word.split_once(':')?;
        Some(DeviceNumber::new(major.parse().ok()?, minor.parse().ok()?))
    };
    let count = |file: &str| word(at, file)?.parse::<u64>().ok();
    let number = number_of(at)?;
    let is_partition = at.join("partition").exists();
    let disk = if is_partition { number_of(at.parent()?)? } else { number };
    let name = at.file_name()?.to_string_lossy().into_owned();
    let first_sector = if is_partition { count("start")? } else { 0 };
    let device = TraceDevice { number, name, sectors: count("size").unwrap_or(0) };
    Some(TracedDevice { device, disk, first_sector })
}

#[cfg(test)]
mod tests {
    use std::fs::{create_dir_all, write};
    use std::os::unix::fs::symlink;
    use std::path::Path;

    use treering_trace::{DeviceNumber, TraceDevice};

    use super::{TracedDevice, bottom, device_at, devices_under, folder, journal_folder, members};
    use crate::block_trace::BlockTraceError;
    use treering_sys::{Mount, MountTable};

    fn partition() -> TracedDevice {
        let device =
            TraceDevice { number: DeviceNumber::new(8, 2), name: "sda2".to_owned(), sectors: 1000 };
        TracedDevice { device, disk: DeviceNumber::new(8, 0), first_sector: 2048 }
    }

    #[test]
    fn sectors_are_relative_to_the_partition() {
        let (part, disk) = (partition(), DeviceNumber::new(8, 0));
        assert_eq!(part.place(disk, 2048, 8), Some(0));
        assert_eq!(part.place(disk, 3047, 1), Some(999));
        assert_eq!(part.place(disk, 3048, 1), None);
        assert_eq!(part.place(disk, 2047, 1), None);
        assert_eq!(part.place(DeviceNumber::new(8, 2), 2056, 8), Some(8));
        assert_eq!(part.place(DeviceNumber::new(8, 1), 2056, 8), None);
        assert_eq!(part.place(disk, u64::MAX, 0), Some(0));
        let filter = part.filter();
        assert!(filter.contains("sector >= 2048 && sector < 3048"), "{filter}");
        let whole = TracedDevice { disk: DeviceNumber::new(8, 2), first_sector: 0, ..part };
        assert_eq!(whole.filter(), format!("dev == {}", 8 << 20 | 2));
        assert_eq!(whole.place(DeviceNumber::new(8, 2), 7, 1), Some(7));
    }

    /// Creates a device folder below `/sys` with these files and links to its lower devices.
    fn device(sys: &Path, place: &str, files: &[(&str, &str)], slaves: &[&str]) {
        let folder = sys.join("devices").join(place);
        create_dir_all(folder.join("slaves")).unwrap();
        for (name, text) in files {
            write(folder.join(name), format!("{text}\n")).unwrap();
        }
        for slave in slaves {
            let name = Path::new(slave).file_name().unwrap();
            symlink(sys.join("devices").join(slave), folder.join("slaves").join(name)).unwrap();
        }
        create_dir_all(sys.join("dev/block")).unwrap();
        symlink(&folder, sys.join("dev/block").join(files[0].1)).unwrap();
    }

    /// A volume on a partition and on an array of two disks, which has a partition of its own.
    fn stack(sys: &Path) {
        device(sys, "pci/sda", &[("dev", "8:0"), ("size", "9000")], &[]);
        let part = [("dev", "8:1"), ("size", "1000"), ("start", "2048"), ("partition", "1")];
        device(sys, "pci/sda/sda1", &part, &[]);
        device(sys, "pci/sdb", &[("dev", "8:16"), ("size", "7000")], &[]);
        device(sys, "pci/sdc", &[("dev", "8:32"), ("size", "7000")], &[]);
        let disks = ["pci/sdb", "pci/sdc"];
        device(sys, "virtual/md0", &[("dev", "9:0"), ("size", "14000")], &disks);
        let part = [("dev", "259:0"), ("size", "500"), ("start", "64"), ("partition", "1")];
        device(sys, "virtual/md0/md0p1", &part, &[]);
        let parts = ["pci/sda/sda1", "virtual/md0"];
        device(sys, "virtual/dm-0", &[("dev", "252:0"), ("size", "15000")], &parts);
    }

    #[test]
    fn the_journal_of_an_ext4_is_found_by_the_name_of_its_thread() {
        let top = tempfile::tempdir().unwrap();
        let top = &top.path().canonicalize().unwrap();
        let (sys, proc) = (top.join("sys"), top.join("proc"));
        let devices = ["sys/class/block/sdc1", "sys/class/block/sdb1"];
        for folder in ["sys/fs/ext4/sdb12345678", "proc/77"].into_iter().chain(devices) {
            create_dir_all(top.join(folder)).unwrap();
        }
        write(sys.join("fs/ext4/sdb12345678/journal_task"), "77\n").unwrap();
        let table = MountTable::read().unwrap();
        let mount = Mount { super_options: "rw".to_owned(), ..table.mounts[0].clone() };
        let found = |thread: &str| {
            write(proc.join("77/comm"), format!("{thread}\n")).unwrap();
            journal_folder((&sys, &proc), &mount, &sys.join("devices/sdb12345678"))
        };
        assert_eq!(found("jbd2/sdc1"), Some(sys.join("class/block/sdc1")));
        assert_eq!(found("jbd2/sdc9"), None);
        let name_begins_the_other = found("jbd2/sdb1");
        assert_eq!(name_begins_the_other, Some(sys.join("class/block/sdb1")));
        // Inside the filesystem; the kernel keeps 15 bytes of a thread's name.
        for inside in ["jbd2/sdb12345678-8", "jbd2/sdb1234567", "other"] {
            assert_eq!(found(inside), None, "{inside}");
        }
    }

    #[test]
    fn stacked_devices_resolve_to_the_bottom() {
        let top = tempfile::tempdir().unwrap();
        let sys = &top.path().canonicalize().unwrap();
        stack(sys);
        let by_number = |number| {
            let traced = bottom(&[folder(sys, number).unwrap()], Path::new("/mnt")).unwrap();
            traced
                .into_iter()
                .map(|traced| (traced.device.name, traced.disk.to_string(), traced.first_sector))
        };
        let named = |name: &str, disk: &str, first| (name.to_owned(), disk.to_owned(), first);
        let array = [named("sdb", "8:16", 0), named("sdc", "8:32", 0)];
        let volume: Vec<_> = by_number((252, 0)).collect();
        assert_eq!(volume[0], named("sda1", "8:0", 2048));
        assert_eq!(volume[1..], array);
        assert_eq!(by_number((9, 0)).collect::<Vec<_>>(), array);
        assert_eq!(by_number((259, 0)).collect::<Vec<_>>(), array, "a partition of the array");
        assert_eq!(by_number((8, 1)).collect::<Vec<_>>(), [named("sda1", "8:0", 2048)]);
        assert_eq!(folder(sys, (1, 1)), None);
    }

    #[test]
    fn every_btrfs_device_is_taken_once() {
        let top = tempfile::tempdir().unwrap();
        let sys = &top.path().canonicalize().unwrap();
        stack(sys);
        let listed = sys.join("fs/btrfs/1-2-3/devices");
        create_dir_all(&listed).unwrap();
        create_dir_all(sys.join("fs/btrfs/features")).unwrap();
        for (name, place) in [("dm-0", "virtual/dm-0"), ("sdb", "pci/sdb")] {
            symlink(sys.join("devices").join(place), listed.join(name)).unwrap();
        }
        let mounted = folder(sys, (252, 0)).unwrap();
        let traced = bottom(&members(sys, "btrfs", &mounted).unwrap(), Path::new("/mnt")).unwrap();
        let names: Vec<&str> = traced.iter().map(|device| device.device.name.as_str()).collect();
        // The volume has sdb below it, too.
        assert_eq!(names, ["sdb", "sda1", "sdc"]);
        assert_eq!(members(sys, "btrfs", &folder(sys, (8, 32)).unwrap()), None, "a member of none");
        assert_eq!(members(sys, "ext4", &mounted), None);
    }

    #[test]
    fn directories_without_a_device_are_rejected() {
        let none = devices_under(Path::new("/proc")).unwrap_err();
        assert!(matches!(none, BlockTraceError::NoDevice { .. }), "{none}");
        let none = devices_under(Path::new("/nowhere/at/all")).unwrap_err();
        assert!(none.to_string().contains("/nowhere/at/all"), "{none}");
        assert!(matches!(
            device_at(Path::new("/dev/null")),
            Err(BlockTraceError::NotADevice { .. })
        ));
    }
}

//! Block device below the filesystem, from `/sys/dev/block`: position on the disk, queue settings,
//! alignment.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use treering_model::{Caution, CautionCode};
use treering_sys::MountTable;

use super::fact;
use crate::Findings;
use crate::places::KernelRoots;

/// I/O unit of kernels and filesystems, regardless of the sector size.
const PAGE_BYTES: u64 = 4096;
/// Unit of starts and sizes in `/sys`.
const SECTOR_BYTES: u64 = 512;

/// Facts of a partition or disk itself.
const OWN: [(&str, &str); 3] = [
    ("device.start_sectors", "start"),
    ("device.sectors", "size"),
    ("device.alignment_offset_bytes", "alignment_offset"),
];

/// Facts of the disk and its queue.
const OF_DISK: [(&str, &str); 21] = [
    ("device.model", "device/model"),
    ("device.rotational", "queue/rotational"),
    ("device.scheduler", "queue/scheduler"),
    ("device.logical_block_bytes", "queue/logical_block_size"),
    ("device.physical_block_bytes", "queue/physical_block_size"),
    ("device.minimum_io_bytes", "queue/minimum_io_size"),
    ("device.optimal_io_bytes", "queue/optimal_io_size"),
    ("device.read_ahead_kib", "queue/read_ahead_kb"),
    ("device.nr_requests", "queue/nr_requests"),
    ("device.max_io_kib", "queue/max_sectors_kb"),
    ("device.nomerges", "queue/nomerges"),
    ("device.rq_affinity", "queue/rq_affinity"),
    ("device.writeback_latency_us", "queue/wbt_lat_usec"),
    ("device.write_cache", "queue/write_cache"),
    ("device.fua", "queue/fua"),
    ("device.zoned", "queue/zoned"),
    ("device.discard_granularity_bytes", "queue/discard_granularity"),
    ("device.io_poll", "queue/io_poll"),
    ("device.backing_file", "loop/backing_file"),
    ("device.direct_io", "loop/dio"),
    ("device.firmware", "device/firmware_rev"),
];

/// Facts about the device of a directory: from `st_dev`, or from the mount source (btrfs has device
/// numbers of its own). Empty without a device (tmpfs).
pub(super) fn facts_of_directory(
    places: &KernelRoots,
    target: &Path,
    source: Option<&OsStr>,
) -> Findings {
    let of_files = std::fs::metadata(target).ok().map(|about| about.dev());
    let of_files = of_files.and_then(|number| folder(places, number));
    let folder = of_files.or_else(|| folder_of_source(places, source?));
    folder.map(|at| facts_in_folder(places, &at)).unwrap_or_default()
}

/// Facts about a block device.
pub(super) fn facts_of_node(places: &KernelRoots, node: &Path) -> Findings {
    let folder = folder_of_source(places, node.as_os_str());
    folder.map(|at| facts_in_folder(places, &at)).unwrap_or_default()
}

/// Kernel name of the mounted device.
pub(super) fn name_of(places: &KernelRoots, source: &OsStr) -> Option<String> {
    Some(folder_of_source(places, source)?.file_name()?.to_string_lossy().into_owned())
}

fn folder_of_source(places: &KernelRoots, source: &OsStr) -> Option<PathBuf> {
    let metadata = std::fs::metadata(source).ok()?;
    if !metadata.file_type().is_block_device() {
        return None;
    }
    folder(places, metadata.rdev())
}

fn folder(places: &KernelRoots, number: u64) -> Option<PathBuf> {
    let (major, minor) = major_minor(number);
    places.sys.join(format!("dev/block/{major}:{minor}")).canonicalize().ok()
}

fn facts_in_folder(places: &KernelRoots, at: &Path) -> Findings {
    let mut seen = Findings::default();
    let read = |folder: &Path, file: &str| {
        let text = std::fs::read_to_string(folder.join(file)).ok()?;
        Some(text.trim().to_owned())
    };
    let name = |folder: &Path| {
        folder.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
    };
    let own_disk = disk(at);
    seen.facts.push(fact("device.name", name(at)));
    seen.facts.push(fact("device.disk", name(&whole(places, at))));
    let own = OWN.iter().map(|(name, file)| (name, read(at, file)));
    let of_disk = OF_DISK.iter().map(|(name, file)| (name, read(own_disk, file)));
    for (name, value) in own.chain(of_disk) {
        seen.facts.extend(value.map(|value| fact(name, value)));
    }
    seen.facts.extend(image_allocation(own_disk).map(|how| fact("device.image_allocation", how)));
    seen.facts.extend(image_filesystem(own_disk).map(|kind| fact("device.image_filesystem", kind)));
    let number = |folder: &Path, file: &str| read(folder, file)?.parse::<u64>().ok();
    let start = number(at, "start").unwrap_or(0).saturating_mul(SECTOR_BYTES);
    let block = number(own_disk, "queue/physical_block_size").unwrap_or(PAGE_BYTES);
    let offset = read(at, "alignment_offset").unwrap_or_else(|| "0".to_owned());
    let is_aligned = start.is_multiple_of(block.max(PAGE_BYTES)) && offset == "0";
    if !is_aligned {
        let message = format!(
            "{} begins at byte {start} of its disk (offset {offset}), whose blocks have {block} \
             bytes: writes of {} bytes touch two blocks each",
            name(at),
            block.max(PAGE_BYTES)
        );
        seen.cautions.push(Caution { code: CautionCode::Misaligned, message });
    }
    seen
}

/// Share of allocated blocks in percent from which on an image counts as allocated: loop devices
/// deallocate what a filesystem zeroes (journal, inode tables).
const ALLOCATED_PERCENT: u128 = 75;

/// Allocation of a loop device's image, `allocated` or `sparse`; `None` without an image, or if it
/// is not accessible.
fn image_allocation(disk: &Path) -> Option<&'static str> {
    let image = backing_file(disk)?;
    let metadata = std::fs::metadata(image).ok().filter(std::fs::Metadata::is_file)?;
    let allocated = metadata.blocks().saturating_mul(SECTOR_BYTES);
    let is_whole = u128::from(allocated) * 100 >= u128::from(metadata.len()) * ALLOCATED_PERCENT;
    Some(if is_whole { "allocated" } else { "sparse" })
}

/// Type of the filesystem that holds the image of a loop device; `None` without an image, or if it
/// is not accessible.
fn image_filesystem(disk: &Path) -> Option<String> {
    let image = std::fs::File::open(backing_file(disk)?).ok()?;
    if !image.metadata().ok()?.is_file() {
        return None;
    }
    Some(MountTable::read().ok()?.mount_of(&image)?.fs_type.clone())
}

/// Backing file of a loop device.
fn backing_file(disk: &Path) -> Option<PathBuf> {
    let text = std::fs::read_to_string(disk.join("loop/backing_file")).ok()?;
    Some(PathBuf::from(text.trim_end_matches('\n')))
}

/// Names used in kernel messages for the device of a directory and everything below it: partition,
/// disk, mapped devices, the disk of a loop device's image, controllers and ports. Empty without a
/// device (tmpfs).
pub(crate) fn names_below(places: &KernelRoots, target: &Path) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    let source = std::fs::File::open(target).ok().and_then(|dir| {
        let table = MountTable::read().ok()?;
        Some(table.mount_of(&dir)?.source.clone())
    });
    let of_files = std::fs::metadata(target).ok().map(|about| about.dev());
    let of_files = of_files.and_then(|number| folder(places, number));
    let folder_of_source = source.and_then(|source| folder_of_source(places, source.as_os_str()));
    for at in of_files.into_iter().chain(folder_of_source) {
        add_names(places, &at, &mut names, DEPTH);
    }
    names
}

/// Limit of device stacking; guards against cycles in a broken sysfs.
const DEPTH: usize = 16;

fn add_names(places: &KernelRoots, at: &Path, names: &mut BTreeSet<String>, depth: usize) {
    if depth == 0 {
        return;
    }
    // Ports and controllers have numbers in their names, grouping directories ("block", "virtual")
    // have none.
    let has_number = |name: &String| name.contains(|letter: char| letter.is_ascii_digit());
    let parts = at.strip_prefix(&places.sys).unwrap_or(at).components();
    let parts = parts.map(|part| part.as_os_str().to_string_lossy().into_owned());
    names.extend(parts.filter(has_number));
    names.extend(at.file_name().map(|name| name.to_string_lossy().into_owned()));
    let own_disk = disk(at);
    names.extend(own_disk.file_name().map(|name| name.to_string_lossy().into_owned()));
    let below = std::fs::read_dir(own_disk.join("slaves")).into_iter().flatten().flatten();
    for entry in below {
        if let Ok(next) = entry.path().canonicalize() {
            add_names(places, &next, names, depth - 1);
        }
    }
    let of_image = backing_file(own_disk).and_then(|image| std::fs::metadata(image).ok());
    if let Some(next) = of_image.and_then(|about| folder(places, about.dev())) {
        add_names(places, &next, names, depth - 1);
    }
}

/// Directory of the disk: the queue of a partition belongs to its disk.
fn disk(at: &Path) -> &Path {
    if at.join("partition").exists() { at.parent().unwrap_or(at) } else { at }
}

/// Disk below all mappings, as long as each has a single device below it.
fn whole(places: &KernelRoots, at: &Path) -> PathBuf {
    let mut at = disk(at).to_owned();
    for _ in 0..DEPTH {
        let below: Vec<_> =
            std::fs::read_dir(at.join("slaves")).into_iter().flatten().flatten().collect();
        let [only] = below.as_slice() else { break };
        let name = only.file_name();
        let linked = only.path().canonicalize();
        let Ok(next) = linked.or_else(|_| places.sys.join("block").join(name).canonicalize())
        else {
            break;
        };
        disk(&next).clone_into(&mut at);
    }
    at
}

/// Major and minor number of a `dev_t` in Linux encoding.
fn major_minor(device: u64) -> (u64, u64) {
    let major = ((device >> 8) & 0xfff) | ((device >> 32) & !0xfff);
    let minor = (device & 0xff) | ((device >> 12) & !0xff);
    (major, minor)
}

#[cfg(test)]
mod tests {
    use super::{add_names, facts_in_folder, major_minor};
    use crate::places::KernelRoots;
    use std::fs;
    use std::os::unix::fs::symlink;
    use std::path::{Path, PathBuf};

    #[test]
    fn device_numbers_are_unpacked() {
        assert_eq!(major_minor(0x0801), (8, 1));
        assert_eq!(major_minor((259 << 8) | 3), (259, 3));
        // Minor 300 is 0x12c: its low byte stands below the major, the rest above it.
        assert_eq!(major_minor(0x10_072c), (7, 300));
    }

    fn put(root: &Path, files: &[(&str, &str)]) {
        for (name, text) in files {
            let path = root.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
    }

    fn value(places: &KernelRoots, at: &str, name: &str) -> Option<String> {
        let seen = facts_in_folder(places, &places.sys.join(at).canonicalize().unwrap());
        seen.facts.into_iter().find(|fact| fact.name == name).map(|fact| fact.value)
    }

    #[test]
    fn partitions_and_mappings_resolve_to_their_disk() {
        let root = tempfile::tempdir().unwrap();
        let places = KernelRoots { sys: root.path().to_owned(), proc: PathBuf::from("/proc") };
        let files = [
            ("block/sda/queue/nr_requests", "64\n"),
            ("block/sda/queue/physical_block_size", "4096\n"),
            ("block/sda/sda2/partition", "2\n"),
            ("block/sda/sda2/start", "2048\n"),
            ("block/sda/sda2/alignment_offset", "0\n"),
            ("block/dm-0/queue/nr_requests", "128\n"),
            ("block/sdb/queue/nr_requests", "1\n"),
        ];
        put(root.path(), &files);
        fs::create_dir_all(root.path().join("block/dm-0/slaves")).unwrap();
        symlink("../../sda/sda2", root.path().join("block/dm-0/slaves/sda2")).unwrap();
        let disk = |at: &str| value(&places, at, "device.disk").unwrap();
        assert_eq!((disk("block/sda/sda2"), disk("block/dm-0")), ("sda".into(), "sda".into()));
        assert_eq!(disk("block/sdb"), "sdb");
        assert_eq!(value(&places, "block/sda/sda2", "device.nr_requests").unwrap(), "64");
        assert_eq!(value(&places, "block/dm-0", "device.nr_requests").unwrap(), "128");
        assert_eq!(value(&places, "block/sda/sda2", "device.start_sectors").unwrap(), "2048");
        // Of two disks below nobody can say which it is on.
        symlink("../../sdb", root.path().join("block/dm-0/slaves/sdb")).unwrap();
        assert_eq!(disk("block/dm-0"), "dm-0");
    }

    #[test]
    fn sparse_images_are_distinguished_from_allocated_ones() {
        let root = tempfile::tempdir().unwrap();
        let places = KernelRoots { sys: root.path().to_owned(), proc: PathBuf::from("/proc") };
        let image = root.path().join("image");
        let file = fs::File::create(&image).unwrap();
        file.set_len(1 << 20).unwrap();
        put(root.path(), &[("block/loop7/loop/backing_file", image.to_str().unwrap())]);
        let reported = || value(&places, "block/loop7", "device.image_allocation");
        assert_eq!(reported().as_deref(), Some("sparse"));
        fs::write(&image, vec![1; 1 << 20]).unwrap();
        file.sync_all().unwrap();
        assert_eq!(reported().as_deref(), Some("allocated"));
        put(root.path(), &[("block/sda/queue/nr_requests", "64")]);
        assert_eq!(value(&places, "block/sda", "device.image_allocation"), None);
        assert!(value(&places, "block/loop7", "device.image_filesystem").is_some());
        assert_eq!(value(&places, "block/sda", "device.image_filesystem"), None);
    }

    #[test]
    fn names_include_all_lower_devices() {
        let root = tempfile::tempdir().unwrap();
        let places = KernelRoots { sys: root.path().to_owned(), proc: PathBuf::from("/proc") };
        let files = [
            ("devices/pci0000:00/ata1/host0/block/sda/sda2/partition", "2"),
            ("devices/virtual/block/dm-0/queue/nr_requests", "128"),
        ];
        put(root.path(), &files);
        let mapping = root.path().join("devices/virtual/block/dm-0");
        fs::create_dir_all(mapping.join("slaves")).unwrap();
        let below = "../../../../pci0000:00/ata1/host0/block/sda/sda2";
        symlink(below, mapping.join("slaves/sda2")).unwrap();
        let mut names = std::collections::BTreeSet::new();
        add_names(&places, &mapping, &mut names, super::DEPTH);
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        assert_eq!(names, ["ata1", "dm-0", "host0", "pci0000:00", "sda", "sda2"]);
    }

    #[test]
    fn misaligned_partitions_raise_a_caution() {
        let root = tempfile::tempdir().unwrap();
        let places = KernelRoots { sys: root.path().to_owned(), proc: PathBuf::from("/proc") };
        let cautions = |start: &str, offset: &str, block: &str| {
            let files = [
                ("block/sda/queue/physical_block_size", block),
                ("block/sda/sda1/partition", "1\n"),
                ("block/sda/sda1/start", start),
                ("block/sda/sda1/alignment_offset", offset),
            ];
            put(root.path(), &files);
            facts_in_folder(&places, &root.path().join("block/sda/sda1")).cautions.len()
        };
        assert_eq!(cautions("2048", "0", "512"), 0);
        assert_eq!(cautions("63", "0", "512"), 1, "as DOS made them");
        assert_eq!(cautions("2048", "3584", "4096"), 1, "the kernel says so");
        assert_eq!(cautions("8", "0", "16384"), 1, "the blocks are larger than a page");
        assert_eq!(facts_in_folder(&places, &root.path().join("block/sda")).cautions.len(), 0);
    }
}

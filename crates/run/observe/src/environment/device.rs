//! The block device below the filesystem, as `/sys/dev/block` tells it.

use std::fs::read_to_string;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use treering_model::Fact;

use super::fact;

/// What is known of the device of a path; nothing where there is no single one (tmpfs, btrfs).
pub(super) fn facts(target: &Path) -> Vec<Fact> {
    let Ok(metadata) = std::fs::metadata(target) else { return Vec::new() };
    let (major, minor) = major_minor(metadata.dev());
    let at = PathBuf::from(format!("/sys/dev/block/{major}:{minor}"));
    let Ok(at) = at.canonicalize() else { return Vec::new() };
    let mut facts = Vec::new();
    if let Some(name) = at.file_name() {
        facts.push(fact("device.name", name.to_string_lossy()));
    }
    // A partition has its queue at the disk it is part of.
    let disk = if at.join("queue").exists() { Some(at.as_path()) } else { at.parent() };
    let places = [("device.start_sectors", at.join("start")), ("device.sectors", at.join("size"))];
    let below_disk = [
        ("device.model", "device/model"),
        ("device.rotational", "queue/rotational"),
        ("device.scheduler", "queue/scheduler"),
        ("device.logical_block_bytes", "queue/logical_block_size"),
        ("device.physical_block_bytes", "queue/physical_block_size"),
        ("device.read_ahead_kib", "queue/read_ahead_kb"),
        ("device.write_cache", "queue/write_cache"),
        ("device.backing_file", "loop/backing_file"),
        ("device.direct_io", "loop/dio"),
    ];
    let of_disk = disk
        .into_iter()
        .flat_map(|disk| below_disk.iter().map(move |&(name, file)| (name, disk.join(file))));
    for (name, path) in places.into_iter().chain(of_disk) {
        if let Ok(text) = read_to_string(path) {
            facts.push(fact(name, text.trim()));
        }
    }
    facts
}

/// The two halves of a device number, as Linux packs them.
fn major_minor(device: u64) -> (u64, u64) {
    let major = ((device >> 8) & 0xfff) | ((device >> 32) & !0xfff);
    let minor = (device & 0xff) | ((device >> 12) & !0xff);
    (major, minor)
}

#[cfg(test)]
mod tests {
    use super::major_minor;

    #[test]
    fn device_numbers_are_unpacked() {
        assert_eq!(major_minor(0x0801), (8, 1));
        assert_eq!(major_minor((259 << 8) | 3), (259, 3));
        // Minor 300 is 0x12c: its low byte stands below the major, the rest above it.
        assert_eq!(major_minor(0x10_072c), (7, 300));
    }
}

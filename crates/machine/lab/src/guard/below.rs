//! Other ways to the bytes of a device: further loop devices on the same file, and the device below
//! a loop device.
//!
//! The kernel allows exclusive opens of two loop devices on one file, so neither an exclusive open
//! nor a holder in sysfs reveals the other loop device.

use std::collections::BTreeSet;
use std::fs;
use std::ops::Range;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use treering_sys::{DeviceOpenMode, loop_status, open_device};

use crate::machine::{DeviceNumber, KernelMounts, names, word};

/// Unit of sizes and offsets in sysfs, in bytes, regardless of the device's sector size.
const SECTOR: u64 = 512;

/// Devices below a device, and other loop devices on the same bytes.
#[derive(Debug, Default)]
pub(super) struct LowerDevices {
    /// The device itself and all its lower layers.
    pub(super) layers: BTreeSet<DeviceNumber>,
    /// Block devices that back loop devices among the layers.
    pub(super) carriers: Vec<DeviceNumber>,
    /// Other loop devices that lead to the same bytes.
    pub(super) rivals: Vec<RivalLoop>,
}

/// A loop device on the same file or device as one of the layers.
#[derive(Debug)]
pub(super) struct RivalLoop {
    /// Kernel name of the layer with the same bytes.
    pub(super) layer: String,
    pub(super) name: String,
    pub(super) number: DeviceNumber,
}

/// Backing store of a loop device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum BackingStore {
    /// A file, as its device number and inode number.
    File(u64, u64),
    Block(DeviceNumber),
}

/// Finds the lower layers of a device, with their carriers and rivals.
pub(super) fn below(machine: &KernelMounts, device: DeviceNumber) -> LowerDevices {
    let mut lower = LowerDevices::default();
    visit_layers(machine, device, 0..u64::MAX, &mut lower);
    lower
}

/// Visits the layers below the byte range `part` of a device.
fn visit_layers(
    machine: &KernelMounts,
    device: DeviceNumber,
    part: Range<u64>,
    lower: &mut LowerDevices,
) {
    let Some(folder) = machine.block_folder(device) else { return };
    if !lower.layers.insert(device) {
        return;
    }
    let part = part.start..part.end.min(bytes_of(&folder));
    if folder.join("partition").exists()
        && let Some(disk) = folder.parent().and_then(number_in)
    {
        let start = number(&folder.join("start")).unwrap_or(0).saturating_mul(SECTOR);
        visit_layers(machine, disk, shifted(&part, start), lower);
    }
    for slave in names(&folder.join("slaves")) {
        if let Some(slave) = number_in(&folder.join("slaves").join(slave)) {
            // The offset in the lower device is known only to the mapping, so the whole device
            // counts.
            visit_layers(machine, slave, 0..u64::MAX, lower);
        }
    }
    let name = machine.block_name(device).unwrap_or_else(|| device.to_string());
    let Some(backing) = backing(&name, &folder) else { return };
    let part = shifted(&part, offset_of(&folder));
    for (other, folder) in machine.block_devices_with("loop/backing_file") {
        let Some(number) = number_in(&folder).filter(|number| *number != device) else { continue };
        let begin = offset_of(&folder);
        let end = begin.saturating_add(bytes_of(&folder));
        let overlaps = begin < part.end && part.start < end;
        if overlaps && self::backing(&other, &folder) == Some(backing) {
            lower.rivals.push(RivalLoop { layer: name.clone(), name: other, number });
        }
    }
    if let BackingStore::Block(carrier) = backing {
        lower.carriers.push(carrier);
        visit_layers(machine, carrier, part, lower);
    }
}

/// Backing store of a loop device: from the driver, or, if that cannot be queried, from the path in
/// sysfs.
fn backing(name: &str, folder: &Path) -> Option<BackingStore> {
    let path = word(&folder.join("loop/backing_file"))?;
    let device = open_device(&Path::new("/dev").join(name), DeviceOpenMode::Look).ok();
    let status = device.and_then(|device| loop_status(&device).ok().flatten());
    if let Some(status) = status {
        return Some(match status.file_rdevice {
            0 => BackingStore::File(status.file_device, status.file_inode),
            number => BackingStore::Block(DeviceNumber::from_stat(number)),
        });
    }
    let metadata = fs::metadata(PathBuf::from(path.trim_end_matches(" (deleted)"))).ok()?;
    Some(if metadata.file_type().is_block_device() {
        BackingStore::Block(DeviceNumber::from_stat(metadata.rdev()))
    } else {
        BackingStore::File(metadata.dev(), metadata.ino())
    })
}

fn offset_of(folder: &Path) -> u64 {
    number(&folder.join("loop/offset")).unwrap_or(0)
}

fn bytes_of(folder: &Path) -> u64 {
    number(&folder.join("size")).map_or(u64::MAX, |sectors| sectors.saturating_mul(SECTOR))
}

fn shifted(part: &Range<u64>, by: u64) -> Range<u64> {
    part.start.saturating_add(by)..part.end.saturating_add(by)
}

fn number(path: &Path) -> Option<u64> {
    word(path)?.parse().ok()
}

fn number_in(folder: &Path) -> Option<DeviceNumber> {
    word(&folder.join("dev"))?.parse().ok()
}

//! What else leads to the bytes of a device: other loop devices on the same file, and the device
//! that a loop device lies on.
//!
//! The kernel lets each of two loop devices on one file be opened exclusively, so that neither an
//! exclusive open nor a holder tells of the other.

use std::collections::BTreeSet;
use std::fs;
use std::ops::Range;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use treering_sys::{DeviceUse, loop_status, open_device};

use crate::machine::{DeviceNumber, Machine, names, word};

/// The kernel's unit of sizes and places, whatever the sectors of the device.
const SECTOR: u64 = 512;

/// What lies below a device.
#[derive(Debug, Default)]
pub(super) struct Below {
    /// The device itself and all that it is made of.
    pub(super) layers: BTreeSet<DeviceNumber>,
    /// Block devices that loop devices among the layers lie on.
    pub(super) carriers: Vec<DeviceNumber>,
    /// Loop devices that lead to the same bytes.
    pub(super) rivals: Vec<Rival>,
}

/// A loop device on the same file or device as one of the layers.
#[derive(Debug)]
pub(super) struct Rival {
    /// The name of that layer.
    pub(super) layer: String,
    pub(super) name: String,
    pub(super) number: DeviceNumber,
}

/// What a loop device lies on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Backing {
    /// A file, by the numbers of its filesystem and of itself.
    File(u64, u64),
    Block(DeviceNumber),
}

/// Finds what lies below a device.
pub(super) fn below(machine: &Machine, device: DeviceNumber) -> Below {
    let mut found = Below::default();
    walk(machine, device, 0..u64::MAX, &mut found);
    found
}

/// Goes down from the bytes `part` of a device.
fn walk(machine: &Machine, device: DeviceNumber, part: Range<u64>, found: &mut Below) {
    let Some(folder) = machine.block_folder(device) else { return };
    if !found.layers.insert(device) {
        return;
    }
    let part = part.start..part.end.min(bytes_of(&folder));
    if folder.join("partition").exists()
        && let Some(disk) = folder.parent().and_then(number_in)
    {
        let start = number(&folder.join("start")).unwrap_or(0).saturating_mul(SECTOR);
        walk(machine, disk, moved(&part, start), found);
    }
    for slave in names(&folder.join("slaves")) {
        if let Some(slave) = number_in(&folder.join("slaves").join(slave)) {
            // Where in it our bytes are only the mapping knows.
            walk(machine, slave, 0..u64::MAX, found);
        }
    }
    let name = machine.block_name(device).unwrap_or_else(|| device.to_string());
    let Some(backing) = backing(&name, &folder) else { return };
    let part = moved(&part, offset_of(&folder));
    for (other, folder) in machine.block_devices_with("loop/backing_file") {
        let Some(number) = number_in(&folder).filter(|number| *number != device) else { continue };
        let begin = offset_of(&folder);
        let end = begin.saturating_add(bytes_of(&folder));
        let overlaps = begin < part.end && part.start < end;
        if overlaps && self::backing(&other, &folder) == Some(backing) {
            found.rivals.push(Rival { layer: name.clone(), name: other, number });
        }
    }
    if let Backing::Block(carrier) = backing {
        found.carriers.push(carrier);
        walk(machine, carrier, part, found);
    }
}

/// What a loop device lies on, as its driver says; where it cannot be asked, as its path says.
fn backing(name: &str, folder: &Path) -> Option<Backing> {
    let path = word(&folder.join("loop/backing_file"))?;
    let device = open_device(&Path::new("/dev").join(name), DeviceUse::Look).ok();
    let status = device.and_then(|device| loop_status(&device).ok().flatten());
    if let Some(status) = status {
        return Some(match status.file_rdevice {
            0 => Backing::File(status.file_device, status.file_inode),
            number => Backing::Block(DeviceNumber::from_stat(number)),
        });
    }
    let metadata = fs::metadata(PathBuf::from(path.trim_end_matches(" (deleted)"))).ok()?;
    Some(if metadata.file_type().is_block_device() {
        Backing::Block(DeviceNumber::from_stat(metadata.rdev()))
    } else {
        Backing::File(metadata.dev(), metadata.ino())
    })
}

fn offset_of(folder: &Path) -> u64 {
    number(&folder.join("loop/offset")).unwrap_or(0)
}

fn bytes_of(folder: &Path) -> u64 {
    number(&folder.join("size")).map_or(u64::MAX, |sectors| sectors.saturating_mul(SECTOR))
}

fn moved(part: &Range<u64>, by: u64) -> Range<u64> {
    part.start.saturating_add(by)..part.end.saturating_add(by)
}

fn number(path: &Path) -> Option<u64> {
    word(path)?.parse().ok()
}

fn number_in(folder: &Path) -> Option<DeviceNumber> {
    word(&folder.join("dev"))?.parse().ok()
}

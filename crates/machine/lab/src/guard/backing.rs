//! Allocated extents of the file behind a loop device. The rest of the file is holes, which read as
//! zeroes and need not be read.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};

use rustix::fs::OFlags;
use treering_sys::{MountTable, loop_status, major_minor};

use crate::machine::{DeviceNumber, KernelMounts, word};
use crate::master::next_data;

/// Lists the allocated extents as byte ranges of the device; `None` if the device is not a loop
/// device on a file, or the file cannot be found.
///
/// # Errors
/// When the device cannot be written back, or the extents of its file cannot be queried.
pub(super) fn extents(
    machine: &KernelMounts,
    number: DeviceNumber,
    device: &File,
    bytes: u64,
) -> io::Result<Option<Vec<Range<u64>>>> {
    let Some((file, offset)) = backing_file(machine, number, device) else { return Ok(None) };
    // Dirty pages of the device may not have blocks in the file yet.
    device.sync_all()?;
    let mut extents = Vec::new();
    let mut from = offset;
    let end = offset.saturating_add(bytes);
    while let Some((begin, stop)) = next_data(&file, from)? {
        if begin >= end {
            break;
        }
        extents.push(begin - offset..stop.min(end) - offset);
        from = stop;
    }
    Ok(Some(extents))
}

/// File behind a whole loop device (not a partition), and the device's offset in the file.
fn backing_file(
    machine: &KernelMounts,
    number: DeviceNumber,
    device: &File,
) -> Option<(File, u64)> {
    let folder = machine.block_folder(number)?;
    let path = word(&folder.join("loop/backing_file"))?;
    let status = loop_status(device).ok()??;
    if status.file_rdevice != 0 {
        return None;
    }
    let offset = word(&folder.join("loop/offset"))?.parse().ok()?;
    // The path may lead to another file now; opening a pipe must not block.
    let flags = (OFlags::NONBLOCK | OFlags::NOFOLLOW).bits().cast_signed();
    let file = File::options().read(true).custom_flags(flags).open(path).ok()?;
    let metadata = file.metadata().ok()?;
    let is_backing_file = metadata.dev() == status.file_device
        // A btrfs subvolume has another device number than its filesystem.
        || MountTable::read().ok()?.mount_of(&file)?.device == major_minor(status.file_device);
    (metadata.is_file() && metadata.ino() == status.file_inode && is_backing_file)
        .then_some((file, offset))
}

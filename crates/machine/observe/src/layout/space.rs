//! Free space and used share of a filesystem, as far as reported: ext4 and XFS by their reverse
//! map, btrfs by its trees.

use std::os::fd::BorrowedFd;

use treering_model::filesystems::{BTRFS, name_of};
use treering_model::{LayoutFullness, LayoutInodes, UsedBytes};
use treering_stats::layout::{FreeSpaceLayout, FreeSpaceMeasures, MapMeasures};
use treering_sys::{Errno, FilesystemFacts, space_map};

use super::found_space::SpaceUsage;
use super::{btrfs, reported};

/// Filesystem-specific reader of space usage.
type SpaceReader = fn(BorrowedFd<'_>, SpaceUsage, Option<&mut MapMeasures>) -> SpaceUsage;

/// Filesystems with a reader of their own.
const READERS: &[(&str, SpaceReader)] = &[(BTRFS.name, btrfs::look)];

/// Space usage of the filesystem that contains an open directory.
pub(super) fn look(
    filesystem: BorrowedFd<'_>,
    facts: &FilesystemFacts,
    map: Option<&mut MapMeasures>,
) -> SpaceUsage {
    let used_bytes = facts.capacity_bytes.saturating_sub(facts.unused_bytes);
    let fullness = LayoutFullness {
        data: UsedBytes { used_bytes, total_bytes: facts.capacity_bytes },
        inodes: facts.used_inodes.map(|(used, total)| LayoutInodes { used, total }),
        ..LayoutFullness::default()
    };
    let space = SpaceUsage { fullness, ..SpaceUsage::default() };
    let name = name_of(facts.type_magic);
    if let Some((_, look)) = READERS.iter().find(|(of, _)| name == Some(*of)) {
        return look(filesystem, space, map);
    }
    match free_space_from_map(filesystem, map) {
        Ok(free) => SpaceUsage { free: Some(reported::free(&free)), ..space },
        Err(Errno::NOTTY | Errno::OPNOTSUPP | Errno::INVAL | Errno::NOSYS) => {
            let name = name.unwrap_or("this filesystem");
            let problem = format!("{name} does not report which of its blocks are free");
            SpaceUsage { problem: Some(problem), ..space }
        }
        Err(errno) => {
            let problem = format!("the kernel does not report which blocks are free: {errno}");
            SpaceUsage { problem: Some(problem), ..space }
        }
    }
}

/// Free space from the kernel's reverse map. Adjacent free records are merged, since the kernel
/// splits some of them at structures of its own.
fn free_space_from_map(
    filesystem: BorrowedFd<'_>,
    mut map: Option<&mut MapMeasures>,
) -> Result<FreeSpaceLayout, Errno> {
    let mut free = FreeSpaceMeasures::default();
    let mut open: Option<(u32, u64, u64)> = None;
    let mut first_device = None;
    space_map(filesystem, |record| {
        let free_space_from_map = *first_device.get_or_insert(record.device) == record.device;
        if let Some(map) = map.as_mut().filter(|_| free_space_from_map) {
            map.space(record.physical, record.length);
            if record.is_free {
                map.free(record.physical, record.length);
            }
        }
        if !record.is_free {
            return;
        }
        open = match open {
            Some((device, at, length))
                if device == record.device && at.checked_add(length) == Some(record.physical) =>
            {
                Some((device, at, length.saturating_add(record.length)))
            }
            before => {
                free.add(before.map_or(0, |(_, _, length)| length));
                Some((record.device, record.physical, record.length))
            }
        };
    })?;
    free.add(open.map_or(0, |(_, _, length)| length));
    Ok(free.layout())
}

//! Free space, and how full a filesystem is, as far as it tells: ext4 and xfs by their map of
//! space, btrfs by its trees.

use std::os::fd::BorrowedFd;

use treering_stats::layout::{FreeSpaceLayout, FreeSpaceMeasures, MapMeasures};
use treering_sys::{Errno, FilesystemFacts, space_map};

use super::btrfs;

/// Bytes in use of those there are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Fullness {
    /// In use.
    pub used_bytes: u64,
    /// Set aside for it.
    pub total_bytes: u64,
}

impl Fullness {
    /// The share in use; `None` of nothing.
    pub fn share(&self) -> Option<f64> {
        (self.total_bytes > 0).then(|| self.used_bytes as f64 / self.total_bytes as f64)
    }
}

/// The space of a filesystem.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Space {
    /// What is free for data; `None` where it is not told, and why in [`Space::problem`].
    pub free: Option<FreeSpaceLayout>,
    /// Why free space is not told, and what to do about it.
    pub problem: Option<String>,
    /// How full what is set aside for data is: the whole filesystem, or, on btrfs, its block
    /// groups for data.
    pub data: Fullness,
    /// The same of metadata, where they have a place of their own.
    pub metadata: Option<Fullness>,
    /// Inodes in use of those that can be, where their number is fixed.
    pub inodes: Option<(u64, u64)>,
    /// Bytes of the devices that belong to no block group yet; btrfs only.
    pub unallocated_bytes: Option<u64>,
}

/// Looks at the space of the filesystem that something open is on.
pub(super) fn look(
    filesystem: BorrowedFd<'_>,
    facts: &FilesystemFacts,
    map: Option<&mut MapMeasures>,
) -> Space {
    let used_bytes = facts.capacity_bytes.saturating_sub(facts.unused_bytes);
    let whole = Fullness { used_bytes, total_bytes: facts.capacity_bytes };
    let space = Space { data: whole, inodes: facts.used_inodes, ..Space::default() };
    if facts.type_name() == Some("btrfs") {
        return btrfs::look(filesystem, space, map);
    }
    match of_map(filesystem, map) {
        Ok(free) => Space { free: Some(free), ..space },
        Err(Errno::NOTTY | Errno::OPNOTSUPP | Errno::INVAL | Errno::NOSYS) => {
            let name = facts.type_name().unwrap_or("this filesystem");
            let problem = format!("{name} does not tell which of its blocks are free");
            Space { problem: Some(problem), ..space }
        }
        Err(errno) => {
            let problem = format!("the kernel does not tell which blocks are free: {errno}");
            Space { problem: Some(problem), ..space }
        }
    }
}

/// By the kernel's map. Free stretches side by side are one: the kernel parts some of them where
/// its own structures end.
fn of_map(
    filesystem: BorrowedFd<'_>,
    mut map: Option<&mut MapMeasures>,
) -> Result<FreeSpaceLayout, Errno> {
    let mut free = FreeSpaceMeasures::default();
    let mut open: Option<(u32, u64, u64)> = None;
    let mut first_device = None;
    space_map(filesystem, |record| {
        let of_map = *first_device.get_or_insert(record.device) == record.device;
        if let Some(map) = map.as_mut().filter(|_| of_map) {
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

//! Open directories of a worker: the parts of each filesystem, and as many directories of files as
//! the process may keep open.

use treering_script::{DirSlot, MAX_DIRS};

/// Maximum number of directories that all workers together keep open, besides the parts.
const OPEN_MAX: u32 = 8192;
/// Minimum number of directory slots of a worker.
const OPEN_MIN: u32 = 8;

/// Directory of a filesystem that is kept open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum KeptDirectory {
    Root,
    Data,
    Meta,
}

/// Parts of a filesystem.
const PARTS: usize = 3;

/// Maximum number of filesystems per worker.
pub(super) const FILESYSTEMS_MAX: usize = 256;

/// Contents of a worker's directory slots.
#[derive(Debug)]
pub(super) struct DirSlots {
    parts: Vec<bool>,
    /// Filesystem and number of the directory in each slot after the parts'.
    dirs: Vec<Option<(usize, u32)>>,
}

fn slot(number: usize) -> DirSlot {
    // Slot 0 is the target.
    DirSlot(u16::try_from(number + 1).unwrap_or(MAX_DIRS - 1))
}

impl DirSlots {
    /// Slots of one of `workers` workers on `filesystems` filesystems.
    pub(super) fn new(filesystems: usize, workers: u16) -> Self {
        let parts = filesystems.min(FILESYSTEMS_MAX) * PARTS;
        let share = (OPEN_MAX / u32::from(workers.max(1))).max(OPEN_MIN);
        let room = usize::from(MAX_DIRS) - 1 - parts;
        let dirs = room.min(usize::try_from(share).unwrap_or(room));
        Self { parts: vec![false; parts], dirs: vec![None; dirs] }
    }

    /// The slot of a part.
    pub(super) fn part(filesystem: usize, part: KeptDirectory) -> DirSlot {
        slot(filesystem * PARTS + part as usize)
    }

    /// Marks a part as open; true if it was not, and must be opened first.
    #[inline]
    pub(super) fn opens_part(&mut self, filesystem: usize, part: KeptDirectory) -> bool {
        let open = self.parts.get_mut(filesystem * PARTS + part as usize);
        open.is_some_and(|open| !std::mem::replace(open, true))
    }

    fn place(&self, filesystem: usize, dir: u32) -> usize {
        let number = filesystem.wrapping_mul(0x9e37).wrapping_add(dir as usize);
        number % self.dirs.len().max(1)
    }

    /// The slot of a directory of files.
    #[inline]
    pub(super) fn dir(&self, filesystem: usize, dir: u32) -> DirSlot {
        slot(self.parts.len() + self.place(filesystem, dir))
    }

    /// Marks a directory as open in its slot; true if it was not, and must be opened first.
    #[inline]
    pub(super) fn opens_dir(&mut self, filesystem: usize, dir: u32) -> bool {
        let place = self.place(filesystem, dir);
        match self.dirs.get_mut(place) {
            Some(open) if *open == Some((filesystem, dir)) => false,
            Some(open) => {
                *open = Some((filesystem, dir));
                true
            }
            None => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{DirSlots, KeptDirectory};
    use std::collections::HashSet;
    use treering_script::MAX_DIRS;

    #[test]
    fn slots_are_distinct_and_valid() {
        let slots = DirSlots::new(3, 1);
        let mut seen = HashSet::new();
        for filesystem in 0..3 {
            for part in [KeptDirectory::Root, KeptDirectory::Data, KeptDirectory::Meta] {
                let slot = DirSlots::part(filesystem, part);
                assert!(slot.0 > 0 && slot.0 < MAX_DIRS && seen.insert(slot));
            }
        }
        for dir in 0..5000 {
            let slot = slots.dir(2, dir);
            assert!(slot.0 < MAX_DIRS && !seen.contains(&slot));
        }
    }

    #[test]
    fn directory_stays_open_until_its_slot_is_reused() {
        let mut slots = DirSlots::new(1, 1024);
        assert!(slots.opens_part(0, KeptDirectory::Data));
        assert!(!slots.opens_part(0, KeptDirectory::Data));
        assert!(slots.opens_dir(0, 3));
        assert!(!slots.opens_dir(0, 3));
        assert!(slots.opens_dir(0, 11), "8 slots: the same one");
        assert!(slots.opens_dir(0, 3));
    }
}

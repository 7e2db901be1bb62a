//! Files of a run, and the drawing of operations on them, in the same order as PostMark 1.5: a seed
//! gives the same operations in both.

use super::options::RunShape;
use super::twister::MersenneTwister;

/// Number of different characters in the buffer that the original fills at random: each draw
/// advances the generator.
const CHARACTERS: u32 = 95;

/// File of the pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PoolFile {
    /// Number of the file, which is also its name.
    pub(super) number: u32,
    /// Number of its subdirectory, if there are any.
    pub(super) subdir: Option<u32>,
    /// Size of the file.
    pub(super) bytes: u32,
}

/// Operation on a file, as drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FileOperation {
    Create(PoolFile),
    Read(PoolFile),
    /// File before the append, and the number of appended bytes.
    Append(PoolFile, u32),
    Delete(PoolFile),
}

/// Table of the existing files, and the generator that draws the operations.
#[derive(Debug)]
pub(super) struct FilePool {
    shape: RunShape,
    twister: MersenneTwister,
    /// Slots for twice as many files as the initial pool has.
    slots: Vec<Option<PoolFile>>,
    /// First slot to try for the next file.
    next: usize,
    created: u32,
    standing: u32,
}

impl FilePool {
    /// Creates an empty pool.
    pub(super) fn new(shape: &RunShape) -> Self {
        let mut twister = MersenneTwister::new(shape.seed);
        for _ in 0..shape.high.saturating_mul(2) {
            twister.below(CHARACTERS);
        }
        let slots = vec![None; 2 * shape.number as usize];
        Self { shape: *shape, twister, slots, next: 0, created: 0, standing: 0 }
    }

    /// Returns true if no file exists.
    pub(super) const fn is_empty(&self) -> bool {
        self.standing == 0
    }

    /// Draws a new file; `None` if all slots are taken.
    pub(super) fn create(&mut self) -> Option<FileOperation> {
        let is_free = |slot: &usize| self.slots.get(*slot).is_some_and(Option::is_none);
        let slot = Some(self.next).filter(is_free);
        let slot = slot.or_else(|| (0..self.slots.len()).find(is_free))?;
        self.next = slot + 1;
        self.created += 1;
        self.standing += 1;
        let RunShape { low, high, subdirs, .. } = self.shape;
        let subdir = (subdirs > 0).then(|| self.twister.below(subdirs));
        let bytes = low + self.twister.below(high - low);
        let file = PoolFile { number: self.created, subdir, bytes };
        self.slots[slot] = Some(file);
        Some(FileOperation::Create(file))
    }

    /// Draws the first half of a transaction; `None` if the file to append to has its full size.
    pub(super) fn read_or_append(&mut self) -> Option<FileOperation> {
        let reads = self.twister.below(10) < self.shape.bias_read;
        let (slot, file) = self.drawn()?;
        if reads {
            return Some(FileOperation::Read(file));
        }
        let room = self.shape.high.checked_sub(file.bytes).filter(|room| *room > 0)?;
        let more = self.twister.below(room) + 1;
        self.slots[slot] = Some(PoolFile { bytes: file.bytes + more, ..file });
        Some(FileOperation::Append(file, more))
    }

    /// Draws the second half of a transaction; `None` if a new file finds no free slot.
    pub(super) fn create_or_delete(&mut self) -> Option<FileOperation> {
        if self.twister.below(10) < self.shape.bias_create {
            return self.create();
        }
        let (slot, _) = self.drawn()?;
        self.delete(slot)
    }

    /// Removes the first file at or behind `slot`, and moves `slot` there.
    pub(super) fn delete_from(&mut self, slot: &mut usize) -> Option<FileOperation> {
        *slot += self.slots.get(*slot..)?.iter().position(Option::is_some)?;
        self.delete(*slot)
    }

    fn delete(&mut self, slot: usize) -> Option<FileOperation> {
        let file = self.slots[slot].take()?;
        self.standing -= 1;
        Some(FileOperation::Delete(file))
    }

    /// Draws an existing file and returns it with its slot; `None` if no file exists.
    fn drawn(&mut self) -> Option<(usize, PoolFile)> {
        if self.is_empty() {
            return None;
        }
        loop {
            let slot = self.twister.below(self.shape.number * 2) as usize;
            if let Some(file) = self.slots[slot] {
                return Some((slot, file));
            }
        }
    }
}

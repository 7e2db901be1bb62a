//! Descriptor slots of the open files, and their file positions.

use treering_script::{FileSlot, MAX_FILES};

/// Slots of a clone's files.
#[derive(Debug)]
pub(super) struct FileSlots {
    files: Vec<Option<(FileSlot, u64)>>,
    /// End of the last transfer of each file, kept when the file is reopened. The original calls
    /// `lseek` if the next offset differs from it.
    last: Vec<u64>,
    free: Vec<u16>,
}

impl FileSlots {
    pub(super) fn new(files: usize) -> Self {
        // No file has two slots, so that more of them would only be copied by each fork.
        let slots = u16::try_from(files).unwrap_or(MAX_FILES).clamp(1, MAX_FILES);
        Self { files: vec![None; files], last: vec![0; files], free: (0..slots).rev().collect() }
    }

    /// Assigns a slot to a file. A slot is always free, since the number of open files is limited.
    pub(super) fn open(&mut self, file: usize) {
        let slot = self.free.pop().unwrap_or(MAX_FILES - 1);
        self.files[file] = Some((FileSlot(slot), 0));
    }

    /// Slot of an open file.
    #[inline]
    pub(super) fn slot(&self, file: usize) -> FileSlot {
        self.files[file].map_or(FileSlot(MAX_FILES - 1), |(slot, _)| slot)
    }

    /// Releases the slot of a file.
    pub(super) fn close(&mut self, file: usize) -> FileSlot {
        let slot = self.slot(file);
        if self.files[file].take().is_some() {
            self.free.push(slot.0);
        }
        slot
    }

    /// True if the file has a slot.
    pub(super) fn is_open(&self, file: usize) -> bool {
        self.files[file].is_some()
    }

    /// Records the file position after a transfer or seek.
    #[inline]
    pub(super) fn moved(&mut self, file: usize, position: u64) {
        if let Some((_, before)) = &mut self.files[file] {
            *before = position;
            self.last[file] = position;
        }
    }

    /// True if both the file position and the end of the last transfer are at `position`.
    pub(super) fn is_at(&self, file: usize, position: u64) -> bool {
        let is_position = self.files[file].is_some_and(|(_, before)| before == position);
        is_position && self.last[file] == position
    }
}

//! Reads and writes: draws sizes from the remaining budget, at offsets where the file allows them.

use super::saying::line;
use super::{BlockWalk, CheckStrictness, FileTable, LASTING, MixOperation, PASSING_MAX, pick};
use crate::language::generate::mix::WriteEffect;

impl BlockWalk {
    /// Smallest read size left in the budget.
    fn least_read(&self) -> u64 {
        let left = self.left.reads.iter().filter(|(_, count)| *count > 0);
        left.map(|(size, _)| u64::from(*size)).min().unwrap_or(u64::MAX)
    }

    /// True if more reads are left than open files that still need one.
    fn spare_reads(&self) -> bool {
        let wanting = self.open.iter().filter(|open| open.wants.reads).count() as u64;
        self.left.of_kind(MixOperation::Read) > wanting + self.left.to_read
    }

    /// True if more writes are left than open files that still need one; for files that last, only
    /// writes that do not grow the file count.
    fn spare_writes(&self, lasts: bool) -> bool {
        let wanting = self.open.iter().filter(|open| open.wants.writes).count() as u64;
        let over = || self.left.of_effect(WriteEffect::Over);
        let writes = if lasts { over() } else { self.left.of_kind(MixOperation::Write) };
        writes > wanting + self.left.to_write
    }

    /// Index of the open file to read next, usually the one opened last.
    pub(super) fn reader(&self, strictness: CheckStrictness, files: &FileTable) -> Option<usize> {
        let least = self.least_read();
        let spare = strictness == CheckStrictness::Lax || self.spare_reads();
        let reads = |at: &usize| {
            let open = &self.open[*at];
            let opened_for = strictness == CheckStrictness::Lax || open.purpose.reads;
            opened_for
                && (spare || open.wants.reads)
                && files.all[open.file].bytes.is_some_and(|bytes| bytes >= least)
        };
        let suiting = || (0..self.open.len()).rev().filter(reads);
        // A file that was never read comes first, or it could not be closed.
        suiting().find(|at| self.open[*at].wants.reads).or_else(|| suiting().next())
    }

    pub(super) fn read(
        &mut self,
        strictness: CheckStrictness,
        files: &FileTable,
        out: &mut Vec<u8>,
    ) {
        let Some(at) = self.reader(strictness, files) else { return };
        let bytes = files.all[self.open[at].file].bytes.unwrap_or_default();
        let fits = |size: u32| u64::from(size) <= bytes;
        let weights: Vec<u64> = self
            .left
            .reads
            .iter()
            .map(|&(size, count)| if fits(size) { count } else { 0 })
            .collect();
        let drawn = self.random.below(weights.iter().sum());
        let chosen = pick(&weights, drawn);
        self.left.reads[chosen].1 -= 1;
        let size = self.left.reads[chosen].0;
        let last = bytes.saturating_sub(u64::from(size));
        let next = self.open[at].next;
        let offset = if next > 0 && next <= last && self.random.below(100) < 66 {
            next
        } else if self.random.below(100) < 45 {
            0
        } else {
            self.random.below(last / 512 + 1) * 512
        };
        let open = &mut self.open[at];
        open.wants.reads = false;
        open.next = offset + u64::from(size);
        line(out, &format!("ReadX {} {offset} {size} {size}", open.handle));
    }

    /// True if an open file can take a write of this effect and size.
    fn takes(&self, at: usize, effect: WriteEffect, size: u32, files: &FileTable) -> bool {
        let open = &self.open[at];
        let bytes = files.all[open.file].bytes.unwrap_or_default();
        let passes = open.file >= LASTING;
        match effect {
            WriteEffect::Over => bytes >= u64::from(size),
            WriteEffect::Straddle => passes && bytes > 0,
            WriteEffect::Append | WriteEffect::Extend => passes && !self.left.keeps_beginning(),
        }
    }

    /// Permission to write an open file, and to grow it.
    fn may_write(&self, at: usize, strictness: CheckStrictness, files: &FileTable) -> (bool, bool) {
        if strictness == CheckStrictness::Lax {
            return (true, true);
        }
        let open = &self.open[at];
        let may = open.wants.writes || self.spare_writes(open.file < LASTING);
        (may, may && files.passing_bytes() <= PASSING_MAX)
    }

    /// Indices of the open files that may be written, the one opened last first.
    fn writers(&self, strictness: CheckStrictness) -> impl Iterator<Item = usize> {
        let writes =
            move |at: &usize| strictness == CheckStrictness::Lax || self.open[*at].purpose.writes;
        (0..self.open.len()).rev().filter(writes)
    }

    /// Writes of the budget that an open file can take: their index, once for each one left.
    fn writes_for(
        &self,
        at: usize,
        strictness: CheckStrictness,
        files: &FileTable,
    ) -> impl Iterator<Item = u64> {
        let (may, grows) = self.may_write(at, strictness, files);
        self.left.writes.iter().map(move |&(effect, size, count)| {
            let held = !may || (!grows && effect != WriteEffect::Over);
            if count == 0 || held || !self.takes(at, effect, size, files) { 0 } else { count }
        })
    }

    pub(super) fn can_write(&self, strictness: CheckStrictness, files: &FileTable) -> bool {
        self.writers(strictness).any(|at| self.has_write(at, strictness, files))
    }

    /// True if a write is left for an open file; a cheaper test than calling
    /// [`BlockWalk::writes_for`].
    fn has_write(&self, at: usize, strictness: CheckStrictness, files: &FileTable) -> bool {
        let left = |effect| self.left.of_effect(effect) > 0;
        let (may, grows) = self.may_write(at, strictness, files);
        if !may {
            return false;
        }
        if self.open[at].file < LASTING {
            return left(WriteEffect::Over);
        }
        let begins = left(WriteEffect::Append) || left(WriteEffect::Extend);
        if grows && begins && !self.left.keeps_beginning() {
            return true;
        }
        self.writes_for(at, strictness, files).any(|count| count > 0)
    }

    pub(super) fn write(
        &mut self,
        strictness: CheckStrictness,
        files: &mut FileTable,
        out: &mut Vec<u8>,
    ) {
        let can = |at: &usize| self.has_write(*at, strictness, files);
        let suiting: Vec<usize> = self.writers(strictness).filter(can).collect();
        let wanting = suiting.iter().copied().find(|at| self.open[*at].wants.writes);
        let Some(at) = wanting.or_else(|| suiting.first().copied()) else { return };
        let mut weights: Vec<u64> = self.writes_for(at, strictness, files).collect();
        if self.open[at].file >= LASTING {
            // Only these files may grow: they do so first.
            let grows = |at: usize| self.left.writes[at].0 != WriteEffect::Over;
            let some = (0..weights.len()).any(|at| grows(at) && weights[at] > 0);
            if some && self.random.below(10) < 9 {
                (0..weights.len()).filter(|at| !grows(*at)).for_each(|at| weights[at] = 0);
            }
        }
        let drawn = self.random.below(weights.iter().sum());
        let chosen = pick(&weights, drawn);
        self.left.writes[chosen].2 -= 1;
        let (effect, size, _) = self.left.writes[chosen];
        self.left.effects[effect as usize] -= 1;
        let offset = self.offset(at, effect, size, files);
        let open = &mut self.open[at];
        open.wants.writes = false;
        let end = offset + u64::from(size);
        let bytes = &mut files.all[open.file].bytes;
        *bytes = (*bytes).max(Some(end));
        line(out, &format!("WriteX {} {offset} {size} {size}", open.handle));
    }

    fn offset(&mut self, at: usize, effect: WriteEffect, size: u32, files: &FileTable) -> u64 {
        let bytes = files.all[self.open[at].file].bytes.unwrap_or_default();
        let size = u64::from(size);
        match effect {
            WriteEffect::Append => bytes,
            // The write ends one byte beyond the end; a small file is rewritten whole.
            WriteEffect::Straddle => (bytes + 1).saturating_sub(size),
            WriteEffect::Extend => {
                // As far as the next write that straddles the end needs it.
                let straddles = |entry: &&(WriteEffect, u32, u64)| {
                    entry.0 == WriteEffect::Straddle && entry.2 > 0
                };
                let sizes: Vec<u64> =
                    self.left.writes.iter().filter(straddles).map(|entry| entry.1.into()).collect();
                let size = sizes.get(self.random.index(sizes.len())).copied().unwrap_or(4096);
                (bytes + 1).max(size.saturating_sub(2))
            }
            WriteEffect::Over
                if self.random.below(100) < 30 && self.open[at].next + size <= bytes =>
            {
                let offset = self.open[at].next;
                self.open[at].next += size;
                offset
            }
            WriteEffect::Over => self.random.below((bytes - size) / 512 + 1) * 512,
        }
    }
}

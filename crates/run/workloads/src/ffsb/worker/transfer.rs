//! Reading and writing: how much, from where on, block by block.

use super::doing::Doing;
use super::{Present, Stage, Worker};
use crate::ffsb::operation::Operation;
use crate::ffsb::tally::TimedCall;

/// Random offsets are multiples of this when they are aligned.
const ALIGNMENT: u64 = 4096;

impl Worker {
    /// Decides how much is moved, and from where on.
    pub(super) fn begin_transfer(&mut self) -> Stage {
        let operation = self.present.operation;
        let size = self.present.size;
        let with = if operation.reads() { self.plan.read } else { self.plan.write };
        let wanted = match operation {
            Operation::ReadAll | Operation::WriteAll | Operation::WriteAllFsync => size,
            Operation::Create | Operation::CreateFsync if self.plan.empty_files => 0,
            Operation::Create | Operation::CreateFsync => {
                let Self { land, deeds, present, .. } = self;
                land.filesets[present.filesystem].draw_size(deeds)
            }
            Operation::Append | Operation::AppendFsync => with.bytes,
            // A file that is smaller is read or written whole.
            _ => with.bytes.min(size),
        };
        let partial =
            matches!(operation, Operation::Read | Operation::Write | Operation::WriteFsync);
        self.ended = false;
        self.present.wanted = wanted;
        self.present.block_bytes = with.block_bytes.max(1);
        self.present.random = partial && with.random;
        let skips = operation == Operation::Read && self.plan.skip_bytes.is_some();
        if partial && !skips && !self.present.random {
            self.present.position = self.draw_offset(size - wanted);
        }
        if wanted == 0 {
            return if operation.syncs() { Stage::Fsync } else { Stage::Close };
        }
        if partial && (self.present.random || self.present.position > 0) {
            return Stage::Seek;
        }
        Stage::Move
    }

    /// An offset from 0 to `last`, each equally likely; whole blocks of 4 KiB when aligned.
    fn draw_offset(&mut self, last: u64) -> u64 {
        if self.plan.manner.align {
            self.random.below(last / ALIGNMENT + 1) * ALIGNMENT
        } else {
            self.random.below(last.saturating_add(1))
        }
    }

    pub(super) fn seek(&mut self) -> Doing {
        if self.present.random {
            let block = u64::from(self.present.block_bytes);
            self.present.position = self.draw_offset(self.present.size.saturating_sub(block));
        }
        self.timing = Some(TimedCall::Seek);
        self.stage = Stage::Move;
        Doing::Seek
    }

    /// Moves the next block.
    pub(super) fn transfer(&mut self) -> Doing {
        let Present { operation, wanted, moved, block_bytes, .. } = self.present;
        let left = u32::try_from(wanted - moved).unwrap_or(u32::MAX);
        let bytes = left.min(block_bytes);
        if operation.reads() {
            self.timing = Some(TimedCall::Read);
            Doing::Read(bytes)
        } else {
            self.timing = Some(TimedCall::Write);
            Doing::Write(bytes)
        }
    }

    /// A block was moved, or less.
    pub(super) fn moved(&mut self, bytes: u64) {
        let present = &mut self.present;
        present.moved += bytes;
        present.position += bytes;
        // The original counts no block that it did not read whole.
        let whole = bytes == u64::from(present.block_bytes);
        let counts = whole || !(present.operation.reads() && self.plan.manner.classic);
        present.blocks += u64::from(counts && bytes > 0);
        self.ended = bytes == 0;
        if let Some(skip) = self.plan.skip_bytes
            && present.operation == Operation::Read
        {
            present.position += skip;
        }
        self.stage = self.after_move();
    }

    /// What comes after a block.
    fn after_move(&self) -> Stage {
        let present = &self.present;
        let skips = self.plan.skip_bytes.is_some() && present.operation == Operation::Read;
        let beyond =
            skips && present.position.saturating_add(present.block_bytes.into()) > present.size;
        if present.moved >= present.wanted || self.ended || beyond {
            if present.operation.syncs() { Stage::Fsync } else { Stage::Close }
        } else if present.random || skips {
            Stage::Seek
        } else {
            Stage::Move
        }
    }
}

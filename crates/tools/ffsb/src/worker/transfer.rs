//! Opens, reads, writes and closes files: amount, offset and block size of each transfer.

use treering_script::{CreateHow, DirSlot, FileSlot, Io, OpenHow, Stop};

use super::{TransferCounts, Worker};
use crate::language::TimedCall;
use crate::operation::Operation;
use crate::plan::TransferShape;

const FILE: FileSlot = FileSlot(0);
/// Alignment of random offsets with `alignio`.
const ALIGNMENT: u64 = 4096;

impl Worker {
    /// Opens or creates the current file.
    #[inline]
    pub(super) fn open(
        &mut self,
        io: &mut dyn Io,
        operation: Operation,
        dir: DirSlot,
    ) -> Result<(), Stop> {
        let name = self.name.as_c_str();
        if operation.makes() {
            io.create(dir, name, CreateHow::TruncateToRead, FILE)?;
        } else if operation.appends() {
            io.open(dir, name, OpenHow::Append, FILE)?;
        } else if operation.writes() {
            io.open(dir, name, OpenHow::Write, FILE)?;
        } else {
            io.open(dir, name, OpenHow::Read, FILE)?;
        }
        self.timed(io, TimedCall::Open);
        // The original looks how large a file is of which it uses what is there.
        let writes_over = operation.writes() && !operation.makes() && !operation.appends();
        if self.plan.worker_options.classic && (operation.reads() || writes_over) {
            io.stat(dir, self.name.as_c_str())?;
        }
        Ok(())
    }

    #[inline]
    pub(super) fn close(&mut self, io: &mut dyn Io, syncs: bool) -> Result<(), Stop> {
        if syncs {
            io.fsync(FILE)?;
        }
        io.close(FILE)?;
        self.timed(io, TimedCall::Close);
        Ok(())
    }

    /// Draws the number of bytes that an operation transfers in a file of this size.
    pub(super) fn draw_wanted(
        &mut self,
        operation: Operation,
        filesystem: usize,
        size: u64,
    ) -> u64 {
        match operation {
            Operation::ReadAll | Operation::WriteAll | Operation::WriteAllFsync => size,
            Operation::Create | Operation::CreateFsync if self.plan.empty_files => 0,
            Operation::Create | Operation::CreateFsync => {
                self.namespace.filesets[filesystem].draw_size(&mut self.choices)
            }
            Operation::Append | Operation::AppendFsync => self.plan.write.bytes,
            // A file that is smaller is read or written whole.
            Operation::Read => self.plan.read.bytes.min(size),
            _ => self.plan.write.bytes.min(size),
        }
    }

    /// Moves `wanted` bytes of a file of this size, block by block: sequentially from a drawn
    /// offset, each block at a random offset, or with gaps between blocks.
    #[inline]
    pub(super) fn transfer(
        &mut self,
        io: &mut dyn Io,
        operation: Operation,
        wanted: u64,
        size: u64,
    ) -> Result<TransferCounts, Stop> {
        let reads = operation.reads();
        let TransferShape { block_bytes, random, .. } =
            if reads { self.plan.read } else { self.plan.write };
        let block = block_bytes.max(1);
        let partial =
            matches!(operation, Operation::Read | Operation::Write | Operation::WriteFsync);
        let random = partial && random;
        let skip = self.plan.skip_bytes.filter(|_| operation == Operation::Read);
        let anywhere = partial && !random && skip.is_none();
        let mut position = if anywhere { self.draw_offset(size - wanted) } else { 0 };
        let mut seeks = random || position > 0;
        let mut moved = TransferCounts::default();
        while moved.bytes < wanted {
            if seeks {
                if random {
                    position = self.draw_offset(size.saturating_sub(block.into()));
                }
                io.seek(FILE, position)?;
                self.timed(io, TimedCall::Seek);
            }
            let piece = u32::try_from(wanted - moved.bytes).unwrap_or(u32::MAX).min(block);
            let bytes = if reads { io.read(FILE, piece) } else { io.write(FILE, piece, position) }?;
            self.timed(io, if reads { TimedCall::Read } else { TimedCall::Write });
            moved.bytes += bytes;
            position += bytes + skip.unwrap_or(0);
            // The original counts no block that it did not read whole.
            let counts = bytes == u64::from(block) || !(reads && self.plan.worker_options.classic);
            moved.blocks += u64::from(counts && bytes > 0);
            let is_past = skip.is_some() && position.saturating_add(block.into()) > size;
            if bytes == 0 || is_past {
                break;
            }
            seeks = random || skip.is_some();
        }
        Ok(moved)
    }

    /// An offset from 0 to `last`, each equally likely; whole blocks of 4 KiB when aligned.
    fn draw_offset(&mut self, last: u64) -> u64 {
        if self.plan.worker_options.align {
            self.random.below(last / ALIGNMENT + 1) * ALIGNMENT
        } else {
            self.random.below(last.saturating_add(1))
        }
    }
}

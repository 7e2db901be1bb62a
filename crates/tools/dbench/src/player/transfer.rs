//! Reads and writes, split into pieces that fit one call.

use treering_script::{Errno, FileSlot, Io, Stop};

use super::Player;
use super::client::words;
use crate::language::HandleId;

/// Maximum bytes of a call.
const PIECE: u32 = 4 << 20;

/// Read or write of a load: requested bytes, and bytes moved in the recording.
#[derive(Clone, Copy, Debug)]
pub(super) struct RecordedTransfer {
    pub(super) handle: HandleId,
    pub(super) offset: u64,
    pub(super) bytes: u32,
    pub(super) moved: u32,
}

impl RecordedTransfer {
    /// Length and offset of the next piece, after `moved` bytes.
    fn piece(&self, moved: u64) -> (u32, u64) {
        let left = u64::from(self.bytes).saturating_sub(moved);
        let bytes = u32::try_from(left).unwrap_or(PIECE).min(PIECE);
        (bytes, self.offset.saturating_add(moved))
    }
}

impl Player {
    pub(super) fn read(
        &mut self,
        io: &mut dyn Io,
        transfer: RecordedTransfer,
    ) -> Result<bool, Stop> {
        let Some(file) = self.file_of(transfer.handle) else { return Ok(true) };
        let surprise = !self.plan.fake_io && self.read_pieces(io, file, transfer)?;
        self.client().moved(transfer.bytes.into(), 0);
        Ok(surprise)
    }

    fn read_pieces(
        &mut self,
        io: &mut dyn Io,
        file: FileSlot,
        transfer: RecordedTransfer,
    ) -> Result<bool, Stop> {
        let mut moved = 0;
        let failed = loop {
            let (bytes, position) = transfer.piece(moved);
            let read = io.read_at(file, bytes, position);
            match self.outcome_of(io, read)? {
                Ok(got) => {
                    moved += got;
                    if got != u64::from(PIECE) || moved >= u64::from(transfer.bytes) {
                        break None;
                    }
                }
                Err(errno) => break Some(errno),
            }
        };
        let surprise = failed.is_some() || moved != u64::from(transfer.moved);
        if surprise {
            let wanted = transfer.moved;
            let why = failed.map_or_else(|| format!("{moved} bytes instead of {wanted}"), words);
            let number = self.client().handle_number(transfer.handle);
            self.report(format!("read failed on handle {number} ({why})"));
        }
        Ok(surprise)
    }

    pub(super) fn write(
        &mut self,
        io: &mut dyn Io,
        transfer: RecordedTransfer,
    ) -> Result<bool, Stop> {
        let Some(file) = self.file_of(transfer.handle) else { return Ok(true) };
        let last = if self.plan.fake_io {
            Ok(())
        } else if self.plan.one_byte_write_fix && transfer.bytes == 1 {
            self.one_byte(io, file, transfer.offset)?
        } else {
            if !self.write_pieces(io, file, transfer)? {
                return Ok(true);
            }
            if self.plan.fsync {
                let synced = io.fsync(file);
                self.outcome_of(io, synced)?
            } else {
                Ok(())
            }
        };
        self.client().moved(0, transfer.bytes.into());
        Ok(self.plan.fsync && last.is_err())
    }

    /// Writes in pieces; false after a short write, which ends the run.
    fn write_pieces(
        &mut self,
        io: &mut dyn Io,
        file: FileSlot,
        transfer: RecordedTransfer,
    ) -> Result<bool, Stop> {
        let mut moved = 0;
        let failed = loop {
            let (bytes, position) = transfer.piece(moved);
            let written = io.write_at(file, bytes, position);
            match self.outcome_of(io, written)? {
                Ok(written) => {
                    moved += written;
                    if written == 0 || moved >= u64::from(transfer.bytes.min(transfer.moved)) {
                        break None;
                    }
                }
                Err(errno) => break Some(errno),
            }
        };
        if failed.is_none() && moved == u64::from(transfer.moved) {
            return Ok(true);
        }
        let (number, wanted) = (self.client().handle_number(transfer.handle), transfer.moved);
        self.fail(match failed {
            Some(errno) => format!("write failed on handle {number} ({})", words(errno)),
            None => {
                format!("wrote {moved} bytes, expected to write {wanted} bytes on handle {number}")
            }
        });
        Ok(false)
    }

    /// Handles a one-byte write: the byte exists already, or the file is extended by it. The value
    /// is assumed to be zero, like the original's.
    fn one_byte(
        &mut self,
        io: &mut dyn Io,
        file: FileSlot,
        offset: u64,
    ) -> Result<Result<(), Errno>, Stop> {
        let size = io.file_size(file);
        let is_there = self.outcome_of(io, size)?.is_ok_and(|bytes| bytes > offset);
        let done = if is_there {
            io.read_at(file, 1, offset).map(|_bytes| ())
        } else {
            io.truncate(file, offset.saturating_add(1))
        };
        self.outcome_of(io, done)
    }
}

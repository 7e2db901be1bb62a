//! Reading and writing, in pieces where a piece would be too long for one call.

use super::Player;
use super::client::words;
use super::doing::Doing;
use super::{Heard, Stage};
use crate::dbench::loadfile::HandleId;

/// The most that one call moves.
const PIECE: u32 = 4 << 20;

impl Player {
    /// The next piece, from where the present operation is.
    fn piece(&self, bytes: u32) -> u32 {
        u32::try_from(u64::from(bytes) - self.moved).unwrap_or(PIECE).min(PIECE)
    }

    pub(super) fn read(
        &mut self,
        act: u8,
        handle: HandleId,
        offset: u64,
        bytes: u32,
        moved: u32,
    ) -> Option<Doing> {
        if act == 0 {
            if !self.handle(handle) {
                return None;
            }
            self.moved = 0;
            if self.plan.fake_io {
                return self.read_all(bytes, false);
            }
        } else {
            let got = self.heard.value();
            self.moved += got;
            let whole = got == u64::from(PIECE) && self.moved < u64::from(bytes);
            if self.heard.errno().is_some() || !whole {
                let surprise = self.heard.errno().is_some() || self.moved != u64::from(moved);
                if surprise {
                    let why = self
                        .heard
                        .errno()
                        .map_or_else(|| format!("{} bytes instead of {moved}", self.moved), words);
                    let number = self.client().handle_number(handle);
                    self.say(format!("read failed on handle {number} ({why})"));
                }
                return self.read_all(bytes, surprise);
            }
        }
        self.stage = Stage::Act(1);
        Some(Doing::Read(self.file, self.piece(bytes), offset.saturating_add(self.moved)))
    }

    fn read_all(&mut self, bytes: u32, surprise: bool) -> Option<Doing> {
        self.client().moved(bytes.into(), 0);
        self.finish(surprise);
        None
    }

    pub(super) fn write(
        &mut self,
        act: u8,
        handle: HandleId,
        offset: u64,
        bytes: u32,
        moved: u32,
    ) -> Option<Doing> {
        match act {
            0 => {
                if !self.handle(handle) {
                    return None;
                }
                self.moved = 0;
                if self.plan.fake_io {
                    return self.written(bytes);
                }
                if self.plan.one_byte_write_fix && bytes == 1 {
                    self.stage = Stage::Act(5);
                    return Some(Doing::FileStat(self.file));
                }
                self.write_piece(offset, bytes)
            }
            1 => {
                self.moved += self.heard.value();
                let failed = self.heard.errno();
                let more = self.moved < u64::from(bytes) && self.moved < u64::from(moved);
                if failed.is_none() && more && self.heard.value() > 0 {
                    return self.write_piece(offset, bytes);
                }
                if failed.is_some() || self.moved != u64::from(moved) {
                    self.not_written(handle, moved);
                    return None;
                }
                if self.plan.fsync {
                    self.stage = Stage::Act(2);
                    return Some(Doing::Fsync(self.file));
                }
                self.written(bytes)
            }
            5 => self.one_byte(offset),
            _ => self.written(bytes),
        }
    }

    #[expect(clippy::unnecessary_wraps, reason = "what an operation does next is a call or none")]
    fn write_piece(&mut self, offset: u64, bytes: u32) -> Option<Doing> {
        self.stage = Stage::Act(1);
        Some(Doing::Write(self.file, self.piece(bytes), offset.saturating_add(self.moved)))
    }

    /// A single byte: it is there already, or the file is made longer by it. What is written is
    /// taken to be zero, as the original's is.
    #[expect(clippy::unnecessary_wraps, reason = "what an operation does next is a call or none")]
    fn one_byte(&mut self, offset: u64) -> Option<Doing> {
        self.stage = Stage::Act(2);
        if self.heard.errno().is_none() && self.heard.value() > offset {
            return Some(Doing::Read(self.file, 1, offset));
        }
        Some(Doing::Truncate(self.file, offset.saturating_add(1)))
    }

    /// A write that is too short ends it all.
    fn not_written(&mut self, handle: HandleId, moved: u32) {
        let number = self.client().handle_number(handle);
        let what = match self.heard {
            Heard::Failed(errno) => format!("write failed on handle {number} ({})", words(errno)),
            Heard::Done(_) => format!(
                "wrote {} bytes, expected to write {moved} bytes on handle {number}",
                self.moved
            ),
        };
        self.give_up(what);
        self.finish(true);
    }

    fn written(&mut self, bytes: u32) -> Option<Doing> {
        self.client().moved(0, bytes.into());
        self.finish(self.plan.fsync && self.heard.errno().is_some());
        None
    }
}

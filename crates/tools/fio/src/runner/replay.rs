//! Replay of a request log, with the timing of its lines.

use crate::language::{Replay, ReplayAction, ReplayLine};

use super::super::generator::{IoAction, IoRequest};
use super::slots::FileSlots;

/// Position in a replayed log.
#[derive(Debug, Default)]
pub(super) struct ReplayCursor {
    /// Number of replayed lines.
    replayed: usize,
    /// True if the delay of the next line has passed.
    has_waited: bool,
}

impl ReplayCursor {
    /// Next action of the log at this time since the start, and the pause in microseconds that
    /// becomes due. If the log does not stall, its delays and waits are left out.
    pub(super) fn next(
        &mut self,
        log: &Replay,
        stalls: bool,
        slots: &FileSlots,
        since_start_us: u64,
    ) -> (IoAction, u64) {
        let Some(&ReplayLine { delay_us, action }) = log.entries.get(self.replayed) else {
            return (IoAction::End, 0);
        };
        // The delay comes once, then the line is replayed.
        if delay_us > 0 && stalls && !std::mem::replace(&mut self.has_waited, true) {
            return (IoAction::Wait(1), delay_us);
        }
        self.has_waited = false;
        self.replayed += 1;
        let act = match action {
            ReplayAction::Open(file) if slots.is_open(file) => IoAction::Wait(0),
            ReplayAction::Open(file) => IoAction::Open(file),
            ReplayAction::Close(file) if !slots.is_open(file) => IoAction::Wait(0),
            ReplayAction::Close(file) => IoAction::Close(file),
            ReplayAction::Wait(_) if !stalls => IoAction::Wait(0),
            ReplayAction::Wait(ms) => {
                return (IoAction::Wait(0), (ms * 1000).saturating_sub(since_start_us));
            }
            ReplayAction::Move { file, .. } | ReplayAction::Sync { file, .. }
                if !slots.is_open(file) =>
            {
                // As in the original, a file is opened by its first request.
                self.replayed -= 1;
                IoAction::Open(file)
            }
            ReplayAction::Sync { file, data_only } => IoAction::Sync { file, data_only },
            ReplayAction::Move { file, direction, offset, bytes } => {
                IoAction::Request(IoRequest { file, direction, offset, bytes, verifies: None })
            }
        };
        (act, 0)
    }
}

//! Replay of a request log, with the timing of its lines.

use crate::language::{Entry, ReplayAction};

use super::super::generator::{Act, IoRequest};
use super::Runner;

impl Runner {
    /// Next act of the log; `None` if the job replays none.
    pub(super) fn act_of_log(&mut self) -> Option<Act> {
        let log = self.worker.job.extras.replay.as_ref()?;
        let stalls = self.worker.job.extras.replay_stalls;
        let Some(&Entry { delay_us, action }) = log.entries.get(self.replayed) else {
            return Some(Act::End);
        };
        // The delay comes once, then the line is replayed.
        if delay_us > 0 && stalls && !std::mem::replace(&mut self.waited, true) {
            self.rest_us += delay_us;
            return Some(Act::Wait(1));
        }
        self.waited = false;
        self.replayed += 1;
        Some(match action {
            ReplayAction::Open(file) if self.slots.is_open(file) => Act::Wait(0),
            ReplayAction::Open(file) => Act::Open(file),
            ReplayAction::Close(file) if !self.slots.is_open(file) => Act::Wait(0),
            ReplayAction::Close(file) => Act::Close(file),
            ReplayAction::Wait(_) if !stalls => Act::Wait(0),
            ReplayAction::Wait(ms) => {
                let left_us = (ms * 1000).saturating_sub(self.clock.since_start_us());
                self.rest_us += left_us;
                Act::Wait(0)
            }
            ReplayAction::Move { file, .. } | ReplayAction::Sync { file, .. }
                if !self.slots.is_open(file) =>
            {
                // As in the original, a file is opened by its first request.
                self.replayed -= 1;
                Act::Open(file)
            }
            ReplayAction::Sync { file, data_only } => Act::Sync { file, data_only },
            ReplayAction::Move { file, direction, offset, bytes } => {
                self.generator.issued.requests[direction.place()] += 1;
                self.generator.issued.bytes[direction.place()] += bytes;
                Act::Request(IoRequest { file, direction, offset, bytes, again: None })
            }
        })
    }
}

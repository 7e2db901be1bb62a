//! Backoff of a rank that waits for messages.

use std::thread;
use std::time::Duration;

/// Backoff with growing waits, since other ranks may need this CPU.
#[derive(Default)]
pub(super) struct IdleBackoff {
    turns: u32,
}

/// Number of `yield`s before a waiting rank sleeps: an answer under way often arrives meanwhile.
const YIELDS: u32 = 20;
/// Increment of each sleep, and the longest sleep.
const LONGER: Duration = Duration::from_micros(20);
pub(crate) const LONGEST_REST: Duration = Duration::from_micros(500);

impl IdleBackoff {
    pub(super) fn rest(&mut self) {
        self.turns = self.turns.saturating_add(1);
        match self.turns.checked_sub(YIELDS) {
            None | Some(0) => thread::yield_now(),
            Some(times) => thread::sleep(LONGER.saturating_mul(times).min(LONGEST_REST)),
        }
    }
}

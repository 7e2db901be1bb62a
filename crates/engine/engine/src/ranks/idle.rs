//! Waiting for messages: how a rank gives way to others meanwhile.

use std::thread;
use std::time::Duration;

/// Waits a little, and longer each time: other ranks may need this CPU.
#[derive(Default)]
pub(super) struct Idle {
    turns: u32,
}

/// How many times whoever waits gives way before it sleeps: an answer that is under way comes
/// meanwhile.
const YIELDS: u32 = 20;
/// By how much longer it sleeps each time, and how long at most.
const LONGER: Duration = Duration::from_micros(20);
pub(crate) const LONGEST_REST: Duration = Duration::from_micros(500);

impl Idle {
    pub(super) fn rest(&mut self) {
        self.turns = self.turns.saturating_add(1);
        match self.turns.checked_sub(YIELDS) {
            None | Some(0) => thread::yield_now(),
            Some(times) => thread::sleep(LONGER.saturating_mul(times).min(LONGEST_REST)),
        }
    }
}

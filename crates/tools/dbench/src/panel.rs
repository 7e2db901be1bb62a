//! Live counters of each client in shared memory, and the run phase signalled to all clients.

use std::sync::atomic::{AtomicU64, Ordering};

use treering_script::CounterBoard;

use super::tick::Part;

/// Run phase, shared with all clients.
#[derive(Clone, Debug, Default)]
pub(super) struct Signal {
    board: CounterBoard,
}

impl Signal {
    /// The present part.
    #[inline]
    pub(super) fn part(&self) -> Part {
        match self.board.cell(0).load(Ordering::Relaxed) {
            0 => Part::WarmUp,
            1 => Part::Measured,
            _ => Part::Over,
        }
    }

    /// Goes on to a later part; never back.
    pub(super) fn set(&self, part: Part) {
        self.board.cell(0).fetch_max(part as u64, Ordering::Relaxed);
    }
}

/// Shared counters of one client.
#[derive(Clone, Debug, Default)]
pub(super) struct Panel {
    board: CounterBoard,
}

/// Index of a shared counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub(super) enum Dial {
    /// Bytes read and written since the start.
    Bytes,
    /// Lines played since the start.
    Lines,
    /// The longest time from the start of one operation to that of the next, since it was last
    /// asked for; nanoseconds.
    Gap,
    /// End of the last call, in nanoseconds of the trial.
    Seen,
    /// Start of the client, in nanoseconds of the trial.
    Began,
    /// 1 once the client is done.
    Done,
    /// Last sync point set, plus 1; 0 before the first.
    Point,
}

impl Panel {
    #[inline]
    fn cell(&self, dial: Dial) -> &AtomicU64 {
        self.board.cell(dial as usize)
    }

    #[inline]
    pub(super) fn get(&self, dial: Dial) -> u64 {
        self.cell(dial).load(Ordering::Relaxed)
    }

    #[inline]
    pub(super) fn set(&self, dial: Dial, value: u64) {
        self.cell(dial).store(value, Ordering::Relaxed);
    }

    /// Takes the longest gap; the next one begins anew.
    pub(super) fn take_gap(&self) -> u64 {
        self.cell(Dial::Gap).swap(0, Ordering::Relaxed)
    }
}

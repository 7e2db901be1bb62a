//! Live counters of each client in shared memory, and the run phase signalled to all clients.

use std::sync::atomic::{AtomicU64, Ordering};

use treering_script::CounterBoard;

use super::tick::RunPhase;

/// Run phase, shared with all clients.
#[derive(Clone, Debug, Default)]
pub(super) struct PhaseSignal {
    board: CounterBoard,
}

impl PhaseSignal {
    /// The current part.
    #[inline]
    pub(super) fn part(&self) -> RunPhase {
        match self.board.cell(0).load(Ordering::Relaxed) {
            0 => RunPhase::WarmUp,
            1 => RunPhase::Measured,
            _ => RunPhase::Over,
        }
    }

    /// Advances to a later phase; never goes back.
    pub(super) fn set(&self, part: RunPhase) {
        self.board.cell(0).fetch_max(part as u64, Ordering::Relaxed);
    }
}

/// Shared counters of one client.
#[derive(Clone, Debug, Default)]
pub(super) struct ClientCounters {
    board: CounterBoard,
}

/// Index of a shared counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub(super) enum CounterIndex {
    /// Bytes read and written since the start.
    Bytes,
    /// Lines played since the start.
    Lines,
    /// Longest time between the starts of two consecutive operations since the last reset, in
    /// nanoseconds.
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

impl ClientCounters {
    #[inline]
    fn cell(&self, index: CounterIndex) -> &AtomicU64 {
        self.board.cell(index as usize)
    }

    #[inline]
    pub(super) fn get(&self, index: CounterIndex) -> u64 {
        self.cell(index).load(Ordering::Relaxed)
    }

    #[inline]
    pub(super) fn set(&self, index: CounterIndex, value: u64) {
        self.cell(index).store(value, Ordering::Relaxed);
    }

    /// Takes the longest gap and resets it.
    pub(super) fn take_gap(&self) -> u64 {
        self.cell(CounterIndex::Gap).swap(0, Ordering::Relaxed)
    }
}

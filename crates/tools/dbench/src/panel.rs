//! What a client shows while it works, in memory that all processes have, and what it is reported.

use std::sync::atomic::{AtomicU64, Ordering};

use treering_script::Board;

use super::tick::Part;

/// Says to all clients which part it is.
#[derive(Clone, Debug, Default)]
pub(super) struct Signal {
    board: Board,
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

/// The numbers of one client.
#[derive(Clone, Debug, Default)]
pub(super) struct Panel {
    board: Board,
}

/// What a panel shows.
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
    /// When its last call ended, nanoseconds of the trial.
    Seen,
    /// When it began, nanoseconds of the trial.
    Began,
    /// Whether it is done.
    Done,
    /// The latest point it has set, and one.
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

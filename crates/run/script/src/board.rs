//! What the tasks of a group have in common while they work, in threads or in processes.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use treering_sys::Shared;

/// How many numbers a board has.
const BOARD_CELLS: usize = 64;

/// Numbers that the scripts of a group, its session and its ticks have in common, zero at first.
///
/// A page of memory of its own: counts of different workers on boards of their own disturb nobody.
#[derive(Clone, Debug)]
pub struct Board {
    cells: Arc<Shared<[AtomicU64; BOARD_CELLS]>>,
}

impl Default for Board {
    fn default() -> Self {
        Self::new()
    }
}

impl Board {
    /// A board of zeros.
    pub fn new() -> Self {
        Self { cells: Arc::new(Shared::numbers()) }
    }

    /// One of its numbers.
    ///
    /// # Panics
    /// When there is none of this number.
    #[inline]
    pub fn cell(&self, number: usize) -> &AtomicU64 {
        &self.cells[number]
    }
}

/// Rings when the time of a group is over. Scripts look at it between the things they do, and may
/// ring it themselves.
#[derive(Clone, Debug)]
pub struct Deadline {
    reached: Arc<Shared<[AtomicU64; 1]>>,
}

impl Default for Deadline {
    fn default() -> Self {
        Self { reached: Arc::new(Shared::numbers()) }
    }
}

impl Deadline {
    /// Rings it.
    pub fn reach(&self) {
        self.reached[0].store(1, Ordering::Relaxed);
    }

    /// Whether it is reached.
    #[inline]
    pub fn is_reached(&self) -> bool {
        self.reached[0].load(Ordering::Relaxed) != 0
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::Ordering;

    use super::{BOARD_CELLS, Board, Deadline};

    #[test]
    fn clones_are_the_same_board_and_deadline() {
        let (board, deadline) = (Board::new(), Deadline::default());
        let (other, heard) = (board.clone(), deadline.clone());
        other.cell(BOARD_CELLS - 1).store(7, Ordering::Relaxed);
        assert_eq!(board.cell(BOARD_CELLS - 1).load(Ordering::Relaxed), 7);
        assert!(!heard.is_reached());
        deadline.reach();
        assert!(heard.is_reached());
    }
}

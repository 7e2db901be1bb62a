//! What the tasks of a wave have in common while they work, in threads or in processes.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use treering_sys::Shared;

/// How many numbers a board has.
const BOARD_CELLS: usize = 64;

/// Numbers that the scripts of a wave, its session and its ticks have in common, zero at first.
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

/// Rings when the time of a wave is over. Scripts look at it between the things they do, and may
/// ring it themselves.
#[derive(Clone, Debug)]
pub struct Bell {
    rung: Arc<Shared<[AtomicU64; 1]>>,
}

impl Default for Bell {
    fn default() -> Self {
        Self { rung: Arc::new(Shared::numbers()) }
    }
}

impl Bell {
    /// Rings it.
    pub fn ring(&self) {
        self.rung[0].store(1, Ordering::Relaxed);
    }

    /// Whether it has rung.
    #[inline]
    pub fn has_rung(&self) -> bool {
        self.rung[0].load(Ordering::Relaxed) != 0
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::Ordering;

    use super::{BOARD_CELLS, Bell, Board};

    #[test]
    fn clones_are_the_same_board_and_bell() {
        let (board, bell) = (Board::new(), Bell::default());
        let (other, heard) = (board.clone(), bell.clone());
        other.cell(BOARD_CELLS - 1).store(7, Ordering::Relaxed);
        assert_eq!(board.cell(BOARD_CELLS - 1).load(Ordering::Relaxed), 7);
        assert!(!heard.has_rung());
        bell.ring();
        assert!(heard.has_rung());
    }
}

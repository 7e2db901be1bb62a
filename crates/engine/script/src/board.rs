//! Shared state of the tasks of a group while they work, in threads or in processes, and status
//! texts that their session requests meanwhile.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering, fence};

use treering_sys::SharedValue;

/// Number of cells of a board.
const BOARD_CELLS: usize = 64;

/// Counters shared by the scripts of a group, its session and its ticks; initially zero.
///
/// Each board is a page of memory of its own, so workers that count on different boards do not
/// disturb each other.
#[derive(Clone, Debug)]
pub struct CounterBoard {
    cells: Arc<SharedValue<[AtomicU64; BOARD_CELLS]>>,
}

impl Default for CounterBoard {
    fn default() -> Self {
        Self::new()
    }
}

impl CounterBoard {
    /// A board of zeros.
    pub fn new() -> Self {
        Self { cells: Arc::new(SharedValue::numbers()) }
    }

    /// Cell of this number.
    ///
    /// # Panics
    /// When there is none of this number.
    #[inline]
    pub fn cell(&self, number: usize) -> &AtomicU64 {
        &self.cells[number]
    }
}

/// Deadline of a group. Scripts check it between their steps, and may reach it themselves.
#[derive(Clone, Debug)]
pub struct Deadline {
    reached: Arc<SharedValue<[AtomicU64; 1]>>,
}

impl Default for Deadline {
    fn default() -> Self {
        Self { reached: Arc::new(SharedValue::numbers()) }
    }
}

impl Deadline {
    /// Marks the deadline as reached.
    pub fn reach(&self) {
        self.reached[0].store(1, Ordering::Relaxed);
    }

    /// True once the deadline is reached.
    #[inline]
    pub fn is_reached(&self) -> bool {
        self.reached[0].load(Ordering::Relaxed) != 0
    }
}

/// Size of the shared area in words: 512 KiB, of which only touched pages take memory.
const SHOWN_WORDS: usize = 1 << 16;
/// Cells before the text: the number of requests, the number of the last answer, the number of
/// writes (odd during one), the length of the text in bytes, and a flag that the script has ended.
const ASKED: usize = 0;
const ANSWERED: usize = 1;
const WRITES: usize = 2;
const BYTES: usize = 3;
const ENDED: usize = 4;
const TEXT: usize = 8;

/// Status text of a script, shown on request of its session and read from another thread or
/// process.
#[derive(Clone)]
pub struct StatusText {
    words: Arc<SharedValue<[AtomicU64; SHOWN_WORDS]>>,
}

impl Default for StatusText {
    fn default() -> Self {
        Self { words: Arc::new(SharedValue::numbers()) }
    }
}

impl fmt::Debug for StatusText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Snapshot({} bytes)", self.words[BYTES].load(Ordering::Relaxed))
    }
}

impl StatusText {
    /// Asks for a new text.
    pub fn ask(&self) {
        self.words[ASKED].fetch_add(1, Ordering::Relaxed);
    }

    /// True if a requested text has not been shown yet. Costs two relaxed loads: of a word that
    /// rarely changes, and of one that only the script writes.
    #[inline]
    pub fn is_asked(&self) -> bool {
        let requests = self.words[ASKED].load(Ordering::Relaxed);
        requests != self.words[ANSWERED].load(Ordering::Relaxed)
    }

    /// Shows a text, which answers all requests so far. An overlong text is dropped. Only the
    /// script may call this.
    pub fn show(&self, text: &str) {
        let requests = self.words[ASKED].load(Ordering::Relaxed);
        if text.len() <= (SHOWN_WORDS - TEXT) * size_of::<u64>() {
            self.words[WRITES].fetch_add(1, Ordering::Relaxed);
            fence(Ordering::Release);
            self.words[BYTES].store(text.len() as u64, Ordering::Relaxed);
            for (word, piece) in self.words[TEXT..].iter().zip(text.as_bytes().chunks(8)) {
                let mut bytes = [0; 8];
                bytes[..piece.len()].copy_from_slice(piece);
                word.store(u64::from_ne_bytes(bytes), Ordering::Relaxed);
            }
            self.words[WRITES].fetch_add(1, Ordering::Release);
        }
        self.words[ANSWERED].store(requests, Ordering::Release);
    }

    /// Records that the script has ended; nothing more will be shown.
    pub fn end(&self) {
        self.words[ENDED].store(1, Ordering::Release);
    }

    /// True if every request was answered, or the script has ended.
    pub fn is_answered(&self) -> bool {
        self.words[ENDED].load(Ordering::Acquire) != 0
            || self.words[ANSWERED].load(Ordering::Acquire)
                == self.words[ASKED].load(Ordering::Relaxed)
    }

    /// Last text shown; `None` if there is none, or if it is being written.
    pub fn text(&self) -> Option<String> {
        let before = self.words[WRITES].load(Ordering::Acquire);
        let bytes = usize::try_from(self.words[BYTES].load(Ordering::Relaxed)).ok()?;
        let words = self.words[TEXT..].iter().take(bytes.div_ceil(8));
        let mut text: Vec<u8> =
            words.flat_map(|word| word.load(Ordering::Relaxed).to_ne_bytes()).collect();
        text.truncate(bytes);
        fence(Ordering::Acquire);
        let is_whole =
            before.is_multiple_of(2) && self.words[WRITES].load(Ordering::Relaxed) == before;
        String::from_utf8(text).ok().filter(|text| is_whole && !text.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::Ordering;

    use super::{BOARD_CELLS, CounterBoard, Deadline, SHOWN_WORDS, StatusText};

    #[test]
    fn status_text_is_the_last_one_shown() {
        let (script, session) = (StatusText::default(), StatusText::default());
        assert!(session.is_answered() && session.text().is_none());
        drop(session);
        let session = script.clone();
        session.ask();
        assert!(script.is_asked() && !session.is_answered());
        script.show("at seventeen bytes");
        assert!(!script.is_asked() && session.is_answered());
        assert_eq!(session.text().as_deref(), Some("at seventeen bytes"));
        session.ask();
        script.show(&"x".repeat(SHOWN_WORDS * 8));
        assert!(session.is_answered(), "too long a text is left out");
        assert_eq!(session.text().as_deref(), Some("at seventeen bytes"));
        session.ask();
        script.end();
        assert!(session.is_answered());
    }

    #[test]
    fn clones_share_counters_and_deadline() {
        let (board, deadline) = (CounterBoard::new(), Deadline::default());
        let (other, later_deadline) = (board.clone(), deadline.clone());
        other.cell(BOARD_CELLS - 1).store(7, Ordering::Relaxed);
        assert_eq!(board.cell(BOARD_CELLS - 1).load(Ordering::Relaxed), 7);
        assert!(!later_deadline.is_reached());
        deadline.reach();
        assert!(later_deadline.is_reached());
    }
}

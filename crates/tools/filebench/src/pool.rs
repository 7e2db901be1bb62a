//! Pool of a fileset's entries: those that exist, those that do not, and those in use by a worker;
//! with the choice of the next one, in rotation by their numbers.
//!
//! Each word has bits for 64 entries, and a summary has a bit for each word: a worker that takes an
//! entry clears its bit, without locks. A single thread avoids atomic read-modify-write operations.

use std::sync::atomic::{AtomicI64, AtomicU32, AtomicU64, Ordering};

const WORD_BITS: u32 = u64::BITS;

/// Concurrent set of numbers, as a two-level bitmap.
#[derive(Debug, Default)]
struct AtomicBitmap {
    words: Box<[AtomicU64]>,
    /// Bitmap of the words that may be nonzero.
    summary: Box<[AtomicU64]>,
}

fn zeros(bits: u32) -> Box<[AtomicU64]> {
    (0..bits.div_ceil(WORD_BITS)).map(|_| AtomicU64::new(0)).collect()
}

const fn split(number: u32) -> (usize, u64) {
    ((number / WORD_BITS) as usize, 1 << (number % WORD_BITS))
}

/// Sets bits; a single thread needs no more than a load and a store.
#[inline]
fn set(word: &AtomicU64, bits: u64, alone: bool) {
    if alone {
        word.store(word.load(Ordering::Relaxed) | bits, Ordering::Relaxed);
    } else {
        word.fetch_or(bits, Ordering::SeqCst);
    }
}

/// Clears bits, and returns the previous word.
#[inline]
fn clear(word: &AtomicU64, bits: u64, alone: bool) -> u64 {
    if alone {
        let before = word.load(Ordering::Relaxed);
        word.store(before & !bits, Ordering::Relaxed);
        before
    } else {
        word.fetch_and(!bits, Ordering::SeqCst)
    }
}

impl AtomicBitmap {
    fn new(count: u32) -> Self {
        Self { words: zeros(count), summary: zeros(count.div_ceil(WORD_BITS)) }
    }

    #[inline]
    fn put(&self, number: u32, alone: bool) {
        let (word, bit) = split(number);
        set(&self.words[word], bit, alone);
        let (above, mark) = split(number / WORD_BITS);
        if self.summary[above].load(Ordering::SeqCst) & mark == 0 {
            set(&self.summary[above], mark, alone);
        }
    }

    /// Takes a number; false if it is not available.
    #[inline]
    fn take(&self, number: u32, alone: bool) -> bool {
        let (word, bit) = split(number);
        let before = clear(&self.words[word], bit, alone);
        if before & bit == 0 {
            return false;
        }
        if before == bit {
            let (above, mark) = split(number / WORD_BITS);
            clear(&self.summary[above], mark, alone);
            // Another thread may have set a bit in between.
            if self.words[word].load(Ordering::SeqCst) != 0 {
                set(&self.summary[above], mark, alone);
            }
        }
        true
    }

    /// Smallest number from `number` on.
    #[inline]
    fn next_from(&self, number: u32) -> Option<u32> {
        let (word, bit) = split(number);
        let bits = self.words.get(word)?.load(Ordering::Relaxed) & !(bit - 1);
        if bits != 0 {
            return Some(number / WORD_BITS * WORD_BITS + bits.trailing_zeros());
        }
        self.next_word(u32::try_from(word).ok()? + 1)
    }

    #[cold]
    fn next_word(&self, mut word: u32) -> Option<u32> {
        loop {
            let (above, mark) = split(word);
            let marks = self.summary.get(above)?.load(Ordering::SeqCst) & !(mark - 1);
            if marks == 0 {
                word = (u32::try_from(above).ok()? + 1) * WORD_BITS;
                continue;
            }
            word = u32::try_from(above).ok()? * WORD_BITS + marks.trailing_zeros();
            let bits = self.words.get(word as usize)?.load(Ordering::SeqCst);
            if bits != 0 {
                return Some(word * WORD_BITS + bits.trailing_zeros());
            }
            word += 1;
        }
    }
}

/// Existence of the entry to choose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EntryState {
    Standing,
    Missing,
}

/// Result of a choice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PickResult {
    /// Number of the entry, which is now reserved for the caller.
    One(u32),
    /// Every suitable entry is in use by other workers.
    Busy,
    /// No entry is suitable.
    None,
}

/// Pool of the files, or of the leaf directories, of a fileset.
#[derive(Debug)]
pub(super) struct EntryPool {
    count: u32,
    standing: AtomicBitmap,
    missing: AtomicBitmap,
    /// Number of existing entries, those in use among them.
    standing_count: AtomicI64,
    /// Position of the rotation, among existing and among missing entries.
    standing_rotor: AtomicU32,
    missing_rotor: AtomicU32,
    /// Number of open descriptors of each entry.
    opens: Box<[AtomicU32]>,
    /// True if only one thread uses the pool.
    alone: bool,
    /// True if entries may be deleted during the run, so that existing entries are reserved while
    /// in use.
    holds: bool,
}

impl EntryPool {
    /// Creates a pool of `count` missing entries.
    pub(super) fn new(count: u32, alone: bool, holds: bool) -> Self {
        let missing = AtomicBitmap::new(count);
        (0..count).for_each(|number| missing.put(number, true));
        Self {
            count,
            standing: AtomicBitmap::new(count),
            missing,
            standing_count: AtomicI64::new(0),
            standing_rotor: AtomicU32::new(0),
            missing_rotor: AtomicU32::new(0),
            opens: if holds { (0..count).map(|_| AtomicU32::new(0)).collect() } else { [].into() },
            alone,
            holds,
        }
    }

    /// Marks an entry as existing, before the run.
    pub(super) fn mark_existing(&self, number: u32) {
        if self.missing.take(number, true) {
            self.standing.put(number, true);
            self.standing_count.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Number of existing entries.
    pub(super) fn standing(&self) -> u64 {
        u64::try_from(self.standing_count.load(Ordering::Relaxed)).unwrap_or(0)
    }

    /// Reserves the next suitable entry in rotation.
    #[inline]
    pub(super) fn next(&self, state: EntryState) -> PickResult {
        let rotor = match state {
            EntryState::Standing => &self.standing_rotor,
            EntryState::Missing => &self.missing_rotor,
        };
        self.next_by(rotor, state)
    }

    /// Reserves the next suitable entry by the caller's own rotation.
    #[inline]
    pub(super) fn next_by(&self, rotor: &AtomicU32, state: EntryState) -> PickResult {
        loop {
            let from = rotor.load(Ordering::Relaxed);
            let number = match self.find(from, state) {
                Ok(number) => number,
                Err(pick) => return pick,
            };
            if self.alone {
                rotor.store(number + 1, Ordering::Relaxed);
            } else if rotor
                .compare_exchange_weak(from, number + 1, Ordering::Relaxed, Ordering::Relaxed)
                .is_err()
            {
                continue;
            }
            if self.take(number, state) {
                return PickResult::One(number);
            }
        }
    }

    /// Reserves the first suitable entry from this number on.
    pub(super) fn from(&self, number: u32, state: EntryState) -> PickResult {
        loop {
            match self.find(number, state) {
                Ok(number) if self.take(number, state) => return PickResult::One(number),
                Ok(_) => {}
                Err(pick) => return pick,
            }
        }
    }

    #[inline]
    fn find(&self, from: u32, state: EntryState) -> Result<u32, PickResult> {
        let bits = match state {
            EntryState::Standing => &self.standing,
            EntryState::Missing => &self.missing,
        };
        bits.next_from(from).or_else(|| bits.next_from(0)).ok_or_else(|| self.none(state))
    }

    #[cold]
    fn none(&self, state: EntryState) -> PickResult {
        let standing = self.standing();
        let count = match state {
            EntryState::Standing => standing,
            EntryState::Missing => u64::from(self.count) - standing.min(u64::from(self.count)),
        };
        if count > 0 { PickResult::Busy } else { PickResult::None }
    }

    #[inline]
    fn take(&self, number: u32, state: EntryState) -> bool {
        match state {
            EntryState::Standing => !self.holds || self.standing.take(number, self.alone),
            EntryState::Missing => self.missing.take(number, self.alone),
        }
    }

    /// Reserves an existing entry; false if another worker has it.
    pub(super) fn hold(&self, number: u32) -> bool {
        self.take(number, EntryState::Standing)
    }

    /// Returns a reserved entry that still exists.
    #[inline]
    pub(super) fn put_back(&self, number: u32) {
        if self.holds {
            self.standing.put(number, self.alone);
        }
    }

    /// Returns a reserved entry that now exists.
    pub(super) fn add_created(&self, number: u32) {
        self.standing_count.fetch_add(1, Ordering::SeqCst);
        self.standing.put(number, self.alone);
    }

    /// Returns a reserved entry that was deleted.
    pub(super) fn remove_deleted(&self, number: u32) {
        self.standing_count.fetch_sub(1, Ordering::SeqCst);
        self.missing.put(number, self.alone);
    }

    /// Counts another open descriptor of the entry.
    #[inline]
    pub(super) fn opened(&self, number: u32) {
        if let Some(opens) = self.opens.get(number as usize) {
            opens.fetch_add(1, Ordering::SeqCst);
        }
    }

    /// Subtracts a closed descriptor of the entry.
    #[inline]
    pub(super) fn closed(&self, number: u32) {
        if let Some(opens) = self.opens.get(number as usize) {
            opens.fetch_sub(1, Ordering::SeqCst);
        }
    }

    /// Number of open descriptors of the entry.
    pub(super) fn opens(&self, number: u32) -> u32 {
        self.opens.get(number as usize).map_or(0, |opens| opens.load(Ordering::SeqCst))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};
    use std::thread;

    use super::{EntryPool, EntryState, PickResult};

    fn numbers(pool: &EntryPool, state: EntryState, times: usize) -> Vec<PickResult> {
        (0..times).map(|_| pool.next(state)).collect()
    }

    #[test]
    fn entries_are_picked_in_rotation() {
        let pool = EntryPool::new(300, true, true);
        for number in [0, 5, 64, 299] {
            pool.mark_existing(number);
        }
        assert_eq!(pool.standing(), 4);
        let first = numbers(&pool, EntryState::Standing, 5);
        assert_eq!(
            first,
            [0, 5, 64, 299]
                .map(PickResult::One)
                .into_iter()
                .chain([PickResult::Busy])
                .collect::<Vec<_>>()
        );
        pool.put_back(64);
        pool.remove_deleted(5);
        assert_eq!(
            numbers(&pool, EntryState::Standing, 2),
            [PickResult::One(64), PickResult::Busy]
        );
        assert_eq!(
            numbers(&pool, EntryState::Missing, 2),
            [PickResult::One(1), PickResult::One(2)]
        );
        assert_eq!(pool.from(5, EntryState::Missing), PickResult::One(5));
        assert_eq!(pool.from(5, EntryState::Missing), PickResult::One(6));
        pool.add_created(6);
        assert_eq!(numbers(&pool, EntryState::Standing, 1), [PickResult::One(6)]);
    }

    #[test]
    fn entries_are_not_reserved_without_deletions() {
        let pool = EntryPool::new(3, false, false);
        (0..3).for_each(|number| pool.mark_existing(number));
        let rotated = numbers(&pool, EntryState::Standing, 5);
        assert_eq!(rotated, [0, 1, 2, 0, 1].map(PickResult::One));
        assert_eq!(pool.next(EntryState::Missing), PickResult::None);
        assert_eq!(EntryPool::new(0, true, true).next(EntryState::Standing), PickResult::None);
    }

    #[test]
    fn concurrent_threads_never_share_or_lose_an_entry() {
        const COUNT: u32 = 200;
        let pool = EntryPool::new(COUNT, false, true);
        (0..COUNT / 2).for_each(|number| pool.mark_existing(number));
        let held: Vec<AtomicU64> = (0..COUNT).map(|_| AtomicU64::new(0)).collect();
        let work = |moves: bool| {
            for _ in 0..20_000 {
                let state = if moves { EntryState::Missing } else { EntryState::Standing };
                let PickResult::One(number) = pool.next(state) else { continue };
                assert_eq!(held[number as usize].fetch_add(1, Ordering::SeqCst), 0);
                held[number as usize].fetch_sub(1, Ordering::SeqCst);
                if moves { pool.add_created(number) } else { pool.remove_deleted(number) }
            }
        };
        thread::scope(|scope| {
            for number in 0..4 {
                scope.spawn(move || work(number % 2 == 0));
            }
        });
        let standing = pool.standing();
        let mut count = 0;
        while let PickResult::One(_) = pool.next(EntryState::Standing) {
            count += 1;
        }
        assert_eq!(count, standing);
        while let PickResult::One(_) = pool.next(EntryState::Missing) {
            count += 1;
        }
        assert_eq!(count, u64::from(COUNT));
    }
}

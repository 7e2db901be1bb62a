//! Existing files, shared by all workers: numbers, sizes and locks.
//!
//! Files have numbers. A deleted file's number, and thereby its name, is reused by the next new
//! file. To find a file, a worker draws numbers until one belongs to an existing file that it may
//! lock: every such file is equally likely, and nobody waits for a lock. If few of the numbers are
//! in use, the file is found by counting instead.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use treering_script::Random;

/// Size of a chunk: file numbers whose existing files are counted together.
const CHUNK: u64 = 4096;
const CHUNK_PLACES: usize = 4096;
/// Number of slot tables; each has twice as many slots as the one before, in total room for 2^44
/// files.
const SHELVES: usize = 32;
/// Number of draws after which a file is found by counting.
const DRAWS: u32 = 48;
/// Number of attempts by counting after which all files are considered busy.
const CHOICES: u32 = 8;

/// Slot state: no file has this number.
const VACANT: u32 = u32::MAX;
/// Slot state: the file is being created.
const MAKING: u32 = u32::MAX - 1;
/// Slot state: held exclusively. Smaller values count the sharers.
const ALONE: u32 = u32::MAX - 2;
/// Maximum number of sharers of a file.
const SHARERS_MAX: u32 = u32::MAX - 3;

/// Lock mode of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LockMode {
    /// Held by several workers.
    Shared,
    /// Held exclusively.
    Alone,
}

/// Concurrency of the workers on these files, which decides whether slots need atomic updates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Concurrency {
    /// Single worker: load and store suffice.
    One,
    /// Several.
    Many,
}

/// File that is locked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LockedFile {
    pub(super) number: u64,
    /// Directory of the file.
    pub(super) dir: u32,
    /// File size when the file was locked, in bytes.
    pub(super) bytes: u64,
}

/// Result of a search for a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FileLookup {
    /// File, locked in the requested mode.
    File(LockedFile),
    /// Every existing file is in use.
    Busy,
    /// No file exists.
    Nothing,
}

#[derive(Debug)]
struct FileSlot {
    word: AtomicU32,
    /// Directory of the file, in the numbering of the population's owner.
    dir: AtomicU32,
    bytes: AtomicU64,
}

impl FileSlot {
    const fn vacant() -> Self {
        Self { word: AtomicU32::new(VACANT), dir: AtomicU32::new(0), bytes: AtomicU64::new(0) }
    }

    #[inline]
    fn take(&self, hold: LockMode, concurrency: Concurrency) -> bool {
        let word = self.word.load(Ordering::Relaxed);
        let next = match hold {
            LockMode::Shared if word < SHARERS_MAX => word + 1,
            LockMode::Alone if word == 0 => ALONE,
            _ => return false,
        };
        if concurrency == Concurrency::One {
            self.word.store(next, Ordering::Relaxed);
            return true;
        }
        self.word.compare_exchange(word, next, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }

    fn held(&self, number: u64) -> LockedFile {
        let (dir, bytes) = (self.dir.load(Ordering::Relaxed), self.bytes.load(Ordering::Relaxed));
        LockedFile { number, dir, bytes }
    }

    fn stands(&self) -> bool {
        self.word.load(Ordering::Relaxed) <= ALONE
    }
}

/// Slots, and the number of existing files in each chunk of them.
#[derive(Debug)]
struct SlotTable {
    slots: Box<[FileSlot]>,
    standing: Box<[AtomicU32]>,
}

impl SlotTable {
    /// Creates the table of this number.
    fn new(shelf: u32) -> Self {
        let chunks = 1_u64 << shelf;
        Self {
            slots: (0..chunks * CHUNK).map(|_| FileSlot::vacant()).collect(),
            standing: (0..chunks).map(|_| AtomicU32::new(0)).collect(),
        }
    }
}

/// Files with numbers.
#[derive(Debug)]
pub(super) struct Population {
    shelves: [OnceLock<SlotTable>; SHELVES],
    /// Numbers given out so far.
    ever: AtomicU64,
    /// Numbers of deleted files, the longest vacant first.
    vacant: Mutex<VecDeque<u64>>,
}

/// Table of a number, and its index in that table.
#[inline]
fn place(number: u64) -> (u32, usize) {
    // Before the first one stands, as it were, one of CHUNK places: then each begins at a power.
    let from_there = number.saturating_add(CHUNK);
    let shelf = from_there.ilog2() - CHUNK.ilog2();
    (shelf, usize::try_from(from_there - (CHUNK << shelf)).unwrap_or(usize::MAX))
}

impl Default for Population {
    fn default() -> Self {
        Self {
            shelves: [const { OnceLock::new() }; SHELVES],
            ever: AtomicU64::new(0),
            vacant: Mutex::default(),
        }
    }
}

impl Population {
    #[inline]
    fn slot(&self, number: u64) -> Option<&FileSlot> {
        let (shelf, place) = place(number);
        self.shelves.get(shelf as usize)?.get()?.slots.get(place)
    }

    /// Count of existing files in the chunk of a number that was given out.
    fn chunk_count(&self, number: u64) -> &AtomicU32 {
        let (shelf, place) = place(number);
        let shelf = self.shelves[shelf as usize].get_or_init(|| SlotTable::new(shelf));
        &shelf.standing[place / CHUNK_PLACES]
    }

    /// Slot of a file that is locked, or was given out; such a slot always exists.
    #[inline]
    fn locked_slot(&self, number: u64) -> &FileSlot {
        self.slot(number).expect("a number that was given out has a slot")
    }

    /// Locks a random existing file, each equally likely; it stays locked until `unlock`.
    #[expect(clippy::inline_always, reason = "what it says stays in registers; worth a tenth")]
    #[inline(always)]
    pub(super) fn find(
        &self,
        random: &mut Random,
        hold: LockMode,
        concurrency: Concurrency,
    ) -> FileLookup {
        let ever = self.ever.load(Ordering::Relaxed);
        for _ in 0..DRAWS {
            let number = random.below(ever);
            if let Some(slot) = self.slot(number).filter(|slot| slot.take(hold, concurrency)) {
                return FileLookup::File(slot.held(number));
            }
        }
        self.find_by_counting(random, hold, concurrency)
    }

    #[cold]
    fn find_by_counting(
        &self,
        random: &mut Random,
        hold: LockMode,
        concurrency: Concurrency,
    ) -> FileLookup {
        for _ in 0..CHOICES {
            let standing = self.standing();
            if standing == 0 {
                return FileLookup::Nothing;
            }
            if let Some(number) = self.nth(random.below(standing)) {
                let slot = self.locked_slot(number);
                if slot.take(hold, concurrency) {
                    return FileLookup::File(slot.held(number));
                }
            }
        }
        FileLookup::Busy
    }

    /// Chunks in the order of their numbers: the count of existing files, and the slots.
    fn chunks(&self) -> impl Iterator<Item = (&AtomicU32, &[FileSlot])> {
        let shelves = self.shelves.iter().map_while(OnceLock::get);
        shelves.flat_map(|shelf| shelf.standing.iter().zip(shelf.slots.chunks(CHUNK_PLACES)))
    }

    /// Number of existing files.
    pub(super) fn standing(&self) -> u64 {
        self.chunks().map(|(standing, _)| u64::from(standing.load(Ordering::Relaxed))).sum()
    }

    /// Number of the existing file that has `before` existing files before it.
    fn nth(&self, mut before: u64) -> Option<u64> {
        for (first, (standing, slots)) in (0..).step_by(CHUNK_PLACES).zip(self.chunks()) {
            let count = u64::from(standing.load(Ordering::Relaxed));
            if before < count {
                let mut standing = (first..).zip(slots).filter(|(_, slot)| slot.stands());
                return standing.nth(usize::try_from(before).ok()?).map(|(number, _)| number);
            }
            before -= count;
        }
        None
    }

    /// Number for a new file: the one vacant for longest, with its directory, else a new one in the
    /// directory that `dir` returns. The file cannot be found before `mark_created`.
    pub(super) fn allocate_number(&self, dir: impl FnOnce() -> u32) -> LockedFile {
        let vacant = self.vacant().pop_front();
        let number = vacant.unwrap_or_else(|| self.ever.fetch_add(1, Ordering::Relaxed));
        self.chunk_count(number);
        let slot = self.locked_slot(number);
        slot.word.store(MAKING, Ordering::Relaxed);
        if vacant.is_none() {
            slot.dir.store(dir(), Ordering::Relaxed);
        }
        LockedFile { bytes: 0, ..slot.held(number) }
    }

    /// Records that a new file was created.
    pub(super) fn mark_created(&self, number: u64, bytes: u64) {
        let slot = self.locked_slot(number);
        slot.bytes.store(bytes, Ordering::Relaxed);
        slot.word.store(0, Ordering::Release);
        self.chunk_count(number).fetch_add(1, Ordering::Relaxed);
    }

    /// Adds a file that existed before the run.
    pub(super) fn adopt(&self, number: u64, dir: u32, bytes: u64) {
        self.ever.fetch_max(number + 1, Ordering::Relaxed);
        self.chunk_count(number);
        self.locked_slot(number).dir.store(dir, Ordering::Relaxed);
        self.mark_created(number, bytes);
    }

    /// Unlocks a file.
    #[inline]
    pub(super) fn unlock(&self, number: u64, hold: LockMode, concurrency: Concurrency) {
        let word = &self.locked_slot(number).word;
        match (hold, concurrency) {
            (LockMode::Shared, Concurrency::One) => {
                word.store(word.load(Ordering::Relaxed) - 1, Ordering::Relaxed);
            }
            (LockMode::Shared, Concurrency::Many) => {
                word.fetch_sub(1, Ordering::Release);
            }
            (LockMode::Alone, _) => word.store(0, Ordering::Release),
        }
    }

    /// Records that a file, which was locked exclusively, was deleted; its number becomes vacant.
    pub(super) fn mark_deleted(&self, number: u64) {
        self.locked_slot(number).word.store(VACANT, Ordering::Release);
        self.chunk_count(number).fetch_sub(1, Ordering::Relaxed);
        self.vacant().push_back(number);
    }

    /// The directory of a file.
    pub(super) fn dir(&self, number: u64) -> u32 {
        self.locked_slot(number).dir.load(Ordering::Relaxed)
    }

    /// Moves a file to another directory.
    pub(super) fn set_dir(&self, number: u64, dir: u32) {
        self.locked_slot(number).dir.store(dir, Ordering::Relaxed);
    }

    /// Sets the size of a file that has grown.
    pub(super) fn grow(&self, number: u64, bytes: u64) {
        self.locked_slot(number).bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    fn vacant(&self) -> MutexGuard<'_, VecDeque<u64>> {
        // Each change is one call: a panic elsewhere leaves a whole list.
        self.vacant.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Sequence of numbers handed out to workers; `count` advances once all lower numbers are done.
#[derive(Debug, Default)]
pub(super) struct NumberSeries {
    given: AtomicU32,
    done: AtomicU32,
    ahead: Mutex<Vec<u32>>,
}

impl NumberSeries {
    /// Sequence whose first `done` numbers are done already.
    pub(super) fn new(done: u32) -> Self {
        Self { given: done.into(), done: done.into(), ahead: Mutex::default() }
    }

    /// Gives out the next number.
    pub(super) fn next_number(&self) -> u32 {
        self.given.fetch_add(1, Ordering::Relaxed)
    }

    /// Marks a number as completed.
    pub(super) fn complete(&self, number: u32) {
        let mut ahead = self.ahead.lock().unwrap_or_else(PoisonError::into_inner);
        ahead.push(number);
        let mut next = self.done.load(Ordering::Relaxed);
        while let Some(place) = ahead.iter().position(|&number| number == next) {
            ahead.swap_remove(place);
            next += 1;
        }
        self.done.store(next, Ordering::Release);
    }

    /// Number of completed items without a gap.
    #[inline]
    pub(super) fn count(&self) -> u32 {
        self.done.load(Ordering::Acquire)
    }
}

#[cfg(test)]
mod tests {
    use super::{CHUNK, Concurrency, FileLookup, LockMode, LockedFile, NumberSeries, Population};
    use treering_script::Random;

    fn populated(files: u64) -> Population {
        let population = Population::default();
        for _ in 0..files {
            let number = population.allocate_number(|| 7).number;
            population.mark_created(number, 100);
        }
        population
    }

    fn draw(population: &Population, random: &mut Random) -> u64 {
        match population.find(random, LockMode::Alone, Concurrency::Many) {
            FileLookup::File(LockedFile { number, .. }) => {
                population.unlock(number, LockMode::Alone, Concurrency::Many);
                number
            }
            other => panic!("{other:?}"),
        }
    }

    /// Pearson's statistic of counts that should be equal.
    fn chi_squared(counts: &[u64]) -> f64 {
        let expected = counts.iter().sum::<u64>() as f64 / counts.len() as f64;
        counts.iter().map(|&count| (count as f64 - expected).powi(2) / expected).sum()
    }

    #[test]
    fn existing_files_are_drawn_uniformly() {
        let population = populated(3 * CHUNK);
        let mut random = Random::new(5);
        // 1 in 400 stands: drawing and counting both happen.
        let kept: Vec<u64> = (0..3 * CHUNK).filter(|number| number % 400 == 399).collect();
        for number in (0..3 * CHUNK).filter(|number| !kept.contains(number)) {
            assert!(population.locked_slot(number).take(LockMode::Alone, Concurrency::Many));
            population.mark_deleted(number);
        }
        let mut counts = vec![0_u64; kept.len()];
        for _ in 0..30_000 {
            let number = draw(&population, &mut random);
            counts[kept.iter().position(|&kept| kept == number).unwrap()] += 1;
        }
        // 29 degrees of freedom: 58.3 is the point of 0.1 %.
        assert_eq!(kept.len(), 30);
        assert!(chi_squared(&counts) < 58.3, "{counts:?}");
    }

    #[test]
    fn locks_are_shared_or_exclusive() {
        let population = populated(1);
        let mut random = Random::new(1);
        let first = FileLookup::File(LockedFile { number: 0, dir: 7, bytes: 100 });
        assert_eq!(population.find(&mut random, LockMode::Shared, Concurrency::Many), first);
        assert_eq!(population.find(&mut random, LockMode::Shared, Concurrency::Many), first);
        assert_eq!(
            population.find(&mut random, LockMode::Alone, Concurrency::Many),
            FileLookup::Busy
        );
        population.unlock(0, LockMode::Shared, Concurrency::Many);
        population.unlock(0, LockMode::Shared, Concurrency::Many);
        assert_eq!(population.find(&mut random, LockMode::Alone, Concurrency::Many), first);
        assert_eq!(
            population.find(&mut random, LockMode::Shared, Concurrency::Many),
            FileLookup::Busy
        );
        population.mark_deleted(0);
        assert_eq!(
            population.find(&mut random, LockMode::Shared, Concurrency::Many),
            FileLookup::Nothing
        );
        assert_eq!(
            Population::default().find(&mut random, LockMode::Shared, Concurrency::Many),
            FileLookup::Nothing
        );
    }

    #[test]
    fn numbers_of_deleted_files_are_reused_in_order() {
        let population = populated(3);
        for number in [2, 0] {
            assert!(population.locked_slot(number).take(LockMode::Alone, Concurrency::Many));
            population.mark_deleted(number);
        }
        let made: Vec<u64> = (0..3).map(|_| population.allocate_number(|| 9).number).collect();
        assert_eq!(made, [2, 0, 3]);
        let dirs: Vec<u32> = made.iter().map(|&number| population.dir(number)).collect();
        assert_eq!(dirs, [7, 7, 9]);
        assert_eq!(population.standing(), 1, "what is being made does not stand");
        population.mark_created(3, 50);
        population.grow(3, 5);
        assert_eq!((population.standing(), population.locked_slot(3).held(3).bytes), (2, 55));
        population.adopt(10_000, 4, 1);
        assert_eq!((population.standing(), population.dir(10_000)), (3, 4));
        assert_eq!(population.allocate_number(|| 1).number, 10_001);
    }

    #[test]
    fn number_series_has_no_gaps() {
        let series = NumberSeries::new(2);
        assert_eq!([series.next_number(), series.next_number(), series.next_number()], [2, 3, 4]);
        series.complete(4);
        assert_eq!(series.count(), 2);
        series.complete(2);
        assert_eq!(series.count(), 3);
        series.complete(3);
        assert_eq!(series.count(), 5);
    }

    #[test]
    fn exclusive_locks_are_exclusive_among_many_workers() {
        let population = populated(50);
        let held: Vec<_> = (0..50).map(|_| std::sync::atomic::AtomicBool::new(false)).collect();
        std::thread::scope(|scope| {
            for seed in 0..4 {
                let (population, held) = (&population, &held);
                scope.spawn(move || {
                    let mut random = Random::new(seed);
                    for _ in 0..20_000 {
                        let FileLookup::File(LockedFile { number, .. }) =
                            population.find(&mut random, LockMode::Alone, Concurrency::Many)
                        else {
                            continue;
                        };
                        let flag = &held[usize::try_from(number).unwrap()];
                        assert!(!flag.swap(true, std::sync::atomic::Ordering::SeqCst));
                        flag.store(false, std::sync::atomic::Ordering::SeqCst);
                        if number % 7 == seed {
                            population.mark_deleted(number);
                            let again = population.allocate_number(|| 0).number;
                            population.mark_created(again, 1);
                        } else {
                            population.unlock(number, LockMode::Alone, Concurrency::Many);
                        }
                    }
                });
            }
        });
        assert_eq!(population.standing(), 50);
    }
}

//! Files of a filesystem, shared by all workers: names, directories, sizes, and fullness.

use std::sync::atomic::{AtomicI64, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use treering_script::{Deadline, Random, SessionError, StatfsSpace};

use super::original_draw;
use super::plan::{PopulationKind, WorkerPlan};
use super::population::{NumberSeries, Population};
use crate::language::{FileSizes, Filesystem};

/// Block size for space accounting.
const BLOCK_BYTES: u64 = 4096;

/// Files and directories of one filesystem.
#[derive(Debug)]
pub(super) struct Fileset {
    /// Files of the benchmark.
    pub(super) data: Population,
    /// Files that fill up an aged filesystem; all directly in `data`.
    pub(super) fill: Population,
    /// Directories of `metaop`; the directory index of an entry tells whether it was renamed.
    pub(super) meta: Population,
    /// Directories of the benchmark files.
    pub(super) dirs: NumberSeries,
    sizes: SizeDraw,
    /// Free and used space before any file was created.
    room_before: OnceLock<StatfsSpace>,
    /// Growth of the files since the start, in bytes of whole blocks.
    grown: AtomicI64,
}

impl Fileset {
    /// Empty file set; with `direct`, file sizes are whole blocks as `O_DIRECT` requires.
    pub(super) fn new(filesystem: &Filesystem, direct: bool) -> Self {
        Self {
            data: Population::default(),
            fill: Population::default(),
            meta: Population::default(),
            dirs: NumberSeries::new(filesystem.dirs),
            sizes: SizeDraw::new(filesystem, direct),
            room_before: OnceLock::new(),
            grown: AtomicI64::new(0),
        }
    }

    /// The files of a kind.
    #[inline]
    pub(super) const fn files(&self, kind: PopulationKind) -> &Population {
        match kind {
            PopulationKind::Data => &self.data,
            PopulationKind::Fill => &self.fill,
        }
    }

    /// The size of a new file.
    pub(super) fn draw_size(&self, random: &mut Random) -> u64 {
        self.sizes.draw(random)
    }

    /// True if a file of `bytes` found from an earlier run has a size that a new file could have.
    pub(super) fn is_possible_size(&self, bytes: u64) -> bool {
        self.sizes.is_possible(bytes)
    }

    /// The directory of a new file: 0 is `data` itself, the others are `datadir`s.
    pub(super) fn draw_dir(&self, random: &mut Random) -> u32 {
        let dir = random.below(u64::from(self.dirs.count()) + 1);
        u32::try_from(dir).unwrap_or(0)
    }

    /// Records a change of a file's size.
    pub(super) fn resized(&self, from: u64, to: u64) {
        let blocks = |bytes: u64| i64::try_from(bytes.div_ceil(BLOCK_BYTES)).unwrap_or(i64::MAX);
        let change = blocks(to).saturating_sub(blocks(from));
        self.grown.fetch_add(change.saturating_mul(BLOCK_BYTES.cast_signed()), Ordering::Relaxed);
    }

    /// Records the filesystem's space before any file is created; only the first call counts.
    pub(super) fn record_initial_space(&self, room: StatfsSpace) {
        let _first_word_stands = self.room_before.set(room);
    }

    /// Used fraction of the filesystem, 0 to 1, and its growth in bytes. Written data counts at
    /// once, even if the filesystem allocates it later.
    pub(super) fn fullness(&self, room: StatfsSpace) -> (f64, u64) {
        let before = self.room_before.get().copied().unwrap_or(room);
        let used = |room: StatfsSpace| room.capacity_bytes.saturating_sub(room.unused_bytes);
        let written = u64::try_from(self.grown.load(Ordering::Relaxed)).unwrap_or(0);
        let grown = used(room).saturating_sub(used(before)).max(written);
        let full = (used(before) + grown).max(used(room));
        (full as f64 / room.capacity_bytes.max(1) as f64, grown)
    }
}

/// File sizes with their effective weights.
pub(super) fn drawn_sizes(filesystem: &Filesystem) -> FileSizes {
    match &filesystem.sizes {
        FileSizes::Weights(rows) if filesystem.sizes_as_original => {
            FileSizes::Weights(original_draw::weights(rows))
        }
        sizes => sizes.clone(),
    }
}

/// Draws sizes.
#[derive(Debug)]
enum SizeDraw {
    /// Uniform draw: lower bound, exclusive upper bound, whole blocks only, biased as in the
    /// original.
    Range(u64, u64, bool, bool),
    /// Sizes with cumulative weights.
    Weights(Vec<(u64, u64)>),
}

impl SizeDraw {
    fn new(filesystem: &Filesystem, direct: bool) -> Self {
        let whole = |bytes: u64| if direct { bytes.next_multiple_of(BLOCK_BYTES) } else { bytes };
        match &drawn_sizes(filesystem) {
            FileSizes::Range(least, below) => {
                Self::Range(*least, *below, direct, filesystem.sizes_as_original)
            }
            FileSizes::Weights(weights) => {
                let mut sum = 0;
                let sums = weights.iter().map(|&(bytes, weight)| {
                    sum += weight;
                    (whole(bytes), sum)
                });
                Self::Weights(sums.collect())
            }
        }
    }

    /// True if `bytes` is a possible size; the upper bound of a range counts as well.
    fn is_possible(&self, bytes: u64) -> bool {
        match self {
            Self::Range(least, most, true, _) => {
                let whole = |bytes: u64| bytes.next_multiple_of(BLOCK_BYTES);
                (whole(*least)..=whole(*most)).contains(&bytes) && bytes == whole(bytes)
            }
            Self::Range(least, most, false, _) => (*least..=*most).contains(&bytes),
            Self::Weights(sums) => sums.iter().any(|&(size, _)| size == bytes),
        }
    }

    fn draw(&self, random: &mut Random) -> u64 {
        match self {
            Self::Range(least, below, direct, as_original) => {
                let choices = below.saturating_sub(*least);
                let drawn = if *as_original {
                    original_draw::below(choices, random)
                } else {
                    random.below(choices)
                };
                let bytes = least + drawn;
                if *direct { bytes.next_multiple_of(BLOCK_BYTES) } else { bytes }
            }
            Self::Weights(sums) => {
                let drawn = random.below(sums.last().map_or(0, |&(_, sum)| sum));
                sums.iter().find(|&&(_, sum)| drawn < sum).map_or(0, |&(bytes, _)| bytes)
            }
        }
    }
}

fn makers(filesystems: usize) -> Arc<[AtomicU32]> {
    (0..filesystems).map(|_| AtomicU32::new(0)).collect()
}

/// State shared by the workers of a run, apart from the files.
#[derive(Clone, Debug, Default)]
pub(super) struct SharedState {
    /// Deadline of the workers.
    pub(super) deadline: Deadline,
    /// Number of running workers that create files, for each filesystem.
    makers: Arc<[AtomicU32]>,
    failure: Arc<Mutex<Option<SessionError>>>,
}

impl SharedState {
    /// Shared state of a run on `filesystems` filesystems.
    pub(super) fn new(filesystems: usize) -> Self {
        Self { makers: makers(filesystems), ..Self::default() }
    }

    /// Shared state with a new deadline, for another group of the same run.
    pub(super) fn with_new_deadline(&self) -> Self {
        let (deadline, failure) = (Deadline::default(), Arc::clone(&self.failure));
        Self { deadline, makers: makers(self.makers.len()), failure }
    }

    /// Creator counts of the filesystems in which a worker with this plan works.
    fn reach(&self, plan: &WorkerPlan) -> &[AtomicU32] {
        match plan.bound {
            Some(number) => self.makers.get(number..=number).unwrap_or_default(),
            None => &self.makers,
        }
    }

    /// Registers a worker with this plan as a creator of files.
    pub(super) fn join(&self, plan: &WorkerPlan) {
        for makers in self.reach(plan).iter().filter(|_| plan.makes_files) {
            makers.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Unregisters a worker with this plan.
    pub(super) fn leave(&self, plan: &WorkerPlan) {
        for makers in self.reach(plan).iter().filter(|_| plan.makes_files) {
            makers.fetch_sub(1, Ordering::Relaxed);
        }
    }

    /// True while a worker still creates files in a filesystem that `plan` uses.
    pub(super) fn has_creators(&self, plan: &WorkerPlan) -> bool {
        self.reach(plan).iter().any(|makers| makers.load(Ordering::Relaxed) > 0)
    }

    /// Records a fatal error and ends all workers; the first error wins.
    pub(super) fn fail(&self, why: SessionError) {
        self.failure.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(why);
        self.deadline.reach();
    }

    /// Fatal error of the run, if any.
    pub(super) fn failure(&self) -> Option<SessionError> {
        self.failure.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

#[cfg(test)]
mod tests {
    use super::{Fileset, SharedState};
    use crate::language::{FileSizes, Filesystem};
    use treering_script::{Random, SessionError, StatfsSpace};

    fn filesystem(sizes: FileSizes) -> Filesystem {
        Filesystem {
            location: "/m".to_owned(),
            files: 0,
            dirs: 3,
            sizes,
            sizes_as_original: false,
            init_bytes: 0,
            init_share: 0.0,
            create_block_bytes: 4096,
            age_block_bytes: 4096,
            reuse: false,
            aging: None,
        }
    }

    #[test]
    fn sizes_have_exactly_their_weights() {
        let table = vec![(4096, 33), (8192, 21), (1 << 20, 46)];
        let fileset = Fileset::new(&filesystem(FileSizes::Weights(table.clone())), false);
        let mut random = Random::new(3);
        let drawn: Vec<u64> = (0..100_000).map(|_| fileset.draw_size(&mut random)).collect();
        for (bytes, weight) in table {
            let share = drawn.iter().filter(|&&size| size == bytes).count() as f64 / 1000.0;
            // Four standard deviations of a share of 100,000 draws.
            assert!((share - weight as f64).abs() < 0.65, "{bytes}: {share} %");
        }
    }

    #[test]
    fn size_range_excludes_its_end_and_is_aligned_for_direct_io() {
        let fileset = Fileset::new(&filesystem(FileSizes::Range(10, 13)), false);
        let mut random = Random::new(3);
        let drawn: std::collections::BTreeSet<u64> =
            (0..100).map(|_| fileset.draw_size(&mut random)).collect();
        assert_eq!(drawn.into_iter().collect::<Vec<_>>(), [10, 11, 12]);
        let same = Fileset::new(&filesystem(FileSizes::Range(10, 10)), false);
        assert_eq!(same.draw_size(&mut random), 10);
        let direct = Fileset::new(&filesystem(FileSizes::Range(10, 5000)), true);
        assert!((0..100).all(|_| [4096, 8192].contains(&direct.draw_size(&mut random))));
    }

    #[test]
    fn reused_files_must_have_possible_sizes() {
        let could = |sizes: FileSizes, direct, bytes: &[u64]| {
            let fileset = Fileset::new(&filesystem(sizes), direct);
            bytes.iter().map(|&bytes| fileset.is_possible_size(bytes)).collect::<Vec<_>>()
        };
        let sizes = [4999, 5000, 8192, 9000, 9001, 12_288, 16_384];
        let plain = could(FileSizes::Range(5000, 9000), false, &sizes);
        assert_eq!(plain, [false, true, true, true, false, false, false]);
        let direct = could(FileSizes::Range(5000, 9000), true, &sizes);
        assert_eq!(direct, [false, false, true, false, false, true, false]);
        let table = || FileSizes::Weights(vec![(5000, 1), (8192, 3)]);
        assert_eq!(could(table(), false, &sizes[..3]), [false, true, true]);
        assert_eq!(could(table(), true, &sizes[..3]), [false, false, true]);
    }

    #[test]
    fn fullness_is_the_larger_of_statfs_and_written_bytes() {
        let fileset = Fileset::new(&filesystem(FileSizes::Range(0, 0)), false);
        let room = |used: u64| StatfsSpace {
            capacity_bytes: 1 << 20,
            free_bytes: 0,
            unused_bytes: (1 << 20) - used,
            inodes: None,
        };
        fileset.record_initial_space(room(1 << 18));
        assert_eq!(fileset.fullness(room(1 << 18)), (0.25, 0));
        fileset.resized(0, 1 << 18);
        assert_eq!(fileset.fullness(room(1 << 18)), (0.5, 1 << 18), "it says so later");
        assert_eq!(fileset.fullness(room(3 << 18)), (0.75, 1 << 19));
        fileset.resized(1 << 18, 0);
        assert_eq!(fileset.fullness(room(1 << 18)), (0.25, 0));
    }

    #[test]
    fn first_error_is_kept() {
        let common = SharedState::default();
        assert_eq!(common.failure(), None);
        common.with_new_deadline().fail(SessionError::new("one"));
        assert!(!common.deadline.is_reached(), "each has its own");
        common.fail(SessionError::new("two"));
        assert_eq!(common.failure(), Some(SessionError::new("one")));
        assert!(common.deadline.is_reached());
    }
}

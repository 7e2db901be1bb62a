//! Location of a worker's files: subdirectory, name, and the open directory that paths are relative
//! to.
//!
//! Nothing is stored per file: only changes of the time stamp in names, and of the subdirectory
//! that it determines, are recorded.

use std::ffi::CStr;

use treering_script::DirSlot;

use super::account::NameChange;
use super::methods::{HASH_SECONDS, SubdirPolicy};
use super::naming::{PathBuffer, dir_name, mix};
use super::shape::RunShape;

/// The slot of a native worker's root.
pub(super) const ROOT: DirSlot = DirSlot(1);
/// Subdirectories that a native worker keeps open; with more, paths have two components.
const OPEN_MAX: u32 = 1000;
/// Slot of the first subdirectory.
const FIRST_SUBDIR: u16 = 2;

/// Locator of a worker's files.
#[derive(Debug)]
pub(super) struct FileLocator {
    policy: SubdirPolicy,
    key: u64,
    paths: PathBuffer,
    /// Changes so far; the first is for file 0.
    since: Vec<NameChange>,
    /// Second at which the time hash last moved on.
    moved_seconds: u64,
    /// Flag per subdirectory: true if a native worker has opened it; `None` for classic workers.
    open: Option<Vec<bool>>,
    /// Subdirectory of the current file.
    subdir: Option<u32>,
    present: u32,
}

impl FileLocator {
    /// Creates the locator of a classic worker that begins at this second: paths are relative to
    /// the root.
    pub(super) fn classic(shape: &RunShape, key: u64, seconds: u64) -> Self {
        let subdirs = u64::from(shape.policy.subdirs().max(1));
        let start = u32::try_from(seconds % subdirs).unwrap_or(0);
        let mut locator = Self::new(shape, key, start, stamp(seconds), None);
        locator.moved_seconds = seconds;
        locator
    }

    /// Creates the locator of a native worker in this iteration: names are relative to open
    /// subdirectories.
    pub(super) fn native(shape: &RunShape, key: u64, iteration: u32) -> Self {
        let subdirs = shape.policy.subdirs();
        let open = (1..=OPEN_MAX).contains(&subdirs).then(|| vec![false; subdirs as usize]);
        Self::new(shape, key, 0, iteration, open)
    }

    /// Locator that replays the changes a worker recorded.
    pub(super) fn replaying(shape: &RunShape, key: u64, since: Vec<NameChange>) -> Self {
        let mut locator = Self::new(shape, key, 0, 0, None);
        locator.since = since;
        locator
    }

    fn new(shape: &RunShape, key: u64, subdir: u32, stamp: u32, open: Option<Vec<bool>>) -> Self {
        let mut paths = PathBuffer::new(shape.name_bytes, shape.random_bytes, key);
        paths.set_stamp(stamp);
        Self {
            policy: shape.policy,
            key,
            paths,
            since: vec![NameChange { file: 0, stamp, subdir }],
            moved_seconds: 0,
            open,
            subdir: None,
            present: stamp,
        }
    }

    /// Moves to a new file at this second; `None` for native workers, whose names have no time.
    pub(super) fn advance(&mut self, file: u64, seconds: Option<u64>) {
        if let (Some(seconds), Some(&last)) = (seconds, self.since.last()) {
            let mut now = NameChange { file, stamp: stamp(seconds), ..last };
            if let SubdirPolicy::TimeHash { subdirs } = self.policy
                && seconds.saturating_sub(self.moved_seconds) > HASH_SECONDS
            {
                self.moved_seconds = seconds;
                now.subdir = (last.subdir + 1) % subdirs.max(1);
            }
            if (now.stamp, now.subdir) != (last.stamp, last.subdir) {
                self.since.push(now);
            }
        }
        if let Some(&last) = self.since.last() {
            self.go(file, last);
        }
    }

    /// Moves to a file that was created earlier.
    pub(super) fn recall(&mut self, file: u64) {
        let after = self.since.partition_point(|since| since.file <= file);
        if let Some(&since) = self.since.get(after.saturating_sub(1)) {
            self.go(file, since);
        }
    }

    fn go(&mut self, file: u64, since: NameChange) {
        if since.stamp != self.present {
            self.present = since.stamp;
            self.paths.set_stamp(since.stamp);
        }
        let subdir = self.subdir_of(file, since);
        if subdir != self.subdir {
            self.subdir = subdir;
            if self.open.is_none() {
                self.paths.enter(subdir);
            }
        }
    }

    fn subdir_of(&self, file: u64, since: NameChange) -> Option<u32> {
        let within = |number: u64, subdirs: u32| {
            u32::try_from(number % u64::from(subdirs.max(1))).unwrap_or(0)
        };
        match self.policy {
            SubdirPolicy::Flat => None,
            SubdirPolicy::TimeHash { .. } => Some(since.subdir),
            SubdirPolicy::RoundRobin { subdirs, files } => {
                let moves = file.checked_div(files).unwrap_or(0);
                Some(within(u64::from(since.subdir).wrapping_add(moves), subdirs))
            }
            SubdirPolicy::Random { subdirs } => {
                Some(within(mix(self.key.wrapping_sub(file)) >> 8, subdirs))
            }
        }
    }

    /// The subdirectory of the current file.
    pub(super) fn subdir(&self) -> Option<u32> {
        self.subdir
    }

    /// Subdirectory that must be opened first, and its slot; marks it as open.
    pub(super) fn opens(&mut self) -> Option<(u32, DirSlot)> {
        let subdir = self.subdir?;
        let open = self.open.as_mut()?.get_mut(subdir as usize)?;
        if std::mem::replace(open, true) { None } else { Some((subdir, slot(subdir))) }
    }

    /// Path of a file in the current subdirectory, and the directory the path is relative to.
    #[inline]
    pub(super) fn place(&mut self, file: u64, root: DirSlot) -> (DirSlot, &CStr) {
        let at = match (self.subdir, &self.open) {
            (Some(subdir), Some(_)) => slot(subdir),
            _ => root,
        };
        (at, self.paths.path(file))
    }

    /// Name of a file within its subdirectory.
    pub(super) fn bare_name(&mut self, file: u64) -> &CStr {
        self.paths.name(file)
    }

    /// Subdirectory and path of a file, for comparing names.
    pub(super) fn name(&mut self, file: u64) -> (Option<u32>, &[u8]) {
        self.recall(file);
        (self.subdir, self.paths.path(file).to_bytes())
    }

    /// Recorded changes of time stamp and subdirectory.
    pub(super) fn since(&self) -> &[NameChange] {
        &self.since
    }
}

/// Time stamp in names: the low 32 bits of the Unix time in seconds.
#[expect(clippy::cast_possible_truncation, reason = "the low 32 bits are what names hold")]
const fn stamp(seconds: u64) -> u32 {
    seconds as u32
}

fn slot(subdir: u32) -> DirSlot {
    DirSlot(u16::try_from(subdir).unwrap_or(u16::MAX - FIRST_SUBDIR) + FIRST_SUBDIR)
}

/// The names of all subdirectories.
pub(super) fn all_subdirs(policy: SubdirPolicy) -> impl Iterator<Item = String> {
    (0..policy.subdirs()).map(dir_name)
}

#[cfg(test)]
mod tests {
    use super::{FileLocator, NameChange, ROOT};
    use crate::methods::{SubdirPolicy, SyncMethod};
    use crate::shape::RunShape;
    use treering_script::DirSlot;

    fn shape(policy: SubdirPolicy) -> RunShape {
        RunShape {
            files: 10,
            bytes: 1,
            write_bytes: 1,
            name_bytes: 8,
            random_bytes: 0,
            sync: SyncMethod::Nothing,
            policy,
            iterations: 1,
            until_full: false,
            keep: true,
            workers: 1,
            roots: 1,
            seed: 1,
        }
    }

    #[test]
    fn time_hash_changes_subdirectory_every_180_seconds() {
        let mut locator =
            FileLocator::classic(&shape(SubdirPolicy::TimeHash { subdirs: 4 }), 1, 1001);
        let mut visited = Vec::new();
        for (file, seconds) in [1001, 1001, 1002, 1181, 1182, 1362, 1363].into_iter().enumerate() {
            locator.advance(file as u64, Some(seconds));
            visited.push(locator.subdir().unwrap());
        }
        assert_eq!(visited, [1, 1, 1, 1, 2, 2, 3]);
        assert_eq!(locator.since().len(), 6);
        assert_eq!(locator.since()[1], NameChange { file: 2, stamp: 1002, subdir: 1 });
        assert_eq!(locator.name(1), (Some(1), &b"01/000003e9"[..]));
        assert_eq!(locator.name(6), (Some(3), &b"03/00000553"[..]));
        assert_eq!(locator.name(4), (Some(2), &b"02/0000049e"[..]));
    }

    #[test]
    fn round_robin_starts_at_the_current_second() {
        let policy = SubdirPolicy::RoundRobin { subdirs: 4, files: 2 };
        let mut locator = FileLocator::classic(&shape(policy), 1, 1001);
        let mut visited = Vec::new();
        for file in 0..9 {
            locator.advance(file, Some(1001 + file));
            visited.push(locator.subdir().unwrap());
        }
        assert_eq!(visited, [1, 1, 2, 2, 3, 3, 0, 0, 1]);
        assert_eq!(locator.name(5).0, Some(3));
        let policy = SubdirPolicy::RoundRobin { subdirs: 4, files: 0 };
        let mut locator = FileLocator::classic(&shape(policy), 1, 1001);
        locator.advance(500, Some(9999));
        assert_eq!(locator.subdir(), Some(1));
    }

    #[test]
    fn native_workers_open_each_subdirectory_once() {
        let policy = SubdirPolicy::RoundRobin { subdirs: 2, files: 1 };
        let mut locator = FileLocator::native(&shape(policy), 1, 5);
        let mut opened = Vec::new();
        for file in 0..4 {
            locator.advance(file, None);
            opened.extend(locator.opens());
        }
        assert_eq!(opened, [(0, DirSlot(2)), (1, DirSlot(3))]);
        assert_eq!(locator.place(3, ROOT), (DirSlot(3), c"00000005"));
        let many = SubdirPolicy::RoundRobin { subdirs: 1001, files: 1 };
        let mut locator = FileLocator::native(&shape(many), 1, 5);
        locator.advance(1000, None);
        assert_eq!(locator.opens(), None);
        assert_eq!(locator.place(1000, ROOT), (ROOT, c"3e8/00000005"));
    }

    #[test]
    fn random_subdirectories_are_all_used_and_reproducible() {
        let mut locator = FileLocator::native(&shape(SubdirPolicy::Random { subdirs: 10 }), 77, 0);
        let mut counts = [0u32; 10];
        for file in 0..10_000 {
            locator.advance(file, None);
            counts[locator.subdir().unwrap() as usize] += 1;
        }
        assert!(counts.iter().all(|count| (850..1150).contains(count)), "{counts:?}");
        locator.advance(17, None);
        let first = locator.subdir();
        locator.recall(18);
        locator.recall(17);
        assert_eq!(locator.subdir(), first);
    }
}

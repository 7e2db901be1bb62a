//! Detection of files that got the same name: all names are generated again, if collisions are
//! likely enough.

use std::collections::HashSet;

use super::account::NameChange;
use super::locator::FileLocator;
use super::naming::mix;
use super::shape::RunShape;

/// Minimum expected number of name collisions that makes the search worthwhile.
const EXPECTED_LEAST: f64 = 1e-6;
/// Maximum number of names kept in memory; the search ends there.
const NAMES_MAX: usize = 10_000_000;

/// Detector of names that were given twice.
#[derive(Debug)]
pub(super) struct CollisionDetector {
    seen: HashSet<u64>,
    looks: bool,
    found: u64,
    names: u64,
}

impl CollisionDetector {
    /// Detector for a run of this shape; disabled if collisions are too unlikely.
    pub(super) fn new(shape: &RunShape) -> Self {
        let names = shape.files_an_iteration() as f64 * shape.standing_iterations() as f64;
        let names = if shape.until_full { 1e9 } else { names };
        let random = i32::try_from(shape.random_bytes).unwrap_or(i32::MAX);
        let expected = names * names / 2.0 / 36f64.powi(random);
        Self { seen: HashSet::new(), looks: expected >= EXPECTED_LEAST, found: 0, names: 0 }
    }

    /// Forgets the files of an iteration after they are unlinked.
    pub(super) fn forget(&mut self) {
        self.seen.clear();
    }

    /// Records the names of `files` files that a worker made in its root.
    pub(super) fn add(
        &mut self,
        shape: &RunShape,
        key: u64,
        root: u16,
        files: u64,
        since: &[NameChange],
    ) {
        if !self.looks {
            return;
        }
        let mut locator = FileLocator::replaying(shape, key, since.to_vec());
        for file in 0..files {
            if self.seen.len() >= NAMES_MAX {
                self.looks = false;
                self.seen = HashSet::new();
                return;
            }
            let (subdir, path) = locator.name(file);
            let place = u64::from(root) << 32 | u64::from(subdir.map_or(u32::MAX, |dir| dir));
            let name = path.chunks(8).fold(mix(place), |hash, part| {
                let mut word = [0; 8];
                word[..part.len()].copy_from_slice(part);
                mix(hash ^ u64::from_le_bytes(word))
            });
            self.names += 1;
            self.found += u64::from(!self.seen.insert(name));
        }
    }

    /// Caution text; `None` without collisions.
    pub(super) fn message(&self) -> Option<String> {
        (self.found > 0).then(|| {
            format!(
                "{} of {} files got the name of another, which they overwrote: use longer names \
                 or more random characters (-p, -r)",
                self.found, self.names
            )
        })
    }
}

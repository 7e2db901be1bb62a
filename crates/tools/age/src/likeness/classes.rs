//! Classes of directories in a profile: equal directories with their number, the class of the
//! directories above them, and the number of their files by age.

use std::collections::BTreeMap;

use serde::Deserialize;
use treering_script::ConfigError;

use crate::sizes::ProfileError;

/// Largest accepted number of classes.
pub(super) const CLASSES_MAX: usize = 2000;
/// Depth of the lowest directories; deeper ones of a measured tree count as if they were there.
pub(super) const DEPTH_MAX: usize = 64;
/// Oldest age: a power of two of minutes.
pub(super) const AGE_MAX: u8 = 31;
/// Largest number of directories that a run makes.
pub(super) const DIRECTORIES_MAX: u64 = 10_000_000;
/// Largest number of files that a run makes.
const FILES_MAX: u64 = 50_000_000;
/// Largest accepted number of files, and of directories, of all classes: a measured tree may be
/// larger than what a run makes of it.
const MEASURED_MAX: u64 = 1 << 40;

/// Row of a profile's `tree`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ClassText {
    #[serde(default, rename = "in")]
    above: Option<usize>,
    directories: u64,
    #[serde(default)]
    files: BTreeMap<String, u64>,
}

/// Directories of one class.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct DirectoryClass {
    /// Class of the directories above; none for the top.
    pub(super) above: Option<usize>,
    /// Number of directories.
    pub(super) directories: u64,
    /// Number of files in all of them, by age.
    pub(super) files: BTreeMap<u8, u64>,
}

/// All classes of a tree. The first one is the top.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TreeClasses {
    pub(super) rows: Vec<DirectoryClass>,
    /// Depth of each class; 0 for the top.
    pub(super) depths: Vec<usize>,
}

impl TreeClasses {
    /// Converts the rows of a profile.
    pub(crate) fn read(rows: &[ClassText]) -> Result<Self, ProfileError> {
        if rows.len() > CLASSES_MAX {
            return Err(ProfileError(format!("tree: more than {CLASSES_MAX} rows")));
        }
        let mut tree = Self { rows: Vec::new(), depths: Vec::new() };
        for (number, row) in rows.iter().enumerate() {
            tree.add(row).map_err(|message| {
                ProfileError(format!("tree, row {number} of 0 to {}: {message}", rows.len() - 1))
            })?;
        }
        if tree.files() == 0 {
            return Err(ProfileError("tree: there is no file in it".into()));
        }
        Ok(tree)
    }

    fn add(&mut self, row: &ClassText) -> Result<(), String> {
        let depth = match row.above {
            None if !self.rows.is_empty() => return Err("`in` is missing".into()),
            None if row.directories != 1 => return Err("the top is one directory".into()),
            None => 0,
            Some(above) => {
                let depth = self.depths.get(above);
                depth.ok_or_else(|| format!("in: {above} is not the number of a row before"))? + 1
            }
        };
        if depth > DEPTH_MAX {
            return Err(format!("deeper than {DEPTH_MAX}"));
        }
        let mut files = BTreeMap::new();
        for (age, count) in &row.files {
            let known = age.parse::<u8>().ok().filter(|known| *known <= AGE_MAX);
            let known = known.filter(|known| known.to_string() == *age);
            let age = known.ok_or_else(|| {
                format!("files: age '{}' is not between 0 and {AGE_MAX}", age.escape_debug())
            })?;
            files.insert(age, *count);
        }
        let counts = files.values().copied().chain([self.files()]);
        if !is_within(counts, MEASURED_MAX) {
            return Err(format!("more than {MEASURED_MAX} files up to here"));
        }
        let all = [row.directories, self.directories()];
        if row.directories == 0 || !is_within(all.into_iter(), MEASURED_MAX) {
            return Err(format!("directories: not 1 to {MEASURED_MAX} up to here"));
        }
        self.rows.push(DirectoryClass { above: row.above, directories: row.directories, files });
        self.depths.push(depth);
        Ok(())
    }

    /// Number of files.
    pub(crate) fn files(&self) -> u64 {
        self.rows.iter().flat_map(|row| row.files.values()).sum()
    }

    /// Number of directories, the top included.
    pub(crate) fn directories(&self) -> u64 {
        self.rows.iter().map(|row| row.directories).sum()
    }

    /// Factor to the number of files and directories that gives files of so many bytes.
    pub(crate) fn factor(&self, bytes: u64, mean_bytes: u64) -> f64 {
        let own = self.files().saturating_mul(mean_bytes).max(1);
        (bytes as f64 / own as f64).min(self.largest_factor())
    }

    fn largest_factor(&self) -> f64 {
        let most = FILES_MAX as f64 / self.files() as f64;
        most.min(DIRECTORIES_MAX as f64 / self.directories() as f64)
    }

    /// Refuses bytes for which the tree would have more files or directories than a run makes.
    pub(crate) fn refuse_too_many(&self, bytes: u64, mean_bytes: u64) -> Result<(), ConfigError> {
        let own = self.files().saturating_mul(mean_bytes).max(1) as f64;
        let factor = bytes as f64 / own;
        // Rounding does not make a tree of the largest size too large.
        if factor <= self.largest_factor() * 1.0001 {
            return Ok(());
        }
        let (files, directories) =
            (self.files() as f64 * factor, self.directories() as f64 * factor);
        let message = format!(
            "tree: {files:.0} files in {directories:.0} directories would be made, and a run makes \
             at most {FILES_MAX} in {DIRECTORIES_MAX}"
        );
        let gib = own * self.largest_factor() / f64::from(1 << 30);
        Err(ConfigError::new(message)
            .hint(format!("give fewer bytes: --live {}G, or less", gib.floor().max(1.0))))
    }
}

/// True if the sum of the numbers is not above `most`.
fn is_within(mut numbers: impl Iterator<Item = u64>, most: u64) -> bool {
    numbers.try_fold(0, u64::checked_add).is_some_and(|sum| sum <= most)
}

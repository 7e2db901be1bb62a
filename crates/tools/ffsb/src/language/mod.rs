//! FFSB's profile: what stands in the file, read and checked.
//!
//! `lines` cuts the text, `keys` knows which settings there are and `values` what they may be,
//! `sections` sorts them, `read` makes the profile of them and `check` looks at the whole of it.
//! `write` goes the other way. Reading never panics and takes time in proportion to the text,
//! whatever the bytes.

mod check;
mod keys;
mod lines;
pub(crate) mod operation;
mod read;
mod sections;
mod timed_call;
mod values;
mod write;

use operation::Operation;
pub(crate) use timed_call::TimedCall;

use treering_script::ConfigError;

use treering_kit::faults::{Fault, Faults};

/// Reads a profile; `file` is its name in messages.
///
/// # Errors
/// Every setting that is wrong, with its line and what would be right.
pub(crate) fn parse(file: &str, text: &[u8]) -> Result<Profile, ConfigError> {
    let mut faults = Faults::new(file, text);
    let sections = sections::sort(text, &mut faults).map_err(|fault| faults.refuse(fault))?;
    // What would be missing may stand in a line that is wrong.
    faults.check()?;
    let checked = understood(&sections, &mut faults);
    let mut profile = checked.map_err(|fault| faults.refuse(fault))?;
    profile.warnings = faults.into_warnings();
    Ok(profile)
}

fn understood(sections: &sections::Section, faults: &mut Faults) -> Result<Profile, Fault> {
    let profile = read::profile(sections, faults)?;
    check::profile(&profile, sections, faults)?;
    Ok(profile)
}

/// What runs, as names and values in a fixed order: the settings under their keys, of several
/// filesystems or groups with `filesystem0.` or `threadgroup0.` before, of the group that ages with
/// `aging.`. Not where: locations are left out, and `bindfs` is the number of the filesystem.
/// Weights of 0, and blocks that are not given, are left out too.
pub(crate) fn parameters(profile: &Profile) -> Vec<(String, String)> {
    write::parameters(profile)
}

/// A text that is read as this profile, warnings aside.
pub(crate) fn text(profile: &Profile) -> String {
    write::text(profile)
}

/// A profile.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Profile {
    /// Seconds that the benchmark runs at least; 0 makes the files only.
    pub seconds: u64,
    /// Whether files are opened with `O_DIRECT`.
    pub direct: bool,
    /// Whether random offsets are whole 4 KiB blocks; `direct` implies it.
    pub align: bool,
    /// Printed, without any effect.
    pub buffered: bool,
    /// A shell command between the making of the files and the benchmark.
    pub callout: Option<String>,
    /// At least one.
    pub filesystems: Vec<Filesystem>,
    /// At least one, unless `seconds` is 0.
    pub groups: Vec<ThreadGroup>,
    /// What was accepted although the original refuses it, or has no effect, with line and column.
    pub warnings: Vec<String>,
}

/// A directory with the files that are worked on.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Filesystem {
    /// The directory.
    pub location: String,
    /// Files that are made before, unless `init_bytes` or `init_share` say how many.
    pub files: u64,
    /// Directories in `data/`.
    pub dirs: u32,
    /// Sizes of new files.
    pub sizes: Sizes,
    /// Whether they are drawn as by FFSB 6.0-RC2; stands in the options, not in the profile.
    pub sizes_as_original: bool,
    /// When `files` is 0: files are made until the used space has grown by so many bytes.
    pub init_bytes: u64,
    /// When `files` and `init_bytes` are 0: until this share of the filesystem is used.
    pub init_share: f64,
    /// Bytes of a write while files are made.
    pub create_block_bytes: u32,
    /// Bytes of a write while the filesystem is aged.
    pub age_block_bytes: u32,
    /// Whether files of an earlier run are taken when they are as they would be made.
    pub reuse: bool,
    /// How it is aged first.
    pub aging: Option<Aging>,
}

/// Sizes of new files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Sizes {
    /// At least the first; below the second, unless they are equal.
    Range(u64, u64),
    /// Sizes and their weights, in the order of the profile. The original prints and draws them in
    /// the opposite one.
    Weights(Vec<(u64, u64)>),
}

/// How a filesystem is aged.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Aging {
    /// Who does it.
    pub group: ThreadGroup,
    /// Until this share of the filesystem is used.
    pub until_share: f64,
}

/// Workers that do the same.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ThreadGroup {
    /// How many; at least one.
    pub threads: u16,
    /// The filesystem in which they work, by its number; any when `None`.
    pub bound: Option<usize>,
    /// Milliseconds between two operations.
    pub delay_ms: u32,
    /// Whether each block that is read has an offset of its own.
    pub read_random: bool,
    /// Bytes of a `read` operation; 0 is the whole of nothing.
    pub read_bytes: u64,
    /// Bytes of a call to read.
    pub read_block_bytes: u32,
    /// Bytes that are skipped between two reads.
    pub read_skip_bytes: Option<u64>,
    /// As printed, also when `read_skip` is off.
    pub read_skip_bytes_given: u64,
    /// Whether each block that is written has an offset of its own.
    pub write_random: bool,
    /// Bytes of a `write` or an `append` operation.
    pub write_bytes: u64,
    /// Bytes of a call to write.
    pub write_block_bytes: u32,
    /// By [`Operation::place`]; the sum is at least 1.
    pub weights: [u64; Operation::COUNT],
    /// Whether the times of calls are taken and printed, and of which.
    pub stats: Option<Stats>,
}

/// Which times are printed.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Stats {
    /// Calls left out, by [`TimedCall::place`].
    pub ignored: [bool; TimedCall::COUNT],
    /// Ranges of milliseconds, both ends in them, in the order of the profile; empty when they are
    /// not enabled.
    pub ranges_ms: Vec<(f64, f64)>,
}

impl Profile {
    /// Threads of all groups.
    pub(crate) fn workers(&self) -> u16 {
        self.groups.iter().fold(0, |sum, group| sum.saturating_add(group.threads))
    }
}

impl ThreadGroup {
    /// The weight of an operation.
    pub(crate) const fn weight(&self, operation: Operation) -> u64 {
        self.weights[operation.place()]
    }
}

#[cfg(test)]
mod tests;

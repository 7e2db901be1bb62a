//! FFSB's profile: what stands in the file, read and checked.
//!
//! `lines` cuts the text, `keys` knows which settings there are and `values` what they may be,
//! `sections` sorts them, `read` makes the profile of them and `check` looks at the whole of it.
//! `write` goes the other way. Reading never panics and takes time in proportion to the text,
//! whatever the bytes.

mod check;
mod keys;
mod lines;
mod read;
mod sections;
mod values;
mod write;

use treering_script::ConfigError;

use super::operation::Operation;
use super::tally::TimedCall;
use crate::messages;

/// Reads a profile; `file` is its name in messages.
///
/// # Errors
/// `FILE:LINE:COLUMN: what is wrong`, with what would be right.
pub(in crate::ffsb) fn parse(file: &str, text: &[u8]) -> Result<Profile, ConfigError> {
    let mut messages = messages::Messages::new(file);
    let sections = sections::sort(text, &mut messages)?;
    let mut profile = read::profile(&sections, &mut messages)?;
    check::profile(&profile, &sections, &mut messages)?;
    profile.warnings = messages.into_warnings();
    Ok(profile)
}

/// What runs, as names and values in a fixed order: the settings under their keys, of several
/// filesystems or groups with `filesystem0.` or `threadgroup0.` before, of the group that ages with
/// `aging.`. Not where: locations are left out, and `bindfs` is the number of the filesystem.
/// Weights of 0, and blocks that are not given, are left out too.
pub(in crate::ffsb) fn parameters(profile: &Profile) -> Vec<(String, String)> {
    write::parameters(profile)
}

/// A text that is read as this profile, warnings aside.
pub(in crate::ffsb) fn text(profile: &Profile) -> String {
    write::text(profile)
}

/// A profile.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::ffsb) struct Profile {
    /// Seconds that the benchmark runs at least; 0 makes the files only.
    pub(in crate::ffsb) seconds: u64,
    /// Whether files are opened with `O_DIRECT`.
    pub(in crate::ffsb) direct: bool,
    /// Whether random offsets are whole 4 KiB blocks; `direct` implies it.
    pub(in crate::ffsb) align: bool,
    /// Printed, without any effect.
    pub(in crate::ffsb) buffered: bool,
    /// A shell command between the making of the files and the benchmark.
    pub(in crate::ffsb) callout: Option<String>,
    /// At least one.
    pub(in crate::ffsb) filesystems: Vec<Filesystem>,
    /// At least one, unless `seconds` is 0.
    pub(in crate::ffsb) groups: Vec<ThreadGroup>,
    /// What was accepted although the original refuses it, or has no effect, with line and column.
    pub(in crate::ffsb) warnings: Vec<String>,
}

/// A directory with the files that are worked on.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::ffsb) struct Filesystem {
    /// The directory.
    pub(in crate::ffsb) location: String,
    /// Files that are made before, unless `init_bytes` or `init_share` say how many.
    pub(in crate::ffsb) files: u64,
    /// Directories in `data/`.
    pub(in crate::ffsb) dirs: u32,
    /// Sizes of new files.
    pub(in crate::ffsb) sizes: Sizes,
    /// Whether they are drawn as by FFSB 6.0-RC2; stands in the options, not in the profile.
    pub(in crate::ffsb) sizes_as_original: bool,
    /// When `files` is 0: files are made until the used space has grown by so many bytes.
    pub(in crate::ffsb) init_bytes: u64,
    /// When `files` and `init_bytes` are 0: until this share of the filesystem is used.
    pub(in crate::ffsb) init_share: f64,
    /// Bytes of a write while files are made.
    pub(in crate::ffsb) create_block_bytes: u32,
    /// Bytes of a write while the filesystem is aged.
    pub(in crate::ffsb) age_block_bytes: u32,
    /// Whether files of an earlier run are taken when they are as they would be made.
    pub(in crate::ffsb) reuse: bool,
    /// How it is aged first.
    pub(in crate::ffsb) aging: Option<Aging>,
}

/// Sizes of new files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::ffsb) enum Sizes {
    /// At least the first; below the second, unless they are equal.
    Range(u64, u64),
    /// Sizes and their weights, in the order of the profile. The original prints and draws them in
    /// the opposite one.
    Weights(Vec<(u64, u64)>),
}

/// How a filesystem is aged.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::ffsb) struct Aging {
    /// Who does it.
    pub(in crate::ffsb) group: ThreadGroup,
    /// Until this share of the filesystem is used.
    pub(in crate::ffsb) until_share: f64,
}

/// Workers that do the same.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::ffsb) struct ThreadGroup {
    /// How many; at least one.
    pub(in crate::ffsb) threads: u16,
    /// The filesystem in which they work, by its number; any when `None`.
    pub(in crate::ffsb) bound: Option<usize>,
    /// Milliseconds between two operations.
    pub(in crate::ffsb) delay_ms: u32,
    /// Whether each block that is read has an offset of its own.
    pub(in crate::ffsb) read_random: bool,
    /// Bytes of a `read` operation; 0 is the whole of nothing.
    pub(in crate::ffsb) read_bytes: u64,
    /// Bytes of a call to read.
    pub(in crate::ffsb) read_block_bytes: u32,
    /// Bytes that are skipped between two reads.
    pub(in crate::ffsb) read_skip_bytes: Option<u64>,
    /// As printed, also when `read_skip` is off.
    pub(in crate::ffsb) read_skip_bytes_given: u64,
    /// Whether each block that is written has an offset of its own.
    pub(in crate::ffsb) write_random: bool,
    /// Bytes of a `write` or an `append` operation.
    pub(in crate::ffsb) write_bytes: u64,
    /// Bytes of a call to write.
    pub(in crate::ffsb) write_block_bytes: u32,
    /// By [`Operation::place`]; the sum is at least 1.
    pub(in crate::ffsb) weights: [u64; Operation::COUNT],
    /// Whether the times of calls are taken and printed, and of which.
    pub(in crate::ffsb) stats: Option<Stats>,
}

/// Which times are printed.
#[derive(Clone, Debug, Default, PartialEq)]
pub(in crate::ffsb) struct Stats {
    /// Calls left out, by [`TimedCall::place`].
    pub(in crate::ffsb) ignored: [bool; TimedCall::COUNT],
    /// Ranges of milliseconds, both ends in them, in the order of the profile; empty when they are
    /// not enabled.
    pub(in crate::ffsb) ranges_ms: Vec<(f64, f64)>,
}

impl ThreadGroup {
    /// The weight of an operation.
    pub(in crate::ffsb) const fn weight(&self, operation: Operation) -> u64 {
        self.weights[operation.place()]
    }
}

#[cfg(test)]
mod tests;

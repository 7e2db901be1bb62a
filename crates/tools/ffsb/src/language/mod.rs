//! FFSB profiles: parsed and checked.
//!
//! `lines` splits the text, `keys` and `values` define the settings and their values, `sections`
//! sorts them, `read` builds the profile and `check` validates it as a whole. `write` formats a
//! profile. Parsing never panics and takes linear time, whatever the bytes.

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

/// Parses a profile; `file` is its name in messages.
///
/// # Errors
/// Every setting that is wrong, with its line and what would be right.
pub(crate) fn parse(file: &str, text: &[u8]) -> Result<Profile, ConfigError> {
    let mut faults = Faults::new(file, text);
    let sections = sections::sort(text, &mut faults).map_err(|fault| faults.refuse(fault))?;
    // A faulty line may hold a setting that would seem missing below.
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

/// Parameters of a profile as names and values in a fixed order: settings under their keys,
/// prefixed `filesystem0.` or `threadgroup0.` if there are several, and `aging.` for the aging
/// group. Locations are left out, and `bindfs` is the number of the filesystem. Weights of 0 and
/// unset block sizes are left out too.
pub(crate) fn parameters(profile: &Profile) -> Vec<(String, String)> {
    write::parameters(profile)
}

/// Text that parses to this profile, apart from warnings.
pub(crate) fn text(profile: &Profile) -> String {
    write::text(profile)
}

/// A profile.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Profile {
    /// Minimum duration of the benchmark in seconds; 0 only creates the files.
    pub seconds: u64,
    /// Open files with `O_DIRECT`.
    pub direct: bool,
    /// Align random offsets to 4 KiB blocks; implied by `direct`.
    pub align: bool,
    /// Printed, without any effect.
    pub buffered: bool,
    /// Shell command that is run after the files are created, before the benchmark.
    pub callout: Option<String>,
    /// Filesystems; at least one.
    pub filesystems: Vec<Filesystem>,
    /// Thread groups; at least one, unless `seconds` is 0.
    pub groups: Vec<ThreadGroup>,
    /// Warnings about settings that the original refuses, or that have no effect, with line and
    /// column.
    pub warnings: Vec<String>,
}

/// A directory with the files that are worked on.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Filesystem {
    /// The directory.
    pub location: String,
    /// Number of files created before the benchmark, unless `init_bytes` or `init_share` determine
    /// it.
    pub files: u64,
    /// Directories in `data/`.
    pub dirs: u32,
    /// Sizes of new files.
    pub sizes: FileSizes,
    /// Draw sizes with the bias of FFSB 6.0-RC2; set by an option, not in the profile.
    pub sizes_as_original: bool,
    /// If `files` is 0: files are created until the used space has grown by this many bytes.
    pub init_bytes: u64,
    /// If `files` and `init_bytes` are 0: files are created until this share of the filesystem is
    /// used, 0 to 1.
    pub init_share: f64,
    /// Bytes per write while files are created.
    pub create_block_bytes: u32,
    /// Bytes per write while the filesystem is aged.
    pub age_block_bytes: u32,
    /// Reuse files of an earlier run if they match the profile.
    pub reuse: bool,
    /// Aging before the measured work.
    pub aging: Option<Aging>,
}

/// Sizes of new files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum FileSizes {
    /// Lower bound and exclusive upper bound in bytes; equal bounds give one size.
    Range(u64, u64),
    /// Sizes and weights, in the order of the profile. The original prints and draws them in
    /// reverse order.
    Weights(Vec<(u64, u64)>),
}

/// Aging of a filesystem.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Aging {
    /// Thread group that does the aging.
    pub group: ThreadGroup,
    /// Used share of the filesystem at which aging ends.
    pub until_share: f64,
}

/// Group of identical workers.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ThreadGroup {
    /// Number of threads; at least one.
    pub threads: u16,
    /// Index of the filesystem to work in; `None` for any.
    pub bound: Option<usize>,
    /// Milliseconds between two operations.
    pub delay_ms: u32,
    /// Draw a random offset for each block that is read.
    pub read_random: bool,
    /// Bytes of a `read` operation; 0 reads nothing.
    pub read_bytes: u64,
    /// Bytes of a call to read.
    pub read_block_bytes: u32,
    /// Bytes that are skipped between two reads.
    pub read_skip_bytes: Option<u64>,
    /// Configured skip in bytes, printed even if `read_skip` is off.
    pub read_skip_bytes_given: u64,
    /// Draw a random offset for each block that is written.
    pub write_random: bool,
    /// Bytes of a `write` or an `append` operation.
    pub write_bytes: u64,
    /// Bytes of a call to write.
    pub write_block_bytes: u32,
    /// Weights by [`Operation::place`]; their sum is at least 1.
    pub weights: [u64; Operation::COUNT],
    /// Call latencies to collect and print; `None` collects none.
    pub stats: Option<LatencySelection>,
}

/// Selection of call latencies to print.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct LatencySelection {
    /// Calls left out, by [`TimedCall::place`].
    pub ignored: [bool; TimedCall::COUNT],
    /// Latency ranges in milliseconds, inclusive, in the order of the profile; empty if disabled.
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

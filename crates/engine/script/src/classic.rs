//! Classic mode: a workload imitates a tool, with its directories, execution and output.
//!
//! A [`ClassicOutput`] only converts events to text. The command line prints the text, reads clocks
//! and examines filesystems.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use treering_model::TrialEvent;

use crate::ConfigError;

/// Data that the imitated tool writes into its files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClassicPayload {
    /// The letter `a`.
    LetterA,
    /// Zeros.
    Zeros,
}

/// Policy for missing root directories.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MissingRootPolicy {
    /// Creates the directory and its parents.
    WithParents,
    /// Creates the directory only.
    OneLevel,
    /// Creates nothing; the tool requires the directory to exist.
    Never,
}

/// Output of the imitated tool, with newlines.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ToolOutput {
    /// Text for standard output.
    pub out: String,
    /// Text for standard error.
    pub err: String,
    /// Text for the log, if there is one.
    pub log: String,
    /// Separate files, created or replaced: path and content.
    pub files: Vec<(PathBuf, Vec<u8>)>,
}

impl ToolOutput {
    /// A line for standard error.
    pub fn err_line(line: &str) -> Self {
        Self { err: format!("{line}\n"), ..Self::default() }
    }

    /// Text for standard output.
    pub fn to_stdout(words: String) -> Self {
        Self { out: words, ..Self::default() }
    }

    /// Text for standard output and the log.
    pub fn to_stdout_and_log(words: String) -> Self {
        Self { log: words.clone(), out: words, ..Self::default() }
    }
}

/// Block traces that the imitated tool records by blktrace, one for each phase.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClassicTraces {
    /// Prefix of the trace file names.
    pub prefix: String,
    /// Block device; without one there are no traces, and the tool reports that.
    pub device: Option<PathBuf>,
    /// Phase names, each with the original's name for it in trace file names.
    pub names: &'static [(&'static str, &'static str)],
}

/// Facts that an output receives before it begins.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClassicScene {
    /// Command line as typed, starting with the program's name.
    pub words: Vec<String>,
    /// Start time in the format of `ctime`, without newline.
    pub started: String,
    /// True if the first directory was missing and had to be created.
    pub was_made: bool,
    /// Space of each root's filesystem.
    pub rooms: Vec<StatfsSpace>,
}

/// Space of a filesystem as reported by `statfs`, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StatfsSpace {
    /// Size of the filesystem.
    pub capacity_bytes: u64,
    /// Bytes available to unprivileged users.
    pub free_bytes: u64,
    /// Unused bytes, including those reserved for root.
    pub unused_bytes: u64,
    /// Used inodes, and their maximum; `None` if the filesystem has no fixed maximum.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inodes: Option<(u64, u64)>,
}

/// Counters of a disk from `/sys/block/*/stat`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DiskCounts {
    /// Device name in `/sys/block`.
    pub name: String,
    /// Requests: reads and writes.
    pub requests: [u64; 2],
    /// Merged requests, reads and writes.
    pub merges: [u64; 2],
    /// Milliseconds spent by requests, for reads and writes.
    pub ticks_ms: [u64; 2],
    /// Milliseconds in which the disk was busy.
    pub busy_ms: u64,
    /// Milliseconds that requests took, weighted with their number.
    pub queue_ms: u64,
}

impl DiskCounts {
    /// Difference to earlier counters.
    #[must_use]
    pub fn since(&self, before: &Self) -> Self {
        let both = |now: [u64; 2], then: [u64; 2]| {
            [now[0].saturating_sub(then[0]), now[1].saturating_sub(then[1])]
        };
        Self {
            name: self.name.clone(),
            requests: both(self.requests, before.requests),
            merges: both(self.merges, before.merges),
            ticks_ms: both(self.ticks_ms, before.ticks_ms),
            busy_ms: self.busy_ms.saturating_sub(before.busy_ms),
            queue_ms: self.queue_ms.saturating_sub(before.queue_ms),
        }
    }
}

/// Directory in which the tool cannot work.
#[derive(Clone, Copy, Debug)]
pub struct UnusableDirectory<'d> {
    /// Directory as named by the user.
    pub path: &'d Path,
    /// System message of the error.
    pub why: &'d str,
    /// Errno of the error.
    pub errno: i32,
    /// True if something other than a directory has the name; false if the directory is missing and
    /// could not be created.
    pub is_there: bool,
}

/// Environment that an output may query while it prints.
pub trait OutputContext {
    /// Current space of the first root's filesystem.
    fn room(&mut self) -> Option<StatfsSpace>;

    /// Current time in the format of `ctime`, without newline.
    fn time(&mut self) -> String;

    /// Counters of the disk below the first root since boot; `None` without such a disk.
    fn disk(&mut self) -> Option<DiskCounts> {
        None
    }

    /// Waits for a line on standard input, or its end.
    fn wait_for_line(&mut self) {}

    /// Waits at the barrier of this number until all processes have arrived; a failure ends the
    /// run.
    fn meet(&mut self, _number: u16) {}
}

/// Semaphore barriers at which processes of the imitated tool wait for one another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SemaphoreBarrier {
    /// Creates the semaphores, and does nothing else.
    Make {
        /// System V key.
        key: i32,
        /// Number of barriers.
        meetings: u16,
        /// Number of processes at each barrier.
        processes: u16,
    },
    /// Removes the semaphores, and does nothing else.
    Remove {
        /// System V key.
        key: i32,
        /// Number of barriers.
        meetings: u16,
    },
    /// Joins the barriers.
    Join {
        /// System V key.
        key: i32,
        /// Number of barriers.
        meetings: u16,
    },
}

/// Output of the imitated tool.
pub trait ClassicOutput {
    /// True truncates an existing log; false appends to it.
    fn log_begins_anew(&self) -> bool {
        false
    }

    /// Text before everything else.
    fn open(&mut self, scene: &ClassicScene) -> ToolOutput;

    /// Text of the tool when it cannot work in a directory, up to its failure; empty if it prints
    /// nothing of its own. The exit code is then `exit_code`.
    fn without_directory(
        &mut self,
        _scene: &ClassicScene,
        _lacking: &UnusableDirectory<'_>,
    ) -> ToolOutput {
        ToolOutput::default()
    }

    /// True if the tool cannot work on a read-only filesystem, and reports that with the text of
    /// `without_directory`.
    fn always_writes(&self) -> bool {
        false
    }

    /// Text of the tool when the log cannot be opened, given the system message `why`; empty if it
    /// has none of its own.
    fn without_log(&mut self, _log: &Path, _why: &str) -> ToolOutput {
        ToolOutput::default()
    }

    /// Text for a job that cannot run in the directory.
    fn refused(&mut self, error: &ConfigError) -> ToolOutput;

    /// Handles an event of the trial; returns the text to print.
    fn hear(&mut self, event: &TrialEvent, witness: &mut dyn OutputContext) -> ToolOutput;

    /// True keeps tick events with the trial; false only prints them, for large ones.
    fn keeps_ticks(&self) -> bool {
        true
    }

    /// Semaphore barriers to use, if any.
    fn meeting(&self) -> Option<SemaphoreBarrier> {
        None
    }

    /// True if others may work in the directories at the same time, as the tool lets them.
    fn shares_roots(&self) -> bool {
        false
    }

    /// Block device whose counters are reported in place of those of the disk of the directory.
    fn watched_device(&self) -> Option<&Path> {
        None
    }

    /// Text that is printed instead of running.
    fn only_says(&self) -> Option<String> {
        None
    }

    /// Block traces to make, if any.
    fn traces(&self) -> Option<ClassicTraces> {
        None
    }

    /// Exit code after a failed run, if not 1.
    fn exit_code(&self) -> Option<u8> {
        None
    }

    /// Text after a run that did not fail; `signal` may have ended it early.
    fn close(&mut self, _signal: Option<i32>) -> ToolOutput {
        ToolOutput::default()
    }
}

/// Classic mode of a workload: execution and output of the imitated tool.
pub struct ClassicMode {
    /// Directories at which the workers take turns; at least one.
    pub roots: Vec<PathBuf>,
    /// Policy for missing roots.
    pub make_roots: MissingRootPolicy,
    /// Log file; appended to, unless the output truncates it.
    pub log: Option<PathBuf>,
    /// Times every call, for the output's own accounts.
    pub times_all: bool,
    /// The seed of the engine.
    pub seed: u64,
    /// The exit code after a signal.
    pub signal_exit: u8,
    /// True if the tool installs a SIGINT handler unconditionally, so that SIGINT ends it even if
    /// its parent ignores the signal, as a shell does for background jobs of a script.
    pub catches_sigint: bool,
    /// Output of the tool.
    pub output: Box<dyn ClassicOutput>,
}

#[cfg(test)]
mod tests {
    use super::DiskCounts;

    #[test]
    fn the_counts_of_a_disk_are_subtracted() {
        let disk = DiskCounts {
            name: "vda".to_owned(),
            requests: [100, 500],
            merges: [2, 6],
            ticks_ms: [40, 80],
            busy_ms: 1000,
            queue_ms: 1100,
        };
        let later = DiskCounts { requests: [101, 503], busy_ms: 990, ..disk.clone() };
        let since = later.since(&disk);
        assert_eq!((since.requests, since.busy_ms, since.merges), ([1, 3], 0, [0, 0]));
        assert_eq!((since.name.as_str(), since.ticks_ms, since.queue_ms), ("vda", [0, 0], 0));
    }
}

//! A workload as the tool it imitates: where it works, how it runs, what it says.
//!
//! An output only turns events into words. The command line prints them, reads clocks and looks at
//! filesystems.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use treering_model::TrialEvent;

use crate::ConfigError;

/// What the imitated tool writes into its files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClassicPayload {
    /// The letter `a`.
    LetterA,
    /// Zeros.
    Zeros,
}

/// How much of a missing directory is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MakeRoots {
    /// It and all above it.
    WithParents,
    /// It alone.
    OneLevel,
    /// Nothing: the tool needs it to exist.
    Never,
}

/// Words of the imitated tool, with their newlines.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Said {
    /// For standard output.
    pub out: String,
    /// For standard error.
    pub err: String,
    /// For the log, where there is one.
    pub log: String,
    /// Files of their own, made anew: path and text.
    pub files: Vec<(PathBuf, Vec<u8>)>,
}

impl Said {
    /// A line for standard error.
    pub fn err_line(line: &str) -> Self {
        Self { err: format!("{line}\n"), ..Self::default() }
    }

    /// Words for standard output and the log.
    pub fn everywhere(words: String) -> Self {
        Self { log: words.clone(), out: words, ..Self::default() }
    }
}

/// Traces that the imitated tool has blktrace make: one of each phase.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClassicTraces {
    /// What the names of files begin with.
    pub prefix: String,
    /// The device; without it there are no traces, and the tool says so.
    pub device: Option<PathBuf>,
    /// What the original has in the names of files for phases of these names.
    pub names: &'static [(&'static str, &'static str)],
}

/// What an output may know before it begins.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClassicScene {
    /// The command line as it was typed, the program's name first.
    pub words: Vec<String>,
    /// The time, as `ctime` writes it, without newline.
    pub started: String,
    /// Whether the first directory was missing and had to be made.
    pub was_made: bool,
    /// The room of each root's filesystem.
    pub rooms: Vec<Room>,
}

/// What a filesystem says of its room, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Room {
    /// Of the whole.
    pub capacity_bytes: u64,
    /// That users may still write.
    pub free_bytes: u64,
    /// That nobody uses, what is kept for the superuser included.
    pub unused_bytes: u64,
    /// Files that there are, of how many there can be; `None` where their number is not limited
    /// beforehand.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inodes: Option<(u64, u64)>,
}

/// What the kernel counts of a disk.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DiskCounts {
    /// Its name in `/sys/block`.
    pub name: String,
    /// Requests, read and written.
    pub requests: [u64; 2],
    /// Requests that were merged with others, likewise.
    pub merges: [u64; 2],
    /// Milliseconds that requests took, likewise.
    pub ticks_ms: [u64; 2],
    /// Milliseconds in which it was busy.
    pub busy_ms: u64,
    /// Milliseconds that requests took, weighted with their number.
    pub queue_ms: u64,
}

impl DiskCounts {
    /// What it did since an earlier time.
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

/// A directory that a tool cannot work in.
#[derive(Clone, Copy, Debug)]
pub struct NoDirectory<'d> {
    /// The directory, as it was named.
    pub path: &'d Path,
    /// The reason, in the system's words.
    pub why: &'d str,
    /// The error number of that.
    pub errno: i32,
    /// Whether something else is in its place; if not, it is missing and could not be made.
    pub is_there: bool,
}

/// What an output may ask while it speaks.
pub trait Witness {
    /// The room of the first root's filesystem now.
    fn room(&mut self) -> Option<Room>;

    /// The time now, as `ctime` writes it, without newline.
    fn time(&mut self) -> String;

    /// What the disk below the first root has done since the machine started; `None` where there is
    /// none.
    fn disk(&mut self) -> Option<DiskCounts> {
        None
    }

    /// Waits until a line comes on standard input, or its end.
    fn wait_for_line(&mut self) {}

    /// Waits until all have come to the meeting of this number. What fails ends the run.
    fn meet(&mut self, _number: u16) {}
}

/// Where processes of the imitated tool wait for one another, by the key of its semaphores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Meeting {
    /// So many meetings are made for so many processes; nothing else is done.
    Make {
        /// The key.
        key: i32,
        /// How many meetings.
        meetings: u16,
        /// How many meet.
        processes: u16,
    },
    /// They are removed; nothing else is done.
    Remove {
        /// The key.
        key: i32,
        /// How many meetings.
        meetings: u16,
    },
    /// The run goes to them.
    Join {
        /// The key.
        key: i32,
        /// How many meetings.
        meetings: u16,
    },
}

/// Speaks as the imitated tool.
pub trait ClassicOutput {
    /// Whether a log that is there is emptied, and not appended to.
    fn log_begins_anew(&self) -> bool {
        false
    }

    /// Before everything.
    fn open(&mut self, scene: &ClassicScene) -> Said;

    /// A directory cannot be worked in: what the tool says until it fails of that; nothing where it
    /// says nothing of its own. Its exit code is then `exit_code`.
    fn without_directory(&mut self, _scene: &ClassicScene, _lacking: &NoDirectory<'_>) -> Said {
        Said::default()
    }

    /// Whether the tool cannot do anything on a read-only filesystem, and says so in the words of
    /// `without_directory`.
    fn always_writes(&self) -> bool {
        false
    }

    /// The log cannot be opened, for this reason in the system's words: what the tool says of it;
    /// nothing where it has no words of its own.
    fn without_log(&mut self, _log: &Path, _why: &str) -> Said {
        Said::default()
    }

    /// The job cannot run in the directory.
    fn refused(&mut self, error: &ConfigError) -> Said;

    /// Something happened.
    fn hear(&mut self, event: &TrialEvent, witness: &mut dyn Witness) -> Said;

    /// Whether what it hears at ticks is kept with the trial: what is large is said and forgotten.
    fn keeps_ticks(&self) -> bool {
        true
    }

    /// Whether others are met, and where.
    fn meeting(&self) -> Option<Meeting> {
        None
    }

    /// Words that are all there is to say: nothing is done.
    fn only_says(&self) -> Option<String> {
        None
    }

    /// Which traces of a device are made, if any.
    fn traces(&self) -> Option<ClassicTraces> {
        None
    }

    /// With which code it ends after a run that failed, where that is not 1.
    fn exit_code(&self) -> Option<u8> {
        None
    }

    /// After everything, unless it failed; a signal may have ended it early.
    fn close(&mut self, signal: Option<i32>) -> Said;
}

/// How a workload runs as the tool it imitates.
pub struct ClassicMode {
    /// Directories at which the workers take turns; at least one.
    pub roots: Vec<PathBuf>,
    /// How much of a missing one is made.
    pub make_roots: MakeRoots,
    /// A log, to be appended to unless the output begins it anew.
    pub log: Option<PathBuf>,
    /// Whether its own accounts need the time of every call.
    pub times_all: bool,
    /// The seed of the engine.
    pub seed: u64,
    /// The exit code after a signal.
    pub signal_exit: u8,
    /// Whether the tool installs a handler for SIGINT without asking, so that SIGINT ends it also
    /// where its parent had it ignored, as a shell does for the background jobs of a script.
    pub catches_sigint: bool,
    /// Its words.
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

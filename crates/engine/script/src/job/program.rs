//! Another program that does the work of a session: how it is started, how it ended, and the phases
//! that it reported.

use std::path::PathBuf;

use treering_model::{Cpu, PhaseTotals, TaskTotals};

/// Another program that does the work of a run, in a directory below the target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// What is started: a path, or a name that is looked for as the shell does.
    pub path: PathBuf,
    /// Its arguments.
    pub arguments: Vec<String>,
    /// What it reads from its standard input.
    pub input: Vec<u8>,
    /// The directory below the target in which it is started; empty for the target itself.
    pub directory: String,
    /// How it is watched; not at all where it is trusted to end what it starts.
    pub watch: Option<Watch>,
}

/// How a program is run of which nothing is known.
///
/// `{dir}` in its arguments stands for the directory in which it is started, and so does the
/// variable [`Watch::DIRECTORY`]. A signal that asks to stop ends its process group. What it
/// started and left is ended after the last program of the run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Watch {
    /// The phase that it is, which begins with it and ends with the first phase told of it.
    pub phase: String,
    /// So many bytes of what it says are kept from the beginning, and as many from the end.
    pub kept_bytes: usize,
    /// Whether the target is synced after its end.
    pub sync_after: bool,
}

impl Watch {
    /// What stands for the directory in an argument.
    pub const PLACE: &str = "{dir}";
    /// The variable of its environment with the directory.
    pub const DIRECTORY: &str = "TREERING_DIR";
}

/// How a program ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProgramEnd {
    /// Its exit code; `None` where a signal ended it.
    pub code: Option<i32>,
    /// What it wrote to its standard output, up to a length that no report has.
    pub output: Vec<u8>,
    /// What it wrote to its standard error, likewise.
    pub errors: Vec<u8>,
    /// When it was started, in nanoseconds from the start of the trial.
    pub began_ns: u64,
    /// How long it was there.
    pub wall_ns: u64,
    /// The signal that ended it, of a program that is watched.
    pub signal: Option<i32>,
    /// Why it could not be started, of a program that is watched.
    pub not_started: Option<String>,
    /// CPU time that it used, with those of its children that it waited for; if watched.
    pub cpu: Cpu,
    /// Bytes that they read from storage, likewise.
    pub read_bytes: u64,
    /// Bytes that they wrote to storage, likewise.
    pub written_bytes: u64,
    /// How long the sync after it took, 0 where there was none.
    pub sync_ns: u64,
}

/// A phase of which a program reported.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ReportedPhase {
    /// The phase. Its number is counted on by the engine, and its sums are made of its tasks.
    pub totals: PhaseTotals,
    /// Its tasks, in the order of their workers.
    pub tasks: Vec<TaskTotals>,
}

//! External programs that do the work of a session: their start, their result, and the phases that
//! they report.

use std::path::PathBuf;

use treering_model::{CpuTime, PhaseTotals, TaskTotals};

/// External program that does the work of a run, in a directory below the target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExternalProgram {
    /// Path of the program, or a name that is looked up in `PATH` as the shell does.
    pub path: PathBuf,
    /// Arguments, without the name of the program.
    pub arguments: Vec<String>,
    /// Environment variables beside those of this process, as (name, value).
    pub environment: Vec<(String, String)>,
    /// Bytes for the standard input.
    pub input: Vec<u8>,
    /// Working directory below the target; empty for the target itself.
    pub directory: String,
    /// Supervision of the program; `None` if it is trusted to end the processes that it starts.
    pub watch: Option<ProgramWatch>,
}

/// Supervision of an unknown program.
///
/// `{dir}` in its arguments, and the variable [`ProgramWatch::DIRECTORY`], stand for the directory
/// in which it is started. A signal that asks to stop ends its process group. Processes that it
/// leaves behind are ended after the last program of the run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProgramWatch {
    /// Name of the phase that begins with the program and ends with the first phase that it
    /// reports.
    pub phase: String,
    /// Number of output bytes kept from the beginning, and from the end.
    pub kept_bytes: usize,
    /// True if the target is synced after the program ends.
    pub sync_after: bool,
}

impl ProgramWatch {
    /// Placeholder of the working directory in an argument.
    pub const PLACE: &str = "{dir}";
    /// Environment variable with the working directory.
    pub const DIRECTORY: &str = "TREERING_DIR";
}

/// Result of a program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProgramEnd {
    /// Exit code; `None` if a signal ended the program.
    pub code: Option<i32>,
    /// Standard output, up to a limit far above the length of any report.
    pub output: Vec<u8>,
    /// Standard error, up to the same limit.
    pub errors: Vec<u8>,
    /// Start of the program, in nanoseconds from the start of the trial.
    pub began_ns: u64,
    /// Wall time of the program.
    pub wall_ns: u64,
    /// Signal that ended a supervised program.
    pub signal: Option<i32>,
    /// Error of starting a supervised program.
    pub not_started: Option<String>,
    /// CPU time of a supervised program and the children that it waited for.
    pub cpu: CpuTime,
    /// Bytes that these processes read from storage.
    pub read_bytes: u64,
    /// Bytes that these processes wrote to storage.
    pub written_bytes: u64,
    /// Duration of the sync after the program, 0 without one.
    pub sync_ns: u64,
}

/// Phase reported by a program.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ReportedPhase {
    /// Totals of the phase. The engine numbers the phases and computes the sums from the tasks.
    pub totals: PhaseTotals,
    /// Totals of the tasks, in the order of the workers.
    pub tasks: Vec<TaskTotals>,
}

//! Plan of a workload file: filesets, and for each thread a program of flowops with every variable
//! resolved.

mod bind;
mod checks;
mod filesets;
mod flowops;
mod threads;

use std::sync::Arc;

use treering_kit::faults::{Fault, Faults};
use treering_script::ConfigError;

use super::draw::{AttributeAmount, ClampedDistribution};
use super::summary::{OperationClass, SummaryRow};
use crate::language::{EndCondition, WorkloadScript};
use bind::ValueBinder;

/// Maximum number of filesets of a file; each needs slots for directories.
pub(super) const FILESETS_MAX: usize = 64;
/// Maximum number of entries of all filesets: files and leaf directories.
pub(super) const ENTRIES_MAX: u64 = 10_000_000;
/// Maximum number of threads of all processes.
pub(super) const THREADS_MAX: u64 = 4096;
/// Number of descriptors of a thread.
pub(super) const FDS: u64 = 128;
/// Maximum number of steps of the programs of all threads' definitions.
pub(super) const STEPS_MAX: usize = 1 << 18;
/// Maximum number of bytes of one read or write.
pub(super) const IO_BYTES_MAX: u64 = 1 << 30;
/// Longest run time in seconds.
pub(super) const SECONDS_MAX: u64 = 10_000_000;
/// Default run time in seconds.
pub(super) const SECONDS: u64 = 60;
/// Default period of snapshots in seconds.
const PERIOD: u64 = 10;

/// Meaning of fixed sizes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum FileSizes {
    /// Exact sizes, as in filebench 1.5.
    #[default]
    Exact,
    /// Mean of a gamma distribution of shape 1.5, as in filebench 1.4.
    Gamma,
}

/// Options of the planning, which come from the command line.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct PlanOverrides {
    pub(super) sizes: FileSizes,
    /// Run time in seconds that overrides the file's.
    pub(super) seconds: Option<u64>,
    pub(super) seed: u64,
}

/// Plan of a fileset.
#[derive(Clone, Debug)]
pub(super) struct FilesetPlan {
    pub(super) name: String,
    pub(super) path: String,
    pub(super) entries: u64,
    pub(super) leafdirs: u64,
    pub(super) size: AttributeAmount,
    pub(super) width: AttributeAmount,
    /// Distribution of depths around the mean depth.
    pub(super) depth: Option<Arc<ClampedDistribution>>,
    /// Shape of the distributions of widths and depths; 0 for constant ones.
    pub(super) shape: f64,
    /// Percentage of preallocated entries; `None` if not even directories are created.
    pub(super) prealloc: Option<u64>,
    pub(super) paralloc: bool,
    pub(super) reuse: bool,
    pub(super) trust: bool,
    pub(super) readonly: bool,
    pub(super) writeonly: bool,
    /// True if a flowop deletes files of the fileset.
    pub(super) deletes: bool,
    /// True for a single file.
    pub(super) is_file: bool,
    /// True if the width of the directories is given.
    pub(super) has_width: bool,
}

/// Kind of a flowop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FlowopKind {
    Read,
    Write,
    ReadWholeFile,
    WriteWholeFile,
    AppendFile,
    AppendFileRand,
    OpenFile,
    CreateFile,
    CloseFile,
    DeleteFile,
    StatFile,
    Fsync,
    FsyncSet,
    MakeDir,
    RemoveDir,
    ListDir,
    AioWrite,
    AioWait,
    Block,
    Wakeup,
    SemBlock,
    SemPost,
    Hog,
    Delay,
    EventLimit,
    OpsLimit,
    IopsLimit,
    BwLimit,
    FinishOnCount,
    FinishOnBytes,
    /// Start of a composite flowop.
    Enter,
    /// End of a composite flowop: goes back to the step after its `Enter`, or on to the next step.
    Leave,
}

/// Step of a thread's program.
#[derive(Clone, Debug)]
pub(super) struct ProgramStep {
    pub(super) kind: FlowopKind,
    pub(super) row: usize,
    pub(super) fileset: Option<usize>,
    pub(super) fd: u8,
    pub(super) source_fd: u8,
    pub(super) io_bytes: AttributeAmount,
    pub(super) iterations: AttributeAmount,
    pub(super) random: bool,
    pub(super) working_set: u64,
    pub(super) opens_next: bool,
    pub(super) indexed: Option<AttributeAmount>,
    pub(super) value: AttributeAmount,
    /// Index of the row that the flowop refers to.
    pub(super) target: Option<usize>,
    pub(super) blocking: bool,
    pub(super) direct: bool,
    pub(super) synchronous: bool,
    pub(super) no_readahead: bool,
    /// Index of the start of a composite flowop, used by its end.
    pub(super) begin: usize,
    /// Index of its semaphore or block event among the gates of the thread's definition.
    pub(super) gate: usize,
    /// True if other flowops read the counters of its row.
    pub(super) watched: bool,
}

/// Program of the threads of one definition.
#[derive(Clone, Debug)]
pub(super) struct ThreadPlan {
    pub(super) process: String,
    pub(super) name: String,
    pub(super) instances: u64,
    pub(super) steps: Vec<ProgramStep>,
    pub(super) direct: bool,
    pub(super) synchronous: bool,
    pub(super) queued: bool,
    /// Rows of its semaphores and blocks, in the order of `ProgramStep::gate`, with their
    /// high-water marks.
    pub(super) gates: Vec<(usize, u64)>,
}

/// End conditions and snapshot period of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RunLength {
    pub(super) quit: EndCondition,
    /// Run time in seconds; `None` if only the threads end the run.
    pub(super) seconds: Option<u64>,
    /// Period of snapshots in seconds, and true if each counts from zero.
    pub(super) period: Option<(u64, bool)>,
}

/// Workload with every variable resolved.
#[derive(Clone, Debug)]
pub(super) struct Plan {
    pub(super) filesets: Vec<FilesetPlan>,
    pub(super) rows: Vec<SummaryRow>,
    pub(super) threads: Vec<ThreadPlan>,
    pub(super) run_length: RunLength,
    /// Rate of events per second; `None` without a generator, or if the generator does not limit.
    pub(super) rate: Option<u64>,
    /// True if a flowop reads the totals of all threads.
    pub(super) watches_all: bool,
    pub(super) histograms: bool,
}

impl Plan {
    /// Plans a workload file.
    pub(super) fn new(
        script: &WorkloadScript,
        plan_overrides: &PlanOverrides,
        faults: &mut Faults,
    ) -> Result<Self, ConfigError> {
        Self::bound(script, plan_overrides, faults).map_err(|fault| faults.refuse(fault))
    }

    fn bound(
        script: &WorkloadScript,
        plan_overrides: &PlanOverrides,
        faults: &mut Faults,
    ) -> Result<Self, Fault> {
        let mut binder = ValueBinder::new(script, plan_overrides, faults);
        let mut plan = Self {
            filesets: filesets::plan(&mut binder)?,
            rows: Vec::new(),
            threads: Vec::new(),
            run_length: binder.run_length()?,
            rate: binder.rate()?,
            watches_all: false,
            histograms: script.histograms,
        };
        threads::plan(&mut binder, &mut plan)?;
        checks::check(&binder, &mut plan)?;
        Ok(plan)
    }

    /// Number of threads of all definitions.
    pub(super) fn workers(&self) -> u64 {
        self.threads.iter().map(|thread| thread.instances).sum()
    }
}

#[cfg(test)]
mod tests;

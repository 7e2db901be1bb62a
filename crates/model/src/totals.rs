//! Totals of tasks and phases: time, CPU, bytes, files, calls, and activity per second.
//!
//! Exports omit values that an imported log does not have; when read back they are 0, and the fact
//! `import.tool` marks them as not measured.

use serde::{Deserialize, Serialize};

use crate::{Counters, Latency, Op};

/// CPU time of a worker thread in nanoseconds, from the kernel's accounting.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CpuTime {
    /// User time.
    pub user_ns: u64,
    /// System time.
    pub system_ns: u64,
}

impl CpuTime {
    /// Sum of user and system time.
    pub const fn total_ns(self) -> u64 {
        self.user_ns + self.system_ns
    }

    /// Sum of two CPU times.
    #[must_use]
    pub const fn plus(self, other: Self) -> Self {
        Self { user_ns: self.user_ns + other.user_ns, system_ns: self.system_ns + other.system_ns }
    }

    /// Difference of two CPU times, at least 0.
    #[must_use]
    pub const fn minus(self, other: Self) -> Self {
        Self {
            user_ns: self.user_ns.saturating_sub(other.user_ns),
            system_ns: self.system_ns.saturating_sub(other.system_ns),
        }
    }
}

/// Totals of all calls of one kind within a task or a phase.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OpTotals {
    /// Kind of call.
    pub op: Op,
    /// Number of calls, including failed ones.
    pub calls: u64,
    /// Failed calls, including expected failures such as `EEXIST` of mkdir.
    pub errors: u64,
    /// Bytes moved.
    pub bytes: u64,
    /// Latencies of the timed calls: all calls, a sample, or none.
    pub latency: Latency,
}

/// Totals of a task: a named unit of work in a phase.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TaskTotals {
    /// Phase, counted from 0.
    pub phase: u32,
    /// Task within the phase, counted from 0.
    pub task: u32,
    /// Worker, counted from 0.
    pub worker: u16,
    /// Task kind: `create`, `patch`, …
    pub kind: String,
    /// Subject of the task: `kernel-7`.
    pub subject: String,
    /// State of the subject at the start of the task, as in `compiled`; empty if there is none.
    pub state: String,
    /// Row of the imitated tool's summary that counts the task; empty in native mode.
    pub tally: String,
    /// Start in nanoseconds from the start of the trial.
    pub began_ns: u64,
    /// Duration in nanoseconds, including the sync.
    #[serde(default)]
    pub wall_ns: u64,
    /// Sync part of the duration, in nanoseconds.
    #[serde(default)]
    pub sync_ns: u64,
    /// CPU time of the worker, including the sync.
    #[serde(default)]
    pub cpu: CpuTime,
    /// Sync part of the CPU time.
    #[serde(default)]
    pub sync_cpu: CpuTime,
    /// Number of processed files.
    #[serde(default)]
    pub files: u64,
    /// Bytes actually read and written.
    #[serde(default)]
    pub bytes: u64,
    /// Bytes according to the file list, which the imitated tool divides by the time.
    #[serde(default)]
    pub listed_bytes: u64,
    /// Totals by kind of call; kinds without calls are omitted.
    pub ops: Vec<OpTotals>,
    /// True if the files were opened with `O_DIRECT`, so that no read came from the page cache. Not
    /// stored.
    #[serde(skip)]
    pub direct: bool,
    /// Counters of the workload's script.
    #[serde(default, skip_serializing_if = "Counters::is_empty")]
    pub counters: Counters,
}

/// One second of a phase; the last one may be shorter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct IntervalTotals {
    /// Second of the phase, counted from 0.
    pub second: u32,
    /// Calls that ended in this second.
    pub calls: u64,
    /// Bytes moved by these calls.
    pub bytes: u64,
}

/// Totals of a phase: a part of a trial between barriers.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PhaseTotals {
    /// Phase, counted from 0.
    pub phase: u32,
    /// Phase name.
    pub name: String,
    /// Start in nanoseconds from the start of the trial.
    pub began_ns: u64,
    /// Duration in nanoseconds, including waits, syncs and dropping of caches.
    #[serde(default)]
    pub wall_ns: u64,
    /// Completed tasks.
    #[serde(default)]
    pub tasks: u32,
    /// Number of processed files.
    #[serde(default)]
    pub files: u64,
    /// Bytes actually read and written.
    #[serde(default)]
    pub bytes: u64,
    /// CPU time of all workers.
    #[serde(default)]
    pub cpu: CpuTime,
    /// Totals by kind of call over all tasks.
    pub ops: Vec<OpTotals>,
    /// Calls and bytes per second; seconds without a call are omitted.
    pub intervals: Vec<IntervalTotals>,
}

impl TaskTotals {
    /// Duration in seconds, including the sync.
    pub fn seconds(&self) -> f64 {
        self.wall_ns as f64 / 1e9
    }

    /// Listed bytes (or moved bytes if none are listed) in MiB per second.
    pub fn mib_per_second(&self) -> f64 {
        let bytes = if self.listed_bytes == 0 { self.bytes } else { self.listed_bytes };
        per_second(bytes as f64 / 1_048_576.0, self.wall_ns)
    }

    /// Files per second.
    pub fn files_per_second(&self) -> f64 {
        per_second(self.files as f64, self.wall_ns)
    }
}

fn per_second(amount: f64, wall_ns: u64) -> f64 {
    // A task shorter than the clock's step counts as one nanosecond: a rate stays finite.
    amount / (wall_ns.max(1) as f64 / 1e9)
}

#[cfg(test)]
mod tests {
    use super::{CpuTime, TaskTotals};

    #[test]
    fn rates_are_finite_and_use_the_listed_bytes() {
        let mut task = TaskTotals { bytes: 2 << 20, files: 10, ..TaskTotals::default() };
        assert!(task.mib_per_second().is_finite());
        task.wall_ns = 500_000_000;
        assert!((task.mib_per_second() - 4.0).abs() < 1e-12);
        task.listed_bytes = 1 << 20;
        assert!((task.mib_per_second() - 2.0).abs() < 1e-12);
        assert!((task.files_per_second() - 20.0).abs() < 1e-12);
    }

    #[test]
    fn cpu_never_goes_below_zero() {
        let little = CpuTime { user_ns: 1, system_ns: 2 };
        assert_eq!(little.minus(CpuTime { user_ns: 5, system_ns: 1 }).total_ns(), 1);
        assert_eq!(little.plus(little).total_ns(), 6);
    }
}

//! What a task and a phase came to: time, CPU, bytes, files, calls, and the rate of each second.
//!
//! Exports leave out what the log of another tool did not tell; read back it is 0 again, and the
//! fact `import.tool` says that 0 is no measured number.

use serde::{Deserialize, Serialize};

use crate::{Counters, Latency, Op};

/// CPU time of the worker, in nanoseconds, as the kernel accounts it to the thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cpu {
    /// In user mode.
    pub user_ns: u64,
    /// In the kernel.
    pub system_ns: u64,
}

impl Cpu {
    /// User and system together.
    pub const fn total_ns(self) -> u64 {
        self.user_ns + self.system_ns
    }

    /// This and another.
    #[must_use]
    pub const fn plus(self, other: Self) -> Self {
        Self { user_ns: self.user_ns + other.user_ns, system_ns: self.system_ns + other.system_ns }
    }

    /// This without another, never below zero.
    #[must_use]
    pub const fn minus(self, other: Self) -> Self {
        Self {
            user_ns: self.user_ns.saturating_sub(other.user_ns),
            system_ns: self.system_ns.saturating_sub(other.system_ns),
        }
    }
}

/// All calls of one kind within a task or a phase.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OpTotals {
    /// The kind.
    pub op: Op,
    /// Calls made, successful or not.
    pub calls: u64,
    /// Calls that failed, expected failures (a directory that is there already) included.
    pub errors: u64,
    /// Bytes moved.
    pub bytes: u64,
    /// Latencies of the calls that were timed: all, a sample of them, or none.
    pub latency: Latency,
}

/// One task: a named unit of work inside a phase.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TaskTotals {
    /// The phase, counted from 0.
    pub phase: u32,
    /// The task within the phase, counted from 0.
    pub task: u32,
    /// The worker that did it, counted from 0.
    pub worker: u16,
    /// What kind of work: `create`, `patch`, …
    pub kind: String,
    /// What it was done to: `kernel-7`.
    pub subject: String,
    /// The state of the subject when the task began, empty where there is none: `compiled`.
    pub state: String,
    /// The row of the imitated tool's summary in which it counts; empty in native mode.
    pub tally: String,
    /// Start, nanoseconds from the start of the trial.
    pub began_ns: u64,
    /// Duration, its sync included.
    #[serde(default)]
    pub wall_ns: u64,
    /// The sync's share of the duration.
    #[serde(default)]
    pub sync_ns: u64,
    /// CPU of the worker, its sync included.
    #[serde(default)]
    pub cpu: Cpu,
    /// The sync's share of the CPU.
    #[serde(default)]
    pub sync_cpu: Cpu,
    /// Files worked on.
    #[serde(default)]
    pub files: u64,
    /// Bytes really moved, read and written.
    #[serde(default)]
    pub bytes: u64,
    /// Bytes that the list in use names: what the imitated tool divides by the time.
    #[serde(default)]
    pub listed_bytes: u64,
    /// Calls by kind, those that were made.
    pub ops: Vec<OpTotals>,
    /// Whether its files were opened with `O_DIRECT`, so that nothing it read came from the page
    /// cache. Not kept.
    #[serde(skip)]
    pub direct: bool,
    /// What the script counted for its own workload.
    #[serde(default, skip_serializing_if = "Counters::is_empty")]
    pub counters: Counters,
}

/// A slice of a phase, one second but for the last.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Interval {
    /// Which second of the phase, counted from 0.
    pub second: u32,
    /// Calls that ended in it.
    pub calls: u64,
    /// Bytes moved by them.
    pub bytes: u64,
}

/// One phase: a part of a trial between barriers.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PhaseTotals {
    /// The phase, counted from 0.
    pub phase: u32,
    /// Its name.
    pub name: String,
    /// Start, nanoseconds from the start of the trial.
    pub began_ns: u64,
    /// Duration, all waiting, syncing and dropping of caches included.
    #[serde(default)]
    pub wall_ns: u64,
    /// Tasks done.
    #[serde(default)]
    pub tasks: u32,
    /// Files worked on.
    #[serde(default)]
    pub files: u64,
    /// Bytes really moved.
    #[serde(default)]
    pub bytes: u64,
    /// CPU of all workers.
    #[serde(default)]
    pub cpu: Cpu,
    /// Calls by kind over all tasks.
    pub ops: Vec<OpTotals>,
    /// Calls and bytes of each second. Seconds without a call are left out.
    pub intervals: Vec<Interval>,
}

impl TaskTotals {
    /// Seconds, the sync included.
    pub fn seconds(&self) -> f64 {
        self.wall_ns as f64 / 1e9
    }

    /// Listed bytes (moved bytes where none are listed) in MiB per second.
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
    use super::{Cpu, TaskTotals};

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
        let little = Cpu { user_ns: 1, system_ns: 2 };
        assert_eq!(little.minus(Cpu { user_ns: 5, system_ns: 1 }).total_ns(), 1);
        assert_eq!(little.plus(little).total_ns(), 6);
    }
}

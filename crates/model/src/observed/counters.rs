//! Counters of the kernel around a phase in the form of the store and of exports, documented in
//! docs/json.md.

use serde::{Deserialize, Serialize};

use crate::Unit;

/// Kind of a value that the kernel publishes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CounterKind {
    /// Value that only rises: its change over an interval counts.
    Counter,
    /// Momentary value.
    Gauge,
}

/// Counter of the kernel with its values before and after an interval. Values that are missing at
/// one end are not listed, so that 0 always means a measured 0.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KernelCounter {
    /// Name, unique in its list: `loop0.flushes`, `vmstat.nr_dirtied`.
    pub name: String,
    /// File that the value was read from.
    pub source: String,
    /// Unit of both values.
    pub unit: Unit,
    /// Kind of the value.
    pub kind: CounterKind,
    /// Value before the interval.
    pub before: u64,
    /// Value after the interval.
    pub after: u64,
}

impl KernelCounter {
    /// Change of a counter over the interval, or the value of a gauge at its end.
    pub const fn value(&self) -> u64 {
        match self.kind {
            CounterKind::Counter => self.after.saturating_sub(self.before),
            CounterKind::Gauge => self.after,
        }
    }
}

/// Counters around a phase, or around the deferred work after the last one.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct KernelCounters {
    /// Time that one reading of all counters took, in microseconds.
    pub reading_us: u64,
    /// Counters in reading order.
    pub counters: Vec<KernelCounter>,
}

impl KernelCounters {
    /// Artifact kind.
    pub const KIND: &'static str = "kernel_counters";
    /// Format version.
    pub const VERSION: u32 = 1;
    /// Artifact name of the counters of deferred work; those of a phase have none.
    pub const DEFERRED: &'static str = "deferred";
}

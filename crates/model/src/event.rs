//! Events of a trial, in chronological order.
//!
//! One stream serves live progress, the store, `--events` (JSON lines), importers and replay.

use serde::{Deserialize, Serialize};

use crate::{Artifact, Caution, Cell, Counters, Ending, Metric, PhaseTotals, TaskTotals, TrialId};

/// Version of the event format. Readers accept older versions and refuse newer ones. Version 2
/// added [`TrialEvent::Produced`].
pub const EVENT_VERSION: u32 = 2;

/// Mode of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, Hash)]
#[serde(rename_all = "snake_case")]
pub enum RunMode {
    /// Runs as the imitated tool does.
    Classic,
    /// Runs in treering's own way.
    Native,
}

impl RunMode {
    /// Name in tables and in the store.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Classic => "classic",
            Self::Native => "native",
        }
    }
}

/// Facts known before the trial begins.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TrialHeader {
    /// Version of the following events.
    pub event_version: u32,
    /// Identity of the trial.
    pub trial: TrialId,
    /// Start time in milliseconds since 1970 (UTC).
    pub started_unix_ms: i64,
    /// treering version.
    pub treering_version: String,
    /// Workload name.
    pub workload: String,
    /// Classic or native mode.
    pub mode: RunMode,
    /// User-defined label; empty for none.
    pub label: String,
    /// Directory under test.
    pub target: String,
    /// Every parameter of the job in a fixed order: sufficient to repeat it.
    pub parameters: Vec<(String, String)>,
    /// Cell of a campaign; `None` for a standalone run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cell: Option<Cell>,
}

impl TrialHeader {
    /// Builds an empty record in the current event version, with start time 0.
    pub fn new(trial: TrialId, workload: &str, mode: RunMode) -> Self {
        Self {
            event_version: EVENT_VERSION,
            trial,
            started_unix_ms: 0,
            treering_version: String::new(),
            workload: workload.to_owned(),
            mode,
            label: String::new(),
            target: String::new(),
            parameters: Vec::new(),
            cell: None,
        }
    }
}

/// Fact about the environment of a trial: `kernel.release` = `6.1.0`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fact {
    /// Dotted name.
    pub name: String,
    /// Value as text.
    pub value: String,
}

/// Event of a trial.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum TrialEvent {
    /// Start of the trial, always the first event.
    Began(TrialHeader),
    /// Environment of the trial, before the first phase.
    Environment {
        /// Facts about the environment.
        facts: Vec<Fact>,
    },
    /// Start of a phase.
    PhaseBegan {
        /// Phase, counted from 0.
        phase: u32,
        /// Phase name.
        name: String,
        /// Nanoseconds from the start of the trial.
        at_ns: u64,
    },
    /// Start of a task. For progress displays only: not stored.
    TaskBegan {
        /// Phase, counted from 0.
        phase: u32,
        /// Task within the phase, counted from 0.
        task: u32,
        /// Task kind.
        kind: String,
        /// Subject of the task.
        subject: String,
        /// Expected bytes to move; 0 if unknown.
        expected_bytes: u64,
    },
    /// Clock tick, at which a session reports counters to the output of the imitated tool.
    Ticked {
        /// Phase, counted from 0.
        phase: u32,
        /// Nanoseconds from the start of the trial.
        at_ns: u64,
        /// Counters up to this tick.
        #[serde(rename = "notes")]
        counters: Counters,
    },
    /// End of a task.
    TaskEnded(TaskTotals),
    /// End of a phase.
    PhaseEnded(PhaseTotals),
    /// Metric of the trial.
    Measured(Metric),
    /// Artifact of an observer.
    Produced(Artifact),
    /// Caution about the trial.
    Cautioned(Caution),
    /// End of the trial, always the last event.
    Ended {
        /// Outcome of the trial.
        ending: Ending,
        /// Nanoseconds from the start of the trial.
        at_ns: u64,
    },
}

//! The events of a trial, in the order in which they happen.
//!
//! One stream serves live progress, the store, `--events` (JSON lines), importers and replay.

use serde::{Deserialize, Serialize};

use crate::{Artifact, Caution, Cell, Counters, Ending, Metric, PhaseTotals, TaskTotals, TrialId};

/// The version of the event format. Readers take older ones; a newer one they refuse. Version 2 has
/// [`TrialEvent::Produced`] beside what version 1 had.
pub const EVENT_VERSION: u32 = 2;

/// How a workload was run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, Hash)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// As the imitated tool does it.
    Classic,
    /// treering's own way.
    Native,
}

impl Mode {
    /// The word used in tables and in the store.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Classic => "classic",
            Self::Native => "native",
        }
    }
}

/// What is known of a trial before it begins.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Beginning {
    /// The version of the events that follow.
    pub event_version: u32,
    /// The trial.
    pub trial: TrialId,
    /// Milliseconds since 1970 (UTC).
    pub started_unix_ms: i64,
    /// The version of treering.
    pub treering_version: String,
    /// The workload's name.
    pub workload: String,
    /// Classic or native.
    pub mode: Mode,
    /// The user's own label, empty when none was given.
    pub label: String,
    /// The directory under test.
    pub target: String,
    /// Every parameter of the job, complete and in a fixed order: enough to repeat it.
    pub parameters: Vec<(String, String)>,
    /// Where it stands in a campaign; nowhere when it was run by itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cell: Option<Cell>,
}

impl Beginning {
    /// Of the present event version; everything else is empty, the time is that of 1970.
    pub fn new(trial: TrialId, workload: &str, mode: Mode) -> Self {
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

/// One fact about the place a trial ran in: `kernel.release` = `6.1.0`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fact {
    /// Dotted name.
    pub name: String,
    /// Value as text.
    pub value: String,
}

/// Something that happened in a trial.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum TrialEvent {
    /// First of all.
    Began(Beginning),
    /// What the place is like, before the first phase.
    Environment {
        /// The facts.
        facts: Vec<Fact>,
    },
    /// A phase begins.
    PhaseBegan {
        /// The phase, counted from 0.
        phase: u32,
        /// Its name.
        name: String,
        /// Nanoseconds from the start of the trial.
        at_ns: u64,
    },
    /// A task begins. For progress only: the store does not keep it.
    TaskBegan {
        /// The phase.
        phase: u32,
        /// The task within the phase.
        task: u32,
        /// Its kind.
        kind: String,
        /// What it is done to.
        subject: String,
        /// The bytes and files it is expected to move, 0 when unknown.
        expected_bytes: u64,
    },
    /// Time passes, and a session has something to say of it to the output of the imitated tool.
    Ticked {
        /// The phase.
        phase: u32,
        /// Nanoseconds from the start of the trial.
        at_ns: u64,
        /// What was counted until then.
        #[serde(rename = "notes")]
        counters: Counters,
    },
    /// A task ended.
    TaskEnded(TaskTotals),
    /// A phase ended.
    PhaseEnded(PhaseTotals),
    /// A headline number.
    Measured(Metric),
    /// What an observer made.
    Produced(Artifact),
    /// A caution.
    Cautioned(Caution),
    /// Last of all.
    Ended {
        /// How.
        ending: Ending,
        /// Nanoseconds from the start of the trial.
        at_ns: u64,
    },
}

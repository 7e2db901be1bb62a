//! The records of a pack, one in each line of its content.

use serde::{Deserialize, Serialize};
use treering_model::{Annotation, TrialEvent, TrialId};

/// What is said of a pack before anything in it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Head {
    /// The version of treering that wrote it.
    pub treering_version: String,
    /// Whether names of machines, people and places are as they were.
    pub has_names: bool,
    /// Whether block traces are in it.
    pub has_traces: bool,
}

/// A plan whose trials are in the pack.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PackedPlan {
    /// The campaign, by the identity of its first trial.
    pub campaign: TrialId,
    /// The plan as a TOML document.
    pub document: String,
    /// The files that it names, each with its text.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<(String, String)>,
}

/// A line: the head, then plans, then of each trial its events and what was said of it later.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(clippy::large_enum_variant, reason = "most are events, and one is there at a time")]
pub enum Record {
    /// First of all.
    Pack(Head),
    /// A plan.
    Plan(PackedPlan),
    /// An event of a trial; a trial begins with `began`.
    Event(TrialEvent),
    /// What was said of the trial before it, after it was recorded.
    Annotation(Annotation),
}

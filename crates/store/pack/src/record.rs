//! Records of a pack, one in each line of its content.

use serde::{Deserialize, Serialize};
use treering_model::{Annotation, TrialEvent, TrialId};

/// Description of a pack, its first record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PackHead {
    /// Version of the treering that wrote it.
    pub treering_version: String,
    /// True when names of machines, people and places were kept.
    pub has_names: bool,
    /// True when block traces are included.
    pub has_traces: bool,
}

/// A plan whose trials are in the pack.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PackedPlan {
    /// Campaign, by the id of its first trial.
    pub campaign: TrialId,
    /// Plan as a TOML document.
    pub document: String,
    /// Files that the plan refers to: path and text of each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<(String, String)>,
}

/// A record: the head, then plans, then for each trial its events and annotations.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PackRecord {
    /// Description of the pack; the first record.
    Pack(PackHead),
    /// A plan with its files.
    Plan(PackedPlan),
    /// An event of a trial; a trial begins with `began`.
    Event(TrialEvent),
    /// An annotation of the preceding trial.
    Annotation(Annotation),
}

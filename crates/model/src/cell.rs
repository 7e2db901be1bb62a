//! Where a trial stands in a campaign: which cell of which plan it is an execution of.

use serde::{Deserialize, Serialize};

use crate::TrialId;

/// The fact that holds the plan as a document: in the first trial of a campaign only, whose
/// identity is that of the campaign.
pub const PLAN_FACT: &str = "plan.document";
/// Fact with the name of the variant that the variant of a trial is compared with.
pub const BASELINE_FACT: &str = "plan.baseline";
/// Fact with the metrics that decide a plan.
pub const PRIMARY_FACT: &str = "plan.primary";
/// Fact with the smallest difference that matters to a plan.
pub const THRESHOLD_FACT: &str = "plan.threshold";
/// Fact with the level of a plan: looks of a sequential plan are each made at a lower one, so that
/// all of them together keep 5 %.
pub const LEVEL_FACT: &str = "plan.level";

/// What the facts begin with by which a trial is known to be of a series of `treering watch`.
pub const WATCH_PREFIX: &str = "watch.";
/// The work of the series, as a fingerprint: the same for all of its points.
pub const WATCH_WORK_FACT: &str = "watch.work";
/// The variant that never changes; a series without one lacks the fact.
pub const WATCH_ANCHOR_FACT: &str = "watch.anchor";
/// What the plan says of the anchor, as a fingerprint.
pub const WATCH_ANCHOR_DIGEST_FACT: &str = "watch.anchor_digest";

/// What a cell is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CellRole {
    /// Kept and not compared: the machine was still cold.
    WarmUp,
    /// Compared.
    Round,
    /// The baseline a second time, which shows how much chance alone does.
    Control,
    /// Watched closely, by a trace of requests or a look at the layout: its times are not compared.
    Observed,
}

impl CellRole {
    /// Every role.
    pub const ALL: [Self; 4] = [Self::WarmUp, Self::Round, Self::Control, Self::Observed];

    /// The word used in tables, in JSON and in the store.
    pub const fn name(self) -> &'static str {
        match self {
            Self::WarmUp => "warm_up",
            Self::Round => "round",
            Self::Control => "control",
            Self::Observed => "observed",
        }
    }

    /// What stands behind the name of a variant whose cell has this role: `ext4 (again)`.
    pub const fn suffix(self) -> &'static str {
        match self {
            Self::WarmUp => " (warm-up)",
            Self::Round => "",
            Self::Control => " (again)",
            Self::Observed => " (observed)",
        }
    }

    /// The role with this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|role| role.name() == name)
    }
}

/// One cell: variant × job × round of a plan.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Cell {
    /// The campaign, known by the identity of its first trial.
    pub campaign: TrialId,
    /// The plan's name.
    pub plan: String,
    /// What tells this plan from another of the same name: equal plans have equal digests.
    pub digest: String,
    /// The variant's name.
    pub variant: String,
    /// The job's name.
    pub job: String,
    /// The round, counted from 1, observing rounds for themselves; 0 is the warm-up.
    pub round: u32,
    /// What it is for.
    pub role: CellRole,
}

#[cfg(test)]
mod tests {
    use super::CellRole;

    #[test]
    fn roles_have_the_names_of_their_json() {
        for role in CellRole::ALL {
            assert_eq!(CellRole::from_name(role.name()), Some(role));
            assert_eq!(serde_json::to_value(role).unwrap(), role.name());
        }
    }
}

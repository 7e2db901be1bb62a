//! Position of a trial in a campaign: plan, variant, job and round.

use serde::{Deserialize, Serialize};

use crate::TrialId;

/// Fact with the plan as a document: only in the first trial of a campaign, whose identity is that
/// of the campaign.
pub const PLAN_FACT: &str = "plan.document";
/// Fact with the name of the variant that the variant of a trial is compared with.
pub const BASELINE_FACT: &str = "plan.baseline";
/// Fact of a trial whose job has options that its variant changes: these options.
pub const CHANGED_OPTIONS_FACT: &str = "variant.changed_options";
/// Fact with the name of the job that the job of a trial is compared with on the same variant: its
/// own name for a job that is only compared with; absent where variants are compared.
pub const JOB_BASELINE_FACT: &str = "plan.job_baseline";
/// Fact of a trial whose job has a baseline on its variant and is compared between variants, too.
pub const BETWEEN_VARIANTS_FACT: &str = "plan.between_variants";
/// Fact of a trial that is a step of several on one filesystem: its number, counted from 1.
pub const STEP_FACT: &str = "plan.step";
/// Fact with the identities of the trees that a trial keeps, as its mark listed them.
pub const KEPT_TREES_FACT: &str = "trees.kept";
/// Fact with the size that the warm-up gave the job of a trial, in words.
pub const SIZED_FACT: &str = "plan.sized";
/// Fact with the metrics that decide a plan.
pub const PRIMARY_FACT: &str = "plan.primary";
/// Fact with the parameters in which the trials of a plan may differ, separated by commas.
pub const IGNORE_FACT: &str = "plan.ignore";
/// Fact with the smallest difference that matters to a plan.
pub const THRESHOLD_FACT: &str = "plan.threshold";
/// Fact with the significance level of a plan: a sequential plan tests at a lower level at each
/// look, so that all looks together keep 5 %.
pub const LEVEL_FACT: &str = "plan.level";
/// Fact with the most rounds that a plan had when the trial ran: trials of one campaign have
/// several values if it went on beyond its plan, after a look at its results.
pub const ROUNDS_FACT: &str = "plan.rounds";

/// Prefix of the facts that mark trials of a `treering watch` series.
pub const WATCH_PREFIX: &str = "watch.";
/// Fact with a fingerprint of the work in the series: equal for all of its points.
pub const WATCH_WORK_FACT: &str = "watch.work";
/// Fact with the anchor variant, which never changes; absent in a series without one.
pub const WATCH_ANCHOR_FACT: &str = "watch.anchor";
/// Fact with a fingerprint of the anchor's definition in the plan.
pub const WATCH_ANCHOR_DIGEST_FACT: &str = "watch.anchor_digest";

crate::named_enum! {
    /// Role of a cell.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum CellRole {
        /// Warm-up: stored but not compared.
        WarmUp = "warm_up",
        /// Measurement, compared.
        Round = "round",
        /// Step of a round that only prepares the filesystem for later ones: stored but not
        /// compared.
        Preparation = "preparation",
        /// Second measurement of the baseline, which shows the effect of chance.
        Control = "control",
        /// Measurement with an observer, such as a request trace or a layout: times are not
        /// compared.
        Observed = "observed",
    }
}

impl CellRole {
    /// Suffix of the variant name for this role: `ext4 (again)`.
    pub const fn suffix(self) -> &'static str {
        match self {
            Self::WarmUp => " (warm-up)",
            Self::Round => "",
            Self::Preparation => " (preparation)",
            Self::Control => " (again)",
            Self::Observed => " (observed)",
        }
    }

    /// Parses a name from [`CellRole::name`].
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|role| role.name() == name)
    }
}

/// One cell of a plan: variant × job × round.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Cell {
    /// Campaign, identified by its first trial.
    pub campaign: TrialId,
    /// Plan name.
    pub plan: String,
    /// Digest of the plan; equal for equal plans.
    pub digest: String,
    /// Variant name.
    pub variant: String,
    /// Job name.
    pub job: String,
    /// Round, counted from 1 and separately for observed rounds; 0 for the warm-up.
    pub round: u32,
    /// Role of the cell.
    pub role: CellRole,
}

impl Cell {
    /// Name of a job of a variant where jobs are compared with one another: `ext4: direct`, or the
    /// job's name alone if the plan has one variant.
    pub fn job_of_variant(variant: &str, job: &str, is_only_variant: bool) -> String {
        if is_only_variant { job.to_owned() } else { format!("{variant}: {job}") }
    }
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

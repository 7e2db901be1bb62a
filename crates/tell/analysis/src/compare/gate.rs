//! The gate: one word about a whole comparison, for `git bisect run` and for CI.

use super::{ComparisonCautionCode, Outcome, Verdict};

/// Whether a change may pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gate {
    /// No primary metric is worse, and none is unclear.
    Pass,
    /// A primary metric is worse.
    Worse,
    /// None is worse as far as can be said, but something cannot be said.
    Unclear,
}

impl Gate {
    /// The word used in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Worse => "worse",
            Self::Unclear => "unclear",
        }
    }

    /// The gate's word about a comparison. Without any primary metric, and where one could not be
    /// compared, nothing can be said.
    pub fn of(outcome: &Outcome) -> Self {
        let primary = || outcome.comparisons.iter().filter(|comparison| comparison.primary);
        if primary().any(|comparison| comparison.verdict == Verdict::Worse) {
            return Self::Worse;
        }
        let open = |verdict| matches!(verdict, Verdict::Unclear | Verdict::SingleRun);
        let missing = outcome.cautions.iter().any(|caution| {
            matches!(
                caution.code,
                ComparisonCautionCode::MetricMissing | ComparisonCautionCode::NothingInCommon
            )
        });
        let asked = outcome
            .contenders
            .iter()
            .all(|side| primary().any(|comparison| comparison.contender == side.name));
        if missing || !asked || primary().any(|comparison| open(comparison.verdict)) {
            return Self::Unclear;
        }
        Self::Pass
    }
}

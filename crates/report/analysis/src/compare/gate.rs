//! The gate: one word about a whole comparison, for `git bisect run` and for CI, and why it is not
//! a better one.

use std::collections::BTreeSet;

use super::{ComparisonCautionCode, MetricComparison, Outcome, Verdict};

/// Whether a change may pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gate {
    /// No primary metric is worse, and none is unclear.
    Pass,
    /// A primary metric is worse.
    Worse,
    /// Nothing can be said for certain: something is open, or the comparison is not a fair one.
    Unclear,
}

/// Why a gate does not pass although nothing is shown to be worse.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GateReason {
    /// Nothing decides about this contender: no primary metric of it could be compared.
    NothingCompared {
        /// The contender's name.
        contender: String,
    },
    /// The variants differ in more than was asked, or cannot be compared in part.
    Caution(ComparisonCautionCode),
    /// Primary metrics of this contender of which nothing can be said.
    Open {
        /// The contender's name.
        contender: String,
        /// The metrics, as in JSON.
        metrics: Vec<String>,
    },
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

    /// The gate's word about a comparison. It is never [`Gate::Pass`] where nothing was compared,
    /// and neither that nor [`Gate::Worse`] where the variants differ in more than was asked,
    /// unless that was accepted.
    pub fn of(outcome: &Outcome) -> Self {
        let is_worse = |one: &MetricComparison| one.primary && one.verdict == Verdict::Worse;
        let is_fair = differing(outcome).is_empty();
        if is_fair && outcome.comparisons.iter().any(is_worse) {
            return Self::Worse;
        }
        if Self::reasons(outcome).is_empty() { Self::Pass } else { Self::Unclear }
    }

    /// Why it is not [`Gate::Pass`] where nothing is worse; empty where it could be.
    pub fn reasons(outcome: &Outcome) -> Vec<GateReason> {
        let mut reasons: Vec<GateReason> =
            differing(outcome).into_iter().map(GateReason::Caution).collect();
        let missing =
            [ComparisonCautionCode::NothingInCommon, ComparisonCautionCode::MetricMissing];
        let is_said = |code: &ComparisonCautionCode| {
            outcome.cautions.iter().any(|caution| caution.code == *code)
        };
        reasons.extend(missing.into_iter().filter(is_said).map(GateReason::Caution));
        let is_open =
            |one: &&MetricComparison| matches!(one.verdict, Verdict::Unclear | Verdict::SingleRun);
        for (_, variant) in outcome.contenders() {
            let contender = variant.name.clone();
            if outcome.primary_of(&variant.name).next().is_none() {
                reasons.push(GateReason::NothingCompared { contender });
                continue;
            }
            let open = outcome.primary_of(&variant.name).filter(is_open);
            let metrics: BTreeSet<String> = open.map(MetricComparison::metric).collect();
            if !metrics.is_empty() {
                let metrics = metrics.into_iter().collect();
                reasons.push(GateReason::Open { contender, metrics });
            }
        }
        if outcome.contenders().next().is_none() {
            reasons.push(GateReason::Caution(ComparisonCautionCode::NothingInCommon));
        }
        reasons
    }
}

/// What the variants differ in beyond what was asked, without what was accepted.
fn differing(outcome: &Outcome) -> Vec<ComparisonCautionCode> {
    let codes: BTreeSet<ComparisonCautionCode> =
        outcome.cautions.iter().map(|caution| caution.code).collect();
    let counts = |code: &ComparisonCautionCode| {
        code.differs_beyond_factor() && !outcome.accepted.contains(code)
    };
    codes.into_iter().filter(counts).collect()
}

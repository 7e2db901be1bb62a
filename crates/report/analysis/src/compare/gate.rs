//! Gate: a single verdict on a whole comparison, for `git bisect run` and CI, with the reasons if
//! it does not pass.

use std::collections::BTreeSet;

use super::{ComparisonCautionCode, MetricComparison, Outcome, Verdict};

/// Verdict of the gate on a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gate {
    /// No primary metric is worse or unclear.
    Pass,
    /// At least one primary metric is worse.
    Worse,
    /// Undecided: a primary metric is unclear, or the comparison is not fair or not valid.
    Unclear,
}

/// Reason for not passing a gate although no metric is worse.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GateReason {
    /// No primary metric of this contender could be compared.
    NothingCompared {
        /// Name of the contender.
        contender: String,
    },
    /// The variants differ in more than the declared factor, the rounds violate an assumption of
    /// the statistics, or part of the comparison is missing.
    Caution(ComparisonCautionCode),
    /// Primary metrics of this contender are undecided.
    Open {
        /// Name of the contender.
        contender: String,
        /// Full names of the metrics, as in JSON.
        metrics: Vec<String>,
    },
    /// Primary metrics of this contender stall more often than those of its baseline, which the
    /// typical ratio hides.
    Stalls {
        /// Name of the contender.
        contender: String,
        /// Full names of the metrics, as in JSON.
        metrics: Vec<String>,
    },
}

impl Gate {
    /// Name of the gate's verdict in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Worse => "worse",
            Self::Unclear => "unclear",
        }
    }

    /// Computes the gate. If nothing was compared, it is not [`Gate::Pass`]. With a caution that
    /// stops the gate and was not accepted, it is neither [`Gate::Pass`] nor [`Gate::Worse`].
    pub fn decide(outcome: &Outcome) -> Self {
        let is_worse = |comparison: &MetricComparison| {
            comparison.primary && comparison.verdict == Verdict::Worse
        };
        let is_valid = stopping(outcome).is_empty();
        if is_valid && outcome.comparisons.iter().any(is_worse) {
            return Self::Worse;
        }
        if Self::reasons(outcome).is_empty() { Self::Pass } else { Self::Unclear }
    }

    /// Reasons why the gate is not [`Gate::Pass`]; empty when it passes or a metric is worse.
    pub fn reasons(outcome: &Outcome) -> Vec<GateReason> {
        let mut reasons: Vec<GateReason> =
            stopping(outcome).into_iter().map(GateReason::Caution).collect();
        let missing =
            [ComparisonCautionCode::NothingInCommon, ComparisonCautionCode::MetricMissing];
        let is_said = |code: &ComparisonCautionCode| {
            outcome.cautions.iter().any(|caution| caution.code == *code)
        };
        reasons.extend(missing.into_iter().filter(is_said).map(GateReason::Caution));
        let is_open = |comparison: &MetricComparison| {
            matches!(comparison.verdict, Verdict::Unclear | Verdict::SingleRun)
        };
        for (_, variant) in outcome.contenders() {
            let contender = variant.name.clone();
            if outcome.primary_of(&variant.name).next().is_none() {
                reasons.push(GateReason::NothingCompared { contender });
                continue;
            }
            let metrics_where = |is_one: &dyn Fn(&MetricComparison) -> bool| -> Vec<String> {
                let own = outcome.primary_of(&variant.name).filter(|one| is_one(one));
                own.map(MetricComparison::metric)
                    .collect::<BTreeSet<String>>()
                    .into_iter()
                    .collect()
            };
            let open = metrics_where(&is_open);
            let stalls =
                metrics_where(&|comparison| !is_open(comparison) && comparison.stalls_more());
            if !stalls.is_empty() {
                let contender = contender.clone();
                reasons.push(GateReason::Stalls { contender, metrics: stalls });
            }
            if !open.is_empty() {
                reasons.push(GateReason::Open { contender, metrics: open });
            }
        }
        if outcome.contenders().next().is_none() {
            reasons.push(GateReason::Caution(ComparisonCautionCode::NothingInCommon));
        }
        reasons
    }
}

/// Cautions that stop the gate, except those accepted or declared by a plan.
fn stopping(outcome: &Outcome) -> Vec<ComparisonCautionCode> {
    let undeclared = outcome.cautions.iter().filter(|caution| !caution.is_declared);
    let codes: BTreeSet<ComparisonCautionCode> = undeclared.map(|caution| caution.code).collect();
    let counts =
        |code: &ComparisonCautionCode| code.stops_gate() && !outcome.accepted.contains(code);
    codes.into_iter().filter(counts).collect()
}

//! Outcome of a comparison: estimates with verdicts, and a summary of each variant.

mod counts;

use serde::{Deserialize, Serialize};
use treering_model::{BetterDirection, RunMode, Scope, Unit};
use treering_stats::{
    CampaignProgress, RoundsNeeded, StoppingDecision, StoppingRule, TailComparison,
};

use super::{ComparisonCaution, ComparisonCautionCode};

/// Verdict on one metric of one contender.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// Significantly better, by at least the threshold.
    Better,
    /// Significantly worse, by at least the threshold.
    Worse,
    /// Significantly different, by less than the threshold.
    Small,
    /// Equivalent within the threshold.
    Same,
    /// Undecided: neither a difference nor equivalence is shown.
    Unclear,
    /// A variant has a single run: the ratio is without inference.
    SingleRun,
}

impl Verdict {
    /// Name used in tables and in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Better => "better",
            Self::Worse => "worse",
            Self::Small => "small",
            Self::Same => "same",
            Self::Unclear => "unclear",
            Self::SingleRun => "single-run",
        }
    }

    /// All verdicts.
    pub const ALL: [Self; 6] =
        [Self::Better, Self::Worse, Self::Small, Self::Same, Self::Unclear, Self::SingleRun];
}

/// Estimate with its confidence interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// Hodges-Lehmann estimate.
    pub value: f64,
    /// 95 % confidence interval of this comparison alone, without correction; `None` for a single
    /// run.
    pub interval: Option<(f64, f64)>,
}

/// Interval at the corrected level, which excludes equality exactly when the verdict is a
/// difference.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DecisionInterval {
    /// Corrected level: one minus the confidence.
    pub level: f64,
    /// Interval on the scale of the estimate; `None` when the rounds are too few for any bound.
    pub interval: Option<(f64, f64)>,
}

/// Comparison of one metric of one contender with the baseline.
#[derive(Clone, Debug, PartialEq)]
pub struct MetricComparison {
    /// Name of the workload.
    pub workload: String,
    /// Mode of the workload: classic or native.
    pub mode: RunMode,
    /// Parameters that distinguish this job from others of the workload; empty when there is one.
    pub job: String,
    /// Title of the job: its name in the plan, else the workload with `job`.
    pub title: String,
    /// Name of the metric.
    pub name: String,
    /// Scope of the metric: the trial, a phase or a kind of task.
    pub scope: Scope,
    /// Unit of the values.
    pub unit: Unit,
    /// Direction in which the metric is better.
    pub better: BetterDirection,
    /// Name of the baseline.
    pub baseline: String,
    /// Name of the contender.
    pub contender: String,
    /// True when rounds were compared in pairs.
    pub paired: bool,
    /// True when the pairs are operations or rows of a single run for each variant. They do not
    /// show the variation between runs.
    pub within_one_run: bool,
    /// True when the values come from observing rounds rather than the measured ones.
    pub observed: bool,
    /// True when the trials did the same work, however long it took, so that their counts can be
    /// compared.
    pub equal_work: bool,
    /// Round numbers of the values, ascending; those of the plan if there is one. Empty when the
    /// rounds are not paired.
    pub rounds: Vec<u32>,
    /// Compared values of the baseline, in time order; paired with those of the contender when
    /// `paired`.
    pub baseline_values: Vec<f64>,
    /// Compared values of the contender.
    pub contender_values: Vec<f64>,
    /// Median of the baseline, in the metric's unit.
    pub baseline_median: f64,
    /// Median of the contender, in the metric's unit.
    pub contender_median: f64,
    /// Ratio contender / baseline; `None` if a value is zero or negative.
    pub ratio: Option<Estimate>,
    /// Difference contender − baseline in the metric's unit, where there is no ratio.
    pub difference: Option<Estimate>,
    /// Exact two-sided p-value, uncorrected; `None` for a single run.
    pub p: Option<f64>,
    /// Interval that agrees with the verdict; `None` for a single run, and for a metric with
    /// `same_as`.
    pub decided: Option<DecisionInterval>,
    /// Metric that measures the same quantity in another unit and provides the verdict.
    pub same_as: Option<String>,
    /// Corrected p-value: Holm for primary metrics, Benjamini-Hochberg q for the others.
    pub p_adjusted: Option<f64>,
    /// True for the metrics that decide the comparison.
    pub primary: bool,
    /// Smallest relative difference that matters: .03 is 3 %.
    pub threshold: f64,
    /// True when the rounds are too few for an exact interval, so Student's t is used.
    pub few_rounds: bool,
    /// Minimum number of rounds with which this family of comparisons can become significant.
    pub smallest_rounds: u32,
    /// True when there are fewer rounds than `smallest_rounds`.
    pub too_few_to_ever_show: bool,
    /// Verdict on the metric.
    pub verdict: Verdict,
    /// Tails that the typical ratio hides; `None` without a ratio, with few runs, or within one
    /// run.
    pub tails: Option<TailComparison>,
    /// True where the typical ratio is the same, but the verdict is unclear because of the tails.
    pub same_withheld: bool,
    /// Estimated total number of rounds that an unclear verdict or a single run needs, including
    /// those so far.
    pub rounds_needed: Option<RoundsNeeded>,
}

impl MetricComparison {
    /// Full name of the metric with its scope, as in JSON: `create/mib_per_second`.
    pub fn metric(&self) -> String {
        metric_name(&self.scope, &self.name)
    }

    /// Number of pairs: rounds, or operations or rows within one run; 0 when unpaired.
    pub fn pairs(&self) -> usize {
        if self.paired { self.baseline_values.len() } else { 0 }
    }

    /// Half width of the interval of the log ratio, or of the difference as a share of the larger
    /// median.
    pub fn half_width(&self) -> Option<f64> {
        if let Some(ratio) = self.ratio {
            return ratio.interval.map(|(low, high)| (high.ln() - low.ln()) / 2.0);
        }
        let scale = self.baseline_median.abs().max(self.contender_median.abs());
        let (low, high) = self.difference?.interval?;
        Some((high - low) / 2.0 / scale)
    }

    /// Means, worst tenth and outlying rounds, if they contradict the typical ratio.
    pub fn notable_tails(&self) -> Option<&TailComparison> {
        // If the interval is too wide for a verdict, so are the means and the worst tenths.
        let is_wide = self.verdict == Verdict::Unclear && !self.same_withheld;
        let says_more = |tails: &&TailComparison| {
            tails.is_one_sided() || !is_wide && tails.disagrees(self.threshold)
        };
        self.tails.as_ref().filter(|_| self.same_as.is_none()).filter(says_more)
    }

    /// Reports whether the contender stalls more often, which a small or better typical ratio
    /// hides.
    pub(super) fn stalls_more(&self) -> bool {
        self.notable_tails().is_some_and(|tails| tails.outlying[1] > tails.outlying[0])
    }

    /// Estimated number of further rounds needed; `None` where unknown.
    pub fn more_rounds(&self) -> Option<RoundsNeeded> {
        let seen = u32::try_from(self.runs()).unwrap_or(u32::MAX);
        let missing = |rounds: u32| rounds.saturating_sub(seen);
        let needed = self.rounds_needed?;
        let pessimistic = needed.pessimistic.map(missing);
        Some(RoundsNeeded { typical: missing(needed.typical), pessimistic })
    }

    /// Number of runs of the variant with fewer runs.
    pub fn runs(&self) -> usize {
        let [baseline, contender] = self.runs_of_variants();
        baseline.min(contender)
    }

    /// Number of compared trials of the baseline and the contender.
    pub fn runs_of_variants(&self) -> [usize; 2] {
        if self.within_one_run {
            return [1, 1];
        }
        [self.baseline_values.len(), self.contender_values.len()]
    }
}

/// Full name of a metric with its scope.
pub(super) fn metric_name(scope: &Scope, name: &str) -> String {
    scope.metric_name(name)
}

/// Summary of one variant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VariantSummary {
    /// Name of the variant.
    pub name: String,
    /// Name of the variant's baseline; `None` for a variant that is only a baseline.
    pub against: Option<String>,
    /// Number of completed trials.
    pub completed: usize,
    /// Number of trials that failed, were invalid or were interrupted.
    pub failed: usize,
    /// Number of further trials run under observation.
    pub observed: usize,
    /// True if all trials of the variant belong to a plan, which can be continued.
    pub is_of_plan: bool,
    /// Kernel releases of the trials.
    pub kernels: Vec<String>,
    /// Filesystem types of the trials.
    pub filesystems: Vec<String>,
    /// Accelerators of the guests of the trials, by their names; empty outside of guests.
    pub accelerators: Vec<String>,
}

/// Text of a p-value: `p 0.012`, `p <0.001`.
pub fn p_words(p: f64) -> String {
    if p < 0.001 { "p <0.001".to_owned() } else { format!("p {p:.3}") }
}

/// Outcome of a whole comparison.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// Variants in the order requested, the first baseline first.
    pub variants: Vec<VariantSummary>,
    /// Cautions, the most severe first.
    pub cautions: Vec<ComparisonCaution>,
    /// Comparisons by contender, then by job, then in metric order.
    pub comparisons: Vec<MetricComparison>,
    /// Cautions accepted in advance, which do not stop the gate.
    pub accepted: Vec<ComparisonCautionCode>,
    /// Primary metrics of the baseline compared with itself, if a control was run; not part of any
    /// family.
    pub control: Vec<MetricComparison>,
}

impl Outcome {
    /// Name of the first baseline.
    pub fn baseline(&self) -> &str {
        self.variants.first().map_or("", |variant| &variant.name)
    }

    /// Contenders, each with the name of its baseline.
    pub fn contenders(&self) -> impl Iterator<Item = (&str, &VariantSummary)> {
        self.variants.iter().filter_map(|variant| Some((variant.against.as_deref()?, variant)))
    }

    /// Reports whether all contenders share one baseline.
    pub fn has_one_baseline(&self) -> bool {
        self.contenders().all(|(baseline, _)| baseline == self.baseline())
    }

    /// Reports whether a stopping rule requires more rounds after `rounds`; the primary metric that
    /// needs most rounds decides.
    pub fn wants_more(&self, rule: &StoppingRule, rounds: u32) -> bool {
        let primary = self.comparisons.iter().filter(|comparison| comparison.primary);
        let known = |comparison: &MetricComparison| CampaignProgress {
            rounds,
            half_width: comparison.half_width(),
            p_value: comparison.p_adjusted,
        };
        let mut progress: Vec<CampaignProgress> = primary.map(known).collect();
        if progress.is_empty() {
            progress.push(CampaignProgress { rounds, half_width: None, p_value: None });
        }
        let goes_on = |comparison: &CampaignProgress| {
            matches!(rule.decide(comparison), StoppingDecision::Continue { .. })
        };
        progress.iter().any(goes_on)
    }

    /// Primary comparisons of one contender.
    pub fn primary_of<'o>(
        &'o self,
        contender: &'o str,
    ) -> impl Iterator<Item = &'o MetricComparison> {
        self.comparisons.iter().filter(move |c| c.primary && c.contender == contender)
    }
}

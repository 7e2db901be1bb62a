//! What a comparison came to: numbers with their verdicts, and the variants they are about.

use serde::{Deserialize, Serialize};
use treering_model::{Better, Mode, Scope, Unit};
use treering_stats::{Progress, StoppingDecision, StoppingRule};

use super::{ComparisonCaution, ComparisonCautionCode};

/// What is said about one metric of one contender.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// Shown to be better, by at least the threshold.
    Better,
    /// Shown to be worse, by at least the threshold.
    Worse,
    /// Shown to differ, by less than the threshold.
    Small,
    /// Shown to be the same, as far as the threshold goes.
    Same,
    /// None of these can be said.
    Unclear,
    /// One run on a variant: a ratio and no inference.
    SingleRun,
}

impl Verdict {
    /// The word used in tables and in JSON.
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

    /// Every verdict.
    pub const ALL: [Self; 6] =
        [Self::Better, Self::Worse, Self::Small, Self::Same, Self::Unclear, Self::SingleRun];
}

/// An estimate with its interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// The Hodges-Lehmann estimate.
    pub value: f64,
    /// The ends of the 95 % interval of this comparison alone, corrected for nothing; `None` for a
    /// single run.
    pub interval: Option<(f64, f64)>,
}

/// The interval at the level at which the correction decided: it leaves out no difference exactly
/// when the verdict says that there is one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Decided {
    /// The level: one minus the confidence.
    pub level: f64,
    /// Its ends, on the scale of the estimate; `None` where the rounds are too few for any bound.
    pub interval: Option<(f64, f64)>,
}

/// One metric of one contender against the baseline.
#[derive(Clone, Debug, PartialEq)]
pub struct MetricComparison {
    /// The workload's name.
    pub workload: String,
    /// How the workload was run.
    pub mode: Mode,
    /// The parameters that tell this job from others of the workload; empty when there is one.
    pub job: String,
    /// The job in words: its name in the plan, else the workload with `job`.
    pub title: String,
    /// The metric's name.
    pub name: String,
    /// The part of the trial it speaks of.
    pub scope: Scope,
    /// Its unit.
    pub unit: Unit,
    /// Its better direction.
    pub better: Better,
    /// Name of the baseline.
    pub baseline: String,
    /// Name of the contender.
    pub contender: String,
    /// Whether rounds were compared in pairs.
    pub paired: bool,
    /// Whether the pairs are operations or rows of one run a variant, which tell nothing of how
    /// runs differ among themselves.
    pub within_one_run: bool,
    /// Whether it is of rounds that were run to be watched, not of the measured ones.
    pub observed: bool,
    /// The numbers of the rounds whose values these are, ascending, in a plan those of the plan;
    /// empty when the rounds are not paired.
    pub rounds: Vec<u32>,
    /// The values of the baseline that count, in the order of time; paired with those of the
    /// contender when `paired`.
    pub baseline_values: Vec<f64>,
    /// The values of the contender.
    pub contender_values: Vec<f64>,
    /// Median of the baseline, in the metric's unit.
    pub baseline_median: f64,
    /// Median of the contender, in the metric's unit.
    pub contender_median: f64,
    /// Contender over baseline; `None` when values of zero or below forbid a ratio.
    pub ratio: Option<Estimate>,
    /// Contender minus baseline in the metric's unit, where there is no ratio.
    pub difference: Option<Estimate>,
    /// Exact two-sided p, not corrected; `None` for a single run.
    pub p: Option<f64>,
    /// The interval that agrees with the verdict; `None` for a single run, and for another unit of
    /// a quantity that was judged already.
    pub decided: Option<Decided>,
    /// The metric whose quantity this is in another unit: the verdict is that metric's.
    pub same_as: Option<String>,
    /// Corrected p: by Holm for primary metrics, the Benjamini-Hochberg q for the others.
    pub p_adjusted: Option<f64>,
    /// Whether it is among the few that decide.
    pub primary: bool,
    /// The smallest relative difference that matters: .03 is 3 %.
    pub threshold: f64,
    /// Too few rounds for an exact interval: it is Student's t.
    pub few_rounds: bool,
    /// Fewest rounds with which this family of questions could ever show a difference.
    pub smallest_rounds: u32,
    /// There are fewer.
    pub too_few_to_ever_show: bool,
    /// The verdict.
    pub verdict: Verdict,
    /// About how many rounds an unclear verdict or a single run needs.
    pub rounds_needed: Option<u32>,
}

impl MetricComparison {
    /// The metric's name with its part of the trial before it, as in JSON:
    /// `create/mib_per_second`.
    pub fn metric(&self) -> String {
        metric_name(&self.scope, &self.name)
    }

    /// Rounds that were compared in pairs, within one run its operations or rows; 0 when they could
    /// not be paired.
    pub fn pairs(&self) -> usize {
        if self.paired { self.baseline_values.len() } else { 0 }
    }

    /// Half the width of the interval: of the log ratio, or of the difference as a share of the
    /// larger median.
    pub fn half_width(&self) -> Option<f64> {
        if let Some(ratio) = self.ratio {
            return ratio.interval.map(|(low, high)| (high.ln() - low.ln()) / 2.0);
        }
        let scale = self.baseline_median.abs().max(self.contender_median.abs());
        let (low, high) = self.difference?.interval?;
        Some((high - low) / 2.0 / scale)
    }

    /// The fewer of the runs of the variants.
    pub fn runs(&self) -> usize {
        let [baseline, contender] = self.runs_of_variants();
        baseline.min(contender)
    }

    /// The trials of baseline and contender whose values count.
    pub fn runs_of_variants(&self) -> [usize; 2] {
        if self.within_one_run {
            return [1, 1];
        }
        [self.baseline_values.len(), self.contender_values.len()]
    }
}

/// A metric's name with its part of the trial.
pub(super) fn metric_name(scope: &Scope, name: &str) -> String {
    scope.metric_name(name)
}

/// What is said of a variant as a whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VariantSummary {
    /// Its name.
    pub name: String,
    /// The name of its baseline; `None` for what is a baseline only.
    pub against: Option<String>,
    /// Trials that count.
    pub completed: usize,
    /// Trials that failed, were invalid or were interrupted.
    pub failed: usize,
    /// Trials beside these that were run to be watched.
    pub observed: usize,
    /// The kernels it ran under.
    pub kernels: Vec<String>,
    /// The types of the filesystems it ran on.
    pub filesystems: Vec<String>,
}

/// A whole comparison.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// The variants in the order asked for, the first baseline before all others.
    pub variants: Vec<VariantSummary>,
    /// Cautions, the gravest first.
    pub cautions: Vec<ComparisonCaution>,
    /// The comparisons: by contender, then by job, then in the order of the metrics.
    pub comparisons: Vec<MetricComparison>,
    /// Cautions that were accepted beforehand: they do not keep the gate from passing.
    pub accepted: Vec<ComparisonCautionCode>,
    /// The primary metrics of the baseline against itself, where a control was run; in no family.
    pub control: Vec<MetricComparison>,
}

impl Outcome {
    /// The name of the first baseline.
    pub fn baseline(&self) -> &str {
        self.variants.first().map_or("", |variant| &variant.name)
    }

    /// The contenders, each behind the name of its baseline.
    pub fn contenders(&self) -> impl Iterator<Item = (&str, &VariantSummary)> {
        self.variants.iter().filter_map(|variant| Some((variant.against.as_deref()?, variant)))
    }

    /// Whether all contenders have the same baseline.
    pub fn has_one_baseline(&self) -> bool {
        self.contenders().all(|(baseline, _)| baseline == self.baseline())
    }

    /// Whether a rule wants more rounds after so many: the primary metric that takes longest
    /// decides.
    pub fn wants_more(&self, rule: &StoppingRule, rounds: u32) -> bool {
        let primary = self.comparisons.iter().filter(|one| one.primary);
        let known = |one: &MetricComparison| Progress {
            rounds,
            half_width: one.half_width(),
            p_value: one.p_adjusted,
        };
        let mut progress: Vec<Progress> = primary.map(known).collect();
        if progress.is_empty() {
            progress.push(Progress { rounds, half_width: None, p_value: None });
        }
        let goes_on =
            |one: &Progress| matches!(rule.decide(one), StoppingDecision::Continue { .. });
        progress.iter().any(goes_on)
    }

    /// The primary comparisons with one contender.
    pub fn primary_of<'o>(
        &'o self,
        contender: &'o str,
    ) -> impl Iterator<Item = &'o MetricComparison> {
        self.comparisons.iter().filter(move |c| c.primary && c.contender == contender)
    }
}

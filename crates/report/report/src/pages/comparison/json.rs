//! Comparison as JSON, as docs/json.md documents it. Fields may be added but never changed.

use std::io;

use serde::Serialize;
use treering_analysis::compare::{Estimate, Gate, MetricComparison, Outcome, VariantSummary};
use treering_model::{BetterDirection, RunMode, Scope};

use super::warnings;
use super::words::sentences;
use crate::pages::gate::gate_reasons;
use crate::{Warning, json};

/// Version of the JSON document.
const VERSION: u32 = 2;

#[derive(Serialize)]
struct ComparisonDocument<'o> {
    treering_comparison: json::Version,
    verdicts: Vec<String>,
    gate: &'static str,
    gate_reasons: Vec<String>,
    baseline: Option<ComparedVariant<'o>>,
    /// Baselines of other contenders.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    baselines: Vec<ComparedVariant<'o>>,
    contenders: Vec<ComparedVariant<'o>>,
    cautions: Vec<Warning>,
    comparisons: Vec<ComparisonRow<'o>>,
    control: Vec<ComparisonRow<'o>>,
}

#[derive(Serialize)]
struct ComparedVariant<'o> {
    name: &'o str,
    #[serde(skip_serializing_if = "Option::is_none")]
    against: Option<&'o str>,
    completed: usize,
    failed: usize,
    observed: usize,
    kernels: &'o [String],
    filesystems: &'o [String],
}

/// A comparison as programs read it, in JSON and CSV.
#[derive(Serialize)]
pub(super) struct ComparisonRow<'o> {
    pub(super) workload: &'o str,
    pub(super) mode: RunMode,
    pub(super) job: &'o str,
    pub(super) title: &'o str,
    pub(super) metric: String,
    pub(super) name: &'o str,
    pub(super) scope: &'o Scope,
    pub(super) unit: &'static str,
    pub(super) better: BetterDirection,
    pub(super) baseline: &'o str,
    pub(super) contender: &'o str,
    pub(super) paired: bool,
    pub(super) pairs: usize,
    pub(super) within_one_run: bool,
    pub(super) observed: bool,
    pub(super) baseline_runs: usize,
    pub(super) contender_runs: usize,
    pub(super) baseline_median: f64,
    pub(super) contender_median: f64,
    pub(super) ratio: Option<f64>,
    pub(super) ratio_low: Option<f64>,
    pub(super) ratio_high: Option<f64>,
    pub(super) difference: Option<f64>,
    pub(super) difference_low: Option<f64>,
    pub(super) difference_high: Option<f64>,
    pub(super) decided_level: Option<f64>,
    pub(super) decided_low: Option<f64>,
    pub(super) decided_high: Option<f64>,
    pub(super) same_as: Option<&'o str>,
    pub(super) p: Option<f64>,
    pub(super) p_adjusted: Option<f64>,
    pub(super) primary: bool,
    pub(super) threshold: f64,
    pub(super) few_rounds: bool,
    pub(super) verdict: &'static str,
    pub(super) rounds_needed: Option<u32>,
    pub(super) rounds_needed_most: Option<u32>,
    pub(super) mean_ratio: Option<f64>,
    pub(super) worst_tenth_ratio: Option<f64>,
    pub(super) outlying_baseline: Option<usize>,
    pub(super) outlying_contender: Option<usize>,
    pub(super) outlying_p: Option<f64>,
    /// Full names of counts with a verdict, listed for a time without one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) counts_decided: Vec<String>,
    pub(super) baseline_values: &'o [f64],
    pub(super) contender_values: &'o [f64],
}

impl<'o> ComparisonRow<'o> {
    pub(super) fn new(comparison: &'o MetricComparison) -> Self {
        let [ratio, ratio_low, ratio_high] = parts(comparison.ratio);
        let [difference, difference_low, difference_high] = parts(comparison.difference);
        Self {
            workload: &comparison.workload,
            mode: comparison.mode,
            job: &comparison.job,
            title: &comparison.title,
            metric: comparison.metric(),
            name: &comparison.name,
            scope: &comparison.scope,
            unit: comparison.unit.symbol(),
            better: comparison.better,
            baseline: &comparison.baseline,
            contender: &comparison.contender,
            paired: comparison.paired,
            pairs: comparison.pairs(),
            within_one_run: comparison.within_one_run,
            observed: comparison.observed,
            baseline_runs: comparison.runs_of_variants()[0],
            contender_runs: comparison.runs_of_variants()[1],
            baseline_median: comparison.baseline_median,
            contender_median: comparison.contender_median,
            ratio,
            ratio_low,
            ratio_high,
            difference,
            difference_low,
            difference_high,
            decided_level: comparison.decided.map(|decided| decided.level),
            decided_low: comparison.decided.and_then(|decided| decided.interval).map(|ends| ends.0),
            decided_high: comparison
                .decided
                .and_then(|decided| decided.interval)
                .map(|ends| ends.1),
            same_as: comparison.same_as.as_deref(),
            p: comparison.p,
            p_adjusted: comparison.p_adjusted,
            primary: comparison.primary,
            threshold: comparison.threshold,
            few_rounds: comparison.few_rounds,
            verdict: comparison.verdict.name(),
            rounds_needed: comparison.rounds_needed.map(|needed| needed.typical),
            rounds_needed_most: comparison.rounds_needed.and_then(|needed| needed.pessimistic),
            mean_ratio: comparison.tails.map(|tails| tails.mean_ratio),
            worst_tenth_ratio: comparison.tails.map(|tails| tails.worst_tenth_ratio),
            outlying_baseline: comparison.tails.map(|tails| tails.outlying[0]),
            outlying_contender: comparison.tails.map(|tails| tails.outlying[1]),
            outlying_p: comparison.tails.map(|tails| tails.p_value),
            counts_decided: Vec::new(),
            baseline_values: &comparison.baseline_values,
            contender_values: &comparison.contender_values,
        }
    }
}

/// Estimate and both ends of its interval.
fn parts(estimate: Option<Estimate>) -> [Option<f64>; 3] {
    let interval = estimate.and_then(|estimate| estimate.interval);
    [estimate.map(|e| e.value), interval.map(|i| i.0), interval.map(|i| i.1)]
}

/// Writes the comparison in one line.
pub(super) fn write(outcome: &Outcome, out: &mut dyn io::Write) -> io::Result<()> {
    let is_baseline = |variant: &&VariantSummary| variant.against.is_none();
    let document = ComparisonDocument {
        treering_comparison: json::Version { version: VERSION },
        verdicts: sentences(outcome),
        gate: Gate::decide(outcome).name(),
        gate_reasons: gate_reasons(outcome),
        baseline: outcome.variants.first().map(variant),
        baselines: outcome.variants.iter().skip(1).filter(is_baseline).map(variant).collect(),
        contenders: outcome.contenders().map(|(_, contender)| variant(contender)).collect(),
        cautions: warnings(outcome),
        comparisons: outcome.comparisons.iter().map(|one| row(outcome, one)).collect(),
        control: outcome.control.iter().map(ComparisonRow::new).collect(),
    };
    json::write_line(&document, out)
}

fn row<'o>(outcome: &Outcome, comparison: &'o MetricComparison) -> ComparisonRow<'o> {
    let counts = if comparison.is_open_by_time() {
        outcome.counts_decided_beside(comparison)
    } else {
        Vec::new()
    };
    let counts_decided = counts.into_iter().map(MetricComparison::metric).collect();
    ComparisonRow { counts_decided, ..ComparisonRow::new(comparison) }
}

fn variant(of: &VariantSummary) -> ComparedVariant<'_> {
    ComparedVariant {
        name: &of.name,
        against: of.against.as_deref(),
        completed: of.completed,
        failed: of.failed,
        observed: of.observed,
        kernels: &of.kernels,
        filesystems: &of.filesystems,
    }
}

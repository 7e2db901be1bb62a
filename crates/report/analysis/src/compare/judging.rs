//! Comparison of the series of both variants: estimates and verdicts.

use std::error::Error;
use std::fmt;

use treering_model::metrics::{is_call_latency, is_counter};
use treering_model::{Accelerator, BetterDirection, Metric, Trial, Unit};
use treering_stats::{
    ALPHA, Comparison, ComparisonQuestion, CorrectionRole, Criteria, Direction, Finding,
    RoundsNeeded, RunPairing, Scale, StatsError, THRESHOLD_ERRORS, THRESHOLD_LATENCY_P99,
    TailComparison, compare_paired, compare_unpaired, decision_interval, decision_levels,
    judge_family, median, pair_rounds, smallest_rounds,
};

use super::caution::{ComparisonCaution, ComparisonCautionCode as Code};
use super::drift::{drifting, serial};
use super::fairness::{
    VariantView, is_equal_work, of_cautions, of_job, of_places, of_played_disks, of_variant,
    of_waiting_guests,
};
use super::fill::of_fill;
use super::jobs::{ComparedJob, jobs, title};
use super::opposite::opposite;
use super::outcome::{
    DecisionInterval, Estimate, MetricComparison, Outcome, VariantSummary, Verdict, metric_name,
};
use super::quantity;
use super::question::PendingComparison;
use super::series::{MetricSeries, metrics_of};
use super::terms::{ComparisonTerms, DEFAULT_THRESHOLD, significance_level};
use super::variant::{ComparedVariant, contrasts, fact, is_completed};
use super::within::{compare_within, imported_pair, is_paired_within};

/// Error of a comparison with values that are invalid for the statistics.
#[derive(Debug, Clone, PartialEq)]
pub struct CompareError(StatsError);

impl fmt::Display for CompareError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the trials cannot be compared: {}", self.0)
    }
}

impl Error for CompareError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&self.0)
    }
}

/// Compares each contender with its baseline: the first variant, or the variant that the contender
/// names.
///
/// # Errors
/// If the threshold of the terms is negative or not a number.
pub fn compare(
    baseline: &ComparedVariant,
    contenders: &[ComparedVariant],
    terms: &ComparisonTerms,
) -> Result<Outcome, CompareError> {
    compare_observed(baseline, contenders, &[], terms)
}

/// Compares variants and adds the results of observing rounds. `seen` holds the observed baseline
/// first, then the observed contenders, each named after its variant with the role's suffix. Only
/// observer metrics are taken from observing rounds; they form a separate family.
///
/// # Errors
/// As [`compare`].
pub fn compare_observed(
    baseline: &ComparedVariant,
    contenders: &[ComparedVariant],
    observed: &[ComparedVariant],
    terms: &ComparisonTerms,
) -> Result<Outcome, CompareError> {
    let mut outcome = judge(baseline, contenders, terms)?;
    if let Some((baseline, contenders)) = observed.split_first() {
        outcome.add_observed(observed, judge(baseline, contenders, terms)?);
    }
    let Outcome { comparisons, cautions, .. } = &mut outcome;
    cautions.extend(unmeasured_primaries(terms, comparisons));
    cautions.extend(opposite(comparisons));
    cautions.sort();
    cautions.dedup();
    Ok(outcome)
}

/// Compares variants whose metrics form one family.
fn judge(
    baseline: &ComparedVariant,
    contenders: &[ComparedVariant],
    terms: &ComparisonTerms,
) -> Result<Outcome, CompareError> {
    let contrasts = contrasts(baseline, contenders);
    let mut cautions = Vec::new();
    for variant in std::iter::once(baseline).chain(contenders) {
        let rounds = variant.rounds();
        cautions.extend(of_variant(VariantView::new(variant, &rounds)));
    }
    cautions.extend(without_baseline(baseline, contenders));
    let mut pending = Vec::new();
    for (baseline, contender) in &contrasts {
        let (base_rounds, rounds) = (baseline.rounds(), contender.rounds());
        let (base, other) =
            (VariantView::new(baseline, &base_rounds), VariantView::new(contender, &rounds));
        cautions.extend(of_cautions(base, other));
        cautions.extend(of_waiting_guests(base, other));
        cautions.extend(of_places(base, other));
        cautions.extend(of_played_disks(base, other));
        let names = (base.name, other.name);
        let (jobs, left_out) = jobs(&base_rounds, &rounds, names, contender.factor);
        cautions.extend(left_out);
        for job in &jobs {
            cautions.extend(of_job(job, names, terms));
            add_questions(job, names, terms, &mut pending, &mut cautions);
        }
    }
    let drifts = pending.iter().filter_map(|pending_one| {
        Some((&pending_one.about, pending_one.question?.comparison.drift?))
    });
    cautions.extend(drifting(drifts));
    cautions.extend(serial(pending.iter().map(|pending_one| &pending_one.about)));
    let family = pending.iter().filter(|one| one.is_primary_test()).count();
    let (level, earlier_ends) =
        significance_level(std::iter::once(baseline).chain(contenders), family);
    cautions.extend(looked_before(level, &earlier_ends));
    set_equivalence_level(level, &mut pending);
    let mut comparisons = answered(pending, level).map_err(CompareError)?;
    single_runs(&mut comparisons);
    cautions.extend(too_few_rounds(&comparisons));
    let summed = |variant: &ComparedVariant| {
        let own = contrasts.iter().find(|(_, contender)| contender.name == variant.name);
        summary(variant, own.map(|(baseline, _)| baseline.name.clone()))
    };
    let variants = std::iter::once(baseline).chain(contenders).map(summed).collect();
    let (control, accepted) = (Vec::new(), Vec::new());
    Ok(Outcome { variants, cautions, comparisons, accepted, control })
}

/// Sets the confidence of the equivalence intervals of a campaign that continued beyond its plan:
/// they use the same lowered level as the tests for a difference.
fn set_equivalence_level(level: f64, pending: &mut [PendingComparison]) {
    if level >= ALPHA {
        return;
    }
    for PendingComparison { about, question, .. } in pending {
        let Some(question) = question else { continue };
        let comparison = &mut question.comparison;
        let compare = match comparison.design {
            RunPairing::Paired => compare_paired,
            RunPairing::Unpaired => compare_unpaired,
        };
        let (base, other) = (&about.baseline_values, &about.contender_values);
        if let Ok(at_level) = compare(base, other, comparison.scale, level) {
            comparison.equivalence_interval = at_level.equivalence_interval;
        }
    }
}

/// Answers in the order of the questions: the verdict and its significance level.
type Answers = Vec<(treering_stats::Verdict, Option<f64>)>;

/// Judges the questions in two families. Counters and call latencies, which every trial has in
/// large numbers, form a separate family so that they do not weaken the others.
fn judged(asked: &[PendingComparison], alpha: f64) -> Result<Answers, StatsError> {
    let is_apart = |about: &MetricComparison| {
        !about.primary && (is_counter(&about.name) || is_call_latency(&about.name))
    };
    let questions: Vec<(bool, ComparisonQuestion)> =
        asked.iter().filter_map(|one| Some((is_apart(&one.about), one.question?))).collect();
    let family = |apart: bool| -> Result<_, StatsError> {
        let members = questions.iter().filter(|(is_apart, _)| *is_apart == apart);
        let members: Vec<ComparisonQuestion> = members.map(|(_, question)| *question).collect();
        Ok(judge_family(&members, alpha)?.into_iter().zip(levels(&members, alpha)?))
    };
    let (mut main, mut apart) = (family(false)?, family(true)?);
    let answer = |(is_apart, _): &(bool, ComparisonQuestion)| {
        if *is_apart { apart.next() } else { main.next() }
    };
    Ok(questions.iter().filter_map(answer).collect())
}

/// Judges all questions and returns the comparisons with their verdicts.
fn answered(
    pending: Vec<PendingComparison>,
    alpha: f64,
) -> Result<Vec<MetricComparison>, StatsError> {
    let mut answers = judged(&pending, alpha)?.into_iter();
    let mut comparisons: Vec<MetricComparison> = Vec::with_capacity(pending.len());
    let mut leaders: Vec<Option<usize>> = Vec::with_capacity(pending.len());
    for PendingComparison { mut about, question, leader } in pending {
        leaders.push(leader);
        if let Some((question, (verdict, level))) =
            question.and_then(|question| Some((question, answers.next()?)))
        {
            let is_decided = verdict.p_adjusted.is_some_and(|p| p < alpha);
            answer(&mut about, &verdict);
            about.decided = match level {
                Some(level) => Some(decided(&about, &question.comparison, level, is_decided)?),
                None => None,
            };
        }
        comparisons.push(about);
    }
    // Metrics of the same quantity in other units take over the verdict of their leader.
    for (place, leader) in leaders.into_iter().enumerate() {
        if let Some(verdict) = leader.and_then(|leader| comparisons.get(leader)).map(|l| l.verdict)
        {
            comparisons[place].verdict = verdict;
        }
    }
    Ok(comparisons)
}

/// Reports whether a primary count for which lower is better, such as errors, is zero in all rounds
/// of exactly one side.
fn has_errors_of_one_side(about: &MetricComparison) -> bool {
    let is_errors =
        about.primary && about.unit == Unit::Count && about.better == BetterDirection::Lower;
    let is_clean = |values: &[f64]| values.iter().all(|value| *value == 0.0);
    is_errors && is_clean(&about.baseline_values) != is_clean(&about.contender_values)
}

fn answer(about: &mut MetricComparison, verdict: &treering_stats::Verdict) {
    (about.verdict, about.rounds_needed) = match verdict.finding {
        Finding::Better => (Verdict::Better, None),
        Finding::Worse => (Verdict::Worse, None),
        Finding::Small => (Verdict::Small, None),
        Finding::Same => (Verdict::Same, None),
        Finding::Unclear { rounds_needed } => (Verdict::Unclear, rounds_needed),
        Finding::SingleRun => {
            (Verdict::SingleRun, Some(RoundsNeeded::exactly(verdict.smallest_rounds)))
        }
    };
    // Stalls or errors on one side are a difference, although they do not change the typical ratio.
    let is_alike = matches!(about.verdict, Verdict::Same | Verdict::Small);
    let has_tails = about.verdict == Verdict::Same && about.notable_tails().is_some();
    if has_tails || (is_alike && has_errors_of_one_side(about)) {
        (about.verdict, about.same_withheld) = (Verdict::Unclear, true);
    }
    about.p_adjusted = verdict.p_adjusted;
    about.smallest_rounds = verdict.smallest_rounds;
    about.too_few_to_ever_show = verdict.too_few_to_ever_show;
}

/// Significance level applied to each question; `None` where it has no p-value.
fn levels(questions: &[ComparisonQuestion], alpha: f64) -> Result<Vec<Option<f64>>, StatsError> {
    let mut levels = vec![None; questions.len()];
    for role in [CorrectionRole::Primary, CorrectionRole::Exploratory] {
        let p_of = |question: &ComparisonQuestion| {
            question.comparison.p_value.filter(|_| question.criteria.role == role)
        };
        let p: Vec<f64> = questions.iter().filter_map(p_of).collect();
        let mut family_levels = decision_levels(role, &p, alpha)?.into_iter();
        for (question, level) in questions.iter().zip(&mut levels) {
            if p_of(question).is_some() {
                *level = family_levels.next();
            }
        }
    }
    Ok(levels)
}

/// Interval that agrees with the corrected test.
fn decided(
    about: &MetricComparison,
    comparison: &Comparison,
    level: f64,
    is_decided: bool,
) -> Result<DecisionInterval, StatsError> {
    let values = (about.baseline_values.as_slice(), about.contender_values.as_slice());
    let (scale, design) = (comparison.scale, comparison.design);
    let interval = decision_interval(values, scale, design, level, is_decided)?;
    // If no bound exists at the corrected level, use the uncorrected interval, but only if it
    // includes equality and the result does not depend on the correction.
    let alone = comparison.interval.filter(|alone| {
        let none = if scale == Scale::Ratio { 1.0 } else { 0.0 };
        let is_free = about.verdict == Verdict::Same || !about.primary;
        interval.is_none() && is_free && !is_decided && alone.contains(none)
    });
    let level = if alone.is_some() { ALPHA } else { level };
    let ends = interval.or(alone).map(|interval| (interval.low, interval.high));
    Ok(DecisionInterval { level, interval: ends })
}

/// Cautions about contenders whose baseline has no trials.
fn without_baseline<'v>(
    first: &'v ComparedVariant,
    others: &'v [ComparedVariant],
) -> impl Iterator<Item = ComparisonCaution> + use<'v> {
    let is_there =
        move |name: &str| std::iter::once(first).chain(others).any(|variant| variant.name == name);
    let missing = move |variant: &'v ComparedVariant| {
        let name = variant.against.as_deref().filter(|name| !is_there(name))?;
        let message = format!("'{}' has no baseline: there is no trial of '{name}'", variant.name);
        Some(ComparisonCaution::new(Code::NothingInCommon, message))
    };
    others.iter().filter_map(missing)
}

/// Caution about requested primary metrics that no job has.
fn unmeasured_primaries(
    terms: &ComparisonTerms,
    comparisons: &[MetricComparison],
) -> Option<ComparisonCaution> {
    let is_measured =
        |name: &String| comparisons.iter().any(|comparison| comparison.metric() == *name);
    let missing: Vec<&str> =
        terms.primary.iter().filter(|name| !is_measured(name)).map(String::as_str).collect();
    let message = format!(
        "chosen as primary, but not in the trials of both variants: {}",
        missing.join(", ")
    );
    (!missing.is_empty()).then(|| ComparisonCaution::new(Code::MetricMissing, message))
}

/// Compares two imported runs operation by operation, or row by row of their tables. Metrics of the
/// whole run that these pairs cover are left out.
fn add_questions_within(
    job: &ComparedJob<'_>,
    names: (&str, &str),
    (base, other): (&mut Vec<Vec<Metric>>, &mut Vec<Vec<Metric>>),
    pending: &mut Vec<PendingComparison>,
    cautions: &mut Vec<ComparisonCaution>,
) {
    let Some(runs) = imported_pair(job) else { return };
    let sides = format!("{} of '{}' against '{}'", job.workload, names.1, names.0);
    cautions.extend(of_fill(&sides, names, runs));
    let (within, unpaired) = compare_within(job, names, runs);
    if !unpaired.is_empty() {
        let message = format!("{sides}: not in pairs: {}", unpaired.join("; "));
        cautions.push(ComparisonCaution::new(Code::UnequalWork, message));
    }
    if !within.is_empty() {
        for metrics in base.iter_mut().chain(other) {
            metrics.retain(|metric| !is_paired_within(metric));
        }
    }
    pending.extend(within.into_iter().map(|about| PendingComparison {
        about,
        question: None,
        leader: None,
    }));
}

/// Adds the questions of a job: one for each metric that both variants have.
fn add_questions(
    job: &ComparedJob<'_>,
    names: (&str, &str),
    terms: &ComparisonTerms,
    pending: &mut Vec<PendingComparison>,
    cautions: &mut Vec<ComparisonCaution>,
) {
    let metrics = |trials: &[&Trial]| -> Vec<Vec<Metric>> {
        trials.iter().map(|trial| metrics_of(trial)).collect()
    };
    let (mut base, mut other) = (metrics(&job.rounds.baseline), metrics(&job.rounds.contender));
    if base.iter().all(Vec::is_empty) || other.iter().all(Vec::is_empty) {
        return;
    }
    let first = pending.len();
    add_questions_within(job, names, (&mut base, &mut other), pending, cautions);
    let (base, other) = (MetricSeries::new(&base), MetricSeries::new(&other));
    let mut missing = Vec::new();
    let decides = |metric: &Metric| {
        terms.is_primary(&metric_name(&metric.scope, &metric.name), metric.primary)
    };
    for &metric in &base.kinds {
        let values = (base.values(metric), other.values(metric));
        // A metric that either tool declares as its result is primary, even if the other tool has a
        // better one.
        let is_primary = decides(metric) || other.get(metric).is_some_and(decides);
        let metric = &metric.clone().primary_if(is_primary);
        match question(job, names, metric, values, terms.threshold) {
            Some(asked) => pending.push(asked),
            None if metric.primary => missing.push(metric_name(&metric.scope, &metric.name)),
            None => {}
        }
    }
    let only_there = other.kinds.iter().filter(|metric| decides(metric) && !base.has(metric));
    missing.extend(only_there.map(|metric| metric_name(&metric.scope, &metric.name)));
    let trials: Vec<&Trial> =
        job.rounds.baseline.iter().chain(&job.rounds.contender).copied().collect();
    quantity::merge_units(&mut pending[first..], first, &trials);
    let equal_work = is_equal_work(job);
    pending[first..].iter_mut().for_each(|one| one.about.equal_work = equal_work);
    let sides = format!("{} of '{}' against '{}'", job.workload, names.1, names.0);
    if !missing.is_empty() {
        let message = format!("{sides}: not on both variants: {}", missing.join(", "));
        cautions.push(ComparisonCaution::new(Code::MetricMissing, message));
    }
}

/// Builds the question about one metric; `None` when the contender has no such metric.
fn question(
    job: &ComparedJob<'_>,
    names: (&str, &str),
    metric: &Metric,
    (base, other): (Vec<Option<f64>>, Vec<Option<f64>>),
    threshold: Option<f64>,
) -> Option<PendingComparison> {
    let paired = job.rounds.paired;
    let (base, other, rounds) = compared_values(job, base, other);
    let values = || base.iter().chain(&other);
    if !metric.primary && values().all(|value| *value == 0.0) {
        return None; // no work of this kind was done
    }
    let positive = values().all(|value| *value > 0.0);
    let scale = if positive { Scale::Ratio } else { Scale::Difference };
    let compare = if paired { compare_paired } else { compare_unpaired };
    let comparison = compare(&base, &other, scale, ALPHA).ok()?;
    let (baseline_median, contender_median) = (median(&base).ok()?, median(&other).ok()?);
    let threshold = threshold.unwrap_or_else(|| default_threshold(metric));
    let effect_threshold = match scale {
        Scale::Ratio => threshold,
        // The threshold is symmetric in the variants, so the verdict does not depend on the choice
        // of the baseline.
        Scale::Difference => threshold * baseline_median.abs().max(contender_median.abs()),
    };
    let direction = direction(metric.better);
    let role = if metric.primary { CorrectionRole::Primary } else { CorrectionRole::Exploratory };
    let estimate = estimate(&comparison);
    let tails = TailComparison::new((&base, &other), comparison.design, direction).ok().flatten();
    let about = MetricComparison {
        workload: job.workload.to_owned(),
        mode: job.mode,
        job: job.name.clone(),
        title: title(job),
        name: metric.name.clone(),
        scope: metric.scope.clone(),
        unit: metric.unit,
        better: metric.better,
        baseline: names.0.to_owned(),
        contender: names.1.to_owned(),
        paired,
        within_one_run: false,
        observed: false,
        equal_work: false,
        rounds,
        baseline_values: base,
        contender_values: other,
        baseline_median,
        contender_median,
        ratio: (scale == Scale::Ratio).then_some(estimate),
        difference: (scale == Scale::Difference).then_some(estimate),
        p: comparison.p_value,
        decided: None,
        same_as: None,
        p_adjusted: None,
        primary: metric.primary,
        threshold,
        few_rounds: comparison.few_rounds && !comparison.is_single_run(),
        smallest_rounds: 0,
        too_few_to_ever_show: false,
        verdict: Verdict::Unclear,
        tails,
        same_withheld: false,
        rounds_needed: None,
    };
    let criteria = Criteria { direction, role, effect_threshold };
    let question = Some(ComparisonQuestion { comparison, criteria });
    Some(PendingComparison { about, question, leader: None })
}

/// Values of the baseline and the contender to compare, with their round numbers; in pairs, if
/// rounds are paired.
fn compared_values(
    job: &ComparedJob<'_>,
    base: Vec<Option<f64>>,
    other: Vec<Option<f64>>,
) -> (Vec<f64>, Vec<f64>, Vec<u32>) {
    if !job.rounds.paired {
        let known = |values: Vec<Option<f64>>| values.into_iter().flatten().collect();
        return (known(base), known(other), Vec::new());
    }
    let pairs = pair_rounds(&base, &other);
    let number = |place: &usize| job.rounds.numbers.get(*place).copied();
    let rounds: Vec<u32> = pairs.rounds.iter().filter_map(number).collect();
    (pairs.base, pairs.variant, rounds)
}

const fn direction(better: BetterDirection) -> Direction {
    match better {
        BetterDirection::Higher => Direction::HigherIsBetter,
        BetterDirection::Lower => Direction::LowerIsBetter,
    }
}

fn estimate(comparison: &Comparison) -> Estimate {
    let interval = comparison.interval.map(|interval| (interval.low, interval.high));
    Estimate { value: comparison.estimate, interval }
}

/// Default threshold of a metric, derived from its name.
fn default_threshold(metric: &Metric) -> f64 {
    let says = |word: &str| metric.name.split('_').any(|part| part == word);
    if says("errors") {
        THRESHOLD_ERRORS
    } else if says("p99") || says("p999") {
        THRESHOLD_LATENCY_P99
    } else {
        DEFAULT_THRESHOLD
    }
}

/// Caution about a campaign that continued after looks at its results, after these numbers of
/// rounds.
fn looked_before(level: f64, earlier_ends: &[u32]) -> Option<ComparisonCaution> {
    let rounds: Vec<String> = earlier_ends.iter().map(u32::to_string).collect();
    let message = format!(
        "the plan had ended after {} rounds and then went on: a difference now needs p below \
         {level:.3}, so that all looks together raise few false alarms",
        rounds.join(" and ")
    );
    (!earlier_ends.is_empty()).then(|| ComparisonCaution::new(Code::LookedBefore, message))
}

/// Sets the number of rounds that primary metrics of single runs need. They have no p-value and
/// belong to no family yet, but would be judged together after further rounds.
fn single_runs(comparisons: &mut [MetricComparison]) {
    let is_question = |c: &&MetricComparison| c.primary && !c.within_one_run && c.same_as.is_none();
    let questions = comparisons.iter().filter(is_question).count();
    let smallest = u32::try_from(questions).ok().and_then(|n| smallest_rounds(n, ALPHA).ok());
    let Some(smallest) = smallest else { return };
    for single in comparisons.iter_mut().filter(|c| c.primary && c.verdict == Verdict::SingleRun) {
        single.smallest_rounds = single.smallest_rounds.max(smallest);
        single.rounds_needed = Some(RoundsNeeded::exactly(single.smallest_rounds));
    }
}

/// Cautions, one per contender, about primary metrics that cannot become significant with this
/// number of rounds.
fn too_few_rounds(comparisons: &[MetricComparison]) -> Vec<ComparisonCaution> {
    let few = comparisons.iter().filter(|c| c.primary && c.too_few_to_ever_show);
    let family = comparisons.iter().filter(|c| c.primary).count();
    let message = |comparison: &MetricComparison| {
        let shortage = match (comparison.paired, comparison.runs()) {
            (true, 1) => "round",
            (true, _) => "rounds",
            (false, 1) => "trial a variant",
            (false, _) => "trials a variant",
        };
        format!(
            "'{}' against '{}': {} {shortage}; {} are the fewest that could show any difference among \
             {family} primary comparisons",
            comparison.contender,
            comparison.baseline,
            comparison.runs(),
            comparison.smallest_rounds
        )
    };
    few.map(|comparison| ComparisonCaution::new(Code::TooFewRounds, message(comparison))).collect()
}

fn summary(variant: &ComparedVariant, against: Option<String>) -> VariantSummary {
    let completed = variant.trials.iter().filter(|trial| is_completed(trial)).count();
    let facts = |name: &str| {
        let mut values: Vec<String> = variant
            .trials
            .iter()
            .filter_map(|trial| fact(trial, name))
            .map(str::to_owned)
            .collect();
        values.sort();
        values.dedup();
        values
    };
    VariantSummary {
        name: variant.name.clone(),
        against,
        completed,
        failed: variant.trials.len() - completed,
        observed: 0,
        is_of_plan: variant.trials.iter().all(|trial| trial.beginning.cell.is_some()),
        kernels: facts("kernel.release"),
        filesystems: facts("filesystem.type"),
        accelerators: facts(Accelerator::FACT),
    }
}

//! Fairness checks, made before any number is compared.

mod facts;
mod measured;
mod mixed;
mod one_sided;
mod order;
mod places;
mod played;
mod settings;
mod values;

use std::collections::{BTreeMap, BTreeSet};

use treering_model::metrics::is_count_of_work;
use treering_model::{CautionCode, PhaseTotals, STEP_FACT, Trial, WorkLimit, counted};
use treering_stats::median;

use super::caution::{ComparisonCaution, ComparisonCautionCode as Code};
use super::jobs::{ComparedJob, changed_job};
use super::pairs::AlignedTrials;
use super::terms::ComparisonTerms;
use super::variant::{ComparedVariant, Factor, fact, is_completed};
pub use facts::COMPARED_FACTS;
use facts::FACTS;
use measured::{SHORT_SECONDS, too_short};
pub(super) use one_sided::{of_cautions, of_waiting_guests};
use order::{interleaving_fault, one_sided_order};
pub(super) use places::of_places;
use places::{VariantFacts, is_declared};
pub(super) use played::of_played_disks;
pub(super) use values::without_directories;

/// View of a variant for the fairness checks.
#[derive(Clone, Copy)]
pub(super) struct VariantView<'t> {
    pub(super) name: &'t str,
    pub(super) factor: Factor,
    pub(super) rounds: &'t [&'t Trial],
}

impl<'t> VariantView<'t> {
    /// Creates the view from a variant and its trials in time order.
    pub(super) fn new(variant: &'t ComparedVariant, rounds: &'t [&'t Trial]) -> Self {
        Self { name: &variant.name, factor: variant.factor, rounds }
    }
}

/// Cautions about a single variant.
pub(super) fn of_variant(variant: VariantView<'_>) -> Vec<ComparisonCaution> {
    let mut cautions = Vec::new();
    let failed: Vec<&&Trial> = variant.rounds.iter().filter(|trial| !is_completed(trial)).collect();
    if let Some(first) = failed.first() {
        let why = match first.ending.why() {
            "" => String::new(),
            why => format!(": {why}"),
        };
        let message = format!(
            "{} of {} of '{}' did not complete; the first is {} ({}{why})",
            failed.len(),
            counted(variant.rounds.len(), "trial"),
            variant.name,
            first.beginning.trial,
            first.ending.name()
        );
        cautions.push(ComparisonCaution::new(Code::FailedTrial, message));
    }
    let mut mixed: Vec<String> = Vec::new();
    let place = VariantFacts::new(variant);
    for (name, code, compared) in FACTS {
        let values = place.values(name);
        let is_told = place.is_told_by_guest(name);
        if compared.is_mixed(&values) && !is_told && !is_declared(variant.factor, code) {
            mixed.push(format!("{name} ({})", listed(&values)));
        }
    }
    mixed.extend(mixed::mixed(&place));
    let cells = variant.rounds.iter().filter_map(|trial| trial.beginning.cell.as_ref());
    let plans: BTreeSet<&str> = cells.map(|cell| cell.digest.as_str()).collect();
    if plans.len() > 1 {
        mixed.push(format!("the plan that they are of ({} plans)", plans.len()));
    }
    let beginning = format!("the trials of '{}' differ in ", variant.name);
    cautions.extend(of_list(Code::MixedSide, beginning, &mixed));
    let mut counts: BTreeMap<CautionCode, usize> = BTreeMap::new();
    for trial in variant.rounds {
        // Emulation is told once, above the verdict.
        let codes = trial.cautions.iter().map(|caution| caution.code);
        let codes: BTreeSet<CautionCode> =
            codes.filter(|code| *code != CautionCode::Emulated).collect();
        for code in codes {
            *counts.entry(code).or_default() += 1;
        }
    }
    let messages: Vec<String> =
        counts.iter().map(|(code, count)| format!("{} ({count})", code.name())).collect();
    let beginning = match variant.rounds.len() {
        1 => format!("the trial of '{}' carries cautions: ", variant.name),
        count => {
            let all = counts.values().any(|of_code| *of_code == count);
            let share = if all { "the" } else { "some of the" };
            format!("{share} {count} trials of '{}' carry cautions: ", variant.name)
        }
    };
    cautions.extend(of_list(Code::TrialCautions, beginning, &messages));
    cautions
}

/// Cautions about a job: unequal work, unpaired rounds, no interleaving.
pub(super) fn of_job(
    job: &ComparedJob<'_>,
    names: (&str, &str),
    terms: &ComparisonTerms,
) -> Vec<ComparisonCaution> {
    let rounds = &job.rounds;
    let label = if job.name.is_empty() {
        job.workload.to_owned()
    } else {
        format!("{} {}", job.workload, job.name)
    };
    let (baseline, contender) = (completed(&rounds.baseline), completed(&rounds.contender));
    let mut cautions = Vec::new();
    if baseline.is_empty() || contender.is_empty() {
        let variant = if baseline.is_empty() { names.0 } else { names.1 };
        let message = format!("{label}: no trial of '{variant}' completed");
        cautions.push(ComparisonCaution::new(Code::NothingInCommon, message));
        return cautions;
    }
    // Amounts of work are comparable only if both trials of a pair completed.
    let mut unequal = unequal_work(&baseline, &contender);
    unequal.extend(timed_counts(&baseline, &contender, terms));
    let beginning = format!("{label}: a trial of '{}' against one of '{}': ", names.0, names.1);
    // Options that a variant changes in the plan may change the amount of work.
    let is_declared = baseline.iter().chain(&contender).any(|trial| changed_job(trial).is_some());
    let unequal = of_list(Code::UnequalWork, beginning, &unequal);
    cautions.extend(unequal.map(|caution| caution.declared_if(is_declared)));
    let short = too_short(&baseline, &contender, terms);
    let beginning = format!(
        "{label}, '{}' against '{}': measured for less than {SHORT_SECONDS:.0} s a trial: ",
        names.1, names.0
    );
    cautions.extend(of_list(Code::TooShort, beginning, &short));
    let several = baseline.len() > 1 || contender.len() > 1;
    if !rounds.paired && several {
        let message = format!(
            "{label}: {} and {} trials are compared as two independent samples",
            baseline.len(),
            contender.len()
        );
        cautions.push(ComparisonCaution::new(Code::Unpaired, message));
    }
    if rounds.left_out != [0, 0] {
        let [base, other] = rounds.left_out;
        let message = format!(
            "{label}: {base} trials of '{}' and {other} of '{}' have no partner near in time and \
             are left out",
            names.0, names.1
        );
        cautions.push(ComparisonCaution::new(Code::Unpaired, message));
    }
    cautions.extend(of_order(rounds, names, &label));
    cautions
}

/// Caution about variants that did not interleave, or that always ran in the same order.
fn of_order(
    rounds: &AlignedTrials<'_>,
    names: (&str, &str),
    label: &str,
) -> Option<ComparisonCaution> {
    let (baseline, contender) = (completed(&rounds.baseline), completed(&rounds.contender));
    if baseline.len() > 1
        && contender.len() > 1
        && let Some(why) = interleaving_fault(&baseline, &contender, names)
    {
        let message = format!("{label}: {why}");
        return Some(ComparisonCaution::new(Code::NotInterleaved, message));
    }
    let pairs = rounds.baseline.iter().copied().zip(rounds.contender.iter().copied());
    let pairs = pairs.filter(|(base, other)| is_completed(base) && is_completed(other));
    let (baseline, contender): (Vec<&Trial>, Vec<&Trial>) = pairs.unzip();
    // Steps on one filesystem have a fixed order.
    let are_steps = baseline.iter().chain(&contender).all(|trial| fact(trial, STEP_FACT).is_some());
    if are_steps {
        return None;
    }
    if !rounds.paired {
        return None;
    }
    let order = one_sided_order(&baseline, &contender, names)?;
    let share = match baseline.len() {
        all if all == order.rounds => format!("each of {all}"),
        all => format!("{} of {all}", order.rounds),
    };
    let message =
        format!("{label}: in {share} rounds '{}' ran before '{}'", order.first, order.second);
    Some(ComparisonCaution::new(Code::OrderNeverChanges, message))
}

/// Caution that lists items after the text `about`; `None` when the list is empty.
fn of_list(code: Code, about: String, listed: &[String]) -> Option<ComparisonCaution> {
    let message = about + &listed.join(", ");
    (!listed.is_empty()).then(|| ComparisonCaution::new(code, message))
}

fn completed<'t>(trials: &[&'t Trial]) -> Vec<&'t Trial> {
    trials.iter().copied().filter(|trial| is_completed(trial)).collect()
}

/// Tolerated difference of randomly drawn work, as a share of the larger variant's.
const DRAWN_SLACK: f64 = 0.02;

/// Reports whether the trials of both variants did the same work and none was ended by a time
/// limit.
pub(super) fn is_equal_work(job: &ComparedJob<'_>) -> bool {
    let (baseline, contender) = (completed(&job.rounds.baseline), completed(&job.rounds.contender));
    let mut trials = baseline.iter().chain(&contender);
    trials.all(|trial| work_of(trial) != WorkLimit::Timed)
        && unequal_work(&baseline, &contender).is_empty()
}
/// Name of the workload that runs any program.
const COMMAND: &str = "command";

/// Describes differences between the median trials of both variants in the amount of work.
fn unequal_work(baseline: &[&Trial], contender: &[&Trial]) -> Vec<String> {
    type TrialAmount = fn(&Trial) -> u64;
    let kinds: [(&str, TrialAmount); 3] = [
        ("files", |trial| working_phases(trial).map(|phase| phase.files).sum()),
        ("bytes", |trial| working_phases(trial).map(|phase| phase.bytes).sum()),
        ("operations", operations),
    ];
    let work = baseline.iter().chain(contender).map(|trial| work_of(trial)).next();
    let slack = match work {
        Some(WorkLimit::Named) => return unequal_named_work(baseline, contender),
        // In a timed run, the amount of work is the result.
        Some(WorkLimit::Timed) => return Vec::new(),
        Some(WorkLimit::Drawn) => DRAWN_SLACK,
        Some(WorkLimit::Fixed) | None => 0.0,
    };
    let mut differences = Vec::new();
    for (name, amount) in kinds {
        // Bytes that the kernel charges to a command include metadata written by the filesystem.
        if name == "bytes" && baseline.iter().any(|trial| trial.beginning.workload == COMMAND) {
            continue;
        }
        let median_amount = |trials: &[&Trial]| {
            let amounts: Vec<f64> = trials.iter().map(|trial| amount(trial) as f64).collect();
            median(&amounts).unwrap_or_default()
        };
        let (left, right) = (median_amount(baseline), median_amount(contender));
        if (left - right).abs() > left.max(right) * slack {
            differences.push(format!("{left} and {right} {name}"));
        }
    }
    differences
}

/// Describes primary counts of jobs that end by time, if one side did more in it: whoever does more
/// also writes more.
fn timed_counts(
    baseline: &[&Trial],
    contender: &[&Trial],
    terms: &ComparisonTerms,
) -> Option<String> {
    let mut trials = baseline.iter().chain(contender);
    if !trials.any(|trial| work_of(trial) == WorkLimit::Timed) {
        return None;
    }
    let name = |full: &String| full.rsplit('/').next().unwrap_or_default().to_owned();
    let counts: Vec<String> =
        terms.primary.iter().map(name).filter(|name| is_count_of_work(name)).collect();
    let done = |trials: &[&Trial]| {
        let bytes: Vec<f64> = trials
            .iter()
            .map(|trial| working_phases(trial).map(|phase| phase.bytes).sum::<u64>() as f64)
            .collect();
        median(&bytes).unwrap_or_default()
    };
    let (left, right) = (done(baseline), done(contender));
    let is_unequal = (left - right).abs() > left.max(right) * DRAWN_SLACK;
    (is_unequal && !counts.is_empty()).then(|| {
        format!(
            "{left} and {right} bytes until time ended the job, whose {} is judged",
            counts.join(", ")
        )
    })
}

/// Describes differences between the median trials of both variants in the metrics that the user
/// named as work. Bytes that the kernel charged to a program are a result, not work.
fn unequal_named_work(baseline: &[&Trial], contender: &[&Trial]) -> Vec<String> {
    let named: BTreeSet<&str> = (baseline.iter().chain(contender))
        .filter_map(|trial| fact(trial, WorkLimit::METRICS_FACT))
        .flat_map(|names| names.split(','))
        .collect();
    let median_of = |trials: &[&Trial], name: &str| {
        let metrics = trials.iter().flat_map(|trial| &trial.metrics);
        let own = metrics.filter(|metric| metric.name == name).map(|metric| metric.value);
        median(&own.collect::<Vec<f64>>()).ok()
    };
    let difference = |name: &&str| {
        let (left, right) = (median_of(baseline, name)?, median_of(contender, name)?);
        let is_unequal = (left - right).abs() > left.abs().max(right.abs()) * DRAWN_SLACK;
        is_unequal.then(|| format!("{left} and {right} {name}"))
    };
    named.iter().filter_map(difference).collect()
}

/// Workload whose bytes are those charged by the kernel, even in trials that do not record it.
const PROGRAMS: &str = "command";

/// Determines what limits the amount of work of a trial.
fn work_of(trial: &Trial) -> WorkLimit {
    if trial.beginning.workload == PROGRAMS {
        return WorkLimit::Named;
    }
    fact(trial, WorkLimit::FACT).map_or(WorkLimit::Fixed, WorkLimit::from_name)
}

/// Phase in which a job lays out its files, which is preparation and no work of the job: one may
/// write them and another only allocate them.
const LAYOUT_PHASE: &str = "setup";

/// Phases in which a trial did its work; all of them if it has no others.
fn working_phases(trial: &Trial) -> impl Iterator<Item = &PhaseTotals> {
    let has_others = trial.phases.iter().any(|phase| phase.name != LAYOUT_PHASE);
    trial.phases.iter().filter(move |phase| !has_others || phase.name != LAYOUT_PHASE)
}

/// Number of operations of a trial: tasks of its phases, or tasks summarised by its metrics.
fn operations(trial: &Trial) -> u64 {
    let of_phases: u64 = working_phases(trial).map(|phase| u64::from(phase.tasks)).sum();
    let of_metrics = || trial.metrics.iter().map(|metric| metric.tasks).sum();
    if of_phases > 0 { of_phases } else { of_metrics() }
}

fn listed(values: &BTreeSet<&str>) -> String {
    values.iter().copied().collect::<Vec<_>>().join(", ")
}

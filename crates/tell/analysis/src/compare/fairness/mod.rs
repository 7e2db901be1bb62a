//! Whether a comparison is fair: what is looked at before any number is.

mod places;

use std::collections::{BTreeMap, BTreeSet};

use treering_model::{CautionCode, Metric, Scope, Trial, Work};
use treering_stats::median;

use super::caution::{ComparisonCaution, ComparisonCautionCode as Code};
use super::jobs::Job;
use super::outcome::metric_name;
use super::side::{Factor, fact, is_completed};
pub use places::COMPARED_FACTS;
pub(super) use places::of_places;
use places::{FACTS, Place, is_declared};

/// In less measured time than this one write-back of the kernel, or one commit of a journal, which
/// come every five seconds, weighs as much as the work.
const SHORT_SECONDS: f64 = 1.0;

/// A side as fairness sees it.
#[derive(Clone, Copy)]
pub(super) struct Seen<'t> {
    pub(super) name: &'t str,
    pub(super) factor: Factor,
    pub(super) rounds: &'t [&'t Trial],
}

/// What is wrong with one side by itself.
pub(super) fn of_side(side: Seen<'_>) -> Vec<ComparisonCaution> {
    let mut cautions = Vec::new();
    let failed: Vec<&&Trial> = side.rounds.iter().filter(|trial| !is_completed(trial)).collect();
    if let Some(first) = failed.first() {
        let why = match first.ending.why() {
            "" => String::new(),
            why => format!(": {why}"),
        };
        let message = format!(
            "{} of {} trials of '{}' did not complete; the first is {} ({}{why})",
            failed.len(),
            side.rounds.len(),
            side.name,
            first.beginning.trial,
            first.ending.name()
        );
        cautions.push(ComparisonCaution::new(Code::FailedTrial, message));
    }
    let mut mixed: Vec<String> = Vec::new();
    let place = Place::of(side);
    for (name, code, _) in FACTS {
        let values = place.values(name);
        if values.len() > 1 && !is_declared(side.factor, code) {
            mixed.push(format!("{name} ({})", listed(&values)));
        }
    }
    let about = format!("the trials of '{}' differ in ", side.name);
    cautions.extend(of_list(Code::MixedSide, about, &mixed));
    let mut doubts: BTreeMap<CautionCode, usize> = BTreeMap::new();
    for trial in side.rounds {
        let codes: BTreeSet<CautionCode> = trial.cautions.iter().map(|c| c.code).collect();
        for code in codes {
            *doubts.entry(code).or_default() += 1;
        }
    }
    let said: Vec<String> =
        doubts.iter().map(|(code, count)| format!("{} ({count})", code.name())).collect();
    let about = format!("of {} trials of '{}' some carry cautions: ", side.rounds.len(), side.name);
    cautions.extend(of_list(Code::TrialCautions, about, &said));
    cautions
}

/// What is wrong with a job: unequal work, no pairs, no turns.
pub(super) fn of_job(job: &Job<'_>, names: (&str, &str)) -> Vec<ComparisonCaution> {
    let rounds = &job.rounds;
    let what = if job.name.is_empty() {
        job.workload.to_owned()
    } else {
        format!("{} {}", job.workload, job.name)
    };
    let (baseline, contender) = (completed(&rounds.baseline), completed(&rounds.contender));
    let mut cautions = Vec::new();
    if baseline.is_empty() || contender.is_empty() {
        let side = if baseline.is_empty() { names.0 } else { names.1 };
        let message = format!("{what}: no trial of '{side}' completed");
        cautions.push(ComparisonCaution::new(Code::NothingInCommon, message));
        return cautions;
    }
    // Only pairs of which both completed can be held against each other one by one.
    let unequal = unequal_work(&baseline, &contender);
    let about = format!("{what}: a trial of '{}' against one of '{}': ", names.0, names.1);
    cautions.extend(of_list(Code::UnequalWork, about, &unequal));
    let short = too_short(&baseline, &contender);
    let about = format!(
        "{what}, '{}' against '{}': measured for less than {SHORT_SECONDS:.0} s a trial: ",
        names.1, names.0
    );
    cautions.extend(of_list(Code::TooShort, about, &short));
    let several = baseline.len() > 1 || contender.len() > 1;
    if !rounds.paired && several {
        let message = format!(
            "{what}: {} and {} trials are compared as two unrelated sets",
            baseline.len(),
            contender.len()
        );
        cautions.push(ComparisonCaution::new(Code::Unpaired, message));
    }
    if baseline.len() > 1 && contender.len() > 1 && !take_turns(&baseline, &contender) {
        let message = format!("{what}: all trials of one side were run before those of the other");
        cautions.push(ComparisonCaution::new(Code::NotInterleaved, message));
    }
    cautions
}

/// A doubt about all that is listed behind these words; none where nothing is.
fn of_list(code: Code, about: String, listed: &[String]) -> Option<ComparisonCaution> {
    let message = about + &listed.join(", ");
    (!listed.is_empty()).then(|| ComparisonCaution::new(code, message))
}

fn completed<'t>(trials: &[&'t Trial]) -> Vec<&'t Trial> {
    trials.iter().copied().filter(|trial| is_completed(trial)).collect()
}

/// By so much of the larger side, work may differ that draws decide.
const DRAWN_SLACK: f64 = 0.02;

/// Work by which a median trial of one side differs from one of the other, in words.
fn unequal_work(baseline: &[&Trial], contender: &[&Trial]) -> Vec<String> {
    type Amount = fn(&Trial) -> u64;
    let kinds: [(&str, Amount); 3] = [
        ("files", |trial| trial.phases.iter().map(|phase| phase.files).sum()),
        ("bytes", |trial| trial.phases.iter().map(|phase| phase.bytes).sum()),
        ("operations", operations),
    ];
    let slack = match baseline.iter().chain(contender).map(|trial| work_of(trial)).next() {
        // How much is done is what is compared.
        Some(Work::Timed) => return Vec::new(),
        Some(Work::Drawn) => DRAWN_SLACK,
        Some(Work::Fixed) | None => 0.0,
    };
    let mut said = Vec::new();
    for (name, amount) in kinds {
        let of = |trials: &[&Trial]| {
            let amounts: Vec<f64> = trials.iter().map(|trial| amount(trial) as f64).collect();
            median(&amounts).unwrap_or_default()
        };
        let (left, right) = (of(baseline), of(contender));
        if (left - right).abs() > left.max(right) * slack {
            said.push(format!("{left} and {right} {name}"));
        }
    }
    said
}

/// What decides how much a trial does.
fn work_of(trial: &Trial) -> Work {
    fact(trial, Work::FACT).map_or(Work::Fixed, Work::from_name)
}

/// Operations of a trial: the tasks of its phases, or those its metrics are made of.
fn operations(trial: &Trial) -> u64 {
    let of_phases: u64 = trial.phases.iter().map(|phase| u64::from(phase.tasks)).sum();
    let of_metrics = || trial.metrics.iter().map(|metric| metric.tasks).sum();
    if of_phases > 0 { of_phases } else { of_metrics() }
}

/// Whether the sides were run in turns, at least once.
fn take_turns(baseline: &[&Trial], contender: &[&Trial]) -> bool {
    let started = |trial: &&Trial| trial.beginning.started_unix_ms;
    let ends = |trials: &[&Trial]| {
        let times = trials.iter().map(started);
        (times.clone().min().unwrap_or(0), times.max().unwrap_or(0))
    };
    let (left, right) = (ends(baseline), ends(contender));
    left.0 <= right.1 && right.0 <= left.1
}

/// Primary metrics that were measured for so short a time that it says little, in words: how long
/// in the median trial of the side that took less.
fn too_short(baseline: &[&Trial], contender: &[&Trial]) -> Vec<String> {
    let Some(first) = baseline.first() else { return Vec::new() };
    let primary = first.metrics.iter().filter(|metric| metric.primary && metric.value > 0.0);
    let short = primary.filter_map(|metric| {
        let median_of = |trials: &[&Trial]| {
            let all = trials.iter().filter_map(|trial| measured_seconds(trial, &metric.scope));
            median(&all.collect::<Vec<f64>>()).ok()
        };
        let seconds = median_of(baseline)?.min(median_of(contender)?);
        let name = metric_name(&metric.scope, &metric.name);
        (seconds < SHORT_SECONDS).then(|| format!("{name} {seconds:.2} s"))
    });
    short.collect()
}

/// How long all operations of a part took together; `None` where the trial does not say.
fn measured_seconds(trial: &Trial, scope: &Scope) -> Option<f64> {
    match scope {
        Scope::Trial => (trial.wall_ns > 0).then_some(trial.wall_ns as f64 / 1e9),
        Scope::Phase(name) => {
            let phases = trial.phases.iter().filter(|phase| phase.name == *name);
            let all: u64 = phases.map(|phase| phase.wall_ns).sum();
            (all > 0).then_some(all as f64 / 1e9)
        }
        Scope::Kind(_) => {
            let is_mean = |one: &&Metric| one.scope == *scope && one.name == "seconds";
            let mean = trial.metrics.iter().find(is_mean)?;
            Some(mean.value * mean.tasks as f64)
        }
    }
}

fn listed(values: &BTreeSet<&str>) -> String {
    values.iter().copied().collect::<Vec<_>>().join(", ")
}

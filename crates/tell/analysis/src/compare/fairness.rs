//! Whether a comparison is fair: what is looked at before any number is.

use std::collections::{BTreeMap, BTreeSet};

use treering_model::{CautionCode, Trial};
use treering_stats::median;

use super::caution::{ComparisonCaution, ComparisonCautionCode as Code};
use super::fill::{FILES_FACT, GROWTH_FACT, USED_FACT};
use super::jobs::Job;
use super::side::{Factor, fact, is_completed};
use super::terms::LEVEL_FACT;
use super::within::IMPORT_FACT;

/// Facts that should be alike on both sides, and the doubt when they are not.
const FACTS: [(&str, Code); 10] = [
    ("kernel.release", Code::KernelsDiffer),
    ("filesystem.type", Code::FilesystemsDiffer),
    ("cpu.model", Code::MachinesDiffer),
    ("cpu.count", Code::MachinesDiffer),
    ("memory.bytes", Code::MachinesDiffer),
    ("machine.architecture", Code::MachinesDiffer),
    ("device.model", Code::DevicesDiffer),
    ("device.rotational", Code::DevicesDiffer),
    ("device.scheduler", Code::DevicesDiffer),
    ("device.logical_block_bytes", Code::DevicesDiffer),
];

/// Of the devices, where we made the filesystem; otherwise what the filesystem says of itself.
const DEVICE_BYTES: &str = "variant.device_bytes";
const CAPACITY: &str = "filesystem.capacity_bytes";
const TYPE: &str = "filesystem.type";
const OPTIONS: [&str; 2] = ["filesystem.mount_options", "filesystem.super_options"];

/// The facts of a trial that a comparison looks at; the others need not be read for it.
pub const COMPARED_FACTS: [&str; FACTS.len() + 9] = {
    let mut names = [CAPACITY; FACTS.len() + 9];
    let mut place = 0;
    while place < FACTS.len() {
        names[place] = FACTS[place].0;
        place += 1;
    }
    names[place] = OPTIONS[0];
    names[place + 1] = OPTIONS[1];
    names[place + 2] = LEVEL_FACT;
    names[place + 3] = DEVICE_BYTES;
    names[place + 4] = IMPORT_FACT;
    names[place + 5] = USED_FACT;
    names[place + 6] = GROWTH_FACT;
    names[place + 7] = FILES_FACT;
    names
};

/// Filesystems keep some of their room for themselves, each its own share: only sizes further
/// apart than this are of different devices.
const SIZE_TOLERANCE: f64 = 0.05;

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
    for (name, code) in FACTS {
        let values = values(side, name);
        if values.len() > 1 && !is_declared(side.factor, code) {
            mixed.push(format!("{name} ({})", listed(&values)));
        }
    }
    if !mixed.is_empty() {
        let message = format!("the trials of '{}' differ in {}", side.name, mixed.join(", "));
        cautions.push(ComparisonCaution::new(Code::MixedSide, message));
    }
    let mut doubts: BTreeMap<CautionCode, usize> = BTreeMap::new();
    for trial in side.rounds {
        let codes: BTreeSet<CautionCode> = trial.cautions.iter().map(|c| c.code).collect();
        for code in codes {
            *doubts.entry(code).or_default() += 1;
        }
    }
    if !doubts.is_empty() {
        let said: Vec<String> =
            doubts.iter().map(|(code, count)| format!("{} ({count})", code.name())).collect();
        let (all, said) = (side.rounds.len(), said.join(", "));
        let message = format!("of {all} trials of '{}' some carry cautions: {said}", side.name);
        cautions.push(ComparisonCaution::new(Code::TrialCautions, message));
    }
    cautions
}

/// What differs between the sides beyond what was declared.
pub(super) fn of_places(baseline: Seen<'_>, contender: Seen<'_>) -> Vec<ComparisonCaution> {
    let mut differing: BTreeMap<Code, Vec<String>> = BTreeMap::new();
    let mut note = |code: Code, name: &str, left: &str, right: &str| {
        let said = format!(
            "{name} is {left} for '{}' and {right} for '{}'",
            baseline.name, contender.name
        );
        differing.entry(code).or_default().push(said);
    };
    for (name, code) in FACTS {
        let (left, right) = (values(baseline, name), values(contender, name));
        let known = !left.is_empty() && !right.is_empty();
        if known && left != right && !is_declared(contender.factor, code) {
            note(code, name, &listed(&left), &listed(&right));
        }
    }
    let (left, right) = (versions(baseline), versions(contender));
    if left != right {
        note(Code::VersionsDiffer, "treering", &listed(&left), &listed(&right));
    }
    let sizes = |name: &str| Some((size(baseline, name)?, size(contender, name)?));
    if let Some((left, right)) = sizes(DEVICE_BYTES).or_else(|| sizes(CAPACITY)) {
        let apart = (left - right).abs() > SIZE_TOLERANCE * left.max(right);
        if apart && contender.factor != Factor::Target {
            let mib = |bytes: f64| format!("{:.0} MiB", bytes / 1_048_576.0);
            note(Code::SizesDiffer, "the filesystem's size", &mib(left), &mib(right));
        }
    }
    if let Some((left, right)) = differing_options(baseline, contender) {
        note(Code::MountOptionsDiffer, "mounted with", &left, &right);
    }
    let caution = |(code, said): (Code, Vec<String>)| ComparisonCaution::new(code, said.join("; "));
    differing.into_iter().map(caution).collect()
}

/// The mount options that one side has and the other lacks, unless they were declared to differ. Of
/// different filesystems only access times can be held against each other.
fn differing_options(baseline: Seen<'_>, contender: Seen<'_>) -> Option<(String, String)> {
    if matches!(contender.factor, Factor::Variant | Factor::Target) {
        return None;
    }
    let is_same_type = values(baseline, TYPE) == values(contender, TYPE);
    let options = |side: Seen<'_>| -> BTreeSet<String> {
        let all = OPTIONS.iter().flat_map(|name| values(side, name));
        let all = all.flat_map(|text| text.split(','));
        let counts = |option: &&str| is_same_type || option.ends_with("atime");
        all.filter(counts).map(str::to_owned).collect()
    };
    let (left, right) = (options(baseline), options(contender));
    if left.is_empty() || right.is_empty() {
        return None; // of an imported log, say: nothing is known
    }
    let only = |one: &BTreeSet<String>, other: &BTreeSet<String>| {
        let only: Vec<&str> = one.difference(other).map(String::as_str).collect();
        if only.is_empty() { "none of these".to_owned() } else { only.join(",") }
    };
    (left != right).then(|| (only(&left, &right), only(&right, &left)))
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
    if !unequal.is_empty() {
        let message = format!(
            "{what}: a trial of '{}' against one of '{}': {}",
            names.0,
            names.1,
            unequal.join(", ")
        );
        cautions.push(ComparisonCaution::new(Code::UnequalWork, message));
    }
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

fn completed<'t>(trials: &[&'t Trial]) -> Vec<&'t Trial> {
    trials.iter().copied().filter(|trial| is_completed(trial)).collect()
}

/// Work by which a median trial of one side differs from one of the other, in words.
fn unequal_work(baseline: &[&Trial], contender: &[&Trial]) -> Vec<String> {
    type Work = fn(&Trial) -> u64;
    let kinds: [(&str, Work); 3] = [
        ("files", |trial| trial.phases.iter().map(|phase| phase.files).sum()),
        ("bytes", |trial| trial.phases.iter().map(|phase| phase.bytes).sum()),
        ("operations", operations),
    ];
    let mut said = Vec::new();
    for (name, work) in kinds {
        let of = |trials: &[&Trial]| {
            let amounts: Vec<f64> = trials.iter().map(|trial| work(trial) as f64).collect();
            median(&amounts).unwrap_or_default()
        };
        let (left, right) = (of(baseline), of(contender));
        if left != right {
            said.push(format!("{left} and {right} {name}"));
        }
    }
    said
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

/// Whether a difference is what the user asked about.
fn is_declared(factor: Factor, code: Code) -> bool {
    match factor {
        Factor::Label | Factor::Id => false,
        Factor::Kernel => code == Code::KernelsDiffer,
        Factor::Filesystem => code == Code::FilesystemsDiffer,
        Factor::Variant | Factor::Target => {
            matches!(code, Code::FilesystemsDiffer | Code::DevicesDiffer)
        }
    }
}

fn values<'t>(side: Seen<'t>, name: &str) -> BTreeSet<&'t str> {
    side.rounds.iter().filter_map(|trial| fact(trial, name)).collect()
}

fn versions(side: Seen<'_>) -> BTreeSet<&str> {
    side.rounds.iter().map(|trial| trial.beginning.treering_version.as_str()).collect()
}

/// The median of a number among the facts.
fn size(side: Seen<'_>, name: &str) -> Option<f64> {
    let parsed = |trial: &&Trial| fact(trial, name)?.parse::<f64>().ok();
    median(&side.rounds.iter().filter_map(parsed).collect::<Vec<f64>>()).ok()
}

fn listed(values: &BTreeSet<&str>) -> String {
    values.iter().copied().collect::<Vec<_>>().join(", ")
}

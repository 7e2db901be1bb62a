//! Profiles of a job over time, side by side: latencies of its calls, rates of its phases, costs of
//! its tasks. They are the input of charts and contain no verdicts.
//!
//! A profile is created from trials without details and filled with one detailed trial at a time,
//! so that memory never holds thousands of detailed trials.

use std::collections::BTreeSet;

use treering_model::{PhaseTotals, RunMode, Trial, TrialId};

use super::jobs::{ComparedJob, jobs};
use super::variant::{ComparedVariant, contrasts, is_completed};
use crate::calls::OpSummary;
use crate::{AgingSeries, aging, calls};

/// Profile of one job of a comparison.
#[derive(Clone, Debug)]
pub struct JobProfile {
    /// Name of the workload.
    pub workload: String,
    /// Mode of the workload: classic or native.
    pub mode: RunMode,
    /// Parameters that distinguish this job from others of the workload; empty when there is one.
    pub job: String,
    /// Profiles of the variants, the baseline first.
    pub variants: Vec<VariantProfile>,
}

/// Profile of one variant of a job.
#[derive(Clone, Debug)]
pub struct VariantProfile {
    /// Name of the variant.
    pub name: String,
    /// Trials to compare, in round order.
    pub trials: Vec<TrialId>,
    /// Number of trials added so far.
    pub added: usize,
    /// Calls by kind over all added trials, in the order of [`treering_model::Op::ALL`].
    pub ops: Vec<OpSummary>,
    /// Phases of the added trials, without calls, in phase order.
    pub phases: Vec<PhaseRounds>,
    /// Kinds of task that have a trend.
    pub kinds: Vec<KindRounds>,
}

/// A phase over all rounds.
#[derive(Clone, Debug)]
pub struct PhaseRounds {
    /// Index of the phase, counted from 0.
    pub phase: u32,
    /// Name of the phase.
    pub name: String,
    /// Totals of the phase in each trial, without calls.
    pub rounds: Vec<PhaseTotals>,
}

/// A kind of task over all rounds.
#[derive(Clone, Debug)]
pub struct KindRounds {
    /// Row label of the kind in tables.
    pub label: String,
    /// Kind without its state or phase.
    pub kind: String,
    /// Aging series of each trial that has enough tasks.
    pub rounds: Vec<AgingSeries>,
}

/// Jobs of a comparison with the ids of the compared trials, in the order of the comparison. The
/// trials are added later.
pub fn profiles(baseline: &ComparedVariant, contenders: &[ComparedVariant]) -> Vec<JobProfile> {
    let mut profiles: Vec<JobProfile> = Vec::new();
    for (baseline, contender) in contrasts(baseline, contenders) {
        let (base_rounds, rounds) = (baseline.rounds(), contender.rounds());
        let names = (baseline.name.as_str(), contender.name.as_str());
        for job in jobs(&base_rounds, &rounds, names, contender.factor).0 {
            let (base, other) = compared_trials(&job);
            if base.is_empty() || other.is_empty() {
                continue;
            }
            let same = |profile: &&mut JobProfile| {
                let identity = (profile.workload.as_str(), profile.mode, &profile.job);
                identity == (job.workload, job.mode, &job.name)
            };
            let profile = match profiles.iter_mut().find(same) {
                Some(profile) => profile,
                None => {
                    profiles.push(JobProfile {
                        workload: job.workload.to_owned(),
                        mode: job.mode,
                        job: job.name.clone(),
                        variants: Vec::new(),
                    });
                    let last = profiles.len() - 1;
                    &mut profiles[last]
                }
            };
            profile.of_name(names.0).join(&base);
            profile.variants.push(VariantProfile::new(names.1, &other));
        }
    }
    profiles
}

/// Compared trials of both variants; for paired rounds, only those that both variants completed.
pub(super) fn compared_trials<'t>(job: &ComparedJob<'t>) -> (Vec<&'t Trial>, Vec<&'t Trial>) {
    let completed = |trials: &[&'t Trial]| -> Vec<&'t Trial> {
        trials.iter().copied().filter(|trial| is_completed(trial)).collect()
    };
    let rounds = &job.rounds;
    if !rounds.paired {
        return (completed(&rounds.baseline), completed(&rounds.contender));
    }
    let pairs = rounds.baseline.iter().copied().zip(rounds.contender.iter().copied());
    pairs.filter(|(base, other)| is_completed(base) && is_completed(other)).unzip()
}

impl JobProfile {
    /// Finds the variant with this name, or appends it.
    fn of_name(&mut self, name: &str) -> &mut VariantProfile {
        let place = self.variants.iter().position(|variant| variant.name == name);
        let place = place.unwrap_or_else(|| {
            self.variants.push(VariantProfile::new(name, &[]));
            self.variants.len() - 1
        });
        &mut self.variants[place]
    }

    /// Profile of a single trial.
    pub fn of_trial(trial: &Trial) -> Self {
        let beginning = &trial.beginning;
        let mut variant = VariantProfile::new("this trial", &[trial]);
        variant.add(trial);
        Self {
            workload: beginning.workload.clone(),
            mode: beginning.mode,
            job: String::new(),
            variants: vec![variant],
        }
    }
}

impl VariantProfile {
    fn new(name: &str, trials: &[&Trial]) -> Self {
        Self {
            name: name.to_owned(),
            trials: trials.iter().map(|trial| trial.beginning.trial).collect(),
            added: 0,
            ops: Vec::new(),
            phases: Vec::new(),
            kinds: Vec::new(),
        }
    }

    /// Adds trials that are compared with a further contender.
    fn join(&mut self, trials: &[&Trial]) {
        let known: BTreeSet<TrialId> = self.trials.iter().copied().collect();
        let more = trials.iter().map(|trial| trial.beginning.trial);
        self.trials.extend(more.filter(|trial| !known.contains(trial)));
    }

    /// Adds a trial's phases with their calls and intervals, and its tasks.
    pub fn add(&mut self, trial: &Trial) {
        self.added += 1;
        calls::add_trial(&mut self.ops, trial);
        for totals in &trial.phases {
            let same =
                |known: &&mut PhaseRounds| known.phase == totals.phase && known.name == totals.name;
            let bare = PhaseTotals { ops: Vec::new(), ..totals.clone() };
            match self.phases.iter_mut().find(same) {
                Some(known) => known.rounds.push(bare),
                None => self.phases.push(PhaseRounds {
                    phase: totals.phase,
                    name: totals.name.clone(),
                    rounds: vec![bare],
                }),
            }
        }
        for series in aging(trial) {
            match self.kinds.iter_mut().find(|known| known.label == series.label) {
                Some(known) => known.rounds.push(series),
                None => self.kinds.push(KindRounds {
                    label: series.label.clone(),
                    kind: series.kind.clone(),
                    rounds: vec![series],
                }),
            }
        }
    }
}

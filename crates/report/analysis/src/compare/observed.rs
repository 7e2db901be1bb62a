//! Results of observers: metrics of traces and layouts, from observing or measured rounds, and the
//! trials from which charts of them are drawn.

use treering_model::metrics::{is_counter, is_observation};
use treering_model::{CellRole, RunMode, Trial, TrialId};

use super::Outcome;
use super::caution::{ComparisonCaution, ComparisonCautionCode as Code};
use super::jobs::jobs;
use super::profile::compared_trials;
use super::variant::{ComparedVariant, contrasts};

/// Cautions that are kept from observing rounds; all others come from measured rounds.
const OF_OBSERVED: [Code; 8] = [
    Code::NothingInCommon,
    Code::FailedTrial,
    Code::UnequalWork,
    Code::ParametersDiffer,
    Code::MixedSide,
    Code::TooFewRounds,
    Code::Unpaired,
    Code::TrialCautions,
];

/// Reports whether a trial ran under observation, so that its times include the overhead of the
/// observers.
pub(super) fn is_observed(trial: &Trial) -> bool {
    trial.beginning.cell.as_ref().is_some_and(|cell| cell.role == CellRole::Observed)
}

impl Outcome {
    /// Adds the outcome of the observing rounds of these variants.
    pub(super) fn add_observed(&mut self, variants: &[ComparedVariant], seen: Self) {
        for variant in variants {
            self.variants
                .iter_mut()
                .filter(|known| known.name == plain(&variant.name))
                .for_each(|known| known.observed = variant.trials.len());
        }
        self.comparisons.extend(seen.comparisons.into_iter().map(|mut comparison| {
            comparison.observed = true;
            comparison.baseline = plain(&comparison.baseline).to_owned();
            comparison.contender = plain(&comparison.contender).to_owned();
            comparison
        }));
        let reported = |caution: &ComparisonCaution| OF_OBSERVED.contains(&caution.code);
        self.cautions.extend(seen.cautions.into_iter().filter(reported));
    }
}

/// Name of a variant without the suffix of observing rounds.
fn plain(name: &str) -> &str {
    name.strip_suffix(CellRole::Observed.suffix()).unwrap_or(name)
}

/// Observer results of a job, one trial for each variant.
#[derive(Clone, Debug)]
pub struct ObservedJob {
    /// Name of the workload.
    pub workload: String,
    /// Mode of the workload: classic or native.
    pub mode: RunMode,
    /// Parameters that distinguish this job from others of the workload; empty when there is one.
    pub job: String,
    /// Variants, each preceded by its baseline.
    pub variants: Vec<ObservedVariant>,
}

/// Trial of a variant from which charts are drawn: the first trial that counts.
#[derive(Clone, Debug)]
pub struct ObservedVariant {
    /// Name of the variant.
    pub name: String,
    /// Id of the trial.
    pub trial: TrialId,
    /// Trial with its observer artifacts; `None` until it is read.
    pub seen: Option<Trial>,
}

/// Jobs with observer results, in the order of the comparison.
pub fn observed_jobs(
    baseline: &ComparedVariant,
    contenders: &[ComparedVariant],
) -> Vec<ObservedJob> {
    let mut observed: Vec<ObservedJob> = Vec::new();
    for (baseline, contender) in contrasts(baseline, contenders) {
        let (base_rounds, rounds) = (baseline.rounds(), contender.rounds());
        let names = (baseline.name.as_str(), contender.name.as_str());
        for job in jobs(&base_rounds, &rounds, names, contender.factor).0 {
            let (base, other) = compared_trials(&job);
            let (Some(base), Some(other)) = (base.first(), other.first()) else { continue };
            if !was_watched(base) && !was_watched(other) {
                continue;
            }
            let variant = |name: &str, trial: &Trial| ObservedVariant {
                name: plain(name).to_owned(),
                trial: trial.beginning.trial,
                seen: None,
            };
            let same = |known: &ObservedJob| {
                let identity = (known.workload.as_str(), known.mode, known.job.as_str());
                identity == (job.workload, job.mode, job.name.as_str())
            };
            let place = observed.iter().position(same);
            let place = place.unwrap_or(observed.len());
            if place == observed.len() {
                observed.push(ObservedJob {
                    workload: job.workload.to_owned(),
                    mode: job.mode,
                    job: job.name.clone(),
                    variants: Vec::new(),
                });
            }
            let known = &mut observed[place].variants;
            if !known.iter().any(|job| job.name == plain(names.0)) {
                known.push(variant(names.0, base));
            }
            known.push(variant(names.1, other));
        }
    }
    observed
}

fn was_watched(trial: &Trial) -> bool {
    let is_drawn = |name: &str| is_observation(name) && !is_counter(name);
    trial.metrics.iter().any(|metric| is_drawn(&metric.name))
}

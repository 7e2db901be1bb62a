//! What was watched beside the measuring: metrics of traces and layouts, from rounds of their own
//! or from the measured ones, and which trials charts of it are drawn from.

use treering_model::metrics::is_observation;
use treering_model::{CellRole, Mode, Trial, TrialId};

use super::Outcome;
use super::caution::{ComparisonCaution, ComparisonCautionCode as Code};
use super::jobs::jobs;
use super::profile::counted;
use super::variant::{ComparedVariant, contrasts};

/// What is said of observing rounds; all else is said of the measured ones.
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

/// Whether a trial was run to be watched: its times are those of a watched machine.
pub(super) fn is_observed(trial: &Trial) -> bool {
    trial.beginning.cell.as_ref().is_some_and(|cell| cell.role == CellRole::Observed)
}

impl Outcome {
    /// Adds what observing rounds say of these variants.
    pub(super) fn add_observed(&mut self, variants: &[ComparedVariant], seen: Self) {
        for variant in variants {
            self.variants
                .iter_mut()
                .filter(|known| known.name == plain(&variant.name))
                .for_each(|known| known.observed = variant.trials.len());
        }
        self.comparisons.extend(seen.comparisons.into_iter().map(|mut one| {
            one.observed = true;
            one.baseline = plain(&one.baseline).to_owned();
            one.contender = plain(&one.contender).to_owned();
            one
        }));
        let reported = |caution: &ComparisonCaution| OF_OBSERVED.contains(&caution.code);
        self.cautions.extend(seen.cautions.into_iter().filter(reported));
    }
}

/// The name of a variant without what tells that it was observed.
fn plain(name: &str) -> &str {
    name.strip_suffix(CellRole::Observed.suffix()).unwrap_or(name)
}

/// What observers saw of a job, a trial of each variant.
#[derive(Clone, Debug)]
pub struct ObservedJob {
    /// The workload's name.
    pub workload: String,
    /// How the workload was run.
    pub mode: Mode,
    /// The parameters that tell this job from others of the workload; empty when there is one.
    pub job: String,
    /// The variants, each behind its baseline.
    pub variants: Vec<ObservedVariant>,
}

/// The trial of a variant that charts are drawn from: the first one that counts.
#[derive(Clone, Debug)]
pub struct ObservedVariant {
    /// The name of the variant.
    pub name: String,
    /// The trial.
    pub trial: TrialId,
    /// The trial with what observers made, once it is read.
    pub seen: Option<Trial>,
}

/// The jobs of which observers saw anything, in the order of the comparison.
pub fn observed_jobs(
    baseline: &ComparedVariant,
    contenders: &[ComparedVariant],
) -> Vec<ObservedJob> {
    let mut found: Vec<ObservedJob> = Vec::new();
    for (baseline, contender) in contrasts(baseline, contenders) {
        let (base_rounds, rounds) = (baseline.rounds(), contender.rounds());
        let names = (baseline.name.as_str(), contender.name.as_str());
        for job in jobs(&base_rounds, &rounds, names).0 {
            let (base, other) = counted(&job);
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
                let given = (known.workload.as_str(), known.mode, known.job.as_str());
                given == (job.workload, job.mode, job.name.as_str())
            };
            let place = found.iter().position(same);
            let place = place.unwrap_or(found.len());
            if place == found.len() {
                found.push(ObservedJob {
                    workload: job.workload.to_owned(),
                    mode: job.mode,
                    job: job.name.clone(),
                    variants: Vec::new(),
                });
            }
            let known = &mut found[place].variants;
            if !known.iter().any(|one| one.name == plain(names.0)) {
                known.push(variant(names.0, base));
            }
            known.push(variant(names.1, other));
        }
    }
    found
}

fn was_watched(trial: &Trial) -> bool {
    trial.metrics.iter().any(|metric| is_observation(&metric.name))
}

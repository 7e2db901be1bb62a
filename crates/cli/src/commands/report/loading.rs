//! Loads the trials of a comparison: little of each if there are thousands, and for pages with
//! pictures the calls, seconds and tasks of as many as can be drawn.

use treering_analysis::compare::{
    COMPARED_FACTS, ComparedVariant, ComparisonCaution, JobProfile, ObservedJob, VariantProfile,
    observed_jobs, profiles,
};
use treering_model::{Trial, TrialId};
use treering_store::{LoadDetail, Store};

use super::selection::Pick;
use crate::failure::Failure;
use crate::storage::{failure, no_results};

/// Maximum number of trials of which tasks and every fact are read, for the system CPU of each kind
/// of operation.
const TASKS_READ: usize = 1000;

/// Maximum number of trials whose calls and seconds are read for charts; of more trials an even
/// sample is read.
const DRAWN: usize = 600;

/// Variants to compare.
pub(super) struct Compared {
    pub(super) baseline: ComparedVariant,
    pub(super) contenders: Vec<ComparedVariant>,
    /// Control: the baseline run a second time.
    pub(super) control: Option<ComparedVariant>,
    /// Variants in observed rounds, the baseline first; empty without such rounds.
    pub(super) observed: Vec<ComparedVariant>,
    /// Remarks about data that were not read.
    pub(super) notes: Vec<String>,
    /// Caution about trials left out because they are excluded.
    pub(super) excluded: Option<ComparisonCaution>,
}

impl Compared {
    /// Reads the variants; tasks and every fact only up to [`TASKS_READ`] trials.
    pub(super) fn read(
        store: &Store,
        picks: &[Pick],
        control: Option<&Pick>,
        observed: &[Pick],
    ) -> Result<Self, Failure> {
        let all: usize = picks.iter().map(|pick| pick.trials.len()).sum();
        let mut notes = Vec::new();
        let mut variants = Vec::new();
        for pick in picks {
            let mut variant =
                if all <= TASKS_READ { whole(store, pick)? } else { headlines(store, pick)? };
            if all > TASKS_READ {
                add_facts(store, &mut variant)?;
            }
            variants.push(variant);
        }
        if all > TASKS_READ {
            notes.push(format!(
                "with {all} trials, the full environment is shown only for the first and last \
                 trial of each variant"
            ));
        }
        let mut variants = variants.into_iter();
        let baseline = variants.next().ok_or_else(no_results)?;
        let control = control.map(|pick| headlines(store, pick)).transpose()?;
        let observed = observed.iter().map(|pick| headlines(store, pick));
        let observed = observed.collect::<Result<Vec<ComparedVariant>, Failure>>()?;
        Ok(Self {
            baseline,
            contenders: variants.collect(),
            control,
            observed,
            notes,
            excluded: None,
        })
    }

    /// Reads the observations of one trial of each variant: from the observed rounds, or from the
    /// measured ones if those were observed.
    pub(super) fn observed_jobs(&self, store: &Store) -> Result<Vec<ObservedJob>, Failure> {
        let mut jobs = match self.observed.split_first() {
            Some((baseline, contenders)) => observed_jobs(baseline, contenders),
            None => observed_jobs(&self.baseline, &self.contenders),
        };
        for variant in jobs.iter_mut().flat_map(|job| &mut job.variants) {
            let read = store.load_many(&[variant.trial], LoadDetail::PhaseCalls);
            variant.seen = read.map_err(|error| failure(&error))?.pop();
        }
        Ok(jobs)
    }

    /// Reads the data of charts, one trial at a time.
    pub(super) fn profiles(&mut self, store: &Store) -> Result<Vec<JobProfile>, Failure> {
        let mut jobs = profiles(&self.baseline, &self.contenders);
        let all = |job: &JobProfile| {
            job.variants.iter().map(|variant| variant.trials.len()).sum::<usize>()
        };
        let all: usize = jobs.iter().map(all).sum();
        for variant in jobs.iter_mut().flat_map(|job| &mut job.variants) {
            // Every variant has its share, and two rounds at least.
            let share = (variant.trials.len() * DRAWN / all.max(DRAWN)).max(2);
            fill(store, variant, share)?;
        }
        if all > DRAWN {
            self.notes.push(format!(
                "latencies, rates over time and aging are drawn for an even sample of the {all} \
                 trials: {DRAWN} of them, and at least two of each variant"
            ));
        }
        Ok(jobs)
    }
}

fn whole(store: &Store, pick: &Pick) -> Result<ComparedVariant, Failure> {
    let trials =
        store.load_many(&pick.trials, LoadDetail::Tasks).map_err(|error| failure(&error))?;
    Ok(compared(pick, trials))
}

fn compared(pick: &Pick, trials: Vec<Trial>) -> ComparedVariant {
    let (name, against) = (pick.name.clone(), pick.against.clone());
    ComparedVariant { name, factor: pick.factor, against, trials }
}

fn headlines(store: &Store, pick: &Pick) -> Result<ComparedVariant, Failure> {
    let trials = store.load_with_facts(&pick.trials, &COMPARED_FACTS);
    let trials = trials.map_err(|error| failure(&error))?;
    Ok(compared(pick, trials))
}

/// Adds every fact to the first and the last trial of a variant.
fn add_facts(store: &Store, variant: &mut ComparedVariant) -> Result<(), Failure> {
    let last = variant.trials.len().saturating_sub(1);
    let ends: Vec<usize> = if last == 0 { vec![0] } else { vec![0, last] };
    for place in ends {
        let Some(trial) = variant.trials.get_mut(place) else { continue };
        let id = [trial.beginning.trial];
        let read = store.load_many(&id, LoadDetail::Headlines).map_err(|error| failure(&error))?;
        for whole in read {
            trial.facts = whole.facts;
        }
    }
    Ok(())
}

/// Adds at most `most` of the trials of a variant, evenly spread over its rounds.
fn fill(store: &Store, variant: &mut VariantProfile, most: usize) -> Result<(), Failure> {
    let count = variant.trials.len();
    let places: Vec<usize> = if count <= most {
        (0..count).collect()
    } else {
        (0..most).map(|place| place * (count - 1) / (most - 1).max(1)).collect()
    };
    let chosen: Vec<TrialId> = places.into_iter().map(|place| variant.trials[place]).collect();
    for trial in chosen {
        let read = store.load_many(&[trial], LoadDetail::PhaseCalls);
        for trial in read.map_err(|error| failure(&error))? {
            variant.add(&trial);
        }
    }
    Ok(())
}

//! Loads the trials of a comparison. With thousands of trials, little of each is read; for pages
//! with charts, the calls, seconds and tasks of as many as can be drawn.

use treering_model::{Trial, TrialId};

use super::{SelectedVariant, SelectionError, TrialSource};
use crate::compare::{
    COMPARED_FACTS, ComparedVariant, ComparisonCaution, JobProfile, ObservedJob, VariantProfile,
    observed_jobs, profiles,
};

/// Maximum number of trials whose tasks and facts are all read, for the system CPU time of each
/// kind of operation.
const TASKS_READ: usize = 1000;

/// Maximum number of trials whose calls and seconds are read for charts; if there are more, an even
/// sample is read.
const DRAWN: usize = 600;

/// Variants to compare.
pub struct ComparedTrials {
    /// The baseline.
    pub baseline: ComparedVariant,
    /// The other variants.
    pub contenders: Vec<ComparedVariant>,
    /// Control: the baseline run a second time.
    pub control: Option<ComparedVariant>,
    /// Variants in observed rounds, the baseline first; empty if there are none.
    pub observed: Vec<ComparedVariant>,
    /// Remarks about data that were not read.
    pub notes: Vec<String>,
    /// Caution about trials left out because they are excluded.
    pub excluded: Option<ComparisonCaution>,
}

impl ComparedTrials {
    /// Reads the variants; tasks and all facts are read only for up to `TASKS_READ` trials.
    ///
    /// # Errors
    /// When the trials cannot be read.
    pub fn read<S: TrialSource>(
        source: &S,
        selected: &[SelectedVariant],
        control: Option<&SelectedVariant>,
        observed: &[SelectedVariant],
    ) -> Result<Self, SelectionError<S::Error>> {
        let count: usize = selected.iter().map(|chosen| chosen.trials.len()).sum();
        let mut notes = Vec::new();
        let mut variants = Vec::new();
        for chosen in selected {
            let mut variant = if count <= TASKS_READ {
                whole(source, chosen)?
            } else {
                headlines(source, chosen)?
            };
            if count > TASKS_READ {
                add_facts(source, &mut variant)?;
            }
            variants.push(variant);
        }
        if count > TASKS_READ {
            notes.push(format!(
                "with {count} trials, the full environment is shown only for the first and last \
                 trial of each variant"
            ));
        }
        let mut variants = variants.into_iter();
        let baseline = variants.next().ok_or(SelectionError::NoVariants)?;
        let control = control.map(|chosen| headlines(source, chosen)).transpose()?;
        let observed = observed.iter().map(|chosen| headlines(source, chosen));
        let observed =
            observed.collect::<Result<Vec<ComparedVariant>, SelectionError<S::Error>>>()?;
        Ok(Self {
            baseline,
            contenders: variants.collect(),
            control,
            observed,
            notes,
            excluded: None,
        })
    }

    /// Removes these parameters, so that jobs may differ in them; returns the first one that no
    /// trial has, if any.
    pub fn ignore_parameters<'n>(&mut self, ignored: &'n [String]) -> Option<&'n str> {
        let mut unknown: Vec<&'n String> = ignored.iter().collect();
        let variants = std::iter::once(&mut self.baseline)
            .chain(&mut self.contenders)
            .chain(&mut self.control)
            .chain(&mut self.observed);
        for trial in variants.flat_map(|variant| &mut variant.trials) {
            trial.beginning.parameters.retain(|(name, _)| {
                unknown.retain(|ignored| *ignored != name);
                !ignored.contains(name)
            });
        }
        unknown.first().map(|name| name.as_str())
    }

    /// Reads the observations of one trial of each variant: from the observed rounds, or from the
    /// measured ones if those were observed.
    ///
    /// # Errors
    /// When the trials cannot be read.
    pub fn observed_jobs<S: TrialSource>(
        &self,
        source: &S,
    ) -> Result<Vec<ObservedJob>, SelectionError<S::Error>> {
        let mut jobs = match self.observed.split_first() {
            Some((baseline, contenders)) => observed_jobs(baseline, contenders),
            None => observed_jobs(&self.baseline, &self.contenders),
        };
        for variant in jobs.iter_mut().flat_map(|job| &mut job.variants) {
            let read = source.with_phase_calls(&[variant.trial]);
            variant.seen = read.map_err(SelectionError::Source)?.pop();
        }
        Ok(jobs)
    }

    /// Reads the data of charts, one trial at a time.
    ///
    /// # Errors
    /// When the trials cannot be read.
    pub fn profiles<S: TrialSource>(
        &mut self,
        source: &S,
    ) -> Result<Vec<JobProfile>, SelectionError<S::Error>> {
        let mut jobs = profiles(&self.baseline, &self.contenders);
        let trials_of = |job: &JobProfile| {
            job.variants.iter().map(|variant| variant.trials.len()).sum::<usize>()
        };
        let count: usize = jobs.iter().map(trials_of).sum();
        for variant in jobs.iter_mut().flat_map(|job| &mut job.variants) {
            // Each variant has a proportional share, at least two rounds.
            let share = (variant.trials.len() * DRAWN / count.max(DRAWN)).max(2);
            add_spread_trials(source, variant, share)?;
        }
        if count > DRAWN {
            self.notes.push(format!(
                "latencies, rates over time and aging are drawn for an even sample of the {count} \
                 trials: {DRAWN} of them, and at least two of each variant"
            ));
        }
        Ok(jobs)
    }
}

fn whole<S: TrialSource>(
    source: &S,
    chosen: &SelectedVariant,
) -> Result<ComparedVariant, SelectionError<S::Error>> {
    let trials = source.with_tasks(&chosen.trials).map_err(SelectionError::Source)?;
    Ok(compared(chosen, trials))
}

fn compared(chosen: &SelectedVariant, trials: Vec<Trial>) -> ComparedVariant {
    let (name, against) = (chosen.name.clone(), chosen.against.clone());
    ComparedVariant { name, factor: chosen.factor, against, trials }
}

fn headlines<S: TrialSource>(
    source: &S,
    chosen: &SelectedVariant,
) -> Result<ComparedVariant, SelectionError<S::Error>> {
    let trials = source.with_facts(&chosen.trials, &COMPARED_FACTS);
    let trials = trials.map_err(SelectionError::Source)?;
    Ok(compared(chosen, trials))
}

/// Adds all facts to the first and the last trial of a variant.
fn add_facts<S: TrialSource>(
    source: &S,
    variant: &mut ComparedVariant,
) -> Result<(), SelectionError<S::Error>> {
    let last = variant.trials.len().saturating_sub(1);
    let ends: Vec<usize> = if last == 0 { vec![0] } else { vec![0, last] };
    for place in ends {
        let Some(trial) = variant.trials.get_mut(place) else { continue };
        let id = [trial.beginning.trial];
        let read = source.headlines(&id).map_err(SelectionError::Source)?;
        for whole in read {
            trial.facts = whole.facts;
        }
    }
    Ok(())
}

/// Adds at most `most` of the trials of a variant, evenly spread over its rounds.
fn add_spread_trials<S: TrialSource>(
    source: &S,
    variant: &mut VariantProfile,
    most: usize,
) -> Result<(), SelectionError<S::Error>> {
    let count = variant.trials.len();
    let places: Vec<usize> = if count <= most {
        (0..count).collect()
    } else {
        (0..most).map(|place| place * (count - 1) / (most - 1).max(1)).collect()
    };
    let chosen: Vec<TrialId> = places.into_iter().map(|place| variant.trials[place]).collect();
    for trial in chosen {
        let read = source.with_phase_calls(&[trial]);
        for trial in read.map_err(SelectionError::Source)? {
            variant.add(&trial);
        }
    }
    Ok(())
}

//! Selects the stored trials of each variant of a comparison: by label, by variant of a plan, by
//! kernel, by filesystem, by directory, or individually. The trials come from a [`TrialSource`].

mod exclusion;
mod jobs_apart;
mod loading;
mod newest_campaign;
mod planned_terms;

use std::collections::{BTreeMap, BTreeSet};

use thiserror::Error;
use treering_model::{BASELINE_FACT, Cell, CellRole, Trial, TrialId, counted};

use self::jobs_apart::{is_as_the_plan_says, set_jobs_apart};
pub use self::loading::ComparedTrials;
use self::newest_campaign::QueriedSides;
pub use self::planned_terms::PlannedTerms;
use crate::compare::Factor;

/// Maximum number of values that an error message lists.
const LISTED: usize = 10;

/// Source of stored trials, from which a selection reads only the parts that it needs. Trials are
/// returned in the order of their identities.
pub trait TrialSource {
    /// Error of reading the source.
    type Error;

    /// Trial whose identity begins with this prefix.
    ///
    /// # Errors
    /// When there is none, or more than one.
    fn find(&self, prefix: &str) -> Result<TrialId, Self::Error>;

    /// Shortest prefixes that identify these trials.
    ///
    /// # Errors
    /// When the source cannot be read.
    fn short_ids(&self, trials: &[TrialId]) -> Result<Vec<String>, Self::Error>;

    /// Trials with their headlines and only these facts.
    ///
    /// # Errors
    /// When the source cannot be read.
    fn with_facts(&self, trials: &[TrialId], names: &[&str]) -> Result<Vec<Trial>, Self::Error>;

    /// Trials with their headlines and every fact.
    ///
    /// # Errors
    /// When the source cannot be read.
    fn headlines(&self, trials: &[TrialId]) -> Result<Vec<Trial>, Self::Error>;

    /// Trials with their tasks.
    ///
    /// # Errors
    /// When the source cannot be read.
    fn with_tasks(&self, trials: &[TrialId]) -> Result<Vec<Trial>, Self::Error>;

    /// Trials with the calls and seconds of their phases.
    ///
    /// # Errors
    /// When the source cannot be read.
    fn with_phase_calls(&self, trials: &[TrialId]) -> Result<Vec<Trial>, Self::Error>;

    /// Directory as stored with trials, from the text of the user.
    fn stored_target(&self, words: &str) -> String;
}

/// Error of a selection.
#[derive(Debug, Error)]
pub enum SelectionError<E> {
    /// The selectors name no variants that can be compared.
    #[error("{message}")]
    Refused {
        /// Message about the selectors.
        message: String,
        /// Advice, if there is any.
        hint: Option<String>,
    },
    /// No variant is left to compare.
    #[error("there are no results yet")]
    NoVariants,
    /// The trials cannot be read.
    #[error(transparent)]
    Source(E),
}

impl<E> SelectionError<E> {
    fn new(message: impl Into<String>) -> Self {
        Self::Refused { message: message.into(), hint: None }
    }

    fn with_hint(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::Refused { message: message.into(), hint: Some(hint.into()) }
    }
}

/// Selectors of the user.
#[derive(Clone, Debug, Default)]
pub struct SelectionQuery {
    /// Selector of the baseline.
    pub baseline: Option<String>,
    /// Selectors of the contenders.
    pub contenders: Vec<String>,
    /// Name of the factor that distinguishes the variants.
    pub by: Option<String>,
    /// True if the trials are those of a plan or a campaign.
    pub is_of_plan: bool,
    /// True if the trials are those of one workload.
    pub is_of_workload: bool,
    /// True if excluded trials are compared too.
    pub includes_excluded: bool,
    /// True if trials of several campaigns, or of none, are compared together.
    pub pools_campaigns: bool,
}

/// A requested variant with its trials.
pub struct SelectedVariant {
    /// Factor that distinguishes the variant.
    pub factor: Factor,
    /// Name of the variant in tables.
    pub name: String,
    pub(crate) value: String,
    /// Name of the variant's baseline in its plan; its own name if it is only a baseline.
    pub against: Option<String>,
    /// Trials of the variant, in time order.
    pub trials: Vec<TrialId>,
}

impl SelectedVariant {
    /// True if a trial would belong to this variant if it were not excluded.
    pub(crate) fn would_include(&self, one: &StoredTrial) -> bool {
        one.role() != Some(CellRole::WarmUp) && one.value(self.factor) == Some(self.value.as_str())
    }

    /// Selector of the variant.
    pub fn selector(&self) -> String {
        format!("{}:{}", self.factor.name(), self.value)
    }
}

/// An ended trial that could be selected.
#[derive(Clone, Debug)]
pub struct StoredTrial {
    /// Identity of the trial.
    pub trial: TrialId,
    /// Current label; empty if there is none.
    pub label: String,
    /// Directory under test.
    pub target: String,
    /// Cell of a campaign that the trial belongs to, if any.
    pub cell: Option<Cell>,
    /// Reason for the exclusion of the trial from comparisons.
    pub excluded: Option<String>,
    /// Release of the kernel, if trials are selected by it.
    pub kernel: Option<String>,
    /// Type of the filesystem, if trials are selected by it.
    pub filesystem: Option<String>,
    /// Name of the job on its variant, if the plan compares this job with another one.
    pub job_apart: Option<String>,
    /// True if the job is compared between variants, too.
    pub is_between_variants: bool,
}

/// Ended trials in time order, from which variants are selected.
pub struct TrialSelection<'s, S> {
    source: &'s S,
    candidates: Vec<StoredTrial>,
    /// Trials that the user excluded, which belong to a variant only if they are named
    /// individually.
    excluded: Vec<StoredTrial>,
    /// Baselines of the jobs that are compared with one another, by the name of the job on its
    /// variant. A job that is only a baseline maps to itself.
    job_baselines: BTreeMap<String, String>,
    notes: Vec<String>,
}

impl<'s, S: TrialSource> TrialSelection<'s, S> {
    /// Builds the selection from ended trials in time order; `running` is the number of trials left
    /// out because they have not ended.
    ///
    /// # Errors
    /// When the trials cannot be read.
    pub fn new(
        source: &'s S,
        mut trials: Vec<StoredTrial>,
        running: usize,
        query: &SelectionQuery,
    ) -> Result<Self, SelectionError<S::Error>> {
        let mut notes = Vec::new();
        if running > 0 {
            notes.push(format!("trials omitted because they are still running: {running}"));
        }
        let selectors = query.baseline.iter().chain(&query.contenders);
        let by_facts = |factor| matches!(factor, Factor::Kernel | Factor::Filesystem);
        let needs_facts = query.by.as_deref().and_then(factor).is_some_and(by_facts)
            || selectors.map(|text| parsed(text).0).any(by_facts);
        // Facts are read only if trials are selected by them.
        if needs_facts {
            let ids: Vec<TrialId> = trials.iter().map(|one| one.trial).collect();
            let headlines = source.headlines(&ids).map_err(SelectionError::Source)?;
            for (one, trial) in trials.iter_mut().zip(headlines) {
                one.kernel = trial.fact("kernel.release").map(str::to_owned);
                one.filesystem = trial.fact("filesystem.type").map(str::to_owned);
            }
        }
        let sides = QueriedSides::new(query, |value| source.stored_target(value));
        notes.extend(sides.keep_newest_plan(&mut trials));
        notes.extend(sides.keep_newest_campaign(&mut trials));
        let job_baselines = if is_as_the_plan_says(query) {
            set_jobs_apart(source, &mut trials).map_err(SelectionError::Source)?
        } else {
            BTreeMap::new()
        };
        let is_out = |one: &StoredTrial| one.excluded.is_some() && !query.includes_excluded;
        let (excluded, candidates) = trials.into_iter().partition(is_out);
        Ok(Self { source, candidates, excluded, job_baselines, notes })
    }

    /// Remarks about trials that are left out.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// Reason for an empty comparison although every named value exists: no trials, or fewer than
    /// two values.
    pub fn nothing_to_compare(&self, query: &SelectionQuery) -> Option<String> {
        let is_narrowed = query.is_of_plan || query.is_of_workload;
        if self.candidates.is_empty() && !is_narrowed {
            return Some("the store has no finished trials".to_owned());
        }
        if !query.contenders.is_empty() {
            return None;
        }
        let factor = factor_of(query);
        let rounds = self.candidates.iter().filter(|one| !one.is_outside_rounds());
        let values = rounds.flat_map(|one| one.grouping_values(factor));
        let values: BTreeSet<&str> = values.map(|(_, value)| value).collect();
        (values.len() < 2).then(|| {
            format!("the trials have {} of {}", counted(values.len(), "value"), factor.name())
        })
    }

    /// Selected variants: the baseline first, then the contenders.
    ///
    /// # Errors
    /// When the selectors name no variants, or the trials cannot be read.
    pub fn variants(
        &self,
        query: &SelectionQuery,
    ) -> Result<Vec<SelectedVariant>, SelectionError<S::Error>> {
        let variants = if query.contenders.is_empty() {
            self.as_compared_by_the_plan(self.grouped(query)?, query)?
        } else {
            let baseline = query.baseline.as_ref().ok_or_else(|| {
                SelectionError::new("--contender needs a --baseline to compare it with")
            })?;
            let selectors = std::iter::once(baseline).chain(&query.contenders);
            let mut variants =
                selectors.map(|text| self.selected(text)).collect::<Result<Vec<_>, _>>()?;
            for place in 1..variants.len() {
                // Two variants with the same name could not be distinguished.
                let (earlier, later) = variants.split_at_mut(place);
                if earlier.iter().any(|other| other.name == later[0].name) {
                    later[0].name = later[0].selector();
                }
            }
            variants
        };
        // A plan may compare a trial as a job and as a variant.
        let as_planned = is_as_the_plan_says(query);
        let mut owners: BTreeMap<(bool, TrialId), &SelectedVariant> = BTreeMap::new();
        for variant in &variants {
            let is_job = as_planned && variant.factor == Factor::Job;
            for trial in &variant.trials {
                let Some(other) = owners.insert((is_job, *trial), variant) else { continue };
                let message =
                    format!("{} and {} share trials", other.selector(), variant.selector());
                let hint = "a trial can belong to one variant only";
                return Err(SelectionError::with_hint(message, hint));
            }
        }
        Ok(variants)
    }

    /// Variants with the baselines of their plan, unless the query names a baseline. Adds jobs that
    /// are compared with one another.
    fn as_compared_by_the_plan(
        &self,
        variants: Vec<SelectedVariant>,
        query: &SelectionQuery,
    ) -> Result<Vec<SelectedVariant>, SelectionError<S::Error>> {
        if !is_as_the_plan_says(query) {
            return Ok(variants);
        }
        let (mut jobs, mut variants): (Vec<SelectedVariant>, Vec<SelectedVariant>) =
            variants.into_iter().partition(|variant| variant.factor == Factor::Job);
        self.order_variants(&mut variants)?;
        for job in &mut jobs {
            job.against = self.job_baselines.get(&job.value).cloned();
        }
        // Baselines are sorted before the jobs that are compared with them.
        jobs.sort_by_key(|job| job.against.as_ref() != Some(&job.value));
        if variants.len() == 1 && !jobs.is_empty() {
            variants.clear();
        }
        variants.extend(jobs);
        Ok(variants)
    }

    /// Sorts the variants of a plan so that the baseline comes first. If there are several
    /// baselines, sets the baseline of each variant.
    fn order_variants(
        &self,
        variants: &mut [SelectedVariant],
    ) -> Result<(), SelectionError<S::Error>> {
        let mut baselines = Vec::new();
        for variant in variants.iter() {
            let newest: Vec<TrialId> = variant.trials.last().copied().into_iter().collect();
            let trials = self.source.with_facts(&newest, &[BASELINE_FACT]);
            let trials = trials.map_err(SelectionError::Source)?;
            let fact = trials.iter().find_map(|trial| trial.fact(BASELINE_FACT));
            baselines.push(fact.map(str::to_owned));
        }
        // Trials made before plans had the key `against` all name the first variant.
        let known: BTreeSet<&str> = baselines.iter().flatten().map(String::as_str).collect();
        let Some(first) = known.first() else { return Ok(()) };
        if known.len() == 1 {
            let place = variants.iter().position(|variant| variant.value == **first);
            let place = place.ok_or_else(|| self.nothing(Factor::Variant, first))?;
            variants[..=place].rotate_right(1);
            return Ok(());
        }
        for (variant, baseline) in variants.iter_mut().zip(baselines) {
            variant.against = baseline;
        }
        variants.sort_by(|one, other| one.name.cmp(&other.name));
        let place =
            variants.iter().position(|variant| variant.against.as_ref() == Some(&variant.name));
        variants[..=place.unwrap_or_default()].rotate_right(1);
        Ok(())
    }

    /// Control trials of a baseline that is a variant of a plan, or a job on a variant.
    pub fn control(&self, baseline: &SelectedVariant) -> Option<SelectedVariant> {
        let factor = baseline.factor;
        if !matches!(factor, Factor::Variant | Factor::Job) {
            return None;
        }
        let is_control = |one: &&StoredTrial| {
            let of_baseline = one.value(factor) == Some(baseline.value.as_str());
            of_baseline && one.role() == Some(CellRole::Control)
        };
        let controls = self.candidates.iter().filter(is_control);
        let trials: Vec<TrialId> = controls.map(|one| one.trial).collect();
        let (name, value) =
            (format!("{}{}", baseline.name, CellRole::Control.suffix()), baseline.value.clone());
        let variant = SelectedVariant { factor, name, value, against: None, trials };
        (!variant.trials.is_empty()).then_some(variant)
    }

    /// Observed trials of each variant. Variants without any are omitted; the result is empty if
    /// the baseline has none.
    pub fn observed(&self, variants: &[SelectedVariant]) -> Vec<SelectedVariant> {
        let newest_observed = |variant: &SelectedVariant| {
            let mut newest: BTreeMap<(TrialId, &str, &str, u32), TrialId> = BTreeMap::new();
            for one in &self.candidates {
                let Some(cell) = &one.cell else { continue };
                let is_of_variant = one.value(variant.factor) == Some(variant.value.as_str());
                if is_of_variant && cell.role == CellRole::Observed {
                    // A later trial of the same round replaces the earlier one.
                    let place = (cell.campaign, &*cell.variant, &*cell.job, cell.round);
                    newest.insert(place, one.trial);
                }
            }
            let watched = |name: &String| format!("{name}{}", CellRole::Observed.suffix());
            SelectedVariant {
                factor: variant.factor,
                name: watched(&variant.name),
                value: variant.value.clone(),
                against: variant.against.as_ref().map(watched),
                trials: newest.into_values().collect(),
            }
        };
        let is_there = |variant: &SelectedVariant| !variant.trials.is_empty();
        let Some((baseline, contenders)) = variants.split_first() else { return Vec::new() };
        let contenders: Vec<SelectedVariant> =
            contenders.iter().map(newest_observed).filter(is_there).collect();
        let baseline = newest_observed(baseline);
        if !is_there(&baseline) || contenders.is_empty() {
            return Vec::new();
        }
        std::iter::once(baseline).chain(contenders).collect()
    }

    /// Trials that a selector names.
    fn selected(&self, text: &str) -> Result<SelectedVariant, SelectionError<S::Error>> {
        let (factor, value) = parsed(text);
        if factor == Factor::Id {
            let prefixes = value.split(',').filter(|prefix| !prefix.trim().is_empty());
            let find = |prefix: &str| self.source.find(prefix).map_err(SelectionError::Source);
            let trials = prefixes.map(find).collect::<Result<Vec<_>, _>>()?;
            if trials.is_empty() {
                return Err(SelectionError::new(format!("'{text}' names no trial")));
            }
            let name = self.common_label(&trials).unwrap_or(value).to_owned();
            return Ok(SelectedVariant {
                factor,
                name,
                value: value.to_owned(),
                against: None,
                trials,
            });
        }
        let value = match factor {
            Factor::Target => self.source.stored_target(value),
            _ => value.to_owned(),
        };
        let is_of_rounds = |one: &&StoredTrial| factor == Factor::Label || !one.is_outside_rounds();
        let chosen = self.candidates.iter().filter(is_of_rounds);
        let chosen = chosen.filter(|one| one.value(factor) == Some(&value));
        let trials: Vec<TrialId> = chosen.map(|one| one.trial).collect();
        if trials.is_empty() {
            return Err(self.nothing(factor, &value));
        }
        Ok(SelectedVariant { factor, name: value.clone(), value, against: None, trials })
    }

    /// Label common to the trials, if any.
    fn common_label(&self, trials: &[TrialId]) -> Option<&str> {
        let trials: BTreeSet<&TrialId> = trials.iter().collect();
        let trials_known = self.candidates.iter().chain(&self.excluded);
        let chosen = trials_known.filter(|one| trials.contains(&one.trial));
        let mut labels = chosen.map(|one| one.label.as_str());
        let first = labels.next().filter(|label| !label.is_empty())?;
        labels.all(|label| label == first).then_some(first)
    }

    /// Groups the trials by their value of a factor, the baseline first, the others in time order.
    fn grouped(
        &self,
        query: &SelectionQuery,
    ) -> Result<Vec<SelectedVariant>, SelectionError<S::Error>> {
        let (reported, value) = match query.baseline.as_deref().map(parsed) {
            Some((factor, value)) => (Some(factor), Some(value)),
            None => (None, None),
        };
        // A word without a prefix is a value of the factor by which the trials are grouped.
        let bare = query.baseline.as_deref() == value;
        let factor = factor_of(query);
        match reported {
            Some(reported) if reported != factor && !bare => {
                let (by, reported) = (factor.name(), reported.name());
                let message = format!("--by {by} and --baseline {reported}: group by one of them");
                return Err(SelectionError::new(message));
            }
            Some(Factor::Id) => {
                return Err(SelectionError::new("--baseline id: needs a --contender"));
            }
            _ => {}
        }
        let mut variants: Vec<SelectedVariant> = Vec::new();
        for one in self.candidates.iter().filter(|one| !one.is_outside_rounds()) {
            for (factor, value) in one.grouping_values(factor) {
                let is_it = |variant: &&mut SelectedVariant| {
                    variant.factor == factor && variant.value == value
                };
                match variants.iter_mut().find(is_it) {
                    Some(variant) => variant.trials.push(one.trial),
                    None => {
                        let (value, trials) = (value.to_owned(), vec![one.trial]);
                        let (name, against) = (value.clone(), None);
                        variants.push(SelectedVariant { factor, name, value, against, trials });
                    }
                }
            }
        }
        if let Some(value) = value {
            let value = match factor {
                Factor::Target => self.source.stored_target(value),
                _ => value.to_owned(),
            };
            let place = variants.iter().position(|variant| variant.value == value);
            let place = place.ok_or_else(|| self.nothing(factor, &value))?;
            let baseline = variants.remove(place);
            variants.insert(0, baseline);
        }
        if variants.len() < 2 {
            let message = format!(
                "the trials have {} of {}",
                counted(variants.len(), "value"),
                factor.name()
            );
            let excluded = match self.excluded.len() {
                0 => String::new(),
                excluded => format!(" (excluded trials: {excluded})"),
            };
            let message = format!("{message}: there is nothing to compare{excluded}");
            let hint = "choose variants with --baseline and --contender, or another --by";
            return Err(SelectionError::with_hint(message, hint));
        }
        Ok(variants)
    }

    /// Error that no trial has this value; the hint lists the existing values.
    fn nothing(&self, factor: Factor, value: &str) -> SelectionError<S::Error> {
        let mut values: Vec<&str> = Vec::new();
        for one in &self.candidates {
            let value = one.value(factor).filter(|value| !value.is_empty());
            values.extend(value.filter(|value| !values.contains(value)));
        }
        let more = if values.len() > LISTED { ", …" } else { "" };
        values.truncate(LISTED);
        let message = format!("no trial has the {} '{value}'", factor.name());
        let has_value = |one: &&StoredTrial| one.value(factor) == Some(value);
        let excluded = self.excluded.iter().filter(has_value).count();
        let hint = match values.len() {
            _ if excluded > 0 => {
                format!(
                    "trials with it, all excluded: {excluded}; --include-excluded compares them"
                )
            }
            0 => format!("no trial has a {}", factor.name()),
            _ => format!("there are: {}{more}", values.join(", ")),
        };
        SelectionError::with_hint(message, hint)
    }
}

impl StoredTrial {
    /// Factors and values by which the trial is grouped. A job that is compared with other jobs is
    /// grouped with the other jobs of its variant only if it is compared between variants, too.
    fn grouping_values(&self, factor: Factor) -> impl Iterator<Item = (Factor, &str)> {
        let job = self.job_apart.as_deref().map(|job| (Factor::Job, job));
        let is_of_factor = job.is_none() || self.is_between_variants;
        let own = self.value(factor).filter(|value| is_of_factor && !value.is_empty());
        own.map(|value| (factor, value)).into_iter().chain(job)
    }

    /// True if the trial is not part of a round: a warm-up, a control or an observed trial.
    fn is_outside_rounds(&self) -> bool {
        self.role().is_some_and(|role| role != CellRole::Round)
    }

    fn role(&self) -> Option<CellRole> {
        self.cell.as_ref().map(|cell| cell.role)
    }

    fn value(&self, factor: Factor) -> Option<&str> {
        match factor {
            Factor::Label => Some(&self.label),
            Factor::Target => Some(&self.target),
            Factor::Kernel => self.kernel.as_deref(),
            Factor::Variant if self.job_apart.is_some() && !self.is_between_variants => None,
            Factor::Variant => self.cell.as_ref().map(|cell| cell.variant.as_str()),
            Factor::Job => {
                let job = self.cell.as_ref().map(|cell| cell.job.as_str());
                self.job_apart.as_deref().or(job)
            }
            Factor::Filesystem => self.filesystem.as_deref(),
            Factor::Id => None,
        }
    }
}

/// Factor that distinguishes the trials: `--by`, else the prefix of `--baseline` before the colon,
/// else the default.
pub(crate) fn factor_of(query: &SelectionQuery) -> Factor {
    let usual = if query.is_of_plan { Factor::Variant } else { Factor::Label };
    let reported = query.baseline.as_deref().and_then(|text| factor(text.split_once(':')?.0));
    query.by.as_deref().and_then(factor).or(reported).unwrap_or(usual)
}

/// Factor with this name.
fn factor(name: &str) -> Option<Factor> {
    Factor::ALL.into_iter().find(|factor| factor.name() == name)
}

/// Parses a selector; a word without a known prefix is a label.
fn parsed(text: &str) -> (Factor, &str) {
    let known = text.split_once(':').and_then(|(name, value)| Some((factor(name)?, value)));
    known.unwrap_or((Factor::Label, text))
}

#[cfg(test)]
mod tests {
    use super::parsed;
    use crate::compare::Factor;

    #[test]
    fn selectors_name_a_factor_and_bare_words_are_labels() {
        assert_eq!(parsed("fs:xfs"), (Factor::Filesystem, "xfs"));
        assert_eq!(parsed("kernel:6.1.0-rc1"), (Factor::Kernel, "6.1.0-rc1"));
        assert_eq!(parsed("v6.1"), (Factor::Label, "v6.1"));
        assert_eq!(parsed("label:fs:x"), (Factor::Label, "fs:x"));
        assert_eq!(parsed("patch:2"), (Factor::Label, "patch:2"));
    }
}

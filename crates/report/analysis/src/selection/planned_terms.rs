//! Terms that the plan of the selected trials sets for their comparison.

use treering_model::{IGNORE_FACT, PRIMARY_FACT, THRESHOLD_FACT, split_metric_names};

use super::{SelectionError, SelectionQuery, TrialSelection, TrialSource};

/// Rules of a plan for the comparison of its trials.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PlannedTerms {
    /// Names of the primary metrics; empty if the plan names none.
    pub primary: Vec<String>,
    /// Threshold, as written in the plan.
    pub threshold: Option<String>,
    /// Parameters in which trials may differ.
    pub ignore: Vec<String>,
}

impl<S: TrialSource> TrialSelection<'_, S> {
    /// Primary metrics and threshold of the plan, from its newest trial.
    ///
    /// # Errors
    /// When the trial cannot be read.
    pub fn planned_terms(
        &self,
        query: &SelectionQuery,
    ) -> Result<PlannedTerms, SelectionError<S::Error>> {
        let newest = self.candidates.last().filter(|_| query.is_of_plan);
        let Some(newest) = newest else { return Ok(PlannedTerms::default()) };
        let names = [PRIMARY_FACT, THRESHOLD_FACT, IGNORE_FACT];
        let trials = self.source.with_facts(&[newest.trial], &names);
        let trials = trials.map_err(SelectionError::Source)?;
        let value = |name: &str| {
            let facts = trials.iter().flat_map(|trial| &trial.facts);
            facts.filter(|fact| fact.name == name).map(|fact| fact.value.clone()).next()
        };
        let primary = split_metric_names(&value(PRIMARY_FACT).unwrap_or_default());
        let ignore = value(IGNORE_FACT).unwrap_or_default();
        let ignore = ignore.split_terminator(',').map(str::to_owned).collect();
        Ok(PlannedTerms { primary, threshold: value(THRESHOLD_FACT), ignore })
    }
}

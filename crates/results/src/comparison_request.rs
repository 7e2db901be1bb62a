//! Request of a comparison: the trials and the terms that the user named.

use std::collections::BTreeSet;

use treering_analysis::selection::{ComparedTrials, PlannedTerms, SelectionQuery};
use treering_conduct::Failure;
use treering_model::{Metric, split_metric_names};
use treering_store::{Filter, Store, TrialSummary};

use crate::known_names::{TrialProperty, check_known, nearest_metrics};
use crate::store_error::failure;

/// Trials to compare, and the terms of the comparison, as the user named them.
#[derive(Clone, Debug, Default)]
pub struct ComparisonRequest {
    /// Selector of the baseline.
    pub baseline: Option<String>,
    /// Selectors of the variants that are compared with it.
    pub contenders: Vec<String>,
    /// Factor whose values are the variants.
    pub by: Option<String>,
    /// Plan of the trials.
    pub plan: Option<String>,
    /// Unique prefix of the identity of the campaign.
    pub campaign: Option<String>,
    /// Workload of the trials.
    pub workload: Option<String>,
    /// Parameters in which the trials may differ.
    pub ignore: Vec<String>,
    /// True if excluded trials are compared as well.
    pub includes_excluded: bool,
    /// True if the trials of all campaigns are compared together.
    pub pools_campaigns: bool,
    /// Smallest difference that matters, as a percentage.
    pub threshold: Option<String>,
    /// Lists of names of metrics that decide.
    pub primary: Vec<String>,
}

impl ComparisonRequest {
    pub(crate) fn query(&self) -> SelectionQuery {
        SelectionQuery {
            baseline: self.baseline.clone(),
            contenders: self.contenders.clone(),
            by: self.by.clone(),
            is_of_plan: self.plan.is_some() || self.campaign.is_some(),
            is_of_workload: self.workload.is_some(),
            includes_excluded: self.includes_excluded,
            pools_campaigns: self.pools_campaigns,
        }
    }

    /// Trials that are selected, in the order of time.
    ///
    /// # Errors
    /// When no trial is of the plan or the workload, or the store cannot be read.
    pub fn summaries(&self, store: &Store) -> Result<Vec<TrialSummary>, Failure> {
        let (workload, plan) = (self.workload.clone(), self.plan.clone());
        let filter = Filter { workload, plan, ..Filter::default() };
        let mut summaries = store.trials(&filter).map_err(|error| failure(&error))?;
        let named = [(TrialProperty::Plan, &self.plan), (TrialProperty::Workload, &self.workload)];
        for (property, value) in named.into_iter().filter(|_| summaries.is_empty()) {
            value.as_deref().map_or(Ok(()), |value| check_known(store, property, value))?;
        }
        let campaign_of = |summary: &TrialSummary| summary.cell.as_ref().map(|cell| cell.campaign);
        if let Some(prefix) = &self.campaign {
            let campaign = store.find(prefix).map_err(|error| failure(&error))?;
            summaries.retain(|one| campaign_of(one) == Some(campaign));
        }
        summaries.reverse();
        Ok(summaries)
    }

    /// The request of the plan of all trials, where the user named neither trials nor variants and
    /// the trials are of one plan.
    #[must_use]
    pub fn of_only_plan(mut self, summaries: &[TrialSummary]) -> Self {
        let names_variants =
            self.baseline.is_some() || self.by.is_some() || !self.contenders.is_empty();
        if names_variants || self.plan.is_some() || self.campaign.is_some() {
            return self;
        }
        let plans: BTreeSet<Option<&str>> =
            summaries.iter().map(|one| one.cell.as_ref().map(|cell| cell.plan.as_str())).collect();
        if let (1, Some(Some(plan))) = (plans.len(), plans.first()) {
            self.plan = Some((*plan).to_owned());
        }
        self
    }

    /// The request with the primary metrics and the threshold of the plan, where it names none.
    pub(crate) fn as_planned(&self, planned: &PlannedTerms) -> Self {
        let mut completed = self.clone();
        if completed.primary.is_empty() {
            completed.primary.clone_from(&planned.primary);
        }
        completed.threshold = completed.threshold.or_else(|| planned.threshold.clone());
        completed
    }

    /// Names of the metrics that decide.
    pub(crate) fn primary_metrics(&self) -> Vec<String> {
        self.primary.iter().flat_map(|list| split_metric_names(list)).collect()
    }

    /// Rejects a primary metric that no trial of the variants has.
    ///
    /// # Errors
    /// When there is such a metric.
    pub fn check_primary(&self, trials: &ComparedTrials) -> Result<(), Failure> {
        let contenders = trials.contenders.iter().chain(&trials.observed);
        let variants = std::iter::once(&trials.baseline).chain(contenders);
        let metrics: BTreeSet<String> = variants
            .flat_map(|variant| &variant.trials)
            .flat_map(|trial| &trial.metrics)
            .map(Metric::full_name)
            .collect();
        let primary = self.primary_metrics();
        let Some(unknown) = primary.iter().find(|name| !metrics.contains(*name)) else {
            return Ok(());
        };
        let message = format!("--primary {unknown}: no trial of the variants has this metric");
        Err(Failure::usage(message).hint(nearest_metrics(unknown, &metrics)))
    }
}

/// Parses a percentage from 0 to 1000 % as a share: `3%` is .03.
///
/// # Errors
/// When the text is no such percentage; the message names the option.
pub fn percentage(option: &str, text: &str) -> Result<f64, Failure> {
    let percent = text.strip_suffix('%').and_then(|number| number.trim().parse::<f64>().ok());
    percent.filter(|percent| (0.0..=1000.0).contains(percent)).map(|p| p / 100.0).ok_or_else(|| {
        Failure::usage(format!("{option}: '{text}' is not a percentage"))
            .hint("a percentage is a number with a percent sign, such as 3%")
    })
}

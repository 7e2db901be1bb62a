//! Comparison of stored trials: the variants that were asked for, with what their plan says about
//! the comparison, and its page.

use std::path::Path;

use treering_analysis::compare::{
    ComparedVariant, ComparisonTerms, Outcome, compare_observed, environment,
};
use treering_analysis::selection::{ComparedTrials, PlannedTerms, SelectedVariant, TrialSelection};
use treering_conduct::{Failure, FailureKind};
use treering_report::pages::comparison::{ComparisonView, PageDetail, page};
use treering_report::{PageOrigin, Report};
use treering_store::TrialSummary;

use crate::comparison_request::{ComparisonRequest, percentage};
use crate::repeating::{again, measured_again, question, repeat};
use crate::trial_source::{StoredTrials, failed_selection, selection};

/// Options of the page of a comparison.
#[derive(Clone, Copy, Debug)]
pub struct ComparisonPage<'a> {
    /// Detail of the page.
    pub detail: PageDetail,
    /// True if the page has charts.
    pub draws: bool,
    /// Path of the store that the user named, for the commands of the page.
    pub store: Option<&'a Path>,
    /// Command line that has just conducted the campaign, if one has.
    pub typed: Option<&'a str>,
}

/// Variants of a comparison, with their trials.
pub struct StoredComparison<'s> {
    selection: TrialSelection<'s, StoredTrials<'s>>,
    source: &'s StoredTrials<'s>,
    planned: PlannedTerms,
    /// Request, completed by the terms of the plan.
    pub request: ComparisonRequest,
    /// Selectors of the variants, the baseline first.
    pub variants: Vec<SelectedVariant>,
    /// Trials of the variants, with their controls and observed rounds.
    pub trials: ComparedTrials,
}

/// Variants of a comparison, or the reason why there is nothing to compare.
pub enum ComparisonInput<'s> {
    /// Variants, of which there may be only one if the caller did not ask for a reason.
    Variants(Box<StoredComparison<'s>>),
    /// Reason why there is nothing to compare.
    Nothing(String),
}

impl<'s> StoredComparison<'s> {
    /// Reads the variants of a request from trials in the order of time. If `asks_reason` is set,
    /// variants that leave nothing to compare are answered with the reason, without an error.
    ///
    /// # Errors
    /// When the selectors name no trials, or these cannot be read.
    pub fn read(
        source: &'s StoredTrials<'s>,
        summaries: Vec<TrialSummary>,
        request: &ComparisonRequest,
        asks_reason: bool,
    ) -> Result<ComparisonInput<'s>, Failure> {
        let query = request.query();
        let selection = selection(source, summaries, &query)?;
        if let Some(why) = selection.nothing_to_compare(&query).filter(|_| asks_reason) {
            return Ok(ComparisonInput::Nothing(why));
        }
        let planned = selection.planned_terms(&query).map_err(failed_selection)?;
        let request = request.as_planned(&planned);
        let variants = selection.variants(&query).map_err(failed_selection)?;
        let (control, observed) = (selection.control(&variants[0]), selection.observed(&variants));
        let mut trials = ComparedTrials::read(source, &variants, control.as_ref(), &observed)
            .map_err(failed_selection)?;
        trials.notes.extend(selection.notes().iter().cloned());
        let comparison = Self { selection, source, planned, request, variants, trials };
        Ok(ComparisonInput::Variants(Box::new(comparison)))
    }

    /// Ignores parameters as the plan and the request say. Jobs without trials yet may have
    /// parameters that the plan ignores.
    ///
    /// # Errors
    /// When the request ignores a parameter that no trial has.
    pub fn ignore_parameters(&mut self) -> Result<(), Failure> {
        self.trials.ignore_parameters(&self.planned.ignore);
        let Some(name) = self.trials.ignore_parameters(&self.request.ignore) else { return Ok(()) };
        let message = format!("--ignore: no trial of the variants has a parameter '{name}'");
        Err(Failure::usage(message).hint("`treering show ID` lists the parameters of a trial"))
    }

    /// Adds what is to be said about trials that the user excluded.
    ///
    /// # Errors
    /// When trials cannot be read.
    pub fn add_excluded(&mut self) -> Result<(), Failure> {
        let notes = self.selection.excluded_and_named(&self.variants).map_err(failed_selection)?;
        self.trials.notes.extend(notes);
        self.trials.excluded =
            self.selection.excluded_of(&self.variants).map_err(failed_selection)?;
        Ok(())
    }

    /// Compares the variants and checks the control.
    ///
    /// # Errors
    /// When the threshold is no percentage, or the variants have no job in common.
    pub fn outcome(&self) -> Result<Outcome, Failure> {
        let refused = |error| Failure::of(FailureKind::Usage, &error);
        let threshold = self.request.threshold.as_deref();
        let threshold = threshold.map(|text| percentage("--threshold", text)).transpose()?;
        let terms = ComparisonTerms { threshold, primary: self.request.primary_metrics() };
        let ComparedTrials { baseline, contenders, control, observed, .. } = &self.trials;
        let mut outcome =
            compare_observed(baseline, contenders, observed, &terms).map_err(refused)?;
        if let Some(control) = control {
            outcome.check_control(baseline, control, &terms).map_err(refused)?;
        }
        outcome.cautions.extend(self.trials.excluded.clone());
        Ok(outcome)
    }

    /// Builds the page of the comparison.
    ///
    /// # Errors
    /// When trials cannot be read.
    pub fn page(
        &mut self,
        outcome: &Outcome,
        options: &ComparisonPage<'_>,
    ) -> Result<Report, Failure> {
        let (mut profiles, mut observed) = (Vec::new(), Vec::new());
        if options.draws {
            profiles = self.trials.profiles(self.source).map_err(failed_selection)?;
            observed = self.trials.observed_jobs(self.source).map_err(failed_selection)?;
        }
        let trials = &self.trials;
        let environment = environment(&trials.baseline, &trials.contenders);
        let repeat = repeat(&trials.baseline, &trials.contenders, options.store);
        let origin = self.origin(options)?;
        let variants: Vec<&ComparedVariant> =
            std::iter::once(&trials.baseline).chain(&trials.contenders).collect();
        let question = question(self.source.0, &variants);
        let view = ComparisonView {
            question: question.as_deref(),
            command: &again(&self.request, options.store, &self.variants),
            repeat: &repeat,
            notes: &trials.notes,
            environment: &environment,
            profiles: &profiles,
            observed: &observed,
            origin: Some(&origin),
            detail: options.detail,
        };
        Ok(page(outcome, &view))
    }

    /// Origin of the figures, with the command that measures the comparison again.
    fn origin(&self, options: &ComparisonPage<'_>) -> Result<PageOrigin, Failure> {
        let variants = std::iter::once(&self.trials.baseline).chain(&self.trials.contenders);
        let origin = PageOrigin::of_trials(variants.flat_map(|variant| &variant.trials));
        let typed = (options.typed, options.store);
        let again = measured_again(typed, self.source.0, &self.trials.baseline)?;
        Ok(match again {
            Some((purpose, line)) => origin.with_command(purpose, &line),
            None => origin,
        })
    }
}

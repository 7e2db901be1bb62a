//! Histories of stored trials: assigns trials to points; changes of level are found in the
//! analysis.

use std::collections::BTreeSet;

use jiff::Timestamp;
use treering_analysis::history::{DatedTrial, History, HistoryTerms, explain, history};
use treering_conduct::{Failure, FailureKind};
use treering_model::nearest::{nearest, suggestion};
use treering_model::{LINK_FACT, Trial, TrialId, VARIANT_FACT};
use treering_report::PageOrigin;
use treering_store::{Filter, LoadDetail, ReadingsQuery, Store};

use crate::known_names::{TrialProperty, check_known, nearest_metrics};
use crate::store_error::failure;

/// Maximum number of series whose trials are named at the foot of the page.
const ORIGIN_SERIES: usize = 20;

/// Trials of a history, and the property that makes its points.
#[derive(Clone, Copy, Debug, Default)]
pub struct SeriesRequest<'a> {
    /// Property that makes a point: `kernel`, `date`, `label`, or the name of a fact or parameter.
    pub by: &'a str,
    /// Full name of the only metric; `None` for those that decide comparisons.
    pub metric: Option<&'a str>,
    /// Variant by which the values of the others are divided, round by round.
    pub anchor: Option<&'a str>,
    /// Workload of the trials.
    pub workload: Option<&'a str>,
    /// Plan of the trials.
    pub plan: Option<&'a str>,
}

/// Origin of the figures: the first and the last trial of each series.
///
/// # Errors
/// When the trials cannot be read.
pub fn origin_of(store: &Store, history: &History) -> Result<PageOrigin, Failure> {
    let ends = history.series.iter().take(ORIGIN_SERIES).flat_map(|series| {
        let (first, last) = (series.points.first(), series.points.last());
        let first = first.and_then(|point| point.trials.first());
        [first, last.and_then(|point| point.trials.last())].into_iter().flatten().copied()
    });
    let ends: BTreeSet<TrialId> = ends.collect();
    let ends: Vec<TrialId> = ends.into_iter().collect();
    let trials = store.load_many(&ends, LoadDetail::Headlines).map_err(|error| failure(&error))?;
    Ok(PageOrigin::of_ends(trials.iter()))
}

/// Finds the requested series and their changes of level.
///
/// # Errors
/// When no trial has a point, a value of the metric or a partner, or the store cannot be read.
pub fn requested_history(store: &Store, args: &SeriesRequest<'_>) -> Result<History, Failure> {
    let wanted = ReadingsQuery {
        workload: args.workload,
        plan: args.plan,
        metric: args.metric,
        facts: &facts_of(args.by),
        facts_outside_plans: &["filesystem.type", VARIANT_FACT, LINK_FACT],
    };
    let trials = store.readings(&wanted).map_err(|error| failure(&error))?;
    let trial_count = trials.len();
    if let Some(workload) = args.workload.filter(|_| trial_count == 0) {
        check_known(store, TrialProperty::Workload, workload)?;
    }
    let dated_trials: Vec<DatedTrial> =
        trials.into_iter().filter_map(|trial| dated_trial(trial, args.by)).collect();
    if dated_trials.is_empty() && trial_count > 0 {
        return Err(no_points(args.by, store));
    }
    let terms = HistoryTerms {
        metric: args.metric.map(str::to_owned),
        anchor: args.anchor.map(str::to_owned),
    };
    let mut history =
        history(&dated_trials, &terms).map_err(|error| Failure::of(FailureKind::Usage, &error))?;
    history.left_out += trial_count - dated_trials.len();
    if history.series.is_empty() && (args.metric.is_some() || args.anchor.is_some()) {
        return Err(no_series(args, &dated_trials, store));
    }
    explain(&mut history, |ids| store.load_many(ids, LoadDetail::Headlines))
        .map_err(|error| failure(&error))?;
    Ok(history)
}

/// Names of the facts that identify the points of a history by `by`. For a trial outside of plans
/// the variant is the filesystem.
fn facts_of(by: &str) -> Vec<&str> {
    match by {
        "kernel" => vec!["guest.kernel_release", "kernel.release"],
        "label" | "date" => Vec::new(),
        name => vec![name],
    }
}

/// Trial with the point to which it belongs; `None` if the trial lacks the fact.
pub fn dated_trial(trial: Trial, by: &str) -> Option<DatedTrial> {
    let key = match by {
        "kernel" => {
            trial.fact("guest.kernel_release").or_else(|| trial.fact("kernel.release"))?.to_owned()
        }
        "label" => Some(&trial.beginning.label).filter(|label| !label.is_empty())?.clone(),
        "date" => {
            // A log without a date has the start of 1970.
            let known = Some(trial.beginning.started_unix_ms).filter(|&started| started > 0)?;
            Timestamp::from_millisecond(known).ok()?.strftime("%Y-%m-%d").to_string()
        }
        name => {
            let mut parameters = trial.beginning.parameters.iter();
            let parameter =
                parameters.find(|(known, _)| known == name).map(|(_, value)| value.as_str());
            trial.fact(name).or(parameter)?.to_owned()
        }
    };
    Some(DatedTrial { key, trial })
}

fn no_points(by: &str, store: &Store) -> Failure {
    let message = format!("--by {by}: no trial of the store knows it");
    // The newest trial stands for the others.
    let newest = Filter { limit: Some(1), ..Filter::default() };
    let newest = store.trials(&newest).ok().and_then(|trials| trials.first().map(|one| one.trial));
    let newest = newest.and_then(|trial| store.load(trial).ok());
    let parameters = newest.iter().flat_map(|trial| &trial.beginning.parameters);
    let known: BTreeSet<&str> = ["kernel", "date", "label"]
        .into_iter()
        .chain(newest.iter().flat_map(|trial| &trial.facts).map(|fact| fact.name.as_str()))
        .chain(parameters.map(|(name, _)| name.as_str()))
        .collect();
    let meant = nearest(by, known).map(|meant| format!("did you mean `{meant}`? "));
    Failure::usage(message).hint(format!(
        "{}use kernel, date, label, or the name of a fact or parameter that `treering show` prints",
        meant.unwrap_or_default()
    ))
}

fn no_series(args: &SeriesRequest<'_>, dated: &[DatedTrial], store: &Store) -> Failure {
    let trials = dated.iter().map(|one| &one.trial);
    let (message, hint) = match (args.metric, args.anchor) {
        (_, Some(anchor)) => {
            let cells = trials.filter_map(|trial| trial.beginning.cell.as_ref());
            let known: BTreeSet<&str> = cells.map(|cell| cell.variant.as_str()).collect();
            let known: Vec<&str> = known.into_iter().take(20).collect();
            let known = suggestion(anchor, &known, "variants of plans in this store");
            (
                format!("--anchor {anchor}: no trial has a partner of this variant in its round"),
                known,
            )
        }
        (metric, None) => {
            let metric = metric.unwrap_or_default();
            let known = store.metric_names().unwrap_or_default().into_iter().collect();
            (format!("--metric {metric}: no trial has it"), nearest_metrics(metric, &known))
        }
    };
    Failure::usage(message).hint(hint)
}

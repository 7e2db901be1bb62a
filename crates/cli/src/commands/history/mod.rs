//! `treering history`: stored measurements over kernels or days. This module assigns trials to
//! points; changes of level are found in the analysis.

mod known;

use std::collections::BTreeSet;
use std::process::ExitCode;

use jiff::Timestamp;
use treering_analysis::history::{
    DatedTrial, FEWEST_POINTS, History, HistoryTerms, explain, history,
};
use treering_model::nearest::{nearest, suggestion};
use treering_model::{LINK_FACT, Trial, TrialId, VARIANT_FACT};
use treering_report::PageOrigin;
use treering_report::pages::history::json::HistoryData;
use treering_report::pages::history::{HistoryView, page};
use treering_store::{Filter, LoadDetail, ReadingsQuery, Store};

use super::output;
use super::report::{TrialProperty, check_known, nearest_metrics};
use super::typed::typed_again;
use crate::arguments::{HistoryArgs, SeriesArgs, percentage};
use crate::exit_codes::UNCLEAR;
use crate::failure::{Failure, Kind};
use crate::storage::{failure, no_results, open_to_read};

/// Maximum number of series whose trials are named at the foot of the page.
const ORIGIN_SERIES: usize = 20;

/// Shows the history.
pub(crate) fn run(args: &HistoryArgs) -> Result<ExitCode, Failure> {
    let terms = GateTerms::new(args.recent, args.smallest_change.as_deref())?;
    let Some(store) = open_to_read(args.series.store.store.as_deref())? else {
        return Err(no_results());
    };
    let mut history = requested_history(&store, &args.series)?;
    let origin = origin_of(&store, &history)?;
    drop(store);
    if let Some(code) = known::change(args, &history)? {
        return Ok(code);
    }
    if let Some(address) = &args.link {
        add_links(&mut history, address)?;
    }
    let (by, anchor) = (args.series.by.as_str(), args.series.anchor.as_deref());
    let view = HistoryView { by, anchor, draws: output::is_html(args.output.format()) };
    let data = HistoryData::new(&history, by, anchor);
    let mut shown = page(&history, &view);
    shown.origin(origin.with_command("The same page", &typed_again(std::env::args_os())));
    output::write_or_data(&shown, &data, &args.output)?;
    Ok(if args.gate { gate(&history, &terms) } else { ExitCode::SUCCESS })
}

/// Origin of the figures: the first and the last trial of each series.
pub(super) fn origin_of(store: &Store, history: &History) -> Result<PageOrigin, Failure> {
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

/// Adds the link to each point that has none: the address with the key of the point.
fn add_links(history: &mut History, address: &str) -> Result<(), Failure> {
    const KEY: &str = "{}";
    let is_web = ["https://", "http://"].iter().any(|scheme| address.starts_with(scheme));
    if !is_web || !address.contains(KEY) {
        let message = "--link: an address begins with https:// or http:// and has {} for the point";
        return Err(Failure::usage(message)
            .hint("for instance --by commit --link 'https://example.org/commit/{}'"));
    }
    for point in history.series.iter_mut().flat_map(|series| &mut series.points) {
        point.link.get_or_insert_with(|| address.replace(KEY, &point.key));
    }
    Ok(())
}

/// Finds the requested series and their changes of level.
pub(super) fn requested_history(store: &Store, args: &SeriesArgs) -> Result<History, Failure> {
    let wanted = ReadingsQuery {
        workload: args.workload.as_deref(),
        plan: args.plan.as_deref(),
        metric: args.metric.as_deref(),
        facts: &facts_of(&args.by),
        facts_outside_plans: &["filesystem.type", VARIANT_FACT, LINK_FACT],
    };
    let trials = store.readings(&wanted).map_err(|error| failure(&error))?;
    let trial_count = trials.len();
    if let Some(workload) = args.workload.as_deref().filter(|_| trial_count == 0) {
        check_known(store, TrialProperty::Workload, workload)?;
    }
    let dated_trials: Vec<DatedTrial> =
        trials.into_iter().filter_map(|trial| dated_trial(trial, &args.by)).collect();
    if dated_trials.is_empty() && trial_count > 0 {
        return Err(no_points(&args.by, store));
    }
    let terms = HistoryTerms { metric: args.metric.clone(), anchor: args.anchor.clone() };
    let mut history =
        history(&dated_trials, &terms).map_err(|error| Failure::of(Kind::Usage, &error))?;
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
pub(super) fn dated_trial(trial: Trial, by: &str) -> Option<DatedTrial> {
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

fn no_series(args: &SeriesArgs, dated: &[DatedTrial], store: &Store) -> Failure {
    let trials = dated.iter().map(|one| &one.trial);
    let (message, hint) = match (&args.metric, &args.anchor) {
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
            let metric = metric.as_deref().unwrap_or_default();
            let known = store.metric_names().unwrap_or_default().into_iter().collect();
            (format!("--metric {metric}: no trial has it"), nearest_metrics(metric, &known))
        }
    };
    Failure::usage(message).hint(hint)
}

/// Terms of the gate: which changes count.
pub(super) struct GateTerms {
    /// Number of newest points in which a level must begin.
    recent: usize,
    /// Share of the old level by which a level must differ.
    smallest_change: f64,
}

impl GateTerms {
    pub(super) fn new(recent: usize, smallest_change: Option<&str>) -> Result<Self, Failure> {
        let share =
            smallest_change.map(|text| percentage("--smallest-change", text)).transpose()?;
        Ok(Self { recent, smallest_change: share.unwrap_or(0.0) })
    }

    fn is_large(&self, ratio: f64) -> bool {
        (ratio - 1.0).abs() >= self.smallest_change
    }
}

/// Exit code of the gate: 1 if one of the newest points may have begun a worse level, 5 if the
/// newest point is suspect or no series was long enough to be judged.
pub(super) fn gate(history: &History, terms: &GateTerms) -> ExitCode {
    let worse = history.series.iter().any(|series| {
        let mut shifts = series.shifts.iter();
        shifts.any(|shift| {
            let is_recent = shift.is_recent(series.points.len(), terms.recent);
            shift.is_alarming() && is_recent && terms.is_large(shift.ratio)
        })
    });
    let is_suspect = |series: &treering_analysis::history::HistorySeries| {
        let suspect = series.suspect.as_ref();
        suspect.is_some_and(|suspect| suspect.is_worse && terms.is_large(suspect.ratio))
    };
    let is_unclear = history.series.iter().any(is_suspect)
        || history.series.iter().all(|series| series.points.len() < FEWEST_POINTS);
    match (worse, is_unclear) {
        (true, _) => ExitCode::from(1),
        (false, true) => ExitCode::from(UNCLEAR),
        (false, false) => ExitCode::SUCCESS,
    }
}

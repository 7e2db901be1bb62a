//! `treering watch`: adds a point to a series. The watched kernel or variant and an anchor that
//! never changes are measured alternately; the history of their ratios shows changes of level.

use std::convert::Infallible;
use std::process::ExitCode;

use treering_analysis::history::{
    DatedTrial, History, HistoryGate, HistorySeries, HistoryTerms, explain, history,
};
use treering_conduct::plan::Plan;
use treering_conduct::watch::{
    WatchOptions, WorsePoint, foresee_point, measure_points, next_commands, trials_of_series,
    watched_plan,
};
use treering_conduct::{PlanEnd, PlanOptions};
use treering_model::{Trial, TrialId};
use treering_report::PageOrigin;
use treering_report::pages::history::json::HistoryData;
use treering_report::pages::history::{HistoryView, page};
use treering_results::{PlanStore, dated_trial};

use super::compare::{read_rehearsed, show_plan, usual_options};
use super::history::{gate, gate_terms};
use super::typed::typed_again;
use super::{lab, output};
use crate::arguments::WatchArgs;
use crate::clock;
use crate::failure::{Failure, Kind};
use crate::storage::plan_store;
use crate::terminal::Terminal;

/// Factor whose values are the points of the series.
const BY: &str = "label";

/// Measures the points, and shows the history.
pub(crate) fn run(args: &WatchArgs) -> Result<ExitCode, Failure> {
    let terms = gate_terms(args.recent, args.smallest_change.as_deref())?;
    let options = options(args);
    let trying = if args.dry_run { lab::recording() } else { lab::open() };
    let other_kernel = args.kernel.is_some();
    let read = read_rehearsed(&args.plan, args.full_size, (other_kernel, &trying))?;
    let plan = watched_plan(read, &options)?;
    let store = plan_store(&args.store);
    let mut plan_options = PlanOptions {
        erase: args.erase.clone(),
        quiet: args.quiet,
        ..usual_options(Some(&args.plan))
    };
    if args.dry_run {
        plan_options.point = Some(foresee_point(&plan, &options, (&store, &Terminal))?);
        return show_plan(&plan, &plan_options, &args.store, None);
    }
    let around = (&store as _, &Terminal as _);
    match measure_points(&plan, &options, &mut plan_options, around, &lab::open())? {
        PlanEnd::Interrupted => Ok(ExitCode::from(Kind::Interrupted.code())),
        _ => show(&plan, &options, &store, (args, terms)),
    }
}

/// Options of the series, from the arguments.
fn options(args: &WatchArgs) -> WatchOptions {
    WatchOptions {
        plan_file: args.plan.clone(),
        anchor: args.anchor.clone(),
        label: args.label.clone(),
        day: clock::day(),
        label_by: args.label_by.clone(),
        kernel: args.kernel.clone(),
        rounds: args.rounds,
        points: args.points,
        accepts_anchor: args.accept_anchor,
        erase: args.erase.clone(),
        store: args.store.store.clone(),
        quiet: args.quiet,
    }
}

/// Shows the history of the series, including the new points.
fn show(
    plan: &Plan,
    options: &WatchOptions,
    store: &PlanStore<'_>,
    (args, gate_terms): (&WatchArgs, HistoryGate),
) -> Result<ExitCode, Failure> {
    let trials = trials_of_series(plan, options, store)?;
    let dated_trials: Vec<DatedTrial> =
        trials.into_iter().filter_map(|trial| dated_trial(trial, BY)).collect();
    let terms = HistoryTerms { metric: None, anchor: args.anchor.clone() };
    let mut series: History =
        history(&dated_trials, &terms).map_err(|error| Failure::of(Kind::Usage, &error))?;
    let of = |ids: &[TrialId]| -> Result<Vec<Trial>, Infallible> {
        let trials = dated_trials.iter().map(|one| &one.trial);
        Ok(trials.filter(|trial| ids.contains(&trial.beginning.trial)).cloned().collect())
    };
    let Ok(()) = explain(&mut series, of);
    let anchor = args.anchor.as_deref();
    let draws = output::is_html(args.output.format());
    let mut shown = page(&series, &HistoryView { by: BY, anchor, draws });
    let needed = series.series.iter().filter_map(HistorySeries::points_needed).max();
    let worse = worse_point(&series, args.recent).or_else(|| worse_trend(&series, &dated_trials));
    for (purpose, command) in next_commands(options, needed, worse.as_ref()) {
        shown.command(&purpose, &command);
    }
    let origin = PageOrigin::of_trials(dated_trials.iter().map(|one| &one.trial));
    shown.origin(origin.with_command("One more point", &typed_again(std::env::args_os())));
    output::write_or_data(&shown, &HistoryData::new(&series, BY, anchor), &args.output)?;
    Ok(if args.gate { gate(&series, gate_terms) } else { ExitCode::SUCCESS })
}

/// First change for the worse among the newest points of the series.
fn worse_point(history: &History, recent: usize) -> Option<WorsePoint> {
    let (series, shift) = history.newest_worse_shift(recent)?;
    let kernel = shift.facts.iter().find(|fact| fact.name == "guest.kernel");
    Some(WorsePoint {
        good: series.points[shift.index - 1].key.clone(),
        worse: series.points[shift.index].key.clone(),
        good_kernel: kernel.map(|fact| fact.before.clone()),
        trend_ratio: None,
    })
}

/// Ends of the first trend for the worse that is not known.
fn worse_trend(history: &History, trials: &[DatedTrial]) -> Option<WorsePoint> {
    let trends = history.series.iter().filter_map(|one| Some((one, one.alarming_trend()?)));
    let (series, trend) = trends.min_by_key(|(_, trend)| trend.index)?;
    let first = &series.points[trend.index];
    let is_of_first = |one: &&DatedTrial| first.trials.contains(&one.trial.beginning.trial);
    let kernel = trials.iter().find(is_of_first).and_then(|one| one.trial.fact("guest.kernel"));
    Some(WorsePoint {
        good: first.key.clone(),
        worse: series.points.last()?.key.clone(),
        good_kernel: kernel.map(str::to_owned),
        trend_ratio: Some(trend.ratio),
    })
}

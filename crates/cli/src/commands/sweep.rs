//! `treering plan sweep`: the curves of a campaign whose jobs or variants were swept over values.

use std::process::ExitCode;

use treering_analysis::sweep::sweeps;
use treering_model::{Cell, TrialId};
use treering_report::PageOrigin;
use treering_report::pages::history::sweep::page;
use treering_store::{Filter, LoadDetail, TrialState};

use super::output;
use super::typed::with_typed;
use crate::arguments::SweepArgs;
use crate::failure::{Failure, Kind};
use crate::storage::{failure, open_results};

/// Shows the curves.
pub(crate) fn run(args: &SweepArgs) -> Result<ExitCode, Failure> {
    let store = open_results(&args.store)?;
    let filter = Filter { plan: args.plan.clone(), ..Filter::default() };
    let mut summaries = store.trials(&filter).map_err(|error| failure(&error))?;
    summaries.retain(|one| matches!(one.state, TrialState::Ended(_)));
    let has_values =
        |cell: &&Cell| [&cell.job, &cell.variant].iter().any(|name| name.contains('='));
    let newest = summaries.iter().filter_map(|one| one.cell.as_ref()).find(has_values);
    let Some((campaign, plan)) = newest.map(|cell| (cell.campaign, cell.plan.clone())) else {
        let message = match &args.plan {
            Some(plan) => format!("--plan {plan}: no trial of it is of a sweep"),
            None => "no trial of the store is of a sweep".to_owned(),
        };
        return Err(Failure::usage(message)
            .hint("write sweep = { threads = [1, 4, 16] } into a [[job]], and run the plan"));
    };
    let is_of = |cell: &Cell| cell.campaign == campaign;
    let ids: Vec<TrialId> = summaries
        .iter()
        .rev()
        .filter(|one| one.cell.as_ref().is_some_and(is_of))
        .map(|one| one.trial)
        .collect();
    let trials = store.load_many(&ids, LoadDetail::Headlines).map_err(|error| failure(&error))?;
    let curves = sweeps(&trials, args.metric.as_deref())
        .map_err(|error| Failure::of(Kind::Usage, &error))?;
    if curves.is_empty() {
        let message = match &args.metric {
            Some(metric) => format!("--metric {metric}: no sweep of {plan} has it"),
            None => format!("the sweeps of {plan} have no two points yet"),
        };
        return Err(Failure::usage(message));
    }
    let draws = output::is_html(args.output.format());
    let mut shown = page(&plan, &curves, draws);
    let origin = PageOrigin::of_trials(trials.iter());
    shown.origin(with_typed(origin));
    output::write(&shown, &args.output)?;
    Ok(ExitCode::SUCCESS)
}

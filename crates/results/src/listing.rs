//! Trials of a store as lists show them.

use treering_analysis::KnownTotals;
use treering_analysis::io500::ListedRun;
use treering_conduct::Failure;
use treering_model::TrialId;
use treering_report::PageOrigin;
use treering_report::pages::trials::TrialRow;
use treering_store::{Filter, LoadDetail, Store, StoreError, TrialState};

use crate::store_error::failure;

/// Number of runs of IO500 where none is named: as many columns as fit a terminal.
const IO500_RUNS: usize = 6;

/// Rows of the list of trials, and the origin of these.
///
/// # Errors
/// When the store cannot be read.
pub fn trial_rows(
    store: &Store,
    filter: &Filter,
) -> Result<(Vec<TrialRow>, PageOrigin), StoreError> {
    let summaries = store.trials(filter)?;
    let ids: Vec<_> = summaries.iter().map(|summary| summary.trial).collect();
    let short = store.short_ids(&ids)?;
    let trials = store.load_many(&ids, LoadDetail::Headlines)?;
    let origin = PageOrigin::of_ends(trials.iter());
    let rows = summaries.into_iter().zip(short).zip(trials).map(|((summary, short_id), trial)| {
        let ending = match summary.state {
            TrialState::Running => None,
            TrialState::Ended(ending) => Some(ending),
        };
        let tasks: u64 = trial.phases.iter().map(|phase| u64::from(phase.tasks)).sum();
        TrialRow {
            trial: summary.trial,
            tasks: KnownTotals::for_trial(&trial).amount(tasks),
            excluded: summary.excluded,
            cell: summary.cell,
            short_id,
            started_unix_ms: summary.started_unix_ms,
            workload: summary.workload,
            mode: summary.mode,
            label: summary.label,
            target: summary.target,
            ending,
            wall_ns: summary.wall_ns,
            phases: summary.phases,
            metrics: trial.metrics.into_iter().filter(|metric| metric.primary).collect(),
        }
    });
    Ok((rows.collect(), origin))
}

/// Runs of IO500 with the names of their columns, in the order of `names`, or the newest last; and
/// their origin.
///
/// # Errors
/// When the store cannot be read, or a name is not that of such a run.
pub fn io500_runs(
    store: &Store,
    names: &[String],
) -> Result<(Vec<(String, ListedRun)>, PageOrigin), Failure> {
    let found = |error| failure(&error);
    let ids: Vec<TrialId> = if names.is_empty() {
        let filter = Filter { workload: Some("io500".to_owned()), ..Filter::default() };
        store.trials(&filter).map_err(found)?.iter().map(|one| one.trial).collect()
    } else {
        names.iter().map(|name| store.find(name)).collect::<Result<_, _>>().map_err(found)?
    };
    let (mut runs, mut shown) = (Vec::new(), Vec::new());
    for trial in ids {
        if names.is_empty() && runs.len() == IO500_RUNS {
            break;
        }
        let id = store.short_ids(&[trial]).map_err(found)?.concat();
        let mut trials = store.load_many(&[trial], LoadDetail::Tasks).map_err(found)?;
        let run = trials.first().and_then(ListedRun::from_trial);
        let label = trials.first().map_or("", |trial| trial.beginning.label.as_str());
        match run {
            Some(run) => {
                runs.push((format!("{id} {label}").trim_end().to_owned(), run));
                shown.append(&mut trials);
            }
            None if names.is_empty() => {}
            None => {
                let message = format!("{id} is no run of IO500 with rates of its phases");
                return Err(Failure::usage(message)
                    .hint("`treering list --workload io500` lists the runs of IO500"));
            }
        }
    }
    if names.is_empty() {
        runs.reverse();
    }
    Ok((runs, PageOrigin::of_ends(shown.iter())))
}

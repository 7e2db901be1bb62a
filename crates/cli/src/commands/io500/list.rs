//! `treering io500 list`: rehearsals and imported results side by side.

use std::process::ExitCode;

use treering_analysis::io500::ListedRun;
use treering_model::TrialId;
use treering_report::PageOrigin;
use treering_report::pages::tools::io500::list;
use treering_store::{Filter, LoadDetail, Store};

use crate::arguments::Io500ListArgs;
use crate::commands::output;
use crate::commands::typed::with_typed;
use crate::failure::Failure;
use crate::storage::{failure, open_to_read};

/// Number of runs where none is named: as many columns as fit a terminal.
const RUNS: usize = 6;

/// Prints the runs, in the order of their names, or the newest last.
pub(crate) fn run(args: &Io500ListArgs) -> Result<ExitCode, Failure> {
    let (runs, origin) = match open_to_read(&args.store)? {
        Some(store) => runs(&store, &args.trials)?,
        None => Default::default(),
    };
    let mut shown = list(&runs);
    shown.origin(with_typed(origin));
    output::write(&shown, &args.output)?;
    Ok(ExitCode::SUCCESS)
}

/// Runs with their names, and their origin.
fn runs(
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
        if names.is_empty() && runs.len() == RUNS {
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

//! `treering show`: one trial.

mod classic;
mod console;

use std::process::ExitCode;

use treering_report::pages::trial::{TrialView, page};
use treering_report::pages::trial_json::ShownTrial;
use treering_results::command_line_with_store;

use crate::arguments::ShowArgs;
use crate::commands::{charts, output};
use crate::failure::Failure;
use crate::storage::{failure, open_results};

/// Shows the trial.
pub(crate) fn run(args: &ShowArgs) -> Result<ExitCode, Failure> {
    let store = open_results(&args.store)?;
    let id = store.find(&args.trial).map_err(|error| failure(&error))?;
    let trial = store.load(id).map_err(|error| failure(&error))?;
    if args.classic {
        return classic::run(&store, &trial);
    }
    if args.console {
        return console::run(&trial);
    }
    let short_id = store.short_ids(&[id]).map_err(|error| failure(&error))?.concat();
    let command = command_line_with_store(&trial, args.store.store.as_deref());
    let view = TrialView {
        short_id: &short_id,
        command: command.as_deref(),
        tasks: args.tasks,
        seconds: args.seconds,
        charts: args.charts.is_some() || output::is_html(args.output.format()),
    };
    let page = page(&trial, &view);
    output::write_or_data(&page, &ShownTrial::new(&trial, &view), &args.output)?;
    if let Some(dir) = &args.charts {
        charts::write(&page, dir, args.paper)?;
    }
    Ok(ExitCode::SUCCESS)
}

//! `treering store overview`: the whole store in one HTML file.

use std::io::{self, Write};
use std::process::ExitCode;

use treering_report::overview::{Overview, render};
use treering_results::{OverviewTrials, origin_of, requested_history};

use super::history::series;
use super::output::with_writer;
use super::typed::typed_again;
use crate::arguments::OverviewArgs;
use crate::failure::Failure;
use crate::storage::open_results;

/// Writes the file, and prints its first section on standard error.
pub(crate) fn run(args: &OverviewArgs) -> Result<ExitCode, Failure> {
    let store = open_results(&args.series.store)?;
    let series = series(&args.series);
    let history = requested_history(&store, &series)?;
    let origin = origin_of(&store, &history)?
        .with_command("The same file", &typed_again(std::env::args_os()));
    let stored = OverviewTrials::read(&store, &series)?;
    let campaigns = stored.campaigns()?;
    let trials = stored.newest();
    let overview = Overview {
        history: &history,
        by: &args.series.by,
        anchor: args.series.anchor.as_deref(),
        recent: args.recent,
        campaigns: &campaigns,
        all_campaigns: stored.campaigns_count(),
        trials: &trials,
        all_trials: stored.count(),
        origin: &origin,
    };
    let rendered = render(&overview, |names| stored.load(names))?;
    with_writer(args.output.as_deref(), |out| out.write_all(rendered.html.as_bytes()))?;
    let (summary, count) = (rendered.summary, rendered.trials);
    let trial_count = stored.count();
    let written = writeln!(io::stderr(), "{summary} The file has {count} of {trial_count} trials.");
    // The file is complete even if standard error is closed.
    written.or(Ok(())).map(|()| ExitCode::SUCCESS)
}

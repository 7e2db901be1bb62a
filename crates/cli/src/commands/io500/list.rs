//! `treering io500 list`: rehearsals and imported results side by side.

use std::process::ExitCode;

use treering_report::pages::tools::io500::list;
use treering_results::io500_runs;

use crate::arguments::Io500ListArgs;
use crate::commands::output;
use crate::commands::typed::with_typed;
use crate::failure::Failure;
use crate::storage::open_to_read;

/// Prints the runs, in the order of their names, or the newest last.
pub(crate) fn run(args: &Io500ListArgs) -> Result<ExitCode, Failure> {
    let (runs, origin) = match open_to_read(&args.store)? {
        Some(store) => io500_runs(&store, &args.trials)?,
        None => Default::default(),
    };
    let mut shown = list(&runs);
    shown.origin(with_typed(origin));
    output::write(&shown, &args.output)?;
    Ok(ExitCode::SUCCESS)
}

//! Acknowledgements of changes of level and trends: `treering history --acknowledge POINT` and
//! `--withdraw POINT`.

use std::process::ExitCode;

use treering_analysis::history::History;
use treering_results::{acknowledging, withdrawing};

use crate::arguments::HistoryArgs;
use crate::classic_output::say;
use crate::clock;
use crate::failure::Failure;
use crate::storage::{failure, place_of};

/// Acknowledges the changes that begin at a point, or withdraws the acknowledgement; `None` if
/// neither option is given.
pub(super) fn change(args: &HistoryArgs, history: &History) -> Result<Option<ExitCode>, Failure> {
    let planned = match (&args.acknowledge, &args.withdraw) {
        (Some(point), _) => {
            let reason = args.reason.as_deref().unwrap_or_default();
            acknowledging(history, point, reason, args.series.anchor.as_deref())?
        }
        (None, Some(point)) => withdrawing(history, point)?,
        (None, None) => return Ok(None),
    };
    let mut store = place_of(&args.series.store).open_to_write()?;
    let now_ms = clock::trial_unix_ms();
    for annotation in planned {
        let written = store.annotate(&annotation.trials, now_ms, &annotation.kind);
        written.map_err(|error| failure(&error))?;
        say(&annotation.words);
    }
    Ok(Some(ExitCode::SUCCESS))
}

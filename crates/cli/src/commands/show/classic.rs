//! `treering show --classic`: prints the output of the imitated tool from the store.

use std::io::{self, Write};
use std::process::ExitCode;

use treering_conduct::trial::replay_classic;
use treering_model::Trial;
use treering_store::Store;

use crate::classic_output::shown;
use crate::failure::{Failure, output_failed};
use crate::storage::failure;

/// Prints the output: on standard output and standard error like the tool, and the log if the tool
/// wrote only to that.
pub(crate) fn run(store: &Store, trial: &Trial) -> Result<ExitCode, Failure> {
    let events = store.events(trial.beginning.trial).map_err(|error| failure(&error))?;
    let text = replay_classic(trial, &events, treering_registry::workloads())?;
    let out = if text.out.is_empty() { &text.log } else { &text.out };
    let written = io::stdout().lock().write_all(shown(out).as_bytes());
    let written = written.and_then(|()| io::stderr().lock().write_all(shown(&text.err).as_bytes()));
    written.or_else(|error| output_failed(&error))?;
    Ok(ExitCode::SUCCESS)
}

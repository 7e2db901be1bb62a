//! `treering export`: trials for other programs.

use std::io;
use std::process::ExitCode;

use treering_report::export::{ExportForm, Exporter};
use treering_store::{Filter, StoreError};

use super::output::{unknown_format, with_writer};
use crate::arguments::ExportArgs;
use crate::failure::Failure;
use crate::storage::{failure, open_results};

/// Exports the trials, one at a time.
pub(crate) fn run(args: &ExportArgs) -> Result<ExitCode, Failure> {
    let form = ExportForm::by_name(&args.format).ok_or_else(|| {
        let names: Vec<&str> = ExportForm::ALL.into_iter().map(ExportForm::name).collect();
        unknown_format(&args.format, &names)
    })?;
    let store = open_results(&args.store)?;
    let ids = if args.trials.is_empty() {
        let all_trials = store.trials(&Filter::default()).map_err(|error| failure(&error))?;
        all_trials.into_iter().rev().map(|summary| summary.trial).collect()
    } else {
        let find = |prefix: &String| store.find(prefix).map_err(|error| failure(&error));
        args.trials.iter().map(find).collect::<Result<Vec<_>, _>>()?
    };
    let mut broken: Option<StoreError> = None;
    with_writer(args.output.as_deref(), |out| {
        let mut exporter = Exporter::begin(form, out)?;
        for id in ids {
            match store.load(id) {
                Ok(trial) => exporter.trial(&trial)?,
                Err(error) => {
                    broken = Some(error);
                    return Err(io::Error::other("a trial cannot be read"));
                }
            }
        }
        exporter.finish()
    })
    .map_err(|written| broken.as_ref().map_or(written, failure))?;
    Ok(ExitCode::SUCCESS)
}

//! `treering list`: the trials in the store.

use std::process::ExitCode;

use treering_report::PageOrigin;
use treering_report::pages::trials::page;
use treering_report::pages::trials_json::TrialList;
use treering_results::{TrialProperty, check_known, trial_rows};
use treering_store::Filter;

use super::output;
use super::typed::with_typed;
use crate::arguments::ListArgs;
use crate::failure::Failure;
use crate::storage::{failure, open_to_read};

/// Lists the trials.
pub(crate) fn run(args: &ListArgs) -> Result<ExitCode, Failure> {
    let filter = Filter {
        workload: args.workload.clone(),
        label: args.label.clone(),
        limit: Some(args.limit),
        ..Filter::default()
    };
    let (rows, origin) = match open_to_read(&args.store)? {
        Some(store) => {
            let (rows, origin) = trial_rows(&store, &filter).map_err(|error| failure(&error))?;
            let asked = [
                (TrialProperty::Workload, &filter.workload),
                (TrialProperty::Label, &filter.label),
            ];
            // A program gets an empty list; a person is told if no trial has the value, unless it
            // is a known workload.
            let is_workload = |name: &str| {
                treering_registry::workloads().iter().any(|one| one.manifest().name == name)
            };
            let is_read = args.output.format.as_deref() != Some("json");
            for (property, value) in asked.into_iter().filter(|_| is_read && rows.is_empty()) {
                let unknown = value.as_deref().filter(|value| !is_workload(value));
                unknown.map_or(Ok(()), |value| check_known(&store, property, value))?;
            }
            (rows, origin)
        }
        None => (Vec::new(), PageOrigin::default()),
    };
    let mut shown = page(&rows);
    shown.origin(with_typed(origin));
    output::write_or_data(&shown, &TrialList::new(&rows), &args.output)?;
    Ok(ExitCode::SUCCESS)
}

//! `treering history`: stored measurements over kernels or days.

mod known;

use std::process::ExitCode;

use treering_analysis::compare::Gate;
use treering_analysis::history::{History, HistoryGate};
use treering_report::pages::history::json::HistoryData;
use treering_report::pages::history::{HistoryView, page};
use treering_results::{SeriesRequest, origin_of, requested_history};

use super::output;
use super::typed::with_typed;
use crate::arguments::{HistoryArgs, SeriesArgs, percentage};
use crate::exit_codes::UNCLEAR;
use crate::failure::Failure;
use crate::storage::open_results;

/// Shows the history.
pub(crate) fn run(args: &HistoryArgs) -> Result<ExitCode, Failure> {
    let terms = gate_terms(args.recent, args.smallest_change.as_deref())?;
    let store = open_results(&args.series.store)?;
    let mut history = requested_history(&store, &series(&args.series))?;
    let origin = origin_of(&store, &history)?;
    drop(store);
    if let Some(code) = known::change(args, &history)? {
        return Ok(code);
    }
    if let Some(address) = &args.link {
        add_links(&mut history, address)?;
    }
    let (by, anchor) = (args.series.by.as_str(), args.series.anchor.as_deref());
    let view = HistoryView { by, anchor, draws: output::is_html(args.output.format()) };
    let data = HistoryData::new(&history, by, anchor);
    let mut shown = page(&history, &view);
    shown.origin(with_typed(origin));
    output::write_or_data(&shown, &data, &args.output)?;
    Ok(if args.gate { gate(&history, terms) } else { ExitCode::SUCCESS })
}

/// The request of a history, from the arguments.
pub(super) fn series(args: &SeriesArgs) -> SeriesRequest<'_> {
    SeriesRequest {
        by: &args.by,
        metric: args.metric.as_deref(),
        anchor: args.anchor.as_deref(),
        workload: args.workload.as_deref(),
        plan: args.plan.as_deref(),
    }
}

/// Adds a link to each point that has none: the address with the key of the point.
fn add_links(history: &mut History, address: &str) -> Result<(), Failure> {
    const KEY: &str = "{}";
    let is_web = ["https://", "http://"].iter().any(|scheme| address.starts_with(scheme));
    if !is_web || !address.contains(KEY) {
        let message = "--link: an address begins with https:// or http:// and has {} for the point";
        return Err(Failure::usage(message)
            .hint("for instance --by commit --link 'https://example.org/commit/{}'"));
    }
    history.add_links(address, KEY);
    Ok(())
}

/// Terms of the gate: which changes count.
pub(super) fn gate_terms(
    recent: usize,
    smallest_change: Option<&str>,
) -> Result<HistoryGate, Failure> {
    let share = smallest_change.map(|text| percentage("--smallest-change", text)).transpose()?;
    Ok(HistoryGate { recent, smallest_change: share.unwrap_or(0.0) })
}

/// Exit code of the gate.
pub(super) fn gate(history: &History, terms: HistoryGate) -> ExitCode {
    match terms.decide(history) {
        Gate::Pass => ExitCode::SUCCESS,
        Gate::Worse => ExitCode::from(1),
        Gate::Unclear => ExitCode::from(UNCLEAR),
    }
}

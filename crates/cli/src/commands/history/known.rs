//! Acknowledgements of changes of level and trends: `treering history --acknowledge POINT` and
//! `--withdraw POINT`.

use std::process::ExitCode;

use treering_analysis::history::{
    History, HistoryChange, HistorySeries, KnownChange, acknowledgement, trend_acknowledgement,
};
use treering_model::nearest::suggestion;
use treering_model::{AnnotationKind, TrialId};

use crate::arguments::HistoryArgs;
use crate::classic_output::say;
use crate::clock;
use crate::failure::Failure;
use crate::storage::{failure, place_of};

/// Acknowledges the changes that begin at a point, or withdraws the acknowledgement; `None` if
/// neither option is given.
pub(super) fn change(args: &HistoryArgs, history: &History) -> Result<Option<ExitCode>, Failure> {
    let anchor = args.series.anchor.as_deref();
    let annotations = match (&args.acknowledge, &args.withdraw) {
        (Some(point), _) => {
            let reason = args.reason.as_deref().unwrap_or_default().trim();
            if reason.is_empty() {
                return Err(
                    Failure::usage("--reason is empty").hint("give a reason; histories show it")
                );
            }
            let changes = changes_at("--acknowledge", point, history, |_| true)?;
            let acknowledged = changes.into_iter().map(|(series, change)| {
                let (index, known) = match change {
                    HistoryChange::Shift(shift) => {
                        (shift.index, acknowledgement(series, shift, anchor, reason))
                    }
                    HistoryChange::Trend(trend) => {
                        (trend.index, trend_acknowledgement(series, trend, anchor, reason))
                    }
                };
                let line = line(series, change, &format!("is known: {reason}"));
                (line, series.points[index].trials.clone(), AnnotationKind::Acknowledged(known))
            });
            acknowledged.collect()
        }
        (None, Some(point)) => {
            let is_known = |change: HistoryChange<'_>| own_acknowledgement(change).is_some();
            let changes = changes_at("--withdraw", point, history, is_known)?;
            let withdrawn = changes.into_iter().filter_map(|(series, change)| {
                let KnownChange { acknowledgement, trials } = own_acknowledgement(change)?.clone();
                let line = line(series, change, "is no longer known");
                Some((line, trials, AnnotationKind::Withdrawn(acknowledgement)))
            });
            withdrawn.collect()
        }
        (None, None) => return Ok(None),
    };
    annotate(args, annotations)?;
    Ok(Some(ExitCode::SUCCESS))
}

/// Acknowledgement of a change itself, not of the trend that it is a part of.
fn own_acknowledgement(change: HistoryChange<'_>) -> Option<&KnownChange> {
    match change {
        HistoryChange::Shift(shift) => {
            shift.known.as_ref().filter(|known| known.acknowledgement.trend_points.is_none())
        }
        HistoryChange::Trend(trend) => trend.known.as_ref(),
    }
}

fn line(series: &HistorySeries, change: HistoryChange<'_>, words: &str) -> String {
    match change {
        HistoryChange::Shift(shift) => series.shift_line(shift, words),
        HistoryChange::Trend(trend) => series.trend_line(trend, words),
    }
}

/// Sentence for the user, trials to annotate, and their annotation.
type PlannedAnnotation = (String, Vec<TrialId>, AnnotationKind);

fn annotate(args: &HistoryArgs, annotations: Vec<PlannedAnnotation>) -> Result<(), Failure> {
    let mut store = place_of(&args.series.store).open_to_write()?;
    let now_ms = clock::trial_unix_ms();
    for (words, trials, annotation) in annotations {
        store.annotate(&trials, now_ms, &annotation).map_err(|error| failure(&error))?;
        say(&words);
    }
    Ok(())
}

/// Changes that begin at the point with this key.
fn changes_at<'h>(
    option: &str,
    point: &str,
    history: &'h History,
    is_wanted: impl Fn(HistoryChange<'_>) -> bool,
) -> Result<Vec<(&'h HistorySeries, HistoryChange<'h>)>, Failure> {
    history.changes_at(point, is_wanted).map_err(|keys| {
        let is_withdrawn = option == "--withdraw";
        let kind = if is_withdrawn { "known change" } else { "change of level or trend" };
        let message = format!("{option} {point}: no {kind} begins at this point");
        Failure::usage(message).hint(if keys.is_empty() {
            format!("these series have no {kind}")
        } else {
            suggestion(point, &keys, "points at which one begins")
        })
    })
}

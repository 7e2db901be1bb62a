//! Acknowledgements of changes of level and trends in a history, as annotations of trials.

use treering_analysis::history::{
    History, HistoryChange, HistorySeries, KnownChange, acknowledgement, trend_acknowledgement,
};
use treering_conduct::Failure;
use treering_model::nearest::suggestion;
use treering_model::{AnnotationKind, TrialId};

/// Annotation that is to be written.
#[derive(Debug)]
pub struct PlannedAnnotation {
    /// Sentence for the user.
    pub words: String,
    /// Trials that get the annotation.
    pub trials: Vec<TrialId>,
    /// The annotation.
    pub kind: AnnotationKind,
}

/// Annotations that acknowledge the changes that begin at a point.
///
/// # Errors
/// When the reason is empty, or no change begins there; names the points at which one does.
pub fn acknowledging(
    history: &History,
    point: &str,
    reason: &str,
    anchor: Option<&str>,
) -> Result<Vec<PlannedAnnotation>, Failure> {
    let reason = reason.trim();
    if reason.is_empty() {
        return Err(Failure::usage("--reason is empty").hint("give a reason; histories show it"));
    }
    let changes = changes_at("--acknowledge", point, history, |_| true)?;
    let planned = changes.into_iter().map(|(series, change)| {
        let (index, known) = match change {
            HistoryChange::Shift(shift) => {
                (shift.index, acknowledgement(series, shift, anchor, reason))
            }
            HistoryChange::Trend(trend) => {
                (trend.index, trend_acknowledgement(series, trend, anchor, reason))
            }
        };
        PlannedAnnotation {
            words: line(series, change, &format!("is known: {reason}")),
            trials: series.points[index].trials.clone(),
            kind: AnnotationKind::Acknowledged(known),
        }
    });
    Ok(planned.collect())
}

/// Annotations that withdraw what was acknowledged at a point.
///
/// # Errors
/// When no known change begins there; names the points at which one does.
pub fn withdrawing(history: &History, point: &str) -> Result<Vec<PlannedAnnotation>, Failure> {
    let is_known = |change: HistoryChange<'_>| own_acknowledgement(change).is_some();
    let changes = changes_at("--withdraw", point, history, is_known)?;
    let planned = changes.into_iter().filter_map(|(series, change)| {
        let KnownChange { acknowledgement, trials } = own_acknowledgement(change)?.clone();
        let words = line(series, change, "is no longer known");
        Some(PlannedAnnotation { words, trials, kind: AnnotationKind::Withdrawn(acknowledgement) })
    });
    Ok(planned.collect())
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

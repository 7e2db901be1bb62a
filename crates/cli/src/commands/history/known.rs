//! Acknowledgements of changes of level: `treering history --acknowledge POINT` and `--withdraw
//! POINT`.

use std::process::ExitCode;

use treering_analysis::history::{History, KnownChange, LevelShift, SeriesShift, acknowledgement};
use treering_model::nearest::suggestion;
use treering_model::{AnnotationKind, TrialId};

use crate::arguments::HistoryArgs;
use crate::classic_output::say;
use crate::clock;
use crate::failure::Failure;
use crate::storage::{failure, place_of};

/// Acknowledges the changes of level at a point, or withdraws the acknowledgement; `None` if
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
            changes
                .into_iter()
                .map(|(series, shift)| {
                    let known = acknowledgement(series, shift, anchor, reason);
                    let trials = series.points[shift.index].trials.clone();
                    let words = format!("is known: {reason}");
                    (series.shift_line(shift, &words), trials, AnnotationKind::Acknowledged(known))
                })
                .collect()
        }
        (None, Some(point)) => {
            let is_known = |shift: &LevelShift| shift.known.is_some();
            let changes = changes_at("--withdraw", point, history, is_known)?;
            changes
                .into_iter()
                .filter_map(|(series, shift)| {
                    let KnownChange { acknowledgement, trials } = shift.known.clone()?;
                    let words = "is no longer known";
                    let withdrawn = AnnotationKind::Withdrawn(acknowledgement);
                    Some((series.shift_line(shift, words), trials, withdrawn))
                })
                .collect()
        }
        (None, None) => return Ok(None),
    };
    annotate(args, annotations)?;
    Ok(Some(ExitCode::SUCCESS))
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
    is_wanted: impl Fn(&LevelShift) -> bool,
) -> Result<Vec<SeriesShift<'h>>, Failure> {
    history.shifts_at(point, is_wanted).map_err(|keys| {
        let kind = if option == "--withdraw" { "known change" } else { "change of level" };
        let message = format!("{option} {point}: no {kind} begins at this point");
        Failure::usage(message).hint(if keys.is_empty() {
            format!("these series have no {kind}")
        } else {
            suggestion(point, &keys, "points at which one begins")
        })
    })
}

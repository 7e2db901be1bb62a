//! Acknowledgements of changes of level: `treering history --acknowledge POINT` and `--withdraw
//! POINT`.

use std::process::ExitCode;

use treering_analysis::history::{
    History, HistorySeries, KnownChange, LevelShift, acknowledgement,
};
use treering_model::nearest::suggestion;
use treering_model::{AnnotationKind, TrialId};

use crate::arguments::HistoryArgs;
use crate::classic_output::say;
use crate::clock;
use crate::failure::Failure;
use crate::places;
use crate::storage::{failure, open_to_write};

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
                    (line(series, shift, &words), trials, AnnotationKind::Acknowledged(known))
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
                    Some((line(series, shift, words), trials, withdrawn))
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
    let place = match &args.series.store.store {
        Some(place) => place.clone(),
        None => places::default_store()?,
    };
    let mut store = open_to_write(&place)?;
    let now_ms = i64::try_from(clock::unix_ms()).unwrap_or(i64::MAX);
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
) -> Result<Vec<(&'h HistorySeries, &'h LevelShift)>, Failure> {
    let wanted = history.series.iter().flat_map(|series| {
        series.shifts.iter().filter(|shift| is_wanted(shift)).map(move |shift| (series, shift))
    });
    let matches: Vec<(&HistorySeries, &LevelShift)> = wanted.collect();
    let key = |(series, shift): &(&'h HistorySeries, &'h LevelShift)| {
        series.points[shift.index].key.as_str()
    };
    let chosen: Vec<_> = matches.iter().filter(|change| key(change) == point).copied().collect();
    if !chosen.is_empty() {
        return Ok(chosen);
    }
    let mut keys: Vec<&str> = matches.iter().map(key).collect();
    keys.sort_unstable();
    keys.dedup();
    let kind = if option == "--withdraw" { "known change" } else { "change of level" };
    let message = format!("{option} {point}: no {kind} begins at this point");
    Err(Failure::usage(message).hint(if keys.is_empty() {
        format!("these series have no {kind}")
    } else {
        suggestion(point, &keys, "points at which one begins")
    }))
}

fn line(series: &HistorySeries, shift: &LevelShift, words: &str) -> String {
    let parts = [&series.workload, &series.job, &series.variant, &series.metric];
    let parts: Vec<&str> =
        parts.into_iter().map(String::as_str).filter(|part| !part.is_empty()).collect();
    let key = &series.points[shift.index].key;
    let word = if shift.is_worse { "worse" } else { "better" };
    format!("{}: {word} from {key} on {words}", parts.join(", "))
}

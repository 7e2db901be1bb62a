//! Acknowledged changes of level, stored as annotations of the trials of their first point.
//!
//! An acknowledgement covers a change of the same metric and anchor, in the same direction, at most
//! twice as large, and at most two points away, as a change may move when points are added.

use treering_model::{Acknowledgement, Annotation, TrialId};

use super::gather::GatheredSeries;
use super::{HistorySeries, LevelShift};

/// Largest number of points by which a change may have moved.
const MOVED_MOST: usize = 2;
/// Largest factor by which a change may have grown, on the scale of logarithms.
const GROWN_MOST: u64 = 2;

/// Acknowledgement of a change of level, as found on trials.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnownChange {
    /// Acknowledgement with its reason.
    pub acknowledgement: Acknowledgement,
    /// Trials that carry the acknowledgement.
    pub trials: Vec<TrialId>,
}

/// Creates the acknowledgement of a change in a series, with the reason.
pub fn acknowledgement(
    series: &HistorySeries,
    shift: &LevelShift,
    anchor: Option<&str>,
    reason: &str,
) -> Acknowledgement {
    Acknowledgement {
        metric: series.metric.clone(),
        anchor: anchor.unwrap_or_default().to_owned(),
        log_ratio_millionths: Acknowledgement::millionths(shift.ratio),
        reason: reason.to_owned(),
    }
}

/// Marks the acknowledged changes of a series. Each acknowledgement marks the nearest change, and
/// each change is marked once.
pub(super) fn mark(
    series: &mut HistorySeries,
    gathered: &GatheredSeries<'_>,
    anchor: Option<&str>,
) {
    let known = known_changes(series, gathered, anchor.unwrap_or_default());
    let mut pairs: Vec<(usize, usize, usize)> = Vec::new();
    for (number, (place, change)) in known.iter().enumerate() {
        for (at, shift) in series.shifts.iter().enumerate() {
            let moved = shift.index.abs_diff(*place);
            if moved <= MOVED_MOST && is_same_change(shift, &change.acknowledgement) {
                pairs.push((moved, at, number));
            }
        }
    }
    pairs.sort_unstable();
    let mut is_used = vec![false; known.len()];
    for (_, at, number) in pairs {
        if series.shifts[at].known.is_none() && !is_used[number] {
            series.shifts[at].known = Some(known[number].1.clone());
            is_used[number] = true;
        }
    }
}

/// Acknowledgements on the trials of a series, with the indices of their points.
fn known_changes(
    series: &HistorySeries,
    gathered: &GatheredSeries<'_>,
    anchor: &str,
) -> Vec<(usize, KnownChange)> {
    let mut known: Vec<(usize, KnownChange)> = Vec::new();
    for (place, point) in gathered.points.iter().enumerate() {
        for trial in &point.trials {
            let of_trial = Annotation::acknowledgements(&trial.annotations);
            let is_own = |change: &&Acknowledgement| {
                change.metric == series.metric && change.anchor == anchor
            };
            for change in of_trial.into_iter().filter(is_own) {
                let id = trial.beginning.trial;
                let is_there = |(at, other): &&mut (usize, KnownChange)| {
                    *at == place && other.acknowledgement == *change
                };
                match known.iter_mut().find(is_there) {
                    Some((_, other)) => other.trials.push(id),
                    None => {
                        let acknowledgement = change.clone();
                        known.push((place, KnownChange { acknowledgement, trials: vec![id] }));
                    }
                }
            }
        }
    }
    known
}

fn is_same_change(shift: &LevelShift, known: &Acknowledgement) -> bool {
    let size = Acknowledgement::millionths(shift.ratio);
    let most = known.log_ratio_millionths.unsigned_abs().saturating_mul(GROWN_MOST);
    (size > 0) == (known.log_ratio_millionths > 0) && size.unsigned_abs() <= most
}

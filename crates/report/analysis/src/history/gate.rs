//! Gate of a history, and changes that callers name: those of a point, and the newest ones.

use super::{FEWEST_POINTS, History, HistorySeries, HistoryTrend, LevelShift};
use crate::compare::Gate;

/// A change of level with its series.
type SeriesShift<'h> = (&'h HistorySeries, &'h LevelShift);
/// A change of level or a trend, with its series.
type SeriesChange<'h> = (&'h HistorySeries, HistoryChange<'h>);

/// A change of level, or a trend.
#[derive(Clone, Copy, Debug)]
pub enum HistoryChange<'h> {
    /// Change of level.
    Shift(&'h LevelShift),
    /// Trend.
    Trend(&'h HistoryTrend),
}

impl HistoryChange<'_> {
    /// Index of its first point, from 0.
    fn index(self) -> usize {
        match self {
            Self::Shift(shift) => shift.index,
            Self::Trend(trend) => trend.index,
        }
    }
}

/// Terms of the gate: which changes count.
#[derive(Clone, Copy, Debug)]
pub struct HistoryGate {
    /// Number of newest points in which a level must begin.
    pub recent: usize,
    /// Share of the old level by which a level must differ.
    pub smallest_change: f64,
}

impl HistoryGate {
    fn is_large(self, ratio: f64) -> bool {
        (ratio - 1.0).abs() >= self.smallest_change
    }

    /// Decides whether one of the newest points may have begun a worse level, or a trend for the
    /// worse goes on. The answer is unclear if the newest point is suspect, or no series is long
    /// enough to be judged.
    pub fn decide(self, history: &History) -> Gate {
        let is_worse = history.series.iter().any(|series| {
            let trend = series.alarming_trend();
            trend.is_some_and(|trend| self.is_large(trend.ratio))
                || series.shifts.iter().any(|shift| {
                    let is_recent = shift.is_recent(series.points.len(), self.recent);
                    shift.is_alarming() && is_recent && self.is_large(shift.ratio)
                })
        });
        let is_suspect = |series: &HistorySeries| {
            let suspect = series.suspect.as_ref();
            suspect.is_some_and(|suspect| suspect.is_worse && self.is_large(suspect.ratio))
        };
        let is_unclear = history.series.iter().any(is_suspect)
            || history.series.iter().all(|series| series.points.len() < FEWEST_POINTS);
        match (is_worse, is_unclear) {
            (true, _) => Gate::Worse,
            (false, true) => Gate::Unclear,
            (false, false) => Gate::Pass,
        }
    }
}

impl History {
    /// Accepted changes and trends (by `is_wanted`) that begin at the point with this key.
    ///
    /// # Errors
    /// The keys of the points at which such changes begin, when none begins at this one.
    pub fn changes_at<'h>(
        &'h self,
        point: &str,
        is_wanted: impl Fn(HistoryChange<'_>) -> bool,
    ) -> Result<Vec<SeriesChange<'h>>, Vec<&'h str>> {
        let wanted = self.series.iter().flat_map(|series| {
            let shifts = series.shifts.iter().map(HistoryChange::Shift);
            let changes = shifts.chain(series.trend.iter().map(HistoryChange::Trend));
            changes.map(move |change| (series, change))
        });
        let wanted = wanted.filter(|(_, change)| is_wanted(*change));
        let wanted: Vec<SeriesChange<'_>> = wanted.collect();
        let key = |(series, change): &SeriesChange<'h>| series.points[change.index()].key.as_str();
        let chosen: Vec<_> = wanted.iter().filter(|change| key(change) == point).copied().collect();
        if !chosen.is_empty() {
            return Ok(chosen);
        }
        let mut keys: Vec<&str> = wanted.iter().map(key).collect();
        keys.sort_unstable();
        keys.dedup();
        Err(keys)
    }

    /// First change for the worse among the `recent` newest points of its series.
    pub fn newest_worse_shift(&self, recent: usize) -> Option<SeriesShift<'_>> {
        let changes = self.series.iter().filter_map(|series| {
            let shift = series.shifts.last().filter(|shift| shift.is_alarming())?;
            shift.is_recent(series.points.len(), recent).then_some((series, shift))
        });
        changes.min_by_key(|(_, shift)| shift.index)
    }

    /// Adds a link to each point that has none: the address, with the key of the point for `mark`.
    pub fn add_links(&mut self, address: &str, mark: &str) {
        for point in self.series.iter_mut().flat_map(|series| &mut series.points) {
            point.link.get_or_insert_with(|| address.replace(mark, &point.key));
        }
    }
}

impl HistorySeries {
    /// Trend for the worse, unless it is known, or levels for the worse began within it and all of
    /// them are known.
    pub fn alarming_trend(&self) -> Option<&HistoryTrend> {
        let trend = self.trend.as_ref().filter(|trend| trend.is_worse && trend.known.is_none())?;
        let inside = |shift: &&LevelShift| shift.is_worse && shift.index > trend.index;
        let mut parts = self.shifts.iter().filter(inside).peekable();
        let is_known = parts.peek().is_some() && parts.all(|shift| shift.known.is_some());
        (!is_known).then_some(trend)
    }

    /// Number of points that the series lacks before it can be judged, or a new level be told from
    /// an outlier; `None` if it lacks none.
    pub fn points_needed(&self) -> Option<usize> {
        let suspect = self.suspect.as_ref().and_then(|suspect| suspect.points_needed);
        let missing = FEWEST_POINTS.checked_sub(self.points.len()).filter(|points| *points > 0);
        suspect.or(missing)
    }

    /// Sentence about a change of level: the names of the series, the direction, the point and
    /// `words`.
    pub fn shift_line(&self, shift: &LevelShift, words: &str) -> String {
        let word = if shift.is_worse { "worse" } else { "better" };
        self.line(&format!("{word} from {} on {words}", self.points[shift.index].key))
    }

    /// Sentence about a trend, like that about a change of level.
    pub fn trend_line(&self, trend: &HistoryTrend, words: &str) -> String {
        let word = if trend.is_worse { "worse" } else { "better" };
        self.line(&format!("slowly {word} since {} {words}", self.points[trend.index].key))
    }

    fn line(&self, words: &str) -> String {
        let parts = [&self.workload, &self.job, &self.variant, &self.metric];
        let parts: Vec<&str> =
            parts.into_iter().map(String::as_str).filter(|part| !part.is_empty()).collect();
        format!("{}: {words}", parts.join(", "))
    }
}

//! Notable series: recent changes for the worse, newest points out of line, recent changes for the
//! better, older changes.

use std::cmp::Ordering;

use maud::{Markup, html};
use treering_analysis::history::{FEWEST_POINTS, History, HistorySeries, LevelShift};

use super::Overview;
use crate::escape::visible;
use crate::pages::history::{shift_change, suspect_change, title, trend_change};

/// Maximum number of series named above the matrix.
const SERIES_NAMED_MAX: usize = 8;

/// Reason why a series is notable, in ascending order of importance.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum NotableReason {
    TooShort,
    Steady,
    ChangedEarlier,
    Better,
    SuspectBetter,
    SuspectWorse,
    SlowlyWorse,
    Worse,
}

/// A series with its reason.
#[derive(Clone, Copy, Debug)]
pub(super) struct NotableSeries<'h> {
    /// Index of the series, from 0.
    pub(super) number: usize,
    pub(super) series: &'h HistorySeries,
    pub(super) reason: NotableReason,
    /// Change of level behind the reason.
    pub(super) shift: Option<&'h LevelShift>,
    /// Magnitude of the change: absolute logarithm of the ratio.
    size: f64,
}

impl<'h> NotableSeries<'h> {
    fn new(number: usize, series: &'h HistorySeries, recent: usize) -> Self {
        let is_recent = |shift: &&LevelShift| {
            shift.known.is_none() && shift.is_recent(series.points.len(), recent)
        };
        let worst = |left: &&LevelShift, right: &&LevelShift| {
            let key = |shift: &LevelShift| (shift.is_worse, shift.ratio.ln().abs());
            let (left, right) = (key(left), key(right));
            left.0.cmp(&right.0).then(left.1.total_cmp(&right.1))
        };
        let shift = series.shifts.iter().filter(is_recent).max_by(worst);
        let worsening = series.alarming_trend().map(|trend| trend.ratio);
        let (reason, shift, ratio) = match (shift, worsening, &series.suspect) {
            (Some(shift), _, _) if shift.is_worse => {
                (NotableReason::Worse, Some(shift), shift.ratio)
            }
            (_, Some(ratio), _) => (NotableReason::SlowlyWorse, None, ratio),
            (_, None, Some(suspect)) if suspect.is_worse => {
                (NotableReason::SuspectWorse, None, suspect.ratio)
            }
            (Some(shift), None, _) => (NotableReason::Better, Some(shift), shift.ratio),
            (None, None, Some(suspect)) => (NotableReason::SuspectBetter, None, suspect.ratio),
            (None, None, None) if series.points.len() < FEWEST_POINTS => {
                (NotableReason::TooShort, None, 1.0)
            }
            (None, None, None) => match series.shifts.last() {
                Some(shift) => (NotableReason::ChangedEarlier, Some(shift), shift.ratio),
                None => (NotableReason::Steady, None, 1.0),
            },
        };
        Self { number, series, reason, shift, size: ratio.ln().abs() }
    }

    /// Orders by notability, the most notable last.
    pub(super) fn order(&self, other: &Self) -> Ordering {
        self.reason.cmp(&other.reason).then(self.size.total_cmp(&other.size))
    }

    /// Name of the series' detail page.
    pub(super) fn name(&self) -> String {
        format!("series-{}", self.number + 1)
    }

    /// Describes the change: `worse (-8.2 %) from 2026-11-03 on`.
    pub(super) fn words(&self) -> String {
        let newest = self.series.points.last().map_or("", |point| &point.key);
        let of_shift = |shift: &LevelShift| {
            let word = if shift.is_worse { "worse" } else { "better" };
            let from = &self.series.points[shift.index].key;
            format!("{word} ({}) from {from} on", shift_change(self.series, shift))
        };
        let suspect = || {
            let of_series = |suspect| suspect_change(self.series, suspect);
            self.series.suspect.as_ref().map_or_else(String::new, of_series)
        };
        match (self.reason, self.shift) {
            (NotableReason::TooShort, _) => "too short to be judged".to_owned(),
            (NotableReason::Steady, _) => "no change of level".to_owned(),
            (NotableReason::SuspectWorse | NotableReason::SuspectBetter, _) => {
                format!("{newest} is out of line ({})", suspect())
            }
            (NotableReason::SlowlyWorse, _) => {
                let of_series = |trend| trend_change(self.series, trend);
                let change = self.series.trend.as_ref().map_or_else(String::new, of_series);
                format!("slowly worse, point by point ({change})")
            }
            (_, Some(shift)) => of_shift(shift),
            (_, None) => String::new(),
        }
    }

    /// Sort key of the column, which is larger for more notable series.
    pub(super) fn rank(&self) -> String {
        format!("{:.3}", f64::from(self.reason as u8) + self.size.min(0.999))
    }

    /// Reports whether the series is named above the matrix.
    fn is_news(&self) -> bool {
        self.reason > NotableReason::ChangedEarlier
    }
}

/// All series with their reasons, in the order of the history.
pub(super) fn notable_series(history: &History, recent: usize) -> Vec<NotableSeries<'_>> {
    let series = history.series.iter().enumerate();
    series.map(|(number, series)| NotableSeries::new(number, series, recent)).collect()
}

/// Summary sentence over all series: `3 of 41 series changed within their newest 20 points: …`.
pub(super) fn sentence(overview: &Overview<'_>, notable: &[NotableSeries<'_>]) -> String {
    let count = |reasons: &[NotableReason]| {
        notable.iter().filter(|notable_series| reasons.contains(&notable_series.reason)).count()
    };
    let (worse, better) = (count(&[NotableReason::Worse]), count(&[NotableReason::Better]));
    let suspect = count(&[NotableReason::SuspectWorse, NotableReason::SuspectBetter]);
    let judged = notable.len() - count(&[NotableReason::TooShort]);
    if notable.is_empty() {
        return "The store has no series: no trial completed with a metric that decides."
            .to_owned();
    }
    if judged == 0 {
        let count = notable.len();
        return format!("{count} series, none with the {FEWEST_POINTS} points needed to judge it.");
    }
    let mut text = format!(
        "{} of {judged} series changed within their newest {} points: {worse} for the worse, {better} \
         for the better.",
        worse + better,
        overview.recent
    );
    if suspect > 0 {
        text += &format!(" The newest point of {suspect} is out of line with its level.");
    }
    let slowly = count(&[NotableReason::SlowlyWorse]);
    if slowly > 0 {
        text += &format!(" Slowly worse, point by point: {slowly}.");
    }
    if judged < notable.len() {
        text += &format!(
            " {} more have fewer than the {FEWEST_POINTS} points needed to judge them.",
            notable.len() - judged
        );
    }
    text
}

/// Summary sentence with the most notable series.
pub(super) fn summary(overview: &Overview<'_>, notable: &[NotableSeries<'_>]) -> Markup {
    let mut news: Vec<&NotableSeries<'_>> =
        notable.iter().filter(|notable_series| notable_series.is_news()).collect();
    news.sort_by(|left, other_series| other_series.order(left));
    let more = news.len().saturating_sub(SERIES_NAMED_MAX);
    html! {
        p class="lead" { (sentence(overview, notable)) }
        @if !news.is_empty() {
            ol class="news" {
                @for left in news.iter().take(SERIES_NAMED_MAX) {
                    li {
                        a href=(format!("#{}", left.name())) { (visible(&title(left.series))) } ": "
                        (visible(&left.words()))
                    }
                }
            }
            @if more > 0 { p class="aside" { "and " (more) " more, first in the tables below" } }
        }
        @if overview.anchor.is_none() && !news.is_empty() {
            p class="note" {
                "Without an anchor (" code { "--anchor VARIANT" } ") a change of the machine "
                "cannot be told from a change of what is measured."
            }
        }
    }
}

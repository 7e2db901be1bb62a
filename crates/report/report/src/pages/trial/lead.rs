//! Sentence and picture at the top of a trial's page: the main result, before any table.

use treering_analysis::{LayoutPoint, Summary, layouts};
use treering_model::metrics::times::OPERATION_SECONDS;
use treering_model::{Ending, Metric, Trial, Unit, counted, thousands};

use crate::pages::identity::in_short;
use crate::pages::layouts::{first_and_last_maps, is_aging, timelines};
use crate::{Bar, Bars, Block, Chart, Number, NumberStyle};

/// Maximum number of metrics in the sentence.
const METRICS_NAMED_MAX: usize = 4;
/// Maximum number of bars in the picture.
const MOST_BARS: usize = 10;

/// Answer of a trial in one sentence.
pub(in crate::pages) fn sentence(trial: &Trial) -> String {
    let took = Number::span(trial.wall_ns as f64 / 1e9).text();
    let known = layouts(trial);
    let after: Vec<&LayoutPoint> = known.iter().filter(|point| point.tasks.is_none()).collect();
    let said = match trial.fact("age.operations").map(thousands) {
        Some(operations) => {
            let decay = decay(&after);
            let decay = if decay.is_empty() { "the layout is not known".to_owned() } else { decay };
            format!("{operations} operations: {decay}")
        }
        None => {
            let primary = trial.metrics.iter().filter(|metric| metric.primary);
            let shown: Vec<String> =
                primary.clone().take(METRICS_NAMED_MAX).map(in_short).collect();
            let more = match primary.count().saturating_sub(METRICS_NAMED_MAX) {
                0 => String::new(),
                more => format!(" and {more} more"),
            };
            let on = trial
                .fact("filesystem.type")
                .map_or_else(String::new, |kind| format!(" on {kind}"));
            let figures = if shown.is_empty() { "no figure".to_owned() } else { shown.join(", ") };
            format!("{}{on}: {figures}{more}", trial.beginning.workload)
        }
    };
    let ended = match &trial.ending {
        Ending::Completed if trial.wall_ns > 0 => format!(", in {took}"),
        Ending::Completed => String::new(),
        other => format!(" ({})", other.name()),
    };
    format!("{said}{ended}.")
}

/// Change of the layout from the first to the last phase: `adjacent siblings 7.6 → 1.4 %, reading
/// 11 % longer on a disk`.
fn decay(after: &[&LayoutPoint]) -> String {
    let (Some(first), Some(last)) = (after.first(), after.last()) else { return String::new() };
    let ends = |of: fn(&LayoutPoint) -> Option<f64>| Some((of(first)?, of(last)?));
    let mut parts = Vec::new();
    if let Some((from, to)) = ends(|point| point.layout.adjacent_siblings) {
        parts.push(format!("adjacent siblings {} → {} %", share(from), share(to)));
    } else if let Some((from, to)) = ends(|point| point.layout.traversal_score) {
        parts.push(format!("traversal score {} → {} %", share(from), share(to)));
    }
    let seconds =
        |point: &LayoutPoint| point.layout.modelled_read.as_ref().map(|read| read.seconds.typical);
    if let Some((from, to)) = ends(seconds).filter(|(from, to)| *from > 0.0 && to.is_finite()) {
        parts.push(format!("reading {} on a disk", longer(to / from)));
    }
    parts.join(", ")
}

/// Formats a share as percent without its sign: `7.6`.
fn share(share: f64) -> String {
    Number { value: share * 100.0, unit: String::new(), style: NumberStyle::Percent }.text()
}

/// Describes a ratio of times: `11 % longer`, `2.3 times as long`.
fn longer(ratio: f64) -> String {
    let percent = ((ratio - 1.0) * 100.0).abs();
    let text = if percent < 9.95 { format!("{percent:.1}") } else { format!("{percent:.0}") };
    match text.as_str() {
        "0.0" => "equally long".to_owned(),
        _ if ratio >= 2.0 => format!("{ratio:.1} times as long"),
        _ if ratio > 1.0 => format!("{text} % longer"),
        _ => format!("{text} % shorter"),
    }
}

/// Picture at the top of the page, and the charts that remain for the section of charts.
pub(super) struct LeadPicture {
    pub(super) picture: Vec<Block>,
    pub(super) charts: Vec<Block>,
}

impl LeadPicture {
    /// Chooses the picture: the fresh and the aged map of an aging run, otherwise the time of each
    /// kind of task, otherwise the first chart of the page.
    pub(super) fn new(
        trial: &Trial,
        summary: &Summary,
        mut charts: Vec<Block>,
        draws: bool,
    ) -> Self {
        if !draws {
            return Self { picture: Vec::new(), charts };
        }
        if is_aging(trial) {
            let picture = aged(trial);
            return Self { picture, charts };
        }
        if let Some(bars) = times(trial, summary) {
            return Self { picture: vec![Block::Chart(Chart::Bars(bars))], charts };
        }
        let is_picture = |block: &Block| match block {
            Block::Chart(chart) => !matches!(chart, Chart::Remark { .. }),
            _ => false,
        };
        let first = charts.iter().position(is_picture).map(|place| charts.remove(place));
        Self { picture: first.into_iter().collect(), charts }
    }
}

/// Fresh and aged map side by side, with a chart of the measure that changed most.
fn aged(trial: &Trial) -> Vec<Block> {
    let points = layouts(trial);
    let maps = first_and_last_maps(trial).into_iter().map(Chart::Map);
    let line = timelines(&points).next().map(Chart::Layout);
    maps.chain(line).map(Block::Chart).collect()
}

/// Bars with the time of each kind of task; `None` for fewer than two kinds.
fn times(trial: &Trial, summary: &Summary) -> Option<Bars> {
    if summary.kinds.len() < 2 {
        return None;
    }
    let seconds = |kind: &str| {
        let own = trial.tasks.iter().filter(|task| task.kind == kind);
        own.map(|task| task.wall_ns as f64 / 1e9).sum::<f64>()
    };
    let mut names: Vec<&str> = Vec::new();
    for kind in &summary.kinds {
        if !names.contains(&kind.kind.as_str()) {
            names.push(&kind.kind);
        }
    }
    let mut bars: Vec<Bar> = names.iter().map(|kind| bar(trial, kind, seconds(kind))).collect();
    bars.sort_by(|left, right| right.value.total_cmp(&left.value));
    let left_out = bars.len().saturating_sub(MOST_BARS);
    bars.truncate(MOST_BARS);
    let more = match left_out {
        0 => String::new(),
        more => format!(" {} took less.", counted(more, "more kind")),
    };
    Some(Bars {
        title: "Time by kind of task".to_owned(),
        subtitle: format!(", all tasks of a kind together.{more}"),
        unit: Unit::Seconds,
        bars,
    })
}

fn bar(trial: &Trial, kind: &str, seconds: f64) -> Bar {
    let of_kind = |metric: &&Metric| {
        metric.primary
            && metric.name != OPERATION_SECONDS.name
            && matches!(&metric.scope, treering_model::Scope::Kind(own) if own == kind)
    };
    let rate = trial
        .metrics
        .iter()
        .find(of_kind)
        .map(|metric| Number::measured(metric.value, metric.unit).text_with_unit());
    let time = Number::measured(seconds, Unit::Seconds).text_with_unit();
    let figures = [Some(time), rate].into_iter().flatten().collect::<Vec<_>>().join(", ");
    Bar { name: kind.to_owned(), value: seconds, figures }
}

#[cfg(test)]
mod tests {
    use super::longer;

    #[test]
    fn ratios_of_times_are_told_in_words() {
        assert_eq!(longer(1.113), "11 % longer");
        assert_eq!(longer(1.079), "7.9 % longer");
        assert_eq!(longer(0.95), "5.0 % shorter");
        assert_eq!(longer(2.31), "2.3 times as long");
        assert_eq!(longer(1.0), "equally long");
    }
}

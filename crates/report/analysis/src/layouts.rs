//! Layouts of a trial in time order, and the trend of each layout measure over the run.

use treering_model::{FileLayout, LAYOUT_AFTER_TASK, LAYOUT_ARTIFACT, LAYOUT_VERSION, Trial};
use treering_stats::theil_sen;

/// Minimum number of layouts for a trend.
const TREND_MIN_LAYOUTS: usize = 6;
/// Confidence level of the trend's interval.
const CONFIDENCE: f64 = 0.95;
/// Maximum number of layout artifacts read from one trial.
const MOST_LAYOUTS: usize = 100_000;

/// A layout with the moment it was taken at.
#[derive(Clone, Debug, PartialEq)]
pub struct LayoutPoint {
    /// Name of the phase it was taken in or after.
    pub phase: String,
    /// Number of tasks completed when the layout was taken in the middle of a phase; `None` at a
    /// phase's end.
    pub tasks: Option<u64>,
    /// Layout of the filesystem at that moment.
    pub layout: FileLayout,
}

/// A layout measure that is shown as a series.
#[derive(Clone, Copy, Debug)]
pub struct LayoutMeasure {
    /// Name of the measure in tables and charts.
    pub name: &'static str,
    /// Computes the value, if the layout has it. Shares are in percent, sizes in bytes.
    pub of: fn(&FileLayout) -> Option<f64>,
    /// Unit of the values.
    pub unit: treering_model::Unit,
}

/// Layout measures shown as series, those that change most first.
pub const LAYOUT_MEASURES: [LayoutMeasure; 8] = {
    use treering_model::Unit::{Bytes, Count, Percent, Seconds};
    [
        LayoutMeasure {
            name: "adjacent siblings",
            of: |layout| layout.adjacent_siblings.map(|share| share * 100.0),
            unit: Percent,
        },
        LayoutMeasure {
            name: "traversal score",
            of: |layout| layout.traversal_score.map(|share| share * 100.0),
            unit: Percent,
        },
        LayoutMeasure {
            name: "extents per file",
            of: |layout| layout.extents_per_file,
            unit: Count,
        },
        LayoutMeasure {
            name: "gap p90",
            of: |layout| layout.gap_bytes.map(|gap| gap.p90 as f64),
            unit: Bytes,
        },
        LayoutMeasure { name: "span median", of: |layout| layout.span_median, unit: Count },
        LayoutMeasure {
            name: "modelled read",
            of: |layout| layout.modelled_read.as_ref().map(|read| read.seconds.typical),
            unit: Seconds,
        },
        LayoutMeasure {
            name: "free extents",
            of: |layout| layout.free_space.as_ref().map(|free| free.extents as f64),
            unit: Count,
        },
        LayoutMeasure {
            name: "free in 1 MiB and more",
            of: |layout| layout.free_space.as_ref()?.large_share.map(|share| share * 100.0),
            unit: Percent,
        },
    ]
};

/// Trend of a layout measure over one run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LayoutTrend {
    /// Number of layouts that have the measure.
    pub layouts: usize,
    /// Values at the first and the last layout.
    pub ends: (f64, f64),
    /// Theil-Sen slope: change over ten tasks, in the unit of the measure.
    pub per_10_tasks: f64,
    /// 95 % confidence interval of the slope by Kendall's S; `None` when all values are equal.
    pub interval: Option<(f64, f64)>,
}

/// Layouts of a trial. Artifacts of a newer format version, or that do not parse as a layout, are
/// skipped.
pub fn layouts(trial: &Trial) -> Vec<LayoutPoint> {
    let mut points = Vec::new();
    for artifact in trial.artifacts.iter().take(MOST_LAYOUTS) {
        let Some(layout) = artifact.read(LAYOUT_ARTIFACT, LAYOUT_VERSION) else { continue };
        let phase = trial.phases.iter().find(|phase| Some(phase.phase) == artifact.phase);
        let tasks = artifact.name.strip_prefix(LAYOUT_AFTER_TASK).and_then(|n| n.parse().ok());
        let phase = phase.map(|phase| phase.name.clone()).unwrap_or_default();
        points.push(LayoutPoint { phase, tasks, layout });
    }
    points
}

/// Trend of a measure over the periodic layouts of the phase that has most of them; `None` when
/// there are too few.
pub fn layout_trend(points: &[LayoutPoint], measure: &LayoutMeasure) -> Option<LayoutTrend> {
    let values: Vec<(u64, f64)> = layout_series(points, measure);
    if values.len() < TREND_MIN_LAYOUTS {
        return None;
    }
    let (first, last) = (values.first()?, values.last()?);
    let tasks = last.0.saturating_sub(first.0) as f64 / (values.len() - 1) as f64;
    let plain: Vec<f64> = values.iter().map(|(_, value)| *value).collect();
    let slope = theil_sen(&plain, CONFIDENCE).ok()?;
    let per_10 = |slope: f64| slope / tasks.max(1.0) * 10.0;
    Some(LayoutTrend {
        layouts: values.len(),
        ends: (first.1, last.1),
        per_10_tasks: per_10(slope.slope),
        interval: slope.interval.map(|around| (per_10(around.low), per_10(around.high))),
    })
}

/// Values of a measure with the number of completed tasks at each, from the phase that has most
/// layouts.
pub fn layout_series(points: &[LayoutPoint], measure: &LayoutMeasure) -> Vec<(u64, f64)> {
    let timed = points.iter().filter_map(|point| Some((point, point.tasks?)));
    let mut phases: Vec<(&str, usize)> = Vec::new();
    for (point, _) in timed.clone() {
        match phases.iter_mut().find(|(name, _)| *name == point.phase) {
            Some(phase) => phase.1 += 1,
            None => phases.push((&point.phase, 1)),
        }
    }
    let most = phases.into_iter().max_by_key(|(_, count)| *count).map(|(name, _)| name);
    let of_phase = timed.filter(|(point, _)| Some(point.phase.as_str()) == most);
    let value = |(point, tasks): (&LayoutPoint, u64)| {
        Some((tasks, (measure.of)(&point.layout).filter(|value| value.is_finite())?))
    };
    of_phase.filter_map(value).collect()
}

#[cfg(test)]
mod tests {
    use super::{LAYOUT_MEASURES, LayoutPoint, layout_series, layout_trend, layouts};
    use treering_model::{
        Artifact, Ending, FileLayout, PhaseTotals, RunMode, Trial, TrialHeader, TrialId,
    };

    fn point(tasks: u64, adjacent: f64) -> LayoutPoint {
        let layout = FileLayout { adjacent_siblings: Some(adjacent), ..FileLayout::default() };
        LayoutPoint { phase: "work".to_owned(), tasks: Some(tasks), layout }
    }

    #[test]
    fn a_measure_that_falls_has_a_slope() {
        let points: Vec<_> = (1..=10).map(|n| point(n * 5, 1.0 - n as f64 * 0.02)).collect();
        let trend = layout_trend(&points, &LAYOUT_MEASURES[0]).unwrap();
        assert!((trend.per_10_tasks + 4.0).abs() < 1e-9, "{trend:?}");
        assert!((trend.ends.0 - 98.0).abs() < 1e-9 && (trend.ends.1 - 80.0).abs() < 1e-9);
        let interval = trend.interval.unwrap();
        assert!(interval.0 <= trend.per_10_tasks && trend.per_10_tasks <= interval.1);
        assert!(layout_trend(&points[..5], &LAYOUT_MEASURES[0]).is_none());
        assert!(layout_trend(&points, &LAYOUT_MEASURES[1]).is_none());
        assert_eq!(layout_series(&points, &LAYOUT_MEASURES[0]).len(), 10);
    }

    #[test]
    fn metrics_other_than_layouts_are_left_out() {
        let artifact = |name: &str, version, body: &str| Artifact {
            kind: "layout".to_owned(),
            version,
            phase: Some(1),
            name: name.to_owned(),
            body: body.to_owned(),
        };
        let whole = serde_json::to_string(&FileLayout::default()).unwrap();
        let trial = Trial {
            phases: vec![PhaseTotals {
                phase: 1,
                name: "work".to_owned(),
                ..PhaseTotals::default()
            }],
            artifacts: vec![
                artifact("after task 3", 1, &whole),
                artifact("after task x", 1, &whole),
                artifact("", 2, &whole),
                artifact("", 1, "{"),
            ],
            ending: Ending::Completed,
            wall_ns: 1,
            ..Trial::new(TrialHeader::new(TrialId::new(), "compilebench", RunMode::Native))
        };
        let points = layouts(&trial);
        assert_eq!(points.iter().map(|p| p.tasks).collect::<Vec<_>>(), [Some(3), None]);
        assert_eq!(points[0].phase, "work");
    }
}

//! The layouts of a trial in order, and how each measure changes over the run.

use treering_model::{LAYOUT_AFTER_TASK, LAYOUT_ARTIFACT, LAYOUT_VERSION, Layout, Trial};
use treering_stats::theil_sen;

/// Fewer layouts than this have no trend worth naming.
const TREND_MIN_LAYOUTS: usize = 6;
/// Confidence of the interval.
const CONFIDENCE: f64 = 0.95;
/// Artifacts of one trial that are looked at.
const MOST_LAYOUTS: usize = 100_000;

/// A layout and when it was taken.
#[derive(Clone, Debug, PartialEq)]
pub struct LayoutPoint {
    /// The phase it is of.
    pub phase: String,
    /// Tasks that had ended, where it was taken in the middle of a phase.
    pub tasks: Option<u64>,
    /// The layout.
    pub layout: Layout,
}

/// A measure of a layout, as series show it.
#[derive(Clone, Copy, Debug)]
pub struct LayoutMeasure {
    /// Its name.
    pub name: &'static str,
    /// Its value, where there is one. Shares are in percent, sizes in bytes.
    pub of: fn(&Layout) -> Option<f64>,
    /// What its values are.
    pub unit: treering_model::Unit,
}

/// The measures that series show, the first ones being those that move most.
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

/// How a measure moves.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LayoutTrend {
    /// Layouts that have it.
    pub layouts: usize,
    /// At the first and at the last of them.
    pub ends: (f64, f64),
    /// Change over ten tasks, in the unit of the measure: the slope of Theil and Sen.
    pub per_10_tasks: f64,
    /// Its 95 % interval by Kendall's S; `None` when all values are equal.
    pub interval: Option<(f64, f64)>,
}

/// The layouts of a trial; those that are of a newer version, or no layout at all, are left out.
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

/// How a measure moves over the layouts that were taken after every so many tasks of one phase:
/// the phase with most of them. `None` where they are too few.
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

/// The values of a measure by the number of completed tasks, of the phase with most of them.
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
    use treering_model::{Artifact, Beginning, Ending, Layout, Mode, PhaseTotals, Trial, TrialId};

    fn point(tasks: u64, adjacent: f64) -> LayoutPoint {
        let layout = Layout { adjacent_siblings: Some(adjacent), ..Layout::default() };
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
    fn what_is_no_layout_is_left_out() {
        let artifact = |name: &str, version, body: &str| Artifact {
            kind: "layout".to_owned(),
            version,
            phase: Some(1),
            name: name.to_owned(),
            body: body.to_owned(),
        };
        let whole = serde_json::to_string(&Layout::default()).unwrap();
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
            ..Trial::new(Beginning::new(TrialId::new(), "compilebench", Mode::Native))
        };
        let points = layouts(&trial);
        assert_eq!(points.iter().map(|p| p.tasks).collect::<Vec<_>>(), [Some(3), None]);
        assert_eq!(points[0].phase, "work");
    }
}

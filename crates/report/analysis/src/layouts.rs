//! Layouts of a trial in time order, and the trend of each layout measure over the run: over
//! completed tasks, or over operations in a run that ages a filesystem.

use std::collections::BTreeMap;

use treering_model::{FileLayout, LAYOUT_AFTER_TASK, LAYOUT_ARTIFACT, LAYOUT_VERSION, Trial};
use treering_stats::theil_sen;

/// Minimum number of layouts for a trend.
const TREND_MIN_LAYOUTS: usize = 6;
/// Confidence level of the trend's interval.
const CONFIDENCE: f64 = 0.95;
/// Names of the phases of a run that ages a filesystem: creating the initial files, and the
/// operations on them.
const FILL_PHASE: &str = "fill";
const AGE_PHASE: &str = "age";
/// Maximum number of layout artifacts read from a trial.
const MOST_LAYOUTS: usize = 100_000;

/// Layout at a certain time of the run.
#[derive(Clone, Debug, PartialEq)]
pub struct LayoutPoint {
    /// Name of the phase during or after which the layout was taken.
    pub phase: String,
    /// Number of tasks completed when the layout was taken in the middle of a phase; `None` at a
    /// phase's end.
    pub tasks: Option<u64>,
    /// Number of operations of an aging run completed when the layout was taken; 0 at the end of
    /// the filling. `None` in other runs, during the filling, and at the end of later phases.
    pub operations: Option<u64>,
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

/// Layout measures shown as series, in descending order of their usual change.
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
    /// Theil-Sen slope: change over `span`, in the unit of the measure.
    pub change: f64,
    /// 95 % confidence interval of the change by Kendall's S; `None` when all values are equal.
    pub interval: Option<(f64, f64)>,
    /// Work over which the change is given.
    pub span: TrendSpan,
}

/// Work over which the change of a layout measure is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TrendSpan {
    /// Ten tasks.
    Tasks,
    /// A thousand operations of an aging run.
    Operations,
}

impl TrendSpan {
    /// Number of tasks or operations.
    const fn count(self) -> f64 {
        match self {
            Self::Tasks => 10.0,
            Self::Operations => 1000.0,
        }
    }

    /// Span in words, as they follow "over".
    pub const fn words(self) -> &'static str {
        match self {
            Self::Tasks => "ten tasks",
            Self::Operations => "1,000 operations",
        }
    }

    /// Unit of work that a series counts, in words.
    pub const fn counted(self) -> &'static str {
        match self {
            Self::Tasks => "completed tasks",
            Self::Operations => "operations",
        }
    }
}

/// Layouts of a trial. Artifacts of a newer format version, or that cannot be parsed as a layout,
/// are skipped.
pub fn layouts(trial: &Trial) -> Vec<LayoutPoint> {
    let operations = operations_after(trial);
    let mut points = Vec::new();
    for artifact in trial.artifacts.iter().take(MOST_LAYOUTS) {
        let Some(layout) = artifact.read(LAYOUT_ARTIFACT, LAYOUT_VERSION) else { continue };
        let phase = trial.phases.iter().find(|phase| Some(phase.phase) == artifact.phase);
        let tasks = artifact.name.strip_prefix(LAYOUT_AFTER_TASK).and_then(|n| n.parse().ok());
        let phase = phase.map(|phase| phase.name.clone()).unwrap_or_default();
        let operations = match (tasks, phase.as_str()) {
            (None, FILL_PHASE) if !operations.is_empty() => Some(0),
            (Some(tasks), AGE_PHASE) => operations.get(&tasks).copied(),
            _ => None,
        };
        points.push(LayoutPoint { phase, tasks, operations, layout });
    }
    points
}

/// Number of operations completed after each task of the aging phase, keyed by the number of tasks
/// completed in the run; empty for other runs.
fn operations_after(trial: &Trial) -> BTreeMap<u64, u64> {
    let of_age = |phase: u32| {
        trial.phases.iter().any(|known| known.phase == phase && known.name == AGE_PHASE)
    };
    let mut sums = BTreeMap::new();
    let mut sum = 0;
    for (before, task) in (0u64..).zip(&trial.tasks) {
        if !of_age(task.phase) {
            continue;
        }
        // The subject of an aging task is `250 operations`.
        let own = task.subject.split_once(" operation").map(|(count, _)| count.parse::<u64>());
        let Some(Ok(own)) = own else { return BTreeMap::new() };
        sum += own;
        sums.insert(before + 1, sum);
    }
    sums
}

/// Trend of a measure over its series, without the initial filling; `None` when there are too few
/// layouts.
pub fn layout_trend(points: &[LayoutPoint], measure: &LayoutMeasure) -> Option<LayoutTrend> {
    let (span, mut values) = layout_series(points, measure);
    values.retain(|(done, _)| *done > 0);
    if values.len() < TREND_MIN_LAYOUTS {
        return None;
    }
    let (first, last) = (values.first()?, values.last()?);
    let step = last.0.saturating_sub(first.0) as f64 / (values.len() - 1) as f64;
    let plain: Vec<f64> = values.iter().map(|(_, value)| *value).collect();
    let slope = theil_sen(&plain, CONFIDENCE).ok()?;
    let change = |slope: f64| slope / step.max(1.0) * span.count();
    Some(LayoutTrend {
        layouts: values.len(),
        ends: (first.1, last.1),
        change: change(slope.slope),
        interval: slope.interval.map(|interval| (change(interval.low), change(interval.high))),
        span,
    })
}

/// Values of a measure with the amount of work completed at each: operations of an aging run after
/// its filling, otherwise tasks of the phase with the most layouts.
pub fn layout_series(
    points: &[LayoutPoint],
    measure: &LayoutMeasure,
) -> (TrendSpan, Vec<(u64, f64)>) {
    let value = |done: u64, point: &LayoutPoint| {
        Some((done, (measure.of)(&point.layout).filter(|value| value.is_finite())?))
    };
    let aged = points.iter().filter_map(|point| value(point.operations?, point));
    if points.iter().any(|point| point.operations.is_some_and(|operations| operations > 0)) {
        return (TrendSpan::Operations, aged.collect());
    }
    let timed = points.iter().filter_map(|point| Some((point, point.tasks?)));
    let mut phases: Vec<(&str, usize)> = Vec::new();
    for (point, _) in timed.clone() {
        match phases.iter_mut().find(|(name, _)| *name == point.phase) {
            Some(phase) => phase.1 += 1,
            None => phases.push((&point.phase, 1)),
        }
    }
    // Filling does not age the filesystem, so layouts taken during it are left out.
    let is_aging = phases.iter().any(|(name, _)| *name == AGE_PHASE);
    let chosen = phases.iter().filter(|(name, _)| !is_aging || *name == AGE_PHASE);
    let most = chosen.max_by_key(|(_, count)| *count).map(|(name, _)| *name);
    let of_phase = timed.filter(|(point, _)| Some(point.phase.as_str()) == most);
    (TrendSpan::Tasks, of_phase.filter_map(|(point, tasks)| value(tasks, point)).collect())
}

#[cfg(test)]
mod tests {
    use super::{LAYOUT_MEASURES, LayoutPoint, TrendSpan, layout_series, layout_trend, layouts};
    use treering_model::{
        Artifact, Ending, FileLayout, PhaseTotals, RunMode, TaskTotals, Trial, TrialHeader, TrialId,
    };

    fn point(tasks: u64, adjacent: f64) -> LayoutPoint {
        let layout = FileLayout { adjacent_siblings: Some(adjacent), ..FileLayout::default() };
        LayoutPoint { phase: "work".to_owned(), tasks: Some(tasks), operations: None, layout }
    }

    #[test]
    fn a_measure_that_falls_has_a_slope() {
        let points: Vec<_> = (1..=10).map(|n| point(n * 5, 1.0 - n as f64 * 0.02)).collect();
        let trend = layout_trend(&points, &LAYOUT_MEASURES[0]).unwrap();
        assert!((trend.change + 4.0).abs() < 1e-9, "{trend:?}");
        assert!((trend.ends.0 - 98.0).abs() < 1e-9 && (trend.ends.1 - 80.0).abs() < 1e-9);
        let interval = trend.interval.unwrap();
        assert!(interval.0 <= trend.change && trend.change <= interval.1);
        assert!(layout_trend(&points[..5], &LAYOUT_MEASURES[0]).is_none());
        assert!(layout_trend(&points, &LAYOUT_MEASURES[1]).is_none());
        assert_eq!(layout_series(&points, &LAYOUT_MEASURES[0]).1.len(), 10);
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

    /// Trial that filled a filesystem in many steps and then aged it in a few tasks of 250
    /// operations.
    fn aged() -> Trial {
        let phase = |phase, name: &str| PhaseTotals {
            phase,
            name: name.to_owned(),
            ..PhaseTotals::default()
        };
        let task = |phase, subject: &str| TaskTotals {
            phase,
            subject: subject.to_owned(),
            ..TaskTotals::default()
        };
        let layout = |phase, name: &str, adjacent: f64| Artifact {
            kind: "layout".to_owned(),
            version: 1,
            phase: Some(phase),
            name: name.to_owned(),
            body: serde_json::to_string(&FileLayout {
                adjacent_siblings: Some(adjacent),
                ..FileLayout::default()
            })
            .unwrap(),
        };
        let mut artifacts: Vec<Artifact> =
            (1..=5).map(|n| layout(0, &format!("after task {n}"), 0.99)).collect();
        artifacts.push(layout(0, "", 0.9));
        artifacts.extend((6..=7).map(|n| layout(1, &format!("after task {n}"), 0.5)));
        artifacts.push(layout(1, "", 0.5));
        Trial {
            phases: vec![phase(0, "fill"), phase(1, "age")],
            tasks: (0..5)
                .map(|_| task(0, "message"))
                .chain([task(1, "250 operations"), task(1, "100 operations")])
                .collect(),
            artifacts,
            ..Trial::new(TrialHeader::new(TrialId::new(), "age", RunMode::Native))
        }
    }

    #[test]
    fn an_aging_run_is_a_series_over_operations_from_the_end_of_its_filling() {
        let (span, series) = layout_series(&layouts(&aged()), &LAYOUT_MEASURES[0]);
        assert_eq!(span, TrendSpan::Operations);
        assert_eq!(series, [(0, 90.0), (250, 50.0), (350, 50.0)]);
    }

    #[test]
    fn the_filling_is_not_drawn_as_aging_where_operations_are_unknown() {
        let mut trial = aged();
        trial.tasks.clear();
        let (span, series) = layout_series(&layouts(&trial), &LAYOUT_MEASURES[0]);
        assert_eq!(span, TrendSpan::Tasks);
        assert_eq!(series, [(6, 50.0), (7, 50.0)]);
    }
}

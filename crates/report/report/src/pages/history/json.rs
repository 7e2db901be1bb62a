//! Histories as data: `treering history --format json`.

use serde::Serialize;
use treering_analysis::history::{ChangedFact, History, HistorySeries, KnownChange};

use crate::data::{Data, moment};

/// Data of the series, in page order.
#[derive(Debug, Serialize)]
pub struct HistoryData<'h> {
    by: &'h str,
    #[serde(skip_serializing_if = "Option::is_none")]
    anchor: Option<&'h str>,
    left_out: usize,
    series: Vec<SeriesData<'h>>,
}

impl Data for HistoryData<'_> {
    const FORMAT: &'static str = "treering history";
    const VERSION: u32 = 1;
}

#[derive(Debug, Serialize)]
struct SeriesData<'h> {
    workload: &'h str,
    mode: &'static str,
    job: &'h str,
    variant: &'h str,
    metric: &'h str,
    unit: &'static str,
    better: &'static str,
    points: Vec<PointData<'h>>,
    changes: Vec<ChangeData<'h>>,
    environment: Vec<EnvironmentData<'h>>,
    suspect: Option<SuspectData>,
    trend: Option<TrendData<'h>>,
    noise: Option<NoiseData>,
    has_memory: bool,
    memory_seen_from: Option<f64>,
}

#[derive(Debug, Serialize)]
struct PointData<'h> {
    key: &'h str,
    #[serde(skip_serializing_if = "Option::is_none")]
    started: Option<String>,
    trials: usize,
    value: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    interval: Option<(f64, f64)>,
    #[serde(skip_serializing_if = "Option::is_none")]
    link: Option<&'h str>,
}

#[derive(Debug, Serialize)]
struct ChangeData<'h> {
    point: usize,
    between: (usize, usize),
    levels: (f64, f64),
    ratio: Option<f64>,
    interval: Option<(f64, f64)>,
    p_value: f64,
    worse: bool,
    facts: Vec<FactData<'h>>,
    known: Option<&'h str>,
}

#[derive(Debug, Serialize)]
struct EnvironmentData<'h> {
    point: usize,
    facts: Vec<FactData<'h>>,
}

#[derive(Debug, Serialize)]
struct FactData<'h> {
    name: &'h str,
    before: &'h str,
    after: &'h str,
}

#[derive(Debug, Serialize)]
struct SuspectData {
    ratio: Option<f64>,
    p_value: f64,
    worse: bool,
    points_needed: Option<usize>,
}

#[derive(Debug, Serialize)]
struct TrendData<'h> {
    point: usize,
    levels: (f64, f64),
    ratio: Option<f64>,
    interval: Option<(f64, f64)>,
    p_value: f64,
    worse: bool,
    known: Option<&'h str>,
}

#[derive(Debug, Serialize)]
struct NoiseData {
    point: usize,
    ratio: f64,
}

impl<'h> HistoryData<'h> {
    /// Creates the data from the series of a history.
    pub fn new(history: &'h History, by: &'h str, anchor: Option<&'h str>) -> Self {
        let series = history.series.iter().map(SeriesData::new).collect();
        Self { by, anchor, left_out: history.left_out, series }
    }
}

/// Returns a finite ratio; `None` (`null`) if the previous level is zero.
fn finite(ratio: f64) -> Option<f64> {
    Some(ratio).filter(|ratio| ratio.is_finite())
}

fn reason(known: &KnownChange) -> &str {
    &known.acknowledgement.reason
}

fn facts(facts: &[ChangedFact]) -> Vec<FactData<'_>> {
    let mut data = Vec::with_capacity(facts.len());
    for ChangedFact { name, before, after } in facts {
        data.push(FactData { name, before, after });
    }
    data
}

impl<'h> SeriesData<'h> {
    fn new(series: &'h HistorySeries) -> Self {
        let points = series.points.iter().map(|point| PointData {
            key: &point.key,
            started: moment(point.started_unix_ms),
            trials: point.trials.len(),
            value: point.value,
            interval: point.interval,
            link: point.link.as_deref(),
        });
        let changes = series.shifts.iter().map(|shift| ChangeData {
            point: shift.index,
            between: shift.between,
            levels: shift.levels,
            ratio: finite(shift.ratio),
            interval: shift.interval,
            p_value: shift.p_value,
            worse: shift.is_worse,
            facts: facts(&shift.facts),
            known: shift.known.as_ref().map(reason),
        });
        let environment = series
            .environment
            .iter()
            .map(|change| EnvironmentData { point: change.index, facts: facts(&change.facts) });
        Self {
            workload: &series.workload,
            mode: series.mode.name(),
            job: &series.job,
            variant: &series.variant,
            metric: &series.metric,
            unit: series.unit.word(),
            better: series.better.word(),
            points: points.collect(),
            changes: changes.collect(),
            environment: environment.collect(),
            suspect: series.suspect.as_ref().map(|suspect| SuspectData {
                ratio: finite(suspect.ratio),
                p_value: suspect.p_value,
                worse: suspect.is_worse,
                points_needed: suspect.points_needed,
            }),
            trend: series.trend.as_ref().map(|trend| TrendData {
                point: trend.index,
                levels: trend.levels,
                ratio: finite(trend.ratio),
                interval: trend.interval,
                p_value: trend.p_value,
                worse: trend.is_worse,
                known: trend.known.as_ref().map(reason),
            }),
            noise: series
                .noise
                .as_ref()
                .map(|noise| NoiseData { point: noise.index, ratio: noise.ratio }),
            has_memory: series.memory.is_some_and(|memory| memory.is_seen),
            memory_seen_from: series.memory.map(|memory| memory.seen_from),
        }
    }
}

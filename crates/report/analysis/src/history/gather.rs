//! Gathers trials into series and points, without judging them.

use std::collections::{BTreeMap, HashMap};

use treering_model::metrics::is_call_latency;
use treering_model::{BetterDirection, CellRole, Metric, RunMode, Scope, Trial, TrialId, Unit};
use treering_stats::HistoryPoint;

use super::{DatedTrial, HistoryTerms};
use crate::compare::{is_completed, job_names};

/// 97.5 % quantile of the standard normal distribution.
const NORMAL_975: f64 = 1.959_964;

/// A metric of one job on one variant.
pub(super) struct GatheredSeries<'t> {
    pub(super) workload: &'t str,
    pub(super) mode: RunMode,
    pub(super) job: String,
    pub(super) variant: &'t str,
    pub(super) metric: String,
    pub(super) unit: Unit,
    pub(super) better: BetterDirection,
    pub(super) points: Vec<GatheredPoint<'t>>,
}

/// One point of a gathered series.
pub(super) struct GatheredPoint<'t> {
    pub(super) key: &'t str,
    pub(super) started_unix_ms: i64,
    /// Logarithms of the trials' values, or of their ratios to the anchor.
    pub(super) logs: Vec<f64>,
    pub(super) trials: Vec<&'t Trial>,
}

impl GatheredSeries<'_> {
    /// Points with standard errors from the pooled scatter within all points, since each has few
    /// trials.
    pub(super) fn logs(&self) -> Vec<HistoryPoint> {
        let freedom: usize = self.points.iter().map(|point| point.logs.len() - 1).sum();
        let around: f64 = self.points.iter().map(GatheredPoint::around).sum();
        let scatter = if freedom > 0 { (around / freedom as f64).sqrt() } else { 0.0 };
        let point = |point: &GatheredPoint<'_>| HistoryPoint {
            value: point.mean(),
            standard_error: scatter / (point.logs.len() as f64).sqrt(),
        };
        self.points.iter().map(point).collect()
    }
}

/// Half width of a point's 95 % interval.
pub(super) fn half_width(standard_error: f64) -> f64 {
    NORMAL_975 * standard_error
}

impl GatheredPoint<'_> {
    fn mean(&self) -> f64 {
        self.logs.iter().sum::<f64>() / self.logs.len() as f64
    }

    fn around(&self) -> f64 {
        let mean = self.mean();
        self.logs.iter().map(|log| (log - mean).powi(2)).sum()
    }
}

/// Fact with the filesystem type, used where no plan names a variant.
const FILESYSTEM: &str = "filesystem.type";

fn variant(trial: &Trial) -> &str {
    let cell = trial.beginning.cell.as_ref().map(|cell| cell.variant.as_str());
    cell.or_else(|| trial.fact(FILESYSTEM)).unwrap_or_default()
}

/// Key by which a trial is paired with the anchor's.
type PairingKey<'t> = (TrialId, &'t str, u32);

fn place(trial: &Trial) -> Option<PairingKey<'_>> {
    let cell = trial.beginning.cell.as_ref()?;
    Some((cell.campaign, cell.job.as_str(), cell.round))
}

/// Gathers the trials into series; also returns the number of trials that are in none.
pub(super) fn gather<'t>(
    trials: &'t [DatedTrial],
    terms: &HistoryTerms,
) -> (Vec<GatheredSeries<'t>>, usize) {
    let mut usable: Vec<&DatedTrial> =
        trials.iter().filter(|dated_trial| is_usable(&dated_trial.trial)).collect();
    usable.sort_by_key(|dated_trial| {
        (dated_trial.trial.beginning.started_unix_ms, dated_trial.trial.beginning.trial)
    });
    let names = job_names(usable.iter().map(|dated_trial| &dated_trial.trial));
    let anchors = anchors(&usable, terms.anchor.as_deref());
    let mut gathered: Vec<GatheredSeries<'t>> = Vec::new();
    let mut places = SeriesIndex::default();
    let mut used = 0;
    for (dated, job) in usable.iter().zip(names) {
        let trial = &dated.trial;
        let anchor = match (&terms.anchor, place(trial)) {
            (None, _) => None,
            (Some(name), _) if variant(trial) == name => {
                used += 1;
                continue;
            }
            (Some(_), place) => match place.and_then(|place| anchors.get(&place)) {
                Some(anchor) => Some(*anchor),
                None => continue,
            },
        };
        used += 1;
        for measured in measured(trial, anchor, terms.metric.as_deref()) {
            add(&mut gathered, &mut places, dated, &job, measured);
        }
    }
    (gathered, trials.len() - used)
}

fn is_usable(trial: &Trial) -> bool {
    let role = trial.beginning.cell.as_ref().map(|cell| cell.role);
    is_completed(trial)
        && trial.exclusion().is_none()
        && role.is_none_or(|role| role == CellRole::Round)
}

fn anchors<'t>(
    trials: &[&'t DatedTrial],
    anchor: Option<&str>,
) -> BTreeMap<PairingKey<'t>, &'t Trial> {
    let is_anchor = |trial: &Trial| Some(variant(trial)) == anchor;
    let anchor_trials = trials.iter().map(|dated| &dated.trial).filter(|trial| is_anchor(trial));
    anchor_trials.filter_map(|trial| Some((place(trial)?, trial))).collect()
}

/// A metric value of one trial.
struct MetricValue {
    metric: String,
    unit: Unit,
    better: BetterDirection,
    log: f64,
}

fn measured<'a>(
    trial: &'a Trial,
    anchor: Option<&'a Trial>,
    only: Option<&'a str>,
) -> impl Iterator<Item = MetricValue> + 'a {
    let name = |scope: &Scope, name: &str| scope.metric_name(name);
    // The workload's own figures come first.
    let is_own = |metric: &&Metric| !is_call_latency(&metric.name);
    let own = trial.metrics.iter().filter(is_own);
    let latencies = trial.metrics.iter().filter(move |metric| !is_own(metric));
    own.chain(latencies).filter_map(move |metric| {
        let full = name(&metric.scope, &metric.name);
        let is_wanted = only.map_or(metric.primary, |only| only == full);
        if !is_wanted || metric.value <= 0.0 {
            return None;
        }
        let (log, unit) = match anchor {
            None => (metric.value.ln(), metric.unit),
            Some(anchor) => {
                let same = |other: &&Metric| {
                    other.name == metric.name && other.scope == metric.scope && other.value > 0.0
                };
                let other = anchor.metrics.iter().find(same)?;
                (metric.value.ln() - other.value.ln(), Unit::Count)
            }
        };
        Some(MetricValue { metric: full, unit, better: metric.better, log })
    })
}

/// Indices of series and points by their keys.
#[derive(Default)]
struct SeriesIndex<'t> {
    series: HashMap<(&'t str, RunMode, String, &'t str, String, Unit), usize>,
    points: HashMap<(usize, &'t str), usize>,
}

fn add<'t>(
    series: &mut Vec<GatheredSeries<'t>>,
    places: &mut SeriesIndex<'t>,
    dated: &'t DatedTrial,
    job: &str,
    measured: MetricValue,
) {
    let trial = &dated.trial;
    let beginning = &trial.beginning;
    let variant = variant(trial);
    let MetricValue { metric, unit, better, log } = measured;
    let (workload, mode) = (beginning.workload.as_str(), beginning.mode);
    let known = (workload, mode, job.to_owned(), variant, metric.clone(), unit);
    let at = *places.series.entry(known).or_insert_with(|| {
        let (job, points) = (job.to_owned(), Vec::new());
        series.push(GatheredSeries { workload, mode, job, variant, metric, unit, better, points });
        series.len() - 1
    });
    let points = &mut series[at].points;
    let point = *places.points.entry((at, &dated.key)).or_insert_with(|| {
        let started_unix_ms = beginning.started_unix_ms;
        let (logs, trials) = (Vec::new(), Vec::new());
        points.push(GatheredPoint { key: &dated.key, started_unix_ms, logs, trials });
        points.len() - 1
    });
    points[point].logs.push(log);
    points[point].trials.push(trial);
}

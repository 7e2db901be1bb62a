//! Gathers trials into series and points. Not here: judging them.

use std::collections::{BTreeMap, HashMap};

use treering_model::metrics::is_call_latency;
use treering_model::{
    BetterDirection, CellRole, LINK_FACT, Metric, RunMode, Scope, Trial, TrialId, Unit,
    VARIANT_FACT,
};
use treering_stats::{HistoryPoint, Interval, count_at, count_scale};

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
    /// True if the values have no unit and are not ratios to an anchor.
    pub(super) is_number: bool,
    pub(super) points: Vec<GatheredPoint<'t>>,
}

/// Count below which the relative scatter by chance is a third or more.
const SMALL_COUNT: f64 = 10.0;

/// Working scale of a series.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum SeriesScale {
    /// Logarithms: a change is a ratio.
    Ratios,
    /// Small counts, on a scale with equal scatter by chance for all counts.
    Counts,
    /// The values themselves, used if some have no logarithm.
    Values,
}

impl SeriesScale {
    fn of<'v>(values: impl Iterator<Item = &'v f64> + Clone, is_number: bool) -> Self {
        let least = values.clone().copied().fold(f64::INFINITY, f64::min);
        let is_whole = { values }.all(|value| value.fract() == 0.0);
        let is_count = is_number && is_whole && least >= 0.0;
        match least {
            _ if is_count && least < SMALL_COUNT => Self::Counts,
            least if least > 0.0 => Self::Ratios,
            _ => Self::Values,
        }
    }

    /// Position of a value on the scale.
    fn place(self, value: f64) -> f64 {
        match self {
            Self::Ratios => value.ln(),
            Self::Counts => count_scale(value),
            Self::Values => value,
        }
    }

    /// Value at a position on the scale.
    pub(super) fn value(self, place: f64) -> f64 {
        match self {
            Self::Ratios => place.exp(),
            Self::Counts => count_at(place),
            Self::Values => place,
        }
    }

    /// Ratio of the values at two positions; infinite if the first value is not clearly above zero:
    /// a count below 1, or a value below the width of the interval of the change.
    pub(super) fn ratio(self, from: f64, to: f64, interval: Option<Interval>) -> f64 {
        let least = match self {
            Self::Counts => 1.0,
            Self::Ratios | Self::Values => interval.map_or(0.0, |it| it.high - it.low),
        };
        match (self, self.value(from)) {
            (Self::Ratios, _) => (to - from).exp(),
            (_, before) if before > 0.0 && before >= least => self.value(to) / before,
            _ => f64::INFINITY,
        }
    }

    /// Place that tells the level of these points, which are judged around `place`. The level of
    /// counts is their mean, which is not the count at the mean of their places.
    pub(super) fn level(self, place: f64, points: &[GatheredPoint<'_>]) -> f64 {
        let values = points.iter().flat_map(|point| point.values.iter().copied());
        match self {
            Self::Counts => self.place(mean(&values.collect::<Vec<f64>>())),
            Self::Ratios | Self::Values => place,
        }
    }

    /// Places of the levels before and after a shift. A wild count moves a mean and not the levels
    /// that are compared: means outside the interval of the change are not told.
    pub(super) fn levels(
        self,
        shift: &treering_stats::LevelShift,
        before: &[GatheredPoint<'_>],
        after: &[GatheredPoint<'_>],
    ) -> (f64, f64) {
        let means = (self.level(shift.levels.0, before), self.level(shift.levels.1, after));
        let change = means.1 - means.0;
        let agrees = shift.interval.is_none_or(|it| (it.low..=it.high).contains(&change));
        if agrees { means } else { shift.levels }
    }

    /// Smallest standard deviation of a point with `trials` trials that is believed.
    pub(super) fn smallest_scatter(self, trials: usize) -> f64 {
        if self == Self::Counts { 1.0 / (trials.max(1) as f64).sqrt() } else { 0.0 }
    }
}

/// Point of a gathered series.
pub(super) struct GatheredPoint<'t> {
    pub(super) key: &'t str,
    pub(super) started_unix_ms: i64,
    /// Values of the trials, or their ratios to the anchor.
    pub(super) values: Vec<f64>,
    pub(super) trials: Vec<&'t Trial>,
}

impl GatheredPoint<'_> {
    /// Address of a page about the point, if any trial has one.
    pub(super) fn link(&self) -> Option<String> {
        self.trials.iter().find_map(|trial| trial.fact(LINK_FACT)).map(str::to_owned)
    }
}

impl GatheredSeries<'_> {
    /// Scale on which the series is judged.
    pub(super) fn scale(&self) -> SeriesScale {
        let values = self.points.iter().flat_map(|point| &point.values);
        SeriesScale::of(values, self.is_number)
    }

    /// Points on a scale, with standard errors from the pooled scatter within all points, since
    /// each point has few trials.
    pub(super) fn history_points(&self, scale: SeriesScale) -> Vec<HistoryPoint> {
        let places = |point: &GatheredPoint<'_>| -> Vec<f64> {
            point.values.iter().map(|value| scale.place(*value)).collect()
        };
        let points: Vec<Vec<f64>> = self.points.iter().map(places).collect();
        let freedom: usize = points.iter().map(|places| places.len() - 1).sum();
        let deviations: f64 = points.iter().map(|places| squared_deviations(places)).sum();
        let scatter = if freedom > 0 { (deviations / freedom as f64).sqrt() } else { 0.0 };
        let point = |places: &Vec<f64>| HistoryPoint {
            value: mean(places),
            standard_error: scatter / (places.len() as f64).sqrt(),
        };
        points.iter().map(point).collect()
    }

    /// Number of trials of a typical point.
    pub(super) fn trials_each(&self) -> usize {
        let mut trials: Vec<usize> = self.points.iter().map(|point| point.trials.len()).collect();
        trials.sort_unstable();
        trials.get(trials.len() / 2).copied().unwrap_or(1)
    }
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Sum of the squared deviations from the mean.
fn squared_deviations(values: &[f64]) -> f64 {
    let mean = mean(values);
    values.iter().map(|value| (value - mean).powi(2)).sum()
}

/// Half width of a point's 95 % interval.
pub(super) fn half_width(standard_error: f64) -> f64 {
    NORMAL_975 * standard_error
}

/// Fact with the filesystem type, used where no plan names a variant.
const FILESYSTEM: &str = "filesystem.type";

fn variant(trial: &Trial) -> &str {
    let cell = trial.beginning.cell.as_ref().map(|cell| cell.variant.as_str());
    cell.or_else(|| trial.fact(VARIANT_FACT)).or_else(|| trial.fact(FILESYSTEM)).unwrap_or_default()
}

/// Key by which a trial is paired with the anchor's trial.
type PairingKey<'t> = (TrialId, &'t str, u32);

fn place(trial: &Trial) -> Option<PairingKey<'_>> {
    let cell = trial.beginning.cell.as_ref()?;
    Some((cell.campaign, cell.job.as_str(), cell.round))
}

/// Gathers the trials into series; also returns the number of trials that belong to none.
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

/// Metric value of one trial.
struct MetricValue {
    metric: String,
    unit: Unit,
    better: BetterDirection,
    /// True for a number without a unit that is not a ratio.
    is_number: bool,
    value: f64,
}

fn measured<'a>(
    trial: &'a Trial,
    anchor: Option<&'a Trial>,
    only: Option<&'a str>,
) -> impl Iterator<Item = MetricValue> + 'a {
    let name = |scope: &Scope, name: &str| scope.metric_name(name);
    // Figures of the workload itself come first.
    let is_own = |metric: &&Metric| !is_call_latency(&metric.name);
    let own = trial.metrics.iter().filter(is_own);
    let latencies = trial.metrics.iter().filter(move |metric| !is_own(metric));
    own.chain(latencies).filter_map(move |metric| {
        let full = name(&metric.scope, &metric.name);
        let is_wanted = only.map_or(metric.primary, |only| only == full);
        if !is_wanted || !metric.value.is_finite() {
            return None;
        }
        let (value, unit) = match anchor {
            None => (metric.value, metric.unit),
            Some(anchor) => {
                let same = |other: &&Metric| {
                    other.name == metric.name && other.scope == metric.scope && other.value > 0.0
                };
                let other = anchor.metrics.iter().find(same)?;
                (metric.value / other.value, Unit::Count)
            }
        };
        let is_number = anchor.is_none() && unit == Unit::Count;
        Some(MetricValue { metric: full, unit, better: metric.better, is_number, value })
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
    let MetricValue { metric, unit, better, is_number, value } = measured;
    let (workload, mode) = (beginning.workload.as_str(), beginning.mode);
    let known = (workload, mode, job.to_owned(), variant, metric.clone(), unit);
    let at = *places.series.entry(known).or_insert_with(|| {
        let (job, points) = (job.to_owned(), Vec::new());
        series.push(GatheredSeries {
            workload,
            mode,
            job,
            variant,
            metric,
            unit,
            better,
            is_number,
            points,
        });
        series.len() - 1
    });
    let points = &mut series[at].points;
    let point = *places.points.entry((at, &dated.key)).or_insert_with(|| {
        let started_unix_ms = beginning.started_unix_ms;
        let (values, trials) = (Vec::new(), Vec::new());
        points.push(GatheredPoint { key: &dated.key, started_unix_ms, values, trials });
        points.len() - 1
    });
    points[point].values.push(value);
    points[point].trials.push(trial);
}

//! Result of one probe, from the metrics of its trial.

use serde::Serialize;
use treering_model::metrics::MetricSpec;
use treering_model::metrics::load::{
    DUE_LATENCY_NANOSECONDS, DUE_OPERATIONS, GENERATOR_LAG_NANOSECONDS, LATE_PERCENT,
    UNFINISHED_OPERATIONS,
};
use treering_model::{Trial, TrialId};
use treering_stats::LoadProbe;

use crate::arguments::Bound;

/// Share of a latency bound; a larger lag of the generator affects the verdict.
const LAG_SHARE: f64 = 0.5;

/// Allowed percentage of late requests.
fn allowed_percent(bound: &Bound) -> f64 {
    // Shares are not exact: one request of a thousand is 0.1 %.
    100.0 * (1.0 - bound.share) + 1e-9
}

/// Result of a trial at one rate.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Probe {
    /// The trial.
    pub(super) trial: TrialId,
    pub(super) operations_per_second: u64,
    pub(super) due: u64,
    pub(super) unfinished: u64,
    pub(super) p50_ns: u64,
    pub(super) p95_ns: u64,
    pub(super) p99_ns: u64,
    pub(super) p999_ns: u64,
    pub(super) max_ns: u64,
    /// Percentage of late requests, for each latency bound.
    pub(super) late_percent: Vec<f64>,
    /// Lag of the load generator at the percentile of the bound; the largest of several bounds.
    pub(super) generator_lag_ns: u64,
    pub(super) is_kept: bool,
    /// True if the generator's lag is large enough to affect the verdict.
    pub(super) is_generator_late: bool,
}

impl Probe {
    pub(super) fn of(trial: &Trial, operations_per_second: u64, bounds: &[Bound]) -> Self {
        let value = |name: &str| {
            let metric = trial.metrics.iter().find(|metric| metric.name == name);
            metric.map_or(0.0, |metric| metric.value)
        };
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "counts")]
        let named = |name: &str| value(name) as u64;
        let of = |spec: MetricSpec, word: &str| named(&spec.member(&[word]));
        let latency = |word: &str| of(DUE_LATENCY_NANOSECONDS, word);
        let (due, unfinished) = (named(DUE_OPERATIONS.name), named(UNFINISHED_OPERATIONS.name));
        let late_percent: Vec<f64> =
            bounds.iter().map(|bound| value(&LATE_PERCENT.member(&[&bound.text()]))).collect();
        let is_few = |(percent, bound): (&f64, &Bound)| *percent <= allowed_percent(bound);
        let lags = |bound: &Bound| of(GENERATOR_LAG_NANOSECONDS, bound.name);
        let is_late = |bound: &Bound| lags(bound) as f64 > LAG_SHARE * bound.ns as f64;
        Self {
            trial: trial.beginning.trial,
            operations_per_second,
            due,
            unfinished,
            p50_ns: latency("p50"),
            p95_ns: latency("p95"),
            p99_ns: latency("p99"),
            p999_ns: latency("p999"),
            max_ns: latency("max"),
            generator_lag_ns: bounds.iter().map(lags).max().unwrap_or(0),
            is_kept: late_percent.iter().zip(bounds).all(is_few),
            late_percent,
            is_generator_late: bounds.iter().any(is_late),
        }
    }

    /// Result as the search counts it: of several bounds the one that is missed by the largest
    /// factor, scaled to the bound that allows the fewest late requests.
    pub(super) fn counted(&self, bounds: &[Bound]) -> LoadProbe {
        let of = |(percent, bound): (&f64, &Bound)| percent / allowed_percent(bound);
        let most = self.late_percent.iter().zip(bounds).map(of).fold(0.0, f64::max);
        let fewest = bounds.iter().map(allowed_percent).fold(100.0, f64::min) / 100.0;
        let (rate, due) = (self.operations_per_second as f64, self.due as f64);
        LoadProbe { rate, due, late: (most * fewest).min(1.0) * due }
    }

    /// Measured latency at the percentile of a bound.
    pub(super) fn latency_ns(&self, bound: &Bound) -> u64 {
        match bound.name {
            "p50" => self.p50_ns,
            "p95" => self.p95_ns,
            "p99" => self.p99_ns,
            _ => self.p999_ns,
        }
    }
}

//! Probes of a load search: latency bounds, and the result of a trial whose requests came at one
//! rate.

use serde::Serialize;

use crate::metrics::MetricSpec;
use crate::metrics::load::{
    DUE_LATENCY_NANOSECONDS, DUE_OPERATIONS, GENERATOR_LAG_NANOSECONDS, LATE_PERCENT,
    UNFINISHED_OPERATIONS,
};
use crate::{Trial, TrialId};

/// Rate of the probe of a nearly idle filesystem, per second.
pub const IDLE_RATE: u64 = 20;

/// Bound on a percentile of the latency.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LatencyBound {
    /// Name of the percentile among the options and metrics, such as `p99`.
    pub name: &'static str,
    /// Fraction of the requests that must meet the bound, such as 0.99.
    pub share: f64,
    /// Limit of the latency, in nanoseconds.
    pub ns: u64,
}

impl LatencyBound {
    /// Allowed percentage of late requests.
    pub fn allowed_percent(&self) -> f64 {
        // Shares are not exact: one request of a thousand is 0.1 %.
        100.0 * (1.0 - self.share) + 1e-9
    }

    /// Latency limit with its unit, as text.
    pub fn text(&self) -> String {
        let us = self.ns / 1000;
        match us {
            us if us.is_multiple_of(1_000_000) => format!("{}s", us / 1_000_000),
            us if us.is_multiple_of(1000) => format!("{}ms", us / 1000),
            us => format!("{us}us"),
        }
    }
}

/// Share of a latency bound; a larger lag of the generator affects the verdict.
const LAG_SHARE: f64 = 0.5;

/// Result of a trial at one rate.
#[derive(Clone, Debug, Serialize)]
pub struct Probe {
    /// Identity of the trial.
    pub trial: TrialId,
    /// Offered rate.
    pub operations_per_second: u64,
    /// Requests that were due.
    pub due: u64,
    /// Requests that had not ended when the probe was over.
    pub unfinished: u64,
    /// Median latency since a request was due.
    pub p50_ns: u64,
    /// Latency that 95 % of the requests do not exceed.
    pub p95_ns: u64,
    /// Latency that 99 % of the requests do not exceed.
    pub p99_ns: u64,
    /// Latency that 99.9 % of the requests do not exceed.
    pub p999_ns: u64,
    /// Latency of the slowest request.
    pub max_ns: u64,
    /// Percentage of late requests, for each latency bound.
    pub late_percent: Vec<f64>,
    /// Lag of the load generator at the percentile of the bound; with several bounds the largest
    /// lag.
    pub generator_lag_ns: u64,
    /// True if every bound is met.
    pub is_kept: bool,
    /// True if the generator's lag is large enough to affect the verdict.
    pub is_generator_late: bool,
}

impl Probe {
    /// Reads the result from the trial of a probe.
    pub fn new(trial: &Trial, operations_per_second: u64, bounds: &[LatencyBound]) -> Self {
        let value = |name: &str| {
            let metric = trial.metrics.iter().find(|metric| metric.name == name);
            metric.map_or(0.0, |metric| metric.value)
        };
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "counts")]
        let named = |name: &str| value(name) as u64;
        let named_member = |spec: MetricSpec, word: &str| named(&spec.member(&[word]));
        // A percentile is the upper end of a class, which can lie above the slowest.
        let slowest = named_member(DUE_LATENCY_NANOSECONDS, "max");
        let most = if slowest == 0 { u64::MAX } else { slowest };
        let latency = |word: &str| named_member(DUE_LATENCY_NANOSECONDS, word).min(most);
        let (due, unfinished) = (named(DUE_OPERATIONS.name), named(UNFINISHED_OPERATIONS.name));
        let late_percent: Vec<f64> =
            bounds.iter().map(|bound| value(&LATE_PERCENT.member(&[&bound.text()]))).collect();
        let is_few = |(percent, bound): (&f64, &LatencyBound)| *percent <= bound.allowed_percent();
        let lags = |bound: &LatencyBound| named_member(GENERATOR_LAG_NANOSECONDS, bound.name);
        let is_late = |bound: &LatencyBound| lags(bound) as f64 > LAG_SHARE * bound.ns as f64;
        Self {
            trial: trial.beginning.trial,
            operations_per_second,
            due,
            unfinished,
            p50_ns: latency("p50"),
            p95_ns: latency("p95"),
            p99_ns: latency("p99"),
            p999_ns: latency("p999"),
            max_ns: slowest,
            generator_lag_ns: bounds.iter().map(lags).max().unwrap_or(0),
            is_kept: late_percent.iter().zip(bounds).all(is_few),
            late_percent,
            is_generator_late: bounds.iter().any(is_late),
        }
    }

    /// Measured latency at the percentile of a bound.
    pub fn latency_ns(&self, bound: &LatencyBound) -> u64 {
        match bound.name {
            "p50" => self.p50_ns,
            "p95" => self.p95_ns,
            "p99" => self.p99_ns,
            _ => self.p999_ns,
        }
    }
}

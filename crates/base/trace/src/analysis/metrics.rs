//! Figures of a trace as metrics, which are compared like those of a workload.

use treering_model::{Better, Metric, Scope, Unit};

use super::digest::{Figures, KindFigures};

const MIB: f64 = (1u64 << 20) as f64;

impl Figures {
    /// The metrics of this part of a trial; none where the device did nothing.
    pub fn metrics(&self, scope: &Scope) -> Vec<Metric> {
        let mut metrics = Metrics { scope, all: Vec::new() };
        if self.reads.requests + self.writes.requests == 0 {
            return metrics.all;
        }
        self.of_all(&mut metrics);
        of_kind(&mut metrics, "read", &self.reads, self.seconds());
        of_kind(&mut metrics, "write", &self.writes, self.seconds());
        metrics.all
    }

    fn of_all(&self, to: &mut Metrics<'_>) {
        to.rate("requests_per_second", self.requests_per_second(), Unit::OpsPerSecond);
        // Counters of a device tell no order.
        if self.is_ordered() {
            to.cost("seeks", self.seeks as f64, Unit::Count);
            to.cost("seeks_per_second", self.seeks_per_second(), Unit::OpsPerSecond);
        }
        if self.seeks > 0 {
            let mean = self.seek_bytes as f64 / self.seeks as f64;
            to.cost("seek_distance_mean_bytes", mean, Unit::Bytes);
            to.cost("seek_distance_p50_bytes", self.seek_bytes_p50 as f64, Unit::Bytes);
        }
        if let Some(share) = self.sequential_share() {
            to.rate("sequential_percent", share * 100.0, Unit::Percent);
        }
        if let Some(score) = self.layout_score() {
            to.rate("layout_score", score, Unit::Count);
        }
        if let Some(score) = self.read_layout_score() {
            to.rate("read_layout_score", score, Unit::Count);
        }
        to.cost("queue_depth_mean", self.depth_mean, Unit::Count);
        if let Some(ratio) = self.write_amplification() {
            to.cost("write_amplification", ratio, Unit::Count);
        }
        if self.lost_events > 0 {
            to.cost("lost_events", self.lost_events as f64, Unit::Count);
        }
    }
}

fn of_kind(to: &mut Metrics<'_>, word: &str, kind: &KindFigures, seconds: f64) {
    if kind.requests == 0 {
        return;
    }
    let rate = kind.bytes as f64 / MIB / seconds;
    to.rate(&format!("{word}_mib_per_second"), rate, Unit::MibPerSecond);
    let size = kind.bytes as f64 / kind.requests as f64;
    to.rate(&format!("{word}_request_mean_bytes"), size, Unit::Bytes);
    let stages = [("issue", &kind.issue_to_complete), ("queue", &kind.queue_to_complete)];
    for (stage, latency) in stages.into_iter().filter(|(_, latency)| latency.samples > 0) {
        let name = |part: &str| format!("{word}_{stage}_to_complete_{part}_ns");
        to.cost(&name("p50"), latency.p50_ns as f64, Unit::Nanoseconds);
        to.cost(&name("p99"), latency.p99_ns as f64, Unit::Nanoseconds);
    }
}

struct Metrics<'a> {
    scope: &'a Scope,
    all: Vec<Metric>,
}

impl Metrics<'_> {
    fn push(&mut self, name: &str, value: f64, unit: Unit, better: Better) {
        let name = format!("trace_{name}");
        self.all.push(Metric::new(name, self.scope.clone(), value, unit, better));
    }

    fn rate(&mut self, name: &str, value: f64, unit: Unit) {
        self.push(name, value, unit, Better::Higher);
    }

    fn cost(&mut self, name: &str, value: f64, unit: Unit) {
        self.push(name, value, unit, Better::Lower);
    }
}

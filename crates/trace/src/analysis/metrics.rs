//! Trace figures as metrics, comparable like those of a workload.

use treering_model::metrics::{MetricSpec, trace};
use treering_model::{Metric, Scope};

use super::digest::{KindFigures, TraceFigures};

const MIB: f64 = (1u64 << 20) as f64;

impl TraceFigures {
    /// Metrics of this part of a trial; empty if the device was idle.
    pub fn metrics(&self, scope: &Scope) -> Vec<Metric> {
        if self.reads.requests + self.writes.requests == 0 {
            return Vec::new();
        }
        let mut metrics = self.overall_metrics(scope);
        metrics.extend(kind_metrics(scope, "read", &self.reads, self.seconds()));
        metrics.extend(kind_metrics(scope, "write", &self.writes, self.seconds()));
        metrics
    }

    fn overall_metrics(&self, scope: &Scope) -> Vec<Metric> {
        // Device counters provide no order.
        let ordered = |value: f64| self.is_ordered().then_some(value);
        let sought = |value: f64| (self.seeks > 0).then_some(value);
        let mean_seek = self.seek_bytes as f64 / self.seeks.max(1) as f64;
        let lost = (self.lost_events > 0).then_some(self.lost_events as f64);
        let values = [
            (trace::REQUESTS_PER_SECOND, Some(self.requests_per_second())),
            (trace::SEEKS, ordered(self.seeks as f64)),
            (trace::SEEKS_PER_SECOND, ordered(self.seeks_per_second())),
            (trace::SEEK_DISTANCE_MEAN_BYTES, sought(mean_seek)),
            (trace::SEEK_DISTANCE_P50_BYTES, sought(self.seek_bytes_p50 as f64)),
            (trace::SEQUENTIAL_PERCENT, self.sequential_share().map(|share| share * 100.0)),
            (trace::LAYOUT_SCORE, self.layout_score()),
            (trace::READ_LAYOUT_SCORE, self.read_layout_score()),
            (trace::QUEUE_DEPTH_MEAN, Some(self.depth_mean)),
            (trace::WRITE_AMPLIFICATION, self.write_amplification()),
            (trace::LOST_EVENTS, lost),
        ];
        let metric =
            |(spec, value): (MetricSpec, Option<f64>)| Some(spec.of(scope.clone(), value?));
        values.into_iter().filter_map(metric).collect()
    }
}

fn kind_metrics(scope: &Scope, word: &str, kind: &KindFigures, seconds: f64) -> Vec<Metric> {
    if kind.requests == 0 {
        return Vec::new();
    }
    let metric =
        |spec: MetricSpec, word: &str, value| spec.of_member(&[word], scope.clone(), value);
    let mean = kind.bytes as f64 / kind.requests as f64;
    let mut metrics = vec![
        metric(trace::DIRECTION_MIB_PER_SECOND, word, kind.bytes as f64 / MIB / seconds),
        metric(trace::DIRECTION_REQUEST_MEAN_BYTES, word, mean),
    ];
    let stages = [("issue", &kind.issue_to_complete), ("queue", &kind.queue_to_complete)];
    for (stage, latency) in stages.into_iter().filter(|(_, latency)| latency.samples > 0) {
        let word = format!("{word}_{stage}");
        metrics.push(metric(trace::TO_COMPLETE_P50_NS, &word, latency.p50_ns as f64));
        metrics.push(metric(trace::TO_COMPLETE_P99_NS, &word, latency.p99_ns as f64));
    }
    metrics
}

//! Values of one reading, and their changes between two readings.

use std::collections::HashMap;

use treering_model::metrics::MetricSpec;
use treering_model::{CounterKind, KernelCounter, Unit};

/// Half of the range of a 32-bit counter: if the value falls from above it, the counter has wrapped
/// around; if from below, it was reset.
const HALF_OF_32_BITS: u64 = 1 << 31;

/// Value of a counter or gauge at one moment.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Reading {
    /// Name, unique among all readings.
    pub(super) name: String,
    /// File that was read.
    pub(super) source: String,
    pub(super) unit: Unit,
    pub(super) kind: CounterKind,
    pub(super) value: u64,
    /// True if the kernel keeps only the lowest 32 bits.
    pub(super) wraps: bool,
    /// Metric that the value adds to, if it is one.
    pub(super) metric: Option<Promotion>,
}

/// Metric that a counter adds to.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Promotion {
    pub(super) spec: MetricSpec,
    /// Word of a family member; empty for a single metric.
    pub(super) word: String,
    /// Factor from the unit of the counter to that of the metric.
    pub(super) scale: f64,
}

impl Reading {
    pub(super) fn counter(name: impl Into<String>, source: &str, unit: Unit, value: u64) -> Self {
        Self {
            name: name.into(),
            source: source.to_owned(),
            unit,
            kind: CounterKind::Counter,
            value,
            wraps: false,
            metric: None,
        }
    }

    pub(super) fn gauge(name: impl Into<String>, source: &str, unit: Unit, value: u64) -> Self {
        Self { kind: CounterKind::Gauge, ..Self::counter(name, source, unit, value) }
    }

    /// Adds the value to a metric.
    pub(super) fn promoted(self, spec: MetricSpec) -> Self {
        self.promoted_as(spec, "")
    }

    /// Adds the value to a member of a family of metrics.
    pub(super) fn promoted_as(self, spec: MetricSpec, word: &str) -> Self {
        // Durations are counted in nanoseconds and compared in seconds.
        let is_time = self.unit == Unit::Nanoseconds && spec.unit == Unit::Seconds;
        let scale = if is_time { 1e-9 } else { 1.0 };
        Self { metric: Some(Promotion { spec, word: word.to_owned(), scale }), ..self }
    }

    /// Marks a counter of 32 bits.
    pub(super) fn of_32_bits(self) -> Self {
        Self { wraps: true, ..self }
    }
}

/// Change of one value, with the metric that it adds to.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct CounterChange {
    pub(super) counter: KernelCounter,
    pub(super) metric: Option<Promotion>,
}

/// Changes between two readings. Values that one of them lacks are left out, and so are counters
/// that were reset in between.
pub(super) fn changes(before: &[Reading], after: Vec<Reading>) -> Vec<CounterChange> {
    let known: HashMap<&str, &Reading> =
        before.iter().map(|reading| (reading.name.as_str(), reading)).collect();
    let change = |now: Reading| {
        let was = known.get(now.name.as_str())?.value;
        let mut value = now.value;
        if now.kind == CounterKind::Counter && value < was {
            if !now.wraps || was < HALF_OF_32_BITS {
                return None;
            }
            value += 1 << 32;
        }
        let Reading { name, source, unit, kind, metric, .. } = now;
        let counter = KernelCounter { name, source, unit, kind, before: was, after: value };
        Some(CounterChange { counter, metric })
    };
    after.into_iter().filter_map(change).collect()
}

#[cfg(test)]
mod tests {
    use super::{Reading, changes};
    use treering_model::Unit;

    fn counter(name: &str, value: u64) -> Reading {
        Reading::counter(name, "file", Unit::Count, value)
    }

    #[test]
    fn missing_and_reset_counters_are_no_zeros() {
        let before = [counter("same", 4), counter("gone", 4), counter("reset", 9)];
        let after = vec![counter("same", 4), counter("new", 7), counter("reset", 2)];
        let changed = changes(&before, after);
        let values = changed.iter().map(|one| (one.counter.name.as_str(), one.counter.value()));
        assert_eq!(values.collect::<Vec<_>>(), [("same", 0)]);
    }

    #[test]
    fn counters_of_32_bits_wrap_around_and_gauges_may_fall() {
        let before = [
            counter("wrapped", u64::from(u32::MAX)).of_32_bits(),
            counter("reset", 9).of_32_bits(),
            Reading::gauge("level", "file", Unit::Bytes, 80),
        ];
        let after = vec![
            counter("wrapped", 4).of_32_bits(),
            counter("reset", 2).of_32_bits(),
            Reading::gauge("level", "file", Unit::Bytes, 30),
        ];
        let changed = changes(&before, after);
        let values = changed.iter().map(|one| (one.counter.name.as_str(), one.counter.value()));
        assert_eq!(values.collect::<Vec<_>>(), [("wrapped", 5), ("level", 30)]);
    }
}

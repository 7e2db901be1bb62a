//! Sums of the metrics of counters, over the phases of one name and over all.

use treering_model::metrics::MetricSpec;
use treering_model::{CounterKind, Metric, Scope};

use super::reading::CounterChange;

/// Sum of one metric.
#[derive(Clone, Debug)]
struct MetricSum {
    spec: MetricSpec,
    word: String,
    kind: CounterKind,
    value: f64,
}

/// Sums of metrics, in the order of their first occurrence.
#[derive(Clone, Debug, Default)]
pub(super) struct MetricSums(Vec<MetricSum>);

impl MetricSums {
    /// Adds the changes over one interval. Counters of one metric add up; of a gauge the last
    /// interval counts.
    pub(super) fn add(&mut self, changes: &[CounterChange]) {
        let mut interval = Self::default();
        for change in changes {
            let Some(promotion) = &change.metric else { continue };
            let value = change.counter.value() as f64 * promotion.scale;
            let sum = interval.sum_of(promotion.spec, &promotion.word, change.counter.kind);
            sum.value += value;
        }
        for one in interval.0 {
            let sum = self.sum_of(one.spec, &one.word, one.kind);
            match one.kind {
                CounterKind::Counter => sum.value += one.value,
                CounterKind::Gauge => sum.value = one.value,
            }
        }
    }

    fn sum_of(&mut self, spec: MetricSpec, word: &str, kind: CounterKind) -> &mut MetricSum {
        let is_it = |sum: &MetricSum| sum.spec == spec && sum.word == word;
        let place = self.0.iter().position(is_it).unwrap_or_else(|| {
            self.0.push(MetricSum { spec, word: word.to_owned(), kind, value: 0.0 });
            self.0.len() - 1
        });
        &mut self.0[place]
    }

    /// Sum of a metric; `None` if it was never measured.
    pub(super) fn value(&self, spec: MetricSpec) -> Option<f64> {
        self.0.iter().find(|sum| sum.spec == spec).map(|sum| sum.value)
    }

    /// Metrics of a part of the trial.
    pub(super) fn metrics(&self, scope: &Scope) -> Vec<Metric> {
        let metric = |sum: &MetricSum| match sum.word.as_str() {
            "" => sum.spec.of(scope.clone(), sum.value),
            word => sum.spec.of_member(&[word], scope.clone(), sum.value),
        };
        self.0.iter().map(metric).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::MetricSums;
    use crate::kernel_counters::reading::{Reading, changes};
    use treering_model::metrics::{device, kernel};
    use treering_model::{Scope, Unit};

    #[test]
    fn devices_and_phases_add_up_and_the_last_level_counts() {
        let reading = |flushes: u64, dirty: u64| {
            let device = |name: &str, value: u64| {
                Reading::counter(name, "stat", Unit::Count, value).promoted(device::FLUSHES)
            };
            let level = Reading::gauge("dirty", "meminfo", Unit::Bytes, dirty);
            let level = level.promoted(kernel::DIRTY_BYTES);
            vec![device("sda", flushes), device("sdb", 2 * flushes), level]
        };
        let mut sums = MetricSums::default();
        sums.add(&changes(&reading(0, 5), reading(1, 70)));
        sums.add(&changes(&reading(4, 5), reading(14, 60)));
        assert_eq!(sums.value(device::FLUSHES), Some(33.0));
        assert_eq!(sums.value(kernel::DIRTY_BYTES), Some(60.0));
        assert_eq!(sums.value(device::READ_BYTES), None);
        assert_eq!(sums.metrics(&Scope::Trial).len(), 2);
    }
}

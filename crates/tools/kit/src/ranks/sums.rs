//! Sums of tests that all ranks run in parallel: the time from the first start to the last end, and
//! the skew between ranks.

use treering_model::metrics::MetricSpec;
use treering_model::metrics::cpu::CPU_SECONDS;
use treering_model::metrics::rates::WEAR_OUT_PERCENT;
use treering_model::metrics::times::WORKER_SKEW_RATIO;
use treering_model::{Metric, Scope, TaskTotals};

/// Counts of a rank's task.
#[derive(Clone, Copy, Debug, Default)]
pub struct RankCounts {
    /// Number of items or transfers.
    pub items: u64,
    /// Bytes moved.
    pub bytes: u64,
    /// True if the time limit ended the task before all was done.
    pub ended_by_time: bool,
    /// True if the task continued after the time limit, to match the count of the fastest rank.
    pub is_wear_out: bool,
}

/// Share of a rank in the current round of a test.
#[derive(Clone, Copy, Debug, Default)]
struct RankShare {
    began_ns: u64,
    ended_ns: u64,
    items: u64,
}

/// Sums of a test over all rounds so far.
#[derive(Clone, Debug, Default)]
pub struct TestSums {
    /// Kind of the test's tasks.
    pub kind: String,
    /// Items or transfers of all ranks.
    pub items: u64,
    /// Bytes moved by all ranks.
    pub bytes: u64,
    present: Vec<Option<RankShare>>,
    rounds: u64,
    tasks: u64,
    wall_ns: u64,
    cpu_ns: u64,
    skews: f64,
    worn_out: u64,
    most_items: u64,
    was_ended_by_time: bool,
}

impl TestSums {
    fn add(&mut self, task: &TaskTotals, done: RankCounts) {
        let number = usize::from(task.worker);
        if self.present.len() <= number {
            self.present.resize(number + 1, None);
        }
        let started = RankShare { began_ns: task.began_ns, ..RankShare::default() };
        let before = self.present[number].unwrap_or(started);
        self.present[number] = Some(RankShare {
            began_ns: before.began_ns.min(task.began_ns),
            ended_ns: before.ended_ns.max(task.began_ns + task.wall_ns),
            items: before.items + done.items,
        });
        self.tasks += 1;
        self.items += done.items;
        self.bytes += done.bytes;
        self.cpu_ns += task.cpu.total_ns();
        self.worn_out += if done.is_wear_out { done.items } else { 0 };
        self.was_ended_by_time |= done.ended_by_time;
    }

    fn close(&mut self) {
        let present: Vec<RankShare> =
            std::mem::take(&mut self.present).into_iter().flatten().collect();
        let began = present.iter().map(|part| part.began_ns).min();
        let ended = present.iter().map(|part| part.ended_ns).max();
        let (Some(began), Some(ended)) = (began, ended) else { return };
        let lengths = || present.iter().map(|share| (share.ended_ns - share.began_ns).max(1));
        let (slowest, fastest) = (lengths().max().unwrap_or(1), lengths().min().unwrap_or(1));
        self.rounds += 1;
        self.wall_ns += ended.saturating_sub(began).max(1);
        self.skews += slowest as f64 / fastest as f64;
        self.most_items =
            self.most_items.max(present.iter().map(|share| share.items).max().unwrap_or(0));
    }

    /// Wall time from the first start to the last end, summed over the rounds.
    pub fn seconds(&self) -> f64 {
        self.wall_ns as f64 / 1e9
    }

    /// Metrics of the test: its rates, CPU time and the skew between ranks; after a time limit,
    /// also the items of each rank.
    fn metrics(&self, rates: &[Metric], each: &MetricSpec) -> Vec<Metric> {
        let of = || Scope::Kind(self.kind.clone());
        let mut metrics = rates.to_vec();
        metrics.extend([
            CPU_SECONDS.of(of(), self.cpu_ns as f64 / 1e9),
            WORKER_SKEW_RATIO.of(of(), self.skews / self.rounds as f64),
        ]);
        if self.was_ended_by_time {
            let worn_out = self.worn_out as f64 / self.items as f64 * 100.0;
            metrics.extend([
                each.of(of(), self.most_items as f64),
                WEAR_OUT_PERCENT.of(of(), worn_out),
            ]);
        }
        metrics.into_iter().map(|metric| metric.of_tasks(self.tasks)).collect()
    }
}

/// Sums of all tests of a run, in the order of their execution.
#[derive(Clone, Debug, Default)]
pub struct RankSums {
    tests: Vec<TestSums>,
}

impl RankSums {
    /// Ends a round of all tests.
    pub fn close(&mut self) {
        self.tests.iter_mut().for_each(TestSums::close);
    }

    /// Adds a task.
    pub fn add(&mut self, task: &TaskTotals, done: RankCounts) {
        let place = self.tests.iter().position(|sums| sums.kind == task.kind);
        let place = place.unwrap_or_else(|| {
            self.tests.push(TestSums { kind: task.kind.clone(), ..TestSums::default() });
            self.tests.len() - 1
        });
        self.tests[place].add(task, done);
    }

    /// Metrics so far of each test that did anything: its rates and, after a time limit, the items
    /// of `each` rank.
    pub fn metrics<const RATES: usize>(
        &self,
        rates: impl Fn(&TestSums) -> [Metric; RATES],
        each: &MetricSpec,
    ) -> Vec<Metric> {
        let mut closed = self.clone();
        closed.close();
        let done = closed.tests.iter().filter(|sums| sums.items > 0);
        done.flat_map(|sums| sums.metrics(&rates(sums), each)).collect()
    }
}

#[cfg(test)]
mod tests {
    use treering_model::Scope;
    use treering_model::TaskTotals;
    use treering_model::metrics::rates::{ITEMS_PER_WORKER, OPERATIONS_PER_SECOND};

    use super::{RankCounts, RankSums};

    #[test]
    fn rates_divide_all_items_by_the_span_from_first_start_to_last_end() {
        let mut sums = RankSums::default();
        for (worker, began_ms, wall_ms, items, is_wear_out) in
            [(0, 0, 1000, 60, false), (1, 500, 1000, 100, false), (0, 1500, 500, 40, true)]
        {
            let task = TaskTotals {
                kind: "file-create".to_owned(),
                worker,
                began_ns: began_ms * 1_000_000,
                wall_ns: wall_ms * 1_000_000,
                ..TaskTotals::default()
            };
            let ended_by_time = !is_wear_out;
            sums.add(&task, RankCounts { items, bytes: 0, is_wear_out, ended_by_time });
        }
        let rate = |sums: &super::TestSums| {
            [OPERATIONS_PER_SECOND.of(Scope::Trial, sums.items as f64 / sums.seconds())]
        };
        let metrics = sums.metrics(rate, &ITEMS_PER_WORKER);
        let value = |name: &str| {
            metrics.iter().find(|metric| metric.name == name).map(|metric| metric.value)
        };
        assert_eq!(value("operations_per_second"), Some(100.0));
        assert_eq!(value("worker_skew_ratio"), Some(2.0));
        assert_eq!(value("items_per_worker"), Some(100.0));
        assert_eq!(value("wear_out_percent"), Some(20.0));
    }
}

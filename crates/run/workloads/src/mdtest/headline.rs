//! The headline numbers: the rate of each test, from the first beginning to the last end, and how
//! far the workers were apart.

use treering_classic::mdtest::counts::ItemCounts;
use treering_model::metrics::rates::{ITEMS_PER_WORKER, WEAR_OUT_PERCENT};
use treering_model::metrics::times::WORKER_SKEW_RATIO;
use treering_model::metrics::{cpu, rates};
use treering_model::{Metric, Scope, TaskTotals};

use super::shape::Part;

/// What a worker's part was in the present group of tests.
#[derive(Clone, Copy, Debug, Default)]
struct Worker {
    began_ns: u64,
    ended_ns: u64,
    items: u64,
}

/// A test of all iterations.
#[derive(Clone, Debug)]
struct Sums {
    kind: String,
    present: Vec<Option<Worker>>,
    iterations: u64,
    tasks: u64,
    wall_ns: u64,
    items: u64,
    cpu_ns: u64,
    skews: f64,
    worn_out: u64,
    most_items: u64,
    was_ended_by_time: bool,
}

impl Sums {
    fn new(kind: &str) -> Self {
        Self {
            kind: kind.to_owned(),
            present: Vec::new(),
            iterations: 0,
            tasks: 0,
            wall_ns: 0,
            items: 0,
            cpu_ns: 0,
            skews: 0.0,
            worn_out: 0,
            most_items: 0,
            was_ended_by_time: false,
        }
    }

    fn add(&mut self, task: &TaskTotals, counts: ItemCounts) {
        let number = usize::from(task.worker);
        if self.present.len() <= number {
            self.present.resize(number + 1, None);
        }
        let ended_ns = task.began_ns + task.wall_ns;
        let before =
            self.present[number].unwrap_or(Worker { began_ns: task.began_ns, ..Worker::default() });
        self.present[number] = Some(Worker {
            began_ns: before.began_ns.min(task.began_ns),
            ended_ns: before.ended_ns.max(ended_ns),
            items: before.items + counts.done,
        });
        self.tasks += 1;
        self.cpu_ns += task.cpu.total_ns();
        self.worn_out += if counts.is_wear_out { counts.done } else { 0 };
        self.was_ended_by_time |= counts.ended_by_time;
    }

    fn close(&mut self) {
        let present: Vec<Worker> =
            std::mem::take(&mut self.present).into_iter().flatten().collect();
        let began = present.iter().map(|worker| worker.began_ns).min();
        let ended = present.iter().map(|worker| worker.ended_ns).max();
        let (Some(began), Some(ended)) = (began, ended) else { return };
        let lengths = || present.iter().map(|one| (one.ended_ns - one.began_ns).max(1));
        let (slowest, fastest) = (lengths().max().unwrap_or(1), lengths().min().unwrap_or(1));
        self.iterations += 1;
        self.wall_ns += ended.saturating_sub(began).max(1);
        self.skews += slowest as f64 / fastest as f64;
        self.items += present.iter().map(|worker| worker.items).sum::<u64>();
        let most = present.iter().map(|worker| worker.items).max();
        self.most_items = self.most_items.max(most.unwrap_or(0));
    }

    fn metrics(&self) -> Vec<Metric> {
        let mut closed = self.clone();
        closed.close();
        if closed.items == 0 {
            return Vec::new();
        }
        let seconds = closed.wall_ns as f64 / 1e9;
        let of = || Scope::Kind(self.kind.clone());
        let rate = rates::OPERATIONS_PER_SECOND.of(of(), closed.items as f64 / seconds);
        let mut metrics = vec![
            rate.primary_if(decides(&self.kind)),
            cpu::CPU_SECONDS.of(of(), closed.cpu_ns as f64 / 1e9),
            WORKER_SKEW_RATIO.of(of(), closed.skews / closed.iterations as f64),
        ];
        if closed.was_ended_by_time {
            let worn_out = closed.worn_out as f64 / closed.items as f64 * 100.0;
            metrics.extend([
                ITEMS_PER_WORKER.of(of(), closed.most_items as f64),
                WEAR_OUT_PERCENT.of(of(), worn_out),
            ]);
        }
        metrics.into_iter().map(|metric| metric.of_tasks(closed.tasks)).collect()
    }
}

/// Whether the rate of these tasks decides a comparison: that of a tree has few operations, and
/// that of a rename no other tool has.
fn decides(kind: &str) -> bool {
    !kind.starts_with("tree") && !kind.ends_with("rename")
}

/// Adds up a run.
#[derive(Clone, Debug, Default)]
pub(super) struct Headline {
    tests: Vec<Sums>,
}

impl Headline {
    /// A new part begins.
    pub(super) fn close(&mut self) {
        self.tests.iter_mut().for_each(Sums::close);
    }

    /// Counts a task.
    pub(super) fn add(&mut self, task: &TaskTotals, counts: ItemCounts) {
        let place = self.tests.iter().position(|sums| sums.kind == task.kind);
        let place = place.unwrap_or_else(|| {
            self.tests.push(Sums::new(&task.kind));
            self.tests.len() - 1
        });
        self.tests[place].add(task, counts);
    }

    /// The numbers so far, tests in the order in which they were done.
    pub(super) fn metrics(&self) -> Vec<Metric> {
        self.tests.iter().flat_map(Sums::metrics).collect()
    }
}

/// The metrics of a run of these parts. Their values mean nothing.
pub(super) fn foreseen(parts: &[Part]) -> Vec<Metric> {
    let mut headline = Headline::default();
    for part in parts {
        let task = TaskTotals { kind: part.kind().to_owned(), wall_ns: 1, ..TaskTotals::default() };
        headline.add(&task, ItemCounts { done: 1, ..ItemCounts::default() });
    }
    headline.metrics()
}

#[cfg(test)]
mod tests {
    use super::{Headline, ItemCounts};
    use treering_model::TaskTotals;

    #[test]
    fn all_items_by_the_time_from_the_first_beginning_to_the_last_end() {
        let mut headline = Headline::default();
        for (worker, began_ms, wall_ms, done, is_wear_out) in
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
            headline
                .add(&task, ItemCounts { done, is_wear_out, ended_by_time, missed: 0, wrong: 0 });
        }
        let value = |name: &str| {
            headline.metrics().iter().find(|metric| metric.name == name).map(|one| one.value)
        };
        assert_eq!(value("operations_per_second"), Some(100.0));
        assert_eq!(value("worker_skew_ratio"), Some(2.0));
        assert_eq!(value("items_per_worker"), Some(100.0));
        assert_eq!(value("wear_out_percent"), Some(20.0));
    }
}

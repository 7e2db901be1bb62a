//! The headline numbers: bytes by the time from the first beginning to the last end, and how far
//! the workers were apart.

use treering_classic::ior::counts::TransferCounts;
use treering_model::metrics::rates::{TRANSFERS_PER_WORKER, WEAR_OUT_PERCENT};
use treering_model::metrics::times::WORKER_SKEW_RATIO;
use treering_model::metrics::{cpu, rates};
use treering_model::{Metric, Scope, TaskTotals};

use super::shape::Part;

/// What a worker did in the present part.
#[derive(Clone, Copy, Debug, Default)]
struct Worker {
    began_ns: u64,
    ended_ns: u64,
    transfers: u64,
}

/// A test of all repetitions.
#[derive(Clone, Debug, Default)]
struct Sums {
    kind: String,
    present: Vec<Option<Worker>>,
    repetitions: u64,
    tasks: u64,
    wall_ns: u64,
    bytes: u64,
    transfers: u64,
    cpu_ns: u64,
    skews: f64,
    worn_out: u64,
    most: u64,
    was_ended_by_time: bool,
}

impl Sums {
    fn add(&mut self, task: &TaskTotals, counts: TransferCounts) {
        let number = usize::from(task.worker);
        if self.present.len() <= number {
            self.present.resize(number + 1, None);
        }
        let started = Worker { began_ns: task.began_ns, ..Worker::default() };
        let before = self.present[number].unwrap_or(started);
        self.present[number] = Some(Worker {
            began_ns: before.began_ns.min(task.began_ns),
            ended_ns: before.ended_ns.max(task.began_ns + task.wall_ns),
            transfers: before.transfers + counts.transfers,
        });
        self.tasks += 1;
        self.bytes += counts.bytes;
        self.transfers += counts.transfers;
        self.cpu_ns += task.cpu.total_ns();
        self.worn_out += if counts.is_wear_out { counts.transfers } else { 0 };
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
        self.repetitions += 1;
        self.wall_ns += ended.saturating_sub(began).max(1);
        self.skews += slowest as f64 / fastest as f64;
        self.most = self.most.max(present.iter().map(|one| one.transfers).max().unwrap_or(0));
    }

    fn metrics(&self) -> Vec<Metric> {
        let mut closed = self.clone();
        closed.close();
        if closed.transfers == 0 {
            return Vec::new();
        }
        let seconds = closed.wall_ns as f64 / 1e9;
        let of = || Scope::Kind(self.kind.clone());
        let mib = closed.bytes as f64 / 1_048_576.0;
        let mut metrics = vec![
            rates::MIB_PER_SECOND.of(of(), mib / seconds).primary_if(self.kind != "check"),
            rates::OPERATIONS_PER_SECOND.of(of(), closed.transfers as f64 / seconds),
            cpu::CPU_SECONDS.of(of(), closed.cpu_ns as f64 / 1e9),
            WORKER_SKEW_RATIO.of(of(), closed.skews / closed.repetitions as f64),
        ];
        if closed.was_ended_by_time {
            let worn_out = closed.worn_out as f64 / closed.transfers as f64 * 100.0;
            metrics.extend([
                TRANSFERS_PER_WORKER.of(of(), closed.most as f64),
                WEAR_OUT_PERCENT.of(of(), worn_out),
            ]);
        }
        metrics.into_iter().map(|metric| metric.of_tasks(closed.tasks)).collect()
    }
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
    pub(super) fn add(&mut self, task: &TaskTotals, counts: TransferCounts) {
        let place = self.tests.iter().position(|sums| sums.kind == task.kind);
        let place = place.unwrap_or_else(|| {
            self.tests.push(Sums { kind: task.kind.clone(), ..Sums::default() });
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
    for part in parts.iter().filter(|part| **part != Part::Remove) {
        let task = TaskTotals { kind: part.kind().to_owned(), wall_ns: 1, ..TaskTotals::default() };
        let counts = TransferCounts { transfers: 1, bytes: 1, ..TransferCounts::default() };
        headline.add(&task, counts);
    }
    headline.metrics()
}

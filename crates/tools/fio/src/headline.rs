//! Headline metrics of each job: throughput and latency.

use crate::language::{Direction, UnifiedReporting};
use treering_model::metrics::fio::{
    DIRECTION_COMPLETION_NANOSECONDS, DIRECTION_LATENCY_NANOSECONDS,
};
use treering_model::metrics::{MetricSpec, cpu, rates};
use treering_model::{Metric, Scope, TaskTotals};

use super::run_plan::RunPlan;
use super::tally::{DirectionTally, Latencies, Tally};

/// Name of the row that unifies all directions.
const MIXED: &str = "mixed";

/// Adds up a run, each row of the report by itself.
#[derive(Clone, Debug)]
pub(super) struct Headline {
    rows: Vec<usize>,
    /// Job name and row name of each row; they differ where the clones of a job are reported
    /// separately.
    names: Vec<(String, String)>,
    /// True where the row's directions are added up, as by `unified_rw_reporting=mixed`.
    mixed: Vec<bool>,
    sums: Vec<Option<Tally>>,
    cpu_ns: u64,
}

impl Headline {
    pub(super) fn new(plan: &RunPlan) -> Self {
        let names = plan.workers.iter().map(|worker| worker.job.name.as_str());
        let mut headline = Self::from_rows(plan.rows().into_iter().zip(names));
        for (&row, worker) in headline.rows.iter().zip(&plan.workers) {
            let is_mixed = worker.job.extras.unified == UnifiedReporting::Mixed;
            headline.mixed[row] |= is_mixed && plan.namespace.classic;
        }
        headline
    }

    /// Builds the rows from the row number and job name of each clone.
    pub(super) fn from_rows<'n>(clones: impl Iterator<Item = (usize, &'n str)>) -> Self {
        let mut rows = Vec::new();
        let mut names: Vec<&str> = Vec::new();
        for (row, name) in clones {
            if row >= names.len() {
                names.push(name);
            }
            rows.push(row);
        }
        // Rows that share a job name are separately reported clones, so their names include the
        // number.
        let unique = |(row, name): (usize, &&str)| {
            if names.iter().filter(|other| *other == name).count() == 1 {
                return ((*name).to_owned(), (*name).to_owned());
            }
            let number = names[..row].iter().filter(|other| *other == name).count();
            ((*name).to_owned(), format!("{name}.{number}"))
        };
        let names: Vec<(String, String)> = names.iter().enumerate().map(unique).collect();
        let (mixed, sums) = (vec![false; names.len()], vec![None; names.len()]);
        Self { rows, names, mixed, sums, cpu_ns: 0 }
    }

    /// Adds the tally of a clone that ended.
    pub(super) fn worked(&mut self, number: usize, task: &TaskTotals, tally: &Tally) {
        self.cpu_ns += task.cpu.total_ns();
        let row = self.rows.get(number).and_then(|&row| self.sums.get_mut(row));
        match row {
            Some(Some(sum)) => sum.merge(tally),
            Some(none) => *none = Some(tally.clone()),
            None => {}
        }
    }

    /// Metrics that a run will have, for clones that each move data in these directions, in the
    /// order of the clones. The values are meaningless.
    pub(super) fn foreseen(
        mut self,
        directions: impl Iterator<Item = Vec<Direction>>,
    ) -> Vec<Metric> {
        let mut latency = Latencies::default();
        latency.add(1);
        let done = DirectionTally {
            bytes: 1,
            requests: 1,
            runtime_ms: 1,
            clat: latency.clone(),
            lat: latency,
            ..DirectionTally::default()
        };
        for (number, directions) in directions.enumerate() {
            let mut tally = Tally::default();
            directions
                .iter()
                .for_each(|direction| tally.directions[direction.place()] = done.clone());
            self.worked(number, &TaskTotals::default(), &tally);
        }
        self.metrics()
    }

    /// Metrics so far of each row; if clones are reported separately, also their sum, which then is
    /// primary.
    pub(super) fn metrics(&self) -> Vec<Metric> {
        let mut metrics = Vec::new();
        let mut requests = 0;
        for (((job, name), sum), &is_mixed) in self.names.iter().zip(&self.sums).zip(&self.mixed) {
            let Some(sum) = sum else { continue };
            let decides = job == name;
            for (direction, word) in Direction::ALL.into_iter().zip(Direction::NAMES) {
                let done = &sum.directions[direction.place()];
                requests += done.requests;
                metrics.extend(rates_of(name, word, &[done], sum.clones, decides && !is_mixed));
                metrics.extend(latencies(name, word, done));
            }
            if is_mixed {
                let mixed = sum.mixed();
                metrics.extend(rates_of(name, MIXED, &[&mixed], sum.clones, decides));
                metrics.extend(latencies(name, MIXED, &mixed));
            }
        }
        let mut reported: Vec<&str> = Vec::new();
        for (job, name) in &self.names {
            if job == name || reported.contains(&job.as_str()) {
                continue;
            }
            reported.push(job);
            let own = self.names.iter().zip(&self.sums).filter(|((other, _), _)| other == job);
            let clones: Vec<&Tally> = own.filter_map(|(_, sum)| sum.as_ref()).collect();
            let count = clones.iter().map(|sum| sum.clones).sum();
            let is_mixed = self.names.iter().zip(&self.mixed).any(|(own, is)| own.0 == *job && *is);
            for (direction, word) in Direction::ALL.into_iter().zip(Direction::NAMES) {
                let directions: Vec<&DirectionTally> =
                    clones.iter().map(|sum| &sum.directions[direction.place()]).collect();
                metrics.extend(rates_of(job, word, &directions, count, !is_mixed));
            }
            if is_mixed {
                let mixed: Vec<DirectionTally> = clones.iter().map(|sum| sum.mixed()).collect();
                let mixed: Vec<&DirectionTally> = mixed.iter().collect();
                metrics.extend(rates_of(job, MIXED, &mixed, count, true));
            }
        }
        if requests > 0 {
            let each = self.cpu_ns as f64 / requests as f64;
            metrics.push(cpu::CPU_PER_OPERATION_NANOSECONDS.of(Scope::Trial, each));
        }
        metrics
    }
}

/// Throughput metrics of one direction, over the longest runtime of the clones; empty if no data
/// moved.
fn rates_of(
    name: &str,
    word: &str,
    directions: &[&DirectionTally],
    clones: u64,
    decides: bool,
) -> Vec<Metric> {
    let requests: u64 = directions.iter().map(|done| done.requests).sum();
    let longest = directions.iter().map(|done| done.runtime_ms).max().unwrap_or(0);
    if requests == 0 || longest == 0 {
        return Vec::new();
    }
    let seconds = longest as f64 / 1e3;
    let mib = directions.iter().map(|done| done.bytes as f64).sum::<f64>() / 1_048_576.0 / seconds;
    let of = |spec: MetricSpec, value: f64| {
        spec.of_member(&[word], Scope::Kind(name.to_owned()), value).of_tasks(clones)
    };
    vec![
        of(rates::DIRECTION_MIB_PER_SECOND, mib).primary_if(decides),
        of(rates::DIRECTION_OPERATIONS_PER_SECOND, requests as f64 / seconds),
    ]
}

/// Latency metrics of one direction: from submission (`lat`) where that was timed, else completion
/// latency (`clat`).
fn latencies(name: &str, word: &str, done: &DirectionTally) -> Vec<Metric> {
    let whole = if done.lat.stat.samples > 0 { &done.lat } else { &done.clat };
    if done.requests == 0 || done.runtime_ms == 0 || whole.stat.samples == 0 {
        return Vec::new();
    }
    let mut metrics = figures(DIRECTION_LATENCY_NANOSECONDS, name, word, whole);
    if done.clat.stat.samples > 0 {
        metrics.extend(figures(DIRECTION_COMPLETION_NANOSECONDS, name, word, &done.clat));
    }
    metrics
}

/// Mean, percentiles and maximum of latencies of one kind.
fn figures(spec: MetricSpec, name: &str, word: &str, whole: &Latencies) -> Vec<Metric> {
    let shares = whole.clone().histogram.percentiles(&[50.0, 99.0, 99.9]);
    let mut figures = vec![("mean", whole.stat.mean())];
    figures.extend(["p50", "p99", "p999"].into_iter().zip(shares.iter().map(|&ns| ns as f64)));
    figures.push(("max", whole.stat.most as f64));
    let of = |(what, ns): (&str, f64)| {
        let scope = Scope::Kind(name.to_owned());
        let metric = spec.of_member(&[word, what], scope, ns);
        metric.of_tasks(whole.stat.samples)
    };
    figures.into_iter().map(of).collect()
}

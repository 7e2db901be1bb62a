//! Headline metrics of each job: throughput and latency.

use crate::language::{Direction, Section, UnifiedReporting};
use treering_model::metrics::fio::{
    DIRECTION_COMPLETION_NANOSECONDS, DIRECTION_LATENCY_NANOSECONDS,
};
use treering_model::metrics::{MetricSpec, cpu, rates};
use treering_model::{Metric, Scope, TaskTotals};

use super::run_plan::RunPlan;
use super::tally::{DirectionTally, Latencies, Tally};

/// Name of the row that unifies all directions.
const MIXED: &str = "mixed";
/// Word of the latencies of syncs.
const SYNC: &str = "sync";
/// Percentile that decides where latencies do.
const DECIDING: &str = "p99";

/// Traits of the section of a row, on which it depends what decides a comparison.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct RowTraits {
    /// True if the directions are added up, as by `unified_rw_reporting=mixed`.
    pub is_mixed: bool,
    /// For each direction, true if the section is slowed by a rate or by pauses, so that latencies
    /// decide.
    pub paced: [bool; 3],
    /// True if the section syncs between its writes.
    pub syncs: bool,
    /// True if these syncs decide by themselves.
    pub has_own_syncs: bool,
}

/// Adds up a run, each row of the report by itself.
#[derive(Clone, Debug)]
pub(super) struct Headline {
    rows: Vec<Option<usize>>,
    /// Job name and row name of each row; they differ where the clones of a job are reported
    /// separately.
    names: Vec<(String, String)>,
    traits: Vec<RowTraits>,
    sums: Vec<Option<Tally>>,
    cpu_ns: u64,
}

impl Headline {
    pub(super) fn new(plan: &RunPlan) -> Self {
        let is_classic = plan.namespace.classic;
        let are_several = plan.jobs.len() > 1;
        let traits = |job: &Section| RowTraits {
            is_mixed: is_classic && job.extras.unified == UnifiedReporting::Mixed,
            paced: if is_classic { [false; 3] } else { job.paced() },
            syncs: job.syncs_often(),
            has_own_syncs: !is_classic
                && are_several
                && job.rw.writes
                && job.fsync + job.fdatasync > 0,
        };
        let jobs = plan.workers.iter().map(|worker| &worker.job);
        let clones = plan.rows().into_iter().zip(jobs);
        Self::from_rows(clones.map(|(row, job)| (row, job.name.as_str(), traits(job))))
    }

    /// Builds the rows from the row number, job name and section of each clone. Clones without a
    /// row are left out.
    pub(super) fn from_rows<'n>(
        clones: impl Iterator<Item = (Option<usize>, &'n str, RowTraits)>,
    ) -> Self {
        let mut rows = Vec::new();
        let mut names: Vec<&str> = Vec::new();
        let mut traits: Vec<RowTraits> = Vec::new();
        for (row, name, of_section) in clones {
            rows.push(row);
            match row {
                Some(row) if row < names.len() => traits[row].merge(of_section),
                Some(_) => {
                    names.push(name);
                    traits.push(of_section);
                }
                None => {}
            }
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
        let sums = vec![None; names.len()];
        Self { rows, names, traits, sums, cpu_ns: 0 }
    }

    /// Adds the tally of a clone that ended.
    pub(super) fn worked(&mut self, number: usize, task: &TaskTotals, tally: &Tally) {
        self.cpu_ns += task.cpu.total_ns();
        let row = self.rows.get(number).and_then(|&row| self.sums.get_mut(row?));
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
            let traits = self.rows.get(number).and_then(|&row| self.traits.get(row?));
            if traits.is_some_and(|traits| traits.syncs) {
                tally.sync = done.lat.clone();
            }
            directions
                .iter()
                .for_each(|direction| tally.directions[direction.place()] = done.clone());
            self.worked(number, &TaskTotals::default(), &tally);
        }
        self.metrics()
    }

    /// Metrics so far of each row; if clones are reported separately, also those of all clones of a
    /// section, among which then are the primary ones.
    pub(super) fn metrics(&self) -> Vec<Metric> {
        let mut metrics = Vec::new();
        let mut requests = 0;
        for (((job, name), sum), &traits) in self.names.iter().zip(&self.sums).zip(&self.traits) {
            let Some(sum) = sum else { continue };
            let decides = job == name;
            for (direction, word) in Direction::ALL.into_iter().zip(Direction::NAMES) {
                let done = &sum.directions[direction.place()];
                requests += done.requests;
                let latencies = latencies(name, word, done);
                let by_latency = decides && traits.paced[direction.place()];
                let latencies = decided_by_p99(latencies, word, by_latency);
                let by_rate = decides && !traits.is_mixed && !has_primary(&latencies);
                metrics.extend(rates_of(name, word, &[done], sum.clones, by_rate));
                metrics.extend(latencies);
            }
            metrics.extend(syncs(name, sum, decides && traits.has_own_syncs));
            if traits.is_mixed {
                let mixed = sum.mixed();
                metrics.extend(rates_of(name, MIXED, &[&mixed], sum.clones, decides));
                metrics.extend(latencies(name, MIXED, &mixed));
            }
        }
        for job in self.jobs_of_several_rows() {
            metrics.extend(self.metrics_of_clones(job));
        }
        if requests > 0 {
            let each = self.cpu_ns as f64 / requests as f64;
            metrics.push(cpu::CPU_PER_OPERATION_NANOSECONDS.of(Scope::Trial, each));
        }
        metrics
    }

    /// Names of the jobs whose clones are reported separately.
    fn jobs_of_several_rows(&self) -> Vec<&str> {
        let mut jobs: Vec<&str> = Vec::new();
        for (job, name) in &self.names {
            if job != name && !jobs.contains(&job.as_str()) {
                jobs.push(job);
            }
        }
        jobs
    }

    /// Metrics of a job over all of its clones.
    fn metrics_of_clones(&self, job: &str) -> Vec<Metric> {
        let mut metrics = Vec::new();
        let rows = || self.names.iter().enumerate().filter(|(_, (other, _))| other == job);
        let clones: Vec<&Tally> = rows().filter_map(|(row, _)| self.sums[row].as_ref()).collect();
        let count = clones.iter().map(|sum| sum.clones).sum();
        let mut traits = RowTraits::default();
        rows().for_each(|(row, _)| traits.merge(self.traits[row]));
        // Latencies of all clones together are needed only where they decide.
        let is_paced = traits.paced.contains(&true);
        let together = (is_paced || traits.has_own_syncs).then(|| {
            let mut sum = Tally { clones: 0, ..Tally::default() };
            clones.iter().for_each(|clone| sum.merge(clone));
            sum
        });
        for (direction, word) in Direction::ALL.into_iter().zip(Direction::NAMES) {
            let directions: Vec<&DirectionTally> =
                clones.iter().map(|sum| &sum.directions[direction.place()]).collect();
            let sum = together.as_ref().filter(|_| traits.paced[direction.place()]);
            let latencies = sum.map(|sum| latencies(job, word, &sum.directions[direction.place()]));
            let latencies = decided_by_p99(latencies.unwrap_or_default(), word, true);
            let by_rate = !traits.is_mixed && !has_primary(&latencies);
            metrics.extend(rates_of(job, word, &directions, count, by_rate));
            metrics.extend(latencies);
        }
        if let Some(sum) = together.filter(|_| traits.has_own_syncs) {
            metrics.extend(syncs(job, &sum, true));
        }
        if traits.is_mixed {
            let mixed: Vec<DirectionTally> = clones.iter().map(|sum| sum.mixed()).collect();
            let mixed: Vec<&DirectionTally> = mixed.iter().collect();
            metrics.extend(rates_of(job, MIXED, &mixed, count, true));
        }
        metrics
    }
}

impl RowTraits {
    /// Adds the traits of another section that shares the row.
    fn merge(&mut self, other: Self) {
        self.is_mixed |= other.is_mixed;
        for (is_paced, other) in self.paced.iter_mut().zip(other.paced) {
            *is_paced |= other;
        }
        self.syncs |= other.syncs;
        self.has_own_syncs |= other.has_own_syncs;
    }
}

fn has_primary(metrics: &[Metric]) -> bool {
    metrics.iter().any(|metric| metric.primary)
}

/// Latencies of which the p99 from submission decides, if `decides` is true.
fn decided_by_p99(latencies: Vec<Metric>, word: &str, decides: bool) -> Vec<Metric> {
    let p99 = DIRECTION_LATENCY_NANOSECONDS.of_member(&[word, DECIDING], Scope::Trial, 0.0);
    let decided = |metric: Metric| {
        let is_deciding = decides && metric.name == p99.name;
        metric.primary_if(is_deciding)
    };
    latencies.into_iter().map(decided).collect()
}

/// Latency metrics of the syncs of a row, of which the p99 decides if `decides` is true.
fn syncs(name: &str, sum: &Tally, decides: bool) -> Vec<Metric> {
    if sum.sync.stat.samples == 0 {
        return Vec::new();
    }
    let figures = figures(DIRECTION_LATENCY_NANOSECONDS, name, SYNC, &sum.sync);
    decided_by_p99(figures, SYNC, decides)
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
    figures.extend(["p50", DECIDING, "p999"].into_iter().zip(shares.iter().map(|&ns| ns as f64)));
    figures.push(("max", whole.stat.most as f64));
    let of = |(what, ns): (&str, f64)| {
        let scope = Scope::Kind(name.to_owned());
        let metric = spec.of_member(&[word, what], scope, ns);
        metric.of_tasks(whole.stat.samples)
    };
    figures.into_iter().map(of).collect()
}

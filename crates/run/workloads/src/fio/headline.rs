//! The headline numbers of each job: how fast it read and wrote, and how long requests took.

use treering_model::{Better, Metric, Scope, TaskTotals, Unit};

use super::jobfile::Way;
use super::scene::Scene;
use super::tally::{Latencies, Tally, WayTally};

/// Adds up a run, each row of the report by itself.
#[derive(Clone, Debug)]
pub(super) struct Headline {
    rows: Vec<usize>,
    names: Vec<String>,
    sums: Vec<Option<Tally>>,
    cpu_ns: u64,
}

impl Headline {
    pub(super) fn new(scene: &Scene) -> Self {
        let names = scene.workers.iter().map(|worker| worker.job.name.as_str());
        Self::of(scene.rows().into_iter().zip(names))
    }

    /// Of clones, each with the number of its row and the name of its job.
    pub(super) fn of<'n>(clones: impl Iterator<Item = (usize, &'n str)>) -> Self {
        let mut rows = Vec::new();
        let mut names: Vec<&str> = Vec::new();
        for (row, name) in clones {
            if row >= names.len() {
                names.push(name);
            }
            rows.push(row);
        }
        // Rows of one name are those of clones that are told apart: their names tell them too.
        let unique: Vec<String> = names
            .iter()
            .enumerate()
            .map(|(row, name)| {
                if names.iter().filter(|other| *other == name).count() == 1 {
                    return (*name).to_owned();
                }
                format!("{name}.{}", names[..row].iter().filter(|other| *other == name).count())
            })
            .collect();
        let sums = vec![None; unique.len()];
        Self { rows, names: unique, sums, cpu_ns: 0 }
    }

    /// A clone ended.
    pub(super) fn worked(&mut self, number: usize, task: &TaskTotals, tally: &Tally) {
        self.cpu_ns += task.cpu.total_ns();
        let row = self.rows.get(number).and_then(|&row| self.sums.get_mut(row));
        match row {
            Some(Some(sum)) => sum.merge(tally),
            Some(none) => *none = Some(tally.clone()),
            None => {}
        }
    }

    /// The metrics of clones that each move data in these directions, in the order of the clones.
    /// Their values mean nothing.
    pub(super) fn foreseen(mut self, directions: impl Iterator<Item = Vec<Way>>) -> Vec<Metric> {
        let mut latency = Latencies::default();
        latency.add(1);
        let done = WayTally {
            bytes: 1,
            requests: 1,
            runtime_ms: 1,
            clat: latency.clone(),
            lat: latency,
            ..WayTally::default()
        };
        for (number, directions) in directions.enumerate() {
            let mut tally = Tally::default();
            directions.iter().for_each(|way| tally.ways[way.place()] = done.clone());
            self.worked(number, &TaskTotals::default(), &tally);
        }
        self.metrics()
    }

    /// The numbers so far.
    pub(super) fn metrics(&self) -> Vec<Metric> {
        let mut metrics = Vec::new();
        let mut requests = 0;
        for (name, sum) in self.names.iter().zip(&self.sums) {
            let Some(sum) = sum else { continue };
            for (way, word) in Way::ALL.into_iter().zip(Way::NAMES) {
                let done = &sum.ways[way.place()];
                if done.requests == 0 || done.runtime_ms == 0 {
                    continue;
                }
                requests += done.requests;
                let scope = Scope::Kind(name.clone());
                let seconds = done.runtime_ms as f64 / 1e3;
                let metric = |what: &str, value, unit, better| {
                    Metric::new(format!("{word}_{what}"), scope.clone(), value, unit, better)
                        .of_tasks(sum.clones)
                };
                let mib = done.bytes as f64 / 1_048_576.0 / seconds;
                let per_second = done.requests as f64 / seconds;
                let rate = metric("mib_per_second", mib, Unit::MibPerSecond, Better::Higher);
                metrics.push(rate.primary());
                let ops = Unit::OpsPerSecond;
                metrics.push(metric("operations_per_second", per_second, ops, Better::Higher));
                let whole = if done.lat.stat.samples > 0 { &done.lat } else { &done.clat }.clone();
                if whole.stat.samples == 0 {
                    continue;
                }
                let mut figures = vec![("mean", whole.stat.mean())];
                let shares = whole.histogram.percentiles(&[50.0, 99.0, 99.9]);
                figures.extend(
                    ["p50", "p99", "p999"].into_iter().zip(shares.iter().map(|&ns| ns as f64)),
                );
                figures.push(("max", whole.stat.most as f64));
                for (what, ns) in figures {
                    let name = format!("latency_{what}_nanoseconds");
                    let latency = metric(&name, ns, Unit::Nanoseconds, Better::Lower);
                    metrics.push(latency.of_tasks(whole.stat.samples));
                }
            }
        }
        if requests > 0 {
            let each = self.cpu_ns as f64 / requests as f64;
            let (name, lower) = ("cpu_per_operation_nanoseconds", Better::Lower);
            metrics.push(Metric::new(name, Scope::Trial, each, Unit::Nanoseconds, lower));
        }
        metrics
    }
}

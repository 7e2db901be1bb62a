//! The figures of a phase as it was rehearsed: its rate, how far that varied, who was slowest.

use treering_model::RankPhase;

use super::phase::Phase;

/// Fewer seconds say nothing of a spread.
const SECONDS_LEAST: usize = 3;

/// Where the lowest and the highest rate are from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RateRange {
    /// The lowest, in the unit of the phase.
    pub low: f64,
    /// The highest.
    pub high: f64,
    /// Of so many slices of a second each; 0 where these are the workers, each by its own time.
    pub seconds: usize,
}

/// A phase as it was rehearsed.
#[derive(Clone, Debug, PartialEq)]
pub struct PhaseFigures {
    /// Its name.
    pub name: &'static str,
    /// Whether its rate is GiB/s; else it is kIOPS: thousands of operations a second.
    pub moves_data: bool,
    /// All workers together, from the first beginning to the last end.
    pub rate: f64,
    /// That time, in seconds.
    pub seconds: f64,
    /// Items or transfers of all workers.
    pub items: u64,
    /// How far the rate varied; `None` where that is not known.
    pub spread: Option<RateRange>,
    /// Who worked longest, and by how many percent longer than the median: the rank where there are
    /// several, else the worker. `None` where one worked alone.
    pub slowest: Option<(u64, f64)>,
    /// The share of the workers' time in which they used a CPU, in percent.
    pub cpu_percent: f64,
    /// Items whose data were wrong, or that were not there.
    pub faults: u64,
}

impl PhaseFigures {
    /// Those of a phase; the slowest rank is found among these.
    pub(super) fn of(phase: &Phase<'_>, ranks: &[RankPhase]) -> Self {
        let worked_ns: u64 = phase.tasks.iter().map(|one| one.task.wall_ns).sum();
        let cpu_ns: u64 = phase.tasks.iter().map(|one| one.task.cpu.total_ns()).sum();
        Self {
            name: phase.step.name,
            moves_data: phase.step.moves_data(),
            rate: phase.in_its_unit(phase.per_second()),
            seconds: phase.seconds(),
            items: phase.items(),
            spread: over_seconds(phase).or_else(|| over_workers(phase)),
            slowest: slowest(phase, ranks),
            cpu_percent: cpu_ns as f64 / worked_ns.max(1) as f64 * 100.0,
            faults: phase.tasks.iter().map(|one| one.faults).sum(),
        }
    }
}

/// The seconds between the first and the last one that had calls.
fn over_seconds(phase: &Phase<'_>) -> Option<RateRange> {
    let all = &phase.totals?.intervals;
    let calls: u64 = all.iter().map(|slice| slice.calls).sum();
    let inner = all.get(1..all.len().checked_sub(1)?)?;
    if inner.len() < SECONDS_LEAST || calls == 0 {
        return None;
    }
    let each = phase.items() as f64 / calls as f64;
    let rates = inner.iter().map(|slice| phase.in_its_unit(slice.calls as f64 * each));
    range(rates, inner.len())
}

/// The workers, as if each of them stood for all.
fn over_workers(phase: &Phase<'_>) -> Option<RateRange> {
    let count = phase.first().count() as f64;
    if count < 2.0 {
        return None;
    }
    let rates =
        phase.first().map(|one| phase.in_its_unit(one.items as f64 / one.seconds() * count));
    range(rates, 0)
}

/// The lowest and the highest.
fn range(rates: impl Iterator<Item = f64>, seconds: usize) -> Option<RateRange> {
    rates.fold(None, |range, rate| {
        let (low, high) = range.map_or((rate, rate), |range| (range.low, range.high));
        Some(RateRange { low: low.min(rate), high: high.max(rate), seconds })
    })
}

/// The rank that worked longest, else the worker, and by how many percent longer than the median.
fn slowest(phase: &Phase<'_>, ranks: &[RankPhase]) -> Option<(u64, f64)> {
    let longer = |longest: u64, median: u64| (longest as f64 / median.max(1) as f64 - 1.0) * 100.0;
    if let Some(rank) = ranks.iter().find(|rank| rank.name == phase.step.name) {
        return Some((rank.slowest, longer(rank.slowest_ns, rank.median_ns)));
    }
    let mut all: Vec<(u64, u64)> =
        phase.first().map(|one| (one.task.wall_ns, one.task.worker.into())).collect();
    all.sort_unstable();
    let &(longest, worker) = all.last().filter(|_| all.len() > 1)?;
    let median = u64::midpoint(all[(all.len() - 1) / 2].0, all[all.len() / 2].0);
    Some((worker, longer(longest, median)))
}

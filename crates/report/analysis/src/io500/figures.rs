//! Figures of a rehearsed IO500 phase: rate, its variation, and the slowest rank or worker.

use treering_model::RankPhase;

use super::phase::RehearsedPhase;

/// Minimum number of seconds for a rate's range.
const SECONDS_LEAST: usize = 3;

/// Range of a rate, over seconds or over workers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RateRange {
    /// Lowest rate, in the unit of the phase.
    pub low: f64,
    /// Highest rate.
    pub high: f64,
    /// Number of one-second slices; 0 when the range is over workers, each over its own time.
    pub seconds: usize,
}

/// Figures of a rehearsed phase.
#[derive(Clone, Debug, PartialEq)]
pub struct PhaseFigures {
    /// Name of the phase.
    pub name: &'static str,
    /// True if the unit of the rate is GiB/s, false if it is kIOPS (thousands of operations a
    /// second).
    pub moves_data: bool,
    /// Rate of all workers together, from the first start to the last end.
    pub rate: f64,
    /// Time from the first start to the last end, in seconds.
    pub seconds: f64,
    /// Items or transfers of all workers.
    pub items: u64,
    /// Range of the rate; `None` where it is not known.
    pub spread: Option<RateRange>,
    /// Slowest rank, or slowest worker if there is only one rank, with its excess over the median
    /// time in percent; `None` for a single worker.
    pub slowest: Option<(u64, f64)>,
    /// CPU time of the workers in percent of their elapsed time.
    pub cpu_percent: f64,
    /// Number of items that are missing or have wrong data.
    pub faults: u64,
}

impl PhaseFigures {
    /// Computes the figures of a phase; `ranks` supplies the slowest rank.
    pub(super) fn new(phase: &RehearsedPhase<'_>, ranks: &[RankPhase]) -> Self {
        let worked_ns: u64 = phase.tasks.iter().map(|counted| counted.task.wall_ns).sum();
        let cpu_ns: u64 = phase.tasks.iter().map(|counted| counted.task.cpu.total_ns()).sum();
        Self {
            name: phase.step.name,
            moves_data: phase.step.moves_data(),
            rate: phase.in_its_unit(phase.per_second()),
            seconds: phase.seconds(),
            items: phase.items(),
            spread: over_seconds(phase).or_else(|| over_workers(phase)),
            slowest: slowest(phase, ranks),
            cpu_percent: cpu_ns as f64 / worked_ns.max(1) as f64 * 100.0,
            faults: phase.tasks.iter().map(|task| task.faults).sum(),
        }
    }
}

/// Range of the rate over whole seconds, without the first and the last one with calls.
fn over_seconds(phase: &RehearsedPhase<'_>) -> Option<RateRange> {
    let intervals = &phase.totals?.intervals;
    let calls: u64 = intervals.iter().map(|slice| slice.calls).sum();
    let inner = intervals.get(1..intervals.len().checked_sub(1)?)?;
    if inner.len() < SECONDS_LEAST || calls == 0 {
        return None;
    }
    let each = phase.items() as f64 / calls as f64;
    let rates = inner.iter().map(|slice| phase.in_its_unit(slice.calls as f64 * each));
    range(rates, inner.len())
}

/// Range of the rate over the workers, each multiplied by their number.
fn over_workers(phase: &RehearsedPhase<'_>) -> Option<RateRange> {
    let count = phase.first().count() as f64;
    if count < 2.0 {
        return None;
    }
    let rates = phase
        .first()
        .map(|counted| phase.in_its_unit(counted.items as f64 / counted.seconds() * count));
    range(rates, 0)
}

/// Lowest and highest of the rates.
fn range(rates: impl Iterator<Item = f64>, seconds: usize) -> Option<RateRange> {
    rates.fold(None, |range, rate| {
        let (low, high) = range.map_or((rate, rate), |range| (range.low, range.high));
        Some(RateRange { low: low.min(rate), high: high.max(rate), seconds })
    })
}

/// Rank that took longest, or worker if there are no ranks, with its excess over the median in
/// percent.
fn slowest(phase: &RehearsedPhase<'_>, ranks: &[RankPhase]) -> Option<(u64, f64)> {
    let longer = |longest: u64, median: u64| (longest as f64 / median.max(1) as f64 - 1.0) * 100.0;
    if let Some(rank) = ranks.iter().find(|rank| rank.name == phase.step.name) {
        return Some((rank.slowest, longer(rank.slowest_ns, rank.median_ns)));
    }
    let mut durations: Vec<(u64, u64)> =
        phase.first().map(|counted| (counted.task.wall_ns, counted.task.worker.into())).collect();
    durations.sort_unstable();
    let &(longest, worker) = durations.last().filter(|_| durations.len() > 1)?;
    let median =
        u64::midpoint(durations[(durations.len() - 1) / 2].0, durations[durations.len() / 2].0);
    Some((worker, longer(longest, median)))
}

//! Costs of maintenance: time, CPU time and bytes, and the time to read its files before and after.

use treering_model::metrics::age::{
    GAIN_FACT, MAINTENANCE_BYTES, MAINTENANCE_CPU_SECONDS, MAINTENANCE_SECONDS, PAID_BACK_SECONDS,
    READ_AFTER_SECONDS, READ_BEFORE_SECONDS,
};
use treering_model::{Fact, Metric, Op, Scope, TaskTotals};
use treering_stats::{StatsError, student_test};

use super::plan::{MaintenanceKind, MaintenancePart, MaintenancePlan};

/// Confidence of the interval of a gain.
const CONFIDENCE: f64 = 0.95;

/// Sums over the runs of one kind of maintenance.
#[derive(Clone, Debug, Default)]
struct MaintenanceSums {
    runs: u64,
    wall_ns: u64,
    cpu_ns: u64,
    bytes: u64,
    /// Time of each reading of the files before the current run.
    before_ns: Vec<u64>,
    /// Time of each reading after the current run.
    after_ns: Vec<u64>,
    /// Time of the work of the current run.
    work_ns: u64,
    /// Sums over runs whose files were read before and after.
    read: ReadingSums,
}

impl MaintenanceSums {
    /// Adds the current run to the readings, once its files were read as often after as before.
    fn end_readings(&mut self) {
        let (before, after) = (&self.before_ns, &self.after_ns);
        if after.is_empty() || before.len() != after.len() {
            return;
        }
        let pairs = before.iter().zip(after);
        self.read.gains.extend(pairs.map(|(before, after)| ln_ratio(*before, *after)));
        self.read.readings += before.len() as u64;
        self.read.before_ns += before.iter().sum::<u64>();
        self.read.after_ns += after.iter().sum::<u64>();
        self.read.runs += 1;
        self.read.work_ns += self.work_ns;
    }
}

/// Logarithm of the ratio of two times; a time of zero counts as a nanosecond.
fn ln_ratio(before_ns: u64, after_ns: u64) -> f64 {
    (before_ns.max(1) as f64 / after_ns.max(1) as f64).ln()
}

/// Sums over runs whose files were read before and after.
#[derive(Clone, Debug, Default)]
struct ReadingSums {
    runs: u64,
    /// Number of readings before, in all runs, which is that after.
    readings: u64,
    before_ns: u64,
    after_ns: u64,
    work_ns: u64,
    /// Logarithm of the time of each reading before by that of its counterpart after.
    gains: Vec<f64>,
}

impl ReadingSums {
    /// Factor by which reading became faster, with its lower and upper bound; `None` for fewer
    /// than two readings before and after.
    fn gain(&self) -> Option<[f64; 3]> {
        let logs = match student_test(&self.gains, CONFIDENCE) {
            Ok(test) => [test.estimate, test.interval.low, test.interval.high],
            // All readings took the same time.
            Err(StatsError::NoSpread) => [*self.gains.first()?; 3],
            Err(_) => return None,
        };
        Some(logs.map(f64::exp))
    }

    /// Seconds of reading, at the old speed, after which the time saved equals the time of the
    /// work, at a factor by which reading became faster; `None` if it did not.
    fn paid_back(&self, gain: f64) -> Option<f64> {
        let saved = 1.0 - 1.0 / gain;
        (saved > 0.0).then(|| self.work_ns as f64 / 1e9 / self.runs as f64 / saved)
    }

    /// The gain in words, with the reading after which it has paid for the work.
    fn in_words(&self) -> Option<String> {
        let [gain, low, high] = self.gain()?;
        let answer =
            if let (Some(seconds), Some(most)) = (self.paid_back(gain), self.paid_back(low)) {
                let least = self.paid_back(high).unwrap_or(seconds);
                format!("paid back after {seconds:.1} s of reading ({least:.1} to {most:.1})")
            } else if high < 1.0 {
                "slower, never paid back".to_owned()
            } else {
                "not told from none, no time after which it is paid back".to_owned()
            };
        Some(format!("read {gain:.2} times as fast ({low:.2} to {high:.2}): {answer}"))
    }
}

/// Costs of the maintenance of a run.
#[derive(Debug)]
pub(crate) struct MaintenanceCosts {
    sums: Vec<(MaintenancePlan, MaintenanceSums)>,
}

impl MaintenanceCosts {
    pub(crate) fn new(plans: &[MaintenancePlan]) -> Self {
        let sums = plans.iter().map(|plan| (plan.clone(), MaintenanceSums::default()));
        Self { sums: sums.collect() }
    }

    /// Adds the totals of a task of the maintenance with this index.
    pub(crate) fn task_ended(&mut self, index: usize, part: MaintenancePart, totals: &TaskTotals) {
        let Some((plan, sums)) = self.sums.get_mut(index) else { return };
        match part {
            MaintenancePart::ReadBefore => {
                if !sums.after_ns.is_empty() {
                    (sums.before_ns, sums.after_ns) = (Vec::new(), Vec::new());
                }
                sums.before_ns.push(totals.wall_ns);
            }
            MaintenancePart::Work => {
                let op = counted_op(plan.kind);
                let bytes = totals.ops.iter().filter(|of| Some(of.op) == op).map(|of| of.bytes);
                sums.runs += 1;
                sums.wall_ns += totals.wall_ns;
                sums.cpu_ns += totals.cpu.total_ns();
                sums.bytes += bytes.sum::<u64>();
                sums.work_ns = totals.wall_ns;
            }
            MaintenancePart::ReadAfter => {
                sums.after_ns.push(totals.wall_ns);
                sums.end_readings();
            }
        }
    }

    /// The gain in reading of each kind of maintenance whose files are read before and after.
    pub(crate) fn facts(&self) -> Vec<Fact> {
        let of_kind = |(plan, sums): &(MaintenancePlan, MaintenanceSums)| {
            let name = format!("{GAIN_FACT}{}", plan.name);
            Some(Fact { name, value: sums.read.in_words()? })
        };
        self.sums.iter().filter_map(of_kind).collect()
    }

    /// Metrics of each kind of maintenance: means over its runs.
    pub(crate) fn metrics(&self) -> Vec<Metric> {
        self.sums.iter().flat_map(|(plan, sums)| of_kind(plan, sums)).collect()
    }
}

/// Names of the metrics that the maintenance of a run can have, with placeholder values.
pub(crate) fn maintenance_metrics(plans: &[MaintenancePlan]) -> Vec<Metric> {
    let of_one = |plan: &MaintenancePlan| {
        let read = if plan.reads {
            ReadingSums { runs: 1, readings: 2, work_ns: 1, gains: vec![1.0; 2], ..<_>::default() }
        } else {
            ReadingSums::default()
        };
        of_kind(plan, &MaintenanceSums { runs: 1, read, ..MaintenanceSums::default() })
    };
    plans.iter().flat_map(of_one).collect()
}

/// Call whose bytes are the amount of work of this kind of maintenance.
const fn counted_op(kind: MaintenanceKind) -> Option<Op> {
    match kind {
        MaintenanceKind::Read => Some(Op::Read),
        MaintenanceKind::Dedupe => Some(Op::Dedupe),
        // The amount moved or discarded is known at the device only.
        MaintenanceKind::Defrag
        | MaintenanceKind::Trim
        | MaintenanceKind::Balance
        | MaintenanceKind::Snapshot => None,
    }
}

fn of_kind(plan: &MaintenancePlan, sums: &MaintenanceSums) -> Vec<Metric> {
    if sums.runs == 0 {
        return Vec::new();
    }
    let scope = || Scope::Phase(plan.name.clone());
    let seconds = |ns: u64, runs: u64| ns as f64 / 1e9 / runs as f64;
    let mut metrics = vec![
        MAINTENANCE_SECONDS.of(scope(), seconds(sums.wall_ns, sums.runs)),
        MAINTENANCE_CPU_SECONDS.of(scope(), seconds(sums.cpu_ns, sums.runs)),
    ];
    if counted_op(plan.kind).is_some() {
        metrics.push(MAINTENANCE_BYTES.of(scope(), sums.bytes as f64 / sums.runs as f64));
    }
    let read = &sums.read;
    if read.readings > 0 {
        metrics.push(READ_BEFORE_SECONDS.of(scope(), seconds(read.before_ns, read.readings)));
        metrics.push(READ_AFTER_SECONDS.of(scope(), seconds(read.after_ns, read.readings)));
        // A gain that is not told from none has no time after which it is paid back.
        let told = read.gain().filter(|[_, low, _]| *low > 1.0);
        let paid_back = told.and_then(|[gain, ..]| read.paid_back(gain));
        metrics.extend(paid_back.map(|value| PAID_BACK_SECONDS.of(scope(), value)));
    }
    metrics.into_iter().map(|metric| metric.of_tasks(sums.runs)).collect()
}

#[cfg(test)]
mod tests {
    use super::{MaintenanceCosts, MaintenancePart};
    use crate::maintenance::plan::{MaintenanceKind, MaintenancePlan};
    use treering_model::TaskTotals;

    /// A defragmentation whose files are read before and after.
    fn plan() -> MaintenancePlan {
        MaintenancePlan {
            kind: MaintenanceKind::Defrag,
            every: None,
            files: None,
            share: 1.0,
            reads: true,
            keep: 0,
            usage: 100,
            name: "defrag".to_owned(),
        }
    }

    /// Costs of runs with these seconds: the readings before, the work, the readings after.
    fn costs(runs: &[(&[u64], u64, &[u64])]) -> MaintenanceCosts {
        let mut costs = MaintenanceCosts::new(&[plan()]);
        for (before, work, after) in runs {
            let all: [(MaintenancePart, &[u64]); 3] = [
                (MaintenancePart::ReadBefore, before),
                (MaintenancePart::Work, &[*work]),
                (MaintenancePart::ReadAfter, after),
            ];
            for (part, seconds) in all {
                for seconds in seconds {
                    let wall_ns = seconds * 1_000_000_000;
                    costs.task_ended(0, part, &TaskTotals { wall_ns, ..TaskTotals::default() });
                }
            }
        }
        costs
    }

    fn value(costs: &MaintenanceCosts, name: &str) -> Option<f64> {
        let metrics = costs.metrics();
        metrics.iter().find(|metric| metric.full_name() == name).map(|metric| metric.value)
    }

    fn gain(costs: &MaintenanceCosts) -> String {
        costs.facts().first().map(|fact| fact.value.clone()).unwrap_or_default()
    }

    #[test]
    fn work_is_paid_back_by_what_reading_saves() {
        let found = costs(&[(&[10, 10, 10], 60, &[5, 5, 5]), (&[12, 12, 12], 60, &[6, 6, 6])]);
        assert_eq!(value(&found, "phase defrag/maintenance_seconds"), Some(60.0));
        assert_eq!(value(&found, "phase defrag/read_before_seconds"), Some(11.0));
        // Each second of reading saves half a second.
        let paid_back = value(&found, "phase defrag/paid_back_seconds").unwrap();
        assert!((paid_back - 120.0).abs() < 1e-9, "{paid_back}");
    }

    #[test]
    fn a_gain_has_the_interval_of_its_readings() {
        let found = costs(&[(&[200, 202, 198], 60, &[100, 99, 101])]);
        assert_eq!(
            gain(&found),
            "read 2.00 times as fast (1.90 to 2.10): paid back after 120.0 s of reading (114.5 to \
             126.4)"
        );
    }

    #[test]
    fn a_gain_within_the_noise_of_the_readings_is_never_paid_back() {
        let found = costs(&[(&[310, 318, 311], 5, &[312, 305, 309])]);
        assert_eq!(value(&found, "phase defrag/paid_back_seconds"), None);
        assert!(value(&found, "phase defrag/read_after_seconds").is_some());
        let words = gain(&found);
        assert!(
            words.ends_with("not told from none, no time after which it is paid back"),
            "{words}"
        );
    }

    #[test]
    fn work_that_makes_reading_slower_is_never_paid_back() {
        let found = costs(&[(&[10, 10, 10], 60, &[11, 11, 11])]);
        assert_eq!(value(&found, "phase defrag/paid_back_seconds"), None);
        assert!(gain(&found).ends_with("slower, never paid back"), "{}", gain(&found));
    }

    #[test]
    fn readings_of_an_interrupted_run_alone_tell_no_gain() {
        assert_eq!(gain(&costs(&[(&[], 60, &[5, 5, 5])])), "");
        assert_eq!(gain(&costs(&[(&[5, 5, 5], 60, &[5])])), "");
        assert!(costs(&[]).metrics().is_empty());
    }
}

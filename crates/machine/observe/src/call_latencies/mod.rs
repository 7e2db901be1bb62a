//! Observer of the latencies of system calls, which the engine measures: metrics of each kind of
//! call, of the trial, and of each phase for calls that are made in several.

use treering_model::metrics::calls::CALL_LATENCY_NANOSECONDS;
use treering_model::{Latency, Metric, Op, PhaseTotals, Scope};

use crate::{Findings, Observer, ObserverContext, TrialWatch};

/// Statistics with their quantile, and the number of timed calls that each requires.
const QUANTILES: [(&str, f64, u64); 3] =
    [("p50", 0.5, 10), ("p99", 0.99, 100), ("p999", 0.999, 1000)];
/// Calls that do no work in the filesystem, or whose time is that of waiting for others.
const LEFT_OUT: [Op; 11] = [
    Op::Close,
    Op::OpenDir,
    Op::CloseDir,
    Op::Seek,
    Op::Statfs,
    Op::Pause,
    Op::Lock,
    Op::Submit,
    Op::Reap,
    Op::Advise,
    Op::Map,
];

/// Observer of the latencies of system calls.
#[derive(Debug)]
pub(crate) struct CallLatencies;

impl Observer for CallLatencies {
    fn name(&self) -> &'static str {
        "call_latencies"
    }

    fn look(&self, _scene: &ObserverContext<'_>) -> Findings {
        Findings::default()
    }

    fn watch(&self, scene: &ObserverContext<'_>) -> Option<Box<dyn TrialWatch>> {
        let decides = scene.options.deciding_sync;
        Some(Box::new(CallWatch { decides, ..CallWatch::default() }))
    }
}

/// Calls of one kind.
#[derive(Clone, Debug)]
struct CallSum {
    op: Op,
    calls: u64,
    latency: Latency,
}

/// Watch of the calls of one trial.
#[derive(Default)]
struct CallWatch {
    /// Call whose p99 decides comparisons.
    decides: Option<Op>,
    /// Calls by the name of the phase, in the order of the phases.
    phases: Vec<(String, Vec<CallSum>)>,
}

impl TrialWatch for CallWatch {
    fn phase_ended(&mut self, totals: &PhaseTotals) -> Findings {
        let place = self.phases.iter().position(|(name, _)| *name == totals.name);
        let place = place.unwrap_or_else(|| {
            self.phases.push((totals.name.clone(), Vec::new()));
            self.phases.len() - 1
        });
        let counts = totals.ops.iter().filter(|one| !LEFT_OUT.contains(&one.op));
        counts.for_each(|one| add(&mut self.phases[place].1, one.op, one.calls, &one.latency));
        Findings::default()
    }

    fn end(self: Box<Self>) -> Findings {
        let mut total = Vec::new();
        for one in self.phases.iter().flat_map(|(_, calls)| calls) {
            add(&mut total, one.op, one.calls, &one.latency);
        }
        let mut metrics = metrics(&total, &Scope::Trial, self.decides);
        let has_op = |op: Op, calls: &[CallSum]| calls.iter().any(|one| one.op == op);
        let is_in_several = |one: &&CallSum| {
            self.phases.iter().filter(|(_, calls)| has_op(one.op, calls)).nth(1).is_some()
        };
        for (name, calls) in &self.phases {
            let calls: Vec<CallSum> = calls.iter().filter(is_in_several).cloned().collect();
            metrics.extend(self::metrics(&calls, &Scope::Phase(name.clone()), None));
        }
        Findings { metrics, ..Findings::default() }
    }
}

fn add(sums: &mut Vec<CallSum>, op: Op, calls: u64, latency: &Latency) {
    match sums.iter_mut().find(|sum| sum.op == op) {
        Some(sum) => {
            sum.calls += calls;
            sum.latency.merge(latency);
        }
        None => sums.push(CallSum { op, calls, latency: latency.clone() }),
    }
}

/// Metrics of one part of the trial. The p99 of the call that `decides` is primary, or the median
/// if there are too few calls for it.
fn metrics(sums: &[CallSum], scope: &Scope, decides: Option<Op>) -> Vec<Metric> {
    let of_call = |sum: &CallSum| {
        let timed = sum.latency.samples();
        let max_ns = sum.latency.max_ns();
        let metric = |word: &str, ns: u64| {
            let metric = CALL_LATENCY_NANOSECONDS.of_member(
                &[sum.op.name(), word],
                scope.clone(),
                ns.min(max_ns) as f64,
            );
            metric.of_tasks(timed)
        };
        let quantiles = QUANTILES.iter().filter(|(.., least)| timed >= *least);
        let mut metrics: Vec<Metric> = quantiles
            .map(|&(word, share, _)| {
                let deciding = if timed < FEWEST_TO_DECIDE { WITH_FEW } else { DECIDING };
                let is_primary = decides == Some(sum.op) && word == deciding;
                metric(word, sum.latency.quantile_ns(share)).primary_if(is_primary)
            })
            .collect();
        // The slowest call may be among those that a sample passed over.
        if timed > 0 && timed == sum.calls {
            metrics.push(metric("max", max_ns));
        }
        metrics
    };
    sums.iter().flat_map(of_call).collect()
}

/// Statistic of syncs that decides comparisons, the fewest timed calls for it, and the statistic
/// that decides with fewer.
const DECIDING: &str = "p99";
const FEWEST_TO_DECIDE: u64 = 100;
const WITH_FEW: &str = "p50";

/// Full name of the metric that decides comparisons of a job that makes this call often.
pub fn deciding_latency(op: Op) -> Metric {
    let name = &[op.name(), DECIDING];
    CALL_LATENCY_NANOSECONDS.of_member(name, Scope::Trial, 1.0).primary()
}

#[cfg(test)]
mod tests {
    use super::{CallWatch, deciding_latency};
    use crate::TrialWatch;
    use treering_model::{Latency, Op, OpTotals, PhaseTotals, Scope};

    fn totals(name: &str, op: Op, calls: u64, timed: u64, ns: u64) -> PhaseTotals {
        let mut latency = Latency::new();
        latency.record_many(ns, timed);
        let ops = vec![OpTotals { op, calls, errors: 0, bytes: 0, latency }];
        PhaseTotals { name: name.to_owned(), ops, ..PhaseTotals::default() }
    }

    #[test]
    fn quantiles_need_enough_calls_and_the_maximum_all_of_them() {
        let mut watch = CallWatch { decides: Some(Op::Fsync), ..CallWatch::default() };
        watch.phase_ended(&totals("run", Op::Fsync, 200, 200, 5_000_000));
        watch.phase_ended(&totals("run", Op::Write, 900, 30, 900));
        watch.phase_ended(&totals("run", Op::Seek, 900, 900, 900));
        let metrics = Box::new(watch).end().metrics;
        let names: Vec<&str> = metrics.iter().map(|metric| metric.name.as_str()).collect();
        assert_eq!(
            names,
            [
                "fsync_call_latency_p50_nanoseconds",
                "fsync_call_latency_p99_nanoseconds",
                "fsync_call_latency_max_nanoseconds",
                "write_call_latency_p50_nanoseconds"
            ]
        );
        let primary: Vec<&str> =
            metrics.iter().filter(|one| one.primary).map(|one| one.name.as_str()).collect();
        assert_eq!(primary, [deciding_latency(Op::Fsync).name]);
        assert_eq!((metrics[1].scope.clone(), metrics[1].tasks), (Scope::Trial, 200));
        assert!((metrics[2].value / 5e6 - 1.0).abs() < 0.01);
    }

    #[test]
    fn calls_of_several_phases_have_metrics_of_each() {
        let mut watch = CallWatch::default();
        watch.phase_ended(&totals("create", Op::Open, 10, 10, 700));
        watch.phase_ended(&totals("read", Op::Open, 10, 10, 900));
        watch.phase_ended(&totals("read", Op::Read, 10, 10, 700));
        let metrics = Box::new(watch).end().metrics;
        let of_phases = metrics.iter().filter(|metric| metric.scope != Scope::Trial);
        let names: Vec<String> = of_phases.map(treering_model::Metric::full_name).collect();
        assert_eq!(
            names,
            [
                "phase create/open_call_latency_p50_nanoseconds",
                "phase create/open_call_latency_max_nanoseconds",
                "phase read/open_call_latency_p50_nanoseconds",
                "phase read/open_call_latency_max_nanoseconds"
            ]
        );
    }
}

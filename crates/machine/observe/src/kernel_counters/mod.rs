//! Observer of the kernel's counters: read before and after each phase, and around the work that is
//! deferred until after the last one.
//!
//! A value that cannot be read is left out, so that 0 always means a measured 0. Counters of the
//! whole machine include what other programs did.

mod deferred;
mod reading;
mod scene;
mod sources;
mod sums;

use std::path::PathBuf;
use std::time::{Duration, Instant};

use treering_model::{Artifact, KernelCounters, Metric, PhaseTotals, Scope};

use crate::{Findings, Observer, ObserverContext, SettleTerms, TrialWatch};
use deferred::SHORTEST_MEASURED;
use reading::{CounterChange, Reading, changes};
use scene::CounterScene;
use sources::CounterSource;
use sums::MetricSums;

/// Observer of the kernel's counters.
#[derive(Debug)]
pub(crate) struct CounterObserver;

impl Observer for CounterObserver {
    fn name(&self) -> &'static str {
        "kernel_counters"
    }

    fn look(&self, _scene: &ObserverContext<'_>) -> Findings {
        Findings::default()
    }

    fn watch(&self, scene: &ObserverContext<'_>) -> Option<Box<dyn TrialWatch>> {
        let target = scene.target.to_owned();
        let scene = CounterScene::at(&target);
        let sources = sources::open(&scene);
        let has_device = !scene.devices.is_empty();
        (!sources.is_empty()).then(|| {
            let mut watch = CounterWatch { target, has_device, ..CounterWatch::new(sources) };
            // The first reading finds the threads, and takes longer than all others.
            watch.read();
            Box::new(watch) as Box<dyn TrialWatch>
        })
    }
}

/// Watch of the counters of one trial.
struct CounterWatch {
    sources: Vec<Box<dyn CounterSource>>,
    target: PathBuf,
    has_device: bool,
    /// Reading at the beginning of the current phase.
    before: Vec<Reading>,
    /// Sums by the name of the phase, in the order of the phases.
    phases: Vec<(String, MetricSums)>,
    total: MetricSums,
    measured: Duration,
    /// Metrics of deferred work, which follow those of the phases.
    deferred: Vec<Metric>,
}

impl CounterWatch {
    fn new(sources: Vec<Box<dyn CounterSource>>) -> Self {
        Self {
            sources,
            target: PathBuf::new(),
            has_device: false,
            before: Vec::new(),
            phases: Vec::new(),
            total: MetricSums::default(),
            measured: Duration::ZERO,
            deferred: Vec::new(),
        }
    }

    fn read(&mut self) -> Vec<Reading> {
        self.sources.iter_mut().flat_map(|source| source.read()).collect()
    }
}

impl TrialWatch for CounterWatch {
    fn phase_begins(&mut self, _phase: u32, _name: &str) {
        self.before = self.read();
    }

    fn phase_ended(&mut self, totals: &PhaseTotals) -> Findings {
        let began = Instant::now();
        let after = self.read();
        let took = began.elapsed();
        let changed = changes(&self.before, after);
        let place = self.phases.iter().position(|(name, _)| *name == totals.name);
        let place = place.unwrap_or_else(|| {
            self.phases.push((totals.name.clone(), MetricSums::default()));
            self.phases.len() - 1
        });
        self.phases[place].1.add(&changed);
        self.total.add(&changed);
        self.measured += Duration::from_nanos(totals.wall_ns);
        let artifact = artifact(changed, took);
        let artifact = artifact.map(|made| Artifact { phase: Some(totals.phase), ..made });
        Findings { artifacts: artifact.into_iter().collect(), ..Findings::default() }
    }

    fn settle(&mut self, terms: &SettleTerms<'_>) -> Findings {
        if !self.has_device || self.measured < SHORTEST_MEASURED {
            return Findings::default();
        }
        let limit = terms.limit.min(self.measured);
        let synced = terms.syncs.then_some(self.target.as_path());
        let mut seen = deferred::watch(&mut self.sources, limit, terms.stop, synced);
        self.deferred = std::mem::take(&mut seen.metrics);
        seen
    }

    fn end(self: Box<Self>) -> Findings {
        let mut metrics = self.total.metrics(&Scope::Trial);
        if self.phases.len() > 1 {
            let of_phase =
                |(name, sums): &(String, MetricSums)| sums.metrics(&Scope::Phase(name.clone()));
            metrics.extend(self.phases.iter().flat_map(of_phase));
        }
        metrics.extend(self.deferred);
        Findings { metrics, ..Findings::default() }
    }
}

/// Artifact of the changes over one interval; `None` if nothing could be read.
fn artifact(changed: Vec<CounterChange>, took: Duration) -> Option<Artifact> {
    if changed.is_empty() {
        return None;
    }
    let counters = KernelCounters {
        reading_us: u64::try_from(took.as_micros()).unwrap_or(u64::MAX),
        counters: changed.into_iter().map(|change| change.counter).collect(),
    };
    Artifact::new(KernelCounters::KIND, KernelCounters::VERSION, &counters).ok()
}

#[cfg(test)]
mod tests {
    use super::sources::CounterSource;
    use super::{CounterWatch, Reading};
    use crate::TrialWatch;
    use treering_model::metrics::device::FLUSHES;
    use treering_model::{KernelCounters, PhaseTotals, Scope, Unit};

    /// Device that flushes ten times between two readings.
    struct Flushing(u64);

    impl CounterSource for Flushing {
        fn read(&mut self) -> Vec<Reading> {
            self.0 += 10;
            vec![Reading::counter("loop0.flushes", "stat", Unit::Count, self.0).promoted(FLUSHES)]
        }
    }

    fn phase(watch: &mut CounterWatch, number: u32, name: &str) -> KernelCounters {
        watch.phase_begins(number, name);
        let totals = PhaseTotals { phase: number, name: name.to_owned(), ..PhaseTotals::default() };
        let made = watch.phase_ended(&totals).artifacts.pop().unwrap();
        assert_eq!(made.phase, Some(number));
        made.read(KernelCounters::KIND, KernelCounters::VERSION).unwrap()
    }

    #[test]
    fn phases_have_an_artifact_each_and_metrics_by_name() {
        let mut watch = CounterWatch::new(vec![Box::new(Flushing(0))]);
        let counters = phase(&mut watch, 0, "create");
        assert_eq!((counters.counters[0].before, counters.counters[0].value()), (10, 10));
        phase(&mut watch, 1, "read");
        phase(&mut watch, 2, "read");
        let metrics = Box::new(watch).end().metrics;
        let found: Vec<_> =
            metrics.iter().map(|metric| (metric.scope.clone(), metric.value)).collect();
        let of_phase = |name: &str| Scope::Phase(name.to_owned());
        assert_eq!(
            found,
            [(Scope::Trial, 30.0), (of_phase("create"), 10.0), (of_phase("read"), 20.0)]
        );
    }

    #[test]
    fn metrics_of_a_single_phase_are_those_of_the_trial() {
        let mut watch = CounterWatch::new(vec![Box::new(Flushing(0))]);
        phase(&mut watch, 0, "create");
        assert_eq!(Box::new(watch).end().metrics.len(), 1);
    }
}

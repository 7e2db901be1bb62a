//! Work that is deferred until after the last phase: the devices are watched until they are quiet,
//! or until the limit.
//!
//! A filesystem that was created for the trial is synced first, so that data still in the page
//! cache counts too. Quiet means that for a second no request was in flight and no counter of the
//! devices and of the journal changed. Gauges need not be 0: some filesystems keep extents to
//! discard for ever. Dirty pages of other filesystems do not prolong the watch; a metric reports
//! how many remained.

use std::fs::File;
use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::fs::syncfs;
use treering_model::metrics::{MetricSpec, deferred, device, kernel};
use treering_model::{Artifact, Fact, KernelCounters, Scope};

use super::artifact;
use super::reading::{Reading, changes};
use super::sources::CounterSource;
use super::sums::MetricSums;
use crate::Findings;
use crate::environment::fact;

/// Shortest total time of the phases for which deferred work is watched: shorter trials cannot
/// leave work worth a second.
pub(super) const SHORTEST_MEASURED: Duration = Duration::from_secs(1);
/// Time without any change after which the devices are quiet.
const QUIET: Duration = Duration::from_secs(1);
/// Pause between two looks.
const PAUSE: Duration = Duration::from_millis(50);

/// Fact with the reason why the watch ended: `quiet`, or `limit`, in which case all figures are
/// lower bounds.
const ENDED_FACT: &str = "conditions.deferred_work_ended";
/// Fact with the limit in seconds.
const LIMIT_FACT: &str = "conditions.deferred_work_limit_seconds";

/// Metrics of deferred work, each with the corresponding metric of a phase.
const METRICS: [(MetricSpec, MetricSpec); 9] = [
    (deferred::READ_BYTES, device::READ_BYTES),
    (deferred::WRITE_REQUESTS, device::WRITE_REQUESTS),
    (deferred::WRITE_BYTES, device::WRITTEN_BYTES),
    (deferred::DISCARD_REQUESTS, device::DISCARD_REQUESTS),
    (deferred::DISCARD_BYTES, device::DISCARDED_BYTES),
    (deferred::FLUSHES, device::FLUSHES),
    (deferred::JOURNAL_COMMITS, kernel::JOURNAL_COMMITS),
    (deferred::CPU_SECONDS, kernel::THREADS_CPU_SECONDS),
    (deferred::DIRTY_BYTES, kernel::DIRTY_BYTES),
];

/// Watches until the devices are quiet, the limit is reached, or the trial is to stop; then
/// nothing is reported.
///
/// `synced` is a directory of a filesystem to sync first, which the limit does not end.
pub(super) fn watch(
    sources: &mut [Box<dyn CounterSource>],
    limit: Duration,
    stop: &dyn Fn() -> bool,
    synced: Option<&Path>,
) -> Findings {
    let began = Instant::now();
    let before = read(sources, false);
    let mut last = read(sources, true);
    if let Some(dir) = synced {
        // A filesystem that cannot be synced here is watched as it is.
        let _done = File::open(dir).and_then(|open| Ok(syncfs(open)?));
    }
    let mut changed_at = Duration::ZERO;
    let mut is_quiet = false;
    while !is_quiet {
        if stop() {
            return Findings::default();
        }
        let now = read(sources, true);
        if now != last || is_busy(&now) {
            changed_at = began.elapsed();
            last = now;
        }
        is_quiet = began.elapsed().saturating_sub(changed_at) >= QUIET;
        if is_quiet || began.elapsed() >= limit {
            break;
        }
        sleep(PAUSE);
    }
    let reading = Instant::now();
    let after = read(sources, false);
    let took = reading.elapsed();
    let changed = changes(&before, after);
    let mut sums = MetricSums::default();
    sums.add(&changed);
    let of_counter =
        |(spec, of): &(MetricSpec, MetricSpec)| Some(spec.of(Scope::Trial, sums.value(*of)?));
    let mut metrics = vec![deferred::SECONDS.of(Scope::Trial, changed_at.as_secs_f64())];
    metrics.extend(METRICS.iter().filter_map(of_counter));
    let artifact = artifact(changed, took)
        .map(|made| Artifact { name: KernelCounters::DEFERRED.to_owned(), ..made });
    Findings {
        facts: facts(is_quiet, limit),
        metrics,
        artifacts: artifact.into_iter().collect(),
        ..Findings::default()
    }
}

fn facts(is_quiet: bool, limit: Duration) -> Vec<Fact> {
    let ended = if is_quiet { "quiet" } else { "limit" };
    vec![fact(ENDED_FACT, ended), fact(LIMIT_FACT, format!("{:.1}", limit.as_secs_f64()))]
}

/// Values of all sources, or only of those that show whether the devices are quiet.
fn read(sources: &mut [Box<dyn CounterSource>], only_work: bool) -> Vec<Reading> {
    let read = sources.iter_mut().filter(|source| !only_work || source.shows_work());
    read.flat_map(|source| source.read()).collect()
}

/// Reports whether a device has requests in flight; these are not in any counter yet.
fn is_busy(readings: &[Reading]) -> bool {
    readings.iter().any(|one| one.name.ends_with(".in_flight") && one.value > 0)
}

#[cfg(test)]
mod tests {
    use super::{LIMIT_FACT, QUIET, watch};
    use crate::kernel_counters::reading::Reading;
    use crate::kernel_counters::sources::CounterSource;
    use std::time::{Duration, Instant};
    use treering_model::Unit;
    use treering_model::metrics::device::WRITTEN_BYTES;

    /// Device that writes a block for each of its first readings.
    struct Writing {
        left: u32,
        written: u64,
    }

    impl CounterSource for Writing {
        fn read(&mut self) -> Vec<Reading> {
            if self.left > 0 {
                self.left -= 1;
                self.written += 4096;
            }
            let reading = Reading::counter("loop0.written", "stat", Unit::Bytes, self.written);
            vec![reading.promoted(WRITTEN_BYTES)]
        }

        fn shows_work(&self) -> bool {
            true
        }
    }

    fn sources(left: u32) -> Vec<Box<dyn CounterSource>> {
        vec![Box::new(Writing { left, written: 0 })]
    }

    #[test]
    fn a_quiet_device_ends_the_watch_after_a_second() {
        let began = Instant::now();
        let seen = watch(&mut sources(5), Duration::from_secs(60), &|| false, None);
        assert!(began.elapsed() >= QUIET && began.elapsed() < Duration::from_secs(20));
        let value = |name: &str| seen.metrics.iter().find(|one| one.name == name).unwrap().value;
        // The first of the five readings is the one before.
        assert!((value("deferred_write_bytes") - 4.0 * 4096.0).abs() < 0.5);
        assert!(value("deferred_seconds") > 0.0 && seen.facts[0].value == "quiet");
        assert_eq!(seen.artifacts[0].name, "deferred");
    }

    #[test]
    fn a_busy_device_ends_the_watch_at_the_limit_and_a_signal_at_once() {
        let limit = Duration::from_millis(200);
        let seen = watch(&mut sources(u32::MAX), limit, &|| false, None);
        assert_eq!(seen.facts[0].value, "limit");
        assert_eq!(
            (seen.facts[1].name.as_str(), seen.facts[1].value.as_str()),
            (LIMIT_FACT, "0.2")
        );
        let seen = watch(&mut sources(u32::MAX), limit, &|| true, None);
        assert!(seen.metrics.is_empty() && seen.facts.is_empty());
    }
}

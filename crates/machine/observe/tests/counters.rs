//! Counters of real filesystems on loop devices.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::fs::File;
use std::io::Write;
use std::path::Path;

use treering_model::{KernelCounters, Metric, PhaseTotals};
use treering_observe::{ObserverContext, ObserverOptions, watch};
use treering_testkit::{LoopFs, require_loop_fs};

/// Writes a file in steps of 4 KiB with an fsync after each.
fn write_synced(file: &Path, steps: u32) {
    let mut file = File::create(file).unwrap();
    for _ in 0..steps {
        file.write_all(&[7; 4096]).unwrap();
        file.sync_all().unwrap();
    }
}

/// Metrics and counters of a phase that writes with twenty fsyncs.
fn observed(place: &LoopFs) -> (Vec<Metric>, KernelCounters) {
    let options = ObserverOptions::default();
    let mut watching = watch(&ObserverContext { target: place.path(), options });
    watching.phase_begins(0, "write");
    write_synced(&place.path().join("file"), 20);
    let totals = PhaseTotals { name: "write".to_owned(), ..PhaseTotals::default() };
    let seen = watching.phase_ended(&totals);
    let counters = seen.artifacts.iter().find_map(|made| {
        made.read::<KernelCounters>(KernelCounters::KIND, KernelCounters::VERSION)
    });
    (watching.end().metrics, counters.unwrap())
}

fn value(metrics: &[Metric], name: &str) -> Option<f64> {
    metrics.iter().find(|metric| metric.name == name).map(|metric| metric.value)
}

#[test]
fn syncs_are_seen_at_the_device_and_in_the_counters_of_the_filesystem() {
    for kind in ["ext4", "xfs", "btrfs"] {
        require_loop_fs!(kind);
        let (metrics, counters) = observed(&LoopFs::new(kind, 512));
        let at_least = |name: &str, least: f64| {
            let value = value(&metrics, name);
            assert!(value.is_some_and(|value| value >= least), "{kind} {name}: {value:?}");
        };
        at_least("device_flushes", 20.0);
        at_least("device_write_requests", 20.0);
        at_least("device_written_bytes", 20.0 * 4096.0);
        at_least("kernel_workers_cpu_seconds", 1e-6);
        match kind {
            "xfs" => {
                at_least("kernel_log_writes", 20.0);
                at_least("kernel_log_forces", 20.0);
            }
            _ => at_least("kernel_journal_commits", 0.0),
        }
        assert_eq!(value(&metrics, "kernel_log_writes").is_some(), kind == "xfs");
        assert_eq!(value(&metrics, "kernel_fast_commits").is_some(), kind == "ext4");
        assert!(counters.reading_us < 100_000, "{}", counters.reading_us);
        let mut names: Vec<&str> =
            counters.counters.iter().map(|counter| counter.name.as_str()).collect();
        let all = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), all, "{kind}: names are unique");
    }
}

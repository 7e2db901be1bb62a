//! `/proc/vmstat`: the page cache, writeback and reclaim of the whole machine.

use treering_model::metrics::MetricSpec;
use treering_model::metrics::kernel::{DIRTIED_BYTES, SCANNED_PAGES, WRITTEN_BACK_BYTES};
use treering_model::{CounterKind, Unit};

use super::super::reading::Reading;
use super::super::scene::CounterScene;
use super::CounterSource;
use crate::places::KernelRoots;

const FILE: &str = "vmstat";
const COUNTER: CounterKind = CounterKind::Counter;

/// Line that is kept: its word, or the beginning of several words; unit; kind; metric.
type Line = (&'static str, LineUnit, CounterKind, Option<MetricSpec>);

/// Unit of a line.
#[derive(Clone, Copy, PartialEq, Eq)]
enum LineUnit {
    /// Pages, which are turned into bytes.
    Pages,
    Events,
}

const LINES: &[Line] = &[
    ("nr_dirtied", LineUnit::Pages, COUNTER, Some(DIRTIED_BYTES)),
    ("nr_written", LineUnit::Pages, COUNTER, Some(WRITTEN_BACK_BYTES)),
    ("nr_dirty", LineUnit::Pages, CounterKind::Gauge, None),
    ("nr_writeback", LineUnit::Pages, CounterKind::Gauge, None),
    ("pgscan_kswapd", LineUnit::Events, COUNTER, Some(SCANNED_PAGES)),
    ("pgscan_direct", LineUnit::Events, COUNTER, Some(SCANNED_PAGES)),
    ("pgsteal_kswapd", LineUnit::Events, COUNTER, None),
    ("pgsteal_direct", LineUnit::Events, COUNTER, None),
    ("workingset_refault_file", LineUnit::Events, COUNTER, None),
    ("workingset_activate_file", LineUnit::Events, COUNTER, None),
    ("pgmajfault", LineUnit::Events, COUNTER, None),
    ("pswpin", LineUnit::Events, COUNTER, None),
    ("pswpout", LineUnit::Events, COUNTER, None),
    ("drop_pagecache", LineUnit::Events, COUNTER, None),
    ("drop_slab", LineUnit::Events, COUNTER, None),
];

struct Vmstat(KernelRoots);

/// Opens the file.
pub(super) fn open(scene: &CounterScene) -> Option<Box<dyn CounterSource>> {
    scene.roots.proc(FILE)?;
    Some(Box::new(Vmstat(scene.roots.clone())))
}

impl CounterSource for Vmstat {
    fn read(&mut self) -> Vec<Reading> {
        values(&self.0.proc(FILE).unwrap_or_default(), rustix::param::page_size() as u64)
    }
}

fn values(text: &str, page_bytes: u64) -> Vec<Reading> {
    let reading = |line: &str| {
        let (word, value) = line.split_once(' ')?;
        let &(_, unit, kind, metric) = LINES.iter().find(|known| known.0 == word)?;
        let value: u64 = value.trim().parse().ok()?;
        let (unit, value) = match unit {
            LineUnit::Pages => (Unit::Bytes, value.saturating_mul(page_bytes)),
            LineUnit::Events => (Unit::Count, value),
        };
        let reading = Reading::counter(format!("{FILE}.{word}"), "/proc/vmstat", unit, value);
        let reading = Reading { kind, ..reading };
        Some(match metric {
            Some(spec) => reading.promoted(spec),
            None => reading,
        })
    };
    text.lines().filter_map(reading).collect()
}

#[cfg(test)]
mod tests {
    use super::values;
    use treering_model::{CounterKind, Unit};

    #[test]
    fn pages_become_bytes_and_unknown_lines_are_passed_over() {
        let text = "nr_free_pages 900\nnr_dirty 3\nnr_dirtied 20\npgscan_direct_throttle 4\n\
                    pgscan_direct 5\n";
        let readings = values(text, 4096);
        let found: Vec<_> =
            readings.iter().map(|one| (one.name.as_str(), one.kind, one.unit, one.value)).collect();
        assert_eq!(
            found,
            [
                ("vmstat.nr_dirty", CounterKind::Gauge, Unit::Bytes, 3 * 4096),
                ("vmstat.nr_dirtied", CounterKind::Counter, Unit::Bytes, 20 * 4096),
                ("vmstat.pgscan_direct", CounterKind::Counter, Unit::Count, 5)
            ]
        );
    }
}

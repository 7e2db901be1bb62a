//! Single values of the filesystem in `/sys/fs/TYPE/NAME`, one number per file. Settings are not
//! read, and missing files are skipped without a message.

use std::path::{Path, PathBuf};

use treering_model::metrics::MetricSpec;
use treering_model::metrics::kernel::JOURNAL_COMMITS;
use treering_model::{CounterKind, Unit};

use super::super::reading::Reading;
use super::super::scene::CounterScene;
use super::CounterSource;

/// File below the directory: path, unit, factor to the unit, kind, and metric.
type ValueFile = (&'static str, Unit, u64, CounterKind, Option<MetricSpec>);

const COUNTER: CounterKind = CounterKind::Counter;
const GAUGE: CounterKind = CounterKind::Gauge;

/// Every file that is read.
const FILES: &[ValueFile] = &[
    ("session_write_kbytes", Unit::Bytes, 1024, COUNTER, None),
    ("lifetime_write_kbytes", Unit::Bytes, 1024, COUNTER, None),
    ("delayed_allocation_blocks", Unit::Count, 1, GAUGE, None),
    ("errors_count", Unit::Count, 1, COUNTER, None),
    ("cp_foreground_calls", Unit::Count, 1, COUNTER, Some(JOURNAL_COMMITS)),
    ("cp_background_calls", Unit::Count, 1, COUNTER, None),
    ("gc_foreground_calls", Unit::Count, 1, COUNTER, None),
    ("gc_background_calls", Unit::Count, 1, COUNTER, None),
    ("moved_blocks_foreground", Unit::Count, 1, COUNTER, None),
    ("moved_blocks_background", Unit::Count, 1, COUNTER, None),
    ("free_segments", Unit::Count, 1, GAUGE, None),
    ("dirty_segments", Unit::Count, 1, GAUGE, None),
    ("pending_discard", Unit::Count, 1, GAUGE, None),
    ("generation", Unit::Count, 1, COUNTER, None),
    ("allocation/data/disk_used", Unit::Bytes, 1, GAUGE, None),
    ("allocation/data/bytes_pinned", Unit::Bytes, 1, GAUGE, None),
    ("allocation/data/bytes_reserved", Unit::Bytes, 1, GAUGE, None),
    ("allocation/data/bytes_may_use", Unit::Bytes, 1, GAUGE, None),
    ("allocation/metadata/disk_used", Unit::Bytes, 1, GAUGE, None),
    ("allocation/metadata/bytes_pinned", Unit::Bytes, 1, GAUGE, None),
    ("allocation/metadata/bytes_may_use", Unit::Bytes, 1, GAUGE, None),
    ("discard/discard_bytes_saved", Unit::Bytes, 1, COUNTER, None),
    ("discard/discard_bitmap_bytes", Unit::Bytes, 1, COUNTER, None),
    ("discard/discard_extent_bytes", Unit::Bytes, 1, COUNTER, None),
    ("discard/discardable_bytes", Unit::Bytes, 1, GAUGE, None),
    ("discard/discardable_extents", Unit::Count, 1, GAUGE, None),
    ("log/reserve_grant_head_bytes", Unit::Bytes, 1, GAUGE, None),
    ("log/write_grant_head_bytes", Unit::Bytes, 1, GAUGE, None),
];

struct SysfsValues(Vec<(PathBuf, &'static ValueFile)>);

/// Opens the files that exist.
pub(super) fn open(scene: &CounterScene) -> Option<Box<dyn CounterSource>> {
    let of_folder = |folder: &PathBuf| {
        let folder = folder.clone();
        FILES.iter().map(move |file| (folder.join(file.0), file))
    };
    let files = scene.sysfs.iter().flat_map(of_folder).filter(|(path, _)| number(path).is_some());
    let files: Vec<_> = files.collect();
    (!files.is_empty()).then(|| Box::new(SysfsValues(files)) as Box<dyn CounterSource>)
}

fn number(path: &Path) -> Option<u64> {
    std::fs::read_to_string(path).ok()?.trim().parse().ok()
}

impl CounterSource for SysfsValues {
    fn read(&mut self) -> Vec<Reading> {
        let reading = |(path, file): &(PathBuf, &ValueFile)| {
            let &(name, unit, factor, kind, metric) = *file;
            let value = number(path)?.saturating_mul(factor);
            let name = format!("filesystem.{name}");
            let reading = Reading::counter(name, &path.to_string_lossy(), unit, value);
            let reading = Reading { kind, ..reading };
            Some(match metric {
                Some(spec) => reading.promoted(spec),
                None => reading,
            })
        };
        self.0.iter().filter_map(reading).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::open;
    use crate::kernel_counters::scene::CounterScene;
    use std::fs::{create_dir_all, write};
    use treering_model::CounterKind;

    #[test]
    fn values_are_read_and_settings_are_not() {
        let top = tempfile::tempdir().unwrap();
        let folder = top.path().join("loop0");
        create_dir_all(folder.join("discard")).unwrap();
        for (name, text) in [
            ("session_write_kbytes", "436\n"),
            ("delayed_allocation_blocks", "7\n"),
            ("discard/discardable_bytes", "20480\n"),
            ("mb_group_prealloc", "512\n"),
            ("cp_foreground_calls", "no number\n"),
        ] {
            write(folder.join(name), text).unwrap();
        }
        let scene = CounterScene { sysfs: vec![folder], ..CounterScene::default() };
        let readings = open(&scene).unwrap().read();
        let found: Vec<_> =
            readings.iter().map(|one| (one.name.as_str(), one.kind, one.value)).collect();
        assert_eq!(
            found,
            [
                ("filesystem.session_write_kbytes", CounterKind::Counter, 436 * 1024),
                ("filesystem.delayed_allocation_blocks", CounterKind::Gauge, 7),
                ("filesystem.discard/discardable_bytes", CounterKind::Gauge, 20480)
            ]
        );
        assert!(open(&CounterScene::default()).is_none());
    }
}

//! `/sys/dev/block/MAJOR:MINOR/stat` of each device: requests by kind, with bytes and times
//! (Documentation/admin-guide/iostats.rst). A request counts when it has completed.

use std::path::{Path, PathBuf};

use treering_model::Unit;
use treering_model::metrics::{MetricSpec, device};
use treering_trace::DeviceNumber;

use super::super::reading::Reading;
use super::super::scene::CounterScene;
use super::CounterSource;

/// Size of the sectors that the kernel counts in, whatever the device's own size.
const SECTOR_BYTES: u64 = 512;
const MILLISECOND_NS: u64 = 1_000_000;

/// Column of the file: index, name, unit, factor to the unit, and metric.
type Column = (usize, &'static str, Unit, u64, Option<MetricSpec>);

/// Columns of a device or partition.
const COLUMNS: [Column; 13] = [
    (0, "reads", Unit::Count, 1, Some(device::READ_REQUESTS)),
    (1, "read_merges", Unit::Count, 1, None),
    (2, "read_bytes", Unit::Bytes, SECTOR_BYTES, Some(device::READ_BYTES)),
    (3, "read_time", Unit::Nanoseconds, MILLISECOND_NS, None),
    (4, "writes", Unit::Count, 1, Some(device::WRITE_REQUESTS)),
    (5, "write_merges", Unit::Count, 1, None),
    (6, "written_bytes", Unit::Bytes, SECTOR_BYTES, Some(device::WRITTEN_BYTES)),
    (7, "write_time", Unit::Nanoseconds, MILLISECOND_NS, None),
    (9, "busy_time", Unit::Nanoseconds, MILLISECOND_NS, Some(device::BUSY_SECONDS)),
    (10, "waiting_time", Unit::Nanoseconds, MILLISECOND_NS, None),
    (11, "discards", Unit::Count, 1, Some(device::DISCARD_REQUESTS)),
    (13, "discarded_bytes", Unit::Bytes, SECTOR_BYTES, Some(device::DISCARDED_BYTES)),
    (14, "discard_time", Unit::Nanoseconds, MILLISECOND_NS, None),
];

/// Columns that only whole disks have.
const OF_DISKS: [Column; 2] = [
    (15, "flushes", Unit::Count, 1, Some(device::FLUSHES)),
    (16, "flush_time", Unit::Nanoseconds, MILLISECOND_NS, Some(device::FLUSH_SECONDS)),
];

/// Number of requests in flight, a gauge.
const IN_FLIGHT: (usize, &str) = (8, "in_flight");

/// Files of one device.
struct DeviceFiles {
    name: String,
    own: PathBuf,
    /// File of the whole disk; the same for a device without partitions.
    disk: PathBuf,
}

struct DiskStatistics(Vec<DeviceFiles>);

/// Opens the statistics of the devices at the bottom of all layers.
pub(super) fn open(scene: &CounterScene) -> Option<Box<dyn CounterSource>> {
    let file = |number: DeviceNumber| {
        scene.roots.sys.join("dev/block").join(number.to_string()).join("stat")
    };
    let files = scene.devices.iter().map(|one| DeviceFiles {
        name: one.device.name.clone(),
        own: file(one.device.number),
        disk: file(one.disk),
    });
    let files: Vec<DeviceFiles> = files.collect();
    (!files.is_empty()).then(|| Box::new(DiskStatistics(files)) as Box<dyn CounterSource>)
}

impl CounterSource for DiskStatistics {
    fn read(&mut self) -> Vec<Reading> {
        self.0.iter().flat_map(DeviceFiles::read).collect()
    }

    fn shows_work(&self) -> bool {
        true
    }
}

impl DeviceFiles {
    fn read(&self) -> Vec<Reading> {
        let mut readings = values(&self.name, &self.own, &COLUMNS);
        readings.extend(values(&self.name, &self.disk, &OF_DISKS));
        let in_flight = numbers(&self.own).get(IN_FLIGHT.0).copied();
        readings.extend(in_flight.map(|requests| {
            let name = format!("{}.{}", self.name, IN_FLIGHT.1);
            Reading::gauge(name, &self.own.to_string_lossy(), Unit::Count, requests)
        }));
        readings
    }
}

fn numbers(file: &Path) -> Vec<u64> {
    let text = std::fs::read_to_string(file).unwrap_or_default();
    text.split_whitespace().map_while(|word| word.parse().ok()).collect()
}

fn values(device: &str, file: &Path, columns: &[Column]) -> Vec<Reading> {
    let (numbers, source) = (numbers(file), file.to_string_lossy());
    let reading = |&(index, name, unit, factor, metric): &Column| {
        let value = numbers.get(index)?.saturating_mul(factor);
        let reading = Reading::counter(format!("{device}.{name}"), &source, unit, value);
        Some(match metric {
            Some(spec) => reading.promoted(spec),
            None => reading,
        })
    };
    columns.iter().filter_map(reading).collect()
}

#[cfg(test)]
mod tests {
    use super::open;
    use crate::block_trace::TracedDevice;
    use crate::kernel_counters::scene::CounterScene;
    use crate::places::KernelRoots;
    use std::fs::{create_dir_all, write};
    use treering_model::metrics::device;
    use treering_trace::{DeviceNumber, TraceDevice};

    /// Scene with the first partition of a disk, whose files have these texts.
    fn scene(top: &std::path::Path, partition: &str, disk: &str) -> CounterScene {
        for (number, text) in [("8:1", partition), ("8:0", disk)] {
            let folder = top.join("dev/block").join(number);
            create_dir_all(&folder).unwrap();
            write(folder.join("stat"), text).unwrap();
        }
        let device =
            TraceDevice { number: DeviceNumber::new(8, 1), name: "sda1".to_owned(), sectors: 9 };
        let traced = TracedDevice { device, disk: DeviceNumber::new(8, 0), first_sector: 2048 };
        let roots = KernelRoots { sys: top.to_owned(), ..KernelRoots::default() };
        CounterScene { roots, devices: vec![traced], ..CounterScene::default() }
    }

    #[test]
    fn requests_are_read_by_kind_and_a_partition_has_the_flushes_of_its_disk() {
        let top = tempfile::tempdir().unwrap();
        let own = "  10  1  80  5  20  2  160  7  3  11  12  4  0  1024  6  0  0\n";
        let disk = "  90  1  80  5  20  2  160  7  0  11  12  4  0  1024  6  31  44\n";
        let mut source = open(&scene(top.path(), own, disk)).unwrap();
        let readings = source.read();
        let value = |name: &str| readings.iter().find(|one| one.name == name).map(|one| one.value);
        assert_eq!(value("sda1.reads"), Some(10));
        assert_eq!(value("sda1.written_bytes"), Some(160 * 512));
        assert_eq!(value("sda1.discarded_bytes"), Some(1024 * 512));
        assert_eq!((value("sda1.flushes"), value("sda1.in_flight")), (Some(31), Some(3)));
        assert_eq!(value("sda1.flush_time"), Some(44_000_000));
        let flushes = readings.iter().find(|one| one.name == "sda1.flushes").unwrap();
        assert_eq!(flushes.metric.as_ref().map(|one| one.spec), Some(device::FLUSHES));
        assert!(flushes.source.ends_with("8:0/stat"));
    }

    #[test]
    fn columns_of_newer_kernels_are_absent_and_not_zero() {
        let top = tempfile::tempdir().unwrap();
        let old = "10 1 80 5 20 2 160 7 3 11 12\n";
        let readings = open(&scene(top.path(), old, old)).unwrap().read();
        let has_reading = |name: &str| readings.iter().any(|one| one.name == name);
        assert!(has_reading("sda1.writes") && has_reading("sda1.busy_time"));
        assert!(!has_reading("sda1.discards") && !has_reading("sda1.flushes"));
    }
}

//! `/sys/fs/xfs/DEVICE/stats/stats`: events of one XFS since its mount, in counters of 32 bits
//! (fs/xfs/xfs_stats.h). Only fields whose meaning is known by name are read.

use treering_model::Unit;
use treering_model::metrics::MetricSpec;
use treering_model::metrics::kernel::{LOG_FORCES, LOG_WRITES};

use super::super::reading::Reading;
use super::super::scene::CounterScene;
use super::{CounterSource, text_file};

/// Fields of the lines of 32 bits, by the first word of the line; an empty name is passed over.
const FIELDS: [(&str, &[&str]); 10] = [
    ("extent_alloc", &["extents_allocated", "blocks_allocated", "extents_freed", "blocks_freed"]),
    ("dir", &["lookups", "creates", "removes", "listings"]),
    ("trans", &["sync", "async", "empty"]),
    ("ig", &["attempts", "found", "recycled", "missed", "duplicates", "reclaims"]),
    ("log", &["writes", "blocks", "no_buffers", "forces", "force_sleeps"]),
    (
        "push_ail",
        &[
            "try_space",
            "sleep_space",
            "pushes",
            "success",
            "buffers",
            "pinned",
            "locked",
            "flushing",
            "restarts",
            "flushes",
        ],
    ),
    ("rw", &["writes", "reads"]),
    ("attr", &["gets", "sets", "removes", "lists"]),
    ("icluster", &["inode_flushes", "cluster_flushes", "inodes_in_clusters"]),
    ("buf", &["gets", "creates", "gets_locked", "lock_waits", "busy"]),
];

/// Fields of 64 bits, all in bytes.
const BYTES: (&str, &[&str]) = ("xpc", &["converted_bytes", "written_bytes", "read_bytes"]);

/// Metrics by line and field.
const METRICS: [(&str, &str, MetricSpec); 2] =
    [("log", "writes", LOG_WRITES), ("log", "forces", LOG_FORCES)];

/// Opens the file of the filesystem.
pub(super) fn open(scene: &CounterScene) -> Option<Box<dyn CounterSource>> {
    text_file::open(&scene.sysfs, "stats/stats", values)
}

fn values(text: &str, source: &str) -> Vec<Reading> {
    let mut readings = Vec::new();
    for line in text.lines() {
        let mut words = line.split(' ');
        let Some(group) = words.next() else { continue };
        let is_bytes = group == BYTES.0;
        let fields = match FIELDS.iter().find(|(known, _)| *known == group) {
            Some((_, fields)) => fields,
            None if is_bytes => BYTES.1,
            None => continue,
        };
        let numbers = words.map_while(|word| word.parse::<u64>().ok());
        for (field, value) in fields.iter().zip(numbers) {
            let unit = if is_bytes { Unit::Bytes } else { Unit::Count };
            let reading = Reading::counter(format!("{group}.{field}"), source, unit, value);
            let reading = if is_bytes { reading } else { reading.of_32_bits() };
            let metric = METRICS.iter().find(|(of, name, _)| (*of, *name) == (group, *field));
            readings.push(match metric {
                Some((.., spec)) => reading.promoted(*spec),
                None => reading,
            });
        }
    }
    readings
}

#[cfg(test)]
mod tests {
    use super::values;
    use treering_model::Unit;

    #[test]
    fn fields_have_names_and_bytes_their_full_width() {
        let text = "extent_alloc 18 64 1 14\ntrans 0 89 0\nlog 50 121 0 51 52\nunknown 1 2\n\
                    xpc 262144 204800 8589934592\ndebug 0\n";
        let readings = values(text, "stats");
        let one = |name: &str| readings.iter().find(|one| one.name == name).unwrap();
        assert_eq!((one("log.writes").value, one("log.forces").value), (50, 51));
        assert!(one("log.writes").wraps && one("log.writes").metric.is_some());
        let read = one("xpc.read_bytes");
        assert_eq!((read.value, read.unit, read.wraps), (8_589_934_592, Unit::Bytes, false));
        assert!(readings.iter().all(|one| !one.name.starts_with("unknown")));
    }
}

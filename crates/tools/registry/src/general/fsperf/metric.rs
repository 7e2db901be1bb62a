//! Meaning of the columns of fsperf's tables: units by its suffixes, and the better direction and
//! the metrics that decide as in its own comparison.

use treering_model::metrics::command;
use treering_model::{BetterDirection, Metric, Unit};

const MIB: f64 = 1_048_576.0;

/// Table of results.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TableKind {
    Fio,
    Time,
    Dbench,
    Fragmentation,
    IoStats,
    Latency,
    Commits,
    Mounts,
}

/// Names of the tables, and the words for them in names of metrics.
pub(super) const TABLES: [(TableKind, &str, &str); 8] = [
    (TableKind::Fio, "fio_results", "fio"),
    (TableKind::Time, "time_results", "time"),
    (TableKind::Dbench, "dbench_results", "dbench"),
    (TableKind::Fragmentation, "fragmentation", "fragmentation"),
    (TableKind::IoStats, "io_stats", "device"),
    (TableKind::Latency, "latency_traces", "latency"),
    (TableKind::Commits, "btrfs_commit_stats", "commits"),
    (TableKind::Mounts, "mount_timings", "mount"),
];

/// Endings of names, those of the metric in their place, its unit, and the factor to it.
const UNITS: [(&str, &str, Unit, f64); 6] = [
    ("_bw_bytes", "_bw", Unit::MibPerSecond, 1.0 / MIB),
    ("_bytes", "_bytes", Unit::Bytes, 1.0),
    ("_kbytes", "_bytes", Unit::Bytes, 1024.0),
    ("_iops", "_iops", Unit::OpsPerSecond, 1.0),
    ("_ms", "_ns", Unit::Nanoseconds, 1e6),
    ("_ns", "_ns", Unit::Nanoseconds, 1.0),
];

impl TableKind {
    /// Table with this name.
    pub(super) fn named(name: &str) -> Option<Self> {
        TABLES.iter().find(|(_, table, _)| *table == name).map(|(kind, ..)| *kind)
    }

    /// Word for the table in names of metrics.
    pub(super) fn title(self) -> &'static str {
        TABLES.iter().find(|(kind, ..)| *kind == self).map_or("", |(.., title)| title)
    }

    /// Unit of a column, and the factor to it.
    fn unit(self, column: &str) -> (Unit, f64) {
        let is_count = |unit: &Unit| *unit == Unit::OpsPerSecond && self == Self::IoStats;
        match (self, column) {
            // dbench's megabytes are 10^6 bytes, and its other columns are its longest latencies.
            (Self::Dbench, "throughput") => (Unit::MibPerSecond, 1e6 / MIB),
            (Self::Dbench, _) => (Unit::Nanoseconds, 1e6),
            (_, "elapsed") => (Unit::Seconds, 1.0),
            (_, "sys_cpu") => (Unit::Percent, 1.0),
            (Self::Fragmentation, name) if name.starts_with("frag_pct") => (Unit::Percent, 1.0),
            (Self::Latency, name) if name.starts_with("ns_") => (Unit::Nanoseconds, 1.0),
            (_, name) if name.contains("lat_ns_") => (Unit::Nanoseconds, 1.0),
            (_, name) => {
                let known = UNITS.iter().find(|(ending, ..)| name.ends_with(ending));
                // The requests of a device are those of the whole run.
                let known = known.filter(|(.., unit, _)| !is_count(unit));
                known.map_or((Unit::Count, 1.0), |(.., unit, factor)| (*unit, *factor))
            }
        }
    }

    /// True if the metric decides, as in fsperf.
    fn decides(self, column: &str) -> bool {
        match self {
            Self::Fio => column == "read_bw_bytes" || column == "write_bw_bytes",
            Self::Time => column == "elapsed",
            Self::Dbench => column == "throughput",
            _ => false,
        }
    }
}

/// Metric of a column, under fsperf's name with its own unit; `None` for a zero or no value.
pub(super) fn named(
    table: TableKind,
    function: Option<&str>,
    column: &str,
    value: f64,
) -> Option<Metric> {
    let (unit, factor) = table.unit(column);
    let value = value * factor;
    if value == 0.0 || !value.is_finite() {
        return None;
    }
    let is_higher = column.contains("bytes") || column.contains("_iops") || column == "throughput";
    let better = if is_higher && table != TableKind::IoStats {
        BetterDirection::Higher
    } else {
        BetterDirection::Lower
    };
    let named = UNITS.iter().find_map(|(ending, own, ..)| {
        column.strip_suffix(ending).map(|stem| format!("{stem}{own}"))
    });
    let own = named.unwrap_or_else(|| column.to_owned());
    let name = match function {
        Some(function) => format!("{function}_{own}"),
        None => own,
    };
    let metric = command::named_by_user(&name, value, unit, better);
    Some(metric.primary_if(table.decides(column)))
}

#[cfg(test)]
mod tests {
    use treering_model::{BetterDirection, Unit};

    use super::{TableKind, named};

    #[test]
    fn columns_have_their_unit_and_direction() {
        let (higher, lower) = (BetterDirection::Higher, BetterDirection::Lower);
        for (table, column, value, unit, better, decides) in [
            (TableKind::Fio, "write_bw_bytes", 2.0, Unit::MibPerSecond, higher, true),
            (TableKind::Fio, "read_clat_ns_p99", 2_097_152.0, Unit::Nanoseconds, lower, false),
            (TableKind::Fio, "read_iops", 2_097_152.0, Unit::OpsPerSecond, higher, false),
            (TableKind::Fio, "elapsed", 2_097_152.0, Unit::Seconds, lower, false),
            (TableKind::Time, "elapsed", 2_097_152.0, Unit::Seconds, lower, true),
            (TableKind::Dbench, "flush", 2_097_152e6, Unit::Nanoseconds, lower, false),
            (TableKind::IoStats, "dev_read_iops", 2_097_152.0, Unit::Count, lower, false),
            (TableKind::IoStats, "dev_read_kbytes", 2_147_483_648.0, Unit::Bytes, lower, false),
            (TableKind::Commits, "avg_commit_ms", 2_097_152e6, Unit::Nanoseconds, lower, false),
            (TableKind::Mounts, "end_state_mount_ns", 2_097_152.0, Unit::Nanoseconds, lower, false),
            (TableKind::Fragmentation, "frag_pct_p95", 2_097_152.0, Unit::Percent, lower, false),
        ] {
            let metric = named(table, None, column, 2_097_152.0).unwrap();
            assert_eq!((metric.unit, metric.better), (unit, better), "{column}");
            assert_eq!((metric.value, metric.primary), (value, decides), "{column}");
        }
        for (column, name) in [("write_bw_bytes", "write_bw"), ("read_io_kbytes", "read_io_bytes")]
        {
            assert_eq!(named(TableKind::Fio, None, column, 1.0).unwrap().name, name);
        }
        let commits = named(TableKind::Commits, None, "avg_commit_ms", 12.5).unwrap();
        assert_eq!(commits.name, "avg_commit_ns");
        let traced = named(TableKind::Latency, Some("btrfs_sync_file"), "ns_mean", 5.0).unwrap();
        assert_eq!(traced.name, "btrfs_sync_file_ns_mean");
        assert_eq!(named(TableKind::Fio, None, "write_iops", 0.0), None);
    }
}

//! Report of the original about a run: as text, as JSON, and as terse fields between semicolons.

mod json;
mod normal;
mod terse;
mod units;

use std::sync::Arc;

use crate::language::Section;
use treering_script::DiskCounts;

use super::tally::{DirectionTally, Latencies, Tally};

pub(crate) use normal::{header, started};

/// Version of fio whose output is imitated.
const VERSION: &str = "fio-3.33";

/// Format of the report.
///
/// The variants are in the order in which the original prints several formats.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Format {
    /// Terse format: fields between semicolons.
    Terse,
    /// JSON format.
    Json,
    /// JSON format with the buckets of all latencies.
    JsonPlus,
    /// Normal text format.
    Normal,
}

impl Format {
    /// Formats by name.
    pub(crate) const NAMES: [(&'static str, Self); 5] = [
        ("normal", Self::Normal),
        ("json", Self::Json),
        ("json+", Self::JsonPlus),
        ("terse", Self::Terse),
        ("minimal", Self::Terse),
    ];
}

/// Row of the report: a clone, or a reporting group.
#[derive(Clone, Debug)]
pub(crate) struct ReportRow {
    /// Job of the first clone.
    pub job: Arc<Section>,
    /// Job of the last clone, whose options the original lists.
    pub last: Arc<Section>,
    /// Number of its reporting group.
    pub group: usize,
    /// Tallies of the row's clones.
    pub tally: Tally,
}

/// Time and process of the run.
#[derive(Clone, Debug, Default)]
pub(crate) struct ReportContext {
    /// Process ID.
    pub process: u32,
    /// End of the run, in milliseconds since 1970.
    pub unix_ms: u64,
    /// End of the run, formatted as by `ctime`.
    pub time: String,
    /// Elapsed time.
    pub elapsed_ms: u64,
    /// Estimated remaining time in seconds.
    pub left_s: u64,
    /// Counters of the disk during the run, and the watched time in milliseconds.
    pub disk: Option<(DiskCounts, u64)>,
}

/// Formats the report of a run. The options common to all jobs are those of the first one.
pub(crate) fn report(
    format: Format,
    terse_version: u64,
    rows: &[ReportRow],
    first: Option<&Arc<Section>>,
    when: &ReportContext,
) -> String {
    match format {
        Format::Normal => normal::report(rows, when),
        Format::Json => json::report(rows, first, when, false),
        Format::JsonPlus => json::report(rows, first, when, true),
        Format::Terse => terse::report(rows, terse_version, when),
    }
}

/// Total latencies; with one request in flight at a time these are the completion latencies.
fn lat(direction: &DirectionTally) -> &Latencies {
    if direction.lat.stat.samples > 0 { &direction.lat } else { &direction.clat }
}

/// Bandwidth in bytes per second.
fn bandwidth(direction: &DirectionTally) -> u64 {
    if direction.runtime_ms == 0 {
        return 0;
    }
    let bytes = u128::from(direction.bytes) * 1000 / u128::from(direction.runtime_ms);
    u64::try_from(bytes).unwrap_or(u64::MAX)
}

/// Requests per second.
fn iops(direction: &DirectionTally) -> f64 {
    if direction.runtime_ms == 0 {
        0.0
    } else {
        1000.0 * direction.requests as f64 / direction.runtime_ms as f64
    }
}

/// Share in percent; 0 for an empty whole.
fn percent(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { 100.0 * part as f64 / whole as f64 }
}

/// Number of requests in all directions.
fn requests(tally: &Tally) -> u64 {
    tally.directions.iter().map(|direction| direction.requests).sum()
}

/// Utilisation of the disk, in percent.
fn busy((disk, watched_ms): &(DiskCounts, u64)) -> f64 {
    percent(disk.busy_ms, *watched_ms).min(100.0)
}

/// Share of the row in the rate of its group, in percent.
fn share_of_group(rows: &[ReportRow], row: &ReportRow, direction: usize) -> f64 {
    let group = || rows.iter().filter(|other| other.group == row.group);
    let bytes: u64 = group().map(|row| row.tally.directions[direction].bytes).sum();
    let longest = group().map(|row| row.tally.directions[direction].runtime_ms).max().unwrap_or(0);
    if longest == 0 || bytes == 0 {
        return 0.0;
    }
    let whole = bytes as f64 * 1000.0 / longest as f64 / 1024.0;
    (row.tally.directions[direction].bandwidth.mean() * 100.0 / whole).min(100.0)
}

/// User and system CPU in percent of the runtime.
fn cpu(tally: &Tally) -> (f64, f64) {
    let of = |ns: u64| percent(ns / 1_000_000, tally.runtime_ms);
    (of(tally.user_ns), of(tally.system_ns))
}

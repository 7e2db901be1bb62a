//! Panel of offsets over time. Devices of a run are stacked with a gap between them.

use std::fmt::Write;

use maud::{Markup, html};
use treering_trace::DeviceMap;

use super::{NS_PER_MS, OFFSET_PANEL_HEIGHT, SECTORS_PER_MIB, TraceChartRun, TracePanel, seeks};
use crate::escape::visible;

/// Gap between two devices, as a share of the total height.
const GAP: f64 = 0.03;

/// Maximum number of map columns and rows merged into one.
const COARSEST: u64 = 64;

/// Offset axis: start of each device of any run, in MiB.
pub(super) struct OffsetScale {
    devices: Vec<DeviceRange>,
    high: f64,
    low: f64,
    /// Number of map columns and rows merged into one.
    merged: u64,
}

struct DeviceRange {
    name: String,
    /// First and last MiB accessed in all runs.
    used: (f64, f64),
    /// Offset in MiB added to positions on the device.
    shift: f64,
}

impl OffsetScale {
    /// Creates the scale; `strokes` limits the strokes of all maps together.
    pub(super) fn new(runs: &[TraceChartRun], strokes: usize) -> Self {
        let merged = merged(runs, strokes);
        let mut devices: Vec<DeviceRange> = Vec::new();
        for map in runs.iter().flat_map(|run| &run.digest.maps) {
            let (low, high) = range(map);
            match devices.iter_mut().find(|place| place.name == map.device) {
                Some(place) => place.used = (place.used.0.min(low), place.used.1.max(high)),
                None => {
                    devices.push(DeviceRange {
                        name: map.device.clone(),
                        used: (low, high),
                        shift: 0.0,
                    });
                }
            }
        }
        // A single device is drawn at its true offsets, starting at 0 if its range begins low.
        if let [only] = devices.as_slice() {
            let (low, high) = only.used;
            let low = if low < high * 0.5 { 0.0 } else { low };
            return Self { devices, high, low, merged };
        }
        let total_mib: f64 = devices.iter().map(|place| place.used.1).sum();
        let mut at = 0.0;
        for place in &mut devices {
            place.shift = at;
            at += place.used.1 + total_mib * GAP;
        }
        Self { devices, high: (at - total_mib * GAP).max(1.0), low: 0.0, merged }
    }

    fn shift(&self, device: &str) -> f64 {
        self.devices.iter().find(|place| place.name == device).map_or(0.0, |place| place.shift)
    }
}

/// First and last MiB of a map's rows.
fn range(map: &DeviceMap) -> (f64, f64) {
    let mib = |sector: f64| sector / SECTORS_PER_MIB;
    let first = map.first_sector as f64;
    let last = first + map.rows as f64 * map.row_sectors as f64;
    (mib(first), mib(last).max(mib(first) + 1.0 / 256.0))
}

pub(super) fn panel(run: &TraceChartRun, scale: &OffsetScale, end_ms: f64, top: f64) -> Markup {
    let figures = &run.digest.figures;
    let names: Vec<String> = run.digest.maps.iter().map(|map| visible(&map.device)).collect();
    let (unit, word) = unit(scale.high);
    let offsets = match scale.devices.len() {
        0 | 1 => String::new(),
        _ => format!("; offsets of each device in {word}"),
    };
    let title = format!(
        "{} on {}: {} requests, {}{offsets}",
        visible(&run.name),
        names.join(", "),
        figures.reads.requests + figures.writes.requests,
        seeks(figures)
    );
    let inside = html! {
        g class="places" data-unit=(unit) data-word=(word) {
            @for place in &scale.devices {
                g data-place=(visible(&place.name)) data-shift=(place.shift) {}
            }
        }
        @for map in &run.digest.maps { (of_map(map, scale)) }
    };
    let tick = |value: f64, text: &str| {
        if scale.devices.len() < 2 {
            return format!("{text} {word}");
        }
        let place = |device: &&DeviceRange| device.shift <= value * unit;
        let device = scale.devices.iter().rev().find(place);
        let (name, shift) = device
            .map_or(("", 0.0), |device_range| (device_range.name.as_str(), device_range.shift));
        format!("{} {:.1}", visible(name), value - shift / unit)
    };
    let values = (scale.low, scale.high);
    let (title, top, height) = (title.as_str(), top, OFFSET_PANEL_HEIGHT);
    TracePanel { kind: "field", title, top, height, end_ms, values, unit, tick: &tick, inside }
        .markup()
}

/// Most readable unit for offsets: its size in MiB, and its symbol.
fn unit(high_mib: f64) -> (f64, &'static str) {
    const KIB: f64 = 1024.0;
    match high_mib {
        high if high >= 1.5 * KIB * KIB => (KIB * KIB, "TiB"),
        high if high >= 1.5 * KIB => (KIB, "GiB"),
        high if high >= 1.5 => (1.0, "MiB"),
        _ => (1.0 / KIB, "KiB"),
    }
}

/// Draws a map in units of its cells, scaled to milliseconds and MiB.
fn of_map(map: &DeviceMap, scale: &OffsetScale) -> Markup {
    let by = scale.merged;
    let column_ms = map.column_ns as f64 / NS_PER_MS * by as f64;
    let row_mib = map.row_sectors as f64 / SECTORS_PER_MIB * by as f64;
    let first = map.first_sector as f64 / SECTORS_PER_MIB + scale.shift(&map.device);
    let place = format!(
        "translate({} {}) scale({} {})",
        column_ms / 2.0,
        -(first + row_mib / 2.0),
        column_ms,
        -row_mib
    );
    let kinds = [
        ("s2", "writes", &map.writes),
        ("s1", "reads", &map.reads),
        ("s3", "discards", &map.discards),
    ];
    html! {
        g transform=(place) data-rows=(map.rows.div_ceil(by))
            data-columns=(map.columns.div_ceil(by)) data-device=(visible(&map.device))
            data-column-ms=(column_ms) data-row-mib=(row_mib) {
            @for (variant, kind, runs) in kinds {
                @let path = path(&marks(map, runs, by));
                @if !path.is_empty() {
                    g class=(variant) { path class=(format!("cells {kind}")) d=(path) {} }
                }
            }
        }
    }
}

/// Number of columns and rows to merge so that the strokes stay within the limit.
fn merged(runs: &[TraceChartRun], strokes: usize) -> u64 {
    let maps = || runs.iter().flat_map(|run| &run.digest.maps);
    let count = |by: u64| -> usize {
        let of = |map: &DeviceMap| {
            [&map.reads, &map.writes, &map.discards].map(|runs| marks(map, runs, by).len())
        };
        maps().flat_map(of).sum()
    };
    let mut by = 1;
    while by < COARSEST && count(by) > strokes {
        by *= 2;
    }
    by
}

/// Vertical runs of cells, with `by` columns and rows merged: column, lowest row, number of rows.
fn marks(map: &DeviceMap, runs: &[u32], by: u64) -> Vec<(u64, u64, u64)> {
    if by < 2 {
        return map.marks(runs).collect();
    }
    // Column, first row and last row; entries of one column are adjacent.
    let coarse = |(column, row, rows): (u64, u64, u64)| {
        (column / by, row / by, (row + rows.max(1) - 1) / by)
    };
    let mut coarse_runs: Vec<(u64, u64, u64)> = map.marks(runs).map(coarse).collect();
    coarse_runs.sort_unstable();
    let mut merged: Vec<(u64, u64, u64)> = Vec::new();
    for (column, from, to) in coarse_runs {
        match merged.last_mut() {
            Some(last) if last.0 == column && from <= last.1 + last.2 => {
                last.2 = last.2.max(to + 1 - last.1);
            }
            _ => merged.push((column, from, to + 1 - from)),
        }
    }
    merged
}

/// Path with a stroke for every run of cells: column, lowest row, height.
fn path(marks: &[(u64, u64, u64)]) -> String {
    let mut path = String::new();
    for &(column, row, rows) in marks {
        // A stroke of zero length would be invisible.
        let _it_is_a_string = match rows {
            1 => write!(path, "M{column} {row}v.5"),
            _ => write!(path, "M{column} {row}v{}", rows - 1),
        };
    }
    path
}

//! Sections on hot data: from a trial's heat artifacts, or from a trace.

use std::io;

use serde::Serialize;
use treering_model::{
    HeatOnDevice, HeatReport, HotData, LayoutHeat, LayoutMap, Trial, Unit, counted,
};

use crate::table::RowField;
use crate::{Chart, Concentration, HeatLayer, Number, Report, Table, json};

/// Version of the JSON document.
const VERSION: u32 = 1;

/// Page about the requests of a trace by file and, in formats with graphics, over the map of the
/// device.
pub fn page(path: &str, heat: &HeatReport, layer: Option<(LayoutMap, LayoutHeat)>) -> Report {
    let mut page = Report::new(format!("Heat of {path}"));
    add_phase(&mut page, None, heat, layer.is_some());
    if let Some((map, heat)) = layer {
        let title = format!("Where the requests went: {path}");
        page.chart(Chart::Heat(HeatLayer { title, map, heat, is_small: false }));
    }
    page
}

#[derive(Serialize)]
struct HeatDocument<'h> {
    treering_heat: json::Version,
    path: &'h str,
    #[serde(flatten)]
    heat: &'h HeatReport,
    map: &'h LayoutHeat,
}

/// Writes the heat report as JSON in one line, as docs/json.md documents it.
///
/// # Errors
/// If the writer fails.
pub fn write_json(
    path: &str,
    heat: &HeatReport,
    map: &LayoutHeat,
    out: &mut dyn io::Write,
) -> io::Result<()> {
    let document =
        HeatDocument { treering_heat: json::Version { version: VERSION }, path, heat, map };
    json::write_line(&document, out)
}

/// Maximum number of rows of a table.
const ROWS_MOST: usize = 10;
/// Maximum number of phases with a section.
const PHASES_MOST: usize = 6;
/// Shares of the data for which the page states the share of the accesses.
const SHARES: [f64; 4] = [0.01, 0.1, 0.25, 0.5];

/// Adds the sections if the trial has heat artifacts.
pub(super) fn add(page: &mut Report, trial: &Trial, charts: bool) {
    let reports = trial.artifacts.iter().filter_map(|artifact| {
        let heat: HeatReport = artifact.read(HeatReport::KIND, HeatReport::VERSION)?;
        let phase = trial.phases.iter().find(|phase| Some(phase.phase) == artifact.phase);
        Some((phase.map(|phase| phase.name.clone()), heat))
    });
    let reports: Vec<_> = reports.collect();
    for (phase, heat) in reports.iter().take(PHASES_MOST) {
        add_phase(page, phase.as_deref(), heat, charts);
    }
    if let Some(more) = reports.len().checked_sub(PHASES_MOST).filter(|more| *more > 0) {
        page.note(format!(
            "The hot data of {} are omitted; `treering export` includes them.",
            counted(more, "more phase")
        ));
    }
}

fn add_phase(page: &mut Report, phase: Option<&str>, heat: &HeatReport, charts: bool) {
    let title = if heat.device.is_some() { "Hot data on the device" } else { "Hot data" };
    page.heading(&match phase {
        Some(name) => format!("{title}: {name}"),
        None => title.to_owned(),
    });
    page.paragraph(match &heat.device {
        Some(device) => on_device(heat, device),
        None => summary(heat),
    });
    if !heat.concentration.is_empty() {
        page.table(concentration(heat));
        if charts {
            let curve = heat.concentration.clone();
            let of = phase.map_or_else(|| counted(heat.files, "file"), str::to_owned);
            page.chart(Chart::Concentration(Concentration { of, curve }));
        }
    }
    let caption = format!("The hottest files, of {}.", counted(heat.files, "file"));
    page.table(hottest("hot-files", caption, &heat.hottest_files, false));
    // For small files the ranges equal the files.
    if heat.ranges >= 2 * heat.files {
        let caption = format!("The hottest ranges of 1 MiB, of {}.", heat.ranges);
        page.table(hottest("hot-ranges", caption, &heat.hottest_ranges, true));
    }
}

fn summary(heat: &HeatReport) -> String {
    let reads = counted(heat.total.reads, "read");
    let writes = counted(heat.total.writes, "write");
    let left_out = match heat.left_out {
        0 => String::new(),
        more => format!(" {more} accesses were to files beyond the limit of those tracked."),
    };
    format!(
        "{reads} and {writes} of {}, as issued: the page cache may have served them. The \
         temperature is the number of accesses, each halved for every {} s until the end of the \
         phase.{left_out}",
        counted(heat.files, "file"),
        heat.half_life_seconds
    )
}

/// Describes the data to which the requests to a device belong.
fn on_device(heat: &HeatReport, device: &HeatOnDevice) -> String {
    let bytes = |bytes: u64| Number::measured(bytes as f64, Unit::Bytes).text_with_unit();
    let free = device
        .free_bytes
        .map_or_else(String::new, |free| format!("{} to space that is free now, ", bytes(free)));
    let left_out = match device.left_out {
        0 => String::new(),
        more => format!(" {} had no more room.", counted(more, "request")),
    };
    format!(
        "The device received {} of {}: {} where files lie now, {free}{} of metadata, the journal \
         and other files. A request that covers several files counts for each. The temperature is \
         the number of requests, each halved for every {} s until the last one.\
         {left_out}",
        counted(device.requests, "request"),
        bytes(device.bytes),
        bytes(device.placed_bytes),
        bytes(device.other_bytes),
        heat.half_life_seconds
    )
}

/// Table of the share of accesses on the hottest data.
fn concentration(heat: &HeatReport) -> Table {
    let rows = SHARES.iter().map(|share| {
        let accesses = accesses_on(&heat.concentration, *share);
        vec![
            RowField::number("hottest data", Unit::Percent, 100.0 * share),
            RowField::number("accesses", Unit::Percent, 100.0 * accesses),
        ]
    });
    Table::from_rows("concentration", "Share of the accesses by share of the data touched.", rows)
}

/// Share of the accesses on a share of the data, interpolated between two points of the curve.
fn accesses_on(curve: &[(f64, f64)], share: f64) -> f64 {
    let after = curve.iter().position(|(data, _)| *data >= share);
    match after {
        None => 1.0,
        Some(0) => 0.0,
        Some(place) => {
            let ((x0, y0), (x1, y1)) = (curve[place - 1], curve[place]);
            if x1 > x0 { y0 + (y1 - y0) * (share - x0) / (x1 - x0) } else { y1 }
        }
    }
}

fn hottest(name: &str, caption: String, data: &[HotData], ranges: bool) -> Table {
    let rows = data.iter().take(ROWS_MOST).map(|data_heat| row(data_heat, ranges));
    Table::from_rows(name, &caption, rows).with_keys(1 + usize::from(ranges))
}

fn row(data_heat: &HotData, ranges: bool) -> Vec<RowField> {
    let time =
        |name, ns: Option<u64>| RowField::number(name, Unit::Nanoseconds, ns.map(|ns| ns as f64));
    let removed = if data_heat.removed { " (removed)" } else { "" };
    let mut fields = vec![RowField::long_text("file", format!("{}{removed}", data_heat.path))];
    fields.extend(ranges.then(|| RowField::bytes("from", data_heat.offset)));
    fields.extend([
        RowField::number("temperature", Unit::Count, data_heat.temperature),
        RowField::count("reads", data_heat.counts.reads),
        RowField::count("writes", data_heat.counts.writes),
        time("mean interval", data_heat.mean_interval_ns),
        time("since the last", Some(data_heat.since_last_ns)),
    ]);
    fields
}

#[cfg(test)]
mod tests {
    use super::accesses_on;

    #[test]
    fn shares_are_interpolated_linearly() {
        let curve = [(0.0, 0.0), (0.1, 0.9), (1.0, 1.0)];
        for (share, accesses) in [(0.0, 0.0), (0.05, 0.45), (0.1, 0.9), (0.55, 0.95), (1.0, 1.0)] {
            assert!((accesses_on(&curve, share) - accesses).abs() < 1e-12, "{share}");
        }
    }
}

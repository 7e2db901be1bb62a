//! Panels of values over time with a line for each run; for a single run, with a line for reads and
//! one for writes.

use maud::{Markup, html};
use treering_trace::{LatencyBin, TimeSlot};

use super::{LINE_PANEL_HEIGHT, NS_PER_MS, TraceChart, TraceChartRun, TracePanel};
use crate::charts::mark::{px, time_tick};
use crate::charts::plot::class;

/// Title of the latency panel for traces without percentiles.
const MEAN_LATENCY: &str = "issue to complete, mean";

const MIB: f64 = (1u64 << 20) as f64;

/// A panel of lines.
pub(super) struct LinePanel {
    title: &'static str,
    lines: Vec<PanelLine>,
    high: f64,
    is_time: bool,
}

struct PanelLine {
    class: String,
    is_dashed: bool,
    /// Points: time in milliseconds, and value.
    points: Vec<(f64, f64)>,
}

/// Computes the value of a time slice from its duration in seconds; `None` where the slice has no
/// value.
type SlotValue = fn(&TimeSlot, f64) -> Option<f64>;

/// All line panels of these runs.
pub(super) fn measures(chart: &TraceChart) -> Vec<LinePanel> {
    let rates: [(&'static str, SlotValue, bool); 4] = [
        ("seeks a second", |slot, seconds| Some(slot.seeks as f64 / seconds), false),
        ("requests a second", |slot, s| Some((slot.reads + slot.writes) as f64 / s), false),
        ("mean queue depth", |slot, seconds| Some(slot.depth_ns as f64 / (seconds * 1e9)), false),
        (
            MEAN_LATENCY,
            |slot, _| (slot.timed > 0).then(|| slot.latency_ns as f64 / slot.timed as f64),
            true,
        ),
    ];
    let points = chart.points();
    let mut panels = vec![throughput(chart)];
    panels.extend(rates.into_iter().map(|(title, of, is_time)| {
        let runs = chart.shown();
        let variants = runs.iter().enumerate();
        let count = runs.len().max(2);
        let lines = variants.map(|(place, run)| line(run, class(place, count), of, points));
        LinePanel::new(title, lines.collect(), is_time)
    }));
    if chart.shown().iter().any(|run| !run.digest.latency.is_empty()) {
        // Traces stored by earlier versions have only the mean.
        panels.retain(|measure| measure.title != MEAN_LATENCY);
        panels.extend(latencies(chart));
    }
    panels.retain(|measure| measure.high > 0.0);
    panels
}

/// Panel of latency percentiles, and a separate panel of the maximum, which would flatten the
/// percentiles.
fn latencies(chart: &TraceChart) -> [LinePanel; 2] {
    let of = |value: fn(&LatencyBin) -> u64, is_dashed: bool| {
        let runs = chart.shown();
        let count = runs.len().max(2);
        let lines = runs.iter().enumerate();
        lines.map(move |(place, run)| latency_line(run, class(place, count), value, is_dashed))
    };
    let percentiles = of(|bin| bin.p50_ns, false).chain(of(|bin| bin.p99_ns, true));
    [
        LinePanel::new("latency, p50 and (dashed) p99", percentiles.collect(), true),
        LinePanel::new("latency, longest", of(|bin| bin.max_ns, false).collect(), true),
    ]
}

fn latency_line(
    run: &TraceChartRun,
    class: String,
    of: fn(&LatencyBin) -> u64,
    is_dashed: bool,
) -> PanelLine {
    let latency = &run.digest.latency;
    let middle_ms = |place: usize| (place as f64 + 0.5) * latency.bin_ns as f64 / NS_PER_MS;
    let measured = latency.bins.iter().enumerate().filter(|(_, bin)| bin.samples > 0);
    let points = measured.map(|(place, bin)| (middle_ms(place), of(bin) as f64));
    PanelLine { class, is_dashed, points: points.collect() }
}

fn throughput(chart: &TraceChart) -> LinePanel {
    let title = "throughput, MiB/s";
    let points = chart.points();
    let lines = match chart.shown() {
        [only] => vec![
            line(only, "s1".to_owned(), |slot, s| Some(slot.read_bytes as f64 / MIB / s), points),
            line(only, "s2".to_owned(), |slot, s| Some(slot.write_bytes as f64 / MIB / s), points),
        ],
        runs => {
            let variants = runs.iter().enumerate();
            let of: SlotValue =
                |slot, s| Some((slot.read_bytes.saturating_add(slot.write_bytes)) as f64 / MIB / s);
            variants.map(|(place, run)| line(run, class(place, runs.len()), of, points)).collect()
        }
    };
    LinePanel::new(title, lines, false)
}

fn line(run: &TraceChartRun, class: String, of: SlotValue, points: usize) -> PanelLine {
    let timeline = run.digest.timeline.in_slots(points);
    let span_ns = run.digest.figures.span_ns as f64;
    let slot_ns = timeline.slot_ns as f64;
    let points = timeline.slots.iter().enumerate().filter_map(|(place, slot)| {
        let begin = place as f64 * slot_ns;
        // The last slice ends with the run; a short remainder must not look like a peak.
        let length = (span_ns - begin).clamp(slot_ns / 2.0, slot_ns);
        let value = of(slot, length / 1e9)?;
        value.is_finite().then_some(((begin + length / 2.0) / NS_PER_MS, value))
    });
    PanelLine { class, is_dashed: false, points: points.collect() }
}

impl LinePanel {
    fn new(title: &'static str, lines: Vec<PanelLine>, is_time: bool) -> Self {
        let values = lines.iter().flat_map(|line| &line.points).map(|(_, value)| *value);
        let high = values.fold(0.0, f64::max);
        // A quantity that is zero throughout needs no line.
        let lines: Vec<PanelLine> = lines
            .into_iter()
            .filter(|line| line.points.iter().any(|(_, value)| *value > 0.0))
            .collect();
        Self { title, lines, high, is_time }
    }

    pub(super) fn panel(&self, end_ms: f64, top: f64) -> Markup {
        let high = self.high * 1.05;
        let path = |line: &PanelLine| {
            let points: Vec<String> = line
                .points
                .iter()
                .map(|(ms, value)| format!("{} {:.5}", px(*ms), -value / high))
                .collect();
            format!("M{}", points.join("L"))
        };
        let inside = html! {
            g transform=(format!("scale(1 {high})")) {
                @for line in &self.lines {
                    @let kind = if line.is_dashed { "curve dashed" } else { "curve" };
                    g class=(line.class) { path class=(kind) d=(path(line)) {} }
                }
            }
        };
        let tick = |value: f64, text: &str| {
            if self.is_time { time_tick(value) } else { text.to_owned() }
        };
        let (title, values, height, unit) = (self.title, (0.0, high), LINE_PANEL_HEIGHT, 1.0);
        let kind = "lines";
        TracePanel { kind, title, top, height, end_ms, values, unit, tick: &tick, inside }.markup()
    }
}

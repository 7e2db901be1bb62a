//! Page of block traces: a table of figures with a column for each run, and charts.

use serde_json::{Value, json};
use treering_model::{Artifact, MODELLED_DISK, ModelledSeconds, Trial, Unit, counted};
use treering_trace::{
    ARTIFACT_KIND, ARTIFACT_VERSION, CountingEvent, DiskCost, KindFigures, LatencyFigures,
    TraceDigest, TraceFigures, TraceSummary, losses,
};

use crate::charts::trace::seeks;
use crate::table::RowField;
use crate::{Cell, Chart, Report, Table, TraceChart, TraceChartRun};

/// Maximum number of phases side by side.
const PHASES_BESIDE: usize = 6;

/// A trace with its name.
#[derive(Clone, Debug, PartialEq)]
pub struct TracedRun {
    /// Name of the run: the name of the command or the file.
    pub name: String,
    /// Figures of the trace.
    pub summary: TraceSummary,
    /// Estimated cost of the requests on [`MODELLED_DISK`] for each device; empty if unknown.
    pub on_disk: Vec<DiskCost>,
}

impl TracedRun {
    /// Busy time on the modelled disk, summed over the devices.
    fn busy_on_disk(&self) -> Option<ModelledSeconds> {
        let busy_times = self.on_disk.iter().map(|cost| cost.busy);
        busy_times.reduce(|a, b| ModelledSeconds {
            typical: a.typical + b.typical,
            low: a.low + b.low,
            high: a.high + b.high,
        })
    }
}

/// Page of traces, with plots in formats that support them.
pub fn page(runs: &[TracedRun], plots: bool) -> Report {
    let mut page = Report::new("Block trace");
    for run in runs {
        page.paragraph(in_words(run));
    }
    let whole: Vec<(&str, &TraceDigest)> =
        runs.iter().map(|run| (run.name.as_str(), &run.summary.whole)).collect();
    if plots {
        let from_ns = runs.first().map_or(0, |run| run.summary.from_ns);
        page.chart(Chart::Trace(trace_chart(&whole).from(from_ns)));
    }
    let mut table = figures("trace", "", &whole);
    let is_modelled = add_disk(&mut table, runs);
    page.table(table);
    for run in runs.iter().filter(|run| !run.summary.phases.is_empty()) {
        let phases: Vec<(&str, &TraceDigest)> =
            run.summary.phases.iter().map(|(name, digest)| (name.as_str(), digest)).collect();
        page.table(figures("phases", &format!("Phases of {}", run.name), &phases));
    }
    if runs.iter().any(|run| run.summary.whole.figures.devices.len() > 1) {
        page.table(devices(runs));
    }
    if runs.iter().any(|run| run.summary.whole.figures.is_ordered()) {
        define(&mut page);
    }
    if is_modelled {
        page.note(
            "The time on a modelled disk is that for which a hard disk would have had requests, \
             with an interval from the uncertainty of the model; `treering trace cost` divides it \
             into seeks, rotation and transfer, for other disks too.",
        );
    }
    page
}

/// Adds the estimated cost on the modelled disk; false if unknown for all runs.
fn add_disk(table: &mut Table, runs: &[TracedRun]) -> bool {
    let busy: Vec<_> = runs.iter().map(TracedRun::busy_on_disk).collect();
    if busy.iter().all(Option::is_none) {
        return false;
    }
    let mut row = |title: &str, cell: &dyn Fn(&ModelledSeconds) -> Cell| {
        let cells = busy.iter().map(|busy| busy.as_ref().map_or(Cell::Missing, cell));
        let title = Cell::text(format!("{title} on {MODELLED_DISK}, modelled"));
        table.rows.push(std::iter::once(title).chain(cells).collect());
    };
    row("time", &|busy| Cell::measured(busy.typical, Unit::Seconds));
    row("low–high", &|busy| Cell::range(busy.low, busy.high, Unit::Seconds));
    true
}

/// Adds definitions of the terms in the tables.
fn define(page: &mut Report) {
    page.note(
        "A seek is a read or write that begins more than 64 KiB from the end of the previous one \
         on the same device. Fewer seeks are better.",
    );
    page.note(
        "The dynamic layout score is the share of 4 KiB blocks that follow the previously \
         requested block: 1 is one sequential pass, 0 no two adjacent blocks in a row. Higher is \
         better.",
    );
}

/// Digests of the phases of a trial in which devices received requests.
pub(super) fn digests(trial: &Trial) -> Vec<(String, TraceDigest)> {
    let read = |artifact: &Artifact| {
        let digest = artifact.read::<TraceDigest>(ARTIFACT_KIND, ARTIFACT_VERSION)?;
        Some((artifact.name.clone(), digest))
    };
    let digests = trial.artifacts.iter().filter_map(read);
    digests.filter(|(_, digest)| !digest.timeline.slots.is_empty()).collect()
}

/// Adds the section on the block requests of a trial's phases, if they were recorded.
pub(super) fn add(page: &mut Report, trial: &Trial, charts: bool) {
    let phases = digests(trial);
    if phases.is_empty() {
        return;
    }
    page.heading("Requests to the devices");
    let named: Vec<(&str, &TraceDigest)> =
        phases.iter().map(|(name, digest)| (name.as_str(), digest)).collect();
    // Columns are limited to the width of a page.
    for some in named.chunks(PHASES_BESIDE) {
        page.table(figures(
            "device-requests",
            "Requests received by the block layer in each phase.",
            some,
        ));
    }
    if charts {
        page.chart(chart(&named));
    }
    if phases.iter().any(|(_, digest)| digest.figures.is_ordered()) {
        define(page);
    }
}

/// Requests of the phase that made the most, in a line; `None` if none were recorded.
pub(super) fn in_short(trial: &Trial) -> Option<String> {
    let phases = digests(trial);
    let requests =
        |digest: &TraceDigest| digest.figures.reads.requests + digest.figures.writes.requests;
    let (name, digest) = phases.iter().max_by_key(|(_, digest)| requests(digest))?;
    let figures = &digest.figures;
    let moved = [(figures.reads.bytes, "read"), (figures.writes.bytes, "written")];
    let moved = moved.into_iter().filter(|(number, _)| *number > 0);
    let mut parts = vec![counted(requests(digest), "request")];
    parts.extend(moved.map(|(number, how)| format!("{} {how}", bytes(number).shown(""))));
    parts.push(seeks(figures));
    Some(format!("in {name}: {}", parts.join(", ")))
}

/// Chart of digests stacked on one scale.
pub(crate) fn chart(digests: &[(&str, &TraceDigest)]) -> Chart {
    Chart::Trace(trace_chart(digests))
}

fn trace_chart(digests: &[(&str, &TraceDigest)]) -> TraceChart {
    let run = |(name, digest): &(&str, &TraceDigest)| TraceChartRun {
        name: (*name).to_owned(),
        digest: (*digest).clone(),
    };
    TraceChart::new(digests.iter().map(run).collect())
}

/// Describes a run in a sentence.
fn in_words(run: &TracedRun) -> String {
    let figures = &run.summary.whole.figures;
    let names: Vec<&str> = figures.devices.iter().map(|device| device.name.as_str()).collect();
    if figures.reads.requests + figures.writes.requests + figures.discards.requests == 0 {
        return format!("{}: no requests reached the devices.", run.name);
    }
    let events = match figures.counted_by {
        CountingEvent::Complete => "",
        CountingEvent::Issue => " The trace has no completions: requests are counted when issued.",
        CountingEvent::Queue => " The trace has no completions: requests are counted when queued.",
    };
    let losses = losses(figures.lost_events, figures.missing_bytes);
    format!(
        "{}: {:.2} s on {}, {}, {}.{events}{}",
        run.name,
        figures.seconds(),
        names.join(", "),
        counted(figures.reads.requests + figures.writes.requests, "request"),
        seeks(figures),
        losses.map(|losses| format!(" {losses}.")).unwrap_or_default(),
    )
}

/// Row: label, and accessor of its cell.
type FigureRow = (&'static str, fn(&TraceFigures) -> Cell);

/// Row about requests of one kind: label, and accessor of its cell.
type KindRow = (&'static str, fn(&KindFigures) -> Cell);

/// Accessor of the figures of one kind of request.
type KindAccessor = fn(&TraceFigures) -> &KindFigures;

fn mib(bytes: u64, seconds: f64) -> Cell {
    let rate = bytes as f64 / (1u64 << 20) as f64 / seconds;
    Cell::measured((bytes > 0).then_some(rate), Unit::MibPerSecond)
}

fn count(number: u64) -> Cell {
    Cell::whole(number)
}

fn bytes(number: u64) -> Cell {
    Cell::measured((number > 0).then_some(number as f64), Unit::Bytes)
}

fn mean(sum: u64, number: u64) -> Cell {
    Cell::measured((number > 0).then(|| sum as f64 / number as f64), Unit::Bytes)
}

fn ratio(value: Option<f64>) -> Cell {
    Cell::measured(value, Unit::Count)
}

fn latency(of: &LatencyFigures, part: fn(&LatencyFigures) -> u64) -> Cell {
    Cell::measured((of.samples > 0).then(|| part(of) as f64), Unit::Nanoseconds)
}

/// Returns a cell; missing for a trace without request order.
fn ordered(figures: &TraceFigures, cell: Cell) -> Cell {
    if figures.is_ordered() { cell } else { Cell::Missing }
}

const ROWS: [FigureRow; 21] = [
    ("time", |f| Cell::measured(f.seconds(), Unit::Seconds)),
    ("reads", |f| count(f.reads.requests)),
    ("writes", |f| count(f.writes.requests)),
    ("of which write zeroes", |f| count(f.write_zeroes)),
    ("discards", |f| count(f.discards.requests)),
    ("flushes", |f| count(f.flushes)),
    ("read", |f| bytes(f.reads.bytes)),
    ("written", |f| bytes(f.writes.bytes)),
    ("read rate", |f| mib(f.reads.bytes, f.seconds())),
    ("write rate", |f| mib(f.writes.bytes, f.seconds())),
    ("requests a second", |f| Cell::measured(f.requests_per_second(), Unit::OpsPerSecond)),
    ("seeks", |f| ordered(f, count(f.seeks))),
    ("seeks a second", |f| ordered(f, Cell::measured(f.seeks_per_second(), Unit::Count))),
    ("mean seek distance", |f| mean(f.seek_bytes, f.seeks)),
    ("sequential requests", |f| {
        Cell::measured(f.sequential_share().map(|share| share * 100.0), Unit::Percent)
    }),
    ("dynamic layout score", |f| ratio(f.layout_score())),
    ("dynamic layout score of reads", |f| ratio(f.read_layout_score())),
    ("mean queue depth", |f| Cell::measured(f.depth_mean, Unit::Count)),
    ("maximum queue depth", |f| count(f.depth_max)),
    ("merges", |f| count(f.merges)),
    ("write amplification (device over program)", |f| ratio(f.write_amplification())),
];

const KIND_ROWS: [KindRow; 6] = [
    ("request, mean", |kind| mean(kind.bytes, kind.requests)),
    ("request, largest", |kind| bytes(kind.request_bytes_max)),
    ("issue to complete, p50", |kind| latency(&kind.issue_to_complete, |l| l.p50_ns)),
    ("issue to complete, p99", |kind| latency(&kind.issue_to_complete, |l| l.p99_ns)),
    ("queue to complete, p50", |kind| latency(&kind.queue_to_complete, |l| l.p50_ns)),
    ("queue to complete, p99", |kind| latency(&kind.queue_to_complete, |l| l.p99_ns)),
];

/// Table with a column for each digest. Rows without values are left out.
pub(crate) fn figures(name: &str, caption: &str, digests: &[(&str, &TraceDigest)]) -> Table {
    let mut rows = Vec::new();
    let mut add = |title: String, cells: Vec<Cell>| {
        let nothing = |cell: &Cell| match cell {
            Cell::Missing => true,
            Cell::Number(number) => number.value == 0.0,
            Cell::Text { .. } | Cell::Range { .. } => false,
        };
        if !cells.iter().all(nothing) {
            let figures = digests.iter().zip(cells);
            let figures = figures.map(|((name, _), cell)| RowField::mixed(name, cell));
            rows.push(std::iter::once(RowField::text("figure", title)).chain(figures).collect());
        }
    };
    for (title, of) in ROWS {
        add(title.to_owned(), digests.iter().map(|(_, digest)| of(&digest.figures)).collect());
    }
    let kinds: [(&str, KindAccessor); 2] =
        [("read", |figures| &figures.reads), ("write", |figures| &figures.writes)];
    for (word, kind) in kinds {
        for (title, of) in KIND_ROWS {
            let cells = digests.iter().map(|(_, digest)| of(kind(&digest.figures))).collect();
            add(format!("{word} {title}"), cells);
        }
    }
    let further_rows: [FigureRow; 5] = [
        ("failed requests", |figures| count(figures.failed)),
        ("requeued requests", |figures| count(figures.requeues)),
        ("lost events", |figures| count(figures.lost_events)),
        ("bytes without a completion", |figures| bytes(figures.missing_bytes)),
        ("events", |figures| count(figures.events)),
    ];
    for (title, of) in further_rows {
        add(title.to_owned(), digests.iter().map(|(_, digest)| of(&digest.figures)).collect());
    }
    Table::from_rows(name, caption, rows)
}

fn devices(runs: &[TracedRun]) -> Table {
    let rows = runs.iter().flat_map(|run| {
        let figures = &run.summary.whole.figures;
        let is_ordered = figures.is_ordered();
        figures.devices.iter().map(move |device| {
            vec![
                RowField::text("run", &run.name),
                RowField::text("device", &device.name),
                RowField::count("requests", device.requests),
                RowField::bytes("read", device.read_bytes),
                RowField::bytes("written", device.write_bytes),
                RowField::count("seeks", is_ordered.then_some(device.seeks)),
            ]
        })
    });
    Table::from_rows("devices", "Each device", rows)
}

/// Formats the traces as JSON, as `docs/trace.md` documents it. Unknown values are absent.
pub fn json(runs: &[TracedRun]) -> String {
    let runs: Vec<Value> = runs.iter().map(of_run).collect();
    let document = json!({ "format": "treering trace", "version": 2, "runs": runs });
    serde_json::to_string_pretty(&document).unwrap_or_default()
}

fn of_run(run: &TracedRun) -> Value {
    let mut value = json!({ "name": run.name, "whole": part(&run.summary.whole) });
    let phases = run.summary.phases.iter().map(|(name, digest)| {
        let mut phase = part(digest);
        phase["name"] = json!(name);
        phase
    });
    let phases: Vec<Value> = phases.collect();
    if !phases.is_empty() {
        value["phases"] = json!(phases);
    }
    if let Some(seconds) = run.busy_on_disk() {
        value["modelled_disk"] = json!({ "disk": MODELLED_DISK, "busy_seconds": seconds });
    }
    value
}

/// Figures that depend on the order of requests.
const OF_ORDER: [&str; 11] = [
    "ordered",
    "ordered_by",
    "seeks",
    "seek_bytes",
    "seek_bytes_p50",
    "seek_bytes_p90",
    "sequential",
    "blocks",
    "following",
    "read_blocks",
    "read_following",
];

/// Figures and derived values, without those that are unknown.
fn part(digest: &TraceDigest) -> Value {
    let figures = &digest.figures;
    let mut value = json!(figures);
    let Some(fields) = value.as_object_mut() else { return value };
    for kind in ["reads", "writes", "discards"] {
        let Some(kind) = fields.get_mut(kind).and_then(Value::as_object_mut) else { continue };
        kind.retain(|_, figure| figure.get("samples").is_none_or(|samples| *samples != 0));
        if kind.get("request_bytes_max").is_some_and(|largest| *largest == 0) {
            kind.retain(|name, _| !name.starts_with("request_bytes"));
        }
    }
    let derived = [
        ("seconds", Some(figures.seconds())),
        ("requests_per_second", Some(figures.requests_per_second())),
        ("seeks_per_second", figures.is_ordered().then(|| figures.seeks_per_second())),
        ("sequential_share", figures.sequential_share()),
        ("layout_score", figures.layout_score()),
        ("read_layout_score", figures.read_layout_score()),
        ("write_amplification", figures.write_amplification()),
    ];
    for (name, known) in derived {
        fields.extend(known.map(|known| (name.to_owned(), json!(known))));
    }
    if !figures.is_ordered() {
        fields.retain(|name, _| !OF_ORDER.contains(&name.as_str()));
        let devices = fields.get_mut("devices").and_then(Value::as_array_mut);
        for device in devices.into_iter().flatten().filter_map(Value::as_object_mut) {
            device.remove("seeks");
        }
    }
    // Requests in flight before the trace began leave the depth unknown.
    if figures.depth_max == 0 && figures.reads.requests + figures.writes.requests > 0 {
        fields.retain(|name, _| !name.starts_with("depth_"));
    }
    if !digest.latency.is_empty() {
        fields.insert("latency_by_time".to_owned(), json!(digest.latency));
    }
    value
}

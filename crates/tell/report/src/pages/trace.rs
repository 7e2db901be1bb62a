//! What traces of block devices say: a table of figures, a column for each run, and plots.

use serde::Serialize;
use treering_model::{Artifact, Trial, Unit};
use treering_trace::{
    ARTIFACT_KIND, ARTIFACT_VERSION, DeviceFigures, Digest, Figures, KindFigures, LatencyFigures,
    Summary,
};

use crate::{Cell, Chart, Column, Report, Table, TraceChart, TraceChartRun};

/// Phases that stand beside each other.
const PHASES_BESIDE: usize = 6;

/// A trace with its name.
#[derive(Clone, Debug, PartialEq)]
pub struct TracedRun {
    /// Its name: that of the command or of the file.
    pub name: String,
    /// What it says.
    pub summary: Summary,
}

/// The page about traces, with plots where they can be shown.
pub fn page(runs: &[TracedRun], plots: bool) -> Report {
    let mut page = Report::new("Block trace");
    for run in runs {
        page.paragraph(in_words(run));
    }
    let whole: Vec<(&str, &Digest)> =
        runs.iter().map(|run| (run.name.as_str(), &run.summary.whole)).collect();
    if plots {
        page.chart(chart(&whole));
    }
    page.table(figures("trace", "", &whole));
    for run in runs.iter().filter(|run| !run.summary.phases.is_empty()) {
        let phases: Vec<(&str, &Digest)> =
            run.summary.phases.iter().map(|(name, digest)| (name.as_str(), digest)).collect();
        page.table(figures("phases", &format!("Phases of {}", run.name), &phases));
    }
    if runs.iter().any(|run| run.summary.whole.figures.devices.len() > 1) {
        page.table(devices(runs));
    }
    page
}

/// The traces of the phases of a trial in which a device had anything to do.
pub(super) fn digests(trial: &Trial) -> Vec<(String, Digest)> {
    let read = |artifact: &Artifact| {
        let digest = artifact.read::<Digest>(ARTIFACT_KIND, ARTIFACT_VERSION)?;
        Some((artifact.name.clone(), digest))
    };
    let all = trial.artifacts.iter().filter_map(read);
    all.filter(|(_, digest)| !digest.course.slots.is_empty()).collect()
}

/// Adds the section about the requests of a trial's phases, where they were recorded.
pub(super) fn add(page: &mut Report, trial: &Trial, charts: bool) {
    let phases = digests(trial);
    if phases.is_empty() {
        return;
    }
    page.heading("Requests to the devices");
    let named: Vec<(&str, &Digest)> =
        phases.iter().map(|(name, digest)| (name.as_str(), digest)).collect();
    // A table is as wide as a page.
    for some in named.chunks(PHASES_BESIDE) {
        page.table(figures(
            "device-requests",
            "What the block layer was asked in each phase.",
            some,
        ));
    }
    if charts {
        page.chart(chart(&named));
    }
}

/// Digests above each other.
pub(crate) fn chart(digests: &[(&str, &Digest)]) -> Chart {
    let run = |(name, digest): &(&str, &Digest)| TraceChartRun {
        name: (*name).to_owned(),
        digest: (*digest).clone(),
    };
    Chart::Trace(TraceChart::of(digests.iter().map(run).collect()))
}

/// A run in a sentence.
fn in_words(run: &TracedRun) -> String {
    let figures = &run.summary.whole.figures;
    let names: Vec<&str> = figures.devices.iter().map(|device| device.name.as_str()).collect();
    if figures.reads.requests + figures.writes.requests + figures.discards.requests == 0 {
        return format!("{}: the devices had nothing to do.", run.name);
    }
    let lost = match figures.lost_events {
        0 => String::new(),
        lost => format!(" {lost} events were lost, so all figures are too small."),
    };
    format!(
        "{}: {:.2} s on {}, {} requests, {} seeks.{lost}",
        run.name,
        figures.seconds(),
        names.join(", "),
        figures.reads.requests + figures.writes.requests,
        figures.seeks,
    )
}

/// A row: what it is, and how it is taken from figures.
type Row = (&'static str, fn(&Figures) -> Cell);

/// The same of requests of a kind.
type KindRow = (&'static str, fn(&KindFigures) -> Cell);

/// Takes a kind of requests.
type OfKind = fn(&Figures) -> &KindFigures;

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

/// What a trace without order has not.
fn ordered(figures: &Figures, cell: Cell) -> Cell {
    if figures.ordered == 0 { Cell::Missing } else { cell }
}

const ROWS: [Row; 20] = [
    ("time", |f| Cell::measured(f.seconds(), Unit::Seconds)),
    ("reads", |f| count(f.reads.requests)),
    ("writes", |f| count(f.writes.requests)),
    ("discards", |f| count(f.discards.requests)),
    ("flushes", |f| count(f.flushes)),
    ("read", |f| bytes(f.reads.bytes)),
    ("written", |f| bytes(f.writes.bytes)),
    ("read rate", |f| mib(f.reads.bytes, f.seconds())),
    ("write rate", |f| mib(f.writes.bytes, f.seconds())),
    ("requests a second", |f| Cell::measured(f.requests_per_second(), Unit::OpsPerSecond)),
    ("seeks", |f| ordered(f, count(f.seeks))),
    ("seeks a second", |f| ordered(f, Cell::measured(f.seeks_per_second(), Unit::Count))),
    ("seek distance, mean", |f| mean(f.seek_bytes, f.seeks)),
    ("sequential requests", |f| {
        Cell::measured(f.sequential_share().map(|share| share * 100.0), Unit::Percent)
    }),
    ("dynamic layout score", |f| ratio(f.layout_score())),
    ("dynamic layout score of reads", |f| ratio(f.read_layout_score())),
    ("queue depth, mean", |f| Cell::measured(f.depth_mean, Unit::Count)),
    ("queue depth, most", |f| count(f.depth_max)),
    ("merges", |f| count(f.merges)),
    ("written to the device over written by the program", |f| ratio(f.write_amplification())),
];

const KIND_ROWS: [KindRow; 6] = [
    ("request, mean", |kind| mean(kind.bytes, kind.requests)),
    ("request, largest", |kind| bytes(kind.request_bytes_max)),
    ("issue to complete, p50", |kind| latency(&kind.issue_to_complete, |l| l.p50_ns)),
    ("issue to complete, p99", |kind| latency(&kind.issue_to_complete, |l| l.p99_ns)),
    ("queue to complete, p50", |kind| latency(&kind.queue_to_complete, |l| l.p50_ns)),
    ("queue to complete, p99", |kind| latency(&kind.queue_to_complete, |l| l.p99_ns)),
];

/// A table with a column for each digest. Rows that say nothing of any are left out.
pub(crate) fn figures(name: &str, caption: &str, digests: &[(&str, &Digest)]) -> Table {
    let mut columns = vec![Column::text("figure")];
    columns.extend(digests.iter().map(|(name, _)| Column::mixed(name)));
    let mut table = Table::new(name, caption, columns);
    let mut add = |title: String, cells: Vec<Cell>| {
        let nothing = |cell: &Cell| match cell {
            Cell::Missing => true,
            Cell::Number(number) => number.value == 0.0,
            Cell::Text { .. } | Cell::Range { .. } => false,
        };
        if !cells.iter().all(nothing) {
            let mut row = vec![Cell::text(title)];
            row.extend(cells);
            table.rows.push(row);
        }
    };
    for (title, of) in ROWS {
        add(title.to_owned(), digests.iter().map(|(_, digest)| of(&digest.figures)).collect());
    }
    let kinds: [(&str, OfKind); 2] =
        [("read", |figures| &figures.reads), ("write", |figures| &figures.writes)];
    for (word, kind) in kinds {
        for (title, of) in KIND_ROWS {
            let cells = digests.iter().map(|(_, digest)| of(kind(&digest.figures))).collect();
            add(format!("{word} {title}"), cells);
        }
    }
    let rest: [Row; 4] = [
        ("failed requests", |figures| count(figures.failed)),
        ("requeued requests", |figures| count(figures.requeues)),
        ("lost events", |figures| count(figures.lost_events)),
        ("events", |figures| count(figures.events)),
    ];
    for (title, of) in rest {
        add(title.to_owned(), digests.iter().map(|(_, digest)| of(&digest.figures)).collect());
    }
    table
}

fn devices(runs: &[TracedRun]) -> Table {
    let columns = vec![
        Column::text("run"),
        Column::text("device"),
        Column::count("requests"),
        Column::number("read", Unit::Bytes),
        Column::number("written", Unit::Bytes),
        Column::count("seeks"),
    ];
    let mut table = Table::new("devices", "Each device", columns);
    for run in runs {
        table.rows.extend(run.summary.whole.figures.devices.iter().map(|device| {
            let DeviceFigures { name, read_bytes, write_bytes, requests, seeks, .. } = device;
            vec![
                Cell::text(&run.name),
                Cell::text(name),
                Cell::whole(*requests),
                Cell::measured(*read_bytes as f64, Unit::Bytes),
                Cell::measured(*write_bytes as f64, Unit::Bytes),
                Cell::whole(*seeks),
            ]
        }));
    }
    table
}

/// The traces as JSON: `docs/json.md` says what it has.
pub fn json(runs: &[TracedRun]) -> String {
    let document = Document { trace_version: 1, runs: runs.iter().map(JsonRun::of).collect() };
    serde_json::to_string_pretty(&document).unwrap_or_default()
}

#[derive(Serialize)]
struct Document<'a> {
    trace_version: u32,
    runs: Vec<JsonRun<'a>>,
}

#[derive(Serialize)]
struct JsonRun<'a> {
    name: &'a str,
    whole: JsonPart<'a>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    phases: Vec<JsonPhase<'a>>,
}

#[derive(Serialize)]
struct JsonPhase<'a> {
    name: &'a str,
    #[serde(flatten)]
    part: JsonPart<'a>,
}

/// Figures with those that are worked out from them.
#[derive(Serialize)]
struct JsonPart<'a> {
    #[serde(flatten)]
    figures: &'a Figures,
    seconds: f64,
    requests_per_second: f64,
    seeks_per_second: f64,
    sequential_share: Option<f64>,
    layout_score: Option<f64>,
    read_layout_score: Option<f64>,
    write_amplification: Option<f64>,
}

impl<'a> JsonRun<'a> {
    fn of(run: &'a TracedRun) -> Self {
        let phases = run.summary.phases.iter();
        let phases = phases.map(|(name, digest)| JsonPhase { name, part: JsonPart::of(digest) });
        Self { name: &run.name, whole: JsonPart::of(&run.summary.whole), phases: phases.collect() }
    }
}

impl<'a> JsonPart<'a> {
    fn of(digest: &'a Digest) -> Self {
        let figures = &digest.figures;
        Self {
            figures,
            seconds: figures.seconds(),
            requests_per_second: figures.requests_per_second(),
            seeks_per_second: figures.seeks_per_second(),
            sequential_share: figures.sequential_share(),
            layout_score: figures.layout_score(),
            read_layout_score: figures.read_layout_score(),
            write_amplification: figures.write_amplification(),
        }
    }
}

//! Answer of a comparison on one screen: a sentence for each contender, one table of all workloads
//! by contenders, the worst caution, and the commands for all else.

use treering_analysis::compare::{ComparisonCaution, MetricComparison, Outcome};
use treering_model::{BetterDirection, Unit, counted};

use super::ComparisonView;
use super::tables::{by_metric, is_unbounded, label, shown_interval, value, verdict};
use super::words::{hidden, sentences};
use super::{jobs, title};
use crate::{Block, Cell, Column, Number, NumberStyle, Report, Table, Warning};

/// Maximum number of rows; the whole page has all.
const ROWS_MAX: usize = 6;
/// Maximum number of notes about the selection of trials.
const NOTES_MAX: usize = 2;
/// Maximum number of contenders whose sentences are told; of more the table tells.
const SENTENCES_MAX: usize = 3;

/// Page of at most about fifteen lines.
pub(super) fn answer(outcome: &Outcome, view: &ComparisonView<'_>) -> Report {
    let mut page = Report::new(title(outcome));
    let sentences = sentences(outcome);
    if sentences.len() <= SENTENCES_MAX {
        page.paragraph(sentences.join(" "));
    }
    for sentence in hidden(outcome).into_iter().take(NOTES_MAX) {
        page.paragraph(sentence);
    }
    for note in view.notes.iter().take(NOTES_MAX) {
        page.note(note.as_str());
    }
    let jobs = jobs(outcome);
    let rows: Vec<&MetricComparison> = jobs
        .iter()
        .flat_map(|job| {
            let primary: Vec<&MetricComparison> =
                job.iter().copied().filter(|comparison| comparison.primary).collect();
            by_metric(&primary).into_iter().flatten().collect::<Vec<_>>()
        })
        .collect();
    if !rows.is_empty() {
        page.table(table(&rows, jobs.len() > 1, outcome.contenders().count() > 1));
    }
    if let Some(caution) = worst(outcome) {
        let more = match outcome.cautions.len() - 1 {
            0 => String::new(),
            more => format!("; and {}", counted(more, "more caution")),
        };
        let warning = Warning {
            code: caution.code.name().to_owned(),
            message: format!("{}{more}", caution.message),
            advice: String::new(),
        };
        page.blocks.push(Block::Cautions { cautions: vec![warning] });
    }
    let purpose = "Everything (with charts: -o report.html in place of --full)";
    page.command(purpose, &format!("{} --full", view.command));
    page
}

/// Caution that is told: the first that stops a gate, else the first that was not declared.
fn worst(outcome: &Outcome) -> Option<&ComparisonCaution> {
    let open = || outcome.cautions.iter().filter(|caution| !caution.is_declared);
    open().find(|caution| caution.code.stops_gate()).or_else(|| open().next())
}

/// Table of primary metrics. Every ratio is turned so that more than 1 is better.
fn table(rows: &[&MetricComparison], several_jobs: bool, several_contenders: bool) -> Table {
    let mut columns = Vec::new();
    if several_jobs {
        columns.push(Column::long_text("workload"));
    }
    columns.push(Column::long_text("metric"));
    if several_contenders {
        columns.push(Column::long_text("contender"));
    }
    let keys = columns.len();
    columns.extend([
        Column::text("verdict"),
        Column::mixed("times as good"),
        Column::range("interval", Unit::Count),
        Column::mixed("base"),
        Column::mixed("new"),
    ]);
    let left_out = rows.len().saturating_sub(ROWS_MAX);
    let caption = match left_out {
        0 => String::new(),
        _ => format!("{} not shown here.", counted(left_out, "row")),
    };
    let mut table = Table::new("answer", &caption, columns).with_keys(keys);
    for comparison in rows.iter().take(ROWS_MAX) {
        let mut cells = Vec::new();
        if several_jobs {
            cells.push(Cell::text(&comparison.title));
        }
        cells.push(Cell::text(label(comparison)));
        if several_contenders {
            cells.push(Cell::text(&comparison.contender));
        }
        cells.extend([
            verdict(comparison),
            gain(comparison),
            gain_interval(comparison),
            value(comparison.baseline_median, comparison.unit),
            value(comparison.contender_median, comparison.unit),
        ]);
        table.rows.push(cells);
    }
    table
}

/// Number of times that the contender is as good as its baseline; a difference in the unit of the
/// metric where there is no ratio.
fn gain(comparison: &MetricComparison) -> Cell {
    match (comparison.ratio, comparison.difference) {
        (Some(ratio), _) => turned(ratio.value, comparison.better).into(),
        (None, Some(difference)) => Cell::measured(difference.value, comparison.unit),
        (None, None) => Cell::Missing,
    }
}

fn gain_interval(comparison: &MetricComparison) -> Cell {
    if is_unbounded(comparison) {
        return Cell::text("unbounded");
    }
    match (shown_interval(comparison), comparison.ratio.is_some()) {
        (Some((low, high)), true) => {
            let ends = [low, high].map(|end| turned(end, comparison.better));
            let [low, high] = ends;
            if low.value <= high.value {
                Cell::between(low, high)
            } else {
                Cell::between(high, low)
            }
        }
        (Some((low, high)), false) => Cell::range(low, high, comparison.unit),
        (None, _) => Cell::Missing,
    }
}

/// Ratio of which more is better.
fn turned(ratio: f64, better: BetterDirection) -> Number {
    let value = match better {
        BetterDirection::Higher => ratio,
        BetterDirection::Lower => 1.0 / ratio,
    };
    Number { value, unit: String::new(), style: NumberStyle::Ratio }
}

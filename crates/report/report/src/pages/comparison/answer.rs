//! Answer of a comparison on one screen: a sentence for each contender, one table of all workloads
//! by contenders, the worst caution, and the commands for further details.

use treering_analysis::compare::{
    ComparisonCaution, ComparisonCautionCode, MetricComparison, Outcome, Verdict,
};
use treering_model::{Unit, counted};

use super::ComparisonView;
use super::series::JobSeries;
use super::tables::{
    better_heading, by_metric, interval, label, ratio, shown_rows, value, verdict,
};
use super::words::{emulated, hidden, sentences};
use super::{jobs, title};
use crate::{Block, Cell, Column, Report, Table, Warning};

/// Maximum number of rows; the whole page has all.
const ROWS_MAX: usize = 6;
/// Maximum number of notes about the selection of trials.
const NOTES_MAX: usize = 2;
/// Maximum number of contenders with a sentence; one more sentence covers the others.
const SENTENCES_MAX: usize = 3;
/// Maximum number of contenders that the sentence on the others names.
const NAMES_MAX: usize = 6;

/// Page of at most about fifteen lines.
pub(super) fn answer(outcome: &Outcome, view: &ComparisonView<'_>) -> Report {
    let mut page = Report::answer(title(outcome));
    for sentence in view.question.into_iter().chain(emulated(outcome)) {
        page.paragraph(sentence);
    }
    let sentences = leading_sentences(outcome);
    if !sentences.is_empty() {
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
        let contenders = outcome.contenders().count();
        page.table(match JobSeries::new(&jobs) {
            Some(series) => series.table(&rows, contenders),
            None => table(&rows, jobs.len() > 1, contenders > 1),
        });
    }
    if let Some(caution) = worst(outcome) {
        let others = outcome.cautions.iter().filter(|other| !std::ptr::eq(*other, caution));
        let warning = Warning {
            code: caution.code.name().to_owned(),
            message: caution.message.clone(),
            advice: String::new(),
        };
        let warning = warning.before_others(others.map(|other| other.code.name()));
        page.blocks.push(Block::Cautions { cautions: vec![warning] });
    }
    let purpose = "Everything (with charts: -o report.html in place of --full)";
    page.command(purpose, &format!("{} --full", view.command));
    page
}

/// Sentences on the contenders, those with a proven regression first; with many contenders a
/// sentence covers those without one of their own, and names all that are worse at something.
fn leading_sentences(outcome: &Outcome) -> Vec<String> {
    let is_worse = |contender: &str| {
        outcome.primary_of(contender).any(|comparison| comparison.verdict == Verdict::Worse)
    };
    let names = outcome.contenders().map(|(_, variant)| variant.name.as_str());
    let mut about: Vec<(&str, String)> = names.zip(sentences(outcome)).collect();
    about.sort_by_key(|(name, _)| !is_worse(name));
    let others = about.split_off(about.len().min(SENTENCES_MAX));
    let mut sentences: Vec<String> = about.into_iter().map(|(_, sentence)| sentence).collect();
    if !others.is_empty() {
        let worse: Vec<&str> =
            others.iter().map(|(name, _)| *name).filter(|name| is_worse(name)).collect();
        let named = match worse.len() {
            0 => "none of them proven worse".to_owned(),
            count if count > NAMES_MAX => {
                format!(
                    "{count} of them worse at something: {} and others",
                    worse[..NAMES_MAX].join(", ")
                )
            }
            count => format!("{count} of them worse at something: {}", worse.join(", ")),
        };
        sentences.push(format!("And {}, {named}.", counted(others.len(), "more contender")));
    }
    sentences
}

/// Caution to show: the reason why nothing was compared, if so; else the first one that stops the
/// gate, otherwise the first undeclared one.
fn worst(outcome: &Outcome) -> Option<&ComparisonCaution> {
    let open = || outcome.cautions.iter().filter(|caution| !caution.is_declared);
    let is_reason = |caution: &&ComparisonCaution| {
        outcome.comparisons.is_empty() && caution.code == ComparisonCautionCode::NothingInCommon
    };
    let stops = |caution: &&ComparisonCaution| caution.code.stops_gate();
    open().find(is_reason).or_else(|| open().find(stops)).or_else(|| open().next())
}

/// Table of primary metrics. Ratios are inverted where necessary, so that more than 1 is better.
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
    let (rows, caption) = shown_rows(rows, ROWS_MAX, |row| *row);
    columns.extend([
        Column::text("verdict"),
        Column::mixed(better_heading(rows.iter().copied())),
        Column::range("interval", Unit::Count),
        Column::mixed("base"),
        Column::mixed("new"),
    ]);
    let mut table = Table::new("answer", &caption, columns).with_keys(keys);
    for comparison in rows {
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
            ratio(comparison),
            interval(comparison),
            value(comparison.baseline_median, comparison.unit),
            value(comparison.contender_median, comparison.unit),
        ]);
        table.rows.push(cells);
    }
    table
}

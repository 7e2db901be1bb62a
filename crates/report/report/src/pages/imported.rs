//! Page of `treering import`: outputs found in logs, one row each, and unparsed parts.

use std::collections::{BTreeMap, BTreeSet};

use treering_analysis::{ImportedRun, TooFewRuns, too_few_runs};
use treering_model::{Caution, Ending, Trial, TrialHeader, counted, quoted};

use super::identity::utc;
use crate::table::RowField;
use crate::{Block, Cell, Column, Report, Table, Warning};

/// An output found in a log.
#[derive(Clone, Debug, PartialEq)]
pub struct ImportedRow {
    /// File and lines of the output.
    pub place: String,
    /// Tool that wrote the output.
    pub tool: String,
    /// True when the trial is in the store.
    pub is_kept: bool,
    /// Identity of the trial.
    pub beginning: TrialHeader,
    /// End of the trial.
    pub ending: Ending,
    /// Cautions of the trial.
    pub cautions: Vec<Caution>,
    /// Numbers of phases, tasks and metrics, in words.
    pub holds: String,
    /// Full names of the primary metrics.
    pub primary: BTreeSet<String>,
}

impl ImportedRow {
    /// Creates the row of a trial; `apart` holds the numbers of phases and metrics that are stored
    /// separately.
    pub fn new(
        place: String,
        tool: &str,
        is_kept: bool,
        trial: &Trial,
        apart: (usize, usize),
    ) -> Self {
        Self {
            place,
            tool: tool.to_owned(),
            is_kept,
            beginning: trial.beginning.clone(),
            ending: trial.ending.clone(),
            cautions: trial.cautions.clone(),
            holds: holds(trial, apart),
            primary: primary_of(trial),
        }
    }
}

/// Maximum number of outputs that are listed individually on a page that is not whole.
const ENTRIES_MAX: usize = 3;
/// Maximum number of labels that the next command compares.
const COMPARED_MAX: usize = 5;
/// Maximum number of rows of a page that is not whole.
const ROWS_MAX: usize = 5;
/// Maximum number of notes of a page that is not whole.
const NOTES_MAX: usize = 1;

/// Context of the page of an import.
#[derive(Clone, Copy, Debug, Default)]
pub struct ImportView<'v> {
    /// Remarks about the files.
    pub notes: &'v [String],
    /// True if nothing was stored.
    pub is_dry: bool,
    /// True to list every output individually, however many there are.
    pub is_whole: bool,
    /// Store named by the user; `None` for the default one.
    pub store: Option<&'v str>,
}

/// Page of the import: rows in file order, followed by notes and the next command. With many
/// outputs, a page that is not whole shows only their numbers for each label and tool.
pub fn page(rows: &[ImportedRow], view: &ImportView<'_>) -> Report {
    let ImportView { notes, is_dry, is_whole, store } = *view;
    let mut page = Report::answer("Import");
    let kept = rows.iter().filter(|row| row.is_kept).count();
    page.paragraph(match (is_dry, rows.len(), kept) {
        (true, 1, _) => "One output found; nothing was stored (--dry-run).".to_owned(),
        (true, count, _) => format!("{count} outputs found; nothing was stored (--dry-run)."),
        (false, 1, 1) => "One output found and stored.".to_owned(),
        (false, count, kept) if count == kept => {
            format!("{count} outputs found and stored.")
        }
        (false, count, 0) => {
            format!("{} found, already in the store.", counted(count, "output"))
        }
        (false, count, kept) => {
            format!("{count} outputs found; {kept} of them new and stored.")
        }
    });
    let table = if is_whole || rows.len() <= ENTRIES_MAX { entries(rows) } else { counts(rows) };
    let table_rows = table.rows.len();
    let (rows_max, notes_max) =
        if is_whole { (usize::MAX, usize::MAX) } else { (ROWS_MAX, NOTES_MAX) };
    page.table(table.cut_to(rows_max));
    let mut notes: Vec<String> = of_too_few_runs(rows).into_iter().chain(notes.to_vec()).collect();
    let left_out = [
        (table_rows.saturating_sub(rows_max), "more row"),
        (notes.len().saturating_sub(notes_max), "more note"),
    ];
    notes.truncate(notes_max);
    notes.into_iter().for_each(|note| page.note(note));
    page.blocks.extend(cautions(rows, is_whole));
    let left_out: Vec<String> = left_out
        .into_iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, what)| counted(count, what))
        .collect();
    if !left_out.is_empty() {
        page.note(format!("{} with --full", left_out.join(", ")));
    }
    if let Some((purpose, command)) = next_command(rows).filter(|_| !is_dry) {
        let store = store.map_or_else(String::new, |name| format!(" --store {}", quoted(name)));
        page.command(purpose, &format!("{command}{store}"));
    }
    page
}

/// Cautions of the outputs, each with its advice and the number of outputs that have it; a page
/// that is not whole has the first one, without its advice, and the codes of the others.
fn cautions(rows: &[ImportedRow], is_whole: bool) -> Option<Block> {
    let mut by_code: Vec<(&Caution, usize, bool)> = Vec::new();
    for caution in rows.iter().flat_map(|row| &row.cautions) {
        let is_same =
            |known: &Caution| known == caution || (!is_whole && known.code == caution.code);
        match by_code.iter_mut().find(|(known, ..)| is_same(known)) {
            Some((known, count, is_equal)) => {
                *count += 1;
                *is_equal &= *known == caution;
            }
            None => by_code.push((caution, 1, true)),
        }
    }
    let warning = |(caution, count, is_equal): (&Caution, usize, bool)| {
        let mut warning = Warning::from(caution);
        if count > 1 {
            let such = if is_equal { "" } else { ", for instance" };
            let (message, all) = (&warning.message, rows.len());
            warning.message = format!("{count} of {all} outputs{such}: {message}");
        }
        warning
    };
    let mut warnings = by_code.into_iter().map(warning);
    let first = warnings.next()?;
    let others: Vec<Warning> = warnings.collect();
    let cautions = if is_whole {
        std::iter::once(first).chain(others).collect()
    } else {
        vec![first.before_others(others.iter().map(|other| other.code.as_str()))]
    };
    Some(Block::Cautions { cautions })
}

/// Table with an entry for each output.
fn entries(rows: &[ImportedRow]) -> Table {
    let row = |row: &ImportedRow| {
        let beginning = &row.beginning;
        let trial = if row.is_kept { beginning.trial.text() } else { String::new() };
        vec![
            RowField::new(Column::long_text("where"), Cell::text(&row.place)),
            RowField::text("tool", &row.tool),
            RowField::new(Column::long_text("label"), Cell::some_text(&beginning.label)),
            RowField::new(Column::text("trial"), Cell::some_text(&trial)),
            RowField::text("started (UTC)", utc(beginning.started_unix_ms)),
            RowField::text("ended", row.ending.name()),
            RowField::new(Column::long_text("holds"), Cell::text(&row.holds)),
        ]
    };
    Table::from_rows("imported", "", rows.iter().map(row))
}

/// Table that counts the outputs, jobs and runs of each label and tool.
fn counts(rows: &[ImportedRow]) -> Table {
    let mut groups: Vec<Vec<&ImportedRow>> = Vec::new();
    for row in rows {
        let key = |row: &ImportedRow| (row.beginning.label.clone(), row.tool.clone());
        match groups.iter_mut().find(|group| key(group[0]) == key(row)) {
            Some(group) => group.push(row),
            None => groups.push(vec![row]),
        }
    }
    let row = |group: Vec<&ImportedRow>| {
        let mut jobs: BTreeMap<_, u64> = BTreeMap::new();
        for row in &group {
            *jobs.entry(&row.beginning.parameters).or_default() += 1;
        }
        let (least, most) = (jobs.values().min().copied(), jobs.values().max().copied());
        let runs = match (least.unwrap_or(0), most.unwrap_or(0)) {
            (least, most) if least == most => least.to_string(),
            (least, most) => format!("{least} to {most}"),
        };
        let others = group.iter().filter(|row| row.ending != Ending::Completed).count();
        let not_completed = (others > 0).then_some(others as u64);
        vec![
            RowField::new(Column::long_text("label"), Cell::some_text(&group[0].beginning.label)),
            RowField::text("tool", &group[0].tool),
            RowField::count("outputs", group.len() as u64),
            RowField::count("jobs", jobs.len() as u64),
            RowField::new(Column::text("runs of each job").aligned_right(), Cell::text(runs)),
            RowField::count("not completed", not_completed),
        ]
    };
    Table::from_rows("imported", "", groups.into_iter().map(row))
}

/// Usual next command with its purpose: comparing the labels that have outputs of the same tool, or
/// looking at the trials.
fn next_command(rows: &[ImportedRow]) -> Option<(&'static str, String)> {
    let first = rows.iter().find(|row| row.is_kept)?;
    let mut labels: Vec<&str> = Vec::new();
    for row in rows.iter().filter(|row| row.tool == first.tool && row.is_kept) {
        if !labels.contains(&row.beginning.label.as_str()) {
            labels.push(&row.beginning.label);
        }
    }
    if labels.len() > COMPARED_MAX {
        return Some(("To look at them in time", "treering history --by label".to_owned()));
    }
    if labels.len() < 2 || labels.contains(&"") {
        return Some(match rows {
            [_] => ("To look at it", format!("treering show {}", first.beginning.trial.text())),
            _ => ("To look at them", "treering list".to_owned()),
        });
    }
    let contenders = labels[1..].iter().map(|label| format!(" --contender {}", quoted(label)));
    let contenders: String = contenders.collect();
    let baseline = quoted(labels[0]);
    Some(("To compare them", format!("treering report --baseline {baseline}{contenders}")))
}

fn primary_of(trial: &Trial) -> BTreeSet<String> {
    let primary = trial.metrics.iter().filter(|metric| metric.primary);
    primary.map(|metric| metric.scope.metric_name(&metric.name)).collect()
}

/// Notes on labels with several runs, but too few for any of their results to become significant.
fn of_too_few_runs(rows: &[ImportedRow]) -> Vec<String> {
    let runs = rows.iter().map(|row| ImportedRun {
        beginning: &row.beginning,
        ending: &row.ending,
        primary: &row.primary,
    });
    // Labels with the same numbers have one note together.
    let mut notes: Vec<(Vec<String>, String)> = Vec::new();
    for TooFewRuns { label, runs, results, fewest } in too_few_runs(runs) {
        let text = format!(
            "{} of each job; the {results} results that decide are compared together, and \
             {fewest} runs are the fewest that can show a difference of any.",
            counted(runs, "run")
        );
        match notes.iter_mut().find(|(_, known)| *known == text) {
            Some((labels, _)) => labels.push(format!("'{label}'")),
            None => notes.push((vec![format!("'{label}'")], text)),
        }
    }
    notes.into_iter().map(|(labels, text)| format!("{}: {text}", labels.join(", "))).collect()
}

/// Describes the contents of a trial.
fn holds(trial: &Trial, (phases, metrics): (usize, usize)) -> String {
    let count = |number: usize, word: &str| match number {
        0 => None,
        1 => Some(format!("1 {word}")),
        number => Some(format!("{number} {word}s")),
    };
    let parts = [
        count(trial.phases.len() + phases, "phase"),
        count(trial.tasks.len(), "task"),
        count(trial.metrics.len() + metrics, "metric"),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use treering_model::{BetterDirection, Metric, RunMode, Scope, TrialId, Unit};

    use super::{
        Ending, ImportView, ImportedRow, Trial, TrialHeader, next_command, of_too_few_runs, page,
    };

    /// A run of fs_mark with this number of threads.
    fn row(threads: &str) -> ImportedRow {
        let scope = Scope::Kind("create".to_owned());
        let (unit, better) = (Unit::FilesPerSecond, BetterDirection::Higher);
        let metric = Metric::new("files_per_second", scope, 100.0, unit, better);
        let trial = Trial {
            metrics: vec![metric.primary_if(true)],
            ending: Ending::Completed,
            ..Trial::new(TrialHeader {
                label: "base".to_owned(),
                parameters: vec![("threads".to_owned(), threads.to_owned())],
                ..TrialHeader::new(TrialId::new(), "fs_mark", RunMode::Classic)
            })
        };
        ImportedRow::new(String::new(), "fs_mark", true, &trial, (0, 0))
    }

    #[test]
    fn labels_with_too_few_runs_are_named_with_the_fewest_that_are_enough() {
        let rows: Vec<ImportedRow> = ["1", "16"].repeat(6).into_iter().map(row).collect();
        let notes = of_too_few_runs(&rows);
        assert_eq!(notes.len(), 1);
        assert!(notes[0].starts_with("'base': 6 runs of each job; the 2 results"), "{notes:?}");
        assert!(notes[0].contains("and 7 runs are the fewest"), "{notes:?}");
    }

    #[test]
    fn many_outputs_are_counted_by_label_and_the_labels_are_compared_next() {
        let of = |label: &str, threads: &str| {
            let mut row = row(threads);
            row.beginning.label = label.to_owned();
            row
        };
        let [old, new] = ["6.1 old", "new"];
        let rows = [of(old, "1"), of(old, "1"), of(old, "8"), of(new, "1"), of(new, "8")];
        let page = page(&rows, &ImportView { store: Some("a b"), ..ImportView::default() });
        let text = format!("{:?}", page.blocks);
        assert!(text.contains("--contender new --store 'a b'"), "{text}");
        assert!(text.contains("1 to 2"), "runs of each job: {text}");
        let (_, command) = next_command(&rows).unwrap();
        assert_eq!(command, "treering report --baseline '6.1 old' --contender new");
        let (_, command) = next_command(&rows[..1]).unwrap();
        assert!(command.starts_with("treering show "), "{command}");
        assert_eq!(next_command(&rows[..2]).unwrap().1, "treering list");
    }
}

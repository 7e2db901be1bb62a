//! Pages of `treering dataset`: a list, and a single data set with its figures.

use treering_model::{
    DatasetReport, ListCount, ListDifference, SizeQuantiles, TreeStateReport, Unit,
};

use crate::table::RowField;
use crate::{Report, Table};

/// A data set in the list.
pub struct ListedDataset {
    /// Name of the data set.
    pub name: String,
    /// Location of the files.
    pub place: String,
    /// Counts for each state (clean, patched, compiled, patched and compiled), or the error that
    /// prevents reading them.
    pub states: Result<[ListCount; 4], String>,
}

/// Page with the sizes of each data set and state.
pub fn list(datasets: &[ListedDataset]) -> Report {
    let mut page = Report::new("Data sets");
    let row = |ListedDataset { name, place, states }: &ListedDataset| {
        let bytes_of = |state: usize| states.as_ref().ok().map(|states| states[state].bytes);
        let found = match states {
            Ok(_) => place.clone(),
            Err(why) => format!("{place}: {why}"),
        };
        vec![
            RowField::text("name", name),
            RowField::count("clean files", states.as_ref().ok().map(|states| states[0].files)),
            RowField::bytes("clean", bytes_of(0)),
            RowField::bytes("patched", bytes_of(1)),
            RowField::bytes("compiled", bytes_of(2)),
            RowField::bytes("patched-compiled", bytes_of(3)),
            RowField::long_text("where", found),
        ]
    };
    page.table(Table::from_rows("datasets", "", datasets.iter().map(row)));
    page.note("`treering dataset show NAME` shows one; `treering dataset record` makes your own.");
    page
}

/// Page about a single data set.
pub fn show(report: &DatasetReport) -> Report {
    let mut page = Report::new(format!("Data set {}", report.name));
    if !report.about.is_empty() {
        page.paragraph(&report.about);
    }
    page.table(states(report));
    page.table(changes(report));
    page.table(sizes(&report.states[0]));
    page.table(largest(&report.states));
    page
}

fn states(report: &DatasetReport) -> Table {
    let row = |state: &TreeStateReport| {
        let size = |name, of: fn(&SizeQuantiles) -> u64| {
            let bytes = state.sizes.as_ref().map(|sizes| of(sizes) as f64);
            RowField::number(name, Unit::Bytes, bytes)
        };
        vec![
            RowField::text("state", state.state),
            RowField::count("files", state.count.files),
            RowField::number("size", Unit::Bytes, state.count.bytes as f64),
            RowField::count("directories", state.directories),
            RowField::count("links", state.links),
            RowField::count("empty files", state.empty_files),
            RowField::count("depth", state.depth as u64),
            size("median", |sizes| sizes.p50_bytes),
            size("99 %", |sizes| sizes.p99_bytes),
            size("largest", |sizes| sizes.max_bytes),
        ]
    };
    Table::from_rows("states", "The tree in its four states", report.states.iter().map(row))
}

fn changes(report: &DatasetReport) -> Table {
    let mut rows = Vec::new();
    let mut row = |what: &str, count: ListCount| {
        rows.push(vec![
            RowField::text("change", what),
            RowField::count("files", count.files),
            RowField::bytes("size", count.bytes),
        ]);
    };
    let mut difference = |name: &str, difference: &ListDifference| {
        row(&format!("{name}: changed"), difference.changed);
        row(&format!("{name}: new"), difference.new);
        row(&format!("{name}: removed"), difference.removed);
    };
    difference("patch", &report.patch);
    difference("products of the patched tree", &report.recompile);
    row("products of the clean tree", report.products);
    row("products of the patched tree", report.patched_products);
    Table::from_rows("changes", "What a patch and a build change", rows)
}

fn sizes(clean: &TreeStateReport) -> Table {
    let rows = clean.histogram.iter().map(|bucket| {
        vec![
            RowField::bytes("from", bucket.from_bytes),
            RowField::count("files", bucket.count.files),
            RowField::bytes("size", bucket.count.bytes),
        ]
    });
    Table::from_rows("sizes", "Files of the clean tree by size", rows)
}

fn largest(states: &[TreeStateReport]) -> Table {
    let rows = states.iter().flat_map(|state| {
        state.largest.iter().take(3).map(|file| {
            vec![
                RowField::text("state", state.state),
                RowField::long_text("file", &file.path),
                RowField::bytes("size", file.bytes),
            ]
        })
    });
    Table::from_rows("largest", "The largest files", rows)
}

//! Pages of `treering dataset`: a list, and a single data set with its figures.

use treering_model::{
    DatasetReport, ListCount, ListDifference, SizeQuantiles, TreeStateReport, Unit,
};

use crate::table::RowField;
use crate::{Cell, Column, Report, Table};

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
    let columns = vec![
        Column::text("name"),
        Column::count("clean files"),
        Column::number("clean", Unit::Bytes),
        Column::number("patched", Unit::Bytes),
        Column::number("compiled", Unit::Bytes),
        Column::number("patched-compiled", Unit::Bytes),
        Column::long_text("where"),
    ];
    let mut table = Table::new("datasets", "", columns);
    for ListedDataset { name, place, states } in datasets {
        let mut row = vec![Cell::text(name)];
        match states {
            Ok(states) => {
                row.push(Cell::whole(states[0].files));
                row.extend(states.map(|state| bytes(state.bytes)));
                row.push(Cell::text(place));
            }
            Err(why) => {
                row.extend([const { Cell::Missing }; 5]);
                row.push(Cell::text(format!("{place}: {why}")));
            }
        }
        table.rows.push(row);
    }
    page.table(table);
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

fn bytes(count: u64) -> Cell {
    Cell::measured(count as f64, Unit::Bytes)
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
    let columns =
        vec![Column::text("change"), Column::count("files"), Column::number("size", Unit::Bytes)];
    let mut table = Table::new("changes", "What a patch and a build change", columns);
    let mut row = |what: &str, count: ListCount| {
        table.rows.push(vec![Cell::text(what), Cell::whole(count.files), bytes(count.bytes)]);
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
    table
}

fn sizes(clean: &TreeStateReport) -> Table {
    let columns = vec![
        Column::number("from", Unit::Bytes),
        Column::count("files"),
        Column::number("size", Unit::Bytes),
    ];
    let mut table = Table::new("sizes", "Files of the clean tree by size", columns);
    for bucket in &clean.histogram {
        table.rows.push(vec![
            bytes(bucket.from_bytes),
            Cell::whole(bucket.count.files),
            bytes(bucket.count.bytes),
        ]);
    }
    table
}

fn largest(states: &[TreeStateReport]) -> Table {
    let columns =
        vec![Column::text("state"), Column::long_text("file"), Column::number("size", Unit::Bytes)];
    let mut table = Table::new("largest", "The largest files", columns);
    for state in states {
        for file in state.largest.iter().take(3) {
            let label = Cell::text(state.state);
            table.rows.push(vec![label, Cell::text(&file.path), bytes(file.bytes)]);
        }
    }
    table
}

//! Page about the file of a store: its size and the trials in it.

use treering_model::Unit;

use crate::table::RowField;
use crate::{Cell, Report, Table};

/// Facts about a store.
pub struct StoreFacts {
    /// Path of the file.
    pub path: String,
    /// Version of its format.
    pub version: String,
    /// Size in bytes.
    pub bytes: u64,
    /// Number of unused bytes in the file.
    pub unused_bytes: u64,
    /// Number of trials.
    pub trials: usize,
    /// Number of interrupted trials.
    pub interrupted: usize,
    /// Number of running trials.
    pub running: usize,
}

/// Page about a store.
pub fn page(store: &StoreFacts) -> Report {
    let size = |bytes: u64| Cell::measured(bytes as f64, Unit::Bytes);
    let count = |count: usize| Cell::whole(count as u64);
    let rows = [
        ("file", Cell::text(&store.path)),
        ("format", Cell::text(&store.version)),
        ("size", size(store.bytes)),
        ("unused", size(store.unused_bytes)),
        ("trials", count(store.trials)),
        ("interrupted", count(store.interrupted)),
        ("running", count(store.running)),
    ];
    let row = |(what, value)| vec![RowField::text("what", what), RowField::mixed("value", value)];
    let mut page = Report::new("The store");
    page.table(Table::from_rows("store", "", rows.into_iter().map(row)));
    page
}

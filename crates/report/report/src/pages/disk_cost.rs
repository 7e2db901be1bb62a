//! Estimated cost of traces on modelled disks.

use treering_model::Unit;
use treering_trace::DiskCost;

use crate::table::RowField;
use crate::{Cell, Column, Report, Table};

/// A trace replayed on a modelled disk.
#[derive(Clone, Debug, PartialEq)]
pub struct CostedTrace {
    /// File name of the trace.
    pub trace: String,
    /// Name of the disk, as given.
    pub disk: String,
    /// Estimated cost for each device of the trace.
    pub costs: Vec<DiskCost>,
}

/// Page of the costs; `disks` holds the names of the disks with their descriptions.
pub fn page(costed: &[CostedTrace], disks: &[(String, String)]) -> Report {
    let mut page = Report::new("Traces on a modelled disk");
    for (name, about) in disks {
        page.paragraph(format!("{name}: {about}."));
    }
    page.table(table(costed));
    let beyond: u64 = costed.iter().flat_map(|trace| &trace.costs).map(|cost| cost.beyond).sum();
    if beyond > 0 {
        page.note(format!(
            "{beyond} requests lie beyond the end of the modelled disk and count as at its end."
        ));
    }
    page.note(
        "Busy is the time for which the disk would have requests, with an interval from the \
         uncertainty of its numbers. Each device of a trace is a disk of its own, from its first \
         byte on. The time without requests (idle) is the same on any disk: a program that waits \
         for the disk takes both.",
    );
    page
}

fn table(costed: &[CostedTrace]) -> Table {
    let seconds = |name: &str, value: f64| RowField::number(name, Unit::Seconds, value);
    let rows = costed.iter().flat_map(|CostedTrace { trace, disk, costs }| {
        costs.iter().map(move |cost| {
            let interval = Cell::range(cost.busy.low, cost.busy.high, Unit::Seconds);
            vec![
                RowField::text("trace", trace),
                RowField::text("device", &cost.device),
                RowField::text("disk", disk),
                RowField::count("requests", cost.requests),
                RowField::bytes("moved", cost.bytes),
                seconds("busy", cost.busy.typical),
                RowField::new(Column::range("low–high", Unit::Seconds), interval),
                seconds("seeks", cost.seek_seconds),
                seconds("rotation", cost.rotation_seconds),
                seconds("transfer", cost.transfer_seconds),
                seconds("busy as recorded", cost.recorded_busy_seconds),
                seconds("idle", cost.idle_seconds),
            ]
        })
    });
    Table::from_rows("disk_costs", "Time of the requests of each trace on each disk.", rows)
}

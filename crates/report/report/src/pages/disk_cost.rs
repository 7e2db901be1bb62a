//! Estimated cost of traces on modelled disks.

use treering_model::Unit;
use treering_trace::DiskCost;

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
    let seconds = |name: &str| Column::number(name, Unit::Seconds);
    let columns = vec![
        Column::text("trace"),
        Column::text("device"),
        Column::text("disk"),
        Column::count("requests"),
        Column::number("moved", Unit::Bytes),
        seconds("busy"),
        Column::range("low–high", Unit::Seconds),
        seconds("seeks"),
        seconds("rotation"),
        seconds("transfer"),
        seconds("busy as recorded"),
        seconds("idle"),
    ];
    let caption = "Time of the requests of each trace on each disk.";
    let mut table = Table::new("disk_costs", caption, columns);
    for CostedTrace { trace, disk, costs } in costed {
        for cost in costs {
            let time = |value: f64| Cell::measured(value, Unit::Seconds);
            table.rows.push(vec![
                Cell::text(trace),
                Cell::text(&cost.device),
                Cell::text(disk),
                Cell::whole(cost.requests),
                Cell::measured(cost.bytes as f64, Unit::Bytes),
                time(cost.busy.typical),
                Cell::range(cost.busy.low, cost.busy.high, Unit::Seconds),
                time(cost.seek_seconds),
                time(cost.rotation_seconds),
                time(cost.transfer_seconds),
                time(cost.recorded_busy_seconds),
                time(cost.idle_seconds),
            ]);
        }
    }
    table
}

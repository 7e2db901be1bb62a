//! Pages about the lab: leftover resources, and filesystems that it can create.

use treering_model::PlayedCounts;

use crate::table::RowField;
use crate::{Report, Table};

/// Page with the leftover resources and their owners.
pub fn leftovers(rows: Vec<[String; 2]>) -> Report {
    let mut page = Report::new("The lab");
    if rows.is_empty() {
        page.paragraph("Nothing made by treering is left.");
        return page;
    }
    let row = |[what, whose]: [String; 2]| {
        vec![RowField::long_text("what", what), RowField::text("whose", whose)]
    };
    page.table(Table::from_rows("lab", "", rows.into_iter().map(row)));
    page.note("`treering lab release` releases what dead runs left behind.");
    page
}

/// Page with the filesystems that can be created, each with its version or the reason why it cannot
/// be created.
pub fn filesystems(rows: Vec<(&'static str, Result<String, String>)>) -> Report {
    let mut page = Report::new("Filesystems");
    let row = |(name, version): (&str, Result<String, String>)| {
        let (here, how) = match version {
            Ok(version) => ("yes", version),
            Err(how) => ("no", how),
        };
        vec![
            RowField::text("filesystem", name),
            RowField::text("here", here),
            RowField::long_text("with, or how", how),
        ]
    };
    page.table(Table::from_rows("filesystems", "", rows.into_iter().map(row)));
    page
}

/// Lines about a disk that was played: the time of its parts, and the lateness of its answers.
pub fn played_lines(counts: &PlayedCounts) -> [String; 2] {
    let seconds = |ns: u64| ns as f64 / 1e9;
    let late_us = |share| counts.late_ns_at(share).unwrap_or(0) as f64 / 1e3;
    [
        format!(
            "{} requests in {:.3} s of the disk (seeks {:.3} s, rotation {:.3} s, \
             transfer {:.3} s)",
            counts.requests,
            seconds(counts.busy_ns),
            seconds(counts.seek_ns),
            seconds(counts.rotation_ns),
            seconds(counts.transfer_ns),
        ),
        format!(
            "answers late by {:.0} µs (median), {:.0} µs (99 %), {:.2} % of that time; {:.2} s of \
             CPU",
            late_us(0.5),
            late_us(0.99),
            counts.late_share() * 100.0,
            seconds(counts.cpu_ns),
        ),
    ]
}

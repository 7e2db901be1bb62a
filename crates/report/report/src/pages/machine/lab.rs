//! Pages about the lab: leftover resources, and filesystems that it can create.

use crate::{Cell, Column, Report, Table};

/// Page with the leftover resources and their owners.
pub fn leftovers(rows: Vec<[String; 2]>) -> Report {
    let mut page = Report::new("The lab");
    if rows.is_empty() {
        page.paragraph("Nothing made by treering is left.");
        return page;
    }
    let columns = vec![Column::long_text("what"), Column::text("whose")];
    let mut table = Table::new("lab", "", columns);
    table.rows.extend(rows.into_iter().map(|row| row.map(Cell::text).to_vec()));
    page.table(table);
    page.note("`treering lab release` releases what dead runs left behind.");
    page
}

/// Page with the filesystems that can be created, each with its version or the reason why it cannot
/// be created.
pub fn filesystems(rows: Vec<(&'static str, Result<String, String>)>) -> Report {
    let mut page = Report::new("Filesystems");
    let columns =
        vec![Column::text("filesystem"), Column::text("here"), Column::long_text("with, or how")];
    let mut table = Table::new("filesystems", "", columns);
    for (name, version) in rows {
        let (here, how) = match version {
            Ok(version) => ("yes", version),
            Err(how) => ("no", how),
        };
        table.rows.push(vec![Cell::text(name), Cell::text(here), Cell::text(how)]);
    }
    page.table(table);
    page
}

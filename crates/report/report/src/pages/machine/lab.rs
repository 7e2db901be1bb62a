//! Pages about the lab: leftover resources, and filesystems that it can create.

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

//! Tests of pages, formats and exports, in one binary.
//!
//! `fixture` builds the trials; `goldens` compares every page in every format with golden files,
//! and `comparison` does so for comparisons; `hostile` supplies hostile texts; `html` checks the
//! contents of HTML, and `charts` the drawings; `mail` checks the 72 columns of plain text;
//! `overview` checks the head of a comparison page, `scaling` the page of a sweep over ranks;
//! `exports` reads every export back; `pictures` checks the rules of all pictures.

#![expect(clippy::unwrap_used, reason = "in a test the panic is the message")]

mod charts;
mod comparison;
mod exports;
mod fixture;
mod goldens;
mod hostile;
mod html;
mod layout;
mod mail;
mod observed;
mod overview;
mod pictures;
mod scaling;

use treering_report::{Format, Report};

/// Renders the page in a format, as text, without places where a long word may be broken.
fn rendered(report: &Report, format: &dyn Format) -> String {
    let mut bytes = Vec::new();
    format.render(report, &mut bytes).unwrap();
    String::from_utf8(bytes).unwrap().replace("<wbr>", "")
}

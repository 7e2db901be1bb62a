//! Tests of pages, formats and exports, in one binary.
//!
//! `fixture` makes the trials; `goldens` fixes every page in every format; `hostile` feeds text
//! that wants to do harm; `comparison` does for comparisons what they do; `html` holds the HTML to
//! what it must say; `charts` does so for what is drawn; `mail` holds the plain format to its 72
//! columns; `overview` says what a comparison must say first, `scaling` what a sweep over ranks
//! must; `exports` reads every export back.

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
mod scaling;

use treering_report::{Format, Report};

/// Renders the page in a format, as text.
fn rendered(report: &Report, format: &dyn Format) -> String {
    let mut bytes = Vec::new();
    format.render(report, &mut bytes).unwrap();
    String::from_utf8(bytes).unwrap()
}

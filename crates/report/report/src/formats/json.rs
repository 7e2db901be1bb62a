//! The document as JSON: `{"treering_report": {"version": 1}, "title": …, "blocks": […]}`.
//!
//! Numbers are exact values with their units. Blocks are serialised [`crate::Block`] values, with
//! the kind in `block`.

use std::io;

use serde::Serialize;

use crate::document::REPORT_VERSION;
use crate::{Block, Format, Report, json};

/// JSON format of whole pages, for programs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Json;

#[derive(Serialize)]
struct ReportDocument<'r> {
    treering_report: json::Version,
    title: &'r str,
    blocks: &'r [Block],
}

impl Format for Json {
    fn name(&self) -> &'static str {
        "json"
    }

    fn render(&self, report: &Report, out: &mut dyn io::Write) -> io::Result<()> {
        let document = ReportDocument {
            treering_report: json::Version { version: REPORT_VERSION },
            title: &report.title,
            blocks: &report.blocks,
        };
        json::write_line(&document, out)
    }
}

//! treering's own trials, as it exports them: JSON whole, lines of events, CSV in part.

mod csv;
mod json;

use crate::log::Log;
use crate::{Importer, Reading};

/// Reads what treering exports.
pub(crate) struct Own;

impl Importer for Own {
    fn tool(&self) -> &'static str {
        "treering"
    }

    fn begins(&self, log: &Log<'_>, at: usize) -> bool {
        json::begins_export(log, at)
            || json::begins_events(log, at)
            || csv::table(log, at).is_some()
    }

    fn read(&self, log: &mut Log<'_>, at: usize) -> Reading {
        if json::begins_export(log, at) {
            json::export(log, at)
        } else if json::begins_events(log, at) {
            json::events(log, at)
        } else {
            csv::read(log, at)
        }
    }
}

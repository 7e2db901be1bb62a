//! Import of treering's own exports: JSON completely, event lines, CSV in part.

mod csv;
mod json;

use treering_kit::Tool;
use treering_kit::import::known_text::{KnownText, LeftOutNumbers};
use treering_kit::import::log::Log;
use treering_kit::import::{Importer, ParsedOutputs, TrialConsumer, collected, pass_on};

/// Entry of treering itself in the tool registry.
pub(crate) const TOOL: Tool = Tool { workload: None, importer: Some(&ExportImporter) };

/// Importer of treering's exports.
pub(crate) struct ExportImporter;

/// Numbers that are not stored, with the reason.
const KNOWN_TEXT: [KnownText; 1] = [KnownText {
    line: "",
    numbers: LeftOutNumbers::All,
    why: "an export is read completely, or refused",
}];

impl Importer for ExportImporter {
    fn tool(&self) -> &'static str {
        "treering"
    }

    fn known_text(&self) -> &'static [KnownText] {
        &KNOWN_TEXT
    }

    fn begins(&self, log: &Log<'_>, at: usize) -> bool {
        json::begins_export(log, at)
            || json::begins_events(log, at)
            || csv::table(log, at).is_some()
    }

    fn read(&self, log: &mut Log<'_>, at: usize) -> ParsedOutputs {
        if json::begins_export(log, at) {
            collected(|hand_on| json::export(log, at, hand_on))
        } else if json::begins_events(log, at) {
            json::events(log, at)
        } else {
            csv::read(log, at)
        }
    }

    fn read_each(
        &self,
        log: &mut Log<'_>,
        at: usize,
        hand_on: &mut TrialConsumer<'_>,
    ) -> ParsedOutputs {
        if json::begins_export(log, at) {
            return json::export(log, at, hand_on);
        }
        pass_on(self.read(log, at), hand_on)
    }
}

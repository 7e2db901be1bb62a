//! Errors and warnings about a load file: `FILE:LINE:COLUMN: what is wrong`.

use std::fmt::Display;

use treering_script::ConfigError;

/// Warnings beyond these are only counted.
const WARNINGS_MAX: usize = 20;
/// Characters of a text that a message shows.
const SHOWN_MAX: usize = 60;

/// A place in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    /// From 1.
    pub(super) line: u32,
    /// The byte in the line, from 1.
    pub(super) column: u32,
}

impl Place {
    /// Where the file begins: for what is missing in all of it.
    pub(super) const START: Self = Self { line: 1, column: 1 };
}

/// A text as messages show it: no control characters, and not endless.
pub(super) fn shown(text: &[u8]) -> String {
    let text = String::from_utf8_lossy(text);
    match text.char_indices().nth(SHOWN_MAX) {
        Some((end, _)) => format!("{}...", text[..end].escape_debug()),
        None => text.escape_debug().to_string(),
    }
}

/// Makes errors and keeps warnings.
pub(super) struct Messages {
    file: String,
    warnings: Vec<String>,
    not_kept: usize,
}

impl Messages {
    /// Those about this file.
    pub(super) fn new(file: &str) -> Self {
        Self { file: shown(file.as_bytes()), warnings: Vec::new(), not_kept: 0 }
    }

    fn at(&self, place: Place, what: impl Display) -> String {
        format!("{}:{}:{}: {what}", self.file, place.line, place.column)
    }

    /// An error, and what would be right.
    pub(super) fn error(&self, place: Place, what: impl Display, right: &str) -> ConfigError {
        ConfigError::new(self.at(place, what)).hint(right)
    }

    /// Keeps a warning.
    pub(super) fn warn(&mut self, place: Place, what: impl Display) {
        if self.warnings.len() < WARNINGS_MAX {
            let text = self.at(place, what);
            self.warnings.push(text);
        } else {
            self.not_kept += 1;
        }
    }

    /// The warnings in the order of their places.
    pub(super) fn into_warnings(mut self) -> Vec<String> {
        if self.not_kept > 0 {
            self.warnings.push(format!("{}: {} more warnings", self.file, self.not_kept));
        }
        self.warnings
    }
}

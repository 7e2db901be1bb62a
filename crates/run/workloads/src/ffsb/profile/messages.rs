//! Errors and warnings about a profile: `FILE:LINE:COLUMN: what is wrong`.

use std::fmt::Display;

use treering_script::ConfigError;

/// Warnings beyond these are only counted.
const WARNINGS_MAX: usize = 100;
/// Characters of a text that a message shows.
const SHOWN_MAX: usize = 60;

/// A place in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place {
    /// From 1.
    pub(super) line: usize,
    /// The byte in the line, from 1.
    pub(super) column: usize,
}

impl Place {
    /// Where the file begins: for what is missing in all of it.
    pub(super) const START: Self = Self { line: 1, column: 1 };
}

/// A text as messages show it: control characters escaped, and not endless.
pub(super) fn shown(text: &str) -> String {
    match text.char_indices().nth(SHOWN_MAX) {
        Some((end, _)) => format!("{}...", text[..end].escape_debug()),
        None => text.escape_debug().to_string(),
    }
}

/// Makes errors and keeps warnings.
pub(super) struct Messages {
    file: String,
    warnings: Vec<(Place, String)>,
    not_kept: usize,
}

impl Messages {
    /// Those about this file.
    pub(super) fn new(file: &str) -> Self {
        Self { file: file.escape_debug().to_string(), warnings: Vec::new(), not_kept: 0 }
    }

    fn at(&self, place: Place, what: impl Display) -> String {
        format!("{}:{}:{}: {what}", self.file, place.line, place.column)
    }

    /// An error; what would be right is added with `hint`.
    pub(super) fn error(&self, place: Place, what: impl Display) -> ConfigError {
        ConfigError::new(self.at(place, what))
    }

    /// Keeps a warning.
    pub(super) fn warn(&mut self, place: Place, what: impl Display) {
        if self.warnings.len() < WARNINGS_MAX {
            let text = self.at(place, what);
            self.warnings.push((place, text));
        } else {
            self.not_kept += 1;
        }
    }

    /// The warnings in the order of their places.
    pub(super) fn into_warnings(mut self) -> Vec<String> {
        self.warnings.sort_by_key(|(place, _)| *place);
        let mut texts: Vec<String> = self.warnings.into_iter().map(|(_, text)| text).collect();
        if self.not_kept > 0 {
            texts.push(format!("{}: {} more warnings", self.file, self.not_kept));
        }
        texts
    }
}

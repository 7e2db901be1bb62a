//! Errors about job files: `FILE:LINE:COLUMN: what is wrong`.

use std::fmt::Display;

use treering_script::ConfigError;

pub(super) use crate::messages::shown;

/// A place in one of the files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place {
    /// Which file: the first is the job file itself.
    pub(super) file: usize,
    /// From 1.
    pub(super) line: usize,
    /// The byte in the line, from 1.
    pub(super) column: usize,
}

/// Makes errors.
#[derive(Clone, Debug, Default)]
pub(super) struct Messages {
    files: Vec<String>,
}

impl Messages {
    /// Takes one more file: its number.
    pub(super) fn file(&mut self, name: &str) -> usize {
        self.files.push(shown(name));
        self.files.len() - 1
    }

    /// How many there are.
    pub(super) fn files(&self) -> usize {
        self.files.len()
    }

    /// An error; what would be right is added with `hint`.
    pub(super) fn error(&self, place: Place, what: impl Display) -> ConfigError {
        let file = self.files.get(place.file).map_or("", String::as_str);
        ConfigError::new(format!("{file}:{}:{}: {what}", place.line, place.column))
    }
}

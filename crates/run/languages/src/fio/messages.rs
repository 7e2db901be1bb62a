//! Errors about job files, each with its line and a caret below it.

use std::fmt::Display;

use crate::faults::{self, Faults};
use treering_script::ConfigError;

pub(super) use crate::faults::shown;

/// A place in one of the files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place {
    /// Which file: the first is the job file itself.
    pub(super) file: usize,
    /// From 1.
    pub(super) line: usize,
    /// The byte in the line, from 1; 0 where the whole file is meant.
    pub(super) column: usize,
}

/// Errors as one: each with its line and what would be right.
pub(super) fn all(errors: Vec<ConfigError>) -> ConfigError {
    faults::together(errors, 0)
}

/// Makes errors.
#[derive(Clone, Debug, Default)]
pub(super) struct Messages {
    faults: Faults<'static>,
}

impl Messages {
    /// Takes one more file with its text: its number.
    pub(super) fn file(&mut self, name: &str, text: &[u8]) -> usize {
        self.faults.add_file(name, text.to_vec()) as usize
    }

    /// How many there are.
    pub(super) fn files(&self) -> usize {
        self.faults.files()
    }

    /// An error; what would be right is added with `hint`.
    pub(super) fn error(&self, place: Place, what: impl Display) -> ConfigError {
        let narrow = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
        let place = faults::Place {
            file: narrow(place.file),
            line: narrow(place.line),
            column: narrow(place.column),
        };
        self.faults.with_line(&self.faults.error(place, what))
    }
}

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

/// More errors than these are only counted.
const SHOWN_MAX: usize = 20;

/// Errors as one: a line each, those after the first with what would be right.
pub(super) fn all(errors: Vec<ConfigError>) -> ConfigError {
    let count = errors.len();
    let mut errors = errors.into_iter();
    let mut whole = errors.next().unwrap_or_else(|| ConfigError::new("there is no error"));
    if count == 1 {
        return whole;
    }
    let hint = |of: &mut ConfigError| {
        let hint = of.hint.take().map(|hint| format!("\n  hint: {hint}"));
        hint.unwrap_or_default()
    };
    let mut last = hint(&mut whole);
    for mut error in errors.take(SHOWN_MAX - 1) {
        whole.message += &format!("{last}\n{}", error.message);
        last = hint(&mut error);
    }
    let more = count.saturating_sub(SHOWN_MAX);
    if more > 0 {
        whole.message += &format!("{last}\nand {more} more");
        "\n  hint: correct these first".clone_into(&mut last);
    }
    whole.hint = last.strip_prefix("\n  hint: ").map(str::to_owned);
    whole
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

//! Errors in a text, with their positions. Faults are kept while a text is read and reported
//! together, each with its line, a caret below it and a hint: `FILE:LINE:COLUMN: what is wrong`.

use std::borrow::Cow;
use std::fmt::Display;

use treering_script::ConfigError;

use crate::excerpt::excerpt;
pub use crate::place::Place;
use crate::place::narrow;

/// Maximum number of warnings kept; further ones are only counted.
const WARNINGS_MAX: usize = 100;
/// Maximum number of faults kept; further ones are only counted.
pub const FAULTS_MAX: usize = 20;
/// Maximum number of characters of a text in a message.
const SHOWN_MAX: usize = 60;

/// Text for messages: control characters escaped, and shortened.
pub fn shown(text: impl AsRef<[u8]>) -> String {
    // A character has at most four bytes.
    let text = text.as_ref();
    let text = String::from_utf8_lossy(&text[..text.len().min(4 * (SHOWN_MAX + 1))]);
    match text.char_indices().nth(SHOWN_MAX) {
        Some((end, _)) => format!("{}...", text[..end].escape_debug()),
        None => text.escape_debug().to_string(),
    }
}

/// Error at a position.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// First byte of the error.
    pub place: Place,
    /// Message of one line.
    pub what: String,
    /// Hint how to correct it.
    pub hint: Option<String>,
}

impl Fault {
    /// Adds a hint.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

#[derive(Clone, Debug)]
struct SourceText<'t> {
    name: String,
    text: Cow<'t, [u8]>,
}

/// Files that are parsed together, with their faults and warnings so far.
#[derive(Clone, Debug, Default)]
pub struct Faults<'t> {
    sources: Vec<SourceText<'t>>,
    faults: Vec<Fault>,
    faults_not_kept: usize,
    warnings: Vec<(Place, String)>,
    warnings_not_kept: usize,
}

impl<'t> Faults<'t> {
    /// Creates the faults of one file: its name in messages, and its text.
    pub fn new(name: &str, text: &'t [u8]) -> Self {
        let mut faults = Self::default();
        faults.add_file(name, text);
        faults
    }

    /// Adds a file, and returns its number.
    pub fn add_file(&mut self, name: &str, text: impl Into<Cow<'t, [u8]>>) -> u32 {
        self.sources.push(SourceText { name: shown(name), text: text.into() });
        narrow(self.sources.len() - 1)
    }

    /// Number of files.
    pub fn files(&self) -> usize {
        self.sources.len()
    }

    /// Copies the texts, to end the borrow.
    pub fn into_owned(self) -> Faults<'static> {
        let own = |source: SourceText<'t>| SourceText {
            name: source.name,
            text: Cow::Owned(source.text.into_owned()),
        };
        Faults {
            sources: self.sources.into_iter().map(own).collect(),
            faults: self.faults,
            faults_not_kept: self.faults_not_kept,
            warnings: self.warnings,
            warnings_not_kept: self.warnings_not_kept,
        }
    }

    /// Creates a fault without keeping it; a hint is added with `hint`.
    pub fn error(&self, place: Place, message: impl Display) -> Fault {
        Fault { place, what: message.to_string(), hint: None }
    }

    /// Keeps a fault, so that parsing can continue.
    pub fn keep(&mut self, fault: Fault) {
        if self.is_full() {
            self.faults_not_kept += 1;
        } else if !self.faults.contains(&fault) {
            self.faults.push(fault);
        }
    }

    /// Unwraps a parsed value, or keeps its fault.
    pub fn ok_or_record<T>(&mut self, read: Result<T, Fault>) -> Option<T> {
        read.map_err(|fault| self.keep(fault)).ok()
    }

    /// True if there are any faults.
    pub fn has_some(&self) -> bool {
        !self.faults.is_empty()
    }

    /// True if further faults would only be counted.
    pub fn is_full(&self) -> bool {
        self.faults.len() >= FAULTS_MAX
    }

    /// Combines all faults into one error, if there are any.
    ///
    /// # Errors
    /// All faults in the order of their positions, each with its line and hint.
    pub fn check(&mut self) -> Result<(), ConfigError> {
        if self.faults.is_empty() {
            return Ok(());
        }
        self.faults.sort_by_key(|fault| fault.place);
        let errors = self.faults.iter().map(|fault| self.with_line(fault)).collect();
        Err(combined(errors, self.faults_not_kept))
    }

    /// Combines this fault and those kept before into one error.
    pub fn refuse(&mut self, fault: Fault) -> ConfigError {
        self.keep(fault.clone());
        self.check().err().unwrap_or_else(|| ConfigError::new(fault.what))
    }

    /// Formats a fault in one line.
    pub fn in_one_line(&self, fault: &Fault) -> String {
        self.at(fault.place, &fault.what)
    }

    fn at(&self, place: Place, message: &str) -> String {
        let file = self.sources.get(place.file as usize).map_or("", |source| &source.name);
        format!("{file}:{}:{}: {message}", place.line, place.column.max(1))
    }

    /// Converts a fault to an error with its source line.
    pub(crate) fn with_line(&self, fault: &Fault) -> ConfigError {
        let mut message = self.in_one_line(fault);
        let source = self.sources.get(fault.place.file as usize);
        if let Some(lines) = source.and_then(|source| excerpt(&source.text, fault.place)) {
            message += &format!("\n{lines}");
        }
        ConfigError { message, hint: fault.hint.clone() }
    }

    /// Keeps a warning.
    pub fn warn(&mut self, place: Place, message: impl Display) {
        if self.warnings.len() < WARNINGS_MAX {
            let text = self.at(place, &message.to_string());
            self.warnings.push((place, text));
        } else {
            self.warnings_not_kept += 1;
        }
    }

    /// Warnings in the order of their positions.
    pub fn into_warnings(mut self) -> Vec<String> {
        self.warnings.sort_by_key(|(place, _)| *place);
        let mut texts: Vec<String> = self.warnings.into_iter().map(|(_, text)| text).collect();
        if self.warnings_not_kept > 0 {
            let file = self.sources.first().map_or("", |source| &source.name);
            texts.push(format!("{file}: {} more warnings", self.warnings_not_kept));
        }
        texts
    }
}

/// Combines errors into one that lists each with its hint; `more` others are only counted.
pub fn combined(errors: Vec<ConfigError>, more: usize) -> ConfigError {
    let more = more + errors.len().saturating_sub(FAULTS_MAX);
    let mut whole = ConfigError::new(String::new());
    for error in errors.into_iter().take(FAULTS_MAX) {
        add(&mut whole, &error.message);
        whole.hint = error.hint;
    }
    if more > 0 {
        add(&mut whole, &format!("and {more} more"));
        whole.hint = Some("correct these first".to_owned());
    }
    whole
}

/// Appends lines to the hint.
fn add(whole: &mut ConfigError, lines: &str) {
    if let Some(hint) = whole.hint.take() {
        whole.message += &format!("\n  hint: {hint}");
    }
    if !whole.message.is_empty() {
        whole.message.push('\n');
    }
    whole.message += lines;
}

#[cfg(test)]
mod tests {
    use super::{FAULTS_MAX, Faults, Place, shown};

    #[test]
    fn several_faults_are_reported_with_their_lines_in_order() {
        let mut faults = Faults::new("f", b"one=1\n\ttwo=2\n");
        let second = faults.error(Place::new(2, 2), "'two' is no setting").hint("write one");
        faults.keep(second.clone());
        faults.keep(second);
        let first = faults.error(Place::new(1, 5), "'1' is no word").hint("write a word");
        let error = faults.refuse(first);
        assert_eq!(
            error.message,
            "f:1:5: '1' is no word\n  1 | one=1\n    |     ^\n  hint: write a word\n\
             f:2:2: 'two' is no setting\n  2 |     two=2\n    |     ^"
        );
        assert_eq!(error.hint.as_deref(), Some("write one"));
    }

    #[test]
    fn faults_of_the_whole_file_have_no_line() {
        let mut faults = Faults::new("f", b"one=1\n");
        let fault = faults.error(Place::START, "there is no job");
        assert_eq!(faults.refuse(fault).message, "f:1:1: there is no job");
    }

    #[test]
    fn faults_above_the_limit_are_only_counted() {
        let mut faults = Faults::new("f", b"");
        for line in 1..=FAULTS_MAX + 5 {
            let fault = faults.error(Place::new(line, 1), "wrong");
            faults.keep(fault);
        }
        let error = faults.check().unwrap_err();
        assert_eq!(error.message.lines().count(), FAULTS_MAX + 1);
        assert!(error.message.ends_with("\nand 5 more"), "{}", error.message);
        assert_eq!(error.hint.as_deref(), Some("correct these first"));
    }

    #[test]
    fn texts_in_messages_are_shortened_and_escaped() {
        assert_eq!(shown("a\u{1b}[2J"), "a\\u{1b}[2J");
        assert_eq!(shown("x".repeat(1 << 20)), "x".repeat(60) + "...");
        assert_eq!(shown(b"\xff\xfe"), "\u{fffd}\u{fffd}");
    }
}

//! What is wrong with a text, and where. Faults are kept while a text is read and reported
//! together, each with its line, a caret below it and what would be right:
//! `FILE:LINE:COLUMN: what is wrong`.

use std::borrow::Cow;
use std::fmt::Display;

use treering_script::ConfigError;

use crate::excerpt::excerpt;
pub use crate::place::Place;
use crate::place::narrow;

/// Warnings beyond these are only counted.
const WARNINGS_MAX: usize = 100;
/// Faults beyond these are only counted.
pub const FAULTS_MAX: usize = 20;
/// Characters of a text that a message shows.
const SHOWN_MAX: usize = 60;

/// A text as messages show it: control characters escaped, and not endless.
pub fn shown(text: impl AsRef<[u8]>) -> String {
    // A character has at most four bytes.
    let text = text.as_ref();
    let text = String::from_utf8_lossy(&text[..text.len().min(4 * (SHOWN_MAX + 1))]);
    match text.char_indices().nth(SHOWN_MAX) {
        Some((end, _)) => format!("{}...", text[..end].escape_debug()),
        None => text.escape_debug().to_string(),
    }
}

/// Something that is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Where it begins.
    pub place: Place,
    /// What is wrong, in one line.
    pub what: String,
    /// What would be right.
    pub hint: Option<String>,
}

impl Fault {
    /// The same with what would be right.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

#[derive(Clone, Debug)]
struct Source<'t> {
    name: String,
    text: Cow<'t, [u8]>,
}

/// The files that are read together, with their faults and warnings so far.
#[derive(Clone, Debug, Default)]
pub struct Faults<'t> {
    sources: Vec<Source<'t>>,
    faults: Vec<Fault>,
    faults_not_kept: usize,
    warnings: Vec<(Place, String)>,
    warnings_not_kept: usize,
}

impl<'t> Faults<'t> {
    /// Those of one file: its name in messages, and its text.
    pub fn new(name: &str, text: &'t [u8]) -> Self {
        let mut faults = Self::default();
        faults.add_file(name, text);
        faults
    }

    /// One more file, by its number.
    pub fn add_file(&mut self, name: &str, text: impl Into<Cow<'t, [u8]>>) -> u32 {
        self.sources.push(Source { name: shown(name), text: text.into() });
        narrow(self.sources.len() - 1)
    }

    /// How many files there are.
    pub fn files(&self) -> usize {
        self.sources.len()
    }

    /// The same with texts of its own.
    pub fn into_owned(self) -> Faults<'static> {
        let own = |source: Source<'t>| Source {
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

    /// A fault, which is not yet kept; what would be right is added with `hint`.
    pub fn error(&self, place: Place, what: impl Display) -> Fault {
        Fault { place, what: what.to_string(), hint: None }
    }

    /// Keeps a fault, so that reading can go on behind it.
    pub fn keep(&mut self, fault: Fault) {
        if self.is_full() {
            self.faults_not_kept += 1;
        } else if !self.faults.contains(&fault) {
            self.faults.push(fault);
        }
    }

    /// What was read; where it is wrong, the fault is kept.
    pub fn taken<T>(&mut self, read: Result<T, Fault>) -> Option<T> {
        read.map_err(|fault| self.keep(fault)).ok()
    }

    /// Whether there are any faults.
    pub fn has_some(&self) -> bool {
        !self.faults.is_empty()
    }

    /// Whether more faults would only be counted.
    pub fn is_full(&self) -> bool {
        self.faults.len() >= FAULTS_MAX
    }

    /// All faults as one error, when there are some.
    ///
    /// # Errors
    /// The faults in the order of their places, each with its line and what would be right.
    pub fn check(&mut self) -> Result<(), ConfigError> {
        if self.faults.is_empty() {
            return Ok(());
        }
        self.faults.sort_by_key(|fault| fault.place);
        let errors = self.faults.iter().map(|fault| self.with_line(fault)).collect();
        Err(together(errors, self.faults_not_kept))
    }

    /// This fault, and those that were kept before, as one error.
    pub fn refuse(&mut self, fault: Fault) -> ConfigError {
        self.keep(fault.clone());
        self.check().err().unwrap_or_else(|| ConfigError::new(fault.what))
    }

    /// A fault in one line.
    pub(crate) fn in_one_line(&self, fault: &Fault) -> String {
        self.at(fault.place, &fault.what)
    }

    fn at(&self, place: Place, what: &str) -> String {
        let file = self.sources.get(place.file as usize).map_or("", |source| &source.name);
        format!("{file}:{}:{}: {what}", place.line, place.column.max(1))
    }

    /// A fault with its line, as an error.
    pub(crate) fn with_line(&self, fault: &Fault) -> ConfigError {
        let mut message = self.in_one_line(fault);
        let source = self.sources.get(fault.place.file as usize);
        if let Some(lines) = source.and_then(|source| excerpt(&source.text, fault.place)) {
            message += &format!("\n{lines}");
        }
        ConfigError { message, hint: fault.hint.clone() }
    }

    /// Keeps a warning.
    pub fn warn(&mut self, place: Place, what: impl Display) {
        if self.warnings.len() < WARNINGS_MAX {
            let text = self.at(place, &what.to_string());
            self.warnings.push((place, text));
        } else {
            self.warnings_not_kept += 1;
        }
    }

    /// The warnings in the order of their places.
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

/// Errors as one, which has each with what would be right; `more` are only counted.
pub fn together(errors: Vec<ConfigError>, more: usize) -> ConfigError {
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

/// Adds lines behind what would be right so far.
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
    fn what_is_missing_in_the_whole_file_has_no_line() {
        let mut faults = Faults::new("f", b"one=1\n");
        let fault = faults.error(Place::START, "there is no job");
        assert_eq!(faults.refuse(fault).message, "f:1:1: there is no job");
    }

    #[test]
    fn endless_faults_are_counted() {
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
    fn texts_in_messages_are_short_and_harmless() {
        assert_eq!(shown("a\u{1b}[2J"), "a\\u{1b}[2J");
        assert_eq!(shown("x".repeat(1 << 20)), "x".repeat(60) + "...");
        assert_eq!(shown(b"\xff\xfe"), "\u{fffd}\u{fffd}");
    }
}

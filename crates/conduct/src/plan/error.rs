//! Errors in plan documents as shown to the author: the line, a caret, the problem and the remedy.
//!
//! Readers return a [`Fault`]; together with the text and the name of the file it becomes the
//! [`PlanError`] that leaves this crate. Its contents may come from a hostile document: positions
//! are clamped to the text, and no control character reaches a terminal.

use std::error::Error;
use std::fmt;
use std::ops::Range;

use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet};

/// Maximum width of a rendering.
const COLUMNS: usize = 100;
/// Maximum width of the lines of a hint, which the renderer indents.
const HINT_COLUMNS: usize = 85;
/// Maximum length of a message in characters, since some messages quote a whole value.
const MESSAGE_CHARS_MAX: usize = 400;
/// Maximum length of a quoted value, in characters.
const QUOTE_CHARS_MAX: usize = 60;

/// Position in the document, with the label beside its caret.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Mark {
    span: Range<usize>,
    label: String,
}

/// Error in a plan, without the text of the plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    message: String,
    /// Positions: the first is the error itself, the others explain it.
    marks: Vec<Mark>,
    hint: Option<String>,
}

impl Fault {
    /// Fault without a position.
    pub(crate) fn whole(message: impl Into<String>) -> Self {
        Self { message: escaped(&message.into()), marks: Vec::new(), hint: None }
    }

    /// Fault at a position. The label stands beside the caret and may be empty.
    pub(crate) fn at(
        span: Range<usize>,
        message: impl Into<String>,
        label: impl Into<String>,
    ) -> Self {
        Self::whole(message).also(span, label)
    }

    /// Adds a position that explains the fault.
    #[must_use]
    pub(crate) fn also(mut self, span: Range<usize>, label: impl Into<String>) -> Self {
        self.marks.push(Mark { span, label: escaped(&label.into()) });
        self
    }

    /// True if the fault is in this part of the document.
    pub(crate) fn is_within(&self, span: &Range<usize>) -> bool {
        let first = self.marks.first();
        first.is_some_and(|mark| span.start <= mark.span.start && mark.span.end <= span.end)
    }

    /// Moves the fault to another position.
    #[must_use]
    pub(crate) fn moved_to(mut self, span: Range<usize>) -> Self {
        if let Some(mark) = self.marks.first_mut() {
            mark.span = span;
        }
        self
    }

    /// Sets the hint.
    #[must_use]
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(escaped(&hint.into()));
        self
    }

    /// Adds a hint before the existing one.
    pub(crate) fn first_hint(self, first: &str) -> Self {
        let second = self.hint.clone();
        self.hint(second.map_or_else(|| first.to_owned(), |second| format!("{first}; {second}")))
    }
}

/// Error of an unreadable plan. `Display` renders the message, the lines of the document with
/// carets, and the remedy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlanError {
    fault: Box<Fault>,
    text: String,
    file: String,
}

impl PlanError {
    pub(crate) fn new(fault: Fault, text: &str, file: &str) -> Self {
        let text = if fault.marks.is_empty() { String::new() } else { masked(text) };
        Self { fault: Box::new(fault), text, file: escaped(file) }
    }

    /// Error message in one line.
    pub fn message(&self) -> &str {
        &self.fault.message
    }

    /// Suggested remedy, which `Display` already includes.
    pub fn hint(&self) -> Option<&str> {
        self.fault.hint.as_deref()
    }

    /// Rendering with colours, for a terminal.
    pub fn coloured(&self) -> String {
        self.render(Renderer::styled())
    }

    fn render(&self, renderer: Renderer) -> String {
        let title = Level::ERROR.primary_title(self.message());
        let mut group = if self.fault.marks.is_empty() {
            // Names the file for a fault without a position.
            title.element(annotate_snippets::Origin::path(self.file.as_str()))
        } else {
            let marks = self.fault.marks.iter().enumerate().map(|(index, mark)| {
                let kind =
                    if index == 0 { AnnotationKind::Primary } else { AnnotationKind::Context };
                let label = Some(mark.label.as_str()).filter(|label| !label.is_empty());
                kind.span(clamped(&self.text, &mark.span)).label(label)
            });
            let snippet = Snippet::source(self.text.as_str()).path(self.file.as_str());
            title.element(snippet.annotations(marks))
        };
        if let Some(hint) = self.hint() {
            group = group.element(Level::HELP.message(wrapped(hint)));
        }
        let groups: [Group<'_>; 1] = [group];
        renderer.term_width(COLUMNS).render(&groups)
    }
}

impl fmt::Display for PlanError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.render(Renderer::plain()))
    }
}

impl Error for PlanError {}

/// Wraps a hint into lines, which the renderer aligns.
fn wrapped(hint: &str) -> String {
    let mut lines = String::new();
    let mut columns = 0;
    for word in hint.split(' ') {
        let chars = word.chars().count();
        if columns > 0 && columns + 1 + chars > HINT_COLUMNS {
            lines.push('\n');
            columns = 0;
        } else if columns > 0 {
            lines.push(' ');
            columns += 1;
        }
        lines.push_str(word);
        columns += chars;
    }
    lines
}

/// Part of a span on its first line, moved to character boundaries of the text.
fn clamped(text: &str, span: &Range<usize>) -> Range<usize> {
    let floor = |mut at: usize| {
        at = at.min(text.len());
        while !text.is_char_boundary(at) {
            at -= 1;
        }
        at
    };
    let start = floor(span.start);
    let end = floor(span.end).max(start);
    let first_line = text[start..end].find(['\r', '\n']).map_or(end, |line| start + line);
    start..first_line
}

/// Text safe to display: control characters are escaped, and the length is limited.
fn escaped(text: &str) -> String {
    let mut shown = String::new();
    for (count, character) in text.chars().enumerate() {
        if count == MESSAGE_CHARS_MAX {
            shown.push('…');
            break;
        }
        if is_invisible(character) {
            shown.extend(character.escape_default());
        } else {
            shown.push(character);
        }
    }
    shown
}

/// Replaces invisible characters outside ASCII by others of the same length in bytes, so that
/// positions stay valid. The renderer draws control characters of ASCII but passes on the others.
fn masked(source: &str) -> String {
    let replaced = |c: char| match c.len_utf8() {
        2 if is_invisible(c) => '·',
        3 if is_invisible(c) => char::REPLACEMENT_CHARACTER,
        _ => c,
    };
    source.chars().map(replaced).collect()
}

/// True for characters that terminals interpret instead of showing: control characters, and marks
/// that change the writing direction.
pub(crate) fn is_invisible(character: char) -> bool {
    let turns = matches!(
        character,
        '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
    );
    turns || character.is_control()
}

/// Value in quotation marks for a message, shortened if it is long.
pub(crate) fn quoted(text: &str) -> String {
    match text.char_indices().nth(QUOTE_CHARS_MAX) {
        Some((end, _)) => format!("`{}…`", &text[..end]),
        None => format!("`{text}`"),
    }
}

#[cfg(test)]
mod tests {
    use super::{Fault, PlanError, clamped, quoted};

    #[test]
    fn spans_are_clamped_to_the_first_line() {
        let text = "aä\nb";
        assert_eq!(clamped(text, &(0..9)), 0..3);
        assert_eq!(clamped(text, &(2..3)), 1..3);
        assert_eq!(clamped(text, &(70..90)), 5..5);
        #[expect(clippy::reversed_empty_ranges, reason = "a fault of ours must not end in a panic")]
        let reversed = 4..1;
        assert_eq!(clamped(text, &reversed), 4..4);
    }

    #[test]
    fn control_characters_are_escaped() {
        let fault = Fault::at(0..1, "a \u{1b}[31m b", "c\u{202e}d").hint("\u{7}");
        let error = PlanError::new(fault, "x\u{1b}\u{202e}\u{9b}y", "f\u{1b}.toml");
        let text = error.to_string();
        assert!(!text.contains(['\u{1b}', '\u{202e}', '\u{7}', '\u{9b}']), "{text}");
        assert_eq!(error.message(), "a \\u{1b}[31m b");
        assert!(error.coloured().contains('\u{1b}'));
    }

    #[test]
    fn long_values_are_shortened() {
        assert_eq!(quoted("ä"), "`ä`");
        assert_eq!(quoted(&"ä".repeat(61)).chars().count(), 63);
        let error = PlanError::new(Fault::whole("m".repeat(1000)), "", "f");
        assert_eq!(error.message().chars().count(), 401);
    }
}

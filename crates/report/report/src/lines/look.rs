//! Look of text output: line widths, rule characters, and highlighting of roles.

use super::wrap::width;
use crate::{Align, Tone};

/// Role of a piece of text, for highlighting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TextRole {
    /// Title of the page.
    Title,
    /// Heading of a section.
    Heading,
    /// Name of a column or key.
    Name,
    /// Rules and bars.
    Rule,
    /// Side notes.
    Aside,
    /// Code of a caution.
    Warning,
    /// Cell, by its tone.
    Cell(Tone),
}

/// Look of a text format.
pub(crate) struct TextLook {
    /// Columns of a line.
    pub(crate) width: usize,
    /// Columns of running text; shorter lines are easier to read.
    pub(crate) prose: usize,
    /// Escapes text, and transliterates to ASCII where required.
    pub(crate) clean: fn(&str) -> String,
    /// Character of the line below the title.
    pub(crate) title_rule: char,
    /// Character of the line below column names.
    pub(crate) rule: char,
    /// Character of that line between two columns.
    pub(crate) rule_gap: char,
    /// Character where that line crosses the bar.
    pub(crate) cross: char,
    /// Character of the bar after the key columns, if there is one.
    pub(crate) bar: Option<char>,
    /// Signs after a column's name that mean lower is better and higher is better; a legend below
    /// the table repeats them in words.
    pub(crate) arrows: Option<(char, char)>,
    /// True to fold long command lines with a backslash. A terminal wraps them itself.
    pub(crate) folds_commands: bool,
    /// Highlights a piece of text without changing its width.
    pub(crate) paint: fn(TextRole, &str) -> String,
}

/// Pads text to `room` columns on the side opposite its alignment.
pub(crate) fn padded(text: &str, room: usize, align: Align) -> String {
    let blanks = " ".repeat(room.saturating_sub(width(text)));
    match align {
        Align::Left => format!("{text}{blanks}"),
        Align::Right => format!("{blanks}{text}"),
    }
}

/// Joins pieces into a line: highlighted, blanks left plain, trailing blanks removed.
pub(crate) fn assembled(mut pieces: Vec<(String, TextRole)>, look: &TextLook) -> String {
    while let Some((last, _)) = pieces.last_mut() {
        last.truncate(last.trim_end_matches(' ').len());
        if !last.is_empty() {
            break;
        }
        pieces.pop();
    }
    let mut line = String::new();
    for (piece, role) in &pieces {
        let text = piece.trim_matches(' ');
        if text.is_empty() {
            line.push_str(piece);
            continue;
        }
        let before = piece.len() - piece.trim_start_matches(' ').len();
        line.push_str(&piece[..before]);
        line.push_str(&(look.paint)(*role, text));
        line.push_str(&piece[before + text.len()..]);
    }
    line
}

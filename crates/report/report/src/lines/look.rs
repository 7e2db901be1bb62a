//! How lines look: how wide they are, which signs draw the rules, how a role is painted.

use super::wrap::width;
use crate::{Align, Tone};

/// What a piece of a line is, for those who paint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// The title of the page.
    Title,
    /// The title of a part.
    Heading,
    /// The names of columns and keys.
    Name,
    /// Rules and bars.
    Rule,
    /// Beside the matter.
    Aside,
    /// The word before a warning.
    Warning,
    /// A cell, by its tone.
    Cell(Tone),
}

/// The look of a format.
pub(crate) struct Look {
    /// Columns of a line.
    pub(crate) width: usize,
    /// Columns of running text, which is read with more effort the longer its lines are.
    pub(crate) prose: usize,
    /// Makes text safe, and ASCII where that is wanted.
    pub(crate) clean: fn(&str) -> String,
    /// Draws the line below the title.
    pub(crate) title_rule: char,
    /// Draws the line below the names of columns.
    pub(crate) rule: char,
    /// What stands in that line between two columns.
    pub(crate) rule_gap: char,
    /// Where that line meets the bar.
    pub(crate) cross: char,
    /// The bar behind the columns that name a row, when there is one.
    pub(crate) bar: Option<char>,
    /// Signs behind a column's name for lower and higher is better; the words stand below the
    /// table in any case.
    pub(crate) arrows: Option<(char, char)>,
    /// Whether long command lines are broken with a backslash. A terminal breaks them itself.
    pub(crate) folds_commands: bool,
    /// Paints a piece; does not change its width.
    pub(crate) paint: fn(Role, &str) -> String,
}

/// The text with blanks on the variant where it does not stand.
pub(crate) fn padded(text: &str, room: usize, align: Align) -> String {
    let blanks = " ".repeat(room.saturating_sub(width(text)));
    match align {
        Align::Left => format!("{text}{blanks}"),
        Align::Right => format!("{blanks}{text}"),
    }
}

/// A line from its pieces: painted, blanks left unpainted, none at its end.
pub(crate) fn assembled(mut pieces: Vec<(String, Role)>, look: &Look) -> String {
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

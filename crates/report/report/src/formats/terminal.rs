//! Terminal output with light rules; the caller sets the width and enables colour.
//!
//! Colour only repeats words and signs, so the page reads the same without it.

use std::io;

use crate::escape::visible;
use crate::lines::{TextLook, TextRole, render};
use crate::{Format, Report, Tone};

/// Minimum page width in columns; a narrower terminal wraps the lines itself.
const NARROWEST: usize = 40;

/// Maximum width of running text in columns, for readability.
const PROSE: usize = 100;

/// Terminal format, for people.
#[derive(Clone, Copy, Debug)]
pub struct Terminal {
    /// Number of columns of the terminal.
    pub width: usize,
    /// True to use colour.
    pub colour: bool,
}

/// Format used when the terminal's properties are unknown.
pub(crate) const DEFAULT: Terminal = Terminal { width: 100, colour: false };

impl Format for Terminal {
    fn name(&self) -> &'static str {
        "terminal"
    }

    fn render(&self, report: &Report, out: &mut dyn io::Write) -> io::Result<()> {
        let width = self.width.max(NARROWEST);
        let look = TextLook {
            width,
            prose: width.min(PROSE),
            clean: visible,
            title_rule: '─',
            rule: '─',
            rule_gap: '─',
            cross: '┼',
            bar: Some('│'),
            arrows: Some(('↓', '↑')),
            folds_commands: false,
            paint: if self.colour { painted } else { |_, text| text.to_owned() },
        };
        render(report, &look, out)
    }
}

/// Colours text by its role. Blue and yellow can be distinguished with any colour vision.
fn painted(role: TextRole, text: &str) -> String {
    let codes = match role {
        TextRole::Title | TextRole::Heading => "1",
        TextRole::Name => "36",
        TextRole::Rule | TextRole::Aside => "2",
        TextRole::Warning | TextRole::Cell(Tone::Caution) => "1;33",
        TextRole::Cell(Tone::Good) => "34",
        TextRole::Cell(Tone::Bad) => "1;7",
        TextRole::Cell(Tone::Plain) => return text.to_owned(),
    };
    format!("\x1b[{codes}m{text}\x1b[0m")
}

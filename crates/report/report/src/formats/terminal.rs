//! Terminal output: the caller sets the width and whether to use colour; rules are light.
//!
//! Colour only repeats words and signs, so the page reads the same without it.

use std::io;

use crate::escape::visible;
use crate::lines::{Look, Role, render};
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
        let look = Look {
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
fn painted(role: Role, text: &str) -> String {
    let codes = match role {
        Role::Title | Role::Heading => "1",
        Role::Name => "36",
        Role::Rule | Role::Aside => "2",
        Role::Warning | Role::Cell(Tone::Caution) => "1;33",
        Role::Cell(Tone::Good) => "34",
        Role::Cell(Tone::Bad) => "1;7",
        Role::Cell(Tone::Plain) => return text.to_owned(),
    };
    format!("\x1b[{codes}m{text}\x1b[0m")
}

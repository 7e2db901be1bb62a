//! Plain text for mail and pipes: ASCII, at most 72 columns by default, no colour, no tabs.

use std::io;

use crate::escape::ascii;
use crate::lines::{Look, render};
use crate::{Format, Report};

/// The narrowest page that is laid out.
const NARROWEST: usize = 40;

/// The format for mail.
#[derive(Clone, Copy, Debug)]
pub struct Plain {
    /// Columns of a line.
    pub width: usize,
}

/// Columns of a line of mail.
pub const MAIL: Plain = Plain { width: 72 };

impl Format for Plain {
    fn name(&self) -> &'static str {
        "plain"
    }

    fn render(&self, report: &Report, out: &mut dyn io::Write) -> io::Result<()> {
        let width = self.width.max(NARROWEST);
        let look = Look {
            width,
            prose: width,
            clean: ascii,
            title_rule: '=',
            rule: '-',
            rule_gap: ' ',
            cross: ' ',
            bar: None,
            arrows: None,
            folds_commands: true,
            paint: |_, text| text.to_owned(),
        };
        render(report, &look, out)
    }
}

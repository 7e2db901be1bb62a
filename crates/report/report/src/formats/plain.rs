//! Plain text for mail and pipes: ASCII, at most 72 columns by default, without colour or tabs.

use std::io;

use crate::escape::plain;
use crate::lines::{TextLook, render};
use crate::{Format, Report};

/// Minimum page width in columns.
const NARROWEST: usize = 40;

/// Plain-text format.
#[derive(Clone, Copy, Debug)]
pub struct Plain {
    /// Maximum number of columns.
    pub width: usize,
}

/// Format for mail, with 72 columns.
pub const MAIL: Plain = Plain { width: 72 };

impl Format for Plain {
    fn name(&self) -> &'static str {
        "plain"
    }

    fn render(&self, report: &Report, out: &mut dyn io::Write) -> io::Result<()> {
        let width = self.width.max(NARROWEST);
        let look = TextLook {
            width,
            prose: width,
            clean: plain,
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

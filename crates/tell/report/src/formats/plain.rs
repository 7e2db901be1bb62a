//! Plain text for mail: ASCII, at most 72 columns, no colour, no tabs.

use std::io;

use crate::escape::ascii;
use crate::lines::{Look, render};
use crate::{Format, Report};

/// Columns of a line of mail.
const WIDTH: usize = 72;

/// The format for mail.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plain;

impl Format for Plain {
    fn name(&self) -> &'static str {
        "plain"
    }

    fn render(&self, report: &Report, out: &mut dyn io::Write) -> io::Result<()> {
        let look = Look {
            width: WIDTH,
            prose: WIDTH,
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

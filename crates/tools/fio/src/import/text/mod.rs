//! What fio prints for people: the jobs to be run, the result of each, the sums of each group,
//! the devices.

mod line;
mod result;

use line::{Line, line, loose_begin};
use result::Results;
use treering_kit::import::Remark;
use treering_kit::import::log::Log;
use treering_kit::import::stretch::Stretch;

use crate::report::Run;

/// So many lines of somebody else's may stand between two of fio's.
const GAP_LINES_MOST: usize = 24;

/// Where a text is: its parts come in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Part {
    Heads,
    Results,
    Sums,
    Disks,
}

/// A text that was read.
pub(super) struct Text {
    pub(super) run: Run,
    /// The line behind the last one that belongs to it.
    pub(super) end: usize,
    pub(super) remarks: Vec<Remark>,
}

/// Whether a text begins at this line.
pub(super) fn begins(log: &Log<'_>, at: usize) -> bool {
    let text = log.line(at);
    let is_head = text.contains(": (g=") || text.contains(": (groupid=");
    is_head && matches!(read_line(log, at), Some((Line::Head(_) | Line::Begin(_), _)))
}

fn read_line(log: &Log<'_>, at: usize) -> Option<(Line, usize)> {
    log.read(at, line).or_else(|| Some((loose_begin(log.line(at))?, 1)))
}

/// Reads a text up to where another output begins, of fio or another tool.
pub(super) fn read(log: &Log<'_>, at: usize, is_other: impl Fn(usize) -> bool) -> Text {
    let mut results = Results::default();
    let mut part = Part::Heads;
    let mut stretch = Stretch::from(at);
    while stretch.next() < log.len().min(stretch.end() + GAP_LINES_MOST) {
        let next = stretch.next();
        if next > at && is_other(next) {
            break;
        }
        let found = if log.line(next).trim().is_empty() { None } else { read_line(log, next) };
        let Some((said, count)) = found else {
            stretch.pass(log);
            continue;
        };
        let new = match &said {
            Line::Head(_) => Some(Part::Heads),
            Line::Begin(begin) if part > Part::Results && results.is_of_status(begin) => {
                results.restart(next);
                part = Part::Results;
                None
            }
            Line::Begin(_) => Some(Part::Results),
            Line::Status(_) => Some(Part::Sums),
            Line::Disks => Some(Part::Disks),
            _ => None,
        };
        if new.is_some_and(|new| new < part) {
            break;
        }
        part = new.unwrap_or(part);
        results.take(said, next);
        stretch.take(log, count);
    }
    let end = stretch.end();
    let mut remarks = stretch.remarks();
    let run = results.finish(at, &mut remarks);
    Text { run, end, remarks }
}

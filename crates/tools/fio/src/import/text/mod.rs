//! Parser of fio's normal output: job headers, the result of each job, the sums of each group, the
//! devices.

mod line;
mod result;

use line::{OutputLine, line, loose_begin};
use result::ResultReader;
use treering_kit::import::Remark;
use treering_kit::import::log::Log;
use treering_kit::import::stretch::LineCursor;

use crate::report::Run;

/// Maximum number of foreign lines between two lines of fio.
const GAP_LINES_MOST: usize = 24;

/// Section of the output; sections come in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum OutputSection {
    Heads,
    ResultReader,
    Sums,
    Disks,
}

/// Parsed normal output.
pub(super) struct NormalOutput {
    pub(super) run: Run,
    /// Number of the line after the output.
    pub(super) end: usize,
    pub(super) remarks: Vec<Remark>,
}

/// True if normal output begins at this line.
pub(super) fn begins(log: &Log<'_>, at: usize) -> bool {
    let text = log.line(at);
    let is_head = text.contains(": (g=") || text.contains(": (groupid=");
    is_head
        && matches!(
            read_line(log, at),
            Some((OutputLine::JobHeader(_) | OutputLine::ResultHeader(_), _))
        )
}

fn read_line(log: &Log<'_>, at: usize) -> Option<(OutputLine, usize)> {
    log.read(at, line).or_else(|| Some((loose_begin(log.line(at))?, 1)))
}

/// Reads normal output up to the start of another output, of fio or another tool.
pub(super) fn read(log: &Log<'_>, at: usize, is_other: impl Fn(usize) -> bool) -> NormalOutput {
    let mut results = ResultReader::default();
    let mut part = OutputSection::Heads;
    let mut stretch = LineCursor::from(at);
    while stretch.next() < log.len().min(stretch.end() + GAP_LINES_MOST) {
        let next = stretch.next();
        if next > at && is_other(next) {
            break;
        }
        let recognised = if log.line(next).trim().is_empty() { None } else { read_line(log, next) };
        let Some((parsed, count)) = recognised else {
            stretch.pass(log);
            continue;
        };
        let new = match &parsed {
            OutputLine::JobHeader(_) => Some(OutputSection::Heads),
            OutputLine::ResultHeader(begin)
                if part > OutputSection::ResultReader && results.is_of_status(begin) =>
            {
                results.restart(next);
                part = OutputSection::ResultReader;
                None
            }
            OutputLine::ResultHeader(_) => Some(OutputSection::ResultReader),
            OutputLine::Status(_) => Some(OutputSection::Sums),
            OutputLine::Disks => Some(OutputSection::Disks),
            _ => None,
        };
        if new.is_some_and(|new| new < part) {
            break;
        }
        part = new.unwrap_or(part);
        results.take(parsed, next);
        stretch.take(log, count);
    }
    let end = stretch.end();
    let mut remarks = stretch.remarks();
    let run = results.finish(at, &mut remarks);
    NormalOutput { run, end, remarks }
}

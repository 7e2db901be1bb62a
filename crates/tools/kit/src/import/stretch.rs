//! Lines of one output: its extent, and the lines that were understood.

use std::ops::Range;

use treering_model::counted;

use crate::import::log::{Log, first_word, shortened};
use crate::import::{Remark, any_begins};

/// Maximum number of foreign lines between two lines of a tool that runs under MPI.
const GAP_LINES_MOST: usize = 60;

/// Cursor over the lines of an output.
#[derive(Debug)]
pub struct LineCursor {
    next: usize,
    end: usize,
    remarks: Vec<Remark>,
    /// Value of `seen` when the last line was understood.
    reported: Option<UnparsedSpan>,
    /// Last span of lines that were not understood, unless it is a remark already.
    seen: Option<UnparsedSpan>,
}

/// Neighbouring lines that were not understood, and the first words of them.
#[derive(Clone, Debug)]
struct UnparsedSpan {
    first: usize,
    last: usize,
    words: String,
}

impl UnparsedSpan {
    fn remark(self) -> Remark {
        let words = self.words;
        let message = match self.last - self.first {
            0 => format!("not understood and skipped: {words}"),
            more => {
                let more = counted(more, "more line");
                format!("not understood and skipped, with {more}: {words}")
            }
        };
        Remark { line: self.first + 1, what: message }
    }
}

impl LineCursor {
    /// Creates a cursor at a line.
    pub const fn from(first: usize) -> Self {
        Self { next: first, end: first, remarks: Vec::new(), reported: None, seen: None }
    }

    /// Number of the line to be read next.
    pub const fn next(&self) -> usize {
        self.next
    }

    /// Number of the line after the last one that was understood.
    pub const fn end(&self) -> usize {
        self.end
    }

    /// Marks the next lines as understood.
    pub fn take(&mut self, log: &Log<'_>, lines: usize) {
        let taken = self.next..self.next + lines;
        if taken.clone().any(|line| !log.line(line).trim().is_empty()) {
            self.remarks.extend(self.seen.take().map(UnparsedSpan::remark));
        }
        self.next = taken.end;
        self.end = taken.end;
        self.reported.clone_from(&self.seen);
    }

    /// Marks the next line as not understood.
    pub fn pass(&mut self, log: &Log<'_>) {
        let line = log.line(self.next);
        if !line.trim().is_empty() {
            let new = || UnparsedSpan { first: self.next, last: self.next, words: shortened(line) };
            self.seen.get_or_insert_with(new).last = self.next;
        }
        self.next += 1;
    }

    /// Parses the next line that `read` recognises; lines before it are skipped. `None` after too
    /// many skipped lines, or where the output of another tool begins.
    pub fn next_parsed<L>(&mut self, log: &Log<'_>, read: impl Fn(&str) -> Option<L>) -> Option<L> {
        while self.next < log.len().min(self.end + GAP_LINES_MOST) {
            let line = log.line(self.next);
            if let Some(parsed) = read(line) {
                return Some(parsed);
            }
            if !first_word(line).is_empty() && any_begins(log, self.next) {
                return None;
            }
            self.pass(log);
        }
        None
    }

    /// Returns to the line after the last one that was understood.
    pub fn go_back(&mut self) {
        self.seen.clone_from(&self.reported);
        self.next = self.end;
    }

    /// Remarks about the lines that were not understood.
    pub fn remarks(&self) -> Vec<Remark> {
        self.remarks
            .iter()
            .cloned()
            .chain(self.reported.clone().map(UnparsedSpan::remark))
            .collect()
    }
}

/// Remarks about lines that were not understood, one for consecutive ones.
pub fn not_understood(log: &Log<'_>, within: Range<usize>, understood: &[bool]) -> Vec<Remark> {
    let mut remarks = Vec::new();
    let mut run: Option<(usize, usize)> = None;
    let is_odd = |at: usize| {
        let known = understood.get(at - within.start).copied().unwrap_or(false);
        !known && !log.line(at).trim().is_empty()
    };
    for at in within.clone() {
        if is_odd(at) {
            run = Some((run.map_or(at, |(first, _)| first), at));
        } else if let Some(run) = run.take_if(|_| !log.line(at).trim().is_empty()) {
            remarks.push(skipped(log, run));
        }
    }
    remarks.extend(run.map(|run| skipped(log, run)));
    remarks
}

fn skipped(log: &Log<'_>, (first, last): (usize, usize)) -> Remark {
    UnparsedSpan { first, last, words: shortened(log.line(first)) }.remark()
}

#[cfg(test)]
mod tests {
    use super::LineCursor;
    use crate::import::log::Log;

    #[test]
    fn skipped_lines_are_remarked_up_to_the_last_understood_line() {
        let log = Log::from_text("a\nodd\n\nodder\nb\nc\nbehind\n");
        let mut stretch = LineCursor::from(0);
        stretch.take(&log, 1);
        stretch.pass(&log);
        stretch.pass(&log);
        stretch.pass(&log);
        stretch.take(&log, 2);
        stretch.pass(&log);
        assert_eq!((stretch.next(), stretch.end()), (7, 6));
        let remarks = stretch.remarks();
        assert_eq!(remarks.len(), 1, "{remarks:?}");
        assert_eq!(remarks[0].line, 2);
        assert!(remarks[0].what.contains("2 more lines"), "{}", remarks[0].what);
    }
}

//! The lines of one output: how far it goes, and which of them were understood.

use std::ops::Range;

use crate::import::log::{Log, first_word, shortened};
use crate::import::{Remark, any_begins};

/// So many lines of somebody else's may stand between two of a tool that runs under MPI.
const GAP_LINES_MOST: usize = 60;

/// The lines of an output, taken one after the other.
#[derive(Debug)]
pub struct Stretch {
    next: usize,
    end: usize,
    remarks: Vec<Remark>,
    /// Neighbouring lines that were not understood: up to the last that was, and up to the next.
    reported: Option<Odd>,
    seen: Option<Odd>,
}

/// Neighbouring lines that nobody understood, and how the first begins.
#[derive(Clone, Debug)]
struct Odd {
    first: usize,
    last: usize,
    words: String,
}

impl Odd {
    fn remark(self) -> Remark {
        let words = self.words;
        let what = match self.last - self.first {
            0 => format!("not understood and skipped: {words}"),
            more => format!("not understood and skipped, with {more} more lines: {words}"),
        };
        Remark { line: self.first + 1, what }
    }
}

impl Stretch {
    /// From a line on.
    pub const fn from(first: usize) -> Self {
        Self { next: first, end: first, remarks: Vec::new(), reported: None, seen: None }
    }

    /// The line to be read next.
    pub const fn next(&self) -> usize {
        self.next
    }

    /// Behind the last line that was understood.
    pub const fn end(&self) -> usize {
        self.end
    }

    /// The next lines are understood.
    pub fn take(&mut self, log: &Log<'_>, lines: usize) {
        let taken = self.next..self.next + lines;
        if taken.clone().any(|line| !log.line(line).trim().is_empty()) {
            self.remarks.extend(self.seen.take().map(Odd::remark));
        }
        self.next = taken.end;
        self.end = taken.end;
        self.reported.clone_from(&self.seen);
    }

    /// The next line is not.
    pub fn pass(&mut self, log: &Log<'_>) {
        let line = log.line(self.next);
        if !line.trim().is_empty() {
            let new = || Odd { first: self.next, last: self.next, words: shortened(line) };
            self.seen.get_or_insert_with(new).last = self.next;
        }
        self.next += 1;
    }

    /// What the next line says that says anything; those before it are passed. `None` where too
    /// many are, or the output of another tool begins.
    pub fn said<L>(&mut self, log: &Log<'_>, read: impl Fn(&str) -> Option<L>) -> Option<L> {
        while self.next < log.len().min(self.end + GAP_LINES_MOST) {
            let line = log.line(self.next);
            if let Some(said) = read(line) {
                return Some(said);
            }
            if !first_word(line).is_empty() && any_begins(log, self.next) {
                return None;
            }
            self.pass(log);
        }
        None
    }

    /// Goes back behind the last line that was understood.
    pub fn go_back(&mut self) {
        self.seen.clone_from(&self.reported);
        self.next = self.end;
    }

    /// What is said of the lines that were not understood.
    pub fn remarks(&self) -> Vec<Remark> {
        self.remarks.iter().cloned().chain(self.reported.clone().map(Odd::remark)).collect()
    }
}

/// Remarks about lines that nobody understood, runs of them in one.
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
    Odd { first, last, words: shortened(log.line(first)) }.remark()
}

#[cfg(test)]
mod tests {
    use super::Stretch;
    use crate::import::log::Log;

    #[test]
    fn what_was_passed_is_remarked_up_to_the_last_line_understood() {
        let log = Log::of("a\nodd\n\nodder\nb\nc\nbehind\n");
        let mut stretch = Stretch::from(0);
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

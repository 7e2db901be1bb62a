//! The lines of one output: how far it goes, and which of them were understood.

use std::ops::Range;

use crate::Remark;
use crate::log::{Log, shortened};

/// The lines of an output, taken one after the other.
#[derive(Debug)]
pub(crate) struct Stretch {
    first: usize,
    next: usize,
    end: usize,
    understood: Vec<bool>,
}

impl Stretch {
    /// From a line on.
    pub(crate) const fn from(first: usize) -> Self {
        Self { first, next: first, end: first, understood: Vec::new() }
    }

    /// The line to be read next.
    pub(crate) const fn next(&self) -> usize {
        self.next
    }

    /// Behind the last line that was understood.
    pub(crate) const fn end(&self) -> usize {
        self.end
    }

    /// From the first line to behind the last that was understood.
    pub(crate) const fn range(&self) -> Range<usize> {
        self.first..self.end
    }

    /// The next lines are understood.
    pub(crate) fn take(&mut self, lines: usize) {
        self.understood.resize(self.next - self.first, false);
        self.next += lines;
        self.end = self.next;
        self.understood.resize(self.end - self.first, true);
    }

    /// The next line is not.
    pub(crate) const fn pass(&mut self) {
        self.next += 1;
    }

    /// Goes on there, and does not understand what is between.
    pub(crate) const fn go_to(&mut self, line: usize) {
        self.next = line;
    }

    /// What is said of the lines that were not understood.
    pub(crate) fn remarks(&self, log: &Log<'_>) -> Vec<Remark> {
        not_understood(log, self.range(), &self.understood)
    }
}

/// Remarks about lines that nobody understood, runs of them in one.
pub(crate) fn not_understood(
    log: &Log<'_>,
    within: Range<usize>,
    understood: &[bool],
) -> Vec<Remark> {
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
    let words = shortened(log.line(first));
    let what = match last - first {
        0 => format!("not understood and skipped: {words}"),
        more => format!("not understood and skipped, with {more} more lines: {words}"),
    };
    Remark { line: first + 1, what }
}

#[cfg(test)]
mod tests {
    use super::Stretch;
    use crate::log::Log;

    #[test]
    fn what_was_passed_is_remarked_up_to_the_last_line_understood() {
        let log = Log::of("a\nodd\n\nodder\nb\nc\nbehind\n");
        let mut stretch = Stretch::from(0);
        stretch.take(1);
        stretch.pass();
        stretch.pass();
        stretch.pass();
        stretch.take(2);
        stretch.pass();
        assert_eq!((stretch.next(), stretch.range()), (7, 0..6));
        let remarks = stretch.remarks(&log);
        assert_eq!(remarks.len(), 1, "{remarks:?}");
        assert_eq!(remarks[0].line, 2);
        assert!(remarks[0].what.contains("2 more lines"), "{}", remarks[0].what);
    }
}

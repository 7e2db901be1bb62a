//! What bonnie++ 2.00a prints: the table, the line with commas, and the words of both.
//!
//! Only formatting.

mod csv;
mod latency;
mod name;
mod table;

pub(super) use csv::{header, line};
pub(super) use table::table;

use latency::latency;

use super::config::Telling;
use super::shape::Shape;
use super::test::{Counted, Test};

/// A test that took less time has no rate: no column says so little.
const SHORT_NS: u64 = 500_000_000;

/// What a test came to, as the original counts it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Result {
    pub(super) elapsed_ns: u64,
    /// CPU of the threads that did it.
    pub(super) cpu_ns: u64,
    /// The longest loop body, or the end.
    pub(super) latency_ns: u64,
}

/// A run: what it was, and the results of the tests that were run.
#[derive(Debug)]
pub(super) struct Report<'r> {
    pub(super) shape: &'r Shape,
    pub(super) telling: &'r Telling,
    pub(super) results: [Option<Result>; Test::COUNT],
}

/// A rate of a test, and its share of a CPU.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Rate {
    /// It was not run.
    Absent,
    TooShort,
    /// KiB, seeks or files in a second, and whole percent.
    Known(f64, u64),
}

impl Report<'_> {
    fn rate(&self, test: Test) -> Rate {
        let Some(result) = self.results[test.place()].filter(|result| result.elapsed_ns > 0) else {
            return Rate::Absent;
        };
        if result.elapsed_ns < SHORT_NS {
            return Rate::TooShort;
        }
        let work = self.shape.work(test) as f64;
        let work = if test.counted() == Counted::Bytes { work / 1024.0 } else { work };
        let percent = u128::from(result.cpu_ns) * 100 / u128::from(result.elapsed_ns);
        let rate = work / (result.elapsed_ns as f64 / 1e9);
        Rate::Known(rate, u64::try_from(percent).unwrap_or(u64::MAX))
    }

    fn latency(&self, test: Test) -> String {
        self.results[test.place()].map(|result| latency(result.latency_ns)).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests;

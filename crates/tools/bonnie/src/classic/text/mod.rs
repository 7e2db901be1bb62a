//! What bonnie++ 2.00a prints: the table, the line with commas, and the words of both.
//!
//! Only formatting.

mod csv;
mod latency;
mod name;
mod table;

pub(crate) use csv::{header, line};
pub(crate) use table::table;

use latency::latency;

use super::asked::Asked;
use super::test::{Counted, Test};

/// A test that took less time has no rate: no column says so little.
const SHORT_NS: u64 = 500_000_000;

/// What a test came to, as the original counts it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Result {
    /// How long it took.
    pub elapsed_ns: u64,
    /// CPU of the threads that did it.
    pub cpu_ns: u64,
    /// The longest loop body, or the end.
    pub latency_ns: u64,
}

/// The formats of the line with commas.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CsvVersion {
    /// 1.96 and 1.97: 48 fields.
    Short(&'static str),
    /// 1.98: 50 fields.
    Long,
}

impl CsvVersion {
    /// Of its number.
    pub(crate) fn of(number: &'static str) -> Self {
        if number == "1.98" { Self::Long } else { Self::Short(number) }
    }
}

/// What a run is called, and in which form it is printed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Label {
    /// The name of the machine.
    pub name: String,
    /// The seed.
    pub seed: u64,
    /// MiB of the large file.
    pub mib: u64,
    /// Files by 1024; 0 where there are none.
    pub k: u64,
    /// The form of the line with commas.
    pub csv: CsvVersion,
    /// Whether its columns are where the original has them.
    pub csv_as_original: bool,
}

/// A run: what it was, and the results of the tests that were run.
#[derive(Debug)]
pub(crate) struct Report<'r> {
    /// What was asked for.
    pub asked: &'r Asked,
    /// What it is called.
    pub label: &'r Label,
    /// By [`Test::place`].
    pub results: [Option<Result>; Test::COUNT],
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
        let work = self.asked.work(test) as f64;
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

//! Output of bonnie++ 2.00a: the table and the CSV line.
//!
//! This module only formats.

mod csv;
mod latency;
mod name;
mod table;

pub(crate) use csv::{header, line};
pub(crate) use table::table;

use latency::latency;

use super::asked::RunParameters;
use super::test::{RateUnit, Test};

/// Shortest test that has a rate: for less the original prints plus signs.
const SHORT_NS: u64 = 500_000_000;

/// Result of a test, as the original counts it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct PrintedResult {
    /// Elapsed time.
    pub elapsed_ns: u64,
    /// CPU time of its threads.
    pub cpu_ns: u64,
    /// Longest loop body, or the end if that took longer.
    pub latency_ns: u64,
}

/// Format of the CSV line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CsvVersion {
    /// 1.96 and 1.97: 48 fields.
    Short(&'static str),
    /// 1.98: 50 fields.
    Long,
}

impl CsvVersion {
    /// Format with this version number.
    pub(crate) fn from_number(number: &'static str) -> Self {
        if number == "1.98" { Self::Long } else { Self::Short(number) }
    }
}

/// Name of a run, and the form of its output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RunLabel {
    /// Name of the machine.
    pub name: String,
    /// Seed of the run.
    pub seed: u64,
    /// Size of the large file in MiB.
    pub mib: u64,
    /// Number of files in units of 1024; 0 without files.
    pub k: u64,
    /// Format of the CSV line.
    pub csv: CsvVersion,
    /// True if the CSV columns are misplaced as in the original.
    pub csv_as_original: bool,
}

/// A run with the results of its tests.
#[derive(Debug)]
pub(crate) struct RunReport<'r> {
    /// Parameters of the run.
    pub asked: &'r RunParameters,
    /// Name and output form.
    pub label: &'r RunLabel,
    /// Results by [`Test::place`]; `None` for a test that was not run.
    pub results: [Option<PrintedResult>; Test::COUNT],
}

/// Rate of a test, and its CPU percentage.
#[derive(Clone, Copy, Debug, PartialEq)]
enum TestRate {
    /// The test was not run.
    Absent,
    TooShort,
    /// KiB, seeks or files per second, and whole percent.
    Known(f64, u64),
}

impl RunReport<'_> {
    fn rate(&self, test: Test) -> TestRate {
        let Some(result) = self.results[test.place()].filter(|result| result.elapsed_ns > 0) else {
            return TestRate::Absent;
        };
        if result.elapsed_ns < SHORT_NS {
            return TestRate::TooShort;
        }
        let work = self.asked.work(test) as f64;
        let work = if test.counted() == RateUnit::Bytes { work / 1024.0 } else { work };
        let percent = u128::from(result.cpu_ns) * 100 / u128::from(result.elapsed_ns);
        let rate = work / (result.elapsed_ns as f64 / 1e9);
        TestRate::Known(rate, u64::try_from(percent).unwrap_or(u64::MAX))
    }

    fn latency(&self, test: Test) -> String {
        self.results[test.place()].map(|result| latency(result.latency_ns)).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests;

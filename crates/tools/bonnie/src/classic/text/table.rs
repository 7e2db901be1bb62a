//! The result table.

use super::name;
use super::{RunReport, TestRate};
use crate::classic::test::{RateUnit, Test};

const VERSION: &str = "Version 2.00a       ";
const BLANK: &str = "                    ";
const PER_SECOND: &str = " /sec %CP  /sec %CP  /sec %CP  /sec %CP  /sec %CP  /sec %CP\n";

/// Table of a run, with its newlines.
pub(crate) fn table(report: &RunReport<'_>) -> String {
    let (parameters, label) = (report.asked, report.label);
    let (io_tests, file_tests) = Test::ALL.split_at(Test::SequentialCreate.place());
    let mut text = String::new();
    if let Some(io) = &parameters.io {
        text += VERSION;
        text += "------Sequential Output------ --Sequential Input- --Random-\n";
        text += BLANK;
        text += "-Per Chr- --Block-- -Rewrite- -Per Chr- --Block-- --Seeks--\n";
        text += "Name:Size etc       ";
        text += PER_SECOND;
        text += &name::io(&label.name, label.mib, io, parameters.copies);
        rows(report, io_tests, &mut text);
        if parameters.files.is_none() {
            text += "\n";
        }
    }
    if let Some(files) = &parameters.files {
        text += VERSION;
        text += "------Sequential Create------ --------Random Create--------\n";
        let name: String = label.name.chars().take(19).collect();
        text += &format!("{name:<20}");
        text += "-Create-- --Read--- -Delete-- -Create-- --Read--- -Delete--\n";
        text += name::files_heading(files);
        text += PER_SECOND;
        text += &name::files(label.k, files);
        rows(report, file_tests, &mut text);
    }
    text
}

/// Appends a row of figures, and the row of latencies.
fn rows(report: &RunReport<'_>, tests: &[Test], text: &mut String) {
    for &test in tests {
        *text += &match report.rate(test) {
            TestRate::Absent => " ".repeat(10),
            TestRate::TooShort => " +++++ +++".to_owned(),
            TestRate::Known(rate, percent) => format!(" {} {percent:>3}", figure(test, rate)),
        };
    }
    *text += "\nLatency          ";
    for &test in tests {
        *text += &format!(" {:>9}", report.latency(test));
    }
    *text += "\n";
}

/// Formats a rate in five columns.
pub(super) fn figure(test: Test, rate: f64) -> String {
    let mib = rate / 1024.0;
    match test.counted() {
        RateUnit::Files => format!("{:>5.0}", rate.floor()),
        RateUnit::Seeks if rate < 1000.0 => format!("{rate:>5.1}"),
        RateUnit::Seeks => format!("{rate:>5.0}"),
        RateUnit::Bytes if rate < 10_000.0 => format!("{:>4.0}k", rate.floor()),
        RateUnit::Bytes if mib < 100.0 => format!("{mib:>4.1}m"),
        RateUnit::Bytes if mib < 1000.0 => format!("{mib:>4.0}m"),
        RateUnit::Bytes => format!("{:>4.1}g", mib / 1024.0),
    }
}

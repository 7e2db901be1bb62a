//! Output of fio 1.38 to 3.x in each of its forms: text, JSON and JSON+, terse lines.
//!
//! A run reported in two formats is one trial: JSON, which is exact, precedes a terse line, which
//! precedes normal output. A reporting group, or else each clone of a job, is one job here; its
//! reads, writes and syncs are separate kinds.

mod cautions;
mod command;
mod json;
mod size;
mod terse;
mod text;
mod trial;

use crate::report::Run;
use treering_kit::import::known_text::{KnownText, LeftOutNumbers};
use treering_kit::import::log::Log;
use treering_kit::import::trial::ImportedTrial;
use treering_kit::import::{Importer, ParsedOutputs, Remark};

/// Name of the tool and of its workload.
const TOOL: &str = "fio";
/// Maximum number of empty lines between two formats of the same run.
const GAP_LINES_MOST: usize = 4;
/// Largest difference between the start times of two formats of the same run, since seconds are
/// rounded.
const BEGINNING_SLACK_MS: i64 = 1_500;

/// Importer of fio's outputs.
pub(crate) struct Fio;

/// Output formats, the most detailed last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum OutputFormat {
    NormalOutput,
    Terse,
    Json,
}

/// Run in one format.
struct ParsedRun {
    form: OutputFormat,
    run: Option<Run>,
    end: usize,
    remarks: Vec<Remark>,
}

/// Reason why shares of a group are left out.
const SHARE: &str = "the share of the group's bandwidth follows from the rates";

/// Numbers that are not stored, with the reason.
const KNOWN_TEXT: [KnownText; 12] = [
    KnownText { line: "Jobs: ", numbers: LeftOutNumbers::All, why: "a status during the run" },
    KnownText {
        line: "",
        numbers: LeftOutNumbers::Named(&[
            "N",
            "samples",
            "bw_samples",
            "iops_samples",
            "job_runtime",
        ]),
        why: "how many values a figure is of, and the times of all clones together",
    },
    KnownText { line: "3;fio-", numbers: LeftOutNumbers::Fields(&[43, 84]), why: SHARE },
    KnownText { line: "4;fio-", numbers: LeftOutNumbers::Fields(&[43, 84, 125]), why: SHARE },
    KnownText { line: "5;fio-", numbers: LeftOutNumbers::Fields(&[43, 90, 137]), why: SHARE },
    KnownText {
        line: "",
        numbers: LeftOutNumbers::Named(&[
            "pid",
            "per",
            "bw_agg",
            "minb",
            "maxb",
            "aggrmerge",
            "aggrios",
            "aggrticks",
            "aggrin_queue",
            "aggrutil",
        ]),
        why: "the process, shares of a group, and sums that the jobs or the disks give",
    },
    KnownText {
        line: "READ: bw=",
        numbers: LeftOutNumbers::Words(&[2, 3, 4]),
        why: "the least and the greatest rate of the group's jobs follow from them",
    },
    KnownText {
        line: "WRITE: bw=",
        numbers: LeftOutNumbers::Words(&[2, 3, 4]),
        why: "the least and the greatest rate of the group's jobs follow from them",
    },
    KnownText {
        line: "TRIM: bw=",
        numbers: LeftOutNumbers::Words(&[2, 3, 4]),
        why: "the least and the greatest rate of the group's jobs follow from them",
    },
    KnownText {
        line: "",
        numbers: LeftOutNumbers::Named(&[
            "aggr_util",
            "aggr_read_ios",
            "aggr_write_ios",
            "aggr_read_merges",
            "aggr_write_merge",
            "aggr_read_ticks",
            "aggr_write_ticks",
            "aggr_in_queue",
            "drop_ios",
            "short_ios",
            "latency_window",
            "latency_target",
            "latency_percentile",
            "latency_depth",
        ]),
        why: "sums over the parts of a device, and parameters of latency_target",
    },
    KnownText {
        line: "",
        numbers: LeftOutNumbers::Named(&[
            "timestamp",
            "timestamp_ms",
            "job_start",
            "jobid",
            "eta",
            "elapsed",
        ]),
        why: "times of day and numbers of jobs",
    },
    KnownText {
        line: " short=",
        numbers: LeftOutNumbers::All,
        why: "requests that came back short, with how the depth was used",
    },
];

impl Importer for Fio {
    fn tool(&self) -> &'static str {
        TOOL
    }

    fn known_text(&self) -> &'static [KnownText] {
        &KNOWN_TEXT
    }

    fn begins(&self, log: &Log<'_>, at: usize) -> bool {
        form(log, at).is_some()
    }

    fn read(&self, log: &mut Log<'_>, at: usize) -> ParsedOutputs {
        let Some(mut reported) = reported(log, at) else {
            return ParsedOutputs { end: at + 1, outputs: Vec::new(), remarks: Vec::new() };
        };
        let mut is_reported_twice = false;
        while let Some(other) = next(log, reported.end).and_then(|next| self::reported(log, next)) {
            let Some(how) = run_relation(&reported, &other) else { break };
            reported.end = other.end;
            match how {
                RunRelation::First => {
                    is_reported_twice = true;
                }
                RunRelation::Second => {
                    is_reported_twice = reported.run.is_some();
                    reported = ParsedRun { end: other.end, ..other };
                }
                RunRelation::Later => {
                    let what = "an earlier status of the same run was skipped; a later one follows";
                    let mut remarks = reported.remarks;
                    remarks.push(Remark { line: at + 1, what: what.to_owned() });
                    remarks.extend(other.remarks);
                    reported = ParsedRun { remarks, ..other };
                }
            }
        }
        let mut remarks = reported.remarks;
        if is_reported_twice {
            let what = "this run is reported in two forms, and imported once".to_owned();
            remarks.push(Remark { line: at + 1, what });
        }
        let mut outputs = Vec::new();
        match reported.run.filter(|run| !run.jobs.is_empty()) {
            Some(mut run) => {
                if let Some(command) = command::above(log, at) {
                    command.add_options_to(&mut run);
                }
                let (trial, notes) = trial::trial(&run);
                let at_line = |what: String| Remark { line: at + 1, what };
                remarks.extend(notes.into_iter().map(at_line));
                outputs.push(ImportedTrial::Foreign(Box::new(trial)));
            }
            None if remarks.is_empty() => {
                let what = "fio has no result: its run failed or its output is \
                            truncated"
                    .to_owned();
                remarks.push(Remark { line: at + 1, what });
            }
            None => {}
        }
        ParsedOutputs { end: reported.end, outputs, remarks }
    }
}

fn form(log: &Log<'_>, at: usize) -> Option<OutputFormat> {
    if json::begins(log, at) {
        Some(OutputFormat::Json)
    } else if terse::begins(log, at) {
        Some(OutputFormat::Terse)
    } else {
        text::begins(log, at).then_some(OutputFormat::NormalOutput)
    }
}

fn reported(log: &Log<'_>, at: usize) -> Option<ParsedRun> {
    Some(match form(log, at)? {
        form @ OutputFormat::Json => {
            let json::JsonDocument { run, end, remarks } = json::read(log, at);
            ParsedRun { form, run, end, remarks }
        }
        form @ OutputFormat::Terse => {
            let terse::TerseLines { run, end, remarks } = terse::read(log, at);
            ParsedRun { form, run: Some(run), end, remarks }
        }
        form @ OutputFormat::NormalOutput => {
            let is_other = |at: usize| {
                let mut others = log.importers().iter().filter(|importer| importer.tool() != TOOL);
                json::begins(log, at)
                    || terse::begins(log, at)
                    || others.any(|importer| importer.begins(log, at))
            };
            let text::NormalOutput { run, end, remarks } = text::read(log, at, is_other);
            ParsedRun { form, run: Some(run), end, remarks }
        }
    })
}

/// Next line that is not empty, within the permitted gap.
fn next(log: &Log<'_>, end: usize) -> Option<usize> {
    let near = end..(end + GAP_LINES_MOST).min(log.len());
    near.into_iter().find(|at| !log.line(*at).trim().is_empty())
}

/// Relation of two neighbouring outputs of the same run.
enum RunRelation {
    /// The first output is more detailed.
    First,
    /// The second output is more detailed.
    Second,
    /// The second output is later, of the same run at work or at its end.
    Later,
}

fn run_relation(reported: &ParsedRun, other: &ParsedRun) -> Option<RunRelation> {
    let (run, next) = (reported.run.as_ref()?, other.run.as_ref()?);
    if reported.form == other.form {
        let is_later = reported.form == OutputFormat::Json && is_status(run, next);
        return is_later.then_some(RunRelation::Later);
    }
    // In normal output, the headers of the jobs come first.
    let is_heading = reported.form == OutputFormat::NormalOutput && run.jobs.is_empty();
    if is_heading {
        return Some(RunRelation::Second);
    }
    run.is_same(next).then_some(if reported.form > other.form {
        RunRelation::First
    } else {
        RunRelation::Second
    })
}

/// True if `later` is a status report of the same run, written some time after `run`.
fn is_status(run: &Run, later: &Run) -> bool {
    let began =
        |run: &Run| Some(run.reported_unix_ms? - i64::try_from(run.elapsed_ns / 1_000_000).ok()?);
    let names = |run: &Run| -> Vec<(String, u64)> {
        run.jobs.iter().map(|job| (job.name.clone(), job.group)).collect()
    };
    let (Some(first), Some(second)) = (began(run), began(later)) else { return false };
    run.elapsed_ns <= later.elapsed_ns
        && run.reported_unix_ms < later.reported_unix_ms
        && (first - second).abs() <= BEGINNING_SLACK_MS
        && names(run) == names(later)
}

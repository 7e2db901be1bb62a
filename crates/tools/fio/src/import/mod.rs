//! Output of fio 1.38 to 3.x in each of its forms: text, JSON and JSON+, terse lines.
//!
//! A run reported in two forms is one trial: of JSON, which is exact, before a terse line before
//! text. A group that reports itself as one, and else each clone of a job, is one job here; its
//! reads, writes and syncs are kinds of their own.

mod cautions;
mod command;
mod json;
mod size;
mod terse;
mod text;
mod trial;

use crate::report::Run;
use treering_kit::import::log::Log;
use treering_kit::import::trial::Content;
use treering_kit::import::{Importer, Reading, Remark};

/// The tool, and its workload.
const TOOL: &str = "fio";
/// So many empty lines may stand between two forms of the same run.
const GAP_LINES_MOST: usize = 4;
/// Of the same run, documents tell beginnings that are no further apart: seconds are rounded.
const BEGINNING_SLACK_MS: i64 = 1_500;

/// Reads output of fio.
pub(crate) struct Fio;

/// The forms, the best one last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Form {
    Text,
    Terse,
    Json,
}

/// A run in one form.
struct Reported {
    form: Form,
    run: Option<Run>,
    end: usize,
    remarks: Vec<Remark>,
}

impl Importer for Fio {
    fn tool(&self) -> &'static str {
        TOOL
    }

    fn begins(&self, log: &Log<'_>, at: usize) -> bool {
        form(log, at).is_some()
    }

    fn read(&self, log: &mut Log<'_>, at: usize) -> Reading {
        let Some(mut reported) = reported(log, at) else {
            return Reading { end: at + 1, outputs: Vec::new(), remarks: Vec::new() };
        };
        let mut is_reported_twice = false;
        while let Some(other) = next(log, reported.end).and_then(|next| self::reported(log, next)) {
            let Some(how) = together(&reported, &other) else { break };
            reported.end = other.end;
            match how {
                Together::First => {
                    is_reported_twice = true;
                }
                Together::Second => {
                    is_reported_twice = reported.run.is_some();
                    reported = Reported { end: other.end, ..other };
                }
                Together::Later => {
                    let what = "an earlier status of the same run was skipped; a later one follows";
                    let mut remarks = reported.remarks;
                    remarks.push(Remark { line: at + 1, what: what.to_owned() });
                    remarks.extend(other.remarks);
                    reported = Reported { remarks, ..other };
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
                    command.teach(&mut run);
                }
                let (trial, said) = trial::trial(&run);
                let at_line = |what: String| Remark { line: at + 1, what };
                remarks.extend(said.into_iter().map(at_line));
                outputs.push(Content::Foreign(Box::new(trial)));
            }
            None if remarks.is_empty() => {
                let what = "fio has no result: its run failed or its output is \
                            truncated"
                    .to_owned();
                remarks.push(Remark { line: at + 1, what });
            }
            None => {}
        }
        Reading { end: reported.end, outputs, remarks }
    }
}

fn form(log: &Log<'_>, at: usize) -> Option<Form> {
    if json::begins(log, at) {
        Some(Form::Json)
    } else if terse::begins(log, at) {
        Some(Form::Terse)
    } else {
        text::begins(log, at).then_some(Form::Text)
    }
}

fn reported(log: &Log<'_>, at: usize) -> Option<Reported> {
    Some(match form(log, at)? {
        form @ Form::Json => {
            let json::Document { run, end, remarks } = json::read(log, at);
            Reported { form, run, end, remarks }
        }
        form @ Form::Terse => {
            let terse::Lines { run, end, remarks } = terse::read(log, at);
            Reported { form, run: Some(run), end, remarks }
        }
        form @ Form::Text => {
            let is_other = |at: usize| {
                let mut others = log.importers().iter().filter(|importer| importer.tool() != TOOL);
                json::begins(log, at)
                    || terse::begins(log, at)
                    || others.any(|importer| importer.begins(log, at))
            };
            let text::Text { run, end, remarks } = text::read(log, at, is_other);
            Reported { form, run: Some(run), end, remarks }
        }
    })
}

/// The next line with anything, not far away.
fn next(log: &Log<'_>, end: usize) -> Option<usize> {
    let near = end..(end + GAP_LINES_MOST).min(log.len());
    near.into_iter().find(|at| !log.line(*at).trim().is_empty())
}

/// How two neighbours are one run.
enum Together {
    /// The first says more.
    First,
    /// The second says more.
    Second,
    /// The second was said later, while it ran or at its end.
    Later,
}

fn together(reported: &Reported, other: &Reported) -> Option<Together> {
    let (run, next) = (reported.run.as_ref()?, other.run.as_ref()?);
    if reported.form == other.form {
        let is_later = reported.form == Form::Json && is_status(run, next);
        return is_later.then_some(Together::Later);
    }
    // The jobs that were to be run stand in text before all else.
    let is_heading = reported.form == Form::Text && run.jobs.is_empty();
    if is_heading {
        return Some(Together::Second);
    }
    run.is_same(next).then_some(if reported.form > other.form {
        Together::First
    } else {
        Together::Second
    })
}

/// Whether a document tells of the same run as the one before it, some time later.
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

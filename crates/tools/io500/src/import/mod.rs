//! Results of IO500: `result_summary.txt`, the program's standard output, and `result.txt`, of the
//! versions since 2020.
//!
//! Figures are taken as printed. A score that does not follow from the printed phases is left out,
//! and so is a phase that occurs twice.

mod lines;
mod run;

use lines::{OutputLine, line};
use run::ParsedRun;
use treering_kit::import::log::Log;
use treering_kit::import::stretch::LineCursor;
use treering_kit::import::trial::ImportedTrial;
use treering_kit::import::{Importer, ParsedOutputs, Remark};

/// Reads results of IO500.
pub(crate) struct Io500Importer;

/// Name of the tool and of its workload.
const TOOL: &str = "io500";
/// Number of lines within which `result.txt` names its version.
const HEAD_LINES: usize = 8;

impl Importer for Io500Importer {
    fn tool(&self) -> &'static str {
        TOOL
    }

    fn begins(&self, log: &Log<'_>, at: usize) -> bool {
        match line(log.line(at)) {
            Some(OutputLine::Version(..)) => true,
            Some(OutputLine::Section(name)) if name == "run" => {
                (at + 1..log.len().min(at + HEAD_LINES)).any(|next| is_version(log.line(next)))
            }
            _ => is_version(log.line(at)),
        }
    }

    fn read(&self, log: &mut Log<'_>, at: usize) -> ParsedOutputs {
        let mut run = ParsedRun::default();
        let mut stretch = LineCursor::from(at);
        while let Some(parsed) = stretch.next_parsed(log, |text| run.own_line(text)) {
            let next = stretch.next();
            if run.has_begun() && self.begins(log, next) && !run.is_head(&parsed) {
                break;
            }
            run.take(next, parsed);
            stretch.take(log, 1);
        }
        let mut remarks = stretch.remarks();
        let (trial, own) = run.trial();
        remarks.extend(own);
        if trial.is_none() {
            let message =
                "this result of IO500 has no figures: its run failed, was a dry run, or its \
                        output is truncated"
                    .to_owned();
            remarks.push(Remark { line: at + 1, what: message });
        }
        let outputs = trial.map(|trial| ImportedTrial::Foreign(Box::new(trial)));
        ParsedOutputs { end: stretch.end(), outputs: outputs.into_iter().collect(), remarks }
    }
}

/// True for the line of a long result that names the version.
fn is_version(text: &str) -> bool {
    let Some(OutputLine::Value(key, value)) = line(text) else { return false };
    key == "version" && value.starts_with("io500")
}

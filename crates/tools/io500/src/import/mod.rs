//! Results of IO500: `result_summary.txt`, the program's standard output, and `result.txt`, of the
//! versions since 2020.
//!
//! Figures are taken as printed. A score that does not follow from the printed phases is left out,
//! and so is a phase that occurs twice.

mod lines;
mod run;

use lines::{OutputLine, line};
use run::ParsedRun;
use treering_kit::import::known_text::{KnownText, LeftOutNumbers};
use treering_kit::import::log::Log;
use treering_kit::import::stretch::LineCursor;
use treering_kit::import::{Importer, ParsedOutputs, Remark};

/// Reads results of IO500.
pub(crate) struct Io500Importer;

/// Name of the phase with which every summary begins.
const FIRST: &str = "ior-easy-write";
/// Name of the tool and of its workload.
const TOOL: &str = "io500";
/// Number of lines within which `result.txt` names its version.
const HEAD_LINES: usize = 8;

/// Numbers that are not stored, with the reason.
const KNOWN_TEXT: [KnownText; 6] = [
    KnownText {
        line: "[EXEC] ",
        numbers: LeftOutNumbers::All,
        why: "the command line of find, between the results of the shell's version",
    },
    KnownText {
        line: "+",
        numbers: LeftOutNumbers::At(is_traced),
        why: "a command that the shell showed before it ran it",
    },
    KnownText {
        line: "[FIND] ",
        numbers: LeftOutNumbers::All,
        why: "what find printed, of which its rate and time are computed",
    },
    KnownText {
        line: " phase ",
        numbers: LeftOutNumbers::Named(&["phase"]),
        why: "the number of a phase",
    },
    KnownText {
        line: "[Exec] ",
        numbers: LeftOutNumbers::All,
        why: "the command line of a phase, between the results of the shell's version",
    },
    KnownText { line: "hash ", numbers: LeftOutNumbers::All, why: "a checksum, no figure" },
];

impl Importer for Io500Importer {
    fn tool(&self) -> &'static str {
        TOOL
    }

    fn known_text(&self) -> &'static [KnownText] {
        &KNOWN_TEXT
    }

    fn begins(&self, log: &Log<'_>, at: usize) -> bool {
        match line(log.line(at)) {
            Some(OutputLine::Version(..)) => true,
            Some(OutputLine::Section(name)) => name == "run" && is_head(log, at + 1),
            Some(OutputLine::Value(key, value)) => {
                let is_named = key == "version" && value.starts_with("io500");
                is_named || (key == "version" && is_head(log, at))
            }
            // The shell's first phase; its summary has no line before it.
            Some(OutputLine::Phase(phase)) => phase.name == FIRST && is_of_shell(log.line(at)),
            _ => false,
        }
    }

    fn read(&self, log: &mut Log<'_>, at: usize) -> ParsedOutputs {
        let mut run = ParsedRun::default();
        let mut stretch = LineCursor::from(at);
        while let Some(parsed) = stretch.next_parsed(log, |text| run.own_line(text)) {
            let next = stretch.next();
            let is_own = run.is_head(&parsed) || run.is_repeated(&parsed);
            let is_next = run.has_begun() && self.begins(log, next) && !is_own;
            if is_next && next > at {
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
        ParsedOutputs::new(stretch.end(), trial, remarks)
    }
}

/// True if the lines from here are the head of a long result: its version, and at least two more
/// of its keys. The version may be empty, or a name that somebody gave to a build of their own.
fn is_head(log: &Log<'_>, at: usize) -> bool {
    let keys = (at..log.len().min(at + HEAD_LINES)).filter_map(|next| match line(log.line(next)) {
        Some(OutputLine::Value(key, value)) => Some((key, value)),
        _ => None,
    });
    let (mut has_version, mut others) = (false, 0);
    for (key, value) in keys {
        match key.as_str() {
            "version" if value.starts_with("io500") => return true,
            "version" => has_version = true,
            "config-hash" | "result-dir" | "mode" | "procs" => others += 1,
            _ => {}
        }
    }
    has_version && others > 1
}

/// True for a line of a shell's trace: `++ duration=328.9735`.
fn is_traced(text: &str, _: usize) -> bool {
    let tail = text.trim_start_matches('+');
    tail.len() < text.len() && tail.starts_with(' ')
}

/// True for a phase as the program printed it while it was a script of the shell.
fn is_of_shell(text: &str) -> bool {
    text.split_whitespace().nth(2) == Some("phase")
}

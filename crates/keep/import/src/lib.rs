//! Importing: the logs that people already have become trials. Pure: bytes in, trials out.
//!
//! A file may hold several outputs with any text around and between them, as a mail does. Each
//! importer says where an output of its tool begins and reads it to its end; what it cannot
//! understand within is remarked with the number of the line, never guessed. One folder for each
//! tool, one line in `ALL`.

mod blogbench;
mod bonnie;
mod compilebench;
mod dbench;
mod ffsb;
mod filebench;
mod fio;
mod fs_mark;
mod own;

mod encoding;
mod log;
mod mmtests;
mod number;
mod prefix;
mod source;
mod stretch;
mod trial;

pub use mmtests::{ResultFile, beginnings, results};
pub use source::{ImportError, Source};
pub use trial::{Content, ForeignTrial, events_of};

use log::Log;

/// Every importer, in the order in which they are asked.
const ALL: &[&dyn Importer] = &[
    &own::Own,
    &compilebench::Compilebench,
    &fs_mark::FsMark,
    &ffsb::Ffsb,
    &bonnie::Bonnie,
    &dbench::Dbench,
    &blogbench::Blogbench,
    &fio::Fio,
    &filebench::Filebench,
];

/// Reads the output of one tool.
trait Importer: Sync {
    /// The name of the tool, which is that of its workload.
    fn tool(&self) -> &'static str;

    /// Whether an output begins at this line.
    fn begins(&self, log: &Log<'_>, at: usize) -> bool;

    /// Reads an output that begins at this line. At least that line is part of it.
    fn read(&self, log: &mut Log<'_>, at: usize) -> Reading;
}

/// What an importer read.
struct Reading {
    /// The line behind the last one that belongs to it.
    end: usize,
    outputs: Vec<Content>,
    remarks: Vec<Remark>,
}

/// Something that a reader of the import should know.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Remark {
    /// The line it is about, counted from 1.
    pub line: usize,
    /// What was seen, and what came of it.
    pub what: String,
}

/// An output that was found.
#[derive(Clone, Debug, PartialEq)]
pub struct Found {
    /// The name of the tool.
    pub tool: &'static str,
    /// Where it stands: lines counted from 1, the last one included.
    pub lines: (usize, usize),
    /// Which of the outputs in these lines it is, counted from 0: a web page may have made one line
    /// of two.
    pub nth: usize,
    /// The trial in it.
    pub content: Content,
}

/// What was found in a file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Imported {
    /// The outputs in their order.
    pub found: Vec<Found>,
    /// What could not be understood within them, or was corrected.
    pub remarks: Vec<Remark>,
    /// How many lines the file has.
    pub lines: usize,
    /// Of these, lines with text around and between the outputs, which was skipped.
    pub skipped_lines: usize,
}

/// The tools whose logs can be read, for messages.
pub fn tools() -> impl Iterator<Item = &'static str> {
    ALL.iter().map(|importer| importer.tool())
}

/// An output, without the trial in it.
#[derive(Clone, Debug, PartialEq)]
pub struct Outline {
    /// As [`Found::tool`].
    pub tool: &'static str,
    /// As [`Found::lines`].
    pub lines: (usize, usize),
    /// As [`Found::nth`].
    pub nth: usize,
    /// The label of a trial of treering's own.
    pub label: Option<String>,
    /// What the log calls a trial of another tool; empty when it does not.
    pub name: String,
}

/// What was found in a file that is too long to keep all trials in it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Scan {
    /// The outputs in their order.
    pub outlines: Vec<Outline>,
    /// As [`Imported::remarks`].
    pub remarks: Vec<Remark>,
}

/// A file that is read piece by piece: what is in it first, then trial by trial.
///
/// It holds some pieces of 64 KiB, the output that is being read, and 16 bytes for each piece.
pub struct Importing<'s> {
    log: Log<'s>,
}

impl<'s> Importing<'s> {
    /// Looks through the file for its lines.
    ///
    /// # Errors
    /// When it cannot be read, or has a line of more than 64 MiB.
    pub fn of(source: &'s dyn Source) -> Result<Self, ImportError> {
        Ok(Self { log: Log::of_source(source)? })
    }

    /// What outputs there are.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn scan(&mut self) -> Result<Scan, ImportError> {
        let mut outlines = Vec::new();
        let walked = walk(&mut self.log, &mut |tool, lines, nth, content| {
            let (label, name) = match content {
                Content::Own(trial) => (Some(trial.beginning.label), String::new()),
                Content::Foreign(trial) => (None, trial.name),
            };
            outlines.push(Outline { tool, lines, nth, label, name });
        });
        self.log.take_failure()?;
        Ok(Scan { outlines, remarks: walked.remarks })
    }

    /// The trials of the outputs that begin at this line, as [`Outline::lines`] names it.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn read(&mut self, line: usize) -> Result<Vec<Content>, ImportError> {
        let at = line.saturating_sub(1);
        self.log.forget();
        let importer = ALL.iter().find(|importer| importer.begins(&self.log, at));
        let outputs = importer.map(|importer| importer.read(&mut self.log, at).outputs);
        self.log.take_failure()?;
        Ok(outputs.unwrap_or_default())
    }
}

/// Finds all outputs in a file in memory.
pub fn import(bytes: &[u8]) -> Imported {
    let mut found = Vec::new();
    let mut log = Log::of_bytes(bytes);
    let walked = walk(&mut log, &mut |tool, lines, nth, content| {
        found.push(Found { tool, lines, nth, content });
    });
    Imported { found, ..walked }
}

/// Tells each output; all else is returned.
fn walk(
    log: &mut Log<'_>,
    tell: &mut dyn FnMut(&'static str, (usize, usize), usize, Content),
) -> Imported {
    let mut imported = Imported { lines: log.len(), ..Imported::default() };
    let mut at = 0;
    while at < log.len() {
        log.forget_before(at);
        let Some(importer) = ALL.iter().find(|importer| importer.begins(log, at)) else {
            imported.skipped_lines += usize::from(!log.line(at).trim().is_empty());
            at += 1;
            continue;
        };
        let reading = importer.read(log, at);
        let end = reading.end.clamp(at + 1, log.len());
        for (nth, content) in reading.outputs.into_iter().enumerate() {
            tell(importer.tool(), (at + 1, end), nth, content);
        }
        imported.remarks.extend(reading.remarks);
        at = end;
    }
    for remark in &mut imported.remarks {
        // Names of trees and messages about JSON hold what the file does.
        remark.what = log::tame(&remark.what);
    }
    imported.remarks.sort();
    imported
}

/// Whether some output begins here: where one importer has to stop.
fn any_begins(log: &Log<'_>, at: usize) -> bool {
    ALL.iter().any(|importer| importer.begins(log, at))
}

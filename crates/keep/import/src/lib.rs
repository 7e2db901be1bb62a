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
mod stretch;
mod trial;

pub use mmtests::{ResultFile, beginnings, results};
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
    fn read(&self, log: &Log<'_>, at: usize) -> Reading;
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

/// Finds all outputs in a file.
pub fn import(bytes: &[u8]) -> Imported {
    let text = encoding::decode(bytes);
    let log = Log::of(&text);
    let mut imported = Imported { lines: log.len(), ..Imported::default() };
    let mut at = 0;
    while at < log.len() {
        let Some(importer) = ALL.iter().find(|importer| importer.begins(&log, at)) else {
            imported.skipped_lines += usize::from(!log.line(at).trim().is_empty());
            at += 1;
            continue;
        };
        let reading = importer.read(&log, at);
        let end = reading.end.clamp(at + 1, log.len());
        for (nth, content) in reading.outputs.into_iter().enumerate() {
            let lines = (at + 1, end);
            imported.found.push(Found { tool: importer.tool(), lines, nth, content });
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

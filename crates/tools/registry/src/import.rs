//! Importing: turns existing logs into trials. Pure: bytes in, trials out.
//!
//! A file may hold several outputs with any text around and between them, as a mail does. Each
//! importer says where an output of its tool begins and reads it to its end; what it cannot
//! understand within is remarked with the number of the line, never guessed. One folder for each
//! tool, one line in `ALL`.

use std::ops::ControlFlow;

use treering_kit::import::Remark;
use treering_kit::import::log::{Log, tame};
use treering_kit::import::source::{ImportError, Source};
use treering_kit::import::trial::Content;

use crate::importers;

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
    importers().iter().map(|importer| importer.tool())
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
        Ok(Self { log: Log::of_source(source, importers())? })
    }

    /// What outputs there are.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn scan(&mut self) -> Result<Scan, ImportError> {
        let mut outlines: Vec<Outline> = Vec::new();
        let walked = walk(&mut self.log, &mut outlines);
        self.log.take_failure()?;
        Ok(Scan { outlines, remarks: walked.remarks })
    }

    /// Hands on the trials of the outputs that begin at this line, as [`Outline::lines`] names it,
    /// one at a time, until it is told to stop.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn read(
        &mut self,
        line: usize,
        hand_on: &mut dyn FnMut(Content) -> ControlFlow<()>,
    ) -> Result<(), ImportError> {
        let at = line.saturating_sub(1);
        self.log.forget();
        if let Some(importer) = importers().iter().find(|importer| importer.begins(&self.log, at)) {
            importer.read_each(&mut self.log, at, hand_on);
        }
        self.log.take_failure()
    }
}

/// Keeps what was found.
trait Collection {
    /// An output that begins at this line, counted from 1.
    fn add(&mut self, tool: &'static str, line: usize, nth: usize, content: Content);

    /// The last outputs, so many, end with this line.
    fn end(&mut self, count: usize, line: usize);
}

impl Collection for Vec<Outline> {
    fn add(&mut self, tool: &'static str, line: usize, nth: usize, content: Content) {
        let (label, name) = match content {
            Content::Own(trial) => (Some(trial.beginning.label), String::new()),
            Content::Foreign(trial) => (None, trial.name),
        };
        self.push(Outline { tool, lines: (line, line), nth, label, name });
    }

    fn end(&mut self, count: usize, line: usize) {
        self.iter_mut().rev().take(count).for_each(|outline| outline.lines.1 = line);
    }
}

impl Collection for Vec<Found> {
    fn add(&mut self, tool: &'static str, line: usize, nth: usize, mut content: Content) {
        if let Content::Foreign(trial) = &mut content {
            trial.unfold();
        }
        self.push(Found { tool, lines: (line, line), nth, content });
    }

    fn end(&mut self, count: usize, line: usize) {
        self.iter_mut().rev().take(count).for_each(|found| found.lines.1 = line);
    }
}

/// Finds all outputs in a file in memory.
pub fn import(bytes: &[u8]) -> Imported {
    let mut found: Vec<Found> = Vec::new();
    let walked = walk(&mut Log::of_bytes(bytes, importers()), &mut found);
    Imported { found, ..walked }
}

/// Collects the outputs; all else is returned.
fn walk(log: &mut Log<'_>, found: &mut dyn Collection) -> Imported {
    let mut imported = Imported { lines: log.len(), ..Imported::default() };
    let mut at = 0;
    while at < log.len() {
        log.forget_before(at);
        let Some(importer) = importers().iter().find(|importer| importer.begins(log, at)) else {
            imported.skipped_lines += usize::from(!log.line(at).trim().is_empty());
            at += 1;
            continue;
        };
        let mut count = 0;
        let reading = importer.read_each(log, at, &mut |content| {
            found.add(importer.tool(), at + 1, count, content);
            count += 1;
            ControlFlow::Continue(())
        });
        let end = reading.end.clamp(at + 1, log.len());
        found.end(count, end);
        imported.remarks.extend(reading.remarks);
        at = end;
    }
    for remark in &mut imported.remarks {
        // Names of trees and messages about JSON hold what the file does.
        remark.what = tame(&remark.what);
    }
    imported.remarks.sort();
    imported
}

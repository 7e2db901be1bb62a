//! Import of existing logs as trials. Pure: bytes in, trials out.
//!
//! A file may hold several outputs with any text around and between them, as a mail does. Each
//! importer finds the start of an output of its tool and reads it to its end; lines that it cannot
//! understand are reported as remarks with their line number, never guessed at. Each tool has one
//! folder, and one line in `TOOLS`.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use treering_kit::import::Remark;
use treering_kit::import::decoration::Decoration;
use treering_kit::import::log::{Log, without_control_characters};
use treering_kit::import::source::{ImportError, TextSource};
use treering_kit::import::trial::ImportedTrial;

use crate::general::fsperf::database::{is_database, write_lines};
use crate::importers;
use crate::near_miss::{NearMiss, near_miss};

/// Output found in a file.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolOutput {
    /// Name of the tool.
    pub tool: &'static str,
    /// First and last line of the output, from 1.
    pub lines: (usize, usize),
    /// Index among the outputs in these lines, from 0: a web page may have joined two outputs into
    /// one line.
    pub nth: usize,
    /// Trial in the output.
    pub content: ImportedTrial,
}

/// Content of an imported file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ImportResult {
    /// Outputs in the order of the file.
    pub found: Vec<ToolOutput>,
    /// Lines of the outputs that were not understood, and corrections.
    pub remarks: Vec<Remark>,
    /// Number of lines of the file.
    pub lines: usize,
    /// Number of lines with text around and between the outputs, which was skipped.
    pub skipped_lines: usize,
    /// Outputs without a trial.
    pub empty: Vec<EmptyOutput>,
}

/// Output of a tool that holds no result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EmptyOutput {
    /// Tool, as in [`ToolOutput::tool`].
    pub tool: &'static str,
    /// Lines of the output in the log.
    pub lines: (usize, usize),
}

/// Names of the tools whose logs can be read, for messages.
pub fn tools() -> impl Iterator<Item = &'static str> {
    importers().iter().map(|importer| importer.tool())
}

/// Output without its trial.
#[derive(Clone, Debug, PartialEq)]
pub struct OutputOutline {
    /// Tool, as in [`ToolOutput::tool`].
    pub tool: &'static str,
    /// Lines of the output in the log.
    pub lines: (usize, usize),
    /// Index in the lines, as in [`ToolOutput::nth`].
    pub nth: usize,
    /// Label of an own trial of treering.
    pub label: Option<String>,
    /// Name in the log for a trial of another tool; empty if there is none.
    pub name: String,
    /// True if the trials of these lines that have the same name are rounds of one side.
    pub is_round: bool,
    /// Decoration of its lines, if it is read without one.
    decoration: Option<Decoration>,
}

/// Outputs of a file that is too long to keep all trials in it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FileScan {
    /// Outputs in the order of the file.
    pub outlines: Vec<OutputOutline>,
    /// Outputs without a trial.
    pub empty: Vec<EmptyOutput>,
    /// Remarks, as in [`ImportResult::remarks`].
    pub remarks: Vec<Remark>,
}

/// Import of a file read piece by piece: first the list of its outputs, then trial by trial.
///
/// The reader holds some pieces of 64 KiB, the output being read, and 16 bytes for each piece.
pub struct ImportReader<'s> {
    log: Log<'s>,
}

impl<'s> ImportReader<'s> {
    /// Surveys the lines of the file.
    ///
    /// # Errors
    /// When it cannot be read, or has a line of more than 64 MiB.
    pub fn new(source: &'s dyn TextSource) -> Result<Self, ImportError> {
        Ok(Self { log: Log::of_source(source, importers())? })
    }

    /// Lines of the file.
    pub(crate) fn log(&self) -> &Log<'s> {
        &self.log
    }

    /// Reads the lines without the decoration of this output from now on.
    pub(crate) fn decorate_as(&mut self, outline: &OutputOutline) {
        self.log.set_decoration(outline.decoration.clone());
    }

    /// Lines between those of an output that other writers wrote, as their decoration tells.
    pub(crate) fn lines_of_others(&mut self, outline: &OutputOutline) -> BTreeSet<usize> {
        let Some(text @ Decoration::Text(_)) = &outline.decoration else { return BTreeSet::new() };
        self.log.set_decoration(None);
        let (first, last) = outline.lines;
        (first..=last).filter(|line| !text.is_on(self.log.line(line - 1))).collect()
    }

    /// Lists the outputs of the file.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn scan(&mut self) -> Result<FileScan, ImportError> {
        let (outlines, walked) = walk(&mut self.log);
        self.log.take_failure()?;
        Ok(FileScan { outlines, empty: walked.empty, remarks: walked.remarks })
    }

    /// Passes the trials of the outputs that begin at the first line of this one to the consumer,
    /// one at a time, until it stops.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn read(
        &mut self,
        outline: &OutputOutline,
        hand_on: &mut dyn FnMut(ImportedTrial) -> ControlFlow<()>,
    ) -> Result<(), ImportError> {
        let at = outline.lines.0.saturating_sub(1);
        self.decorate_as(outline);
        self.log.forget();
        if let Some(importer) = importers().iter().find(|importer| importer.begins(&self.log, at)) {
            importer.read_each(&mut self.log, at, &mut |content| match content {
                ImportedTrial::Foreign(trial) if !trial.has_numbers() => ControlFlow::Continue(()),
                content => hand_on(content),
            });
        }
        self.log.take_failure()
    }
}

/// Output that the walk through a file collects.
trait FoundOutput {
    /// Output that begins at this line, from 1.
    fn new(tool: &'static str, line: usize, nth: usize, content: ImportedTrial) -> Self;

    /// First and last line.
    fn lines(&self) -> (usize, usize);

    /// Sets the last line.
    fn set_end(&mut self, line: usize);

    /// Keeps the decoration without which the output was read.
    fn set_decoration(&mut self, decoration: &Decoration);
}

impl FoundOutput for OutputOutline {
    fn new(tool: &'static str, line: usize, nth: usize, content: ImportedTrial) -> Self {
        let (label, name, is_round) = match content {
            ImportedTrial::Own(trial) => (Some(trial.beginning.label), String::new(), false),
            ImportedTrial::Foreign(trial) => (None, trial.name, trial.is_round),
        };
        let lines = (line, line);
        Self { tool, lines, nth, label, name, is_round, decoration: None }
    }

    fn lines(&self) -> (usize, usize) {
        self.lines
    }

    fn set_end(&mut self, line: usize) {
        self.lines.1 = line;
    }

    fn set_decoration(&mut self, decoration: &Decoration) {
        self.decoration = Some(decoration.clone());
    }
}

impl FoundOutput for ToolOutput {
    fn new(tool: &'static str, line: usize, nth: usize, mut content: ImportedTrial) -> Self {
        if let ImportedTrial::Foreign(trial) = &mut content {
            trial.unfold();
        }
        Self { tool, lines: (line, line), nth, content }
    }

    fn lines(&self) -> (usize, usize) {
        self.lines
    }

    fn set_end(&mut self, line: usize) {
        self.lines.1 = line;
    }

    fn set_decoration(&mut self, _decoration: &Decoration) {}
}

/// Finds all outputs in a file in memory.
pub fn import(bytes: &[u8]) -> ImportResult {
    if is_database(&bytes).unwrap_or(false) {
        let mut lines = Vec::new();
        return match write_lines(&bytes, &mut lines) {
            Ok(()) => import(&lines),
            Err(error) => {
                let what = without_control_characters(&error.to_string());
                let remarks = vec![Remark { line: 1, what }];
                ImportResult { remarks, lines: 1, ..ImportResult::default() }
            }
        };
    }
    let (found, walked) = walk(&mut Log::of_bytes(bytes, importers()));
    ImportResult { found, ..walked }
}

/// Collects the outputs; returns them and the rest of the import. Outputs that a decoration of
/// their lines hides are looked for if nothing else was found or a line looks like one of theirs.
fn walk<T: FoundOutput>(log: &mut Log<'_>) -> (Vec<T>, ImportResult) {
    let mut walked = walk_once(log);
    if walked.found.is_empty() || walked.has_near_miss {
        add_decorated(log, &mut walked);
    }
    let Walked { found, mut imported, .. } = walked;
    for remark in &mut imported.remarks {
        // Names of trees and messages about JSON hold what the file does.
        remark.what = without_control_characters(&remark.what);
    }
    imported.remarks.sort();
    (found, imported)
}

/// Outputs found in a walk through a file.
struct Walked<T> {
    found: Vec<T>,
    /// The rest of the import.
    imported: ImportResult,
    /// True if a line outside every output looks like one of a tool.
    has_near_miss: bool,
}

/// Adds outputs whose lines are all decorated, for each decoration that reveals some.
fn add_decorated<T: FoundOutput>(log: &mut Log<'_>, walked: &mut Walked<T>) {
    let plain: Vec<(usize, usize)> = walked.found.iter().map(T::lines).collect();
    let is_inside = |lines: &[(usize, usize)], line| {
        lines.iter().any(|(first, last)| (*first..=*last).contains(&line))
    };
    let mut decorations: Vec<(Decoration, Vec<(usize, usize)>)> = Vec::new();
    for decoration in log.decorations() {
        if decorations.iter().any(|(known, _)| known.overlaps(&decoration)) {
            continue;
        }
        log.set_decoration(Some(decoration.clone()));
        let mut hidden = walk_once::<T>(log);
        log.set_decoration(None);
        // Lines of several writers can alternate, but each line is of one.
        hidden.found.retain(|output| {
            let (first, _) = output.lines();
            let is_known = decorations.iter().any(|(known, lines)| {
                let both = (known, &decoration);
                !matches!(both, (Decoration::Text(_), Decoration::Text(_)))
                    && is_inside(lines, first)
            });
            !is_known && !is_inside(&plain, first) && decoration.is_on(log.line(first - 1))
        });
        let lines: Vec<(usize, usize)> = hidden.found.iter().map(T::lines).collect();
        if lines.is_empty() {
            continue;
        }
        hidden.found.iter_mut().for_each(|output| output.set_decoration(&decoration));
        // A line of theirs can be read with its decoration too, but says less then.
        walked.found.retain(|output| {
            let (first, _) = output.lines();
            !(is_inside(&plain, first)
                && is_inside(&lines, first)
                && decoration.is_on(log.line(first - 1)))
        });
        let imported = &mut walked.imported;
        imported.remarks.retain(|remark| !is_inside(&lines, remark.line));
        imported.empty.retain(|empty| !is_inside(&lines, empty.lines.0));
        let remarks = hidden.imported.remarks.into_iter();
        imported.remarks.extend(remarks.filter(|remark| is_inside(&lines, remark.line)));
        walked.found.append(&mut hidden.found);
        decorations.push((decoration, lines));
    }
    walked.found.sort_by_key(T::lines);
}

/// Collects the outputs, in the order of the file.
fn walk_once<T: FoundOutput>(log: &mut Log<'_>) -> Walked<T> {
    let mut found: Vec<T> = Vec::new();
    let mut imported = ImportResult { lines: log.len(), ..ImportResult::default() };
    let mut missed = Vec::new();
    let mut at = 0;
    while at < log.len() {
        log.forget_before(at);
        let Some(importer) = importers().iter().find(|importer| importer.begins(log, at)) else {
            imported.skipped_lines += usize::from(!log.line(at).trim().is_empty());
            // A program is told once.
            let near = near_miss(log.line(at)).filter(|near| !missed.contains(near));
            if let Some(near) = near {
                imported.remarks.push(Remark { line: at + 1, what: near.to_string() });
                missed.push(near);
            }
            at += 1;
            continue;
        };
        let mut count = 0;
        let mut has_empty = false;
        let reading = importer.read_each(log, at, &mut |content| {
            if matches!(&content, ImportedTrial::Foreign(trial) if !trial.has_numbers()) {
                has_empty = true;
            } else {
                found.push(T::new(importer.tool(), at + 1, count, content));
                count += 1;
            }
            ControlFlow::Continue(())
        });
        if has_empty {
            let what = format!("looks like {}, but has no result: not imported", importer.tool());
            imported.remarks.push(Remark { line: at + 1, what });
        }
        let end = reading.end.clamp(at + 1, log.len());
        found.iter_mut().rev().take(count).for_each(|output| output.set_end(end));
        if count == 0 {
            imported.empty.push(EmptyOutput { tool: importer.tool(), lines: (at + 1, end) });
        }
        imported.remarks.extend(reading.remarks);
        at = end;
    }
    let has_near_miss = missed.iter().any(|near| matches!(near, NearMiss::Resembles(_)));
    Walked { found, imported, has_near_miss }
}

//! Import of existing logs as trials. Pure: bytes in, trials out.
//!
//! A file may hold several outputs with any text around and between them, as a mail does. Each
//! importer finds the start of an output of its tool and reads it to its end; lines that it cannot
//! understand are reported as remarks with their line number, never guessed at. Each tool has one
//! folder, and one line in `TOOLS`.

use std::ops::ControlFlow;

use treering_kit::import::Remark;
use treering_kit::import::log::{Log, without_control_characters};
use treering_kit::import::source::{ImportError, TextSource};
use treering_kit::import::trial::ImportedTrial;

use crate::importers;
use crate::unread::unread_tool;

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
    /// Lines, as in [`ToolOutput::lines`].
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
    /// Lines, as in [`ToolOutput::lines`].
    pub lines: (usize, usize),
    /// Index in the lines, as in [`ToolOutput::nth`].
    pub nth: usize,
    /// Label of an own trial of treering.
    pub label: Option<String>,
    /// Name in the log for a trial of another tool; empty if there is none.
    pub name: String,
    /// True if the trials of these lines that have the same name are rounds of one side.
    pub is_round: bool,
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

    /// Lists the outputs of the file.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn scan(&mut self) -> Result<FileScan, ImportError> {
        let mut outlines: Vec<OutputOutline> = Vec::new();
        let walked = walk(&mut self.log, &mut outlines);
        self.log.take_failure()?;
        Ok(FileScan { outlines, empty: walked.empty, remarks: walked.remarks })
    }

    /// Passes the trials of the outputs that begin at this line, as in [`OutputOutline::lines`], to
    /// the consumer, one at a time, until it stops.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn read(
        &mut self,
        line: usize,
        hand_on: &mut dyn FnMut(ImportedTrial) -> ControlFlow<()>,
    ) -> Result<(), ImportError> {
        let at = line.saturating_sub(1);
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

/// Collector of outputs.
trait OutputCollector {
    /// Adds an output that begins at this line, from 1.
    fn add(&mut self, tool: &'static str, line: usize, nth: usize, content: ImportedTrial);

    /// Sets the last line of the last `count` outputs.
    fn end(&mut self, count: usize, line: usize);
}

impl OutputCollector for Vec<OutputOutline> {
    fn add(&mut self, tool: &'static str, line: usize, nth: usize, content: ImportedTrial) {
        let (label, name, is_round) = match content {
            ImportedTrial::Own(trial) => (Some(trial.beginning.label), String::new(), false),
            ImportedTrial::Foreign(trial) => (None, trial.name, trial.is_round),
        };
        self.push(OutputOutline { tool, lines: (line, line), nth, label, name, is_round });
    }

    fn end(&mut self, count: usize, line: usize) {
        self.iter_mut().rev().take(count).for_each(|outline| outline.lines.1 = line);
    }
}

impl OutputCollector for Vec<ToolOutput> {
    fn add(&mut self, tool: &'static str, line: usize, nth: usize, mut content: ImportedTrial) {
        if let ImportedTrial::Foreign(trial) = &mut content {
            trial.unfold();
        }
        self.push(ToolOutput { tool, lines: (line, line), nth, content });
    }

    fn end(&mut self, count: usize, line: usize) {
        self.iter_mut().rev().take(count).for_each(|output| output.lines.1 = line);
    }
}

/// Finds all outputs in a file in memory.
pub fn import(bytes: &[u8]) -> ImportResult {
    let mut outputs: Vec<ToolOutput> = Vec::new();
    let walked = walk(&mut Log::of_bytes(bytes, importers()), &mut outputs);
    ImportResult { found: outputs, ..walked }
}

/// Collects the outputs; returns the rest of the import.
fn walk(log: &mut Log<'_>, collector: &mut dyn OutputCollector) -> ImportResult {
    let mut imported = ImportResult { lines: log.len(), ..ImportResult::default() };
    let mut unread: Vec<&str> = Vec::new();
    let mut at = 0;
    while at < log.len() {
        log.forget_before(at);
        let Some(importer) = importers().iter().find(|importer| importer.begins(log, at)) else {
            let line = log.line(at);
            imported.skipped_lines += usize::from(!line.trim().is_empty());
            if let Some(tool) = unread_tool(line).filter(|tool| !unread.contains(tool)) {
                unread.push(tool);
                let what = format!("results of {tool} are not read");
                imported.remarks.push(Remark { line: at + 1, what });
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
                collector.add(importer.tool(), at + 1, count, content);
                count += 1;
            }
            ControlFlow::Continue(())
        });
        if has_empty {
            let what = format!("looks like {}, but has no result: not imported", importer.tool());
            imported.remarks.push(Remark { line: at + 1, what });
        }
        let end = reading.end.clamp(at + 1, log.len());
        collector.end(count, end);
        if count == 0 {
            imported.empty.push(EmptyOutput { tool: importer.tool(), lines: (at + 1, end) });
        }
        imported.remarks.extend(reading.remarks);
        at = end;
    }
    for remark in &mut imported.remarks {
        // Names of trees and messages about JSON hold what the file does.
        remark.what = without_control_characters(&remark.what);
    }
    imported.remarks.sort();
    imported
}

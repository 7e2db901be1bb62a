//! Import of tool logs. Pure: lines in, trials out.
//!
//! An importer finds the start of an output of its tool and reads it to its end; lines that it
//! cannot understand are reported as remarks with their line number, never guessed at.

pub mod decoration;
pub mod document;
pub mod encoding;
pub mod known_text;
pub mod log;
pub mod number;
pub mod prefix;
pub mod printed;
pub mod rows;
pub mod source;
pub mod stretch;
pub mod trial;

use std::ops::ControlFlow;

use known_text::KnownText;
use log::Log;
use trial::{ForeignTrial, ImportedTrial};

/// Importer of the outputs of one tool.
pub trait Importer: Sync {
    /// Name of the tool, which is that of its workload.
    fn tool(&self) -> &'static str;

    /// Numbers on lines of the tool that are left out on purpose. All others are stored.
    fn known_text(&self) -> &'static [KnownText];

    /// True if an output of the tool begins at this line.
    fn begins(&self, log: &Log<'_>, at: usize) -> bool;

    /// Reads an output that begins at this line, and includes at least this line.
    fn read(&self, log: &mut Log<'_>, at: usize) -> ParsedOutputs;

    /// Reads an output and passes each trial to `hand_on` as soon as it is complete; the returned
    /// value holds no trials. Importers whose outputs may exceed memory stop when `hand_on` breaks.
    fn read_each(
        &self,
        log: &mut Log<'_>,
        at: usize,
        hand_on: &mut TrialConsumer<'_>,
    ) -> ParsedOutputs {
        pass_on(self.read(log, at), hand_on)
    }
}

/// Passes the trials of a parsed output to `hand_on`, and returns the output without them.
pub fn pass_on(mut reading: ParsedOutputs, hand_on: &mut TrialConsumer<'_>) -> ParsedOutputs {
    let outputs = std::mem::take(&mut reading.outputs);
    let _is_stopped = outputs.into_iter().try_for_each(hand_on);
    reading
}

/// Collects the trials that a reader hands on one by one.
pub fn collected(read_each: impl FnOnce(&mut TrialConsumer<'_>) -> ParsedOutputs) -> ParsedOutputs {
    let mut outputs = Vec::new();
    let reading = read_each(&mut |trial| {
        outputs.push(trial);
        ControlFlow::Continue(())
    });
    ParsedOutputs { outputs, ..reading }
}

/// Consumer of trials, which may stop the import.
pub type TrialConsumer<'h> = dyn FnMut(ImportedTrial) -> ControlFlow<()> + 'h;

/// Result of reading one output.
pub struct ParsedOutputs {
    /// Number of the line after the output.
    pub end: usize,
    /// Trials in the output.
    pub outputs: Vec<ImportedTrial>,
    /// Lines that were not understood, and corrections.
    pub remarks: Vec<Remark>,
}

impl ParsedOutputs {
    /// Output with these trials of other tools, or without any.
    pub fn new(
        end: usize,
        trials: impl IntoIterator<Item = ForeignTrial>,
        remarks: Vec<Remark>,
    ) -> Self {
        let outputs = trials.into_iter().map(|trial| ImportedTrial::Foreign(Box::new(trial)));
        Self { end, outputs: outputs.collect(), remarks }
    }
}

/// Note for the user of an import.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Remark {
    /// Number of the line, from 1.
    pub line: usize,
    /// Message of the remark.
    pub what: String,
}

/// True if an output of any tool begins at this line, so that another importer has to stop.
pub fn any_begins(log: &Log<'_>, at: usize) -> bool {
    log.importers().iter().any(|importer| importer.begins(log, at))
}

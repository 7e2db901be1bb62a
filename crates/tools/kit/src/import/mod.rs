//! Reading the logs of tools. Pure: lines in, trials out.
//!
//! An importer says where an output of its tool begins and reads it to its end; what it cannot
//! understand within is remarked with the number of the line, never guessed.

pub mod encoding;
pub mod log;
pub mod number;
pub mod prefix;
pub mod rows;
pub mod source;
pub mod stretch;
pub mod trial;

use std::ops::ControlFlow;

use log::Log;
use trial::Content;

/// Reads the output of one tool.
pub trait Importer: Sync {
    /// The name of the tool, which is that of its workload.
    fn tool(&self) -> &'static str;

    /// Whether an output begins at this line.
    fn begins(&self, log: &Log<'_>, at: usize) -> bool;

    /// Reads an output that begins at this line. At least that line is part of it.
    fn read(&self, log: &mut Log<'_>, at: usize) -> Reading;

    /// The same, but each trial is handed on when it was read: the reading has no outputs. An
    /// output that may hold more trials than memory does stops where it is told to.
    fn read_each(&self, log: &mut Log<'_>, at: usize, hand_on: &mut HandOn<'_>) -> Reading {
        handed_on(self.read(log, at), hand_on)
    }
}

/// What remains of a reading whose trials are handed on.
pub fn handed_on(mut reading: Reading, hand_on: &mut HandOn<'_>) -> Reading {
    let outputs = std::mem::take(&mut reading.outputs);
    let _is_stopped = outputs.into_iter().try_for_each(hand_on);
    reading
}

/// Takes a trial, and says whether more are wanted.
pub type HandOn<'h> = dyn FnMut(Content) -> ControlFlow<()> + 'h;

/// What an importer read.
pub struct Reading {
    /// The line behind the last one that belongs to it.
    pub end: usize,
    /// The trials in it.
    pub outputs: Vec<Content>,
    /// What was not understood within it, or was corrected.
    pub remarks: Vec<Remark>,
}

/// Something that a reader of the import should know.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Remark {
    /// The line it is about, counted from 1.
    pub line: usize,
    /// Findings, and what came of it.
    pub what: String,
}

/// Whether an output of any tool begins at this line: where one importer has to stop.
pub fn any_begins(log: &Log<'_>, at: usize) -> bool {
    log.importers().iter().any(|importer| importer.begins(log, at))
}

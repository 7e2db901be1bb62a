//! Listeners of a trial: its store, lines of JSON, and the whole trial for the page at its end.

use std::cell::RefCell;
use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::rc::Rc;

use treering_model::{Artifact, SinkError, Trial, TrialBuilder, TrialEvent, TrialSink};
use treering_store::{Recorder, StoreError};
use treering_sys::StopFlag;

use crate::classic_output::say;
use crate::failure::{Failure, Kind};
use crate::storage;

/// Writes a trial to its store. A store that takes no more once the trial has begun, on a full disk
/// say, ends it in order, so that what was measured until then can be shown; a trial whose results
/// are optional goes on.
pub(crate) struct Recording<'a> {
    recorder: Recorder<'a>,
    /// True if the trial runs even when the store cannot record its beginning.
    is_optional: bool,
    /// Ends the trial.
    stop: StopFlag,
    /// Error of the store, if some events could not be written.
    unwritten: &'a mut Option<Failure>,
    /// Events that may still be written, should the store take them again.
    patience: u32,
}

impl<'a> Recording<'a> {
    /// Enough for every trial but the longest; what waits is in memory.
    const EVENTS_MAX: u32 = 100_000;

    pub(crate) fn new(
        recorder: Recorder<'a>,
        is_optional: bool,
        stop: StopFlag,
        unwritten: &'a mut Option<Failure>,
    ) -> Self {
        Self { recorder, is_optional, stop, unwritten, patience: Self::EVENTS_MAX }
    }

    fn missed(&mut self, error: &StoreError) {
        if self.unwritten.is_none() && self.is_optional {
            say(&format!("treering: {error}; the run continues, its results are held in memory"));
        }
        if !self.is_optional {
            self.stop.halt();
        }
        let failure = storage::failure(error).context("the results could not be kept");
        self.unwritten.get_or_insert(failure);
    }
}

impl TrialSink for Recording<'_> {
    fn accept(&mut self, event: &TrialEvent) -> Result<(), SinkError> {
        if self.unwritten.is_some() {
            self.patience = self.patience.saturating_sub(1);
        }
        if self.patience == 0 {
            return Ok(());
        }
        match self.recorder.record(event) {
            Err(error) if matches!(event, TrialEvent::Began(_)) && !self.is_optional => {
                Err(SinkError::new("recording the trial", error))
            }
            Err(error) => {
                self.missed(&error);
                Ok(())
            }
            // Everything before it is on disk, too.
            Ok(()) if matches!(event, TrialEvent::PhaseEnded(_) | TrialEvent::Ended { .. }) => {
                *self.unwritten = None;
                Ok(())
            }
            Ok(()) => Ok(()),
        }
    }
}

/// Gives a trial to its other listeners, and behind its beginning what its job was made of.
pub(crate) struct WithRecord<'a> {
    /// Artifact that is stored right after the beginning of the trial.
    pub(crate) record: Option<Artifact>,
    pub(crate) others: Vec<Box<dyn TrialSink + 'a>>,
}

impl TrialSink for WithRecord<'_> {
    fn accept(&mut self, event: &TrialEvent) -> Result<(), SinkError> {
        self.others.iter_mut().try_for_each(|sink| sink.accept(event))?;
        let Some(record) = self.record.take_if(|_| matches!(event, TrialEvent::Began(_))) else {
            return Ok(());
        };
        let produced = TrialEvent::Produced(record);
        self.others.iter_mut().try_for_each(|sink| sink.accept(&produced))
    }
}

/// Prints each event as a line of JSON.
pub(crate) struct EventLines {
    out: Box<dyn Write>,
}

impl EventLines {
    /// Into a file, or to standard output for `-`.
    pub(crate) fn open(path: &Path) -> Result<Self, Failure> {
        if path == Path::new("-") {
            return Ok(Self { out: Box::new(io::stdout()) });
        }
        let file = File::create(path).map_err(|error| {
            Failure::new(Kind::Environment, format!("cannot make {}: {error}", path.display()))
        })?;
        Ok(Self { out: Box::new(file) })
    }
}

impl TrialSink for EventLines {
    fn accept(&mut self, event: &TrialEvent) -> Result<(), SinkError> {
        if matches!(event, TrialEvent::Ticked { .. }) {
            return Ok(());
        }
        let mut line = serde_json::to_vec(event)
            .map_err(|error| SinkError::new("cannot write an event as JSON", error))?;
        line.push(b'\n');
        match self.out.write_all(&line).and_then(|()| self.out.flush()) {
            // A reader that went away does not end the trial.
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {
                self.out = Box::new(io::sink());
                Ok(())
            }
            written => written.map_err(|error| SinkError::new("cannot write events", error)),
        }
    }
}

/// Puts the trial together, to be taken when it is over.
#[derive(Clone, Default)]
pub(crate) struct Whole {
    builder: Rc<RefCell<TrialBuilder>>,
}

impl Whole {
    /// The trial as far as it came.
    pub(crate) fn take(&self) -> Option<Trial> {
        self.builder.take().finish()
    }
}

impl TrialSink for Whole {
    fn accept(&mut self, event: &TrialEvent) -> Result<(), SinkError> {
        let pushed = self.builder.borrow_mut().push(event);
        pushed.map_err(|error| SinkError::new("events are out of order", error))
    }
}

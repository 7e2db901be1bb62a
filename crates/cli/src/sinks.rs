//! Trial sinks: the store, and lines of JSON.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

use treering_model::{SinkError, TrialEvent, TrialSink};
use treering_store::{Recorder, StoreError};
use treering_sys::StopFlag;

use crate::classic_output::say;
use crate::failure::Failure;
use crate::storage;

/// Writes a trial to its store. If the store fails after the trial has begun, for example on a full
/// disk, the trial is stopped in an orderly way, so that its measurements so far can be shown; a
/// trial with optional results continues.
pub(crate) struct StoreSink<'a> {
    recorder: Recorder<'a>,
    /// True if the trial runs even when the store cannot record its beginning.
    is_optional: bool,
    /// Flag that stops the trial.
    stop: StopFlag,
    /// Error of the store, if some events could not be written.
    unwritten: &'a mut Option<Failure>,
    /// Number of events that may still be buffered, in case the store becomes writable again.
    buffer_left: u32,
}

impl<'a> StoreSink<'a> {
    /// Maximum number of events buffered in memory, enough for all but the longest trials.
    const EVENTS_MAX: u32 = 100_000;

    pub(crate) fn new(
        recorder: Recorder<'a>,
        is_optional: bool,
        stop: StopFlag,
        unwritten: &'a mut Option<Failure>,
    ) -> Self {
        Self { recorder, is_optional, stop, unwritten, buffer_left: Self::EVENTS_MAX }
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

impl TrialSink for StoreSink<'_> {
    fn accept(&mut self, event: &TrialEvent) -> Result<(), SinkError> {
        if self.unwritten.is_some() {
            self.buffer_left = self.buffer_left.saturating_sub(1);
        }
        if self.buffer_left == 0 {
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
            // A written end of a phase means that all earlier events are on disk, too.
            Ok(()) if matches!(event, TrialEvent::PhaseEnded(_) | TrialEvent::Ended { .. }) => {
                *self.unwritten = None;
                Ok(())
            }
            Ok(()) => Ok(()),
        }
    }
}

/// Discards the events of a trial that is not stored.
pub(crate) struct NoStore;

impl TrialSink for NoStore {
    fn accept(&mut self, _event: &TrialEvent) -> Result<(), SinkError> {
        Ok(())
    }
}

/// Prints each event as a line of JSON.
pub(crate) struct EventLines {
    out: Box<dyn Write>,
}

impl EventLines {
    /// Opens a file, or standard output for `-`.
    pub(crate) fn open(path: &Path) -> Result<Self, Failure> {
        if path == Path::new("-") {
            return Ok(Self { out: Box::new(io::stdout()) });
        }
        let file = File::create(path).map_err(|error| {
            Failure::environment(format!("cannot make {}: {error}", path.display()))
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
            // A closed pipe does not end the trial.
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {
                self.out = Box::new(io::sink());
                Ok(())
            }
            written => written.map_err(|error| SinkError::new("cannot write events", error)),
        }
    }
}

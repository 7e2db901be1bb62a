//! Sinks of a trial that is stored, and of one that is not.

use treering_conduct::{Failure, Host};
use treering_model::{SinkError, TrialEvent, TrialSink};
use treering_store::{Recorder, StoreError};
use treering_sys::StopFlag;

use crate::store_error::failure;

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
    host: &'a dyn Host,
    /// Number of events that may still be buffered, in case the store becomes writable again.
    buffer_left: u32,
}

impl<'a> StoreSink<'a> {
    /// Maximum number of events buffered in memory, enough for all but the longest trials.
    const EVENTS_MAX: u32 = 100_000;

    pub(crate) fn new(
        recorder: Recorder<'a>,
        (is_optional, stop): (bool, StopFlag),
        unwritten: &'a mut Option<Failure>,
        host: &'a dyn Host,
    ) -> Self {
        Self { recorder, is_optional, stop, unwritten, host, buffer_left: Self::EVENTS_MAX }
    }

    fn missed(&mut self, error: &StoreError) {
        if self.unwritten.is_none() && self.is_optional {
            let words = "the run continues, its results are held in memory";
            self.host.say(&format!("treering: {error}; {words}"));
        }
        if !self.is_optional {
            self.stop.halt();
        }
        let failure = failure(error).context("the results could not be kept");
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

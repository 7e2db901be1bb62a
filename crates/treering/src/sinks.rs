//! Listeners of a trial: lines of JSON, and the trial as a whole for the page at its end.

use std::cell::RefCell;
use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::rc::Rc;

use treering_model::{SinkError, Trial, TrialBuilder, TrialEvent, TrialSink};

use crate::failure::{Failure, Kind};

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

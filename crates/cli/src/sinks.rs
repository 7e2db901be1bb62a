//! Sink of the events of a trial as lines of JSON.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

use treering_model::{SinkError, TrialEvent, TrialSink};

use crate::failure::Failure;

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

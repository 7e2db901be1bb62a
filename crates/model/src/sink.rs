//! Where events go.

use thiserror::Error;

use crate::TrialEvent;

/// A listener that could not take an event.
#[derive(Debug, Error)]
#[error("{what}: {source}")]
pub struct SinkError {
    /// What was being done.
    pub what: String,
    /// Why it failed.
    #[source]
    pub source: Box<dyn std::error::Error + Send + Sync>,
}

impl SinkError {
    /// An error with what was being done.
    pub fn new(
        what: impl Into<String>,
        source: impl Into<Box<dyn std::error::Error + Send + Sync>>,
    ) -> Self {
        Self { what: what.into(), source: source.into() }
    }
}

/// A listener of a trial's events.
pub trait TrialSink {
    /// Takes the next event. After a [`TrialEvent::PhaseEnded`] or [`TrialEvent::Ended`] a sink
    /// that keeps things returns only when they are safe.
    ///
    /// # Errors
    /// When the event could not be taken; the trial ends then.
    fn accept(&mut self, event: &TrialEvent) -> Result<(), SinkError>;
}

/// Several listeners hear everything in their order.
impl TrialSink for Vec<Box<dyn TrialSink + '_>> {
    fn accept(&mut self, event: &TrialEvent) -> Result<(), SinkError> {
        self.iter_mut().try_for_each(|sink| sink.accept(event))
    }
}

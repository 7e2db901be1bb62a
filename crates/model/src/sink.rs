//! Consumers of trial events.

use thiserror::Error;

use crate::TrialEvent;

/// Failure of a sink to process an event.
#[derive(Debug, Error)]
#[error("{action}: {source}")]
pub struct SinkError {
    /// Action that failed.
    pub action: String,
    /// Cause of the failure.
    #[source]
    pub source: Box<dyn std::error::Error + Send + Sync>,
}

impl SinkError {
    /// Builds an error from the failed action and its cause.
    pub fn new(
        action: impl Into<String>,
        source: impl Into<Box<dyn std::error::Error + Send + Sync>>,
    ) -> Self {
        Self { action: action.into(), source: source.into() }
    }
}

/// Consumer of trial events.
pub trait TrialSink {
    /// Processes the next event. For [`TrialEvent::PhaseEnded`] and [`TrialEvent::Ended`] a sink
    /// that stores events returns only when they are durable.
    ///
    /// # Errors
    /// If the event cannot be processed; the trial is aborted.
    fn accept(&mut self, event: &TrialEvent) -> Result<(), SinkError>;
}

impl<S: TrialSink + ?Sized> TrialSink for &mut S {
    fn accept(&mut self, event: &TrialEvent) -> Result<(), SinkError> {
        (**self).accept(event)
    }
}

/// Sends every event to all sinks, in order.
impl TrialSink for Vec<Box<dyn TrialSink + '_>> {
    fn accept(&mut self, event: &TrialEvent) -> Result<(), SinkError> {
        self.iter_mut().try_for_each(|sink| sink.accept(event))
    }
}

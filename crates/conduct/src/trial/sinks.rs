//! Trial sinks: an event filter, a collector of the complete trial, and one that adds the sources
//! of a job.

use treering_model::{Artifact, SinkError, Trial, TrialBuilder, TrialEvent, TrialSink};
use treering_script::JobRecord;

use crate::host::Host;

/// Option that names a data set.
const DATASET: &str = "dataset";

/// Filter in front of the store, which may drop events and add others.
pub trait EventFilter {
    /// Receives an event, and passes on the events to be stored.
    ///
    /// # Errors
    /// When the trial must end.
    fn accept(&mut self, event: &TrialEvent, kept: &mut dyn TrialSink) -> Result<(), SinkError>;
}

/// Sends filtered events to the store and to the collected trial.
pub(super) struct FilteredSinks<'a, 's> {
    pub(super) filter: Option<&'a mut (dyn EventFilter + 'a)>,
    pub(super) store: &'s mut dyn TrialSink,
    pub(super) whole: &'s mut WholeTrial,
}

impl TrialSink for FilteredSinks<'_, '_> {
    fn accept(&mut self, event: &TrialEvent) -> Result<(), SinkError> {
        let mut kept = StoreAndTrial { store: &mut *self.store, whole: &mut *self.whole };
        match &mut self.filter {
            Some(filter) => filter.accept(event, &mut kept),
            None => kept.accept(event),
        }
    }
}

struct StoreAndTrial<'s> {
    store: &'s mut dyn TrialSink,
    whole: &'s mut WholeTrial,
}

impl TrialSink for StoreAndTrial<'_> {
    fn accept(&mut self, event: &TrialEvent) -> Result<(), SinkError> {
        self.store.accept(event)?;
        self.whole.accept(event)
    }
}

/// A sink followed by further sinks.
pub(crate) struct Recipients<'a, S> {
    pub(crate) first: S,
    pub(crate) others: Vec<Box<dyn TrialSink + 'a>>,
}

impl<S: TrialSink> TrialSink for Recipients<'_, S> {
    fn accept(&mut self, event: &TrialEvent) -> Result<(), SinkError> {
        self.first.accept(event)?;
        self.others.iter_mut().try_for_each(|sink| sink.accept(event))
    }
}

/// Trial sink that adds the sources of the job after the beginning.
pub(crate) struct WithSources<S> {
    /// Artifact that follows the beginning of the trial.
    pub(crate) sources: Option<Artifact>,
    /// Sink of all events.
    pub(crate) sink: S,
}

impl<S: TrialSink> TrialSink for WithSources<S> {
    fn accept(&mut self, event: &TrialEvent) -> Result<(), SinkError> {
        self.sink.accept(event)?;
        let sources = self.sources.take_if(|_| matches!(event, TrialEvent::Began(_)));
        sources.map_or(Ok(()), |sources| self.sink.accept(&TrialEvent::Produced(sources)))
    }
}

/// Artifact with the sources of a job; `None` if its options hold them all.
pub(crate) fn sources(mut record: JobRecord, host: &dyn Host) -> Option<Artifact> {
    let dataset = record.options.iter().rev().find(|(name, _)| name == DATASET);
    record.dataset =
        dataset.and_then(|(_, name)| Some((name.clone(), host.data_set_fingerprint(name)?)));
    if record.is_defined_by_options() {
        return None;
    }
    Artifact::new(JobRecord::KIND, JobRecord::VERSION, &record).ok()
}

/// Collects the events of a trial.
#[derive(Default)]
pub(super) struct WholeTrial(TrialBuilder);

impl WholeTrial {
    /// The trial, complete up to its last event.
    pub(super) fn finish(self) -> Option<Trial> {
        self.0.finish()
    }
}

impl TrialSink for WholeTrial {
    fn accept(&mut self, event: &TrialEvent) -> Result<(), SinkError> {
        let pushed = self.0.push(event);
        pushed.map_err(|error| SinkError::new("events are out of order", error))
    }
}

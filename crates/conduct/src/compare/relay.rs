//! Relays events of a trial in another process to the local sinks, with the beginning as known
//! here, and with an ending even if that process crashes.

use std::time::{Duration, Instant};

use treering_model::{Caution, Ending, Fact, TrialEvent, TrialHeader, TrialSink};
use treering_observe::Findings;

use crate::failure::{Failure, FailureKind};
use crate::watched::tell;

/// Passes events on, and adds the missing ones if they end early.
pub(crate) struct Relay<'s> {
    /// Beginning of the trial as this process knows it.
    beginning: TrialHeader,
    began: Option<Instant>,
    /// Ending reported by the process of the trial, with its time.
    ended: Option<(Ending, u64)>,
    sink: &'s mut dyn TrialSink,
}

impl<'s> Relay<'s> {
    pub(crate) fn new(beginning: TrialHeader, sink: &'s mut dyn TrialSink) -> Self {
        Self { beginning, began: None, ended: None, sink }
    }

    /// Passes on the next event.
    pub(crate) fn take(&mut self, event: TrialEvent) -> Result<(), Failure> {
        let event = match event {
            TrialEvent::Began(inside) => {
                self.began = Some(Instant::now());
                // Identity, place in the campaign and time are as they are known here.
                TrialEvent::Began(TrialHeader {
                    parameters: inside.parameters,
                    target: inside.target,
                    ..self.beginning.clone()
                })
            }
            // Deferred to `finish`, which may append to the error.
            TrialEvent::Ended { ending, at_ns } => {
                self.ended = Some((ending, at_ns));
                return Ok(());
            }
            other => other,
        };
        self.push(&event)
    }

    fn push(&mut self, event: &TrialEvent) -> Result<(), Failure> {
        self.sink.accept(event).map_err(|error| Failure::of(FailureKind::Environment, &error))
    }

    /// Reports whether the process of the trial said that it failed.
    pub(crate) fn has_failed(&self) -> bool {
        matches!(self.ended, Some((Ending::Failed { .. }, _)))
    }

    /// Reports the ending of the trial, `unless_told` if the process reported none. Appends `said`
    /// to the error of a failed trial. Facts and cautions known before are reported only if the
    /// trial did not begin; `seen` of the host always.
    pub(crate) fn finish(
        mut self,
        unless_told: Ending,
        said: &str,
        (facts, cautions): (Vec<Fact>, Vec<Caution>),
        seen: Findings,
    ) -> Result<Ending, Failure> {
        let told = |error| Failure::of(FailureKind::Environment, &error);
        if let Some((mut ending, at_ns)) = self.ended.take() {
            if let Ending::Failed { why } = &mut ending
                && !said.is_empty()
            {
                *why = format!("{why}; {said}");
            }
            tell(seen, self.sink).map_err(told)?;
            self.push(&TrialEvent::Ended { ending: ending.clone(), at_ns })?;
            return Ok(ending);
        }
        if self.began.is_none() {
            self.began = Some(Instant::now());
            self.push(&TrialEvent::Began(self.beginning.clone()))?;
            self.push(&TrialEvent::Environment { facts })?;
            for caution in cautions {
                self.push(&TrialEvent::Cautioned(caution))?;
            }
        }
        tell(seen, self.sink).map_err(told)?;
        let elapsed = self.began.map_or(Duration::ZERO, |began| began.elapsed());
        let at_ns = u64::try_from(elapsed.as_nanos()).unwrap_or(u64::MAX);
        self.push(&TrialEvent::Ended { ending: unless_told.clone(), at_ns })?;
        Ok(unless_told)
    }
}

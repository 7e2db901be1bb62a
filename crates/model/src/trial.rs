//! Complete trials, assembled from their events.

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::{
    Annotation, Artifact, Caution, Ending, Fact, Metric, PhaseTotals, TaskTotals, TrialEvent,
    TrialHeader,
};

/// Trial with all of its records.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Trial {
    /// Facts known at the start.
    pub beginning: TrialHeader,
    /// Environment.
    pub facts: Vec<Fact>,
    /// Completed phases.
    pub phases: Vec<PhaseTotals>,
    /// Completed tasks, in order of completion.
    pub tasks: Vec<TaskTotals>,
    /// Metrics of the trial.
    pub metrics: Vec<Metric>,
    /// Artifacts of observers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub artifacts: Vec<Artifact>,
    /// Cautions about the trial.
    pub cautions: Vec<Caution>,
    /// Annotations in chronological order. The label in `beginning` is the latest one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub annotations: Vec<Annotation>,
    /// Outcome.
    pub ending: Ending,
    /// Duration in nanoseconds; 0 without an end event.
    #[serde(default)]
    pub wall_ns: u64,
}

impl Trial {
    /// Builds a trial that has just begun; interrupted until an end event arrives.
    pub fn new(beginning: TrialHeader) -> Self {
        Self {
            beginning,
            facts: Vec::new(),
            phases: Vec::new(),
            tasks: Vec::new(),
            metrics: Vec::new(),
            artifacts: Vec::new(),
            cautions: Vec::new(),
            annotations: Vec::new(),
            ending: Ending::Interrupted,
            wall_ns: 0,
        }
    }

    /// Reason for exclusion from comparisons; `None` if included.
    pub fn exclusion(&self) -> Option<&str> {
        Annotation::exclusion(&self.annotations)
    }

    /// Value of a fact; `None` if unknown.
    pub fn fact(&self, name: &str) -> Option<&str> {
        self.facts.iter().find(|fact| fact.name == name).map(|fact| fact.value.as_str())
    }

    /// Seconds in the value of a fact; `None` if unknown, or not a number of seconds.
    pub fn fact_seconds(&self, name: &str) -> Option<f64> {
        let seconds: f64 = self.fact(name)?.parse().ok()?;
        (seconds.is_finite() && seconds >= 0.0).then_some(seconds)
    }
}

/// Invalid order of trial events.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum TrialOrderError {
    /// First event other than `began`.
    #[error("the first event of a trial is `began`")]
    NotBegun,
    /// Second `began` event, or an event after the end.
    #[error("a trial begins once and nothing follows its end")]
    AfterTheEnd,
}

/// Assembles a trial from its events.
#[derive(Debug, Default)]
pub struct TrialBuilder {
    trial: Option<Trial>,
    ended: bool,
}

impl TrialBuilder {
    /// Adds the next event.
    ///
    /// # Errors
    /// If the event does not fit the order of a trial.
    pub fn push(&mut self, event: &TrialEvent) -> Result<(), TrialOrderError> {
        if let TrialEvent::Began(beginning) = event {
            if self.trial.is_some() {
                return Err(TrialOrderError::AfterTheEnd);
            }
            self.trial = Some(Trial::new(beginning.clone()));
            return Ok(());
        }
        let trial = self.trial.as_mut().ok_or(TrialOrderError::NotBegun)?;
        if self.ended {
            return Err(TrialOrderError::AfterTheEnd);
        }
        match event {
            TrialEvent::Environment { facts } => trial.facts.extend_from_slice(facts),
            TrialEvent::TaskEnded(totals) => trial.tasks.push(totals.clone()),
            TrialEvent::PhaseEnded(totals) => trial.phases.push(totals.clone()),
            TrialEvent::Measured(metric) => trial.metrics.push(metric.clone()),
            TrialEvent::Produced(artifact) => trial.artifacts.push(artifact.clone()),
            TrialEvent::Cautioned(caution) => trial.cautions.push(caution.clone()),
            TrialEvent::Ended { ending, at_ns } => {
                trial.ending = ending.clone();
                trial.wall_ns = *at_ns;
                self.ended = true;
            }
            TrialEvent::Began(_)
            | TrialEvent::PhaseBegan { .. }
            | TrialEvent::TaskBegan { .. }
            | TrialEvent::Ticked { .. } => {}
        }
        Ok(())
    }

    /// Returns the trial; without an end event it counts as interrupted. `None` without any event.
    pub fn finish(self) -> Option<Trial> {
        self.trial
    }
}

#[cfg(test)]
mod tests {
    use super::{TrialBuilder, TrialOrderError};
    use crate::{Ending, RunMode, TrialEvent, TrialHeader, TrialId};

    fn beginning() -> TrialEvent {
        TrialEvent::Began(TrialHeader {
            target: "/mnt".into(),
            parameters: vec![("seed".into(), "1".into())],
            ..TrialHeader::new(TrialId::new(), "compilebench", RunMode::Native)
        })
    }

    #[test]
    fn a_trial_without_an_end_is_interrupted() {
        let mut builder = TrialBuilder::default();
        builder.push(&beginning()).unwrap();
        assert_eq!(builder.finish().unwrap().ending, Ending::Interrupted);
    }

    #[test]
    fn events_out_of_order_are_rejected() {
        let end = TrialEvent::Ended { ending: Ending::Completed, at_ns: 5 };
        let mut builder = TrialBuilder::default();
        assert_eq!(builder.push(&end), Err(TrialOrderError::NotBegun));
        builder.push(&beginning()).unwrap();
        builder.push(&end).unwrap();
        assert_eq!(builder.push(&end), Err(TrialOrderError::AfterTheEnd));
        assert_eq!(builder.finish().unwrap().wall_ns, 5);
    }

    #[test]
    fn events_survive_json() {
        let events = [
            beginning(),
            TrialEvent::Ended { ending: Ending::Failed { why: "disk full".into() }, at_ns: 1 },
        ];
        for event in events {
            let json = serde_json::to_string(&event).unwrap();
            assert_eq!(serde_json::from_str::<TrialEvent>(&json).unwrap(), event);
        }
    }

    #[test]
    fn identities_are_ordered_in_time_and_readable() {
        let (first, second) = (TrialId::new(), TrialId::new());
        assert!(first < second);
        assert_eq!(first.text().parse::<TrialId>().unwrap(), first);
    }
}

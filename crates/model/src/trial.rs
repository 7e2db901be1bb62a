//! A whole trial: all its events put together.

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::{
    Annotation, Artifact, Beginning, Caution, Ending, Fact, Metric, PhaseTotals, TaskTotals,
    TrialEvent,
};

/// A trial with everything that was recorded of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Trial {
    /// What was known at its start.
    pub beginning: Beginning,
    /// The environment.
    pub facts: Vec<Fact>,
    /// Phases that ended.
    pub phases: Vec<PhaseTotals>,
    /// Tasks that ended, in their order.
    pub tasks: Vec<TaskTotals>,
    /// Headline numbers.
    pub metrics: Vec<Metric>,
    /// What observers made.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub artifacts: Vec<Artifact>,
    /// Cautions.
    pub cautions: Vec<Caution>,
    /// What was said of it after it was recorded, in that order. The label in `beginning` is the
    /// last of its labels.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub annotations: Vec<Annotation>,
    /// How it ended.
    pub ending: Ending,
    /// Its duration in nanoseconds; 0 when it never ended.
    #[serde(default)]
    pub wall_ns: u64,
}

impl Trial {
    /// One that has begun, of which nothing else is known: interrupted, if that remains so.
    pub fn new(beginning: Beginning) -> Self {
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

    /// Why it is left out of comparisons; `None` when it is compared.
    pub fn exclusion(&self) -> Option<&str> {
        Annotation::exclusion(&self.annotations)
    }

    /// The value of a fact; `None` when it is not known.
    pub fn fact(&self, name: &str) -> Option<&str> {
        self.facts.iter().find(|fact| fact.name == name).map(|fact| fact.value.as_str())
    }
}

/// Events in an order that no trial has.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum TrialOrderError {
    /// No trial begins with this.
    #[error("the first event of a trial is `began`")]
    NotBegun,
    /// A second beginning, or something after the end.
    #[error("a trial begins once and nothing follows its end")]
    AfterTheEnd,
}

/// Puts events together to a trial.
#[derive(Debug, Default)]
pub struct TrialBuilder {
    trial: Option<Trial>,
    ended: bool,
}

impl TrialBuilder {
    /// Adds the next event.
    ///
    /// # Errors
    /// When the events are not those of one trial in their order.
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

    /// The trial; one without an end is interrupted.
    pub fn finish(self) -> Option<Trial> {
        self.trial
    }
}

#[cfg(test)]
mod tests {
    use super::{TrialBuilder, TrialOrderError};
    use crate::{Beginning, Ending, Mode, TrialEvent, TrialId};

    fn beginning() -> TrialEvent {
        TrialEvent::Began(Beginning {
            target: "/mnt".into(),
            parameters: vec![("seed".into(), "1".into())],
            ..Beginning::new(TrialId::new(), "compilebench", Mode::Native)
        })
    }

    #[test]
    fn a_trial_without_an_end_is_interrupted() {
        let mut builder = TrialBuilder::default();
        builder.push(&beginning()).unwrap();
        assert_eq!(builder.finish().unwrap().ending, Ending::Interrupted);
    }

    #[test]
    fn order_is_kept() {
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

//! A whole trial: its identity, how it ended, and all its events put together.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use thiserror::Error;
use uuid::Uuid;

use crate::{
    Annotation, Artifact, Beginning, Caution, Fact, Metric, PhaseTotals, TaskTotals, TrialEvent,
};

/// Identity of a trial: a time-ordered UUID (version 7), 36 characters when printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct TrialId(Uuid);

impl TrialId {
    /// A new identity from the time and randomness.
    pub fn new() -> Self {
        Self(Uuid::now_v7())
    }

    /// Its printed form.
    pub fn text(self) -> String {
        self.0.to_string()
    }
}

impl Default for TrialId {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Display for TrialId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl FromStr for TrialId {
    type Err = uuid::Error;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Uuid::from_str(text).map(Self)
    }
}

/// How a trial ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "how")]
pub enum Ending {
    /// Everything was done.
    Completed,
    /// The work failed; what was measured before is kept.
    Failed {
        /// Why, with path and the system's words.
        why: String,
    },
    /// The work was done but the numbers mean nothing.
    Invalid {
        /// Why.
        why: String,
    },
    /// Stopped from outside, or killed: a trial without an end counts as interrupted.
    Interrupted,
}

impl Ending {
    /// The word used in tables and in the store.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Completed => "completed",
            Self::Failed { .. } => "failed",
            Self::Invalid { .. } => "invalid",
            Self::Interrupted => "interrupted",
        }
    }

    /// The reason, empty where there is none.
    pub fn why(&self) -> &str {
        match self {
            Self::Failed { why } | Self::Invalid { why } => why,
            Self::Completed | Self::Interrupted => "",
        }
    }

    /// The ending with this name; unknown names are `None`.
    pub fn from_parts(name: &str, why: &str) -> Option<Self> {
        match name {
            "completed" => Some(Self::Completed),
            "failed" => Some(Self::Failed { why: why.to_owned() }),
            "invalid" => Some(Self::Invalid { why: why.to_owned() }),
            "interrupted" => Some(Self::Interrupted),
            _ => None,
        }
    }
}

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
    /// Doubts.
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
            self.trial = Some(Trial {
                beginning: beginning.clone(),
                facts: Vec::new(),
                phases: Vec::new(),
                tasks: Vec::new(),
                metrics: Vec::new(),
                artifacts: Vec::new(),
                cautions: Vec::new(),
                annotations: Vec::new(),
                ending: Ending::Interrupted,
                wall_ns: 0,
            });
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
    use super::{Ending, TrialBuilder, TrialId, TrialOrderError};
    use crate::{Beginning, Mode, TrialEvent};

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

//! Records of steps, from which an interrupted run goes on: the generator draws the same operations
//! again, and is told what the filesystem answered.

use std::fmt;

use serde::{Deserialize, Serialize};
use treering_kit::ahead::AheadCounters;
use treering_model::{Op, Trial};

use super::generator::OperationGenerator;
use super::maintenance::sample::take_files;

/// Record of one task: what the generator drew in it, and what it was told.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepRecord {
    /// Operations carried out.
    #[serde(default)]
    pub operations: u64,
    /// Bytes written, from the totals of the task.
    #[serde(default)]
    pub written_bytes: u64,
    /// Target bytes of the files that exist at a time, as of the start of the run.
    pub live_bytes: u64,
    /// Operations drawn, carried out or not.
    pub drawn: u64,
    /// Answers of the filesystem, in order.
    pub answers: Vec<SpaceAnswer>,
    /// Fingerprint of all operations drawn up to the end of the task.
    pub drawn_print: u64,
    /// Maintenance that the task did, by its index in the profile; `None` for operations.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub maintained: Option<usize>,
}

/// Answer of the filesystem on which further operations depend.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SpaceAnswer {
    /// No space for the operation of this number in the task, or for this initial file.
    Short(u64),
    /// Used and all bytes of the filesystem after the operation of this number.
    Used(u64, u64, u64),
}

impl SpaceAnswer {
    const fn number(self) -> u64 {
        match self {
            Self::Short(number) | Self::Used(number, ..) => number,
        }
    }
}

/// Counters of a task, with its record.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct StepCounters {
    #[serde(flatten)]
    pub(super) ahead: AheadCounters,
    #[serde(default)]
    pub(super) step: StepRecord,
    /// Records of the run that was interrupted, in the task that goes on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) earlier: Vec<StepRecord>,
    /// Files that were put back, or removed, to be as they were after the last whole step.
    #[serde(default)]
    pub(super) put_back: u64,
    /// Calls that the filesystem cannot do, and the profile needs: nothing was done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) refused: Option<String>,
    /// Entry that is not of the interrupted run and in its way: nothing was changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) foreign: Option<String>,
    /// True for the reading before or after maintenance, on which nothing depends.
    #[serde(default)]
    pub(super) only_reads: bool,
}

/// Records of a trial that ended early, in the order of its tasks; empty if there are none.
pub fn steps_of(trial: &Trial) -> Vec<StepRecord> {
    let mut steps = Vec::new();
    for task in &trial.tasks {
        let Some(counters) = task.counters.read::<StepCounters>() else { continue };
        if !counters.earlier.is_empty() {
            steps = counters.earlier;
            continue;
        }
        if counters.only_reads {
            continue;
        }
        let written = task.ops.iter().filter(|op| op.op == Op::Write).map(|op| op.bytes);
        let operations = counters.ahead.operations;
        steps.push(StepRecord { operations, written_bytes: written.sum(), ..counters.step });
    }
    steps
}

/// Step whose operations are not those of the interrupted run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct OtherOperations {
    step: usize,
}

impl fmt::Display for OtherOperations {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { step } = self;
        write!(
            f,
            "step {step} of it has another fingerprint: the profile, the seed or the program has \
             changed since"
        )
    }
}

/// Draws the operations of these steps again. The first step made the directories; each of the next
/// filled one population.
///
/// # Errors
/// Says which step has another fingerprint: the operations are not those of the run.
pub(super) fn draw_again(
    generator: &mut OperationGenerator,
    steps: &[StepRecord],
) -> Result<(), OtherOperations> {
    let populations = generator.model().files.len();
    let mut operations = 0;
    for (place, step) in steps.iter().enumerate() {
        let fills = place.checked_sub(1).filter(|files| *files < populations);
        if let Some(files) = fills {
            generator.initial(files);
            if let Some(SpaceAnswer::Short(turn)) = step.answers.first() {
                generator.forget_from(files, usize::try_from(*turn).unwrap_or(usize::MAX));
            }
        } else if let Some(index) = step.maintained {
            take_files(generator, index, operations);
        } else if place > 0 {
            operations += step.operations;
            let mut answers = step.answers.iter().peekable();
            for number in 1..=step.drawn {
                let Some(operation) = generator.next() else { break };
                while let Some(answer) = answers.next_if(|answer| answer.number() == number) {
                    match answer {
                        SpaceAnswer::Short(_) => drop(generator.make_room(&operation)),
                        SpaceAnswer::Used(_, used, all) => generator.hold(*used, *all),
                    }
                }
            }
        }
        if generator.fingerprint().number() != step.drawn_print {
            return Err(OtherOperations { step: place });
        }
    }
    Ok(())
}

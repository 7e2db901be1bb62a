//! Output of an imitated tool, reproduced from a stored trial.
//!
//! The output module receives the stored events as in the run; its queries of the clock and of the
//! filesystem get the stored answers.

use std::collections::VecDeque;
use std::fmt::Display;

use treering_model::{Artifact, Ending, IMPORT_FACT, RunMode, Trial, TrialEvent};
use treering_script::{
    ClassicRecord, ContextAnswer, DiskCounts, OutputContext, StatfsSpace, ToolOutput, Workload,
};
use treering_sys::SIGINT;

use super::beginning::named;
use crate::failure::Failure;

/// Complete output of a tool, by stream.
#[derive(Debug, Default)]
pub struct ClassicText {
    /// Standard output.
    pub out: String,
    /// Standard error.
    pub err: String,
    /// The log.
    pub log: String,
}

impl ClassicText {
    fn add(&mut self, text: &ToolOutput) {
        self.out += &text.out;
        self.err += &text.err;
        self.log += &text.log;
    }
}

/// Reproduces the output from a trial and its events.
///
/// # Errors
/// When the trial is not of an imitated tool, or lacks the required artifact.
pub fn replay_classic(
    trial: &Trial,
    events: &[TrialEvent],
    workloads: &[&'static dyn Workload],
) -> Result<ClassicText, Failure> {
    let record = record(trial)?;
    let workload = named(workloads, &trial.beginning.workload).ok_or_else(|| {
        refused(format!("this treering has no workload '{}'", trial.beginning.workload))
    })?;
    let mode = workload.classic_mode(&record.settings());
    let mut output = mode.map_err(|error| refused(error.message).maybe_hint(error.hint))?.output;
    let mut answers = Answers::from_trial(trial);
    let mut text = ClassicText::default();
    text.add(&output.open(&record.scene));
    for event in events {
        text.add(&output.hear(event, &mut answers));
    }
    if !matches!(trial.ending, Ending::Failed { .. } | Ending::Invalid { .. }) {
        // The signal that ended a run is not stored.
        let signal = (trial.ending == Ending::Interrupted).then_some(SIGINT);
        text.add(&output.close(signal));
    }
    Ok(text)
}

fn refused(why: impl Display) -> Failure {
    Failure::usage(format!("--classic: {why}"))
}

/// Settings and context of the run, from its artifact; fails with the reason if there is no such
/// artifact.
fn record(trial: &Trial) -> Result<ClassicRecord, Failure> {
    let name = &trial.beginning.workload;
    let read = |made: &Artifact| made.read(ClassicRecord::KIND, ClassicRecord::VERSION);
    if let Some(record) = trial.artifacts.iter().find_map(read) {
        return Ok(record);
    }
    Err(if trial.fact(IMPORT_FACT).is_some() {
        refused(
            "this trial was imported from the output of another program, which the store does not \
             keep",
        )
    } else if trial.beginning.mode == RunMode::Native {
        refused(format!(
            "this trial was run in native mode, which differs from {name} in its order of \
             operations: there is no output of {name}"
        ))
        .hint(format!("run it in classic mode: `treering {name} ...`"))
    } else {
        refused("this trial was recorded by an older treering, which did not store what is needed")
            .hint("run it again; `treering show` prints the command line")
    })
}

/// Answers to the tool's queries during the run, in their order.
#[derive(Default)]
struct Answers {
    rooms: VecDeque<Option<StatfsSpace>>,
    times: VecDeque<String>,
    disks: VecDeque<Option<DiskCounts>>,
}

impl Answers {
    fn from_trial(trial: &Trial) -> Self {
        let mut answers = Self::default();
        for made in &trial.artifacts {
            match made.read(ContextAnswer::KIND, ContextAnswer::VERSION) {
                Some(ContextAnswer::Room(room)) => answers.rooms.push_back(room),
                Some(ContextAnswer::Time(time)) => answers.times.push_back(time),
                Some(ContextAnswer::Disk(disk)) => answers.disks.push_back(disk),
                None => {}
            }
        }
        answers
    }
}

impl OutputContext for Answers {
    fn room(&mut self) -> Option<StatfsSpace> {
        self.rooms.pop_front().flatten()
    }

    fn time(&mut self) -> String {
        self.times.pop_front().unwrap_or_default()
    }

    fn disk(&mut self) -> Option<DiskCounts> {
        self.disks.pop_front().flatten()
    }
}

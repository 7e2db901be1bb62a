//! `treering show --classic`: reproduces the output of the imitated tool from the store.
//!
//! The output hears the stored events as it heard those of the run, and what it asked of the clock
//! and of the filesystem is answered as it was then.

use std::collections::VecDeque;
use std::io::{self, Write};
use std::process::ExitCode;

use treering_model::{Ending, IMPORT_FACT, RunMode, Trial};
use treering_script::{
    ClassicRecord, ContextAnswer, DiskCounts, OutputContext, StatfsSpace, ToolOutput,
};
use treering_store::Store;
use treering_sys::SIGINT;

use crate::classic_output::shown;
use crate::failure::{Failure, Kind, output_failed};
use crate::storage::failure;

/// Prints the output: on standard output and standard error like the tool, and the log if the tool
/// wrote only to that.
pub(crate) fn run(store: &Store, trial: &Trial) -> Result<ExitCode, Failure> {
    let record = record(trial)?;
    let workload = crate::commands::workload(&trial.beginning.workload).ok_or_else(|| {
        refused(format!("this treering has no workload '{}'", trial.beginning.workload))
    })?;
    let mode = workload.classic_mode(&record.settings());
    let mut output = mode.map_err(|error| refused(error.message).maybe_hint(error.hint))?.output;
    let mut answers = Answers::of(trial);
    let mut words = Words::default();
    words.add(&output.open(&record.scene));
    for event in store.events(trial.beginning.trial).map_err(|error| failure(&error))? {
        words.add(&output.hear(&event, &mut answers));
    }
    if !matches!(trial.ending, Ending::Failed { .. } | Ending::Invalid { .. }) {
        // The store does not say which signal ended a run.
        let signal = (trial.ending == Ending::Interrupted).then_some(SIGINT);
        words.add(&output.close(signal));
    }
    words.write().or_else(|error| output_failed(&error))?;
    Ok(ExitCode::SUCCESS)
}

fn refused(why: impl std::fmt::Display) -> Failure {
    Failure::new(Kind::Usage, format!("--classic: {why}"))
}

/// Settings and context of the run, from its artifact; fails with the reason if there is no such
/// artifact.
fn record(trial: &Trial) -> Result<ClassicRecord, Failure> {
    let name = &trial.beginning.workload;
    let read =
        |made: &treering_model::Artifact| made.read(ClassicRecord::KIND, ClassicRecord::VERSION);
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
    fn of(trial: &Trial) -> Self {
        let mut all = Self::default();
        for made in &trial.artifacts {
            match made.read(ContextAnswer::KIND, ContextAnswer::VERSION) {
                Some(ContextAnswer::Room(room)) => all.rooms.push_back(room),
                Some(ContextAnswer::Time(time)) => all.times.push_back(time),
                Some(ContextAnswer::Disk(disk)) => all.disks.push_back(disk),
                None => {}
            }
        }
        all
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

/// Complete output of the tool, by stream.
#[derive(Default)]
struct Words {
    out: String,
    err: String,
    log: String,
}

impl Words {
    fn add(&mut self, said: &ToolOutput) {
        self.out += &said.out;
        self.err += &said.err;
        self.log += &said.log;
    }

    fn write(&self) -> io::Result<()> {
        let words = if self.out.is_empty() { &self.log } else { &self.out };
        io::stdout().lock().write_all(shown(words).as_bytes())?;
        io::stderr().lock().write_all(shown(&self.err).as_bytes())
    }
}

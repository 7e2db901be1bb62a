//! Calls of a workload's scripts, in order and as text, without a disk.

use treering_engine::{SessionRequest, rehearse_session};
use treering_model::TaskTotals;
use treering_script::{
    Call, CallResult, Completion, DirEntries, Io, Job, Script, Settings, Stop, TargetFacts, Task,
};

/// Formats a call as a line of text.
pub type CallFormatter = fn(&Call<'_>) -> String;

/// Parses settings of the form `name=value`; a name alone is switched on.
pub fn settings(words: &str) -> Settings {
    let values = words.split_whitespace().map(|word| {
        let (name, value) = word.split_once('=').unwrap_or((word, "true"));
        (name.to_owned(), value.to_owned())
    });
    let mut settings = Settings::new(values.collect());
    settings.started_unix_ms = 1_795_000_001_000;
    settings
}

/// [`Io`] that lets every call succeed and logs it.
struct CallLog {
    calls: Vec<String>,
    format: CallFormatter,
}

impl Io for CallLog {
    fn call(&mut self, call: &Call<'_>) -> Result<CallResult, Stop> {
        self.calls.push((self.format)(call));
        Ok(match call {
            Call::Write { bytes, .. }
            | Call::Read { bytes, .. }
            | Call::WriteAt { bytes, .. }
            | Call::ReadAt { bytes, .. } => CallResult::Bytes((*bytes).into()),
            _ => CallResult::Plain,
        })
    }

    fn entries(&self) -> DirEntries<'_> {
        DirEntries::new(&[])
    }

    fn reaped(&self) -> &[Completion] {
        &[]
    }

    fn timed(&self) -> Option<(u64, u64)> {
        None
    }

    fn began_ns(&self) -> u64 {
        0
    }
}

/// Runs a script and returns its calls as text.
pub fn calls(script: &mut dyn Script, format: CallFormatter) -> Vec<String> {
    let mut log = CallLog { calls: Vec::new(), format };
    script.run(&mut log).expect("every call succeeds here");
    log.calls
}

/// Calls of one rank in each phase, after the name of the phase.
pub fn phases(job: &dyn Job, format: CallFormatter, rank: u16) -> Vec<String> {
    let facts = TargetFacts::unknown();
    let mut session = job.begin(&facts);
    let mut phases: Vec<(String, Vec<String>)> = Vec::new();
    let rehearsed = rehearse_session(session.as_mut(), &mut |request| {
        match request {
            SessionRequest::Phase(phase) => phases.push((phase.name, Vec::new())),
            SessionRequest::Group(mut group, listener) => {
                for (worker, task) in (0..).zip(&mut group.tasks) {
                    let calls = calls(task.script.as_mut(), format);
                    if worker == rank {
                        phases.last_mut().expect("a phase has begun").1.extend(calls);
                    }
                    listener.task_ended(&totals(worker, task));
                }
            }
        }
        assert!(phases.len() < 100, "it ends");
        Ok(())
    });
    rehearsed.expect("no call fails here");
    phases.into_iter().map(|(name, own)| format!("{name}: {}", own.join(", "))).collect()
}

/// Totals of a task that has run, as far as they are known without an engine.
pub fn totals(worker: u16, task: &mut Task) -> TaskTotals {
    let (kind, counters) = (task.kind.clone(), task.script.counters());
    TaskTotals { worker, kind, counters, ..TaskTotals::default() }
}

//! Sessions, listeners and mounts for the tests.

use std::path::{Path, PathBuf};

use rustix::mount::{MountFlags, UnmountFlags, mount, unmount};
use treering_engine::{
    EngineError, EngineOptions, LatencyMode, PayloadKind, RunOptions, RunProgress, RunSessions,
    StopFlag,
};
use treering_model::{
    Caution, Metric, Op, PhaseTotals, SinkError, TaskTotals, TrialEvent, TrialSink,
};
use treering_script::{
    Conductor, ParallelGroup, Phase, Script, Session, SessionResult, SyncScope, Task, TaskListener,
};

use crate::operations::{OperationScript, OwnedCall};

/// Session of given phases, each of given groups.
pub(crate) struct ScriptedSession {
    phases: Vec<(String, Vec<ParallelGroup>)>,
    /// True if the target is synced after each group.
    pub(crate) syncs: bool,
    pub(crate) reported: Vec<TaskTotals>,
    pub(crate) of_others: Vec<TaskTotals>,
}

impl ScriptedSession {
    pub(crate) fn new(phases: Vec<(&str, Vec<ParallelGroup>)>) -> Self {
        let phases = phases.into_iter().map(|(name, groups)| (name.to_owned(), groups));
        Self { phases: phases.collect(), syncs: false, reported: Vec::new(), of_others: Vec::new() }
    }
}

impl TaskListener for ScriptedSession {
    fn task_ended(&mut self, totals: &TaskTotals) {
        self.reported.push(totals.clone());
    }

    fn others_task_ended(&mut self, totals: &TaskTotals) {
        self.of_others.push(totals.clone());
    }
}

impl Session for ScriptedSession {
    fn run(&mut self, conductor: &mut dyn Conductor) -> SessionResult {
        for (name, groups) in std::mem::take(&mut self.phases) {
            let tasks = groups.iter().map(|group| group.tasks.len()).sum::<usize>();
            conductor.phase(Phase { name, tasks: u32::try_from(tasks).unwrap() })?;
            for group in groups {
                conductor.group(group, self)?;
                if self.syncs {
                    conductor.sync(SyncScope::Target)?;
                }
            }
        }
        Ok(())
    }

    fn metrics(&self) -> Vec<Metric> {
        Vec::new()
    }

    fn remains(&self) -> Vec<String> {
        Vec::new()
    }
}

pub(crate) fn task_of(subject: &str, script: Box<dyn Script>) -> Task {
    Task {
        state: "new".into(),
        tally: "intial create".into(),
        listed_bytes: 77,
        expected_bytes: 99,
        ..Task::new("create", subject, Op::Create, script)
    }
}

pub(crate) fn task(subject: &str, operations: Vec<OwnedCall>) -> Task {
    task_of(subject, Box::new(OperationScript::new(operations, 1)))
}

/// Task that never ends by itself: creates and removes a directory repeatedly.
pub(crate) fn endless(subject: &str) -> Task {
    let name = crate::operations::name(subject);
    let operations = vec![OwnedCall::MakeDir(0, name.clone()), OwnedCall::RemoveDir(0, name)];
    task_of(subject, Box::new(OperationScript::new(operations, usize::MAX)))
}

pub(crate) fn group(tasks: Vec<Task>) -> ParallelGroup {
    ParallelGroup { tasks, ..ParallelGroup::default() }
}

/// Sink that records all events.
#[derive(Default)]
pub(crate) struct EventRecorder(pub(crate) Vec<TrialEvent>);

impl TrialSink for EventRecorder {
    fn accept(&mut self, event: &TrialEvent) -> Result<(), SinkError> {
        self.0.push(event.clone());
        Ok(())
    }
}

impl EventRecorder {
    pub(crate) fn tasks(&self) -> Vec<&TaskTotals> {
        let tasks = self.0.iter().filter_map(|event| match event {
            TrialEvent::TaskEnded(totals) => Some(totals),
            _ => None,
        });
        tasks.collect()
    }

    pub(crate) fn phases(&self) -> Vec<&PhaseTotals> {
        let phases = self.0.iter().filter_map(|event| match event {
            TrialEvent::PhaseEnded(totals) => Some(totals),
            _ => None,
        });
        phases.collect()
    }

    pub(crate) fn cautions(&self) -> Vec<&Caution> {
        let cautions = self.0.iter().filter_map(|event| match event {
            TrialEvent::Cautioned(caution) => Some(caution),
            _ => None,
        });
        cautions.collect()
    }

    /// Kinds of the recorded events, abbreviated.
    pub(crate) fn order(&self) -> Vec<String> {
        let word = |event: &TrialEvent| match event {
            TrialEvent::PhaseBegan { phase, .. } => format!("phase {phase}"),
            TrialEvent::TaskBegan { task, .. } => format!("task {task}"),
            TrialEvent::TaskEnded(totals) => format!("end {} by {}", totals.task, totals.worker),
            TrialEvent::PhaseEnded(totals) => format!("end of phase {}", totals.phase),
            TrialEvent::Cautioned(caution) => caution.code.name().to_owned(),
            _ => "other".to_owned(),
        };
        self.0.iter().map(word).collect()
    }
}

pub(crate) fn options(latency: LatencyMode) -> EngineOptions {
    let payload = PayloadKind::Native { compressibility: 0 };
    EngineOptions::new(latency, payload, 1)
}

/// Runs a session and keeps the events.
pub(crate) fn perform<P: RunSessions>(
    play: &mut dyn Session,
    place: &P,
    stop: &StopFlag,
) -> (Result<(), EngineError>, EventRecorder) {
    let mut events = EventRecorder::default();
    let options = options(LatencyMode::All);
    let result = place.run(play, RunOptions::new(&options, &mut events, &RunProgress::new(), stop));
    (result, events)
}

/// Prints that a test was skipped, and why.
#[expect(clippy::disallowed_macros, reason = "the output of a test")]
fn skipped(why: &str) {
    println!("skipped: needs root{why}");
}

/// Mounted tmpfs, unmounted on drop.
pub(crate) struct TinyMount {
    point: PathBuf,
}

impl TinyMount {
    /// Mounts a tmpfs with these options on a directory; `None`, with a message, without root.
    pub(crate) fn new(point: &Path, options: &str) -> Option<Self> {
        if !rustix::process::geteuid().is_root() {
            skipped("");
            return None;
        }
        let options = std::ffi::CString::new(options).unwrap();
        match mount("tmpfs", point, "tmpfs", MountFlags::empty(), &*options) {
            Ok(()) => Some(Self { point: point.to_owned() }),
            Err(errno) => {
                skipped(&format!(" that may mount: {errno}"));
                None
            }
        }
    }
}

impl Drop for TinyMount {
    fn drop(&mut self) {
        unmount(&self.point, UnmountFlags::DETACH).expect("what was mounted can be unmounted");
    }
}

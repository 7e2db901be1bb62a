//! Tests of groups whose workers are processes.

use std::process::id;

use treering_engine::oracle::TreeSnapshot;
use treering_engine::{EngineError, RunOptions, RunProgress, RunSessions, StopFlag, Target};
use treering_model::{Counters, Op, TaskTotals};
use treering_script::{
    DirSlot, ExpectedErrors, GroupStart, Io, ParallelGroup, ParallelOptions, Script, SignalEffect,
    Stop, Task, WorkerKind,
};

use crate::operations::{FlagRaisingScript, OwnedCall, PanickingScript, make_tree, name};
use crate::stage::{
    EventRecorder, ScriptedSession, endless, group, options, perform, task, task_of,
};

fn forked(tasks: Vec<Task>, start: GroupStart) -> ParallelGroup {
    let workers = WorkerKind::Process;
    let side_by_side = ParallelOptions { workers, start, ..ParallelOptions::default() };
    ParallelGroup { side_by_side, ..group(tasks) }
}

fn trees(count: u32) -> Vec<Task> {
    (0..count).map(|n| task(&format!("t{n}"), make_tree(&format!("t{n}"), 50 + n, 300))).collect()
}

/// Script that kills its own process.
struct SelfKillingScript {
    parent: u32,
}

impl Script for SelfKillingScript {
    fn run(&mut self, _io: &mut dyn Io) -> Result<(), Stop> {
        assert_ne!(self.parent, id(), "this is no child");
        let _dead =
            rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL);
        Ok(())
    }
}

/// Script that records the process it ran in.
struct PidScript(u64);

impl Script for PidScript {
    fn run(&mut self, _io: &mut dyn Io) -> Result<(), Stop> {
        self.0 = u64::from(id());
        Ok(())
    }

    fn counters(&mut self) -> Counters {
        Counters::from_value(&self.0)
    }
}

#[test]
fn processes_report_the_same_as_threads() {
    for start in [GroupStart::Together, GroupStart::AsMade] {
        let places = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
        let mut reported = Vec::new();
        for (place, kind) in places.iter().zip([WorkerKind::Thread, WorkerKind::Process]) {
            let target = Target::open(place.path()).unwrap();
            let side_by_side =
                ParallelOptions { workers: kind, start, ..ParallelOptions::default() };
            let groups = vec![ParallelGroup { side_by_side, ..group(trees(3)) }];
            let mut play = ScriptedSession::new(vec![("p", groups)]);
            let (progress, mut events) = (RunProgress::new(), EventRecorder::default());
            let options = options(treering_engine::LatencyMode::All);
            let stop = StopFlag::new();
            target
                .run(&mut play, RunOptions::new(&options, &mut events, &progress, &stop))
                .unwrap();
            let phase = events.phases()[0].clone();
            let calls: u64 = phase.ops.iter().map(|op| op.calls).sum();
            let in_seconds: u64 = phase.intervals.iter().map(|second| second.calls).sum();
            assert_eq!(in_seconds, calls);
            assert_eq!(progress.snapshot().calls, calls);
            assert_eq!(progress.snapshot().files, 50 + 51 + 52);
            let figures = |task: &TaskTotals| {
                assert!(task.wall_ns > 0);
                let ops: Vec<_> = task.ops.iter().map(|op| (op.op, op.calls, op.bytes)).collect();
                let samples: u64 = task.ops.iter().map(|op| op.latency.samples()).sum();
                (task.subject.clone(), task.worker, task.files, task.bytes, ops, samples)
            };
            reported.push(events.tasks().into_iter().map(figures).collect::<Vec<_>>());
        }
        assert_eq!(reported[0], reported[1]);
        let [threads, processes] =
            places.each_ref().map(|place| TreeSnapshot::from_directory(place.path()).unwrap());
        assert_eq!(threads, processes);
    }
}

#[test]
fn a_single_task_runs_in_a_process_and_returns_its_counters() {
    let place = tempfile::tempdir().unwrap();
    let target = Target::open(place.path()).unwrap();
    let tasks = vec![task_of("noting", Box::new(PidScript(0)))];
    let mut play = ScriptedSession::new(vec![("p", vec![forked(tasks, GroupStart::Together)])]);
    let (result, _) = perform(&mut play, &target, &StopFlag::new());
    result.unwrap();
    let noted: u64 = play.reported[0].counters.read().unwrap();
    assert!(noted > 0 && noted != u64::from(id()));
}

#[test]
fn a_failed_process_stops_the_others_and_names_the_path() {
    let place = tempfile::tempdir().unwrap();
    let target = Target::open(place.path()).unwrap();
    let failing = task("failing", vec![OwnedCall::Open(0, name("missing"), 0)]);
    let tasks = vec![endless("a"), failing, endless("b")];
    let mut play = ScriptedSession::new(vec![("p", vec![forked(tasks, GroupStart::AsMade)])]);
    let stop = StopFlag::new();
    let (result, events) = perform(&mut play, &target, &stop);
    let missing = target.path().join("missing");
    let text = format!("open {}: No such file or directory (os error 2)", missing.display());
    assert_eq!(result.unwrap_err().to_string(), text);
    assert!(!stop.is_raised(), "the next trial can run");
    let failed = events.phases()[0].ops.iter().find(|op| op.op == Op::Open).unwrap();
    assert_eq!((failed.calls, failed.errors), (1, 1));
}

#[test]
fn a_process_that_is_killed_is_a_failed_task() {
    let place = tempfile::tempdir().unwrap();
    let target = Target::open(place.path()).unwrap();
    let tasks = vec![endless("a"), task_of("dying", Box::new(SelfKillingScript { parent: id() }))];
    let mut play = ScriptedSession::new(vec![("p", vec![forked(tasks, GroupStart::Together)])]);
    let (result, events) = perform(&mut play, &target, &StopFlag::new());
    let error = result.unwrap_err();
    assert!(matches!(&error, EngineError::Lost { task, .. } if task == "create dying"));
    assert!(error.to_string().contains("killed by signal 9"), "{error}");
    assert_eq!(events.phases().len(), 1);
}

#[test]
fn a_panic_in_a_process_is_reported() {
    let place = tempfile::tempdir().unwrap();
    let target = Target::open(place.path()).unwrap();
    let tasks = vec![endless("a"), task_of("broken", Box::new(PanickingScript))];
    let mut play = ScriptedSession::new(vec![("p", vec![forked(tasks, GroupStart::Together)])]);
    let (result, _) = perform(&mut play, &target, &StopFlag::new());
    assert!(matches!(result, Err(EngineError::Panicked { task, .. }) if task == "create broken"));
}

#[test]
fn a_signal_reaches_all_processes_and_some_finish_first() {
    let place = tempfile::tempdir().unwrap();
    let target = Target::open(place.path()).unwrap();
    let stop = StopFlag::new();
    let raising = FlagRaisingScript { stop: stop.clone(), signal: 2, calls: 0 };
    let tasks = vec![endless("a"), task_of("b", Box::new(raising))];
    let mut play = ScriptedSession::new(vec![("p", vec![forked(tasks, GroupStart::Together)])]);
    let (result, _) = perform(&mut play, &target, &stop);
    assert!(matches!(result, Err(EngineError::Interrupted { signal: 2 })));

    for workers in [WorkerKind::Thread, WorkerKind::Process] {
        let place = tempfile::tempdir().unwrap();
        let target = Target::open(place.path()).unwrap();
        let later = StopFlag::new();
        let finishing = ParallelOptions {
            workers,
            on_signal: SignalEffect::Finish,
            ..ParallelOptions::default()
        };
        let raise = Box::new(RaiseAndEnd { stop: later.clone() });
        let tasks = vec![task("tree", make_tree("tree", 500, 10)), task_of("raising", raise)];
        let groups =
            vec![ParallelGroup { side_by_side: finishing, ..group(tasks) }, group(trees(1))];
        let mut play = ScriptedSession::new(vec![("p", groups)]);
        let (result, events) = perform(&mut play, &target, &later);
        assert!(matches!(result, Err(EngineError::Interrupted { signal: 2 })));
        assert_eq!(events.tasks().len(), 2, "the group is finished, the next one not begun");
        assert_eq!(events.tasks()[0].files, 500);
    }
}

/// Script that raises a flag at once and returns.
struct RaiseAndEnd {
    stop: StopFlag,
}

impl Script for RaiseAndEnd {
    fn run(&mut self, io: &mut dyn Io) -> Result<(), Stop> {
        self.stop.raise(2);
        io.stat(DirSlot::TARGET, c"nothing").unless_missing().map(|_| ())
    }
}

/// Script that stops its own process, as `kill -STOP` does, and continues working when it is
/// resumed.
struct SelfStoppingScript;

impl Script for SelfStoppingScript {
    fn run(&mut self, io: &mut dyn Io) -> Result<(), Stop> {
        use rustix::process::{Signal, getpid, kill_process};
        let _stopped_here = kill_process(getpid(), Signal::STOP);
        loop {
            io.stat(DirSlot::TARGET, c"nothing").unless_missing()?;
        }
    }
}

#[test]
fn a_stopped_process_ends_the_run_and_is_named() {
    for start in [GroupStart::Together, GroupStart::AsMade] {
        let place = tempfile::tempdir().unwrap();
        let target = Target::open(place.path()).unwrap();
        let tasks =
            vec![endless("a"), task_of("stopped", Box::new(SelfStoppingScript)), endless("b")];
        let mut play = ScriptedSession::new(vec![("p", vec![forked(tasks, start)])]);
        let (progress, mut events, stop) =
            (RunProgress::new(), EventRecorder::default(), StopFlag::new());
        let options = treering_engine::EngineOptions {
            stopped_max: std::time::Duration::from_secs(1),
            ..options(treering_engine::LatencyMode::All)
        };
        let run = RunOptions::new(&options, &mut events, &progress, &stop);
        let error = target.run(&mut play, run).unwrap_err();
        assert!(matches!(&error, EngineError::Lost { task, .. } if task == "create stopped"));
        assert!(error.to_string().contains("it was stopped by a signal"), "{error}");
        let calls = events.phases()[0].ops.iter().map(|op| op.calls).sum::<u64>();
        assert!(calls > 0, "what the others did is kept");
        assert!(!stop.is_raised(), "the next trial can run");
    }
}

#[test]
fn a_signal_ends_a_run_with_a_stopped_process() {
    let place = tempfile::tempdir().unwrap();
    let target = Target::open(place.path()).unwrap();
    let stop = StopFlag::new();
    let raising = FlagRaisingScript { stop: stop.clone(), signal: 2, calls: 0 };
    let tasks =
        vec![task_of("stopped", Box::new(SelfStoppingScript)), task_of("b", Box::new(raising))];
    let mut play = ScriptedSession::new(vec![("p", vec![forked(tasks, GroupStart::Together)])]);
    let (result, _) = perform(&mut play, &target, &stop);
    assert!(matches!(result, Err(EngineError::Interrupted { signal: 2 })), "{result:?}");
}

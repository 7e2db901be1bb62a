//! Parallel groups of several workers: run side by side, reported in order, stopped together.

use std::time::{Duration, Instant};

use treering_engine::{EngineError, MemoryFilesystem, StopFlag, Target};
use treering_model::Op;
use treering_script::{DirSlot, ExpectedErrors, FileSlot, Io, OpenHow, Script, Stop};

use crate::operations::{FlagRaisingScript, OwnedCall, PanickingScript, make_tree, name};
use crate::stage::{ScriptedSession, endless, group, perform, task, task_of};

fn trees(count: u32) -> Vec<treering_script::Task> {
    let tree = |number: u32| {
        let name = format!("tree-{number}");
        task(&name, make_tree(&name, 50 + number, 3000))
    };
    (0..count).map(tree).collect()
}

#[test]
fn parallel_workers_are_reported_in_order() {
    let place = tempfile::tempdir().unwrap();
    let target = Target::open(place.path()).unwrap();
    let mut play =
        ScriptedSession::new(vec![("create", vec![group(trees(2)), group(trees_from(2, 6))])]);
    let (result, events) = perform(&mut play, &target, &StopFlag::new());
    result.unwrap();
    let order = events.order();
    let ends: Vec<_> = order.iter().filter(|event| event.starts_with("end ")).collect();
    assert_eq!(
        ends,
        [
            "end 0 by 0",
            "end 1 by 1",
            "end 2 by 0",
            "end 3 by 1",
            "end 4 by 2",
            "end 5 by 3",
            "end of phase 0",
        ]
    );
    let tasks = events.tasks();
    let files: Vec<u64> = tasks.iter().map(|task| task.files).collect();
    assert_eq!(files, [50, 51, 52, 53, 54, 55]);
    assert!(tasks.iter().all(|task| task.cpu.total_ns() > 0 || task.wall_ns < 1_000_000));
    let phase = events.phases()[0];
    assert_eq!(phase.files, 315);
    assert_eq!(phase.tasks, 6);
    let calls: u64 = phase.ops.iter().map(|op| op.calls).sum();
    assert_eq!(calls, phase.intervals.iter().map(|second| second.calls).sum::<u64>());
    assert_eq!(phase.cpu.total_ns(), tasks.iter().map(|task| task.cpu.total_ns()).sum::<u64>());
    let writes = phase.ops.iter().find(|op| op.op == Op::Write).unwrap();
    assert_eq!((writes.calls, writes.bytes), (315, 315 * 3000));
}

fn trees_from(first: u32, end: u32) -> Vec<treering_script::Task> {
    trees(end).into_iter().skip(first as usize).collect()
}

#[test]
fn a_failed_worker_stops_the_others_and_finished_tasks_are_reported() {
    let failing = vec![OwnedCall::Open(0, name("missing"), 0)];
    let tasks = vec![endless("a"), task("failing", failing), endless("b")];
    let mut play = ScriptedSession::new(vec![("p", vec![group(tasks)])]);
    let stop = StopFlag::new();
    let began = Instant::now();
    let (result, events) = perform(&mut play, &MemoryFilesystem::default(), &stop);
    assert!(began.elapsed() < Duration::from_secs(10));
    let error = result.unwrap_err();
    assert!(matches!(&error, EngineError::Call { task, .. } if task == "create failing"));
    let text = "open memory:/missing: No such file or directory (os error 2)";
    assert_eq!(error.to_string(), text);
    assert!(!stop.is_raised(), "the next trial can run");
    assert_eq!(events.phases()[0].tasks, 0);
    assert!(events.tasks().is_empty());
}

/// Script that waits for a directory, gives its maker time to end, and fails.
struct LateFailingScript;

impl Script for LateFailingScript {
    fn run(&mut self, io: &mut dyn Io) -> Result<(), Stop> {
        while io.stat(DirSlot::TARGET, c"sign").unless_missing()?.is_none() {}
        std::thread::sleep(Duration::from_millis(300));
        io.open(DirSlot::TARGET, c"missing", OpenHow::Read, FileSlot(0))
    }
}

#[test]
fn tasks_finished_before_a_failure_are_reported() {
    let place = tempfile::tempdir().unwrap();
    let target = Target::open(place.path()).unwrap();
    let quick = task("quick", vec![OwnedCall::MakeDir(0, name("sign"))]);
    let tasks = vec![task_of("late", Box::new(LateFailingScript)), quick];
    let mut play = ScriptedSession::new(vec![("p", vec![group(tasks)])]);
    let (result, events) = perform(&mut play, &target, &StopFlag::new());
    assert!(matches!(result, Err(EngineError::Call { .. })));
    let done: Vec<_> = events.tasks().iter().map(|task| task.subject.clone()).collect();
    assert_eq!(done, ["quick"]);
    assert_eq!(play.reported.len(), 1);
}

#[test]
fn a_panic_stops_the_other_workers() {
    let tasks = vec![endless("a"), task_of("broken", Box::new(PanickingScript)), endless("b")];
    let mut play = ScriptedSession::new(vec![("p", vec![group(tasks)])]);
    let (result, events) = perform(&mut play, &MemoryFilesystem::default(), &StopFlag::new());
    assert!(matches!(result, Err(EngineError::Panicked { task, .. }) if task == "create broken"));
    assert_eq!(events.phases().len(), 1);
}

#[test]
fn a_signal_stops_all_workers() {
    let stop = StopFlag::new();
    let raising = FlagRaisingScript { stop: stop.clone(), signal: 2, calls: 0 };
    let tasks = vec![endless("a"), task_of("b", Box::new(raising))];
    let mut play = ScriptedSession::new(vec![("p", vec![group(tasks)])]);
    let (result, events) = perform(&mut play, &MemoryFilesystem::default(), &stop);
    assert!(matches!(result, Err(EngineError::Interrupted { signal: 2 })));
    assert_eq!(events.order(), ["phase 0", "task 0", "task 1", "end of phase 0"]);
    assert_eq!(stop.signal(), Some(2));
}

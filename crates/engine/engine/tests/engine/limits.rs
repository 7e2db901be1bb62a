//! Limits and extras of a group: the time limit and its effects, reports of tasks that were cut
//! short, shell commands, several roots, direct I/O.

use std::time::{Duration, Instant};

use treering_engine::{
    EngineError, EngineOptions, LatencyMode, MemoryFilesystem, PayloadKind, RunOptions,
    RunProgress, RunSessions, StopFlag, Target,
};
use treering_model::Counters;
use treering_script::{
    CreateHow, Deadline, DirSlot, ExpectedErrors, FileSlot, Io, ParallelGroup, ParallelOptions,
    Script, Stop, Task, TimeLimit, UnfinishedTasks,
};

use crate::operations::{OwnedCall, name};
use crate::stage::{EventRecorder, ScriptedSession, endless, group, perform, task, task_of};

/// Script that works until its deadline.
struct DeadlineScript {
    deadline: Deadline,
    calls: u64,
}

impl Script for DeadlineScript {
    fn run(&mut self, io: &mut dyn Io) -> Result<(), Stop> {
        while !self.deadline.is_reached() {
            self.calls += 1;
            io.stat(DirSlot::TARGET, c"nothing").unless_missing()?;
        }
        Ok(())
    }

    fn counters(&mut self) -> Counters {
        Counters::from_value(&self.calls)
    }
}

fn until_deadline(subject: &str, deadline: &Deadline) -> Task {
    task_of(subject, Box::new(DeadlineScript { deadline: deadline.clone(), calls: 0 }))
}

#[test]
fn a_deadline_ends_all_workers_of_its_group() {
    for workers in 1..3 {
        let deadline = Deadline::default();
        let tasks =
            ["a", "b"].into_iter().take(workers).map(|name| until_deadline(name, &deadline));
        let after = Duration::from_millis(50);
        let time_limit = Some(TimeLimit { after, deadline: deadline.clone() });
        let timed = ParallelGroup { time_limit, ..group(tasks.collect()) };
        let mut play = ScriptedSession::new(vec![("p", vec![timed])]);
        perform(&mut play, &MemoryFilesystem::default(), &StopFlag::new()).0.unwrap();
        assert_eq!(play.reported.len(), workers);
        assert!(deadline.is_reached());
    }
}

#[test]
fn a_deadline_is_not_reached_after_its_group_ended() {
    let deadline = Deadline::default();
    let after = Duration::from_millis(200);
    let time_limit = Some(TimeLimit { after, deadline: deadline.clone() });
    let short = ParallelGroup { time_limit, ..group(vec![task("a", Vec::new())]) };
    let mut play = ScriptedSession::new(vec![("p", vec![short])]);
    let began = Instant::now();
    perform(&mut play, &MemoryFilesystem::default(), &StopFlag::new()).0.unwrap();
    // On a machine so busy that the group outlasted its time, the deadline was due.
    if began.elapsed() < after {
        std::thread::sleep(2 * after);
        assert!(!deadline.is_reached());
    }
}

#[test]
fn interrupted_tasks_are_reported_if_configured() {
    let failing =
        task("failing", vec![OwnedCall::MakeDir(0, name("x")), OwnedCall::Open(0, name("y"), 0)]);
    let side_by_side =
        ParallelOptions { unfinished: UnfinishedTasks::Reported, ..ParallelOptions::default() };
    let tasks = vec![endless("a"), failing];
    let mut play =
        ScriptedSession::new(vec![("p", vec![ParallelGroup { side_by_side, ..group(tasks) }])]);
    let (result, events) = perform(&mut play, &MemoryFilesystem::default(), &StopFlag::new());
    assert!(matches!(result, Err(EngineError::Call { task, .. }) if task == "create failing"));
    let reported: Vec<_> = play.reported.iter().map(|task| task.subject.as_str()).collect();
    assert_eq!(reported, ["a", "failing"]);
    assert_eq!(events.tasks().len(), 2);
    assert_eq!(play.reported[1].ops.iter().map(|op| op.calls).sum::<u64>(), 2);
}

#[test]
fn the_command_of_a_group_runs_before_its_tasks_and_may_fail() {
    let place = tempfile::tempdir().unwrap();
    let target = Target::open(place.path()).unwrap();
    let sign = place.path().join("sign");
    let command = format!("mkdir '{}'; exit 3", sign.display());
    let seen = task("seen", vec![OwnedCall::OpenDir(0, name("sign"), 1)]);
    let group = ParallelGroup { command: Some(command), ..group(vec![seen]) };
    let mut play = ScriptedSession::new(vec![("p", vec![group])]);
    perform(&mut play, &target, &StopFlag::new()).0.unwrap();
    assert!(sign.is_dir());
}

/// Script that makes a file in each of two roots.
struct TwoRootsScript;

impl Script for TwoRootsScript {
    fn run(&mut self, io: &mut dyn Io) -> Result<(), Stop> {
        for root in 0..2 {
            io.open_root(root, DirSlot(1 + root))?;
            io.create(DirSlot(1 + root), c"file", CreateHow::Exclusive, FileSlot(0))?;
        }
        Ok(())
    }
}

#[test]
fn workers_can_open_the_roots_of_other_workers() {
    let places = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    let targets = places.each_ref().map(|place| Target::open(place.path()).unwrap());
    let script = TwoRootsScript;
    let mut play =
        ScriptedSession::new(vec![("p", vec![group(vec![task_of("a", Box::new(script))])])]);
    let options = EngineOptions::new(LatencyMode::All, PayloadKind::Classic, 1);
    let (progress, stop) = (RunProgress::new(), StopFlag::new());
    let mut events = EventRecorder::default();
    targets.run(&mut play, RunOptions::new(&options, &mut events, &progress, &stop)).unwrap();
    assert!(places.iter().all(|place| place.path().join("file").is_file()));
}

#[test]
fn direct_io_requires_whole_blocks() {
    let place = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let target = Target::open(place.path()).unwrap();
    let write = |bytes| {
        let create = OwnedCall::Create(0, name("file"), CreateHow::Truncate, 0);
        let operations = vec![create, OwnedCall::Write(0, bytes, 0), OwnedCall::Close(0)];
        let direct = Task { direct: true, ..task("a", operations) };
        let mut play = ScriptedSession::new(vec![("p", vec![group(vec![direct])])]);
        perform(&mut play, &target, &StopFlag::new()).0
    };
    match write(8192) {
        Ok(()) => {}
        Err(error) if error.to_string().starts_with("create ") => {
            without_direct(&error.to_string());
            return;
        }
        Err(error) => panic!("{error}"),
    }
    let refused = write(1000).unwrap_err().to_string();
    assert!(refused.starts_with("write ") && refused.contains("Invalid argument"), "{refused}");
}

#[expect(clippy::disallowed_macros, reason = "the output of a test")]
fn without_direct(why: &str) {
    println!("skipped: this filesystem knows no O_DIRECT: {why}");
}

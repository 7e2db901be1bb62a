//! Results of a session: events in their order, totals that add up, cautions, ends.

use std::io;
use std::sync::atomic::{AtomicU32, Ordering};

use treering_engine::oracle::TreeSnapshot;
use treering_engine::{
    Confinement, EngineError, EntryOrder, LatencyMode, MemoryCaller, MemoryFilesystem, Payload,
    RunOptions, RunProgress, RunSessions, SessionPlace, StopFlag, Target,
};
use treering_model::{CautionCode, Metric, Op, SinkError, TaskTotals, TrialEvent, TrialSink};
use treering_script::{
    CachePolicy, Conductor, CreateHow, EntryKind, NoListener, ParallelGroup, Session, SessionError,
    SessionResult,
};
use treering_sys::DropCachesError;

use crate::operations::{
    FlagRaisingScript, OperationScript, OwnedCall, PanickingScript, make_tree, name,
};
use crate::stage::{EventRecorder, ScriptedSession, group, options, perform, task, task_of};

fn two_phases() -> ScriptedSession {
    let phases = vec![
        (
            "create",
            vec![
                group(vec![task("tree-0", make_tree("tree-0", 10, 5000))]),
                group(vec![task("tree-1", make_tree("tree-1", 20, 100))]),
            ],
        ),
        ("read", vec![group(vec![task("tree-0", reading("tree-0"))])]),
    ];
    let mut play = ScriptedSession::new(phases);
    play.syncs = true;
    play
}

fn reading(tree: &str) -> Vec<OwnedCall> {
    let path = name(&format!("{tree}/file-3"));
    vec![
        OwnedCall::Open(0, path, 0),
        OwnedCall::Read(0, 8192),
        OwnedCall::Read(0, 8192),
        OwnedCall::Close(0),
    ]
}

fn calls(task: &TaskTotals, op: Op) -> u64 {
    task.ops.iter().find(|totals| totals.op == op).map_or(0, |totals| totals.calls)
}

/// Session that asks for a second phase even if the first one failed.
struct HeedlessSession;

impl Session for HeedlessSession {
    fn run(&mut self, conductor: &mut dyn Conductor) -> SessionResult {
        for name in ["first", "second"] {
            let failing = task("missing", reading("missing"));
            let _ignored = conductor.run_task(name, failing, &mut NoListener);
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

#[test]
fn a_failed_call_ends_the_run_even_if_the_session_ignores_it() {
    let place = tempfile::tempdir().unwrap();
    let target = Target::open(place.path()).unwrap();
    let (result, events) = perform(&mut HeedlessSession, &target, &StopFlag::new());
    assert!(matches!(result, Err(EngineError::Call { .. })), "{result:?}");
    assert_eq!(events.order(), ["phase 0", "task 0", "end of phase 0"]);
}

/// Session that fails after its first task.
struct FailingSession;

impl Session for FailingSession {
    fn run(&mut self, conductor: &mut dyn Conductor) -> SessionResult {
        let make = task("tree-0", make_tree("tree-0", 1, 1));
        conductor.run_task("create", make, &mut NoListener)?;
        Err(SessionError::at("tree-0", "is too small").into())
    }

    fn metrics(&self) -> Vec<Metric> {
        Vec::new()
    }

    fn remains(&self) -> Vec<String> {
        Vec::new()
    }
}

#[test]
fn a_session_error_ends_the_phase_and_the_run() {
    let (result, events) =
        perform(&mut FailingSession, &MemoryFilesystem::default(), &StopFlag::new());
    assert!(matches!(&result, Err(EngineError::Session(_))), "{result:?}");
    assert_eq!(result.unwrap_err().to_string(), "tree-0: is too small");
    assert_eq!(events.order(), ["phase 0", "task 0", "end 0 by 0", "end of phase 0"]);
    assert_eq!(events.phases()[0].tasks, 1);
}

fn check_two_phases(events: &EventRecorder, reported: &[TaskTotals]) {
    assert_eq!(
        events.order(),
        [
            "phase 0",
            "task 0",
            "end 0 by 0",
            "task 1",
            "end 1 by 0",
            "end of phase 0",
            "phase 1",
            "task 0",
            "end 0 by 0",
            "end of phase 1",
        ]
    );
    let tasks = events.tasks();
    assert!(reported.iter().eq(tasks.iter().copied()));
    let first = tasks[0];
    assert_eq!((first.files, first.bytes, first.listed_bytes), (10, 50_000, 77));
    assert_eq!((first.kind.as_str(), first.subject.as_str()), ("create", "tree-0"));
    assert_eq!((first.state.as_str(), first.tally.as_str()), ("new", "intial create"));
    assert_eq!(calls(first, Op::Write), 10);
    assert_eq!(calls(first, Op::Sync), 1);
    assert!(first.sync_ns > 0 && first.sync_ns < first.wall_ns);
    assert!(first.cpu.total_ns() >= first.sync_cpu.total_ns());
    assert_eq!(tasks[2].bytes, 5000);
    assert!(first.began_ns < tasks[1].began_ns);
    for phase in events.phases() {
        let of_phase = || tasks.iter().filter(|task| task.phase == phase.phase);
        assert_eq!(u64::from(phase.tasks), of_phase().count() as u64);
        assert_eq!(phase.bytes, of_phase().map(|task| task.bytes).sum::<u64>());
        assert_eq!(phase.files, of_phase().map(|task| task.files).sum::<u64>());
        assert!(phase.wall_ns >= of_phase().map(|task| task.wall_ns).sum::<u64>());
        let cpu: u64 = of_phase().map(|task| task.cpu.total_ns()).sum();
        assert_eq!(phase.cpu.total_ns(), cpu);
        let calls: u64 = phase.ops.iter().map(|op| op.calls).sum();
        assert_eq!(calls, of_phase().flat_map(|task| &task.ops).map(|op| op.calls).sum::<u64>());
        assert_eq!(calls, phase.intervals.iter().map(|second| second.calls).sum::<u64>());
        assert_eq!(phase.bytes, phase.intervals.iter().map(|second| second.bytes).sum::<u64>());
        assert!(phase.ops.is_sorted_by_key(|op| op.op as u8));
        assert!(phase.ops.iter().all(|op| op.latency.samples() == op.calls));
    }
}

#[test]
fn a_session_gives_the_same_tree_on_disk_and_in_memory() {
    let place = tempfile::tempdir().unwrap();
    let target = Target::open(place.path()).unwrap();
    let memory = MemoryFilesystem::new(EntryOrder::Creation);
    let mut play = two_phases();
    let (result, events) = perform(&mut play, &target, &StopFlag::new());
    result.unwrap();
    check_two_phases(&events, &play.reported);
    let mut play = two_phases();
    let (result, events) = perform(&mut play, &memory, &StopFlag::new());
    result.unwrap();
    check_two_phases(&events, &play.reported);
    let tree = memory.snapshot();
    assert_eq!(tree, TreeSnapshot::from_directory(place.path()).unwrap());
    let files = tree.entries.iter().filter(|(_, kind, _)| *kind == EntryKind::File);
    assert_eq!(files.count(), 30);
}

#[test]
fn progress_counts_all_calls_and_bytes() {
    let memory = MemoryFilesystem::default();
    let progress = RunProgress::new();
    let mut events = EventRecorder::default();
    let mut play = two_phases();
    let options = options(LatencyMode::Off);
    memory
        .run(&mut play, RunOptions::new(&options, &mut events, &progress, &StopFlag::new()))
        .unwrap();
    let snapshot = progress.snapshot();
    assert_eq!((snapshot.bytes, snapshot.files), (10 * 5000 + 20 * 100 + 5000, 30));
    let calls: u64 = events.phases().iter().flat_map(|phase| &phase.ops).map(|op| op.calls).sum();
    assert_eq!(snapshot.calls, calls);
    assert!(events.phases().iter().flat_map(|p| &p.ops).all(|op| op.latency.samples() == 0));
}

#[test]
fn a_signal_stops_the_run_and_finished_work_is_reported() {
    let memory = MemoryFilesystem::default();
    let stop = StopFlag::new();
    let first = group(vec![task("tree-0", make_tree("tree-0", 3, 10))]);
    let raising = FlagRaisingScript { stop: stop.clone(), signal: 15, calls: 0 };
    let second = group(vec![task_of("x", Box::new(raising))]);
    let mut play = ScriptedSession::new(vec![("mixed", vec![first, second])]);
    let (result, events) = perform(&mut play, &memory, &stop);
    assert!(matches!(result, Err(EngineError::Interrupted { signal: 15 })), "{result:?}");
    assert_eq!(events.order(), ["phase 0", "task 0", "end 0 by 0", "task 1", "end of phase 0"]);
    let phase = events.phases()[0];
    assert_eq!(phase.tasks, 1);
    assert!(phase.ops.iter().any(|op| op.op == Op::Stat && op.calls == 99));
    // Raised before: nothing is begun at all.
    let (result, events) = perform(&mut two_phases(), &memory, &stop);
    assert!(matches!(result, Err(EngineError::Interrupted { signal: 15 })));
    assert!(events.0.is_empty());
}

#[test]
fn an_external_halt_is_not_success() {
    let stop = StopFlag::new();
    stop.halt();
    let (result, _) = perform(&mut two_phases(), &MemoryFilesystem::default(), &stop);
    assert!(matches!(result, Err(EngineError::Halted)), "{result:?}");
}

#[test]
fn a_failing_call_names_its_path_and_its_task() {
    let place = tempfile::tempdir().unwrap();
    let target = Target::open(place.path()).unwrap();
    let mut operations = make_tree("tree-0", 3, 10);
    operations.push(OwnedCall::Create(0, name("tree-0/file-1"), CreateHow::Exclusive, 0));
    let mut play =
        ScriptedSession::new(vec![("create", vec![group(vec![task("tree-0", operations)])])]);
    let (result, events) = perform(&mut play, &target, &StopFlag::new());
    let error = result.unwrap_err();
    let path = target.path().join("tree-0/file-1");
    let expected = format!("create {}: File exists (os error 17)", path.display());
    assert_eq!(error.to_string(), expected);
    assert!(matches!(error, EngineError::Call { task, .. } if task == "create tree-0"));
    let phase = events.phases()[0];
    assert_eq!((phase.tasks, phase.files, phase.bytes), (0, 3, 30));
    let creates = phase.ops.iter().find(|op| op.op == Op::Create).unwrap();
    assert_eq!((creates.calls, creates.errors), (4, 1));
    assert!(events.tasks().is_empty() && play.reported.is_empty());
}

#[test]
fn a_panicking_script_is_an_error() {
    let mut play = ScriptedSession::new(vec![(
        "p",
        vec![group(vec![task_of("x", Box::new(PanickingScript))])],
    )]);
    let (result, events) = perform(&mut play, &MemoryFilesystem::default(), &StopFlag::new());
    let text = result.unwrap_err().to_string();
    assert_eq!(text, "create x: the worker panicked: a defect, for the test");
    assert_eq!(events.order(), ["phase 0", "task 0", "end of phase 0"]);
}

#[test]
fn slots_are_closed_between_tasks() {
    let open = vec![OwnedCall::MakeDir(0, name("d")), OwnedCall::OpenDir(0, name("d"), 5)];
    let use_it = vec![OwnedCall::Stat(5, name("x"))];
    let groups = vec![group(vec![task("a", open)]), group(vec![task("b", use_it)])];
    let place = tempfile::tempdir().unwrap();
    let target = Target::open(place.path()).unwrap();
    let (result, _) =
        perform(&mut ScriptedSession::new(vec![("p", groups)]), &target, &StopFlag::new());
    let text = result.unwrap_err().to_string();
    assert_eq!(text, "stat directory slot 5/x: Bad file descriptor (os error 9)");
}

/// Place that is not allowed to drop caches, and counts the requests.
struct UnprivilegedPlace {
    memory: MemoryFilesystem,
    requests: AtomicU32,
}

impl RunSessions for UnprivilegedPlace {}

impl SessionPlace for UnprivilegedPlace {
    type Caller = MemoryCaller;

    fn caller(&self, payload: &Payload, worker: u16) -> io::Result<MemoryCaller> {
        self.memory.caller(payload, worker)
    }

    fn drop_caches(&self) -> Result<(), DropCachesError> {
        self.requests.fetch_add(1, Ordering::Relaxed);
        Err(DropCachesError::NotPermitted(treering_sys::Errno::ACCESS))
    }
}

#[test]
fn a_refused_cache_drop_is_reported_once_and_not_retried() {
    let place =
        UnprivilegedPlace { memory: MemoryFilesystem::default(), requests: AtomicU32::new(0) };
    let dropping = |subject: &str| ParallelGroup {
        caches: CachePolicy::Drop,
        ..group(vec![task(subject, make_tree(subject, 1, 1))])
    };
    let mut play = ScriptedSession::new(vec![
        ("one", vec![group(Vec::new()), dropping("a"), dropping("b")]),
        ("two", vec![dropping("c")]),
    ]);
    let (result, events) = perform(&mut play, &place, &StopFlag::new());
    result.unwrap();
    assert_eq!(place.requests.load(Ordering::Relaxed), 1);
    let cautions = events.cautions();
    assert_eq!(cautions.len(), 1);
    assert_eq!(cautions[0].code, CautionCode::CachesNotDropped);
    assert!(cautions[0].message.contains("Permission denied"), "{}", cautions[0].message);
    assert_eq!(events.phases().len(), 2);
}

#[test]
fn a_place_without_openat2_is_reported_first() {
    let place = tempfile::tempdir().unwrap();
    let target = Target::open(place.path()).unwrap();
    assert_eq!(target.confinement(), Confinement::Kernel);
    let target = target.confined_by(Confinement::Walk);
    let (result, events) = perform(&mut two_phases(), &target, &StopFlag::new());
    result.unwrap();
    assert_eq!(events.order()[..2], ["confined_by_walk", "phase 0"]);
}

/// Listener that fails at its third event.
struct FailingListener(u32);

impl TrialSink for FailingListener {
    fn accept(&mut self, _event: &TrialEvent) -> Result<(), SinkError> {
        self.0 += 1;
        if self.0 == 3 { Err(SinkError::new("write the store", "disk full")) } else { Ok(()) }
    }
}

#[test]
fn a_failing_listener_ends_the_run() {
    let memory = MemoryFilesystem::default();
    let (stop, progress) = (StopFlag::new(), RunProgress::new());
    let options = options(LatencyMode::Sampled);
    let result = memory.run(
        &mut two_phases(),
        RunOptions::new(&options, &mut FailingListener(0), &progress, &stop),
    );
    assert_eq!(result.unwrap_err().to_string(), "write the store: disk full");
}

#[test]
fn sampling_times_few_calls_but_every_sync() {
    let memory = MemoryFilesystem::default();
    let script = OperationScript::new(vec![OwnedCall::Stat(0, name("d"))], 3200);
    let mut operations = vec![OwnedCall::MakeDir(0, name("d"))];
    operations.extend(vec![OwnedCall::Sync; 20]);
    let groups =
        vec![group(vec![task("a", operations)]), group(vec![task_of("b", Box::new(script))])];
    let mut events = EventRecorder::default();
    let options = options(LatencyMode::Sampled);
    let mut play = ScriptedSession::new(vec![("p", groups)]);
    memory
        .run(
            &mut play,
            RunOptions::new(&options, &mut events, &RunProgress::new(), &StopFlag::new()),
        )
        .unwrap();
    let phase = events.phases()[0];
    let samples =
        |op: Op| phase.ops.iter().find(|totals| totals.op == op).unwrap().latency.samples();
    assert_eq!(samples(Op::Sync), 20);
    assert!((60..150).contains(&samples(Op::Stat)), "{}", samples(Op::Stat));
}

#[test]
fn a_target_lists_its_entries_and_is_locked_once() {
    let place = tempfile::tempdir().unwrap();
    std::fs::write(place.path().join("b"), "").unwrap();
    std::fs::create_dir(place.path().join("a")).unwrap();
    let target = Target::open(place.path()).unwrap();
    let facts = target.facts().unwrap();
    assert_eq!(facts.existing, ["a", "b"]);
    assert!(facts.free_bytes <= facts.capacity_bytes && facts.block_bytes >= 512);
    target.lock().unwrap();
    let second = Target::open(place.path()).unwrap();
    assert_eq!(second.lock(), Err(treering_sys::LockError::Held));
    drop(target);
    second.lock().unwrap();
    let missing = Target::open(&place.path().join("none")).unwrap_err().to_string();
    assert!(missing.starts_with("open ") && missing.ends_with("(os error 2)"), "{missing}");
}

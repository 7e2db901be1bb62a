//! Shared state of a group's workers: ticks, boards and deadlines, also in worker processes; and
//! the identities that tasks assume.

use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::sync::atomic::Ordering;
use std::time::Duration;

use treering_engine::{EngineError, StopFlag, Target};
use treering_model::{Counters, Metric, TaskTotals, TrialEvent};
use treering_script::{
    Conductor, CounterBoard, CreateHow, Credentials, Deadline, DirSlot, ExpectedErrors, Io,
    ParallelGroup, ParallelOptions, Phase, Script, Session, SessionResult, Stop, Task,
    TaskListener, WorkerKind,
};

use crate::operations::{OwnedCall, name};
use crate::stage::{ScriptedSession, group, perform, task, task_of};

/// Script that looks up a missing name and counts the calls until its deadline.
struct DeadlineLoop {
    board: CounterBoard,
    deadline: Deadline,
}

impl Script for DeadlineLoop {
    fn run(&mut self, io: &mut dyn Io) -> Result<(), Stop> {
        loop {
            self.board.cell(0).fetch_add(1, Ordering::Relaxed);
            if self.deadline.is_reached() {
                return Ok(());
            }
            let _missing = io.stat(DirSlot::TARGET, c"nothing").or_errno()?;
        }
    }

    fn counters(&mut self) -> Counters {
        Counters::from_value(&self.board.cell(0).load(Ordering::Relaxed))
    }
}

/// Session that ends its deadline at the third tick.
struct TickingSession {
    group: Option<ParallelGroup>,
    boards: Vec<CounterBoard>,
    deadline: Deadline,
    elapsed: Vec<u64>,
    reported: Vec<u64>,
}

impl TickingSession {
    fn new(workers: WorkerKind, tasks: usize) -> Self {
        let boards: Vec<CounterBoard> = (0..tasks).map(|_| CounterBoard::new()).collect();
        let deadline = Deadline::default();
        let tasks = boards.iter().map(|board| {
            task_of(
                "a",
                Box::new(DeadlineLoop { board: board.clone(), deadline: deadline.clone() }),
            )
        });
        let group = ParallelGroup {
            tasks: tasks.collect(),
            side_by_side: ParallelOptions { workers, ..ParallelOptions::default() },
            tick_every: Some(Duration::from_millis(5)),
            ..ParallelGroup::default()
        };
        let (elapsed, reported) = (Vec::new(), Vec::new());
        Self { group: Some(group), boards, deadline, elapsed, reported }
    }
}

impl TaskListener for TickingSession {
    fn tick(&mut self, elapsed_ns: u64) -> Counters {
        self.elapsed.push(elapsed_ns);
        let counts: Vec<u64> =
            self.boards.iter().map(|board| board.cell(0).load(Ordering::Relaxed)).collect();
        if self.elapsed.len() >= 3 && counts.iter().all(|count| *count > 0) {
            self.deadline.reach();
        }
        Counters::from_value(&counts)
    }

    fn task_ended(&mut self, totals: &TaskTotals) {
        self.reported.extend(totals.counters.read::<u64>());
    }
}

impl Session for TickingSession {
    fn run(&mut self, conductor: &mut dyn Conductor) -> SessionResult {
        conductor.phase(Phase { name: "p".to_owned(), tasks: 1 })?;
        self.group.take().map_or(Ok(()), |group| conductor.group(group, self))
    }

    fn metrics(&self) -> Vec<Metric> {
        Vec::new()
    }

    fn remains(&self) -> Vec<String> {
        Vec::new()
    }
}

#[test]
fn ticks_read_counters_and_end_deadlines_of_threads_and_processes() {
    for (workers, tasks) in
        [(WorkerKind::Thread, 1), (WorkerKind::Thread, 2), (WorkerKind::Process, 2)]
    {
        let place = tempfile::tempdir().unwrap();
        let target = Target::open(place.path()).unwrap();
        let mut session = TickingSession::new(workers, tasks);
        let (result, events) = perform(&mut session, &target, &StopFlag::new());
        result.unwrap();
        assert!(session.elapsed.len() >= 3 && session.elapsed.is_sorted(), "{workers:?}");
        let counts: Vec<u64> =
            session.boards.iter().map(|board| board.cell(0).load(Ordering::Relaxed)).collect();
        assert_eq!(session.reported, counts, "{workers:?}");
        let calls: u64 = events.tasks().iter().map(|task| task.ops[0].calls).sum();
        assert_eq!(calls + tasks as u64, counts.iter().sum::<u64>(), "{workers:?}");
        let ticks = events.0.iter().filter_map(|event| match event {
            TrialEvent::Ticked { counters, .. } => counters.read(),
            _ => None,
        });
        let ticks: Vec<Vec<u64>> = ticks.collect();
        assert_eq!(ticks.len(), session.elapsed.len());
        assert!(ticks.iter().all(|counters| counters.len() == tasks));
    }
}

fn as_another(operations: Vec<OwnedCall>) -> Task {
    Task { identity: Some(Credentials { user: 12_345, group: 54_321 }), ..task("a", operations) }
}

#[test]
fn worker_credentials_apply_to_their_task_only() {
    let place = tempfile::tempdir().unwrap();
    std::fs::set_permissions(place.path(), PermissionsExt::from_mode(0o777)).unwrap();
    let target = Target::open(place.path()).unwrap();
    let make = |file: &str| vec![OwnedCall::Create(0, name(file), CreateHow::Exclusive, 0)];
    let groups =
        vec![group(vec![as_another(make("theirs"))]), group(vec![task("b", make("ours"))])];
    let (result, _heard) =
        perform(&mut ScriptedSession::new(vec![("p", groups)]), &target, &StopFlag::new());
    let own = std::fs::metadata(place.path()).unwrap();
    if own.uid() != 0 {
        assert!(matches!(result, Err(EngineError::Lost { why, .. }) if why.contains("12345")));
        return;
    }
    result.unwrap();
    let owner = |file: &str| {
        let metadata = std::fs::metadata(place.path().join(file)).unwrap();
        (metadata.uid(), metadata.gid())
    };
    assert_eq!(owner("theirs"), (12_345, 54_321));
    assert_eq!(owner("ours"), (own.uid(), own.gid()));
}

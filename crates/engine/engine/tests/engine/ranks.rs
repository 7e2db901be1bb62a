//! Tests of ranks as threads of this process: together they do what one process does, and no rank
//! waits for ever for a missing one.

use std::collections::BTreeMap;
use std::path::Path;
use std::thread;
use std::time::Duration;

use proptest::prelude::*;
use treering_engine::{
    EngineError, LatencyMode, RankChannels, RunOptions, RunProgress, RunSessions, StopFlag, Target,
    World, channels, own_directory,
};
use treering_model::{SinkError, TaskTotals, TrialEvent, TrialSink};
use treering_script::{Io, ParallelGroup, Script, Stop, Task};

use crate::operations::{OwnedCall, make_tree, name};
use crate::stage::{
    EventRecorder, ScriptedSession, endless, group, options, perform, task, task_of,
};

const LONG: Duration = Duration::from_secs(60);
/// Time limit of ranks that hang; longer than a busy machine keeps a thread from its CPU.
const SHORT: Duration = Duration::from_secs(4);

/// Results of one rank.
struct RankResults {
    result: Result<(), EngineError>,
    events: EventRecorder,
    reported: Vec<TaskTotals>,
    of_others: Vec<TaskTotals>,
    skews: usize,
}

/// Runs a session as one rank.
fn run_rank(
    link: &RankChannels,
    limit: Duration,
    play: &mut ScriptedSession,
    (dir, apart): (&Path, bool),
    stop: &StopFlag,
) -> RankResults {
    let world = World::new(link, limit);
    if let Err(error) = world.relate_clocks() {
        // The others would wait for us.
        world.leave("its test failed");
        panic!("{error}");
    }
    let target = Target::open(dir).unwrap();
    let own = own_directory(world.rank());
    let target = if apart {
        target.make_tree(&own).unwrap();
        target.beneath(&own).unwrap()
    } else {
        target
    };
    let (mut events, engine, progress) =
        (EventRecorder::default(), options(LatencyMode::All), RunProgress::new());
    let run = RunOptions::new(&engine, &mut events, &progress, stop);
    let run = RunOptions { world: Some(&world), apart, ..run };
    let result = target.run(play, run);
    let (reported, skews) = (std::mem::take(&mut play.reported), world.skews().len());
    let of_others = std::mem::take(&mut play.of_others);
    RankResults { result, events, reported, of_others, skews }
}

/// Runs a session for each rank, in one directory.
fn run_ranks(
    ranks: usize,
    limit: Duration,
    dir: &Path,
    play: &(dyn Fn(usize) -> ScriptedSession + Sync),
) -> Vec<RankResults> {
    in_places(ranks, limit, (dir, false), play)
}

/// Runs a session for each rank, in one directory or each in its own.
fn in_places(
    ranks: usize,
    limit: Duration,
    dir: (&Path, bool),
    play: &(dyn Fn(usize) -> ScriptedSession + Sync),
) -> Vec<RankResults> {
    thread::scope(|scope| {
        let run = |(rank, link): (usize, RankChannels)| {
            scope.spawn(move || run_rank(&link, limit, &mut play(rank), dir, &StopFlag::new()))
        };
        let threads: Vec<_> = channels(ranks).into_iter().enumerate().map(run).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    })
}

/// Groups with these numbers of tasks; each task makes a tree of its own.
fn trees(groups: &[usize]) -> ScriptedSession {
    let tree = |group: usize, number: usize| {
        let name = format!("tree-{group}-{number}");
        let files = u32::try_from(2 + (group * 7 + number) % 5).unwrap();
        task(&name, make_tree(&name, files, 3000))
    };
    let numbered_group = |(number, tasks): (usize, &usize)| {
        group((0..*tasks).map(|task| tree(number, task)).collect())
    };
    let groups: Vec<_> = groups.iter().enumerate().map(numbered_group).collect();
    let (first, second): (Vec<_>, Vec<_>) =
        groups.into_iter().enumerate().partition(|(n, _)| n % 2 == 0);
    let of_phase =
        |groups: Vec<(usize, ParallelGroup)>| groups.into_iter().map(|(_, group)| group).collect();
    ScriptedSession::new(vec![("one", of_phase(first)), ("two", of_phase(second))])
}

/// Files below a directory, with their sizes in bytes.
fn files(dir: &Path) -> BTreeMap<String, u64> {
    let mut sizes = BTreeMap::new();
    let mut left = vec![dir.to_owned()];
    while let Some(at) = left.pop() {
        for entry in std::fs::read_dir(at).unwrap().map(Result::unwrap) {
            if entry.file_type().unwrap().is_dir() {
                left.push(entry.path());
            } else {
                let name = entry.path().strip_prefix(dir).unwrap().display().to_string();
                sizes.insert(name, entry.metadata().unwrap().len());
            }
        }
    }
    sizes
}

/// Results of tasks that do not depend on time.
fn facts(tasks: &[&TaskTotals], with_latencies: bool) -> Vec<String> {
    let fact = |task: &&TaskTotals| {
        let ops = task.ops.iter().map(|op| {
            let samples = if with_latencies { op.latency.samples() } else { 0 };
            format!("{:?} {} {} {} {samples}", op.op, op.calls, op.errors, op.bytes)
        });
        let ops: Vec<_> = ops.collect();
        let TaskTotals { phase, task: number, worker, kind, subject, files, .. } = task;
        format!("{phase} {number} {worker} {kind} {subject} {files} {ops:?}")
    };
    tasks.iter().map(fact).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, ..ProptestConfig::default() })]

    #[test]
    fn several_ranks_give_the_results_of_one_process(
        ranks in 2usize..5,
        groups in prop::collection::vec(1usize..9, 1..5),
    ) {
        let (alone, shared) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let mut play = trees(&groups);
        let target = Target::open(alone.path()).unwrap();
        let (result, expected) = perform(&mut play, &target, &StopFlag::new());
        result.unwrap();
        let results = run_ranks(ranks, LONG, shared.path(), &|_| trees(&groups));
        for (rank, result) in results.iter().enumerate() {
            prop_assert!(result.result.is_ok(), "{:?}", result.result);
            let reported: Vec<_> = result.reported.iter().collect();
            prop_assert_eq!(facts(&reported, rank == 0), facts(&expected.tasks(), rank == 0));
        }
        let first = &results[0].events;
        prop_assert_eq!(first.order(), expected.order());
        prop_assert_eq!(facts(&first.tasks(), true), facts(&expected.tasks(), true));
        for (phase, as_expected) in first.phases().iter().zip(expected.phases()) {
            let sums =
                |phase: &treering_model::PhaseTotals| (phase.tasks, phase.files, phase.bytes);
            prop_assert_eq!(sums(phase), sums(as_expected));
            let calls = |phase: &treering_model::PhaseTotals| {
                (phase.ops.iter().map(|op| op.calls).sum::<u64>(),
                 phase.intervals.iter().map(|second| second.calls).sum::<u64>())
            };
            prop_assert_eq!(calls(phase), calls(as_expected));
            let (began, ended) = (phase.began_ns, phase.began_ns + phase.wall_ns);
            for task in first.tasks().iter().filter(|task| task.phase == phase.phase) {
                prop_assert!(began <= task.began_ns && task.began_ns + task.wall_ns <= ended);
            }
        }
        prop_assert!(results[0].skews <= 2 && results[1].skews <= 2);
        prop_assert_eq!(files(alone.path()), files(shared.path()));
    }
}

#[test]
fn independent_ranks_each_run_the_job_and_receive_all_results() {
    let dir = tempfile::tempdir().unwrap();
    let alone = tempfile::tempdir().unwrap();
    let groups = [2, 1, 3];
    let mut play = trees(&groups);
    let target = Target::open(alone.path()).unwrap();
    let (result, expected) = perform(&mut play, &target, &StopFlag::new());
    result.unwrap();
    let results = in_places(3, LONG, (dir.path(), true), &|_| trees(&groups));
    let work = |tasks: &[TaskTotals]| -> Vec<_> {
        let summary =
            |task: &TaskTotals| (task.worker, task.subject.clone(), task.files, task.bytes);
        tasks.iter().map(summary).collect()
    };
    let own: Vec<TaskTotals> = expected.tasks().into_iter().cloned().collect();
    for (rank, result) in results.iter().enumerate() {
        assert!(result.result.is_ok(), "{:?}", result.result);
        assert_eq!(work(&result.reported), work(&own), "rank {rank}");
        assert_eq!(result.of_others.len(), 2 * own.len());
        let (mut theirs, mut twice) = (work(&result.of_others), [work(&own), work(&own)].concat());
        theirs.sort();
        twice.sort();
        assert_eq!(theirs, twice, "rank {rank}");
        assert_eq!(files(&dir.path().join(own_directory(rank))), files(alone.path()));
    }
    let events = &results[0].events;
    let of_first_group =
        events.tasks().into_iter().take(6).map(|task| (task.worker, &*task.subject));
    let of_first_group: Vec<_> = of_first_group.collect();
    let expected: Vec<_> = (0..6)
        .map(|worker| (worker, format!("rank-{}/tree-0-{}", worker / 2, worker % 2)))
        .collect();
    let expected: Vec<_> = expected.iter().map(|(worker, name)| (*worker, name.as_str())).collect();
    assert_eq!(of_first_group, expected);
    for (phase, alone) in events.phases().iter().zip([3 + 2, 1]) {
        assert_eq!(phase.tasks, 3 * alone);
    }
}

#[test]
fn a_failure_of_one_rank_ends_all_with_its_error() {
    let dir = tempfile::tempdir().unwrap();
    let play = |_| {
        let failing = vec![OwnedCall::Open(0, name("missing"), 0)];
        let tasks = vec![endless("a"), endless("b"), endless("c"), task("failing", failing)];
        ScriptedSession::new(vec![("p", vec![group(tasks)])])
    };
    for rank in run_ranks(4, LONG, dir.path(), &play) {
        let error = rank.result.unwrap_err();
        assert!(matches!(&error, EngineError::Call { task, .. } if task == "create failing"));
        assert!(error.to_string().ends_with("/missing: No such file or directory (os error 2)"));
    }
}

/// Script that sleeps for a long time, within a call or outside.
struct SleepingScript(Duration);

impl Script for SleepingScript {
    fn run(&mut self, _io: &mut dyn Io) -> Result<(), Stop> {
        thread::sleep(self.0);
        Ok(())
    }
}

fn sleeping(subject: &str, seconds: u64) -> Task {
    task_of(subject, Box::new(SleepingScript(Duration::from_secs(seconds))))
}

#[test]
fn a_rank_stuck_in_a_call_is_named_and_other_results_are_kept() {
    let dir = tempfile::tempdir().unwrap();
    let play = |rank| {
        // Rank 2 has a task that hangs; at the others it is not theirs.
        let hanging = sleeping("hanging", if rank == 2 { 10 } else { 0 });
        let tree = |name: &str| task(name, make_tree(name, 3, 10));
        ScriptedSession::new(vec![("p", vec![group(vec![tree("a"), tree("b"), hanging])])])
    };
    let results = run_ranks(3, SHORT, dir.path(), &play);
    let error = results[0].result.as_ref().unwrap_err().to_string();
    assert!(error.starts_with("rank 2 on ?: none of its calls has ended for 4 s"), "{error}");
    let kept: Vec<_> = results[0].events.tasks().iter().map(|task| task.subject.clone()).collect();
    assert_eq!(kept, ["a", "b"]);
    assert!(results.iter().all(|rank| rank.result.is_err()));
}

#[test]
fn a_hanging_rank_is_named_while_rank_0_works() {
    let dir = tempfile::tempdir().unwrap();
    let play = |rank| {
        let hanging = sleeping("hanging", if rank == 2 { 10 } else { 0 });
        let tree = task("tree", make_tree("tree", 3, 10));
        ScriptedSession::new(vec![("p", vec![group(vec![endless("a"), tree, hanging])])])
    };
    let results = run_ranks(3, SHORT, dir.path(), &play);
    let error = results[0].result.as_ref().unwrap_err().to_string();
    assert!(error.starts_with("rank 2 on ?: none of its calls has ended for 4 s"), "{error}");
    assert!(results.iter().all(|rank| rank.result.is_err()));
}

#[test]
fn a_lost_rank_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let tree = |name: &str| task(name, make_tree(name, 3, 10));
    let play =
        || ScriptedSession::new(vec![("p", vec![group(vec![tree("a"), tree("b"), tree("c")])])]);
    let (dir, play) = (dir.path(), &play);
    let results: Vec<_> = thread::scope(|scope| {
        let run = |link: RankChannels| {
            scope.spawn(move || {
                if treering_engine::RankLink::rank(&link) == 1 {
                    // It relates its clock, and is heard no more.
                    World::new(&link, SHORT).relate_clocks().unwrap();
                    return None;
                }
                Some(run_rank(&link, SHORT, &mut play(), (dir, false), &StopFlag::new()))
            })
        };
        let threads: Vec<_> = channels(3).into_iter().map(run).collect();
        threads.into_iter().filter_map(|thread| thread.join().unwrap()).collect()
    });
    for rank in results {
        let error = rank.result.unwrap_err().to_string();
        let silent = "rank 1 on ?: not a word for 4 s";
        assert!(error.starts_with(silent), "{error}");
    }
}

#[test]
fn a_signal_to_one_rank_interrupts_all() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    let results: Vec<_> = thread::scope(|scope| {
        let run = |link: RankChannels| {
            scope.spawn(move || {
                let stop = StopFlag::new();
                let raising = crate::operations::FlagRaisingScript {
                    stop: stop.clone(),
                    signal: 15,
                    calls: 0,
                };
                let tasks = vec![endless("a"), endless("b"), task_of("c", Box::new(raising))];
                let mut play = ScriptedSession::new(vec![("p", vec![group(tasks)])]);
                run_rank(&link, LONG, &mut play, (dir, false), &stop).result
            })
        };
        let threads: Vec<_> = channels(3).into_iter().map(run).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    for result in results {
        assert!(matches!(result, Err(EngineError::Interrupted { signal: 15 })), "{result:?}");
    }
}

#[test]
fn diverging_ranks_are_named() {
    let dir = tempfile::tempdir().unwrap();
    let play = |rank| {
        let phase = if rank == 1 { "other" } else { "same" };
        ScriptedSession::new(vec![(phase, vec![group(vec![task("a", Vec::new())])])])
    };
    for rank in run_ranks(3, LONG, dir.path(), &play) {
        let error = rank.result.unwrap_err().to_string();
        assert_eq!(error, "rank 1 on ?: it is at 'phase 0, other', rank 0 at 'phase 0, same'");
    }
}

/// Sink that rejects every event.
struct RefusingSink;

impl TrialSink for RefusingSink {
    fn accept(&mut self, _event: &TrialEvent) -> Result<(), SinkError> {
        Err(SinkError::new("on purpose", std::io::Error::other("a test")))
    }
}

#[test]
fn a_sink_error_ends_all_ranks() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    let results: Vec<_> = thread::scope(|scope| {
        let run = |link: RankChannels| {
            scope.spawn(move || {
                let world = World::new(&link, LONG);
                let target = Target::open(dir).unwrap();
                let (engine, progress) = (options(LatencyMode::All), RunProgress::new());
                let (mut events, mut deaf) = (EventRecorder::default(), RefusingSink);
                let sink: &mut dyn TrialSink =
                    if world.is_first() { &mut deaf } else { &mut events };
                let stop = StopFlag::new();
                let run = RunOptions::new(&engine, sink, &progress, &stop);
                let tasks = vec![task("a", Vec::new()), task("b", Vec::new())];
                let mut play = ScriptedSession::new(vec![("p", vec![group(tasks)])]);
                target.run(&mut play, RunOptions { world: Some(&world), ..run })
            })
        };
        let threads: Vec<_> = channels(2).into_iter().map(run).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert!(matches!(results[0], Err(EngineError::Sink(_))), "{results:?}");
    let other = results[1].as_ref().unwrap_err().to_string();
    assert!(other.starts_with("rank 0 on ?: on purpose"), "{other}");
}

#[test]
fn clocks_of_one_machine_agree_within_the_uncertainty() {
    let clocks: Vec<_> = thread::scope(|scope| {
        let run = |link: RankChannels| {
            scope.spawn(move || {
                let world = World::new(&link, LONG);
                world.relate_clocks().unwrap();
                world.farewell().unwrap();
                world.clocks()
            })
        };
        let threads: Vec<_> = channels(4).into_iter().map(run).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    // A rank knows its own; rank 0 knows all.
    assert!((0..4).all(|rank| clocks[rank][rank] == clocks[0][rank]), "{clocks:?}");
    for clock in &clocks[0] {
        assert!(clock.offset_ns.unsigned_abs() <= clock.uncertainty_ns, "{clock:?}");
    }
}

//! Tests of a rehearsal's calls in memory: the phases of IO500, the prescribed sizes, the owner of
//! each file, the results of the search, and the cleanup.

#![expect(clippy::unwrap_used, reason = "a test ends at the first surprise")]

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use treering_engine::{
    EntryOrder, MemoryCaller, MemoryFilesystem, SessionRequest, rehearse, rehearse_session,
};
use treering_io500::Io500Workload;
use treering_model::TaskTotals;
use treering_model::workloads::io500::STEPS;
use treering_script::{Call, Settings, TargetFacts, Workload};

fn settings(words: &str) -> Settings {
    let pairs = words.split_whitespace().map(|word| {
        let (name, value) = word.split_once('=').unwrap();
        (name.to_owned(), value.to_owned())
    });
    Settings::new(pairs.collect())
}

/// Record of a worker in a phase: its calls, the time limit, and the kinds of its tasks.
#[derive(Default)]
struct WorkerRecord {
    phase: String,
    calls: Vec<(u16, String)>,
    limits: BTreeSet<u64>,
    kinds: BTreeSet<String>,
}

impl WorkerRecord {
    fn calls_of(&self, worker: u16) -> Vec<&str> {
        let own = self.calls.iter().filter(|(number, _)| *number == worker);
        own.map(|(_, call)| call.as_str()).collect()
    }

    fn count(&self, call: &str) -> usize {
        self.calls.iter().filter(|(_, made)| made == call).count()
    }
}

fn words(call: &Call<'_>) -> String {
    let text = |name: &std::ffi::CStr| name.to_str().unwrap().to_owned();
    match *call {
        Call::OpenDir { path, .. } => format!("dir {}", text(path)),
        Call::MakeDir { name, .. } => format!("mkdir {}", text(name)),
        Call::RemoveDir { name, .. } => format!("rmdir {}", text(name)),
        Call::Create { path, .. } => format!("create {}", text(path)),
        Call::Open { path, .. } => format!("open {}", text(path)),
        Call::Unlink { path, .. } => format!("unlink {}", text(path)),
        Call::Stat { name, .. } => format!("stat {}", text(name)),
        Call::Size { name, .. } => format!("size {}", text(name)),
        Call::Seek { position, .. } => format!("seek {position}"),
        Call::Write { bytes, .. } => format!("write {bytes}"),
        Call::Read { bytes, .. } => format!("read {bytes}"),
        Call::Fsync { .. } => "fsync".to_owned(),
        Call::Sync { .. } => "sync".to_owned(),
        Call::Close { .. } => "close".to_owned(),
        Call::ReadDir { .. } => "entries".to_owned(),
        other => panic!("{other:?} is not of IO500"),
    }
}

/// Runs a whole rehearsal; returns the records of the workers, and the facts at the end.
fn run(text: &str) -> (Vec<WorkerRecord>, Vec<(String, String)>) {
    let job = Io500Workload.native(&settings(text)).unwrap();
    let facts = TargetFacts::unknown();
    let memory = MemoryFilesystem::new(EntryOrder::Creation);
    let mut session = job.begin(&facts);
    let mut records: Vec<WorkerRecord> = Vec::new();
    let rehearsed = rehearse_session(session.as_mut(), &mut |request| {
        let (group, listener) = match request {
            SessionRequest::Phase(phase) => {
                records.push(WorkerRecord { phase: phase.name, ..WorkerRecord::default() });
                return Ok(());
            }
            SessionRequest::Group(group, listener) => (group, listener),
        };
        let done = records.last_mut().unwrap();
        done.limits.extend(group.time_limit.map(|limit| limit.after.as_secs()));
        for (worker, mut task) in (0..).zip(group.tasks) {
            let mut caller = MemoryCaller::new(&memory);
            let mut watch = |call: &Call<'_>, _done: Result<_, _>| {
                done.calls.push((worker, words(call)));
                ControlFlow::Continue(())
            };
            rehearse(task.script.as_mut(), &mut caller, 1000, &mut watch).unwrap();
            let counters = task.script.counters();
            let kind = task.kind.clone();
            done.kinds.insert(task.kind);
            let totals =
                TaskTotals { worker, kind, counters, wall_ns: 1000, ..TaskTotals::default() };
            listener.task_ended(&totals);
        }
        Ok(())
    });
    rehearsed.unwrap();
    let told = session.facts().into_iter().map(|fact| (fact.name, fact.value)).collect();
    (records, told)
}

const SMALL: &str = "workers=3 block-size=4M segment-count=2 easy-items=4 hard-items=120";

#[test]
fn phases_come_in_the_order_of_io500_and_only_writing_ends_by_time() {
    let (records, _) = run(&format!("{SMALL} seconds=17"));
    let names: Vec<&str> = records.iter().map(|done| done.phase.as_str()).collect();
    assert_eq!(names, STEPS.map(|step| step.name));
    for (done, step) in records.iter().zip(STEPS) {
        let limits: Vec<u64> = done.limits.iter().copied().collect();
        let expected: &[u64] = if done.phase.ends_with("-write") { &[17] } else { &[] };
        assert_eq!(limits, expected, "{}", done.phase);
        let is_kept = done.kinds.contains(&done.phase);
        assert_eq!(step.is_measured(), is_kept, "{}: {:?}", done.phase, done.kinds);
        assert!(done.kinds.len() <= 2, "{:?}", done.kinds);
    }
}

#[test]
fn sizes_and_names_are_those_of_io500() {
    let (records, told) = run(SMALL);
    let phase = |name: &str| records.iter().find(|done| done.phase == name).unwrap();
    let easy = phase("ior-easy-write").calls_of(1).join(", ");
    assert!(easy.ends_with(
        "create ior_file_easy.00000001, seek 0, write 2097152, seek 2097152, write 2097152, fsync, \
         close"
    ));
    // A segment of each worker after the other, in one file.
    let hard = phase("ior-hard-write").calls_of(1).join(", ");
    assert!(
        hard.ends_with(
            "create file, seek 47008, write 47008, seek 188032, write 47008, fsync, close"
        ),
        "{hard}"
    );
    let created = phase("mdtest-easy-write").calls_of(0);
    assert!(created.contains(&"dir test-dir.0-0/mdtest_tree.1.0"), "a directory each: {created:?}");
    assert!(created.contains(&"create file.mdtest.0.3") && !created.contains(&"write 3901"));
    assert_eq!(created.last(), Some(&"sync"));
    assert_eq!(phase("mdtest-hard-write").count("write 3901"), 3 * 120);
    assert_eq!(phase("mdtest-hard-read").count("read 3901"), 3 * 120);
    let hard = phase("mdtest-hard-write").calls_of(2);
    assert!(hard.contains(&"dir test-dir.0-0/mdtest_tree.0"), "one directory: {hard:?}");
    // Others' files: of the next one, the one after that, and the third, which is itself again.
    assert!(phase("mdtest-easy-stat").calls_of(0).contains(&"stat file.mdtest.1.0"));
    assert!(phase("mdtest-hard-read").calls_of(0).contains(&"open file.mdtest.2.0"));
    assert!(phase("mdtest-hard-delete").calls_of(0).contains(&"unlink file.mdtest.0.0"));
    assert!(phase("ior-easy-read").calls_of(0).contains(&"open ior_file_easy.00000001"));
    // Files: three and one of ior, 3 * 4, 3 * 120, and the one with the time. Of 120 names of a
    // worker those with 01 are 101 and, of no rank here, others.
    let told = |name: &str| told.iter().find(|(of, _)| of == name).unwrap().1.clone();
    assert_eq!(told("io500.files"), (3 + 1 + 12 + 360 + 1).to_string());
    assert_eq!(told("io500.found"), "3");
    let cleanup = &records.last().unwrap().calls;
    assert_eq!(cleanup.last().unwrap().1, "rmdir io500-0", "which is empty");
}

#[test]
fn all_workers_search_every_file_once() {
    for workers in [1_u16, 2, 5] {
        let words =
            format!("workers={workers} block-size=2M segment-count=1 easy-items=150 hard-items=30");
        let (records, told) = run(&words);
        let files = workers + 1 + workers * 180 + 1;
        assert!(told.contains(&("io500.files".to_owned(), files.to_string())), "{told:?}");
        // In the easy files there is nothing of that size; their names are looked at.
        let find = records.iter().find(|done| done.phase == "find").unwrap();
        let looked = find.calls.iter().filter(|(_, call)| call.starts_with("size ")).count();
        assert!(looked >= usize::from(workers), "{looked}");
    }
}

#[test]
fn invalid_settings_are_refused() {
    for words in ["workers=0", "seconds=0", "block-size=1M", "space=1", "segment-count=3000000000"]
    {
        assert!(Io500Workload.native(&settings(words)).is_err(), "{words}");
    }
    let job = Io500Workload.native(&settings("space=8G")).unwrap();
    let facts = TargetFacts { free_bytes: 1 << 30, ..TargetFacts::unknown() };
    assert!(job.check(&facts).unwrap_err().message.contains("1024 MiB are free"));
    let occupied = TargetFacts { existing: vec!["io500-0".to_owned()], ..TargetFacts::unknown() };
    let job = Io500Workload.native(&settings("")).unwrap();
    assert!(job.check(&occupied).unwrap_err().message.contains("is there already"));
}

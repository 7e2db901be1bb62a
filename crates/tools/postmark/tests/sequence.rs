//! Order of PostMark's calls, without a disk; and its operations compared with the figures that
//! PostMark 1.51 printed for the same options and seed.

#![expect(clippy::unwrap_used, reason = "a test ends at the first surprise")]

use std::ffi::CStr;
use std::ops::ControlFlow;

use treering_engine::{MemoryCaller, MemoryFilesystem, SessionRequest, rehearse, rehearse_session};
use treering_model::{Metric, TaskTotals};
use treering_postmark::PostmarkWorkload;
use treering_script::{
    Call, CreateHow, DirSlot, Job, OpenHow, SessionError, Settings, TargetFacts, Workload,
};
use treering_testkit::assert_decides_as_foreseen;

fn job(words: &str) -> Box<dyn Job> {
    let pairs = words.split_whitespace().map(|word| {
        let (name, value) = word.split_once('=').unwrap();
        (name.to_owned(), value.to_owned())
    });
    PostmarkWorkload.native(&Settings::new(pairs.collect())).unwrap()
}

fn described(call: &Call<'_>) -> String {
    let text = |at: DirSlot, name: &CStr| {
        let name = name.to_str().unwrap();
        if at == DirSlot::TARGET { name.to_owned() } else { format!("{}:{name}", at.0) }
    };
    match *call {
        Call::OpenDir { at, path, into } => format!("open {} as {}", text(at, path), into.0),
        Call::MakeDir { at, name } => format!("mkdir {}", text(at, name)),
        Call::Create { at, path, how: CreateHow::Truncate, .. } => {
            format!("create {}", text(at, path))
        }
        Call::Create { at, path, how: CreateHow::OrOpen, .. } => {
            format!("open or create {}", text(at, path))
        }
        Call::Open { at, path, how: OpenHow::Read, .. } => format!("open {}", text(at, path)),
        Call::Open { at, path, how: OpenHow::Append, .. } => {
            format!("open to append {}", text(at, path))
        }
        Call::Read { bytes, .. } => format!("read {bytes}"),
        Call::Write { bytes, position, .. } => format!("write {bytes}@{position}"),
        Call::Close { .. } => "close".to_owned(),
        Call::Unlink { at, path } => format!("unlink {}", text(at, path)),
        ref other => panic!("{other:?} is not PostMark's"),
    }
}

/// Result of a run in memory.
struct MemoryRun {
    /// Totals of the tasks, with their counters.
    tasks: Vec<TaskTotals>,
    metrics: Vec<Metric>,
    /// Number of files and directories that are left.
    names: usize,
    result: Result<(), SessionError>,
}

/// Runs a job in memory. `watch` receives each call with the number of its phase.
fn run(job: &dyn Job, watch: &mut dyn FnMut(usize, &Call<'_>)) -> MemoryRun {
    let memory = MemoryFilesystem::default();
    let mut tasks: Vec<TaskTotals> = Vec::new();
    let mut session = job.begin(&TargetFacts::unknown());
    let result = rehearse_session(session.as_mut(), &mut |request| {
        let SessionRequest::Group(mut group, listener) = request else { return Ok(()) };
        for task in &mut group.tasks {
            let mut caller = MemoryCaller::new(&memory);
            let mut calls = 0;
            let rehearsed = rehearse(task.script.as_mut(), &mut caller, 1, &mut |call, _| {
                calls += 1;
                watch(tasks.len(), call);
                ControlFlow::Continue(())
            });
            rehearsed.unwrap();
            let totals = TaskTotals {
                kind: task.kind.clone(),
                wall_ns: calls,
                counters: task.script.counters(),
                ..TaskTotals::default()
            };
            listener.task_ended(&totals);
            tasks.push(totals);
        }
        Ok(())
    });
    let metrics = session.metrics();
    MemoryRun { tasks, metrics, names: memory.snapshot().entries.len(), result }
}

/// Runs a job and lists the calls of each phase in one line.
fn phases(words: &str) -> Vec<String> {
    let mut phases: Vec<Vec<String>> = Vec::new();
    let ran = run(job(words).as_ref(), &mut |phase, call| {
        phases.resize(phases.len().max(phase + 1), Vec::new());
        phases[phase].push(described(call));
    });
    ran.result.unwrap();
    phases.into_iter().map(|calls| calls.join(", ")).collect()
}

#[test]
fn run_creates_uses_and_deletes_the_pool() {
    let open = "open postmark-0 as 1";
    assert_eq!(
        phases("number=2 transactions=3 subdirs=2 size-low=5000 size-high=9000"),
        [
            format!("mkdir postmark-0, {open}, mkdir 1:s0, mkdir 1:s1"),
            format!(
                "{open}, create 1:s1/1, write 4096@0, write 1158@4096, close, create 1:s1/2, \
                 write 4096@0, write 1234@4096, close"
            ),
            format!(
                "{open}, open 1:s1/2, read 4096, read 4096, close, unlink 1:s1/2, \
                 open to append 1:s1/1, write 2913@5254, close, create 1:s1/3, write 4096@0, \
                 write 3827@4096, close, open 1:s1/3, read 4096, read 4096, close, \
                 create 1:s0/4, write 4096@0, write 3527@4096, close"
            ),
            format!("{open}, unlink 1:s1/1, unlink 1:s1/3, unlink 1:s0/4"),
        ]
    );
}

#[test]
fn unbuffered_io_makes_one_call_per_block() {
    let words = "number=1 transactions=1 size-low=1000 read-size=300 write-size=500 \
                 buffering=no bias-create=10 bias-read=10 size-high=1000";
    let open = "open postmark-0 as 1";
    let written = "write 500@0, write 500@500, write 0@1000, close";
    assert_eq!(
        phases(words),
        [
            "mkdir postmark-0, open postmark-0 as 1".to_owned(),
            format!("{open}, open or create 1:1, {written}"),
            format!(
                "{open}, open 1:1, read 300, read 300, read 300, read 100, close, open or create \
                 1:2, {written}"
            ),
            format!("{open}, unlink 1:1, unlink 1:2"),
        ]
    );
}

#[test]
fn buffered_io_joins_small_blocks_and_passes_large_ones() {
    let made = |words: &str| {
        let words = format!("number=1 transactions=1 bias-create=10 bias-read=10 {words}");
        phases(&words)[1..3].join(" | ")
    };
    let small = made("size-low=9000 size-high=9000");
    assert!(small.contains("write 4096@0, write 4096@4096, write 808@8192, close |"), "{small}");
    assert!(small.contains("read 4096, read 4096, read 4096, close"), "{small}");
    let large = made("size-low=40000 size-high=40000 write-size=20000 read-size=20000");
    assert!(large.contains("write 16384@0, write 16384@16384, write 7232@32768, close"), "{large}");
    let even = made("size-low=8192 size-high=8192");
    assert!(even.contains("write 4096@0, write 4096@4096, close |"), "{even}");
}

/// Runs a job and returns the figures of a report: files created, created by transactions, read,
/// appended, deleted at the end, deleted by transactions; MiB read and written to two decimals.
fn reported(words: &str) -> ([u64; 6], [String; 2]) {
    #[derive(serde::Deserialize, Default)]
    struct CallCounts {
        created: u64,
        read: u64,
        appended: u64,
        deleted: u64,
        read_bytes: u64,
        written_bytes: u64,
    }
    let job = job(words);
    let ran = run(job.as_ref(), &mut |_, _| {});
    ran.result.unwrap();
    assert_decides_as_foreseen(job.as_ref(), &ran.metrics);
    let of = |kind: &str| -> CallCounts {
        let task = ran.tasks.iter().find(|task| task.kind == kind).unwrap();
        task.counters.read().unwrap()
    };
    let (pool, mixed, last) = (of("create"), of("transaction"), of("delete"));
    let mib = |bytes: u64| format!("{:.2}", bytes as f64 / 1_048_576.0);
    (
        [
            pool.created + mixed.created,
            mixed.created,
            mixed.read,
            mixed.appended,
            last.deleted,
            mixed.deleted,
        ],
        [mib(mixed.read_bytes), mib(pool.written_bytes + mixed.written_bytes)],
    )
}

/// The expected figures are from published reports of version 1.51, with its default seed.
#[test]
fn operations_of_a_seed_match_the_original() {
    let own = |data: [&str; 2]| data.map(str::to_owned);
    let (counts, data) = reported("");
    assert_eq!((counts, data), ([764, 264, 243, 257, 528, 236], own(["1.36", "4.45"])));
    let (counts, data) = reported("size-low=500 size-high=500000 subdirs=1000");
    assert_eq!((counts, data), ([757, 257, 257, 243, 514, 243], own(["69.80", "208.94"])));
    let (counts, data) = reported("number=100000 transactions=250000");
    assert_eq!(counts, [225_064, 125_064, 124_961, 124_895, 100_128, 124_936]);
    // The report says 731.14 and 1359.02: the original adds up bytes in single precision.
    assert_eq!(data, own(["731.15", "1359.11"]));
}

#[test]
fn run_out_of_files_leaves_only_directories() {
    let ran = run(job("number=20 transactions=50 subdirs=3").as_ref(), &mut |_, _| {});
    ran.result.unwrap();
    assert_eq!(ran.names, 4);
    let ran = run(job("number=3 transactions=50 bias-create=0").as_ref(), &mut |_, _| {});
    let error = ran.result.unwrap_err();
    assert!(error.message.contains("out of files after 3 of 50 transactions"), "{error}");
}

#[test]
fn reversed_sizes_are_refused_and_a_single_size_applies_to_all_files() {
    let settings = |words: &[(&str, &str)]| {
        let own = |&(name, value): &(&str, &str)| (name.to_owned(), value.to_owned());
        Settings::new(words.iter().map(own).collect())
    };
    let error = PostmarkWorkload.native(&settings(&[("size-low", "900"), ("size-high", "800")]));
    assert!(error.err().unwrap().message.contains("--size-low: 900 is more than"));
    let job = PostmarkWorkload.native(&settings(&[("size-low", "20000")])).unwrap();
    assert!(job.parameters().contains(&("size-high".to_owned(), "20000".to_owned())));
    let footprint = job.footprint(&TargetFacts::unknown());
    assert_eq!((footprint.peak_files, footprint.peak_dirs), (1000, 1));
    assert_eq!(footprint.peak_block_bytes, 1000 * 20480);
    assert_eq!((footprint.written_files, footprint.written_bytes), (750, 750 * 20_000));
}

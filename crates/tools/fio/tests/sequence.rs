//! Calls of fio's jobs in their order, in memory: creation, opening and closing of files.

#![expect(clippy::unwrap_used, reason = "a test ends at the first surprise")]

use std::ffi::CStr;
use std::ops::ControlFlow;

use treering_engine::{
    EntryOrder, MemoryCaller, MemoryFilesystem, SessionRequest, rehearse, rehearse_session,
};
use treering_fio::{Fio, show_job_file};
use treering_model::TaskTotals;
use treering_script::{Call, CreateHow, OpenHow, Script, Settings, TargetFacts, Workload};
use treering_testkit::temp_dir;

/// Formats a call.
fn words(call: &Call<'_>) -> String {
    let text = |name: &CStr| name.to_str().unwrap().to_owned();
    match *call {
        Call::OpenRoot { root, .. } => format!("root {root}"),
        Call::OpenDir { path, .. } => format!("opendir {}", text(path)),
        Call::MakeDir { name, .. } => format!("mkdir {}", text(name)),
        Call::Size { name, .. } => format!("stat {}", text(name)),
        Call::Unlink { path, .. } => format!("unlink {}", text(path)),
        Call::Create { path, how: CreateHow::Truncate, .. } => format!("create {}", text(path)),
        Call::Create { path, how: CreateHow::OrOpen, .. } => format!("open {}", text(path)),
        Call::Open { path, how: OpenHow::Read, .. } => format!("open {} to read", text(path)),
        Call::Read { bytes, .. } => format!("read {bytes}"),
        Call::Write { bytes, .. } => format!("write {bytes}"),
        Call::ReadAt { bytes, position, .. } => format!("pread {bytes} {position}"),
        Call::WriteAt { bytes, position, .. } => format!("pwrite {bytes} {position}"),
        Call::ReadMapped { bytes, position, .. } => format!("load {bytes} {position}"),
        Call::WriteMapped { bytes, position, .. } => format!("store {bytes} {position}"),
        Call::Map { bytes, .. } => format!("mmap {bytes}"),
        Call::SyncMapped { .. } => "msync".to_owned(),
        Call::Seek { position, .. } => format!("seek {position}"),
        Call::Truncate { bytes, .. } => format!("truncate {bytes}"),
        Call::Allocate { start: 0, bytes, keep_size, .. } => {
            format!("allocate {bytes} {keep_size}")
        }
        Call::Allocate { start, bytes, keep_size, .. } => {
            format!("allocate {bytes} at {start} {keep_size}")
        }
        Call::Punch { start, bytes, .. } => format!("punch {bytes} at {start}"),
        Call::Pause { ns: 0 } => "nothing".to_owned(),
        Call::Stat { name, .. } => format!("look at {}", text(name)),
        Call::Forget { start, bytes, .. } => format!("forget {start} {bytes}"),
        Call::Advise { random: true, .. } => "advise random".to_owned(),
        Call::Advise { random: false, .. } => "advise sequential".to_owned(),
        Call::Fsync { .. } => "fsync".to_owned(),
        Call::SyncRange { start, bytes, flags, .. } => {
            format!("sync_file_range {start} {bytes} {flags}")
        }
        Call::DataSync { .. } => "fdatasync".to_owned(),
        Call::Submit { requests } => {
            let requests =
                requests.iter().map(|request| format!(" {}@{}", request.tag, request.position));
            format!("submit{}", requests.collect::<String>())
        }
        Call::Reap { least } => format!("reap {least}"),
        Call::Close { .. } => "close".to_owned(),
        ref other => panic!("{other:?} is not fio's"),
    }
}

fn calls(script: &mut dyn Script, memory: &MemoryFilesystem) -> Vec<String> {
    let mut caller = MemoryCaller::new(memory);
    let mut made = Vec::new();
    let mut watch = |call: &Call<'_>, _done| {
        assert!(made.len() < 100_000, "it does not end");
        made.push(words(call));
        ControlFlow::Continue(())
    };
    rehearse(script, &mut caller, 1000, &mut watch).unwrap();
    made
}

/// Calls of every task of a job, one after the other.
fn run(settings: &str) -> Vec<(String, Vec<String>)> {
    let dir = temp_dir();
    let path = dir.path().join("j.fio");
    std::fs::write(&path, format!("[a]\n{settings}\n")).unwrap();
    let settings = vec![("jobfile".to_owned(), path.to_str().unwrap().to_owned())];
    let job = Fio.native(&Settings::new(settings)).unwrap();
    let memory = MemoryFilesystem::new(EntryOrder::Creation);
    let mut session = job.begin(&TargetFacts::unknown());
    let mut tasks = Vec::new();
    let mut phases = 0;
    let rehearsed = rehearse_session(session.as_mut(), &mut |request| {
        let SessionRequest::Group(group, listener) = request else {
            phases += 1;
            return Ok(());
        };
        let phase = phases - 1;
        for (worker, mut task) in (0..).zip(group.tasks) {
            tasks.push((task.subject.clone(), calls(task.script.as_mut(), &memory)));
            let (kind, counters) = (task.kind.clone(), task.script.counters());
            let totals = TaskTotals { phase, worker, kind, counters, ..TaskTotals::default() };
            listener.task_ended(&totals);
        }
        Ok(())
    });
    assert_eq!(rehearsed, Ok(()));
    tasks
}

/// Calls of the last task.
fn work(settings: &str) -> Vec<String> {
    run(settings).pop().unwrap().1
}

#[test]
fn files_to_be_read_are_filled_and_others_preallocated() {
    let tasks = run("rw=read\nsize=8k\nbs=4k");
    let layout = [
        "opendir fio-0",
        "stat a.0.0",
        "unlink a.0.0",
        "create a.0.0",
        "allocate 8192 false",
        "truncate 8192",
        "write 4096",
        "write 4096",
        "fsync",
        "forget 0 8192",
        "close",
    ];
    assert_eq!(tasks[0].1, ["mkdir fio-0"]);
    assert_eq!(tasks[1].1, layout);
    let work = [
        "opendir fio-0",
        "open a.0.0 to read",
        "forget 0 8192",
        "advise sequential",
        "pread 4096 0",
        "pread 4096 4096",
        "close",
    ];
    assert_eq!(tasks[2].1, work);
    let layout = |settings: &str| run(&format!("rw=write\nsize=8k\n{settings}")).swap_remove(1).1;
    let head = ["opendir fio-0", "stat a.0.0", "unlink a.0.0", "create a.0.0"];
    let tail = ["forget 0 8192", "close"];
    for (settings, between) in [
        ("", Some("allocate 8192 false")),
        ("fallocate=none", None),
        ("fallocate=keep", Some("allocate 8192 true")),
        ("fallocate=truncate", Some("truncate 8192")),
    ] {
        let expected: Vec<&str> = head.into_iter().chain(between).chain(tail).collect();
        assert_eq!(layout(settings), expected, "{settings}");
    }
    assert_eq!(layout("create_on_open=1"), head[..2]);
}

#[test]
fn syncs_follow_their_options() {
    let work = |settings: &str| {
        let calls = work(&format!("rw=write\nsize=16k\ninvalidate=0\n{settings}"));
        calls[3..].iter().map(|call| call[..3].to_owned()).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(work(""), "pwr pwr pwr pwr clo");
    assert_eq!(work("fsync=1"), "pwr fsy pwr fsy pwr fsy pwr clo");
    assert_eq!(work("fdatasync=2"), "pwr pwr fda pwr pwr clo");
    assert_eq!(work("end_fsync=1"), "pwr pwr pwr pwr fsy clo");
    assert_eq!(work("unlink=1"), "pwr pwr pwr pwr clo unl");
    assert_eq!(work("io_size=24k\nend_fsync=1").matches("fsy").count(), 2);
}

#[test]
fn engines_use_their_own_calls() {
    let work = |settings: &str| work(&format!("rw=randread\nsize=16k\n{settings}")).split_off(4);
    assert_eq!(
        work(""),
        ["pread 4096 0", "pread 4096 8192", "pread 4096 12288", "pread 4096 4096", "close"]
    );
    let seeks = work("ioengine=sync");
    assert_eq!(seeks[..4], ["read 4096", "seek 8192", "read 4096", "read 4096"]);
    assert_eq!(work("ioengine=mmap")[..2], ["mmap 16384", "load 4096 0"]);
    let queued = work("ioengine=libaio\niodepth=2");
    assert_eq!(queued[..4], ["submit 0@0", "submit 1@8192", "reap 1", "submit 0@12288"]);
    let batches = work("ioengine=io_uring\niodepth=4\niodepth_batch=2");
    assert_eq!(batches[..2], ["submit 0@0 1@8192", "submit 2@12288 3@4096"]);
}

#[test]
fn engines_without_data_make_the_calls_of_their_names() {
    let tasks = |settings: &str| run(&format!("size=8k\nnrfiles=2\n{settings}"));
    let work = |settings: &str| tasks(settings).pop().unwrap().1;
    let made = tasks("rw=write\nioengine=filecreate");
    assert_eq!(made[1].1, ["opendir fio-0", "stat a.0.0", "stat a.0.1"], "nothing is made before");
    let both = ["open a.0.0", "nothing", "open a.0.1", "nothing", "close", "close"];
    assert_eq!(made[2].1[1..], both);
    let looked = tasks("rw=read\nioengine=filestat");
    assert!(looked[1].1.contains(&"fsync".to_owned()));
    assert!(!looked[1].1.iter().any(|call| call.starts_with("forget")));
    let both = ["look at a.0.0", "nothing", "look at a.0.1", "nothing", "nothing", "nothing"];
    assert_eq!(looked[2].1[1..], both);
    let both = ["unlink a.0.0", "nothing", "unlink a.0.1", "nothing", "nothing", "nothing"];
    assert_eq!(work("rw=write\nioengine=filedelete")[1..], both);
    assert_eq!(work("rw=read\nioengine=null")[1..], ["nothing"; 6]);
    // Two files of 64k, each 13 times 1k and 4k left out, as fio 3.33.
    let holes = "rw=write:4k\nbs=1k\nioengine=null\nfilesize=64k\nsize=256k";
    assert_eq!(work(holes)[1..], ["nothing"; 30]);
    let work = |settings: &str| work(&format!("nrfiles=1\ninvalidate=0\n{settings}")).split_off(3);
    assert_eq!(work("rw=write\nioengine=ftruncate"), ["truncate 0", "truncate 4096", "close"]);
    let allocates = work("rw=write\nioengine=falloc");
    assert_eq!(allocates, ["allocate 4096 false", "allocate 4096 at 4096 false", "close"]);
    let allocates = work("rw=read\nioengine=falloc");
    assert_eq!(allocates, ["allocate 4096 true", "allocate 4096 at 4096 true", "close"]);
    let reads = work("rw=read\nioengine=pvsync");
    assert_eq!(reads, ["pread 4096 0", "pread 4096 4096", "close"]);
}

#[test]
fn io_size_can_be_a_percentage_of_size() {
    let reads = |settings: &str| {
        let calls = work(&format!("rw=read\nsize=64k\n{settings}"));
        calls.iter().filter(|call| call.starts_with("pread")).count()
    };
    let counts = ["io_size=50%", "io_size=33%", "io_size=100%", "io_size=50%\nloops=2"].map(reads);
    // As fio 3.33 does.
    assert_eq!(counts, [8, 6, 16, 16]);
}

#[test]
fn files_are_named_after_the_section_title() {
    let calls = work("name=other\nrw=read\nsize=4k");
    assert_eq!(calls[1], "open a.0.0 to read");
    let shown = show_job_file("f", b"[a]\nname=other\nsize=4k\n").unwrap();
    assert!(shown.starts_with("[a]\nname=other\n"), "{shown}");
}

#[test]
fn randseed_applies_to_all_clones_but_the_first() {
    let blocks = |settings: &str, task: usize| {
        let settings = format!("rw=randwrite\nsize=32k\nrandseed=12345\n{settings}");
        let calls = run(&settings).swap_remove(task).1;
        let places = calls.iter().filter_map(|call| call.strip_prefix("pwrite 4096 "));
        places.map(|place| place.parse::<u64>().unwrap() / 4096).collect::<Vec<_>>()
    };
    // As fio 3.33 does. After the directories come two layouts, then the two clones.
    assert_eq!(blocks("numjobs=2", 3), [0, 5, 6, 3, 4, 7, 1, 2]);
    assert_eq!(blocks("numjobs=2", 4), [2, 7, 3, 6, 0, 4, 5, 1]);
    assert_eq!(blocks("numjobs=2\nallrandrepeat=1", 4), [3, 4, 2, 5, 6, 7, 0, 1]);
    let passes = [0, 5, 6, 3, 4, 7, 1, 2, 0, 6, 5, 7, 1, 3, 4, 2];
    assert_eq!(blocks("loops=2", 2), passes, "the draws go on");
}

#[test]
fn clones_start_in_the_originals_order() {
    let tasks = run("rw=read\nsize=4k\nnumjobs=3");
    let subjects: Vec<&str> = tasks.iter().map(|(subject, _)| subject.as_str()).collect();
    assert_eq!(subjects, ["all", "a.0", "a.2", "a.1", "a.0", "a.2", "a.1"]);
}

#[test]
fn runtime_ends_time_based_jobs() {
    let calls = work("rw=read\nsize=8k\ntime_based\nruntime=10ms");
    // Each step takes a microsecond here, and is reported about.
    let reads = calls.iter().filter(|call| call.starts_with("pread")).count();
    let forgets = calls.iter().filter(|call| *call == "forget 0 8192").count();
    assert!(reads > 6000 && forgets > 3000, "{reads} {forgets}");
}

#[test]
fn impossible_jobs_fail_with_a_message() {
    let dir = temp_dir();
    let path = dir.path().join("j.fio");
    let native = |text: &str| {
        std::fs::write(&path, text).unwrap();
        let settings = vec![("jobfile".to_owned(), path.to_str().unwrap().to_owned())];
        Fio.native(&Settings::new(settings))
            .map(|_| ())
            .map_err(|error| format!("{error}; {}", error.hint.as_deref().unwrap_or_default()))
    };
    for (text, part) in [
        ("[a]\nsize=1m\nfilename=..", "has no name that a file can have"),
        ("[a]\nsize=1m\nfilename=/dev/null", "is a device, and no block device"),
        ("[a]\nsize=1m\nioengine=mmap\nfilename=/dev/none", "there are only reads and writes"),
        ("[a]\nsize=1m\nverify=md6", "'md6' is not known here"),
        ("[a]\nsize=1m\nzonemode=zbd", "--with-fio"),
        ("[a]\nsize=1m\nioengine=splice", "--with-fio"),
        ("[a]\nsize=1m\nio_size=101%", "a percentage is from 0% to 100%"),
        ("[a]\nsize=1m\nioengine=ftruncate", "ioengine=ftruncate with reads"),
    ] {
        assert!(native(text).unwrap_err().contains(part), "{text}");
    }
    assert!(native("[a]\nsize=1m\n").is_ok());
}

#[test]
fn example_job_files_are_parsed() {
    let examples = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../examples/fio");
    let mut count = 0;
    for entry in std::fs::read_dir(examples).unwrap() {
        let path = entry.unwrap().path();
        let shown = show_job_file("f", &std::fs::read(&path).unwrap());
        assert!(shown.is_ok_and(|shown| shown.contains("rw=")), "{}", path.display());
        count += 1;
    }
    assert!(count >= 13);
}

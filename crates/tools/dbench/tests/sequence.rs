//! Order of the calls of each dbench operation, in memory and without an engine. Expectations were
//! read from strace output of Debian's dbench 4.00.

#![expect(clippy::unwrap_used, reason = "a test ends at the first surprise")]

use std::ffi::CStr;
use std::ops::ControlFlow;

use treering_dbench::Dbench;
use treering_engine::{MemoryCaller, MemoryFilesystem, SessionRequest, rehearse, rehearse_session};
use treering_model::{Metric, Scope, TaskTotals};
use treering_script::{Call, CreateHow, OpenHow, Session, Settings, TargetFacts, Workload};
use treering_testkit::temp_dir;

/// Text form of a call.
fn words(call: &Call<'_>) -> String {
    let text = |name: &CStr| name.to_str().unwrap().to_owned();
    match *call {
        Call::OpenRoot { root, .. } => format!("opendir {root}"),
        Call::OpenDir { path, .. } => format!("opendir {}", text(path)),
        Call::CloseDir { .. } => "closedir".to_owned(),
        Call::ReadDir { .. } => "readdir".to_owned(),
        Call::SyncDir { data_only: true, .. } => "fdatasync".to_owned(),
        Call::Statfs { .. } => "statfs".to_owned(),
        Call::MakeDir { name, .. } => format!("mkdir {}", text(name)),
        Call::RemoveDir { name, .. } => format!("rmdir {}", text(name)),
        Call::Rename { from, to, .. } => format!("rename {} {}", text(from), text(to)),
        Call::Stat { name, .. } => format!("stat {}", text(name)),
        Call::GetXattr { name, .. } => format!("getxattr {}", text(name)),
        Call::SetTimes { name, .. } => format!("utimes {}", text(name)),
        Call::Unlink { path, .. } => format!("unlink {}", text(path)),
        Call::Create { path, how: CreateHow::OrOpen, .. } => format!("creat {}", text(path)),
        Call::Create { path, how: CreateHow::TruncateToRead, .. } => {
            format!("trunc {}", text(path))
        }
        Call::Open { path, how: OpenHow::ReadWrite, .. } => format!("open {}", text(path)),
        Call::Open { path, how: OpenHow::Directory, .. } => format!("open dir {}", text(path)),
        Call::ReadAt { bytes, position, .. } => format!("read {bytes} at {position}"),
        Call::WriteAt { bytes, position, .. } => format!("write {bytes} at {position}"),
        Call::Truncate { bytes, .. } => format!("truncate {bytes}"),
        Call::FileStat { .. } => "fstat".to_owned(),
        Call::GetFileXattr { .. } => "fgetxattr".to_owned(),
        Call::SetFileXattr { bytes: 44, .. } => "fsetxattr".to_owned(),
        Call::Lock { start, bytes, locks, .. } => format!("lock {locks} {start} {bytes}"),
        Call::Fsync { .. } => "fsync".to_owned(),
        Call::Close { .. } => "close".to_owned(),
        Call::Pause { ns } => format!("pause {ns}"),
        ref other => panic!("{other:?} is not dbench's"),
    }
}

/// Calls and results of a run.
struct RunOutcome {
    calls: Vec<String>,
    metrics: Vec<Metric>,
    failure: Option<String>,
    said: Option<String>,
}

impl RunOutcome {
    /// The calls after the preparation.
    #[track_caller]
    fn calls(&self) -> Vec<&str> {
        assert_eq!((&self.failure, &self.said), (&None, &None));
        self.calls.iter().map(String::as_str).collect()
    }

    fn figure(&self, kind: &str, name: &str) -> f64 {
        let scope = Scope::Kind(kind.to_owned());
        let is_wanted = |metric: &&Metric| metric.name == name && metric.scope == scope;
        self.metrics.iter().find(is_wanted).map_or(0.0, |metric| metric.value)
    }
}

/// Runs the tasks of a session one after the other, with a made-up clock in which each call takes a
/// second.
fn perform(session: &mut dyn Session) -> RunOutcome {
    let memory = MemoryFilesystem::default();
    let mut calls = Vec::new();
    let failure = rehearse_session(session, &mut |request| {
        let SessionRequest::Group(group, listener) = request else { return Ok(()) };
        for (worker, mut task) in (0..).zip(group.tasks) {
            let mut caller = MemoryCaller::new(&memory);
            let mut now_ns = 0;
            let mut watch = |call: &Call<'_>, _done| {
                calls.push(words(call));
                now_ns += 1_000_000_000;
                assert!(calls.len() < 10_000, "it ends");
                ControlFlow::Continue(())
            };
            rehearse(task.script.as_mut(), &mut caller, 1_000_000_000, &mut watch).unwrap();
            let counters = task.script.counters();
            let (kind, wall_ns) = (task.kind, now_ns);
            let totals = TaskTotals { kind, worker, wall_ns, counters, ..<_>::default() };
            listener.task_ended(&totals);
        }
        Ok(())
    });
    let failure = failure.err().map(|failure| failure.to_string());
    let stopping = session.cautions().into_iter().find(|caution| caution.message.contains('['));
    RunOutcome {
        calls,
        metrics: session.metrics(),
        failure,
        said: stopping.map(|caution| caution.message),
    }
}

/// Plays a load once, with these options.
fn play(load: &str, options: &[(&str, &str)]) -> RunOutcome {
    let dir = temp_dir();
    let path = dir.path().join("load");
    std::fs::write(&path, load).unwrap();
    let named = [
        ("nprocs", "1"),
        ("loadfile", path.to_str().unwrap()),
        ("run-once", "true"),
        ("skip-cleanup", "true"),
    ];
    let settings = named.iter().chain(options);
    let settings = settings.map(|&(name, value)| (name.to_owned(), value.to_owned())).collect();
    let job = Dbench.classic(&Settings::new(settings)).unwrap();
    perform(job.begin(&TargetFacts::unknown()).as_mut())
}

/// Lines that create a directory `d` with a file `f`, open as handle 7.
const BEFORE: &str = "Mkdir \"/d\" *\nNTCreateX \"/d/f\" 0x40 0x2 7 *\nWriteX 7 0 5000 5000 *\n";
/// Calls of `BEFORE`.
const CALLS_BEFORE: [&str; 13] = [
    "stat d",
    "opendir 0",
    "readdir",
    "closedir",
    "mkdir d",
    "opendir d",
    "stat f",
    "opendir d",
    "readdir",
    "closedir",
    "creat f",
    "fstat",
    "write 5000 at 0",
];

/// Checks the calls of a line after `BEFORE`, without the closes of handles left open.
#[track_caller]
fn after(line: &str, options: &[(&str, &str)], expected: &[&str]) {
    let ran = play(&format!("{BEFORE}{line}\n"), options);
    let calls = ran.calls();
    let began = calls.iter().position(|call| *call == "write 5000 at 0").unwrap();
    let mut tail = calls[began + 1..].to_vec();
    if !line.starts_with("Close 7") {
        assert_eq!(tail.pop(), Some("close"), "{line}");
    }
    assert_eq!(tail, expected, "{line}");
}

#[test]
fn creating_a_directory_and_a_file_makes_the_calls_of_the_original() {
    let ran = play(BEFORE, &[]);
    // A directory without entries is read once by the engine in memory.
    let calls: Vec<&str> = ran.calls().into_iter().filter(|call| *call != "close").collect();
    let mut expected = CALLS_BEFORE.to_vec();
    expected.dedup();
    let mut distinct = calls.clone();
    distinct.dedup();
    assert_eq!(distinct, expected);
}

#[test]
fn each_operation_makes_its_calls() {
    let none: &[(&str, &str)] = &[];
    after("Close 7 *", none, &["close"]);
    after("ReadX 7 8 100 100 *", none, &["read 100 at 8"]);
    after("WriteX 7 8 100 100 *", none, &["write 100 at 8"]);
    after("Flush 7 *", none, &["fsync"]);
    after("QUERY_FILE_INFORMATION 7 258 *", none, &["fstat"]);
    after("SET_FILE_INFORMATION 7 1004 *", none, &["fstat", "utimes f"]);
    after("LockX 7 4 6 *", none, &["lock true 4 6"]);
    after("UnlockX 7 4 6 *", none, &["lock false 4 6"]);
    after("QUERY_FS_INFORMATION 259 *", none, &["statfs"]);
    after("QUERY_PATH_INFORMATION \"/d/f\" 1004 *", none, &["stat f"]);
    let scan = ["opendir d", "readdir", "readdir", "closedir"];
    let with = |first: &'static str, tail: &[&'static str]| -> Vec<&str> {
        [&[first][..], &scan, tail].concat()
    };
    after("QUERY_PATH_INFORMATION \"/d/x\" 1004 *", none, &with("stat x", &[]));
    // A name that differs in case only ends the search.
    let search = ["stat F", "opendir d", "readdir", "closedir"];
    after("QUERY_PATH_INFORMATION \"/d/F\" 1004 *", none, &search);
    after("NTCreateX \"/d/x\" 0x40 0x1 8 NT_STATUS_X", none, &with("stat x", &["open x"]));
    after("FIND_FIRST \"/d/f\" 260 1366 1 *", none, &["stat f"]);
    after("FIND_FIRST \"/d/x\" 260 1366 1 *", none, &with("stat x", &[]));
    after("FIND_FIRST \"/d/*\" 260 1366 1 *", none, &with("stat *", &scan));
    let one_scan = ["opendir d", "readdir", "closedir"];
    after("FIND_FIRST \"/d/<\" 260 1 1 *", none, &with("stat <", &one_scan));
    after("Unlink \"/d/f\" 22 NT_STATUS_OK", none, &["stat f", "unlink f"]);
    after("Rename \"/d/f\" \"/d/f\" 0x0", none, &["stat f", "stat f", "rename f f"]);
    after("Mkdir \"/d\" 0x0", none, &["stat d", "mkdir d"]);
    after("Rmdir \"/d\" 0xc1", none, &["stat d", "rmdir d"]);
    let deltree = ["opendir d", "readdir", "stat f", "unlink f", "readdir", "closedir"];
    after("Deltree \"/d\" 0x0", none, &deltree);
    // Calls on a name that is there, each with its close.
    let again = |how: &str| play(&format!("{BEFORE}NTCreateX \"/d/f\" {how} 8 *\n"), none);
    for (how, call) in [("0x40 0x1", "open f"), ("0 5", "trunc f"), ("0 2", "creat f")] {
        let ran = again(how);
        let calls = ran.calls();
        assert_eq!(calls[calls.len() - 5..], ["stat f", call, "fstat", "close", "close"]);
    }
    // A directory, asked for as one and not.
    let ran = play("NTCreateX \"/d\" 1 2 8 0x0\nNTCreateX \"/d\" 0 1 9 0x0\n", none);
    let calls = ran.calls();
    let opened = calls.iter().position(|call| *call == "mkdir d").unwrap();
    let expected =
        ["mkdir d", "open dir d", "fstat", "stat d", "open d", "open dir d", "fstat", "close"];
    assert_eq!(calls[opened..opened + 8], expected);
}

#[test]
fn options_add_their_calls() {
    after("WriteX 7 0 9 9 *", &[("no-resolve", "true")], &["write 9 at 0"]);
    after("QUERY_PATH_INFORMATION \"/d/x\" 1 *", &[("no-resolve", "true")], &["stat x"]);
    let sync = [("sync-dir", "true")];
    let synced = ["stat f", "unlink f", "opendir d", "fdatasync", "closedir"];
    after("Unlink \"/d/f\" 0x0", &sync, &synced);
    after("Mkdir \"/d\" 0x0", &sync, &["stat d", "mkdir d"]);
    let xattr = [("xattr", "true")];
    after("QUERY_PATH_INFORMATION \"/d/f\" 1 *", &xattr, &["stat f", "getxattr f"]);
    after("QUERY_FILE_INFORMATION 7 1 *", &xattr, &["fstat", "fgetxattr"]);
    let set = ["fgetxattr", "fstat", "utimes f", "fgetxattr", "fsetxattr"];
    after("SET_FILE_INFORMATION 7 1 *", &xattr, &set);
    let check = [("stat-check", "true")];
    after("Mkdir \"/d\" 0x0", &check, &["stat d"]);
    let fix = [("one-byte-write-fix", "true")];
    after("WriteX 7 10 1 1 *", &fix, &["fstat", "read 1 at 10"]);
    after("WriteX 7 6000 1 1 *", &fix, &["fstat", "truncate 6001"]);
    let ran = play(BEFORE, &[("fsync", "true")]);
    assert!(ran.calls().windows(2).any(|pair| pair == ["write 5000 at 0", "fsync"]));
    let fake = play(&format!("{BEFORE}ReadX 7 0 5000 5000 0x0\n"), &[("fake-io", "true")]);
    assert!(
        !fake.calls().iter().any(|call| call.starts_with("write") || call.starts_with("read "))
    );
    assert!(fake.figure("ReadX", "operations_per_second") > 0.0);
}

#[test]
fn the_newer_language_is_played() {
    let load = "NTCreateX \"/f\" 0 2 5 *\nWriteX 5 0 0 0 *\nLOOP 2\nREPEAT 2\nWriteX 5 +100 +1 +1 *\nENDLOOP\n\
                SETSP 3\nWAITSP 0 3\nRANDOMSTRING 1 \"a[b]c\"\nMkdir \"/x$1\" *\nSLEEP 30000\n";
    let ran = play(load, &[]);
    let calls = ran.calls();
    let written: Vec<&str> =
        calls.iter().copied().filter(|call| call.starts_with("write")).collect();
    let expected = ["write 1 at 100", "write 2 at 200", "write 3 at 300", "write 4 at 400"];
    assert_eq!(written[1..], expected);
    assert!(calls.contains(&"mkdir xabc"), "{calls:?}");
    let paused: Vec<&str> =
        calls.iter().copied().filter(|call| call.starts_with("pause")).collect();
    assert_eq!(paused, ["pause 20000000", "pause 10000000"]);
}

#[test]
fn unexpected_outcomes_end_the_run_or_are_reported() {
    for (line, why) in [
        ("Unlink \"/d/x\" NT_STATUS_OK", "unlink d/x failed (No such file or directory)"),
        ("Unlink \"/d/f\" NT_STATUS_GONE", "unlink d/f succeeded - expected NT_STATUS_GONE"),
        ("Rmdir \"/e\" 0x0", "rmdir e failed (No such file or directory) - expected 0x0"),
        ("Rename \"/d/x\" \"/d/y\" 0x0", "rename d/x d/y failed"),
        ("Rename \"/e/x\" \"/d/y\" 0x0", "rename e/x d/y failed"),
        ("WriteX 7 0 10 9 0x0", "wrote 10 bytes, expected to write 9 bytes on handle 7"),
    ] {
        let ran = play(&format!("{BEFORE}{line}\nMkdir \"/never\" *\n"), &[]);
        let failure = ran.failure.unwrap();
        assert!(failure.starts_with("client 0 failed at line 4: "), "{failure}");
        assert!(failure.contains(why), "{failure}");
        assert!(!ran.calls.iter().any(|call| call == "mkdir never"), "{line}");
    }
    for (line, why) in [
        ("ReadX 7 4000 2000 2000 *", "[4] read failed on handle 7 (1000 bytes instead of 2000)"),
        ("ReadX 8 0 1 1 *", "[4] handle 8 was not found"),
        ("NTCreateX \"/d/x\" 0 1 8 0x0", "[4] open d/x failed for handle 8 (No such file"),
        ("NTCreateX \"/d/f\" 0 1 8 0xc1", "[4] open d/f succeeded for handle 8"),
    ] {
        let ran = play(&format!("{BEFORE}{line}\nMkdir \"/after\" *\n"), &[]);
        let message = ran.said.unwrap();
        assert!(message.contains(why), "{message}");
        assert_eq!(ran.failure, None);
        assert!(ran.calls.iter().any(|call| call == "mkdir after"), "{line}");
    }
}

#[test]
fn clients_of_a_process_play_each_line_in_turn() {
    let load = "Mkdir \"/clients\" *\nMkdir \"/clients/client1\" *\n";
    let ran = play(load, &[("clients-per-process", "3")]);
    let made: Vec<&str> =
        ran.calls().into_iter().filter(|call| call.starts_with("mkdir")).collect();
    let three = ["mkdir client0", "mkdir client1", "mkdir client2"];
    assert_eq!(made[..3], ["mkdir clients"; 3]);
    assert_eq!(made[3..], three);
}

#[test]
fn reused_handles_are_closed_in_order() {
    let load = "Mkdir \"/d\" *\nNTCreateX \"/d/f\" 0 2 7 *\nNTCreateX \"/d/g\" 0 2 7 *\n\
                Close 7 0x0\nClose 7 0x0\n";
    let ran = play(load, &[]);
    assert_eq!(ran.calls().iter().filter(|call| **call == "close").count(), 2);
}

#[test]
fn removed_directories_are_reopened() {
    let load = "Mkdir \"/d\" *\nNTCreateX \"/d/f\" 0 2 7 0x0\nClose 7 0x0\nUnlink \"/d/f\" 0x0\n\
                Rmdir \"/d\" 0x0\nMkdir \"/d\" *\nNTCreateX \"/d/f\" 0 2 8 0x0\nClose 8 0x0\n";
    let ran = play(load, &[("no-resolve", "true")]);
    assert_eq!(ran.calls().iter().filter(|call| **call == "opendir d").count(), 2);
}

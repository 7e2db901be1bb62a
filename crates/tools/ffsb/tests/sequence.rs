//! Tests of the calls of each FFSB operation and of its counters, in memory and without an engine.

#![expect(clippy::unwrap_used, reason = "a test ends at the first surprise")]

use std::ffi::CStr;
use std::ops::ControlFlow;

use treering_engine::{MemoryCaller, MemoryFilesystem, SessionRequest, rehearse, rehearse_session};
use treering_ffsb::Ffsb;
use treering_model::{Metric, Scope, TaskTotals};
use treering_script::{
    Call, CreateHow, OpenHow, Script, Session, Settings, SyncScope, TargetFacts, Workload,
};
use treering_testkit::temp_dir;

/// Profile lines: one file of 10,000 bytes in `data` itself.
const FILE: &str = "num_files=1\nmin_filesize=10000\nmax_filesize=10000";
/// Settings of transfers that are several whole blocks and a remainder.
const SIZES: &str = "read_size=9000\nread_blocksize=4096\nwrite_size=9000\nwrite_blocksize=4096";

/// Text form of a call.
fn words(call: &Call<'_>) -> String {
    let text = |name: &CStr| name.to_str().unwrap().to_owned();
    match *call {
        Call::OpenRoot { root, .. } => format!("root {root}"),
        Call::OpenDir { path, .. } => format!("opendir {}", text(path)),
        Call::ReadDir { .. } => "readdir".to_owned(),
        Call::Statfs { .. } => "statfs".to_owned(),
        Call::MakeDir { name, .. } => format!("mkdir {}", text(name)),
        Call::RemoveDir { name, .. } => format!("rmdir {}", text(name)),
        Call::Rename { from, to, .. } => format!("rename {} {}", text(from), text(to)),
        Call::Stat { name, .. } => format!("stat {}", text(name)),
        Call::Unlink { path, .. } => format!("unlink {}", text(path)),
        Call::Create { path, how, .. } => {
            assert_eq!(how, CreateHow::TruncateToRead);
            format!("create {}", text(path))
        }
        Call::Open { path, how, .. } => {
            let how = match how {
                OpenHow::Read => "read",
                OpenHow::Write => "write",
                OpenHow::Append => "append",
                OpenHow::ReadWrite | OpenHow::Directory => panic!("{how:?} is not FFSB's"),
            };
            format!("open {} to {how}", text(path))
        }
        Call::Read { bytes, .. } => format!("read {bytes}"),
        Call::Write { bytes, .. } => format!("write {bytes}"),
        Call::Seek { position, .. } => format!("seek {position}"),
        Call::Fsync { .. } => "fsync".to_owned(),
        Call::Close { .. } => "close".to_owned(),
        Call::Pause { .. } => "pause".to_owned(),
        Call::Sync { scope: SyncScope::Machine } => "sync".to_owned(),
        Call::Sync { scope: SyncScope::Target } => "syncfs".to_owned(),
        ref other => panic!("{other:?} is not FFSB's"),
    }
}

/// Predicate for the call after which a classic run's time is over.
type LastCallPredicate<'l> = &'l dyn Fn(&str) -> bool;

/// Calls of a script; `heard` sees each call and may end the run.
fn calls(
    script: &mut dyn Script,
    memory: &MemoryFilesystem,
    mut heard: impl FnMut(&str),
) -> Vec<String> {
    let mut caller = MemoryCaller::new(memory);
    let mut calls = Vec::new();
    let mut watch = |call: &Call<'_>, _done| {
        let call_text = words(call);
        heard(&call_text);
        calls.push(call_text);
        assert!(calls.len() < 10_000, "it ends");
        ControlFlow::Continue(())
    };
    rehearse(script, &mut caller, 0, &mut watch).unwrap();
    calls
}

/// Calls and results of a run.
struct RunOutcome {
    /// The phases' calls, each task's by itself.
    phases: Vec<(String, Vec<Vec<String>>)>,
    metrics: Vec<Metric>,
    memory: MemoryFilesystem,
}

impl RunOutcome {
    /// Calls of the first worker, without opens of directories.
    fn work(&self) -> Vec<String> {
        let (_, tasks) = self.phases.iter().find(|(name, _)| name == "benchmark").unwrap();
        let opens = |call: &&String| !call.starts_with("root ") && !call.starts_with("opendir ");
        tasks[0].iter().filter(opens).cloned().collect()
    }

    /// Figure of an operation; the work takes one second, so a rate is a count.
    fn figure(&self, operation: &str, name: &str) -> f64 {
        let scope = Scope::Kind(operation.to_owned());
        let is_wanted = |metric: &&Metric| metric.name == name && metric.scope == scope;
        self.metrics.iter().find(is_wanted).map_or(0.0, |metric| metric.value)
    }

    /// Operations, transactions and bytes.
    fn counted(&self, operation: &str) -> [f64; 3] {
        let bytes = self.figure(operation, "mib_per_second") * 1_048_576.0;
        let operations = self.figure(operation, "operations_per_second");
        [operations, self.figure(operation, "transactions_per_second"), bytes]
    }
}

/// Runs a session with a made-up clock, in which each task takes one second; a classic session ends
/// after the call `last`.
fn perform(session: &mut dyn Session, last: LastCallPredicate<'_>) -> RunOutcome {
    let memory = MemoryFilesystem::default();
    let mut phases: Vec<(String, Vec<Vec<String>>)> = Vec::new();
    let rehearsed = rehearse_session(session, &mut |request| {
        let (mut group, listener) = match request {
            SessionRequest::Phase(phase) => {
                phases.push((phase.name, Vec::new()));
                return Ok(());
            }
            SessionRequest::Group(group, listener) => (group, listener),
        };
        let (_, tasks) = phases.last_mut().unwrap();
        let deadline = group.time_limit.map(|limit| limit.deadline);
        for (worker, task) in (0..).zip(&mut group.tasks) {
            tasks.push(calls(task.script.as_mut(), &memory, |call| {
                if let Some(deadline) = deadline.as_ref().filter(|_| last(call)) {
                    deadline.reach();
                }
            }));
            let totals = TaskTotals {
                worker,
                kind: task.kind.clone(),
                subject: task.subject.clone(),
                wall_ns: 1_000_000_000,
                counters: task.script.counters(),
                ..TaskTotals::default()
            };
            listener.task_ended(&totals);
        }
        Ok(())
    });
    assert_eq!(rehearsed, Ok(()));
    RunOutcome { phases, metrics: session.metrics(), memory }
}

fn run(
    profile: &str,
    classic: bool,
    options: &[(&str, &str)],
    last: LastCallPredicate<'_>,
) -> RunOutcome {
    let dir = temp_dir();
    let path = dir.path().join("p");
    std::fs::write(&path, profile).unwrap();
    let mut options: Vec<(String, String)> =
        options.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    options.push(("profile".to_owned(), path.display().to_string()));
    options.push(("seed".to_owned(), "5".to_owned()));
    let settings = Settings::new(options);
    let job = if classic { Ffsb.classic(&settings) } else { Ffsb.native(&settings) }.unwrap();
    let facts = TargetFacts::unknown();
    perform(job.begin(&facts).as_mut(), last)
}

/// Profile of one filesystem and one thread.
fn profile(filesystem: &str, group: &str) -> String {
    format!(
        "time=1\n[filesystem]\nlocation=/m\n{filesystem}\n[end]\n[threadgroup]\nnum_threads=1\n\
         {group}\n[end]\n"
    )
}

/// Runs one operation in classic and in native mode: its calls, and the counters.
fn once(operation: &str, filesystem: &str, group: &str) -> [(String, [f64; 3]); 2] {
    let text = profile(filesystem, &format!("{group}\n{operation}_weight=1"));
    [true, false].map(|classic| {
        let last = |call: &str| match operation {
            "stat" => call.starts_with("stat"),
            "createdir" => call.starts_with("mkdir"),
            _ => ["close", "unlink", "rename"].iter().any(|word| call.starts_with(word)),
        };
        let options: &[_] = if classic { &[] } else { &[("operations", "1")] };
        let ran = run(&text, classic, options, &last);
        (ran.work().join(", "), ran.counted(operation))
    })
}

/// Checks that the modes make the same calls except for the stat before a transfer, and that the
/// counters match.
fn assert_operation(
    operation: &str,
    filesystem: &str,
    group: &str,
    calls: &str,
    counted: [f64; 3],
) {
    let [(classic, of_classic), (native, of_native)] = once(operation, filesystem, group);
    assert_eq!(classic, calls, "{operation}");
    let without_stat = calls.replacen(", stat datafile0", "", 1);
    assert_eq!(native, without_stat, "{operation}, natively");
    assert_eq!(of_classic, counted, "{operation}");
    assert_eq!(of_native, counted, "{operation}, natively");
}

/// Position of the only `seek` in these calls, and the calls without it.
fn seek(calls: &str) -> (u64, String) {
    let mut to = None;
    let words: Vec<String> = calls
        .split(", ")
        .map(|call| match call.strip_prefix("seek ") {
            Some(position) => {
                assert_eq!(to.replace(position.parse().unwrap()), None);
                "seek".to_owned()
            }
            None => call.to_owned(),
        })
        .collect();
    (to.unwrap(), words.join(", "))
}

#[test]
fn whole_files_are_transferred_in_blocks_and_a_remainder() {
    let (read, written) = ("open datafile0 to read, stat datafile0", "open datafile0 to write");
    let blocks = |call: &str| format!("{call} 4096, {call} 4096, {call} 1808");
    let [(classic, of_classic), (native, of_native)] = once("readall", FILE, SIZES);
    assert_eq!(classic, format!("{read}, {}, close", blocks("read")));
    assert_eq!(native, format!("open datafile0 to read, {}, close", blocks("read")));
    assert_eq!(of_classic, [1.0, 2.0, 10_000.0], "the rest is no transaction");
    assert_eq!(of_native[2], 10_000.0);
    let calls = format!("{written}, stat datafile0, {}, close", blocks("write"));
    assert_operation("writeall", FILE, SIZES, &calls, [1.0, 3.0, 10_000.0]);
    let calls = calls.replace("close", "fsync, close");
    assert_operation("writeall_fsync", FILE, SIZES, &calls, [1.0, 3.0, 10_000.0]);
}

#[test]
fn native_read_of_the_remainder_counts_as_a_transaction() {
    let [_, (_, of_native)] = once("readall", FILE, SIZES);
    assert_eq!(of_native, [1.0, 3.0, 10_000.0]);
    let [_, (_, of_native)] = once("readall", "num_files=1\nmin_filesize=1\nmax_filesize=1", SIZES);
    assert_eq!(of_native, [1.0, 1.0, 1.0]);
}

#[test]
fn files_are_made_and_appended_to_in_blocks() {
    let none = "num_files=0\nmin_filesize=10000\nmax_filesize=10000";
    let calls = "create datafile0, write 4096, write 4096, write 1808, close";
    assert_operation("create", none, SIZES, calls, [1.0, 3.0, 10_000.0]);
    let calls = calls.replace("close", "fsync, close");
    assert_operation("create_fsync", none, SIZES, &calls, [1.0, 3.0, 10_000.0]);
    let none = "min_filesize=0\nmax_filesize=0";
    assert_operation("create", none, SIZES, "create datafile0, close", [1.0, 0.0, 0.0]);
    let calls = "create datafile0, fsync, close";
    assert_operation("create_fsync", none, SIZES, calls, [1.0, 0.0, 0.0]);
    let calls = "open datafile0 to append, write 4096, write 4096, write 808, close";
    assert_operation("append", FILE, SIZES, calls, [1.0, 3.0, 9000.0]);
    let calls = calls.replace("close", "fsync, close");
    assert_operation("append_fsync", FILE, SIZES, &calls, [1.0, 3.0, 9000.0]);
}

#[test]
fn files_are_stat_opened_and_removed_by_name() {
    assert_operation("stat", FILE, "", "stat datafile0", [1.0, 1.0, 0.0]);
    let [classic, native] = once("stat", FILE, "");
    assert_eq!(classic, native);
    assert_operation("open_close", FILE, "", "open datafile0 to read, close", [1.0, 1.0, 0.0]);
    assert_operation("delete", FILE, "", "unlink datafile0", [1.0, 1.0, 0.0]);
    assert_operation("createdir", "num_dirs=3", "", "mkdir datadir3", [1.0, 1.0, 0.0]);
}

#[test]
fn a_metaop_makes_two_removes_one_and_renames_one() {
    for (calls, counted) in once("metaop", FILE, "") {
        let made = "mkdir metafile0, mkdir metafile1, rmdir metafile";
        let tail = calls.strip_prefix(made).unwrap_or_else(|| panic!("{calls}"));
        let others = ["0, rename metafile1 metafile1a", "1, rename metafile0 metafile0a"];
        assert!(others.contains(&tail), "{calls}");
        assert_eq!(counted, [1.0, 1.0, 0.0]);
    }
}

#[test]
fn sequential_transfers_start_at_random_offsets() {
    // Whole blocks are read: 8192 bytes, from 0 to 1808.
    let [(classic, counted), (native, _)] = once("read", FILE, SIZES);
    let (at, calls) = seek(&classic);
    assert!((1..=1808).contains(&at), "{at}");
    let transfer = "seek, read 4096, read 4096, close";
    assert_eq!(calls, format!("open datafile0 to read, stat datafile0, {transfer}"));
    assert_eq!(seek(&native).1, format!("open datafile0 to read, {transfer}"));
    assert_eq!(counted, [1.0, 2.0, 8192.0]);
    for (operation, end) in [("write", "close"), ("write_fsync", "fsync, close")] {
        let [(classic, counted), (native, of_native)] = once(operation, FILE, SIZES);
        let (at, calls) = seek(&classic);
        assert!((1..=1000).contains(&at), "{at}");
        let transfer = format!("seek, write 4096, write 4096, write 808, {end}");
        assert_eq!(calls, format!("open datafile0 to write, stat datafile0, {transfer}"));
        assert_eq!(seek(&native).1, format!("open datafile0 to write, {transfer}"));
        assert_eq!(counted, [1.0, 3.0, 9000.0], "what was written, not the file");
        assert_eq!(of_native, counted);
    }
    // A file that is smaller is moved whole, and one without content is opened and closed.
    let small = "num_files=1\nmin_filesize=5000\nmax_filesize=5000";
    let calls = "open datafile0 to write, stat datafile0, write 4096, write 904, close";
    assert_operation("write", small, SIZES, calls, [1.0, 2.0, 5000.0]);
    let empty = "num_files=1\nmin_filesize=0\nmax_filesize=0";
    let calls = "open datafile0 to read, stat datafile0, close";
    assert_operation("read", empty, SIZES, calls, [1.0, 0.0, 0.0]);
    assert_operation("readall", empty, SIZES, calls, [1.0, 0.0, 0.0]);
    let calls = "open datafile0 to write, stat datafile0, fsync, close";
    assert_operation("write_fsync", empty, SIZES, calls, [1.0, 0.0, 0.0]);
}

#[test]
fn skips_begin_at_the_start_and_end_with_the_file() {
    let group = "read_size=20k\nread_blocksize=1024\nread_skip=1\nread_skipsize=2048";
    let calls = "open datafile0 to read, stat datafile0, seek 0, read 1024, seek 3072, read 1024, \
                 seek 6144, read 1024, close";
    let [(classic, counted), _] = once("read", FILE, group);
    // The first seek may be left out: the file is at its start.
    assert_eq!(classic.replace(", seek 0", ""), calls.replace(", seek 0", ""));
    assert_eq!(counted, [1.0, 3.0, 3072.0]);
}

/// Positions of all seeks, and the bytes of the transfers after them.
fn moves(calls: &[String], word: &str) -> Vec<(u64, u64)> {
    let pairs = calls.windows(2).filter_map(|pair| {
        let position = pair[0].strip_prefix("seek ")?.parse().ok()?;
        let bytes = pair[1].strip_prefix(word)?.trim().parse().ok()?;
        Some((position, bytes))
    });
    pairs.collect()
}

#[test]
fn random_transfers_seek_before_each_block_and_reach_the_last_one() {
    for (operation, word) in [("read", "read"), ("write", "write")] {
        for align in [0, 1] {
            let group = format!(
                "{word}_random=1\n{word}_size=8k\n{word}_blocksize=4k\n{operation}_weight=1"
            );
            let files = "num_files=1\nmin_filesize=8192\nmax_filesize=8192";
            let text = format!("alignio={align}\n{}", profile(files, &group));
            let ran = run(&text, false, &[("operations", "200")], &|_| false);
            let moves = moves(&ran.work(), word);
            assert_eq!(moves.len(), 400, "{operation}");
            assert!(moves.iter().all(|(at, bytes)| *bytes == 4096 && at + bytes <= 8192));
            let last = moves.iter().filter(|(at, _)| *at > 2048).count();
            assert!((130..270).contains(&last), "{last} of 400 in the second half");
            if align == 1 {
                assert!(moves.iter().all(|(at, _)| at % 4096 == 0));
            } else {
                assert!(moves.iter().filter(|(at, _)| at % 4096 != 0).count() > 300);
            }
            let sizes = ran.memory.snapshot().entries.into_iter().map(|(_, _, bytes)| bytes);
            assert_eq!(sizes.max(), Some(8192));
        }
    }
}

/// A tree like that of an earlier run, whose only file has 4.1 GiB: nothing has to be written.
#[test]
fn offsets_beyond_4_gib_are_drawn() {
    let files = "num_files=1\nmin_filesize=4403m\nmax_filesize=4403m\ncreate_blocksize=4m";
    let group = "read_random=1\nread_size=40k\nread_blocksize=4k\nread_weight=1";
    let size = 4403_u64 << 20;
    for align in [0, 1] {
        let text = format!("alignio={align}\n{}", profile(files, group));
        let ran = run(&text, false, &[("operations", "40")], &|_| false);
        let moves = moves(&ran.work(), "read");
        assert_eq!(moves.len(), 400);
        assert!(moves.iter().all(|(at, bytes)| at + bytes <= size));
        let beyond = moves.iter().filter(|(at, _)| *at >= 1 << 32).count();
        assert!((8..70).contains(&beyond), "7 % are beyond, not {beyond} of 400");
    }
}

#[test]
fn classic_run_removes_creates_syncs_operates_and_syncs() {
    let text = profile("num_files=2\nnum_dirs=2\nmin_filesize=0\nmax_filesize=0", "stat_weight=1");
    let ran = run(&text, true, &[], &|call| call.starts_with("stat"));
    let phases: Vec<String> = ran
        .phases
        .iter()
        .map(|(name, tasks)| {
            let tasks: Vec<String> = tasks.iter().map(|calls| calls.join(", ")).collect();
            format!("{name}: {}", tasks.join(" | "))
        })
        .collect();
    let setup = "setup: root 0, opendir data, opendir meta, mkdir data, mkdir meta, statfs, \
                 opendir data, mkdir datadir0, mkdir datadir1 | root 0, opendir data, ";
    assert!(phases[0].starts_with(setup), "{}", phases[0]);
    assert_eq!(phases[1], "sync: sync");
    assert!(phases[2].starts_with("benchmark: root 0, opendir data, "), "{}", phases[2]);
    assert_eq!(phases[3], "final sync: sync");
    assert_eq!(phases.len(), 4);
}

#[test]
fn numbers_of_deleted_files_are_reused() {
    let group = "create_weight=1\ndelete_weight=1\nwrite_blocksize=4k";
    let text = profile("num_files=3\nmin_filesize=0\nmax_filesize=0\nnum_dirs=2", group);
    let ran = run(&text, false, &[("operations", "300")], &|_| false);
    let (mut vacant, mut next) = (std::collections::VecDeque::new(), 3);
    for call in ran.work() {
        if let Some(name) = call.strip_prefix("unlink ") {
            vacant.push_back(name.to_owned());
        } else if let Some(name) = call.strip_prefix("create ") {
            let wanted = vacant.pop_front().unwrap_or_else(|| {
                next += 1;
                format!("datafile{}", next - 1)
            });
            assert_eq!(name, wanted, "first in, first out");
        }
    }
}

#[test]
fn delays_separate_operations_but_do_not_follow_the_last() {
    let text = profile(FILE, "stat_weight=1\nop_delay=50");
    let ran = run(&text, false, &[("operations", "3")], &|_| false);
    let work = ran.work();
    let stats = work.iter().filter(|call| *call == "stat datafile0").count();
    assert_eq!((stats, work.len()), (3, 3 + 2 * 3), "50 ms are three pauses");
    assert!(work.last().unwrap().starts_with("stat"));
}

#[test]
fn metaops_never_make_names_longer() {
    let text = profile(FILE, "metaop_weight=1");
    let ran = run(&text, false, &[("operations", "2000")], &|_| false);
    let names: Vec<String> = ran
        .memory
        .snapshot()
        .entries
        .iter()
        .filter_map(|(path, _, _)| {
            path.to_str().unwrap().strip_prefix("ffsb-0/meta/").map(str::to_owned)
        })
        .collect();
    assert_eq!(names.len(), 2000);
    assert!(names.iter().all(|name| name.len() <= "metafile3999a".len()));
}

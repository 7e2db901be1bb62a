//! Order of fs_mark's calls, without a disk: every sync method, every directory policy, a full
//! filesystem.

#![expect(clippy::unwrap_used, reason = "a test ends at the first surprise")]

use std::ffi::CStr;

use treering_engine::{SessionRequest, rehearse_session};
use treering_fs_mark::FsMark;
use treering_model::TaskTotals;
use treering_script::{
    Call, CallResult, Completion, CreateHow, DirEntries, DirSlot, Errno, Io, Script, SessionStop,
    Settings, StatfsSpace, Stop, SyncScope, TargetFacts, Task, Workload,
};

/// A second of 2026, at which a four-fold round begins with subdirectory 1.
const SECOND: u64 = 1_795_000_001;

fn settings(words: &str) -> Settings {
    let pairs = words.split_whitespace().map(|word| {
        let (name, value) = word.split_once('=').unwrap_or((word, "true"));
        (name.to_owned(), value.to_owned())
    });
    let mut settings = Settings::new(pairs.collect());
    settings.started_unix_ms = SECOND * 1000;
    settings
}

/// Text form of calls; names are numbered in order of appearance.
#[derive(Default)]
struct CallDescriber {
    names: Vec<String>,
}

impl CallDescriber {
    fn path(&mut self, at: DirSlot, path: &CStr) -> String {
        let path = path.to_str().unwrap();
        let (dir, name) = path.rsplit_once('/').map_or(("", path), |(dir, name)| (dir, name));
        let known = self.names.iter().position(|known| known == name);
        let number = known.unwrap_or_else(|| {
            self.names.push(name.to_owned());
            self.names.len() - 1
        });
        let dir = if dir.is_empty() { String::new() } else { format!("{dir}/") };
        match at {
            DirSlot::TARGET => format!("{dir}f{number}"),
            DirSlot(slot) => format!("{slot}:{dir}f{number}"),
        }
    }

    fn words(&mut self, call: &Call<'_>) -> String {
        let slot =
            |at: DirSlot| if at == DirSlot::TARGET { String::new() } else { format!("{}:", at.0) };
        match *call {
            Call::OpenDir { at, path, into } => {
                format!("open {}{} as {}", slot(at), path.to_str().unwrap(), into.0)
            }
            Call::MakeDir { at, name } => format!("mkdir {}{}", slot(at), name.to_str().unwrap()),
            Call::MakeAgain { .. } => "mkdir .".to_owned(),
            Call::Create { at, path, how, .. } => {
                assert_eq!(how, CreateHow::TruncateToRead);
                format!("create {}", self.path(at, path))
            }
            Call::Open { at, path, .. } => format!("reopen {}", self.path(at, path)),
            Call::Write { bytes, position, .. } => format!("write {bytes}@{position}"),
            Call::Fsync { .. } => "fsync".to_owned(),
            Call::Close { .. } => "close".to_owned(),
            Call::Sync { scope: SyncScope::Machine } => "sync".to_owned(),
            Call::Sync { scope: SyncScope::Target } => "syncfs".to_owned(),
            Call::Unlink { at, path } => format!("unlink {}", self.path(at, path)),
            other => panic!("{other:?} is not fs_mark's"),
        }
    }
}

/// Space in which everything fits.
const ROOM: StatfsSpace = StatfsSpace {
    capacity_bytes: u64::MAX,
    free_bytes: u64::MAX,
    unused_bytes: u64::MAX,
    inodes: None,
};

/// Fake filesystem in which each call takes a fixed number of seconds, and `full` selects calls
/// that fail for lack of space.
struct FakeFilesystem<'f> {
    describer: CallDescriber,
    calls: Vec<String>,
    now_ns: u64,
    seconds: u64,
    timed: (u64, u64),
    full: &'f dyn Fn(&str, usize) -> bool,
}

impl Io for FakeFilesystem<'_> {
    fn call(&mut self, call: &Call<'_>) -> Result<CallResult, Stop> {
        if let Call::Statfs { dir } = *call {
            // Whether all will fit; takes no time.
            assert!(dir == DirSlot::TARGET && self.calls.is_empty());
            return Ok(CallResult::Room(ROOM));
        }
        let words = self.describer.words(call);
        let is_full = (self.full)(&words, self.calls.len());
        self.calls.push(words);
        let began_ns = self.now_ns;
        self.now_ns += self.seconds * 1_000_000_000;
        self.timed = (began_ns, self.now_ns);
        match call {
            _ if is_full => Err(Stop::Failed(Errno::NOSPC.into())),
            Call::Write { bytes, .. } => Ok(CallResult::Bytes(u64::from(*bytes))),
            _ => Ok(CallResult::Plain),
        }
    }

    fn entries(&self) -> DirEntries<'_> {
        DirEntries::new(&[])
    }

    fn reaped(&self) -> &[Completion] {
        &[]
    }

    fn timed(&self) -> Option<(u64, u64)> {
        Some(self.timed)
    }

    fn began_ns(&self) -> u64 {
        0
    }
}

/// Calls of a script, and the names in them.
fn made(
    script: &mut dyn Script,
    seconds: u64,
    full: &dyn Fn(&str, usize) -> bool,
) -> (Vec<String>, Vec<String>) {
    let (describer, calls) = (CallDescriber::default(), Vec::new());
    let mut io = FakeFilesystem { describer, calls, now_ns: 0, seconds, timed: (0, 0), full };
    script.run(&mut io).unwrap();
    (io.calls, io.describer.names)
}

fn calls(script: &mut dyn Script, seconds: u64, full: &dyn Fn(&str, usize) -> bool) -> Vec<String> {
    made(script, seconds, full).0
}

/// The calls of the first worker in each phase; every phase in one line.
fn phases(
    words: &str,
    classic: bool,
    seconds: u64,
    full: &dyn Fn(&str, usize) -> bool,
) -> Vec<String> {
    let settings = settings(words);
    let job = if classic { FsMark.classic(&settings) } else { FsMark.native(&settings) }.unwrap();
    let facts = TargetFacts::unknown();
    let mut session = job.begin(&facts);
    let mut phases = Vec::new();
    let rehearsed = rehearse_session(session.as_mut(), &mut |request| {
        let SessionRequest::Group(mut group, listener) = request else { return Ok(()) };
        for (worker, task) in (0..).zip(&mut group.tasks) {
            let calls = calls(task.script.as_mut(), seconds, full);
            let files = calls.iter().filter(|call| call.starts_with("create")).count() as u64;
            if worker == 0 {
                phases.push(calls.join(", "));
            }
            listener.task_ended(&TaskTotals { files, ..totals(worker, task) });
        }
        assert!(phases.len() < 100, "it ends");
        Ok(())
    });
    rehearsed.unwrap();
    phases
}

fn totals(worker: u16, task: &mut Task) -> TaskTotals {
    let (kind, counters) = (task.kind.clone(), task.script.counters());
    TaskTotals { worker, kind, counters, ..TaskTotals::default() }
}

fn never(_: &str, _: usize) -> bool {
    false
}

/// Classic run of two files of one byte.
fn classic(words: &str) -> String {
    let words = format!("dir=/m files=2 size=1 {words}");
    phases(&words, true, 0, &never).join(" | ")
}

#[test]
fn sync_methods_make_the_originals_calls() {
    let file = |n: u32| format!("mkdir ., create f{n}, write 1@0, close");
    let loop_of_two = format!("{}, {}", file(0), file(1));
    let again = |n: u32| format!("reopen f{n}, fsync, close");
    assert_eq!(classic("keep-files sync-method=0"), loop_of_two);
    let inband = loop_of_two.replace("close", "fsync, close");
    assert_eq!(classic("keep-files"), inband);
    for (method, tail) in [
        ("2", format!("sync, {}", again(0))),
        ("3", format!("{}, {}", again(1), again(0))),
        ("4", format!("sync, {}, {}", again(1), again(0))),
        ("5", format!("{}, {}", again(0), again(1))),
        ("6", format!("sync, {}, {}", again(0), again(1))),
    ] {
        let made = classic(&format!("keep-files sync-method={method}"));
        assert_eq!(made, format!("{loop_of_two}, {tail}"), "-S {method}");
        let unlinked = classic(&format!("sync-method={method}"));
        assert_eq!(unlinked, format!("{loop_of_two}, {tail}, unlink f0, unlink f1"), "-S {method}");
    }
}

#[test]
fn files_are_written_in_pieces_and_an_empty_one_has_one_write() {
    let of = |words: &str| {
        let words = format!("dir=/m files=1 sync-method=0 keep-files {words}");
        phases(&words, true, 0, &never).concat()
    };
    assert_eq!(of("size=0"), "mkdir ., create f0, write 0@0, close");
    assert_eq!(of("size=4k"), "mkdir ., create f0, write 4096@0, close");
    assert_eq!(of("size=20000"), "mkdir ., create f0, write 16384@0, write 3616@16384, close");
    assert_eq!(
        of("size=8G write-size=4M").matches("write 4194304@").count(),
        2048,
        "more than 32 bits of bytes"
    );
}

#[test]
fn the_time_hash_stays_in_the_subdirectory_of_the_second() {
    let made = classic("sync-method=0 subdirs=4 iterations=2");
    let iteration = "mkdir 01, create 01/f0, write 1@0, close, mkdir 01, create 01/f1, write 1@0, \
                     close";
    assert_eq!(made, format!("{iteration} | {iteration}"));
    // 60 seconds a call: after 180 the next subdirectory comes.
    let slow = phases("dir=/m files=3 size=1 sync-method=0 subdirs=4 keep-files", true, 60, &never);
    let dirs: Vec<&str> =
        slow[0].split(", ").filter_map(|call| call.strip_prefix("mkdir ")).collect();
    assert_eq!(dirs, ["01", "02", "03"]);
}

#[test]
fn round_robin_goes_on_after_its_files_and_unlinks_within_open_directories() {
    let words = "dir=/m files=3 size=1 sync-method=3 subdirs=4 files-per-subdir=2";
    assert_eq!(
        phases(words, true, 0, &never),
        ["mkdir 01, create 01/f0, write 1@0, close, mkdir 01, create 01/f1, write 1@0, close, \
          mkdir 02, create 02/f2, write 1@0, close, reopen 02/f2, fsync, close, reopen 01/f1, \
          fsync, close, reopen 01/f0, fsync, close, open 01 as 2, unlink 2:f0, unlink 2:f1, open \
          02 as 2, unlink 2:f2"]
    );
}

#[test]
fn native_runs_open_directories_and_unlink_apart() {
    let words = "files=3 size=1 sync-method=reverse subdirs=2 files-per-subdir=2";
    let setup = "mkdir fs_mark-0, open fs_mark-0 as 1, mkdir 1:00, mkdir 1:01";
    assert_eq!(
        phases(words, false, 0, &never),
        [
            setup,
            "open fs_mark-0 as 1, open 1:00 as 2, create 2:f0, write 1@0, close, create 2:f1, \
             write 1@0, close, open 1:01 as 3, create 3:f2, write 1@0, close, reopen 3:f2, fsync, \
             close, reopen 2:f1, fsync, close, reopen 2:f0, fsync, close",
            "open fs_mark-0 as 1, open 1:00 as 2, unlink 2:f0, unlink 2:f1, open 1:01 as 3, \
             unlink 3:f2"
        ]
    );
    let words = "files=1 size=1 sync-method=sync-first iterations=2 unlink=end";
    let iteration =
        "open fs_mark-0 as 1, create 1:f0, write 1@0, close, syncfs, reopen 1:f0, fsync, close";
    assert_eq!(
        phases(words, false, 0, &never),
        ["mkdir fs_mark-0, open fs_mark-0 as 1", iteration, iteration]
    );
}

#[test]
fn full_filesystem_ends_the_run_cleanly() {
    let words = "dir=/m files=4 size=2 write-size=1 until-full sync-method=1";
    let file = |n: u32| format!("mkdir ., create f{n}, write 1@0, write 1@1, fsync, close");
    let of = |full: &dyn Fn(&str, usize) -> bool| phases(words, true, 0, full);
    // In the second write of the second file: it is closed, and nothing is made after it.
    let ended = of(&|call, at| call == "write 1@1" && at > 6);
    assert_eq!(ended, [format!("{}, mkdir ., create f1, write 1@0, write 1@1, close", file(0))]);
    let ended = of(&|call, _| call == "create f2");
    assert_eq!(ended, [format!("{}, {}, mkdir ., create f2", file(0), file(1))]);
    let ended = of(&|call, at| call == "mkdir ." && at > 0);
    assert_eq!(ended, [format!("{}, mkdir .", file(0))]);
    let ended = of(&|call, _| call == "fsync");
    assert_eq!(ended, [file(0)]);
    // Files that are whole are still reopened, and one that finds no room to sync is closed.
    let words = "dir=/m files=4 size=1 until-full sync-method=5";
    let ended = phases(words, true, 0, &|call, _| call == "create f1" || call == "fsync");
    let end = "mkdir ., create f0, write 1@0, close, mkdir ., create f1, reopen f0, fsync, close";
    assert_eq!(ended, [end]);
}

#[test]
fn names_differ_by_worker_and_repeat_with_the_seed() {
    let names = |words: &str| {
        let settings = settings(&format!("files=50 size=1 threads=3 dirs=3 {words}"));
        let job = FsMark.native(&settings).unwrap();
        let mut session = job.begin(&TargetFacts::unknown());
        let mut names = Vec::new();
        let rehearsed = rehearse_session(session.as_mut(), &mut |request| {
            let SessionRequest::Group(mut group, _) = request else { return Ok(()) };
            if group.tasks.len() == 1 {
                return Ok(());
            }
            for task in &mut group.tasks {
                let (_, own) = made(task.script.as_mut(), 0, &|_, _| false);
                assert_eq!(own.len(), 50);
                names.extend(own);
            }
            Err(SessionStop::Ended)
        });
        rehearsed.unwrap();
        names
    };
    let first = names("seed=5");
    assert_eq!(first.iter().collect::<std::collections::HashSet<_>>().len(), 150);
    assert_eq!(first, names("seed=5"));
    assert_ne!(first, names("seed=6"));
}

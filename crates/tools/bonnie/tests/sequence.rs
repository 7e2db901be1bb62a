//! Calls of each test of bonnie++ in order, compared with a model of the original: in memory,
//! without an engine.

#![expect(clippy::unwrap_used, reason = "a test ends at the first surprise")]

use std::collections::BTreeMap;
use std::ffi::CStr;
use std::ops::ControlFlow;

use treering_bonnie::Bonnie;
use treering_engine::{MemoryCaller, MemoryFilesystem, SessionRequest, rehearse, rehearse_session};
use treering_model::{Metric, Scope, TaskTotals};
use treering_script::{
    Call, CreateHow, MachineFacts, OpenHow, Script, Session, Settings, SyncScope, TargetFacts,
    Workload,
};

/// Call as text; file names without their random parts.
fn words(call: &Call<'_>) -> String {
    let text = |name: &CStr| {
        let name = name.to_str().unwrap().to_owned();
        match name.find("000000") {
            Some(0) if name.len() >= 10 => format!("{}~", &name[..10]),
            _ if name.len() >= 10 && !name.starts_with("Bonnie") => {
                format!("~{}", &name[name.len() - 10..])
            }
            _ => name,
        }
    };
    match *call {
        Call::OpenDir { path, .. } => format!("opendir {}", text(path)),
        Call::ReadDir { .. } => "readdir".to_owned(),
        Call::MakeDir { name, .. } => format!("mkdir {}", text(name)),
        Call::RemoveDir { name, .. } => format!("rmdir {}", text(name)),
        Call::Stat { name, .. } | Call::Size { name, .. } => format!("stat {}", text(name)),
        Call::Unlink { path, .. } => format!("unlink {}", text(path)),
        Call::Create { path, how: CreateHow::ExclusiveToRead, .. } => {
            format!("create to read {}", text(path))
        }
        Call::Create { path, how: CreateHow::Exclusive, .. } => format!("create {}", text(path)),
        Call::Open { path, how: OpenHow::ReadWrite, .. } => format!("open rw {}", text(path)),
        Call::Open { path, how: OpenHow::Read, .. } => format!("open {}", text(path)),
        Call::Read { bytes, .. } => format!("read {bytes}"),
        Call::Write { bytes, .. } => format!("write {bytes}"),
        Call::ReadEach { bytes, .. } => format!("read each of {bytes}"),
        Call::WriteEach { bytes, .. } => format!("write each of {bytes}"),
        Call::Seek { position, .. } => format!("seek {position}"),
        Call::Fsync { .. } => "fsync".to_owned(),
        Call::SyncDir { data_only: false, .. } => "fsync dir".to_owned(),
        Call::Link { from, to, .. } => format!("link {} {}", text(from), text(to)),
        Call::Symlink { name, target, .. } => format!("symlink {} {}", text(target), text(name)),
        Call::Close { .. } => "close".to_owned(),
        Call::Sync { scope: SyncScope::Machine } => "sync".to_owned(),
        Call::Sync { scope: SyncScope::Target } => "syncfs".to_owned(),
        ref other => panic!("{other:?} is not bonnie++'s"),
    }
}

/// Calls of a script, each of which takes a microsecond.
fn calls(script: &mut dyn Script, memory: &MemoryFilesystem) -> Vec<String> {
    let mut caller = MemoryCaller::new(memory);
    let mut calls = Vec::new();
    let mut watch = |call: &Call<'_>, _done| {
        calls.push(words(call));
        assert!(calls.len() < 200_000, "it ends");
        ControlFlow::Continue(())
    };
    rehearse(script, &mut caller, 1000, &mut watch).unwrap();
    calls
}

/// Phases by name, with kind, subject and calls of each task.
type PhaseCalls = Vec<(String, Vec<(String, String, Vec<String>)>)>;

struct RunResult {
    phases: PhaseCalls,
    metrics: Vec<Metric>,
    memory: MemoryFilesystem,
    remains: Vec<String>,
    litter: Vec<String>,
}

impl RunResult {
    /// Calls of a test's tasks, in order.
    fn calls_of(&self, test: &str) -> Vec<&str> {
        let (_, tasks) = self.phases.iter().find(|(name, _)| name == test).unwrap();
        let own = tasks.iter().filter(|(kind, _, _)| kind == test);
        own.flat_map(|(_, _, calls)| calls.iter().map(String::as_str)).collect()
    }

    /// Number of calls of a test by their first word.
    fn counts(&self, test: &str) -> BTreeMap<String, usize> {
        counts(self.calls_of(test))
    }

    fn metric(&self, test: &str, name: &str) -> Option<f64> {
        let scope = Scope::Kind(test.to_owned());
        let is_wanted = |metric: &&Metric| metric.name == name && metric.scope == scope;
        self.metrics.iter().find(is_wanted).map(|metric| metric.value)
    }
}

fn counts<'w>(calls: impl IntoIterator<Item = &'w str>) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for call in calls {
        *counts.entry(call.split(' ').next().unwrap().to_owned()).or_default() += 1;
    }
    counts
}

fn perform(session: &mut dyn Session) -> RunResult {
    let memory = MemoryFilesystem::default();
    let mut announced = Vec::new();
    let mut phases = PhaseCalls::new();
    let rehearsed = rehearse_session(session, &mut |request| {
        let (mut group, listener) = match request {
            SessionRequest::Phase(phase) => {
                announced.push(phase.tasks as usize);
                phases.push((phase.name, Vec::new()));
                return Ok(());
            }
            SessionRequest::Group(group, listener) => (group, listener),
        };
        let (_, tasks) = phases.last_mut().unwrap();
        for (worker, task) in (0..).zip(&mut group.tasks) {
            let calls = calls(task.script.as_mut(), &memory);
            tasks.push((task.kind.clone(), task.subject.clone(), calls));
            let totals = TaskTotals {
                worker,
                kind: task.kind.clone(),
                wall_ns: 1_000_000_000,
                counters: task.script.counters(),
                ..TaskTotals::default()
            };
            listener.task_ended(&totals);
        }
        Ok(())
    });
    assert_eq!(rehearsed, Ok(()));
    let own = phases.iter().map(|(name, tasks)| {
        tasks.iter().filter(|(kind, _, _)| name.starts_with(kind.as_str())).count()
    });
    assert_eq!(own.collect::<Vec<_>>(), announced);
    let (remains, litter) = (session.remains(), session.left_paths());
    RunResult { phases, metrics: session.metrics(), memory, remains, litter }
}

fn run(classic: bool, options: &[(&str, &str)]) -> RunResult {
    let mut options: Vec<(String, String)> =
        options.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    options.push(("seed".to_owned(), "7".to_owned()));
    let mut settings = Settings::new(options);
    settings.machine = MachineFacts { process: 4242, ..MachineFacts::default() };
    let job = if classic { Bonnie.classic(&settings) } else { Bonnie.native(&settings) }.unwrap();
    perform(job.begin(&TargetFacts::unknown()).as_mut())
}

fn pairs(counts: &[(&str, usize)]) -> BTreeMap<String, usize> {
    counts.iter().map(|(name, count)| ((*name).to_owned(), *count)).collect()
}

/// Run of 16 MiB, as in section 6 of the reference.
#[test]
fn a_run_of_16_mib_makes_the_calls_of_the_original() {
    let ran = run(true, &[("size", "16"), ("number", "0"), ("byte-size", "0")]);
    let names: Vec<&str> = ran.phases.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["block write", "rewrite", "block read", "seeks"]);
    let chunks = (16 << 20) / 8192;
    let ends = [("close", 1), ("fsync", 1)];
    let with = |more: &[(&str, usize)]| pairs(&[&ends[..], more].concat());
    assert_eq!(ran.counts("block write"), with(&[("create", 1), ("write", chunks)]));
    let rewrite = [("open", 1), ("read", chunks), ("seek", chunks + 1), ("write", chunks)];
    assert_eq!(ran.counts("rewrite"), with(&rewrite));
    let read = [("open", 1), ("read", chunks), ("seek", 1)];
    assert_eq!(ran.counts("block read"), with(&read));
    // Five seekers share 8192 tickets, of which a tenth write.
    let seeks = ran.counts("seeks");
    assert_eq!((seeks["open"], seeks["fsync"], seeks["close"]), (5, 5, 5));
    assert_eq!(seeks["read"], 8192);
    let updates = seeks["write"];
    assert!((680..960).contains(&updates), "{updates}");
    assert_eq!(seeks["seek"], 8192 + updates);
    assert!(ran.memory.snapshot().entries.is_empty(), "the file is removed");
    assert_eq!(ran.litter, ["Bonnie.4242"]);
    assert!(ran.remains.is_empty());
}

#[test]
fn single_bytes_are_moved_a_chunk_at_a_time() {
    let ran = run(true, &[("size", "2:64k:0"), ("number", "0"), ("byte-size", "1")]);
    let each = |word: &str| vec![format!("{word} each of 65536"); 16];
    let wanted = |open: &str, word: &str| {
        [vec![open.to_owned()], each(word), vec!["fsync".into(), "close".into()]].concat()
    };
    assert_eq!(ran.calls_of("per-char write"), wanted("create to read Bonnie.4242", "write"));
    assert_eq!(ran.calls_of("per-char read"), wanted("open rw Bonnie.4242", "read"));
    let (_, tasks) = &ran.phases[1];
    let before = (&*tasks[0].0, tasks[0].2.join(", "));
    assert_eq!(before, ("setup", "unlink Bonnie.4242".to_owned()));
    assert!(ran.phases.iter().all(|(name, _)| name != "seeks"), "none was asked for");
}

#[test]
fn rewrite_seeks_back_for_each_chunk() {
    let ran = run(true, &[("size", "1:512k:20:2"), ("number", "0"), ("byte-size", "0")]);
    let wanted = [
        "open rw Bonnie.4242",
        "seek 0",
        "read 524288",
        "seek 0",
        "write 524288",
        "read 524288",
        "seek 524288",
        "write 524288",
        "fsync",
        "close",
    ];
    assert_eq!(ran.calls_of("rewrite"), wanted);
    let seeks = ran.calls_of("seeks");
    assert!(seeks.iter().filter(|call| call.starts_with("seek")).count() >= 20);
    for (at, call) in seeks.iter().enumerate() {
        assert!(!call.starts_with("write") || seeks[at - 1].starts_with("seek"), "{seeks:?}");
    }
}

#[test]
fn fsync_options_place_the_fsync_calls() {
    let run_with = |more: (&'static str, &'static str)| {
        run(true, &[("size", "1:64k:40:1"), ("number", "1:0:0:3"), ("byte-size", "0"), more])
    };
    let plain = run_with(("quiet", "true"));
    assert!(plain.phases.iter().all(|(_, tasks)| {
        tasks
            .iter()
            .filter(|(kind, _, _)| kind.contains("create") || kind.contains("delete"))
            .all(|(_, _, calls)| !calls.iter().any(|call| call.starts_with("fsync")))
    }));
    let original = run_with(("fsync", "true"));
    assert_eq!(original.counts("block write")["fsync"], 1);
    assert_eq!(original.counts("rewrite")["fsync"], 1);
    let seeks = original.counts("seeks");
    assert_eq!(seeks["fsync"], seeks["write"] + 1);
    assert_eq!(original.counts("sequential create")["fsync"], 2 * 1024);
    assert_eq!(
        original.calls_of("sequential create")[2..6],
        ["create 0000000000~", "fsync", "fsync dir", "close"]
    );
    assert_eq!(original.counts("random delete")["fsync"], 1024);
    let each = run_with(("fsync-writes", "true"));
    assert_eq!(each.counts("block write")["fsync"], 16 + 1);
    assert_eq!(each.counts("rewrite")["fsync"], 16 + 1);
}

#[test]
fn file_tests_make_the_calls_of_the_original() {
    let ran = run(true, &[("size", "0"), ("number", "1:6000:5000:3:4k")]);
    let create = ran.counts("sequential create");
    assert_eq!((create["create"], create["write"], create["close"]), (1024, 2048, 1024));
    assert_eq!((create["opendir"], create["syncfs"]), (4, 1));
    let calls = ran.calls_of("sequential create");
    assert_eq!(calls[..3], ["opendir Bonnie.4242", "opendir 00000", "create 0000000000~"]);
    assert_eq!(calls[3], "write 4096");
    assert_eq!(*calls.last().unwrap(), "syncfs");
    assert_eq!(calls[1 + 1 + 4 * 342], "opendir 00001", "342 files in the first one");
    let (_, tasks) = &ran.phases[0];
    let made = tasks[0].2.join(", ");
    assert_eq!(
        made,
        "mkdir Bonnie.4242, opendir Bonnie.4242, mkdir 00000, mkdir 00001, mkdir 00002"
    );
    for test in ["sequential stat", "random stat"] {
        let stat = ran.counts(test);
        let seen = (stat["stat"], stat["open"], stat["read"], stat["close"]);
        assert_eq!(seen, (1024, 1024, 2048, 1024), "{test}");
    }
    for (test, dirs) in [("sequential delete", 3), ("random delete", 3)] {
        let delete = ran.counts(test);
        assert_eq!((delete["unlink"], delete["rmdir"], delete["syncfs"]), (1024, dirs + 1, 1));
    }
    let removed = ran.calls_of("sequential delete");
    let at = removed.iter().position(|call| *call == "rmdir 00000").unwrap();
    assert_eq!(removed[at + 1], "opendir 00001");
    let end: Vec<&str> = removed.iter().rev().take(3).copied().collect();
    assert_eq!(end, ["syncfs", "rmdir Bonnie.4242", "rmdir 00002"]);
    let end: Vec<&str> = ran.calls_of("random delete").into_iter().rev().take(5).collect();
    let wanted = ["syncfs", "rmdir Bonnie.4242", "rmdir 00002", "rmdir 00001", "rmdir 00000"];
    assert_eq!(end, wanted);
    let mut names: Vec<&str> =
        ran.calls_of("random stat").into_iter().filter(|call| call.starts_with("stat")).collect();
    let sorted = names.clone();
    names.sort_unstable();
    assert_ne!(names, sorted, "the order is random");
    names.dedup();
    assert_eq!(names.len(), 1024, "and each file comes once");
    assert!(ran.memory.snapshot().entries.is_empty());
}

#[test]
fn empty_files_are_stat_only() {
    let ran = run(true, &[("size", "0"), ("number", "1"), ("sync-scope", "machine")]);
    let names: Vec<&str> = ran.phases.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names[..3], ["sequential create", "sequential stat", "sequential delete"]);
    assert_eq!(names[3..], ["random create", "random stat", "random delete"]);
    let (create, stat) = (ran.counts("random create"), ran.counts("random stat"));
    let wanted = [("opendir", 1), ("create", 1024), ("close", 1024), ("sync", 1)];
    assert_eq!(create, pairs(&wanted));
    assert_eq!(stat, pairs(&[("opendir", 1), ("stat", 1024)]));
    let made: Vec<&str> =
        ran.calls_of("random create").into_iter().skip(1).step_by(2).take(3).collect();
    assert_eq!(made, ["create ~0000000000", "create ~0000000001", "create ~0000000002"]);
}

#[test]
fn links_are_made_to_the_first_file() {
    for (max, word) in [("-1", "link"), ("-2", "symlink")] {
        let number = format!("1:{max}:0:2");
        let ran = run(true, &[("size", "0"), ("number", &number), ("fsync", "true")]);
        let create = ran.counts("sequential create");
        assert_eq!((create["create"], create[word], create["close"]), (1, 1023, 1), "{word}");
        assert_eq!(create["fsync"], 1 + 1024, "{word}");
        let links: Vec<&str> = ran.calls_of("sequential create");
        assert!(links.contains(&&*format!("{word} 0000000000~ 00000003ff~")), "{word}");
        for test in ["sequential stat", "random stat"] {
            assert_eq!(ran.counts(test)["stat"], 1024, "{word}");
        }
        assert!(ran.memory.snapshot().entries.is_empty(), "{word}");
    }
}

#[test]
fn runs_repeat_the_same_calls_and_copies_have_separate_files() {
    let options = [("size", "1:64k:40:2"), ("number", "1"), ("runs", "2"), ("copies", "2")];
    let ran = run(true, &options);
    assert_eq!(ran.phases.len(), 24);
    let (first, second) = ran.phases.split_at(12);
    for ((name, calls), (other_name, other_calls)) in first.iter().zip(second) {
        assert_eq!(calls, other_calls, "{name}");
        assert_eq!(name.replace(" 1", " 2"), *other_name);
    }
    let creates = &first[6].1;
    let subjects: Vec<&str> = creates.iter().map(|(_, subject, _)| subject.as_str()).collect();
    assert_eq!(subjects, ["Bonnie.4242", "Bonnie.4242.1"].repeat(creates.len() / 2));
    assert_eq!(first[5].1.iter().filter(|(kind, _, _)| kind == "seeks").count(), 4);
    assert_eq!(ran.litter, ["Bonnie.4242", "Bonnie.4242.1"]);
    // The work is that of both copies, twice, in the two seconds of both runs.
    assert_eq!(ran.metric("block write", "mib_per_second"), Some(2.0));
}

#[test]
fn natively_each_copy_has_a_directory_and_the_same_calls() {
    let options = [("size", "1M"), ("chunk", "64K"), ("files", "100"), ("max-size", "100")];
    let ran = run(false, &options);
    assert_eq!(ran.phases.len(), 10, "no single bytes");
    let (_, tasks) = &ran.phases[0];
    assert_eq!(tasks[0].2, ["mkdir bonnie-0"]);
    let write = ran.calls_of("block write");
    assert_eq!(write[..2], ["opendir bonnie-0", "create to read Bonnie"]);
    assert_eq!(write.len(), 2 + 16 + 2);
    let create = ran.calls_of("sequential create");
    let wanted = ["opendir bonnie-0", "opendir Bonnie", "create 0000000000~", "write 100", "close"];
    assert_eq!(create[..5], wanted);
    assert_eq!(ran.remains, ["bonnie-0"]);
    assert!(ran.litter.is_empty());
    let left: Vec<_> = ran.memory.snapshot().entries.into_iter().map(|(path, _, _)| path).collect();
    assert_eq!(
        left,
        [std::path::PathBuf::from("bonnie-0")],
        "but for the directory nothing is left"
    );
    assert_eq!(ran.metric("block write", "latency_ns_max"), None, "not every call is timed");
    assert_eq!(ran.metric("sequential create", "files_per_second"), Some(100.0));
    assert!(ran.metric("block write", "rate_uncertainty_percent").is_some_and(|p| p < 1e-6));
}

#[test]
fn single_tests_get_the_files_they_need() {
    let common = [("size", "1M"), ("chunk", "64K"), ("files", "50"), ("dirs", "4"), ("seeks", "9")];
    for test in [
        "rewrite",
        "block-read",
        "seeks",
        "sequential-stat",
        "sequential-delete",
        "random-stat",
        "random-delete",
        "random-create",
        "block-write",
    ] {
        let ran = run(false, &[&common[..], &[("tests", test)]].concat());
        assert_eq!(ran.phases.len(), 1, "{test}");
        assert_eq!(ran.memory.snapshot().entries.len(), 1, "{test} clears up");
        let name = test.replace('-', " ");
        assert!(!ran.calls_of(&name).is_empty(), "{test}");
    }
    let both = [&common[..], &[("tests", "sequential-stat,random-stat")]].concat();
    assert_eq!(run(false, &both).memory.snapshot().entries.len(), 1);
}

#[test]
fn classic_latencies_cover_whole_loop_bodies() {
    let ran = run(true, &[("size", "1:64k:40:1"), ("number", "1:100"), ("byte-size", "1")]);
    let latency = |test| ran.metric(test, "latency_ns_max");
    assert_eq!(latency("per-char write"), Some(1000.0));
    assert_eq!(latency("rewrite"), Some(3000.0));
    assert_eq!(latency("seeks"), Some(4000.0));
    assert_eq!(latency("sequential create"), Some(3000.0));
    assert_eq!(latency("random stat"), Some(4000.0));
    assert_eq!(latency("random delete"), Some(1000.0));
    let closing = ran.metric("block write", "final_sync_seconds").unwrap();
    assert!((closing - 2e-6).abs() < 1e-12);
}

//! Random loads of dbench: played in memory and on a real disk, by threads and by processes, they
//! leave the same files; and a generated load plays without deviations, pass after pass.

#![expect(clippy::unwrap_used, reason = "a test ends at the first surprise")]

use std::fmt::Write as _;

use proptest::prelude::{ProptestConfig, Strategy, any, prop_oneof, proptest};
use treering_dbench::Dbench;
use treering_dbench::generate;
use treering_engine::oracle::TreeSnapshot;
use treering_engine::{
    EngineError, EngineOptions, LatencyMode, MemoryFilesystem, PayloadKind, RunOptions,
    RunProgress, RunSessions, StopFlag, Target,
};
use treering_model::Metric;
use treering_script::{EntryKind, Settings, TargetFacts, Workload};
use treering_testkit::temp_dir;

use treering_testkit::{TaskCollector, assert_was_foreseen};

/// Names that operations draw from: some are directories, one differs in case only.
const NAMES: [&str; 8] = [
    r"\clients",
    r"\clients\client1",
    r"\clients\client1\a",
    r"\clients\client1\b.txt",
    r"\clients\client1\B.TXT",
    r"\clients\client1\d",
    r"\clients\client1\d\a",
    r"\clients\client1\d\*",
];

fn name() -> impl Strategy<Value = &'static str> {
    (0..NAMES.len()).prop_map(|at| NAMES[at])
}

/// Line of an operation, whose success depends on the filesystem.
fn line() -> impl Strategy<Value = String> {
    let handle = || 1..6_u32;
    prop_oneof![
        4 => (name(), 0..3_u32, 0..6_u32, handle()).prop_map(|(name, options, how, handle)| {
            format!(r#"NTCreateX "{name}" {} {how} {handle} *"#, options / 2)
        }),
        2 => handle().prop_map(|handle| format!("Close {handle} *")),
        4 => (handle(), 0..9000_u32, 0..9000_u32)
            .prop_map(|(handle, at, size)| format!("WriteX {handle} {at} {size} {size} *")),
        2 => (handle(), 0..9000_u32, 0..9000_u32)
            .prop_map(|(handle, at, size)| format!("ReadX {handle} {at} {size} {size} *")),
        1 => handle().prop_map(|handle| format!("Flush {handle} *")),
        1 => handle().prop_map(|handle| format!("SET_FILE_INFORMATION {handle} 1 *")),
        1 => handle().prop_map(|handle| format!("QUERY_FILE_INFORMATION {handle} 1 *")),
        1 => (handle(), any::<bool>()).prop_map(|(handle, locks)| {
            format!("{} {handle} 0 10 *", if locks { "LockX" } else { "UnlockX" })
        }),
        1 => name().prop_map(|name| format!(r#"Unlink "{name}" *"#)),
        1 => (name(), name()).prop_map(|(from, to)| format!(r#"Rename "{from}" "{to}" *"#)),
        2 => name().prop_map(|name| format!(r#"Mkdir "{name}" *"#)),
        1 => name().prop_map(|name| format!(r#"Rmdir "{name}" *"#)),
        1 => name().prop_map(|name| format!(r#"Deltree "{name}" *"#)),
        1 => name().prop_map(|name| format!(r#"QUERY_PATH_INFORMATION "{name}" 1 *"#)),
        1 => name().prop_map(|name| format!(r#"FIND_FIRST "{name}" 1 3 1 *"#)),
        1 => (0..3_u32).prop_map(|times| format!("REPEAT {times}\nQUERY_FS_INFORMATION 1 *")),
    ]
}

fn load() -> impl Strategy<Value = String> {
    let lines = proptest::collection::vec(line(), 1..60);
    (lines, any::<bool>()).prop_map(|(lines, begins)| {
        let mut text = String::new();
        if begins {
            // Else nearly everything fails.
            let _ = writeln!(text, r#"Mkdir "\clients" *"#);
            let _ = writeln!(text, r#"Mkdir "\clients\client1" *"#);
            let _ = writeln!(text, r#"Mkdir "\clients\client1\d" *"#);
        }
        lines.iter().for_each(|line| text += &format!("{line}\n"));
        text
    })
}

/// Plays a load in classic mode at a place; returns the error if it ended early.
fn play<P: RunSessions + ?Sized>(
    text: &str,
    options: &[(&str, &str)],
    place: &P,
) -> Option<String> {
    let dir = temp_dir();
    let path = dir.path().join("load");
    std::fs::write(&path, text).unwrap();
    let named = [("nprocs", "2"), ("loadfile", path.to_str().unwrap()), ("run-once", "true")];
    let settings = named.iter().chain(options);
    let settings = settings.map(|&(name, value)| (name.to_owned(), value.to_owned())).collect();
    let job = Dbench.classic(&Settings::new(settings)).unwrap();
    perform(job.as_ref(), place).failure
}

struct RunOutcome {
    metrics: Vec<Metric>,
    cautions: Vec<String>,
    failure: Option<String>,
}

fn perform<P: RunSessions + ?Sized>(job: &dyn treering_script::Job, place: &P) -> RunOutcome {
    let mut session = job.begin(&TargetFacts::unknown());
    let options = EngineOptions::new(LatencyMode::All, PayloadKind::Zeros, 1);
    let (progress, stop) = (RunProgress::new(), StopFlag::new());
    let mut tasks = TaskCollector::default();
    let ended =
        place.run(session.as_mut(), RunOptions::new(&options, &mut tasks, &progress, &stop));
    let failure = match ended {
        Ok(()) => None,
        // A write to a directory ends it, as in the original.
        Err(EngineError::Session(failure)) => Some(failure.to_string()),
        Err(error) => panic!("{error}"),
    };
    let cautions = session.cautions().iter().map(|caution| caution.message.clone()).collect();
    assert_was_foreseen(job, &session.metrics());
    RunOutcome { metrics: session.metrics(), cautions, failure }
}

/// Options that make clients take turns: when concurrent clients create the same directory, the one
/// that succeeds is not determined.
const IN_TURN: [(&str, &str); 2] = [("nprocs", "1"), ("clients-per-process", "2")];

/// Replaces the sizes of directories, which differ between filesystems.
fn leveled(snapshot: TreeSnapshot) -> TreeSnapshot {
    let level = |(path, kind, bytes)| match kind {
        EntryKind::Directory => (path, kind, 0),
        _ => (path, kind, bytes),
    };
    TreeSnapshot::new(snapshot.entries.into_iter().map(level).collect())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn loads_leave_equal_trees_in_memory_and_on_disk(text in load(), cleans_up in any::<bool>()) {
        let skip = if cleans_up { "false" } else { "true" };
        let mut snapshots = Vec::new();
        for clients in ["threads", "processes"] {
            let more = [("skip-cleanup", skip), ("clients-as", clients)];
            let options = [&IN_TURN[..], &more].concat();
            if clients == "threads" {
                let memory = MemoryFilesystem::default();
                let failure = play(&text, &options, &memory);
                snapshots.push((failure, leveled(memory.snapshot())));
            }
            let real = temp_dir();
            let failure = play(&text, &options, &Target::open(real.path()).unwrap());
            let snapshot = leveled(TreeSnapshot::from_directory(real.path()).unwrap());
            snapshots.push((failure, snapshot));
        }
        assert_eq!(snapshots[0], snapshots[1]);
        assert_eq!(snapshots[1], snapshots[2]);
    }
}

#[test]
fn generated_load_plays_repeatedly_without_unexpected_outcomes() {
    let dir = temp_dir();
    let path = dir.path().join("load");
    let load = generate::text(5, 1);
    // The last line removes the files.
    let lines = load.iter().filter(|byte| **byte == b'\n').count() - 1;
    std::fs::write(&path, load).unwrap();
    let settings = |words: &[(&str, &str)]| {
        let words = words.iter().map(|&(name, value)| (name.to_owned(), value.to_owned()));
        Settings::new(words.collect())
    };
    let (file, lines) = (path.to_str().unwrap(), format!("601-{lines}"));
    for words in [
        // All of it, and its blocks alone after the part that makes the files.
        vec![("loadfile", file), ("passes", "2"), ("clients", "2")],
        vec![("loadfile", file), ("passes", "2"), ("fill-lines", "1-600"), ("lines", &lines)],
        vec![("passes", "2"), ("clients", "2"), ("blocks", "2")],
    ] {
        let job = Dbench.native(&settings(&words)).unwrap();
        let ran = perform(job.as_ref(), &MemoryFilesystem::default());
        let reported: Vec<&String> =
            ran.cautions.iter().filter(|message| message.contains("otherwise")).collect();
        assert!(reported.is_empty(), "{words:?}: {reported:?}");
        let passes = ran.metrics.iter().find(|metric| metric.name == "passes").unwrap();
        let clients = if words.contains(&("clients", "2")) { 4.0 } else { 8.0 };
        assert_eq!(passes.value, clients, "{words:?}");
    }
}

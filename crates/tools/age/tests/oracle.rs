//! Aging leaves the files that the generator drew, in memory and on a real disk, and a seed gives
//! the same result in both.

#![expect(clippy::unwrap_used, reason = "a test ends at the first surprise")]

use std::fmt::Write as _;
use std::fs;

use treering_age::{AgeWorkload, profiles};
use treering_engine::oracle::TreeSnapshot;
use treering_engine::{
    EngineOptions, LatencyMode, MemoryFilesystem, PayloadKind, RunOptions, RunProgress,
    RunSessions, StopFlag, Target,
};
use treering_model::{
    Fact, FileLayout, LayoutFullness, Op, SinkError, TrialEvent, TrialSink, UsedBytes,
};
use treering_script::{EntryKind, Job, LayoutFeed, Session, Settings, TargetFacts, Workload};
use treering_testkit::temp_dir;

use treering_testkit::{TaskCollector, assert_decides_as_foreseen};

fn job(options: &[(&str, &str)]) -> Box<dyn Job> {
    let options = options.iter().map(|&(name, value)| (name.to_owned(), value.to_owned()));
    AgeWorkload.native(&Settings::new(options.collect())).unwrap()
}

fn small(profile: &str, until: &str) -> Box<dyn Job> {
    job(&[("profile", profile), ("until", until), ("live", "4M"), ("seed", "5")])
}

fn options() -> EngineOptions {
    EngineOptions::new(LatencyMode::Off, PayloadKind::Native { compressibility: 0 }, 1)
}

fn play(session: &mut dyn Session, place: &impl RunSessions) -> TaskCollector {
    let mut tasks = TaskCollector::default();
    let (progress, stop) = (RunProgress::new(), StopFlag::new());
    place.run(session, RunOptions::new(&options(), &mut tasks, &progress, &stop)).unwrap();
    tasks
}

fn fact(facts: &[Fact], name: &str) -> String {
    facts.iter().find(|fact| fact.name == name).map(|fact| fact.value.clone()).unwrap()
}

/// Profiles that the generator executes.
fn of_the_generator() -> impl Iterator<Item = &'static str> {
    let others = ["kernel-tree", "shuffled", "shuffled-clone", "source-history"];
    profiles().map(|(name, _)| name).filter(move |name| !others.contains(name))
}

#[test]
fn equal_seeds_leave_equal_files_in_memory_and_on_disk() {
    for profile in of_the_generator() {
        let job = small(profile, "operations=120");
        let memory = MemoryFilesystem::default();
        let mut session = job.begin(&TargetFacts::unknown());
        let tasks = play(session.as_mut(), &memory);
        assert_decides_as_foreseen(job.as_ref(), &session.metrics());
        assert_eq!(fact(&session.facts(), "age.operations"), "120", "{profile}");
        assert_eq!(fact(&session.facts(), "age.stopped_by"), "operations=120");
        assert!(tasks.0.iter().any(|task| task.kind == "age"), "{profile}");
        let place = temp_dir();
        let target = Target::open(place.path()).unwrap();
        let mut again = job.begin(&TargetFacts::unknown());
        play(again.as_mut(), &target);
        for name in ["age.fingerprint", "age.written_bytes", "age.drawn"] {
            assert_eq!(fact(&session.facts(), name), fact(&again.facts(), name), "{profile}");
        }
        let (on_disk, wanted) =
            (TreeSnapshot::from_directory(place.path()).unwrap(), memory.snapshot());
        assert_eq!(on_disk, wanted, "{profile}");
        let footprint = job.footprint(&TargetFacts::unknown());
        let files = wanted.entries.iter().filter(|(_, kind, _)| *kind == EntryKind::File).count();
        assert!(files as u64 <= footprint.peak_files * 2 + 300, "{profile}: {files}");
        assert_eq!(session.remains(), ["age-0"]);
    }
}

#[test]
fn fast_forward_leaves_equal_and_fully_written_files() {
    for profile in of_the_generator() {
        let mut plain = None;
        for fast_forward in ["false", "true"] {
            let options =
                [("profile", profile), ("until", "operations=150"), ("live", "4M"), ("seed", "5")];
            let mut options = options.to_vec();
            options.extend(
                [("fast-forward", fast_forward)].iter().filter(|option| option.1 == "true"),
            );
            let job = job(&options);
            let memory = MemoryFilesystem::default();
            let mut session = job.begin(&TargetFacts::unknown());
            let tasks = play(session.as_mut(), &memory);
            let facts = session.facts();
            let outcome = [fact(&facts, "age.fingerprint"), fact(&facts, "age.written_bytes")];
            let is_written = tasks.0.iter().any(|task| task.kind == "write");
            assert_eq!(is_written, fast_forward == "true", "{profile}");
            let outcome = (memory.snapshot(), outcome);
            assert_eq!(*plain.get_or_insert_with(|| outcome.clone()), outcome, "{profile}");
        }
    }
}

/// Total bytes of all calls of a kind.
fn bytes(tasks: &TaskCollector, op: Op) -> u64 {
    let ops = tasks.0.iter().flat_map(|task| &task.ops);
    ops.filter(|totals| totals.op == op).map(|totals| totals.bytes).sum()
}

#[test]
fn only_files_deleted_later_are_allocated_if_the_future_is_known() {
    let place = temp_dir();
    let (trees, history) = (place.path().join("trees.toml"), place.path().join("history"));
    let text = "about = \"a\"\nsource = \"a\"\nworkload = \"compilebench\"\n[options]\n\
                dataset = \"linux-6.1-small\"\ninitial-dirs = \"2\"\norder = \"sorted\"\n\
                mix = \"patch=3,compile=3,clean=3,delete=1,create=1\"\n";
    fs::write(&trees, text).unwrap();
    let mut text = "treering history 1\n".to_owned();
    for step in 0..200_u32 {
        let file = step % 31;
        writeln!(text, "step\nw {} d{}/f{file}", 100 + step * 40, file % 7).unwrap();
        if step % 9 == 8 {
            writeln!(text, "d d{}/f{file}", file % 7).unwrap();
        }
    }
    fs::write(&history, text).unwrap();
    let (trees, history) = (trees.to_str().unwrap(), history.to_str().unwrap());
    // The first and third run end as foreseen, the others do not.
    for (profile, until, is_foreseen) in [
        (trees, "operations=25", true),
        (trees, "written=200M", false),
        ("source-history", "operations=150", true),
        ("source-history", "written=400K", false),
    ] {
        let runs = ["false", "true"].map(|fast_forward| {
            let mut options = vec![("profile", profile), ("until", until), ("seed", "5")];
            if profile == "source-history" {
                options.extend([("history", history), ("measure-every", "5")]);
            }
            options.push(("fast-forward", fast_forward));
            let job = job(&options);
            let memory = MemoryFilesystem::default();
            let mut session = job.begin(&TargetFacts::unknown());
            let tasks = play(session.as_mut(), &memory);
            let facts = session.facts();
            let names = ["age.fingerprint", "age.written_bytes", "age.operations"];
            (memory.snapshot(), names.map(|name| fact(&facts, name)), tasks)
        });
        let [(plain, plain_facts, written), (forward, forward_facts, tasks)] = runs;
        assert_eq!(plain_facts, forward_facts, "{profile} {until}");
        assert_eq!(plain, forward, "{profile} {until}");
        let allocated = bytes(&written, Op::Write) - bytes(&tasks, Op::Write);
        assert!(allocated > 0 || !is_foreseen, "{profile} {until}");
        let is_written = tasks.0.iter().any(|task| task.kind == "write");
        assert_eq!(is_written, !is_foreseen, "{profile} {until}");
    }
}

#[test]
fn the_first_rule_that_holds_ends_the_run() {
    let job = job(&[
        ("profile", "round-robin"),
        ("until", "operations=100000"),
        ("until", "written=3584K"),
        ("measure-every", "64"),
    ]);
    let mut session = job.begin(&TargetFacts::unknown());
    play(session.as_mut(), &MemoryFilesystem::default());
    let facts = session.facts();
    assert_eq!(fact(&facts, "age.stopped_by"), "written=3670016");
    // Ten files of 256 KiB and 256 appends of 4 KiB, four steps.
    assert_eq!(fact(&facts, "age.operations"), "256");
    assert!(session.cautions().is_empty());
}

#[test]
fn layout_rules_without_layout_measurements_fail_the_run() {
    let job = small("mail", "steady");
    let mut session = job.begin(&TargetFacts::unknown());
    assert!(session.layouts().is_some());
    let (progress, stop) = (RunProgress::new(), StopFlag::new());
    let mut tasks = TaskCollector::default();
    let memory = MemoryFilesystem::default();
    let ran =
        memory.run(session.as_mut(), RunOptions::new(&options(), &mut tasks, &progress, &stop));
    let failure = ran.unwrap_err().to_string();
    assert!(failure.contains("layout cannot be measured"), "{failure}");
}

/// Measures the same layout after every task.
struct ConstantLayoutSink(LayoutFeed);

impl TrialSink for ConstantLayoutSink {
    fn accept(&mut self, event: &TrialEvent) -> Result<(), SinkError> {
        if let TrialEvent::TaskEnded(_) = event {
            let data = UsedBytes { used_bytes: 50, total_bytes: 100 };
            let fullness = LayoutFullness { data, ..LayoutFullness::default() };
            self.0.push(FileLayout { fullness, ..FileLayout::default() });
        }
        Ok(())
    }
}

#[test]
fn unreachable_fullness_fails_the_run() {
    let job = small("mail", "full=90%");
    let mut session = job.begin(&TargetFacts::unknown());
    let mut sink = ConstantLayoutSink(session.layouts().unwrap());
    let (progress, stop) = (RunProgress::new(), StopFlag::new());
    let memory = MemoryFilesystem::default();
    let ran =
        memory.run(session.as_mut(), RunOptions::new(&options(), &mut sink, &progress, &stop));
    let failure = ran.unwrap_err().to_string();
    assert!(failure.contains("--until full=90% does not come"), "{failure}");
}

#[test]
fn endless_runs_and_unknown_profiles_are_refused() {
    let refused = |options: &[(&str, &str)]| {
        let options = options.iter().map(|&(name, value)| (name.to_owned(), value.to_owned()));
        AgeWorkload.native(&Settings::new(options.collect())).err().map(|error| error.message)
    };
    assert!(refused(&[("profile", "mail")]).unwrap().contains("--until is missing"));
    assert!(refused(&[("profile", "paper")]).unwrap().contains("no profile 'paper'"));
    assert!(refused(&[("profile", "/nowhere/x.toml")]).unwrap().contains("nowhere"));
    assert_eq!(refused(&[("profile", "shuffled")]), None);
    let kernel = [("profile", "kernel-tree"), ("until", "operations=3"), ("live", "1G")];
    assert!(refused(&kernel).unwrap().contains("--live has no effect"));
}

//! Profiles with maintenance: what is done, in which order, and by which filesystems.

#![expect(clippy::unwrap_used, reason = "a test ends at the first surprise")]

use std::fs;
use std::path::Path;

use treering_age::AgeWorkload;
use treering_engine::oracle::TreeSnapshot;
use treering_engine::{
    EngineOptions, LatencyMode, MemoryFilesystem, PayloadKind, RunOptions, RunProgress,
    RunSessions, StopFlag, Target,
};
use treering_model::{Fact, Metric};
use treering_script::{ConfigError, Job, Session, Settings, TargetFacts, Workload};
use treering_testkit::{LoopFs, TaskCollector, require_loop_fs, require_root, temp_dir};

const FILES: &str = "
about = \"a\"
measure-every = 20
[[files]]
name = \"heap\"
count = 8
size = \"64KiB\"
[[operation]]
files = \"heap\"
do = \"overwrite\"
bytes = \"4KiB\"
weight = 3
[[operation]]
files = \"heap\"
do = \"delete\"
[[operation]]
files = \"heap\"
do = \"create\"
";

fn job(place: &Path, text: &str, more: &[(&str, &str)]) -> Result<Box<dyn Job>, ConfigError> {
    let profile = place.join("profile.toml");
    fs::write(&profile, format!("{FILES}{text}")).unwrap();
    let options = [("profile", profile.to_str().unwrap()), ("until", "operations=100")];
    let options = options.iter().chain(more);
    let options = options.map(|&(name, value)| (name.to_owned(), value.to_owned()));
    AgeWorkload.native(&Settings::new(options.collect()))
}

/// Runs a session; returns its tasks, and its error if it failed.
fn play(session: &mut dyn Session, place: &impl RunSessions) -> (TaskCollector, Option<String>) {
    let mut tasks = TaskCollector::default();
    let (progress, stop) = (RunProgress::new(), StopFlag::new());
    let options =
        EngineOptions::new(LatencyMode::Off, PayloadKind::Native { compressibility: 0 }, 1);
    let ran = place.run(session, RunOptions::new(&options, &mut tasks, &progress, &stop));
    (tasks, ran.err().map(|error| error.to_string()))
}

fn fact(facts: &[Fact], name: &str) -> String {
    facts.iter().find(|fact| fact.name == name).map(|fact| fact.value.clone()).unwrap()
}

fn value(metrics: &[Metric], name: &str) -> Option<f64> {
    metrics.iter().find(|metric| metric.full_name() == name).map(|metric| metric.value)
}

#[test]
fn maintenance_is_due_every_so_many_operations_and_at_the_end() {
    let place = temp_dir();
    let text = "
[[maintenance]]
do = \"read\"
every = 40
share = \"50%\"
[[maintenance]]
do = \"defrag\"
files = \"heap\"
reads = true
";
    let job = job(place.path(), text, &[]).unwrap();
    let memory = MemoryFilesystem::default();
    let mut session = job.begin(&TargetFacts::unknown());
    let (tasks, error) = play(session.as_mut(), &memory);
    assert_eq!(error, None);
    let kinds: Vec<&str> = tasks.0.iter().map(|task| task.kind.as_str()).collect();
    let age = ["age", "age"];
    let read = [&age[..], &["read"]].concat();
    let (before, after) = (["read before defrag heap"; 3], ["read after defrag heap"; 3]);
    let last = [&["age"], &before[..], &["defrag heap"], &after].concat();
    assert_eq!(kinds, [&["fill", "fill"], &read[..], &read, &last].concat());
    let of_one = 4.0 * 65536.0;
    assert_eq!(value(&session.metrics(), "phase read/maintenance_bytes"), Some(of_one));
    let before = value(&session.metrics(), "phase defrag heap/read_before_seconds");
    assert!(before.is_some());
    let foreseen = job.foreseen_metrics(&TargetFacts::unknown());
    let names: Vec<String> = foreseen.iter().map(Metric::full_name).collect();
    assert!(session.metrics().iter().all(|metric| names.contains(&metric.full_name())));
    assert_eq!(tasks.0.len() as u64, job.tasks(&TargetFacts::unknown()));
}

#[test]
fn maintenance_changes_the_fingerprint_and_no_operation() {
    let place = temp_dir();
    let prints = ["", "[[maintenance]]\ndo = \"read\"", "[[maintenance]]\ndo = \"defrag\""];
    let run = |text: &str| {
        let memory = MemoryFilesystem::default();
        let job = job(place.path(), text, &[]).unwrap();
        let mut session = job.begin(&TargetFacts::unknown());
        assert_eq!(play(session.as_mut(), &memory).1, None);
        (fact(&session.facts(), "age.fingerprint"), memory.snapshot())
    };
    let ran = prints.map(run);
    assert_ne!(ran[0].0, ran[1].0);
    assert_ne!(ran[0].1.entries.len(), 0);
    assert!(ran.iter().all(|(_, files)| *files == ran[0].1));
    assert_eq!(run(prints[2]).0, ran[2].0);
}

#[test]
fn copies_and_holes_are_the_same_in_memory_and_on_disk() {
    let place = temp_dir();
    let text = "
[[operation]]
files = \"heap\"
do = \"copy\"
weight = 2
[[operation]]
files = \"heap\"
do = \"punch\"
bytes = \"8KiB\"
";
    let job = job(place.path(), text, &[]).unwrap();
    let (memory, target_place) = (MemoryFilesystem::default(), temp_dir());
    let target = Target::open(target_place.path()).unwrap();
    let mut session = job.begin(&TargetFacts::unknown());
    assert_eq!(play(session.as_mut(), &memory).1, None);
    let (tasks, error) = play(job.begin(&TargetFacts::unknown()).as_mut(), &target);
    if tasks.0.len() < 2 {
        assert!(error.unwrap().contains("cannot do what the profile needs: punch"));
        return;
    }
    let on_disk = TreeSnapshot::from_directory(target_place.path()).unwrap();
    assert_eq!(on_disk, memory.snapshot());
}

#[test]
fn maintenance_that_does_not_fit_the_run_is_refused_before_it() {
    let place = temp_dir();
    let refused = |text: &str, more: &[(&str, &str)]| {
        job(place.path(), text, more).map(drop).unwrap_err().message
    };
    let trim = "[[maintenance]]\ndo = \"trim\"\nevery = 30";
    assert!(refused(trim, &[]).contains("every 30 is not a multiple of the 20 operations"));
    let trim = "[[maintenance]]\ndo = \"trim\"";
    assert!(refused(trim, &[("fast-forward", "true")]).contains("--fast-forward"));
    let copy = "[[operation]]\nfiles = \"heap\"\ndo = \"copy\"";
    assert!(refused(copy, &[("fast-forward", "true")]).contains("--fast-forward"));
}

/// Text of all maintenance that a filesystem with reflinks can do.
const SHARING: &str = "
[[operation]]
files = \"heap\"
do = \"copy\"
[[operation]]
files = \"heap\"
do = \"reflink\"
[[operation]]
files = \"heap\"
do = \"punch\"
bytes = \"8KiB\"
[[maintenance]]
do = \"dedupe\"
every = 40
reads = true
[[maintenance]]
do = \"defrag\"
every = 40
[[maintenance]]
do = \"trim\"
";

#[test]
fn a_filesystem_that_cannot_do_what_a_profile_needs_is_named_before_the_first_operation() {
    require_root!();
    require_loop_fs!("ext4");
    let (mounted, place) = (LoopFs::new("ext4", 100), temp_dir());
    let target = Target::open(mounted.path()).unwrap();
    for (text, what) in [
        (SHARING, "dedupe"),
        ("[[maintenance]]\ndo = \"snapshot\"\nkeep = 1", "snapshot"),
        ("[[operation]]\nfiles = \"heap\"\ndo = \"reflink\"", "reflink"),
    ] {
        let job = job(place.path(), text, &[]).unwrap();
        let mut session = job.begin(&target.facts().unwrap());
        let (_, error) = play(session.as_mut(), &target);
        let error = error.unwrap();
        assert!(error.contains("ext4") && error.contains(what), "{error}");
        assert!(!mounted.path().join("age-0").exists());
    }
}

#[test]
fn copies_share_blocks_again_after_deduplication() {
    require_root!();
    for kind in ["xfs", "btrfs"] {
        require_loop_fs!(kind);
        let (mounted, place) = (LoopFs::new(kind, 400), temp_dir());
        let target = Target::open(mounted.path()).unwrap();
        let job = job(place.path(), SHARING, &[]).unwrap();
        let mut session = job.begin(&target.facts().unwrap());
        let (_, error) = play(session.as_mut(), &target);
        assert_eq!(error, None, "{kind}");
        let shared = value(&session.metrics(), "phase dedupe/maintenance_bytes");
        assert!(shared.unwrap() >= 65_536.0, "{kind}: {shared:?}");
        let memory = MemoryFilesystem::default();
        play(job.begin(&TargetFacts::unknown()).as_mut(), &memory);
        let on_disk = TreeSnapshot::from_directory(mounted.path()).unwrap();
        assert_eq!(on_disk, memory.snapshot(), "{kind}");
    }
}

#[test]
fn snapshots_are_made_and_the_oldest_is_dropped() {
    require_root!();
    require_loop_fs!("btrfs");
    let (mounted, place) = (LoopFs::new("btrfs", 400), temp_dir());
    let target = Target::open(mounted.path()).unwrap();
    let text = "[[maintenance]]\ndo = \"snapshot\"\nevery = 20\nkeep = 2";
    let job = job(place.path(), text, &[]).unwrap();
    let mut session = job.begin(&target.facts().unwrap());
    let (tasks, error) = play(session.as_mut(), &target);
    assert_eq!(error, None);
    assert_eq!(tasks.0.iter().filter(|task| task.kind == "snapshot").count(), 5);
    let names = fs::read_dir(mounted.path().join("age-0")).unwrap();
    let mut names: Vec<_> = names.map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    assert_eq!(names, ["live", "snapshot-4", "snapshot-5"]);
    assert!(mounted.path().join("age-0/snapshot-4/heap/d0").is_dir());
}

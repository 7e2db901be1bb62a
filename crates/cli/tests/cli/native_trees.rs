//! Native runs on real filesystems: every tree on disk has exactly the files of its state.

use std::collections::BTreeMap;
use std::fs;

use treering_datasets::{Dataset, TreeState, library};
use treering_model::{BetterDirection, Ending, Op, Scope, Trial, TrialBuilder, TrialEvent};
use treering_testkit::{
    FileSizes, FourLists, LoopFs, Program, require_loop_fs, require_root, tree_of,
};

use crate::program;
use crate::trial::{again, calls, cautions, last, living, standing, tasks};

/// The shipped data set of the tests.
const DATA_SET: &str = "linux-6.1-small";

/// Files of each state, by the name of the state.
fn states(dataset: &Dataset) -> BTreeMap<&'static str, FileSizes> {
    let names = ["unpatched", "patched", "unpatched compiled", "patched compiled"];
    let files = |state| {
        let path = |(name, size)| (dataset.names.display_path(name), size);
        dataset.list(state).iter().map(path).collect()
    };
    names.into_iter().zip(TreeState::ALL).map(|(name, state)| (name, files(state))).collect()
}

/// Runs in a new directory of the filesystem and compares the trees afterwards; returns the stored
/// trial.
fn run_and_compare(program: &Program, place: &LoopFs, options: &[&str]) -> Trial {
    let dir = place.path().join("w");
    let dir_word = dir.to_str().unwrap();
    let first_words = ["run", "compilebench", "--dir", dir_word, "--dataset", DATA_SET, "--keep"];
    let size = ["--initial-dirs", "2", "--runs", "8"];
    let ran = program.run(first_words.iter().chain(&size).chain(options)).ends_with(0);
    assert!(!ran.stderr.contains("removing"), "{ran}");
    let trial = last(program);
    assert_eq!(trial.ending, Ending::Completed);
    let states = states(&library::load(DATA_SET, &[]).unwrap());
    let expected = standing(&living(&trial), |state| &states[state]);
    let existing = tree_of(&dir);
    // The maps have thousands of files, so only differences are printed.
    let differing: Vec<_> =
        existing.iter().filter(|(path, size)| expected.get(*path) != Some(size)).collect();
    let missing: Vec<_> = expected.keys().filter(|path| !existing.contains_key(*path)).collect();
    assert!(differing.is_empty() && missing.is_empty(), "{differing:?} {missing:?}");
    let tops = fs::read_dir(&dir).unwrap().count();
    assert_eq!(tops, living(&trial).len(), "nothing else stands");
    is_sane(&trial);
    fs::remove_dir_all(&dir).unwrap();
    trial
}

/// Asserts that the figures of a trial are consistent.
fn is_sane(trial: &Trial) {
    let mut by_kind: BTreeMap<&str, (u64, f64, u64)> = BTreeMap::new();
    for task in &trial.tasks {
        assert!(task.wall_ns > 0 && task.sync_ns <= task.wall_ns, "{task:?}");
        assert!(task.began_ns + task.wall_ns <= trial.wall_ns, "{task:?}");
        assert!(task.files > 0, "{task:?}");
        if !task.subject.starts_with("native-") {
            let sums = by_kind.entry(&task.kind).or_default();
            sums.0 += 1;
            sums.1 += task.seconds();
            sums.2 += task.files;
        }
    }
    for metric in &trial.metrics {
        assert!(metric.value.is_finite() && metric.value >= 0.0, "{metric:?}");
        let Scope::Kind(kind) = &metric.scope else { continue };
        let (count, seconds, files) = by_kind[kind.as_str()];
        assert_eq!(metric.tasks, count, "{metric:?}");
        let (value, better) = match metric.name.as_str() {
            "files_per_second" => (files as f64 / seconds, BetterDirection::Higher),
            "seconds" => (seconds / count as f64, BetterDirection::Lower),
            _ => continue,
        };
        assert!((metric.value / value - 1.0).abs() < 1e-9, "{metric:?} is not {value}");
        assert_eq!(metric.better, better, "{metric:?}");
    }
    let primary: Vec<&Scope> =
        trial.metrics.iter().filter(|m| m.primary && m.value > 0.0).map(|m| &m.scope).collect();
    for kind in by_kind.keys() {
        let own = Scope::Kind((*kind).to_owned());
        assert!(primary.contains(&&own), "{kind} has no primary number");
    }
    for phase in &trial.phases {
        let tasks = || trial.tasks.iter().filter(|task| task.phase == phase.phase);
        assert_eq!(tasks().count(), phase.tasks as usize);
        assert_eq!(tasks().map(|task| task.bytes).sum::<u64>(), phase.bytes);
        assert_eq!(tasks().map(|task| task.files).sum::<u64>(), phase.files);
        assert!(phase.intervals.iter().map(|second| second.bytes).sum::<u64>() <= phase.bytes);
        assert!(!phase.intervals.is_empty(), "{}", phase.name);
    }
}

fn can_drop_caches() -> bool {
    fs::OpenOptions::new().write(true).open("/proc/sys/vm/drop_caches").is_ok()
}

/// Runs every test of this file on a filesystem of this kind.
fn ages_exactly(kind: &str) {
    let program = program();
    let place = LoopFs::new(kind, 1200);
    let native = run_and_compare(&program, &place, &["--threads", "1", "--seed", "7"]);
    if can_drop_caches() {
        assert_eq!(cautions(&native), Vec::<&str>::new());
    }
    assert_eq!(native.phases[0].name, "native order");
    let syncs = |kind| calls(&native, kind, Op::Sync);
    assert_eq!(syncs("initial create"), 2, "each operation is synced");
    let facts: BTreeMap<&str, &str> =
        native.facts.iter().map(|fact| (fact.name.as_str(), fact.value.as_str())).collect();
    assert_eq!(facts["filesystem.type"], kind);

    let three = ["--threads", "3", "--order", "random", "--sync", "end", "--latency", "all"];
    let random = run_and_compare(&program, &place, &three);
    assert_ne!(random.phases[0].name, "native order");
    let workers = random.tasks.iter().map(|task| task.worker).max().unwrap();
    assert!((1..=2).contains(&workers), "several workers were at it");
    for op in random.tasks.iter().flat_map(|task| &task.ops) {
        assert_eq!(op.latency.samples(), op.calls, "each call is timed: {op:?}");
    }

    let sorted = ["--order", "sorted", "--mix", "patch=3,compile=3,clean=2,create=1"];
    let more = ["--drop-caches", "none", "--sync", "none", "--payload", "classic"];
    run_and_compare(&program, &place, &[&sorted[..], &more, &["--latency", "off"]].concat());

    let dir = place.path().join("gone");
    let words = ["run", "compilebench", "--dataset", DATA_SET, "--initial-dirs", "3", "--makej"];
    let more = ["--threads", "2", "--quiet", "--dir", dir.to_str().unwrap()];
    let quiet = program.run(words.iter().chain(&more)).ends_with(0);
    assert_eq!((quiet.stdout.as_str(), quiet.stderr.as_str()), ("", ""));
    let makej = last(&program);
    let count = |kind: &str| tasks(&makej).iter().filter(|(one, _)| *one == kind).count();
    assert_eq!([count("compile"), count("read"), count("delete")], [3, 3, 3]);
    assert!(living(&makej).is_empty());
    is_sane(&makej);
    assert_eq!(fs::read_dir(&dir).unwrap().count(), 0, "nothing is left");
}

#[test]
fn ext4_trees_are_exact() {
    require_loop_fs!("ext4");
    ages_exactly("ext4");
}

#[test]
fn xfs_trees_are_exact() {
    require_loop_fs!("xfs");
    ages_exactly("xfs");
}

#[test]
fn btrfs_trees_are_exact() {
    require_loop_fs!("btrfs");
    ages_exactly("btrfs");
}

/// Builds the trial from the printed events.
fn replayed(lines: &str) -> Trial {
    let mut builder = TrialBuilder::default();
    for line in lines.lines() {
        let event: TrialEvent = serde_json::from_str(line).unwrap();
        builder.push(&event).unwrap();
    }
    builder.finish().unwrap()
}

fn with_tiny() -> Program {
    let program = program();
    FourLists::tiny().write_to(&program.home().join("lists"));
    program
}

const TINY: [&str; 6] = ["run", "compilebench", "--dir", "w", "--dataset", "./lists"];
const FEW: [&str; 4] = ["-i", "3", "-r", "12"];

#[test]
fn printed_events_build_the_stored_trial() {
    let program = with_tiny();
    let words = TINY.iter().chain(&FEW);
    let ran = program.run(words.clone().chain(&["--events"])).ends_with(0);
    assert_eq!(replayed(&ran.stdout), last(&program));
    assert!(ran.stderr.contains("all figures"), "the summary makes way: {ran}");

    let into_file = program.run(words.clone().chain(&["--events=events.json"])).ends_with(0);
    assert!(into_file.stdout.contains("all figures"), "{into_file}");
    let lines = fs::read_to_string(program.home().join("events.json")).unwrap();
    assert_eq!(replayed(&lines), last(&program));
    let began = lines.lines().filter(|line| line.contains("\"task_began\"")).count();
    assert_eq!(began, last(&program).tasks.len());

    let quiet = program.run(words.chain(&["--events", "--quiet"])).ends_with(0);
    assert_eq!(quiet.stderr, "");
    assert_eq!(replayed(&quiet.stdout), last(&program));
}

#[test]
fn a_run_prints_its_estimate_first_and_each_operation() {
    let program = with_tiny();
    let words = TINY.iter().chain(&FEW);
    let outline = program.run(words.clone().chain(&["--dry-run"])).ends_with(0).stdout;
    assert!(!program.home().join("w").exists(), "a dry run touches no disk");
    let ran = program.run(words).ends_with(0);
    let first = ran.stderr.lines().next().unwrap();
    assert!(first.contains(" files, ") && first.contains("will be written"), "{first}");
    assert!(first.contains(" are free"), "{first}");
    let trial = last(&program);
    let written: u64 = trial
        .tasks
        .iter()
        .flat_map(|task| &task.ops)
        .map(|op| match op.op {
            Op::Create => op.calls,
            _ => 0,
        })
        .sum();
    assert!(first.contains(&format!(": {written} files, ")), "{first}, but {written}");
    let operations: Vec<String> = trial
        .tasks
        .iter()
        .filter(|task| !matches!(task.kind.as_str(), "walk native" | "remove native"))
        .map(|task| {
            let mib = task.listed_bytes >> 20;
            let kind = task.kind.strip_prefix("initial ").unwrap_or(&task.kind);
            match kind {
                "delete" => format!("delete {}", task.subject),
                "clean" => format!("clean {} {mib}MB", task.subject),
                "read" | "stat" => format!("{kind} dir {}", task.subject),
                native if native.starts_with("native ") => {
                    format!("{native} {} {mib}MB", task.subject)
                }
                _ => format!("{kind} dir {} {mib}MB", task.subject),
            }
        })
        .collect();
    assert_eq!(outline.lines().collect::<Vec<_>>(), operations, "a dry run tells the truth");
}

#[test]
fn the_seed_determines_the_run() {
    let program = with_tiny();
    let run = |seed: &str, threads: &str| {
        let more = ["--seed", seed, "--threads", threads, "--quiet", "--drop-caches", "none"];
        program.run(TINY.iter().chain(&FEW).chain(&more)).ends_with(0);
        let trial = last(&program);
        let tasks = tasks(&trial).into_iter();
        tasks.map(|(kind, tree)| format!("{kind} {tree}")).collect::<Vec<_>>()
    };
    let first = run("4", "1");
    assert_eq!(run("4", "1"), first);
    assert_ne!(run("5", "1"), first);
    assert_eq!(run("4", "3"), run("4", "3"));
}

#[test]
fn the_printed_command_repeats_the_trial() {
    let program = with_tiny();
    let more = ["--seed", "9", "--mix", "create=1,patch=2,read=1", "--order", "random", "-q"];
    program.run(TINY.iter().chain(&FEW).chain(&more)).ends_with(0);
    let first = last(&program);
    program.run(again(&program)).ends_with(0);
    let second = last(&program);
    assert_eq!(second.beginning.parameters, first.beginning.parameters);
    assert_eq!(tasks(&second), tasks(&first));
}

#[test]
fn random_payload_is_random_and_compressible_as_asked() {
    require_root!();
    let program = with_tiny();
    let place = LoopFs::in_memory(64);
    let dir = place.path().join("w");
    let content = |more: &[&str]| {
        let words = ["run", "compilebench", "--dataset", "./lists", "--keep", "-i", "1", "-r", "0"];
        let place = ["--order", "sorted", "--dir", dir.to_str().unwrap()];
        program.run(words.iter().chain(&place).chain(more)).ends_with(0);
        let content = fs::read(dir.join("kernel-0/fs/ext4/inode.c")).unwrap();
        fs::remove_dir_all(&dir).unwrap();
        content
    };
    let distinct = |content: &[u8]| {
        let blocks: std::collections::HashSet<&[u8]> = content.chunks(4096).collect();
        (blocks.len(), content.chunks(4096).count())
    };
    let random = content(&[]);
    let (different, all) = distinct(&random);
    assert_eq!(different, all, "no two blocks are alike");
    assert_eq!(content(&[]), random, "the same seed writes the same");
    assert_ne!(content(&["--seed", "2"]), random);
    let zeros = |content: &[u8]| {
        let mut counts = [0usize; 256];
        content.iter().for_each(|byte| counts[usize::from(*byte)] += 1);
        *counts.iter().max().unwrap() as f64 / content.len() as f64
    };
    assert!(zeros(&random) < 0.02);
    let half = zeros(&content(&["--compressibility", "50%"]));
    assert!((0.45..0.55).contains(&half), "{half}");
    let classic = content(&["--payload", "classic"]);
    assert!(classic.iter().all(|&byte| byte == b'a'));
}

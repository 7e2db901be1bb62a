//! Filesystems that are too small, or that fill up in the middle.

use std::fs;
use std::path::Path;

use treering_model::Ending;
use treering_testkit::{FourLists, LoopFs, Program, fill, require_loop_fs, require_root, tree_of};

use crate::program;
use crate::trial::{cautions, count, failure, last, tasks};

fn with_lists(lists: &FourLists) -> Program {
    let program = program();
    lists.write_to(&program.home().join("lists"));
    program
}

/// Words of a native run in this directory.
fn words<'a>(dir: &'a Path, more: &[&'a str]) -> Vec<&'a str> {
    let first_words =
        ["run", "compilebench", "--dataset", "./lists", "--dir", dir.to_str().unwrap()];
    [&first_words, more].concat()
}

#[test]
fn a_run_that_does_not_fit_is_refused_before_anything_is_written() {
    require_root!();
    let program = with_lists(&FourLists::wide(500, 20_000));
    let place = LoopFs::in_memory(64);
    let ran = program.run(words(place.path(), &["-i", "9", "-r", "0"])).ends_with(3);
    assert!(ran.stderr.contains("the run needs at least"), "{ran}");
    assert!(ran.stderr.contains("are free"), "{ran}");
    assert!(ran.stderr.contains("hint: reduce the work"), "{ran}");
    assert!(ran.stderr.contains("4,500 files"), "said how much would be written: {ran}");
    assert_eq!(fs::read_dir(place.path()).unwrap().count(), 0);
    assert_eq!(count(&program), 0, "no trial took place");
    program.run(words(place.path(), &["-i", "4", "-r", "0"])).ends_with(0);
}

#[test]
fn a_lack_of_inodes_is_reported() {
    require_loop_fs!("ext4");
    let program = with_lists(&FourLists::wide(800, 1));
    let place = LoopFs::with_options("ext4", 64, &["-N", "1024"]);
    let dir = place.path().join("w");
    let ran = program.run(words(&dir, &["-i", "2", "-r", "0"])).ends_with(3);
    assert!(ran.stderr.contains("files and directories"), "{ran}");
    assert!(ran.stderr.contains("inodes left"), "{ran}");
    program.run(words(&dir, &["-i", "1", "-r", "0", "--order", "sorted"])).ends_with(0);
}

/// Starts a run of 300 trees, fills the filesystem, and checks that the run fails. Their lines are
/// more than the pipe to the test holds, so the run cannot end before the filesystem is full.
fn fails_when_full(place: &LoopFs) {
    let program = with_lists(&FourLists::wide(60, 8_000));
    let dir = place.path().join("w");
    let order = ["-i", "300", "-r", "0", "--order", "sorted"];
    let mut run = program.start(words(&dir, &order));
    run.wait_for("initial create kernel-1 ");
    let filler = fill(&place.path().join("filler"));
    let ran = run.finish().ends_with(4);
    let trial = last(&program);
    let why = failure(&trial);
    assert!(why.contains("No space left on device"), "{why}");
    let target = dir.canonicalize().unwrap();
    let tree = format!("{}/kernel-", target.display());
    assert!(why.contains(&tree), "the path is named: {why}");
    assert!(ran.stderr.contains(&format!("treering: the trial failed: {why}")), "{ran}");
    assert!(ran.stderr.contains("hint: what was measured until then is stored"), "{ran}");
    let finished = tasks(&trial);
    assert!((2..300).contains(&finished.len()), "{finished:?}");
    for (number, task) in finished.into_iter().enumerate() {
        assert_eq!(task, ("initial create", format!("kernel-{number}").as_str()));
    }
    assert!(trial.metrics.iter().any(|metric| metric.primary && metric.value > 0.0));
    assert_eq!(trial.phases.len(), 1, "the phase's totals are kept");
    drop(filler);
    assert_eq!(fs::read_dir(&dir).unwrap().count(), 0, "trees and mark are removed");
    program.run(words(&dir, &["-i", "1", "-r", "0"])).ends_with(0);
}

#[test]
fn a_full_memory_filesystem_keeps_what_was_measured() {
    require_root!();
    fails_when_full(&LoopFs::in_memory(300));
}

#[test]
fn a_full_ext4_keeps_what_was_measured() {
    require_loop_fs!("ext4");
    fails_when_full(&LoopFs::new("ext4", 300));
}

#[test]
fn a_full_xfs_keeps_what_was_measured() {
    require_loop_fs!("xfs");
    fails_when_full(&LoopFs::new("xfs", 400));
}

#[test]
fn a_full_btrfs_keeps_what_was_measured() {
    require_loop_fs!("btrfs");
    fails_when_full(&LoopFs::new("btrfs", 400));
}

/// Runs every reading command on a store on this filesystem, before and after it is full.
fn is_read_when_full(place: &LoopFs) {
    let program = program();
    let store = place.path().join("results.treering");
    let store = store.to_str().unwrap();
    for label in ["one", "two"] {
        let words = ["run", "fs_mark", "--files", "5", "--dir", "w", "--label", label];
        program.run([&words[..], &["--store", store]].concat()).ends_with(0);
    }
    let commands: [&[&str]; 9] = [
        &["list"],
        &["list", "--format", "csv"],
        &["show", "last"],
        &["history"],
        &["report", "--baseline", "one"],
        &["export", "--format", "json"],
        &["store", "info"],
        &["store", "check"],
        &["overview", "-o", "/dev/null"],
    ];
    let read = |words: &[&str]| {
        let ran = program.run([words, &["--store", store]].concat());
        (ran.code, ran.stdout, ran.stderr)
    };
    let before: Vec<_> = commands.iter().map(|words| read(words)).collect();
    assert_eq!(before[0].0, Some(0), "{before:?}");
    let _filler = fill(&place.path().join("filler"));
    for (words, before) in commands.iter().zip(before) {
        assert_eq!(read(words), before, "{words:?}");
    }
}

#[test]
fn results_on_a_full_memory_filesystem_are_read() {
    require_root!();
    is_read_when_full(&LoopFs::in_memory(8));
}

#[test]
fn results_on_a_full_ext4_are_read() {
    require_loop_fs!("ext4");
    is_read_when_full(&LoopFs::new("ext4", 16));
}

#[test]
fn a_classic_run_warns_and_goes_on_until_the_disk_is_full() {
    require_root!();
    let program = with_lists(&FourLists::wide(100, 20_000));
    let place = LoopFs::in_memory(16);
    let dir = place.path().to_str().unwrap();
    let ran =
        program.run(["compilebench", "-n", "-s", "lists", "-i", "50", "-D", dir]).ends_with(1);
    assert!(ran.stderr.contains("treering: the run needs at least"), "{ran}");
    let last_line = ran.stderr.lines().last().unwrap();
    assert!(last_line.starts_with("treering: "), "{ran}");
    assert!(last_line.contains(&format!("{dir}/kernel-")), "{ran}");
    assert!(last_line.contains("No space left on device"), "{ran}");
    let trial = last(&program);
    assert!(matches!(trial.ending, Ending::Failed { .. }), "{:?}", trial.ending);
    assert_eq!(cautions(&trial), ["may_not_fit"]);
    let created = ran.stderr.lines().filter(|line| line.starts_with("create dir")).count();
    let kept = tasks(&trial).into_iter().filter(|(kind, _)| *kind == "initial create").count();
    assert!(created > 2);
    assert_eq!(kept, created, "every operation that was reported is kept");
    assert!(tree_of(place.path()).len() >= created * 100, "trees stay");
}

#[test]
fn fill_reaches_the_requested_utilization() {
    require_loop_fs!("ext4");
    let program = with_lists(&FourLists::wide(100, 20_000));
    let place = LoopFs::new("ext4", 200);
    let dir = place.path().join("w");
    let options = ["--fill", "40%", "-r", "0", "--keep", "--order", "sorted", "--sync", "end"];
    program.run(words(&dir, &options)).ends_with(0);
    let used = used_percent(&dir);
    assert!((40..=41).contains(&used), "{used}% are used");
    let ran = program.run(words(&place.path().join("v"), &["--fill", "20%", "-r", "0"]));
    let ran = ran.ends_with(2);
    assert!(ran.stderr.contains("--fill: the filesystem is 4"), "{ran}");
}

/// Percentage of the filesystem's space that is not available, according to `df`.
fn used_percent(path: &Path) -> u64 {
    let mut command = std::process::Command::new("df");
    let reported = command.args(["--output=size,avail"]).arg(path).output().unwrap().stdout;
    let text = String::from_utf8(reported).unwrap();
    let numbers: Vec<u64> = text.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    100 - numbers[1] * 100 / numbers[0]
}

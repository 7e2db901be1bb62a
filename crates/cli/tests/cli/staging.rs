//! Results of a run whose store is on the filesystem under test: held in memory, and moved to the
//! store afterwards.

use std::fs;
use std::path::{Path, PathBuf};

use treering_model::Ending;
use treering_testkit::{FourLists, LoopFs, Program, require_loop_fs, require_root};

use crate::program;
use crate::trial::{cautions, count, last, tasks, wait_for_task};

/// A filesystem under test with the data directory on it.
fn on_one_filesystem(place: &LoopFs) -> Program {
    let program = program().with_data(place.path().join("data"));
    FourLists::wide(50, 100).write_to(&program.home().join("lists"));
    program
}

fn words<'a>(dir: &'a Path, more: &[&'a str]) -> Vec<&'a str> {
    let first_words =
        ["run", "compilebench", "--dataset", "./lists", "--dir", dir.to_str().unwrap()];
    [&first_words, more].concat()
}

/// Path of the staged results, from the caution of the run.
fn waiting_place(line: &str) -> PathBuf {
    let (_, rest) = line.split_once("results are held in ").unwrap();
    PathBuf::from(rest.split(" (").next().unwrap())
}

#[test]
fn a_named_store_on_the_filesystem_under_test_is_refused() {
    require_root!();
    let place = LoopFs::in_memory(64);
    let program = on_one_filesystem(&place);
    let dir = place.path().join("w");
    let store = place.path().join("mine.treering");
    let options = ["--store", store.to_str().unwrap(), "-i", "1", "-r", "0"];
    let refused = program.run(words(&dir, &options)).ends_with(3);
    assert!(refused.stderr.contains("is on the filesystem under test"), "{refused}");
    assert!(refused.stderr.contains("hint: name a file on another filesystem"), "{refused}");
    assert!(!store.exists());
    assert_eq!(fs::read_dir(&dir).unwrap().count(), 0);
    let classic = ["compilebench", "-s", "lists", "-D", dir.to_str().unwrap()];
    let classic = classic.iter().chain(&options[..2]);
    program.run(classic).ends_with(3).complains("is on the filesystem under test");

    // A plan is refused before its warm-up.
    let memory = LoopFs::in_memory(64);
    let directories = format!("{},{}", dir.display(), memory.path().display());
    let plan = ["compare", "--directories", &directories, "--store", options[1]];
    let refused = program.run(plan).ends_with(3).complains("is on the filesystem under test");
    assert!(!refused.stderr.contains("trial 1"), "{refused}");
    assert_eq!(fs::read_dir(&dir).unwrap().count(), 0);

    let elsewhere = program.home().join("mine.treering");
    let options = ["--store", elsewhere.to_str().unwrap(), "-i", "1", "-r", "0"];
    let ran = program.run(words(&dir, &options)).ends_with(0);
    assert!(ran.stdout.contains("mine.treering"), "{ran}");
    assert!(!ran.stderr.contains("(store_staged)"), "{ran}");
    let list = ["list", "--format", "csv", "--store", elsewhere.to_str().unwrap()];
    assert!(program.run(list).ends_with(0).stdout.contains("compilebench"));
    assert!(!place.path().join("data").exists(), "the default store is not touched");
}

#[test]
fn the_default_store_waits_in_memory_and_is_moved_at_the_end() {
    require_loop_fs!("ext4");
    let place = LoopFs::with_options("ext4", 400, &["-N", "60000"]);
    let program = on_one_filesystem(&place);
    let store = place.path().join("data/results.treering");
    let options = ["--initial-dirs", "800", "--runs", "0", "--sync", "none"];
    let mut run = program.start(words(&place.path().join("w"), &options));
    let line = run.wait_for("(store_staged)");
    let waiting = waiting_place(&line);
    assert!(waiting.starts_with("/dev/shm"), "{line}");
    run.wait_for("initial create kernel-2 ");
    assert!(waiting.exists());
    assert!(!store.exists(), "nothing is written beside the work");
    run.send("INT");
    run.finish().ends_with(130);
    assert!(!waiting.exists(), "moved");
    assert!(store.exists());
    let trial = last(&program);
    assert_eq!(cautions(&trial), ["store_staged"]);
    program.run(words(&place.path().join("w"), &["-i", "1", "-r", "1"])).ends_with(0);
    assert_eq!(count(&program), 2);
}

#[test]
fn results_of_a_killed_run_are_moved_by_the_next_command() {
    require_loop_fs!("ext4");
    let place = LoopFs::with_options("ext4", 400, &["-N", "60000"]);
    let program = on_one_filesystem(&place);
    let dir = place.path().join("w");
    let options = ["--initial-dirs", "800", "--runs", "0", "--sync", "none"];
    let mut run = program.start(words(&dir, &options));
    let waiting = waiting_place(&run.wait_for("(store_staged)"));
    run.run_freely();
    wait_for_task(&waiting, "initial create", "kernel-2");
    program.run(["list"]).ends_with(0);
    assert!(run.is_alive() && waiting.exists(), "a running one is left where it is");
    run.send("KILL");
    run.finish();
    assert!(waiting.exists());

    let listed = program.run(["list"]).ends_with(0);
    assert!(listed.stdout.contains("interrupted"), "{listed}");
    assert!(!waiting.exists(), "moved");
    let trial = last(&program);
    assert_eq!(trial.ending, Ending::Interrupted);
    assert!(tasks(&trial).contains(&("initial create", "kernel-2")));
    assert_eq!(count(&program), 1);
    program.run(["clean", dir.to_str().unwrap()]).ends_with(0);
    assert_eq!(fs::read_dir(&dir).unwrap().count(), 0);
}

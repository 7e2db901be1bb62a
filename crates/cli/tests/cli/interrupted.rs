//! Runs stopped by a signal or killed: their stored results, and the removal of their files.

use std::fs;
use std::path::{Path, PathBuf};

use treering_model::Ending;
use treering_testkit::{
    FourLists, Program, RunningProgram, TempDir, require_tool, temp_dir_in, tree_of, wait_until,
};

use crate::classic_lines::summary_runs;
use crate::program;
use crate::trial::{count, last, tasks, wait_for_task};

/// Program with a data set of `files` small files.
fn with_files(files: u32) -> Program {
    let program = program();
    FourLists::wide(files, 10).write_to(&program.home().join("lists"));
    program
}

/// Program with files whose results are on another filesystem than its home.
fn with_files_and_results_apart(files: u32) -> (Program, TempDir) {
    let results = temp_dir_in(Path::new("/dev/shm"));
    (with_files(files).with_data(results.path().join("data")), results)
}

fn store(program: &Program) -> PathBuf {
    program.data().join("results.treering")
}

fn start(program: &Program, words: &[&str]) -> RunningProgram {
    program.start(words)
}

const LONG_CLASSIC: [&str; 10] =
    ["compilebench", "-n", "-D", "w", "-s", "lists", "-i", "2000", "-r", "0"];
const LONG_NATIVE: [&str; 12] = [
    "run",
    "compilebench",
    "--dir",
    "w",
    "--dataset",
    "./lists",
    "--initial-dirs",
    "2000",
    "--runs",
    "0",
    "--sync",
    "none",
];

/// Asserts that `clean` finds no remains, and succeeds.
fn is_clean(program: &Program, dir: &str) {
    let ran = program.run(["clean", dir]).ends_with(0);
    assert!(ran.stdout.contains("nothing to clean (no mark of a killed run)"), "{ran}");
}

fn classic_is_stopped_by(signal: &str, number: i32) {
    let program = with_files(300);
    let mut run = start(&program, &LONG_CLASSIC);
    run.wait_for("create dir kernel-2 ");
    run.send(signal);
    let ran = run.finish().ends_with(1);
    assert_eq!(ran.stderr.lines().last().unwrap(), format!("caught signal {number}"), "{ran}");
    let created = ran.stderr.lines().filter(|line| line.starts_with("create dir ")).count();
    assert!((3..2000).contains(&created), "{ran}");
    let summary = summary_runs(&ran.stdout);
    assert_eq!(summary[0], ("intial create", created));
    assert!(summary[1..].iter().all(|(_, runs)| *runs == 0));
    let trial = last(&program);
    assert_eq!(trial.ending, Ending::Interrupted);
    assert_eq!(trial.tasks.len(), 9 + created, "finished tasks are kept");
    assert!(tree_of(&program.home().join("w")).len() >= created * 300, "trees stay");
}

#[test]
fn sigint_ends_a_classic_run_with_its_summary() {
    classic_is_stopped_by("INT", 2);
}

#[test]
fn sigterm_ends_a_classic_run_with_its_summary() {
    classic_is_stopped_by("TERM", 15);
}

#[test]
fn a_signal_in_the_native_phases_gives_a_summary_too() {
    let program = with_files(6000);
    let mut run = start(&program, &LONG_CLASSIC);
    run.wait_for("native unpatched native-0 ");
    run.send("TERM");
    let ran = run.finish().ends_with(1);
    assert!(ran.stderr.ends_with("caught signal 15\n"), "{ran}");
    assert!(!ran.stderr.contains("create dir"), "{ran}");
    assert!(summary_runs(&ran.stdout).iter().all(|(_, runs)| *runs == 0));
    assert_eq!(last(&program).ending, Ending::Interrupted);
}

fn native_is_stopped_by(signal: &str, threads: &str) {
    let program = with_files(300);
    let mut run = start(&program, &[&LONG_NATIVE[..], &["--threads", threads]].concat());
    run.wait_for("initial create kernel-5 ");
    run.send(signal);
    let ran = run.finish().ends_with(130);
    let created = ran.stderr.lines().filter(|line| line.contains(": initial create ")).count();
    let trial = last(&program);
    assert_eq!(trial.ending, Ending::Interrupted);
    assert!(created >= 6);
    assert_eq!(tasks(&trial).iter().filter(|(kind, _)| *kind == "initial create").count(), created);
    assert!(ran.stdout.contains("interrupted"), "{ran}");
    assert!(ran.stderr.contains("removing kernel-0"), "{ran}");
    assert_eq!(fs::read_dir(program.home().join("w")).unwrap().count(), 0, "trees are removed");
}

#[test]
fn sigint_ends_a_native_run_and_its_trees_are_removed() {
    native_is_stopped_by("INT", "1");
}

#[test]
fn sigterm_ends_a_native_run_of_three_workers() {
    native_is_stopped_by("TERM", "3");
}

#[test]
fn a_stopped_run_with_keep_leaves_trees_without_a_mark() {
    let program = with_files(50);
    let mut run = start(&program, &[&LONG_NATIVE[..], &["--keep"]].concat());
    run.wait_for("initial create kernel-3 ");
    run.send("INT");
    run.finish().ends_with(130);
    let dir = program.home().join("w");
    assert!(tree_of(&dir).len() >= 4 * 50);
    assert!(!dir.join(".treering-run").exists());
    is_clean(&program, "w");
}

#[test]
fn leftovers_of_a_killed_run_are_found_reported_and_removed() {
    let (program, _results) = with_files_and_results_apart(100);
    let dir = program.home().join("w");
    fs::create_dir_all(dir.join("kernel-mine")).unwrap();
    fs::write(dir.join("kernel-mine/a"), "mine").unwrap();
    let mut run = start(&program, &LONG_NATIVE);
    run.wait_for("initial create kernel-0 ");
    fs::write(dir.join("kernel-4000"), "a file").unwrap();
    wait_for_task(&store(&program), "initial create", "kernel-3");
    // Another process must not clean up after a run that is still running.
    program.run(["clean", "w"]).ends_with(3).complains("another run is working in");
    run.send("KILL");
    let ran = run.finish();
    assert_eq!(ran.code, None, "{ran}");

    let trial = last(&program);
    assert_eq!(trial.ending, Ending::Interrupted);
    let finished = tasks(&trial);
    assert_eq!(finished[9..13].last().unwrap(), &("initial create", "kernel-3"));
    assert_eq!(trial.phases.len(), 1, "the native order was finished");
    let listed = program.run(["list"]).ends_with(0);
    assert!(listed.stdout.contains("interrupted"), "{listed}");
    program.run(["show", "last", "--tasks"]).ends_with(0);

    let before = tree_of(&dir);
    let refused = program.run(LONG_NATIVE).ends_with(3);
    let id = trial.beginning.trial.text();
    assert!(refused.stderr.contains(&format!("a run that was killed (trial {id})")), "{refused}");
    let target = dir.canonicalize().unwrap();
    let hint = format!("hint: `treering lab clean {}` removes them", target.display());
    assert!(refused.stderr.contains(&hint), "{refused}");
    assert_eq!(count(&program), 1, "a refused run is no trial");

    let would = program.run(["clean", "--dry-run", "w"]).ends_with(0);
    assert!(would.stdout.contains("would remove w/kernel-0: 100 files, "), "{would}");
    assert!(!would.stdout.contains("mine") && !would.stdout.contains("4000"), "{would}");
    assert_eq!(tree_of(&dir), before, "only said");
    let done = program.run(["clean", "w"]).ends_with(0);
    assert!(done.stdout.contains("removing w/kernel-0: 100 files, "), "{done}");
    assert_eq!(done.stdout.lines().count(), would.stdout.lines().count());
    let left: Vec<(String, u64)> = tree_of(&dir).into_iter().collect();
    assert_eq!(left, [("kernel-4000".to_owned(), 6), ("kernel-mine/a".to_owned(), 4)]);
    let nothing = program.run(["clean", "--dry-run", "w"]).ends_with(0);
    assert!(nothing.stdout.contains("nothing to clean"), "{nothing}");
    program.run(["clean", "nowhere"]).ends_with(2).complains("nowhere: No such file");
    is_clean(&program, "w");
}

#[test]
fn leftovers_of_every_workload_are_removed() {
    let program = program();
    let job = "[a]\nrw=randwrite\nsize=1m\nruntime=60\ntime_based\n";
    fs::write(program.home().join("a.fio"), job).unwrap();
    let long: [&[&str]; 11] = [
        &["fs_mark", "--files", "200000", "--sync-method", "none"],
        &["fio", "a.fio"],
        &["filebench", "webproxy", "--seconds", "600"],
        &["bonnie++", "--size", "0", "--files", "200000"],
        &["dbench", "--time", "60"],
        &["blogbench"],
        &["mdtest", "--items", "1000000"],
        &["ior", "--block", "64M", "--repetitions", "100000", "--files", "own"],
        &["io500", "--seconds", "600", "--space", "1G"],
        &["postmark", "--number", "100000", "--size-high", "500", "--transactions", "10000000"],
        &["age", "--live", "100M", "--until", "operations=1000000"],
    ];
    for workload in treering_registry::workloads() {
        let name = workload.manifest().name;
        // These workloads are tested elsewhere: above, in `ffsb_places`, and in `command`.
        assert!(
            ["compilebench", "ffsb", "command"].contains(&name)
                || long.iter().any(|words| words[0] == name),
            "{name}"
        );
    }
    for words in long {
        let dir = program.home().join(words[0]);
        let mut command_words = vec!["run", words[0], "--dir", words[0], "--quiet"];
        command_words.extend(&words[1..]);
        let run = start(&program, &command_words);
        // The test waits until a tree is not empty.
        let is_begun = |entry: &fs::DirEntry| {
            fs::read_dir(entry.path()).is_ok_and(|mut inside| inside.next().is_some())
        };
        let entries = || fs::read_dir(&dir).into_iter().flatten().flatten();
        let began = std::time::Instant::now();
        while !entries().any(|entry| is_begun(&entry)) {
            assert!(began.elapsed().as_secs() < 120, "{} makes no tree", words[0]);
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        run.send("KILL");
        let ran = run.finish();
        assert_eq!(ran.code, None, "{ran}");
        program.run(["clean", words[0]]).ends_with(0);
        assert!(fs::read_dir(&dir).unwrap().next().is_none(), "{}", words[0]);
    }
}

#[test]
fn a_killed_classic_run_keeps_its_finished_tasks() {
    let (program, _results) = with_files_and_results_apart(100);
    let run = start(&program, &LONG_CLASSIC);
    wait_for_task(&store(&program), "initial create", "kernel-3");
    run.send("KILL");
    run.finish();
    let trial = last(&program);
    assert_eq!(trial.ending, Ending::Interrupted);
    assert!(tasks(&trial).contains(&("initial create", "kernel-3")));
    // As with the original, the trees stay; a second run appends.
    let again = ["compilebench", "-n", "-D", "w", "-s", "lists", "-i", "1", "-r", "0"];
    program.run(again).ends_with(0).complains("files will be appended to");
}

#[test]
fn a_second_signal_ends_at_once_and_clean_removes_leftovers() {
    let program = with_files(300);
    let mut run = start(&program, &LONG_NATIVE);
    run.wait_for("initial create kernel-40 ");
    run.send("INT");
    run.wait_for("removing kernel-0");
    // An equal signal within a second would count as the same one.
    run.send("TERM");
    let ran = run.finish();
    if ran.code == Some(130) {
        return; // it was through with removing
    }
    assert_eq!(ran.code, None, "{ran}");
    assert_eq!(last(&program).ending, Ending::Interrupted);
    program.run(["clean", "w"]).ends_with(0);
    assert_eq!(fs::read_dir(program.home().join("w")).unwrap().count(), 0);
}

#[test]
fn the_same_signal_twice_within_a_moment_is_one_signal() {
    let program = with_files(300);
    let mut run = start(&program, &LONG_NATIVE);
    run.wait_for("initial create kernel-5 ");
    // The terminal and a parent program may both send the signal.
    run.send("INT");
    run.send("INT");
    let ran = run.finish().ends_with(130);
    assert!(ran.stdout.contains("interrupted"), "{ran}");
    assert_eq!(fs::read_dir(program.home().join("w")).unwrap().count(), 0, "trees are removed");
}

/// Starts the program from a shell with SIGINT ignored, like a background job of a script.
fn in_background(program: &Program, words: &[&str]) -> RunningProgram {
    let mut command = std::process::Command::new("sh");
    command.args(["-c", "trap '' INT; exec \"$0\" \"$@\""]);
    command.arg(env!("CARGO_BIN_EXE_treering")).args(words);
    RunningProgram::start(program.prepare(&mut command))
}

#[test]
fn an_ignored_sigint_ends_the_tools_that_install_a_handler_and_no_others() {
    let program = with_files(300);
    let mut run = in_background(&program, &LONG_CLASSIC);
    run.wait_for("create dir kernel-2 ");
    run.send("INT");
    let ran = run.finish().ends_with(1);
    assert!(ran.stderr.ends_with("caught signal 2\n"), "{ran}");

    fs::create_dir_all(program.home().join("b")).unwrap();
    let mut run = in_background(&program, &["blogbench", "-d", "b", "-i", "60"]);
    let has_files = || fs::read_dir(program.home().join("b")).unwrap().next().is_some();
    while !has_files() {
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    run.send("INT");
    std::thread::sleep(std::time::Duration::from_millis(300));
    assert!(run.is_alive(), "the original has no handler");
    run.send("TERM");
    run.finish().ends_with(130);

    fs::create_dir_all(program.home().join("n")).unwrap();
    let words: Vec<&str> = LONG_NATIVE.iter().map(|w| if *w == "w" { "n" } else { w }).collect();
    let mut run = in_background(&program, &words);
    run.wait_for("initial create kernel-3 ");
    run.send("INT");
    run.wait_for("initial create kernel-9 ");
    run.send("TERM");
    run.finish().ends_with(130);
}

#[test]
fn two_runs_cannot_work_in_one_directory() {
    let program = with_files(100);
    let mut first = start(&program, &LONG_NATIVE);
    first.wait_for("initial create kernel-0 ");
    let refused = program.run(LONG_NATIVE).ends_with(3);
    assert!(refused.stderr.contains("another run is working in"), "{refused}");
    assert!(refused.stderr.contains("hint: wait for it, or name another directory"), "{refused}");
    program.run(LONG_CLASSIC).ends_with(3).complains("another run is working in");
    first.send("INT");
    first.finish().ends_with(130);

    let mut classic = start(&program, &LONG_CLASSIC);
    classic.wait_for("create dir kernel-0 ");
    program.run(LONG_CLASSIC).ends_with(3).complains("another run is working in");
    classic.send("INT");
    classic.finish().ends_with(1);
    assert_eq!(count(&program), 2);
}

#[test]
fn an_ignored_sigint_ends_a_job_that_the_installed_fio_runs() {
    require_tool!("fio");
    let program = program();
    let job = "[a]\nioengine=null\nsize=1g\ntime_based\nruntime=600\n\
               exec_prerun=true\n";
    fs::write(program.home().join("j.fio"), job).unwrap();
    let mut run = in_background(&program, &["fio", "j.fio", "--no-store"]);
    run.wait_for("runs this job");
    // The job runs this command after fio has installed its handlers.
    wait_until("its job begins", || program.home().join("a.prerun.txt").exists());
    run.send("INT");
    let ran = run.finish();
    assert!(ran.stdout.contains("Run status group 0 (all jobs):"), "{ran}");
}

//! `treering watch`: points of a series, an anchor that must not change, and the detection of a
//! deliberate slowdown and of a simulated change of machine.

use std::fs;
use std::path::Path;

use serde_json::Value;
use treering_testkit::{Program, require_loop_fs, require_root};

use crate::program;

const JOB: &str = "[[job]]\nworkload = \"fs_mark\"\noptions = { files = 100, size = 4096 }\n";

/// Handicap that makes a run ten times slower, more than a busy machine does.
const SLOWER: &str = "handicap = \"900%\"";

/// Attempts to detect a change, since a burst of load may hide it.
const ATTEMPTS: usize = 8;

/// Writes a plan with an ext4 as anchor, and another one to watch.
fn write_plan(program: &Program, anchor: &str, watched: &str) {
    let device = "warm-up = false\n[device]\nloop = \"64MiB\"\n";
    let text = format!(
        "{device}[[variant]]\nname = \"watched\"\nfilesystem = \"ext4\"\n{watched}\n\
         [[variant]]\nname = \"anchor\"\nfilesystem = \"ext4\"\n{anchor}\n{JOB}"
    );
    fs::write(program.home().join("plan.toml"), text).unwrap();
}

/// Writes a plan of two directories.
fn directories(program: &Program, more: &str) {
    let dir = |name: &str| {
        let path = program.home().join(name);
        fs::create_dir_all(&path).unwrap();
        format!(
            "[[variant]]\nname = \"{name}\"\ndevice = {{ directory = \"{}\" }}\n",
            path.display()
        )
    };
    let job = "[[job]]\nworkload = \"fs_mark\"\noptions = { files = 5, size = 10 }\n";
    let text = format!("{more}\nwarm-up = false\n{}{}{job}", dir("old"), dir("new"));
    fs::write(program.home().join("plan.toml"), text).unwrap();
}

/// Words of `treering watch` with a store outside the watched filesystem.
fn words<'a>(store: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    [&["watch", "plan.toml", "--quiet", "--store", store], more].concat()
}

fn series(page: &str) -> Value {
    let found: Value = serde_json::from_str(page).unwrap();
    found["series"][0].clone()
}

#[test]
fn a_planted_slowdown_is_found_with_next_commands() {
    require_root!();
    require_loop_fs!("ext4");
    let program = program();
    let results = treering_testkit::temp_dir_in(Path::new("/dev/shm"));
    let is_found = |attempt: usize| {
        let store = results.path().join(format!("{attempt}.treering"));
        finds_a_slowdown(&program, store.to_str().unwrap())
    };
    assert!((0..ATTEMPTS).any(is_found), "ten times slower is never found");
}

fn finds_a_slowdown(program: &Program, store: &str) -> bool {
    let more = ["--anchor", "anchor", "--rounds", "1", "--label"];
    write_plan(program, "", "");
    let first = program.run(words(store, &[&more[..], &["good"]].concat())).ends_with(0);
    assert!(first.stdout.contains("5 more points are needed"), "{first}");
    assert!(first.stdout.contains("--points 5"), "{first}");
    let more_good = [&more[..], &["good", "--points", "5"]].concat();
    program.run(words(store, &more_good)).ends_with(0);
    write_plan(program, "", SLOWER);
    let gate = [&more[..], &["bad", "--points", "4", "--gate"]].concat();
    let ran = program.run(words(store, &gate));
    let json =
        ["history", "--by", "label", "--anchor", "anchor", "--store", store, "--format", "json"];
    let found = series(&program.run(json).ends_with(0).stdout);
    let keys: Vec<&str> =
        found["points"].as_array().unwrap().iter().map(|p| p["key"].as_str().unwrap()).collect();
    let expected = ["good", "good (2)", "good (3)", "good (4)", "good (5)", "good (6)"];
    assert_eq!(keys[..6], expected);
    assert_eq!(keys[6..], ["bad", "bad (2)", "bad (3)", "bad (4)"]);
    // Facts that identify the series are not listed as changes of the environment.
    assert!(!found.to_string().contains("watch."), "{found}");
    let changes = found["changes"].as_array().unwrap();
    if !changes.iter().any(|one| one["worse"] == true) {
        return false;
    }
    let ran = ran.ends_with(1);
    assert!(ran.stdout.contains("worse"), "{ran}");
    assert!(ran.stdout.contains("git bisect run treering kernel bisect-step"), "{ran}");
    true
}

#[test]
fn only_a_series_without_anchor_alarms_on_a_machine_change() {
    require_root!();
    require_loop_fs!("ext4");
    let program = program();
    let results = treering_testkit::temp_dir_in(Path::new("/dev/shm"));
    let is_told = |attempt: usize| {
        let store = results.path().join(format!("{attempt}.treering"));
        tells_the_machine_apart(&program, store.to_str().unwrap())
    };
    assert!((0..ATTEMPTS).any(is_told), "a machine ten times slower never looks like one");
}

fn tells_the_machine_apart(program: &Program, store: &str) -> bool {
    write_plan(program, "", "");
    let more = ["--anchor", "anchor", "--rounds", "1", "--points"];
    program.run(words(store, &[&more[..], &["7"]].concat())).ends_with(0);
    // Both sides become slower, as on a slower machine.
    write_plan(program, SLOWER, SLOWER);
    let refused = program.run(words(store, &[&more[..], &["6"]].concat())).ends_with(2);
    refused.complains("the anchor 'anchor' changed since the last point");
    let accepted = [&more[..], &["6", "--accept-anchor", "--format", "json"]].concat();
    let with_anchor = series(&program.run(words(store, &accepted)).ends_with(0).stdout);
    assert_eq!(with_anchor["points"].as_array().unwrap().len(), 13);
    let without = ["history", "--by", "label", "--store", store, "--format", "json"];
    let without = series(&program.run(without).ends_with(0).stdout);
    let slower = |series: &Value| {
        let changes = series["changes"].as_array().unwrap();
        changes.iter().any(|one| one["worse"] == true && one["ratio"].as_f64() < Some(0.3))
    };
    slower(&without) && !slower(&with_anchor)
}

/// Measures a point of a plan whose command prints a number, for each of these numbers, and returns
/// the last exit code of the gate.
fn gate_after(program: &Program, store: &str, numbers: &[u32]) -> Option<i32> {
    let more = ["--rounds", "1", "--label", "p", "--gate"];
    let mut code = None;
    for number in numbers {
        fs::write(program.home().join("number"), number.to_string()).unwrap();
        code = program.run(words(store, &more)).code;
    }
    code
}

#[test]
fn the_gate_ignores_a_known_change_but_not_the_next() {
    let program = program();
    let (dir, number) = (program.home().join("watched"), program.home().join("number"));
    fs::create_dir_all(&dir).unwrap();
    let plan = format!(
        "warm-up = false\n[[variant]]\nname = \"watched\"\n\
         device = {{ directory = \"{}\" }}\n[[job]]\nname = \"print\"\n\
         command = [\"cat\", \"{}\"]\n\
         metric = {{ name = \"size\", regex = '(\\d+)', better = \"lower\", primary = true }}\n",
        dir.display(),
        number.display()
    );
    fs::write(program.home().join("plan.toml"), plan).unwrap();
    let results = treering_testkit::temp_dir_in(Path::new("/dev/shm"));
    let store = results.path().join("r.treering");
    let store = store.to_str().unwrap();
    let good = [1000, 1004, 997, 1001, 1006, 998, 1003];
    assert_eq!(gate_after(&program, store, &good), Some(0));
    assert_eq!(gate_after(&program, store, &[1503, 1498, 1500]), Some(1));
    let known = ["--acknowledge", "p (8)", "--reason", "the new format is larger"];
    let of = ["history", "--by", "label", "--store", store];
    program.run([&of[..], &known[..]].concat()).ends_with(0);
    assert_eq!(gate_after(&program, store, &[1502]), Some(0));
    assert_eq!(gate_after(&program, store, &[2205, 2197, 2200]), Some(1));
}

#[test]
fn a_series_has_one_plan_and_one_anchor() {
    let program = program();
    directories(&program, "");
    let results = treering_testkit::temp_dir_in(Path::new("/dev/shm"));
    let store = results.path().join("r.treering");
    let store = store.to_str().unwrap();
    let once = ["--anchor", "old", "--rounds", "1", "--label", "a"];
    let dry = [&once[..], &["--dry-run"]].concat();
    let ran = program.run(words(store, &dry)).ends_with(0);
    assert!(ran.stderr.contains("its first point") && ran.stdout.contains("round 1"), "{ran}");
    assert!(!results.path().join("r.treering").exists(), "nothing was touched");
    program.run(words(store, &once)).ends_with(0);
    program.run(words(store, &once)).ends_with(0);
    let ran = program.run(words(store, &dry)).ends_with(0);
    assert!(ran.stderr.contains("2 points so far, the last one 'a (2)'"), "{ran}");
    // A series without anchor is a different one, and the command says so.
    let alone = ["--rounds", "1", "--dry-run"];
    let ran = program.run(words(store, &alone)).ends_with(0);
    assert!(ran.stderr.contains("cannot be told from"), "{ran}");
    assert!(ran.stderr.contains("are not continued"), "{ran}");
    // The series has too few points for a verdict.
    let gate = [&once[..], &["--gate"]].concat();
    program.run(words(store, &gate)).ends_with(5);
    let wrong = ["--anchor", "older"];
    program.run(words(store, &wrong)).ends_with(2).complains("old, new");
    directories(&program, "seed = 7");
    let ran = program.run(words(store, &dry)).ends_with(0);
    assert!(ran.stderr.contains("are not continued"), "{ran}");
}

#[test]
fn a_point_can_be_named_by_a_fact_of_its_trials() {
    let program = program();
    directories(&program, "");
    let results = treering_testkit::temp_dir_in(Path::new("/dev/shm"));
    let store = results.path().join("r.treering");
    let store = store.to_str().unwrap();
    let by = ["--anchor", "old", "--rounds", "1", "--label-by", "kernel.release"];
    program.run(words(store, &by)).ends_with(0);
    let page = program.run(words(store, &by)).ends_with(0).stdout;
    let release = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap();
    assert!(page.contains(&format!("{} (2)", release.trim())), "{page}");
    let unknown = ["--anchor", "old", "--rounds", "1", "--label-by", "the.weather"];
    program.run(words(store, &unknown)).ends_with(2).complains("the.weather");
}

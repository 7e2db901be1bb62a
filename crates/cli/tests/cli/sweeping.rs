//! Sweeps: every combination runs in every round, and `treering plan sweep` shows the curves.

use std::fs;
use std::path::Path;

use treering_testkit::{Program, temp_dir_in};

use crate::program;

/// Writes a plan of `rounds` rounds of fs_mark in a directory, whose job ends with these lines.
fn write_plan(program: &Program, name: &str, rounds: u32, job: &str) {
    let dir = program.home().join("w");
    fs::create_dir(&dir).unwrap();
    let plan = format!(
        "name = \"{name}\"\nrounds = {rounds}\nwarm-up = false\n[[variant]]\nname = \"dir\"\n\
         device = {{ directory = \"{}\" }}\n[[job]]\nname = \"make\"\nworkload = \"fs_mark\"\n\
         {job}\n",
        dir.display()
    );
    fs::write(program.home().join(name).with_extension("toml"), plan).unwrap();
}

#[test]
fn a_sweep_runs_every_combination_and_is_shown_with_its_curve() {
    let program = program();
    let results = temp_dir_in(Path::new("/dev/shm"));
    let store = results.path().join("r.treering");
    let store = store.to_str().unwrap();
    let job = "sweep = { files = \"10..160x2\", size = [0, \"1K\"] }";
    write_plan(&program, "sizes", 3, job);
    let none = program.run(["sweep", "--store", store]);
    none.ends_with(2);
    let words = ["compare", "sizes.toml", "--quiet", "--store", store];
    program.run(words).ends_with(0);
    let page = program.run(["sweep", "--store", store, "--format", "csv"]).ends_with(0).stdout;
    for files in [10, 20, 40, 80, 160] {
        for size in ["0", "1K"] {
            let row = page.lines().find(|line| line.starts_with(&format!("sweep,{files},{size},")));
            assert!(row.is_some_and(|row| row.ends_with(",3")), "{files} {size}: {page}");
        }
    }
    let page = program.run(["sweep", "--store", store]).ends_with(0).stdout;
    assert!(page.contains("in percent of the best"), "{page}");
    assert!(page.contains("size=1K"), "the knee of each curve or that there is none: {page}");
    assert!(!page.contains("efficiency"), "files are no workers: {page}");
    let html = program.run(["sweep", "--store", store, "--format", "html"]).ends_with(0).stdout;
    assert!(html.contains("<svg"), "curves");
    let metric = ["sweep", "--store", store, "--metric", "no_such"];
    program.run(metric).ends_with(2).complains("no_such");
    let plan = ["sweep", "--store", store, "--plan", "other"];
    program.run(plan).ends_with(2).complains("other");
}

#[test]
fn a_sweep_over_threads_shows_how_they_scale() {
    let program = program();
    let results = temp_dir_in(Path::new("/dev/shm"));
    let store = results.path().join("r.treering");
    let store = store.to_str().unwrap();
    let job = "options = { files = 50 }\nsweep = { threads = \"1..5\" }";
    write_plan(&program, "threads", 2, job);
    program.run(["compare", "threads.toml", "--quiet", "--store", store]).ends_with(0);
    let page = program.run(["sweep", "--store", store]).ends_with(0).stdout;
    assert!(page.contains("5 threads give ") && page.contains("of the ideal"), "{page}");
    // Noise changes the fitted model from run to run, but the page describes one.
    let says_model = ["Universal Scalability Law: ", "throughput grows faster than threads"];
    let page = page.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(says_model.iter().any(|words| page.contains(words)), "{page}");
    let json = program.run(["sweep", "--store", store, "--format", "json"]).ends_with(0).stdout;
    assert!(json.contains("\"scaling\"") && json.contains("efficiency"), "{json}");
    let html = program.run(["sweep", "--store", store, "--format", "html"]).ends_with(0).stdout;
    assert!(html.contains("chart scaling"), "the ideal line and the curve");
}

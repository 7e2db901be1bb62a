//! Stored results: lists, single trials, exports, and readers that close the pipe early.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use treering_model::Trial;
use treering_testkit::{
    FinishedCommand, FourLists, LoopFs, Program, fill, require_root, temp_dir_in,
};

use crate::program;
use crate::trial::{calls, last};

fn prepared() -> Program {
    let program = program();
    FourLists::tiny().write_to(&program.home().join("lists"));
    program
}

/// A small native run with this label.
fn run(program: &Program, label: &str) -> Trial {
    let words = ["run", "compilebench", "--dataset", "./lists", "--dir", "w", "-q"];
    let more = ["-i", "1", "-r", "2", "--drop-caches", "none", "--label", label];
    program.run(words.iter().chain(&more)).ends_with(0);
    last(program)
}

#[test]
fn trials_are_listed_newest_first_and_found_by_the_shortest_prefix() {
    let program = prepared();
    let empty = program.run(["list"]).ends_with(0);
    assert!(empty.stdout.contains("no trial"), "{empty}");
    assert!(!program.data().exists(), "looking makes nothing");

    let trials = ["oldest", "second", "third"].map(|label| run(&program, label));
    let listed = program.run(["list", "--format", "csv"]).ends_with(0).stdout;
    let place = |label: &str| listed.find(label).unwrap_or_else(|| panic!("{listed}"));
    assert!(place("third") < place("second") && place("second") < place("oldest"), "{listed}");
    for trial in &trials {
        let id = trial.beginning.trial.text();
        // The list has the shortest unique prefix of each id.
        let row = listed.lines().find(|line| line.contains(&trial.beginning.label)).unwrap();
        let short = row.split(',').nth(1).unwrap();
        assert!(id.starts_with(short) && short.len() >= 8, "{row}");
        let shown = program.run(["show", short]).ends_with(0).stdout;
        assert!(shown.contains(&id) && shown.contains(&trial.beginning.label), "{shown}");
        assert_eq!(program.run(["show", &id]).ends_with(0).stdout, shown);
    }
    let common = &trials[0].beginning.trial.text()[..2];
    let ambiguous = program.run(["show", common]).ends_with(2);
    for trial in &trials {
        assert!(ambiguous.stderr.contains(&trial.beginning.trial.text()), "{ambiguous}");
    }
    program.run(["show", "ffffffff"]).ends_with(2).complains("ffffffff");
    program.run(["export", "nonsense"]).ends_with(2).complains("nonsense");

    let filtered = program.run(["list", "--label", "second", "--format", "csv"]).ends_with(0);
    assert!(
        filtered.stdout.contains("second") && !filtered.stdout.contains("oldest"),
        "{filtered}"
    );
    let newest = program.run(["list", "-n", "1", "--format", "csv"]).ends_with(0);
    assert!(newest.stdout.contains("third") && !newest.stdout.contains("second"), "{newest}");
    let other = program.run(["list", "--workload", "fs_mark"]).ends_with(0);
    assert!(!other.stdout.contains("compilebench"), "{other}");
}

#[test]
fn exports_have_every_trial_and_a_row_for_each_task() {
    let program = prepared();
    let trials = [run(&program, "a"), run(&program, "b")];
    let json = program.run(["export"]).ends_with(0).stdout;
    let document: serde_json::Value = serde_json::from_str(&json).unwrap();
    let exported: Vec<Trial> = serde_json::from_value(document["trials"].clone()).unwrap();
    assert_eq!(exported, trials, "oldest first");
    let rows = |form: &str| {
        let text = program.run(["export", "--format", form, "last"]).ends_with(0).stdout;
        text.lines().count() - 1
    };
    let newest = &trials[1];
    assert_eq!(rows("csv"), newest.tasks.len());
    assert_eq!(rows("csv-metrics"), newest.metrics.len());
    assert!(rows("csv-ops") > newest.tasks.len());
    assert!(rows("csv-intervals") >= newest.phases.len());
    program.run(["export", "--format", "xml"]).ends_with(2).complains("'xml' is not one of: json");
    program.run(["list", "--format", "xml"]).ends_with(2).complains("'xml' is not one of");
    program.run(["export", "-o", "out.json"]).ends_with(0);
    assert_eq!(std::fs::read_to_string(program.home().join("out.json")).unwrap(), json);
    let nowhere = program.run(["export", "-o", "no/such/dir"]).ends_with(3);
    assert!(nowhere.stderr.contains("cannot write no/such/dir"), "{nowhere}");
    for form in ["plain", "terminal", "markdown", "csv", "json"] {
        let shown = program.run(["show", "--tasks", "--seconds", "--format", form]).ends_with(0);
        assert!(shown.stdout.contains("native unpatched"), "{form}: {shown}");
    }
}

#[test]
fn a_file_that_is_not_a_store_is_refused() {
    let program = prepared();
    std::fs::write(program.home().join("text"), "not a store").unwrap();
    for verb in [&["list"][..], &["show"], &["export"]] {
        let ran = program.run(verb.iter().chain(&["--store", "text"])).ends_with(3);
        assert!(ran.stderr.contains("text"), "{ran}");
        let ran = program.run(verb.iter().chain(&["--store", "missing"])).ends_with(2);
        assert!(ran.stderr.contains("no store at missing"), "{ran}");
    }
    assert_eq!(std::fs::read_to_string(program.home().join("text")).unwrap(), "not a store");
}

#[test]
fn a_closed_pipe_is_no_failure() {
    let program = prepared();
    run(&program, "a");
    let words = ["run", "compilebench", "--dataset", "./lists", "--dir", "w", "-i", "2", "-r", "4"];
    let more = ["--events", "--drop-caches", "none"];
    let reads_one_line = |words: Vec<&str>| {
        let mut child = program.command(words).stderr(Stdio::null()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        assert!(!line.is_empty());
        child.wait().unwrap()
    };
    assert!(reads_one_line([&words[..], &more].concat()).success());
    assert_eq!(last(&program).ending.name(), "completed");
    for verb in [&["show", "--tasks"][..], &["export"], &["dataset", "list"], &["--help"]] {
        assert!(reads_one_line(verb.to_vec()).success(), "{verb:?}");
    }
}

#[test]
fn a_full_store_ends_the_run_and_the_trees_are_removed() {
    require_root!();
    let program = program();
    FourLists::wide(40, 10).write_to(&program.home().join("lists"));
    let place = LoopFs::in_memory(4);
    let store = place.path().join("mine.treering");
    let words = ["run", "compilebench", "--dataset", "./lists", "--dir", "w", "--sync", "none"];
    let more = ["-i", "2000", "-r", "0", "--store", store.to_str().unwrap()];
    let mut run = program.start(words.iter().chain(&more));
    run.wait_for("initial create kernel-2 ");
    let filler = fill(&place.path().join("filler"));
    let ran = run.finish().ends_with(3);
    assert!(ran.stderr.contains("mine.treering"), "the store is named: {ran}");
    let left = std::fs::read_dir(program.home().join("w")).unwrap().count();
    assert_eq!(left, 0, "trees and mark are removed");
    drop(filler);
    let list = ["list", "--store", store.to_str().unwrap()];
    let listed = program.run(list).ends_with(0);
    assert!(listed.stdout.contains("interrupted"), "{listed}");
}

#[test]
fn a_tree_is_recorded_with_its_build_and_run() {
    let program = program();
    let tree = program.home().join("tree");
    FourLists::tiny().write_to(&tree.join("sub"));
    std::fs::write(tree.join("main.c"), "int main(void) { return 0; }").unwrap();
    let build = "cp main.c main.o && echo built";
    let words = ["dataset", "record", "mine", "--clean", "tree", "--build", build];
    let ran = program.run(words).ends_with(0);
    assert!(ran.stderr.contains("built"), "what the build says is heard: {ran}");
    let words = ["run", "compilebench", "--dataset", "mine", "--dir", "w", "--makej", "-i", "1"];
    program.run(words).ends_with(0);
    assert_eq!(calls(&last(&program), "compile", treering_model::Op::Create), 1);
}

#[test]
fn a_terminal_bar_shows_operation_rate_and_time_left() {
    let program = program();
    FourLists::wide(200, 1000).write_to(&program.home().join("lists"));
    if Command::new("script").arg("--version").output().is_err() {
        treering_testkit::skip("script is not installed, which has a terminal to offer");
        return;
    }
    let place = temp_dir_in(program.home());
    let line = format!(
        "stty cols 120 rows 30; '{}' run compilebench --dataset ./lists --dir {} -i 40 -r 5",
        env!("CARGO_BIN_EXE_treering"),
        place.path().display()
    );
    let mut command = Command::new("script");
    program.prepare(&mut command).args(["-q", "-e", "-c", &line, "/dev/null"]);
    let ran = FinishedCommand::run(command.env("TERM", "xterm")).ends_with(0);
    for part in ["initial create: initial create kernel-", "MiB/s", "files/s", "left ", "/48"] {
        assert!(ran.stdout.contains(part), "{part}\n{ran}");
    }
    assert!(ran.stdout.contains("all figures"), "{ran}");
}

#[test]
fn html_pages_chart_the_calls_of_a_trial() {
    let program = prepared();
    let words = ["run", "compilebench", "--dataset", "./lists", "--dir", "w", "-q"];
    let more = ["-i", "3", "-r", "9", "--drop-caches", "none", "--latency", "all"];
    program.run(words.iter().chain(&more)).ends_with(0);
    let page = program.home().join("trial.html");
    let words = ["show", "--format", "html", "-o", page.to_str().unwrap(), "--charts", "charts"];
    program.run(words).ends_with(0);
    let text = std::fs::read_to_string(&page).unwrap();
    assert!(text.contains("class=\"chart latencies\""), "{text}");
    // A very short run has no timeline, and the page says so.
    assert!(text.contains("Rate over time"), "{text}");
    // The machine's speed decides which calls take long enough to be drawn.
    let files = std::fs::read_dir(program.home().join("charts")).unwrap();
    let names = files.map(|file| file.unwrap().file_name().into_string().unwrap());
    let latencies = names.filter(|name| name.starts_with("charts-latency-")).count();
    assert_eq!(latencies, text.matches("class=\"chart latencies\"").count());
    let plain = program.run(["show"]).ends_with(0);
    assert!(!plain.stdout.contains("Latency of calls"), "{plain}");
}

#[test]
fn pages_of_lists_imports_traces_and_the_doctor_end_with_their_origin() {
    let program = program();
    let corpus = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testkit/corpus/import/");
    let [io500, ior] = ["io500-result.txt", "ior-4.txt"].map(|name| format!("{corpus}{name}"));
    for words in [
        vec!["import", &io500, &ior],
        vec!["list"],
        vec!["io500", "list"],
        vec!["doctor", "--store", "other.treering"],
    ] {
        let more = ["-o", "page.html"];
        program.run(words.iter().chain(&more)).ends_with(0);
        let page = std::fs::read_to_string(program.home().join("page.html")).unwrap();
        let (_, foot) = page.split_once("class=\"origin\"").unwrap_or_else(|| panic!("{words:?}"));
        assert!(foot.contains(env!("CARGO_PKG_VERSION")), "{words:?}: {foot}");
        let command = format!("treering {}", words.join(" "));
        assert!(foot.contains(&command), "{words:?}: {foot}");
    }
    let doctor = program.run(["doctor", "--store", "other.treering"]).ends_with(0).stdout;
    let doctor = doctor.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(doctor.contains("none yet; they will be in other.treering"), "{doctor}");
    assert!(
        doctor.contains("treering run compilebench") && doctor.contains("--store other.treering")
    );
    assert!(!program.home().join("other.treering").exists(), "looking makes nothing");
    let left = std::fs::read_dir(program.home()).unwrap().map(|entry| entry.unwrap().file_name());
    assert!(!left.into_iter().any(|name| name.to_string_lossy().starts_with(".treering-probe")));
}

#[test]
fn a_log_of_a_tool_that_is_not_read_is_refused_by_its_name() {
    let program = program();
    let log = "\tIozone: Performance Test of File I/O\n\t        Version $Revision: 3.506 $\n";
    std::fs::write(program.home().join("iozone.log"), log).unwrap();
    let refused = program.run(["import", "iozone.log"]).ends_with(2);
    refused
        .complains("iozone.log:1: an output of iozone, which no importer reads")
        .complains("supported logs");
    assert!(!program.data().exists(), "nothing is made");
}

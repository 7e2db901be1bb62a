//! Lines, summary, options and exit codes of the original, equal byte for byte except for numbers.

use std::os::unix::fs::symlink;
use std::process::Command;

use treering_model::Op;
use treering_testkit::{FinishedCommand, FourLists, Program, require_shared, temp_dir, tree_of};

use crate::program;
use crate::trial::{calls, cautions, last, tasks};

/// Program with a tiny data set in `lists` of its home.
fn prepared() -> Program {
    let program = program();
    FourLists::tiny().write_to(&program.home().join("lists"));
    program
}

/// Line with each number of two decimals replaced by `#`.
fn masked(line: &str) -> String {
    let mut out = String::new();
    let mut rest = line;
    while let Some(start) = rest.find(|c: char| c.is_ascii_digit()) {
        let (before, number) = rest.split_at(start);
        let digits = number.find(|c: char| !c.is_ascii_digit()).unwrap_or(number.len());
        let decimals = number[digits..]
            .strip_prefix('.')
            .map_or(0, |after| after.find(|c: char| !c.is_ascii_digit()).unwrap_or(after.len()));
        out += before;
        let length = if decimals == 2 { digits + 3 } else { digits };
        out += if decimals == 2 { "#" } else { &number[..digits] };
        rest = &number[length..];
    }
    out + rest
}

#[test]
fn masks_hide_numbers_of_two_decimals_only() {
    let line = "create dir kernel-100 222MB in 4.00 seconds (55.55 MB/s)";
    assert_eq!(masked(line), "create dir kernel-100 222MB in # seconds (# MB/s)");
    assert_eq!(masked("x 1.234 5.6 7. 8"), "x 1.234 5.6 7. 8");
}

/// Masked line of an operation, from its line in a dry run.
fn timed(outline: &str) -> String {
    match outline.split(' ').next().unwrap() {
        "delete" | "stat" => format!("{outline} in # seconds"),
        "read" => format!("{outline} in # # MB/s"),
        _ => format!("{outline} in # seconds (# MB/s)"),
    }
}

/// Rows of the summary with their units, in the order of the original.
const ROWS: [(&str, &str); 11] = [
    ("intial create", "MB/s"),
    ("create", "MB/s"),
    ("patch", "MB/s"),
    ("compile", "MB/s"),
    ("clean", "MB/s"),
    ("read tree", "MB/s"),
    ("read compiled tree", "MB/s"),
    ("delete tree", "seconds"),
    ("delete compiled tree", "seconds"),
    ("stat tree", "seconds"),
    ("stat compiled tree", "seconds"),
];

/// Numbers of runs in the rows of a summary; also checks the format of the summary.
pub(crate) fn summary_runs(stdout: &str) -> Vec<(&'static str, usize)> {
    let lines: Vec<&str> = stdout.lines().collect();
    assert_eq!(lines.len(), 14, "{stdout}");
    assert_eq!(lines[..2], ["", "run complete:"], "{stdout}");
    assert_eq!(lines[2], "=".repeat(74));
    assert!(stdout.ends_with('\n') && !stdout.ends_with("\n\n"));
    let rows = ROWS.into_iter().zip(&lines[3..]).map(|((tag, unit), line)| {
        if *line == format!("no runs for {tag}") {
            return (tag, 0);
        }
        let rest = line.strip_prefix(&format!("{tag} total runs ")).unwrap();
        let (runs, rest) = rest.split_once(' ').unwrap();
        assert_eq!(masked(rest), format!("avg # {unit} (user #s sys #s)"), "{line}");
        (tag, runs.parse().unwrap())
    });
    rows.collect()
}

fn runs_of(summary: &[(&str, usize)], tag: &str) -> usize {
    summary.iter().find(|(row, _)| *row == tag).map(|(_, runs)| *runs).unwrap()
}

#[test]
fn every_line_and_the_summary_equal_the_original() {
    let program = prepared();
    let arguments = ["compilebench", "-D", "w", "-s", "lists", "-i", "3", "-r", "60"];
    let outline = program.run(arguments.iter().chain(&["--dry-run"])).ends_with(0);
    assert!(!program.home().join("w").exists(), "a dry run touches no disk");
    let ran = program.run(arguments).ends_with(0);

    let opening = ["creating w", "using working directory w, 3 intial dirs 60 runs"];
    let expected: Vec<String> =
        opening.into_iter().map(str::to_owned).chain(outline.stdout.lines().map(timed)).collect();
    let lines: Vec<String> = ran.stderr.lines().map(masked).collect();
    assert_eq!(lines, expected);
    assert_eq!(lines.len(), 2 + 3 + 3 + 60);
    assert_eq!(
        lines[2..6],
        [
            "native unpatched native-0 0MB in # seconds (# MB/s)",
            "native patched native-0 0MB in # seconds (# MB/s)",
            "native patched compiled native-0 0MB in # seconds (# MB/s)",
            "create dir kernel-0 0MB in # seconds (# MB/s)",
        ]
    );

    let summary = summary_runs(&ran.stdout);
    let said = |word: &str| lines[8..].iter().filter(|line| line.starts_with(word)).count();
    assert_eq!(runs_of(&summary, "intial create"), 3);
    for kind in ["create", "patch", "compile", "clean"] {
        assert!(said(kind) > 0, "{kind} does not come up in 60 operations");
        assert_eq!(runs_of(&summary, kind), said(kind), "{kind}");
    }
    for kind in ["read", "delete", "stat"] {
        assert!(said(kind) > 0, "{kind} does not come up in 60 operations");
        let compiled = runs_of(&summary, &format!("{kind} compiled tree"));
        let plain = runs_of(&summary, &format!("{kind} tree"));
        assert_eq!(plain + compiled, said(kind), "{kind}");
    }
}

#[test]
fn a_classic_run_becomes_a_trial_with_its_parameters() {
    let program = prepared();
    let words = ["compilebench", "-D", "w", "-s", "lists", "-i3", "-r", "4", "--label", "old"];
    program.run(words).ends_with(0);
    let trial = last(&program);
    assert_eq!((trial.beginning.mode.name(), trial.beginning.label.as_str()), ("classic", "old"));
    let parameter = |name: &str| {
        let found = trial.beginning.parameters.iter().find(|(one, _)| one == name);
        found.map(|(_, value)| value.as_str()).unwrap()
    };
    assert_eq!(parameter("initial-dirs"), "3");
    assert_eq!(parameter("runs"), "4");
    assert_eq!(parameter("seed"), "555");
    assert_eq!(parameter("buffer-size"), "262144");
    assert_eq!(trial.phases.len(), 3);
    assert_eq!(tasks(&trial).len(), 9 + 3 + 4);
}

#[test]
fn with_no_store_nothing_is_stored() {
    let program = prepared();
    let words = ["compilebench", "-D", "w", "-s", "lists", "-i", "1", "-r", "0", "--no-store"];
    program.run(words).ends_with(0);
    assert!(!program.data().exists());
    program.run(["show"]).ends_with(2).complains("there are no results yet");
}

#[test]
fn a_trace_needs_a_device() {
    let program = prepared();
    for words in [&["-t", "prefix"][..], &["--trace=x"]] {
        let first_words = ["compilebench", "-D", "w", "-s", "lists"];
        let ran = program.run(first_words.iter().chain(words)).ends_with(1);
        assert_eq!(ran.stdout, "");
        assert!(ran.stderr.contains("No blktrace device specified"), "{ran}");
        assert!(!program.home().join("w").exists(), "nothing was done");
    }
    let first_words = ["compilebench", "-D", "w", "-s", "lists", "-t", "x", "-d", "/dev/null"];
    program.run(first_words).ends_with(1).complains("/dev/null is not a block device");
}

#[test]
fn options_are_parsed_like_the_original() {
    let program = prepared();
    let outline = |words: &[&str]| {
        let first_words = ["compilebench", "--dry-run", "-s", "lists"];
        program.run(first_words.iter().chain(words)).ends_with(0).stdout
    };
    let right = outline(&["--initial-dirs", "3", "--runs", "5"]);
    assert_eq!(right.lines().count(), 3 + 3 + 5);
    for words in [
        &["-i", "3", "-r", "5"][..],
        &["-i3", "-r5"],
        &["--initial-dirs=3", "--runs=5"],
        &["--init", "3", "--ru=5"],
        &["-i", "9", "-i", "3", "-r5"],
        &["-n", "-n", "-i3", "-r5"],
        &["-nr5", "-i3"],
        &["--no-sync", "--buffer", "4096", "-i3", "-r5"],
        &["--direct", "/mnt/default", "-i3", "-r5"],
    ] {
        assert_eq!(outline(words), right, "{words:?}");
    }
    let makej = outline(&["-i", "3", "-m"]);
    assert_eq!(outline(&["-i", "3", "--makej", "--makej"]), makej);
    let kinds: Vec<&str> = makej.lines().map(|line| line.split(' ').next().unwrap()).collect();
    let expected = [["native"; 3], ["create"; 3], ["compile"; 3], ["read"; 3], ["delete"; 3]];
    assert_eq!(kinds, expected.concat());
    assert_ne!(outline(&["-i3", "-r5", "--seed", "1"]), right, "another seed, another sequence");
    assert_eq!(outline(&["-i3", "-r5", "--seed", "555"]), right);
}

#[test]
fn invalid_values_are_refused_with_the_option_name() {
    let program = prepared();
    for (words, complaint) in [
        (["-i", "x"], "--initial-dirs: 'x' is not a whole number"),
        (["-r", "1.5"], "--runs: '1.5' is not a whole number"),
        (["-b", "0"], "--buffer-size: 0 is not between 1 and"),
        (["-b", "lots"], "--buffer-size: 'lots' is not a size"),
        (["--seed", "0x"], "--seed: '0x' is not a whole number"),
        (["-s", "nowhere"], "there is no dataset 'nowhere'"),
        (["-s", "./nowhere"], "dataset-unpatched is missing"),
    ] {
        let first_words = ["compilebench", "-D", "w", "-s", "lists"];
        program.run(first_words.iter().chain(&words)).ends_with(2).complains(complaint);
    }
    assert!(!program.home().join("w").exists(), "nothing was done");
}

#[test]
fn a_link_with_the_original_name_runs_the_tool() {
    let program = prepared();
    let link = program.home().join("compilebench");
    symlink(env!("CARGO_BIN_EXE_treering"), &link).unwrap();
    let through_link = |words: &[&str]| {
        let mut command = Command::new(&link);
        FinishedCommand::run(program.prepare(&mut command).args(words))
    };
    let ran = through_link(&["-D", "w", "-s", "lists", "-i", "2", "-r", "3", "-n"]).ends_with(0);
    assert_eq!(runs_of(&summary_runs(&ran.stdout), "intial create"), 2);
    assert_eq!(last(&program).beginning.workload, "compilebench");
    through_link(&["-t", "x"]).ends_with(1).complains("No blktrace device specified");
    let help = through_link(&["--help"]).ends_with(0);
    assert!(help.stdout.contains("--initial-dirs"), "{help}");
}

#[test]
fn data_sets_come_from_the_current_directory_or_the_program() {
    let program = prepared();
    let outline = |dir: &str| {
        let mut command = program.command(["compilebench", "--dry-run", "-i", "1", "-r", "0"]);
        FinishedCommand::run(command.current_dir(program.home().join(dir))).ends_with(0).stdout
    };
    assert!(outline("lists").starts_with("native unpatched native-0 0MB\n"));
    assert!(outline("").starts_with("native unpatched native-0 1237MB\n"));
}

#[test]
fn each_operation_syncs_and_drops_caches_unless_disabled() {
    let program = prepared();
    let run = |words: &[&str]| {
        let first_words = ["compilebench", "-D", "w", "-s", "lists", "-i", "2", "-r", "8"];
        program.run(first_words.iter().chain(words)).ends_with(0);
        std::fs::remove_dir_all(program.home().join("w")).unwrap();
        last(&program)
    };
    let syncs = |trial: &treering_model::Trial, phase: u32| -> Vec<u64> {
        let tasks = trial.tasks.iter().filter(|task| task.phase == phase);
        let sync = |op: &&treering_model::OpTotals| op.op == Op::Sync;
        tasks.map(|task| task.ops.iter().filter(sync).map(|op| op.calls).sum()).collect()
    };
    let (synced, plain) = (run(&[]), run(&["-n"]));
    assert_eq!(syncs(&synced, 1), [0, 0], "initial creates are not synced one by one");
    assert_eq!(syncs(&synced, 2), [1; 8]);
    assert_eq!((syncs(&plain, 1), syncs(&plain, 2)), (vec![0; 2], vec![0; 8]));
    assert_eq!(tasks(&synced), tasks(&plain), "the sequence is the same");
}

#[test]
fn requests_have_the_given_size() {
    let program = prepared();
    let run = |size: &str| {
        let words = ["compilebench", "-D", "w", "-s", "lists", "-i", "1", "-r", "0", "-b", size];
        program.run(words).ends_with(0);
        std::fs::remove_dir_all(program.home().join("w")).unwrap();
        calls(&last(&program), "initial create", Op::Write)
    };
    let expected = |size: u64| {
        FourLists::tiny().unpatched.values().map(|bytes| bytes.div_ceil(size)).sum::<u64>()
    };
    assert_eq!(run("4096"), expected(4096));
    assert_eq!(run("64K"), expected(65_536));
    assert_eq!(run("1M"), expected(1 << 20));
}

#[test]
fn a_dry_run_of_the_default_equals_both_published_listings() {
    let lists = require_shared!("data/compilebench-0.6");
    let report = require_shared!("seeds/001_26b0cef4a741bd4e.txt");
    let report = std::fs::read_to_string(report).unwrap();
    let place = temp_dir();
    let mut command = program().command(["compilebench", "--dry-run", "-i", "30", "-r", "100"]);
    let ran =
        FinishedCommand::run(command.arg("-s").arg(&lists).current_dir(place.path())).ends_with(0);
    let ours: Vec<&str> = ran.stdout.lines().collect();
    assert_eq!(ours.len(), 3 + 30 + 100);
    assert_eq!(ours[0], "native unpatched native-0 222MB");
    for listing in 0..2 {
        assert_eq!(ours, published(&report, listing), "listing {listing}");
    }
    assert!(tree_of(place.path()).is_empty(), "a dry run touches no disk");
}

/// Lines of operations in a published listing, without time and rate.
fn published(report: &str, listing: usize) -> Vec<&str> {
    let start = report.match_indices("using working directory").nth(listing).unwrap().0;
    let starts = ["native ", "create dir ", "patch dir ", "compile dir ", "read dir ", "stat dir "];
    let is_operation = |line: &str| {
        starts.iter().any(|start| line.starts_with(start))
            || line.starts_with("clean kernel-")
            || line.starts_with("delete kernel-")
    };
    report[start..]
        .lines()
        .take_while(|line| !line.starts_with("run complete"))
        .filter(|line| is_operation(line))
        .map(|line| line.split(" in ").next().unwrap())
        .collect()
}

#[test]
fn a_run_without_operations_ends_after_the_initial_creates() {
    let program = prepared();
    let words = ["compilebench", "-D", "a/b/w", "-s", "lists", "-i", "0", "-r", "0"];
    let ran = program.run(words).ends_with(0);
    assert_eq!(ran.stderr.lines().count(), 2 + 3);
    assert!(summary_runs(&ran.stdout).iter().all(|(_, runs)| *runs == 0));
    assert!(program.home().join("a/b/w").is_dir(), "missing parents are made");
    assert_eq!(cautions(&last(&program)), ["store_staged", "too_short"]);
}

#[test]
fn abbreviations_are_those_of_the_original_and_words_without_an_option_are_ignored() {
    let program = prepared();
    let outline = |words: &[&str]| {
        let first_words = ["compilebench", "--dry-run", "-s", "lists", "-i", "1", "-r", "2"];
        program.run(first_words.iter().chain(words)).ends_with(0).stdout
    };
    assert_eq!(outline(&["--no-s", "more", "words"]), outline(&["-n"]));
    let words = ["compilebench", "-D", "w", "-s", "lists", "-i1", "-r0", "--no-s", "w2"];
    program.run(words).ends_with(0);
    assert!(!program.home().join("w2").exists());
}

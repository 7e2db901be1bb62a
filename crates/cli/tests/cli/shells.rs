//! The program beside a shell: completion, manual pages, colors, names of devices, numbers with a
//! suffix, and the directory that must exist.

use std::fs;
use std::path::Path;
use std::process::Command;

use treering_testkit::{FinishedCommand, Program, require_root};

use crate::program;

const BINARY: &str = env!("CARGO_BIN_EXE_treering");

/// Completions that bash offers for the last of these words.
fn offered(program: &Program, words: &[&str]) -> Vec<String> {
    let mut command = program.command([&["--"], words].concat());
    command
        .env("TREERING_COMPLETE", "bash")
        .env("_CLAP_IFS", "\n")
        .env("_CLAP_COMPLETE_INDEX", (words.len() - 1).to_string());
    let ran = FinishedCommand::run(&mut command).ends_with(0);
    assert_eq!(ran.stderr, "");
    ran.stdout.lines().map(str::to_owned).collect()
}

#[test]
fn completion_offers_names_built_into_the_program() {
    let program = program();
    for (words, expected) in [
        (&["treering", "run", "fs"][..], "fs_mark"),
        (&["treering", "list", "--workload", "blog"], "blogbench"),
        (&["treering", "run", "compilebench", "--dataset", "linux"], "linux-6.1-small"),
        (&["treering", "dataset", "show", ""], "linux-6.1"),
        (&["treering", "run", "filebench", "var"], "varmail"),
        (&["treering", "plan", "show", "thr"], "threads"),
        (&["treering", "age", "show", "ma"], "mail"),
        (&["treering", "age", "--profile", "ma"], "mail"),
        (&["treering", "report", "--format", "bench"], "benchstat"),
        (&["treering", "export", "--format", "csv-"], "csv-ops"),
        (&["treering", "compare", "--filesystems", "ext4,x"], "ext4,xfs"),
        (&["treering", "completions", "bash", "db"], "dbench"),
        (&["treering", "list", "--color", "n"], "never"),
        // Links with the names of imitated tools complete the options of those tools.
        (&["fs_mark", "--no-st"], "--no-store"),
        (&["/usr/local/bin/dbench", "--load"], "--loadfile"),
    ] {
        let offered = offered(&program, words);
        assert!(offered.contains(&expected.to_owned()), "{words:?}: {offered:?}");
    }
}

#[test]
fn completion_offers_shortest_unique_trial_prefixes() {
    let program = program();
    assert!(!offered(&program, &["treering", "show", ""]).contains(&"last".to_owned()));
    assert!(!program.data().exists(), "nothing is made for it");
    for label in ["before", "after"] {
        let words = ["run", "fs_mark", "--dir", "w", "--files", "2", "--label", label, "--quiet"];
        program.run(words).ends_with(0);
    }
    let offered_ids = offered(&program, &["treering", "show", ""]);
    let ids: Vec<&String> = offered_ids.iter().filter(|word| !word.starts_with('-')).collect();
    assert_eq!(ids.len(), 3, "two trials and `last`: {ids:?}");
    for id in ids {
        program.run(["show", id]).ends_with(0);
    }
    assert_eq!(offered(&program, &["treering", "report", "--baseline", "b"]), ["before"]);
    assert_eq!(offered(&program, &["treering", "list", "--label", "af"]), ["after"]);
}

#[test]
fn the_bash_script_runs_the_treering_on_the_path() {
    let program = program();
    let script = program.run(["completions", "bash"]).ends_with(0).stdout;
    assert!(script.contains("complete ") && script.contains("TREERING_COMPLETE="), "{script}");
    let tools = program.run(["completions", "bash", "bonnie++", "fio"]).ends_with(0).stdout;
    assert!(tools.contains(" bonnie++\n") && tools.contains("\"treering\" --"), "{tools}");
    fs::write(program.home().join("script"), script).unwrap();
    let bin = Path::new(BINARY).parent().unwrap();
    let asking = format!(
        "PATH={}:$PATH; . ./script; COMP_WORDS=(treering li); COMP_CWORD=1; COMP_TYPE=9\n\
         _clap_complete_treering treering li treering; printf '%s\\n' \"${{COMPREPLY[@]}}\"",
        bin.display()
    );
    let mut bash = Command::new("bash");
    let ran = FinishedCommand::run(program.prepare(&mut bash).args(["--norc", "-c", &asking]));
    assert_eq!(ran.stdout.split_whitespace().collect::<Vec<_>>(), ["list", "links"], "{ran}");
}

#[test]
fn manual_pages_are_written_for_every_command_and_every_old_name() {
    let program = program();
    fs::create_dir(program.home().join("man")).unwrap();
    program.run(["man", "--links", "man"]).ends_with(0);
    let page = |name: &str| fs::read_to_string(program.home().join("man").join(name)).unwrap();
    let names =
        ["treering.1", "treering-compare.1", "treering-fs_mark.1", "fs_mark.1", "bonnie++.1"];
    for name in names {
        let text = page(name);
        for section in ["NAME", "SYNOPSIS", "OPTIONS", "ENVIRONMENT", "\"SEE ALSO\""] {
            assert!(text.contains(&format!(".SH {section}")), "{section} in {name}: {text}");
        }
    }
    assert!(page("treering.1").contains("Exit codes"));
    program.run(["man", "nowhere"]).ends_with(2).complains("nowhere");
}

#[test]
fn colors_follow_the_option() {
    let program = program();
    let is_colored = |words: &[&str]| program.run(words).ends_with(0).stdout.contains("\u{1b}[");
    assert!(!is_colored(&["lab", "filesystems"]));
    assert!(is_colored(&["lab", "filesystems", "--color=always"]));
    assert!(is_colored(&["--color", "always", "lab", "filesystems"]));
    assert!(!is_colored(&["lab", "filesystems", "--color", "never"]));
    assert!(is_colored(&["list", "--help", "--color=always"]));
    program.run(["list", "--color", "often"]).ends_with(2).complains("often");
}

#[test]
fn a_missing_directory_is_refused_and_not_created() {
    let program = program();
    let run = |words: &[&str]| {
        let mut command = Command::new(BINARY);
        FinishedCommand::run(program.prepare(&mut command).args(words))
    };
    let refused = run(&["run", "fs_mark", "--dir", "a/b", "--files", "1"]).ends_with(2);
    assert!(refused.stderr.contains("there is no directory a/b"), "{refused}");
    assert!(refused.stderr.contains("mkdir a/b"), "{refused}");
    assert!(!program.home().join("a").exists());
    // A dry run needs no directory.
    run(&["run", "fs_mark", "--dir", "a/b", "--files", "1", "--dry-run"]).ends_with(0);
}

#[test]
fn numbers_may_have_a_suffix() {
    let program = program();
    let words = ["run", "fs_mark", "--dry-run", "-n", "2k", "-s", "4KB", "-t", "1"];
    let with_suffix = program.run(words).ends_with(0).stdout;
    let words = ["run", "fs_mark", "--dry-run", "-n", "2000", "-s", "4096", "-t", "1"];
    assert_eq!(with_suffix, program.run(words).ends_with(0).stdout);
    program.run(["list", "-n", "10k"]).ends_with(0);
    program.run(["list", "-n", "10q"]).ends_with(2).complains("as 500 or 10k");
}

#[test]
fn a_device_may_be_named_without_its_directory() {
    require_root!();
    if !Path::new("/dev/loop0").exists() {
        treering_testkit::skip("there is no /dev/loop0");
        return;
    }
    let program = program();
    let ran = program.run(["doctor", "loop0"]);
    assert!(!ran.stderr.contains("No such file"), "{ran}");
    // A file of this name in the current directory takes precedence.
    fs::write(program.home().join("loop0"), "").unwrap();
    let ran = program.run(["layout", "--extents", "loop0"]);
    assert!(!ran.stdout.contains("/dev/loop0") && !ran.stderr.contains("/dev/loop0"), "{ran}");
}

//! Removal of files by a run, and by `clean` after it: only files that the run created, however and
//! whenever the run ends.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::thread::sleep;
use std::time::{Duration, Instant};

use treering_testkit::{FinishedCommand, FourLists, Program, RunningProgram, tree_of, wait_until};

use crate::program;

/// A workload with options for a run that continues until stopped, and for a short one.
struct Sizes {
    name: &'static str,
    /// Name prefixes of the workload's own trees; no such file may exist before.
    own: &'static [&'static str],
    long: &'static [&'static str],
    short: &'static [&'static str],
}

const COMPILE: [&str; 6] = ["--dataset", "./lists", "--runs", "0", "--sync", "none"];
const WORKLOADS: [Sizes; 14] = [
    Sizes {
        name: "compilebench",
        own: &["kernel-", "native-"],
        long: &["--initial-dirs", "5000"],
        short: &["--initial-dirs", "1"],
    },
    Sizes {
        name: "fs_mark",
        own: &["fs_mark-"],
        long: &["--files", "50", "--size", "512", "--iterations", "1000", "--sync-method", "none"],
        short: &["--files", "9"],
    },
    Sizes { name: "ffsb", own: &["ffsb-"], long: &["long.ffsb"], short: &["short.ffsb"] },
    Sizes { name: "fio", own: &["fio-"], long: &["long.fio"], short: &["short.fio"] },
    Sizes {
        name: "filebench",
        own: &["filebench-"],
        long: &["varmail", "--seconds", "600"],
        short: &["varmail", "--seconds", "1"],
    },
    Sizes {
        name: "bonnie++",
        own: &["bonnie-"],
        long: &["--size", "0", "--files", "20000"],
        short: &["--size", "0", "--files", "9"],
    },
    Sizes {
        name: "dbench",
        own: &["dbench-"],
        long: &["--time", "600"],
        short: &["--passes", "1", "--blocks", "1", "--clients", "1"],
    },
    Sizes { name: "blogbench", own: &["blogbench-"], long: &[], short: &["--iterations", "1"] },
    Sizes {
        name: "mdtest",
        own: &["test-dir."],
        long: &["--items", "2000", "--iterations", "100"],
        short: &["--items", "9"],
    },
    Sizes {
        name: "ior",
        own: &["ior-"],
        long: &["--block", "1M", "--repetitions", "1000", "--files", "own"],
        short: &["--block", "1M"],
    },
    Sizes {
        name: "io500",
        own: &["io500-"],
        long: &["--seconds", "600", "--space", "128M"],
        short: &["--seconds", "1", "--space", "64M"],
    },
    Sizes {
        name: "postmark",
        own: &["postmark-"],
        long: &["--number", "100000", "--size-high", "500", "--transactions", "10000000"],
        short: &["--number", "9", "--transactions", "9"],
    },
    Sizes {
        name: "age",
        own: &["age-"],
        long: &["--live", "20M", "--until", "operations=100000000"],
        short: &["--live", "1M", "--until", "operations=9"],
    },
    Sizes { name: "command", own: &[], long: &["--", "sleep", "600"], short: &["--", "true"] },
];

/// Names similar to those of trees.
const LIKE_TREES: [&str; 15] = [
    "kernel-6",
    "native-0",
    "fs_mark-0",
    "ffsb-0",
    "fio-0",
    "filebench-0",
    "bonnie-0",
    "dbench-0",
    "blogbench-0",
    "test-dir.0-0",
    "ior-0",
    "io500-0",
    "postmark-0",
    "age-0",
    "copy-1",
];

fn prepared() -> Program {
    let program = program();
    FourLists::wide(50, 10).write_to(&program.home().join("lists"));
    let file = |name: &str, text: &str| fs::write(program.home().join(name), text).unwrap();
    let ffsb = |seconds, files| {
        format!(
            "time={seconds}\n[filesystem0]\nlocation=d\nnum_files={files}\nnum_dirs=1\n\
             min_filesize=4k\nmax_filesize=4k\n[end0]\n[threadgroup0]\nnum_threads=1\n\
             read_weight=1\nread_size=4k\nread_blocksize=4k\n[end0]\n"
        )
    };
    file("long.ffsb", &ffsb(600, 2_000));
    file("short.ffsb", &ffsb(1, 9));
    file("long.fio", "[a]\nrw=randwrite\nsize=1m\nruntime=600\ntime_based\n");
    file("short.fio", "[a]\nrw=randwrite\nsize=64k\n");
    program
}

fn words<'w>(sizes: &Sizes, own: &[&'w str]) -> Vec<&'w str> {
    let fixed: &[&str] = if sizes.name == "compilebench" { &COMPILE } else { &[] };
    let first_words = ["run", sizes.name, "--dir", "w", "--quiet", "--no-store"];
    [&first_words[..], fixed, own].concat()
}

/// Creates a directory that belongs to the user.
fn make_mine(dir: &Path) {
    fs::create_dir(dir).unwrap();
    fs::write(dir.join("thesis.txt"), "mine").unwrap();
}

fn entries(dir: &Path) -> Vec<String> {
    let mut names: Vec<_> = fs::read_dir(dir)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

/// Runs `clean`, repeatedly, since processes that a killed run had started may hold its directory
/// for a moment.
fn clean(program: &Program) -> FinishedCommand {
    let began = Instant::now();
    loop {
        let ran = program.run(["clean", "w"]);
        let is_busy = ran.stderr.contains("another run is working in");
        if !is_busy || began.elapsed() > Duration::from_secs(60) {
            return ran.ends_with(0);
        }
        sleep(Duration::from_millis(20));
    }
}

/// Waits until the directory has a new entry other than the mark.
fn wait_for_tree(dir: &Path, before: usize) {
    let began = Instant::now();
    let mark = |name: &String| name != ".treering-run";
    while entries(dir).iter().filter(|name| mark(name)).count() <= before {
        assert!(began.elapsed() < Duration::from_secs(120), "no tree is made");
        sleep(Duration::from_millis(5));
    }
}

#[test]
fn only_own_files_are_removed_for_any_signal_at_any_time() {
    for workload in treering_registry::workloads() {
        let name = workload.manifest().name;
        assert!(WORKLOADS.iter().any(|sizes| sizes.name == name), "{name}");
    }
    // Times at which to end a run, in milliseconds: random, but the same in each test.
    let mut random = 0x1234_5678_u64;
    let mut moment = || {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        Duration::from_millis((random >> 33) % 150)
    };
    for sizes in &WORKLOADS {
        let program = prepared();
        let dir = program.home().join("w");
        fs::create_dir(&dir).unwrap();
        let is_own = |name: &&&str| sizes.own.iter().any(|own| name.starts_with(own));
        let mut mine: Vec<_> = LIKE_TREES.iter().filter(|name| !is_own(name)).collect();
        mine.sort();
        mine.iter().for_each(|name| make_mine(&dir.join(name)));
        for (signal, is_late) in [("TERM", true), ("HUP", false), ("INT", false), ("KILL", true)] {
            let what = format!("{} ended by {signal}", sizes.name);
            let run = program.start(words(sizes, sizes.long));
            if is_late && !sizes.own.is_empty() {
                wait_for_tree(&dir, mine.len());
            }
            sleep(moment());
            run.send(signal);
            let ran = run.finish();
            // A directory with the name of a tree is created after the end of the run.
            let late = sizes.own.first().map(|own| dir.join(format!("{own}77-77")));
            late.iter().for_each(|late| make_mine(late));
            let cleaned = clean(&program);
            late.iter().for_each(|late| {
                assert_eq!(fs::read(late.join("thesis.txt")).unwrap(), b"mine", "{what}");
                fs::remove_dir_all(late).unwrap();
            });
            assert_eq!(
                entries(&dir),
                mine.iter().map(|name| **name).collect::<Vec<_>>(),
                "{what}\n{ran}\n{cleaned}"
            );
            program.run(words(sizes, sizes.short)).ends_with(0);
            assert_eq!(tree_of(&dir).len(), mine.len(), "{what}");
        }
        for name in mine {
            assert_eq!(fs::read(dir.join(name).join("thesis.txt")).unwrap(), b"mine");
        }
    }
}

/// Runs mdtest until it has created its tree, then kills mdtest.
fn killed_mdtest(program: &Program) {
    let dir = program.home().join("w");
    let before = entries(&dir).len();
    let run =
        program.start(["run", "mdtest", "--dir", "w", "-q", "--items", "20000", "--no-store"]);
    wait_for_tree(&dir, before);
    // The mark records the identity of the tree before the first file is created in it.
    let tree = dir.join("test-dir.0-0");
    let is_begun = || fs::read_dir(&tree).is_ok_and(|mut entries| entries.next().is_some());
    wait_until("a file in the tree", is_begun);
    run.send("KILL");
    run.finish();
}

#[test]
fn clean_reports_removed_trees_and_why_others_stay() {
    let program = program();
    let dir = program.home().join("w");
    fs::create_dir(&dir).unwrap();
    make_mine(&dir.join("copy-1"));
    killed_mdtest(&program);
    let would = program.run(["clean", "--dry-run", "w"]).ends_with(0);
    let line = would.stdout.lines().next().unwrap_or_default();
    assert!(line.starts_with("would remove w/test-dir.0-0: "), "{would}");
    for part in [" files, ", " old, of trial "] {
        assert!(line.contains(part), "{would}");
    }
    assert!(dir.join("test-dir.0-0").exists());
    // The user replaces the tree by another directory of the same name.
    fs::rename(dir.join("test-dir.0-0"), dir.join("kept")).unwrap();
    make_mine(&dir.join("test-dir.0-0"));
    for words in [&["clean", "--dry-run", "w"][..], &["clean", "w"]] {
        let ran = program.run(words).ends_with(0);
        let stays = "leaving w/test-dir.0-0: it is not the directory that the run made";
        assert!(ran.stdout.contains(stays), "{ran}");
    }
    assert_eq!(entries(&dir), ["copy-1", "kept", "test-dir.0-0"]);
}

#[test]
fn a_copied_mark_removes_nothing_and_is_explained() {
    let program = program();
    let (dir, other) = (program.home().join("w"), program.home().join("other"));
    fs::create_dir(&dir).unwrap();
    killed_mdtest(&program);
    fs::create_dir(&other).unwrap();
    fs::copy(dir.join(".treering-run"), other.join(".treering-run")).unwrap();
    make_mine(&other.join("test-dir.0-0"));
    for words in [
        &["clean", "other"][..],
        &["clean", "--dry-run", "other"],
        &["run", "fs_mark", "--dir", "other", "-q", "--files", "9", "--no-store"],
    ] {
        let ran = program.run(words).ends_with(3).complains("was left in another directory");
        assert!(ran.stderr.contains("hint: remove "), "{ran}");
    }
    assert_eq!(entries(&other), [".treering-run", "test-dir.0-0"]);
    program.run(["clean", "w"]).ends_with(0);
    assert!(entries(&dir).is_empty());
}

#[test]
fn a_start_without_file_descriptors_frees_the_directory() {
    let program = prepared();
    let dir = program.home().join("w");
    fs::create_dir(&dir).unwrap();
    let mut named = 0;
    for files in 4..24 {
        let mut command = Command::new("sh");
        command.args(["-c", "ulimit -n $0; exec \"$@\"", &files.to_string()]);
        command.arg(env!("CARGO_BIN_EXE_treering"));
        command.args(["run", "mdtest", "--dir", "w", "-q", "--items", "9", "--no-store"]);
        let ran = RunningProgram::start(program.prepare(&mut command)).finish();
        if ran.code != Some(0) && ran.stderr.contains("open files") {
            named += 1;
        }
        assert_eq!(entries(&dir), Vec::<String>::new(), "{files} files: {ran}");
    }
    assert!(named > 0, "the reason is named");
    program.run(["run", "mdtest", "--dir", "w", "-q", "--items", "9", "--no-store"]).ends_with(0);
}

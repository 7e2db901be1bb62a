//! mdtest as a user runs it: output and trees of the original and of treering, side by side.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::{Path, PathBuf};

use treering_model::{Ending, Op};
use treering_testkit::{FinishedCommand, Program, temp_dir};

use crate::originals::{original, run_original, run_ours};
use crate::program;
use crate::trial::{calls, last, metric};

pub(crate) fn classic(program: &Program, ranks: u32, words: &str) -> FinishedCommand {
    run_ours(program, "mdtest", ranks, words)
}

/// Lines without the parts that differ in every run: times, figures, the filesystem.
pub(crate) fn shape(text: &str) -> Vec<String> {
    let varying = ["-- started", "-- finished", "Command line", "FS ", "Authorization"];
    let lines = text.lines().filter(|line| !varying.iter().any(|begin| line.starts_with(begin)));
    let is_figure = |word: &&str| word.parse::<f64>().is_err();
    lines
        .map(|line| {
            if line.starts_with("Test ") {
                return line.rsplit_once(' ').map_or(line, |(name, _)| name).to_owned();
            }
            let figures = line.split_whitespace().filter(|word| !is_figure(word)).count();
            let words: Vec<&str> = line.split_whitespace().filter(is_figure).collect();
            format!("{} with {figures} figures", words.join(" "))
        })
        .collect()
}

/// Paths below a directory, with the bytes of files.
pub(crate) fn tree(top: &Path) -> BTreeSet<(PathBuf, Option<Vec<u8>>)> {
    let mut found = BTreeSet::new();
    let mut pending = vec![PathBuf::new()];
    while let Some(dir) = pending.pop() {
        let Ok(entries) = fs::read_dir(top.join(&dir)) else { continue };
        for entry in entries {
            let entry = entry.unwrap();
            let path = dir.join(entry.file_name());
            if entry.file_type().unwrap().is_dir() {
                pending.push(path.clone());
                found.insert((path, None));
            } else {
                found.insert((path, Some(fs::read(entry.path()).unwrap())));
            }
        }
    }
    found
}

/// Number of ranks and command line of each case; `-G` makes the data equal.
const LINES: [(u32, &str); 13] = [
    (1, "-n 10 -C"),
    (4, "-n 10 -C -u -N 1"),
    (4, "-n 10 -i 3 -u -N 1 -P --print-all-procs --showRankStatistics"),
    (2, "-n 30 -C -z 2 -b 3 -L -u"),
    (2, "-I 3 -C -U -z 2 -b 2"),
    (2, "-n 20 -I 5 -C"),
    (3, "-n 10 -F -w 3901 -e 3901 -X -G 7 -N 1 -C -T -E"),
    (3, "-n 4 -F -w 9001 -G 7 -C --dataPacketType=r"),
    (3, "-n 4 -F -w 9001 -G 7 -C --dataPacketType=o -y"),
    (3, "-n 10 -c -C -Z"),
    (2, "-n 10 -F -S -C"),
    (2, "-n 10 -F -w 3901 -e 3901 -G=-499000000 -N 1 -C -t -P -p 1"),
    (3, "-n 3 -f 2 -l 2 -C"),
];

#[test]
fn tables_and_trees_equal_the_original() {
    let Some(original) = original("mdtest") else { return };
    for (ranks, words) in LINES {
        let (program, other) = (program(), temp_dir());
        let theirs = run_original(&original, other.path(), ranks, words).ends_with(0);
        let ours = classic(&program, ranks, words).ends_with(0);
        assert_eq!(shape(&ours.stdout), shape(&theirs.stdout), "{words}");
        assert_eq!(
            tree(&program.home().join("out")),
            tree(&other.path().join("out")),
            "-n {ranks}: {words}"
        );
    }
}

#[test]
fn what_the_original_refuses_is_refused_with_its_exit_code() {
    for (words, message, code) in [
        ("-S -u", "-u not compatible with -S", 1),
        ("-n 10 -I 3", "items must be a multiple of items per directory", 1),
        ("-B=1", "and with barriers", 1),
        ("-a DFS", "only POSIX calls are made", 1),
        // Only treering rejects this option.
        ("--warningAsErrors", "see the numbers of missing items", 2),
    ] {
        let program = program();
        let ran = classic(&program, 1, words).ends_with(code);
        let output = format!("{}{}", ran.stdout, ran.stderr);
        assert!(output.contains(message), "{words}: {output}");
        assert!(!program.home().join("out").exists(), "nothing was done");
    }
}

#[test]
fn a_read_test_of_missing_files_ends_the_run_without_a_rate() {
    let program = program();
    let ran = classic(&program, 1, "-F -n 10 -e 100 -E -d there").ends_with(255);
    assert!(ran.stderr.contains("No such file or directory"), "{ran}");
    assert!(!ran.stdout.contains("SUMMARY"), "{ran}");
    let ran = classic(&program, 1, "-F -n 10 -T -d there").ends_with(0);
    assert!(ran.stdout.contains("WARNING: 10 items were not there"), "{ran}");
}

#[test]
fn a_run_that_aborts_in_the_original_works() {
    let program = program();
    let words = "-u -L -z 2 -b 3 -I 20 -N 1 -i 2 -d there";
    let ran = classic(&program, 4, words).ends_with(0);
    assert!(!ran.stdout.contains("WARNING: 1"), "{ran}");
    assert!(tree(&program.home().join("there")).is_empty());
    let trial = last(&program);
    assert_eq!(trial.ending, Ending::Completed);
    // Each of 4 ranks has 9 leaves and 2 iterations.
    assert_eq!(calls(&trial, "file-stat", Op::Stat), 4 * 9 * 20 * 2);
    assert!(metric(&trial, "file-create", "operations_per_second").unwrap() > 0.0);
}

#[test]
fn phases_can_be_split_over_runs_after_an_end_by_time() {
    let program = program();
    let words = "-F -u -n 100000000 -W 1 -x items -d there -G 3 -w 100";
    let outcome = classic(&program, 2, &format!("{words} -C")).ends_with(0);
    assert!(outcome.stdout.contains("Continue stonewall hit min: "), "{outcome}");
    let items: usize = fs::read_to_string(program.home().join("items")).unwrap().parse().unwrap();
    let files = tree(&program.home().join("there"));
    let files = files.iter().filter(|(_, bytes)| bytes.is_some()).count();
    assert_eq!(files, 2 * items, "all have as many as the fastest");
    assert!(metric(&last(&program), "file-create", "items_per_worker").unwrap() > 0.0);
    let words = "-F -u -n 100000000 -x items -d there -G 3 -e 100 -X -E -r";
    let read = classic(&program, 2, words).ends_with(0);
    assert!(!read.stdout.contains("WARNING: ") && !read.stdout.contains("ERROR"), "{read}");
    assert!(tree(&program.home().join("there")).is_empty());
}

#[test]
fn tests_do_not_follow_links_out_of_an_existing_tree() {
    let program = program();
    let words = "-n 20 -z 1 -b 2 -d there";
    classic(&program, 2, &format!("{words} -C")).ends_with(0);
    let tree_top = program.home().join("there/test-dir.0-0/mdtest_tree.0");
    let outside = program.home().join("outside");
    fs::rename(tree_top.join("mdtest_tree.2"), &outside).unwrap();
    symlink(&outside, tree_top.join("mdtest_tree.2")).unwrap();
    let before = tree(&outside);
    for only in ["-r", "-T", "-E", "-C"] {
        let ran = classic(&program, 2, &format!("{words} {only}")).ends_with(255);
        assert!(ran.stderr.contains("mdtest_tree.2: Not a directory"), "{only}: {ran}");
    }
    assert_eq!(tree(&outside), before);
}

#[test]
fn a_native_run_reorders_tasks_reports_and_cleans_up() {
    let program = program();
    fs::create_dir(program.home().join("target")).unwrap();
    let words = "run mdtest --dir target --workers 3 --items 50 --own-trees --depth 1 --branch 2 \
                 --write-size 100 --iterations 2";
    program.run(words.split_whitespace()).ends_with(0);
    assert!(tree(&program.home().join("target")).is_empty());
    let trial = last(&program);
    let shift = trial.beginning.parameters.iter().find(|(name, _)| name == "shift").unwrap();
    assert_eq!(shift.1, "1");
    for kind in ["dir-create", "dir-stat", "dir-rename", "file-create", "file-read", "tree-remove"]
    {
        assert!(metric(&trial, kind, "operations_per_second").unwrap() > 0.0, "{kind}");
        assert!(metric(&trial, kind, "worker_skew_ratio").unwrap() >= 1.0, "{kind}");
    }
    // Each of 3 directories gets 16 of the 50 items.
    assert_eq!(calls(&trial, "file-create", Op::Create), 3 * 48 * 2);
}

#[test]
fn a_creation_with_a_time_limit_replaces_a_stale_number_of_items() {
    let program = program();
    fs::write(program.home().join("items"), "50").unwrap();
    let words = "-F -u -n 200 -N 1 -x items -d there";
    classic(&program, 2, &format!("{words} -C -W 600")).ends_with(0);
    assert_eq!(fs::read_to_string(program.home().join("items")).unwrap(), "200");
    classic(&program, 2, &format!("{words} -r")).ends_with(0);
    assert!(tree(&program.home().join("there")).is_empty(), "all are removed");
}

#[test]
fn verbose_output_has_settings_and_tests() {
    let program = program();
    let ran = classic(&program, 2, "-n 3 -v -i 2 -F -d there").ends_with(0);
    for line in [
        "V-1: Rank   0 Line  2462 items                   : 3\n",
        "V-1: Rank   0 Line  2678    Operation               Duration              Rate\n",
        "V-1: Rank   0 Line  2063 main: * iteration 2 *\n",
        "V-1: Rank   0 Line  2139 V-1: main:   Tree creation     : ",
        "V-1: Rank   0 Line  1435   File creation     : ",
        "V-1: Rank   0 Line  1441   File removal      : ",
        "V-1: Rank   0 Line  2249 main   Tree removal      : ",
    ] {
        assert!(ran.stdout.contains(line), "{line}: {ran}");
    }
    let tests = ran.stdout.lines().filter(|line| line.ends_with("ops/sec"));
    assert_eq!(tests.count(), 2 * 6, "two iterations of six tests: {ran}");
}

#[test]
fn commands_and_operation_files_are_supported() {
    let program = program();
    let words = "-n 3 -F -C -d there --savePerOpDataCSV=op --posix.odirect=1 -k \
                 --run-cmd-before-phase=echo>>said --run-cmd-after-phase=echo>>said";
    classic(&program, 2, words).ends_with(0);
    let tree_top = program.home().join("there/test-dir.0-0/mdtest_tree.0");
    let modes: BTreeSet<u32> = fs::read_dir(tree_top)
        .unwrap()
        .map(|file| file.unwrap().metadata().unwrap().mode())
        .collect();
    assert_eq!(modes, BTreeSet::from([0o100_400]), "mknod makes files that only their owner reads");
    let operations = fs::read_to_string(program.home().join("op-File creation-00001.csv"));
    assert_eq!(operations.unwrap().lines().count(), 4);
}

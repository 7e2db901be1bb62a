//! fs_mark as a user runs it: output and trees of the original and of treering, side by side.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use treering_model::{Ending, Op, Trial};
use treering_testkit::{
    FinishedCommand, LoopFs, Program, require_loop_fs, require_root, skip, temp_dir, traced,
};

use crate::program;
use crate::trial::{again, calls, cautions, failure, last, metric};

/// Path of Debian's fs_mark 3.3, if installed.
fn original() -> Option<PathBuf> {
    let path = PathBuf::from("/usr/bin/fs_mark");
    if path.is_file() {
        return Some(path);
    }
    skip("the original fs_mark is not installed");
    None
}

/// Lines before the rows, without the time and the command line.
fn header(text: &str) -> Vec<String> {
    let is_row = |line: &&str| line.trim_start().starts_with(|c: char| c.is_ascii_digit());
    let lines = text.lines().take_while(|line| !is_row(line));
    lines
        .map(|line| match line.split_once(" starting at ") {
            Some((before, _)) => before.to_owned(),
            None if line.starts_with("#  ") => "# words".to_owned(),
            None => line.to_owned(),
        })
        .collect()
}

/// Rows below the line of headings.
fn rows(text: &str) -> Vec<Vec<String>> {
    let after = text.lines().skip_while(|line| !line.starts_with("FSUse%")).skip(1);
    after.map(|line| line.split_whitespace().map(str::to_owned).collect()).collect()
}

/// Values of the fourth column below the headings, which programs that parse fs_mark's output read.
fn fourth_column(text: &str) -> Vec<f64> {
    rows(text).iter().map(|row| row[3].parse().unwrap()).collect()
}

/// Paths below a directory, with random characters and times replaced by letters.
fn shapes(top: &Path) -> BTreeSet<String> {
    let mut shapes = BTreeSet::new();
    let mut pending = vec![PathBuf::new()];
    while let Some(dir) = pending.pop() {
        for entry in fs::read_dir(top.join(&dir)).unwrap() {
            let entry = entry.unwrap();
            let path = dir.join(entry.file_name());
            if entry.file_type().unwrap().is_dir() {
                pending.push(path);
                continue;
            }
            let name = entry.file_name().into_string().unwrap();
            let (stamp, random) = name.split_at(name.len() - 24);
            assert!(stamp[..8].bytes().all(|b| b.is_ascii_hexdigit() && !b.is_ascii_uppercase()));
            let upper = |b: u8| b.is_ascii_digit() || b.is_ascii_uppercase();
            assert!(random.bytes().all(upper), "{name}");
            let count = shapes.len();
            let bytes = fs::read(top.join(&path)).unwrap();
            assert!(bytes.iter().all(|&byte| byte == 0), "zeros are written");
            shapes.insert(format!("{} {} {count}", &stamp[8..], bytes.len()));
        }
    }
    shapes
}

fn classic(program: &Program, words: &str) -> FinishedCommand {
    program.run(["fs_mark"].into_iter().chain(words.split_whitespace()))
}

/// Runs the original in a directory like the program's home.
fn run_original(original: &Path, dir: &Path, words: &str) -> FinishedCommand {
    let mut command = Command::new(original);
    FinishedCommand::run(
        command.args(words.split_whitespace()).current_dir(dir).env("LC_ALL", "C.UTF-8"),
    )
}

const LINES: [&str; 9] = [
    "-d a -n 3",
    "-d a -d b -t 4 -D 4 -N 2 -n 5 -s 20000 -S 3 -v",
    "-d a -D 100 -S0 -n 20 -s 1 -L 3",
    "-d a -S 2 -n 3 -s 0 -p 50 -v -k",
    "-d a -S 4 -n 3 -w 1000 -s 2500",
    "-d a -S 5 -n 3 -D 4 -N 0",
    "-d a -S 6 -n 3 -t 3",
    "-d ./a -n 2 -l log.txt -L 2 -v",
    "-d a -n 3 -D 2",
];

#[test]
fn headers_rows_logs_and_files_equal_the_original() {
    let Some(original) = original() else { return };
    for words in LINES {
        let (program, other) = (program(), temp_dir());
        let theirs = run_original(&original, other.path(), words).ends_with(0);
        let ours = classic(&program, words).ends_with(0);
        assert_eq!(ours.stderr, "", "{words}");
        assert_eq!(header(&ours.stdout), header(&theirs.stdout), "{words}");
        let (our_rows, their_rows) = (rows(&ours.stdout), rows(&theirs.stdout));
        assert_eq!(our_rows.len(), their_rows.len(), "{words}");
        for (our, their) in our_rows.iter().zip(&their_rows) {
            assert_eq!(our.len(), their.len(), "{words}");
            assert_eq!(our[1..3], their[1..3], "count and size of {words}");
        }
        let lengths = |text: &str| text.lines().last().map(str::len);
        assert_eq!(lengths(&ours.stdout), lengths(&theirs.stdout), "{words}");
        let log = if words.contains("log.txt") { "log.txt" } else { "fs_log.txt" };
        let read = |dir: &Path| fs::read_to_string(dir.join(log)).unwrap();
        assert_eq!(header(&read(program.home())), header(&read(other.path())), "{words}");
        assert_eq!(rows(&read(program.home())), our_rows, "{words}");
        for root in ["a", "b"].iter().filter(|root| words.contains(&format!("-d {root}"))) {
            let files = |dir: &Path| shapes(&dir.join(root));
            assert_eq!(files(program.home()), files(other.path()), "{words} {root}");
        }
    }
}

#[test]
fn a_log_that_cannot_be_opened_is_reported_as_by_the_original() {
    let words = "-d a -n 2 -l none/log.txt";
    let program = program();
    fs::create_dir(program.home().join("a")).unwrap();
    let ours = classic(&program, words).ends_with(1);
    let line = "fs_mark: failed to fopen log file: none/log.txt No such file or directory\n";
    assert_eq!((ours.stdout.as_str(), ours.stderr.as_str()), ("", line));
    let Some(original) = original() else { return };
    let other = temp_dir();
    fs::create_dir(other.path().join("a")).unwrap();
    let theirs = run_original(&original, other.path(), words).ends_with(1);
    assert_eq!(theirs.stderr, line);
}

/// Calls of each worker on files, in a form that is the same for both programs.
fn by_worker(command: &Command, dir: &Path) -> Option<Vec<Vec<String>>> {
    let calls = "mkdir,mkdirat,open,openat,openat2,write,fsync,sync,unlink,unlinkat";
    let mut by_process: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for one in traced(command, dir, calls)? {
        by_process.entry(one.process).or_default().extend(word(&one.call));
    }
    let mut workers: Vec<_> = by_process.into_values().collect();
    workers.retain(|calls| calls.iter().any(|call| call.starts_with("create")));
    workers.sort();
    Some(workers)
}

/// Short form of a call on the files of a run; `None` for any other call.
fn word(call: &str) -> Option<String> {
    let name = call.split('(').next()?;
    let subdir_or_file = call.split('"').nth(1).unwrap_or_default();
    let file = subdir_or_file.rsplit('/').next()?;
    let is_file = file.contains("~~~~") || file.len() == 40;
    Some(match name {
        "mkdir" | "mkdirat" if file.len() == 2 && file.starts_with('0') => "mkdir".to_owned(),
        "open" | "openat" | "openat2" if is_file && call.contains("O_CREAT") => {
            assert!(call.contains("O_RDWR|O_CREAT|O_TRUNC") && call.contains("0666"), "{call}");
            "create".to_owned()
        }
        "open" | "openat" | "openat2" if is_file => {
            assert!(call.contains("O_RDONLY"), "{call}");
            "reopen".to_owned()
        }
        "unlink" | "unlinkat" if is_file => "unlink".to_owned(),
        "write" if call.contains("\"\\0") || call.contains(", \"\", 0)") => {
            format!("write {}", call.rsplit(' ').next()?)
        }
        "fsync" | "sync" => name.to_owned(),
        _ => return None,
    })
}

#[test]
fn calls_of_workers_equal_the_original() {
    let Some(original) = original() else { return };
    for method in 0..=6 {
        let words = format!("-d a -d b -D 4 -N 2 -n 3 -s 20000 -S {method}");
        let (program, other) = (program(), temp_dir());
        let mut theirs = Command::new(&original);
        let Some(theirs) = by_worker(theirs.args(words.split_whitespace()), other.path()) else {
            return;
        };
        let mut ours = program.command(["fs_mark", "--no-store"]);
        let ours = by_worker(ours.args(words.split_whitespace()), program.home()).unwrap();
        assert_eq!(theirs.len(), 2, "-S {method}: two workers");
        assert_eq!(ours, theirs, "-S {method}");
    }
}

#[test]
fn published_command_lines_work_and_their_rows_can_be_parsed() {
    for (words, rows) in [
        ("-D 100 -S0 -n 10 -s 1 -L 30 -d s/0 -d s/1 -d s/2 -d s/3 -d s/4 -d s/5 -d s/6 -d s/7", 30),
        ("-D 10000 -S 0 -n 100 -s 0 -L 2 -d s/0 -d s/1", 2),
        ("-s 104857 -n 10 -d ./scratch/", 1),
        ("-s 1048 -n 50 -t 4 -d ./scratch/", 1),
        ("-d s/0 -d s/1 -D 16 -N 256 -n 29 -L 4 -S 1 -s 819", 4),
        ("-D 16 -t 32 -n 5 -s 4096 -S 6 -N 256 -k -d s/0", 1),
        ("-d s/fsmark -D 16 -n 30 -s 4096 -t 36 -L 1", 1),
    ] {
        let program = program();
        fs::create_dir(program.home().join("s")).unwrap();
        let ran = classic(&program, words).ends_with(0);
        let rates = fourth_column(&ran.stdout);
        assert_eq!(rates.len(), rows, "{words}");
        assert!(rates.iter().all(|rate| *rate > 0.0), "{words}");
        assert_eq!(last(&program).ending, Ending::Completed);
    }
}

#[test]
fn a_classic_trial_has_the_true_rate_beside_the_row() {
    let program = program();
    let ran = classic(&program, "-d a -t 8 -n 50 -s 1 -S 0 -L 2 --seed 7").ends_with(0);
    let trial = last(&program);
    assert_eq!(trial.beginning.workload, "fs_mark");
    let truth = metric(&trial, "create", "files_per_second").unwrap();
    let classic_rate = metric(&trial, "create", "classic_files_per_second").unwrap();
    let rates = fourth_column(&ran.stdout);
    let (least, most) = (rates[0].min(rates[1]), rates[0].max(rates[1]));
    assert!((least - 1.0..=most + 1.0).contains(&classic_rate), "{rates:?} {classic_rate}");
    assert!(truth < classic_rate * 1.001);
    let inflation = metric(&trial, "create", "classic_inflation_percent").unwrap();
    assert!((inflation - (classic_rate / truth - 1.0) * 100.0).abs() < 0.01);
    assert!(metric(&trial, "create", "worker_skew_ratio").unwrap() >= 1.0);
    assert_eq!(calls(&trial, "create", Op::Create), 800);
    assert_eq!(calls(&trial, "create", Op::MakeDir), 800);
    let shown = program.run(["show", "last"]).ends_with(0).stdout;
    assert!(shown.contains("treering fs_mark --dir "), "{shown}");
}

#[test]
fn a_link_runs_the_tool_and_prints_its_command_line() {
    let program = program();
    let link = program.home().join("fs_mark");
    symlink(env!("CARGO_BIN_EXE_treering"), &link).unwrap();
    let mut command = Command::new("./fs_mark");
    program.prepare(&mut command).args(["-S0", "-n", "2", "-d", "a b"]);
    let ran = FinishedCommand::run(&mut command).ends_with(0);
    assert!(ran.stdout.starts_with("\n#  ./fs_mark  -S0  -n  2  -d  a b \n#\tVersion 3.3, 1 "));
    let started = ran.stdout.split("starting at ").nth(1).unwrap().lines().next().unwrap();
    assert_eq!(started.split_whitespace().count(), 5, "{started}");
    assert_eq!(started.len(), "Fri Nov 20 17:39:05 2026".len());
    assert_eq!(fs::read_dir(program.home().join("a b")).unwrap().count(), 0);
}

#[test]
fn invalid_command_lines_exit_with_1_and_the_original_message() {
    let program = program();
    for (words, said) in [
        ("", "Must specify at least one directory with -d switch\n"),
        ("-d a -D 1", "Number of subdirs needs to be greater than 1\n"),
        ("-d a -d b -t 3", "Threads (3) must be an even multiple the number of directories (2)"),
        ("-d a -p 300", "Max filename size is 255\n"),
        ("-d a -w 8388608", "MAX IO buffer size is 4194304\n"),
        ("-d a -S 9", "0 to 6"),
        ("-d a -n 0", "--files"),
        ("-d a -w 0", "--write-size"),
        ("-d a -r 41", "do not fit"),
        ("-d a -Q", "-Q"),
        ("-d a -n", "--files"),
    ] {
        let ran = classic(&program, words).ends_with(1);
        assert!(ran.stderr.contains(said) && ran.stdout.is_empty(), "{words}: {ran}");
        assert!(!program.home().join("a").exists(), "{words}");
    }
    // Native runs have the usual exit code.
    program.run(["run", "fs_mark", "--dir", "a", "--sync-method", "9"]).ends_with(2);
    program.run(["run", "fs_mark", "--dir", "a", "-Q"]).ends_with(2);
}

#[test]
fn command_lines_that_crash_the_original_work() {
    let program = program();
    let long = "long-".repeat(40);
    classic(&program, &format!("-d {long} -D 4 -n 3")).ends_with(0);
    classic(&program, "-d a -p 128 -n 3 -k").ends_with(0);
    let names = fs::read_dir(program.home().join("a")).unwrap();
    assert!(names.map(|entry| entry.unwrap().file_name().len()).all(|length| length == 128));
    let roots: Vec<String> = (0..70).map(|root| format!("-d r{root}")).collect();
    let ran = classic(&program, &format!("{} -n 1 -s 0", roots.join(" "))).ends_with(0);
    assert!(ran.stdout.contains("Version 3.3, 70 thread(s)"), "{ran}");
    assert_eq!(rows(&ran.stdout)[0][1], "70");
    let ran = classic(&program, "-d missing/below -n 1").ends_with(1);
    let ran = ran.complains("fill_dir:mkdir missing/below failed: No such file or directory");
    // The original prints its parameters before the error.
    assert!(ran.stdout.starts_with("\n#  fs_mark  -d  missing/below"), "{ran}");
    assert!(ran.stdout.ends_with("Files/sec     App Overhead\n"), "{ran}");
}

/// `-N 0` stays in one subdirectory, and without `-N` the time decides.
#[test]
fn the_printed_command_keeps_an_iteration_count_of_zero() {
    let program = program();
    for words in ["-d a -D 3 -n 5 -N 0", "-d a -D 3 -n 5", "-d a -D 3 -n 5 -N 2"] {
        classic(&program, words).ends_with(0);
        let first = last(&program);
        program.run(again(&program)).ends_with(0);
        let timeless = |trial: &Trial| -> Vec<(String, String)> {
            let all = trial.beginning.parameters.iter();
            all.filter(|(name, _)| name != "seed").cloned().collect()
        };
        assert_eq!(timeless(&last(&program)), timeless(&first), "{words}");
        let turns = first.beginning.parameters.iter().find(|(name, _)| name == "files-per-subdir");
        assert_eq!(turns.map(|(_, files)| files.as_str()), words.split_once("-N ").map(|(_, n)| n));
    }
}

#[test]
fn names_that_collide_are_reported() {
    let program = program();
    let ran = classic(&program, "-d a -p 4 -r 0 -n 20 -s 1 -k").ends_with(0);
    assert!(ran.stderr.contains("files got the name of another"), "{ran}");
    let there = fs::read_dir(program.home().join("a")).unwrap().count();
    assert!(ran.stderr.starts_with(&format!("treering: {} of 20 files", 20 - there)), "{ran}");
    assert!(cautions(&last(&program)).contains(&"names_collided"));
    classic(&program, "-d b -p 4 -r 0 -n 20 -s 1").ends_with(0);
    assert_eq!(fs::read_dir(program.home().join("b")).unwrap().count(), 0);
}

#[test]
fn a_full_filesystem_is_a_normal_end_with_a_row() {
    require_root!();
    for workers in ["processes", "threads"] {
        let (program, place) = (program(), LoopFs::in_memory(8));
        let root = place.path().join("a");
        let words = format!(
            "-F -D 4 -N 10 -n 20 -s 30000 -S 1 -t 2 --workers {workers} -d {}",
            root.display()
        );
        let ran = classic(&program, &words).ends_with(0);
        let rows = rows(&ran.stdout);
        let counts: Vec<u64> = rows.iter().map(|row| row[1].parse().unwrap()).collect();
        assert!(counts.len() >= 3 && counts[..2] == [40, 80], "{ran}");
        let whole = *counts.last().unwrap();
        let partial = !whole.is_multiple_of(40) && (200..280).contains(&whole);
        assert!(partial, "the last row is partial: {ran}");
        assert_eq!(rows.last().unwrap()[0], "100");
        let trial = last(&program);
        assert_eq!(trial.ending, Ending::Completed);
        let sizes: Vec<u64> = treering_testkit::tree_of(&root).into_values().collect();
        let complete = sizes.iter().filter(|size| **size == 30_000).count() as u64;
        assert_eq!(complete, whole, "Count is what is there");
    }
}

#[test]
fn a_small_filesystem_is_refused_like_the_original() {
    require_root!();
    let (program, place) = (program(), LoopFs::in_memory(8));
    let words = format!("-n 1000 -s 30000 -d {}", place.path().display());
    let ran = classic(&program, &words).ends_with(1);
    let message = format!(
        "Insufficient free space in {} to create 1000 new files, exiting\n",
        place.path().display()
    );
    assert!(ran.stdout.ends_with(&message), "{ran}");
}

#[test]
fn an_iteration_that_does_not_fit_keeps_finished_ones() {
    require_root!();
    let (program, place) = (program(), LoopFs::in_memory(8));
    let words = format!("-n 100 -s 30000 -S 0 -L 9 -d {}", place.path().display());
    let ran = classic(&program, &words).ends_with(1);
    let numbers = |row: &&Vec<String>| row[0].parse::<u32>().is_ok();
    assert_eq!(rows(&ran.stdout).iter().filter(numbers).count(), 2, "{ran}");
    let path = place.path().to_str().unwrap();
    let message = format!("Insufficient free space in {path} to create 100 new files, exiting\n");
    assert!(ran.stdout.ends_with(&message), "{ran}");
    let trial = last(&program);
    assert!(failure(&trial).contains(path), "the path is named");
    assert_eq!(trial.tasks.iter().filter(|task| task.files == 100).count(), 2);
}

#[test]
fn a_native_run_makes_measures_and_removes() {
    for workers in ["threads", "processes"] {
        let program = program();
        let words = [
            "run",
            "fs_mark",
            "--dir",
            "w",
            "--files",
            "30",
            "--size",
            "5K",
            "--threads",
            "4",
            "--dirs",
            "2",
            "--subdirs",
            "3",
            "--iterations",
            "2",
            "--workers",
            workers,
        ];
        let ran = program.run(words).ends_with(0);
        assert!(ran.stdout.contains("files_per_second") || ran.stdout.contains("files/s"), "{ran}");
        let trial = last(&program);
        assert_eq!(trial.ending, Ending::Completed);
        let phases: Vec<_> = trial.phases.iter().map(|phase| phase.name.as_str()).collect();
        let expected = ["setup", "iteration 1", "unlink 1", "iteration 2", "unlink 2"];
        assert_eq!(phases, expected);
        assert_eq!(calls(&trial, "create", Op::Fsync), 240);
        assert_eq!(calls(&trial, "unlink", Op::Unlink), 240);
        assert_eq!(calls(&trial, "setup", Op::MakeDir), 2 + 6);
        assert!(metric(&trial, "unlink", "files_per_second").unwrap() > 0.0);
        assert_eq!(fs::read_dir(program.home().join("w")).unwrap().count(), 0);
        let primary: Vec<_> = trial.metrics.iter().filter(|metric| metric.primary).collect();
        // Primary metrics are the rate, and the p99 of fsync.
        assert_eq!(primary.len(), 2);
    }
}

#[test]
fn native_trees_can_be_kept_and_are_refused_if_present() {
    let program = program();
    let words = ["run", "fs_mark", "--dir", "w", "--files", "3", "--size", "0", "--unlink", "end"];
    program.run(words.iter().chain(&["--keep"])).ends_with(0);
    let root = program.home().join("w/fs_mark-0");
    assert_eq!(fs::read_dir(&root).unwrap().count(), 3);
    program.run(words).ends_with(2).complains("fs_mark-0 is there already");
}

#[test]
fn a_native_run_until_full_succeeds_and_repeats_the_same_names() {
    require_root!();
    let names = |place: &LoopFs| {
        let program = program();
        let dir = place.path().join("w");
        let words = ["run", "fs_mark", "--until-full", "--files", "30", "--size", "30000", "-S"];
        let more_words = ["none", "--keep", "--seed", "3", "--dir", dir.to_str().unwrap()];
        program.run(words.iter().chain(&more_words)).ends_with(0);
        assert_eq!(last(&program).ending, Ending::Completed);
        treering_testkit::tree_of(&dir).into_keys().collect::<Vec<_>>()
    };
    let (first, second) = (names(&LoopFs::in_memory(8)), names(&LoopFs::in_memory(8)));
    assert!(first.len() > 100);
    assert_eq!(first, second);
}

#[test]
fn an_interrupt_ends_after_the_current_iteration() {
    let program = program();
    let words = "fs_mark -d a -n 300 -s 1 -S 1 -L 1000 --summary";
    let run = program.start(words.split_whitespace());
    let log = program.home().join("fs_log.txt");
    let began = std::time::Instant::now();
    while fs::read_to_string(&log).map_or(0, |text| rows(&text).len()) < 2 {
        assert!(began.elapsed().as_secs() < 60, "rows come");
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    run.send("INT");
    let ran = run.finish().ends_with(0);
    assert!(
        ran.stdout.contains("\nAverage Files/sec: ") && ran.stdout.contains("\np99 Files/sec: ")
    );
    let trial = last(&program);
    assert_eq!(trial.ending, Ending::Interrupted);
    let text = fs::read_to_string(&log).unwrap();
    assert_eq!(rows(&text).len(), trial.tasks.len(), "no iteration is lost");
    assert!(trial.tasks.iter().all(|task| task.files == 300));
    let there = fs::read_dir(program.home().join("a")).unwrap().count();
    assert_eq!(there, 300 * trial.tasks.len(), "the last iteration was finished");
}

#[test]
fn several_filesystems_are_used_concurrently() {
    require_loop_fs!("ext4");
    let (program, first, second) = (program(), LoopFs::new("ext4", 64), LoopFs::in_memory(16));
    let words = format!(
        "-n 50 -s 100 -k -S 6 -d {}/x -d {}/x",
        first.path().display(),
        second.path().display()
    );
    classic(&program, &words).ends_with(0);
    for place in [&first, &second] {
        assert_eq!(fs::read_dir(place.path().join("x")).unwrap().count(), 50);
    }
}

#[test]
fn fs_mark_is_the_job_of_a_filesystem_comparison() {
    require_loop_fs!("ext4");
    require_loop_fs!("xfs");
    let program = program();
    let words = [
        "compare",
        "--filesystems",
        "ext4,xfs",
        "--size",
        "400M",
        "--rounds",
        "1",
        "--workload",
        "fs_mark",
        "--no-warm-up",
        "--no-control",
        "--images",
        ".",
        "--quiet",
        "--",
        "--files",
        "100",
        "--size",
        "4K",
        "--threads",
        "2",
    ];
    let ran = program.run(words);
    assert!(matches!(ran.code, Some(0)), "{ran}");
    assert!(ran.stdout.contains("files_per_second") || ran.stdout.contains("files/s"), "{ran}");
}

/// `-L` keeps the files whatever its number is, like the original.
#[test]
fn files_are_kept_if_iterations_are_given() {
    let program = program();
    let files = |words: &str| {
        classic(&program, words).ends_with(0);
        fs::read_dir(program.home().join("a")).unwrap().count()
    };
    assert_eq!(files("-d a -n 3 -s 1 -S 0"), 0);
    assert_eq!(files("-d a -n 3 -s 1 -S 0 -L 0"), 3);
}

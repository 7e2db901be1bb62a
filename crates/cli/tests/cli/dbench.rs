//! dbench as a user runs it: generated loads; output, trees and trials of runs; beside the original
//! if it is installed.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use treering_model::{Scope, Trial};
use treering_testkit::{FinishedCommand, Program, skip, temp_dir_in};

use crate::program;
use crate::trial::{again, cautions, failure, last};

const ORIGINAL: &str = "/usr/bin/dbench";

/// Program with a load of this many blocks in its home.
fn with_load(blocks: &str) -> Program {
    let program = program();
    let words = ["dbench", "generate", "--blocks", blocks, "-o", "load.txt"];
    fs::create_dir(program.home().join("w")).unwrap();
    let outcome = program.run(words).ends_with(0);
    assert_eq!((outcome.stdout.as_str(), outcome.stderr.as_str()), ("", ""));
    program
}

/// Writes a load file to the home.
fn load(program: &Program, text: &str) {
    fs::write(program.home().join("load.txt"), text).unwrap();
}

/// A row of the table: count, mean and maximum in milliseconds.
type Row = (u64, f64, f64);

/// Rows of the table of operations, by name.
fn table(text: &str) -> BTreeMap<String, Row> {
    let lines = text.lines().skip_while(|line| !line.starts_with(" Operation ")).skip(2);
    let rows = lines.take_while(|line| line.starts_with(' '));
    rows.map(|row| {
        // The name fills twelve columns; blanks separate the figures after it.
        let (name, figures) = row[1..].split_at(12);
        let figures: Vec<&str> = figures.split_whitespace().collect();
        let [count, mean, most] = figures[..] else { panic!("{row}") };
        let number = |text: &str| text.parse::<f64>().unwrap();
        (name.trim_end().to_owned(), (count.parse().unwrap(), number(mean), number(most)))
    })
    .collect()
}

/// Rates in MB/s from the lines of each second of a part, as MMTests reads them.
fn seconds(text: &str, part: &str) -> Vec<f64> {
    let lines = text.lines().filter(|line| line.contains(part));
    lines.map(|line| line.split_whitespace().nth(2).unwrap().parse().unwrap()).collect()
}

fn figure(trial: &Trial, name: &str) -> f64 {
    let all_metrics = || trial.metrics.iter().filter(|metric| metric.name == name);
    let matching = all_metrics().find(|metric| metric.scope == Scope::Trial);
    matching.unwrap_or_else(|| panic!("no {name}")).value
}

/// Files and directories below a directory.
fn paths(place: &Path) -> BTreeSet<PathBuf> {
    let mut entries = BTreeSet::new();
    let mut pending = vec![place.to_owned()];
    while let Some(dir) = pending.pop() {
        for entry in fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                pending.push(path.clone());
            }
            entries.insert(path.strip_prefix(place).unwrap().to_owned());
        }
    }
    entries
}

#[test]
fn loads_are_made_from_a_seed() {
    let program = program();
    let to_stdout = |seed: &str| {
        program.run(["dbench", "generate", "--blocks", "1", "--seed", seed]).ends_with(0).stdout
    };
    let generated = to_stdout("1");
    assert_eq!(generated, to_stdout("1"));
    assert_ne!(generated, to_stdout("2"));
    assert!(generated.starts_with("Deltree \"\\clients\\client1\" NT_STATUS_OK\n"));
    assert!((4000..4300).contains(&generated.lines().count()));
    let refused = program.run(["dbench", "generate", "--blocks", "0"]);
    assert!(refused.stderr.contains("--blocks"), "{refused}");
}

#[test]
fn a_pass_is_played_printed_and_stored() {
    let program = with_load("2");
    let words = ["dbench", "-c", "load.txt", "--run-once", "2", "-D", "w", "--per-client-results"];
    let ran = program.run(words).ends_with(0);
    let text = &ran.stdout;
    let first = "dbench version 4.00 - Copyright Andrew Tridgell 1999-2004\n\nRunning for 600 \
                 seconds with load 'load.txt' and minimum warmup 120 secs\n0 of 2 processes \
                 prepared for launch   0 sec\n2 of 2 processes prepared for launch   0 sec\n\
                 releasing clients\n";
    assert!(text.starts_with(first), "{ran}");
    assert_eq!(ran.stderr, "");
    // Two clients play two blocks of operations each, and the beginning and end of the file.
    let made = fs::read_to_string(program.home().join("load.txt")).unwrap();
    let of = |name: &str| made.lines().filter(|line| line.starts_with(name)).count() as u64 * 2;
    let rows = table(text);
    for (row, line) in [
        ("NTCreateX", "NTCreateX "),
        ("Close", "Close "),
        ("ReadX", "ReadX "),
        ("WriteX", "WriteX "),
        ("Flush", "Flush "),
        ("Find", "FIND_FIRST "),
        ("Qpathinfo", "QUERY_PATH"),
        ("Qfileinfo", "QUERY_FILE"),
        ("Qfsinfo", "QUERY_FS"),
        ("Sfileinfo", "SET_FILE"),
        ("Unlink", "Unlink "),
        ("Rename", "Rename "),
        ("LockX", "LockX "),
        ("UnlockX", "UnlockX "),
        ("Deltree", "Deltree "),
        ("Mkdir", "Mkdir "),
    ] {
        assert_eq!(rows[row].0, of(line), "{row}");
    }
    let lines = made.lines().count();
    for client in 0..2 {
        assert!(text.contains(&format!("Client {client} did {lines} lines and ")), "{ran}");
    }
    let result = text.lines().last().unwrap();
    let rate: f64 = result.split_whitespace().nth(1).unwrap().parse().unwrap();
    assert!(
        result.ends_with(" ms") && result.contains(" MB/sec  2 clients  2 procs  max_latency=")
    );
    assert!(rate > 0.0, "{result}");
    // Directories stay, as with the original, and there are no files.
    let standing = paths(&program.home().join("w"));
    assert_eq!(standing.len(), 1 + 2 * 11, "{standing:?}");
    let trial = last(&program);
    assert_eq!(figure(&trial, "passes"), 2.0);
    assert_eq!(figure(&trial, "unexpected_outcomes"), 0.0);
    assert!(figure(&trial, "flush_time_percent") > 0.0);
}

#[test]
fn mmtests_mode_prints_the_time_of_each_pass() {
    let program = with_load("1");
    let lines = fs::read_to_string(program.home().join("load.txt")).unwrap().lines().count() - 1;
    let fill = ["--run-once", "--skip-cleanup", "-D", "w", "-c", "load.txt", "--lines", "1-600"];
    program.run([&["dbench"][..], &fill, &["2"]].concat()).ends_with(0);
    assert_eq!(paths(&program.home().join("w")).len(), 1 + 2 * (11 + 56));
    let range = format!("601-{lines}");
    let words = ["dbench", "--warmup", "0", "-t", "1", "-D", "w", "-c", "load.txt"];
    let more_words = ["--lines", &range, "--show-execute-time", "-F", "2"];
    let ran = program.run(words.iter().chain(&more_words)).ends_with(0);
    assert_eq!(ran.stderr, "", "no operation comes out otherwise: {ran}");
    let passes = ran.stdout.lines().filter(|line| line.contains("completed in"));
    for pass in passes {
        let words: Vec<&str> = pass.split_whitespace().collect();
        let [client, _, _, took, "ms", "at", "time", at, "ms"] = words[..] else {
            panic!("{pass}")
        };
        assert!(client == "0" || client == "1");
        assert!(took.parse::<u64>().unwrap() <= at.parse::<u64>().unwrap());
    }
    assert!(ran.stdout.contains(" MB/sec (fsync)  2 clients"), "{ran}");
    assert!(ran.stdout.contains("   0  cleanup"), "{ran}");
}

#[test]
fn a_line_is_printed_every_second() {
    let program = with_load("1");
    let ran = program.run(["dbench", "-t", "3", "-c", "load.txt", "1", "-D", "w"]).ends_with(0);
    // On a busy machine, a second may be skipped.
    let execute = seconds(&ran.stdout, " execute ");
    assert!((1..=3).contains(&execute.len()), "{ran}");
    assert!(ran.stdout.contains("   0  cleanup   "), "{ran}");
    let result = ran.stdout.lines().last().unwrap();
    let rate: f64 = result.split_whitespace().nth(1).unwrap().parse().unwrap();
    let latest = execute.last().unwrap();
    assert!((rate / latest - 1.0).abs() < 0.01 || (rate - latest).abs() < 0.01, "{ran}");
    let machine = ["dbench", "-t", "2", "-c", "load.txt", "1", "-D", "w", "--machine-readable"];
    let ran = program.run(machine).ends_with(0);
    let result = ran.stdout.lines().last().unwrap();
    let fields: Vec<&str> = result.split(';').collect();
    assert_eq!((fields.len(), fields[2], fields[3]), (6, "1", "1"), "{result}");
    assert!(ran.stdout.lines().any(|line| line.starts_with(":NTCreateX:")), "{ran}");
}

#[test]
fn native_runs_leave_nothing_and_report_fsync_latency() {
    let program = program();
    let words = ["run", "dbench", "--dir", "d", "--clients", "2", "--passes", "2", "--blocks", "1"];
    program.run(words).ends_with(0);
    assert!(paths(&program.home().join("d")).is_empty());
    let trial = last(&program);
    assert_eq!(figure(&trial, "passes"), 4.0);
    assert_eq!(figure(&trial, "unexpected_outcomes"), 0.0);
    let primary: Vec<&str> = trial
        .metrics
        .iter()
        .filter(|metric| metric.primary)
        .map(|metric| metric.name.as_str())
        .collect();
    let of_fsync = "fsync_call_latency_p99_nanoseconds";
    assert_eq!(primary, [of_fsync, "pass_seconds", "operations_per_second"]);
    let flush = Scope::Kind("Flush".to_owned());
    assert!(trial.metrics.iter().any(|metric| {
        metric.scope == flush && metric.name == "latency_ns_p99" && metric.value > 0.0
    }));
    // Clients can be processes, and run for a given time.
    let words = ["run", "dbench", "--dir", "d", "--time", "1", "--warmup", "0", "--blocks", "1"];
    let more_words = ["--clients-as", "processes", "--clients", "2", "--keep", "-q"];
    program.run(words.iter().chain(&more_words)).ends_with(0);
    assert!(program.home().join("d/dbench-0/clients/client1/work").is_dir());
    assert!(figure(&last(&program), "operations") > 0.0);
    let refused = program.run(words.iter().chain(&more_words));
    assert!(refused.stderr.contains("dbench-0 is there already"), "{refused}");
}

#[test]
fn a_stored_trial_can_be_repeated() {
    let program = with_load("1");
    let words = ["run", "dbench", "load.txt", "--dir", "d", "--passes", "1", "--clients", "2"];
    program.run(words.iter().chain(&["--lines", "1-600"])).ends_with(0);
    let before = last(&program);
    program.run(again(&program)).ends_with(0);
    let after = last(&program);
    assert_ne!(before.beginning.trial, after.beginning.trial);
    assert_eq!(before.beginning.parameters, after.beginning.parameters);
}

#[test]
fn errors_have_the_original_message_or_a_line_number() {
    let program = program();
    let ran = program.run(["dbench", "-D", "w"]).ends_with(1);
    assert!(ran.stderr.contains("You need to specify NPROCS"), "{ran}");
    let ran = program.run(["dbench", "-c", "missing.txt", "1"]).ends_with(1);
    let words = "dbench: error opening 'missing.txt': No such file or directory";
    assert!(ran.stderr.contains(words), "{ran}");
    load(&program, "Mkdir \"/clients\" *\nReadX 1 0 5 NT_STATUS_OK\n");
    let ran = program.run(["dbench", "-c", "load.txt", "1"]).ends_with(1);
    assert!(ran.stderr.contains("load.txt:2:13: 'NT_STATUS_OK' comes too early"), "{ran}");
    assert!(ran.stderr.contains("write ReadX HANDLE OFFSET SIZE MOVED STATUS"), "{ran}");
    let ran = program.run(["dbench", "--nfs", "server", "1"]).ends_with(2);
    assert!(ran.stderr.contains("--nfs: only load files for files are played"), "{ran}");
    // Files outside the clients' directory are not touched.
    load(&program, "Deltree \"/mine\" *\nUnlink \"/mine/f\" *\n");
    fs::create_dir_all(program.home().join("w/mine")).unwrap();
    fs::write(program.home().join("w/mine/f"), "precious").unwrap();
    let ran = program.run(["dbench", "-c", "load.txt", "-D", "w", "1"]).ends_with(1);
    assert!(ran.stderr.contains("mine, which is there already"), "{ran}");
    assert_eq!(fs::read(program.home().join("w/mine/f")).unwrap(), b"precious");
}

#[test]
fn a_failing_client_ends_the_run_for_all() {
    let program = program();
    fs::create_dir(program.home().join("w")).unwrap();
    load(&program, "Mkdir \"/clients\" *\nSleep 10 *\nUnlink \"/clients/none\" NT_STATUS_OK\n");
    let ran = program.run(["dbench", "-c", "load.txt", "-D", "w", "2"]).ends_with(1);
    assert!(ran.stdout.contains(" failed at line 3\nChild failed with status 1\n"), "{ran}");
    let reported =
        "[3] unlink clients/none failed (No such file or directory) - expected NT_STATUS_OK";
    assert!(ran.stderr.contains(reported), "{ran}");
    assert!(failure(&last(&program)).contains("failed at line 3"), "{ran}");
    // Other unexpected results are reported, and the run continues.
    load(&program, "Mkdir \"/clients\" *\nReadX 7 0 1 1 NT_STATUS_OK\n");
    let ran = program.run(["dbench", "-c", "load.txt", "-D", "w", "--run-once", "1"]).ends_with(0);
    assert_eq!(ran.stderr, "[2] handle 7 was not found\n");
    assert!(cautions(&last(&program)).contains(&"otherwise_than_recorded"));
}

#[test]
fn a_failure_is_reported_with_the_first_earlier_error() {
    let program = program();
    fs::create_dir(program.home().join("w")).unwrap();
    let words = |clients| ["run", "dbench", "load.txt", "--dir", "w", "--clients", clients];
    let fails = |text: &str, clients| {
        load(&program, text);
        let ran = program.run(words(clients)).ends_with(4);
        let why = failure(&last(&program)).to_owned();
        assert!(ran.stderr.contains(&why), "{ran}");
        why
    };
    let fatal = "unlink clients/none failed (No such file or directory) - expected NT_STATUS_OK";
    // Missing handles are reported, and the run continues; the failure names the first of two,
    // which is nearest to the cause.
    let text = "Mkdir \"/clients\" *\nReadX 7 0 1 1 NT_STATUS_OK\nReadX 8 0 1 1 NT_STATUS_OK\n\
                Unlink \"/clients/none\" NT_STATUS_OK\n";
    let why = fails(text, "1");
    let before = "; before that: [2] handle 7 was not found";
    assert_eq!(why, format!("client 0 failed at line 4: {fatal}{before}"));
    // Any of several clients may fail first; the message is about that client.
    let why = fails(text, "3");
    assert!(why.ends_with(&format!(" failed at line 4: {fatal}{before}")), "{why}");
    // Without an earlier problem, the message names none.
    let why = fails("Mkdir \"/clients\" *\nUnlink \"/clients/none\" NT_STATUS_OK\n", "1");
    assert_eq!(why, format!("client 0 failed at line 2: {fatal}"));
}

/// Runs the original; prints a skip message if it is not installed.
fn original(place: &Path, words: &[&str]) -> Option<String> {
    if !Path::new(ORIGINAL).exists() {
        skip("the original dbench is not installed");
        return None;
    }
    let done = Command::new(ORIGINAL).current_dir(place).args(words).output().unwrap();
    let text = String::from_utf8(done.stdout).unwrap();
    assert!(done.status.success(), "{text}");
    Some(text)
}

/// Line with each number replaced by `#`, independent of the width of numbers.
fn shape(line: &str) -> String {
    let mut shape = String::new();
    for letter in line.chars() {
        let letter = if letter.is_ascii_digit() || letter == '.' { '#' } else { letter };
        let same = shape.ends_with(letter) && (letter == '#' || letter == ' ');
        if !same {
            shape.push(letter);
        }
    }
    shape
}

/// Distinct shapes of the lines, including the column widths of the table.
fn shapes(text: &str) -> Vec<String> {
    let is_harmless = |line: &&str| !line.starts_with("failed to create barrier");
    let mut shapes: Vec<String> = text.lines().filter(is_harmless).map(shape).collect();
    shapes.dedup();
    shapes
}

#[test]
fn lines_and_the_operation_mix_equal_the_original() {
    let program = with_load("1");
    let place = temp_dir_in(Path::new("/dev/shm"));
    fs::copy(program.home().join("load.txt"), place.path().join("load.txt")).unwrap();
    let words = ["-t", "3", "-c", "load.txt", "-D", ".", "2", "--per-client-results"];
    let Some(theirs) = original(place.path(), &words) else { return };
    let left = paths(&place.path().join("clients"));
    let at = place.path().join("ours");
    fs::create_dir(&at).unwrap();
    let at = at.to_str().unwrap();
    let words = ["dbench", "-t", "3", "-c", "load.txt", "-D", at, "2", "--per-client-results"];
    let ours: FinishedCommand = program.run(words).ends_with(0);
    assert_eq!(paths(&place.path().join("ours/clients")), left);
    let (theirs_table, ours_table) = (table(&theirs), table(&ours.stdout));
    let names = |table: &BTreeMap<String, Row>| table.keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(&ours_table), names(&theirs_table));
    let share = |table: &BTreeMap<String, Row>, name: &str| {
        table[name].0 as f64 / table.values().map(|row| row.0).sum::<u64>() as f64
    };
    for name in theirs_table.keys() {
        let (ours, theirs) = (share(&ours_table, name), share(&theirs_table, name));
        // The clock may stop the load at any operation.
        assert!((ours - theirs).abs() < 0.05, "{name}: {ours} {theirs}");
    }
    // The number of lines for each second depends on the machine; their shapes do not.
    let (ours, theirs) = (shapes(&ours.stdout), shapes(&theirs));
    for shape in &ours {
        assert!(theirs.contains(shape), "{shape:?} is not the original's: {theirs:?}");
    }
}

/// The original does not make the parents of `clients`.
#[test]
fn a_missing_directory_is_not_made_and_the_run_fails() {
    let program = with_load("1");
    let words = ["dbench", "-D", "none", "-c", "load.txt", "-t", "1", "1"];
    let ran = program.run(words).ends_with(1);
    assert_eq!(ran.stderr, "");
    assert!(ran.stdout.starts_with("dbench version 4.00"), "{ran}");
    assert!(ran.stdout.ends_with("Child failed with status 1\n"), "{ran}");
    assert!(!program.home().join("none").exists());
}

/// Lines that dbench prints after the clients were released: the file that could not be opened, and
/// the operation that then found no file.
#[test]
fn a_missing_directory_is_reported_in_the_originals_lines() {
    let program = program();
    load(
        &program,
        "Deltree \"\\clients\\client1\" NT_STATUS_OK\nMkdir \"\\clients\" NT_STATUS_OK\n\
         NTCreateX \"\\clients\\client1\" 0x1 0x2 16385 NT_STATUS_OK\nClose 16385 NT_STATUS_OK\n",
    );
    let words = ["dbench", "-D", "none", "-c", "load.txt", "-t", "1", "2"];
    let ran = program.run(words).ends_with(1);
    let reported = ran.stdout.split_once("releasing clients\n").unwrap().1;
    let of = |client: u8| {
        format!(
            "[3] open none/clients/client{client} failed for handle 16385 (No such file or \
             directory)\n(4) ERROR: handle 16385 was not found\n"
        )
    };
    let all = format!("{}{}Child failed with status 1\n", of(0), of(1));
    assert_eq!(reported, all);
    assert_eq!(ran.stderr, "");
}

//! blogbench as a user runs it: its output and trees, the stored trial, and the ends of runs.

use std::fs;
use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant};

use treering_model::{Ending, Op, Scope, Trial};
use treering_testkit::{
    FinishedCommand, LoopFs, Program, TempDir, require_loop_fs, require_root, temp_dir_in, tree_of,
};

use crate::program;
use crate::trial::{again, calls, cautions, count, failure, last};

/// Options for few threads and two rows of one second.
const SMALL: [&str; 12] = ["-i", "2", "-s", "1", "-w", "1", "-W", "1", "-c", "1", "-r", "2"];

/// Directory in memory, where a sync does not wait for other programs.
fn place() -> TempDir {
    temp_dir_in(Path::new("/dev/shm"))
}

/// Runs the tool in classic mode.
fn classic(program: &Program, dir: &Path, more: &[&str]) -> FinishedCommand {
    let words = ["blogbench", "-d", dir.to_str().unwrap()];
    program.run(words.iter().chain(more))
}

/// Number after this text at the beginning of a line, as Phoronix reads it.
fn score(text: &str, of: &str) -> u64 {
    let line = text.lines().find(|line| line.starts_with(of)).unwrap();
    line.strip_prefix(of).unwrap().trim().parse().unwrap()
}

const WRITES: &str = "Final score for writes:";
const READS: &str = "Final score for reads :";

fn rows(text: &str) -> Vec<Vec<u64>> {
    let (_, table) = text.split_once("W comments\n").unwrap();
    let lines = table.lines().take_while(|line| !line.is_empty());
    let row = |line: &str| {
        assert_eq!(line.len(), 93, "{line}");
        line.split_whitespace().map(|word| word.parse().unwrap()).collect()
    };
    lines.map(row).collect()
}

fn figure(trial: &Trial, name: &str) -> f64 {
    let mut all_metrics = trial.metrics.iter();
    let matching = all_metrics.find(|metric| metric.name == name && metric.scope == Scope::Trial);
    matching.unwrap_or_else(|| panic!("no {name}")).value
}

#[test]
fn a_classic_run_prints_the_original_output_and_keeps_its_blogs() {
    let (program, place) = (program(), place());
    let ran = classic(&program, place.path(), &SMALL).ends_with(0);
    let dir = place.path().display();
    let head = format!(
        "\nFrequency = 1 secs\nScratch dir = [{dir}]\nSpawning 1 writers...\n\
         Spawning 1 rewriters...\nSpawning 1 commenters...\nSpawning 2 readers...\n\
         Benchmarking for 2 iterations.\nThe test will run during 0 minutes.\n\n  \
         Nb blogs   R articles    W articles    R pictures    W pictures    R comments    \
         W comments\n"
    );
    assert!(ran.stdout.starts_with(&head), "{ran}");
    assert!(ran.stderr.is_empty(), "{ran}");
    let rows = rows(&ran.stdout);
    assert_eq!(rows.len(), 2);
    assert!(rows.iter().all(|row| row.len() == 7) && rows[0][0] <= rows[1][0]);
    let (writes, reads) = (score(&ran.stdout, WRITES), score(&ran.stdout, READS));
    assert_eq!(writes, rows[1][0]);
    assert!(ran.stdout.ends_with(&format!("\n\n{WRITES}{writes:>14}\n{READS}{reads:>14}\n\n")));
    // Files of each kind exist, and no unfinished ones.
    let files = tree_of(place.path());
    for kind in ["article", "picture", "comment"] {
        let of_kind = |path: &&String| path.contains(&format!("/{kind}-"));
        assert!(files.keys().any(|path| of_kind(&path)), "{kind}");
    }
    assert!(files.keys().all(|path| path.starts_with("blog-") && !path.contains(".tmp")));
    let trial = last(&program);
    assert_eq!(trial.ending, Ending::Completed);
    for (name, printed) in [("write_score", writes), ("read_score", reads)] {
        let value = figure(&trial, name);
        assert!((value - printed as f64).abs() < 0.5, "{name}: {value} for {printed}");
    }
    // Rows omit the work after the last row.
    let written: u64 = rows.iter().map(|row| row[2] + row[4]).sum();
    let renamed = calls(&trial, "writer", Op::Rename) + calls(&trial, "rewriter", Op::Rename);
    assert!(renamed >= written, "{renamed} of {written}");
}

#[test]
fn the_printed_command_runs_a_classic_trial_again() {
    let (program, place) = (program(), place());
    classic(&program, place.path(), &["-i", "1", "-s", "1", "-r", "0", "--seed", "7"]).ends_with(0);
    let first = last(&program);
    program.run(again(&program)).ends_with(0);
    assert_eq!(count(&program), 2);
    assert_eq!(last(&program).beginning.parameters, first.beginning.parameters);
}

#[test]
fn invalid_command_lines_are_refused_like_the_original_or_with_a_reason() {
    let program = program();
    let none = program.run(["blogbench"]).ends_with(1);
    assert!(none.stderr.starts_with("Missing scratch directory (--directory=... option).\n\n"));
    let missing = program.run(["blogbench", "-d", "nowhere"]).ends_with(1);
    let message = "Unable to enter the scratch dir [nowhere]: [No such file or directory]\n";
    assert!(missing.stdout.starts_with("\nFrequency = 10 secs\n"), "{missing}");
    assert!(missing.stdout.ends_with(message), "{missing}");
    let here = program.home().to_str().unwrap();
    let refused = |words: &[&str], message: &str| {
        let words = [&["blogbench", "-d", here], words].concat();
        program.run(words).ends_with(1).complains(message);
    };
    refused(&["-i", "0"], "--iterations: '0' is not a whole number from 1");
    refused(&["-w", "0", "-W", "0", "-c", "0", "-r", "0"], "no thread that could work");
    refused(&["--max-size", "lots"], "neither a size nor a share");
    let outline = program.run(["blogbench", "-d", here, "--rewriters=4", "--dry-run"]).ends_with(0);
    assert!(outline.stdout.contains("3 writers, 4 rewriters, 5 commenters, 100 readers"));
}

#[test]
fn a_run_without_readers_ends_and_small_reads_are_counted() {
    let (program, place) = (program(), place());
    let alone = ["-i", "1", "-s", "1", "-r", "0", "-W", "0", "-c", "0"];
    let ran = classic(&program, place.path(), &alone).ends_with(0);
    assert_eq!(score(&ran.stdout, READS), 0);
    let place = self::place();
    classic(&program, place.path(), &[&SMALL[..], &["--read-bytes", "8"]].concat()).ends_with(0);
    let trial = last(&program);
    let (reads, opens) = (calls(&trial, "reader", Op::Read), calls(&trial, "reader", Op::Close));
    assert!(reads > 100 * opens, "{reads} reads of {opens} files");
}

#[test]
fn a_native_run_has_rates_per_second_and_removes_its_blogs() {
    let (program, place) = (program(), place());
    let dir = place.path().to_str().unwrap();
    let words = ["run", "blogbench", "--dir", dir, "--max-size", "500M"];
    let ran = program.run(words.iter().chain(&SMALL)).ends_with(0);
    assert!(ran.stdout.contains("read score per second"), "{ran}");
    assert_eq!(fs::read_dir(place.path()).unwrap().count(), 0);
    let trial = last(&program);
    let phases: Vec<&str> = trial.phases.iter().map(|phase| phase.name.as_str()).collect();
    assert_eq!(phases, ["setup", "sync", "benchmark", "final sync"]);
    for side in ["write", "read"] {
        let rate = format!("{side}_score_per_second");
        let value = figure(&trial, &rate);
        let low = figure(&trial, &format!("{rate}_min"));
        let high = figure(&trial, &format!("{rate}_max"));
        assert!(low <= value && value <= high, "{low} {value} {high}");
    }
    let of_kind = |kind: &str| {
        let scope = Scope::Kind(kind.to_owned());
        let named = |name: &str| {
            trial.metrics.iter().any(|metric| metric.scope == scope && metric.name == name)
        };
        named("latency_ns_p99") && named("latency_ns_max")
    };
    for kind in ["write article", "read picture", "write blog", "read blog"] {
        assert!(of_kind(kind), "{kind}");
    }
    let work = trial.phases.iter().find(|phase| phase.name == "benchmark").unwrap();
    assert!(!work.intervals.is_empty(), "what each second did is there");
    // Kept trees prevent another run.
    program.run(words.iter().chain(&SMALL).chain(&["--keep"])).ends_with(0);
    assert!(place.path().join("blogbench-0/blog-0").is_dir());
    let again = program.run(words.iter().chain(&SMALL)).ends_with(2);
    again.complains("blogbench-0 is there already");
}

#[test]
fn old_blogs_are_overwritten_if_space_is_limited() {
    require_root!();
    let (program, place) = (program(), LoopFs::in_memory(64));
    let ran = classic(&program, place.path(), &SMALL).ends_with(0);
    ran.clone().complains("blogs were written in place of older ones");
    assert!(score(&ran.stdout, WRITES) > 7, "more than fit: {ran}");
    assert!(fs::read_dir(place.path()).unwrap().count() <= 8);
    let place = LoopFs::in_memory(16);
    let tight = classic(&program, place.path(), &SMALL).ends_with(1);
    assert!(tight.stderr.contains("1 blogs fit into the room"), "{tight}");
    let native = ["run", "blogbench", "--dir", place.path().to_str().unwrap()];
    program.run(native).ends_with(2).complains("blogs fit into the room");
}

#[test]
fn a_full_filesystem_ends_the_run_with_scores() {
    require_loop_fs!("ext4");
    let (program, place) = (program(), LoopFs::new("ext4", 300));
    let words = ["-i", "1000", "-s", "1", "-r", "2", "--max-size", "8G"];
    let ran = classic(&program, place.path(), &words).ends_with(1);
    ran.clone().complains("No space left on device");
    let trial = last(&program);
    assert!(failure(&trial).contains("blog-"), "the path is named: {}", failure(&trial));
    assert_eq!(cautions(&trial), ["may_not_fit"]);
    // The filesystem may have been full before the first row.
    let rows = rows(&ran.stdout);
    let last_row = rows.last().map_or(0, |row| row[0]);
    assert_eq!(score(&ran.stdout, WRITES), last_row, "{ran}");
}

#[test]
fn an_interrupt_ends_the_run_with_scores() {
    let (program, place) = (program(), place());
    let dir = place.path().to_str().unwrap();
    let words = ["blogbench", "-d", dir, "-i", "100000", "-s", "1", "-r", "2", "--max-size", "99M"];
    let run = program.start(words);
    let began = Instant::now();
    while !place.path().join("blog-1").exists() {
        assert!(began.elapsed() < Duration::from_secs(60), "blogs are made");
        sleep(Duration::from_millis(10));
    }
    // The first row takes a second.
    sleep(Duration::from_millis(1500));
    run.send("INT");
    let ran = run.finish().ends_with(130);
    let rows = rows(&ran.stdout);
    assert!(!rows.is_empty(), "{ran}");
    assert_eq!(score(&ran.stdout, WRITES), rows.last().unwrap()[0]);
    let trial = last(&program);
    assert_eq!(trial.ending, Ending::Interrupted);
    let printed = score(&ran.stdout, READS) as f64;
    assert!((figure(&trial, "read_score") - printed).abs() < 0.5);
}

//! fio under its own name: command lines that cannot run natively are passed to the installed fio,
//! and its report is stored.

use std::fs;
use std::os::unix::fs::symlink;
use std::process::Command;

use serde_json::Value;
use treering_model::RunMode;
use treering_testkit::{FinishedCommand, LoopFs, Program, require_root, require_tool};

use crate::program;
use crate::trial::last;

const FOREIGN: &str = "[a]\nrw=write\nsize=64k\nblock_error_percentiles=1\n";

fn written(program: &Program, job: &str) {
    fs::write(program.home().join("j.fio"), job).unwrap();
}

/// Runs the program without an installed fio on the path.
fn alone(program: &Program, words: &[&str]) -> FinishedCommand {
    let mut command = program.command(["fio"].iter().chain(words));
    FinishedCommand::run(command.env("PATH", "/no/such/directory"))
}

#[test]
fn unsupported_jobs_run_with_the_installed_fio_and_are_stored() {
    require_tool!("fio");
    let program = program();
    written(&program, FOREIGN);
    let ran = program.run(["fio", "j.fio", "--label", "mine"]).ends_with(0);
    let lines: Vec<&str> = ran.stderr.lines().collect();
    assert_eq!(lines.len(), 1, "{ran}");
    assert!(lines[0].contains("/fio runs this job: j.fio:4:1: block_error_percentiles"), "{ran}");
    assert!(ran.stdout.contains("Run status group 0 (all jobs):"), "{ran}");
    let trial = last(&program);
    assert_eq!((trial.beginning.label.as_str(), trial.beginning.mode), ("mine", RunMode::Classic));
    let fact = |name: &str| {
        let found = trial.facts.iter().find(|fact| fact.name == name);
        found.map(|fact| fact.value.clone()).unwrap_or_default()
    };
    assert_eq!(fact("fio.command"), "fio j.fio");
    assert!(fact("fio.reason").contains("block_error"));
    assert!(!trial.metrics.is_empty());
    // A report that fio writes to a file is read from there.
    program.run(["fio", "j.fio", "--output=r.json", "--output-format=json"]).ends_with(0);
    let report = fs::read(program.home().join("r.json")).unwrap();
    assert!(serde_json::from_slice::<Value>(&report).is_ok());
    assert!(fact("fio.command") != last(&program).facts.last().unwrap().value);
}

#[test]
fn errors_and_help_come_from_the_installed_fio() {
    require_tool!("fio");
    let program = program();
    written(&program, "[a]\nsize=64k\nrw=sideways\n");
    program.run(["fio", "j.fio"]).ends_with(1).complains("fio: failed parsing rw=sideways");
    let ran = program.run(["fio", "--cmdhelp=rw"]).ends_with(0);
    assert!(ran.stdout.contains("readwrite"), "{ran}");
    written(&program, FOREIGN);
    let mut command = program.command(["fio", "j.fio", "--dry-run"]);
    let ran = FinishedCommand::run(command.env("TREERING_QUIET", "1")).ends_with(0);
    assert_eq!(ran.stderr, "", "{ran}");
    assert!(!program.home().join("a.0.0").exists());
    assert!(
        program.run(["list"]).stdout.contains("There are no trials") || !program.data().exists()
    );
}

#[test]
fn a_link_found_first_on_the_path_runs_the_installed_fio() {
    require_tool!("fio");
    let program = program();
    written(&program, FOREIGN);
    let links = program.home().join("links");
    fs::create_dir(&links).unwrap();
    symlink(env!("CARGO_BIN_EXE_treering"), links.join("fio")).unwrap();
    let others = std::env::var("PATH").unwrap();
    let run = |path: String| {
        let mut command = Command::new(links.join("fio"));
        FinishedCommand::run(program.prepare(&mut command).arg("j.fio").env("PATH", path))
    };
    run(format!("{}:{others}", links.display())).ends_with(0).complains("runs this job");
    run(links.display().to_string()).ends_with(1).complains("install fio");
}

#[test]
fn without_fio_all_errors_are_reported_at_once() {
    let program = program();
    written(&program, "[a]\nrw=sideways\nsize=1m\nzonemode=zbd\nbogus=1\n");
    let ran = alone(&program, &["j.fio"]).ends_with(1);
    for place in ["j.fio:2:4: rw", "j.fio:4:10: zonemode", "j.fio:5:1: 'bogus'", "install fio"] {
        assert!(ran.stderr.contains(place), "{place}: {ran}");
    }
    assert!(!ran.stderr.contains("--with-fio"), "{ran}");
    assert_eq!(alone(&program, &["--version"]).ends_with(0).stdout, "fio-3.33\n");
}

#[test]
fn without_fio_every_unsupported_option_is_reported() {
    let program = program();
    written(&program, "[a]\nrw=sideways\nsize=1m\n");
    let ran = alone(&program, &["--client", "h", "j.fio", "--bogus=1", "--idle-prof=system"]);
    let ran = ran.ends_with(1);
    for fault in [
        "--client: treering does not do this: jobs on other machines",
        "--bogus: no option of fio 3.33",
        "--idle-prof: treering does not do this",
        "j.fio:2:4: rw",
        "install fio",
    ] {
        assert!(ran.stderr.contains(fault), "{fault}: {ran}");
    }
    assert!(!ran.stderr.contains("unexpected argument"), "{ran}");
}

#[test]
fn native_program_options_are_accepted() {
    let program = program();
    written(&program, "[a]\nrw=read\nsize=64k\n");
    let ran = alone(&program, &["j.fio", "--parse-only"]).ends_with(0);
    assert_eq!(ran.stdout, "");
    let words =
        ["--readonly", "--max-jobs=1", "--eta-newline=1", "--alloc-size=9", "--append-terse"];
    let words = [&["j.fio"], &words[..]].concat();
    // The file exists, since --readonly creates none.
    fs::write(program.home().join("a.0.0"), vec![0; 64 << 10]).unwrap();
    let ran = alone(&program, &words).ends_with(0);
    assert!(ran.stdout.contains("3;fio-3.33;a;0;0;64;"), "{ran}");
    assert!(ran.stdout.contains("Run status group 0"), "{ran}");
    written(&program, "[a]\nrw=write\nsize=64k\nnumjobs=2\n");
    alone(&program, &["j.fio", "--readonly"]).ends_with(1).complains("[a] writes");
    // The original takes this limit and ignores it, too.
    alone(&program, &["j.fio", "--max-jobs=1"]).ends_with(0);
}

#[test]
fn several_job_files_run_one_after_the_other() {
    let program = program();
    let home = program.home();
    fs::write(home.join("a.fio"), "[global]\nbs=8k\nsize=64k\n[x]\nrw=write\n").unwrap();
    fs::write(home.join("b.fio"), "[y]\nsize=64k\nrw=read\n").unwrap();
    let ran = alone(&program, &["a.fio", "b.fio", "--output-format=json"]).ends_with(0);
    let document: Value = serde_json::from_str(&ran.stdout).unwrap();
    let jobs = document["jobs"].as_array().unwrap();
    let reported = |job: &Value, way: &str| {
        (job["groupid"].as_u64().unwrap(), job[way]["total_ios"].as_u64().unwrap())
    };
    // Global options of the first file do not apply to the second.
    assert_eq!((reported(&jobs[0], "write"), reported(&jobs[1], "read")), ((0, 8), (1, 16)));
    let ran = alone(&program, &["--showcmd", "a.fio", "b.fio"]).ends_with(0);
    let lines = "fio --bs=8k --size=64k --name=x --rw=write \nfio --name=y --size=64k --rw=read \n";
    assert_eq!(ran.stdout, lines);
}

#[test]
fn a_job_file_on_standard_input_is_passed_to_fio() {
    let program = program();
    let piped = |job: &str, path: Option<&str>| {
        fs::write(program.home().join("input"), job).unwrap();
        let input = fs::File::open(program.home().join("input")).unwrap();
        let mut command = program.command(["fio", "-", "--output-format=json"]);
        if let Some(path) = path {
            command.env("PATH", path);
        }
        FinishedCommand::run(command.stdin(input)).ends_with(0)
    };
    let name = |ran: &FinishedCommand| {
        let document: Value = serde_json::from_str(&ran.stdout).unwrap();
        document["jobs"][0]["jobname"].as_str().unwrap().to_owned()
    };
    assert_eq!(name(&piped("[p]\nsize=64k\nrw=write\n", Some("/no/such/directory"))), "p");
    require_tool!("fio");
    assert_eq!(name(&piped(FOREIGN, None)), "a");
}

#[test]
fn without_fio_help_covers_native_options() {
    let program = program();
    let ran = alone(&program, &["--cmdhelp=blocksize"]).ends_with(0);
    assert!(ran.stdout.contains("bs: sizes of requests"), "{ran}");
    let ran = alone(&program, &["--enghelp"]).ends_with(0);
    assert!(ran.stdout.starts_with("Available IO engines:\n\tpsync\n"), "{ran}");
    alone(&program, &["--enghelp=bogus"]).ends_with(1);
}

#[test]
fn readonly_creates_no_file() {
    let program = program();
    let words = ["--name=a", "--size=64k", "--rw=read", "--readonly"];
    alone(&program, &words).ends_with(1);
    assert!(!program.home().join("a.0.0").exists());
    alone(&program, &["--name=a", "--size=64k", "--rw=trim", "--ioengine=null", "--readonly"])
        .ends_with(1)
        .complains("[a] writes or trims");
}

#[test]
fn a_symbolic_link_is_followed_and_kept() {
    let program = program();
    let home = program.home();
    fs::write(home.join("target"), "short").unwrap();
    symlink("target", home.join("link")).unwrap();
    for rw in ["write", "read"] {
        let words = ["--name=a", "--size=64k", "--filename=link", "--rw", rw];
        alone(&program, &words).ends_with(0);
        assert!(fs::symlink_metadata(home.join("link")).unwrap().is_symlink());
        assert_eq!(fs::metadata(home.join("target")).unwrap().len(), 65536);
    }
}

#[test]
fn a_path_may_have_any_character() {
    let program = program();
    let words = ["--name=a", "--size=4k", "--rw=write", "--filename=x;y#z"];
    alone(&program, &words).ends_with(0);
    assert!(program.home().join("x;y#z").is_file());
}

#[test]
fn a_full_filesystem_is_the_error_of_the_job() {
    require_root!();
    let (program, place) = (program(), LoopFs::in_memory(16));
    let directory = format!("--directory={}", place.path().display());
    for engine in ["psync", "libaio"] {
        let engine = format!("--ioengine={engine}");
        let words = ["--name=a", "--size=64m", "--rw=write", "--bs=64k", "--fallocate=none"];
        let more = [directory.as_str(), engine.as_str(), "--output-format=json", "--unlink=1"];
        let ran = alone(&program, &[&words[..], &more[..]].concat()).ends_with(1);
        let document: Value = serde_json::from_str(&ran.stdout).unwrap();
        let job = &document["jobs"][0];
        assert_eq!(job["error"], 28, "{ran}");
        // A failed request is counted, but its bytes are not.
        let number = |name: &str| job["write"][name].as_u64().unwrap();
        assert_eq!(number("total_ios"), number("io_bytes") / 65536 + 1, "{ran}");
    }
}

#[test]
fn a_file_creation_error_fails_only_its_job() {
    require_root!();
    let (program, place) = (program(), LoopFs::in_memory(16));
    let directory = format!("--directory={}", place.path().display());
    for more in ["--rw=write --overwrite=1", "--rw=randread", "--rw=write --ioengine=mmap"] {
        let words = ["--name=a", "--size=12m", "--bs=64k", "--numjobs=2", &directory];
        let words = words.into_iter().chain(more.split(' ')).chain(["--output-format=json"]);
        let ran = alone(&program, &words.collect::<Vec<_>>()).ends_with(1);
        assert!(ran.stderr.contains("No space left on device"), "{ran}");
        let document: Value = serde_json::from_str(&ran.stdout).unwrap();
        let jobs = document["jobs"].as_array().unwrap();
        let of = |job: &Value| {
            let number = |name: &str| job[name]["total_ios"].as_u64().unwrap();
            (job["error"].as_u64().unwrap(), number("read") + number("write"))
        };
        assert_eq!(jobs.iter().map(of).collect::<Vec<_>>(), [(0, 192), (28, 0)], "{more}: {ran}");
        for file in fs::read_dir(place.path()).unwrap() {
            fs::remove_file(file.unwrap().path()).unwrap();
        }
    }
}

#[test]
fn every_request_is_logged_with_its_offset() {
    let program = program();
    let job = "[a]\nrw=write\nsize=12k\nwrite_iolog=io\nwrite_bw_log=w\nlog_offset=1\n\
               per_job_logs=0\n";
    written(&program, job);
    alone(&program, &["j.fio"]).ends_with(0);
    let text = |name: &str| fs::read_to_string(program.home().join(name)).unwrap();
    let without_times: Vec<String> = text("io")
        .lines()
        .map(|line| line.trim_start_matches(|c: char| c.is_ascii_digit()).trim().to_owned())
        .collect();
    let wanted = [
        "fio version 3 iolog",
        "a.0.0 add",
        "a.0.0 open",
        "a.0.0 write 0 4096",
        "a.0.0 write 4096 4096",
        "a.0.0 write 8192 4096",
        "a.0.0 close",
    ];
    assert_eq!(without_times, wanted);
    let offsets: Vec<String> =
        text("w_bw.log").lines().map(|line| line.split(", ").nth(4).unwrap().to_owned()).collect();
    assert_eq!(offsets, ["0", "4096", "8192"]);
}

#[test]
fn group_rates_include_all_clones() {
    let program = program();
    let job = "[a]\nrw=randread\nsize=1m\nioengine=null\ntime_based\nruntime=2\nrate_iops=1000\n\
               numjobs=4\nthread\ngroup_reporting\n";
    written(&program, job);
    let ran = alone(&program, &["j.fio", "--output-format=json"]).ends_with(0);
    let document: Value = serde_json::from_str(&ran.stdout).unwrap();
    let read = &document["jobs"][0]["read"];
    let number = |name: &str| read[name].as_f64().unwrap();
    // Without other load, the rate is 4000; a single clone cannot exceed 1000.
    let samples = number("iops_samples");
    assert!(samples == 0.0 || number("iops_max") >= number("iops_min"));
    if number("iops") > 2500.0 && samples >= 8.0 {
        assert!(number("iops_mean") > 2000.0, "{read}");
        assert!(number("bw_mean") > 8000.0, "{read}");
    }
}

#[test]
fn a_log_has_a_line_for_every_request_of_a_long_job() {
    let program = program();
    let job = "[a]\nioengine=null\nrw=randwrite\nsize=800m\nnorandommap\nwrite_lat_log=l\n\
               write_iolog=io\nnumjobs=2\nnrfiles=2\nlog_offset=1\n";
    written(&program, job);
    alone(&program, &["j.fio"]).ends_with(0);
    let lines = |name: &str| {
        let text = fs::read_to_string(program.home().join(name)).unwrap();
        text.lines().count()
    };
    for clone in [1, 2] {
        assert_eq!(lines(&format!("l_clat.{clone}.log")), 204_800);
        assert_eq!(lines(&format!("l_lat.{clone}.log")), 204_800);
    }
    // Calls of a clone are its requests, two opens and closes, two names and the version.
    assert_eq!(lines("io"), 2 * (204_800 + 7));
    // A second run truncates the logs of single clones, and appends to the common one.
    alone(&program, &["j.fio"]).ends_with(0);
    assert_eq!((lines("l_lat.1.log"), lines("io")), (204_800, 4 * (204_800 + 7)));
}

#[test]
fn a_dry_run_writes_no_log() {
    let program = program();
    written(&program, "[a]\nrw=write\nsize=64k\nwrite_lat_log=l\nwrite_iolog=io\n");
    alone(&program, &["j.fio", "--dry-run", "--calls"]).ends_with(0);
    assert!(!program.home().join("io").exists() && !program.home().join("l_lat.1.log").exists());
}

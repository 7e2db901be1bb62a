//! IO500 as a user runs it: a rehearsal on one process and on ranks, its advice about a full run,
//! and a fake of the installed program.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use treering_model::workloads::io500::{FOUND_FACT, STEPS, measured};
use treering_model::{Ending, RANKS_FACT, Scope, Trial};
use treering_testkit::{FinishedCommand, Program, temp_dir, temp_dir_in};

use crate::kernels::fact;
use crate::mpi::{Mpi, only};
use crate::program;
use crate::trial::last;

/// Options of a rehearsal so small that its phases end by their work, not by time.
const SMALL: &[&str] = &[
    "--seconds",
    "600",
    "--block-size",
    "4M",
    "--segment-count",
    "20",
    "--easy-items",
    "30",
    "--hard-items",
    "120",
];

/// Phases that have a rate.
fn phases() -> Vec<&'static str> {
    measured().map(|step| step.name).collect()
}

/// Primary metrics of a trial, in order.
fn rates(trial: &Trial) -> Vec<String> {
    let primary = trial.metrics.iter().filter(|metric| metric.primary && metric.value > 0.0);
    primary
        .map(|metric| match &metric.scope {
            Scope::Kind(kind) => {
                let data = kind.starts_with("ior-");
                let name = if data { "mib_per_second" } else { "operations_per_second" };
                assert_eq!(metric.name, name, "{kind}");
                kind.clone()
            }
            other => panic!("{other:?}"),
        })
        .collect()
}

#[test]
fn a_rehearsal_has_all_phases_and_projects_a_full_run() {
    let program = program();
    fs::create_dir(program.home().join("w")).unwrap();
    let line = ["io500", "rehearse", "--dir", "w", "--workers", "2"];
    let ran = program.run(line.iter().chain(SMALL)).ends_with(0);
    let trial = last(&program);
    assert_eq!((trial.beginning.workload.as_str(), &trial.ending), ("io500", &Ending::Completed));
    assert_eq!(rates(&trial), phases());
    assert_eq!(fact(&trial, FOUND_FACT), Some("2"));
    // Lines are wrapped between words.
    let output = ran.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    for part in [
        "Only IO500 itself scores",
        "segmentCount",
        "blockSize",
        "its rate until all that it may write was written",
        " [mdtest-easy] n = ",
        " drop-caches = TRUE ",
    ] {
        assert!(output.contains(part), "{part}: {ran}");
    }
    for never in ["TOTAL", "[SCORE", "kiops"] {
        assert!(!ran.stdout.contains(never), "no score: {ran}");
    }
    let names: Vec<&str> = trial.metrics.iter().map(|metric| metric.name.as_str()).collect();
    assert!(names.iter().all(|name| !name.contains("score")), "{names:?}");
    assert_eq!(fs::read_dir(program.home().join("w")).unwrap().count(), 0, "nothing stays");
    // The rehearsal has another name as a workload, and --quiet prints no page.
    let again = ["run", "io500", "--dir", "w", "--quiet", "--worker-kind", "processes"];
    let ran = program.run(again.iter().chain(SMALL)).ends_with(0);
    assert_eq!(ran.stdout, "");
    assert_eq!(rates(&last(&program)), phases());
}

#[test]
fn a_dry_run_says_phases_and_calls_in_their_order() {
    let program = program();
    let line = ["io500", "rehearse", "--dry-run", "--workers", "2"];
    let ran = program.run(line.iter().chain(SMALL)).ends_with(0);
    let mut output: Vec<&str> =
        ran.stdout.lines().filter_map(|line| line.split_once(": ")).map(|(one, _)| one).collect();
    output.dedup();
    assert_eq!(output, STEPS.map(|step| step.name));
    let line = ["io500", "rehearse", "--dry-run", "--calls", "--workers", "2"];
    let ran = program.run(line.iter().chain(SMALL)).ends_with(0);
    for part in ["phase mdtest-hard-write\n", "47008", "3901", "ior_file_easy.00000001"] {
        assert!(ran.stdout.contains(part), "{part}: {ran}");
    }
}

#[test]
fn ranks_rehearse_together() {
    let Some(mpi) = Mpi::of("openmpi") else { return };
    let place = temp_dir();
    let data = temp_dir_in(Path::new("/dev/shm"));
    let store = data.path().join("results.db");
    let mut command = mpi.ranks(3);
    command.args(["io500", "rehearse", "--workers", "2", "--dir"]).arg(place.path());
    let ran = FinishedCommand::run(command.args(SMALL).arg("--store").arg(&store)).ends_with(0);
    let trial = only(&store);
    assert_eq!(trial.ending, Ending::Completed, "{ran}");
    assert_eq!(rates(&trial), phases());
    assert_eq!(fact(&trial, RANKS_FACT), Some("3"));
    assert_eq!(fact(&trial, FOUND_FACT), Some("6"), "of six workers");
    assert!(ran.stdout.contains("slowest rank"), "{ran}");
    assert_eq!(fs::read_dir(place.path()).unwrap().count(), 0, "nothing stays");
}

/// Fake io500 that leaves the same result files.
const PROGRAM: &str = r#"#!/bin/sh
mkdir -p results/now
cat >results/now/result.txt <<END
[run]
procs           = 1
version         = io500-sc99_v1

[ior-easy-write]
score           = 2.000000
t_delta         = 300.5000
END
cp "$1" results/now/config.ini
echo "it ran $1"
exit $(grep -c fail "$1")
"#;

fn with_program(program: &Program, config: &str) -> FinishedCommand {
    let path = program.home().join("io500");
    fs::write(&path, PROGRAM).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    fs::write(program.home().join("c.ini"), config).unwrap();
    program.run(["io500", "run", "--with-io500", "./io500", "--config", "c.ini", "--label", "a"])
}

#[test]
fn the_result_of_an_installed_program_is_stored_with_its_files() {
    let program = program();
    let ran = with_program(&program, "[global]\ndatadir = ./data\n").ends_with(0);
    assert!(ran.stdout.contains("it ran c.ini"), "{ran}");
    let trial = last(&program);
    assert_eq!((trial.beginning.label.as_str(), &trial.ending), ("a", &Ending::Completed));
    assert_eq!(rates(&trial), ["ior-easy-write"]);
    assert_eq!(fact(&trial, "import.tool"), Some("io500-sc99_v1"));
    let files: Vec<&str> = trial.artifacts.iter().map(|one| one.name.as_str()).collect();
    assert_eq!(files, ["config.ini", "result.txt"]);
    let config: String = serde_json::from_str(&trial.artifacts[0].body).unwrap();
    assert!(config.contains("datadir = ./data"));
}

#[test]
fn a_failing_program_and_missing_results_are_reported() {
    let program = program();
    with_program(&program, "[global]\n# fail\n").ends_with(4).complains("exit status: 1");
    assert!(matches!(last(&program).ending, Ending::Failed { .. }), "what it left is kept");
    let elsewhere = "[global]\nresultdir = ./elsewhere\n";
    let ran = with_program(&program, elsewhere).ends_with(4);
    assert!(ran.stderr.contains("left no result.txt in ./elsewhere"), "{ran}");
    let line = ["io500", "run", "--with-io500", "./none", "--config", "c.ini"];
    program.run(line).complains("cannot start ./none");
}

/// Result of four clients in the words of IO500, with figures of our own.
const RESULT: &str = "\
IO500 version io500-sc24_v1-7-g1a2b3c4d5e6f (standard)
[RESULT]       ior-easy-write        2.000000 GiB/s : time 300.100 seconds
[RESULT]    mdtest-easy-write       10.000000 kIOPS : time 300.200 seconds
[RESULT]       ior-hard-write        0.500000 GiB/s : time 300.300 seconds
[RESULT]                 find      100.000000 kIOPS : time 10.000 seconds
";

/// Cells of a phase in the list of all runs.
fn listed(program: &Program, phase: &str) -> Vec<String> {
    let ran = program.run(["io500", "list", "--format", "csv"]).ends_with(0);
    let row = ran.stdout.lines().find(|line| line.contains(phase)).unwrap();
    row.split(',').map(str::to_owned).collect()
}

#[test]
fn two_rehearsals_with_as_many_workers_have_the_ratio_of_each_phase() {
    let program = program();
    fs::create_dir(program.home().join("w")).unwrap();
    for _ in 0..2 {
        let line = ["io500", "rehearse", "--dir", "w", "--workers", "2"];
        program.run(line.iter().chain(SMALL)).ends_with(0);
    }
    for phase in phases() {
        let rates: Vec<f64> =
            listed(&program, phase)[3..].iter().map(|cell| cell.parse().unwrap()).collect();
        let [first, second, ratio] = rates[..] else { panic!("{phase}: {rates:?}") };
        assert!((ratio - second / first).abs() <= 0.02 * ratio, "{phase}: {rates:?}");
    }
}

#[test]
fn a_rehearsal_stands_beside_imported_results_phase_by_phase() {
    let program = program();
    let ran = program.run(["io500", "list"]).ends_with(0);
    assert!(ran.stdout.contains("No run of IO500 is in the store"), "{ran}");
    fs::create_dir(program.home().join("w")).unwrap();
    fs::write(program.home().join("result.txt"), RESULT).unwrap();
    program.run(["import", "result.txt"]).ends_with(0);
    let line = ["io500", "rehearse", "--dir", "w", "--workers", "2"];
    program.run(line.iter().chain(SMALL)).ends_with(0);
    for phase in phases() {
        let cells = listed(&program, phase);
        assert_eq!(cells.len(), 5, "a result without its number of clients has no ratio");
        assert_eq!(!cells[3].is_empty(), RESULT.contains(phase), "{cells:?}");
        assert!(!cells[4].is_empty(), "{cells:?}");
    }
    let ran = program.run(["io500", "list", "last"]).ends_with(0);
    assert!(ran.stdout.contains("rehearsal"), "{ran}");
    fs::create_dir(program.home().join("w2")).unwrap();
    program.run(["run", "fs_mark", "--dir", "w2", "--files", "10"]).ends_with(0);
    program.run(["io500", "list", "last"]).ends_with(2).complains("is no run of IO500");
}

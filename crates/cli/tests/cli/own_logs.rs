//! Outputs of classic runs, imported as logs: the imported trial has the figures of the run's own
//! trial, within the digits of the text, and the two are compared by a primary metric.

use std::collections::BTreeMap;
use std::fs;
use std::process::Command;

use serde_json::Value;
use treering_model::{Scope, Trial, Unit};
use treering_testkit::{FourLists, Program, skip};

use crate::ffsb::Profile;
use crate::program;
use crate::trial::last;

/// Runs a tool in classic mode and imports its output, both streams as a terminal shows them;
/// returns the run's own trial and the imported one.
fn both(program: &Program, words: &[&str]) -> (Trial, Trial) {
    let log = program.home().join("log.txt");
    let file = fs::File::create(&log).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_treering"));
    program.prepare(&mut command).args(words).args(["--label", "run"]);
    let status = command.stdout(file.try_clone().unwrap()).stderr(file).status().unwrap();
    assert!(status.success(), "{}", fs::read_to_string(&log).unwrap());
    let own = last(program);
    program.run(["import", log.to_str().unwrap(), "--label", "log"]).ends_with(0);
    let imported = last(program);
    assert_eq!(own.beginning.workload, imported.beginning.workload);
    (own, imported)
}

/// Tolerance of a figure in a log: absolute, and relative to the value.
type Slack = fn(name: &str, unit: Unit) -> (f64, f64);

/// Names of the metrics that both trials have. Asserts that the values agree within `slack`; rates
/// of the run are first multiplied by `by_time`.
fn shared(own: &Trial, imported: &Trial, by_time: f64, slack: Slack) -> Vec<String> {
    let all: BTreeMap<(Scope, &str), f64> =
        own.metrics.iter().map(|m| ((m.scope.clone(), m.name.as_str()), m.value)).collect();
    let mut names = Vec::new();
    for metric in &imported.metrics {
        let Some(&ran) = all.get(&(metric.scope.clone(), metric.name.as_str())) else { continue };
        // In the run and in the import, this rate of dbench is about the last printed second.
        let is_printed = metric.name == "throughput_mib_per_second";
        let is_rate = metric.unit.symbol().ends_with("/s") && !is_printed;
        let expected = if is_rate { ran * by_time } else { ran };
        let (least, share) = slack(&metric.name, metric.unit);
        let name = metric.full_name();
        let off = (metric.value - expected).abs();
        assert!(off <= least + share * expected.abs(), "{name}: {ran} ran, log {}", metric.value);
        names.push(name);
    }
    names
}

/// Asserts that a comparison of both trials, either way round, has a primary metric.
fn are_compared(program: &Program) {
    for (base, other) in [("run", "log"), ("log", "run")] {
        let words = ["report", "--baseline", base, "--contender", other, "--format", "json"];
        let text = program.run(words).ends_with(0).stdout;
        let document: Value = serde_json::from_str(&text).unwrap();
        let all = document["comparisons"].as_array().unwrap();
        let primary = all.iter().filter(|one| one["primary"] == true);
        assert!(primary.count() > 0, "{base} against {other}: {document:#}");
    }
}

/// Each of these must be among the shared figures.
fn has(names: &[String], wanted: &[&str]) {
    for name in wanted {
        assert!(names.iter().any(|known| known == name), "no {name} in {names:?}");
    }
}

fn in_place() -> Program {
    let program = program();
    fs::create_dir(program.home().join("w")).unwrap();
    program
}

/// Reduces the figures of kinds of operations to those that compilebench's output determines: each
/// line has its own rate, and its time to 0.01 s, which is too coarse for short operations.
fn as_printed(own: &mut Trial) {
    let hundredths = |value: f64| (value * 100.0).round() / 100.0;
    let tasks = own.tasks.clone();
    for metric in own.metrics.iter_mut().filter(|metric| metric.name == "mib_per_second") {
        let name = metric.full_name();
        let of_kind = tasks.iter().filter(|task| name == format!("{}/mib_per_second", task.kind));
        let (mut mib, mut seconds) = (0.0, 0.0);
        for task in of_kind {
            let printed = hundredths(task.seconds());
            mib += hundredths(task.mib_per_second()) * printed;
            seconds += printed;
        }
        if seconds > 0.0 {
            metric.value = mib / seconds;
        }
    }
    // The summary omits the sync, whose time depends on other writes to the disk.
    for metric in own.metrics.iter_mut().filter(|metric| metric.name == "cpu_seconds") {
        let name = metric.full_name();
        let of_kind = tasks.iter().filter(|task| name == format!("{}/cpu_seconds", task.kind));
        let cpu = of_kind.clone().map(|task| task.cpu.minus(task.sync_cpu).total_ns()).sum::<u64>();
        metric.value = cpu as f64 / 1e9 / of_kind.count().max(1) as f64;
    }
}

#[test]
fn compilebench_compares_with_its_own_output() {
    let program = in_place();
    FourLists::wide(4000, 40_000).write_to(&program.home().join("lists"));
    let words = ["compilebench", "-D", "w", "-s", "lists", "-i", "2", "-r", "12", "--seed", "3"];
    let (mut own, imported) = both(&program, &words);
    as_printed(&mut own);
    let names = shared(&own, &imported, 1.0, |_, unit| match unit {
        // Lines and the summary have two digits. CPU time is the sum of user and system time, each
        // truncated to two digits.
        Unit::Seconds => (0.021, 0.0),
        _ => (0.01, 1e-3),
    });
    has(&names, &["initial create/mib_per_second", "initial create/seconds", "read/seconds"]);
    has(&names, &["initial create/cpu_seconds"]);
    are_compared(&program);
}

#[test]
fn fs_mark_compares_with_its_own_output() {
    let program = in_place();
    let words = ["fs_mark", "-d", "w", "-n", "300", "-s", "2000", "-t", "3", "-L", "3", "-S", "0"];
    let (own, imported) = both(&program, &words);
    let names = shared(&own, &imported, 1.0, |_, _| (0.1, 1e-3));
    has(&names, &["create/classic_files_per_second"]);
    are_compared(&program);
}

#[test]
fn ffsb_compares_with_its_own_output() {
    let program = in_place();
    let group = "readall_weight=3\ncreate_weight=1\ndelete_weight=1\nappend_weight=1\n";
    let profile = Profile::new("num_files=100\nnum_dirs=4\n", group);
    profile.write(&program);
    let (own, imported) = both(&program, &["ffsb", "p.ffsb"]);
    let names = shared(&own, &imported, 1.0, |name, _| match name {
        // The value is in whole seconds; others have three digits.
        "setup_seconds" => (1.0, 0.0),
        _ => (0.006, 0.006),
    });
    has(&names, &["transactions_per_second", "readall/transactions_per_second"]);
    has(&names, &["read_mib_per_second", "write_mib_per_second", "elapsed_seconds"]);
    are_compared(&program);
}

/// Jobs with clones that are reported separately.
const JOBS: &str = "[global]\nsize=4m\ndirectory=w\nbs=4k\n[mix]\nrw=randrw\nnumjobs=2\n\
                    [seq]\nstonewall\nrw=write\nfsync=64\n";

fn fio(form: &str, slack: Slack) {
    let program = in_place();
    fs::write(program.home().join("j.fio"), JOBS).unwrap();
    let (own, imported) = both(&program, &["fio", "j.fio", form]);
    let names = shared(&own, &imported, 1.0, slack);
    has(&names, &["mix.0/read_mib_per_second", "mix.1/write_operations_per_second"]);
    has(&names, &["mix/read_mib_per_second", "seq/write_mib_per_second"]);
    has(&names, &["seq/write_clat_p99_nanoseconds", "mix.0/read_clat_p999_nanoseconds"]);
    has(&names, &["seq/write_latency_mean_nanoseconds", "mix.0/read_latency_max_nanoseconds"]);
    let decide: Vec<String> = imported
        .metrics
        .iter()
        .filter(|metric| metric.primary)
        .map(treering_model::Metric::full_name)
        .collect();
    let of_run = own.metrics.iter().filter(|metric| metric.primary);
    let mut of_run: Vec<String> = of_run.map(treering_model::Metric::full_name).collect();
    let mut of_log = decide;
    of_run.sort();
    of_log.sort();
    assert_eq!(of_run, of_log, "the same decides");
    are_compared(&program);
}

#[test]
fn fio_compares_with_its_own_json() {
    fio("--output-format=json", |_, _| (0.001, 1e-5));
}

#[test]
fn fio_compares_with_its_own_text() {
    // Output has forms such as `avg= 2.28` and `max=4049k`. Percentiles are whole microseconds or
    // milliseconds; the smallest have two digits.
    fio("--output-format=normal", |name, unit| match unit {
        Unit::Nanoseconds if name.contains("_clat_p") => (10.0, 0.25),
        // Maxima from 100 microseconds on are truncated to whole ones.
        Unit::Nanoseconds if name.contains("_max_") => (10.0, 1e-2),
        Unit::Nanoseconds => (10.0, 2e-3),
        // The original drops a digit instead of carrying: 18.995 is written as 18.0.
        unit if unit.symbol().ends_with("/s") => (1.0, 0.1),
        _ => (0.01, 1e-3),
    });
}

#[test]
fn fio_compares_with_its_own_terse_lines() {
    // Values are whole KiB/s and requests per second.
    fio("--output-format=terse", |_, unit| match unit {
        Unit::Nanoseconds => (1000.0, 1e-3),
        Unit::MibPerSecond => (0.002, 1e-3),
        _ => (1.0, 1e-3),
    });
}

#[test]
fn fio_compares_with_its_own_output_where_directions_are_reported_as_one() {
    for (form, clones) in [("json", 1), ("normal", 1), ("json", 2)] {
        let program = in_place();
        let (form, clones) = (format!("--output-format={form}"), format!("--numjobs={clones}"));
        let words = ["fio", "--name=a", "--directory=w", "--size=4m", "--rw=randrw"];
        let words = [&words[..], &["--unified_rw_reporting=mixed", &form, &clones]].concat();
        let (own, imported) = both(&program, &words);
        let names = shared(&own, &imported, 1.0, |_, unit| match unit {
            // Tolerances are those of the normal format.
            Unit::Nanoseconds => (10.0, 0.25),
            unit if unit.symbol().ends_with("/s") => (1.0, 0.1),
            _ => (0.01, 1e-3),
        });
        has(&names, &["a/mixed_mib_per_second", "a/mixed_operations_per_second"]);
        are_compared(&program);
    }
}

#[test]
fn bonnie_compares_with_its_own_output() {
    let program = in_place();
    let words = ["bonnie++", "-d", "w", "-s", "0", "-n", "64", "-m", "me", "-u", "root"];
    let words = if treering_testkit::is_root() { &words[..] } else { &words[..9] };
    let (own, imported) = both(&program, words);
    let names = shared(&own, &imported, 1.0, |_, unit| match unit {
        Unit::FilesPerSecond | Unit::Percent => (1.0, 0.0),
        Unit::MibPerSecond => (0.001, 0.0),
        // Values are whole microseconds, or milliseconds from 100 ms on.
        _ => (1000.0, 0.01),
    });
    has(&names, &["sequential create/latency_ns_max"]);
    if !names.iter().any(|name| name.ends_with("/files_per_second")) {
        skip("every test of bonnie++ took less than half a second, and printed no rate");
        return;
    }
    are_compared(&program);
}

#[test]
fn dbench_compares_with_its_own_output() {
    let program = in_place();
    program.run(["dbench", "generate", "--blocks", "50", "-o", "load.txt"]).ends_with(0);
    let words = ["dbench", "-c", "load.txt", "-D", "w", "-t", "3", "2"];
    let (own, imported) = both(&program, &words);
    let elapsed = |trial: &Trial| {
        let is_it = |m: &&treering_model::Metric| m.name == "elapsed_seconds";
        trial.metrics.iter().find(is_it).map(|metric| metric.value)
    };
    // The log has whole seconds, without the delay of the last reading of the clock.
    let by_time = elapsed(&own).unwrap() / elapsed(&imported).unwrap();
    let names = shared(&own, &imported, by_time, |name, unit| match (name, unit) {
        ("elapsed_seconds", _) => (5.0, 0.0),
        // The rate has six digits.
        ("throughput_mib_per_second", _) => (0.0, 1e-5),
        (_, Unit::Nanoseconds) => (501.0, 0.0),
        // The value is computed from means in whole microseconds.
        ("flush_time_percent", _) => (5.0, 0.0),
        _ => (0.0, 1e-9),
    });
    has(&names, &["operations_per_second", "operations", "ReadX/calls", "ReadX/latency_ns_mean"]);
    has(&names, &["ReadX/operations_per_second", "ReadX/latency_ns_max"]);
    has(&names, &["throughput_mib_per_second"]);
    are_compared(&program);
}

#[test]
fn blogbench_compares_with_its_own_output() {
    let program = in_place();
    let words = ["blogbench", "-d", "w", "-i", "2", "-s", "1", "-w", "1", "-W", "1", "-c", "1"];
    let (own, imported) = both(&program, &[&words[..], &["-r", "2"]].concat());
    let value = |trial: &Trial, name: &str| {
        trial.metrics.iter().find(|metric| metric.name == name).unwrap().value
    };
    // The log has the requested length, but the sleep takes longer.
    let seconds = value(&own, "read_score") / value(&own, "read_score_per_second");
    let names = shared(&own, &imported, seconds / 2.0, |_, _| (0.0, 1e-9));
    has(&names, &["write_score", "read_score", "write_score_per_second", "read_score_per_second"]);
    has(&names, &["write article/files_per_second"]);
    are_compared(&program);
}

/// Script in which two threads create, read and delete files.
const MODEL: &str = "set $dir=w\n\
    define fileset name=set,path=$dir,entries=500,size=5000,dirwidth=10,prealloc=50\n\
    define process name=p { thread name=t,memsize=10m,instances=2 {\n\
    flowop deletefile name=del,filesetname=set\n\
    flowop createfile name=make,filesetname=set,fd=1\n\
    flowop appendfilerand name=append,fd=1,iosize=8k\n\
    flowop closefile name=close1,fd=1\n\
    flowop openfile name=open,filesetname=set,fd=1\n\
    flowop readwholefile name=read,fd=1,iosize=1m\n\
    flowop closefile name=close2,fd=1\n} }\nrun 2\n";

#[test]
fn filebench_compares_with_its_own_output() {
    let program = in_place();
    fs::write(program.home().join("w.f"), MODEL).unwrap();
    let (own, imported) = both(&program, &["filebench", "-f", "w.f"]);
    let names = shared(&own, &imported, 1.0, |_, unit| match unit {
        // Values are whole microseconds.
        Unit::Nanoseconds => (501.0, 0.0),
        Unit::MibPerSecond => (0.051, 0.0),
        _ => (1.0, 1e-3),
    });
    has(&names, &["operations_per_second", "reads_per_second", "mib_per_second", "operations"]);
    has(&names, &["latency_mean_nanoseconds", "elapsed_seconds", "read/calls"]);
    has(&names, &["read/operations_per_second", "read/mib_per_second"]);
    has(&names, &["read/latency_mean_nanoseconds", "read/latency_max_nanoseconds"]);
    are_compared(&program);
}

//! Open-loop loads, and the search for the highest rate that meets a latency bound. Tests assert no
//! times: the bounds are far below or far above the latencies of any machine.

use std::fs;
use std::path::Path;

use serde_json::Value;
use treering_testkit::{
    FinishedCommand, Program, require_loop_fs, require_root, require_tool, temp_dir_in,
};

use crate::played::{Here, attached, can_play, quick_disk};
use crate::program;

const READS: &str = "[reads]\nrw=randread\nbs=4k\nsize=8m\niodepth=4\n";

/// Runs a search on a job in a directory; the store is on a memory filesystem, which is not
/// measured.
fn search(
    program: &Program,
    store: &Path,
    job: &str,
    dir: &str,
    words: &[&str],
) -> FinishedCommand {
    fs::write(program.home().join("j.fio"), job).unwrap();
    let load = ["load", "--minutes", "1", "--warm-up", "0.1", "--duration", "0.3"];
    let fio = ["fio", "--dir", dir, "j.fio", "--store", store.to_str().unwrap()];
    program.run(load.iter().chain(words).chain(&["--format", "json"]).chain(&fio))
}

fn json(ran: &FinishedCommand) -> Value {
    serde_json::from_str(&ran.stdout).unwrap_or_else(|error| panic!("{error}: {ran}"))
}

#[test]
fn a_loose_latency_bound_is_met_at_the_highest_rate() {
    let program = program();
    let results = temp_dir_in(Path::new("/dev/shm"));
    let store = results.path().join("r.treering");
    fs::create_dir(program.home().join("d")).unwrap();
    let words = ["--p50", "1000s", "--min-rate", "40", "--max-rate", "80"];
    let ran = search(&program, &store, READS, "d", &words).ends_with(0);
    let document = json(&ran);
    assert_eq!(document["answer"], "above_highest", "{ran}");
    let probes = document["probes"].as_array().unwrap();
    assert!(probes.iter().all(|probe| probe["is_kept"] == true), "{ran}");
    assert_eq!(probes.last().unwrap()["operations_per_second"], 80);
    let left: Vec<_> = fs::read_dir(program.home().join("d")).unwrap().collect();
    assert!(left.is_empty(), "{left:?}");
    let list = program.run(["list", "--format", "json", "--store", store.to_str().unwrap()]);
    let trials = json(&list.ends_with(0))["trials"].as_array().unwrap().len();
    assert_eq!(trials, probes.len(), "each probe is a trial");
}

#[test]
fn an_impossible_latency_bound_is_missed_at_the_lowest_rate() {
    let program = program();
    let results = temp_dir_in(Path::new("/dev/shm"));
    let store = results.path().join("r.treering");
    fs::create_dir(program.home().join("d")).unwrap();
    let job = "[log]\nrw=write\nbs=4k\nsize=4m\nfsync=1\n";
    let words = ["--p99", "1us", "--min-rate", "2000"];
    let ran = search(&program, &store, job, "d", &words).ends_with(5);
    let document = json(&ran);
    assert_eq!(document["answer"], "below_lowest", "{ran}");
    assert_eq!(document["idle"]["operations_per_second"], 20, "{ran}");
    assert!(document["idle"]["p50_ns"].as_u64().unwrap() > 1000, "{ran}");
}

#[test]
fn latency_counts_from_the_due_time_of_requests() {
    let program = program();
    fs::create_dir(program.home().join("d")).unwrap();
    fs::write(program.home().join("j.fio"), READS).unwrap();
    let words = ["run", "fio", "j.fio", "--dir", "d", "--quiet", "--offered-rate", "200"];
    let clock = ["--arrivals", "fixed", "--offered-seconds", "1", "--warm-up", "0.1"];
    let late = ["--grace", "600", "--late", "1us,1h"];
    program.run(words.iter().chain(&clock).chain(&late)).ends_with(0);
    let shown = json(&program.run(["show", "last", "--format", "json"]).ends_with(0));
    let value = |name: &str| {
        let all_metrics = shown["metrics"].as_array().unwrap();
        all_metrics.iter().find(|one| one["name"] == name).map(|one| one["value"].as_f64().unwrap())
    };
    // The last arrival is at the end of the run, or just before it.
    let due = value("due_operations").unwrap();
    assert!((199.0..=200.0).contains(&due), "{due}");
    assert_eq!(value("unfinished_operations"), Some(0.0), "the grace is long");
    assert_eq!((value("late_1us_percent"), value("late_1h_percent")), (Some(100.0), Some(0.0)));
    assert!(value("due_latency_p99_nanoseconds") >= value("due_latency_p50_nanoseconds"));
}

#[test]
fn jobs_with_their_own_rate_are_refused() {
    let program = program();
    fs::create_dir(program.home().join("d")).unwrap();
    let refused = |job: &str, words: &[&str], complaint: &str| {
        fs::write(program.home().join("j.fio"), job).unwrap();
        let words = ["run", "fio", "j.fio", "--dir", "d"].iter().chain(words);
        program.run(words).ends_with(2).complains(complaint);
    };
    let rate = ["--offered-rate", "10"];
    refused(&format!("{READS}thinktime=1ms\n"), &rate, "[reads]: thinktime");
    refused(&format!("{READS}[more]\nstonewall\nrw=read\nsize=1m\n"), &rate, "[more]: stonewall");
    refused(READS, &["--arrivals", "fixed"], "--arrivals goes with --offered-rate only");
    refused(READS, &["--offered-rate", "0"], "--offered-rate");
    refused(READS, &["--offered-rate", "9", "--late", "soon"], "--late: 'soon'");
    refused("[a]\nrw=read\nsize=1m\nnumjobs=500\niodepth=9\n", &rate, "more than 1024");
    let twice = ["load", "--p99", "5ms", "fio", "--dir", "d", "--offered-rate", "9", "j.fio"];
    program.run(twice).ends_with(2).complains("--offered-rate");
    program.run(["load", "fio", "--dir", "d", "j.fio"]).ends_with(2).complains("--p50");
    program.run(["load", "--p99", "5", "fio", "--dir", "d", "j.fio"]).ends_with(2);
}

#[test]
fn the_rate_of_a_played_disk_is_found() {
    require_root!();
    require_loop_fs!("ext4");
    require_tool!("mkfs.ext4");
    if !can_play() {
        return;
    }
    let program = program();
    let results = temp_dir_in(Path::new("/dev/shm"));
    let store = results.path().join("r.treering");
    let disk = quick_disk(&program);
    let (running, node) = attached(&program, disk.to_str().unwrap(), 128);
    FinishedCommand::run(std::process::Command::new("mkfs.ext4").args(["-q", &node])).ends_with(0);
    let mounted = Here::new(&program, &node);
    // A request takes half a millisecond: 100 requests per second are far below the capacity of the
    // disk, and 100000 far above.
    let job = "[reads]\nrw=randread\nbs=4k\nsize=64m\niodepth=8\ndirect=1\n";
    let words = ["--p50", "200ms", "--max-rate", "100k", "--precision", "50%"];
    let ran = search(&program, &store, job, mounted.path(), &words).ends_with(0);
    drop(mounted);
    running.send("INT");
    running.finish().ends_with(0);
    let document = json(&ran);
    assert_eq!(document["answer"], "found", "{ran}");
    let of = |name: &str| document[name].as_f64().unwrap();
    let rate = of("operations_per_second");
    assert!((100.0..20_000.0).contains(&rate), "{ran}");
    assert!(of("low_operations_per_second") <= rate && rate <= of("high_operations_per_second"));
    let id = document["trial"].as_str().unwrap();
    let shown = program.run(["show", id, "--format", "json", "--store", store.to_str().unwrap()]);
    let shown = json(&shown.ends_with(0));
    assert_eq!(shown["metrics"][0]["name"], "sustained_operations_per_second", "{shown}");
    assert!(shown["repeat"].as_str().unwrap().contains("load --p50 200ms"), "{shown}");
}

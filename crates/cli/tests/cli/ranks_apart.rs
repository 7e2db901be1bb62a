//! Workloads whose workers share the memory of a process: each rank runs the whole job, in its own
//! directory.

use std::fs;
use std::path::Path;
use std::process::Command;

use treering_model::{Ending, Metric, Op, OpTotals, Scope, Trial};
use treering_testkit::{FinishedCommand, temp_dir};

use crate::kernels::fact;
use crate::mpi::{Mpi, elsewhere, only};

const PROFILE: &str = "time=1\n[filesystem0]\nlocation=/files\nnum_files=20\nnum_dirs=2\n\
                       min_filesize=4096\nmax_filesize=4096\n[end0]\n[threadgroup0]\n\
                       num_threads=2\nread_weight=1\nread_size=4096\nread_blocksize=4096\n[end0]\n";
const PERSONALITY: &str = "define fileset name=set,path=/files,size=4k,entries=20,dirwidth=20,prealloc\n\
                           define process name=p {\n thread name=t,memsize=1m,instances=2 {\n  \
                           flowop openfile name=o,filesetname=set,fd=1\n  \
                           flowop readwholefile name=r,fd=1\n  flowop closefile name=c,fd=1\n \
                           }\n}\nrun 1\n";
const JOBS: &str = "[global]\nbs=4k\nsize=256k\n[write]\nrw=write\n[read]\nstonewall\nrw=randread\n\
                    numjobs=2\n";

/// Runs the command on `ranks` ranks, or without a launcher; returns the stored trial.
fn kept(mpi: &Mpi, ranks: Option<usize>, words: &[&str]) -> Trial {
    let (place, data) = (temp_dir(), elsewhere());
    let store = data.path().join("results.db");
    let mut command = ranks.map_or_else(|| Command::new(mpi.binary()), |ranks| mpi.ranks(ranks));
    mpi.program.prepare(&mut command);
    command.arg("run").args(words).arg("--quiet").arg("--dir").arg(place.path());
    let ran = FinishedCommand::run(command.arg("--store").arg(&store)).ends_with(0);
    let trial = only(&store);
    assert_eq!(trial.ending, Ending::Completed, "{ran}");
    assert_eq!(fs::read_dir(place.path()).unwrap().count(), 0, "{words:?}: nothing stays");
    trial
}

/// Work of each phase, multiplied by `times`: tasks, files, and the calls other than directory
/// reads and syncs.
fn work(trial: &Trial, times: u64) -> Vec<String> {
    let of_phase = trial.phases.iter().map(|phase| {
        let made = |op: &&OpTotals| !matches!(op.op, Op::ReadDir | Op::Sync);
        let ops = phase.ops.iter().filter(made);
        let ops: Vec<_> = ops.map(|op| (op.op, op.calls * times, op.bytes * times)).collect();
        let (tasks, files) = (u64::from(phase.tasks) * times, phase.files * times);
        format!("{}: {tasks} tasks, {files} files, {ops:?}", phase.name)
    });
    of_phase.collect()
}

#[test]
fn fixed_work_is_done_once_by_each_rank() {
    let Some(mpi) = Mpi::all().next() else { return };
    let place = temp_dir();
    let jobs = place.path().join("jobs.fio");
    fs::write(&jobs, JOBS).unwrap();
    let bonnie = ["bonnie++", "--size", "1M", "--files", "64", "--seeks", "100"];
    let compilebench =
        ["compilebench", "--initial-dirs", "2", "--runs", "4", "--dataset", "linux-6.1-small"];
    let fio = ["fio", jobs.to_str().unwrap()];
    for words in [&bonnie[..], &compilebench, &fio] {
        let (alone, of_two) = (kept(&mpi, None, words), kept(&mpi, Some(2), words));
        assert_eq!(work(&of_two, 1), work(&alone, 2), "{words:?}");
        assert_eq!(fact(&of_two, "ranks.directories"), Some("own"));
        assert_eq!(of_two.beginning.parameters, alone.beginning.parameters, "the same line");
        let rank = |number: usize| {
            let begins = format!("rank-{number}/");
            of_two.tasks.iter().filter(move |task| task.subject.starts_with(&begins))
        };
        assert_eq!(rank(0).count(), rank(1).count());
        assert_eq!(rank(0).count() + rank(1).count(), of_two.tasks.len());
        let primary = |trial: &Trial| -> Vec<_> {
            let metrics = trial.metrics.iter().filter(|metric| metric.primary);
            metrics.map(|metric| (metric.name.clone(), metric.scope.clone())).collect()
        };
        assert_eq!(primary(&of_two), primary(&alone), "{words:?}");
    }
}

#[test]
fn rates_include_all_ranks() {
    let Some(mpi) = Mpi::all().next() else { return };
    let place = temp_dir();
    let file = |name: &str, text: &str| {
        fs::write(place.path().join(name), text).unwrap();
        place.path().join(name).to_str().unwrap().to_owned()
    };
    let (profile, personality) = (file("p.ffsb", PROFILE), file("p.f", PERSONALITY));
    for words in [
        &["ffsb", &profile][..],
        &["filebench", &personality],
        &["dbench", "--clients", "2", "--time", "1", "--warmup", "0"],
    ] {
        let trial = kept(&mpi, Some(3), words);
        let metric = |name: &str| {
            let of_trial = |metric: &&Metric| metric.name == name && metric.scope == Scope::Trial;
            trial.metrics.iter().find(of_trial).unwrap_or_else(|| panic!("{words:?}: {name}"))
        };
        let (rate, all) = (metric("operations_per_second"), metric("operations"));
        assert_eq!(rate.tasks, 3 * 2, "{words:?}: two workers of each rank");
        let seconds = metric("elapsed_seconds").value;
        assert!((rate.value * seconds / all.value - 1.0).abs() < 1e-9, "{words:?}");
        // A single rank has read fewer bytes, but some.
        let of_rank = |number: usize| {
            let own = format!("rank-{number}/");
            let tasks = trial.tasks.iter().filter(|task| task.subject.starts_with(&own));
            tasks.map(|task| task.bytes).sum::<u64>()
        };
        assert!((0..3).all(|rank| of_rank(rank) > 0), "{words:?}");
    }
}

#[test]
fn blog_scores_include_all_ranks() {
    let Some(mpi) = Mpi::all().next() else { return };
    let trial = kept(&mpi, Some(2), &["blogbench", "--iterations", "2", "--sleep", "1"]);
    let named = |name: &str| trial.metrics.iter().find(|metric| metric.name == name);
    let written = named("write_score").expect("a score").value;
    let benchmark = trial.phases.iter().find(|phase| phase.name == "benchmark").unwrap();
    let made = benchmark.ops.iter().find(|op| op.op == Op::MakeDir).unwrap().calls;
    // The first file of each blog needs its directory.
    assert!(0.0 < written && written <= made as f64, "{written} {made}");
    let writers = trial.tasks.iter().filter(|task| task.kind == "writer").count();
    assert_eq!(writers, 2 * 3, "those of both");
    assert!(named("write_score_per_second_min").is_none(), "nobody saw the others' intervals");
}

#[test]
fn single_machine_jobs_are_refused_and_existing_files_kept() {
    let Some(mpi) = Mpi::all().next() else { return };
    let place = temp_dir();
    let jobs = place.path().join("jobs.fio");
    fs::write(&jobs, JOBS).unwrap();
    let refused = |dir: &Path, words: &[&str]| {
        let mut command = mpi.ranks(2);
        command.args(["run", words[0]]).args(&words[1..]).args(["--no-store", "--dir"]).arg(dir);
        let ran = FinishedCommand::run(&mut command);
        assert_ne!(ran.code, Some(0), "{ran}");
        ran
    };
    let (dir, jobs) = (place.path(), jobs.to_str().unwrap());
    refused(dir, &["fio", jobs, "--with-fio"]).complains("another program does the work");
    let offered =
        ["fio", jobs, "--section", "write", "--offered-rate", "100", "--offered-seconds", "1"];
    refused(dir, &offered).complains("one stream of requests");
    fs::create_dir(dir.join("rank-1")).unwrap();
    fs::write(dir.join("rank-1/mine"), "kept").unwrap();
    refused(dir, &["fio", jobs]).complains("rank-1 is there already");
    assert_eq!(fs::read_to_string(dir.join("rank-1/mine")).unwrap(), "kept");
}

//! Ranks started by mpirun, with Open MPI and with MPICH. These tests need the programs that
//! `scripts/setup.sh` builds if TREERING_MPI=1, and are skipped with a message otherwise.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use treering_model::metrics::times::{BARRIER_SECONDS, RANK_SKEW_PERCENT, START_SPREAD_SECONDS};
use treering_model::{CautionCode, Ending, Metric, RANKS_FACT, Scope, Trial};
use treering_testkit::{
    FinishedCommand, Program, RunningProgram, TempDir, is_tool, skip, temp_dir, temp_dir_in,
    wait_until,
};

use crate::kernels::{fact, trials};

/// An MPI library, and the program that is linked with it.
pub(crate) struct Mpi {
    pub(crate) name: &'static str,
    pub(crate) program: Program,
    binary: PathBuf,
}

impl Mpi {
    /// The program linked with this library, if there is one.
    pub(crate) fn of(name: &'static str) -> Option<Self> {
        let binary = Path::new(env!("CARGO_BIN_EXE_treering")).ancestors().nth(2).unwrap();
        let binary = binary.join(format!("mpi/treering-mpi.{name}"));
        if !binary.is_file() {
            skip(&format!("there is no treering-mpi for {name} (scripts/build-mpi.sh --tests)"));
            return None;
        }
        if !is_tool(&format!("mpirun.{name}")) {
            skip(&format!("mpirun.{name} is not installed"));
            return None;
        }
        Some(Self { name, program: Program::new(&binary), binary })
    }

    pub(crate) fn all() -> impl Iterator<Item = Self> {
        ["openmpi", "mpich"].into_iter().filter_map(Self::of)
    }

    /// Path of the program.
    pub(crate) fn binary(&self) -> &Path {
        &self.binary
    }

    /// Command of the launcher; the caller adds a program.
    pub(crate) fn launcher(&self) -> Command {
        let mut command = Command::new(format!("mpirun.{}", self.name));
        self.program.prepare(&mut command);
        if self.name == "openmpi" {
            command.args(["--allow-run-as-root", "--oversubscribe"]);
        }
        command
    }

    /// Command that starts this number of ranks; the caller adds arguments.
    pub(crate) fn ranks(&self, ranks: usize) -> Command {
        self.ranks_of(ranks, &self.binary)
    }

    /// Command that starts this number of ranks of a tool, through a link with its name in the home
    /// of the program; the caller adds arguments.
    pub(crate) fn tool(&self, ranks: usize, tool: &str) -> Command {
        let link = self.program.home().join(tool);
        if !link.exists() {
            symlink(&self.binary, &link).unwrap();
        }
        self.ranks_of(ranks, &link)
    }

    fn ranks_of(&self, ranks: usize, program: &Path) -> Command {
        let mut command = self.launcher();
        command.args(["-n", &ranks.to_string()]).arg(program);
        command
    }
}

/// Directory for a store, on another filesystem than those of [`temp_dir`].
pub(crate) fn elsewhere() -> TempDir {
    temp_dir_in(Path::new("/dev/shm"))
}

/// Adds the arguments of a run of fs_mark in a directory, with a store.
pub(crate) fn fs_mark(command: &mut Command, dir: &str, store: &Path, files: &str) {
    command.args(["run", "fs_mark", "--threads", "2", "--size", "4096", "--quiet", "--files"]);
    command.arg(files).args(["--dir", dir]).arg("--store").arg(store);
}

pub(crate) fn only(store: &Path) -> Trial {
    let mut all_trials = trials(store);
    assert_eq!(all_trials.len(), 1, "one trial, kept by rank 0");
    all_trials.remove(0)
}

/// Processes whose command line contains this text, with their ranks.
fn processes(text: &str) -> Vec<(u32, usize)> {
    let of = |entry: fs::DirEntry| {
        let id: u32 = entry.file_name().to_str()?.parse().ok()?;
        let words = fs::read(entry.path().join("cmdline")).ok()?;
        let words = String::from_utf8_lossy(&words).into_owned();
        let is_rank = words.contains(text) && words.split('\0').next()?.contains("treering-mpi");
        let surroundings = fs::read(entry.path().join("environ")).ok()?;
        let surroundings = String::from_utf8_lossy(&surroundings).into_owned();
        let rank = surroundings.split('\0').find_map(|one| {
            let (name, value) = one.split_once('=')?;
            ["OMPI_COMM_WORLD_RANK", "PMI_RANK"].contains(&name).then(|| value.parse().ok())?
        });
        is_rank.then(|| rank.map(|rank| (id, rank)))?
    };
    fs::read_dir("/proc").unwrap().flatten().filter_map(of).collect()
}

/// Sends a signal to a process.
#[track_caller]
fn signal(name: &str, process: u32) {
    let done = Command::new("kill").args(["-s", name, &process.to_string()]).status().unwrap();
    assert!(done.success());
}

#[test]
fn ranks_share_the_work_and_rank_0_keeps_one_trial() {
    for mpi in Mpi::all() {
        let place = temp_dir();
        let data = elsewhere();
        let store = data.path().join("results.db");
        let mut command = mpi.ranks(4);
        fs_mark(&mut command, place.path().to_str().unwrap(), &store, "50");
        let ran = FinishedCommand::run(&mut command).ends_with(0);
        let trial = only(&store);
        assert_eq!(trial.ending, Ending::Completed, "{ran}");
        let phase = trial.phases.iter().find(|phase| phase.tasks == 8).expect("8 workers");
        let create = treering_model::Op::Create;
        let made = phase.ops.iter().find(|op| op.op == create).unwrap();
        assert_eq!(made.calls, 8 * 50);
        assert!(made.latency.samples() > 0, "histograms of all ranks are merged");
        let threads = trial.beginning.parameters.iter().find(|(name, _)| name == "threads");
        assert_eq!(threads.map(|(_, value)| value.as_str()), Some("2"), "the same line repeats it");
        assert_eq!(fact(&trial, RANKS_FACT), Some("4"));
        assert_eq!(fact(&trial, "ranks.hosts"), Some("1"));
        let library = fact(&trial, "ranks.launched_by").unwrap();
        let name = if mpi.name == "openmpi" { "Open MPI" } else { "MPICH" };
        assert!(library.contains(name), "{library}");
        let varying = [RANK_SKEW_PERCENT, BARRIER_SECONDS, START_SPREAD_SECONDS];
        let scope = Scope::Phase(phase.name.clone());
        for metric in varying {
            let of = |one: &Metric| one.name == metric.name && one.scope == scope;
            assert!(trial.metrics.iter().any(of), "{}", metric.name);
        }
        assert!(fact(&trial, "ranks.slowest").is_some());
        assert_eq!(fs::read_dir(place.path()).unwrap().count(), 0, "nothing stays");
    }
}

#[test]
fn a_workload_that_cannot_be_distributed_is_refused_once() {
    for mpi in Mpi::all() {
        let place = temp_dir();
        let mut command = mpi.ranks(3);
        command.args(["run", "age", "--no-store", "--dir"]).arg(place.path());
        let ran = FinishedCommand::run(&mut command).complains("age cannot run on 3 ranks");
        assert_ne!(ran.code, Some(0), "{ran}");
        assert_eq!(ran.stderr.matches("cannot run on 3 ranks").count(), 1, "{ran}");
    }
}

#[test]
fn ranks_with_different_arguments_are_reported() {
    for mpi in Mpi::all() {
        let place = temp_dir();
        let mut command = mpi.launcher();
        for files in ["10", "11"] {
            command.args(if files == "11" { &[":"][..] } else { &[] });
            command.args(["-n", "1"]).arg(&mpi.binary).args(["run", "fs_mark", "--no-store"]);
            command.args(["--files", files, "--dir"]).arg(place.path());
        }
        let ran =
            FinishedCommand::run(&mut command).complains("it was asked for '11', rank 0 for '10'");
        assert!(ran.stderr.contains("rank 1 on "), "{ran}");
        assert_ne!(ran.code, Some(0), "{ran}");
    }
}

#[test]
fn a_launcher_of_another_mpi_is_refused() {
    let (Some(open), Some(mpich)) = (Mpi::of("openmpi"), Mpi::of("mpich")) else { return };
    let place = temp_dir();
    for (launcher, program) in [(&mpich, &open), (&open, &mpich)] {
        let mut command = launcher.launcher();
        command.args(["-n", "2"]).arg(&program.binary).args(["run", "fs_mark", "--no-store"]);
        let ran = FinishedCommand::run(command.args(["--files", "10", "--dir"]).arg(place.path()));
        let ran = ran.complains("the launcher says 2 processes");
        assert!(ran.stderr.contains("but MPI knows of one"), "{ran}");
        assert_eq!(fs::read_dir(place.path()).unwrap().count(), 0, "nothing was done");
    }
}

#[test]
fn ranks_on_different_filesystems_are_cautioned() {
    let Some(mpi) = Mpi::of("openmpi") else { return };
    let place = temp_dir();
    for rank in 0..2 {
        fs::create_dir_all(place.path().join(format!("c{rank}/fs_mark-0"))).unwrap();
    }
    fs::remove_dir(place.path().join("c0/fs_mark-0")).unwrap();
    let data = elsewhere();
    let store = data.path().join("results.db");
    let mut command = mpi.ranks(2);
    let dirs = place.path().join("c{rank}");
    fs_mark(&mut command, dirs.to_str().unwrap(), &store, "5");
    let ran = FinishedCommand::run(&mut command).ends_with(0);
    let trial = only(&store);
    let caution = trial.cautions.iter().find(|one| one.code == CautionCode::NotShared).unwrap();
    assert!(caution.message.starts_with("1 of 2 ranks do not see the files of rank 0"), "{ran}");
    let missing = place.path().join("d{rank}");
    fs::create_dir(place.path().join("d0")).unwrap();
    let mut command = mpi.ranks(2);
    fs_mark(&mut command, missing.to_str().unwrap(), &data.path().join("other.db"), "5");
    let ran = FinishedCommand::run(&mut command).complains("rank 1 on ");
    assert!(ran.stderr.contains("there is no directory"), "{ran}");
}

/// Starts a run that takes long enough to be disturbed; returns the run and its ranks.
fn long_run(mpi: &Mpi, place: &Path, store: &Path) -> (RunningProgram, Vec<(u32, usize)>) {
    let mut command = mpi.ranks(3);
    fs_mark(&mut command, place.to_str().unwrap(), store, "2000");
    command.args(["--iterations", "500", "--rank-timeout", "3"]);
    let running = RunningProgram::start(&mut command);
    let text = store.to_str().unwrap();
    wait_until("files are made", || place.join("fs_mark-0").exists());
    std::thread::sleep(Duration::from_secs(1));
    let ranks = processes(text);
    assert_eq!(ranks.len(), 3);
    (running, ranks)
}

#[test]
fn a_hanging_rank_is_reported_and_measurements_are_stored() {
    for mpi in Mpi::all() {
        let (place, data) = (temp_dir(), elsewhere());
        let store = data.path().join("results.db");
        let (running, ranks) = long_run(&mpi, place.path(), &store);
        let (hanging, _) = ranks.iter().find(|(_, rank)| *rank == 2).unwrap();
        signal("STOP", *hanging);
        let ran = running.finish().complains("rank 2 on ").complains("not a word for 3 s");
        assert_ne!(ran.code, Some(0), "{ran}");
        let trial = only(&store);
        let Ending::Failed { why } = &trial.ending else { panic!("{:?}", trial.ending) };
        assert!(why.starts_with("rank 2 on "), "{why}");
        wait_until("all ranks have ended", || processes(store.to_str().unwrap()).is_empty());
        assert_eq!(fs::read_dir(place.path()).unwrap().count(), 0, "nothing stays");
    }
}

#[test]
fn a_killed_rank_ends_the_run_and_the_store_stays_usable() {
    for mpi in Mpi::all() {
        let (place, data) = (temp_dir(), elsewhere());
        let store = data.path().join("results.db");
        let (running, ranks) = long_run(&mpi, place.path(), &store);
        let (killed, _) = ranks.iter().find(|(_, rank)| *rank == 1).unwrap();
        signal("KILL", *killed);
        let ran = running.finish();
        assert_ne!(ran.code, Some(0), "{ran}");
        wait_until("all ranks have ended", || processes(store.to_str().unwrap()).is_empty());
        let trial = only(&store);
        assert_ne!(trial.ending, Ending::Completed, "{ran}");
    }
}

#[test]
fn an_interrupted_launcher_ends_all_ranks() {
    for mpi in Mpi::all() {
        let (place, data) = (temp_dir(), elsewhere());
        let store = data.path().join("results.db");
        let (running, _) = long_run(&mpi, place.path(), &store);
        running.send("INT");
        // The exit code is the launcher's own: after Ctrl-C, that of MPICH may be 0.
        let ran = running.finish();
        wait_until("all ranks have ended", || processes(store.to_str().unwrap()).is_empty());
        let trial = only(&store);
        assert_ne!(trial.ending, Ending::Completed, "{ran}");
    }
}

//! Plans that start ranks, with Open MPI and with MPICH; requirements as in `mpi`.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use treering_model::{Ending, RANKS_FACT, Trial};
use treering_testkit::{FinishedCommand, Program, TempDir, temp_dir, temp_dir_in, wait_until};

use crate::kernels::{fact, trials};
use crate::mpi::Mpi;
use crate::program;

/// A plan in the home of a program, the directory under test, and the store on another filesystem.
struct Planned {
    program: Program,
    place: TempDir,
    data: TempDir,
    plan: PathBuf,
}

impl Planned {
    /// Writes a plan with the keys `top` above the variant and `jobs` below it.
    fn new(top: &str, jobs: &str) -> Self {
        let (program, place) = (program(), temp_dir());
        let data = temp_dir_in(Path::new("/dev/shm"));
        let plan = program.home().join("clients.toml");
        let dir = place.path().display();
        let text = format!(
            "warm-up = false\n{top}[[variant]]\nname = \"here\"\n\
             device = {{ directory = \"{dir}\" }}\n{jobs}"
        );
        fs::write(&plan, text).unwrap();
        Self { program, place, data, plan }
    }

    /// Writes a plan whose ranks this MPI launches.
    fn with(mpi: &Mpi, rounds: u32, jobs: &str) -> Self {
        Self::new(&format!("rounds = {rounds}\n{}", keys(mpi)), jobs)
    }

    fn store(&self) -> PathBuf {
        self.data.path().join("results.db")
    }

    fn words<'w>(&self, verb: &'w str, more: &[&'w str]) -> Vec<String> {
        let mut words = vec![verb.to_owned()];
        if verb == "compare" {
            words.push(self.plan.display().to_string());
        }
        words.extend(["--store".to_owned(), self.store().display().to_string()]);
        words.extend(more.iter().map(|&word| word.to_owned()));
        words
    }

    fn nothing_stays(&self) {
        assert_eq!(fs::read_dir(self.place.path()).unwrap().count(), 0, "nothing stays");
    }

    /// Process IDs of the running ranks of the plan.
    fn ranks(&self) -> Vec<u32> {
        let home = self.program.home().to_str().unwrap().to_owned();
        let of = |entry: fs::DirEntry| {
            let id: u32 = entry.file_name().to_str()?.parse().ok()?;
            let read = |name: &str| {
                let bytes = fs::read(entry.path().join(name)).ok()?;
                Some(String::from_utf8_lossy(&bytes).into_owned())
            };
            let words = read("cmdline")?;
            let is_rank = words.split('\0').next()?.contains("treering-mpi")
                && words.contains("--rank-of-a-plan");
            (is_rank && read("environ")?.contains(&home)).then_some(id)
        };
        fs::read_dir("/proc").unwrap().flatten().filter_map(of).collect()
    }
}

/// Plan keys that launch ranks with this MPI.
pub(crate) fn keys(mpi: &Mpi) -> String {
    let oversubscribe = if mpi.name == "openmpi" { " --oversubscribe" } else { "" };
    format!(
        "launcher = \"mpirun.{}{oversubscribe}\"\nmpi-program = \"{}\"\n",
        mpi.name,
        mpi.binary().display()
    )
}

const MAKE: &str = "[[job]]\nname = \"make\"\nworkload = \"fs_mark\"\n\
                    options = { threads = 2, files = 20, size = 4096 }\n";
/// Job that takes long enough to be disturbed.
const LONG: &str = "[[job]]\nname = \"long\"\nworkload = \"fs_mark\"\nranks = 3\n\
                    options = { threads = 2, files = 2000, size = 4096, iterations = 500 }\n";

/// Job that each rank runs in full.
const APART: &str = "[[job]]\nname = \"apart\"\nworkload = \"bonnie++\"\nranks = 2\n\
                     options = { size = \"1M\", files = 16, seeks = 10 }\n";

#[track_caller]
fn job(trial: &Trial) -> &str {
    &trial.beginning.cell.as_ref().unwrap().job
}

#[test]
fn each_trial_of_a_sweep_over_ranks_is_one_launch() {
    for mpi in Mpi::all() {
        let planned = Planned::with(&mpi, 2, &format!("{MAKE}sweep = {{ ranks = [1, 3] }}\n"));
        let dry = planned.program.run(planned.words("compare", &["--dry-run"])).ends_with(0);
        let line = format!("-n 3 {} --rank-of-a-plan", mpi.binary().display());
        let of_three = dry.stdout.lines().find(|line| line.starts_with("make, ranks=3: started"));
        assert!(of_three.is_some_and(|words| words.ends_with(&line)), "{dry}");
        assert!(!planned.store().exists() && planned.ranks().is_empty());
        let ran = planned.program.run(planned.words("compare", &[])).ends_with(0);
        let all_trials = trials(&planned.store());
        assert_eq!(all_trials.len(), 4, "{ran}");
        for trial in &all_trials {
            assert_eq!(trial.ending, Ending::Completed, "{ran}");
            let ranks: u32 = job(trial).rsplit('=').next().unwrap().parse().unwrap();
            assert_eq!(fact(trial, RANKS_FACT), Some(ranks.to_string().as_str()));
            assert!(trial.phases.iter().any(|phase| phase.tasks == 2 * ranks), "workers of all");
            let threads = trial.beginning.parameters.iter().find(|(name, _)| name == "threads");
            assert_eq!(threads.map(|(_, value)| value.as_str()), Some("2"));
            let launched = fact(trial, "ranks.launcher").unwrap();
            assert!(launched.ends_with(&format!(" -n {ranks}")), "{launched}");
            assert_eq!(fact(trial, "ranks.hosts"), Some("1"));
        }
        planned.nothing_stays();
        let page = planned.program.run(planned.words("sweep", &[])).ends_with(0).stdout;
        assert!(page.contains("3 ranks give ") && page.contains("there are 2."), "{page}");
        // All trials are complete, so nothing is run.
        planned.program.run(planned.words("compare", &["--resume"])).ends_with(0);
        assert_eq!(trials(&planned.store()).len(), 4);
    }
}

#[test]
fn a_failing_launcher_is_reported_before_the_first_round() {
    let Some(mpi) = Mpi::of("openmpi") else { return };
    let job = format!("{MAKE}ranks = 2\n");
    let binary = mpi.binary().display();
    let refused = |top: &str, words: &str| {
        let planned = Planned::new(&format!("rounds = 6\n{top}"), &job);
        let ran = planned.program.run(planned.words("compare", &[])).complains(words);
        assert_ne!(ran.code, Some(0), "{ran}");
        assert!(!planned.store().exists(), "no trial: {ran}");
        planned.nothing_stays();
    };
    refused("mpi-program = \"/nowhere/treering-mpi\"\n", "there is no program /nowhere");
    let named = format!("mpi-program = \"{binary}\"\n");
    refused(&format!("launcher = \"mpirum\"\n{named}"), "there is no launcher mpirum");
    refused(&format!("launcher = \"false\"\n{named}"), "2 ranks cannot be started: false ended");
    let own = format!("mpi-program = \"{}\"\n", env!("CARGO_BIN_EXE_treering"));
    refused(
        &format!("launcher = \"mpirun.openmpi --oversubscribe\"\n{own}"),
        "this treering is built without MPI",
    );
    if let Some(other) = Mpi::of("mpich") {
        let named = format!("mpi-program = \"{}\"\n", other.binary().display());
        refused(
            &format!("launcher = \"mpirun.openmpi --oversubscribe\"\n{named}"),
            "the launcher says 2 processes",
        );
    }
}

#[test]
fn the_program_for_ranks_is_configurable_and_a_script_can_launch_it() {
    let Some(mpi) = Mpi::of("mpich") else { return };
    let planned = Planned::new("rounds = 1\nlauncher = \"./launch two words\"\n", MAKE);
    let launch = planned.program.home().join("launch");
    let script =
        "#!/bin/sh\ntest \"$1 $2\" = 'two words' || exit 9\nshift 2\nexec mpirun.mpich \"$@\"\n";
    fs::write(&launch, script).unwrap();
    fs::set_permissions(&launch, fs::Permissions::from_mode(0o755)).unwrap();
    let with_ranks = fs::read_to_string(&planned.plan).unwrap() + "ranks = 2\n";
    fs::write(&planned.plan, with_ranks).unwrap();
    planned.program.run(planned.words("compare", &[])).complains("no treering-mpi for mpirun");
    let mut command = planned.program.command(planned.words("compare", &[]));
    let ran = FinishedCommand::run(command.env("TREERING_MPI_PROGRAM", mpi.binary()));
    ran.ends_with(0);
    assert_eq!(trials(&planned.store()).len(), 1);
}

/// Sends this signal to a rank of the long job of a plan; returns the plan, its output and its
/// trials.
fn disturbed(mpi: &Mpi, signal: &str) -> (Planned, FinishedCommand, Vec<Trial>) {
    let planned =
        Planned::with(mpi, 1, &format!("{LONG}rank-timeout = 4\n{MAKE}ranks = 2\n{APART}"));
    let running = planned.program.start(planned.words("compare", &["--quiet"]));
    let work = planned.place.path().join("treering-work");
    wait_until("the long job writes", || {
        work.join("fs_mark-0").exists() && planned.ranks().len() == 3
    });
    let last = planned.ranks().into_iter().max().unwrap();
    let sent = Command::new("kill").args(["-s", signal, &last.to_string()]).status();
    assert!(sent.unwrap().success());
    let ran = running.finish();
    wait_until("all ranks have ended", || planned.ranks().is_empty());
    let all_trials = trials(&planned.store());
    (planned, ran, all_trials)
}

#[test]
fn a_dead_or_hanging_rank_fails_only_its_trial() {
    for mpi in Mpi::all() {
        for (signal, why) in [("KILL", ""), ("STOP", "not a word for 4 s")] {
            let (planned, ran, all) = disturbed(&mpi, signal);
            let ending = |name: &str| &all.iter().find(|trial| job(trial) == name).unwrap().ending;
            assert!(matches!(ending("long"), Ending::Failed { .. }), "{ran}");
            assert_eq!(*ending("make"), Ending::Completed, "{ran}");
            assert_eq!(*ending("apart"), Ending::Completed, "{ran}");
            assert!(ran.stderr.contains("the trial failed: ") && ran.stderr.contains(why), "{ran}");
            planned.nothing_stays();
        }
    }
}

#[test]
fn an_interrupted_plan_ends_all_ranks() {
    for mpi in Mpi::all() {
        let planned = Planned::with(&mpi, 3, LONG);
        let running = planned.program.start(planned.words("compare", &["--quiet"]));
        let work = planned.place.path().join("treering-work");
        wait_until("the job writes", || {
            work.join("fs_mark-0").exists() && planned.ranks().len() == 3
        });
        running.send("INT");
        let ran = running.finish().ends_with(130);
        wait_until("all ranks have ended", || planned.ranks().is_empty());
        let all_trials = trials(&planned.store());
        assert_eq!((all_trials.len(), &all_trials[0].ending), (1, &Ending::Interrupted), "{ran}");
        planned.nothing_stays();
    }
}

#[test]
fn a_plan_cannot_run_on_several_ranks() {
    for mpi in Mpi::all() {
        let planned = Planned::with(&mpi, 1, &format!("{MAKE}ranks = 2\n"));
        let mut command = mpi.ranks(2);
        command.args(planned.words("compare", &[]));
        let ran = FinishedCommand::run(&mut command);
        let ran = ran.complains("a plan is conducted by one process, which starts the ranks");
        assert_ne!(ran.code, Some(0), "{ran}");
        assert!(!planned.store().exists(), "{ran}");
    }
}

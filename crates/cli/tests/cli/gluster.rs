//! Four clients of a GlusterFS volume, each in its own network namespace; a run while one of them
//! is cut off or the brick is full. With Open MPI; see `mpi`.

use std::fs;
use std::time::{Duration, Instant};

use treering_model::{CautionCode, Ending};
use treering_testkit::{
    FinishedCommand, GlusterClients, RunningProgram, cannot_gluster, fill, skip, temp_dir,
};

use crate::kernels::{fact, trials};
use crate::mpi::{Mpi, fs_mark, only};
use crate::program;
use crate::rank_plans::keys;

fn prepared() -> Option<Mpi> {
    let mpi = Mpi::of("openmpi")?;
    if let Some(why) = cannot_gluster() {
        skip(&why);
        return None;
    }
    Some(mpi)
}

#[test]
fn four_clients_of_one_filesystem() {
    let Some(mpi) = prepared() else { return };
    let (shared, data) = (GlusterClients::new(4, 600), temp_dir());
    let store = data.path().join("results.db");
    let mut command = mpi.ranks(4);
    fs_mark(&mut command, shared.pattern().to_str().unwrap(), &store, "25");
    let ran = FinishedCommand::run(&mut command).ends_with(0);
    let trial = only(&store);
    assert_eq!(trial.ending, Ending::Completed, "{ran}");
    assert!(trial.phases.iter().any(|phase| phase.tasks == 8), "{ran}");
    assert!(fact(&trial, "ranks.mount").unwrap().starts_with("fuse"), "{ran}");
    let codes = trial.cautions.iter().map(|caution| caution.code);
    assert!(!codes.into_iter().any(|code| code == CautionCode::NotShared), "{ran}");
    let left = fs::read_dir(&shared.clients()[3]).unwrap().flatten().map(|one| one.file_name());
    let left: Vec<_> = left.filter(|name| !name.to_string_lossy().starts_with(".gl")).collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn a_plan_runs_on_all_clients_each_in_its_mount() {
    let Some(mpi) = prepared() else { return };
    let (shared, data) = (GlusterClients::new(3, 600), temp_dir());
    let (plan, store) = (data.path().join("shared.toml"), data.path().join("results.db"));
    let text = format!(
        "rounds = 1\nwarm-up = false\n{}[[variant]]\nname = \"gluster\"\n\
         device = {{ directory = \"{}\" }}\n[[job]]\nworkload = \"fs_mark\"\n\
         options = {{ threads = 2, files = 20 }}\nsweep = {{ ranks = [1, 3] }}\n",
        keys(&mpi),
        shared.pattern().display()
    );
    fs::write(&plan, text).unwrap();
    let program = program();
    let mut command = program.command(["compare", "--quiet", "--store"]);
    let ran = FinishedCommand::run(command.arg(&store).arg(&plan)).ends_with(0);
    let all_trials = trials(&store);
    assert_eq!(all_trials.len(), 2, "{ran}");
    for trial in &all_trials {
        assert_eq!(trial.ending, Ending::Completed, "{ran}");
        assert!(fact(trial, "ranks.mount").unwrap().starts_with("fuse"), "{ran}");
        let codes = trial.cautions.iter().map(|caution| caution.code);
        assert!(!codes.into_iter().any(|code| code == CautionCode::NotShared), "{ran}");
    }
    let left = fs::read_dir(&shared.clients()[2]).unwrap().flatten().map(|one| one.file_name());
    let left: Vec<_> = left.filter(|name| !name.to_string_lossy().starts_with(".gl")).collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn a_disconnected_client_ends_the_run_with_its_rank() {
    let Some(mpi) = prepared() else { return };
    let (shared, data) = (GlusterClients::new(4, 600), temp_dir());
    let store = data.path().join("results.db");
    let mut command = mpi.ranks(4);
    fs_mark(&mut command, shared.pattern().to_str().unwrap(), &store, "100");
    command.args(["--iterations", "1000", "--rank-timeout", "10"]);
    let running = RunningProgram::start(&mut command);
    wait_for_files(&shared);
    shared.set_link(2, false);
    let ran = running.finish();
    assert_ne!(ran.code, Some(0), "{ran}");
    let trial = only(&store);
    let Ending::Failed { why } = &trial.ending else { panic!("{:?}", trial.ending) };
    // Either the client reports the error, or its rank is lost.
    let is_named = why.contains("Transport endpoint is not connected") || why.contains("rank 2 on");
    assert!(is_named, "{why}");
}

#[test]
fn a_full_brick_ends_the_run_with_an_error() {
    let Some(mpi) = prepared() else { return };
    let (shared, data) = (GlusterClients::new(2, 400), temp_dir());
    let store = data.path().join("results.db");
    let mut command = mpi.ranks(2);
    fs_mark(&mut command, shared.pattern().to_str().unwrap(), &store, "100");
    command.args(["--iterations", "1000"]);
    let running = RunningProgram::start(&mut command);
    wait_for_files(&shared);
    let _filler = fill(&shared.brick().with_file_name("filler"));
    let ran = running.finish();
    assert_ne!(ran.code, Some(0), "{ran}");
    let trial = only(&store);
    let Ending::Failed { why } = &trial.ending else { panic!("{:?}", trial.ending) };
    assert!(why.contains("No space left on device"), "{why}");
    assert!(trial.phases.len() > 1, "what was measured before is kept");
}

/// Waits until a run has begun to write.
fn wait_for_files(shared: &GlusterClients) {
    let began = Instant::now();
    while fs::read_dir(shared.brick().join("fs_mark-0")).map_or(0, Iterator::count) < 300 {
        assert!(began.elapsed() < Duration::from_secs(120), "no files are made");
        std::thread::sleep(Duration::from_millis(50));
    }
}

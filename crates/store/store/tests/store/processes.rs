//! Several processes and one store: killed writers, and concurrent writers.
//!
//! The other processes run this test binary again, with their action in an environment variable.

use std::ffi::OsStr;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use treering_model::{Ending, TrialEvent, TrialId, TrialSink};
use treering_store::{Access, Filter, Store, TrialState, TrialSummary};

use crate::sample::{beginning, phase_began, phase_ended, record_one, task_ended};

/// Environment variables with the action of a child process, and its store.
const ACTION: &str = "TREERING_STORE_TEST_ACTION";
const STORE: &str = "TREERING_STORE_TEST_STORE";

/// Number of trials that each concurrent writer records.
const TRIALS: usize = 12;

#[expect(clippy::disallowed_methods, reason = "how a test talks to its child")]
fn reported(name: &str) -> Option<std::ffi::OsString> {
    std::env::var_os(name)
}

pub(crate) fn command(action: &str, store: &Path) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "processes::child_process_entry", "--nocapture"]);
    command.env(ACTION, action).env(STORE, store).stdout(Stdio::null()).stdin(Stdio::null());
    command
}

/// Entry point of child processes; does nothing in the parent.
#[test]
fn child_process_entry() {
    let (Some(action), Some(store)) = (reported(ACTION), reported(STORE)) else { return };
    let store = Path::new(&store);
    match action.to_str().unwrap() {
        "record for ever" => record_for_ever(store),
        "record trials" => {
            for start in 0..TRIALS {
                record_one(store, i64::try_from(start).unwrap());
            }
        }
        "be refused" => crate::refusal::assert_refused_for_another_user(store),
        "read as another user" => crate::side_files::read_as_another_user(store),
        other => panic!("cannot {other}"),
    }
}

fn record_for_ever(path: &Path) {
    let mut store = Store::open(path, Access::ReadWrite).unwrap();
    let mut recorder = store.recorder();
    recorder.accept(&TrialEvent::Began(beginning(TrialId::new()))).unwrap();
    for phase in 0.. {
        recorder.accept(&phase_began(phase)).unwrap();
        for task in 0..3 {
            recorder.accept(&task_ended(phase, task)).unwrap();
        }
        recorder.accept(&phase_ended(phase)).unwrap();
    }
}

fn only_trial(path: &Path) -> Option<TrialSummary> {
    Store::open(path, Access::ReadOnly).ok()?.trials(&Filter::default()).unwrap().pop()
}

fn wait_for_phases(path: &Path, child: &mut Child, phases: u64) -> TrialSummary {
    let began = Instant::now();
    loop {
        if let Some(summary) = only_trial(path)
            && summary.phases >= phases
        {
            return summary;
        }
        assert_eq!(child.try_wait().unwrap(), None, "the child ended by itself");
        assert!(began.elapsed() < Duration::from_secs(60), "the child does not come forward");
        thread::sleep(Duration::from_millis(2));
    }
}

#[test]
fn a_killed_writer_leaves_its_finished_phases() {
    for round in 0..8 {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("store.db");
        let mut child = command("record for ever", &path).spawn().unwrap();
        let seen = wait_for_phases(&path, &mut child, 3 + round % 3);
        assert_eq!(seen.state, TrialState::Running);
        thread::sleep(Duration::from_micros(700 * round));
        child.kill().unwrap();
        child.wait().unwrap();

        let left = only_trial(&path).unwrap();
        assert_eq!(left.state, TrialState::Ended(Ending::Interrupted));
        assert!(left.phases >= seen.phases);
        let mut store = Store::open(&path, Access::ReadWrite).unwrap();
        store.check().unwrap();
        let trial = store.load(left.trial).unwrap();
        assert_eq!((&trial.ending, trial.wall_ns), (&Ending::Interrupted, 0));
        let phases = trial.phases.iter().map(|phase| phase.phase);
        assert!(phases.eq(0..u32::try_from(left.phases).unwrap()));
        assert!(trial.tasks.len() >= 3 * trial.phases.len());

        // The store stays usable, the trial stays as it is.
        let mut recorder = store.recorder();
        recorder.accept(&TrialEvent::Began(beginning(TrialId::new()))).unwrap();
        drop(recorder);
        assert_eq!(store.load(left.trial).unwrap(), trial);
    }
}

#[test]
fn a_store_whose_creation_was_killed_opens() {
    for delay in 0..12 {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("store.db");
        let mut child = command("record for ever", &path).spawn().unwrap();
        let began = Instant::now();
        while !path.exists() && began.elapsed() < Duration::from_secs(60) {
            thread::yield_now();
        }
        thread::sleep(Duration::from_micros(150 * delay));
        child.kill().unwrap();
        child.wait().unwrap();
        let trial = record_one(&path, 5);
        let store = Store::open(&path, Access::ReadOnly).unwrap();
        store.check().unwrap();
        assert_eq!(store.load(trial).unwrap().phases.len(), 2);
    }
}

#[test]
fn writers_at_the_same_time_all_succeed() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("store.db");
    let mut children = (0..4)
        .map(|_| command("record trials", &path).stderr(Stdio::piped()).spawn().unwrap())
        .collect::<Vec<_>>();
    // A concurrent reader may only fail because the store does not exist yet.
    while children.iter_mut().any(|child| child.try_wait().unwrap().is_none()) {
        match Store::open(&path, Access::ReadOnly) {
            Ok(store) => drop(store.trials(&Filter::default()).unwrap()),
            Err(error) => {
                let text = error.to_string();
                assert!(text.starts_with("no store") || text.ends_with("is empty"), "{text}");
            }
        }
        thread::sleep(Duration::from_millis(1));
    }
    for child in children {
        let output = child.wait_with_output().unwrap();
        let words = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{words}");
    }
    let store = Store::open(&path, Access::ReadOnly).unwrap();
    store.check().unwrap();
    let trials = store.trials(&Filter::default()).unwrap();
    assert_eq!(trials.len(), 4 * TRIALS);
    assert!(trials.iter().all(|trial| trial.state == TrialState::Ended(Ending::Completed)));
    assert!(dir.path().read_dir().unwrap().all(|entry| {
        // Only the store and its side files remain; this process has it open.
        entry
            .unwrap()
            .file_name()
            .as_encoded_bytes()
            .starts_with(OsStr::new("store.db").as_encoded_bytes())
    }));
}

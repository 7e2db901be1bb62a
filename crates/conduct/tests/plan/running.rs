//! Plans run through the traits, on directories, with results in memory.

use std::cell::RefCell;
use std::fs;
use std::path::Path;

use treering_conduct::{
    Failure, FailureKind, Host, PlanEnd, PlanOptions, RecordedTrial, ResultStore, StoredCell,
    run_plan,
};
use treering_lab::Lab;
use treering_model::{Caution, Ending, SinkError, Trial, TrialBuilder, TrialEvent, TrialSink};
use treering_sys::StopFlag;

use crate::read_plan;

/// Store and host that keep trials and messages in memory.
#[derive(Default)]
struct Memory {
    trials: RefCell<Vec<Trial>>,
    messages: RefCell<Vec<String>>,
    /// True if the store accepts no more events.
    is_full: bool,
}

struct Builder(TrialBuilder);

impl TrialSink for Builder {
    fn accept(&mut self, event: &TrialEvent) -> Result<(), SinkError> {
        self.0.push(event).map_err(|error| SinkError::new("events are out of order", error))
    }
}

impl ResultStore for Memory {
    fn record(
        &self,
        trial: &RecordedTrial<'_>,
        run: &mut dyn FnMut(&mut dyn TrialSink, Option<Caution>),
    ) -> Result<(), Failure> {
        if self.is_full {
            return Err(Failure::new(FailureKind::Environment, "the store is full"));
        }
        // No trial of these tests works at the root, where a store may be.
        assert!(!trial.under_test.contains(&Path::new("/")));
        let mut builder = Builder(TrialBuilder::default());
        run(&mut builder, None);
        self.trials.borrow_mut().extend(builder.0.finish());
        Ok(())
    }

    fn cells(&self, _plan: &str, _resumes: bool) -> Result<Vec<StoredCell>, Failure> {
        let trials = self.trials.borrow();
        let stored = trials.iter().rev().map(|trial| StoredCell {
            trial: trial.beginning.trial,
            cell: trial.beginning.cell.clone().unwrap(),
            is_result: trial.ending == Ending::Completed,
            has_failed: matches!(trial.ending, Ending::Failed { .. }),
            is_excluded: false,
        });
        Ok(stored.collect())
    }
}

impl Host for Memory {
    fn say(&self, words: &str) {
        self.messages.borrow_mut().push(words.to_owned());
    }

    fn unix_ms(&self) -> i64 {
        1_000
    }
}

/// Runs two rounds on two directories; `resume` continues the last campaign.
fn run(memory: &Memory, home: &Path, resume: bool) -> Result<PlanEnd, Failure> {
    let jobs = "[[job]]\nworkload = \"fs_mark\"\noptions = { files = 4, size = 100 }\n";
    run_jobs(memory, home, resume, &format!("rounds = 2\nwarm-up = false\n@{jobs}"))
}

/// Runs a plan on two directories, whose variants are put in the place of `@`.
fn run_jobs(memory: &Memory, home: &Path, resume: bool, text: &str) -> Result<PlanEnd, Failure> {
    let mut variants = String::new();
    for name in ["a", "b"] {
        let directory = home.join(name);
        fs::create_dir_all(&directory).unwrap();
        variants += &format!(
            "[[variant]]\nname = \"{name}\"\ndevice = {{ directory = \"{}\" }}\n",
            directory.display()
        );
    }
    let plan = read_plan(&text.replacen('@', &variants, 1)).unwrap();
    let lab = Lab::open(&home.join("lab")).unwrap();
    let options =
        PlanOptions { resume, workloads: treering_registry::workloads(), ..PlanOptions::default() };
    run_plan(&plan, &options, (memory, memory), &lab, &StopFlag::new())
}

const GOOD_JOB: &str =
    "[[job]]\nname = \"good\"\nworkload = \"fs_mark\"\noptions = { files = 4, size = 100 }\n";

/// Job that fails in the directories named like this pattern of the shell.
fn failing_job(pattern: &str) -> String {
    let script = format!("case $PWD in {pattern}) echo broken >&2; exit 7;; esac; : > f");
    format!(
        "[[job]]\nname = \"bad\"\nworkload = \"command\"\n\
         options = {{ command = [\"sh\", \"-c\", '{script}'] }}\n"
    )
}

#[test]
fn a_job_that_fails_in_the_warm_up_of_every_variant_ends_the_plan() {
    let home = tempfile::tempdir().unwrap();
    let memory = Memory::default();
    let text = format!("rounds = 2\n@{GOOD_JOB}{}", failing_job("*"));
    let failure = run_jobs(&memory, home.path(), false, &text).unwrap_err();
    assert_eq!(failure.kind(), FailureKind::Trial);
    let message = failure.message();
    assert!(message.starts_with("the warm-up of bad failed in every variant"), "{message}");
    assert!(message.contains("exit code 7") && message.contains("broken"), "{message}");
    assert_eq!(memory.trials.borrow().len(), 4, "no round was run");
}

#[test]
fn a_job_that_fails_in_the_warm_up_of_one_variant_goes_on() {
    let home = tempfile::tempdir().unwrap();
    let memory = Memory::default();
    let text = format!("rounds = 2\n@{GOOD_JOB}{}", failing_job("*/b/*"));
    run_jobs(&memory, home.path(), false, &text).unwrap();
    assert!(memory.trials.borrow().len() > 8, "two rounds of two jobs on two variants");
}

#[test]
fn every_cell_of_a_plan_is_recorded_and_a_resumed_plan_runs_no_cell_twice() {
    let home = tempfile::tempdir().unwrap();
    let memory = Memory::default();
    let end = run(&memory, home.path(), false).unwrap();
    let recorded = memory.trials.borrow().clone();
    assert_eq!(end, PlanEnd::Done { campaign: Some(recorded[0].beginning.trial) });
    let mut cells: Vec<(u32, String)> = recorded
        .iter()
        .map(|trial| trial.beginning.cell.clone().unwrap())
        .map(|cell| (cell.round, cell.variant))
        .collect();
    cells.sort();
    let of = |round, name: &str| (round, name.to_owned());
    assert_eq!(cells, [of(1, "a"), of(1, "b"), of(2, "a"), of(2, "b")]);
    assert!(recorded.iter().all(|trial| trial.ending == Ending::Completed));
    assert!(recorded.iter().all(|trial| trial.beginning.started_unix_ms == 1_000));
    memory.messages.borrow_mut().clear();
    assert_eq!(run(&memory, home.path(), true).unwrap(), end);
    assert_eq!(memory.trials.borrow().len(), 4);
    let messages = memory.messages.borrow();
    assert!(messages[0].ends_with("4 of 4 trials are done"), "{messages:?}");
    assert!(messages[1].starts_with("all 2 rounds are complete"), "{messages:?}");
}

#[test]
fn a_store_that_refuses_a_trial_ends_the_plan_with_its_failure() {
    let home = tempfile::tempdir().unwrap();
    let memory = Memory { is_full: true, ..Memory::default() };
    let failure = run(&memory, home.path(), false).unwrap_err();
    assert_eq!(
        (failure.kind(), failure.message()),
        (FailureKind::Environment, "the store is full")
    );
}

//! Jobs of a plan that are compared with one another on each variant, steps on one filesystem, and
//! jobs that the warm-up makes longer.

use std::fs;
use std::path::Path;

use serde_json::Value;
use treering_model::{CellRole, Ending, Trial};
use treering_store::{Access, Filter, LoadDetail, Store};
use treering_testkit::{FinishedCommand, Program, TempDir, require_loop_fs, temp_dir_in};

use crate::program;

/// Program with directories for variants, and a directory in memory for the results.
struct Place {
    program: Program,
    results: TempDir,
}

impl Place {
    fn new() -> Self {
        Self { program: program(), results: temp_dir_in(Path::new("/dev/shm")) }
    }

    /// Creates a directory and returns a variant with this name and directory.
    fn variant(&self, name: &str) -> String {
        let directory = self.program.home().join(name);
        fs::create_dir(&directory).unwrap();
        let directory = directory.display();
        format!("[[variant]]\nname = \"{name}\"\ndevice = {{ directory = \"{directory}\" }}\n")
    }

    fn store(&self) -> String {
        self.results.path().join("results.treering").display().to_string()
    }

    fn compare(&self, plan: &str, more: &[&str]) -> FinishedCommand {
        fs::write(self.program.home().join("plan.toml"), plan).unwrap();
        let store = self.store();
        let words = ["compare", "plan.toml", "--store", &store, "--format", "json"];
        self.program.run(words.into_iter().chain(more.iter().copied()))
    }

    /// Trials, oldest first.
    fn trials(&self) -> Vec<Trial> {
        let store = Store::open(Path::new(&self.store()), Access::ReadOnly).unwrap();
        let summaries = store.trials(&Filter::default()).unwrap();
        let ids: Vec<_> = summaries.iter().rev().map(|one| one.trial).collect();
        store.load_many(&ids, LoadDetail::Headlines).unwrap()
    }
}

/// Contenders of a page with their baselines.
fn pairs(page: &Value) -> Vec<(&str, &str)> {
    let contenders = page["contenders"].as_array().unwrap().iter();
    contenders
        .map(|one| (one["name"].as_str().unwrap(), one["against"].as_str().unwrap()))
        .collect()
}

fn parameter<'t>(trial: &'t Trial, name: &str) -> &'t str {
    let parameters = trial.beginning.parameters.iter();
    parameters.clone().find(|(known, _)| known == name).map(|(_, value)| value.as_str()).unwrap()
}

fn role(trial: &Trial) -> CellRole {
    trial.beginning.cell.as_ref().unwrap().role
}

#[test]
fn compared_jobs_have_a_verdict_a_gate_and_a_reproducible_page() {
    let place = Place::new();
    let plan = format!(
        "name = \"jobs\"\nrounds = 6\nwarm-up = false\n{}\
         [[job]]\nname = \"few\"\nworkload = \"fs_mark\"\n\
         options = {{ files = 4, size = 10, sync-method = \"none\" }}\n\
         [[job]]\nname = \"many\"\nagainst = \"few\"\nworkload = \"fs_mark\"\n\
         options = {{ files = 400, size = 10, sync-method = \"none\" }}\n\
         [report]\nprimary = [\"elapsed_seconds\"]\n",
        place.variant("here")
    );
    let compared = place.compare(&plan, &[]).ends_with(0);
    assert!(!compared.stderr.contains("nothing to be compared"), "{compared}");
    let page: Value = serde_json::from_str(&compared.stdout).unwrap();
    assert_eq!(pairs(&page), [("many", "few")]);
    let primary: Vec<&Value> = page["comparisons"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|one| one["primary"] == true)
        .collect();
    assert_eq!(primary.len(), 1, "{page}");
    assert_eq!((&primary[0]["paired"], &primary[0]["pairs"]), (&true.into(), &6.into()));
    let codes: Vec<&str> = page["cautions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["code"].as_str().unwrap())
        .collect();
    assert!(codes.contains(&"unequal_work"), "{codes:?}");
    assert!(!codes.contains(&"parameters_differ"), "{codes:?}");
    let store = place.store();
    let again = ["report", "--store", &store, "--plan", "jobs", "--format", "json"];
    assert_eq!(place.program.run(again).ends_with(0).stdout, compared.stdout);
    // If jobs are named, the first of them is the baseline.
    let named = ["--baseline", "job:few", "--contender", "job:many"];
    let named = place.program.run(again.into_iter().chain(named)).ends_with(0).stdout;
    let page: Value = serde_json::from_str(&named).unwrap();
    assert_eq!(pairs(&page), [("many", "few")]);
}

#[test]
fn the_warm_up_sizes_a_job_for_all_variants_and_rounds() {
    let place = Place::new();
    let plan = format!(
        "name = \"sized\"\nrounds = 2\nphase-seconds = 1\n{}{}\
         [[job]]\nname = \"make\"\nworkload = \"fs_mark\"\n\
         options = {{ files = 5, size = 10, sync-method = \"none\" }}\n",
        place.variant("here"),
        place.variant("there")
    );
    let compared = place.compare(&plan, &[]).ends_with(0);
    assert!(compared.stderr.contains("make: 5 → "), "{compared}");
    assert!(
        compared.stderr.contains("so that the fastest variant's phase takes 1 s"),
        "{compared}"
    );
    let trials = place.trials();
    let (warm_ups, measured): (Vec<&Trial>, Vec<&Trial>) =
        trials.iter().partition(|trial| role(trial) == CellRole::WarmUp);
    assert_eq!((warm_ups.len(), measured.len()), (2, 4));
    assert!(warm_ups.iter().all(|trial| parameter(trial, "files") == "5"));
    let files: u64 = parameter(measured[0], "files").parse().unwrap();
    assert!(files > 5, "{files}");
    for trial in &measured {
        assert_eq!(trial.ending, Ending::Completed);
        assert_eq!(parameter(trial, "files"), files.to_string());
        let words = trial.fact("plan.sized").unwrap();
        assert!(words.starts_with("5 → "), "{words}");
    }
    // A continued campaign keeps its job sizes, and a plan without sizing keeps its own.
    let more = place.compare(&plan, &["--resume", "--rounds", "3"]).ends_with(0);
    assert!(more.stderr.contains("make: 5 → "), "{more}");
    let trials = place.trials();
    assert_eq!(trials.len(), 8);
    assert!(trials[6..].iter().all(|trial| parameter(trial, "files") == files.to_string()));
    let none = place.compare(&plan, &["--phase-seconds", "0", "--rounds", "1"]);
    assert!(!none.stderr.contains(" → "), "{none}");
}

/// Steps on a large directory: create, list, thin out, list again.
const STEPS: &str = "[[step]]\nname = \"make\"\nmeasure = false\n\
    command = \"mkdir d; cd d; seq 2000 | xargs touch\"\n\
    [[step]]\nname = \"before\"\ncommand = \"ls d > /dev/null\"\n\
    [[step]]\nname = \"fill\"\nworkload = \"fs_mark\"\nmeasure = false\n\
    options = { files = 5, size = 10, unlink = \"end\" }\n\
    [[step]]\nname = \"delete\"\nmeasure = false\n\
    command = \"test -d step-3; ls d | tail -n 1990 | sed s,^,d/, | xargs rm\"\n\
    [[step]]\nname = \"after\"\nagainst = \"before\"\ncommand = \"ls d > /dev/null\"\n";

#[test]
fn steps_run_in_order_on_one_filesystem_and_measured_ones_are_compared() {
    require_loop_fs!("ext4");
    let place = Place::new();
    let plan = format!(
        "name = \"steps\"\nrounds = 2\nwarm-up = false\n[device]\nloop = \"64MiB\"\n\
         [[variant]]\nfilesystem = \"ext4\"\n{STEPS}"
    );
    let compared = place.compare(&plan, &[]).ends_with(0);
    let page: Value = serde_json::from_str(&compared.stdout).unwrap();
    assert_eq!(pairs(&page), [("after", "before")], "{compared}");
    let trials = place.trials();
    let job = |trial: &Trial| trial.beginning.cell.as_ref().unwrap().job.clone();
    let order: Vec<String> = trials.iter().map(job).collect();
    let once = ["make", "before", "fill", "delete", "after"];
    assert_eq!(order, [once, once].concat());
    let roles: Vec<CellRole> = trials.iter().take(5).map(role).collect();
    use CellRole::{Preparation, Round};
    assert_eq!(roles, [Preparation, Round, Preparation, Preparation, Round]);
    assert!(trials.iter().all(|trial| trial.ending == Ending::Completed), "{compared}");
    let steps: Vec<&str> =
        trials[..5].iter().map(|trial| trial.fact("plan.step").unwrap()).collect();
    assert_eq!(steps, ["1", "2", "3", "4", "5"]);
    assert_eq!(trials[0].fact("filesystem.uuid"), trials[4].fact("filesystem.uuid"));
}

#[test]
fn steps_after_a_failed_one_do_not_run() {
    require_loop_fs!("ext4");
    let place = Place::new();
    let steps = STEPS.replace("mkdir d;", "false;").replace("cd d; seq", "cd none && seq");
    let plan = format!(
        "rounds = 1\nwarm-up = false\n[device]\nloop = \"64MiB\"\n\
         [[variant]]\nfilesystem = \"ext4\"\n{steps}"
    );
    let compared = place.compare(&plan, &["--quiet"]);
    let trials = place.trials();
    assert_eq!(trials.len(), 5, "{compared}");
    let why = |trial: &Trial| match &trial.ending {
        Ending::Failed { why } => why.clone(),
        other => panic!("{other:?}"),
    };
    assert!(!why(&trials[0]).contains("an earlier step"));
    assert!(trials[1..].iter().all(|trial| why(trial) == "an earlier step was not completed"));
}

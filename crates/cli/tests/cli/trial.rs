//! Stored contents of a trial, from `treering export` and from the store; and the trees that must
//! exist after its tasks.

use std::collections::BTreeMap;
use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde_json::Value;
use treering_model::{CautionCode, Ending, Op, Scope, Trial};
use treering_store::{Access, Store};
use treering_testkit::{FileSizes, Program};

/// Newest trial of the default store, as exported; asserts that the store holds the same.
pub(crate) fn last(program: &Program) -> Trial {
    let text = program.run(["export", "last", "--format", "json"]).ends_with(0).stdout;
    let mut document: Value = serde_json::from_str(&text).unwrap();
    let exported: Trial = serde_json::from_value(document["trials"][0].take()).unwrap();
    let store = Store::open(program.data().join("results.treering"), Access::ReadOnly).unwrap();
    store.check().unwrap();
    assert_eq!(exported, store.load(store.find("last").unwrap()).unwrap());
    exported
}

/// Value of a metric of one kind of task, if the trial has it.
pub(crate) fn metric(trial: &Trial, kind: &str, name: &str) -> Option<f64> {
    let scope = Scope::Kind(kind.to_owned());
    let matching = trial.metrics.iter().find(|metric| metric.name == name && metric.scope == scope);
    matching.map(|metric| metric.value)
}

/// Command line that repeats the newest trial, from `treering show`.
pub(crate) fn again(program: &Program) -> Vec<String> {
    let shown = program.run(["show", "last"]).ends_with(0).stdout;
    let (_, command) = shown.split_once("The same trial again:\n").unwrap();
    let mut words = command.split_whitespace().filter(|word| *word != "\\").map(str::to_owned);
    assert_eq!(words.next().as_deref(), Some("treering"));
    words.collect()
}

/// Waits until the store has a task of a trial that is still running.
pub(crate) fn wait_for_task(store: &Path, kind: &str, subject: &str) {
    let began = Instant::now();
    while began.elapsed() < Duration::from_secs(120) {
        let found = Store::open(store, Access::ReadOnly)
            .and_then(|store| store.load(store.find("last")?))
            .is_ok_and(|trial| tasks(&trial).contains(&(kind, subject)));
        if found {
            return;
        }
        sleep(Duration::from_millis(20));
    }
    panic!("{} never has {kind} {subject}", store.display());
}

/// Number of trials in the default store.
pub(crate) fn count(program: &Program) -> usize {
    let text = program.run(["list", "--format", "csv"]).ends_with(0).stdout;
    text.lines().filter(|line| line.starts_with("trials,")).count()
}

/// Cautions caused by concurrent tests and by the machine that runs the tests.
const OF_THE_MACHINE: [CautionCode; 12] = [
    CautionCode::Stolen,
    CautionCode::OtherLoad,
    CautionCode::Swapped,
    CautionCode::KernelWarning,
    CautionCode::DebugKernel,
    CautionCode::Governor,
    CautionCode::CgroupLimits,
    CautionCode::MemorySqueezed,
    CautionCode::CachesDroppedOutside,
    CautionCode::Throttled,
    CautionCode::NotQuiet,
    CautionCode::Misaligned,
];

/// Codes of a trial's cautions, except those about the machine.
pub(crate) fn cautions(trial: &Trial) -> Vec<&'static str> {
    let own = trial.cautions.iter().filter(|caution| !OF_THE_MACHINE.contains(&caution.code));
    own.map(|caution| caution.code.name()).collect()
}

/// Kind and subject of each finished task.
pub(crate) fn tasks(trial: &Trial) -> Vec<(&str, &str)> {
    trial.tasks.iter().map(|task| (task.kind.as_str(), task.subject.as_str())).collect()
}

/// Calls of one kind in the tasks of one kind.
pub(crate) fn calls(trial: &Trial, kind: &str, op: Op) -> u64 {
    let tasks = trial.tasks.iter().filter(|task| task.kind == kind);
    tasks.flat_map(|task| &task.ops).filter(|one| one.op == op).map(|one| one.calls).sum()
}

/// Error of a failed trial.
pub(crate) fn failure(trial: &Trial) -> &str {
    match &trial.ending {
        Ending::Failed { why } => why,
        other => panic!("the trial has not failed: {other:?}"),
    }
}

/// Trees that exist after a native trial's tasks, with the names of their states. Asserts that each
/// task found its tree in the state that the previous task left.
pub(crate) fn living(trial: &Trial) -> BTreeMap<&str, &'static str> {
    let mut trees: BTreeMap<&str, &'static str> = BTreeMap::new();
    for task in &trial.tasks {
        let tree = task.subject.as_str();
        if tree.starts_with("native-") {
            continue;
        }
        let after = match (task.kind.as_str(), trees.get(tree).copied()) {
            ("create" | "initial create", None) => "unpatched",
            ("patch", Some("unpatched")) => "patched",
            ("patch", Some("unpatched compiled")) => "patched compiled",
            ("compile", Some("unpatched")) => "unpatched compiled",
            ("compile", Some("patched")) => "patched compiled",
            ("clean", Some("unpatched compiled")) => "unpatched",
            ("clean", Some("patched compiled")) => "patched",
            ("read" | "stat" | "delete", Some(same)) => same,
            (kind, state) => panic!("{kind} of {tree}, which is {state:?}"),
        };
        let before = trees.get(tree).copied().unwrap_or("unpatched");
        assert_eq!(task.state, before, "the state noted at the start of {task:?}");
        if task.kind == "delete" {
            trees.remove(tree);
        } else {
            trees.insert(tree, after);
        }
    }
    trees
}

/// Sizes of the files of these trees, by path from the working directory.
pub(crate) fn standing<'a>(
    living: &BTreeMap<&str, &str>,
    files_of: impl Fn(&str) -> &'a FileSizes,
) -> FileSizes {
    let mut sizes = FileSizes::new();
    for (tree, state) in living {
        sizes.extend(files_of(state).iter().map(|(path, size)| (format!("{tree}/{path}"), *size)));
    }
    sizes
}

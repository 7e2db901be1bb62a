//! Golden stores of every released version: they must open and load forever.
//!
//! `cargo run -p treering-store --example golden_store -- FILE` creates one of the current version.
//! Files in `tests/golden` are added with each version and never changed.

use std::fs;
use std::path::{Path, PathBuf};

use tempfile::TempDir;
use treering_model::{Annotation, CautionCode, CellRole, Ending, Op, Scope, TrialEvent, Unit};
use treering_store::{Access, Filter, Store, Version};

use crate::sample::record_one;

const COMPLETED: &str = "01890a5d-ac96-774b-bcce-b302099a8057";
const FAILED: &str = "01890a5d-ac96-774b-bcce-b302099a8058";
/// Numbers of operations, metrics and cautions of versions 1.3 and 1.4.
const WORDS_1_3: [usize; 3] = [30, 9, 33];
const WORDS_1_4: [usize; 3] = [30, 9, 41];
const INTERRUPTED: &str = "01890a5e-0000-7000-8000-000000000000";

/// Copy of a golden store, opened to be read.
struct GoldenStore {
    dir: TempDir,
    path: PathBuf,
    store: Store,
}

impl GoldenStore {
    /// Opens a copy of the store of a minor version.
    fn new(minor: u32, bytes: &[u8]) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("store.db");
        fs::write(&path, bytes).unwrap();
        let store = Store::open(&path, Access::ReadOnly).unwrap();
        assert_eq!(store.version(), Version { major: 1, minor });
        Self { dir, path, store }
    }

    /// Asserts that the store is migrated, accepts trials of another store, and can be merged into
    /// one; `words` are its numbers of operations, metrics and cautions.
    fn assert_migrated_and_merged(self, words: [usize; 3]) {
        let Self { dir, path, store } = self;
        drop(store);
        let mut store = Store::open(&path, Access::ReadWrite).unwrap();
        assert_eq!(store.version(), Version::CURRENT);
        assert_contents(&store, words);
        let new = record_one(&dir.path().join("new.db"), 0);
        assert_eq!(store.absorb(dir.path().join("new.db")).unwrap(), 1);
        store.load(new).unwrap();
        let mut newer = Store::open(dir.path().join("newer.db"), Access::ReadWrite).unwrap();
        assert_eq!(newer.absorb(&path).unwrap(), 4);
        assert!(newer.load(COMPLETED.parse().unwrap()).is_ok());
    }
}

#[test]
fn version_1_0() {
    let golden = GoldenStore::new(0, include_bytes!("../golden/store-1.0.db"));
    let store = &golden.store;
    assert_contents(store, [15, 9, 29]);
    golden.assert_migrated_and_merged([15, 9, 29]);
}

#[test]
fn version_1_1() {
    let golden = GoldenStore::new(1, include_bytes!("../golden/store-1.1.db"));
    let store = &golden.store;
    assert_contents(store, [30, 9, 32]);
    let trial = store.load(COMPLETED.parse().unwrap()).unwrap();
    let phases: Vec<Option<u32>> = trial.artifacts.iter().map(|made| made.phase).collect();
    assert_eq!(phases, [Some(0), Some(1), None]);
    let artifact = &trial.artifacts[0];
    assert_eq!((&*artifact.kind, artifact.version, &*artifact.name), ("layout", 1, "free space"));
    assert_eq!(artifact.body, "{\"extents\":[1,2,3]}");
    golden.assert_migrated_and_merged([30, 9, 32]);
}

#[test]
fn version_1_2() {
    let golden = GoldenStore::new(2, include_bytes!("../golden/store-1.2.db"));
    let store = &golden.store;
    assert_contents(store, [30, 9, 33]);
    let completed = store.load(COMPLETED.parse().unwrap()).unwrap();
    assert_eq!((completed.annotations.len(), completed.exclusion()), (2, None));
    let failed = store.load(FAILED.parse().unwrap()).unwrap();
    assert_eq!(failed.beginning.label, "another label");
    let times: Vec<i64> =
        failed.annotations.iter().map(|annotation| annotation.at_unix_ms).collect();
    assert_eq!(times, [1_688_126_050_000, 1_688_126_051_000]);
    assert_eq!(failed.exclusion(), Some("the disk was full"));
    golden.assert_migrated_and_merged([30, 9, 33]);
}

#[test]
fn version_1_3() {
    let golden = GoldenStore::new(3, include_bytes!("../golden/store-1.3.db"));
    let store = &golden.store;
    assert_contents(store, WORDS_1_3);
    let trial = store.load(COMPLETED.parse().unwrap()).unwrap();
    assert_eq!(trial.tasks[3].counters.json(), "{\"files\":1}");
    let events = store.events(COMPLETED.parse().unwrap()).unwrap();
    let ticks = events.iter().filter_map(|event| match event {
        TrialEvent::Ticked { phase, at_ns, counters } => Some((*phase, *at_ns, counters.json())),
        _ => None,
    });
    assert_eq!(ticks.collect::<Vec<_>>(), [(1, 7, "{\"files\":5}")]);
    golden.assert_migrated_and_merged(WORDS_1_3);
}

#[test]
fn version_1_4() {
    let golden = GoldenStore::new(4, include_bytes!("../golden/store-1.4.db"));
    let store = &golden.store;
    assert_contents(store, WORDS_1_4);
    let trial = store.load(COMPLETED.parse().unwrap()).unwrap();
    let known = Annotation::acknowledgements(&trial.annotations);
    let known: Vec<_> = known.iter().map(|change| (&*change.metric, &*change.reason)).collect();
    assert_eq!(known, [("create/files_per_second", "compiler 14")]);
    assert_eq!(trial.annotations.len(), 5);
    golden.assert_migrated_and_merged(WORDS_1_4);
}

#[test]
fn every_minor_version_has_a_golden_store() {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    for minor in 0..=Version::CURRENT.minor {
        let version = Version { minor, ..Version::CURRENT };
        assert!(golden.join(format!("store-{version}.db")).is_file(), "{version}");
    }
}

/// Asserts the contents of the store; `words` are its numbers of operations, metrics and cautions.
fn assert_contents(store: &Store, words: [usize; 3]) {
    store.check().unwrap();
    let trials = store.trials(&Filter::default()).unwrap();
    let states = trials.iter().map(|trial| (trial.trial.text(), trial.state.name()));
    assert!(
        states.eq([
            (INTERRUPTED.to_owned(), "interrupted"),
            (FAILED.to_owned(), "failed"),
            (COMPLETED.to_owned(), "completed"),
        ]),
        "{trials:?}"
    );
    assert_eq!(store.find("01890a5e").unwrap().text(), INTERRUPTED);

    let trial = store.load(COMPLETED.parse().unwrap()).unwrap();
    let beginning = &trial.beginning;
    assert_eq!(beginning.started_unix_ms, 1_688_126_041_238);
    assert_eq!((&*beginning.workload, beginning.mode.name()), ("compilebench", "native"));
    assert_eq!((&*beginning.label, &*beginning.target), ("a label", "/mnt/target"));
    let cell = beginning.cell.as_ref().unwrap();
    assert_eq!((&*cell.plan, &*cell.variant, cell.round), ("a plan", "xfs", 2));
    assert_eq!(cell.role, CellRole::Round);
    assert_eq!(trials[2].cell.as_ref(), Some(cell));
    assert_eq!(beginning.parameters[1], ("runs".into(), "30".into()));
    assert_eq!(trial.facts[0].value, "6.1.0");
    assert_eq!((trial.phases.len(), trial.tasks.len()), (2, 5));
    assert_eq!(trial.phases[1].intervals[1].second, 2);
    assert_eq!(trial.tasks[3].subject, "kernel-1");
    assert_eq!(trial.tasks[3].sync_cpu.system_ns, 2);
    let create = &trial.tasks[0].ops[0];
    assert_eq!((create.op, create.calls, create.errors), (Op::Create, 9, 1));
    assert_eq!((create.latency.samples(), create.latency.quantile_ns(0.5)), (5, 20_095));
    assert_eq!(trial.phases[0].ops[1].latency.samples(), 0);
    let metric = &trial.metrics[0];
    assert_eq!((metric.value, metric.unit), (123.5, Unit::MibPerSecond));
    assert_eq!(metric.scope, Scope::Kind("create".into()));
    assert_eq!(trial.cautions[0].code, CautionCode::MayNotFit);
    assert_eq!((trial.ending, trial.wall_ns), (Ending::Completed, 4_000_000_000));
    // One task, some metrics and some cautions use every word of that version.
    let counts = [trial.tasks[4].ops.len(), trial.metrics.len(), trial.cautions.len()];
    assert_eq!(counts, words);
    let failed = store.load(FAILED.parse().unwrap()).unwrap();
    assert_eq!(failed.ending.why(), "disk full");
}

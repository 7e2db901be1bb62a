//! Random settings of mdtest: the resulting tree is the requested one, in memory and on a real
//! disk, with threads and with processes.

#![expect(clippy::unwrap_used, reason = "a test ends at the first surprise")]

use std::collections::BTreeSet;

use proptest::prelude::{Just, ProptestConfig, Strategy, any, prop_oneof, proptest};
use treering_engine::oracle::TreeSnapshot;
use treering_engine::{
    EngineOptions, LatencyMode, MemoryFilesystem, PayloadKind, RunOptions, RunProgress,
    RunSessions, StopFlag, Target,
};
use treering_mdtest::Mdtest;
use treering_model::TaskTotals;
use treering_model::workloads::mdtest::ItemCounts;
use treering_script::{EntryKind, Job, Settings, TargetFacts, Workload};
use treering_testkit::temp_dir;

use treering_testkit::{TaskCollector, assert_decides_as_foreseen};

#[derive(Clone, Debug)]
struct RunRequest {
    per_dir: u64,
    depth: u32,
    branch: u64,
    leaf_only: bool,
    own_trees: bool,
    ranks: u16,
    shift: u64,
    iterations: u32,
    write_bytes: u32,
    is_random: bool,
    only: &'static str,
}

fn asked() -> impl Strategy<Value = RunRequest> {
    let tree = (1..5_u64, 0..3_u32, 1..4_u64, any::<bool>(), any::<bool>());
    let only = prop_oneof![Just("dirs"), Just("files"), Just("both")];
    let rest = (1..4_u16, 0..6_u64, 1..3_u32, prop_oneof![Just(0_u32), 1..9000_u32], any::<bool>());
    (tree, rest, only).prop_map(|(tree, rest, only)| RunRequest {
        per_dir: tree.0,
        depth: tree.1,
        branch: tree.2,
        leaf_only: tree.3,
        own_trees: tree.4,
        ranks: rest.0,
        shift: rest.1,
        iterations: rest.2,
        write_bytes: rest.3,
        is_random: rest.4,
        only,
    })
}

impl RunRequest {
    fn settings(words: &[(&str, String)], flags: &[(&str, bool)]) -> Settings {
        let set = flags.iter().filter(|(_, is_set)| *is_set);
        let set = set.map(|(name, _)| ((*name).to_owned(), "true".to_owned()));
        let given = words.iter().map(|(name, value)| ((*name).to_owned(), value.clone()));
        let mut settings = Settings::new(given.chain(set).collect());
        settings.started_unix_ms = 1_795_000_000_123;
        settings
    }

    fn native(&self, worker_kind: &str) -> Box<dyn Job> {
        let words = [
            ("items-per-dir", self.per_dir.to_string()),
            ("depth", self.depth.to_string()),
            ("branch", self.branch.to_string()),
            ("workers", self.ranks.to_string()),
            ("shift", self.shift.to_string()),
            ("iterations", self.iterations.to_string()),
            ("write-size", self.write_bytes.to_string()),
            ("order", if self.is_random { "random" } else { "sequential" }.to_owned()),
            ("only", self.only.to_owned()),
            ("worker-kind", worker_kind.to_owned()),
        ];
        let flags = [("leaf-only", self.leaf_only), ("own-trees", self.own_trees)];
        Mdtest.native(&Self::settings(&words, &flags)).unwrap()
    }

    fn classic(&self, removes: bool, worker_kind: &str) -> Box<dyn Job> {
        let words = [
            ("dir", "/m".to_owned()),
            ("worker-kind", worker_kind.to_owned()),
            ("items-per-dir", self.per_dir.to_string()),
            ("depth", self.depth.to_string()),
            ("branch", self.branch.to_string()),
            ("ranks", self.ranks.to_string()),
            ("shift", self.shift.to_string()),
            ("iterations", self.iterations.to_string()),
            ("write-bytes", self.write_bytes.to_string()),
            ("read-bytes", self.write_bytes.to_string()),
        ];
        let flags = [
            ("leaf-only", self.leaf_only),
            ("unique-dir", self.own_trees),
            ("random", self.is_random),
            ("verify-read", self.write_bytes > 0),
            ("only-create", true),
            ("only-stat", true),
            ("only-read", true),
            ("rename-dirs", true),
            ("only-remove", removes),
            ("only-dirs", self.only == "dirs"),
            ("only-files", self.only == "files"),
        ];
        Mdtest.classic(&Self::settings(&words, &flags)).unwrap()
    }

    /// Number of directories of a tree, and of those that hold items.
    fn directories(&self) -> (u64, u64) {
        let levels: Vec<u64> = (0..=self.depth).map(|level| self.branch.pow(level)).collect();
        let all = levels.iter().sum();
        (all, if self.leaf_only { *levels.last().unwrap() } else { all })
    }

    /// Items of each kind in an iteration.
    fn items(&self) -> u64 {
        self.per_dir * self.directories().1 * u64::from(self.ranks)
    }
}

fn perform<P: RunSessions + ?Sized>(job: &dyn Job, place: &P) -> Vec<TaskTotals> {
    let options = EngineOptions::new(LatencyMode::All, PayloadKind::Zeros, 1);
    let mut session = job.begin(&TargetFacts::unknown());
    let mut tasks = TaskCollector::default();
    let (progress, stop) = (RunProgress::new(), StopFlag::new());
    place.run(session.as_mut(), RunOptions::new(&options, &mut tasks, &progress, &stop)).unwrap();
    assert_decides_as_foreseen(job, &session.metrics());
    tasks.0
}

fn counts(tasks: &[TaskTotals], kind: &str) -> (u64, u64, u64) {
    let of = tasks.iter().filter(|task| task.kind == kind);
    let counts = of.filter_map(|task| task.counters.read::<ItemCounts>());
    counts.fold((0, 0, 0), |sum, one| (sum.0 + one.done, sum.1 + one.missed, sum.2 + one.wrong))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]

    #[test]
    fn native_runs_find_all_that_they_made_and_leave_nothing(asked in asked()) {
        let job = asked.native("threads");
        let memory = MemoryFilesystem::default();
        let tasks = perform(job.as_ref(), &memory);
        assert_eq!(memory.snapshot().entries.len(), 0);
        let all = asked.items() * u64::from(asked.iterations);
        for (kind, part) in [
            ("dir-create", "files"), ("dir-stat", "files"), ("dir-remove", "files"),
            ("file-create", "dirs"), ("file-stat", "dirs"), ("file-read", "dirs"),
            ("file-remove", "dirs"),
        ] {
            let wanted = if asked.only == part { 0 } else { all };
            assert_eq!(counts(&tasks, kind), (wanted, 0, 0), "{kind}");
        }
    }

    #[test]
    fn classic_runs_leave_what_was_asked_for(asked in asked()) {
        let memory = MemoryFilesystem::default();
        let tasks = perform(asked.classic(false, "threads").as_ref(), &memory);
        let real = temp_dir();
        perform(asked.classic(false, "threads").as_ref(), &Target::open(real.path()).unwrap());
        let snapshot = memory.snapshot();
        assert_eq!(snapshot, TreeSnapshot::from_directory(real.path()).unwrap());
        let of = |kind| snapshot.entries.iter().filter(move |(_, found, _)| *found == kind);
        let iterations = u64::from(asked.iterations);
        let files = if asked.only == "dirs" { 0 } else { asked.items() * iterations };
        assert_eq!(of(EntryKind::File).count() as u64, files);
        assert!(of(EntryKind::File).all(|(_, _, size)| *size == u64::from(asked.write_bytes)));
        let trees = if asked.own_trees { u64::from(asked.ranks) } else { 1 };
        let dirs = if asked.only == "files" { 0 } else { asked.items() };
        let standing = (1 + asked.directories().0 * trees + dirs) * iterations;
        assert_eq!(of(EntryKind::Directory).count() as u64, standing);
        for kind in ["dir-stat", "dir-rename", "file-stat"] {
            assert_eq!(counts(&tasks, kind).1, 0, "{kind}");
        }
        let peak = asked.classic(false, "threads").footprint(&TargetFacts::unknown());
        assert_eq!((peak.peak_files, peak.peak_dirs + iterations), (files, standing));
        // A run that only removes takes it all away.
        let mut given = asked.clone();
        given.iterations = 1;
        perform(given.classic(true, "threads").as_ref(), &MemoryFilesystem::default());
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 6, ..ProptestConfig::default() })]

    #[test]
    fn processes_read_back_what_they_wrote(asked in asked()) {
        let real = temp_dir();
        let job = asked.classic(true, "processes");
        let tasks = perform(job.as_ref(), &Target::open(real.path()).unwrap());
        assert_eq!(TreeSnapshot::from_directory(real.path()).unwrap().entries.len(), 0);
        assert_eq!(counts(&tasks, "file-read").2, 0);
        let kinds: BTreeSet<&str> = tasks.iter().map(|task| task.kind.as_str()).collect();
        assert!(kinds.contains("tree-remove"));
    }
}

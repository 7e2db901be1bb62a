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
use treering_mdtest::MdtestWorkload;
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

fn request() -> impl Strategy<Value = RunRequest> {
    let tree = (1..5_u64, 0..3_u32, 1..4_u64, any::<bool>(), any::<bool>());
    let only = prop_oneof![Just("dirs"), Just("files"), Just("both")];
    let tail = (1..4_u16, 0..6_u64, 1..3_u32, prop_oneof![Just(0_u32), 1..9000_u32], any::<bool>());
    (tree, tail, only).prop_map(|(tree, tail, only)| RunRequest {
        per_dir: tree.0,
        depth: tree.1,
        branch: tree.2,
        leaf_only: tree.3,
        own_trees: tree.4,
        ranks: tail.0,
        shift: tail.1,
        iterations: tail.2,
        write_bytes: tail.3,
        is_random: tail.4,
        only,
    })
}

impl RunRequest {
    fn settings(words: &[(&str, String)], flags: &[(&str, bool)]) -> Settings {
        let set = flags.iter().filter(|(_, is_set)| *is_set);
        let set = set.map(|(name, _)| ((*name).to_owned(), "true".to_owned()));
        let pairs = words.iter().map(|(name, value)| ((*name).to_owned(), value.clone()));
        let mut settings = Settings::new(pairs.chain(set).collect());
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
        MdtestWorkload.native(&Self::settings(&words, &flags)).unwrap()
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
        MdtestWorkload.classic(&Self::settings(&words, &flags)).unwrap()
    }

    /// Number of directories of a tree, and of those that hold items.
    fn directories(&self) -> (u64, u64) {
        let levels: Vec<u64> = (0..=self.depth).map(|level| self.branch.pow(level)).collect();
        let count = levels.iter().sum();
        (count, if self.leaf_only { *levels.last().unwrap() } else { count })
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
    counts.fold((0, 0, 0), |sum, counters| {
        (sum.0 + counters.done, sum.1 + counters.missed, sum.2 + counters.wrong)
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]

    #[test]
    fn native_runs_find_all_created_items_and_remove_them(request in request()) {
        let job = request.native("threads");
        let memory = MemoryFilesystem::default();
        let tasks = perform(job.as_ref(), &memory);
        assert_eq!(memory.snapshot().entries.len(), 0);
        let items = request.items() * u64::from(request.iterations);
        for (kind, part) in [
            ("dir-create", "files"), ("dir-stat", "files"), ("dir-remove", "files"),
            ("file-create", "dirs"), ("file-stat", "dirs"), ("file-read", "dirs"),
            ("file-remove", "dirs"),
        ] {
            let wanted = if request.only == part { 0 } else { items };
            assert_eq!(counts(&tasks, kind), (wanted, 0, 0), "{kind}");
        }
    }

    #[test]
    fn classic_runs_leave_the_requested_tree(request in request()) {
        let memory = MemoryFilesystem::default();
        let tasks = perform(request.classic(false, "threads").as_ref(), &memory);
        let real = temp_dir();
        perform(request.classic(false, "threads").as_ref(), &Target::open(real.path()).unwrap());
        let snapshot = memory.snapshot();
        assert_eq!(snapshot, TreeSnapshot::from_directory(real.path()).unwrap());
        let entries = snapshot.entries.iter();
        let of = |kind| entries.clone().filter(move |(_, entry_kind, _)| *entry_kind == kind);
        let iterations = u64::from(request.iterations);
        let files = if request.only == "dirs" { 0 } else { request.items() * iterations };
        assert_eq!(of(EntryKind::File).count() as u64, files);
        assert!(of(EntryKind::File).all(|(_, _, size)| *size == u64::from(request.write_bytes)));
        let trees = if request.own_trees { u64::from(request.ranks) } else { 1 };
        let dirs = if request.only == "files" { 0 } else { request.items() };
        let standing = (1 + request.directories().0 * trees + dirs) * iterations;
        assert_eq!(of(EntryKind::Directory).count() as u64, standing);
        for kind in ["dir-stat", "dir-rename", "file-stat"] {
            assert_eq!(counts(&tasks, kind).1, 0, "{kind}");
        }
        let peak = request.classic(false, "threads").footprint(&TargetFacts::unknown());
        assert_eq!((peak.peak_files, peak.peak_dirs + iterations), (files, standing));
        // A run that only removes takes it all away.
        let mut once = request.clone();
        once.iterations = 1;
        perform(once.classic(true, "threads").as_ref(), &MemoryFilesystem::default());
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 6, ..ProptestConfig::default() })]

    #[test]
    fn processes_read_back_written_data(request in request()) {
        let real = temp_dir();
        let job = request.classic(true, "processes");
        let tasks = perform(job.as_ref(), &Target::open(real.path()).unwrap());
        assert_eq!(TreeSnapshot::from_directory(real.path()).unwrap().entries.len(), 0);
        assert_eq!(counts(&tasks, "file-read").2, 0);
        let kinds: BTreeSet<&str> = tasks.iter().map(|task| task.kind.as_str()).collect();
        assert!(kinds.contains("tree-remove"));
    }
}

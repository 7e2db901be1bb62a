//! Random settings of fs_mark: the resulting tree is the requested one, in memory and on a real
//! disk, with threads and with processes; colliding names are found.

#![expect(clippy::unwrap_used, reason = "a test ends at the first surprise")]

use std::collections::BTreeMap;

use proptest::prelude::{Just, ProptestConfig, Strategy, any, prop_oneof, proptest};
use treering_engine::oracle::TreeSnapshot;
use treering_engine::{
    EngineOptions, LatencyMode, MemoryFilesystem, PayloadKind, RunOptions, RunProgress,
    RunSessions, StopFlag, Target,
};
use treering_fs_mark::FsMark;
use treering_model::{Caution, Metric, TaskTotals};
use treering_script::{EntryKind, Job, Settings, TargetFacts, Workload};
use treering_testkit::temp_dir;

use treering_testkit::{TaskCollector, assert_decides_as_foreseen};

#[derive(Clone, Debug)]
struct RunRequest {
    files: u32,
    bytes: u32,
    write_bytes: u32,
    workers: u16,
    roots: u16,
    subdirs: u32,
    per_subdir: Option<u32>,
    method: u8,
    iterations: u32,
    keep: bool,
    seed: u64,
}

fn request() -> impl Strategy<Value = RunRequest> {
    let write_bytes = prop_oneof![Just(1000), Just(4096), 500..20_000_u32];
    let sizes = (1..20_u32, 0..9000_u32, write_bytes);
    let common = (1..4_u16, 1..4_u16);
    let dirs = (prop_oneof![Just(0), 2..6_u32], proptest::option::of(1..5_u32));
    (sizes, common, dirs, 0..7_u8, 1..4_u32, any::<bool>(), any::<u64>()).prop_map(
        |(sizes, (times, roots), (subdirs, per_subdir), method, iterations, keep, seed)| {
            RunRequest {
                files: sizes.0,
                bytes: sizes.1,
                write_bytes: sizes.2,
                workers: times * roots,
                roots,
                subdirs,
                per_subdir: per_subdir.filter(|_| subdirs > 0),
                method,
                iterations,
                keep,
                seed,
            }
        },
    )
}

impl RunRequest {
    fn settings(&self, classic: bool, workers: &str) -> Settings {
        let mut options = vec![
            ("files", self.files.to_string()),
            ("size", self.bytes.to_string()),
            ("write-size", self.write_bytes.to_string()),
            ("threads", self.workers.to_string()),
            ("sync-method", self.method.to_string()),
            ("seed", self.seed.to_string()),
            ("workers", workers.to_owned()),
        ];
        if self.subdirs > 0 {
            options.push(("subdirs", self.subdirs.to_string()));
        }
        options.extend(self.per_subdir.map(|files| ("files-per-subdir", files.to_string())));
        if classic {
            (0..self.roots).for_each(|root| options.push(("dir", format!("/m/{root}"))));
            if self.keep {
                options.push(("iterations", self.iterations.to_string()));
            }
        } else {
            options.push(("dirs", self.roots.to_string()));
            options.push(("iterations", self.iterations.to_string()));
            options.push(("unlink", if self.keep { "end" } else { "each" }.to_owned()));
        }
        let options = options.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
        let mut settings = Settings::new(options);
        settings.started_unix_ms = 1_795_000_000_123;
        settings
    }

    /// Number of files left at the end.
    fn standing(&self) -> u64 {
        let total = u64::from(self.files) * u64::from(self.workers) * u64::from(self.iterations);
        if self.keep { total } else { 0 }
    }
}

struct RunOutcome {
    tasks: Vec<TaskTotals>,
    metrics: Vec<Metric>,
    cautions: Vec<Caution>,
    remains: Vec<String>,
}

fn perform<P: RunSessions + ?Sized>(job: &dyn Job, place: &P) -> RunOutcome {
    let options = EngineOptions::new(LatencyMode::All, PayloadKind::Zeros, 1);
    let mut session = job.begin(&TargetFacts::unknown());
    let mut tasks = TaskCollector::default();
    let (progress, stop) = (RunProgress::new(), StopFlag::new());
    place.run(session.as_mut(), RunOptions::new(&options, &mut tasks, &progress, &stop)).unwrap();
    assert_decides_as_foreseen(job, &session.metrics());
    RunOutcome {
        tasks: tasks.0,
        metrics: session.metrics(),
        cautions: session.cautions(),
        remains: session.remains(),
    }
}

/// Files by directory, all of the right size.
fn files(snapshot: &TreeSnapshot, bytes: u32) -> BTreeMap<String, u64> {
    let mut counts = BTreeMap::new();
    for (path, kind, size) in &snapshot.entries {
        if *kind == EntryKind::File {
            assert_eq!(*size, u64::from(bytes), "{}", path.display());
            let dir = path.parent().unwrap().display().to_string();
            *counts.entry(dir).or_default() += 1;
        }
    }
    counts
}

/// Checks figures that every run must have.
fn check(request: &RunRequest, ran: &RunOutcome, made: u64) {
    let creates: u64 =
        ran.tasks.iter().filter(|task| task.kind == "create").map(|task| task.files).sum();
    assert_eq!(creates, made);
    assert!(ran.cautions.is_empty(), "{:?}", ran.cautions);
    let metric = |name: &str| ran.metrics.iter().find(|metric| metric.name == name).unwrap().value;
    assert!(metric("files_per_second") > 0.0);
    assert!(metric("worker_skew_ratio") >= 1.0);
    assert!(metric("classic_inflation_percent") > -1.0, "a sum of rates is never too low");
    if request.workers == 1 {
        assert!(metric("worker_skew_ratio") < 1.000_001);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]

    #[test]
    fn native_runs_leave_the_requested_tree(request in request()) {
        let job = FsMark.native(&request.settings(false, "threads")).unwrap();
        let memory = MemoryFilesystem::default();
        let ran = perform(job.as_ref(), &memory);
        let real = temp_dir();
        let target = Target::open(real.path()).unwrap();
        perform(job.as_ref(), &target);
        let snapshot = memory.snapshot();
        assert_eq!(snapshot, TreeSnapshot::from_directory(real.path()).unwrap());
        let counts = files(&snapshot, request.bytes);
        assert_eq!(counts.values().sum::<u64>(), request.standing());
        let written = job.footprint(&TargetFacts::unknown()).written_files;
        check(&request, &ran, written);
        let roots: Vec<String> = (0..request.roots).map(|root| format!("fs_mark-{root}")).collect();
        assert_eq!(ran.remains, roots);
        if request.keep {
            let peak = job.footprint(&TargetFacts::unknown());
            assert_eq!(peak.peak_files, request.standing());
            let dirs = snapshot.entries.iter().filter(|(_, kind, _)| *kind == EntryKind::Directory);
            assert_eq!(dirs.count() as u64, peak.peak_dirs);
        }
    }

    #[test]
    fn classic_runs_leave_the_requested_tree(request in request()) {
        let job = FsMark.classic(&request.settings(true, "threads")).unwrap();
        let memory: Vec<MemoryFilesystem> =
            (0..request.roots).map(|_| MemoryFilesystem::default()).collect();
        let ran = perform(job.as_ref(), memory.as_slice());
        let iterations = if request.keep { request.iterations } else { 1 };
        let made = u64::from(request.files) * u64::from(request.workers) * u64::from(iterations);
        check(&request, &ran, made);
        let mut standing = 0;
        for root in &memory {
            let counts = files(&root.snapshot(), request.bytes);
            let is_at_root = request.subdirs == 0;
            assert!(counts.keys().all(|dir| dir.is_empty() == is_at_root), "{counts:?}");
            standing += counts.values().sum::<u64>();
        }
        assert_eq!(standing, request.standing());
        assert!(ran.remains.is_empty(), "nothing is removed afterwards");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 8, ..ProptestConfig::default() })]

    #[test]
    fn processes_and_threads_leave_equal_trees(request in request()) {
        let snapshots = ["threads", "processes"].map(|workers| {
            let job = FsMark.native(&request.settings(false, workers)).unwrap();
            let real = temp_dir();
            perform(job.as_ref(), &Target::open(real.path()).unwrap());
            TreeSnapshot::from_directory(real.path()).unwrap()
        });
        assert_eq!(snapshots[0], snapshots[1]);
    }
}

fn job(words: &[(&str, &str)], classic: bool) -> Box<dyn Job> {
    let pairs = words.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    let settings = Settings::new(pairs.collect());
    let job = if classic { FsMark.classic(&settings) } else { FsMark.native(&settings) };
    job.unwrap()
}

#[test]
fn name_collisions_are_counted() {
    let words = [
        ("dir", "/m"),
        ("files", "20"),
        ("size", "1"),
        ("name-length", "4"),
        ("random-length", "0"),
        ("keep-files", "true"),
        ("workers", "threads"),
    ];
    let memory = MemoryFilesystem::default();
    let ran = perform(job(&words, true).as_ref(), &memory);
    assert_eq!(memory.snapshot().entries.len(), 1);
    let [caution] = &ran.cautions[..] else { panic!("{:?}", ran.cautions) };
    assert_eq!(caution.code.name(), "names_collided");
    assert!(caution.message.starts_with("19 of 20 files got the name"), "{}", caution.message);

    // A thousand files, two random characters: as many collisions as names that are missing.
    let words = [
        ("files", "300"),
        ("size", "1"),
        ("name-length", "10"),
        ("random-length", "2"),
        ("threads", "4"),
        ("unlink", "end"),
    ];
    let memory = MemoryFilesystem::default();
    let ran = perform(job(&words, false).as_ref(), &memory);
    let file_count = files(&memory.snapshot(), 1).values().sum::<u64>();
    assert!((700..1000).contains(&file_count), "{file_count}");
    let message = format!("{} of 1200 files", 1200 - file_count);
    assert!(ran.cautions[0].message.starts_with(&message), "{:?} {file_count}", ran.cautions);
}

#[test]
fn more_files_than_names_are_refused_natively() {
    let words = [("files", "37"), ("name-length", "9"), ("random-length", "1")];
    let error = job(&words, false).check(&TargetFacts::unknown()).unwrap_err();
    assert!(error.message.contains("36 names for 37 files"), "{}", error.message);
    let words = [("files", "36"), ("name-length", "9"), ("random-length", "1")];
    assert_eq!(job(&words, false).check(&TargetFacts::unknown()).unwrap(), []);
}

#[test]
fn classic_run_without_enough_space_is_refused() {
    let words = [("dir", "/m/0"), ("files", "1000"), ("size", "1000")];
    let facts = TargetFacts { free_bytes: 999_999, ..TargetFacts::unknown() };
    let error = job(&words, true).check(&facts).unwrap_err();
    let text = "Insufficient free space in /m/0 to create 1000 new files, exiting";
    assert_eq!(error.message, text);
    let until_full = [("dir", "/m/0"), ("files", "1000"), ("size", "1000"), ("until-full", "true")];
    assert_eq!(job(&until_full, true).check(&facts).unwrap(), []);
}

#[test]
fn hundreds_of_workers_run() {
    let words = [("files", "2"), ("size", "0"), ("threads", "130"), ("sync-method", "none")];
    let memory = MemoryFilesystem::default();
    let ran = perform(job(&words, false).as_ref(), &memory);
    assert_eq!(ran.tasks.len(), 1 + 130 + 130);
}

//! Random settings of bonnie++: each test does the requested work, in memory and on a real disk,
//! and only the copies' directories are left.

#![expect(clippy::unwrap_used, reason = "a test ends at the first surprise")]

use proptest::prelude::{Just, ProptestConfig, Strategy, any, prop_oneof, proptest};
use treering_bonnie::Bonnie;
use treering_engine::oracle::TreeSnapshot;
use treering_engine::{
    EngineOptions, LatencyMode, MemoryFilesystem, PayloadKind, RunOptions, RunProgress,
    RunSessions, StopFlag, Target,
};
use treering_model::{Metric, Op, TaskTotals};
use treering_script::{Settings, TargetFacts, Workload};
use treering_testkit::temp_dir;

use treering_testkit::{TaskCollector, assert_decides_as_foreseen};

#[derive(Clone, Debug)]
struct RandomSettings {
    size: u64,
    chunk: u64,
    byte_size: u64,
    seeks: u64,
    seekers: u64,
    files: u64,
    sizes: (u64, u64),
    dirs: u64,
    file_chunk: u64,
    links: &'static str,
    fsync: &'static str,
    copies: u64,
    seed: u64,
}

fn random_settings() -> impl Strategy<Value = RandomSettings> {
    let chunk = prop_oneof![Just(4096), Just(512), 300..5000_u64];
    let io = (0..60_000_u64, chunk, 0..3000_u64, 0..50_u64, 1..4_u64);
    let sizes = (0..9000_u64, 0..9000_u64).prop_map(|(a, b)| (a.min(b), a.max(b)));
    let files = (0..60_u64, sizes, 1..9_u64, 300..5000_u64);
    let links = prop_oneof![Just("none"), Just("none"), Just("hard"), Just("symbolic")];
    let fsync = prop_oneof![Just("never"), Just("updates"), Just("each")];
    (io, files, links, fsync, 1..3_u64, any::<u64>()).prop_map(
        |(io, files, links, fsync, copies, seed)| RandomSettings {
            // A size of less than one chunk is refused.
            size: if io.0 < io.1 { 0 } else { io.0 },
            chunk: io.1,
            byte_size: io.2,
            seeks: io.3,
            seekers: io.4,
            files: files.0 + u64::from(io.0 < io.1),
            sizes: if links == "none" { files.1 } else { (0, 0) },
            dirs: files.2,
            file_chunk: files.3,
            links,
            fsync,
            copies,
            seed,
        },
    )
}

impl RandomSettings {
    fn settings(&self) -> Settings {
        let options = [
            ("size", self.size.to_string()),
            ("chunk", self.chunk.to_string()),
            ("byte-size", self.byte_size.to_string()),
            ("seeks", self.seeks.to_string()),
            ("seekers", self.seekers.to_string()),
            ("files", self.files.to_string()),
            ("min-size", self.sizes.0.to_string()),
            ("max-size", self.sizes.1.to_string()),
            ("dirs", self.dirs.to_string()),
            ("file-chunk", self.file_chunk.to_string()),
            ("links", self.links.to_owned()),
            ("fsync", self.fsync.to_owned()),
            ("copies", self.copies.to_string()),
            ("seed", self.seed.to_string()),
        ];
        Settings::new(options.map(|(name, value)| (name.to_owned(), value)).to_vec())
    }

    /// Number of whole chunks of the file.
    fn chunks(&self) -> u64 {
        self.size / self.chunk
    }
}

struct RunResult {
    tasks: Vec<TaskTotals>,
    metrics: Vec<Metric>,
}

impl RunResult {
    /// Number of calls of a kind in a test, and their bytes.
    fn calls_of(&self, test: &str, op: Op) -> (u64, u64) {
        let tasks = self.tasks.iter().filter(|task| task.kind == test);
        let ops = tasks.flat_map(|task| &task.ops).filter(|totals| totals.op == op);
        ops.fold((0, 0), |(calls, bytes), totals| (calls + totals.calls, bytes + totals.bytes))
    }

    fn calls(&self, test: &str, op: Op) -> u64 {
        self.calls_of(test, op).0
    }
}

fn perform<P: RunSessions + ?Sized>(settings: &RandomSettings, place: &P) -> RunResult {
    let job = Bonnie.native(&settings.settings()).unwrap();
    let options = EngineOptions::new(LatencyMode::All, PayloadKind::Zeros, 1);
    let mut session = job.begin(&TargetFacts::unknown());
    let mut tasks = TaskCollector::default();
    let (progress, stop) = (RunProgress::new(), StopFlag::new());
    place.run(session.as_mut(), RunOptions::new(&options, &mut tasks, &progress, &stop)).unwrap();
    assert_eq!(session.remains().len() as u64, settings.copies);
    assert_decides_as_foreseen(job.as_ref(), &session.metrics());
    RunResult { tasks: tasks.0, metrics: session.metrics() }
}

/// Checks that each test did the requested work.
fn check(settings: &RandomSettings, ran: &RunResult) {
    let RandomSettings { copies, files, .. } = *settings;
    if settings.size > 0 {
        let (chunks, bytes) =
            (settings.chunks() * copies, settings.chunks() * settings.chunk * copies);
        assert_eq!(ran.calls_of("block write", Op::Write), (chunks, bytes));
        assert_eq!(ran.calls_of("rewrite", Op::Read), (chunks, bytes));
        assert_eq!(ran.calls_of("rewrite", Op::Write), (chunks, bytes));
        assert_eq!(ran.calls_of("block read", Op::Read), (chunks, bytes));
        let single = settings.byte_size.min(settings.chunks() * settings.chunk) * copies;
        assert_eq!(ran.calls_of("per-char write", Op::Write), (single, single));
        assert_eq!(ran.calls_of("per-char read", Op::Read), (single, single));
        assert_eq!(ran.calls("seeks", Op::Read), settings.seeks * copies);
        let updates = ran.calls("seeks", Op::Write);
        assert_eq!(ran.calls("seeks", Op::Seek), settings.seeks * copies + updates);
        let fsyncs = if settings.fsync == "each" { chunks } else { 0 };
        assert_eq!(ran.calls("block write", Op::Fsync), copies + fsyncs);
    }
    if files == 0 {
        return;
    }
    for order in ["sequential", "random"] {
        let of = |test: &str, op| ran.calls(&format!("{order} {test}"), op);
        let made = of("create", Op::Create) + of("create", Op::Link) + of("create", Op::Symlink);
        assert_eq!(made, files * copies);
        assert_eq!(of("stat", Op::Stat), files * copies);
        assert_eq!(of("delete", Op::Unlink), files * copies);
        let dirs = if settings.dirs > 1 { settings.dirs + 1 } else { 1 };
        assert_eq!(of("delete", Op::RemoveDir), dirs * copies);
        let (_, written) = ran.calls_of(&format!("{order} create"), Op::Write);
        let (_, read) = ran.calls_of(&format!("{order} stat"), Op::Read);
        assert_eq!(read, written, "all that was written was read");
        let (least, most) = settings.sizes;
        assert!((least * files * copies..=most * files * copies).contains(&written));
        assert_eq!(of("create", Op::Sync), copies);
    }
    let primary = ran.metrics.iter().filter(|metric| metric.primary).count();
    assert!(primary >= 6 && ran.metrics.iter().all(|metric| metric.value.is_finite()));
}

/// Checks that only the copies' directories are left, empty.
fn nothing_is_left(settings: &RandomSettings, snapshot: &TreeSnapshot) {
    let names: Vec<String> =
        snapshot.entries.iter().map(|(path, _, _)| path.display().to_string()).collect();
    let wanted: Vec<String> = (0..settings.copies).map(|copy| format!("bonnie-{copy}")).collect();
    assert_eq!(names, wanted);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn run_in_memory_completes_and_removes_all_files(settings in random_settings()) {
        let memory = MemoryFilesystem::default();
        check(&settings, &perform(&settings, &memory));
        nothing_is_left(&settings, &memory.snapshot());
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, ..ProptestConfig::default() })]

    #[test]
    fn run_on_disk_completes_and_removes_all_files(settings in random_settings()) {
        let dir = temp_dir();
        let target = Target::open(dir.path()).unwrap();
        check(&settings, &perform(&settings, &target));
        for copy in 0..settings.copies {
            let root = dir.path().join(format!("bonnie-{copy}"));
            assert_eq!(std::fs::read_dir(root).unwrap().count(), 0);
        }
    }
}

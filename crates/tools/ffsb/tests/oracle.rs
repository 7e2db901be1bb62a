//! Random profiles of FFSB: every requested operation is done, and the resulting names and sizes
//! are valid.

#![expect(clippy::unwrap_used, reason = "a test ends at the first surprise")]

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::Path;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use proptest::prelude::{Just, ProptestConfig, Strategy, any, prop_oneof, proptest};
use treering_engine::oracle::TreeSnapshot;
use treering_engine::{
    EngineError, EngineOptions, LatencyMode, MemoryFilesystem, PayloadKind, RunOptions,
    RunProgress, RunSessions, StopFlag, Target,
};
use treering_ffsb::Ffsb;
use treering_model::{Metric, Scope};
use treering_script::{EntryKind, Job, Settings, TargetFacts, Workload};
use treering_testkit::{TempDir, temp_dir};

use treering_testkit::{TaskCollector, assert_decides_as_foreseen};

/// Operations in the order of their weights here.
const OPERATIONS: [&str; 15] = [
    "read",
    "readall",
    "write",
    "write_fsync",
    "writeall",
    "writeall_fsync",
    "stat",
    "open_close",
    "metaop",
    "createdir",
    "append",
    "append_fsync",
    "delete",
    "create",
    "create_fsync",
];
/// Operation indices; operations before `APPEND` leave names and sizes of files unchanged.
const APPEND: usize = 10;
const CREATE: usize = 13;

#[derive(Clone, Debug)]
struct FileSettings {
    files: u64,
    dirs: u32,
    /// Bounds of the size range, or sizes with weights.
    sizes: Result<(u64, u64), Vec<(u64, u64)>>,
    block: u64,
}

#[derive(Clone, Debug)]
struct GroupSettings {
    threads: u16,
    bound: Option<usize>,
    weights: Vec<u64>,
    /// Random, with skips, or neither.
    reads: u8,
    writes_at_random: bool,
    read: (u64, u64),
    write: (u64, u64),
    skip: u64,
}

#[derive(Clone, Debug)]
struct RunRequest {
    align: bool,
    filesystems: Vec<FileSettings>,
    groups: Vec<GroupSettings>,
    operations: u64,
    seed: u64,
}

fn bytes() -> impl Strategy<Value = u64> + Clone {
    prop_oneof![Just(0), Just(1), Just(4096), Just(8192), Just(10_000), 1..20_000_u64]
}

fn block() -> impl Strategy<Value = u64> {
    prop_oneof![Just(4096), Just(512), Just(1000), 100..9000_u64]
}

fn files() -> impl Strategy<Value = FileSettings> {
    let range = (bytes(), bytes()).prop_map(|(a, b)| Ok((a.min(b), a.max(b))));
    let weights = proptest::collection::vec((bytes(), 1..5_u64), 1..4).prop_map(Err);
    (0..12_u64, 0..4_u32, prop_oneof![range, weights], block())
        .prop_map(|(files, dirs, sizes, block)| FileSettings { files, dirs, sizes, block })
}

/// Group with operations of the first `to` kinds.
fn group(to: usize, threads: u16, filesystems: usize) -> impl Strategy<Value = GroupSettings> {
    let bound = proptest::option::of(0..filesystems);
    let weights = proptest::collection::vec(0..3_u64, to);
    let sizes = (1..20_000_u64, block(), 1..20_000_u64, block(), 1..6000_u64);
    (1..=threads, bound, weights, 0..3_u8, any::<bool>(), sizes).prop_map(
        move |(threads, bound, mut weights, reads, writes_at_random, sizes)| {
            if to > CREATE {
                // Who makes files never waits for others to.
                weights[CREATE] += 1;
            } else if weights.iter().all(|weight| *weight == 0) {
                weights[0] = 1;
            }
            let (read_size, read_block, write_size, write_block, skip) = sizes;
            let (read, write) = ((read_size, read_block), (write_size, write_block));
            GroupSettings { threads, bound, weights, reads, writes_at_random, read, write, skip }
        },
    )
}

/// Profiles of `groups` groups with up to `threads` threads each.
fn request(to: usize, threads: u16, groups: usize) -> impl Strategy<Value = RunRequest> {
    let filesystems = proptest::collection::vec(files(), 1..3);
    (filesystems, any::<bool>(), 1..80_u64, any::<u64>()).prop_flat_map(
        move |(filesystems, align, operations, seed)| {
            let group = group(to, threads, filesystems.len());
            proptest::collection::vec(group, 1..=groups).prop_map(move |groups| RunRequest {
                align,
                filesystems: filesystems.clone(),
                groups,
                operations,
                seed,
            })
        },
    )
}

impl RunRequest {
    fn profile(&self) -> String {
        let mut text = format!("time = 1\nalignio = {}\n", u8::from(self.align));
        for (number, section) in self.filesystems.iter().enumerate() {
            let FileSettings { files, dirs, block, .. } = section;
            let _ = write!(
                text,
                "[filesystem{number}]\nlocation = /m/{number}\nnum_files = {files}\n\
                 num_dirs = {dirs}\ncreate_blocksize = {block}\n"
            );
            match &section.sizes {
                Ok((from, to)) => {
                    let _ = write!(text, "min_filesize = {from}\nmax_filesize = {to}\n");
                }
                Err(weights) => weights.iter().for_each(|(bytes, weight)| {
                    let _ = writeln!(text, "size_weight {bytes} {weight}");
                }),
            }
            text += "[end]\n";
        }
        self.groups.iter().for_each(|group| group.write(&mut text));
        text
    }

    /// Natively: this many operations, or the files only.
    fn job(&self, dir: &TempDir, works: bool) -> Box<dyn Job> {
        let seed = self.seed.to_string();
        let how = if works {
            ("operations", self.operations.to_string())
        } else {
            ("time", "0".to_owned())
        };
        native(dir, &self.profile(), &[("seed", &seed), (how.0, &how.1)])
    }
}

impl GroupSettings {
    fn write(&self, text: &mut String) {
        let Self { threads, bound, weights, reads, writes_at_random, read, write, skip } = self;
        let _ = write!(text, "[threadgroup]\nnum_threads = {threads}\n");
        if let Some(bound) = bound {
            let _ = writeln!(text, "bindfs = /m/{bound}");
        }
        let _ = write!(
            text,
            "read_random = {}\nread_skip = {}\nread_skipsize = {skip}\nread_size = {}\n\
             read_blocksize = {}\nwrite_random = {}\nwrite_size = {}\nwrite_blocksize = {}\n",
            u8::from(*reads == 1),
            u8::from(*reads == 2),
            read.0,
            read.1,
            u8::from(*writes_at_random),
            write.0,
            write.1,
        );
        for (name, weight) in OPERATIONS.iter().zip(weights) {
            let _ = writeln!(text, "{name}_weight = {weight}");
        }
        *text += "[end]\n";
    }
}

fn native(dir: &TempDir, profile: &str, words: &[(&str, &str)]) -> Box<dyn Job> {
    let path = dir.path().join("profile.ffsb");
    std::fs::write(&path, profile).unwrap();
    let mut options: Vec<(String, String)> =
        words.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    options.push(("profile".to_owned(), path.display().to_string()));
    Ffsb.native(&Settings::new(options)).unwrap()
}

/// Results of a run.
struct RunOutcome {
    metrics: Vec<Metric>,
    cautions: Vec<&'static str>,
    remains: Vec<String>,
    /// Error that ended the session.
    failure: Option<String>,
}

fn perform<P: RunSessions + ?Sized>(job: &dyn Job, place: &P, stop: &StopFlag) -> RunOutcome {
    let options = EngineOptions::new(LatencyMode::All, PayloadKind::Zeros, 1);
    let mut session = job.begin(&TargetFacts::unknown());
    let mut tasks = TaskCollector::default();
    let ran = place
        .run(session.as_mut(), RunOptions::new(&options, &mut tasks, &RunProgress::new(), stop));
    let failure = match ran {
        Ok(()) => None,
        Err(EngineError::Session(failure)) => Some(failure.to_string()),
        // A call that fails is a fault, whatever the profile.
        Err(error) => panic!("{error}"),
    };
    assert_decides_as_foreseen(job, &session.metrics());
    RunOutcome {
        metrics: session.metrics(),
        cautions: session.cautions().iter().map(|caution| caution.code.name()).collect(),
        remains: session.remains(),
        failure,
    }
}

impl RunOutcome {
    fn of_run(&self, name: &str) -> Option<f64> {
        let is_wanted = |metric: &&Metric| metric.name == name && metric.scope == Scope::Trial;
        self.metrics.iter().find(is_wanted).map(|metric| metric.value)
    }

    /// Number of operations of one kind, from its rate.
    fn operations_of(&self, operation: &str) -> u64 {
        let scope = Scope::Kind(operation.to_owned());
        let is_wanted =
            |metric: &&Metric| metric.name == "operations_per_second" && metric.scope == scope;
        let rate = self.metrics.iter().find(is_wanted).map_or(0.0, |metric| metric.value);
        let count = (rate * self.of_run("elapsed_seconds").unwrap_or(0.0)).round();
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a count")]
        {
            count as u64
        }
    }

    fn operations(&self) -> u64 {
        let sum = OPERATIONS.iter().map(|operation| self.operations_of(operation)).sum();
        let reported = self.of_run("operations").unwrap_or(0.0);
        assert!((reported - sum as f64).abs() < 0.5, "{reported} are {sum}");
        sum
    }
}

/// Files of FFSB found afterwards; names and directories are checked on the way.
#[derive(Debug, Default, PartialEq)]
struct FileCensus {
    /// Sizes by filesystem.
    files: BTreeMap<usize, Vec<u64>>,
    dirs: u64,
    metas: u64,
}

fn number<'n>(name: &'n str, word: &str) -> Option<&'n str> {
    let digits = name.strip_prefix(word)?;
    let plain = digits == "0" || !digits.starts_with('0');
    (plain && !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()))
        .then_some(digits)
}

fn standing(snapshot: &TreeSnapshot) -> FileCensus {
    let mut standing = FileCensus::default();
    let mut seen = BTreeSet::new();
    let text = |path: &Path| path.to_str().unwrap().to_owned();
    for (path, kind, bytes) in &snapshot.entries {
        let path = text(path);
        let parts: Vec<&str> = path.split('/').collect();
        let filesystem: usize = number(parts[0], "ffsb-").unwrap().parse().unwrap();
        match (*kind, &parts[1..]) {
            (EntryKind::Directory, [] | ["data" | "meta"]) => {}
            (EntryKind::Directory, ["data", dir]) => {
                number(dir, "datadir").unwrap();
                standing.dirs += 1;
            }
            (EntryKind::Directory, ["meta", meta]) => {
                number(meta.strip_suffix('a').unwrap_or(meta), "metafile").unwrap();
                standing.metas += 1;
            }
            (EntryKind::File, ["data", name] | ["data", _, name]) => {
                let number: u64 = number(name, "datafile").unwrap().parse().unwrap();
                assert!(seen.insert((filesystem, number)), "{path} is there twice");
                standing.files.entry(filesystem).or_default().push(*bytes);
            }
            _ => panic!("{path} is not FFSB's"),
        }
    }
    standing
}

/// Checks the invariants of a run that did not run out of files.
fn check(request: &RunRequest, ran: &RunOutcome, snapshot: &TreeSnapshot) {
    let roots: Vec<String> = (0..request.filesystems.len()).map(|n| format!("ffsb-{n}")).collect();
    assert_eq!(ran.remains, roots);
    match &ran.failure {
        Some(why) => {
            assert!(why.contains("no files are left"), "{why}");
            assert!(request.groups.iter().any(|group| group.weights.len() <= CREATE));
            assert!(ran.operations() < request.operations);
        }
        None => {
            assert_eq!(ran.operations(), request.operations);
            assert_eq!(ran.cautions, ["too_few_operations"]);
        }
    }
    let standing = standing(snapshot);
    let made: u64 = request.filesystems.iter().map(|filesystem| filesystem.files).sum();
    let created = ran.operations_of("create") + ran.operations_of("create_fsync");
    let file_count = standing.files.values().map(|sizes| sizes.len() as u64).sum::<u64>();
    assert_eq!(file_count, made + created - ran.operations_of("delete"));
    let dirs: u64 = request.filesystems.iter().map(|filesystem| u64::from(filesystem.dirs)).sum();
    assert_eq!(standing.dirs, dirs + ran.operations_of("createdir"));
    let threads: u16 = request.groups.iter().map(|group| group.threads).sum();
    let metaops = ran.operations_of("metaop");
    assert!(standing.metas >= metaops && (threads > 1 || standing.metas == metaops));
    if ran.operations_of("append") + ran.operations_of("append_fsync") == 0 {
        for (filesystem, sizes) in standing.files {
            let sizes_of = &request.filesystems[filesystem].sizes;
            let may_be = |bytes: u64| match sizes_of {
                Ok((from, to)) => bytes == *from || (*from..*to).contains(&bytes),
                Err(weights) => weights.iter().any(|&(size, _)| size == bytes),
            };
            assert!(sizes.iter().all(|&bytes| may_be(bytes)), "{sizes:?} of {sizes_of:?}");
        }
    }
}

fn in_memory(job: &dyn Job) -> (RunOutcome, TreeSnapshot) {
    let memory = MemoryFilesystem::default();
    let ran = perform(job, &memory, &StopFlag::new());
    (ran, memory.snapshot())
}

fn on_disk(job: &dyn Job) -> (RunOutcome, TreeSnapshot) {
    let real = temp_dir();
    let ran = perform(job, &Target::open(real.path()).unwrap(), &StopFlag::new());
    (ran, TreeSnapshot::from_directory(real.path()).unwrap())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]

    #[test]
    fn single_threaded_runs_are_reproducible_in_memory_and_on_disk(request in request(15, 1, 1)) {
        let dir = temp_dir();
        let job = request.job(&dir, true);
        let (ran, memory) = in_memory(job.as_ref());
        check(&request, &ran, &memory);
        let (ran, disk) = on_disk(job.as_ref());
        check(&request, &ran, &disk);
        assert_eq!(memory, disk);
        assert_eq!(in_memory(request.job(&dir, true).as_ref()).1, memory);
    }

    #[test]
    fn several_threads_complete_all_operations(request in request(15, 3, 2)) {
        let dir = temp_dir();
        let job = request.job(&dir, true);
        let (ran, memory) = in_memory(job.as_ref());
        check(&request, &ran, &memory);
        let (ran, disk) = on_disk(job.as_ref());
        check(&request, &ran, &disk);
    }

    #[test]
    fn run_without_creates_completes_or_reports_lack_of_files(request in request(13, 3, 1)) {
        let dir = temp_dir();
        let (ran, memory) = in_memory(request.job(&dir, true).as_ref());
        check(&request, &ran, &memory);
    }

    #[test]
    fn reads_and_writes_leave_every_file_as_large_as_it_was(request in request(APPEND, 3, 2)) {
        let dir = temp_dir();
        let (_, before) = in_memory(request.job(&dir, false).as_ref());
        let (_, after) = in_memory(request.job(&dir, true).as_ref());
        let files = |snapshot: TreeSnapshot| -> Vec<_> {
            let is_file = |entry: &(_, EntryKind, _)| entry.1 == EntryKind::File;
            snapshot.entries.into_iter().filter(is_file).collect()
        };
        assert_eq!(files(before), files(after));
    }

    #[test]
    fn files_are_made_until_the_filesystem_has_grown(
        sizes in (1..20_000_u64, 0..20_000_u64),
        init in 1..200_000_u64,
        dirs in 0..4_u32,
    ) {
        let (least, most) = (sizes.0, sizes.0 + sizes.1);
        let profile = format!(
            "time=0\n[filesystem]\nlocation=/m\ninit_size={init}\nnum_dirs={dirs}\n\
             min_filesize={least}\nmax_filesize={most}\n[end]"
        );
        let (_, snapshot) = in_memory(native(&temp_dir(), &profile, &[]).as_ref());
        let sizes = standing(&snapshot).files.remove(&0).unwrap();
        let blocks: u64 = sizes.iter().map(|bytes| bytes.div_ceil(4096) * 4096).sum();
        let largest = most.div_ceil(4096) * 4096;
        assert!((init..init + largest).contains(&blocks), "{blocks} for {init}");
    }
}

/// Time limit that is longer than anything here takes.
const PATIENCE: Duration = Duration::from_secs(60);

/// A run that must end by itself.
fn ends(profile: &str, operations: &str) -> RunOutcome {
    let dir = temp_dir();
    let job = native(&dir, profile, &[("operations", operations)]);
    let stop = &StopFlag::new();
    let (ended, has_ended) = channel::<()>();
    std::thread::scope(|scope| {
        let stops = scope.spawn(move || {
            // Ends when the other end is dropped.
            let waited = has_ended.recv_timeout(PATIENCE);
            if waited == Err(RecvTimeoutError::Timeout) {
                stop.raise(2);
            }
        });
        let ran = perform(job.as_ref(), &MemoryFilesystem::default(), stop);
        drop(ended);
        stops.join().unwrap();
        ran
    })
}

/// Groups that delete more than the creating groups ever create.
#[test]
fn run_fails_when_no_files_are_left_and_creators_have_ended() {
    let group = |threads: u32, weights: &str| {
        format!("[threadgroup]\nnum_threads={threads}\nwrite_blocksize=4k\n{weights}\n[end]\n")
    };
    let profile = "[filesystem]\nlocation=/m\nmin_filesize=0\nmax_filesize=0\n[end]\n".to_owned()
        + &group(1, "create_weight=1")
        + &group(2, "delete_weight=1");
    let ran = ends(&profile, "90");
    assert!(ran.failure.unwrap().contains("no files are left"));
}

#[test]
fn creators_on_another_filesystem_do_not_prevent_the_failure() {
    let group = |place: &str, weights: &str| {
        format!("[threadgroup]\nnum_threads=1\nbindfs={place}\nwrite_blocksize=4k\n{weights}\n")
    };
    let profile =
        "[filesystem]\nlocation=/a\n[end]\n[filesystem]\nlocation=/b\nnum_files=5\n[end]\n"
            .to_owned()
            + &group("/a", "stat_weight=1\n[end]")
            + &group("/b", "create_weight=1\n[end]");
    let ran = ends(&profile, "90");
    assert!(ran.failure.unwrap().contains("no files are left"));
}

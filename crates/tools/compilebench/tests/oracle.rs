//! Random data sets and settings: after a session every living tree has exactly the files of its
//! state, in memory and on a real disk alike. The forecasts of a job come true.

#![expect(clippy::unwrap_used, reason = "a test ends at the first surprise")]

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use proptest::collection::{btree_set, vec};
use proptest::option;
use proptest::prelude::{Just, ProptestConfig, Strategy, any, prop_oneof, proptest};
use treering_compilebench::Compilebench;
use treering_engine::oracle::TreeSnapshot;
use treering_engine::{
    EngineOptions, EntryOrder, LatencyMode, MemoryFilesystem, PayloadKind, RunOptions, RunProgress,
    RunSessions, StopFlag, Target,
};
use treering_model::{Op, TaskTotals};
use treering_script::{EntryKind, Job, Settings, TargetFacts, Workload};
use treering_testkit::{FileSizes, FourLists, temp_dir};

use treering_testkit::{TaskCollector, assert_was_foreseen};

/// Paths of files below up to four directories. No name is both a file and a directory.
fn path() -> impl Strategy<Value = String> {
    let dir = prop_oneof![Just("d"), Just("e"), Just("include"), Just("\u{fc}ber alles")];
    let file = prop_oneof![Just("f"), Just("g.c"), Just("h h"), Just(".hidden"), Just("Makefile")];
    (vec(dir, 0..5), file).prop_map(|(dirs, file)| [&dirs[..], &[file]].concat().join("/"))
}

/// Few sizes, so that files stay the same, change and become empty.
fn size() -> impl Strategy<Value = u64> {
    prop_oneof![Just(0), Just(1), Just(4096), Just(10_000), 2..70_000_u64]
}

/// Four lists over the same names; each name is in any of them, or in none.
fn lists() -> impl Strategy<Value = FourLists> {
    let any_lists = [(); 4].map(|()| option::weighted(0.7, size()).boxed());
    let all_lists = size().prop_map(|size| [Some(size); 4]);
    let of_a_file = prop_oneof![3 => any_lists, 1 => all_lists].boxed();
    let files = btree_set(path(), 0..24).prop_flat_map(move |paths| {
        let count = paths.len();
        (Just(paths), vec(of_a_file.clone(), count))
    });
    files.prop_map(|(paths, sizes)| {
        let mut lists = FourLists::default();
        for (path, [clean, patched, compiled, both]) in paths.into_iter().zip(sizes) {
            let put = |list: &mut FileSizes, size: Option<u64>| {
                list.extend(size.map(|size| (path.clone(), size)));
            };
            put(&mut lists.unpatched, clean);
            put(&mut lists.patched, patched);
            put(&mut lists.unpatched_compiled, compiled);
            put(&mut lists.patched_compiled, both);
        }
        lists
    })
}

/// Weights of operations; create always has one.
fn mix() -> impl Strategy<Value = String> {
    let kinds = ["patch", "compile", "clean", "delete", "create", "read", "stat"];
    vec(0..4_u32, kinds.len()).prop_map(move |weights| {
        let named = kinds.into_iter().zip(weights).map(|(kind, weight)| {
            let weight = if kind == "create" { weight + 1 } else { weight };
            format!("{kind}={weight}")
        });
        named.collect::<Vec<_>>().join(",")
    })
}

type OptionPairs = Vec<(String, String)>;

/// Options by name and value; flags only when they are set.
fn options(named: impl IntoIterator<Item = (&'static str, String)>) -> OptionPairs {
    named
        .into_iter()
        .filter(|(_, value)| value != "false")
        .map(|(name, value)| (name.to_owned(), value))
        .collect()
}

fn native_options() -> impl Strategy<Value = OptionPairs> {
    let order = prop_oneof![Just("native"), Just("sorted"), Just("random")];
    let makej = prop_oneof![4 => Just(false), 1 => Just(true)];
    (0..5_u32, 0..30_u32, 1..5_u16, any::<u64>(), mix(), order, makej, 1..100_000_u32).prop_map(
        |(dirs, runs, threads, seed, mix, order, makej, buffer)| {
            options([
                ("initial-dirs", dirs.to_string()),
                ("runs", runs.to_string()),
                ("threads", threads.to_string()),
                ("seed", seed.to_string()),
                ("mix", mix),
                ("order", order.to_owned()),
                ("makej", makej.to_string()),
                ("buffer-size", buffer.to_string()),
                ("sync", "none".to_owned()),
                ("drop-caches", "none".to_owned()),
            ])
        },
    )
}

fn classic_options() -> impl Strategy<Value = OptionPairs> {
    let makej = prop_oneof![4 => Just(false), 1 => Just(true)];
    (0..5_u32, 0..30_u32, any::<u64>(), makej, 1..100_000_u32).prop_map(
        |(dirs, runs, seed, makej, buffer)| {
            options([
                ("initial-dirs", dirs.to_string()),
                ("runs", runs.to_string()),
                ("seed", seed.to_string()),
                ("makej", makej.to_string()),
                ("buffer-size", buffer.to_string()),
                ("no-sync", "true".to_owned()),
            ])
        },
    )
}

fn entry_order() -> impl Strategy<Value = EntryOrder> {
    prop_oneof![Just(EntryOrder::Creation), any::<u64>().prop_map(EntryOrder::Seeded)]
}

/// Job with these options on these lists.
fn job(lists: &FourLists, mut options: OptionPairs, classic: bool) -> Box<dyn Job> {
    let dir = temp_dir();
    lists.write_to(dir.path());
    let name = if classic { "sources" } else { "dataset" };
    options.push((name.to_owned(), dir.path().to_str().unwrap().to_owned()));
    let settings = Settings::new(options);
    let job =
        if classic { Compilebench.classic(&settings) } else { Compilebench.native(&settings) };
    job.unwrap()
}

/// Runs a session of the job to its end; returns its tasks and the remaining trees.
fn session<P: RunSessions>(job: &dyn Job, place: &P) -> (Vec<TaskTotals>, BTreeSet<String>) {
    let mut session = job.begin(&TargetFacts::unknown());
    let mut tasks = TaskCollector::default();
    let options = EngineOptions::new(LatencyMode::Off, PayloadKind::Classic, 1);
    let (progress, stop) = (RunProgress::new(), StopFlag::new());
    place.run(session.as_mut(), RunOptions::new(&options, &mut tasks, &progress, &stop)).unwrap();
    assert_was_foreseen(job, &session.metrics());
    let remains = session.remains();
    let different: BTreeSet<String> = remains.iter().cloned().collect();
    assert_eq!(different.len(), remains.len(), "a tree remains once");
    (tasks.0, different)
}

/// Runs a session in a new directory of a real filesystem; returns its final content.
fn session_on_disk(job: &dyn Job) -> TreeSnapshot {
    let dir = temp_dir();
    let target = Target::open(dir.path()).unwrap();
    session(job, &target);
    TreeSnapshot::from_directory(dir.path()).unwrap()
}

/// List of the files of a tree in this state.
fn files_of<'l>(lists: &'l FourLists, state: &str) -> &'l FileSizes {
    match state {
        "unpatched" => &lists.unpatched,
        "patched" => &lists.patched,
        "unpatched compiled" => &lists.unpatched_compiled,
        "patched compiled" => &lists.patched_compiled,
        other => panic!("what state is {other}?"),
    }
}

/// Living trees with their states after these tasks.
fn living(tasks: &[TaskTotals]) -> BTreeMap<&str, &'static str> {
    let mut trees: BTreeMap<&str, &'static str> = BTreeMap::new();
    for task in tasks.iter().filter(|task| task.subject.starts_with("kernel-")) {
        let before = trees.remove(task.subject.as_str());
        let after = match (task.kind.as_str(), before) {
            ("initial create" | "create", None) => "unpatched",
            ("patch", Some("unpatched")) => "patched",
            ("patch", Some("unpatched compiled")) => "patched compiled",
            ("compile", Some("unpatched")) => "unpatched compiled",
            ("compile", Some("patched")) => "patched compiled",
            ("clean", Some("unpatched compiled")) => "unpatched",
            ("clean", Some("patched compiled")) => "patched",
            ("read" | "stat", Some(same)) => same,
            ("delete", Some(_)) => continue,
            (kind, before) => panic!("{kind} of {}, which is {before:?}", task.subject),
        };
        trees.insert(&task.subject, after);
    }
    trees
}

/// Files of a snapshot with their sizes.
fn files(snapshot: &TreeSnapshot) -> FileSizes {
    let files = snapshot.entries.iter().filter(|(_, kind, _)| *kind == EntryKind::File);
    files.map(|(path, _, size)| (path.to_str().unwrap().to_owned(), *size)).collect()
}

/// Checks that every living tree has the files of its state, and that all other entries are
/// directories of the lists.
fn assert_exact(lists: &FourLists, tasks: &[TaskTotals], snapshot: &TreeSnapshot) {
    let living = living(tasks);
    let mut expected = FileSizes::new();
    for (tree, state) in &living {
        let files = files_of(lists, state).iter();
        expected.extend(files.map(|(path, size)| (format!("{tree}/{path}"), *size)));
    }
    assert_eq!(files(snapshot), expected);
    let operations =
        [&lists.unpatched, &lists.patched, &lists.unpatched_compiled, &lists.patched_compiled];
    let known: BTreeSet<&Path> = operations
        .into_iter()
        .flat_map(|list| list.keys())
        .flat_map(|p| Path::new(p).ancestors())
        .collect();
    let mut tops = BTreeSet::new();
    for (path, kind, _) in &snapshot.entries {
        let mut parts = path.components();
        let top = parts.next().unwrap().as_os_str().to_str().unwrap();
        tops.insert(top);
        let below = parts.as_path();
        let is_known = below.as_os_str().is_empty() || known.contains(below);
        assert!(*kind == EntryKind::File || is_known, "{}", path.display());
    }
    assert_eq!(tops, living.keys().copied().collect());
}

/// Checks that the outline and the footprint agree with the operations, files and bytes of the
/// tasks.
fn assert_foretold(job: &dyn Job, tasks: &[TaskTotals]) {
    let facts = TargetFacts::unknown();
    let done = tasks.iter().filter(|task| !matches!(&*task.kind, "walk native" | "remove native"));
    let done = done.map(|task| (task.kind.strip_prefix("initial ").unwrap_or(&task.kind), task));
    let reported = job.outline(&facts);
    assert_eq!(reported.len(), done.clone().count());
    for (line, (kind, task)) in reported.iter().zip(done) {
        assert!(line.starts_with(kind) && line.contains(&task.subject), "{line}: {task:?}");
    }
    let sum = |op: Op, of: fn(&treering_model::OpTotals) -> u64| -> u64 {
        tasks.iter().flat_map(|task| &task.ops).filter(|totals| totals.op == op).map(of).sum()
    };
    let footprint = job.footprint(&facts);
    assert_eq!(footprint.written_files, sum(Op::Create, |op| op.calls));
    assert_eq!(footprint.written_bytes, sum(Op::Write, |op| op.bytes));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn native_sessions_leave_exactly_the_files_of_each_state(
        lists in lists(),
        options in native_options(),
        order in entry_order(),
    ) {
        let job = job(&lists, options, false);
        let memory = MemoryFilesystem::new(order);
        let (tasks, remains) = session(job.as_ref(), &memory);
        assert_exact(&lists, &tasks, &memory.snapshot());
        let alive: BTreeSet<String> = living(&tasks).keys().map(ToString::to_string).collect();
        assert_eq!(remains, alive);
        assert_foretold(job.as_ref(), &tasks);
        let footprint = job.footprint(&TargetFacts::unknown());
        let standing = files(&memory.snapshot());
        assert!(footprint.peak_files >= standing.len() as u64);
        assert!(footprint.peak_bytes >= standing.values().sum::<u64>());
    }

    #[test]
    fn classic_sessions_match_their_forecast(
        lists in lists(),
        options in classic_options(),
        order in entry_order(),
    ) {
        let job = job(&lists, options, true);
        let memory = MemoryFilesystem::new(order);
        let (tasks, _) = session(job.as_ref(), &memory);
        assert_foretold(job.as_ref(), &tasks);
        let created = tasks.iter().filter(|task| task.kind.ends_with("create")).count();
        let snapshot = memory.snapshot();
        let tops = snapshot.entries.iter().filter(|(path, _, _)| path.components().count() == 1);
        assert_eq!(tops.count(), created, "tops of deleted trees stay");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn native_sessions_leave_equal_trees_on_disk_and_in_memory(
        lists in lists(),
        options in native_options(),
    ) {
        let job = job(&lists, options, false);
        let memory = MemoryFilesystem::default();
        session(job.as_ref(), &memory);
        assert_eq!(session_on_disk(job.as_ref()), memory.snapshot());
    }

    #[test]
    fn classic_sessions_leave_equal_trees_on_disk_and_in_memory(
        lists in lists(),
        options in classic_options(),
    ) {
        let job = job(&lists, options, true);
        let memory = MemoryFilesystem::default();
        session(job.as_ref(), &memory);
        assert_eq!(session_on_disk(job.as_ref()), memory.snapshot());
    }
}

/// Appends to the files of the first classic session with a second one in the same place.
#[test]
fn two_classic_sessions_leave_equal_trees_on_disk_and_in_memory() {
    let named = [("initial-dirs", "3"), ("runs", "20"), ("no-sync", "true")];
    let options = options(named.map(|(name, value)| (name, value.to_owned())));
    let job = job(&FourLists::tiny(), options, true);
    let (dir, memory) = (temp_dir(), MemoryFilesystem::default());
    let target = Target::open(dir.path()).unwrap();
    for _ in 0..2 {
        session(job.as_ref(), &memory);
        session(job.as_ref(), &target);
        let snapshot = memory.snapshot();
        assert_eq!(TreeSnapshot::from_directory(dir.path()).unwrap(), snapshot);
    }
    let largest = FourLists::tiny().unpatched.values().copied().max().unwrap();
    assert!(files(&memory.snapshot()).values().any(|size| *size == largest * 2), "appended");
}

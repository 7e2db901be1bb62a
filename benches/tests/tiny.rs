//! Every measurement in its smallest form, so that none rots: what comes out has its shape.

use std::path::{Path, PathBuf};

use treering_benches::{create_tree, mark_files, names_scale, profile_rates, step_cost};

const SMALL: &str = "linux-6.1-small";

/// The real program, where cargo has built it: `cargo test --workspace` has.
fn program() -> Option<PathBuf> {
    let found = treering_benches::program::beside_us().ok();
    if found.is_none() {
        println!("skipped: treering is not built beside the test, so it is not run as a child");
    }
    found
}

/// A directory in memory where there is one: the shape of a result needs no disk.
fn scratch() -> tempfile::TempDir {
    let memory = tempfile::tempdir_in("/dev/shm");
    memory.unwrap_or_else(|_| tempfile::tempdir().expect("a directory can be made"))
}

#[test]
fn create_tree_tells_ratios_and_calls() {
    let dir = scratch();
    let options = create_tree::Options {
        dir: dir.path().to_owned(),
        dataset: SMALL.to_owned(),
        rounds: 1,
        program: program(),
        strace: false,
        original: None,
    };
    let with_program = usize::from(options.program.is_some());
    let report = create_tree::measure(options).unwrap();
    assert_eq!(report.methods.len(), 5 + with_program);
    assert_eq!(report.methods[0].ratio.median, 1.0);
    assert!(
        report.methods.iter().all(|method| method.cpu_ms.median > 0.0 && method.ratio.median > 0.0)
    );
    assert!(report.calls.per_file > 3.0 && report.calls.per_file < 3.2, "{report}");
    assert_eq!(report.calls.counted["create"], report.files);
    assert_eq!(dir.path().read_dir().unwrap().count(), 0, "every tree is removed again");
    assert!(report.to_string().lines().count() > 6);
    let json = serde_json::to_value(&report).unwrap();
    assert_eq!(json["methods"][3]["method"], "engine, latency sampled");
}

#[test]
fn mark_files_tells_rates() {
    let dir = scratch();
    let original = PathBuf::from("/usr/bin/fs_mark");
    let options = mark_files::Options {
        dir: dir.path().to_owned(),
        files: 50,
        rounds: 1,
        program: program(),
        original: Some(original).filter(|original| original.is_file()),
    };
    let expected = 3 + usize::from(options.program.is_some());
    let expected = expected + usize::from(options.original.is_some());
    let report = mark_files::measure(&options).unwrap();
    assert_eq!(report.methods.len(), expected);
    assert_eq!(report.methods[0].to_bare.median, 1.0);
    assert!(report.methods.iter().all(|method| method.files_per_second.median > 0.0));
    assert_eq!(dir.path().read_dir().unwrap().count(), 0, "every file is removed again");
    assert!(report.to_string().lines().count() > expected);
}

#[test]
fn profile_rates_tells_rates_and_scaling() {
    let dir = scratch();
    for operation in [profile_rates::Operation::Stat, profile_rates::Operation::ReadAll] {
        let options = profile_rates::Options {
            dir: dir.path().to_owned(),
            operation,
            files: 20,
            operations: 100,
            rounds: 1,
        };
        let report = profile_rates::measure(&options).unwrap();
        assert_eq!(report.methods.len(), 5);
        assert_eq!(report.methods[0].to_bare.median, 1.0);
        assert!(report.methods.iter().all(|method| method.operations_per_second.median > 0.0));
        assert_eq!(
            report.methods.iter().filter(|method| method.to_one_thread.is_some()).count(),
            2
        );
        assert_eq!(dir.path().read_dir().unwrap().count(), 0, "every file is removed again");
        assert!(report.to_string().contains("to one thread"));
    }
}

#[test]
fn bare_loops_and_engine_make_the_same_tree() {
    use treering_benches::engine::{FIRST_TREE, create, create_job};
    use treering_benches::flat::FlatTree;
    use treering_engine::{LatencyMode, Target, oracle::TreeSnapshot};

    let dir = scratch();
    let target = Target::open(dir.path()).unwrap();
    let tree = FlatTree::of(&create_tree::load(SMALL).unwrap());
    let buffer = vec![1; 1 << 20];
    treering_benches::bare::by_directory(target.dir(), "a", &tree, &buffer).unwrap();
    treering_benches::bare::by_path(target.dir(), "b", &tree.below("b"), &buffer).unwrap();
    create(create_job(SMALL).unwrap().as_ref(), &target, LatencyMode::Sampled).unwrap();
    let made = |name: &str| TreeSnapshot::from_directory(&dir.path().join(name)).unwrap();
    assert_eq!(made("a"), made("b"));
    assert_eq!(made("a"), made(FIRST_TREE));
}

#[test]
fn step_cost_tells_steps_and_latencies() {
    let options =
        step_cost::Options { dataset: SMALL.to_owned(), rounds: 1, calls: 1000, call_ns: 200 };
    let report = step_cost::measure(&options).unwrap();
    assert_eq!((report.step.len(), report.latency.len()), (4, 4));
    assert!(report.steps > 10_000, "{}", report.steps);
    assert_eq!(report.latency[0].ratio.median, 1.0);
    assert!(report.to_string().lines().count() == 11);
}

#[test]
fn names_scale_tells_memory() {
    let dir = scratch();
    let options = names_scale::Options {
        names: 20_000,
        dir: dir.path().to_owned(),
        own: Path::new(env!("CARGO_BIN_EXE_names_scale")).to_owned(),
        program: program(),
    };
    let with_program = if options.program.is_some() { 2 } else { 0 };
    let report = names_scale::measure(&options).unwrap();
    assert_eq!((report.names, report.steps.len()), (20_000, 3 + with_program));
    assert!(report.steps.iter().all(|step| step.peak_bytes > 1 << 20));
    assert_eq!(dir.path().read_dir().unwrap().count(), 0, "the data set is removed again");
}

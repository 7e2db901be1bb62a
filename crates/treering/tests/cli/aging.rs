//! `treering age`: what it leaves, when it ends, what it says.

use std::fs;

use treering_model::Ending;
use treering_testkit::{LoopFs, require_loop_fs, require_root, temp_dir, tree_of};

use crate::program;
use crate::trial::last;

#[test]
fn profiles_are_listed_and_printed_and_can_be_used_as_files() {
    let program = program();
    let list = program.run(["age", "list"]).ends_with(0).stdout;
    for name in [
        "kernel-tree",
        "mail",
        "database",
        "container",
        "round-robin",
        "shuffled",
        "size-age-depth",
    ] {
        assert!(list.contains(name), "{list}");
        let shown = program.run(["age", "show", name]).ends_with(0).stdout;
        assert!(shown.contains("about = "), "{shown}");
    }
    program.run(["age", "show", "paper"]).ends_with(2).complains("no profile 'paper'");
    let place = temp_dir();
    let (file, target) = (place.path().join("mine.toml"), place.path().join("target"));
    fs::create_dir(&target).unwrap();
    fs::write(&file, program.run(["age", "show", "round-robin"]).stdout).unwrap();
    let (file, target) = (file.to_str().unwrap(), target.to_str().unwrap());
    let words = ["age", target, "--profile", file, "--until", "operations=50"];
    program.run(words).ends_with(0);
    assert_eq!(fs::metadata(format!("{target}/age-0/log/d0/f9")).unwrap().len(), 5 * 4096);
}

#[test]
fn a_directory_is_measured_and_its_profile_makes_files_like_its_own() {
    let program = program();
    let place = temp_dir();
    let (source, target) = (place.path().join("source"), place.path().join("target"));
    fs::create_dir_all(source.join("a/b")).unwrap();
    fs::create_dir(&target).unwrap();
    program.run(["age", "profile", source.to_str().unwrap()]).ends_with(2).complains("no file");
    for number in 0..20 {
        fs::write(source.join(format!("a/b/{number}")), vec![1; 5000]).unwrap();
    }
    let file = place.path().join("like.toml");
    let (file, target) = (file.to_str().unwrap(), target.to_str().unwrap());
    program.run(["age", "profile", source.to_str().unwrap(), "-o", file]).ends_with(0);
    let words = ["age", target, "-p", file, "--live", "1M", "--until", "operations=100"];
    program.run(words.iter().chain(&["--no-store"])).ends_with(0);
    let sizes: Vec<u64> = tree_of(std::path::Path::new(target)).into_values().collect();
    assert!(sizes.len() > 100, "{sizes:?}");
    assert!(sizes.iter().all(|bytes| (4096..8192).contains(bytes)), "{sizes:?}");
    program.run(["age", "profile", "/nowhere/at/all"]).ends_with(2);
}

#[test]
fn a_workload_may_carry_a_profile_out() {
    let program = program();
    let place = temp_dir();
    let target = place.path().to_str().unwrap();
    let file = place.path().join("trees.toml");
    let text = program.run(["age", "show", "kernel-tree"]).stdout;
    let small = text.replace("initial-dirs = \"5\"", "initial-dirs = \"1\"");
    fs::write(&file, small + "mix = \"read=1\"\norder = \"sorted\"\n").unwrap();
    let words = ["age", target, "-p", file.to_str().unwrap(), "--until", "operations=2"];
    let ran = program.run(words).ends_with(0);
    let trial = last(&program);
    assert_eq!(trial.fact("age.operations"), Some("2"), "{ran}");
    assert_eq!(trial.fact("age.stopped_by"), Some("operations=2"));
    assert_eq!(trial.tasks.iter().filter(|task| task.kind == "read").count(), 2);
    assert!(place.path().join("kernel-0").is_dir());
}

#[test]
fn it_must_be_told_where_and_until_when() {
    let program = program();
    program.run(["age"]).ends_with(2);
    program.run(["age", "/nowhere/at/all", "--until", "operations=1"]).ends_with(2);
    let place = temp_dir();
    let target = place.path().to_str().unwrap();
    program.run(["age", target]).ends_with(2).complains("--until is missing");
    program.run(["age", target, "--until", "soon"]).ends_with(2).complains("no rule 'soon'");
    assert_eq!(fs::read_dir(target).unwrap().count(), 0);
}

#[test]
fn the_same_seed_has_the_same_fingerprint_and_another_has_another() {
    let program = program();
    let prints = ["1", "1", "2"].map(|seed| {
        let place = temp_dir();
        let target = place.path().to_str().unwrap();
        let words = ["age", target, "-p", "mail", "--live", "2M", "--seed", seed];
        program.run(words.iter().chain(&["--until", "operations=300", "--quiet"])).ends_with(0);
        last(&program).fact("age.fingerprint").unwrap().to_owned()
    });
    assert_eq!(prints[0], prints[1]);
    assert_ne!(prints[0], prints[2]);
}

#[test]
fn a_filesystem_is_aged_until_its_layout_is_steady_or_it_is_full() {
    require_root!();
    for kind in ["ext4", "xfs", "btrfs"] {
        require_loop_fs!(kind);
        let mounted = LoopFs::new(kind, 400);
        let dir = mounted.path().join("aged");
        fs::create_dir(&dir).unwrap();
        let target = dir.to_str().unwrap();
        let program = program();
        let words = ["age", target, "-p", "mail", "--live", "40M", "--measure-every", "200"];
        let rules = ["--until", "steady=traversal:20%", "--until", "operations=6000"];
        let ran = program.run(words.iter().chain(&rules)).ends_with(0);
        assert!(ran.stderr.contains("operations: "), "{}", ran.stderr);
        assert!(ran.stdout.contains("stopped by"), "{}", ran.stdout);
        let trial = last(&program);
        assert_eq!(trial.ending, Ending::Completed);
        let stopped = trial.fact("age.stopped_by").unwrap();
        assert!(stopped.starts_with("steady=traversal:20%: it drifts by"), "{kind}: {stopped}");
        // Before and after.
        let phases =
            trial.metrics.iter().filter(|one| one.name == "layout_traversal_score_percent");
        let values: Vec<f64> = phases.map(|one| one.value).collect();
        assert!(values.len() == 2 && values[1] < values[0], "{kind}: {values:?}");
        let other = mounted.path().join("full");
        fs::create_dir(&other).unwrap();
        let other = other.to_str().unwrap();
        let words = ["age", other, "-p", "round-robin", "--until", "full=90%", "--quiet"];
        let many = ["--measure-every", "10000"];
        program.run(words.iter().chain(&many)).ends_with(0);
        let stopped = last(&program).fact("age.stopped_by").unwrap().to_owned();
        assert!(stopped.starts_with("full=90%: "), "{kind}: {stopped}");
    }
}

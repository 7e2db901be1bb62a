//! `treering age`: the trees left behind, the end conditions, and the output.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use treering_model::{CautionCode, Ending, Trial};
use treering_store::{Access, Filter, Store};
use treering_testkit::{
    FinishedCommand, LoopFs, Program, require_loop_fs, require_root, temp_dir, tree_of,
};

use crate::program;
use crate::trial::last;

#[test]
fn profiles_are_listed_and_printed_and_can_be_used_as_files() {
    let program = program();
    let list = program.run(["age", "list"]).ends_with(0).stdout;
    for name in [
        "kernel-tree",
        "source-history",
        "mail",
        "database",
        "container",
        "round-robin",
        "shuffled",
        "shuffled-clone",
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
    assert_eq!(
        fs::metadata(format!("{target}/age-0/log/d0/f9")).unwrap().len(),
        (256 << 10) + 5 * 4096
    );
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
    let sizes: Vec<u64> = tree_of(Path::new(target)).into_values().collect();
    assert!(sizes.len() > 100, "{sizes:?}");
    assert!(sizes.iter().all(|bytes| (4096..8192).contains(bytes)), "{sizes:?}");
    let equal = place.path().join("equal");
    fs::create_dir(&equal).unwrap();
    let words = ["age", equal.to_str().unwrap(), "-p", file, "--until", "operations=0"];
    program.run(words.iter().chain(&["--no-store"])).ends_with(0);
    let made = tree_of(&equal);
    assert_eq!((made.len(), made.values().sum::<u64>()), (20, 20 * 5000), "{made:?}");
    assert!(made.keys().all(|path| path.contains("age-0/file/d1/d2/f")), "{made:?}");
    program.run(["age", "profile", "/nowhere/at/all"]).ends_with(2);
}

#[test]
fn a_profile_can_use_another_workload() {
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
fn data_set_files_are_created_below_the_named_directory() {
    let program = program();
    let place = temp_dir();
    let (file, target) = (place.path().join("tree.toml"), place.path().join("target"));
    fs::create_dir(&target).unwrap();
    let text = "about = \"a part of Linux\"\n[[files]]\nname = \"tree\"\n\
                dataset = \"linux-6.1-small\"\ncount = 300\n";
    fs::write(&file, text).unwrap();
    let (file, target) = (file.to_str().unwrap(), target.to_str().unwrap());
    let words = ["age", target, "-p", file, "--shuffled", "95%", "--no-store"];
    program.run(words).ends_with(0);
    let sizes = tree_of(Path::new(target));
    assert_eq!(sizes.len(), 300);
    assert!(sizes.keys().all(|path| path.contains("age-0/tree/")), "{sizes:?}");
    assert!(sizes.keys().any(|path| path.split('/').count() > 4), "{sizes:?}");
    let text = text.replace("300\n", "300\nfan-out = 3\n");
    fs::write(file, &text).unwrap();
    program.run(words).ends_with(2).complains("only `count` and `shuffled`");
    fs::write(file, text.replace("fan-out = 3", "").replace("small", "tiny")).unwrap();
    program.run(words).ends_with(2).complains("there is no dataset 'linux-6.1-tiny'");
}

#[test]
fn remounts_between_rounds_discard_preallocation() {
    require_root!();
    require_loop_fs!("xfs");
    let pieces = |remounts: &[&str]| {
        let place = LoopFs::new("xfs", 400);
        let target = place.path().join("src");
        fs::create_dir(&target).unwrap();
        let target = target.to_str().unwrap();
        let words = ["age", target, "-p", "round-robin", "--measure-every", "10", "--quiet"];
        let until = ["--until", "operations=100", "--no-store"];
        program().run(words.iter().chain(&until).chain(remounts)).ends_with(0);
        let shown = program().run(["layout", target, "--format", "json"]).ends_with(0).stdout;
        let shown: serde_json::Value = serde_json::from_str(&shown).unwrap();
        shown["extents_per_file"].as_f64().unwrap()
    };
    let (remounted, kept) = (pieces(&["--remount-every", "10"]), pieces(&[]));
    // A file has one piece at first, and gets one in each of ten rounds; without a remount it grows
    // into the space preallocated behind it.
    assert!(remounted > 9.0 && remounted <= 11.0, "{remounted}");
    assert!(kept < 6.0, "{kept}");
}

#[test]
fn targets_that_cannot_be_remounted_are_refused() {
    let place = temp_dir();
    let target = place.path().to_str().unwrap();
    let words = ["age", target, "-p", "round-robin", "--until", "operations=20", "--no-store"];
    let refused = |more: &[&str]| program().run(words.iter().chain(more));
    refused(&["--remount-every", "15", "--measure-every", "10"])
        .ends_with(2)
        .complains("not a multiple of the 10 operations of a step");
    require_root!();
    let ran = refused(&["--remount-every", "10", "--measure-every", "10"]);
    assert_ne!(ran.code, Some(0), "{}", ran.stderr);
    assert!(!place.path().join("age-0").exists());
}

#[test]
fn a_non_empty_directory_is_cautioned() {
    let program = program();
    let place = temp_dir();
    let target = place.path().join("target");
    fs::create_dir_all(target.join("old")).unwrap();
    let target = target.to_str().unwrap();
    let words = ["age", target, "-p", "round-robin", "--until", "operations=20", "--quiet"];
    program.run(words).ends_with(0);
    let trial = last(&program);
    let caution = trial.cautions.iter().find(|one| one.code == CautionCode::NotFresh).unwrap();
    assert!(caution.message.contains("it has old"), "{}", caution.message);
}

#[test]
fn target_and_end_condition_are_required() {
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
fn equal_seeds_have_equal_fingerprints() {
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
fn layouts_of_equal_runs_are_compared() {
    require_root!();
    require_loop_fs!("ext4");
    let program = program();
    program.run(["age", "spread"]).ends_with(2).complains("no results");
    for (seed, megabytes) in [("1", 64), ("2", 64), ("1", 64), ("1", 80)] {
        let place = LoopFs::new("ext4", megabytes);
        let words = ["age", place.path().to_str().unwrap(), "--live", "4M", "--quiet"];
        let more_words = ["--until", "operations=200", "--seed", seed];
        program.run(words.iter().chain(&more_words)).ends_with(0);
    }
    let words = ["age", "spread", "--format", "json"];
    let page = program.run(words).ends_with(0).stdout;
    // Only two runs are equal: the others have another list or another size.
    assert_eq!(page.matches("\"2 runs\"").count(), 1, "{page}");
    let list = last(&program);
    assert!(page.contains(list.fact("age.fingerprint").unwrap()), "{page}");
    let page = program.run(["age", "spread", "--format", "csv"]).ends_with(0).stdout;
    assert!(page.contains("free extents,2,"), "{page}");
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
        assert!(ran.stdout.contains("until steady=traversal:20%: it drifts"), "{}", ran.stdout);
        let trial = last(&program);
        assert_eq!(trial.ending, Ending::Completed);
        let stopped = trial.fact("age.stopped_by").unwrap();
        assert!(stopped.starts_with("steady=traversal:20%: it drifts by"), "{kind}: {stopped}");
        // The layout is measured before and after.
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

/// Share of a mounted filesystem that is in use, in percent, as `df` has it.
fn used_percent(place: &Path) -> f64 {
    let df = Command::new("df").args(["--output=size,avail"]).arg(place).output().unwrap();
    let text = String::from_utf8(df.stdout).unwrap();
    let words: Vec<f64> = text.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    100.0 * (1.0 - words[1] / words[0])
}

#[test]
fn a_level_is_kept_until_another_rule_ends_the_run() {
    require_root!();
    let program = program();
    require_loop_fs!("ext4");
    let mounted = LoopFs::new("ext4", 400);
    let target = mounted.path().to_str().unwrap();
    let words = ["age", target, "-p", "database", "--hold-full", "85%", "--quiet"];
    let rest = ["--until", "operations=1500", "--measure-every", "250"];
    program.run(words.iter().chain(&rest)).ends_with(0);
    assert_eq!(last(&program).fact("age.stopped_by"), Some("operations=1500"));
    let percent = used_percent(mounted.path());
    assert!((percent - 85.0).abs() < 2.0, "{percent} %");
    let place = temp_dir();
    let words = ["age", place.path().to_str().unwrap(), "--hold-full", "85%", "--until"];
    let words = words.iter().chain(&["operations=9"]);
    let grows = program.run(words.clone().chain(&["-p", "round-robin"])).ends_with(2);
    grows.complains("this profile cannot keep a level");
    program.run(words.chain(&["--live", "1M"])).ends_with(2).complains("exclude each other");
}

#[test]
fn a_fullness_that_is_reached_before_the_first_operation_is_an_error() {
    require_root!();
    require_loop_fs!("ext4");
    let mounted = LoopFs::new("ext4", 200);
    let words = ["age", mounted.path().to_str().unwrap(), "--live", "150M", "--quiet"];
    let ran = program().run(words.iter().chain(&["--until", "full=70%"]));
    assert_eq!(ran.code, Some(4), "{ran}");
    ran.complains("held before the first operation");
}

/// Runs an aging, ends it by a signal after some steps, and goes on with it.
fn interrupted(program: &Program, target: &str, signal: &str, rules: &[&str]) {
    let words = ["age", target, "-p", "mail", "--measure-every", "100"];
    let mut running = program.start(words.iter().chain(rules));
    let of_steps = |line: &str| line.contains("traversal");
    let mut steps = 0;
    while steps < 3 {
        steps += usize::from(of_steps(&running.wait_for("")));
    }
    running.send(signal);
    let ended = running.finish();
    assert_ne!(ended.code, Some(0), "{ended}");
    let thesis = Path::new(target).join("age-0/message/d0/thesis.txt");
    fs::write(&thesis, "mine").unwrap();
    // A link under the name of a file of the run is not the run's.
    let link = thesis.with_file_name("f999999999");
    std::os::unix::fs::symlink("thesis.txt", &link).unwrap();
    let refused = program.run(["age", target, "--resume"]).ends_with(4);
    refused.complains("age-0/message/d0/f999999999 is not of the interrupted run");
    assert!(link.is_symlink());
    fs::remove_file(&link).unwrap();
    let ran = program.run(["age", target, "--resume"]).ends_with(0);
    assert_eq!(fs::read_to_string(&thesis).unwrap(), "mine");
    fs::remove_file(&thesis).unwrap();
    assert!(ran.stderr.contains("going on behind"), "{ran}");
}

#[test]
fn a_run_that_was_interrupted_goes_on_to_the_files_that_it_would_have_made() {
    let program = program();
    let rules = ["--live", "4M", "--until", "operations=2000"];
    let (whole, other) = (temp_dir(), temp_dir());
    let target = whole.path().to_str().unwrap();
    let words = ["age", target, "-p", "mail", "--measure-every", "100", "--quiet"];
    program.run(words.iter().chain(&rules)).ends_with(0);
    let print = last(&program).fact("age.fingerprint").unwrap().to_owned();
    let names = |place: &Path| -> BTreeMap<String, u64> {
        let below = |path: &str| path.split_once("age-0/").unwrap().1.to_owned();
        tree_of(place).into_iter().map(|(path, bytes)| (below(&path), bytes)).collect()
    };
    for signal in ["INT", "KILL"] {
        let place = other.path().join(signal);
        fs::create_dir(&place).unwrap();
        interrupted(&program, place.to_str().unwrap(), signal, &rules);
        let trial = last(&program);
        assert_eq!(trial.fact("age.operations"), Some("2000"), "{signal}");
        assert_eq!(trial.fact("age.fingerprint"), Some(print.as_str()), "{signal}");
        assert!(trial.fact("age.earlier_operations").is_some(), "{signal}");
        assert_eq!(names(&place), names(whole.path()), "{signal}");
    }
    program.run(["age", target, "--resume"]).ends_with(2).complains("is completed");
    let words = ["age", target, "--resume", "--live", "4M"];
    program.run(words).ends_with(2).complains("cannot be used with");
    let empty = temp_dir();
    let words = ["age", empty.path().to_str().unwrap(), "--resume"];
    program.run(words).ends_with(2).complains("was interrupted");
}

#[test]
fn a_run_that_keeps_a_level_goes_on_by_what_the_filesystem_answered() {
    require_root!();
    require_loop_fs!("xfs");
    let program = program();
    let mounted = LoopFs::new("xfs", 300);
    let rules = ["--hold-full", "80%", "--until", "operations=1500"];
    interrupted(&program, mounted.path().to_str().unwrap(), "KILL", &rules);
    assert_eq!(last(&program).fact("age.operations"), Some("1500"));
}

/// Files below a directory in which some block of 4 KiB is all zeros.
fn with_zeros(dir: &Path) -> Vec<std::path::PathBuf> {
    let is_zero = |block: &[u8]| block.iter().all(|byte| *byte == 0);
    let has_zeros =
        |path: &std::path::PathBuf| fs::read(path).unwrap().chunks_exact(4096).any(is_zero);
    tree_of(dir).into_keys().map(|name| dir.join(name)).filter(has_zeros).collect()
}

#[test]
fn fast_forward_writes_all_data_and_the_same_files() {
    require_root!();
    for kind in ["ext4", "xfs", "btrfs"] {
        require_loop_fs!(kind);
        let files = [false, true].map(|fast_forward| {
            let place = LoopFs::new(kind, 400);
            let target = place.path().to_str().unwrap();
            let words = ["age", target, "-p", "database", "--live", "20M", "--no-store"];
            let words = words.iter().chain(&["--until", "operations=3000"]);
            let more: &[&str] = if fast_forward { &["--fast-forward"] } else { &[] };
            program().run(words.chain(more)).ends_with(0);
            let zeros = with_zeros(place.path());
            assert!(zeros.is_empty(), "{kind}: {zeros:?}");
            tree_of(place.path())
        });
        assert!(files[0] == files[1], "{kind}");
    }
}

#[test]
fn fast_forward_of_a_history_writes_all_data_and_the_same_files() {
    require_root!();
    let place = temp_dir();
    let history = place.path().join("history");
    let mut text = "treering history 1\n".to_owned();
    for step in 0..400_u32 {
        text += &format!("step\nw {} d{}/f{}\n", 500 + step * 90, step % 7, step % 61);
    }
    fs::write(&history, text).unwrap();
    let history = ["-p", "source-history", "--history", history.to_str().unwrap()];
    let trees = place.path().join("trees.toml");
    let text = program().run(["age", "show", "kernel-tree"]).stdout;
    let small = text.replace("initial-dirs = \"5\"", "initial-dirs = \"1\"");
    let mix = "mix = \"patch=3,compile=3,clean=3,delete=1,create=1\"\norder = \"sorted\"\n";
    fs::write(&trees, small + mix).unwrap();
    let trees = ["-p", trees.to_str().unwrap()];
    for kind in ["ext4", "xfs", "btrfs"] {
        require_loop_fs!(kind);
        for (profile, until) in [
            (&trees[..], "operations=10"),
            (&trees, "written=150M"),
            (&history, "operations=300"),
            (&history, "written=5M"),
        ] {
            let files = [false, true].map(|fast_forward| {
                // 2000 operations on trees may need this much space.
                let place = LoopFs::new(kind, 8000);
                let words = ["age", place.path().to_str().unwrap(), "--no-store", "--quiet"];
                let end = ["--until", until];
                let words = words.iter().chain(profile).chain(&end);
                let more: &[&str] = if fast_forward { &["--fast-forward"] } else { &[] };
                program().run(words.chain(more)).ends_with(0);
                let zeros = with_zeros(place.path());
                assert!(zeros.is_empty(), "{kind} {until}: {zeros:?}");
                tree_of(place.path())
            });
            assert!(files[0] == files[1], "{kind} {profile:?} {until}");
        }
    }
}

#[test]
fn fast_forward_without_fallocate_is_refused_and_leaves_nothing() {
    require_root!();
    require_loop_fs!("ext4");
    // The filesystem has no extents, like ext2 and ext3.
    let place = LoopFs::with_options("ext4", 600, &["-O", "^extent,^64bit"]);
    let target = place.path().to_str().unwrap();
    let history = temp_dir();
    let history = history.path().join("history");
    fs::write(&history, "treering history 1\nstep\nw 9 a\n").unwrap();
    for words in [
        &["-p", "mail", "--live", "1M", "--until", "operations=10"][..],
        &["-p", "kernel-tree", "--until", "operations=2"],
        &["-p", "source-history", "--history", history.to_str().unwrap()],
    ] {
        let begin = ["age", target, "--fast-forward", "--no-store"];
        program()
            .run(begin.iter().chain(words))
            .ends_with(4)
            .complains("cannot allocate what is not written");
        for left in ["age-0", "kernel-0", "probe"] {
            assert!(!place.path().join(left).exists());
        }
    }
}

fn git(place: &Path, words: &[&str], input: &[u8]) {
    use std::io::Write;
    let mut command = Command::new("git");
    command.arg("-C").arg(place).args(words).stdin(Stdio::piped()).stdout(Stdio::null());
    command.env("GIT_CONFIG_NOSYSTEM", "1").env("HOME", place);
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(input).unwrap();
    assert!(child.wait().unwrap().success(), "git {words:?}");
}

/// Stream for `git fast-import`: files are added, changed, renamed and deleted, and a branch is
/// merged.
fn repository(place: &Path, commits: u32) {
    git(place, &["init", "-q", "--initial-branch=main", "."], b"");
    let mut stream = String::new();
    let mut commit = |branch: &str, extra: &str, changes: &[(&str, Option<usize>)]| {
        use std::fmt::Write;
        let head = format!("commit refs/heads/{branch}\ncommitter a <a@b> 1700000000 +0000\n");
        let _ = write!(stream, "{head}data 1\nm\n{extra}");
        for (path, bytes) in changes {
            let _ = match bytes {
                Some(bytes) => {
                    writeln!(stream, "M 100644 inline {path}\ndata {bytes}\n{}", "x".repeat(*bytes))
                }
                None => writeln!(stream, "D {path}"),
            };
        }
        stream.push('\n');
    };
    let many = (0..40).map(|number| format!("src/d{}/f{number}", number % 7)).collect::<Vec<_>>();
    let all: Vec<_> = many.iter().map(|path| (path.as_str(), Some(3000))).collect();
    commit("main", "", &all);
    commit("main", "", &[("\"odd\\nna\\303\\244me %\"", Some(7)), ("src/d0/f0", None)]);
    commit("side", "from refs/heads/main\n", &[("side/new", Some(11))]);
    commit("main", "merge refs/heads/side\n", &[("side/new", Some(11)), ("kind", Some(1))]);
    commit("main", "", &[("kind", None), ("kind/inside", Some(2))]);
    commit("main", "", &[("kind/inside", None), ("kind", Some(3))]);
    commit("main", "", &[]);
    for number in 0..commits {
        let path = format!("src/d{}/n{}", number % 7, number % 90);
        let size = 500 + (number as usize * 7919) % 20_000;
        commit(
            "main",
            "",
            &[(&path, Some(size)), (&many[number as usize % 39 + 1], Some(size / 2))],
        );
    }
    let links = "M 120000 inline link\ndata 4\nkind\n";
    commit("main", "", &[]);
    stream.truncate(stream.len() - 1);
    stream += links;
    git(place, &["fast-import", "--quiet"], stream.as_bytes());
}

#[test]
fn an_extracted_history_is_replayed_without_its_repository() {
    let program = program();
    let place = temp_dir();
    let (source, target) = (place.path().join("source"), place.path().join("target"));
    fs::create_dir(&source).unwrap();
    fs::create_dir(&target).unwrap();
    repository(&source, 200);
    let file = place.path().join("history");
    let (file, source_text) = (file.to_str().unwrap(), source.to_str().unwrap());
    program.run(["age", "extract", source_text, "-o", file]).ends_with(0);
    let text = fs::read_to_string(file).unwrap();
    assert!(
        text.contains("w 7 odd%0Ana%C3%A4me %25\n") && text.contains("d src/d0/f0\n"),
        "{text}"
    );
    // The aged tree must equal the one that git checks out.
    git(&source, &["checkout", "-q", "-f", "main"], b"");
    let wanted: BTreeMap<_, _> = tree_of(&source)
        .into_iter()
        .filter(|(path, _)| !path.starts_with(".git") && path != "link")
        .collect();
    fs::remove_dir_all(&source).unwrap();
    let target = target.to_str().unwrap();
    let words = ["age", target, "-p", "source-history", "--history", file];
    program.run(words.iter().chain(&["--measure-every", "50", "--quiet"])).ends_with(0);
    let existing: BTreeMap<_, _> = tree_of(&Path::new(target).join("age-0")).into_iter().collect();
    assert_eq!(existing, wanted);
    let trial = last(&program);
    assert_eq!(trial.ending, Ending::Completed);
    assert_eq!(trial.fact("age.operations"), Some("205"));
    // Errors in the arguments and in the history are reported.
    program.run(["age", target, "-p", "source-history"]).ends_with(2).complains("--history is");
    program.run(["age", target, "--history", file, "--until", "operations=1"]).ends_with(2);
    fs::write(file, "treering history 1\nstep\nw 3 ../out\n").unwrap();
    program.run(words).ends_with(2).complains("history:3: not a path");
    program.run(["age", "extract", "/nowhere/at/all"]).ends_with(2).complains("repository");
    program.run(["age", "extract", target, "--revision=--all"]).ends_with(2);
}

#[test]
fn a_history_with_git_leaves_what_pulls_with_collected_garbage_leave() {
    let program = program();
    let place = temp_dir();
    let at = |name: &str| place.path().join(name);
    for name in ["source", "target", "tmp"] {
        fs::create_dir(at(name)).unwrap();
    }
    // The 85 commits have two objects in `objects/17`, from which git estimates all loose ones.
    repository(&at("source"), 85);
    let (file, source, target) = (at("history"), at("source"), at("target"));
    let [file, source, target] = [&file, &source, &target].map(|path| path.to_str().unwrap());
    let words = ["age", "extract", source, "-o", file, "--with-git", "--gc-auto", "100"];
    let mut extract = program.command(words);
    extract.env("TMPDIR", at("tmp"));
    FinishedCommand::run(&mut extract).ends_with(0);
    assert_eq!(fs::read_dir(at("tmp")).unwrap().count(), 0);
    let words = ["age", target, "-p", "source-history", "--history", file, "--quiet"];
    program.run(words.iter().chain(&["--fast-forward"])).ends_with(2).complains("--fast-forward");
    program.run(words).ends_with(0);
    assert_eq!(last(&program).fact("age.operations"), Some("91"));
    // The same pulls, by git.
    let settings = "[gc]\nauto = 100\nautoDetach = false\n[maintenance]\nautoDetach = false\n\
                    [pack]\nthreads = 1\n[user]\nname = treering\nemail = treering@localhost\n";
    fs::write(at("settings"), settings).unwrap();
    let pulled = at("pulled");
    let git = |words: &[&str]| {
        let mut command = Command::new("git");
        command.args(words).env("GIT_CONFIG_NOSYSTEM", "1");
        command.env("GIT_CONFIG_GLOBAL", at("settings"));
        FinishedCommand::run(&mut command).ends_with(0).stdout
    };
    let into = pulled.to_str().unwrap();
    git(&["init", "-q", "--template=", "--initial-branch=main", into]);
    let commits = git(&["-C", source, "rev-list", "--reverse", "--first-parent", "main"]);
    for commit in commits.lines() {
        let from = format!("{source}/.git");
        git(&["-C", into, "pull", "--quiet", "--no-edit", "--ff-only", &from, commit]);
    }
    let wanted: BTreeMap<_, _> =
        tree_of(&pulled).into_iter().filter(|(path, _)| path != "link").collect();
    let existing: BTreeMap<_, _> = tree_of(&Path::new(target).join("age-0")).into_iter().collect();
    assert!(
        wanted.keys().any(|path| path.starts_with(".git/objects/pack/")),
        "no garbage was collected"
    );
    assert!(wanted.keys().any(|path| path.starts_with(".git/objects/0")), "no loose objects");
    assert_eq!(existing, wanted);
}

#[test]
fn jobs_of_a_plan_start_from_the_ages_of_one_run_and_from_copies() {
    require_root!();
    require_loop_fs!("ext4");
    let program = program();
    let plan = program.home().join("ages.toml");
    let text = "rounds = 1\nwarm-up = false\ndevice = { loop = \"64MiB\", sparse = true }\n\
                [aging]\nage = [0, 100]\noptions = { profile = \"mail\", live = \"4M\" }\n\
                [[variant]]\nfilesystem = \"ext4\"\n\
                [[job]]\nname = \"read\"\ncommand = \"cat */*/*/* > /dev/null || true\"\n";
    fs::write(&plan, text).unwrap();
    let ran = program.run(["compare", plan.to_str().unwrap()]).ends_with(0);
    for words in ["aging to 0 operations", "aging to 100 operations", "copying the files of 100"] {
        assert_eq!(ran.stderr.matches(words).count(), 1, "{words}: {}", ran.stderr);
    }
    let words = ["plan", "sweep", "--plan", "ages", "--metric", "layout_extents_per_file"];
    let page = program.run(words).ends_with(0).stdout;
    for row in ["ext4, aged", "ext4, copied"] {
        assert_eq!(page.lines().filter(|line| line.starts_with(row)).count(), 2, "{page}");
    }
    let words = ["plan", "sweep", "--plan", "ages", "--metric", "aging_write_amplification"];
    let page = program.run(words).ends_with(0).stdout;
    assert!(page.contains("ext4, aged") && !page.contains("ext4, copied"), "{page}");
}

/// The kernel knows btrfs on several devices by its identity, and xfs refuses to mount one twice;
/// an image has the identity of the filesystem that it was taken of.
#[test]
fn filesystems_of_one_identity_are_aged_and_copied() {
    require_root!();
    require_loop_fs!("btrfs");
    require_loop_fs!("xfs");
    let program = program();
    let uuid = "uuid=11111111-2222-3333-4444-555555555555";
    for (name, device) in [
        ("btrfs\"", "loop = \"200MiB\", count = 2"),
        (&*format!("xfs\"\nmkfs = [\"-m\", \"{uuid}\"]"), "loop = \"400MiB\""),
    ] {
        let plan = program.home().join("plan.toml");
        let text = format!(
            "rounds = 1\nwarm-up = false\ndevice = {{ {device}, sparse = true }}\n\
             [aging]\nage = [0, 50, 100]\noptions = {{ profile = \"mail\", live = \"4M\" }}\n\
             [[variant]]\nfilesystem = \"{name}\n\
             [[job]]\nname = \"read\"\ncommand = \"ls */*\"\n"
        );
        fs::write(&plan, text).unwrap();
        let ran = program.run(["compare", plan.to_str().unwrap()]).ends_with(0);
        assert_eq!(ran.stderr.matches("copying the files of").count(), 3, "{ran}");
    }
}

/// Images of an age are gone with the process, and another aging gives other ones.
#[test]
fn a_resumed_round_of_ages_runs_whole_from_one_aging() {
    require_root!();
    require_loop_fs!("ext4");
    let program = program();
    let plan = program.home().join("ages.toml");
    let calls = program.home().join("calls");
    let text = format!(
        "rounds = 1\nwarm-up = false\ndevice = {{ loop = \"64MiB\", sparse = true }}\n\
         [aging]\nage = [0, 50]\ncopies = false\n\
         options = {{ profile = \"mail\", live = \"4M\" }}\n\
         [[variant]]\nfilesystem = \"ext4\"\n\
         [[job]]\nname = \"read\"\n\
         command = \"echo x >> {0}; test $(wc -l < {0}) != 2\"\n",
        calls.display()
    );
    fs::write(&plan, text).unwrap();
    let words = ["compare", plan.to_str().unwrap()];
    let count = || fs::read_to_string(&calls).unwrap().lines().count();
    program.run(words);
    assert_eq!(count(), 2);
    let resumed = program.run(words.into_iter().chain(["--resume"])).ends_with(0);
    assert_eq!(count(), 4, "{resumed}");
    assert_eq!(resumed.stderr.matches("aging to 50 operations").count(), 1, "{resumed}");
    let store = Store::open(program.data().join("results.treering"), Access::ReadOnly).unwrap();
    let ids = store.trials(&Filter::default()).unwrap();
    let parts = ids.iter().map(|one| store.load(one.trial).unwrap());
    let parts: Vec<Trial> = parts.filter(|trial| trial.beginning.workload == "age").collect();
    assert_eq!(parts.len(), 4);
    for part in parts {
        let variant = &part.beginning.cell.as_ref().unwrap().variant;
        assert_eq!(part.fact("variant.name"), Some(variant.as_str()));
        assert_eq!((&part.beginning.label, part.fact("age.start_operations")), (variant, None));
    }
}

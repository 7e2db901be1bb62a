//! Directories in which a run must be refused, and some in which it works.

use std::ffi::OsStr;
use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::PathBuf;
use std::process::Command;

use treering_testkit::{
    FinishedCommand, FourLists, LoopFs, Program, is_root, require_root, tree_of,
};

use crate::program;
use crate::trial::{cautions, last};

/// User ID of `nobody`, who owns no files.
const NOBODY: u32 = 65534;

fn prepared() -> Program {
    let program = program();
    FourLists::tiny().write_to(&program.home().join("lists"));
    program
}

const SMALL: [&str; 4] = ["--initial-dirs", "1", "--runs", "2"];

/// Words of a small native run.
fn native<'a>(dir: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let words = ["run", "compilebench", "--dataset", "./lists", "--dir", dir];
    [&words, &SMALL[..], more].concat()
}

/// Runs the program as a user other than root.
fn run_unprivileged<A: AsRef<OsStr>>(program: &Program, words: &[A]) -> FinishedCommand {
    if !is_root() {
        return program.run(words);
    }
    // Another user may not be able to read the build directory, so the program is copied.
    let copy: PathBuf = program.home().join("treering");
    program.copy_to(&copy);
    fs::set_permissions(&copy, Permissions::from_mode(0o755)).unwrap();
    fs::create_dir_all(program.data()).unwrap();
    chown(program.data(), Some(NOBODY), Some(NOBODY)).unwrap();
    let mut command = Command::new("setpriv");
    let user = ["--reuid=65534", "--regid=65534", "--clear-groups"];
    FinishedCommand::run(program.prepare(&mut command).args(user).arg(copy).args(words))
}

#[test]
fn a_directory_that_cannot_be_written_is_refused() {
    let program = prepared();
    let dir = program.home().join("closed");
    fs::create_dir(&dir).unwrap();
    fs::set_permissions(&dir, Permissions::from_mode(0o555)).unwrap();
    let ran = run_unprivileged(&program, &native("closed", &["--no-store"])).ends_with(3);
    assert!(ran.stderr.contains("closed") && ran.stderr.contains("Permission denied"), "{ran}");
    assert!(ran.stderr.contains("hint: choose a directory that you can write to"), "{ran}");
    let below = run_unprivileged(&program, &native("closed/below", &["--no-store"])).ends_with(2);
    assert!(below.stderr.contains("there is no directory closed/below"), "{below}");
    let words = ["compilebench", "-D", "closed", "-s", "lists", "-i1", "-r0", "--no-store"];
    let classic = run_unprivileged(&program, &words).ends_with(1);
    assert!(classic.stderr.contains("closed/native-0: Permission denied"), "{classic}");
    assert!(tree_of(&dir).is_empty());
}

#[test]
fn a_run_without_root_reports_kept_caches() {
    let program = prepared();
    let dir = program.home().join("own");
    fs::create_dir(&dir).unwrap();
    if is_root() {
        chown(&dir, Some(NOBODY), Some(NOBODY)).unwrap();
    }
    let ran = run_unprivileged(&program, &native("own", &[])).ends_with(0);
    assert!(ran.stderr.contains("(caches_not_dropped)"), "{ran}");
    assert_eq!(ran.stderr.matches("caches_not_dropped").count(), 1, "said once");
    assert!(cautions(&last(&program)).contains(&"caches_not_dropped"));
    let words = ["compilebench", "-D", "own", "-s", "lists", "-i", "2", "-r", "5"];
    let classic = run_unprivileged(&program, &words).ends_with(0);
    let line = "error on drop caches, will skip it from now on";
    assert_eq!(classic.stderr.lines().filter(|said| *said == line).count(), 1, "{classic}");
    fs::remove_dir_all(&dir).unwrap();
    fs::create_dir(&dir).unwrap();
    if is_root() {
        chown(&dir, Some(NOBODY), Some(NOBODY)).unwrap();
    }
    let kept = run_unprivileged(&program, &native("own", &["--drop-caches", "none"])).ends_with(0);
    assert!(!kept.stderr.contains("caches_not_dropped"), "{kept}");
}

#[test]
fn a_file_is_refused_as_directory() {
    let program = prepared();
    fs::write(program.home().join("file"), "mine").unwrap();
    let ran = program.run(native("file", &[])).ends_with(2);
    assert!(ran.stderr.contains("file is not a directory"), "{ran}");
    let below = program.run(native("file/below", &[])).ends_with(3);
    assert!(below.stderr.contains("file/below: Not a directory"), "{below}");
    program
        .run(["compilebench", "-D", "file", "-s", "lists"])
        .ends_with(1)
        .complains("file: Not a directory");
    assert_eq!(fs::read_to_string(program.home().join("file")).unwrap(), "mine");
    assert!(!program.data().exists(), "nothing was kept");
}

#[test]
fn a_directory_without_its_option_is_refused_with_the_option() {
    let program = prepared();
    let native = program.run(["run", "compilebench", "lists"]).ends_with(2);
    assert!(native.stderr.contains("lists is a directory, which goes with --dir DIR"), "{native}");
    let two = program.run(["compare", "lists", "lists"]).ends_with(2);
    assert!(two.stderr.contains("lists is a directory, which goes with --directories"), "{two}");
    for (words, tip) in [
        (&["--directories", "a", "b", "--rounds", "3"][..], "by commas: --directories a,b"),
        (&["--dir", "a,b"], "directories to compare go with --directories DIR,DIR"),
        (
            &["--directories", "a,b", "--", "fs_mark", "--files", "9"],
            "--workload fs_mark -- OPTIONS",
        ),
    ] {
        program.run([&["compare"], words].concat()).ends_with(2).complains(tip);
    }
}

#[test]
fn missing_parents_are_made() {
    let program = prepared();
    program.run(native("a/b/c", &[])).ends_with(0);
    assert_eq!(fs::read_dir(program.home().join("a/b/c")).unwrap().count(), 0, "nothing is left");
}

#[test]
fn a_directory_with_trees_is_refused() {
    let program = prepared();
    fs::create_dir_all(program.home().join("w/kernel-7/fs")).unwrap();
    fs::write(program.home().join("w/kernel-7/fs/mine.c"), "mine").unwrap();
    let ran = program.run(native("w", &[])).ends_with(2);
    assert!(ran.stderr.contains("kernel-7"), "{ran}");
    assert!(ran.stderr.contains("hint: name an empty directory"), "{ran}");
    assert_eq!(tree_of(&program.home().join("w")).len(), 1, "nothing was touched");
    // Without the mark of a killed run, `clean` removes nothing.
    let clean = program.run(["clean", "w"]).ends_with(0);
    assert!(clean.stdout.contains("w: nothing to clean (no mark of a killed run)"), "{clean}");
    assert_eq!(tree_of(&program.home().join("w")).len(), 1);
}

#[test]
fn other_files_in_the_directory_are_left_alone() {
    let program = prepared();
    fs::create_dir_all(program.home().join("w/mine")).unwrap();
    fs::write(program.home().join("w/mine/kernel-1"), "mine").unwrap();
    program.run(native("w", &[])).ends_with(0);
    let left = tree_of(&program.home().join("w"));
    assert_eq!(left.into_iter().collect::<Vec<_>>(), [("mine/kernel-1".to_owned(), 4)]);
}

#[test]
fn a_read_only_filesystem_is_refused() {
    require_root!();
    let program = prepared();
    let place = LoopFs::in_memory(8);
    let remount = |how: &str| {
        let mut command = Command::new("mount");
        FinishedCommand::run(command.args(["-o", how]).arg(place.path())).ends_with(0);
    };
    remount("remount,ro");
    let ran = program.run(native(place.path().to_str().unwrap(), &[])).ends_with(3);
    assert!(ran.stderr.contains("mounted read-only"), "{ran}");
    assert!(ran.stderr.contains("hint: remount it read-write"), "{ran}");
}

#[test]
fn invalid_settings_are_refused_before_files_are_created() {
    let program = prepared();
    for (words, complaint) in [
        (&["--mix", "make=1"][..], "--mix: 'make' is no kind of operation"),
        (&["--mix", "create=0"], "--mix: all weights are 0"),
        (&["--threads", "0"], "--threads: '0' is not a whole number from 1"),
        (&["--fill", "140%"], "--fill: '140%' is not a percentage"),
        (&["--fill", "10%"], "--fill and --initial-dirs exclude each other"),
        (&["--compressibility", "101%"], "--compressibility: '101%' is not a percentage"),
        (
            &["--payload", "classic", "--compressibility", "10%"],
            "--compressibility goes with --payload random only",
        ),
        (&["--order", "backwards"], "backwards"),
        (&["--store", "x", "--no-store"], "--no-store"),
    ] {
        program.run(native("w", words)).ends_with(2).complains(complaint);
        assert!(tree_of(&program.home().join("w")).is_empty(), "{words:?}");
    }
    let without_dir = ["run", "compilebench", "--dataset", "./lists"];
    program.run(without_dir).ends_with(2).complains("--dir");
}

#[test]
fn words_without_their_options_are_answered_with_the_options() {
    let program = program();
    for (words, tip) in [
        (vec!["compare", "xfs", "btrfs"], "filesystems go with --filesystems xfs,btrfs"),
        (vec!["compare", "ext4,xfs"], "`--filesystems ext4,xfs`"),
        (vec!["compare", "ext4"], "`--filesystems ext4,OTHER`"),
        (vec!["report", "old", "new"], "labels go with --baseline old --contender new"),
        (vec!["age", "profil", "/tmp"], "did you mean `treering age profile`?"),
        (vec!["--limit", "3", "list"], "options stand after the verb: treering list --limit 3"),
        (vec!["age", "/tmp", "--dir", "/tmp"], "without an option: treering age DIR"),
        (vec!["run", "--workload", "fs_mark"], "without an option: treering run WORKLOAD"),
        (vec!["dataset", "list", "linux"], "did you mean `treering dataset show linux`?"),
        (vec!["store", "verify"], "there are: info, check,"),
        (vec!["age", "mail", "--until", "operations=1"], "treering age DIR --profile mail"),
    ] {
        program.run(&words).ends_with(2).complains(tip);
    }
}

//! Runs whose filesystem, store or limits fail in the middle: the first message, and the stored
//! results.

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread::sleep;
use std::time::{Duration, Instant};

use treering_model::Ending;
use treering_testkit::{
    FinishedCommand, FourLists, LoopFs, Program, RunningProgram, fill, require_loop_fs,
    require_root, skip,
};

use crate::faults::run;
use crate::program;
use crate::trial::{count, failure, last};

/// Command lines of each workload that run for a long time and fail at a refused call.
const LONG: [&[&str]; 8] = [
    &["compilebench", "--dataset", "./lists", "-i", "200", "-r", "0", "--sync", "none"],
    &["fs_mark", "--files", "200000", "--size", "0", "--sync-method", "none"],
    &["ffsb", "p.ffsb"],
    &["bonnie++", "--size", "0", "--files", "180000"],
    &["dbench", "--time", "60"],
    &["blogbench"],
    &["fio", "a.fio"],
    &["filebench", "varmail", "--seconds", "60"],
];

fn prepared() -> Program {
    let program = program();
    FourLists::wide(300, 10).write_to(&program.home().join("lists"));
    let job = "[a]\nrw=randwrite\nsize=1m\nruntime=60\ntime_based\nfsync=1\n";
    fs::write(program.home().join("a.fio"), job).unwrap();
    let profile = "time=60\nverbose=0\n[filesystem0]\nlocation=.\nnum_files=100\nnum_dirs=4\n\
                   min_filesize=4096\nmax_filesize=65536\n[end0]\n[threadgroup0]\nnum_threads=2\n\
                   create_weight=1\ndelete_weight=1\nappend_weight=1\nwrite_size=4096\n\
                   write_blocksize=4096\n[end0]\n";
    fs::write(program.home().join("p.ffsb"), profile).unwrap();
    program
}

/// Starts the run in `w` on this filesystem, and waits until it has a tree that is not empty.
fn begun(program: &Program, words: &[&str], place: &Path) -> (RunningProgram, PathBuf) {
    let dir = place.join("w");
    let mut command_words = vec!["run", words[0], "--dir", dir.to_str().unwrap()];
    command_words.extend(&words[1..]);
    let mut run = program.start(&command_words);
    let holds = |entry: &fs::DirEntry| {
        fs::read_dir(entry.path()).is_ok_and(|mut inside| inside.next().is_some())
    };
    let began = Instant::now();
    while !fs::read_dir(&dir).into_iter().flatten().flatten().any(|entry| holds(&entry)) {
        assert!(run.is_alive(), "{words:?}\n{}", run.finish());
        assert!(began.elapsed().as_secs() < 120, "{words:?} makes no tree");
        sleep(Duration::from_millis(20));
    }
    (run, dir)
}

/// Kernel name of the block device that holds a directory.
fn device_of(dir: &Path) -> String {
    let (major, minor) = treering_sys::major_minor(fs::metadata(dir).unwrap().dev());
    let folder = fs::canonicalize(format!("/sys/dev/block/{major}:{minor}")).unwrap();
    folder.file_name().unwrap().to_str().unwrap().to_owned()
}

/// Asserts that the run failed with exit code 4, that the reason is stored and printed before the
/// list of files left behind, and that there is a summary.
fn failed_first(program: &Program, ran: FinishedCommand, whys: &[&str]) {
    let ran = ran.ends_with(4);
    let trial = last(program);
    let kept = failure(&trial);
    assert!(whys.iter().any(|why| kept.contains(why)), "{kept}\n{ran}");
    let said = ran.stderr.find(&format!("treering: the trial failed: {kept}"));
    let said = said.unwrap_or_else(|| panic!("{ran}"));
    let left = ran.stderr.find("treering: left behind: ");
    assert!(left.is_some_and(|left| said < left), "{ran}");
    assert!(ran.stdout.contains("failed"), "a summary: {ran}");
}

#[test]
fn every_workload_reports_first_that_an_ext4_turned_read_only() {
    require_loop_fs!("ext4");
    let features = Path::new("/sys/fs/ext4/features");
    if !features.exists() {
        skip("ext4 has no folder in /sys");
        return;
    }
    for words in LONG {
        let program = prepared();
        // The filesystem has inodes for many empty files.
        let place = LoopFs::with_options("ext4", 600, &["-N", "400000"]);
        let path = place.path().to_str().unwrap();
        run(Command::new("mount").args(["-o", "remount,errors=remount-ro", path])).unwrap();
        let (started, dir) = begun(&program, words, place.path());
        let trigger = format!("/sys/fs/ext4/{}/trigger_fs_error", device_of(place.path()));
        fs::write(trigger, "a test").unwrap();
        let ran = started.finish();
        // A load of dbench may continue for a while after the first failed call.
        let reasons = ["Read-only file system", "Input/output error", "Bad message", "client "];
        failed_first(&program, ran, &reasons);
        // The mark stays, so that `clean` can remove the trees when the filesystem is writable
        // again.
        assert!(dir.join(".treering-run").exists(), "{words:?}");
    }
}

#[test]
fn a_trial_reports_first_that_an_xfs_was_shut_down() {
    require_loop_fs!("xfs");
    for words in [LONG[0], LONG[1], LONG[7]] {
        let program = prepared();
        let place = LoopFs::new("xfs", 600);
        let (started, _) = begun(&program, words, place.path());
        let path = place.path().to_str().unwrap();
        if let Err(why) = run(Command::new("xfs_io").args(["-x", "-c", "shutdown", path])) {
            skip(&why);
            return;
        }
        failed_first(&program, started.finish(), &["Input/output error"]);
    }
}

#[test]
fn a_lazily_unmounted_filesystem_is_used_and_cleaned_to_the_end() {
    require_loop_fs!("ext4");
    let program = prepared();
    let place = LoopFs::with_options("ext4", 600, &["-N", "400000"]);
    let (mut started, dir) = begun(&program, LONG[0], place.path());
    started.wait_for("initial create kernel-1 ");
    // Another mount shows what happens to the files.
    let again = treering_testkit::temp_dir();
    let [here, there] = [place.path(), again.path()].map(|path| path.to_str().unwrap());
    run(Command::new("mount").args(["--bind", here, there])).unwrap();
    run(Command::new("umount").args(["-l", here])).unwrap();
    started.wait_for("initial create");
    started.send("INT");
    let ran = started.finish();
    let left: Vec<_> = fs::read_dir(again.path().join("w")).unwrap().flatten().collect();
    // The mount point must exist again for the final unmount.
    run(Command::new("mount").args(["--bind", there, here])).unwrap();
    run(Command::new("umount").arg(there)).unwrap();
    let ran = ran.ends_with(130);
    assert!(!ran.stderr.contains("left behind"), "{ran}");
    assert!(left.is_empty() && dir.exists(), "{left:?}\n{ran}");
}

#[test]
fn a_full_store_is_reported_after_the_summary() {
    require_root!();
    let program = prepared();
    let place = LoopFs::in_memory(2);
    let store = place.path().join("results.treering");
    let store = store.to_str().unwrap();
    let words = ["run", "compilebench", "--dataset", "./lists", "--dir", "w", "-i", "300"];
    let words = [&words[..], &["-r", "0", "--order", "sorted", "--store", store]].concat();
    let mut started = program.start(&words);
    started.wait_for("initial create kernel-1 ");
    let filler = fill(&place.path().join("filler"));
    let ran = started.finish().ends_with(3);
    let why = format!("treering: the results could not be kept: no space to write {store}");
    assert!(ran.stderr.contains(&why) && ran.stderr.contains("hint: free some space"), "{ran}");
    assert!(ran.stdout.contains("initial create"), "a summary: {ran}");
    let quiet = program.run([&words[..], &["--quiet"]].concat()).ends_with(3);
    assert!(quiet.stderr.contains("no space to write"), "{quiet}");
    drop(filler);
    let program = program.with_data(place.path().join("data"));
    let _filler = fill(&place.path().join("filler"));
    let classic = ["compilebench", "-n", "-s", "lists", "-i", "2", "-r", "0", "-D", "c"];
    let ran = program.run(classic).ends_with(0);
    let lines: Vec<_> = ran.stderr.lines().filter(|line| line.contains("treering")).collect();
    assert!(!lines.is_empty() && lines.iter().any(|line| line.contains("space")), "{ran}");
    assert!(ran.stdout.contains("intial create total runs 2"), "{ran}");
}

#[test]
fn a_classic_run_without_a_store_prints_one_line() {
    let program = prepared();
    let words = ["compilebench", "-n", "-s", "lists", "-i", "2", "-r", "0", "-D", "w"];
    let homeless = |words: &[&str]| {
        FinishedCommand::run(program.command(words).env_remove("HOME").env_remove("TREERING_DATA"))
    };
    let ran = homeless(&words).ends_with(0);
    let ours: Vec<_> = ran.stderr.lines().filter(|line| line.starts_with("treering: ")).collect();
    let line = "treering: the results are not stored: no place for results: neither HOME nor \
                XDG_DATA_HOME is set";
    assert_eq!(ours, [line], "{ran}");
    assert!(ran.stdout.contains("intial create total runs 2"), "{ran}");
    // A store that the user named must be usable, and native runs need a store.
    let named = [&words[..], &["--store", "lists"]].concat();
    homeless(&named).ends_with(3);
    let native = ["run", "compilebench", "--dataset", "./lists", "--dir", "n", "-i", "1"];
    homeless(&native).ends_with(3).complains("no place for results");
    // The data directory cannot be created, since a file has its name.
    let closed = program.home().join("closed");
    fs::write(&closed, "").unwrap();
    let ran =
        FinishedCommand::run(program.command(words).env("TREERING_DATA", &closed)).ends_with(0);
    assert!(ran.stderr.contains("treering: the results are not stored: "), "{ran}");
    assert_eq!(count(&program), 0);
}

#[test]
fn a_limit_of_open_files_is_raised_or_reported() {
    let program = prepared();
    let job = "[a]\nrw=randrw\nsize=8m\nnrfiles=64\nopenfiles=64\nfile_service_type=random\n";
    fs::write(program.home().join("many.fio"), job).unwrap();
    let limited = |limit: &str, dir: &str| {
        fs::create_dir_all(program.home().join(dir)).unwrap();
        let mut command = Command::new("sh");
        let words = ["run", "fio", "many.fio", "--dir", dir];
        command.args(["-c", &format!("{limit} && exec \"$0\" \"$@\"")]);
        command.arg(env!("CARGO_BIN_EXE_treering")).args(words);
        FinishedCommand::run(program.prepare(&mut command))
    };
    limited("ulimit -Sn 30", "raised").ends_with(0);
    let ran = limited("ulimit -n 30", "named").ends_with(4);
    assert!(matches!(last(&program).ending, Ending::Failed { .. }), "{ran}");
    for words in ["Too many open files", "the limit of open files is 30", "ulimit -Hn"] {
        assert!(ran.stderr.contains(words), "{words}: {ran}");
    }
}

#[test]
fn a_missing_file_is_a_usage_error() {
    let program = prepared();
    for words in [
        &["import", "nowhere"][..],
        &["compare", "nowhere.toml"],
        &["doctor", "nowhere"],
        &["clean", "nowhere"],
        &["layout", "nowhere"],
        &["layout", "lists", "--heat", "nowhere"],
        &["trace", "show", "nowhere"],
        &["trace", "plot", "nowhere", "-o", "plot.svg"],
        &["dataset", "record", "x", "--clean", "nowhere"],
        &["dataset", "import", "nowhere"],
        &["list", "--store", "nowhere"],
        &["show", "last", "--store", "nowhere"],
        &["export", "--store", "nowhere"],
        &["report", "--store", "nowhere"],
        &["run", "fio", "nowhere.fio", "--dir", "w"],
        &["run", "ffsb", "nowhere.ffsb", "--dir", "w"],
        &["run", "filebench", "nowhere.f", "--dir", "w"],
        &["run", "dbench", "nowhere", "--dir", "w"],
        &["run", "compilebench", "--dataset", "./nowhere", "--dir", "w"],
    ] {
        let ran = program.run(words);
        assert_eq!(ran.code, Some(2), "{words:?}: {ran}");
        assert!(ran.stderr.contains("nowhere"), "{words:?}: {ran}");
    }
}

/// Command lines that need more than a dozen threads or processes.
const CROWDED: [&[&str]; 5] = [
    &["run", "fs_mark", "--threads", "40", "--files", "1", "--size", "0"],
    &["run", "filebench", "oltp", "--seconds", "1"],
    &["run", "fio", "crowd.fio"],
    &["run", "dbench", "--clients", "40", "--time", "1", "--warmup", "0"],
    &["run", "ffsb", "crowd.ffsb"],
];

/// Runs [`CROWDED`] from a shell under a limit; the runs must end and name the limit.
fn crowded(program: &Program, limited: impl Fn() -> Command, limit: &str) {
    let job = "[a]\nrw=randwrite\nsize=4k\nnumjobs=40\n";
    fs::write(program.home().join("crowd.fio"), job).unwrap();
    let profile = fs::read_to_string(program.home().join("p.ffsb")).unwrap();
    let profile = profile.replace("num_threads=2", "num_threads=40").replace("time=60", "time=1");
    fs::write(program.home().join("crowd.ffsb"), profile).unwrap();
    for (number, words) in CROWDED.iter().enumerate() {
        let mut command = limited();
        command.arg(env!("CARGO_BIN_EXE_treering")).args(*words);
        let dir = format!("w{number}");
        let place = program.home().join(&dir);
        fs::create_dir_all(&place).unwrap();
        // Some of the runs have another user.
        fs::set_permissions(&place, Permissions::from_mode(0o777)).unwrap();
        command.args(["--dir", &dir]);
        let ran = FinishedCommand::run(program.prepare(&mut command)).ends_with(4);
        for part in ["cannot be started: Resource temporarily unavailable", limit] {
            assert!(ran.stderr.contains(part), "{words:?}: {part}: {ran}");
        }
    }
}

#[test]
fn refused_threads_and_processes_name_the_limit_of_the_user() {
    require_root!();
    let program = prepared();
    // No other process has this user, and root is exempt from the limit.
    let user = "61234";
    std::os::unix::fs::chown(program.home(), user.parse().ok(), user.parse().ok()).unwrap();
    let words = ["--reuid", user, "--regid", user, "--clear-groups"];
    let mut reach = Command::new("setpriv");
    reach.args(words).args(["test", "-x", env!("CARGO_BIN_EXE_treering")]);
    if !reach.status().is_ok_and(|status| status.success()) {
        return skip("another user cannot start this program, or there is no setpriv");
    }
    let limited = || {
        let mut command = Command::new("prlimit");
        command.args(["--nproc=12", "setpriv"]).args(words);
        command
    };
    crowded(&program, limited, "12 of this user (`ulimit -u`)");
}

#[test]
fn refused_threads_and_processes_name_the_limit_of_the_group() {
    require_root!();
    let program = prepared();
    // The test uses version 1 of control groups if it is mounted, else version 2.
    let name = format!("treering-test-{}", std::process::id());
    let made = ["/sys/fs/cgroup/pids", "/sys/fs/cgroup"].into_iter().find_map(|top| {
        let group = Path::new(top).join(&name);
        let is_there = Path::new(top).join("cgroup.procs").exists();
        (is_there && fs::create_dir(&group).is_ok()).then_some(group)
    });
    let Some(group) = made else { return skip("no control group can be made") };
    let group = Group(group);
    if fs::write(group.0.join("pids.max"), "12").is_err() {
        return skip("control groups do not limit processes here");
    }
    let limited = || {
        let mut command = Command::new("sh");
        let words = "echo $$ > \"$0/cgroup.procs\" && exec \"$@\"";
        command.args(["-c", words]).arg(&group.0);
        command
    };
    crowded(&program, limited, "12 of its control group (`pids.max`");
}

/// A control group, removed when this is dropped.
struct Group(PathBuf);

impl Drop for Group {
    fn drop(&mut self) {
        let _somebody_is_in_it = fs::remove_dir(&self.0);
    }
}

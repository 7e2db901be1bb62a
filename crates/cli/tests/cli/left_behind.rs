//! Remains of killed runs, and other users' files in shared directories: reported, restored or left
//! alone; and files appear under their final name only when complete.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use treering_testkit::{
    FinishedCommand, LoopFs, Program, RunningProgram, TempDir, fill, require_loop_fs, require_root,
    temp_dir, temp_dir_in,
};

use crate::program;

/// User ID of `nobody`, who owns no files.
const NOBODY: u32 = 65534;

/// Creates an endless fake of the ext4 check, found on `PATH` before the real one; also returns the
/// file that it writes when it starts.
fn endless_check(program: &Program) -> (PathBuf, PathBuf) {
    let (tools, began) = (program.home().join("tools"), program.home().join("began"));
    fs::create_dir(&tools).unwrap();
    let script = format!(
        "#!/bin/sh\necho $$ > {0}.new\n/bin/mv {0}.new {0}\nexec /bin/sleep 600\n",
        began.display()
    );
    fs::write(tools.join("new"), script).unwrap();
    fs::set_permissions(tools.join("new"), fs::Permissions::from_mode(0o755)).unwrap();
    fs::rename(tools.join("new"), tools.join("e2fsck")).unwrap();
    (tools, began)
}

/// Command with its own lab records, so that no other test mounts its unmounted filesystems.
fn command(program: &Program, words: &[&str]) -> Command {
    let mut command = program.command(words);
    command.env("TREERING_LAB", program.home().join("lab"));
    command
}

fn is_mounted(point: &Path) -> bool {
    let table = fs::read_to_string("/proc/self/mountinfo").unwrap();
    table.lines().any(|line| line.split(' ').nth(4) == point.to_str())
}

/// Kills `treering image save` while the filesystem is unmounted.
fn kill_while_saving(program: &Program, point: &Path) {
    let (tools, began) = endless_check(program);
    let path = format!("{}:/usr/sbin:/usr/bin:/sbin:/bin", tools.display());
    let mut saving = command(program, &["image", "save", "old", point.to_str().unwrap()]);
    let run = RunningProgram::start(saving.env("PATH", path));
    let started = Instant::now();
    while !began.exists() {
        assert!(started.elapsed() < Duration::from_secs(120), "it is never checked");
        std::thread::sleep(Duration::from_millis(5));
    }
    run.send("KILL");
    run.finish();
    let check = fs::read_to_string(&began).unwrap();
    let killed = Command::new("kill").args(["-9", check.trim()]).status().unwrap();
    assert!(killed.success());
    fs::remove_file(began).unwrap();
    fs::remove_dir_all(tools).unwrap();
    assert!(!is_mounted(point), "the kill came too late for this test");
}

#[test]
fn a_filesystem_left_unmounted_by_a_kill_is_mounted_again() {
    require_root!();
    require_loop_fs!("ext4");
    for next in ["release", "doctor", "run", "save"] {
        let program = program();
        let mounted = LoopFs::new("ext4", 64);
        let point = mounted.path().to_path_buf();
        fs::write(point.join("thesis"), "mine").unwrap();
        kill_while_saving(&program, &point);
        let ran = |words: &[&str]| FinishedCommand::run(&mut command(&program, words));
        let listed = ran(&["lab", "list"]).ends_with(0).stdout;
        assert!(listed.contains("unmounted from"), "{listed}");
        assert!(listed.contains("unfinished image"), "{listed}");
        let images = ran(&["image", "list"]).ends_with(0).stdout;
        assert!(images.contains(".unfinished-"), "{images}");
        let dry = ran(&["lab", "release", "--dry-run"]).ends_with(0).stdout;
        assert!(dry.contains("would mount ext4 of /dev/loop"), "{dry}");
        let at = point.to_str().unwrap();
        let directories = format!("{at},{}", program.home().display());
        let dry = ran(&["compare", "--directories", &directories, "--dry-run"]).ends_with(0);
        assert!(dry.stderr.contains("unmounted from"), "{dry}");
        assert!(!is_mounted(&point), "what only looks mounts nothing");
        let words = match next {
            "release" => vec!["lab", "release"],
            "doctor" => vec!["doctor", at],
            "run" => vec!["run", "fs_mark", "--dir", at, "--files", "3", "--quiet", "--no-store"],
            _ => vec!["image", "save", "again", at],
        };
        let said = ran(&words);
        let text = format!("{}{}", said.stdout, said.stderr);
        assert!(text.contains("mounted ext4 of /dev/loop") && text.contains("again"), "{said}");
        assert_eq!(fs::read_to_string(point.join("thesis")).unwrap(), "mine", "{next}");
        let released = ran(&["lab", "release"]).ends_with(0);
        assert!(!released.stdout.contains("mounted"), "{released}");
        let listed = ran(&["lab", "list"]).ends_with(0).stdout;
        assert!(!listed.contains("unmounted") && !listed.contains("unfinished"), "{listed}");
        let images: &[&str] = if next == "save" { &["again"] } else { &[] };
        assert_eq!(names(&program.data().join("images")), images);
    }
}

#[test]
fn a_killed_restore_leaves_no_partial_file() {
    require_root!();
    require_loop_fs!("ext4");
    let program = program();
    let mounted = LoopFs::new("ext4", 200);
    let mut noise = vec![0u8; 90 << 20];
    let mut state = 1u64;
    for byte in &mut noise {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        *byte = (state >> 56) as u8;
    }
    fs::write(mounted.path().join("noise"), &noise).unwrap();
    let at = mounted.path().to_str().unwrap();
    FinishedCommand::run(&mut command(&program, &["image", "save", "old", at])).ends_with(0);
    let place = temp_dir();
    let file = place.path().join("old.img");
    let words = ["image", "restore", "old", "--to", file.to_str().unwrap()];
    let mut whole = 0;
    for milliseconds in [1, 5, 20, 40, 80, 120, 200, 400, 100_000] {
        let mut run = RunningProgram::start(&mut command(&program, &words));
        let started = Instant::now();
        while run.is_alive() && started.elapsed() < Duration::from_millis(milliseconds) {
            std::thread::sleep(Duration::from_millis(1));
        }
        if run.is_alive() {
            run.send("KILL");
        }
        run.finish();
        let names: Vec<_> = fs::read_dir(place.path()).unwrap().map(Result::unwrap).collect();
        if names.is_empty() {
            continue;
        }
        // A file of this name is complete, and the only one.
        assert_eq!((names.len(), names[0].path()), (1, file.clone()));
        assert_eq!(file.metadata().unwrap().len(), 200 << 20);
        let looked =
            FinishedCommand::run(&mut command(&program, &["layout", file.to_str().unwrap()]));
        looked.ends_with(0);
        fs::remove_file(&file).unwrap();
        whole += 1;
    }
    assert!(whole > 0);
}

#[test]
fn a_failed_page_write_keeps_the_old_page() {
    require_root!();
    let program = program();
    let small = LoopFs::in_memory(1);
    let page = small.path().join("page.html");
    fs::write(&page, "the old page").unwrap();
    let _full = fill(&small.path().join("filler"));
    let words = ["age", "list", "--format", "html", "-o", page.to_str().unwrap()];
    program.run(words).ends_with(3).complains("cannot write");
    assert_eq!(fs::read_to_string(&page).unwrap(), "the old page");
    assert_eq!(fs::read_dir(small.path()).unwrap().count(), 2);
    // A device is written to, not replaced like a page.
    program.run(["age", "list", "-o", "/dev/null"]).ends_with(0);
    assert!(!fs::metadata("/dev/null").unwrap().is_file());
}

#[test]
fn foreign_lab_directories_are_neither_used_nor_removed() {
    require_root!();
    let program = program();
    let shared = temp_dir_in(Path::new("/dev/shm"));
    fs::set_permissions(shared.path(), fs::Permissions::from_mode(0o1777)).unwrap();
    let home = shared.path().join("home");
    fs::create_dir(&home).unwrap();
    chown(&home, Some(NOBODY), Some(NOBODY)).unwrap();
    let binary = shared.path().join("treering");
    program.copy_to(&binary);
    // Another user has created directories with the lab's names, and a record in each.
    for name in [format!("treering-lab-{NOBODY}"), "treering-lab".to_owned()] {
        fs::create_dir(shared.path().join(&name)).unwrap();
        fs::write(shared.path().join(&name).join("1-2-3-4.record"), "treering lab 1\n").unwrap();
    }
    let as_nobody = |words: &[&str]| {
        let mut command = Command::new("setpriv");
        let user = format!("--reuid={NOBODY}");
        command.args([&user, &format!("--regid={NOBODY}"), "--clear-groups"]).arg(&binary);
        program.prepare(&mut command).args(words);
        command.env("HOME", &home).env("TMPDIR", shared.path()).env_remove("TREERING_DATA");
        FinishedCommand::run(command.current_dir(&home))
    };
    as_nobody(&["doctor", "."]).ends_with(0);
    for name in ["a", "b"] {
        fs::create_dir(home.join(name)).unwrap();
        chown(home.join(name), Some(NOBODY), Some(NOBODY)).unwrap();
    }
    as_nobody(&["compare", "--directories", "a,b", "--dry-run"]).ends_with(0);
    as_nobody(&["lab", "filesystems"]).ends_with(0);
    let listed = as_nobody(&["lab", "list"]).ends_with(0);
    assert!(listed.stderr.contains("it belongs to another user"), "{listed}");
    assert!(!listed.stdout.contains("1-2-3-4"), "{listed}");
    as_nobody(&["lab", "release"]).ends_with(0);
    for name in [format!("treering-lab-{NOBODY}"), "treering-lab".to_owned()] {
        let names: Vec<_> = fs::read_dir(shared.path().join(name)).unwrap().collect();
        assert_eq!(names.len(), 1);
    }
    // The lab uses a directory that only this user can access.
    let used = home.join(".local/share/treering/lab");
    let metadata = fs::metadata(&used).unwrap();
    assert_eq!((metadata.uid(), metadata.mode() & 0o777), (NOBODY, 0o700));
}

#[test]
fn an_unsafe_lab_directory_does_not_stop_read_only_commands() {
    require_root!();
    let program = program();
    let open = program.home().join("open");
    fs::create_dir(&open).unwrap();
    fs::set_permissions(&open, fs::Permissions::from_mode(0o777)).unwrap();
    let link = program.home().join("link");
    std::os::unix::fs::symlink("/run", &link).unwrap();
    let theirs = program.home().join("theirs");
    fs::create_dir(&theirs).unwrap();
    chown(&theirs, Some(NOBODY), None).unwrap();
    fs::write(program.home().join("file"), "").unwrap();
    for (name, why) in [
        ("open", "others can write to it"),
        ("link", "it is a link"),
        ("theirs", "it belongs to another user"),
        ("file", "it is not a directory"),
    ] {
        let ran = |words: &[&str]| {
            let mut command = program.command(words);
            FinishedCommand::run(command.env("TREERING_LAB", program.home().join(name)))
        };
        let doctor = ran(&["doctor", "."]).ends_with(0);
        assert!(doctor.stderr.contains(why) && doctor.stderr.contains("TREERING_LAB"), "{doctor}");
        let dirs = format!("{},/dev/shm", program.home().display());
        ran(&["compare", "--directories", &dirs, "--dry-run"]).ends_with(0);
        ran(&["lab", "list"]).ends_with(0).complains(why);
    }
}

/// Program whose store is on the filesystem under test, with its own memory filesystem.
fn staged() -> (LoopFs, Program, TempDir) {
    let place = LoopFs::in_memory(64);
    let program = program().with_data(place.path().join("data"));
    fs::create_dir(place.path().join("w")).unwrap();
    (place, program, temp_dir_in(Path::new("/dev/shm")))
}

/// A small run with staged results, after this shell command.
fn staged_run(place: &LoopFs, program: &Program, memory: &Path, before: &str) -> FinishedCommand {
    let dir = place.path().join("w");
    let words = ["run", "fs_mark", "--files", "3", "--quiet", "--dir", dir.to_str().unwrap()];
    let typed = program.command(words);
    let mut shell = Command::new("sh");
    let script = format!("{before} exec \"$@\"");
    shell.args(["-c", &script, "sh"]).arg(typed.get_program()).args(typed.get_args());
    program.prepare(&mut shell);
    FinishedCommand::run(shell.env("XDG_RUNTIME_DIR", memory).current_dir(program.home()))
}

fn in_memory(program: &Program, memory: &Path, words: &[&str]) -> FinishedCommand {
    FinishedCommand::run(program.command(words).env("XDG_RUNTIME_DIR", memory))
}

fn names(dir: &Path) -> Vec<String> {
    let entries = fs::read_dir(dir).into_iter().flatten();
    let mut names: Vec<_> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn a_start_without_file_descriptors_leaves_nothing_and_gives_a_hint() {
    require_root!();
    let (place, program, memory) = staged();
    let own = memory.path().join("treering-0");
    for limit in 4..24 {
        // Remove other files that the previous run left.
        fs::remove_dir_all(place.path().join("w")).unwrap();
        fs::create_dir(place.path().join("w")).unwrap();
        let before = format!("ulimit -n {limit};");
        let ran = staged_run(&place, &program, memory.path(), &before);
        if ran.code == Some(3) {
            let gives_reason = ran.stderr.contains("Too many open files");
            assert!(gives_reason && ran.stderr.contains("ulimit -n 1024"), "{limit}: {ran}");
        }
        let listed = in_memory(&program, memory.path(), &["list"]).ends_with(0);
        assert!(!listed.stderr.contains("still held"), "{limit}: {listed}");
        assert_eq!(names(&own), Vec::<String>::new(), "{limit}");
    }
    fs::remove_dir_all(place.path().join("w")).unwrap();
    fs::create_dir(place.path().join("w")).unwrap();
    staged_run(&place, &program, memory.path(), "").ends_with(0);
    assert_eq!(names(&own), Vec::<String>::new());
}

#[test]
fn empty_staged_stores_are_removed_and_foreign_ones_kept() {
    require_root!();
    let (place, program, memory) = staged();
    let own = memory.path().join("treering-0");
    staged_run(&place, &program, memory.path(), "").ends_with(0);
    // The name prefix of staged stores is that of a store that exists for a moment.
    let mut typed = program.command(["run", "fs_mark", "--files", "200000", "--quiet"]);
    typed.arg("--dir").arg(place.path().join("w")).env("XDG_RUNTIME_DIR", memory.path());
    let mut run = RunningProgram::start(&mut typed);
    let started = Instant::now();
    while names(&own).is_empty() && run.is_alive() {
        assert!(started.elapsed() < Duration::from_secs(120));
        std::thread::sleep(Duration::from_millis(1));
    }
    // Commands leave the staged store of a live run alone.
    in_memory(&program, memory.path(), &["list"]).ends_with(0);
    run.send("KILL");
    run.finish();
    let listed = in_memory(&program, memory.path(), &["list"]).ends_with(0);
    assert!(!listed.stderr.contains("held"), "{listed}");
    assert_eq!(names(&own), Vec::<String>::new());

    // An empty staged store of an earlier version, which wrote no manifests.
    let prefix = staging_prefix(&place.path().join("data/results.treering"));
    let stem = format!("{prefix}-01990000-0000-7000-8000-000000000000");
    let store = own.join(format!("{stem}.treering"));
    fs::write(&store, "").unwrap();
    let listed = in_memory(&program, memory.path(), &["list"]).ends_with(0);
    assert!(!listed.stderr.contains("held") && names(&own).is_empty(), "{listed}");

    // A manifest that names another file than the existing one.
    fs::write(&store, "").unwrap();
    let manifest = own.join(format!("{stem}.manifest"));
    fs::write(&manifest, "treering staging 1\nmade 1 1\n").unwrap();
    let listed = in_memory(&program, memory.path(), &["list"]).ends_with(0);
    assert!(listed.stderr.contains("it is another file"), "{listed}");
    assert!(store.exists() && manifest.exists());
    // A manifest cut short by a kill, and one of another user.
    fs::write(&manifest, "treering sta").unwrap();
    in_memory(&program, memory.path(), &["list"]).ends_with(0);
    assert_eq!(names(&own), Vec::<String>::new());
    fs::write(&store, "").unwrap();
    chown(&store, Some(NOBODY), None).unwrap();
    in_memory(&program, memory.path(), &["list"]).ends_with(0);
    assert!(store.exists());
}

/// Name prefix of the staged stores of a store path.
fn staging_prefix(place: &Path) -> String {
    treering_model::Fingerprint::from_bytes(place.as_os_str().as_encoded_bytes()).text()
}

#[test]
fn a_foreign_directory_in_memory_is_not_used_for_staging() {
    require_root!();
    let (place, program, memory) = staged();
    let own = memory.path().join("treering-0");
    fs::create_dir(&own).unwrap();
    fs::set_permissions(&own, fs::Permissions::from_mode(0o777)).unwrap();
    // An unsafe memory filesystem is skipped in favour of the next one.
    staged_run(&place, &program, memory.path(), "").ends_with(0);
    assert_eq!(names(&own), Vec::<String>::new());
    assert!(place.path().join("data/results.treering").exists());
}

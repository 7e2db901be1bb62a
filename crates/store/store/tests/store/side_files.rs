//! Reading where SQLite cannot create its side files: a full disk, a read-only one, another user's
//! directory.
#![expect(clippy::disallowed_macros, reason = "a test that must be skipped says so")]

use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use treering_model::{TrialId, TrialSink};
use treering_store::{Access, Filter, LoadDetail, Store, StoreError};

use crate::processes;
use crate::sample::{beginning, record_one, trial_events};

/// A small in-memory filesystem, unmounted on drop; `None` where mounting is not permitted.
struct TmpfsMount(tempfile::TempDir);

impl TmpfsMount {
    fn mount() -> Option<Self> {
        let dir = tempfile::tempdir().unwrap();
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", "size=2m,mode=755", "treering"]).arg(dir.path());
        match mount.stderr(Stdio::null()).status() {
            Ok(status) if status.success() => Some(Self(dir)),
            _ => {
                println!("skipped: nothing can be mounted here");
                None
            }
        }
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn remount(&self, how: &str) {
        let how = format!("remount,{how}");
        let status = Command::new("mount").args(["-o", &how]).arg(self.path()).status().unwrap();
        assert!(status.success());
    }

    /// Fills the filesystem; further writes to existing files fail with `ENOSPC`.
    fn fill(&self) {
        let mut filler = File::create(self.path().join("filler")).unwrap();
        for bytes in [4096, 1] {
            while filler.write_all(&vec![1; bytes]).is_ok() {}
        }
    }
}

impl Drop for TmpfsMount {
    fn drop(&mut self) {
        let _unmounted = Command::new("umount").arg(self.path()).status();
    }
}

/// Asserts that every read operation works, and the number of trials.
fn reads(path: &Path, trials: usize) {
    let store = Store::open(path, Access::ReadOnly).unwrap();
    store.check().unwrap();
    store.room().unwrap();
    let ids: Vec<TrialId> =
        store.trials(&Filter::default()).unwrap().iter().map(|summary| summary.trial).collect();
    assert_eq!(ids.len(), trials);
    store.short_ids(&ids).unwrap();
    store.load_many(&ids, LoadDetail::Everything).unwrap();
    ids.iter().for_each(|id| drop(store.events(*id).unwrap()));
}

/// A store with a trial in its file and another one in the log of a killed writer.
fn with_log(path: &Path) {
    record_one(path, 7);
    let mut store = Store::open(path, Access::ReadWrite).unwrap();
    let mut recorder = store.recorder();
    for event in trial_events(beginning(TrialId::new())) {
        recorder.accept(&event).unwrap();
    }
    drop(recorder);
    let copies = ["", "-wal"].map(|suffix| (side(path, suffix), side(path, "-copy"), suffix));
    for (from, to, suffix) in &copies {
        fs::copy(from, side(to, suffix)).unwrap();
    }
    drop(store);
    for (to, from, suffix) in &copies {
        fs::rename(side(from, suffix), to).unwrap();
    }
    assert!(fs::metadata(side(path, "-wal")).unwrap().len() > 0);
    assert!(!side(path, "-shm").exists());
}

fn side(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

#[test]
fn a_full_disk_does_not_stop_reading() {
    let Some(memory) = TmpfsMount::mount() else { return };
    let path = memory.path().join("store.db");
    record_one(&path, 7);
    memory.fill();
    let before = fs::read(&path).unwrap();
    reads(&path, 1);
    assert_eq!(fs::read(&path).unwrap(), before);
    let mut store = match Store::open(&path, Access::ReadWrite) {
        Ok(store) => store,
        Err(error) => return assert!(matches!(error, StoreError::Full { .. }), "{error}"),
    };
    let events = trial_events(beginning(TrialId::new()));
    let mut recorder = store.recorder();
    assert!(events.iter().any(|event| recorder.accept(event).is_err()));
}

#[test]
fn a_full_disk_does_not_hide_trials_in_the_log_of_a_killed_writer() {
    let Some(memory) = TmpfsMount::mount() else { return };
    let path = memory.path().join("store.db");
    with_log(&path);
    memory.fill();
    for _ in 0..2 {
        reads(&path, 2);
    }
    fs::remove_file(memory.path().join("filler")).unwrap();
    reads(&path, 2);
    assert_eq!(record_and_count(&path), 3);
}

fn record_and_count(path: &Path) -> usize {
    record_one(path, 8);
    Store::open(path, Access::ReadOnly).unwrap().trials(&Filter::default()).unwrap().len()
}

#[test]
fn a_read_only_filesystem_does_not_stop_reading() {
    for makes in [with_log, |path: &Path| _ = record_one(path, 7)] {
        let Some(memory) = TmpfsMount::mount() else { return };
        let path = memory.path().join("store.db");
        makes(&path);
        let trials = if side(&path, "-wal").exists() { 2 } else { 1 };
        memory.remount("ro");
        reads(&path, trials);
        let refused = Store::open(&path, Access::ReadWrite).map(drop).unwrap_err();
        assert!(refused.to_string().contains(path.to_str().unwrap()), "{refused}");
        memory.remount("rw");
    }
}

/// Reads the stores prepared for an unprivileged child.
pub(crate) fn read_as_another_user(dir: &Path) {
    for (name, trials) in [("plain/store.db", 1), ("logged/store.db", 2), ("sticky/store.db", 2)] {
        let path = dir.join(name);
        reads(&path, trials);
        let before = fs::read_dir(path.parent().unwrap()).unwrap().count();
        reads(&path, trials);
        assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), before);
    }
}

#[test]
fn a_store_of_another_user_is_readable_without_write_permission() {
    let dir = tempfile::tempdir().unwrap();
    let mode = |path: &Path, mode: u32| {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    };
    mode(dir.path(), 0o755);
    for (name, makes, bits) in [
        ("plain", (|path: &Path| _ = record_one(path, 7)) as fn(&Path), 0o755),
        ("logged", with_log, 0o755),
        ("sticky", with_log, 0o1777),
    ] {
        let sub = dir.path().join(name);
        fs::create_dir(&sub).unwrap();
        makes(&sub.join("store.db"));
        mode(&sub, bits);
        mode(&sub.join("store.db"), 0o644);
    }
    let mut child = processes::command("read as another user", dir.path());
    if chown(dir.path(), Some(0), Some(0)).is_err() {
        println!("skipped: without root there is no other user");
        return;
    }
    child.uid(65_534).gid(65_534);
    match child.stderr(Stdio::piped()).output() {
        Ok(output) => {
            let words = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "{words}");
        }
        Err(failure) => println!("skipped: another user cannot reach this test: {failure}"),
    }
}

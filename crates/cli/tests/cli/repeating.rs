//! `treering plan repeat`: repeats the plan of a pack, or its run; with job files that are only in
//! the pack; and cleans up after killed merges.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use treering_model::Trial;
use treering_store::{Access, Filter, LoadDetail, Store};
use treering_testkit::{
    BlockDevice, FourLists, Program, TempDir, require_loop_fs, require_root, temp_dir_in,
};

use crate::program;

/// Profile of FFSB that takes a moment.
const PROFILE: &str = "num_filesystems=1\nnum_threadgroups=1\ndirectio=0\ntime=1\n\
    [filesystem0]\nlocation=DIR\nnum_files=20\nnum_dirs=2\nmin_filesize=1000\n\
    max_filesize=2000\n[end0]\n[threadgroup0]\nnum_threads=1\nread_weight=1\nread_size=1000\n\
    read_blocksize=1000\n[end0]\n";

/// `PATH` that includes the directories of mkfs.
const SEARCH: &str = "/usr/sbin:/sbin:/usr/bin:/bin";

/// Directory for stores that is on no filesystem under test.
fn results() -> TempDir {
    temp_dir_in(Path::new("/dev/shm"))
}

fn trials(store: &Path) -> Vec<Trial> {
    let store = Store::open(store, Access::ReadOnly).unwrap();
    let all_trials = store.trials(&Filter::default()).unwrap();
    let ids: Vec<_> = all_trials.iter().rev().map(|one| one.trial).collect();
    store.load_many(&ids, LoadDetail::Everything).unwrap()
}

fn packed(program: &Program, store: &Path, place: &Path) -> PathBuf {
    let file = place.join("a.pack");
    let words = ["pack", "-o", file.to_str().unwrap(), "--store", store.to_str().unwrap()];
    program.run(words).ends_with(0);
    file
}

/// Runs a plan with a profile beside it in a directory that is removed afterwards, and packs the
/// trials.
fn pack_of_plan(place: &Path, dir: &Path, device: &str) -> PathBuf {
    let from = program();
    let plans = from.home().join("plans/jobs");
    fs::create_dir_all(&plans).unwrap();
    fs::write(plans.join("mail.ffsb"), PROFILE.replace("DIR", "w")).unwrap();
    let variant = if device.is_empty() {
        format!("[[variant]]\nname = \"fs\"\ndevice = {{ directory = \"{}\" }}\n", dir.display())
    } else {
        format!("[device]\n{device}\n[[variant]]\nname = \"fs\"\nfilesystem = \"ext4\"\n")
    };
    let text = format!(
        "name = \"night\"\nrounds = 2\nwarm-up = false\n{variant}\
         [[job]]\nname = \"mail\"\nworkload = \"ffsb\"\n\
         options = {{ profile = \"jobs/mail.ffsb\" }}\n[[job]]\nworkload = \"fs_mark\"\n\
         options = {{ files = 20, size = 100 }}\n"
    );
    fs::write(from.home().join("plans/night.toml"), text).unwrap();
    let store = place.join("from.treering");
    let words = ["compare", "plans/night.toml", "--quiet", "--store", store.to_str().unwrap()];
    from.run(words).ends_with(0);
    packed(&from, &store, place)
}

#[test]
fn a_plan_on_a_filesystem_is_repeated_with_job_files_that_are_only_in_the_pack() {
    require_root!();
    require_loop_fs!("ext4");
    let place = results();
    let file = pack_of_plan(place.path(), Path::new(""), "loop = \"64MiB\"");
    let to = program();
    let store = place.path().join("to.treering");
    let words = ["repeat", file.to_str().unwrap(), "--quiet", "--store", store.to_str().unwrap()];
    let dry = to.run([&words[..], &["--dry-run"]].concat()).ends_with(0);
    assert!(dry.stdout.contains("round 2: fs") && !store.exists(), "{dry}");
    let ran = to.run(words).ends_with(0);
    assert!(ran.stdout.contains("fs, packed") && ran.stdout.contains("fs, here"), "{ran}");
    let all_trials = trials(&store);
    assert_eq!(all_trials.len(), 8, "four from the pack, four of here");
    let parameters = |trial: &Trial| {
        let named = trial.beginning.parameters.iter();
        named.filter(|(name, _)| name != "profile").cloned().collect::<Vec<_>>()
    };
    let of = |workload: &str| {
        let of_workload = all_trials.iter().filter(|trial| trial.beginning.workload == workload);
        of_workload.map(parameters).collect::<Vec<_>>()
    };
    for workload in ["ffsb", "fs_mark"] {
        let all_trials = of(workload);
        assert_eq!(all_trials.len(), 4);
        assert!(all_trials.iter().all(|one| *one == all_trials[0]), "{all_trials:?}");
    }
}

#[test]
fn a_directory_is_required_and_differences_are_reported() {
    let place = results();
    let dir = temp_dir_in(&std::env::temp_dir());
    let file = pack_of_plan(place.path(), dir.path(), "");
    let to = program();
    let store = place.path().join("to.treering");
    let words = ["repeat", file.to_str().unwrap(), "--store", store.to_str().unwrap()];
    to.run(words).ends_with(2).complains("--dir DIR");
    fs::create_dir(to.home().join("here")).unwrap();
    let ran = to.run([&words[..], &["--dir", "here", "--rounds", "1"]].concat()).ends_with(0);
    assert!(ran.stdout.contains("fs, here"), "{ran}");
    assert_eq!(trials(&store).len(), 4 + 2);
    let wrong = [&words[..], &["--campaign", "ffff"]].concat();
    to.run(wrong).ends_with(2).complains("no such campaign");
}

#[test]
fn a_named_block_device_replaces_that_of_the_pack() {
    require_root!();
    require_loop_fs!("ext4");
    let place = results();
    let device = |name: &str| {
        let file = place.path().join(name);
        fs::File::create(&file).unwrap().set_len(64 << 20).unwrap();
        BlockDevice::on(&file)
    };
    let (there, here) = (device("there"), device("here"));
    let block = format!("block = \"{}\"", there.path());
    let file = pack_of_plan(place.path(), Path::new(""), &block);
    drop(there);
    let to = program();
    let store = place.path().join("to.treering");
    let words = ["repeat", file.to_str().unwrap(), "--quiet", "--store", store.to_str().unwrap()];
    to.run(words).ends_with(2).complains("--block DEVICE");
    assert!(!store.exists());
    let named = [&words[..], &["--block", here.path()]].concat();
    // Data on the device are protected as in any comparison.
    let outcome = Command::new("mkfs.ext4").args(["-q", here.path()]).env("PATH", SEARCH).status();
    assert!(outcome.unwrap().success());
    to.run(&named).ends_with(3).complains("--erase");
    to.run(named.iter().chain(&["--erase", here.path()])).ends_with(0);
    let all_trials = trials(&store);
    assert_eq!(all_trials.len(), 8, "four from the pack, four of here");
    let on = |trial: &&Trial| trial.fact("filesystem.source") == Some(here.path());
    assert_eq!(all_trials.iter().filter(on).count(), 4);
}

#[test]
fn a_run_without_a_plan_is_repeated_as_often_as_it_is_packed() {
    let place = results();
    let from = program();
    FourLists::tiny().write_to(&from.home().join("lists"));
    fs::create_dir(from.home().join("w")).unwrap();
    let store = place.path().join("from.treering");
    let run = ["run", "fs_mark", "--dir", "w", "--files", "30", "--size", "200", "--quiet"];
    let run = [&run[..], &["--store", store.to_str().unwrap()]].concat();
    from.run(run.clone()).ends_with(0);
    from.run(run).ends_with(0);
    let file = packed(&from, &store, place.path());
    let to = program();
    fs::create_dir(to.home().join("here")).unwrap();
    let store = place.path().join("to.treering");
    let words = ["repeat", file.to_str().unwrap(), "--dir", "here", "--store"];
    let ran = to.run([&words[..], &[store.to_str().unwrap()]].concat()).ends_with(0);
    assert!(ran.stdout.contains("fs_mark, packed"), "{ran}");
    let all_trials = trials(&store);
    assert_eq!(all_trials.len(), 4);
    let files = |trial: &Trial| {
        let named = trial.beginning.parameters.iter().find(|(name, _)| name == "files");
        named.map(|(_, value)| value.clone())
    };
    assert!(all_trials.iter().all(|trial| files(trial) == Some("30".to_owned())));
    // A data set of the user is identified by its files, and must exist on this machine.
    let store = place.path().join("own.treering");
    let run = ["run", "compilebench", "--dataset", "./lists", "--initial-dirs", "1", "--runs", "1"];
    let run = [&run[..], &["--dir", "w", "--quiet", "--store", store.to_str().unwrap()]].concat();
    from.run(run).ends_with(0);
    let file = packed(&from, &store, place.path());
    let words = ["repeat", file.to_str().unwrap(), "--dir", "here", "--dry-run"];
    to.run(words).ends_with(2).complains("lists");
}

#[test]
fn a_merge_removes_leftovers_of_a_killed_one() {
    let place = results();
    let dir = temp_dir_in(&std::env::temp_dir());
    let file = pack_of_plan(place.path(), dir.path(), "");
    let left = |name: &str| {
        let left = place.path().join(format!(".treering-merge-{name}"));
        fs::create_dir(&left).unwrap();
        fs::write(left.join("lock"), "").unwrap();
        fs::write(left.join("pack.treering"), "half").unwrap();
        left
    };
    let (dead, alive) = (left("dead"), left("alive"));
    let lock = fs::File::open(alive.join("lock")).unwrap();
    lock.lock().unwrap();
    let to = program();
    let store = place.path().join("to.treering");
    let words = ["merge", file.to_str().unwrap(), "--store", store.to_str().unwrap()];
    to.run(words).ends_with(0);
    assert!(!dead.exists(), "what nobody uses is removed");
    assert!(alive.exists(), "what is used stays");
    drop(lock);
    to.run(words).ends_with(0);
    assert!(!alive.exists());
}

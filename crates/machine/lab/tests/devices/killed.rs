//! SIGKILL at any moment: leftovers are listed, and all of them can be released.
#![expect(clippy::disallowed_methods, reason = "the environment tells the child what to do")]

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use treering_lab::{EraseList, Lab, LabDevice};
use treering_model::Layer;

use crate::layers::{layered, on_file_of, overlay};
use crate::workbench::{MIB, Workbench, can_make_devices, lab_in, on_images, words};

const PLACE: &str = "TREERING_LAB_KILLED_IN";
/// Name of the test that is the child's body without layers.
const PLAIN: &str = "works_until_it_is_killed";

/// Body of the child process, not a test itself: runs until it is killed, if the environment
/// variable is set.
#[test]
fn works_until_it_is_killed() {
    let Some(top) = std::env::var_os(PLACE) else {
        return;
    };
    let lab = lab_in(Path::new(&top));
    let variant = on_images("btrfs", 2, 256 * MIB);
    println!("\nbegins");
    let device = LabDevice::acquire(&variant, &EraseList::default(), &lab).unwrap();
    println!("\nacquired");
    let volume = device.format("btrfs", &words(&["-d", "raid0"])).unwrap();
    println!("\nformatted");
    let mut mounted = volume.mount(&[]).unwrap();
    println!("\nmounted");
    for round in 0u32.. {
        std::fs::write(mounted.root().join("file"), round.to_string()).unwrap();
        mounted = mounted.remount_cold().unwrap();
    }
}

/// Body of the child process with layers, not a test itself.
#[test]
fn works_on_layers_until_it_is_killed() {
    let Some(top) = std::env::var_os(PLACE) else {
        return;
    };
    let lab = lab_in(Path::new(&top));
    let mut variant = on_images("ext4", 1, 500 * MIB);
    variant.settings.layers = vec![on_file_of("xfs"), Layer::Overlay(overlay())];
    let mut device = LabDevice::acquire(&variant, &EraseList::default(), &lab).unwrap();
    for round in 0u32.. {
        println!("\nacquired");
        let covered = device.covered(&variant.settings.layers).unwrap();
        println!("\ncovered");
        let mounted = covered.format("ext4", &[]).unwrap().mount(&[]).unwrap();
        let mounted = mounted.covered(&variant.settings.layers).unwrap();
        println!("\nmounted");
        std::fs::write(mounted.root().join("file"), round.to_string()).unwrap();
        let mounted = mounted.remount_cold().unwrap();
        device = mounted.release().unwrap().uncovered().unwrap();
    }
}

fn child(top: &Path, body: &str) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", &format!("killed::{body}"), "--nocapture"])
        .env(PLACE, top)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

/// Kills the child `wait` after it has printed this word.
fn kill_after(top: &Path, body: &str, word: &str, wait: Duration) {
    let mut child = child(top, body);
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(lines.any(|line| line.unwrap() == word), "{word}");
    sleep(wait);
    child.kill().unwrap();
    child.wait().unwrap();
}

/// Releases until no leftover remains, waiting for an mkfs that outlives its parent.
fn release_all(lab: &Lab) {
    let began = Instant::now();
    loop {
        let left = lab.list().unwrap();
        if left.is_empty() {
            return;
        }
        let freed = lab.release(left);
        let failed: Vec<_> = freed.iter().filter(|(_, freed)| freed.is_err()).collect();
        assert!(failed.is_empty() || began.elapsed() < Duration::from_secs(60), "{failed:?}");
    }
}

fn loops_of(top: &Path) -> Vec<PathBuf> {
    let devices = std::fs::read_dir("/sys/block").unwrap().flatten().map(|entry| entry.path());
    let ours = |folder: &PathBuf| {
        let file = std::fs::read_to_string(folder.join("loop/backing_file"));
        file.is_ok_and(|file| Path::new(&file).starts_with(top))
    };
    devices.filter(ours).collect()
}

fn is_mounted_in(top: &Path) -> bool {
    let table = std::fs::read_to_string("/proc/self/mountinfo").unwrap();
    table.contains(top.to_str().unwrap())
}

#[test]
fn a_kill_at_any_moment_leaves_nothing_unrecorded() {
    if !can_make_devices() {
        return;
    }
    for (word, milliseconds) in [
        ("begins", 0),
        ("begins", 3),
        ("begins", 30),
        ("acquired", 0),
        ("acquired", 10),
        ("formatted", 0),
        ("formatted", 5),
        ("mounted", 0),
        ("mounted", 37),
        ("mounted", 80),
        ("mounted", 133),
    ] {
        let bench = Workbench::new();
        kill_after(bench.top.path(), PLAIN, word, Duration::from_millis(milliseconds));
        if word == "mounted" && milliseconds == 0 {
            let left = bench.lab.list().unwrap();
            assert!(left.len() >= 2 && left.iter().all(|leftover| leftover.is_of_this_boot));
            assert!(!loops_of(bench.top.path()).is_empty());
        }
        release_all(&bench.lab);
        let top = bench.top.path().canonicalize().unwrap();
        assert!(bench.is_empty(), "{word} {milliseconds}");
        assert_eq!(loops_of(&top), Vec::<PathBuf>::new(), "{word} {milliseconds}");
        assert!(!is_mounted_in(&top), "{word} {milliseconds}");
    }
}

#[test]
fn a_kill_at_any_moment_leaves_no_layer_unrecorded() {
    if !can_make_devices() {
        return;
    }
    if layered(&Workbench::new(), vec![on_file_of("xfs"), Layer::Overlay(overlay())]).is_none() {
        return;
    }
    for (word, milliseconds) in
        [("acquired", 5), ("acquired", 60), ("covered", 0), ("covered", 30), ("mounted", 0)]
    {
        let bench = Workbench::new();
        let body = "works_on_layers_until_it_is_killed";
        kill_after(bench.top.path(), body, word, Duration::from_millis(milliseconds));
        release_all(&bench.lab);
        let top = bench.top.path().canonicalize().unwrap();
        assert!(bench.is_empty(), "{word} {milliseconds}");
        assert_eq!(loops_of(&top), Vec::<PathBuf>::new(), "{word} {milliseconds}");
        assert!(!is_mounted_in(&top), "{word} {milliseconds}");
    }
}

#[test]
fn resources_of_a_running_run_are_listed_and_kept() {
    if !can_make_devices() {
        return;
    }
    let bench = Workbench::new();
    let mut child = child(bench.top.path(), PLAIN);
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(lines.any(|line| line.unwrap() == "formatted"));
    let left = bench.lab.list().unwrap();
    let alive = left.iter().filter(|leftover| leftover.pid == Some(child.id()));
    assert!(alive.clone().count() >= 2 && alive.clone().all(|leftover| leftover.is_alive));
    let images: Vec<_> = left.iter().filter(|l| l.kind.to_string().starts_with("image")).collect();
    assert_eq!(images.len(), 2);
    let freed = bench.lab.release(left);
    // Mounts of the active run may come and go in the meantime, but its images stay.
    let freed_images =
        freed.iter().filter(|(l, freed)| l.kind.to_string().starts_with("image") && freed.is_ok());
    assert_eq!(freed_images.count(), 0);
    assert!(lines.any(|line| line.unwrap() == "mounted"), "it works on");
    child.kill().unwrap();
    child.wait().unwrap();
    release_all(&bench.lab);
    assert!(bench.is_empty());
}

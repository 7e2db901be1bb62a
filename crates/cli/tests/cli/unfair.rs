//! Comparisons made unfair on purpose, each beside a fair one: the cautions on the page.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::{PoisonError, RwLock, RwLockReadGuard};

use serde_json::Value;
use treering_testkit::{FourLists, LoopFs, Program, require_loop_fs, require_root, skip};

use crate::faults::{Cgroup, Partitioned, Setting, run};
use crate::program;
use crate::trial::last;

/// Cautions about the targets; other codes are about rounds and the machine of the tests.
const OF_PLACES: [&str; 10] = [
    "kernel_settings_differ",
    "filesystems_differ",
    "sizes_differ",
    "free_space_differs",
    "features_differ",
    "metadata_profiles_differ",
    "devices_differ",
    "same_disk",
    "mount_options_differ",
    "machines_differ",
];

/// Lock for the settings of the machine: a test that changes them runs alone.
static SETTINGS: RwLock<()> = RwLock::new(());

fn prepared() -> Program {
    let program = program();
    FourLists::tiny().write_to(&program.home().join("lists"));
    program
}

/// Lock guard of tests that need unchanged settings.
fn settled() -> RwLockReadGuard<'static, ()> {
    SETTINGS.read().unwrap_or_else(PoisonError::into_inner)
}

fn words<'a>(dir: &'a str, label: &'a str) -> Vec<&'a str> {
    let words = ["run", "compilebench", "--dataset", "./lists", "--quiet", "--initial-dirs", "1"];
    [&words[..], &["--runs", "1", "--dir", dir, "--label", label]].concat()
}

fn trial(program: &Program, place: &Path, label: &str) {
    let dir = place.join("w");
    program.run(words(dir.to_str().unwrap(), label)).ends_with(0);
}

/// Cautions of the comparison: code and message.
fn cautions(program: &Program, baseline: &str, contender: &str) -> Vec<(String, String)> {
    let words = ["report", "--baseline", baseline, "--contender", contender, "--format", "json"];
    let reported: Value = serde_json::from_str(&program.run(words).ends_with(0).stdout).unwrap();
    let text = |one: &Value, name: &str| one[name].as_str().unwrap().to_owned();
    let cautions = reported["cautions"].as_array().unwrap().iter();
    cautions.map(|one| (text(one, "code"), text(one, "message"))).collect()
}

/// Codes of the cautions about targets.
fn of_places(program: &Program, baseline: &str, contender: &str) -> BTreeSet<String> {
    let codes = cautions(program, baseline, contender).into_iter().map(|(code, _)| code);
    codes.filter(|code| OF_PLACES.contains(&code.as_str())).collect()
}

fn only(code: &str) -> BTreeSet<String> {
    BTreeSet::from([code.to_owned()])
}

#[test]
fn differing_mkfs_or_mount_options_are_cautioned() {
    require_loop_fs!("ext4");
    let _settled = settled();
    let program = prepared();
    let base = LoopFs::new("ext4", 640);
    trial(&program, base.path(), "base");
    let against_base = |label: &str, place: &LoopFs| {
        trial(&program, place.path(), label);
        let mut found = of_places(&program, "base", label);
        // Loop devices keep the read-ahead of whoever had them before.
        found.remove("devices_differ");
        found
    };
    let twin = LoopFs::new("ext4", 640);
    assert_eq!(against_base("twin", &twin), BTreeSet::new());
    assert_eq!(against_base("large", &LoopFs::new("ext4", 900)), only("sizes_differ"));
    let bare = LoopFs::with_options("ext4", 640, &["-O", "^has_journal"]);
    assert_eq!(against_base("bare", &bare), only("features_differ"));
    let small = LoopFs::with_options("ext4", 640, &["-b", "1024"]);
    assert!(against_base("small", &small).contains("features_differ"));
    let remount = Command::new("mount").args(["-o", "remount,noatime"]).arg(twin.path()).status();
    assert!(remount.unwrap().success());
    assert_eq!(against_base("noatime", &twin), only("mount_options_differ"));
    let full = LoopFs::new("ext4", 640);
    let filler = full.path().join("filler");
    run(Command::new("fallocate").args(["-l", "200M"]).arg(&filler)).unwrap();
    assert_eq!(against_base("full", &full), only("free_space_differs"));
    // These trials were too short for a verdict.
    let (_, message) = cautions(&program, "base", "twin")
        .into_iter()
        .find(|(code, _)| code == "too_short")
        .unwrap();
    assert!(message.contains("less than 1 s"), "{message}");
}

#[test]
fn differing_metadata_profiles_are_cautioned() {
    require_loop_fs!("btrfs");
    require_loop_fs!("ext4");
    let _settled = settled();
    let program = prepared();
    trial(&program, LoopFs::new("ext4", 640).path(), "once");
    let twice = LoopFs::with_options("btrfs", 640, &["-m", "dup"]);
    trial(&program, twice.path(), "twice");
    let single = LoopFs::with_options("btrfs", 640, &["-m", "single"]);
    trial(&program, single.path(), "single");
    let reported_cautions = cautions(&program, "fs:ext4", "label:twice");
    let (_, message) =
        reported_cautions.iter().find(|(code, _)| code == "metadata_profiles_differ").unwrap();
    assert!(
        message.contains("single by 'ext4'") && message.contains("dup by 'twice'"),
        "{message}"
    );
    assert!(!of_places(&program, "once", "single").contains("metadata_profiles_differ"));
}

#[test]
fn partitions_of_one_disk_are_cautioned() {
    require_loop_fs!("ext4");
    let mut disk = match Partitioned::new(&[2048, 264_192], 262_144) {
        Ok(disk) => disk,
        Err(reason) => return skip(&reason),
    };
    let _settled = settled();
    let program = prepared();
    let places = [disk.mount(1), disk.mount(2)];
    trial(&program, &places[0], "first");
    trial(&program, &places[1], "second");
    assert_eq!(of_places(&program, "first", "second"), only("same_disk"));
    // The same target twice is not two targets on one disk.
    trial(&program, &places[0], "again");
    assert_eq!(of_places(&program, "first", "again"), BTreeSet::new());
    // The doctor has the caution for a plan, before anything is erased.
    let variant = |name: &str, node: usize| {
        let node = disk.node(node);
        let device = format!("device = {{ block = \"{}\" }}", node.display());
        format!("[[variant]]\nname = \"{name}\"\nfilesystem = \"ext4\"\n{device}\n")
    };
    let report = doctor(&program, &[variant("p1", 1), variant("p2", 2)].concat());
    assert!(report.contains("(same_disk)"), "{report}");
}

#[test]
fn differing_machine_settings_or_limits_are_cautioned() {
    require_root!();
    let _alone = SETTINGS.write().unwrap_or_else(PoisonError::into_inner);
    let program = prepared();
    let place = program.home().join("place");
    trial(&program, &place, "base");
    {
        let present = fs::read_to_string("/proc/sys/vm/swappiness").unwrap();
        let other = if present.trim() == "59" { "58" } else { "59" };
        let _changed = Setting::new("/proc/sys/vm/swappiness", other);
        trial(&program, &place, "swappy");
    }
    assert_eq!(of_places(&program, "base", "swappy"), only("kernel_settings_differ"));
    trial(&program, &place, "same");
    assert_eq!(of_places(&program, "base", "same"), BTreeSet::new());
    let group = match Cgroup::with_memory(512) {
        Ok(group) => group,
        Err(reason) => return skip(&reason),
    };
    let dir = place.join("w");
    group.run(&program, &words(dir.to_str().unwrap(), "limited")).ends_with(0);
    assert_eq!(of_places(&program, "base", "limited"), only("machines_differ"));
}

#[test]
fn differing_queue_settings_are_cautioned() {
    require_loop_fs!("ext4");
    let _settled = settled();
    let program = prepared();
    let place = LoopFs::new("ext4", 64);
    trial(&program, place.path(), "base");
    let of_base = last(&program);
    let name = of_base.facts.iter().find(|fact| fact.name == "device.name").unwrap();
    let file = format!("/sys/block/{}/queue/read_ahead_kb", name.value);
    {
        let _changed = Setting::new(&file, "64");
        trial(&program, place.path(), "ahead");
    }
    assert_eq!(of_places(&program, "base", "ahead"), only("devices_differ"));
    trial(&program, place.path(), "same");
    assert_eq!(of_places(&program, "base", "same"), BTreeSet::new());
}

/// Compares a trial made while a setting of the machine is changed with one before and one after.
fn cautioned_while_changed(name: &str, change: impl FnOnce() -> (Setting, String)) {
    let _alone = SETTINGS.write().unwrap_or_else(PoisonError::into_inner);
    let program = prepared();
    let place = program.home().join("place");
    trial(&program, &place, "base");
    let value = {
        let (_changed, value) = change();
        trial(&program, &place, "changed");
        let seen = program.run(["doctor", "--format", "json"]).ends_with(0).stdout;
        let seen: Value = serde_json::from_str(&seen).unwrap();
        let seen = seen["environment"].as_array().unwrap().iter().find(|fact| fact["name"] == name);
        let seen = seen.expect(name)["value"].as_str().unwrap();
        assert!(seen.contains(&value), "{seen}");
        value
    };
    let reported_cautions = cautions(&program, "base", "changed");
    let said = reported_cautions.iter().find(|(code, _)| code == "kernel_settings_differ");
    let (_, message) = said.unwrap_or_else(|| panic!("{name}: {reported_cautions:?}"));
    // Only the selected value of a list of choices is compared.
    let chosen = value.split_once('[').and_then(|(_, rest)| rest.split_once(']'));
    let value = chosen.map_or(value.as_str(), |(word, _)| word);
    assert!(message.contains(name) && message.contains(value), "{message}");
    trial(&program, &place, "same");
    assert!(!of_places(&program, "base", "same").contains("kernel_settings_differ"));
}

#[test]
fn differing_huge_page_settings_are_cautioned() {
    require_root!();
    let file = "/sys/kernel/mm/transparent_hugepage/enabled";
    if let Err(reason) = Setting::present(file) {
        return skip(&reason);
    }
    cautioned_while_changed("memory.transparent_hugepages", || {
        let other = if Setting::present(file).unwrap() == "always" { "never" } else { "always" };
        (Setting::new(file, other), format!("[{other}]"))
    });
}

#[test]
fn differing_dirty_memory_limits_are_cautioned() {
    require_root!();
    let pair = ["dirty_ratio", "dirty_bytes"];
    for (name, fact, values) in [
        ("dirty_ratio", "memory.dirty_ratio", ["31", "32"]),
        ("dirty_bytes", "memory.dirty_limit_bytes", ["805306368", "939524096"]),
    ] {
        cautioned_while_changed(fact, || {
            let present = Setting::present(&format!("/proc/sys/vm/{name}")).unwrap();
            let other = values.into_iter().find(|value| *value != present).unwrap();
            (Setting::of_pair(pair, name, other), other.to_owned())
        });
    }
}

/// Compares a trial made while the queue of its loop device is changed with one before and one
/// after; also runs the doctor on a plan with this directory and another.
fn cautioned_while_queue_changed(file: &str, fact: &str, values: [&str; 2]) {
    let _settled = settled();
    let program = prepared();
    let (place, other_place) = (LoopFs::new("ext4", 64), LoopFs::new("ext4", 64));
    trial(&program, place.path(), "base");
    let of_base = last(&program);
    let device = of_base.facts.iter().find(|fact| fact.name == "device.name").unwrap();
    let file = format!("/sys/block/{}/queue/{file}", device.value);
    let present = match Setting::present(&file) {
        Ok(present) => present,
        Err(reason) => return skip(&reason),
    };
    let other = values.into_iter().find(|value| *value != present).unwrap();
    let variant = |name: &str, place: &LoopFs| {
        let device = format!("device = {{ directory = \"{}\" }}", place.path().display());
        format!("[[variant]]\nname = \"{name}\"\n{device}\n")
    };
    let plan = [variant("place 0", &place), variant("place 1", &other_place)].concat();
    let foreseen = format!("{fact} is {other} for 'place 0' and ");
    assert!(!doctor(&program, &plan).contains(&foreseen));
    {
        let _changed = Setting::new(&file, other);
        trial(&program, place.path(), "changed");
        let report = doctor(&program, &plan);
        assert!(report.contains(&foreseen) && report.contains("(devices_differ)"), "{report}");
    }
    assert_eq!(of_places(&program, "base", "changed"), only("devices_differ"));
    let reported_cautions = cautions(&program, "base", "changed");
    let (_, message) = reported_cautions.iter().find(|(code, _)| code == "devices_differ").unwrap();
    let difference = format!("{fact} is {present} for 'base' and {other} for 'changed'");
    assert_eq!(*message, difference);
    trial(&program, place.path(), "same");
    assert_eq!(of_places(&program, "base", "same"), BTreeSet::new());
}

#[test]
fn differing_queue_lengths_are_cautioned() {
    require_loop_fs!("ext4");
    cautioned_while_queue_changed("nr_requests", "device.nr_requests", ["64", "32"]);
}

#[test]
fn differing_merge_settings_are_cautioned() {
    require_loop_fs!("ext4");
    cautioned_while_queue_changed("nomerges", "device.nomerges", ["2", "1"]);
}

#[test]
fn differing_writeback_throttling_is_cautioned() {
    require_loop_fs!("ext4");
    cautioned_while_queue_changed("wbt_lat_usec", "device.writeback_latency_us", ["4000", "3000"]);
}

/// Output of the doctor for a plan of these variants, as a single line.
fn doctor(program: &Program, variants: &str) -> String {
    let job = "[[job]]\noptions = { dataset = \"linux-6.1-small\", initial-dirs = 1, runs = 1 }\n";
    let plan = format!("rounds = 6\n[device]\nloop = \"2GiB\"\n{variants}{job}");
    fs::write(program.home().join("plan.toml"), plan).unwrap();
    let output = program.run(["doctor", "plan.toml"]).ends_with(0).stdout;
    output.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn the_doctor_forecasts_cautions_of_a_comparison() {
    let program = prepared();
    let report = |variants: &str| doctor(&program, variants);
    let ext4 = "[[variant]]\nfilesystem = \"ext4\"\n";
    let twice = report(&format!("{ext4}[[variant]]\nfilesystem = \"btrfs\"\n"));
    assert!(twice.contains("(metadata_profiles_differ)") && twice.contains("-m single"), "{twice}");
    let once = "[[variant]]\nfilesystem = \"btrfs\"\nmkfs = [\"-m\", \"single\"]\n";
    let once = report(&format!("{ext4}{once}"));
    assert!(!once.contains("(metadata_profiles_differ)"), "{once}");
    assert!(!once.contains("(sizes_differ)"), "{once}");
    let larger =
        "[[variant]]\nname = \"large\"\nfilesystem = \"ext4\"\ndevice = { loop = \"3GiB\" }\n";
    let larger = report(&format!("{ext4}{larger}"));
    assert!(larger.contains("(sizes_differ)"), "{larger}");
}

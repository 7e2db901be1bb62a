//! Each fact that a trial can record is compared, or stands here with the reason why not.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use treering_analysis::compare::COMPARED_FACTS;

/// Code that records facts, from the folder of the crate.
const RECORDERS: [&str; 3] = ["../../machine", "../../conduct", "../../model"];

/// First words of the names of facts about the conditions of a trial.
const GROUPS: [&str; 24] = [
    "cgroup",
    "commands",
    "conditions",
    "cpu",
    "caches",
    "device",
    "disk",
    "env",
    "filesystem",
    "guest",
    "host",
    "image",
    "kernel",
    "layers",
    "limits",
    "machine",
    "memory",
    "mkfs",
    "mount",
    "ranks",
    "reboot",
    "sysctl",
    "sysfs",
    "trees",
];

/// Facts that no rule compares, by name or, if it ends with a dot, by its beginning.
const NOT_COMPARED: [(&str, &str); 38] = [
    ("conditions.", "activity during a trial: cautions of trials, whose counts are compared"),
    ("host.", "activity during a trial: cautions of trials, whose counts are compared"),
    ("caches.dropped", "a caution of trials (caches_not_dropped), whose counts are compared"),
    ("cpu.mitigations", "long texts: the open vulnerabilities are compared (cpu.unmitigated)"),
    ("cpu.mitigations_asked", "its effect is compared (cpu.unmitigated, kernel.command_line)"),
    ("memory.usable_bytes", "memory within the limits, which are compared (cgroup.limits)"),
    ("device.backing_file", "a name: the filesystem and the allocation below are compared"),
    ("device.start_sectors", "two places of one disk: same_disk"),
    ("device.sectors", "the size of the filesystem is compared"),
    ("device.alignment_offset_bytes", "a caution of trials (misaligned)"),
    ("disk.about", "the fingerprint of a played disk is compared"),
    ("filesystem.source", "a name: device and disk are compared"),
    ("filesystem.mount_point", "a name"),
    ("filesystem.checksum", "its code is compared (checksum_code), its kind is a feature"),
    ("guest.kernel_release", "kernel.release is compared"),
    ("guest.commit", "the kernel is compared"),
    ("guest.append", "kernel.command_line is compared"),
    ("guest.failed_boots", "boots before the one in which the trial ran"),
    ("image.recipe", "the fingerprint of the image is compared"),
    ("kernel.build", "kernel.version is compared"),
    ("mkfs.output", "its effect is compared: features, geometry, profiles"),
    ("mkfs.version", "its effect is compared: features, geometry, profiles"),
    ("ranks.clock_uncertainty_ns_max", "an outcome"),
    ("ranks.directories", "places of the ranks: names"),
    ("ranks.launched_by", "the program that started the ranks, of which the work is the same"),
    ("ranks.launcher", "the program that started the ranks, of which the work is the same"),
    ("ranks.messages_received_bytes", "an outcome"),
    ("ranks.messages_sent_bytes", "an outcome"),
    ("ranks.mount", "mount options are compared"),
    ("ranks.slowest", "an outcome"),
    ("reboot.boot_id", "another one at each boot"),
    ("trees.kept", "a name"),
    ("commands.", "settings of a plan, compared by their beginning"),
    ("env.", "settings of a plan, compared by their beginning"),
    ("layers.", "settings of a plan, compared by their beginning"),
    ("limits.", "settings of a plan, compared by their beginning"),
    ("sysctl.", "settings of a plan, compared by their beginning, or by what follows from them"),
    ("sysfs.", "settings of a plan, compared by their beginning, or by what follows from them"),
];

/// Quoted words that look like facts and are files of control groups or images, programs, or names
/// of sysctls.
const NO_FACTS: [&str; 19] = [
    "cgroup.controllers",
    "cgroup.events",
    "cgroup.procs",
    "cgroup.subtree_control",
    "cpu.cfs_period_us",
    "cpu.cfs_quota_us",
    "cpu.max",
    "image.json",
    "memory.dirty",
    "memory.events",
    "memory.failcnt",
    "memory.high",
    "memory.limit_in_bytes",
    "memory.max",
    "memory.soft_limit_in_bytes",
    "memory.to_write",
    "memory.writeback",
    "mkfs.btrfs",
    "mkfs.xfs",
];

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|kind| kind == "rs") {
            found.push(path);
        }
    }
}

/// Quoted words of code that look like the name of a fact, outside its tests.
fn names_in(text: &str) -> BTreeSet<String> {
    let code = text.split("#[cfg(test)]").next().unwrap_or_default();
    let is_name = |word: &str| {
        let (group, rest) = word.split_once('.').unwrap_or_default();
        let is_word = |c: char| c.is_ascii_lowercase() || c == '_';
        GROUPS.contains(&group) && !rest.is_empty() && rest.chars().all(is_word)
    };
    code.split('"').filter(|word| is_name(word)).map(str::to_owned).collect()
}

#[test]
fn each_recorded_fact_is_compared_or_has_a_reason_why_not() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut files = Vec::new();
    for recorder in RECORDERS {
        sources(&root.join(recorder), &mut files);
    }
    files.retain(|file| file.components().any(|part| part.as_os_str() == "src"));
    let names: BTreeSet<String> =
        files.iter().flat_map(|file| names_in(&fs::read_to_string(file).unwrap())).collect();
    assert!(names.len() > 100 && names.contains("device.fua"), "{names:?}");
    let has_reason = |name: &str| {
        NOT_COMPARED.iter().any(|(other, _)| {
            if other.ends_with('.') { name.starts_with(other) } else { name == *other }
        })
    };
    let forgotten: Vec<&String> = names
        .iter()
        .filter(|name| !COMPARED_FACTS.contains(&name.as_str()) && !has_reason(name))
        .filter(|name| !NO_FACTS.contains(&name.as_str()))
        .collect();
    assert!(forgotten.is_empty(), "{forgotten:?}");
    for (name, _) in NOT_COMPARED {
        assert!(!COMPARED_FACTS.contains(&name), "{name} is compared");
    }
}

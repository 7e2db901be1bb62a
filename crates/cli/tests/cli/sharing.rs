//! Packs: equal trials in another store, no names of this machine in the file, and refusals.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use serde_json::Value;
use treering_model::TrialEvent;
use treering_pack::{PackReader, PackRecord};
use treering_testkit::Program;

use crate::program;

/// Name of the user, and of the directory under test.
const USER: &str = "quillfeather";

/// Program whose store has a completed plan of two directories.
fn measured() -> Program {
    let program = program();
    for dir in ["one", "two"] {
        fs::create_dir_all(program.home().join(USER).join(dir)).unwrap();
    }
    let home = program.home().join(USER);
    let dirs = format!("{},{}", home.join("one").display(), home.join("two").display());
    let words = ["compare", "--directories", &dirs, "--rounds", "1", "--no-warm-up", "--quiet"];
    let words = [&words[..], &["--workload", "fs_mark", "--", "--files", "5"]].concat();
    program.command(&words).env("USER", USER).output().unwrap();
    program
}

fn pack(program: &Program, more: &[&str]) -> PathBuf {
    let file = program.home().join("a.pack");
    let words = [&["pack", "-o", file.to_str().unwrap()], more].concat();
    let output = program.command(words).env("USER", USER).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let page = String::from_utf8(output.stdout).unwrap();
    assert!(page.contains("SHA-256"), "{page}");
    file
}

/// Records of a pack as JSON.
fn unpacked(file: &Path) -> String {
    let mut pack = PackReader::open(File::open(file).unwrap()).unwrap();
    let mut text = serde_json::to_string(pack.plans()).unwrap();
    while let Some(beginning) = pack.next_trial().unwrap() {
        let began = PackRecord::Event(TrialEvent::Began(beginning));
        text += &serde_json::to_string(&began).unwrap();
        while let Some(event) = pack.next_event().unwrap() {
            text += &serde_json::to_string(&event).unwrap();
        }
    }
    text
}

fn exported(program: &Program) -> Value {
    let text = program.run(["export", "--format", "json"]).ends_with(0).stdout;
    serde_json::from_str(&text).unwrap()
}

#[test]
fn merging_a_pack_with_names_restores_equal_trials_once() {
    let from = measured();
    from.run(["exclude", "last", "--reason", "a backup ran"]).ends_with(0);
    let file = pack(&from, &["--with-names", "--traces"]);
    let file = file.to_str().unwrap();
    let to = program();
    let dry = to.run(["merge", file, "--dry-run"]).ends_with(0).stdout;
    assert!(dry.contains("2 trials to add, 0 there already"), "{dry}");
    let first = to.run(["merge", file]).ends_with(0).stdout;
    assert!(first.contains("2 trials added, 0 there already"), "{first}");
    assert_eq!(exported(&from), exported(&to));
    for program in [&to, &from] {
        let again = program.run(["merge", file]).ends_with(0).stdout;
        assert!(again.contains("0 trials added, 2 there already"), "{again}");
    }
    to.run(["store", "check"]).ends_with(0);
}

#[test]
fn a_pack_has_no_names_of_machine_user_or_directory() {
    let from = measured();
    let file = pack(&from, &[]);
    let text = unpacked(&file);
    let host = fs::read_to_string("/proc/sys/kernel/hostname").unwrap();
    let words = text.split(|one: char| !one.is_alphanumeric());
    assert!(!words.into_iter().any(|word| word == host.trim()), "{text}");
    for name in [USER, from.home().to_str().unwrap()] {
        assert!(!text.contains(name), "{name} in {text}");
    }
    assert!(text.contains("/path-1") && text.contains("[[variant]]"), "{text}");
    // Trials are recognised although names were left out.
    let file = file.to_str().unwrap();
    let again = from.command(["merge", file]).env("USER", USER).output().unwrap();
    let again = String::from_utf8(again.stdout).unwrap();
    assert!(again.contains("0 trials added, 2 there already"), "{again}");
    // The two variants are still distinct.
    let to = program();
    to.run(["merge", file]).ends_with(0);
    let page = to.run(["report", "--plan", "quick", "--full"]).ends_with(0).stdout;
    assert!(page.contains("fs_mark"), "{page}");
}

#[test]
fn removed_names_are_listed_before_the_pack_is_written() {
    let from = measured();
    let page = from.run(["pack", "--dry-run"]).ends_with(0).stdout;
    assert!(page.contains("What is left out") && page.contains("/path-1"), "{page}");
    assert!(page.contains(USER) && page.contains("trials"), "{page}");
    from.run(["pack", "--dry-run", "--label", "none such"]).ends_with(2).complains("no trial");
}

#[test]
fn a_changed_byte_is_refused_with_its_digests() {
    let from = measured();
    let file = pack(&from, &[]);
    let good = fs::read(&file).unwrap();
    let to = program();
    for (at, words) in
        [(0, "no pack"), (20, "no pack"), (60, "SHA-256"), (good.len() - 1, "SHA-256")]
    {
        let mut bad = good.clone();
        bad[at] ^= 1;
        fs::write(&file, bad).unwrap();
        let ran = to.run(["merge", file.to_str().unwrap()]).ends_with(2);
        assert!(ran.stderr.contains(words) || ran.stderr.contains("damaged"), "{at}: {ran}");
    }
    fs::write(&file, &good[..good.len() - 7]).unwrap();
    to.run(["merge", file.to_str().unwrap()]).ends_with(2).complains("damaged");
    assert!(!to.data().join("results.treering").exists());
}

#[test]
fn a_pack_is_recognised_although_names_were_removed() {
    let from = measured();
    let mut whole = exported(&from);
    for trial in whole["trials"].as_array_mut().unwrap() {
        let text = format!("{USER}'s copy, from oak:/export (addr=10.1.2.3)");
        trial["facts"][0]["value"] = Value::from(text);
    }
    let (one, other) = (program(), program());
    for program in [&one, &other] {
        let json = program.home().join("whole.json");
        fs::write(&json, whole.to_string()).unwrap();
        program.run(["import", json.to_str().unwrap()]).ends_with(0);
    }
    let file = pack(&one, &[]);
    let text = unpacked(&file);
    for name in [USER, "oak", "10.1.2.3"] {
        assert!(!text.contains(name), "{name} in {text}");
    }
    // Another machine does not know the removed names, but recognises the trials.
    let merged = other.run(["merge", file.to_str().unwrap()]).ends_with(0).stdout;
    assert!(merged.contains("0 trials added, 2 there already"), "{merged}");
    let new = program();
    let merged = new.run(["merge", file.to_str().unwrap()]).ends_with(0).stdout;
    assert!(merged.contains("2 trials added"), "{merged}");
}

#[test]
fn another_trial_under_the_same_identity_is_refused_by_name() {
    let from = measured();
    let mut changed = exported(&from);
    let trial = &mut changed["trials"][1];
    let id = trial["beginning"]["trial"].as_str().unwrap().to_owned();
    trial["metrics"][0]["value"] = Value::from(1.5);
    let other = program();
    let json = other.home().join("changed.json");
    fs::write(&json, changed.to_string()).unwrap();
    other.run(["import", json.to_str().unwrap()]).ends_with(0);
    let file = pack(&other, &["--with-names"]);
    let before = exported(&from);
    from.run(["merge", file.to_str().unwrap()]).ends_with(2).complains(&id);
    assert_eq!(exported(&from), before);
}

//! Links with the names of the imitated tools: links made, and files left unchanged.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::process::Command;

use crate::program;

/// Names of the imitated tools.
const NAMES: [&str; 10] = [
    "compilebench",
    "fs_mark",
    "ffsb",
    "bonnie++",
    "dbench",
    "blogbench",
    "fio",
    "filebench",
    "mdtest",
    "ior",
];

#[test]
fn every_tool_has_a_link_to_the_running_treering() {
    let program = program();
    let dir = program.home().join("links");
    fs::create_dir(&dir).unwrap();
    let dry = program.run(["links", "--dry-run", "links"]).ends_with(0);
    assert_eq!(dry.stdout.matches("would make links/").count(), NAMES.len(), "{dry}");
    assert_eq!(fs::read_dir(&dir).unwrap().count(), 0);
    program.run(["links", "links"]).ends_with(0);
    let mut entries: Vec<String> = fs::read_dir(&dir)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    entries.sort_unstable();
    let mut names = NAMES.to_vec();
    names.sort_unstable();
    assert_eq!(entries, names);
    assert!(fs::read_link(dir.join("ffsb")).unwrap().is_absolute());
    let ran = Command::new(dir.join("ffsb")).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&ran.stderr).trim(), "usage: ffsb <config file>");
    let again = program.run(["links", "links"]).ends_with(0);
    assert_eq!(again.stdout.matches(" (exists)\n").count(), NAMES.len(), "{again}");
}

#[test]
fn only_links_to_treering_are_replaced() {
    let program = program();
    let dir = program.home().join("links");
    fs::create_dir(&dir).unwrap();
    fs::write(dir.join("fio"), "the original").unwrap();
    fs::create_dir(dir.join("ffsb")).unwrap();
    symlink("/usr/bin/true", dir.join("dbench")).unwrap();
    symlink("/no/longer/there/treering", dir.join("fs_mark")).unwrap();
    let ran = program.run(["links", "links"]).ends_with(3).complains("not a link to treering");
    for name in ["fio", "ffsb", "dbench"] {
        assert!(ran.stderr.contains(&format!("links/{name}")), "{ran}");
    }
    assert_eq!(fs::read_to_string(dir.join("fio")).unwrap(), "the original");
    assert!(dir.join("ffsb").is_dir());
    assert_eq!(fs::read_link(dir.join("dbench")).unwrap(), PathBuf::from("/usr/bin/true"));
    assert!(dir.join("fs_mark").exists(), "leads to what exists");
    assert_eq!(fs::read_dir(&dir).unwrap().count(), NAMES.len(), "the others were made");
}

#[test]
fn links_beside_the_executable_are_relative() {
    let program = program();
    let dir = program.home().join("bin");
    fs::create_dir(&dir).unwrap();
    let copy = dir.join("treering");
    program.copy_to(&copy);
    let outcome = Command::new(&copy).args(["links".as_ref(), dir.as_os_str()]).output().unwrap();
    assert!(outcome.status.success(), "{outcome:?}");
    assert_eq!(fs::read_link(dir.join("fs_mark")).unwrap(), PathBuf::from("treering"));
}

#[test]
fn a_missing_directory_is_reported() {
    program().run(["links", "none"]).ends_with(2).complains("none");
}

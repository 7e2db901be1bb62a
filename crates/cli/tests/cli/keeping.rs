//! `treering store`: the contents of the store file, its integrity, and the release of unused
//! space.

use std::fs;
use std::path::PathBuf;

use treering_testkit::{LoopFs, Program, fill, require_loop_fs};

use crate::program;

const LOG: &str = "\
#  ./fs_mark  -d  /mnt/a  -s  0  -n  1000  -L  1
#\tVersion 3.3, 1 thread(s) starting at Thu Nov 20 19:08:46 2025

FSUse%        Count         Size    Files/sec     App Overhead
     0         1000            0      RATE            12345
";

/// Creates a store with three trials in a separate file.
fn stored() -> (Program, PathBuf) {
    let program = program();
    let store = program.home().join("some.treering");
    for rate in ["1000.0", "2000.0", "3000.0"] {
        let log = program.home().join("fs_mark.log");
        fs::write(&log, LOG.replace("RATE", rate)).unwrap();
        program
            .run(["import", log.to_str().unwrap(), "--store", store.to_str().unwrap()])
            .ends_with(0);
    }
    (program, store)
}

/// Replaces every occurrence of a text in the store file by another of the same length.
fn overwrite(store: &PathBuf, old: &[u8], new: &[u8]) {
    let mut bytes = fs::read(store).unwrap();
    let mut at = 0;
    while let Some(found) = bytes[at..].windows(old.len()).position(|window| window == old) {
        at += found;
        bytes[at..at + old.len()].copy_from_slice(new);
    }
    assert!(at > 0, "the text is there");
    fs::write(store, bytes).unwrap();
}

#[test]
fn an_intact_store_is_checked_and_its_size_reported() {
    let (program, store) = stored();
    let name = store.to_str().unwrap();
    let size = fs::metadata(&store).unwrap().len();
    let checked = program.run(["store", "check", "--store", name]).ends_with(0).stdout;
    assert_eq!(checked, format!("{name}: 3 trials read, no fault found\n"));
    let info = program.run(["store", "info", "--store", name, "--format", "csv"]).ends_with(0);
    assert!(info.stdout.contains("trials,3"), "{}", info.stdout);
    assert!(info.stdout.contains(&format!("size,{size}")), "{}", info.stdout);
}

#[test]
fn vacuum_keeps_the_size_and_contents_of_a_compact_store() {
    let (program, store) = stored();
    let name = store.to_str().unwrap();
    let list = || program.run(["list", "--store", name, "--format", "json"]).ends_with(0).stdout;
    let before = list();
    let words = program.run(["store", "vacuum", "--store", name]).ends_with(0).stdout;
    assert!(words.ends_with(" bytes released\n"), "{words}");
    assert_eq!(list(), before);
    program.run(["store", "check", "--store", name]).ends_with(0);
}

#[test]
fn trials_that_cannot_be_read_are_named_and_counted() {
    let (program, store) = stored();
    overwrite(&store, b"higher", b"hugher");
    let name = store.to_str().unwrap();
    let checked = program.run(["store", "check", "--store", name]).ends_with(3);
    assert!(checked.stderr.contains("metrics.better"), "{}", checked.stderr);
    assert!(checked.stderr.contains("3 of 3 trials cannot be read"), "{}", checked.stderr);
}

#[test]
fn a_truncated_store_is_damaged() {
    let (program, store) = stored();
    let bytes = fs::read(&store).unwrap();
    fs::write(&store, &bytes[..bytes.len() / 2]).unwrap();
    let checked = program.run(["store", "check", "--store", store.to_str().unwrap()]).ends_with(3);
    assert!(checked.stderr.contains("damaged"), "{}", checked.stderr);
}

#[test]
fn a_vacuum_without_space_keeps_the_store_unchanged() {
    require_loop_fs!("ext4");
    let place = LoopFs::new("ext4", 64);
    let (program, made) = stored();
    let store = place.path().join("some.treering");
    fs::copy(made, &store).unwrap();
    let name = store.to_str().unwrap();
    program.run(["store", "check", "--store", name]).ends_with(0);
    let full = fill(&place.path().join("full"));
    let before = fs::read(&store).unwrap();
    let ran = program.run(["store", "vacuum", "--store", name]);
    ran.ends_with(3).complains("no space");
    drop(full);
    assert!(fs::read(&store).unwrap() == before, "the store is another");
    program.run(["store", "check", "--store", name]).ends_with(0);
    program.run(["store", "vacuum", "--store", name]).ends_with(0);
}

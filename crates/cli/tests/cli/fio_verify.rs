//! Jobs that verify what they write: good data is never reported as corrupt, contrary to some
//! public bug reports about the original, and bad data is found.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use treering_testkit::{FinishedCommand, at_once, temp_dir};

use crate::program;

const CORPUS: &str = include_str!("../../../../testkit/corpus/fio-verify.txt");
/// Command line of a job whose writes overlap, with a log of its requests.
const OVERLAPPING: &str =
    "--name=v --rw=randwrite:4 --bs=512 --size=128k --verify=xxhash --write_iolog=log";

/// Issue number, if the case was reported, and command line of each case.
fn corpus() -> Vec<(&'static str, &'static str)> {
    let lines = CORPUS.lines().filter(|line| !line.starts_with('#'));
    lines.map(|line| line.split_once(' ').unwrap()).collect()
}

/// Runs treering with a PATH that has no installed fio.
fn ours(dir: &Path, line: &str) -> FinishedCommand {
    let program = program();
    let mut command = program.command(["fio", "--no-store"].into_iter().chain(line.split(' ')));
    FinishedCommand::run(command.current_dir(dir).env("PATH", "/no/such/directory"))
}

/// Kind of the first bad block in the output.
fn complaint(text: &str) -> String {
    let is_one = |line: &&str| line.contains("verify: bad") || line.contains("verify failed");
    let Some(line) = text.lines().find(is_one) else { return "good".to_owned() };
    let words = line.trim_start_matches("verify: ").split(' ');
    let kind: Vec<&str> = words.take_while(|word| !word.starts_with(char::is_numeric)).collect();
    kind.join(" ")
}

#[test]
fn good_data_is_not_reported_as_corrupt() {
    at_once(&corpus(), |(_, line)| {
        let dir = temp_dir();
        let ran = ours(dir.path(), &format!("--name=v --output-format=terse {line}"));
        assert_eq!((ran.code, complaint(&ran.stderr)), (Some(0), "good".to_owned()), "{line}");
    });
}

#[test]
fn overlapping_writes_are_verified_once_for_each_offset() {
    let dir = temp_dir();
    ours(dir.path(), OVERLAPPING).ends_with(0);
    let log = fs::read_to_string(dir.path().join("log")).unwrap();
    let offsets = |what: &str| -> Vec<u64> {
        let lines = log.lines().filter(|line| line.contains(what));
        lines.map(|line| line.split(' ').nth(3).unwrap().parse().unwrap()).collect()
    };
    let (written, read) = (offsets(" write "), offsets(" read "));
    let places: BTreeSet<u64> = written.iter().copied().collect();
    assert!(places.len() < written.len(), "no write overlaps another");
    assert_eq!(read.len(), places.len());
    assert_eq!(read.into_iter().collect::<BTreeSet<u64>>(), places);
}

#[test]
fn a_changed_block_is_found_among_overlapping_writes() {
    let dir = temp_dir();
    ours(dir.path(), &format!("{OVERLAPPING} --do_verify=0")).ends_with(0);
    let log = fs::read_to_string(dir.path().join("log")).unwrap();
    let last = log.lines().rfind(|line| line.contains(" write ")).unwrap();
    let offset: usize = last.split(' ').nth(3).unwrap().parse().unwrap();
    let path = dir.path().join("v.0.0");
    let mut bytes = fs::read(&path).unwrap();
    bytes[offset + 300] ^= 4;
    fs::write(&path, bytes).unwrap();
    let ran = ours(dir.path(), &format!("{OVERLAPPING} --verify_only=1")).ends_with(1);
    let place = format!("xxhash: verify failed at file v.0.0 offset {offset}, length 512");
    assert!(ran.stderr.contains(&place), "{ran}");
}

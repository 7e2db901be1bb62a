//! `show --classic` reproduces the output of every imitated tool from the store, byte for byte.

use std::fs;

use treering_testkit::{FinishedCommand, Program};

use crate::ffsb::Profile;
use crate::program;

const WML: &str = "define fileset name=set,path=w,size=4k,entries=9,dirwidth=3,prealloc=80\n\
    define process name=one { thread name=two,instances=2 {\n\
    flowop openfile name=open,filesetname=set,fd=1\n\
    flowop readwholefile name=read,fd=1,iosize=1k\n\
    flowop closefile name=close,fd=1\n} }\nrun 1\n";

/// Runs the tool, removes its files, and compares its output with the one reproduced from the
/// store.
fn comes_again(program: &Program, words: &str) -> String {
    let dir = program.home().join("w");
    fs::create_dir_all(&dir).unwrap();
    let ran = program.run(words.split_whitespace()).ends_with(0);
    for path in ["w.f", "jobs.fio", "profile", "load.txt"] {
        let _not_there = fs::remove_file(program.home().join(path));
    }
    fs::remove_dir_all(&dir).unwrap();
    let shown = program.run(["show", "last", "--classic"]).ends_with(0);
    assert_eq!(shown.stdout, ran.stdout, "{words}");
    assert_eq!(shown.stderr, ran.stderr, "{words}");
    ran.stdout
}

#[test]
fn compilebench() {
    let program = program();
    treering_testkit::FourLists::tiny().write_to(&program.home().join("lists"));
    let words = "compilebench -D w -s lists -i 2 -r 5";
    let output = comes_again(&program, words);
    assert!(output.contains("intial create total runs 2"), "{output}");
}

#[test]
fn fs_mark() {
    let output = comes_again(&program(), "fs_mark -d w/a -d w/b -n 20 -s 100 -L 2 -t 2 -v");
    assert!(output.contains("FSUse%"), "{output}");
}

#[test]
fn bonnie() {
    let output = comes_again(&program(), "bonnie++ -d w -s 1 -r 0 -n 1 -u root -x 2");
    assert!(output.contains("format_version,bonnie_version"), "{output}");
}

#[test]
fn dbench() {
    let program = program();
    program.run("dbench generate --blocks 2 -o load.txt".split(' ')).ends_with(0);
    let output = comes_again(&program, "dbench -D w -c load.txt -t 2 --warmup 1 2");
    assert!(output.contains("Throughput "), "{output}");
}

#[test]
fn blogbench() {
    let output = comes_again(&program(), "blogbench -d w -i 1 -s 1");
    assert!(output.contains("Final score for writes:"), "{output}");
}

#[test]
fn ffsb() {
    let program = program();
    let profile = Profile::new("num_files=5\nnum_dirs=1", "read_weight=1\ncreate_weight=1");
    fs::write(program.home().join("profile"), profile.text()).unwrap();
    let output = comes_again(&program, "ffsb profile");
    assert!(output.contains("Transactions per Second"), "{output}");
}

#[test]
fn filebench() {
    let program = program();
    fs::write(program.home().join("w.f"), WML).unwrap();
    let output = comes_again(&program, "filebench -f w.f");
    assert!(output.contains("IO Summary"), "{output}");
}

#[test]
fn fio() {
    let program = program();
    let text = "[global]\ndirectory=w\nsize=64k\ninclude more.fio\n[a]\nrw=randrw\nnumjobs=2\n\
                [b]\nstonewall\nrw=write\n";
    fs::write(program.home().join("jobs.fio"), text).unwrap();
    fs::write(program.home().join("more.fio"), "bs=8k\n").unwrap();
    let said = comes_again(&program, "fio jobs.fio --output-format=normal,json");
    assert!(said.contains("pid="), "{said}");
}

/// A job file from standard input is stored like a named one.
#[test]
fn fio_from_standard_input() {
    let program = program();
    fs::create_dir(program.home().join("w")).unwrap();
    let input = program.home().join("input");
    fs::write(&input, "[a]\ndirectory=w\nsize=64k\nrw=randrw\n").unwrap();
    let mut command = program.command(["fio", "-", "--output-format=normal,json"]);
    let ran = FinishedCommand::run(command.stdin(fs::File::open(&input).unwrap())).ends_with(0);
    fs::remove_file(&input).unwrap();
    fs::remove_dir_all(program.home().join("w")).unwrap();
    let shown = program.run(["show", "last", "--classic"]).ends_with(0);
    assert_eq!(shown.stdout, ran.stdout);
    assert!(ran.stdout.contains("a: (g=0): rw=randrw"), "{}", ran.stdout);
}

#[test]
fn a_trial_without_classic_lines_says_why() {
    let program = program();
    fs::create_dir(program.home().join("w")).unwrap();
    program.run("run fs_mark --dir w --files 3 -q".split(' ')).ends_with(0);
    let refused = program.run(["show", "last", "--classic"]).ends_with(2);
    refused.complains("--classic: this trial was run in native mode");
}

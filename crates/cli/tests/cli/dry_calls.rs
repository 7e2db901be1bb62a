//! `--dry-run --calls` prints every call of a run, of any workload, in order.

use treering_model::{Op, Trial};

use crate::program;
use crate::trial::last;

const PROFILE: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/ffsb/mail-server-small.ffsb");

/// Small native runs of every workload.
const RUNS: [&[&str]; 8] = [
    &["compilebench", "--dataset", "linux-6.1-small", "-i", "1", "-r", "0"],
    &["fs_mark", "--files", "3", "--size", "10000"],
    &["ffsb", PROFILE],
    &["bonnie++", "--size", "16M", "--files", "1"],
    &["dbench", "--time", "1", "--clients", "2"],
    &["blogbench", "--iterations", "1"],
    &["filebench", "fileserver"],
    &["fio", "j.fio"],
];

#[test]
fn every_workload_prints_its_calls_reproducibly() {
    let program = program();
    let job = "[a]\nrw=randwrite\nsize=64k\nbs=4k\n";
    std::fs::write(program.home().join("j.fio"), job).unwrap();
    for words in RUNS {
        let run = || {
            let command_words = ["run"].iter().chain(words).chain(&["--dry-run", "--calls"]);
            program.run(command_words).ends_with(0).stdout
        };
        let text = run();
        let is_call = |line: &&str| line.starts_with("0 ");
        assert!(text.lines().any(|line| line.starts_with("phase ")), "{words:?}: {text}");
        assert!(text.lines().filter(is_call).count() > 3, "{words:?}: {text}");
        assert!(run() == text, "{words:?}");
    }
}

/// Number of calls of this kind in all tasks.
fn made(trial: &Trial, op: Op) -> u64 {
    let ops = trial.tasks.iter().flat_map(|task| &task.ops);
    ops.filter(|one| one.op == op).map(|one| one.calls).sum()
}

#[test]
fn printed_calls_equal_those_of_a_run() {
    let program = program();
    let words = ["run", "fs_mark", "--files", "20", "--size", "10000", "--threads", "2"];
    let printed = program.run(words.iter().chain(&["--dry-run", "--calls"])).ends_with(0).stdout;
    program.run(words.iter().chain(&["--dir", "w"])).ends_with(0);
    let trial = last(&program);
    for op in [Op::Create, Op::Write, Op::Fsync, Op::Close, Op::Unlink, Op::MakeDir] {
        let of =
            |line: &&str| !line.starts_with("phase ") && line.split(' ').nth(1) == Some(op.name());
        let count = printed.lines().filter(of).count() as u64;
        assert_eq!(count, made(&trial, op), "{op}: {printed}");
    }
}

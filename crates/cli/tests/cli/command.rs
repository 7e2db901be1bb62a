//! Any program as a workload: its figures on real filesystems, and misbehaving programs.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread::sleep;
use std::time::{Duration, Instant};

use treering_model::{Ending, Metric, Scope, Trial};
use treering_testkit::{
    FinishedCommand, LoopFs, Program, is_root, require_loop_fs, require_tool, skip,
};

use crate::program;
use crate::trial::{again, cautions, failure, last, tasks};

fn run(program: &Program, words: &[&str]) -> FinishedCommand {
    program.run(["run", "command", "--dir", "d", "--quiet"].iter().chain(words))
}

fn metric<'t>(trial: &'t Trial, name: &str) -> Option<&'t Metric> {
    let whole = |metric: &&Metric| metric.name == name && metric.scope == Scope::Trial;
    trial.metrics.iter().find(whole)
}

/// Stored counters of the command's task, as JSON.
fn output(trial: &Trial) -> String {
    let task = trial.tasks.iter().find(|task| task.kind == "command").unwrap();
    serde_json::to_value(&task.counters).unwrap().to_string()
}

/// Programs whose working directory is below a directory.
fn working_in(place: &Path) -> Vec<PathBuf> {
    let processes = fs::read_dir("/proc").unwrap().flatten().map(|entry| entry.path());
    let is_there = |process: &PathBuf| {
        fs::read_link(process.join("cwd")).is_ok_and(|cwd| cwd.starts_with(place))
    };
    processes.filter(is_there).collect()
}

fn eventually(what: &str, mut is_so: impl FnMut() -> bool) {
    let began = Instant::now();
    while !is_so() {
        assert!(began.elapsed() < Duration::from_secs(120), "{what}");
        sleep(Duration::from_millis(10));
    }
}

#[test]
fn a_command_has_times_cpu_io_and_numbers_of_its_output() {
    let program = program();
    let text = r#"echo "sum: 1,5"; printf '{"ops": [{"rate": 250}]}\n'"#;
    let words = ["--metric=rate=json:/ops/0/rate,unit=kB/s,primary", "--shell", text];
    run(&program, &words).ends_with(0);
    let trial = last(&program);
    assert_eq!((trial.ending.clone(), tasks(&trial)), (Ending::Completed, vec![("command", "sh")]));
    let rate = metric(&trial, "rate").unwrap();
    assert!(rate.primary && (rate.value - 250e3 / 1_048_576.0).abs() < 1e-9, "{rate:?}");
    let elapsed = metric(&trial, "elapsed_seconds").unwrap();
    assert!(!elapsed.primary && elapsed.value > 0.0);
    for name in ["cpu_seconds", "final_sync_seconds", "storage_written_bytes"] {
        assert!(metric(&trial, name).is_some(), "{name}");
    }
    assert!(output(&trial).contains("sum: 1,5"), "{}", output(&trial));
}

#[test]
fn written_bytes_are_counted_and_files_stay_on_real_filesystems() {
    for kind in ["ext4", "xfs"] {
        require_loop_fs!(kind);
        let (program, mounted) = (program(), LoopFs::new(kind, 512));
        let dir = mounted.path().to_str().unwrap();
        let copy = ["dd", "if=/dev/zero", "of=f", "bs=64k", "count=32", "conv=fsync"];
        let words = ["run", "command", "--dir", dir, "--layout", "--prepare=mkdir\\ sub", "--"];
        program.run(words.iter().chain(&copy)).ends_with(4).complains("--prepare: exit code 127");
        assert!(!mounted.path().join("f").exists(), "it does not run after a failed --prepare");
        let words = ["run", "command", "--dir", dir, "--layout", "--"];
        program.run(words.iter().chain(&copy)).ends_with(0);
        let trial = last(&program);
        assert_eq!(fs::metadata(mounted.path().join("f")).unwrap().len(), 2 << 20, "{kind}");
        let written = metric(&trial, "storage_written_bytes").unwrap().value;
        assert!(written >= f64::from(2 << 20), "{kind}: {written}");
        program.run(again(&program)).ends_with(0);
        assert_eq!(last(&program).beginning.parameters, trial.beginning.parameters);
    }
}

#[test]
fn a_missing_number_gives_a_caution_instead_of_a_metric() {
    let program = program();
    let words = ["--metric=a=rate: (.*),unit=s", "--metric=b=^b=(\\d+)$,unit=ops/s", "--"];
    run(&program, &[&words[..], &["printf", "rate: none\\nb=7\\n"]].concat()).ends_with(0);
    let trial = last(&program);
    assert_eq!(trial.ending, Ending::Completed);
    assert!(metric(&trial, "a").is_none());
    assert_eq!(metric(&trial, "b").unwrap().value.to_bits(), 7_f64.to_bits());
    assert!(cautions(&trial).contains(&"metric_missing"), "{:?}", trial.cautions);
    assert!(trial.cautions.iter().any(|one| one.message.contains("no value of a")));
}

#[test]
fn a_failing_command_fails_the_trial_with_its_last_lines() {
    let program = program();
    let text = r"seq 1000 >&2; printf 'disk \033[31mfull\n' >&2; exit 3";
    let words = ["--cleanup", "touch cleaned", "--shell", text];
    run(&program, &words).ends_with(4).complains("sh: exit code 3: 998; 999; 1000; disk \\u{1b}");
    let why = failure(&last(&program)).to_owned();
    assert!(why.ends_with("full") && !why.contains('\u{1b}') && why.len() < 200, "{why}");
    assert!(program.home().join("d/cleaned").exists(), "--cleanup runs after a failure, too");
    run(&program, &["--shell", "kill -9 $$"]).ends_with(4).complains("ended by signal 9");
    run(&program, &["--", "./missing"]).ends_with(4).complains("cannot be started");
    run(&program, &["--cleanup", "false", "--", "true"]).ends_with(4).complains("--cleanup");
}

#[test]
fn invalid_commands_are_refused_before_they_run() {
    let program = program();
    for (words, why) in [
        (&["--"][..], "no command is given"),
        (&["--shell", "true", "--", "true"], "given twice"),
        (&["--", "dd if=x of=y"], "give its words apart, or --shell 'dd if=x of=y'"),
        (&["--", "no-such-program-of-that-name"], "not found in the directories of PATH"),
        (&["--metric=x=(.)(.),unit=s", "--", "touch", "ran"], "2 capture groups"),
        (&["--metric=elapsed_seconds=(.),unit=s", "--", "touch", "ran"], "itself"),
        (&["--latency=off", "--", "touch", "ran"], "--latency"),
    ] {
        run(&program, words).ends_with(2).complains(why);
    }
    assert!(!program.home().join("d/ran").exists());
    let ran = run(&program, &["--dry-run", "--prepare", "touch b", "--", "touch", "{dir}/ran"]);
    let lines = "prepare sh -c 'touch b'\ncommand touch '{dir}/ran'\n";
    assert_eq!(ran.ends_with(0).stdout, lines);
    let calls = ["--dry-run", "--calls", "--prepare", "touch b", "--", "touch", "{dir}/ran"];
    let shown = run(&program, &calls).ends_with(0).stdout;
    assert_eq!(shown, format!("# another program makes the calls; it is not run here\n{lines}"));
    assert!(!program.home().join("d/ran").exists());
}

#[test]
fn output_of_any_size_and_any_bytes_is_bounded() {
    let program = program();
    let text = r"echo first=1; head -c 64M /dev/urandom; head -c 1M /dev/zero; echo; echo last=2";
    let metrics = ["--metric=first=^first=(.*),unit=s", "--metric=last=^last=(.*),unit=s"];
    run(&program, &[&metrics[..], &["--shell", text]].concat()).ends_with(0);
    let trial = last(&program);
    let found = |name: &str| metric(&trial, name).map(|metric| metric.value.to_bits());
    let [one, two] = [1_f64, 2_f64].map(|value| Some(value.to_bits()));
    assert_eq!((found("first"), found("last")), (one, two));
    let kept = output(&trial);
    assert!(kept.contains("bytes left out") && kept.len() < 1 << 20, "{}", kept.len());
}

#[test]
fn leftover_processes_are_ended_even_if_they_hold_pipes() {
    let program = program();
    let place = program.home().join("d");
    // A process keeps the output open, and a daemon has left the session and ignores SIGTERM.
    let text = "sleep 1000 & (setsid sh -c 'trap \"\" TERM; sleep 1000 & wait' >/dev/null 2>&1 &)";
    run(&program, &["--shell", text]).ends_with(0);
    let trial = last(&program);
    assert_eq!(trial.ending, Ending::Completed);
    assert!(cautions(&trial).contains(&"processes_left"), "{:?}", trial.cautions);
    assert_eq!(working_in(&place), [] as [PathBuf; 0]);
    // A server that is started before the command and stopped after it counts as no leftover.
    let words = ["--prepare", "sleep 1000 >log 2>&1 & echo $! >pid", "--cleanup"];
    let words = [&words[..], &["kill $(cat pid)", "--shell", "kill -0 $(cat pid)"]].concat();
    run(&program, &words).ends_with(0);
    assert!(!cautions(&last(&program)).contains(&"processes_left"));
}

#[test]
fn a_signal_ends_the_whole_process_group() {
    let program = program();
    let place = program.home().join("d");
    let text = "trap '' INT; sh -c 'sleep 1000; true' & sh -c 'sleep 1000; true'";
    let run = program.start(["run", "command", "--dir", "d", "--shell", text]);
    eventually("it works", || working_in(&place).len() >= 4);
    run.send("INT");
    run.finish().ends_with(130);
    assert_eq!(last(&program).ending, Ending::Interrupted);
    assert_eq!(working_in(&place), [] as [PathBuf; 0]);
}

#[test]
fn a_plan_of_commands_is_compared_like_any_other() {
    let (program, fast, slow) = (program(), "a", "b");
    for dir in [fast, slow] {
        fs::create_dir(program.home().join(dir)).unwrap();
    }
    let place = |name: &str| program.home().join(name).display().to_string();
    let plan = format!(
        "rounds = 2\n\n[[variant]]\nname = \"a\"\ndevice = {{ directory = {:?} }}\n\n\
         [[variant]]\nname = \"b\"\ndevice = {{ directory = {:?} }}\n\n\
         [[job]]\nname = \"echo\"\nprepare = \"echo 5 >n\"\ncommand = [\"sed\", \"s/^/n=/\", \"n\"]\n\
         cleanup = [\"rm\", \"{{dir}}/n\"]\n\
         metric = {{ name = \"n\", regex = 'n=(\\d+)', unit = \"ops/s\", primary = true }}\n",
        place(fast),
        place(slow)
    );
    fs::write(program.home().join("p.toml"), plan).unwrap();
    let ran = program.run(["compare", "p.toml", "--format", "json"]).ends_with(0);
    assert!(!ran.stdout.contains("command.output"), "outputs are no difference of the machine");
    let trial = last(&program);
    assert_eq!(trial.ending, Ending::Completed);
    assert_eq!(metric(&trial, "n").unwrap().value.to_bits(), 5_f64.to_bits());
    assert_eq!(trial.tasks.len(), 3);
    for dir in [fast, slow] {
        assert_eq!(fs::read_dir(program.home().join(dir)).unwrap().count(), 0, "{dir}");
    }
}

#[test]
fn sysbench_is_a_workload() {
    require_tool!("sysbench");
    let program = program();
    let files = "sysbench fileio --file-num=4 --file-total-size=4M";
    let (prepare, cleanup) = (format!("{files} prepare"), format!("{files} cleanup"));
    let words = ["--prepare", &prepare, "--cleanup", &cleanup];
    let metric_of = ["--metric", r"writes=writes/s: +([\d.]+),unit=ops/s,primary", "--shell"];
    let text = format!("{files} --file-test-mode=rndwr --time=0 --events=200 run");
    run(&program, &[&words[..], &metric_of, &[&text]].concat()).ends_with(0);
    assert!(metric(&last(&program), "writes").unwrap().value > 0.0);
    assert_eq!(fs::read_dir(program.home().join("d")).unwrap().count(), 0);
}

#[test]
fn db_bench_is_a_workload() {
    require_tool!("db_bench");
    let program = program();
    let words = ["--cleanup", "rm -rf db", "--metric"];
    let metric_of = [r"puts=^fillsync .* ([\d.]+) ops/sec,unit=ops/s,primary", "--"];
    let command = ["db_bench", "--benchmarks=fillsync", "--num=20000", "--db={dir}/db"];
    run(&program, &[&words[..], &metric_of, &command].concat()).ends_with(0);
    assert!(metric(&last(&program), "puts").unwrap().value > 0.0);
    assert_eq!(fs::read_dir(program.home().join("d")).unwrap().count(), 0);
}

/// Directory of PostgreSQL's server programs, such as `initdb`.
fn postgres() -> Option<PathBuf> {
    let versions = fs::read_dir("/usr/lib/postgresql").ok()?.flatten();
    versions.map(|entry| entry.path().join("bin")).find(|bin| bin.join("pg_ctl").exists())
}

#[test]
fn pgbench_is_a_workload_with_a_server_from_prepare_to_cleanup() {
    let Some(bin) = postgres() else { return skip("PostgreSQL is not installed") };
    if is_root() {
        // The server refuses to run as root, and another user may not be able to enter this test's
        // directory.
        return as_postgres(&bin);
    }
    pgbench(&program(), &bin, "mkdir pg", "sh -c");
}

fn as_postgres(bin: &Path) {
    let id = Command::new("id").arg("postgres").output();
    if !id.is_ok_and(|id| id.status.success()) {
        return skip("there is no user postgres");
    }
    let program = program();
    FinishedCommand::run(Command::new("chmod").arg("755").arg(program.home())).ends_with(0);
    pgbench(&program, bin, "install -d -o postgres pg", "runuser -u postgres -- sh -c");
}

fn pgbench(program: &Program, bin: &Path, make: &str, user: &str) {
    let bin = bin.display();
    let prepare = format!(
        "{make} && cd pg && {user} '{bin}/initdb -D data >/dev/null && \
         {bin}/pg_ctl -D data -l log -o \"-k $PWD -h \\\"\\\"\" -w start && \
         {bin}/pgbench -h $PWD -q -i postgres'"
    );
    let cleanup = format!("{user} '{bin}/pg_ctl -D pg/data -m fast stop'; rm -rf pg");
    let text = format!("{user} '{bin}/pgbench -h $TREERING_DIR/pg -t 20 postgres'");
    let words = ["--prepare", &prepare, "--cleanup", &cleanup, "--metric"];
    let more_words = [r"tps=^tps = ([\d.]+),unit=ops/s,primary", "--shell", &text];
    run(program, &[&words[..], &more_words].concat()).ends_with(0);
    assert!(metric(&last(program), "tps").unwrap().value > 0.0);
    assert_eq!(fs::read_dir(program.home().join("d")).unwrap().count(), 0);
}

//! Command lines of fio beside the original: counts, bytes, files and JSON names are equal, and
//! each program verifies the data of the other.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::thread::sleep;
use std::time::Duration;

use serde_json::Value;
use treering_testkit::{
    FinishedCommand, Program, TracedCall, at_once, require_tool, temp_dir, traced,
};

use crate::fio::{done, schema};
use crate::program;

fn words(line: &str) -> impl Iterator<Item = &str> {
    line.split(' ').filter(|word| !word.is_empty())
}

/// Runs the original in this directory.
fn original(dir: &Path, line: &str) -> Output {
    Command::new("fio").args(words(line)).current_dir(dir).output().unwrap()
}

/// Runs treering with a PATH that has no installed fio.
fn ours(program: &Program, dir: &Path, line: &str) -> FinishedCommand {
    let mut command = program.command(["fio", "--no-store"].into_iter().chain(words(line)));
    FinishedCommand::run(command.current_dir(dir).env("PATH", "/no/such/directory"))
}

fn document(text: &str) -> Value {
    let begin = text.find('{').unwrap_or_else(|| panic!("no JSON: {text}"));
    serde_json::from_str(&text[begin..]).unwrap()
}

fn sizes(dir: &Path) -> BTreeMap<String, u64> {
    let entries = fs::read_dir(dir).unwrap().map(Result::unwrap);
    let sizes = entries
        .map(|entry| (entry.file_name().into_string().unwrap(), entry.metadata().unwrap().len()));
    sizes.collect()
}

fn names(document: &Value) -> Vec<String> {
    let mut all = Vec::new();
    schema(document, "", &mut all);
    all.retain(|name| !name.contains("/disk_util"));
    all.sort_unstable();
    all.dedup();
    all
}

const LINES: &[&str] = &[
    "--rw=write --verify=md5",
    "--rw=randwrite --verify=crc32c --ioengine=libaio --iodepth=16",
    "--rw=randwrite --verify=crc32c --ioengine=mmap",
    "--rw=randwrite --verify=sha256 --ioengine=sync --nrfiles=5 --openfiles=2",
    "--rw=rw --verify=md5",
    "--rw=randrw --verify=md5 --verify_backlog=10",
    "--rw=rw --verify=crc32c --verify_backlog=1 --do_verify=1",
    "--rw=randwrite --verify=md5 --verify_backlog=32 --verify_backlog_batch=8 --iodepth=8 \
     --ioengine=libaio",
    "--rw=randwrite --verify=md5 --norandommap --io_size=3m",
    "--rw=write --verify=md5 --loops=3",
    "--rw=write --verify=md5 --do_verify=0",
    "--rw=write --verify=md5 --verify_only=1",
    "--rw=read --verify=md5",
    "--rw=write --verify=md5 --numjobs=3 --group_reporting",
    "--rw=randwrite --bsrange=1k-16k --verify=crc32c",
    "--rw=write --verify=pattern --verify_pattern=0xff --experimental_verify=1",
    "--rw=write --verify=null",
    "--rw=write --ioengine=null --verify=md5",
    "--rw=write --verify=md5 --end_fsync=1 --fsync=16",
    "--rw=write --bs=8m --size=32m",
    "--rw=read --bs=8m --size=32m --ioengine=libaio --iodepth=4",
    "--rw=trim",
    "--rw=randtrim --ioengine=libaio",
    "--rw=randtrim --ioengine=falloc --offset=64k",
    "--rw=trimwrite --ioengine=falloc",
    "--rw=randtrimwrite --ioengine=null --bsrange=512-4k",
    "--rw=randtrimwrite --ioengine=null --bs=4k,4k,8k --norandommap=1",
    "--rw=randtrimwrite --ioengine=null --number_ios=20",
    "--rw=read --zonemode=strided --zonesize=64k --zoneskip=64k",
    "--rw=randread --zonemode=strided --zonesize=256k --zonerange=64k --io_size=1m",
    "--rw=randread --random_generator=lfsr",
    "--rw=randwrite --random_generator=lfsr --nrfiles=3",
    "--rw=randread --cpus_allowed=0 --nice=5",
    "--rw=randread --prio=4 --prioclass=2",
    "--rw=write --continue_on_error=all",
    "--rw=write --rate_min=1k",
    "--rw=write --size=128k --rate_iops=2000 --rate_process=poisson",
    "--rw=write --io_submit_mode=offload",
    "--rw=rw --unified_rw_reporting=1",
    "--rw=rw --unified_rw_reporting=both",
    "--rw=write --trim_percentage=50 --verify=crc32c",
    "--rw=write --fdatasync=1 --size=64k",
    "--rw=write --sync_file_range=write:4 --size=64k",
    "--rw=randrw --trim_percentage=30 --trim_backlog=10",
    "--rw=write --trim_percentage=50 --verify=crc32c --trim_backlog=16 --do_verify=0",
    "--rw=write --flow=1 --name=w --flow=4 --size=1m --rw=write",
    "--rw=write --name=b --size=1m --rw=read --wait_for=v",
    "--rw=write --fadvise_hint=random",
    "--rw=read --pre_read=1",
    "--rw=write --buffer_compress_percentage=50 --dedupe_percentage=30",
    "--rw=write --buffer_pattern=0xdeadbeef",
    "--rw=write --max_latency=100s",
    "--rw=write --create_serialize=0",
    "--rw=write --unlink_each_loop=1 --loops=2",
    "--rw=write --nrfiles=300 --filesize=4k --openfiles=250",
    "--rw=randread --nrfiles=1000 --filesize=1k --bs=1k",
    "--rw=randread --random_generator=tausworthe64 --bsrange=1k-16k",
    "--rw=randwrite --ioengine=null --bsrange=512/25:1k:25:4k/25",
    "--rw=randread --ioengine=posixaio --iodepth=8",
    "--rw=randwrite --ioengine=posixaio --iodepth=8 --end_fsync=1",
    "--rw=write --file_append=1 --loops=2",
    "--rw=write --create_only=1 --overwrite=1",
    "--rw=randread --size=256k --thinktime=1ms --thinktime_iotime=20ms",
    "--rw=randread --ioengine=null --zonemode=strided --zonesize=8k --zonerange=16k",
    "--rw=randwrite --nrfiles=4 --bsrange=1k-16k --zonemode=strided --zonesize=32k",
    "--rw=randwrite --bsrange=4k-64k --io_size=3m --verify=sha256",
    "--rw=randwrite:4 --bsrange=4k-64k --size=2m --nrfiles=5 --number_ios=100",
    "--rw=randwrite --bs=4k,8k --size=777k --offset=4k --random_generator=lfsr --verify=md5",
    "--rw=read --significant_figures=6 --unit_base=1 --bwavgtime=100",
    "--kb_base=1000 --rw=read --bs=1k --size=100k",
    "--rw=read --filesize=64k --offset=128k",
    "--rw=randrw --ioengine=vsync --fsync=8",
    "--rw=randwrite --ioengine=vsync --bsrange=1k-16k --norandommap --loops=2",
    "--rw=randread --nrfiles=10 --file_service_type=zipf:1.2",
    "--rw=randread --nrfiles=10 --file_service_type=pareto:0.3 --openfiles=2",
    "--rw=write --nrfiles=3 --bsrange=1k-16k --file_service_type=normal:50 --loops=2",
    "--rw=write --ioengine=null --iodepth=8 --fsync=4",
    "--rw=randrw --ioengine=null --iodepth=32 --fdatasync=8",
    "--rw=write --ioengine=libaio --iodepth=32 --fsync=1",
    "--rw=randwrite --ioengine=libaio --iodepth=16 --fsync=4 --fdatasync=3",
    "--rw=randrw --ioengine=libaio --iodepth=8 --io_size=50% --loops=2",
    "--rw=randread --offset=20% --bsrange=512-8k",
    "--rw=randwrite --offset=20% --bssplit=4k/50:8k/50 --loops=2 --nrfiles=3",
    "--rw=read --bs=64k --numjobs=2 --offset_increment=10% --loops=3",
    "--rw=write --bsrange=1k-8k --file_append=1 --loops=2",
    "--rw=write --sync_file_range=write:8",
    "--rw=randwrite --sync_file_range=wait_before,write:16 --ioengine=libaio",
];

/// Jobs that end by time.
const TIMED: &[&str] = &[
    "--ioengine=null --rw=randread --time_based --runtime=4 --ss=iops:99% --ss_dur=2",
    "--ioengine=null --rw=write --time_based --runtime=3 --ss=bw_slope:9m --ss_dur=5 --ss_ramp=1",
    "--ioengine=null --rw=write --time_based --runtime=4 --ss=iops_slope:50% --ss_dur=2 \
     --numjobs=2 --group_reporting",
];

#[test]
fn a_steady_state_is_reported_as_by_the_original() {
    require_tool!("fio");
    at_once(TIMED, |line| {
        let program = program();
        let line = format!("--name=v --size=1m --output-format=json {line}");
        let (theirs, mine) = (temp_dir(), temp_dir());
        let expected = original(theirs.path(), &line);
        let ran = ours(&program, mine.path(), &line);
        assert_eq!(ran.code, Some(0), "{line}: {ran}");
        let text = String::from_utf8(expected.stdout).unwrap();
        let (expected, got) = (document(&text), document(&ran.stdout));
        assert_eq!(names(&got), names(&expected), "{line}");
        let [expected, got] = [&expected, &got].map(|all| &all["jobs"][0]["steadystate"]);
        for key in ["ss", "duration"] {
            assert_eq!(got[key], expected[key], "{line}: {key}");
        }
        let seconds = |all: &Value| all["data"]["iops"].as_array().unwrap().len();
        assert_eq!(seconds(got), seconds(expected), "{line}");
    });
}

#[test]
fn counts_files_and_names_equal_the_original() {
    require_tool!("fio");
    at_once(LINES, |line| {
        let program = program();
        let line = format!("--name=v --size=1m --output-format=json {line}");
        let (theirs, mine) = (temp_dir(), temp_dir());
        let expected = original(theirs.path(), &line);
        let ran = ours(&program, mine.path(), &line);
        let text = String::from_utf8(expected.stdout).unwrap();
        assert_eq!(ran.code, expected.status.code(), "{line}: {ran}");
        let (expected, got) = (document(&text), document(&ran.stdout));
        if !line.contains("unified") {
            assert_eq!(done(&got), done(&expected), "{line}");
        }
        assert_eq!(names(&got), names(&expected), "{line}");
        assert_eq!(sizes(mine.path()), sizes(theirs.path()), "{line}");
    });
}

/// Command lines that fail as a whole, in one job of several, or not at all.
const CODES: &[&str] = &[
    "--name=a --rw=trim --size=64k --name=b --rw=trim --size=64k",
    "--name=a --rw=trim --size=64k --numjobs=3",
    "--name=a --rw=trim --size=64k --numjobs=3 --group_reporting",
    "--name=a --rw=write --size=64k --name=b --rw=trim --size=64k",
    "--name=a --rw=trim --size=64k --name=b --stonewall --rw=write --size=64k",
    "--name=a --rw=trim --size=64k --name=b --exitall_on_error --rw=write --size=64k",
    "--name=a --rw=trim --size=64k --continue_on_error=all",
    "--name=a --rw=trim --size=64k --ioengine=libaio --iodepth=8",
    "--name=a --rw=write --size=64k --max_latency=1ns",
    "--name=a --rw=write --size=64k --continue_on_error=all",
    "--name=a --rw=write --size=64k --parse-only",
    "--name=a --rw=write --size=64k --showcmd",
    "--name=a --rw=write",
    "--name=a --rw=sideways --size=64k",
    "--name=a --rw=write --size=64k --numjobs=3 --max-jobs=1",
    "--name=a --rw=write --size=64k --readonly",
    "--name=a --rw=write --size=64k --group_reporting=3 --thread=5 --new_group=2",
    "--name=a --rw=randwrite --size=64k --norandommap=7 --invalidate=-1",
    "--name=a --rw=write --size=64k --overwrite=9",
    "--name=a --rw=write --size=64k --time_based=soon",
    "--name=a --rw=write --size=64k --ioengine=linuxaio --iodepth=4",
    "--name=a --rw=write --size=64k --ioengine=aio-ring",
    "--bogus",
    "no-such-file.fio",
    "--version",
];

#[test]
fn exit_codes_and_job_errors_equal_the_original() {
    require_tool!("fio");
    at_once(CODES, |line| {
        let program = program();
        let line = format!("--output-format=json {line}");
        let (theirs, mine) = (temp_dir(), temp_dir());
        let expected = original(theirs.path(), &line);
        let ran = ours(&program, mine.path(), &line);
        assert_eq!(ran.code, expected.status.code(), "{line}: {ran}");
        let text = String::from_utf8(expected.stdout).unwrap();
        if text.contains("\"jobs\"") && ran.stdout.contains("\"jobs\"") {
            let errors = |text: &str| {
                let document = document(text);
                let jobs = document["jobs"].as_array().unwrap();
                jobs.iter().map(|job| job["error"].clone()).collect::<Vec<_>>()
            };
            assert_eq!(errors(&ran.stdout), errors(&text), "{line}: {ran}");
            assert_eq!(done(&document(&ran.stdout)), done(&document(&text)), "{line}");
        }
    });
}

/// Values of `--verify`; `pattern` has a further option.
const KINDS: [&str; 18] = [
    "md5",
    "crc64",
    "crc32",
    "crc32c",
    "crc32c-intel",
    "crc16",
    "crc7",
    "sha1",
    "sha256",
    "sha512",
    "sha3-224",
    "sha3-256",
    "sha3-384",
    "sha3-512",
    "xxhash",
    "meta",
    "null",
    "pattern --verify_pattern=\"ab\"%o",
];

#[test]
fn each_program_verifies_the_data_of_the_other() {
    require_tool!("fio");
    let layouts =
        ["--bs=4k", "--bsrange=1k-8k", "--bs=4k --verify_interval=512 --verify_offset=256"];
    at_once(&KINDS, |kind| {
        let program = program();
        for layout in layouts {
            let line = format!("--name=v --filename=v --size=64k --verify={kind} {layout}");
            let dir = temp_dir();
            let (write, read) = (format!("{line} --rw=randwrite"), format!("{line} --rw=read"));
            ours(&program, dir.path(), &write).ends_with(0);
            let by_fio = original(dir.path(), &read).status.code();
            fs::remove_file(dir.path().join("v")).unwrap();
            assert_eq!(original(dir.path(), &write).status.code(), Some(0), "{line}");
            // The expected result is that of the original on its own blocks.
            let expected = original(dir.path(), &read).status.code();
            let by_us = ours(&program, dir.path(), &read).code;
            assert_eq!((by_fio, by_us), (expected, expected), "{line}");
        }
    });
}

#[test]
fn a_corrupt_block_ends_the_job() {
    let (program, dir) = (program(), temp_dir());
    let line = "--name=v --filename=v --size=64k --verify=md5";
    ours(&program, dir.path(), &format!("{line} --rw=write --do_verify=0")).ends_with(0);
    let path = dir.path().join("v");
    let mut bytes = fs::read(&path).unwrap();
    bytes[9000] ^= 1;
    fs::write(&path, bytes).unwrap();
    let read = format!("{line} --rw=read --verify_dump=1 --output-format=json");
    let ran = ours(&program, dir.path(), &read).ends_with(1);
    let message =
        "md5: verify failed at file v offset 8192, length 4096 (requested block: offset=8192";
    assert!(ran.stderr.contains(message), "{ran}");
    assert_eq!(document(&ran.stdout)["jobs"][0]["error"], 84);
    let dumped = |what: &str| fs::read(dir.path().join(format!("v.8192.{what}"))).unwrap();
    let (received, expected) = (dumped("received"), dumped("expected"));
    let differ = received.iter().zip(&expected).skip(56).filter(|(one, other)| one != other);
    assert_eq!((received.len(), expected.len(), differ.count()), (4096, 4096, 1));
    // With this option the job continues after such errors, and counts them.
    let ran = ours(&program, dir.path(), &format!("{read} --continue_on_error=verify"));
    let job = &document(&ran.ends_with(0).stdout)["jobs"][0];
    assert_eq!((&job["total_err"], &job["first_error"]), (&Value::from(1), &Value::from(84)));
    assert_eq!(job["read"]["total_ios"], 16);
}

#[test]
fn a_request_log_is_replayed() {
    let (program, dir) = (program(), temp_dir());
    let line = "--name=a --filename=x:y --size=256k --rw=randrw --fsync=8 --write_iolog=log";
    ours(&program, dir.path(), line).ends_with(0);
    let line = "--name=b --read_iolog=log --replay_no_stall=1 --output-format=json";
    let job = document(&ours(&program, dir.path(), line).ends_with(0).stdout)["jobs"][0].take();
    let log = fs::read_to_string(dir.path().join("log")).unwrap();
    for (way, word) in [("read", " read "), ("write", " write ")] {
        let count = log.lines().filter(|line| line.contains(word)).count();
        assert_eq!(job[way]["total_ios"], count, "{way}");
    }
    require_tool!("fio");
    let theirs = original(dir.path(), line).stdout;
    let theirs = document(&String::from_utf8(theirs).unwrap())["jobs"][0].take();
    for way in ["read", "write", "sync"] {
        assert_eq!(job[way]["total_ios"], theirs[way]["total_ios"], "{way}");
        assert_eq!(job[way]["io_bytes"], theirs[way]["io_bytes"], "{way}");
    }
}

/// Parses the consecutive JSON documents of an output.
fn documents(text: &str) -> Vec<Value> {
    let begin = text.find('{').unwrap_or_else(|| panic!("no JSON: {text}"));
    let all = serde_json::Deserializer::from_str(&text[begin..]).into_iter();
    all.map(Result::unwrap).collect()
}

fn requests(document: &Value) -> Vec<u64> {
    let jobs = document["jobs"].as_array().unwrap().iter();
    jobs.map(|job| job["read"]["total_ios"].as_u64().unwrap()).collect()
}

#[test]
fn interim_reports_are_complete_and_end_with_the_result() {
    require_tool!("fio");
    // The rate limit leaves time for reports, however slow the machine is.
    let line = "--ioengine=null --rw=randread --size=400k --rate_iops=100 --name=a --numjobs=2 \
                --name=b --stonewall --thread --status-interval=200ms --output-format=json";
    let (program, dir) = (program(), temp_dir());
    let theirs = original(dir.path(), line);
    let theirs = documents(&String::from_utf8(theirs.stdout).unwrap());
    let ran = ours(&program, dir.path(), line).ends_with(0);
    let ours = documents(&ran.stdout);
    assert!(ours.len() >= 3 && theirs.len() >= 3, "{} {}", ours.len(), theirs.len());
    let last = requests(theirs.last().unwrap());
    assert_eq!(last, [100; 3]);
    assert_eq!(requests(ours.last().unwrap()), last);
    assert_eq!(names(ours.last().unwrap()), names(theirs.last().unwrap()));
    assert_eq!(names(&ours[0]), names(&theirs[0]));
    for pair in ours.windows(2) {
        let (before, after) = (requests(&pair[0]), requests(&pair[1]));
        assert!(before.iter().zip(&after).all(|(before, after)| before <= after), "{ran}");
        let at = |one: &Value| one["timestamp_ms"].as_u64().unwrap();
        assert!(at(&pair[0]) <= at(&pair[1]));
    }
    // The second group has not begun in the first report.
    assert_eq!(requests(&ours[0])[2], 0);
}

#[test]
fn interim_reports_have_every_format_and_only_the_last_is_stored() {
    let (program, dir) = (program(), temp_dir());
    let line = "--ioengine=null --rw=randread --size=200k --rate_iops=100 --name=a --name=b \
                --stonewall --status-interval=100ms --output-format=normal,terse --output=r.txt";
    let ran = ours(&program, dir.path(), line).ends_with(0);
    assert_eq!(ran.stdout, "", "{ran}");
    let text = fs::read_to_string(dir.path().join("r.txt")).unwrap();
    let terse: Vec<&str> = text.lines().filter(|line| line.starts_with("3;")).collect();
    let groups = text.matches("Run status group 0").count();
    assert!(groups >= 3 && terse.len() == 2 * groups, "{text}");
    assert!(terse[0].starts_with("3;fio-3.33;a;") && terse[1].starts_with("3;fio-3.33;b;1;0;0;"));
    // The normal format has no row for a job that has not begun.
    assert!(text.matches("\nb: (groupid=1").count() < groups, "{text}");
    let mut command = program.command(["fio"].into_iter().chain(words(line)));
    FinishedCommand::run(command.current_dir(dir.path())).ends_with(0);
    let shown = program.run(["show", "last", "--classic"]).ends_with(0).stdout;
    assert_eq!(shown.matches("Run status group 0").count(), 1, "{shown}");
    let mut rows = text.lines().rev().filter(|line| line.starts_with("3;"));
    assert!(rows.next().is_some_and(|row| row.starts_with("3;fio-3.33;b;1;0;200;")), "{text}");
}

#[test]
fn a_signal_asks_for_a_report() {
    let (program, dir) = (program(), temp_dir());
    let line = "--ioengine=null --rw=randread --size=40m --rate_iops=100 --name=a --time_based \
                --runtime=60 --output-format=terse";
    let mut command = program.command(["fio", "--no-store"].into_iter().chain(words(line)));
    let mut child = command.current_dir(dir.path()).stdout(Stdio::piped()).spawn().unwrap();
    let mut out = BufReader::new(child.stdout.take().unwrap());
    let tell = |name: &str| {
        let sent = Command::new("kill").args([name, &child.id().to_string()]).status().unwrap();
        assert!(sent.success());
    };
    // The handler is installed once the process status lists the signal as caught.
    let catches = || {
        let status = fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap();
        let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:")).unwrap();
        u64::from_str_radix(caught.trim(), 16).unwrap() & (1 << 9) != 0
    };
    while !catches() {
        sleep(Duration::from_millis(10));
    }
    tell("-USR1");
    let mut line = String::new();
    out.read_line(&mut line).unwrap();
    assert!(line.starts_with("3;fio-3.33;a;0;0;"), "{line}");
    tell("-INT");
    let mut rest = String::new();
    out.read_to_string(&mut rest).unwrap();
    assert_eq!(rest.lines().filter(|line| line.starts_with("3;")).count(), 1, "{rest}");
    assert_eq!(child.wait().unwrap().code(), Some(128));
}

#[test]
fn warnings_are_printed_and_optionally_fatal() {
    require_tool!("fio");
    let common = "--name=a --size=64k --output-format=terse --ioengine=null";
    for (line, code) in [
        ("--time_based", 1),
        ("--rw=randwrite --blockalign=8k", 1),
        ("--rw=write --verify=md5 --numjobs=2 --filename=x", 1),
        ("--rw=write --verify=md5 --numjobs=2", 0),
        ("--rw=write --verify=md5 --time_based --runtime=100ms", 1),
        ("--rw=randwrite --verify=md5 --norandommap --bsrange=4k-8k", 1),
    ] {
        let (program, dir) = (program(), temp_dir());
        let lines = |text: &str| -> Vec<String> {
            text.lines().filter(|line| line.starts_with("fio:")).map(str::to_owned).collect()
        };
        let typed = format!("{line} {common}");
        let theirs = original(dir.path(), &typed);
        let plain = ours(&program, dir.path(), &typed).ends_with(0);
        let [out, errors] =
            [theirs.stdout, theirs.stderr].map(|text| lines(&String::from_utf8(text).unwrap()));
        assert_eq!((lines(&plain.stdout), lines(&plain.stderr)), (out, errors), "{line}");
        let typed = format!("--warnings-fatal {typed}");
        assert_eq!(original(dir.path(), &typed).status.code(), Some(code), "{line}");
        let fatal = ours(&program, dir.path(), &typed).ends_with(code);
        assert_eq!(fatal.stdout.contains("3;fio-3.33"), code == 0, "{fatal}");
    }
}

/// Options of each job, and the global ones, as listed in the JSON document.
fn listed(document: &Value) -> Vec<Value> {
    let jobs = document["jobs"].as_array().unwrap().iter().map(|job| job["job options"].clone());
    std::iter::once(document["global options"].clone()).chain(jobs).collect()
}

#[test]
fn options_are_listed_as_the_original_lists_them() {
    require_tool!("fio");
    let job = "[global]\nioengine=null\nsize=64k\nthread\ntime_based=0\n[a]\nnorandommap\n\
               rw=randread\n[b]\nstonewall\n";
    let group = "[global]\nioengine=null\ngroup_reporting\n[a]\nsize=64k\nbs=4k\nnumjobs=2\n\
                 [b]\nsize=32k\nbs=8k\n";
    for line in [
        "j.fio",
        "--thread --size=64k --name=a --ioengine=null --norandommap --rw=randread --name=b \
         --ioengine=null",
        "--ioengine=null --name=a --size=64k",
        "group.fio",
        "--name=global --ioengine=null --size=64k --name=x --rw=write",
        "--ioengine=null --name=global --size=64k --name=x",
    ] {
        let (program, dir) = (program(), temp_dir());
        fs::write(dir.path().join("j.fio"), job).unwrap();
        fs::write(dir.path().join("group.fio"), group).unwrap();
        let typed = format!("{line} --output-format=json");
        let theirs = String::from_utf8(original(dir.path(), &typed).stdout).unwrap();
        let ours = ours(&program, dir.path(), &typed).ends_with(0);
        assert_eq!(listed(&document(&ours.stdout)), listed(&document(&theirs)), "{line}");
    }
}

#[test]
fn both_json_formats_are_one_document_with_buckets() {
    let (program, dir) = (program(), temp_dir());
    let line = "--name=a --ioengine=null --size=64k --output-format=json,json+,terse";
    let ran = ours(&program, dir.path(), line).ends_with(0);
    assert_eq!(ran.stdout.matches("\"fio version\"").count(), 1, "{ran}");
    let text = ran.stdout.lines().filter(|line| !line.starts_with("3;fio"));
    let job = document(&text.collect::<Vec<_>>().join("\n"))["jobs"][0].take();
    assert!(job["read"]["clat_ns"]["bins"].is_object(), "{job}");
}

#[test]
fn parse_only_opens_no_job_files() {
    let (program, dir) = (program(), temp_dir());
    let line = "--parse-only --name=a --size=1m --nrfiles=2000 --directory=none --rw=randread";
    let command = program.command(["fio", "--no-store"].into_iter().chain(words(line)));
    let Some(calls) = traced(&command, dir.path(), "%file") else { return };
    let of_jobs = |call: &&TracedCall| call.call.contains("none") || call.call.contains("a.0.");
    let named: Vec<_> = calls.iter().filter(of_jobs).collect();
    // Only the start of the program itself names these files.
    assert!(named.iter().all(|call| call.call.starts_with("execve")), "{named:?}");
}

#[test]
fn many_clones_and_open_files_run_natively() {
    let (program, dir) = (program(), temp_dir());
    let line = "--name=a --ioengine=null --size=4k --numjobs=1100 --thread --group_reporting \
                --output-format=json";
    let ran = ours(&program, dir.path(), line).ends_with(0);
    assert_eq!(document(&ran.stdout)["jobs"][0]["read"]["total_ios"], 1100, "{ran}");
    let line = "--name=a --rw=write --filesize=4k --nrfiles=10000 --openfiles=10000 \
                --output-format=json";
    let ran = ours(&program, dir.path(), line);
    let job = document(&ran.stdout)["jobs"][0].take();
    // A lower limit of the system allows fewer clones, and the error says so.
    let is_whole = ran.code == Some(0) && job["write"]["total_ios"] == 10_000;
    assert!(is_whole || job["error"] == 24, "{ran}");
}

#[test]
fn a_job_named_like_a_path_has_its_files_there() {
    let (program, dir) = (program(), temp_dir());
    ours(&program, dir.path(), "--name=a/b --size=64k --rw=write").ends_with(0);
    assert_eq!(fs::metadata(dir.path().join("a/b.0.0")).unwrap().len(), 65536);
}

/// Job files in which files are named several times, or jobs are left out of the report.
const NAMED: &[&str] = &[
    "[global]\nfilename=all\nsize=96k\n[w]\nrw=write\nfilename=own\n",
    "[global]\nfilename=all\nfilename=more\nsize=96k\n[w]\nrw=write\n[v]\nrw=read\n",
    "[global]\nfilename=all\ndirectory=.\nsize=64k\n[w]\nrw=write\ndirectory=below\n",
    "[global]\nfilename=all\nsize=64k\n[w]\nrw=write\ndirectory=below\nfilename=own\n",
    "[global]\nfilename=all\nsize=64k\n[w]\nrw=write\nfilename=all\n",
    "[global]\nfilename=all:more\nsize=96k\n[w]\nrw=write\nnrfiles=1\n",
    "[global]\nfilename=all\nfilesize=64k\n[w]\nrw=randwrite\nfilename=own\nnumjobs=2\n",
    "[w]\ndirectory=.:below\nfilename=own\nsize=64k\nnumjobs=2\nrw=write\n",
    "[w]\nnrfiles=4\nfilename=own\nsize=64k\nrw=write\n",
    "[global]\nsize=64k\nrw=write\n[w]\n[quiet]\nstats=0\ngroup_reporting\n[v]\nnew_group\n",
    "[global]\nsize=64k\nrw=write\ngroup_reporting\n[quiet]\nstats=0\n[w]\nnumjobs=2\n",
    "[quiet]\nsize=64k\nrw=write\nstats=0\n",
];

/// Sizes of the files of a directory and of the one below it.
fn all_sizes(dir: &Path) -> [BTreeMap<String, u64>; 2] {
    let mut here = sizes(dir);
    here.remove("below");
    [here, sizes(&dir.join("below"))]
}

#[test]
fn files_that_several_sections_name_and_jobs_without_a_row_equal_the_original() {
    require_tool!("fio");
    at_once(NAMED, |job| {
        let program = program();
        let (theirs, mine) = (temp_dir(), temp_dir());
        for dir in [&theirs, &mine] {
            fs::create_dir(dir.path().join("below")).unwrap();
            fs::write(dir.path().join("job.fio"), job).unwrap();
        }
        let line = "--output-format=json job.fio";
        let expected = original(theirs.path(), line);
        let ran = ours(&program, mine.path(), line);
        assert_eq!(ran.code, expected.status.code(), "{job}: {ran}");
        assert_eq!(all_sizes(mine.path()), all_sizes(theirs.path()), "{job}: {ran}");
        let rows = |text: &str| {
            let jobs = document(text)["jobs"].take();
            // The original adds a row without a name for a job that is to have none.
            let named = |job: &&Value| job.get("jobname").is_some();
            let row = |job: &Value| {
                (job["jobname"].clone(), job["groupid"].clone(), job["write"]["io_bytes"].clone())
            };
            jobs.as_array().unwrap().iter().filter(named).map(row).collect::<Vec<_>>()
        };
        let text = String::from_utf8(expected.stdout).unwrap();
        assert_eq!(rows(&ran.stdout), rows(&text), "{job}: {ran}");
    });
}

//! fio as a user runs it: output, files and trials of jobs, beside the original if it is installed.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;
use treering_model::{Ending, HeatReport, Scope, WorkLimit};
use treering_testkit::{
    FinishedCommand, LoopFs, Program, require_root, require_tool, temp_dir, traced, tree_of,
};

use crate::program;
use crate::trial::{again, failure, last};

/// Writes a job file and runs it in classic mode, without an installed fio on the path.
fn run(program: &Program, job: &str, words: &[&str]) -> FinishedCommand {
    fs::write(program.home().join("j.fio"), job).unwrap();
    let mut command = program.command(["fio", "j.fio"].iter().chain(words));
    FinishedCommand::run(command.env("PATH", "/no/such/directory"))
}

/// Runs the job file natively in `d`.
fn native(program: &Program, job: &str, words: &[&str]) -> FinishedCommand {
    fs::write(program.home().join("j.fio"), job).unwrap();
    program.run(["run", "fio", "j.fio", "--dir", "d"].iter().chain(words))
}

fn json(ran: &FinishedCommand) -> Value {
    serde_json::from_str(&ran.stdout).unwrap_or_else(|error| panic!("{error}: {ran}"))
}

/// Work reported by fio's JSON document, without times.
pub(crate) fn done(document: &Value) -> Vec<(String, u64, Vec<[u64; 3]>, u64)> {
    let jobs = document["jobs"].as_array().unwrap();
    let number = |value: &Value| value.as_u64().unwrap();
    jobs.iter()
        .map(|job| {
            let name = job["jobname"].as_str().unwrap().to_owned();
            let ways = ["read", "write", "trim"].map(|way| {
                let way = &job[way];
                ["io_bytes", "total_ios", "short_ios"].map(|field| number(&way[field]))
            });
            let syncs = number(&job["sync"]["total_ios"]);
            (name, number(&job["groupid"]), ways.to_vec(), syncs)
        })
        .collect()
}

/// Collects the paths of names in a JSON document, except names that are numbers.
pub(crate) fn schema(value: &Value, path: &str, all: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                let is_number = name.parse::<f64>().is_ok();
                let ours = path.ends_with("options") || path.contains("/disk_util");
                if !is_number && !ours {
                    schema(value, &format!("{path}/{name}"), all);
                }
            }
        }
        Value::Array(values) => values.iter().for_each(|value| schema(value, path, all)),
        _ => all.push(path.to_owned()),
    }
}

/// Jobs with a fixed amount of work.
const JOBS: [&str; 18] = [
    "[a]\nrw=randread\nsize=256k\n",
    "[a]\nrw=randrw\nrwmixread=70\nsize=1m\nfsync=8\nnumjobs=2\ngroup_reporting\nthread\n",
    "[a]\nrw=write\nbs=64k\nsize=1m\nend_fsync=1\n[b]\nstonewall\nrw=read\nbssplit=4k/60:8k/40\n\
     size=512k\nfilename=a.0.0\n",
    "[a]\nrw=randwrite\nnrfiles=5\nfilesize=4k-64k\nsize=128k\nfallocate=none\n\
     file_service_type=random:4\n",
    "[a]\nrw=randread\nsize=512k\nioengine=libaio\niodepth=8\ndirect=1\n",
    "[a]\nrw=randwrite\nsize=256k\nio_size=700k\nioengine=io_uring\niodepth=4\n",
    "[a]\nrw=write\nsize=256k\noffset_increment=10%\nnumjobs=3\nfilename=x\n",
    "[a]\nrw=write\nsize=256k\noffset=10%\nbs=3k\n",
    "[a]\nrw=randread\nsize=256k\nioengine=libaio\niodepth=4\niodepth_batch=16\n",
    "[a]\nrw=randread\nsize=256k\nioengine=libaio\niodepth=4\nslat_percentiles=1\n",
    "[a]\nrw=randread\nsize=256k\nlat_percentiles=1\nclat_percentiles=0\n",
    "[a]\nrw=randrw\nsize=256k\nioengine=null\nfsync=8\n",
    "[a]\nrw=write\nsize=256k\nfdatasync=4\n",
    "[a]\nrw=write\nsize=256k\nioengine=filecreate\nnrfiles=8\ncreate_on_open=1\n",
    "[a]\nrw=randrw\nsize=256k\ngtod_reduce=1\n",
    "[a]\nrw=randrw\nsize=256k\ndisable_bw=1\nzero_buffers=1\n",
    "[a]\nrw=write\nsize=64k\nstartdelay=0-1\nmem=malloc\n",
    "[a]\nrw=randrw\nsize=256k\nclat_percentiles=0\nfsync=4\nnumjobs=2\ngroup_reporting\n",
];

#[test]
fn work_equals_the_original_on_a_real_filesystem() {
    require_root!();
    require_tool!("fio");
    let (program, place) = (program(), LoopFs::in_memory(64));
    for job in JOBS {
        let (theirs, ours) = (place.path().join("theirs"), place.path().join("ours"));
        let file = |dir: &Path| {
            fs::create_dir(dir).unwrap();
            job.replace("[a]", &format!("[global]\ndirectory={}\n[a]", dir.display()))
        };
        let path = program.home().join("original.fio");
        fs::write(&path, file(&theirs)).unwrap();
        let ran = Command::new("fio").arg(&path).arg("--output-format=json+").output().unwrap();
        let text = String::from_utf8(ran.stdout).unwrap();
        let original: Value = serde_json::from_str(&text[text.find('{').unwrap()..]).unwrap();
        let ran = run(&program, &file(&ours), &["--output-format", "json+"]).ends_with(0);
        let document = json(&ran);
        let mut expected = done(&original);
        let got = done(&document);
        // Counts and trees are equal, even for jobs whose reads repeat part of their writes.
        assert_eq!(got, expected, "{job}");
        expected.clear();
        assert_eq!(tree_of(&ours), tree_of(&theirs), "{job}");
        let (mut fields, mut theirs_fields) = (Vec::new(), Vec::new());
        schema(&document, "", &mut fields);
        schema(&original, "", &mut theirs_fields);
        fields.sort_unstable();
        theirs_fields.sort_unstable();
        fields.dedup();
        theirs_fields.dedup();
        assert_eq!(fields, theirs_fields, "{job}");
        fs::remove_dir_all(&theirs).unwrap();
        fs::remove_dir_all(&ours).unwrap();
    }
}

#[test]
fn reports_have_the_original_formats() {
    let program = program();
    let job = "[global]\nsize=64k\n[a]\nrw=randrw\nnumjobs=2\ngroup_reporting\n[b]\nstonewall\n\
               rw=write\nfsync=4\n";
    let ran = run(&program, job, &[]).ends_with(0);
    for line in [
        "a: (g=0): rw=randrw, bs=(R) 4096B-4096B, (W) 4096B-4096B, (T) 4096B-4096B, \
         ioengine=psync, iodepth=1\n...\n",
        "b: (g=1): rw=write, bs=(R) 4096B-4096B",
        "fio-3.33\nStarting 3 processes\n",
        "a: Laying out IO file (1 file / 0MiB)\n",
        "\na: (groupid=0, jobs=2): err= 0: pid=",
        "     issued rwts: total=0,16,0,3 short=0,0,0,0 dropped=0,0,0,0\n",
        "  fsync/fdatasync/sync_file_range:\n",
        "\nRun status group 1 (all jobs):\n  WRITE: bw=",
    ] {
        assert!(ran.stdout.contains(line), "{line}: {ran}");
    }
    let terse = run(&program, job, &["--output-format", "terse"]).ends_with(0).stdout;
    let fields: Vec<usize> = terse.lines().map(|line| line.split(';').count()).collect();
    // A disk adds nine fields; a directory in memory has none.
    let fields: Vec<usize> = fields.iter().map(|count| 121 + (count - 121) % 9).collect();
    assert_eq!(fields, [121, 121], "{terse}");
    assert!(terse.starts_with("3;fio-3.33;a;0;0;60;"), "{terse}");
    for (version, count) in [("2", 161), ("4", 162), ("5", 180)] {
        let words = ["--minimal", "--terse-version", version];
        let terse = run(&program, job, &words).ends_with(0).stdout;
        let fields = terse.lines().next().unwrap().split(';').count();
        assert!(fields == count || fields == count + 9, "{terse}");
    }
    let words = ["--output", "report", "--output-format", "json"];
    for _ in 0..2 {
        let ran = run(&program, job, &words).ends_with(0);
        assert_eq!(ran.stdout, "");
        let text = fs::read_to_string(program.home().join("report")).unwrap();
        let document: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(document["global options"]["size"], "64k");
        assert_eq!(document["jobs"][1]["job options"]["fsync"], "4");
        assert!(document["jobs"][0]["read"]["clat_ns"]["bins"].is_null());
    }
    let ran = run(&program, job, &["--output-format", "xml"]).ends_with(1);
    assert!(ran.stderr.contains("'xml' is no form"), "{ran}");
}

#[test]
fn histograms_count_every_request() {
    let program = program();
    let job = "[a]\nrw=randrw\nsize=1m\nioengine=libaio\niodepth=4\n";
    let document = json(&run(&program, job, &["--output-format", "json+"]).ends_with(0));
    for way in ["read", "write"] {
        let way = &document["jobs"][0][way];
        let clat = &way["clat_ns"];
        let bins = clat["bins"].as_object().unwrap();
        let sum: u64 = bins.values().map(|count| count.as_u64().unwrap()).sum();
        assert_eq!(Some(sum), way["total_ios"].as_u64());
        assert_eq!(clat["N"], way["total_ios"]);
        assert_eq!(way["slat_ns"]["N"], way["lat_ns"]["N"]);
        assert_eq!(clat["percentile"].as_object().unwrap().len(), 17);
    }
}

#[test]
fn unsupported_jobs_are_refused_before_files_are_created() {
    let program = program();
    for (line, said) in [
        ("zonemode=zbd", "j.fio:3:10: zonemode: 'zbd' is not known here"),
        ("cgroup=x", "j.fio:3:1: cgroup: treering does not do this"),
        ("sizes=1m", "perhaps size is meant"),
        ("size=${NOT_SET}", "the environment has no variable NOT_SET"),
    ] {
        let job = format!("[a]\nsize=1m\n{line}\n");
        let ran = run(&program, &job, &[]).ends_with(1);
        assert!(ran.stderr.contains(said), "{ran}");
        let ran = native(&program, &job, &[]).ends_with(2);
        assert!(ran.stderr.contains(said), "{ran}");
    }
    assert!(!program.home().join("a.0.0").exists());
    assert!(tree_of(&program.home().join("d")).is_empty());
    run(&program, "", &[]).ends_with(1);
    program.run(["fio", "missing.fio"]).ends_with(1).complains("cannot read the job file");
}

#[test]
fn every_option_can_be_shown() {
    let program = program();
    let job = "[a]\nsize=(4*1k)\nrw=randread:8\n[b]\nsize=1m\n";
    let shown = run(&program, job, &["--dry-run"]).ends_with(0).stdout;
    for line in ["[a]\nrw=randread:8\n", "\nsize=4096\n", "\nfallocate=native\n", "\n[b]\n"] {
        assert!(shown.contains(line), "{shown}");
    }
    let again = run(&program, &shown, &["--dry-run"]).ends_with(0).stdout;
    assert_eq!(again, shown);
    let ran = run(&program, job, &["--show-options", "--section", "a"]).ends_with(0);
    assert!(ran.stderr.contains("[a]\n") && !ran.stderr.contains("[b]\n"), "{ran}");
}

#[test]
fn a_native_job_is_stored_cleaned_up_and_repeatable() {
    let program = program();
    let other = temp_dir();
    let job = format!(
        "[w]\nrw=write\nsize=256k\ndirectory={}\n[r]\nstonewall\nrw=randread\nsize=128k\n",
        other.path().display()
    );
    native(&program, &job, &[]).ends_with(0);
    let trial = last(&program);
    assert_eq!(trial.ending, Ending::Completed);
    assert_eq!(tree_of(other.path()).len(), 0, "nothing outside the target");
    assert_eq!(fs::read_dir(program.home().join("d")).unwrap().count(), 0, "removed");
    let phases: Vec<&str> = trial.phases.iter().map(|phase| phase.name.as_str()).collect();
    assert_eq!(phases, ["setup", "w", "r"]);
    let primary: Vec<(&str, &Scope)> = trial
        .metrics
        .iter()
        .filter(|metric| metric.primary)
        .map(|metric| (metric.name.as_str(), &metric.scope))
        .collect();
    let (w, r) = (Scope::Kind("w".to_owned()), Scope::Kind("r".to_owned()));
    assert_eq!(primary, [("write_mib_per_second", &w), ("read_mib_per_second", &r)]);
    let work = trial.facts.iter().find(|fact| fact.name == WorkLimit::FACT);
    assert!(work.is_none_or(|fact| fact.value == "fixed"));
    program.run(again(&program)).ends_with(0);
    assert_eq!(last(&program).beginning.parameters, trial.beginning.parameters);
    native(&program, &job, &["--keep"]).ends_with(0);
    let names: Vec<String> = tree_of(&program.home().join("d")).into_keys().collect();
    assert!(names.iter().any(|name| name.ends_with("w.0.0")), "{names:?}");
    native(&program, &job, &[]).ends_with(2).complains("is there already");
}

#[test]
fn timed_jobs_end_by_time_and_all_jobs_by_a_signal() {
    let program = program();
    let job = "[global]\nsize=1m\ntime_based\n[a]\nrw=randwrite\nruntime=100ms\nexitall\n\
               exit_what=all\n[b]\nrw=read\nruntime=1000\n[c]\nstonewall\nruntime=1000\n";
    let document = json(&run(&program, job, &["--output-format", "json"]).ends_with(0));
    let names: Vec<String> = done(&document).into_iter().map(|(name, ..)| name).collect();
    assert_eq!(names, ["a", "b"], "c never began");
    fs::write(program.home().join("j.fio"), "[s]\nsize=1m\ntime_based\nruntime=1000\n").unwrap();
    let run = program.start(["fio", "j.fio"]);
    while !program.home().join("s.0.0").exists() {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    run.send("INT");
    run.finish().ends_with(128);
    assert_eq!(last(&program).ending, Ending::Interrupted);
}

#[test]
fn a_full_filesystem_is_reported_as_a_failure() {
    require_root!();
    let (program, place) = (program(), LoopFs::in_memory(16));
    for engine in ["psync", "libaio"] {
        let job = format!(
            "[a]\ndirectory={}\nrw=write\nsize=100m\nioengine={engine}\nfallocate=none\nbs=1m\n",
            place.path().display()
        );
        let ran = run(&program, &job, &[]).ends_with(1);
        ran.complains("No space left on device");
        assert!(failure(&last(&program)).contains("No space left on device"));
        fs::remove_file(place.path().join("a.0.0")).unwrap();
    }
}

#[test]
fn jobs_can_be_given_on_the_command_line() {
    let program = program();
    let words =
        ["fio", "--size=64k", "--name", "a", "--rw=write", "--thread", "--name=b", "--rw", "read"];
    let ran = program.run(words.iter().chain(&["--output-format=json"])).ends_with(0);
    let work = done(&json(&ran));
    assert_eq!(work[0].2, [[0; 3], [65536, 16, 0], [0; 3]]);
    assert_eq!(work[1].2, [[65536, 16, 0], [0; 3], [0; 3]]);
    program.run(again(&program)).ends_with(0);
    // Options before a file name apply to the jobs of the file, too.
    fs::create_dir(program.home().join("place")).unwrap();
    let words = ["--directory=place", "--output-format", "json", "--section=x"];
    let job = "[x]\nrw=write\nsize=8k\n[y]\nsize=4k\n";
    assert_eq!(done(&json(&run(&program, job, &words).ends_with(0))).len(), 1);
    assert_eq!(fs::metadata(program.home().join("place/x.0.0")).unwrap().len(), 8192);
    for words in [&["--rw=read"][..], &["--name=a", "--verify=md5"], &["--name=a;b"]] {
        program.run(["fio"].iter().chain(words)).ends_with(1);
    }
}

#[test]
fn logs_have_a_line_for_each_request_or_interval() {
    let program = program();
    fs::create_dir(program.home().join("logs")).unwrap();
    let job = "[r]\nrw=read\nsize=64k\nwrite_bw_log\n[w]\nrw=write\nsize=64k\nioengine=libaio\n";
    // MMTests runs fio with these options.
    run(&program, job, &["--minimal", "--write_lat_log", "logs/fio"]).ends_with(0);
    let lines = |name: &str| -> Vec<Vec<u64>> {
        let text = fs::read_to_string(program.home().join(name)).unwrap();
        let numbers = |line: &str| line.split(", ").map(|word| word.parse().unwrap()).collect();
        text.lines().map(numbers).collect()
    };
    for (name, way, count) in [
        ("logs/fio_lat.1.log", 0, 16),
        ("logs/fio_clat.1.log", 0, 16),
        ("logs/fio_slat.1.log", 0, 0),
        ("r_bw.1.log", 0, 16),
        ("logs/fio_lat.2.log", 1, 16),
        ("logs/fio_slat.2.log", 1, 16),
    ] {
        let lines = lines(name);
        assert_eq!(lines.len(), count, "{name}");
        for line in lines {
            assert_eq!((line.len(), line[2], line[3], line[4]), (5, way, 4096, 0), "{name}");
        }
    }
    let job = "[t]\nrw=randrw\nsize=64k\ntime_based\nruntime=500ms\nlog_avg_msec=100\n\
               write_lat_log=t\nwrite_iops_log=t\n";
    run(&program, job, &[]).ends_with(0);
    for name in ["t_lat.1.log", "t_iops.1.log"] {
        let lines = lines(name);
        assert!((2..=12).contains(&lines.len()), "{name}: {lines:?}");
        assert!(
            lines.iter().all(|line| line[0] <= 600 && line[1] > 0 && line[3] == 0),
            "{lines:?}"
        );
    }
    native(&program, job, &[]).ends_with(2).complains("classic mode only");
}

#[test]
fn hot_data_are_reported() {
    let program = program();
    // 90 % of the requests go to the first tenth of the file.
    let job = "[global]\nfilename=data\nrw=randread\nbs=4k\nnorandommap\n\
               [hot]\nsize=2m\nnumber_ios=1800\nio_size=1g\n\
               [cold]\noffset=2m\nsize=18m\nnumber_ios=200\n";
    native(&program, job, &["--heat", "--heat-half-life", "3600"]).ends_with(0);
    let trial = last(&program);
    let read = |place: usize| -> HeatReport {
        let mut heat = trial.artifacts.iter().filter(|one| one.kind == HeatReport::KIND);
        heat.nth(place).unwrap().read(HeatReport::KIND, HeatReport::VERSION).unwrap()
    };
    // First the files are laid out: those of one job, then all.
    let counts = read(0).total;
    assert_eq!((counts.reads, counts.written_bytes), (0, 22 << 20));
    let heat = read(1);
    assert_eq!((heat.files, heat.ranges), (1, 20));
    let counts = heat.hottest_files[0].counts;
    assert_eq!((counts.reads, counts.read_bytes, counts.writes), (2000, 8_192_000, 0));
    let hot: Vec<u64> = heat.hottest_ranges[..2].iter().map(|range| range.offset).collect();
    assert!(hot.contains(&0) && hot.contains(&(1 << 20)), "{hot:?}");
    let reads: u64 = heat.hottest_ranges[..2].iter().map(|range| range.counts.reads).sum();
    assert_eq!(reads, 1800);
    let shown = program.run(["show", "last"]).ends_with(0).stdout;
    assert!(shown.contains("Hot data") && shown.contains("/data"), "{shown}");
    let words = again(&program);
    assert!(words.iter().any(|word| word == "--heat"), "{words:?}");

    native(&program, job, &["--heat-half-life", "3600"]).ends_with(2);
    native(&program, job, &["--heat", "--heat-half-life", "0"]).ends_with(2);
}

#[test]
fn files_are_opened_with_the_flags_of_sync() {
    let program = program();
    for (sync, flag) in [("none", None), ("sync", Some("O_SYNC")), ("dsync", Some("O_DSYNC"))] {
        let job = format!("[a]\nrw=write\nsize=16k\nsync={sync}\n");
        fs::write(program.home().join("j.fio"), job).unwrap();
        let command = program.command(["fio", "j.fio"]);
        let Some(calls) = traced(&command, program.home(), "openat,openat2,open,pwrite64") else {
            return;
        };
        let mut opened = calls.iter().rev().filter(|one| one.call.contains("\"a.0.0\""));
        let last = &opened.next().unwrap().call;
        let has = |flag: &str| last.split(['|', ' ', ',', ')']).any(|word| word == flag);
        let found = ["O_SYNC", "O_DSYNC"].into_iter().find(|flag| has(flag));
        assert_eq!(found, flag, "{last}");
        fs::remove_file(program.home().join("a.0.0")).unwrap();
    }
}

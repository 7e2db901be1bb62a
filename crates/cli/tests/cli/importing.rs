//! Logs of other tools: imported into the store, and compared.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::Command;

use serde_json::Value;
use treering_model::{Fact, PhaseTotals, Scope, TaskTotals, Trial, TrialId};
use treering_store::{Access, Store};
use treering_testkit::{FinishedCommand, FourLists, Program, shared, skip, temp_dir_in};

use crate::ffsb::Profile;
use crate::program;
use crate::trial::{count, last};

/// Log of a compilebench run with one initial tree and six reads of it that take these seconds.
fn log(seconds: [u32; 6], used: &str) -> String {
    let mut text = "using working directory /mnt/x, 1 intial dirs 6 runs\n\
                    create dir kernel-0 100MB in 10.00 seconds (10.00 MB/s)\n"
        .to_owned();
    for seconds in seconds {
        let rate = 100.0 / f64::from(seconds);
        text += &format!("read dir kernel-0 in {seconds}.00 {rate:.2} MB/s\n");
    }
    let mean = seconds.iter().map(|s| 100.0 / f64::from(*s)).sum::<f64>() / 6.0;
    text += &format!("\nrun complete:\n{}\n", "=".repeat(74));
    text += "intial create total runs 1 avg 10.00 MB/s (user 1.00s sys 2.00s)\n";
    text += &format!("read tree total runs 6 avg {mean:.2} MB/s (user 1.00s sys 2.00s)\n");
    text += "#  fs_mark  -d  /m/0  -n  100  -s  1  -L  2 \n\
             #\tVersion 3.3, 1 thread(s) starting at Wed Dec  5 03:20:58 2012\n\n\
             FSUse%        Count         Size    Files/sec     App Overhead\n";
    text += "     1          100            1        100.0             1000\n";
    text += &format!("    {used}          200            1        100.0             1000\n");
    text
}

fn write_both(program: &Program) -> String {
    let first = log([10, 11, 12, 13, 14, 15], "11");
    let second = log([20, 22, 24, 26, 28, 30], "41");
    let path = program.home().join("mail.txt");
    fs::write(&path, format!("Hi,\n\n1. old\n{first}\n2. new\n{second}\nBye\n")).unwrap();
    path.to_string_lossy().into_owned()
}

fn json(program: &Program, words: &[&str]) -> Value {
    serde_json::from_str(&program.run(words).ends_with(0).stdout).unwrap()
}

/// Codes of the cautions of a comparison.
fn codes(document: &Value) -> Vec<&str> {
    let listed_cautions = document["cautions"].as_array().unwrap();
    listed_cautions.iter().filter_map(|caution| caution["code"].as_str()).collect()
}

#[test]
fn a_mail_with_two_sides_is_compared_within_one_run() {
    let program = program();
    let mail = write_both(&program);
    program.run(["import", &mail, "--label", "old,new"]).ends_with(0);
    assert_eq!(count(&program), 4);
    let report = ["report", "--baseline", "old", "--contender", "new", "--format", "json"];
    let document = json(&program, &report);
    let all = document["comparisons"].as_array().unwrap();
    let one = all.iter().find(|one| one["metric"] == "read tree/seconds").unwrap();
    assert_eq!((&one["pairs"], &one["baseline_runs"]), (&6.into(), &1.into()));
    assert_eq!((&one["within_one_run"], &one["verdict"]), (&true.into(), &"single-run".into()));
    assert!((one["ratio"].as_f64().unwrap() - 2.0).abs() < 1e-9);
    // All six pairs favour one side, which are two of 64 outcomes. Only one kind has six pairs, so
    // nothing is corrected.
    assert_eq!((&one["p"], &one["p_adjusted"]), (&0.03125.into(), &0.03125.into()));
    assert_eq!(document["gate"], "unclear");
    let has_better_or_worse = all.iter().any(|one| one["verdict"] != "single-run");
    assert!(!has_better_or_worse, "{document}");
    let codes = codes(&document);
    assert!(codes.contains(&"sizes_differ") && codes.contains(&"too_few_rounds"), "{codes:?}");
    // benchstat would take values of a single run for several runs, so it gets none.
    let benchstat = program.run([&report[..6], &["benchstat"]].concat()).ends_with(0);
    assert!(!benchstat.stdout.contains("read_tree"), "{benchstat}");
}

#[test]
fn imported_trials_are_not_imported_again() {
    let program = program();
    let mail = write_both(&program);
    program.run(["import", &mail, "--dry-run"]).ends_with(0);
    assert!(!program.data().join("results.treering").exists(), "nothing is kept");
    program.run(["import", &mail]).ends_with(0);
    assert_eq!(count(&program), 4);
    let again = program.run(["import", &mail]).ends_with(0);
    assert!(again.stdout.contains("already in the store"), "{again}");
    assert_eq!(count(&program), 4);
    program.run(["import", &mail, "--again"]).ends_with(0);
    assert_eq!(count(&program), 8);
    // Without labels, the file name and the number of the output distinguish the trials.
    let list = json(&program, &["list", "--format", "json"]).to_string();
    assert!(list.contains("mail.txt#1") && list.contains("mail.txt#2"), "{list}");
}

#[test]
fn a_strict_import_of_the_corpus_loses_nothing() {
    let program = program();
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testkit/corpus");
    let table = fs::read_to_string(corpus.join("import.txt")).unwrap();
    // `fio x2` has two outputs.
    let outputs = table.lines().filter(|line| !line.starts_with('#')).map(|line| {
        let tool = line.split("; ").nth(1).unwrap();
        tool.split_once(" x").map_or(1, |(_, outputs)| outputs.parse().unwrap())
    });
    let outputs: usize = outputs.sum();
    let files = fs::read_dir(corpus.join("import")).unwrap().map(|entry| entry.unwrap().path());
    let files: Vec<String> = files.map(|path| path.to_str().unwrap().to_owned()).collect();
    assert!(files.len() > 20, "{files:?}");
    let words: Vec<&str> = files.iter().map(String::as_str).collect();
    let run = program.run([&["import", "--strict"], words.as_slice()].concat()).ends_with(0);
    assert!(!run.stderr.contains("not stored"), "{run}");
    let listed = program.run(["list", "--limit", "1000", "--format", "csv"]).ends_with(0).stdout;
    let trials = listed.lines().filter(|line| line.starts_with("trials,")).count();
    assert_eq!(trials, outputs);
}

#[test]
fn a_strict_import_names_the_lines_of_lost_numbers_and_stores_the_rest() {
    let program = program();
    let mail = write_both(&program);
    let log = program.home().join("cut.txt");
    let head = "IOR-4.0.0: MPI Coordinated Test of Parallel I/O\n\
                Began               : Tue Mar 11 09:14:07 2025\n\
                FS                  : 731.9 TiB   Used FS: 43.7%   Inodes: 812.6 Mi\n";
    fs::write(&log, head).unwrap();
    let log = log.to_str().unwrap();
    let run = program.run(["import", "--strict", &mail, log]).ends_with(1);
    assert!(run.stderr.contains("cut.txt:3: not stored: 731.9, 43.7, 812.6: `FS"), "{run}");
    assert_eq!(count(&program), 4, "{run}");
}

#[test]
fn an_imported_export_equals_the_original() {
    let program = program();
    let mail = write_both(&program);
    program.run(["import", &mail, "--label", "old,new"]).ends_with(0);
    let export = program.home().join("export.json");
    let export = export.to_str().unwrap();
    program.run(["export", "-o", export]).ends_with(0);
    let other = program.home().join("other.db");
    let other = other.to_str().unwrap();
    program.run(["import", export, "--store", other]).ends_with(0);
    let again = program.run(["export", "--store", other]).ends_with(0).stdout;
    assert_eq!(again, fs::read_to_string(export).unwrap());
}

#[test]
fn files_without_logs_and_wrong_numbers_of_labels_are_refused() {
    let program = program();
    let nothing = program.home().join("nothing.txt");
    fs::write(&nothing, "Dear all,\nnothing.\n").unwrap();
    let nothing = nothing.to_str().unwrap();
    program.run(["import", nothing]).ends_with(2).complains("no known output");
    let packed = program.home().join("packed");
    fs::write(&packed, [0x28, 0xb5, 0x2f, 0xfd, 0, 1, 2]).unwrap();
    let packed = program.run(["import", packed.to_str().unwrap()]).ends_with(2);
    packed.complains("zstd -dc FILE | treering import -");
    program.run(["import", "missing.txt"]).ends_with(2).complains("missing.txt");
    let mail = write_both(&program);
    program.run(["import", &mail, "--label", "one"]).ends_with(2).complains("--label");
    assert!(!program.data().join("results.treering").exists(), "nothing is kept");
}

/// The expected figures were computed by other means: ratios of medians of pairs lie within these
/// intervals, and p is as small as thirty pairs with at most one exception imply.
#[test]
fn the_published_mail_contains_an_unmentioned_difference() {
    let Some(path) = shared("seeds/001_26b0cef4a741bd4e.txt") else {
        skip("the published mail is not here");
        return;
    };
    let program = program();
    program.run(["import", path.to_str().unwrap(), "--label", "old,new"]).ends_with(0);
    assert_eq!(count(&program), 8);
    let words = ["report", "--baseline", "old", "--contender", "new", "--format", "json"];
    let document = json(&program, &words);
    let all = document["comparisons"].as_array().unwrap();
    let within: Vec<&Value> = all.iter().filter(|one| one["within_one_run"] == true).collect();
    let pairs = |metric: &str| within.iter().find(|one| one["metric"] == metric).unwrap();
    let create = pairs("initial create/seconds");
    assert_eq!(create["pairs"], 30);
    // All thirty pairs are slower.
    assert_eq!(create["p"], 2.0 / f64::from(1 << 30));
    assert_eq!(create["p_adjusted"], 9.0 * 2.0 / f64::from(1 << 30), "Holm over nine kinds");
    assert_eq!(pairs("delete compiled tree/seconds")["p_adjusted"], Value::Null, "four pairs");
    assert_eq!(pairs("row/classic_files_per_second")["pairs"], 30);
    // A figure of fio's four differs by a third, which the author did not mention.
    let fio: Vec<&Value> =
        all.iter().filter(|one| one["workload"] == "fio" && one["primary"] == true).collect();
    assert_eq!(fio.len(), 4);
    let random = fio.iter().find(|one| one["metric"] == "rnd-read/read_mib_per_second").unwrap();
    let ratio = (10_651.0 / 120.252) / (8_141.0 / 120.381);
    assert!((random["ratio"].as_f64().unwrap() - ratio).abs() < 1e-9, "{random}");
    let unequal = document["cautions"].as_array().unwrap().iter();
    let of_fio = unequal.filter(|one| one["message"].as_str().unwrap().starts_with("fio"));
    assert_eq!(of_fio.count(), 0, "how much it does in its time is what is measured");
    let codes = codes(&document);
    assert_eq!(codes.iter().filter(|code| **code == "sizes_differ").count(), 2, "{codes:?}");
    assert!(all.iter().all(|one| one["verdict"] == "single-run"), "no colour for one run");
}

/// A web page lost its line breaks: two runs and the prompts before them are in one line.
#[test]
fn results_of_bonnie_are_labelled_by_their_files_and_compared() {
    let program = program();
    let line = |name: &str, rate: u32| {
        format!(
            "me@oak:~$ cat stats.{name} done.1.96,1.96,oak,1,1400000000,1G,,512,99,{rate},9,1024,\
             4,768,85,4096,6,106.5,5,16,,,,,9000,26,+++++,+++,8000,26,7000,27,+++++,+++,6000,24,\
             92041us,1128ms,1835ms,166ms,308ms,6549ms,17882us,1418us,1929us,489us,51us,650us"
        )
    };
    let page = format!("Hi\n{}{}me@oak:~$\nBye\n", line("ext3", 2048), line("btrfs", 1024));
    fs::write(program.home().join("page.txt"), page).unwrap();
    program.run(["import", "page.txt"]).ends_with(0);
    program.run(["import", "page.txt"]).ends_with(0);
    assert_eq!(count(&program), 2, "each once, though they stand in the same line");
    compared_bonnie(&program, 0.5);
}

/// Ratio of the block writes of btrfs to those of ext3.
fn compared_bonnie(program: &Program, ratio: f64) {
    let words = ["report", "--baseline", "ext3", "--contender", "btrfs", "--format", "json"];
    let document = json(program, &words);
    let all = document["comparisons"].as_array().unwrap();
    let one = all.iter().find(|one| one["metric"] == "block write/mib_per_second").unwrap();
    assert_eq!((&one["baseline_runs"], &one["verdict"]), (&1.into(), &"single-run".into()));
    assert!((one["ratio"].as_f64().unwrap() - ratio).abs() < 1e-9, "{one}");
    let is_measured = |one: &Value| one["metric"] != "sequential stat/files_per_second";
    assert!(all.iter().all(is_measured), "not measured");
    assert!(codes(&document).contains(&"too_few_rounds"), "{document}");
}

#[test]
fn the_published_report_of_2011_is_compared() {
    let Some(path) = shared("seeds/002_8a4e6bf4da58f2ee.txt") else {
        skip("the published report is not here");
        return;
    };
    let program = program();
    program.run(["import", path.to_str().unwrap()]).ends_with(0);
    assert_eq!(count(&program), 2);
    compared_bonnie(&program, 22_682.0 / 23_464.0);
}

/// JSON document of fio with these bytes per second and latencies in nanoseconds.
fn fio(bytes: u64, ns: u64) -> String {
    format!(
        r#"{{ "fio version" : "fio-3.33", "timestamp" : 1795314704,
        "global options" : {{ "directory" : "/m", "direct" : "1", "runtime" : "10" }},
        "jobs" : [ {{ "jobname" : "r", "groupid" : 0, "error" : 0, "elapsed" : 10,
          "job options" : {{ "rw" : "randread" }},
          "read" : {{ "io_bytes" : {0}, "io_kbytes" : 1, "bw_bytes" : {bytes}, "bw" : 1,
            "iops" : 10.0, "runtime" : 10000, "total_ios" : 100,
            "clat_ns" : {{ "min" : {ns}, "max" : {ns}, "mean" : {ns}.0, "stddev" : 0.0, "N" : 100,
              "percentile" : {{ "99.000000" : {ns} }}, "bins" : {{ "{ns}" : 100 }} }} }},
          "job_runtime" : 10000, "usr_cpu" : 1.0, "sys_cpu" : 2.0 }} ] }}"#,
        10 * bytes
    )
}

#[test]
fn runs_of_fio_are_compared_and_keep_their_histograms() {
    let program = program();
    for (side, factor) in [("old", 1), ("new", 2)] {
        let runs: Vec<String> =
            (0..6).map(|run| fio(factor * (1_000_000 + 1000 * run), 1_000_000 / factor)).collect();
        let name = format!("{side}.json");
        fs::write(program.home().join(&name), runs.join("\n")).unwrap();
        let labels = [side; 6].join(",");
        program.run(["import", &name, "--label", &labels]).ends_with(0);
    }
    assert_eq!(count(&program), 12);
    let words = ["report", "--baseline", "old", "--contender", "new", "--format", "json"];
    let document = json(&program, &words);
    let all = document["comparisons"].as_array().unwrap();
    let one = |name: &str| all.iter().find(|one| one["metric"] == name).unwrap();
    let rate = one("r/read_mib_per_second");
    assert_eq!((&rate["primary"], &rate["verdict"]), (&true.into(), &"better".into()));
    assert!((rate["ratio"].as_f64().unwrap() - 2.0).abs() < 1e-9);
    assert!((one("r/read_clat_p99_nanoseconds")["ratio"].as_f64().unwrap() - 0.5).abs() < 1e-9);
    let latency = &last(&program).phases[0].ops[0].latency;
    assert_eq!(latency.samples(), 100);
    assert!((496_000..=504_000).contains(&latency.quantile_ns(0.5)), "{latency:?}");
}

/// Compresses a text in the format of `gzip`.
fn gzip(text: &str) -> Vec<u8> {
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packed.write_all(text.as_bytes()).unwrap();
    packed.finish().unwrap()
}

/// Compresses a text in the format of `xz`.
fn xz(text: &str) -> Vec<u8> {
    let mut packed = liblzma::write::XzEncoder::new(Vec::new(), 1);
    packed.write_all(text.as_bytes()).unwrap();
    packed.finish().unwrap()
}

/// Writes results of MMTests: two runs of fs_mark with one thread and with two, of fio, filebench,
/// dbench, blogbench and bonnie++, with equal numbers of iterations.
fn write_results(program: &Program) {
    let fs_mark = |threads: u32, rate: u32| {
        format!(
            "#  ./fs_mark  -n  100  -s  0  -L  2  -t  {threads}  -d  /tmp/x/1 \n#\tVersion 3.3, \
             {threads} thread(s) starting at Wed Dec  5 03:20:58 2012\n\nFSUse%        Count         \
             Size    Files/sec     App Overhead\n     1          100            0        {rate}.0             \
             1000\n     1          200            0        {rate}.5             1000\n"
        )
    };
    let none = ["0"; 41].join(";");
    let tail = format!("1.5%;2.5%;1;0;0{};vda;1;2;3;4;5;6;7;8.00%", ";0.0%".repeat(29));
    let fio = |rate: u32| {
        let read = format!("{};{rate};1;10000{}", 10 * rate, ";0".repeat(37));
        format!("3;fio-2.99;reader;1;0;{read};{none};{tail}\n")
    };
    let filebench = |rate: u32| {
        let operations = 100 * rate;
        format!(
            "Filebench Version 1.4.9.1\n35318: 0.001: Web proxy-server Version 3.0 personality \
             successfully loaded\n35318: 12.795: Per-Operation Breakdown\nstat1  {operations}ops  \
             {rate}ops/s  0.0mb/s  10.1ms/op  2489us/op-cpu [2ms - 9ms]\n35318: 12.795: IO Summary: \
             {operations} ops, {rate}.000 ops/s, (0/0 r/w),   0.0mb/s,     12us cpu/op,  10.1ms \
             latency\n35318: 12.795: Shutting down processes\n"
        )
    };
    for (run, rate) in [("base", 100), ("new", 200)] {
        for iteration in 0..2_u32 {
            let rate = rate + iteration;
            let place = program.home().join(format!("log/{run}/iter-{iteration}"));
            let write = |test: &str, file: &str, bytes: &[u8]| {
                let logs = place.join(test).join("logs");
                fs::create_dir_all(&logs).unwrap();
                fs::write(logs.join(file), bytes).unwrap();
            };
            write("fsmark", "fsmark-1.log.gz", &gzip(&fs_mark(1, rate)));
            write("fsmark", "fsmark-2.log.gz", &gzip(&fs_mark(2, rate)));
            write("fio", "fio.log.gz", &gzip(&fio(rate)));
            write("fio", "fio_lat.1.log.gz", &gzip("10, 2000, 0, 0\n"));
            write("filebench", "model", b"webproxy\n");
            write("filebench", "webproxy-1.1", filebench(rate).as_bytes());
            write("filebench", "webproxy-1.2", b"nothing came of it\n");
            write("dbench4", "dbench-1.log.xz", &xz(&dbench(rate, &[500, 700])));
            write("blogbench", "blogbench-1.log", blogbench("blogbench-1.1", 6, rate).as_bytes());
            let line = format!(
                "1.98,2.00a,oak,1,1400000000,1G,,8192,5,,,{}00,9,1024,4,,,4096,6,106.5,5,,,,,,,,,,,,,\
                 ,,,,,,1128ms,1835ms,,308ms,6549ms,,,,,,\n",
                90 + rate
            );
            write("bonniepp", "bonnie", line.as_bytes());
            write("bonniepp", "bonnie-detail.gz", &gzip("wr 123 456\n"));
            let stamps = format!("test begin :: fio {}\n", 1_542_000_000 + iteration);
            fs::write(place.join("tests-timestamp"), stamps).unwrap();
        }
    }
}

#[test]
fn results_of_mmtests_are_imported_with_iterations() {
    let program = program();
    write_results(&program);
    let said = program.run(["import", "log", "--full"]).ends_with(0);
    let skipped = "log/base/iter-0/filebench/logs/webproxy-1.2";
    assert!(said.stdout.contains(&skipped[..40]), "{said}");
    assert_eq!(count(&program), 2 * 2 * 7);
    let words = ["report", "--baseline", "base", "--contender", "new", "--format", "json"];
    let document = json(&program, &words);
    let all = document["comparisons"].as_array().unwrap();
    let runs = |workload: &str, metric: &str| -> Vec<(Value, Value)> {
        let same = |one: &&Value| one["workload"] == workload && one["metric"] == metric;
        let reported = |one: &Value| (one["job"].clone(), one["pairs"].clone());
        all.iter().filter(same).map(reported).collect()
    };
    let threads =
        [("threads=1 workers=1".into(), 2.into()), ("threads=2 workers=2".into(), 2.into())];
    assert_eq!(runs("fs_mark", "create/classic_files_per_second"), threads);
    assert_eq!(runs("fio", "reader/read_mib_per_second"), [("".into(), 2.into())]);
    assert_eq!(runs("filebench", "operations_per_second"), [("".into(), 2.into())]);
    assert_eq!(runs("dbench", "pass_seconds"), [("".into(), 2.into())]);
    assert_eq!(runs("blogbench", "write_score_per_second"), [("".into(), 2.into())]);
    assert_eq!(runs("bonnie++", "block write/mib_per_second"), [("".into(), 2.into())]);
    let fio = json(&program, &["list", "--workload", "fio", "--format", "json"]).to_string();
    assert!(fio.contains("2018-11-12T05:20:0"), "as MMTests wrote down: {fio}");
    // The results can be imported with other labels, one run by itself, and one of its iterations.
    let other = ["--store", "other.db", "--label", "a,b"];
    program.run([&["import", "log/base/iter-1", "log/new"][..], &other[..]].concat()).ends_with(0);
    let list = json(&program, &["list", "--store", "other.db", "--format", "json"]);
    let text = list.to_string();
    assert_eq!((text.matches("\"a\"").count(), text.matches("\"b\"").count()), (7, 14), "{list}");
    // A single label applies to all outputs.
    program.run(["import", "log", "--label", "all", "--store", "one.db"]).ends_with(0);
    let list = json(&program, &["list", "--store", "one.db", "--format", "json"]).to_string();
    assert_eq!(list.matches("\"all\"").count(), 2 * 2 * 7, "{list}");
}

#[test]
fn directories_with_runs_of_the_same_names_are_compared_in_place_of_these() {
    let program = program();
    write_results(&program);
    // Their runs are configurations: `fs-small` was measured in both.
    for (directory, run) in [("6.1", "base"), ("6.12", "new")] {
        fs::create_dir(program.home().join(directory)).unwrap();
        let from = program.home().join("log").join(run);
        fs::rename(from, program.home().join(directory).join("fs-small")).unwrap();
    }
    let said = program.run(["import", "6.1", "6.12"]).ends_with(0);
    assert!(said.stdout.contains("treering report --baseline 6.1 --contender 6.12"), "{said}");
    let list = json(&program, &["list", "--format", "json"]).to_string();
    let labelled = |label: &str| list.matches(&format!("\"{label}\"")).count();
    assert_eq!((labelled("6.1"), labelled("6.12")), (14, 14), "{list}");
    let words = ["report", "--baseline", "6.1", "--contender", "6.12", "--format", "json"];
    let document = json(&program, &words);
    let all = document["comparisons"].as_array().unwrap();
    let fio = all.iter().find(|one| one["workload"] == "fio").unwrap();
    assert_eq!(fio["pairs"], 2, "{fio}");
    let labels = ["import", "6.1", "6.12", "--label", "old,new", "--store", "other.db"];
    program.run(labels).ends_with(0);
    let list = json(&program, &["list", "--store", "other.db", "--format", "json"]).to_string();
    assert_eq!((list.matches("\"old\"").count(), list.matches("\"new\"").count()), (14, 14));
}

#[test]
fn compressed_files_are_read_and_foreign_directories_refused() {
    let program = program();
    let text = log([10, 11, 12, 13, 14, 15], "11");
    fs::write(program.home().join("a.gz"), gzip(&text)).unwrap();
    program.run(["import", "a.gz"]).ends_with(0);
    assert_eq!(count(&program), 2);
    fs::write(program.home().join("torn.gz"), &gzip(&text)[..60]).unwrap();
    program.run(["import", "torn.gz"]).ends_with(2).complains("torn.gz");
    let packed = [xz(&text), xz(&text.replace("/m/0", "/m/1"))].concat();
    fs::write(program.home().join("a.xz"), &packed).unwrap();
    program.run(["import", "a.xz"]).ends_with(0);
    assert_eq!(count(&program), 6, "both of two streams");
    fs::write(program.home().join("torn.xz"), &packed[..90]).unwrap();
    program.run(["import", "torn.xz"]).ends_with(2).complains("torn.xz");
    program.run(["import", "."]).ends_with(2).complains("no MMTests results");
    let other = program.home().join("run-a/iter-0/sqlite/logs");
    fs::create_dir_all(&other).unwrap();
    fs::write(other.join("sqlite.log"), "x").unwrap();
    program.run(["import", "run-a"]).ends_with(2).complains("only those of sqlite");
}

#[test]
fn one_file_that_cannot_be_read_does_not_stop_the_others() {
    let program = program();
    write_results(&program);
    let torn = program.home().join("log/base/iter-0/fio/logs/fio.log.gz");
    fs::write(&torn, &gzip("fio")[..12]).unwrap();
    program.run(["import", "log"]).ends_with(2).complains("fio.log.gz");
    assert_eq!(count(&program), 2 * 2 * 7 - 1);
    fs::write(program.home().join("a.log"), log([10, 11, 12, 13, 14, 15], "11")).unwrap();
    let report = program.run(["import", "missing", "a.log", "none"]).ends_with(2);
    assert!(report.stderr.contains("missing") && report.stdout.contains("none: "), "{report}");
    assert_eq!(count(&program), 2 * 2 * 7 + 1);
}

/// Runs a classic command line and imports its output; returns both trials.
fn run_and_imported(program: &Program, words: &[&str]) -> (Trial, Trial) {
    let log = fs::File::create(program.home().join("said.log")).unwrap();
    let mut command = program.command(words);
    command.stdout(log.try_clone().unwrap()).stderr(log);
    assert!(command.status().unwrap().success());
    let imported = program.run(["import", "said.log", "--store", "imported.db"]).ends_with(0);
    assert!(!imported.stdout.contains("do not explain"), "{imported}");
    let store = program.home().join("imported.db");
    let store = Store::open(store, Access::ReadOnly).unwrap();
    (last(program), store.load(store.find("last").unwrap()).unwrap())
}

/// The run takes the tree states and summary rows from its plan, the import from earlier lines;
/// both must agree.
#[test]
fn classic_compilebench_output_imports_as_the_same_trial() {
    let program = program();
    FourLists::tiny().write_to(&program.home().join("lists"));
    let words = ["compilebench", "-s", "lists", "-D", "w", "-i", "4", "-r", "150", "-n"];
    let (run, imported) = run_and_imported(&program, &words);
    assert_eq!(imported.ending, run.ending);
    // Finding the filesystem's own order prints no line, except for the creates.
    let is_reported = |task: &&TaskTotals| !matches!(&*task.kind, "walk native" | "remove native");
    let operation = |task: &TaskTotals| {
        [&task.kind, &task.subject, &task.state, &task.tally].map(String::clone)
    };
    let operations = |trial: &Trial| -> Vec<[String; 4]> {
        trial.tasks.iter().filter(is_reported).map(operation).collect()
    };
    let done = operations(&run);
    assert_eq!(operations(&imported), done);
    let rows: BTreeSet<&String> = done.iter().map(|[_, _, _, tally]| tally).collect();
    assert_eq!(rows.len(), 1 + 11, "all rows of the summary, and none for the native creates");
    let phases = |trial: &Trial| -> Vec<String> {
        trial.phases.iter().map(|phase| phase.name.clone()).collect()
    };
    assert_eq!(phases(&imported), phases(&run));
    let counted = |trial: &Trial| -> BTreeMap<Scope, u64> {
        let seconds = trial.metrics.iter().filter(|metric| metric.name == "seconds");
        seconds.map(|metric| (metric.scope.clone(), metric.tasks)).collect()
    };
    assert_eq!(counted(&imported), counted(&run));
}

#[test]
fn classic_fs_mark_output_imports_as_the_same_trial() {
    let program = program();
    let words = ["fs_mark", "-d", "m/0", "-d", "m/1", "-n", "20", "-s", "1000", "-t", "4"];
    fs::create_dir(program.home().join("m")).unwrap();
    let words = [&words[..], &["-L", "3", "-D", "3", "-N", "5"]].concat();
    let (run, imported) = run_and_imported(&program, &words);
    assert_eq!(imported.ending, run.ending);
    let rows = |trial: &Trial| -> Vec<(String, u64, u64)> {
        let row = |phase: &PhaseTotals| (phase.name.clone(), phase.files, phase.bytes);
        trial.phases.iter().map(row).collect()
    };
    assert_eq!(rows(&imported), rows(&run));
    for name in ["threads", "files", "size", "subdirs", "files-per-subdir", "iterations"] {
        let value = |trial: &Trial| -> Option<String> {
            let all = &trial.beginning.parameters;
            all.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone())
        };
        assert!(value(&run).is_some(), "{name}");
        assert_eq!(value(&imported), value(&run), "{name}");
    }
}

#[test]
fn classic_ffsb_output_imports_as_the_same_trial() {
    let program = program();
    let mut profile = Profile::new(
        "num_files=40\nnum_dirs=4",
        "readall_weight=3\ncreate_weight=2\ndelete_weight=1\nstat_weight=2\nappend_weight=1\n\
         op_delay=2\n[stats]\nenable_stats=1\n[end]",
    );
    let one = run_and_imported_ffsb(&program, &profile);
    assert!(one.beginning.parameters.iter().any(|(name, _)| name == "num_dirs"));
    profile.group += "\n[end]\n[threadgroup1]\nnum_threads=1\nopen_close_weight=1\nop_delay=3";
    run_and_imported_ffsb(&program, &profile);
}

/// Imported trial; asserts that its figures are those of the run, within the printed digits.
fn run_and_imported_ffsb(program: &Program, profile: &Profile) -> Trial {
    profile.write(program);
    let (run, imported) = run_and_imported(program, &["ffsb", "p.ffsb"]);
    assert_eq!(imported.ending, run.ending);
    assert_eq!(imported.beginning.target, "w");
    let value = |trial: &Trial, scope: &Scope, name: &str| {
        let mut all_metrics = trial.metrics.iter();
        let matching = all_metrics.find(|metric| metric.name == name && metric.scope == *scope);
        matching.unwrap_or_else(|| panic!("no {name} of {scope:?}")).value
    };
    let mut compared = 0;
    for metric in &run.metrics {
        let (scope, name) = (&metric.scope, metric.name.as_str());
        let reported = match scope {
            Scope::Trial => matches!(
                name,
                "transactions_per_second"
                    | "elapsed_seconds"
                    | "read_mib_per_second"
                    | "write_mib_per_second"
                    | "operations"
                    | "operations_per_second"
            ),
            _ => matches!(name, "transactions_per_second" | "mib_per_second"),
        };
        if !reported {
            continue;
        }
        compared += 1;
        let (ours, theirs) = (metric.value, value(&imported, scope, name));
        // Seconds have two decimals, bytes three digits.
        assert!((theirs / ours - 1.0).abs() < 0.011, "{name} of {scope:?}: {ours} {theirs}");
        if name == "operations" {
            assert!((theirs - ours).abs() < 0.5, "{ours} {theirs}");
        }
    }
    assert!(compared >= 12, "{compared}");
    imported
}

#[test]
fn classic_blogbench_output_imports_as_the_same_trial() {
    let (program, place) = (program(), temp_dir_in(Path::new("/dev/shm")));
    let dir = place.path().to_str().unwrap();
    let words = ["blogbench", "-d", dir, "-i", "2", "-s", "1", "-w", "1", "-r", "2"];
    let (run, imported) = run_and_imported(&program, &words);
    assert_eq!(imported.ending, run.ending);
    assert_eq!(imported.beginning.target, dir);
    let value = |trial: &Trial, name: &str| {
        let mut all_metrics = trial.metrics.iter();
        all_metrics
            .find(|metric| metric.name == name && metric.scope == Scope::Trial)
            .unwrap()
            .value
    };
    for name in ["write_score", "read_score"] {
        assert!((value(&run, name) - value(&imported, name)).abs() < 0.5, "{name}");
    }
    for (name, said) in &imported.beginning.parameters {
        let (_, asked) = run.beginning.parameters.iter().find(|(known, _)| known == name).unwrap();
        assert_eq!(asked, said, "{name}");
    }
}

/// Output of dbench at this rate, in 10^6 bytes per second, with passes of these milliseconds.
fn dbench(rate: u32, passes_ms: &[u32]) -> String {
    let mut text = format!(
        "dbench version 4.00 - Copyright Andrew Tridgell 1999-2004\n\n\
         Running for 2 seconds with load 'client-tiny.txt' and minimum warmup 0 secs\n\
         1 of 1 processes prepared for launch   0 sec\nreleasing clients\n   \
         1      1000   {rate}.00 MB/sec  execute   1 sec  latency 12.500 ms\n"
    );
    for ms in passes_ms {
        text += &format!("   0 completed in {ms} ms at time {ms} ms\n");
    }
    text + &format!(
        " Operation      Count    AvgLat    MaxLat\n {}\n NTCreateX        900     0.010    \
         10.000\n Flush             80     2.000    12.000\n\nThroughput {rate} MB/sec  1 clients  \
         1 procs  max_latency=12.500 ms\n",
        "-".repeat(40)
    )
}

#[test]
fn runs_of_dbench_are_compared_by_the_time_of_a_pass() {
    let program = program();
    let log = program.home().join("dbench.txt");
    fs::write(&log, dbench(100, &[500, 700]) + "\n" + &dbench(50, &[1000, 1400])).unwrap();
    let log = log.to_str().unwrap();
    program.run(["import", log, "--label", "old,new"]).ends_with(0);
    let report = ["report", "--baseline", "old", "--contender", "new", "--format", "json"];
    let document = json(&program, &report);
    let all = document["comparisons"].as_array().unwrap();
    let one = |name: &str| all.iter().find(|one| one["metric"] == name).unwrap();
    let primary: Vec<&Value> = all.iter().filter(|one| one["primary"] == true).collect();
    assert_eq!(primary.len(), 1);
    assert_eq!(primary[0]["metric"], "pass_seconds");
    assert!((primary[0]["ratio"].as_f64().unwrap() - 2.0).abs() < 1e-9);
    assert_eq!(primary[0]["verdict"], "single-run");
    assert!((one("throughput_mib_per_second")["ratio"].as_f64().unwrap() - 0.5).abs() < 1e-9);
    let said = document["cautions"].to_string();
    assert!(said.contains("flushes_decide"), "{said}");
    assert!(!codes(&document).contains(&"unequal_work"), "it works for a given time");
}

/// Output of blogbench with rows of five seconds.
fn blogbench(version: &str, rows: u32, blogs: u32) -> String {
    let mut text = format!(
        "\n{version}\n\nFrequency = 5 secs\nScratch dir = [/m]\nSpawning 3 writers...\n\
         Benchmarking for {rows} iterations.\nThe test will run during 0 minutes.\n\n\
         Nb blogs R articles W articles R pictures W pictures R comments W comments\n"
    );
    for row in 1..=rows {
        text += &format!("{} {} 200 300 400 500 600\n", row * blogs, 100 * blogs);
    }
    let (writes, reads) = (rows * blogs, rows * blogs * 10);
    text + &format!("\nFinal score for writes: {writes}\nFinal score for reads : {reads}\n")
}

#[test]
fn scores_of_two_versions_of_blogbench_are_never_compared() {
    let program = program();
    let log = program.home().join("blogbench.txt");
    let outputs = [
        blogbench("blogbench-1.1", 6, 10),
        blogbench("blogbench-1.1", 6, 20),
        blogbench("blogbench-1.2", 6, 20),
    ];
    fs::write(&log, outputs.join("\n")).unwrap();
    let log = log.to_str().unwrap();
    program.run(["import", log, "--label", "old,new,other"]).ends_with(0);
    let report = |contender: &str| {
        let words = ["report", "--baseline", "old", "--contender", contender, "--format", "json"];
        json(&program, &words)
    };
    let same = report("new");
    let all = same["comparisons"].as_array().unwrap();
    let find = |name: &str| all.iter().find(|one| one["metric"] == name).unwrap();
    for name in ["write_score_per_second", "read_score_per_second"] {
        let one = find(name);
        assert!((one["ratio"].as_f64().unwrap() - 2.0).abs() < 1e-9, "{one}");
        assert_eq!((&one["primary"], &one["verdict"]), (&true.into(), &"single-run".into()));
    }
    let row = find("row/blogs_written_per_second");
    assert_eq!((&row["pairs"], &row["within_one_run"]), (&6.into(), &true.into()));
    let other = report("other");
    assert_eq!(other["comparisons"], Value::Array(Vec::new()));
    assert!(other["cautions"].to_string().contains("is two benchmarks"), "{other}");
}

/// Imports this file with a limit on data memory, in KiB.
fn import_within(program: &Program, kib: u32, file: &str) -> FinishedCommand {
    let mut command = Command::new("sh");
    let words = format!("ulimit -d {kib}; exec \"$0\" import \"$1\"");
    command.args(["-c", &words]).arg(env!("CARGO_BIN_EXE_treering")).arg(file);
    FinishedCommand::run(program.prepare(&mut command))
}

#[test]
fn memory_does_not_grow_with_rows_or_trials() {
    let program = program();
    let name = program.home().join("rows.log");
    let mut text = "#  fs_mark  -d  /m/0  -n  100  -s  1  -L  30000 \n\
                    #\tVersion 3.3, 1 thread(s) starting at Wed Dec  5 03:20:58 2012\n\n\
                    FSUse%        Count         Size    Files/sec     App Overhead\n"
        .to_owned();
    for row in 1..=30_000 {
        text += &format!("     1 {row:>12}00            1        100.0             1000\n");
    }
    fs::write(&name, text).unwrap();
    // Phases and metrics for these rows exceed the limit.
    import_within(&program, 12_000, "rows.log").ends_with(0);
    let trial = last(&program);
    assert_eq!((trial.phases.len(), trial.metrics.len()), (30_000, 60_001));

    let mut own = last(&program);
    own.phases.clear();
    own.metrics.clear();
    own.facts = vec![Fact { name: "a".to_owned(), value: "x".repeat(400_000) }];
    let mut export = "{\"treering_export\":{\"version\":2},\"trials\":[".to_owned();
    for number in 0..30 {
        own.beginning.trial = TrialId::new();
        export += if number > 0 { ",\n" } else { "\n" };
        export += &serde_json::to_string(&own).unwrap();
    }
    fs::write(program.home().join("all.json"), export + "\n]}\n").unwrap();
    import_within(&program, 16_000, "all.json").ends_with(0);
    assert_eq!(count(&program), 31);
}

#[test]
fn a_log_without_a_directory_has_no_repeat_command() {
    let program = program();
    let summary = "intial create total runs 30 avg 25.69 MB/s (user 0.76s sys 1.35s)\n\
                   create total runs 5 avg 19.38 MB/s (user 0.71s sys 1.28s)\n";
    let logged: String =
        summary.split_inclusive('\n').flat_map(|line| ["bench-1  | ", line]).collect();
    fs::write(program.home().join("s.txt"), logged).unwrap();
    program.run(["import", "s.txt"]).ends_with(0);
    let shown = program.run(["show", "last"]).ends_with(0).stdout;
    assert!(shown.contains("25.69 MiB/s"), "{shown}");
    assert!(!shown.contains("The same trial again"), "{shown}");
}

/// Table of a metric over ten days; it becomes slower on the seventh.
fn table() -> String {
    let mut text = "time;version;metric;value;unit;direction\n".to_owned();
    for day in 1..=10_u32 {
        for round in 0..3_u32 {
            let level = if day < 7 { 100 } else { 130 };
            let value = level + (day + round) % 3;
            text += &format!("2026-04-{day:02};1.0.{day};parse;{value};ms;lower\n");
        }
    }
    text
}

#[test]
fn a_table_of_numbers_is_listed_and_compared_with_a_history() {
    let program = program();
    let path = program.home().join("numbers.txt");
    fs::write(&path, table()).unwrap();
    program.run(["import", path.to_str().unwrap()]).ends_with(0);
    assert_eq!(count(&program), 30);
    let list = json(&program, &["list", "--format", "json"]).to_string();
    assert!(list.contains("\"csv\"") && list.contains("1.0.10"), "{list}");
    let report = ["report", "--baseline", "1.0.6", "--contender", "1.0.7", "--format", "json"];
    let document = json(&program, &report);
    let one = &document["comparisons"][0];
    assert_eq!((&one["metric"], &one["contender_runs"]), (&"parse".into(), &3.into()));
    assert!((one["ratio"].as_f64().unwrap() - 1.3).abs() < 0.02, "{one}");
    for by in ["date", "version", "label"] {
        let history = json(&program, &["history", "--by", by, "--format", "json"]);
        assert_eq!(history["series"][0]["changes"][0]["point"], 6, "{history}");
    }
    program.run(["history", "--gate"]).ends_with(1);
}

#[test]
fn a_comparison_in_lkp_format_imports_as_means_without_verdict() {
    let program = program();
    fs::write(program.home().join("numbers.txt"), table()).unwrap();
    program.run(["import", "numbers.txt"]).ends_with(0);
    let report = ["report", "--baseline", "1.0.6", "--contender", "1.0.7", "--format", "lkp"];
    let text = program.run(report).ends_with(0).stdout;
    fs::write(program.home().join("mail.txt"), &text).unwrap();
    let own = ["--store", "robot.treering"];
    program.run(["import", "mail.txt"].into_iter().chain(own)).ends_with(0);
    let read = ["report", "--baseline", "1.0.6", "--contender", "1.0.7", "--gate", "--full"];
    let again = program.run(read.into_iter().chain(own)).ends_with(5);
    assert!(again.stdout.contains("no verdict"), "{again}");
    assert!(again.stdout.contains("means_only"), "{again}");
}

#[test]
fn a_table_that_has_grown_adds_only_its_new_rows() {
    let program = program();
    let path = program.home().join("nightly.csv");
    let mut text = "time,metric,value,unit,direction,round\n".to_owned();
    let mut stored = 0;
    for day in 1..=4_u32 {
        // The first days have one measurement; later ones also have a round without a number.
        for round in 0..=u32::from(day > 2) {
            let value = 100 + day + round;
            text += &format!("2026-04-{day:02},parse,{value},ms,lower,\n");
            stored += 1;
        }
        fs::write(&path, &text).unwrap();
        program.run(["import", path.to_str().unwrap()]).ends_with(0);
        assert_eq!(count(&program), stored, "day {day}");
    }
    // A new metric for a stored time must not store the first metric again.
    text += "2026-04-04,copy,20,s,lower,\n";
    fs::write(&path, &text).unwrap();
    program.run(["import", path.to_str().unwrap()]).ends_with(0);
    stored += 1;
    assert_eq!(count(&program), stored);
    let history = json(&program, &["history", "--by", "date", "--format", "json"]);
    let parse = history["series"].as_array().unwrap().iter().find(|of| of["metric"] == "parse");
    assert_eq!(parse.unwrap()["points"][3]["trials"], 2, "{history}");
    let other = program.home().join("copy.csv");
    fs::copy(&path, &other).unwrap();
    program.run(["import", other.to_str().unwrap()]).ends_with(0);
    assert_eq!(count(&program), stored, "a copy has nothing new");
}

/// Values of the points of each metric.
fn points(program: &Program) -> Vec<(String, Vec<f64>)> {
    let history = json(program, &["history", "--by", "date", "--format", "json"]);
    let series = history["series"].as_array().unwrap().iter().map(|series| {
        let points = series["points"].as_array().unwrap().iter();
        let values = points.map(|point| {
            assert_eq!(point["trials"], 1, "{series}");
            point["value"].as_f64().unwrap().round()
        });
        (series["metric"].as_str().unwrap().to_owned(), values.collect())
    });
    series.collect()
}

#[test]
fn a_corrected_value_of_a_table_takes_the_place_of_the_old_one() {
    let program = program();
    let path = program.home().join("nightly.csv");
    let import = |rows: &[(u32, &str, f64)], more: &[&str]| {
        let mut text = "time,version,metric,value,unit,direction\n".to_owned();
        for (day, metric, value) in rows {
            text += &format!("2026-04-{day:02},1.{day},{metric},{value},ns,lower\n");
        }
        fs::write(&path, text).unwrap();
        let file = path.to_str().unwrap();
        program.run(["import", file].iter().chain(more)).ends_with(0).stdout
    };
    let rows = |parse: f64| [(1, "parse", 10.0), (1, "copy", 20.0), (2, "parse", parse)];
    import(&rows(110.0), &[]);
    let said = import(&rows(11.0), &[]);
    assert!(said.contains("parse is 11 ns, and was 110 ns"), "{said}");
    let of = |parse: &[f64]| {
        [("parse".to_owned(), parse.to_vec()), ("copy".to_owned(), vec![20.0])].to_vec()
    };
    assert_eq!(points(&program), of(&[10.0, 11.0]));
    let list = json(&program, &["list", "--format", "json"]).to_string();
    assert!(list.contains("corrected by nightly.csv"), "{list}");
    let said = import(&rows(11.0), &[]);
    assert!(said.contains("already in the store") && !said.contains("corrected"), "{said}");
    import(&[(1, "parse", 12.0)], &[]);
    assert_eq!(points(&program), of(&[12.0, 11.0]), "the other metric of the trial is kept");
    import(&rows(110.0), &[]);
    assert_eq!(points(&program), of(&[10.0, 110.0]), "a correction can be taken back");
    import(&rows(110.0), &[]);
    let stored = count(&program);
    import(&rows(90.0), &["--again"]);
    assert_eq!(count(&program), stored + 2, "another run keeps both");
}

#[test]
fn a_table_that_gains_columns_replaces_its_rows() {
    let program = program();
    let path = program.home().join("nightly.csv");
    let import = |columns: &str, cells: &dyn Fn(u32) -> String| {
        let mut text = format!("time,metric,value,unit,direction{columns}\n");
        for day in 1..=9 {
            text += &format!("2026-04-{day:02},parse,{},ns,lower{}\n", 100 + day, cells(day));
        }
        fs::write(&path, text).unwrap();
        program.run(["import", path.to_str().unwrap()]).ends_with(0).stdout
    };
    let values: Vec<f64> = (1..=9).map(|day| f64::from(100 + day)).collect();
    import("", &|_| String::new());
    import(",commit", &|day| format!(",c0ffee{day}"));
    assert_eq!(points(&program), [("parse".to_owned(), values.clone())]);
    import(",commit,version", &|day| format!(",c0ffee{day},1.{day}"));
    assert_eq!(points(&program), [("parse".to_owned(), values.clone())]);
    import(",commit,version,label", &|day| format!(",c0ffee{day},1.{day},night {day}"));
    assert_eq!(points(&program), [("parse".to_owned(), values.clone())]);
    let columns = ",commit,version,label";
    let said = import(columns, &|day| format!(",c0ffee{day},1.{day},night {day}"));
    assert!(said.contains("already in the store"), "{said}");
    assert_eq!(points(&program), [("parse".to_owned(), values)]);
}

#[test]
fn rows_with_and_without_a_variant_at_one_time_are_two_trials() {
    let program = program();
    let path = program.home().join("both.csv");
    for rows in ["t,100,\nt,100,patched\n", "t,100,patched\nt,100,\n"] {
        let rows = rows.replace("t,", "2026-04-01,parse,ns,lower,");
        fs::write(&path, format!("time,metric,unit,direction,value,variant\n{rows}")).unwrap();
        program.run(["import", path.to_str().unwrap()]).ends_with(0);
        assert_eq!(count(&program), 2);
    }
    let list = json(&program, &["list", "--format", "json"]).to_string();
    assert!(!list.contains("corrected by"), "{list}");
}

#[test]
fn a_table_that_lacks_a_column_is_refused_with_the_nearest_name() {
    let program = program();
    let path = program.home().join("numbers.csv");
    fs::write(&path, "time,metric,valeu,unit,direction\n2026-04-03,a,1,s,lower\n").unwrap();
    let refused = program.run(["import", path.to_str().unwrap()]).ends_with(2);
    refused.complains("numbers.csv:1: this table has no column 'value' (is it `valeu`?)");
}

#[test]
fn commands_of_hyperfine_are_variants_with_rounds() {
    let program = program();
    let path = program.home().join("export.json");
    let times = |seconds: f64| {
        let times: Vec<f64> = (0..6).map(|round| seconds + f64::from(round % 3) / 100.0).collect();
        serde_json::to_string(&times).unwrap()
    };
    let results = [("one", 1.0), ("two", 2.0)].map(|(command, seconds)| {
        format!("{{\"command\":\"{command}\",\"times\":{}}}", times(seconds))
    });
    fs::write(&path, format!("{{\"results\":[{}]}}\n", results.join(","))).unwrap();
    let path = path.to_str().unwrap();
    program.run(["import", path]).ends_with(0);
    assert_eq!(count(&program), 12);
    let report = ["report", "--baseline", "one", "--contender", "two", "--format", "json"];
    let document = json(&program, &report);
    let one = &document["comparisons"][0];
    assert_eq!((&one["metric"], &one["baseline_runs"]), (&"elapsed_seconds".into(), &6.into()));
    assert!((one["ratio"].as_f64().unwrap() - 2.0).abs() < 0.05, "{one}");
    assert!(codes(&document).contains(&"not_interleaved"), "{document}");
    let history = json(&program, &["history", "--by", "label", "--format", "json"]);
    assert_eq!(history["series"].as_array().unwrap().len(), 2, "{history}");
    // Labels are for sides, not for rounds.
    let other = program.home().join("other.db");
    let store = ["--store", other.to_str().unwrap()];
    program.run([&["import", path, "--label", "a,b"][..], &store].concat()).ends_with(0);
    program.run([&["import", path, "--again", "--label", "a"][..], &store].concat()).ends_with(2);
}

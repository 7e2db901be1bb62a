//! Import of dbench: versions 3, 4 and 5, and the variant of MMTests, complete and in parts.

use treering_model::{CautionCode, Scope};
use treering_registry::{ForeignTrial, ImportResult, import};

use crate::logs::{only, primary, trials};

/// Invented run of dbench 4.
pub(crate) const DBENCH: &str = "\
dbench version 4.00 - Copyright Andrew Tridgell 1999-2004

Running for 3 seconds with load '/usr/share/dbench/client.txt' and minimum warmup 1 secs
1 of 2 processes prepared for launch   0 sec
2 of 2 processes prepared for launch   0 sec
releasing clients
   2      1000   300.00 MB/sec  warmup   1 sec  latency 43.872 ms
   2      2000   100.00 MB/sec  execute   1 sec  latency 12.500 ms
   2      4000   150.00 MB/sec  execute   2 sec  latency 20.000 ms
   2  cleanup   3 sec
   0  cleanup   3 sec

 Operation      Count    AvgLat    MaxLat
 ----------------------------------------
 NTCreateX        900     0.010    10.000
 Close            700     0.001     0.500
 WriteX           400     0.050    15.000
 ReadX           1200     0.005     1.000
 Flush             80     2.000    19.000

Throughput 150 MB/sec  2 clients  2 procs  max_latency=20.000 ms
";

fn value(trial: &ForeignTrial, name: &str) -> Option<f64> {
    let same =
        |metric: &&treering_model::Metric| metric.scope == Scope::Trial && metric.name == name;
    trial.metrics.iter().find(same).map(|metric| metric.value)
}

fn of_kind(trial: &ForeignTrial, kind: &str, name: &str) -> Option<f64> {
    let scope = Scope::Kind(kind.to_owned());
    let same = |metric: &&treering_model::Metric| metric.scope == scope && metric.name == name;
    trial.metrics.iter().find(same).map(|metric| metric.value)
}

fn parameters(trial: &ForeignTrial) -> String {
    let pairs = trial.parameters.iter().map(|(name, value)| format!("{name}={value}"));
    pairs.collect::<Vec<_>>().join(" ")
}

fn says(imported: &ImportResult, words: &str) -> bool {
    imported.remarks.iter().any(|remark| remark.what.contains(words))
}

#[test]
fn a_complete_run_is_read() {
    let imported = import(DBENCH.as_bytes());
    let trial = only(&imported);
    assert_eq!(trial.workload, "dbench");
    assert_eq!(
        parameters(trial),
        "clients=2 procs=2 sync=false sync-dir=false timelimit=3 warmup=1 loadfile=client.txt"
    );
    let facts: Vec<String> =
        trial.facts.iter().map(|fact| format!("{}={}", fact.name, fact.value)).collect();
    assert_eq!(
        facts,
        [
            "import.tool=dbench 4.00",
            "work.amount=timed",
            "import.loadfile=/usr/share/dbench/client.txt"
        ]
    );
    let rate = value(trial, "throughput_mib_per_second").unwrap();
    assert!((rate - 150e6 / 1_048_576.0).abs() < 1e-9, "a megabyte of dbench is 10^6 bytes");
    assert_eq!(primary(trial), ["throughput_mib_per_second"]);
    assert_eq!(of_kind(trial, "Flush", "calls"), Some(80.0));
    assert_eq!(of_kind(trial, "Flush", "latency_ns_mean"), Some(2e6));
    assert_eq!(of_kind(trial, "WriteX", "latency_ns_max"), Some(15e6));
    assert_eq!(value(trial, "latency_ns_max"), Some(19e6));
    assert_eq!(value(trial, "classic_latency_ns_max"), Some(20e6));
    // 160 of 195.7 ms.
    let share = value(trial, "flush_time_percent").unwrap();
    assert!((share - 100.0 * 160.0 / 195.7).abs() < 1e-9);
    assert_eq!(trial.cautions.len(), 1);
    assert_eq!(trial.cautions[0].code, CautionCode::FlushesDecide);
    let [phase] = trial.phases.as_slice() else { panic!("one phase") };
    assert_eq!((phase.name.as_str(), phase.bytes), ("execute", 300_000_000));
    let seconds: Vec<(u32, u64, u64)> = phase
        .intervals
        .iter()
        .map(|interval| (interval.second, interval.calls, interval.bytes))
        .collect();
    assert_eq!(seconds, [(0, 2000, 100_000_000), (1, 4000, 200_000_000)]);
    assert_eq!(trial.wall_ns, 2_000_000_000);
    assert!(!trial.is_interrupted);
    assert_eq!(imported.remarks.len(), 1, "{:?}", imported.remarks);
    assert!(says(&imported, "derived from it, to within 0.02 MiB"), "{:?}", imported.remarks);
}

#[test]
fn version_3_has_neither_latencies_nor_a_table() {
    let text = "dbench version 3.04 - Copyright Andrew Tridgell 1999-2004\n\n\
                Running for 2 seconds with load '/l/client.txt' and minimum warmup 0 secs\n\
                20 clients started\n\
                \x20 20       500   170.00 MB/sec  execute   1 sec   \n\
                \x20 20      1000   179.73 MB/sec  execute   2 sec   \n\
                \x20 20      1010   179.73 MB/sec  cleanup   2 sec   \n\n\
                Throughput 179.726 MB/sec (sync open) 20 procs\n";
    let imported = import(text.as_bytes());
    let trial = only(&imported);
    assert!(parameters(trial).starts_with("clients=20 procs=20 sync=true sync-dir=false"));
    assert_eq!(trial.phases[0].intervals.len(), 2, "no warm-up: the first second is known");
    assert_eq!(value(trial, "classic_latency_ns_max"), None);
    assert_eq!(imported.remarks.len(), 1, "{:?}", imported.remarks);
}

#[test]
fn version_5_has_longer_names_and_machine_readable_output() {
    let head = "dbench version 5.00 - Copyright Andrew Tridgell 1999-2004\n\n\
                Running for 3 seconds with load 'client.txt' and minimum warmup 1 secs\n\
                Waiting for child processes to finish setup.\nReleasing clients\n";
    let table = " Operation                Count    AvgLat    MaxLat\n \
                 --------------------------------------------------\n";
    let plain = format!(
        "{head}{}{table} QUERY_PATH_INFORMATION    91355     0.003     1.809\n \
         FIND_FIRST 5 0.1 3.0\n\nThroughput 150 MB/sec  2 clients  2 procs  max_latency=3.100 ms\n",
        "   2      2000   150.00 MB/sec  execute   1 sec  latency 3.100 ms\n"
    );
    let machine = format!(
        "{head}@W@2@10@9.00@1@1.000@\n@R@2@2000@150.00@1@3.100@\n@C@2@2100@140.00@3@0.000@\n\
         {table}:QUERY_PATH_INFORMATION:91355:0.003:1.809:\n:FIND_FIRST:5:0.1:3.0:\n\n\
         ;0;2;2;3.100;\n"
    );
    for (text, is_machine) in [(plain, false), (machine, true)] {
        let imported = import(text.as_bytes());
        let trial = only(&imported);
        assert_eq!(of_kind(trial, "Qpathinfo", "calls"), Some(91_355.0));
        assert_eq!(of_kind(trial, "Find", "latency_ns_max"), Some(3e6));
        let rate = value(trial, "throughput_mib_per_second").unwrap();
        assert!((rate - 150e6 / 1_048_576.0).abs() < 1e-9);
        assert_eq!(says(&imported, "the rate of the last second is used"), is_machine);
        assert_eq!(parameters(trial).contains("sync="), !is_machine, "it does not say");
        assert!(!trial.is_interrupted);
    }
}

#[test]
fn pass_time_is_preferred_if_present() {
    let passes = "   0 completed in 800 ms at time 800 ms\n   1 completed in 900 ms at time 900 \
                  ms\n   0 completed in 1000 ms at time 1800 ms\n";
    let text = DBENCH.replace(" Operation  ", &format!("{passes}\n Operation  "));
    let imported = import(text.as_bytes());
    let trial = only(&imported);
    assert_eq!(primary(trial), ["pass_seconds"]);
    assert_eq!(value(trial, "pass_seconds"), Some(0.9));
    assert_eq!(value(trial, "pass_seconds_max"), Some(1.0));
    assert_eq!(value(trial, "passes"), Some(3.0));
    assert!(
        says(&imported, "the passes it lists include those of the warm-up"),
        "{:?}",
        imported.remarks
    );
    // Without a warm-up, as MMTests runs it; a client that is too slow has no pass.
    let text = text.replace("minimum warmup 1 secs", "minimum warmup 0 secs");
    let imported = import(text.replace("   1 completed", "   0 completed").as_bytes());
    assert!(!says(&imported, "warm-up"), "{:?}", imported.remarks);
    assert!(says(&imported, "1 of 2 clients completed no pass"), "{:?}", imported.remarks);
}

#[test]
fn a_warm_up_pass_alone_has_no_throughput() {
    let text = "dbench version 4.00 - Copyright Andrew Tridgell 1999-2004\n\n\
                Running for 600 seconds with load 'client-warmup.txt' and minimum warmup 120 secs\n\
                releasing clients\n\n Operation      Count    AvgLat    MaxLat\n \
                ----------------------------------------\n NTCreateX         67     0.021     \
                0.100\n\nThroughput 0 MB/sec  1 clients  1 procs  max_latency=0.000 ms\n";
    let imported = import(text.as_bytes());
    assert_eq!(value(only(&imported), "throughput_mib_per_second"), None);
    assert!(says(&imported, "as with --run-once"), "{:?}", imported.remarks);
    let none = "dbench version 4.00 - Copyright Andrew Tridgell 1999-2004\n\
                Running for 600 seconds with load 'c' and minimum warmup 120 secs\n\
                create 0 procs?  you must be kidding.\n\
                Throughput 0 MB/sec  0 clients  0 procs  max_latency=0.000 ms\n";
    let imported = import(none.as_bytes());
    assert!(imported.found.is_empty());
    assert!(says(&imported, "no result"), "{:?}", imported.remarks);
}

#[test]
fn a_warm_up_wait_is_not_an_operation() {
    let text =
        DBENCH.replace("12.500", "221.210").replace("max_latency=20.000", "max_latency=221.210");
    let imported = import(text.as_bytes());
    assert_eq!(value(only(&imported), "classic_latency_ns_max"), None);
    assert_eq!(value(only(&imported), "latency_ns_max"), Some(19e6));
    assert!(says(&imported, "it is from the warm-up"), "{:?}", imported.remarks);
}

#[test]
fn parts_of_outputs_in_a_mail_are_trials() {
    let (head, table) = DBENCH.split_once("\n Operation").unwrap();
    let quoted = |lines: Vec<&str>, behind: &str| -> String {
        lines.iter().flat_map(|line| ["> ", line, behind, "\n"]).collect()
    };
    let seconds = head.lines().filter(|line| line.contains("execute")).collect();
    let seconds = quoted(seconds, " *1");
    let table = format!(" Operation{table}");
    let table = quoted(table.lines().collect(), "");
    let other = table.replace("150 MB/sec", "75.5 MB/sec");
    let mail = format!(
        "Hi,\n4.14:\n{other}\n4.19:\n{table}> + uname -r\n> 5.11\n>\n> detail:\n{seconds}>\nBye\n\
         JFS Throughput 3 MB/sec 1 procs\nThroughput 4.5 MB/sec 1 procs\n"
    );
    let imported = import(mail.as_bytes());
    let trials = trials(&imported);
    let rates: Vec<f64> = trials
        .iter()
        .map(|trial| value(trial, "throughput_mib_per_second").unwrap() * 1.048_576)
        .map(|rate| (rate * 1e3).round() / 1e3)
        .collect();
    assert_eq!(rates, [75.5, 150.0, 4.5]);
    let phases: Vec<usize> = trials.iter().map(|trial| trial.phases.len()).collect();
    assert_eq!(phases, [0, 1, 0], "{:?}", imported.remarks);
    assert!(says(&imported, "uname"), "{:?}", imported.remarks);
}

#[test]
fn several_and_truncated_runs_are_separated() {
    let torn = DBENCH.split(" Operation").next().unwrap();
    let failed = torn.replace("   2  cleanup   3 sec\n", "Child failed with status 1\n");
    let imported = import(format!("{DBENCH}{torn}{DBENCH}{failed}rest\n").as_bytes());
    let ends: Vec<bool> = trials(&imported).iter().map(|trial| trial.is_interrupted).collect();
    assert_eq!(ends, [false, true, false, true], "{:?}", imported.remarks);
    assert!(says(&imported, "it says `Child failed with status 1`; kept as interrupted"));
    assert!(says(&imported, "the result is missing"));
    let usage = "dbench version 4.00 - Copyright Andrew Tridgell 1999-2004\n\nUsage: [OPTION...]\n";
    let imported = import(usage.as_bytes());
    assert!(imported.found.is_empty() && says(&imported, "no result"));
}

#[test]
fn per_client_tables_are_ignored_beside_the_total() {
    let (head, result) = DBENCH.split_once("Throughput").unwrap();
    let client = |number: u32| {
        format!(
            "Client {number} did 2000 lines and 150000 bytes\n Operation      Count    AvgLat    \
             MaxLat\n ----------------------------------------\n NTCreateX 450 0.01 9.0\n \
             LockX 0 -nan 0.000\n\n"
        )
    };
    let text = format!("{head}Per client results:\n{}{}Throughput{result}", client(0), client(1));
    let imported = import(text.as_bytes());
    let trial = only(&imported);
    assert_eq!(of_kind(trial, "NTCreateX", "calls"), Some(900.0));
    assert!(!trial.is_interrupted);
    assert!(says(&imported, "tables of single clients were skipped"));
    assert_eq!(imported.remarks.len(), 2, "{:?}", imported.remarks);
}

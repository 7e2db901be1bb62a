//! Import of filebench: shortened outputs with invented numbers.

use treering_model::{CautionCode, Scope};
use treering_registry::{ForeignTrial, ImportedTrial, import};

use crate::logs::only;

/// Output of 1.5.
pub(crate) const FILEBENCH: &str = "\
Filebench Version 1.5-alpha3
0.000: Allocated 177MB of shared memory
0.007: Web proxy-server Version 3.0 personality successfully loaded
0.007: Populating and pre-allocating filesets
0.010: bigfileset populated: 10000 files, avg. dir. width = 1000000, avg. dir. depth = 0.7, 0 leafdirs, 156.250MB total size
0.016: Pre-allocating files in bigfileset tree
0.586: Starting 1 proxycache instances
1.620: Running...
11.754: Run took 10 seconds...
11.770: Per-Operation Breakdown
limit                0ops        0ops/s   0.0mb/s    0.000ms/op [0.000ms - 0.000ms]
readfile6            50003ops     5000ops/s  41.5mb/s    0.031ms/op [0.001ms - 274.650ms]
deletefile1          50000ops     5000ops/s   0.0mb/s    0.279ms/op [0.005ms - 525.522ms]
11.770: IO Summary: 100003 ops 10000.300 ops/s 5000/10 rd/wr  41.5mb/s 0.155ms/op
11.770: Shutting down processes
";

/// Output of 1.4, with the numbers of its processes.
const OLD: &str = "\
Filebench Version 1.4.9.1
35318: 0.000: Allocated 170MB of shared memory
35318: 0.001: Stat File Version 1.0 personality successfully loaded
35318: 0.021: Fileset bigfileset: 20000 files, 0 leafdirs, avg dir width = 200, avg dir depth = 1.9, 2483.404MB
38018: 1.785: Starting 1 examinefiles instances
38019: 1.787: Starting 20 examinefilethread threads
35318: 2.793: Running...
35318: 12.794: Run took 10 seconds...
35318: 12.795: Per-Operation Breakdown
statfile1            4000ops      400ops/s   0.0mb/s     10.1ms/op     2489us/op-cpu [2ms - 1296ms]
35318: 12.795: IO Summary:  4000 ops, 400.000 ops/s, (0/0 r/w),   0.0mb/s,     12us cpu/op,  10.1ms latency
35318: 12.795: Shutting down processes
";

fn value(trial: &ForeignTrial, scope: &Scope, name: &str) -> f64 {
    let mut metrics = trial.metrics.iter();
    let wanted = metrics.find(|metric| metric.scope == *scope && metric.name == name);
    wanted.unwrap_or_else(|| panic!("no {name} of {scope:?}")).value
}

fn near(left: f64, right: f64) {
    assert!((left - right).abs() <= right.abs() * 1e-9, "{left} {right}");
}

fn reported(text: &str) -> Vec<String> {
    let remarks = import(text.as_bytes()).remarks.into_iter();
    remarks.map(|remark| format!("{}: {}", remark.line, remark.what)).collect()
}

#[test]
fn outputs_of_1_5_are_read() {
    let imported = import(format!("Hi\n{FILEBENCH}\nBye\n").as_bytes());
    let trial = only(&imported);
    assert_eq!(imported.remarks, []);
    assert_eq!(imported.skipped_lines, 2);
    assert_eq!(trial.facts[0].value, "filebench 1.5-alpha3");
    let parameters: Vec<String> =
        trial.parameters.iter().map(|(name, value)| format!("{name}={value}")).collect();
    assert_eq!(
        parameters,
        [
            "personality=Web proxy-server Version 3.0",
            "bigfileset files=10000",
            "bigfileset dir width=1000000",
            "bigfileset leafdirs=0",
            "proxycache instances=1"
        ]
    );
    near(value(trial, &Scope::Trial, "operations_per_second"), 10_000.3);
    near(value(trial, &Scope::Trial, "reads_per_second"), 5000.0);
    near(value(trial, &Scope::Trial, "latency_mean_nanoseconds"), 155_000.0);
    assert_eq!(trial.wall_ns, 10_000_000_000);
    let read = Scope::Kind("readfile6".to_owned());
    near(value(trial, &read, "operations_per_second"), 5000.3);
    near(value(trial, &read, "latency_max_nanoseconds"), 274_650_000.0);
    let primary = trial.metrics.iter().filter(|metric| metric.primary);
    assert_eq!(primary.count(), 1);
    let limit = Scope::Kind("limit".to_owned());
    assert!(trial.metrics.iter().all(|metric| metric.scope != limit), "never done");
    assert_eq!(trial.cautions, []);
    // As a mail program breaks its lines.
    let broken = FILEBENCH.replace(" [0", "\n[0").replace(" rd/wr", "\nrd/wr");
    assert_eq!(only(&import(broken.as_bytes())).metrics, trial.metrics);
}

#[test]
fn outputs_of_1_4_are_read() {
    let imported = import(format!("{OLD}{OLD}").as_bytes());
    assert_eq!((imported.found.len(), imported.remarks.len()), (2, 0));
    let imported = import(OLD.as_bytes());
    let trial = only(&imported);
    near(value(trial, &Scope::Trial, "cpu_ns_mean"), 12_000.0);
    let stat = Scope::Kind("statfile1".to_owned());
    near(value(trial, &stat, "cpu_ns_mean"), 2_489_000.0);
    near(value(trial, &stat, "latency_min_nanoseconds"), 2_000_000.0);
    assert!(trial.parameters.contains(&("examinefilethread threads".into(), "20".into())));
    assert_eq!(trial.cautions[0].code, CautionCode::TooFewOperations);
}

#[test]
fn the_order_in_which_processes_start_their_threads_makes_no_other_job() {
    let start = "35318: 2.793: Running...\n";
    let started = |names: [&str; 3]| {
        let line = |name: &&str| format!("38019: 1.8: Starting 1 {name} threads\n");
        let lines: String = names.iter().map(line).collect();
        OLD.replace(start, &format!("{lines}{start}"))
    };
    let (one, other) =
        (started(["reads", "writes", "reads"]), started(["writes", "reads", "reads"]));
    let (one, other) = (import(one.as_bytes()), import(other.as_bytes()));
    assert_eq!(only(&one).parameters, only(&other).parameters);
    let reads = only(&one).parameters.iter().filter(|(name, _)| name == "reads threads").count();
    assert_eq!(reads, 1);
}

#[test]
fn two_reports_in_one_paste_without_their_headers_are_two_trials() {
    let (_, report) = FILEBENCH.split_once("1.620: Running...\n").unwrap();
    let report = report.replace("11.770: Shutting down processes\n", "");
    let other = report.replace("10000.300 ops/s", "20000.300 ops/s");
    let imported = import(format!("{report}and on the other disk:\n{other}").as_bytes());
    let rates = imported.found.iter().map(|found| match &found.content {
        ImportedTrial::Foreign(trial) => value(trial, &Scope::Trial, "operations_per_second"),
        ImportedTrial::Own(_) => 0.0,
    });
    assert_eq!(rates.collect::<Vec<_>>(), [10_000.3, 20_000.3]);
}

#[test]
fn runs_without_valid_figures_are_interrupted() {
    let (before, _) = FILEBENCH.split_once("11.770: Per").unwrap();
    let near_miss = "1: looks like filebench, but has no result: not imported";
    assert_eq!(reported(before), ["1: it has no summary", near_miss]);
    assert_eq!(import(before.as_bytes()).found, []);
    let early =
        FILEBENCH.replace("1.620: Running...", "9.1: WARNING! Run stopped early: NO VALID RESULTS");
    let remark = "its figures are not valid: `WARNING! Run stopped early: NO VALID RESULTS`";
    assert!(reported(&early)[0].contains(remark), "{:?}", reported(&early));
    assert!(only(&import(early.as_bytes())).is_interrupted);
}

#[test]
fn reasons_are_quoted_from_the_log() {
    let none = "9.2: NO VALID RESULTS! Filebench run terminated prematurely";
    for (log, reason) in [
        (
            "9.1: Unexpected Process termination Code 3, Errno 0 around line 5",
            "Unexpected Process termination Code 3, Errno 0 around line 5",
        ),
        (
            "9.1: WARNING! Run stopped early:\n                flowop deletefile1-1 could not \
             obtain a file. Please\n                reduce runtime",
            "flowop deletefile1-1 could not obtain a file. Please",
        ),
        ("9.1: Failed to create filesets", "Failed to create filesets"),
        ("9.1: something else", &none[5..]),
    ] {
        let text = FILEBENCH.replace("1.620: Running...", &format!("{log}\n{none}"));
        let remarks = reported(&text);
        let expected = format!("its figures are not valid: `{reason}`; kept as interrupted");
        assert!(remarks.iter().any(|remark| remark.ends_with(&expected)), "{remarks:?}");
        assert!(remarks.iter().all(|remark| !remark.contains("ran out")), "{remarks:?}");
        assert!(only(&import(text.as_bytes())).is_interrupted);
    }
}

/// Tables of `psrun` with these operations and rates.
fn tables(histograms: &[(u64, u64)]) -> String {
    let table = |(operations, rate): &(u64, u64)| {
        format!(
            "1.0: Per-Operation Breakdown\nstat1 {operations}ops {rate}ops/s 0.0mb/s 0.001ms/op \
             [0.001ms - 0.002ms]\n1.0: IO Summary: {operations} ops {rate}.000 ops/s 0/0 rd/wr \
             0.0mb/s 0.001ms/op\n"
        )
    };
    let histograms: Vec<String> = histograms.iter().map(table).collect();
    format!("Filebench Version 1.5\n{}2.0: Shutting down processes\n", histograms.concat())
}

#[test]
fn cumulative_and_periodic_tables_are_distinguished() {
    let of_all = tables(&[(10_000, 1000), (21_000, 1050), (30_000, 1000)]);
    let imported = import(of_all.as_bytes());
    let trial = only(&imported);
    assert_eq!(reported(&of_all), ["1: of 3 cumulative tables the last is used"]);
    near(value(trial, &Scope::Trial, "operations"), 30_000.0);
    let periods = tables(&[(10_000, 1000), (11_000, 1100), (9_000, 900)]);
    let imported = import(periods.as_bytes());
    let trial = only(&imported);
    assert_eq!(reported(&periods), [""; 0]);
    near(value(trial, &Scope::Trial, "operations_per_second"), 1000.0);
    let row = Scope::Phase("iteration 2".to_owned());
    near(value(trial, &row, "operations_per_second"), 1100.0);
    near(value(trial, &row, "operations"), 11_000.0);
    // Kinds of operation are summed over the periods.
    let kind = Scope::Kind("stat1".to_owned());
    near(value(trial, &kind, "calls"), 30_000.0);
    near(value(trial, &kind, "operations_per_second"), 1000.0);
    near(value(trial, &kind, "latency_mean_nanoseconds"), 1000.0);
    near(value(trial, &kind, "latency_max_nanoseconds"), 2000.0);
    assert_eq!(trial.phases.len(), 3);
}

//! Import of FFSB reports, complete ones and parts.

use treering_model::Metric;
use treering_registry::{ForeignTrial, import};

use crate::logs::only;

/// Report of one thread group with these rows, and these counts of open, unlink and stat.
fn report(rows: &str, calls: Option<[u32; 3]>) -> String {
    let mut text = format!(
        "FFSB version 6.0-RC2 started\n\nbenchmark time = 10\nThreadGroup 0\n================\n\
         \t num_threads      = 4\n\t\n\t write_size       = 40960\t(40KB)\n\
         \t write_blocksize  = 4096\t(4KB)\n\t op weights\n\t             readall = 1 (50.00%)\n\n\
         FileSystem /m/f\n==========\n\t num_dirs         = 100\n\t aging is off\n\
         \t current utilization = 2.32%\n\t\ncreating new fileset /m/f\nfs setup took 0 secs\n\
         Syncing()...0 sec\nStarting Actual Benchmark At: Fri Nov 20 17:47:47 2026\n\n\
         Syncing()...0 sec\nFFSB benchmark finished   at: Fri Nov 20 17:47:57 2026\n\nResults:\n\
         Benchmark took 10.00 sec\n\nTotal Results\n===============\n             Op Name   \
         Transactions\t Trans/sec\t% Trans\t    % Op Weight\t   Throughput\n{rows}-\n90.00 \
         Transactions per Second\n\nThroughput Results\n===================\nRead Throughput: \
         133MB/sec\n\n"
    );
    if let Some([open, unlink, stat]) = calls {
        text += "System Call Latency statistics in millisecs\n=====\n\t\tMin\t\tAvg\t\tMax\t\tTotal \
                 Calls\n";
        for (call, count) in [("open", open), ("unlink", unlink), ("stat", stat)] {
            text += &format!("[{call:>7}]\t0.001000\t0.008935\t4.584000\t{count:>12}\n   -\n");
        }
    }
    text + "\n\n2.1% User   Time\n18.2% System Time\n20.3% CPU Utilization\n"
}

fn row(op: &str, transactions: u32, percent: &str) -> String {
    format!("{op:>20} : {transactions:>12}\t     90.00\t50.000%\t\t{percent}%\t           NA\n")
}

fn figure<'t>(trial: &'t ForeignTrial, name: &str) -> Option<&'t Metric> {
    let scope = &treering_model::Scope::Trial;
    trial.metrics.iter().find(|metric| metric.name == name && metric.scope == *scope)
}

#[test]
fn operations_are_a_metric_only_where_the_report_determines_them() {
    let undetermined = row("readall", 900, "50.000") + &row("writeall", 500, "50.000");
    let calls = import(report(&undetermined, Some([40, 0, 0])).as_bytes());
    assert_eq!(figure(only(&calls), "operations").unwrap().value, 40.0);
    assert_eq!(figure(only(&calls), "operations_per_second").unwrap().value, 4.0);
    let unknown = import(report(&undetermined, None).as_bytes());
    let trial = only(&unknown);
    assert!(figure(trial, "operations").is_none(), "{:?}", trial.metrics);
    assert!(figure(trial, "operations_per_second").is_none());
    assert!(unknown.remarks[0].what.contains("does not determine"), "{:?}", unknown.remarks);
    assert!(!trial.is_interrupted);
    for imported in [&calls, &unknown] {
        let primary = only(imported).metrics.iter().filter(|metric| metric.primary);
        let names: Vec<&str> = primary.map(|metric| metric.name.as_str()).collect();
        assert_eq!(names, ["transactions_per_second"]);
    }
    let appends = row("readall", 900, "66.667") + &row("append", 20, "33.333");
    let appended = import(report(&appends, None).as_bytes());
    assert_eq!(figure(only(&appended), "operations").unwrap().value, 6.0);
}

#[test]
fn a_truncated_report_is_interrupted_and_keeps_its_figures() {
    let whole = report(&(row("delete", 4, "10.526") + &row("readall", 900, "89.474")), None);
    assert!(!only(&import(whole.as_bytes())).is_interrupted);
    for end in ["\n\nThroughput Results", "-\n90.00", "\n\nTotal Results", "\n\n2.1% User"] {
        let imported = import(whole.split(end).next().unwrap().as_bytes());
        let trial = only(&imported);
        assert!(trial.is_interrupted, "{end:?}");
        assert_eq!(trial.wall_ns, 10_000_000_000, "{end:?}");
        assert!(
            imported.remarks.iter().any(|remark| remark.what.contains("is not complete")),
            "{end:?}"
        );
    }
}

#[test]
fn a_report_without_its_header_is_found() {
    let whole = report(&(row("delete", 4, "10.526") + &row("readall", 900, "89.474")), None);
    for begin in ["Starting Actual", "Benchmark took", "             Op Name"] {
        let cut = &whole[whole.find(begin).unwrap()..];
        let twice = import(format!("{cut}{cut}").as_bytes());
        assert_eq!(twice.found.len(), 2, "{begin}: {:?}", twice.remarks);
        let imported = import(cut.as_bytes());
        let trial = only(&imported);
        assert!(!trial.is_interrupted, "{begin}");
        assert_eq!(figure(trial, "transactions_per_second").unwrap().value, 90.0);
        assert_eq!(figure(trial, "operations").unwrap().value, 38.0);
        assert_eq!(figure(trial, "operations_per_second").is_some(), !begin.contains("Op Name"));
        assert!(imported.remarks[0].what.contains("head of the report"), "{:?}", imported.remarks);
    }
}

//! Import of mdtest: with iterations and ranks, with the table of times, truncated outputs.

use treering_model::{Metric, Scope};
use treering_registry::{ForeignTrial, import};

use crate::logs::only;

/// Run of four ranks and two iterations, with invented figures.
pub(crate) const MDTEST: &str = "-- started at 11/24/2026 06:00:27 --

mdtest-4.1.0+dev was launched with 4 total task(s) on 2 node(s)
Command line used: mdtest '-n' '20' '-u' '-N' '1' '-i' '2' '-P' '-d' '/m/x'
WARNING: Read bytes is 0, thus, a read test will actually just open/close
Nodemap: 1010
Path                : /m/x
FS                  : 11.8 GiB   Used FS: 2.5%   Inodes: 2.9 Mi   Used Inodes: 0.0%
V-0: Rank   0 Line  2594 Shifting ranks by 2 for each phase.
4 tasks, 80 files/directories

SUMMARY rate (in ops/sec): (of 2 iterations)
   Operation                     Max            Min           Mean        Std Dev
   ---------                     ---            ---           ----        -------
   Directory creation           2000.000       1000.000       1500.000        707.107
   Directory stat               5000.000       5000.000       5000.000          0.000
   Directory rename              300.000        200.000        250.000         70.711
   Directory removal             300.000        200.000        250.000         70.711
   File creation                 800.000        600.000        700.000        141.421
   File stat                       0.000          0.000          0.000          0.000
   File read                    9000.000       8000.000       8500.000        707.107
   File removal                  300.000        200.000        250.000         70.711
   Tree creation                  30.000         20.000         25.000          7.071
   Tree removal                   30.000         20.000         25.000          7.071

SUMMARY time (in ms/op): (of 2 iterations)
   Operation                     Max            Min           Mean        Std Dev
   ---------                     ---            ---           ----        -------
   File creation                   0.100          0.080          0.090          0.014
-- finished at 11/24/2026 06:00:29 --
";

fn metric<'t>(trial: &'t ForeignTrial, kind: &str, name: &str) -> Option<&'t Metric> {
    let scope = Scope::Kind(kind.to_owned());
    trial.metrics.iter().find(|metric| metric.scope == scope && metric.name == name)
}

#[test]
fn a_run_of_several_iterations_is_read() {
    let imported = import(MDTEST.as_bytes());
    let trial = only(&imported);
    assert_eq!((trial.workload, trial.target.as_str()), ("mdtest", "/m/x"));
    let parameters: Vec<String> =
        trial.parameters.iter().map(|(name, value)| format!("{name}={value}")).collect();
    assert_eq!(
        parameters,
        [
            "items=20",
            "unique-dir=true",
            "shift=1",
            "iterations=2",
            "rate-and-time=true",
            "ranks=4",
            "nodes=2"
        ]
    );
    let rate = metric(trial, "file-create", "operations_per_second").unwrap();
    assert_eq!((rate.value, rate.primary, rate.tasks), (700.0, true, 2));
    let rename = metric(trial, "dir-rename", "operations_per_second").unwrap();
    assert!(!rename.primary);
    let least = metric(trial, "dir-create", "operations_per_second_min").unwrap();
    assert!((least.value - 1000.0).abs() < 1e-9);
    assert_eq!(metric(trial, "file-stat", "operations_per_second"), None, "it was not done");
    assert_eq!(trial.wall_ns, 2_000_000_000);
    let remarks = &imported.remarks;
    assert!(remarks.iter().any(|remark| remark.what.contains("ms/op")), "{remarks:?}");
}

#[test]
fn consecutive_runs_are_separate_and_a_run_without_table_is_no_trial() {
    let twice = format!("{MDTEST}\nsome words\n{MDTEST}");
    assert_eq!(import(twice.as_bytes()).found.len(), 2);
    let cut = MDTEST.split("SUMMARY").next().unwrap();
    let imported = import(cut.as_bytes());
    assert!(imported.found.is_empty());
    assert!(imported.remarks.iter().any(|remark| remark.what.contains("no table of rates")));
}

#[test]
fn a_table_alone_is_a_trial() {
    let (_, table) = MDTEST.split_once("SUMMARY rate").unwrap();
    let text = format!("SUMMARY rate{table}");
    let imported = import(text.as_bytes());
    assert!(metric(only(&imported), "file-read", "operations_per_second").is_some());
}

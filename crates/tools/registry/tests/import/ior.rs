//! Import of ior: several repetitions, the older table, truncated outputs.

use treering_model::{Metric, Scope};
use treering_registry::{ForeignTrial, import};

use crate::logs::only;

/// Run of two ranks and two repetitions, with invented figures.
pub(crate) const IOR: &str = "IOR-4.1.0+dev: MPI Coordinated Test of Parallel I/O
Began               : Tue Nov 24 06:40:34 2026
Command line        : ior -b 4m -t 1m -s 2 -i 2 -o /m/x/f
Machine             : Linux vm
TestID              : 0
StartTime           : Tue Nov 24 06:40:34 2026
Path                : /m/x/f
FS                  : 11.8 GiB   Used FS: 3.5%   Inodes: 2.9 Mi   Used Inodes: 0.0%

Options: 
api                 : POSIX
apiVersion          : 
test filename       : /m/x/f
access              : single-shared-file
type                : independent
segments            : 2
tasks               : 2
repetitions         : 2
xfersize            : 1 MiB
blocksize           : 4 MiB
aggregate filesize  : 16 MiB

Results: 

access    bw(MiB/s)  IOPS       Latency(s)  block(KiB) xfer(KiB)  open(s)    wr/rd(s)   close(s)   total(s)   iter
------    ---------  ----       ----------  ---------- ---------  --------   --------   --------   --------   ----
write     100.00     96.80      0.015228    4096       1024.00    0.000019   0.165284   0.043472   0.165310   0   
read      600.00     580.21     0.000866    4096       1024.00    0.025740   0.027576   0.020654   0.027593   0   
write     200.00     102.36     0.010079    4096       1024.00    0.075746   0.156310   0.089674   0.156381   1   
read      500.00     529.08     0.000234    4096       1024.00    0.027909   0.030241   0.028380   0.030264   1   

Summary of all tests:
Operation   Max(MiB)   Min(MiB)  Mean(MiB)     StdDev   Max(OPs)   Min(OPs)  Mean(OPs)     StdDev    Mean(s) Stonewall(s) Stonewall(MiB) Test# #Tasks tPN reps fPP reord reordoff reordrand seed segcnt   blksiz    xsize aggs(MiB)   API RefNum
write         200.00     100.00     150.00       2.76     102.31      96.79      99.55       2.76    0.16085         NA            NA     0      2   2    2   0     0        1         0    0      2  4194304  1048576      16.0 POSIX      0
read          600.00     500.00     550.00      25.59     579.85     528.68     554.27      25.59    0.02893         NA            NA     0      2   2    2   0     0        1         0    0      2  4194304  1048576      16.0 POSIX      0
Finished            : Tue Nov 24 06:40:36 2026
";

fn metric<'t>(trial: &'t ForeignTrial, kind: &str, name: &str) -> Option<&'t Metric> {
    let scope = Scope::Kind(kind.to_owned());
    trial.metrics.iter().find(|metric| metric.scope == scope && metric.name == name)
}

#[test]
fn a_run_of_several_repetitions_is_read() {
    let imported = import(IOR.as_bytes());
    let trial = only(&imported);
    assert_eq!((trial.workload, trial.target.as_str()), ("ior", "/m/x/f"));
    let rate = metric(trial, "write", "mib_per_second").unwrap();
    assert_eq!((rate.value, rate.primary, rate.tasks), (150.0, true, 2));
    let least = metric(trial, "read", "mib_per_second_min").unwrap();
    assert!((least.value - 500.0).abs() < 1e-9);
    assert_eq!(trial.wall_ns, 2_000_000_000);
    let ranks = trial.parameters.iter().find(|(name, _)| name == "ranks").unwrap();
    assert_eq!(ranks.1, "2");
    assert!(imported.remarks.is_empty(), "{:?}", imported.remarks);
}

#[test]
fn a_summary_alone_is_a_trial_and_a_run_without_results_is_not() {
    let without: Vec<&str> = IOR.lines().filter(|line| !line.ends_with("   ")).collect();
    let imported = import(without.join("\n").as_bytes());
    assert!((metric(only(&imported), "read", "mib_per_second").unwrap().value - 550.0).abs() < 9.0);
    let cut = IOR.split("Results").next().unwrap();
    let imported = import(cut.as_bytes());
    assert!(imported.found.is_empty());
    assert!(imported.remarks.iter().any(|remark| remark.what.contains("no results")));
}

#[test]
fn consecutive_runs_are_separate() {
    let twice = format!("{IOR}\nsome words\n{IOR}");
    assert_eq!(import(twice.as_bytes()).found.len(), 2);
}

#[test]
fn two_tables_pasted_without_launch_lines_are_two_trials() {
    let is_table = |line: &&str| {
        ["access ", "------", "write  ", "read  "].iter().any(|begin| line.starts_with(begin))
    };
    let rows: Vec<&str> = IOR.lines().take_while(|line| !line.starts_with("Summary")).collect();
    let table: Vec<&str> = rows.into_iter().filter(is_table).collect();
    let table = table.join("\n");
    let imported = import(format!("{table}\n\n{table}\n").as_bytes());
    assert_eq!(imported.found.len(), 2);
}

#[test]
fn rows_without_a_heading_are_a_near_miss() {
    let rows: Vec<&str> = IOR.lines().filter(|line| line.ends_with("   ")).collect();
    let imported = import(rows.join("\n").as_bytes());
    assert!(imported.found.is_empty());
    let told = "rows of ior without the line that names their columns";
    assert!(imported.remarks.iter().any(|remark| remark.what == told), "{:?}", imported.remarks);
}

//! Tables of the kernel test robot.

use treering_model::{BetterDirection, CautionCode, Metric};
use treering_registry::{ForeignTrial, ImportResult, ImportedTrial, import};

/// A mail as the robot writes them, with names and figures of our own.
const MAIL: &str = "\
Hello,

kernel test robot noticed a 12.5% regression of fsmark.files_per_sec
on:

testcase: fsmark
=========================================================================================
compiler/disk/fs/nr_threads/rootfs/tbox_group/testcase:
  gcc-14/1SSD/xfs/64t/debian-13/lkp-a/fsmark

commit: 
  1111111111 (\"xfs: before\")
  2222222222 (\"xfs: after (really)\")

1111111111aaaaaa 2222222222bbbbbbbbbbbbbbbbb 
---------------- --------------------------- 
         %stddev     %change         %stddev
             \\          |                \\  
 1.246e+08 ±  3%     -15.6%  1.052e+08        fsmark.app_overhead
    233.10           -12.5%     204.00 ±  2%  fsmark.files_per_sec
      0.50 ±141%    +250.0%       1.75 ± 24%  perf-stat.i.major-faults
      3.73 ±  2%      +0.4        4.13        mpstat.cpu.all.sys%

Disclaimer:
Results have been estimated.
";

fn trials(imported: &ImportResult) -> Vec<&ForeignTrial> {
    let of_mail = imported.found.iter().map(|found| match &found.content {
        ImportedTrial::Foreign(trial) => &**trial,
        ImportedTrial::Own(_) => panic!("a trial of treering"),
    });
    of_mail.collect()
}

fn metric<'t>(trial: &'t ForeignTrial, name: &str) -> &'t Metric {
    trial.metrics.iter().find(|metric| metric.name == name).unwrap()
}

#[test]
fn a_mail_becomes_a_trial_of_means_for_each_commit() {
    let imported = import(MAIL.as_bytes());
    assert_eq!(imported.remarks, []);
    let trials = trials(&imported);
    let names: Vec<&str> = trials.iter().map(|trial| trial.name.as_str()).collect();
    assert_eq!(names, ["1111111111", "2222222222"]);
    let rates = trials.iter().map(|trial| metric(trial, "fsmark.files_per_sec"));
    let rates: Vec<(f64, bool, BetterDirection)> =
        rates.map(|metric| (metric.value, metric.primary, metric.better)).collect();
    let higher = BetterDirection::Higher;
    assert_eq!(rates, [(233.1, true, higher), (204.0, true, higher)]);
    assert_eq!(metric(trials[0], "fsmark.app_overhead").value, 1.246e8);
    assert_eq!(metric(trials[0], "fsmark.app_overhead deviation").value, 3.0);
    assert_eq!(metric(trials[1], "mpstat.cpu.all.sys%").value, 4.13);
    assert!(trials.iter().all(|trial| trial.cautions[0].code == CautionCode::MeansOnly));
    let primary = trials[0].metrics.iter().filter(|metric| metric.primary).count();
    assert_eq!(primary, 1, "the metric that the mail is about");
}

#[test]
fn a_cost_that_rose_in_a_regression_is_better_the_lower() {
    let text = MAIL.replace("fsmark.files_per_sec\non:", "fsmark.app_overhead\non:");
    let text = text.replace("1.052e+08", "1.352e+08");
    let imported = import(text.as_bytes());
    let overhead = metric(trials(&imported)[0], "fsmark.app_overhead");
    assert_eq!((overhead.better, overhead.primary), (BetterDirection::Lower, true));
}

#[test]
fn own_tables_keep_brackets_in_the_names_of_their_sides() {
    let text = MAIL.replace("1111111111 (\"xfs: before\")", "xfs (noatime)");
    let text = text.replace("2222222222 (\"xfs: after (really)\")", "xfs (relatime)");
    let imported = import(text.as_bytes());
    let names: Vec<&str> = trials(&imported).iter().map(|trial| trial.name.as_str()).collect();
    assert_eq!(names, ["xfs (noatime)", "xfs (relatime)"]);
}

#[test]
fn tables_of_older_mails_have_no_line_of_commits() {
    let text = "\
tests: 1
testcase/path_params/tbox_group/run: fsmark/performance-1SSD/lkp-a

1111111111aaaaaa  2222222222bbbbbbbbbbbbbbbbb
----------------  --------------------------
         %stddev      change         %stddev
             \\          |                \\
       233                         230        fsmark.files_per_sec
     20902 +-  5%       186%      59731 +-  5%  fsmark.time.involuntary_context_switches
     10903 +- 99%     -1e+04        148 +-  5%  latency_stats.max
";
    let imported = import(text.as_bytes());
    assert_eq!(imported.remarks, []);
    let trials = trials(&imported);
    let rate = trials[1].metrics.iter().find(|it| it.name == "fsmark.files_per_sec").unwrap();
    assert_eq!((rate.value, rate.primary), (230.0, true));
    assert_eq!(metric(trials[1], "latency_stats.max").value, 148.0);
    assert_eq!(metric(trials[0], "latency_stats.max deviation").value, 99.0);
}

#[test]
fn a_table_of_three_commits_is_refused_with_its_line() {
    let text = MAIL.replace("  2222222222 (", "  3333333333 (\"x\")\n  2222222222 (");
    let imported = import(text.as_bytes());
    assert!(imported.found.is_empty());
    let remark = &imported.remarks[0];
    assert_eq!((remark.line, remark.what.contains("3 commits")), (11, true), "{remark:?}");
}

//! Logs of each tool, with the decoration that mails and terminals add.

use treering_model::{
    Ending, RunMode, Scope, Trial, TrialBuilder, TrialEvent, TrialHeader, TrialId,
};
use treering_registry::{ForeignTrial, ImportResult, ImportedTrial, PhaseRows, events_of, import};

/// Small run of compilebench with its summary, which was computed by hand.
pub(crate) const COMPILEBENCH: &str = "\
using working directory /mnt/a b/, 2 intial dirs 6 runs
native unpatched native-0 222MB in 10.00 seconds (22.24 MB/s)
create dir kernel-0 222MB in 20.00 seconds (11.12 MB/s)
create dir kernel-1 222MB in 10.00 seconds (22.24 MB/s)
compile dir kernel-1 680MB in 40.00 seconds (17.02 MB/s)
read dir kernel-1 in 50.00 18.06 MB/s
read dir kernel-0 in 20.00 11.12 MB/s
stat dir kernel-1 in 2.00 seconds
create dir kernel-333 222MB in 11.00 seconds (20.22 MB/s)
delete kernel-0 in 4.00 seconds

run complete:
==========================================================================
intial create total runs 2 avg 16.68 MB/s (user 1.00s sys 2.00s)
create total runs 1 avg 20.22 MB/s (user 1.00s sys 2.00s)
no runs for patch
compile total runs 1 avg 17.02 MB/s (user 1.00s sys 2.00s)
no runs for clean
read tree total runs 1 avg 11.12 MB/s (user 1.00s sys 2.00s)
read compiled tree total runs 1 avg 18.06 MB/s (user 3.00s sys 4.00s)
delete tree total runs 1 avg 4.00 seconds (user 1.00s sys 2.00s)
no runs for delete compiled tree
no runs for stat tree
stat compiled tree total runs 1 avg 2.00 seconds (user 1.00s sys 2.00s)
";

/// Short run of fs_mark.
pub(crate) const FS_MARK: &str = "
#  ./fs_mark  -n  100  -s  512  -d  /m/0  -L  2 
#\tVersion 3.3, 1 thread(s) starting at Wed Dec  5 03:20:58 2012
#\tSync method: INBAND FSYNC: fsync() per file in write loop.
#\tDirectories:  no subdirectories used
#\tFile names: 40 bytes long, (16 initial bytes of time stamp with 24 random bytes at end of name)
#\tFiles info: size 512 bytes, written with an IO size of 16384 bytes per write
#\tApp overhead is time in microseconds spent in the test not doing file writing related system calls.

FSUse%        Count         Size    Files/sec     App Overhead
     5          100          512        100.0             1000
     6          200          512         50.0             2000
";

pub(crate) fn only(imported: &ImportResult) -> &ForeignTrial {
    match imported.found.as_slice() {
        [output] => match &output.content {
            ImportedTrial::Foreign(trial) => trial,
            ImportedTrial::Own(_) => panic!("an own trial"),
        },
        other => panic!("{} outputs; {:?}", other.len(), imported.remarks),
    }
}

fn metric(trial: &ForeignTrial, scope: &Scope, name: &str) -> f64 {
    let same = |metric: &&treering_model::Metric| metric.scope == *scope && metric.name == name;
    trial.metrics.iter().find(same).unwrap().value
}

#[test]
fn compilebench_is_read_line_by_line_and_its_summary_checked() {
    let imported = import(COMPILEBENCH.as_bytes());
    assert_eq!(imported.remarks, []);
    let trial = only(&imported);
    assert_eq!(trial.target, "/mnt/a b/");
    assert_eq!(
        trial.parameters,
        [("initial-dirs".into(), "2".into()), ("runs".into(), "6".into())]
    );
    let phases: Vec<(&str, u32)> =
        trial.phases.iter().map(|phase| (phase.name.as_str(), phase.tasks)).collect();
    assert_eq!(phases, [("native order", 1), ("initial create", 2), ("operations", 6)]);
    let tallies: Vec<&str> = trial.tasks.iter().map(|task| task.tally.as_str()).collect();
    assert_eq!(
        tallies,
        [
            "",
            "intial create",
            "intial create",
            "compile",
            "read compiled tree",
            "read tree",
            "stat compiled tree",
            "create",
            "delete tree"
        ]
    );
    let kind = |name: &str| Scope::Kind(name.to_owned());
    assert!((metric(trial, &kind("read"), "seconds") - 35.0).abs() < 1e-9);
    // All that was read over all the time, not a mean of rates.
    let rate = (18.06 * 50.0 + 11.12 * 20.0) / 70.0;
    assert!((metric(trial, &kind("read"), "mib_per_second") - rate).abs() < 1e-6);
    // Of two rows: five and three seconds are eight of two runs.
    assert!((metric(trial, &kind("read"), "cpu_seconds") - 5.0).abs() < 1e-9);
    assert_eq!(trial.wall_ns, 167_000_000_000);
    assert!(!trial.is_interrupted);
}

#[test]
fn a_summary_counts_more_than_the_sample_of_lines_above_it() {
    let summary = COMPILEBENCH.split_once("run complete:").unwrap().1;
    let summary = summary.replace("runs 2 avg 16.68", "runs 30 avg 8.25");
    let page = format!("create dir kernel-0 222MB in 20.00 seconds (11.12 MB/s)\n{summary}");
    let imported = import(page.as_bytes());
    let trial = only(&imported);
    let create = Scope::Kind("initial create".to_owned());
    assert!((metric(trial, &create, "mean_mib_per_second") - 8.25).abs() < 1e-9);
    assert!((metric(trial, &create, "cpu_seconds") - 3.0).abs() < 1e-9);
    assert!(trial.phases.is_empty(), "a sample is no phase");
    assert!(imported.remarks[0].what.contains("only a sample"), "{:?}", imported.remarks);
    // A page may keep it behind the sign of a comment, or in the log of a test harness.
    for before in ["# ", "12:06:53 DEBUG| [stdout] "] {
        let kept: Vec<String> = page.lines().map(|line| format!("{before}{line}")).collect();
        let kept = kept.join("\n");
        assert_eq!(only(&import(kept.as_bytes())).metrics, trial.metrics, "{before}");
    }
}

#[test]
fn contradictions_are_remarked_with_their_line() {
    let reported = |text: &str| -> Vec<String> {
        let imported = import(text.as_bytes());
        imported.remarks.iter().map(|remark| format!("{}: {}", remark.line, remark.what)).collect()
    };
    let wrong = COMPILEBENCH.replace("runs 1 avg 17.02", "runs 1 avg 18.02");
    assert_eq!(
        reported(&wrong),
        ["17: summary of 'compile': 18.02 on average, but the lines average 17.02"]
    );
    let fewer = COMPILEBENCH.replace("read dir kernel-0 in 20.00 11.12 MB/s\n", "");
    assert_eq!(reported(&fewer), ["18: summary of 'read tree': 1 runs, but the lines have 0"]);
    let strange = COMPILEBENCH.replace("stat dir kernel-1", "stat dir kernel-9");
    let remarks = reported(&strange);
    assert!(
        remarks[0].starts_with("8: stat of kernel-9, which the preceding lines do not explain")
    );
    assert_eq!(remarks.len(), 3, "{remarks:?}");
    let hidden = COMPILEBENCH.replace("stat dir kernel-1", "stat dir kernel-\u{7}31m");
    assert!(
        reported(&hidden)[0].starts_with("8: stat of kernel- 31m, which"),
        "{:?}",
        reported(&hidden)
    );
    let dmesg = COMPILEBENCH.replace("stat dir", "[ 12.3] XFS (loop0): what\nstat dir");
    assert_eq!(reported(&dmesg), ["8: not understood and skipped: `XFS (loop0): what`"]);
    let cut = COMPILEBENCH.split("\nrun complete").next().unwrap();
    assert_eq!(
        reported(cut),
        ["1: the run is incomplete: the log has no summary; kept as interrupted"]
    );
    assert!(only(&import(cut.as_bytes())).is_interrupted);
}

#[test]
fn fs_mark_is_read_row_by_row() {
    let imported = import(FS_MARK.as_bytes());
    assert_eq!(imported.remarks, []);
    assert_eq!(imported.skipped_lines, 0);
    let trial = only(&imported);
    assert_eq!(trial.started_unix_ms, Some(1_354_677_658_000));
    assert_eq!(trial.target, "/m/0");
    let row = |number: u32| Scope::Phase(format!("iteration {number}"));
    assert!((metric(trial, &row(1), "classic_files_per_second") - 100.0).abs() < 1e-9);
    assert!((metric(trial, &row(2), "app_overhead_seconds") - 0.002).abs() < 1e-12);
    // 200 files in one second and two.
    assert!(
        (metric(trial, &Scope::Kind("create".into()), "classic_files_per_second") - 200.0 / 3.0)
            .abs()
            < 1e-9
    );
    assert_eq!(trial.phases.iter().map(|phase| phase.files).collect::<Vec<_>>(), [100, 100]);
}

#[test]
fn fs_mark_without_space_is_interrupted() {
    let message = "Insufficient free space in /m/0 to create 100 new files, exiting\n";
    let imported = import(format!("{FS_MARK}{message}").as_bytes());
    let trial = only(&imported);
    assert!(trial.is_interrupted && trial.phases.len() == 2);
    let remarks = &imported.remarks;
    assert!(remarks[0].what.contains("`Insufficient free space in "), "{remarks:?}");
    // On standard error, which is not buffered, it may come before the rows.
    let imported = import(FS_MARK.replace("     6 ", &format!("{message}     6 ")).as_bytes());
    assert!(only(&imported).is_interrupted);
}

#[test]
fn a_summary_of_compilebench_alone_is_a_trial() {
    let summary = COMPILEBENCH.split("==\n").nth(1).unwrap();
    let imported = import(format!("Results:\n\n{summary}").as_bytes());
    let trial = only(&imported);
    assert!(!trial.is_interrupted && trial.phases.is_empty());
    let kind = |name: &str| Scope::Kind(name.to_owned());
    assert_eq!(metric(trial, &kind("initial create"), "mean_mib_per_second"), 16.68);
    assert_eq!(metric(trial, &kind("delete tree"), "seconds"), 4.0);
    assert_eq!(metric(trial, &kind("read compiled tree"), "cpu_seconds"), 7.0);
    assert_eq!(imported.remarks.len(), 1, "{:?}", imported.remarks);
    // Behind lines that were lost it is the end of the same run.
    assert_eq!(import(COMPILEBENCH.as_bytes()).found.len(), 1);
}

#[test]
fn an_initial_tree_after_a_lost_line_is_not_a_later_create() {
    let lost = "create dir kernel-0 222MB in 20.00 seconds (11.12 MB/s)\n";
    let imported = import(COMPILEBENCH.replace(lost, "").as_bytes());
    let trial = only(&imported);
    let initial: Vec<&str> = trial
        .tasks
        .iter()
        .filter(|task| task.kind == "initial create")
        .map(|task| task.subject.as_str())
        .collect();
    assert_eq!(initial, ["kernel-1"]);
}

#[test]
fn logs_survive_mail_line_ends_and_quotation() {
    let plain = import(COMPILEBENCH.as_bytes());
    let wanted = only(&plain);
    let broken = COMPILEBENCH.replace(" sys 2.00s)\ncreate", " sys\n2.00s)\ncreate");
    let quoted = format!("> > {}", COMPILEBENCH.trim_end().replace('\n', "\n> > "));
    let dos = COMPILEBENCH.replace('\n', "\r\n");
    let around = format!("Hello,\n\nhere it is:\n\n{COMPILEBENCH}\nBye\n-- \nme\n");
    let latin: Vec<u8> = [b"caf\xe9\n".as_slice(), COMPILEBENCH.as_bytes()].concat();
    let encoded: Vec<u8> = COMPILEBENCH.encode_utf16().flat_map(u16::to_le_bytes).collect();
    let wide = [vec![0xff, 0xfe], encoded].concat();
    for (variant, bytes) in [
        ("broken", broken.as_bytes()),
        ("quoted", quoted.as_bytes()),
        ("dos", dos.as_bytes()),
        ("around", around.as_bytes()),
        ("latin", &latin),
        ("wide", &wide),
    ] {
        let imported = import(bytes);
        assert_eq!(imported.remarks, [], "{variant}");
        assert_eq!(only(&imported), wanted, "{variant}");
    }
    assert_eq!(import(around.as_bytes()).skipped_lines, 5);
}

#[test]
fn logs_survive_terminals_and_recorders() {
    let fs_mark = FS_MARK.trim();
    for (text, wanted) in
        [(COMPILEBENCH, import(COMPILEBENCH.as_bytes())), { (fs_mark, import(fs_mark.as_bytes())) }]
    {
        let before = |prefix: &str| -> String {
            text.lines().flat_map(|line| [prefix, line, "\n"]).collect()
        };
        let progress = text.replace('\n', "\r\n").replacen("\r\n", "\r\r\n", 3);
        for (variant, text) in [
            ("CR", text.replace('\n', "\r")),
            ("progress", progress),
            ("colours", before("\u{1b}[32m").replace('\n', "\u{1b}[0m\u{1b}[K\n")),
            ("ts", before("Nov 22 17:35:09 ")),
            ("ISO", before("[2026-11-22T17:35:09.123456+00:00] ")),
            ("kernel", before("[   12.345678] ")),
            ("syslog", before("Nov  2 17:35:09 oak run.sh[12]: ")),
            ("logger", before("Nov  2 17:35:09 oak root: ")),
            ("quoted", before("> 17:35:09 ")),
        ] {
            let imported = import(text.as_bytes());
            assert_eq!(imported.remarks, [], "{variant}");
            assert_eq!(only(&imported), only(&wanted), "{variant}");
        }
    }
}

#[test]
fn each_output_of_a_file_is_a_trial() {
    let text = format!("{COMPILEBENCH}{COMPILEBENCH}\nthen\n{FS_MARK}{FS_MARK}");
    let imported = import(text.as_bytes());
    assert_eq!(imported.remarks, []);
    let output: Vec<&str> = imported.found.iter().map(|output| output.tool).collect();
    assert_eq!(output, ["compilebench", "compilebench", "fs_mark", "fs_mark"]);
    let lines: Vec<usize> = imported.found.iter().map(|output| output.lines.0).collect();
    assert_eq!(lines[1], COMPILEBENCH.lines().count() + 1);
}

fn beginning() -> TrialHeader {
    TrialHeader {
        started_unix_ms: 5,
        treering_version: "0".to_owned(),
        label: "mine".to_owned(),
        ..TrialHeader::new(TrialId::new(), "", RunMode::Native)
    }
}

fn own() -> Trial {
    let imported = import(COMPILEBENCH.as_bytes());
    only(&imported).clone().with(beginning())
}

#[test]
fn events_round_trip_a_trial() {
    let trial = own();
    let mut builder = TrialBuilder::default();
    for event in events_of(&trial, &PhaseRows::default()) {
        builder.push(&event).unwrap();
    }
    assert_eq!(builder.finish().unwrap(), trial);
    assert_eq!((trial.beginning.mode, &trial.ending), (RunMode::Classic, &Ending::Completed));
    assert_eq!(trial.beginning.label, "mine");
}

#[test]
fn treerings_own_events_and_exports_are_read_whole() {
    let trial = own();
    let line = |event: &TrialEvent| serde_json::to_string(event).unwrap() + "\n";
    let events: String =
        events_of(&trial, &PhaseRows::default()).map(|event| line(&event)).collect();
    let json = serde_json::to_string(&trial).unwrap();
    let export =
        format!("{{\"treering_export\":{{\"version\":1}},\"trials\":[\n{json},\n{json}\n]}}\n");
    let pretty: serde_json::Value = serde_json::from_str(&export).unwrap();
    let pretty = serde_json::to_string_pretty(&pretty).unwrap();
    for (text, count) in [(&events, 1), (&export, 2), (&pretty, 2)] {
        let text = format!("before\n{text}\nafter\n{FS_MARK}");
        let imported = import(text.as_bytes());
        assert_eq!(imported.remarks, []);
        let own: Vec<&Trial> = imported
            .found
            .iter()
            .filter_map(|output| match &output.content {
                ImportedTrial::Own(trial) => Some(trial.as_ref()),
                ImportedTrial::Foreign(_) => None,
            })
            .collect();
        assert_eq!(own, vec![&trial; count]);
        assert_eq!(imported.found.len(), count + 1, "what follows is found too");
    }
}

#[test]
fn newer_or_broken_exports_are_refused_with_a_reason() {
    let newer = import(b"{\"treering_export\":{\"version\":3},\"trials\":[{\"new\":1}]}");
    assert!(newer.remarks[0].what.contains("use a newer treering"), "{:?}", newer.remarks);
    let broken =
        import(b"x\n{\"treering_export\":{\"version\":1},\"trials\":[\n{\"beginning\":3}]}");
    assert_eq!((broken.found.len(), broken.remarks[0].line), (0, 3), "{:?}", broken.remarks);
    let json = serde_json::to_string(&own()).unwrap();
    let cut = format!("{{\"treering_export\":{{\"version\":1}},\"trials\":[\n{json},\n{json}");
    let cut = import(&cut.as_bytes()[..cut.len() - 9]);
    assert_eq!((cut.found.len(), cut.remarks[0].line), (1, 3), "{:?}", cut.remarks);
}

/// Trials of the outputs; an export is none of them.
pub(crate) fn trials(imported: &ImportResult) -> Vec<&ForeignTrial> {
    let mut trials = Vec::new();
    for output in &imported.found {
        match &output.content {
            ImportedTrial::Foreign(trial) => trials.push(trial.as_ref()),
            ImportedTrial::Own(_) => panic!("an own trial"),
        }
    }
    trials
}

/// Names of the primary metrics of a trial.
pub(crate) fn primary(trial: &ForeignTrial) -> Vec<&str> {
    trial
        .metrics
        .iter()
        .filter(|metric| metric.primary)
        .map(|metric| metric.name.as_str())
        .collect()
}

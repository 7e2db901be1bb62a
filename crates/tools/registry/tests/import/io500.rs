//! Import of IO500: the summary and the long form, of old and new versions, with invented numbers;
//! also invalid and inconsistent ones.

use treering_model::Scope;
use treering_registry::{ForeignTrial, ImportResult, import};

use crate::logs::only;

/// Summary in the current format. Its scores follow from its phases.
pub(crate) const SUMMARY: &str = "\
IO500 version io500-sc99_v1 (standard)
[RESULT]       ior-easy-write        4.000000 GiB/s : time 310.500 seconds
[RESULT]    mdtest-easy-write       16.000000 kIOPS : time 301.000 seconds
[      ]            timestamp        0.000000 kIOPS : time 0.000 seconds
[RESULT]       ior-hard-write        1.000000 GiB/s : time 305.250 seconds
[RESULT]    mdtest-hard-write        4.000000 kIOPS : time 302.000 seconds
[RESULT]                 find      256.000000 kIOPS : time 20.000 seconds
[RESULT]        ior-easy-read        8.000000 GiB/s : time 155.000 seconds
[RESULT]     mdtest-easy-stat       64.000000 kIOPS : time 75.000 seconds
[RESULT]        ior-hard-read        2.000000 GiB/s : time 152.000 seconds
[RESULT]     mdtest-hard-stat       32.000000 kIOPS : time 38.000 seconds
[RESULT]   mdtest-easy-delete        8.000000 kIOPS : time 602.000 seconds
[RESULT]     mdtest-hard-read       16.000000 kIOPS : time 76.000 seconds
[RESULT]   mdtest-hard-delete        2.000000 kIOPS : time 604.000 seconds
[SCORE ] Bandwidth 2.828427 GiB/s : IOPS 17.448124 kiops : TOTAL 7.025009
";

/// Long result, truncated after two phases.
pub(crate) const RESULT: &str = "\
[run]
procs           = 4
version         = io500-sc99_v1
config-hash     = 1234ABCD
result-dir      = ./results/2026.11.24-09.25.48
mode            = standard
; START 2026-11-24 09:25:48
; ERROR INVALID stonewall-time 10s != 300s


[ior-easy-write]
t_start         = 2026-11-24 09:25:48
exe             = ./ior -t 2m -b 9920000m -F -w -D 10
throughput-stonewall = 2.50
score           = 2.000000
t_delta         = 12.5000
t_end           = 2026-11-24 09:26:00

[mdtest-easy-write]
t_start         = 2026-11-24 09:26:00
exe             = ./mdtest -n 1000000 -u -L -F -W 10
; ERROR INVALID Runtime of phase (9.500000) is below stonewall time. This shouldn't happen!
rate-stonewall  = 30.000000
score           = 25.000000
t_delta         = 9.5000
t_end           = 2026-11-24 09:26:10
";

fn value(trial: &ForeignTrial, kind: &str, name: &str) -> Option<f64> {
    let scope = if kind.is_empty() { Scope::Trial } else { Scope::Kind(kind.to_owned()) };
    trial
        .metrics
        .iter()
        .find(|metric| metric.scope == scope && metric.name == name)
        .map(|metric| metric.value)
}

fn says(imported: &ImportResult, words: &str) -> Option<usize> {
    let matching = imported.remarks.iter().find(|remark| remark.what.contains(words));
    matching.map(|remark| remark.line)
}

fn fact<'t>(trial: &'t ForeignTrial, name: &str) -> Option<&'t str> {
    trial.facts.iter().find(|fact| fact.name == name).map(|fact| fact.value.as_str())
}

#[test]
fn a_summary_is_read_completely() {
    let imported = import(SUMMARY.as_bytes());
    let trial = only(&imported);
    assert_eq!(trial.workload, "io500");
    assert_eq!(value(trial, "ior-easy-write", "mib_per_second"), Some(4096.0));
    assert_eq!(value(trial, "find", "operations_per_second"), Some(256_000.0));
    assert_eq!(value(trial, "mdtest-hard-delete", "elapsed_seconds"), Some(604.0));
    assert_eq!(value(trial, "timestamp", "operations_per_second"), None);
    assert_eq!(value(trial, "", "io500_score"), Some(7.025_009));
    assert_eq!(fact(trial, "import.tool"), Some("io500-sc99_v1"));
    assert_eq!(fact(trial, "import.io500_invalid"), None);
    assert!(imported.remarks.is_empty(), "{:?}", imported.remarks);
    let primary = trial.metrics.iter().filter(|metric| metric.primary).count();
    assert_eq!(primary, 12, "the phases, not the score");
}

#[test]
fn the_long_form_is_read_with_its_reasons() {
    let imported = import(RESULT.as_bytes());
    let trial = only(&imported);
    assert_eq!(value(trial, "ior-easy-write", "mib_per_second"), Some(2048.0));
    assert_eq!(value(trial, "mdtest-easy-write", "io500_stonewall_rate"), Some(30.0));
    assert_eq!(value(trial, "", "io500_score"), None);
    assert_eq!(fact(trial, "import.io500_invalid"), Some("mdtest-easy-write"));
    assert!(fact(trial, "import.io500_invalid_why.1").unwrap().contains("!= 300s"));
    let procs = trial.parameters.iter().find(|(name, _)| name == "procs");
    assert_eq!(procs.map(|(_, value)| value.as_str()), Some("4"));
    assert_eq!(trial.started_unix_ms, Some(1_795_512_348_000));
    assert!(imported.remarks.is_empty(), "{:?}", imported.remarks);
}

#[test]
fn old_and_invalid_results_are_marked() {
    let old = SUMMARY
        .replace("[RESULT]       ior-hard-write ", "[RESULT-invalid]       ior-hard-write ")
        .replace("[SCORE ]", "[SCORE-invalid]")
        .replace("828427 GiB/s :", "828427 GB/s :")
        .replace(" (standard)", "");
    let imported = import(old.as_bytes());
    let trial = only(&imported);
    assert_eq!(fact(trial, "import.io500_invalid"), Some("ior-hard-write, all"));
    assert_eq!(value(trial, "", "io500_score"), Some(7.025_009));
    let new = SUMMARY.replace("time 305.250 seconds", "time 305.250 seconds [INVALID]");
    let imported = import(new.as_bytes());
    assert_eq!(fact(only(&imported), "import.io500_invalid"), Some("ior-hard-write"));
}

#[test]
fn undetermined_values_are_left_out_with_a_remark() {
    // A score that its phases do not give.
    let forged = SUMMARY.replace("TOTAL 7.025009", "TOTAL 70.25009");
    let imported = import(forged.as_bytes());
    assert_eq!(value(only(&imported), "", "io500_score"), None);
    assert_eq!(says(&imported, "do not follow"), Some(15));
    // A phase that is missing.
    let short: Vec<&str> = SUMMARY.lines().filter(|line| !line.contains("find")).collect();
    let imported = import(short.join("\n").as_bytes());
    assert_eq!(value(only(&imported), "", "io500_score"), None);
    assert_eq!(says(&imported, "phases are missing"), Some(14));
    // A phase that is there twice.
    let line = SUMMARY.lines().nth(1).unwrap();
    let twice = SUMMARY.replacen(line, &format!("{line}\n{line}"), 1);
    let imported = import(twice.as_bytes());
    assert_eq!(value(only(&imported), "ior-easy-write", "mib_per_second"), None);
    assert_eq!(says(&imported, "twice"), Some(3));
    // Rates that are no numbers, of another unit, or nothing.
    for wrong in ["nan GiB/s", "1e400 GiB/s", "-4.000000 GiB/s", "4.000000 kIOPS", "GiB/s"] {
        let other = SUMMARY.replacen("4.000000 GiB/s", wrong, 1);
        let imported = import(other.as_bytes());
        assert_eq!(value(only(&imported), "ior-easy-write", "mib_per_second"), None, "{wrong}");
        assert_eq!(says(&imported, "not understood"), Some(2), "{wrong}");
    }
    let imported = import(SUMMARY.replacen("4.000000 GiB/s", "0.000000 GiB/s", 1).as_bytes());
    assert_eq!(value(only(&imported), "ior-easy-write", "mib_per_second"), None);
    assert_eq!(says(&imported, "has no rate"), Some(2));
}

#[test]
fn a_run_without_figures_is_no_trial_and_several_runs_are_separate() {
    let imported = import(b"IO500 version io500-sc99_v1 (standard)\n");
    assert!(imported.found.is_empty());
    assert_eq!(says(&imported, "no figures"), Some(1));
    let text = format!("{SUMMARY}\nsome words\n{RESULT}\n{SUMMARY}");
    let imported = import(text.as_bytes());
    assert_eq!(imported.found.len(), 3, "{:?}", imported.remarks);
}

#[test]
fn excess_phases_are_read_in_linear_time() {
    let mut text = "version = io500-x\n".to_owned();
    for number in 0..50_000 {
        text += &format!("[ior-{number}]\nscore = 1.0\n");
    }
    let imported = import(text.as_bytes());
    assert_eq!(only(&imported).metrics.len(), 64);
    assert_eq!(says(&imported, "more phases"), Some(130));
}

#[test]
fn a_result_of_a_program_without_a_version_is_read() {
    let imported = import(SUMMARY.replace(" io500-sc99_v1 ", "  ").as_bytes());
    let trial = only(&imported);
    assert_eq!(value(trial, "", "io500_score"), Some(7.025_009));
    assert_eq!(fact(trial, "import.tool"), Some("io500"));
    let long = RESULT.replace(" io500-sc99_v1", " ");
    for text in [long.as_str(), long.strip_prefix("[run]\nprocs           = 4\n").unwrap()] {
        let imported = import(text.as_bytes());
        let trial = only(&imported);
        assert_eq!(value(trial, "ior-easy-write", "mib_per_second"), Some(2048.0), "{text}");
        assert_eq!(trial.target, "./results/2026.11.24-09.25.48");
        assert!(imported.remarks.is_empty(), "{:?}", imported.remarks);
    }
    // Two such results in one file are two trials.
    assert_eq!(import(format!("{long}{long}").as_bytes()).found.len(), 2);
    // Somebody's own name for the version.
    let own = RESULT.replace(" io500-sc99_v1", " dev-17-gd9f8a84");
    for text in [own.as_str(), own.strip_prefix("[run]\nprocs           = 4\n").unwrap()] {
        let imported = import(text.as_bytes());
        assert_eq!(fact(only(&imported), "import.tool"), Some("io500 dev-17-gd9f8a84"), "{text}");
    }
    // A section of this name alone is nobody's.
    assert!(import(b"[run]\nversion = \nname = x\n").found.is_empty());
}

#[test]
fn phases_without_a_score_are_read_and_not_primary() {
    let end = "[SCORE ]";
    let more = "[      ]  ior-rnd4K-easy-read        0.500000 GiB/s : time 300.100 seconds\n\
                [      ]    mdworkbench-bench        3.000000 kIOPS : time 60.000 seconds\n\
                [      ]  mdworkbench-delete         0.000000 kIOPS : time 0.000 seconds\n";
    let imported = import(SUMMARY.replace(end, &format!("{more}{end}")).as_bytes());
    let trial = only(&imported);
    assert_eq!(value(trial, "ior-rnd4K-easy-read", "mib_per_second"), Some(512.0));
    assert_eq!(value(trial, "mdworkbench-bench", "operations_per_second"), Some(3000.0));
    assert_eq!(value(trial, "mdworkbench-delete", "operations_per_second"), None);
    assert_eq!(value(trial, "", "io500_score"), Some(7.025_009));
    assert_eq!(trial.metrics.iter().filter(|metric| metric.primary).count(), 12);
    let section = "[ior-rnd4K-easy-read]\nscore           = 0.250000\nt_delta         = 300.1\n";
    let imported = import(format!("{RESULT}\n{section}").as_bytes());
    let trial = only(&imported);
    assert_eq!(value(trial, "ior-rnd4K-easy-read", "mib_per_second"), Some(256.0));
    assert_eq!(trial.metrics.iter().filter(|metric| metric.primary).count(), 2);
}

/// Summary of the time when IO500 was a script of the shell. Its scores follow from its phases, of
/// which it prints few decimals.
const SHELL: &str = "\
[Summary] Results files in /mnt/x/results/2018.01.01-00.00.00
[RESULT] BW   phase 1            ior_easy_write                4.000 GB/s : time 310.50 seconds
[RESULT] BW   phase 2            ior_hard_write                0.101 GB/s : time 305.25 seconds
[RESULT] BW   phase 3             ior_easy_read                8.000 GB/s : time 155.00 seconds
[RESULT] BW   phase 4             ior_hard_read                2.000 GB/s : time 152.00 seconds
[RESULT] IOPS phase 1         mdtest_easy_write               16.000 kiops : time 301.00 seconds
[RESULT] IOPS phase 2         mdtest_hard_write                4.000 kiops : time 302.00 seconds
[RESULT] IOPS phase 3                      find              256.000 kiops : time  20.00 seconds
[RESULT] IOPS phase 4          mdtest_easy_stat               64.000 kiops : time  75.00 seconds
[RESULT] IOPS phase 5          mdtest_hard_stat               32.000 kiops : time  38.00 seconds
[RESULT] IOPS phase 6        mdtest_easy_delete                8.000 kiops : time 602.00 seconds
[RESULT] IOPS phase 7          mdtest_hard_read               16.000 kiops : time  76.00 seconds
[RESULT] IOPS phase 8        mdtest_hard_delete                2.000 kiops : time 604.00 seconds
[SCORE] Bandwidth 1.59451 GB/s : IOPS 17.4481 kiops : TOTAL 5.27459
";

#[test]
fn summaries_of_the_shell_are_read_under_the_names_of_today() {
    let imported = import(SHELL.as_bytes());
    let trial = only(&imported);
    assert_eq!(value(trial, "ior-easy-write", "mib_per_second"), Some(4096.0));
    assert_eq!(value(trial, "mdtest-hard-delete", "operations_per_second"), Some(2000.0));
    assert_eq!(value(trial, "find", "elapsed_seconds"), Some(20.0));
    assert_eq!(trial.metrics.iter().filter(|metric| metric.primary).count(), 12);
    assert_eq!(value(trial, "", "io500_score"), Some(5.274_59));
    assert!(imported.remarks.is_empty(), "{:?}", imported.remarks);
    let invalid = SHELL.replace("[SCORE]", "[SCORE-invalid]");
    assert_eq!(fact(only(&import(invalid.as_bytes())), "import.io500_invalid"), Some("all"));
    assert_eq!(import(format!("{SHELL}{SHELL}").as_bytes()).found.len(), 2);
}

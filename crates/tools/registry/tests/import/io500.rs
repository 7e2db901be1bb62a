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

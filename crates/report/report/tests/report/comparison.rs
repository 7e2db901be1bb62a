//! Comparison of synthetic trials in every format, as golden files (except HTML, which has tests of
//! its own), and its JSON checked against docs/json.md.

use treering_analysis::compare::{
    ComparedVariant, ComparisonCautionCode, ComparisonTerms, Factor, Outcome, Verdict, compare,
};
use treering_model::{
    Accelerator, BetterDirection, Caution, CautionCode, CpuTime, Ending, Fact, Metric, PhaseTotals,
    RunMode, Scope, Trial, TrialHeader, TrialId, Unit,
};
use treering_report::formats::ALL;
use treering_report::pages::comparison::{ComparisonView, DataFormat, PageDetail, page};

use crate::rendered;

/// Noise of a round that both variants share; each trial has little noise of its own.
const ROUNDS: [f64; 9] = [1.00, 1.04, 0.97, 1.02, 0.99, 1.01, 0.98, 1.03, 0.96];
const OWN: [f64; 9] = [1.001, 0.999, 1.002, 0.998, 1.000, 1.001, 0.999, 1.003, 0.997];

fn metrics(round: usize, factor: f64) -> Vec<Metric> {
    let kinds = [("create", 230.0, factor), ("read", 310.0, 2.0 - factor), ("delete", 90.0, 1.0)];
    let mut metrics = Vec::new();
    for (kind, rate, factor) in kinds {
        let mut add = |name: &str, value: f64, unit, better, primary| {
            let metric = Metric::new(name, Scope::Kind(kind.to_owned()), value, unit, better);
            metrics.push(metric.primary_if(primary).of_tasks(6));
        };
        let noisy = if kind == "delete" { ROUNDS[8 - round] } else { 1.0 };
        let rate = rate * ROUNDS[round] * factor * OWN[round].powf(factor * 9.0) * noisy;
        add("mib_per_second", rate, Unit::MibPerSecond, BetterDirection::Higher, true);
        add("seconds", 222.4 / rate, Unit::Seconds, BetterDirection::Lower, false);
        add("cpu_seconds", 0.31, Unit::Seconds, BetterDirection::Lower, false);
    }
    metrics
}

pub(crate) fn trial(round: usize, late: i64, factor: f64, filesystem: &str) -> Trial {
    let started_unix_ms = 1_763_665_726_000 + 2000 * i64::try_from(round).unwrap() + late;
    let trial: TrialId = "0193a1b2-c3d4-7000-8000-000000000001".parse().unwrap();
    Trial {
        facts: vec![
            Fact { name: "kernel.release".to_owned(), value: "6.12.0".to_owned() },
            Fact { name: "filesystem.type".to_owned(), value: filesystem.to_owned() },
        ],
        phases: vec![PhaseTotals {
            name: "aging".to_owned(),
            wall_ns: 40_000_000_000,
            tasks: 18,
            files: 21_280,
            bytes: 233_176_153,
            cpu: CpuTime { user_ns: 1_000_000_000, system_ns: 4_200_000_000 },
            ..PhaseTotals::default()
        }],
        metrics: metrics(round, factor),
        ending: Ending::Completed,
        wall_ns: 41_000_000_000,
        ..Trial::new(TrialHeader {
            started_unix_ms,
            treering_version: "0.1.0".to_owned(),
            label: filesystem.to_owned(),
            target: "/mnt/scratch".to_owned(),
            parameters: vec![("runs".to_owned(), "30".to_owned())],
            ..TrialHeader::new(trial, "compilebench", RunMode::Native)
        })
    }
}

pub(crate) fn variant(name: &str, late: i64, factor: f64, rounds: usize) -> ComparedVariant {
    // The baseline runs first in every other round.
    let late = |round: usize| if round.is_multiple_of(2) { late } else { -late };
    let trials = (0..rounds).map(|round| trial(round, late(round), factor, name)).collect();
    ComparedVariant { name: name.to_owned(), factor: Factor::Filesystem, against: None, trials }
}

/// Nine rounds of three filesystems; one trial of the second filesystem failed.
pub(crate) fn nine_rounds() -> Outcome {
    let (ext4, mut xfs, btrfs) =
        (variant("ext4", 0, 1.0, 9), variant("xfs", 500, 1.08, 9), variant("btrfs", 900, 0.9, 9));
    xfs.trials[3].ending = Ending::Failed { why: "no space left on device".to_owned() };
    compare(&ext4, &[xfs, btrfs], &ComparisonTerms::default()).unwrap()
}

pub(crate) fn one_run() -> Outcome {
    compare(
        &variant("ext4", 0, 1.0, 1),
        &[variant("xfs", 500, 1.08, 1)],
        &ComparisonTerms::default(),
    )
    .unwrap()
}

fn golden(name: &str, outcome: &Outcome) {
    let repeat = [("ext4".to_owned(), "treering run compilebench --dir /mnt/scratch".to_owned())];
    let view = ComparisonView {
        command: "treering report --baseline fs:ext4 --contender fs:xfs",
        repeat: &repeat,
        notes: &["1 trials that still run are left out".to_owned()],
        ..ComparisonView::default()
    };
    let page = page(outcome, &view);
    let mut texts: Vec<(&str, String)> = Vec::new();
    let is_page = |name: &str| name != "html" && DataFormat::by_name(name).is_none();
    for format in ALL.iter().filter(|format| is_page(format.name())) {
        texts.push((format.name(), rendered(&page, *format)));
    }
    for format in DataFormat::ALL {
        let mut bytes = Vec::new();
        format.write(outcome, &mut bytes).unwrap();
        let mut text = String::from_utf8(bytes).unwrap();
        if format == DataFormat::Json {
            let value: serde_json::Value = serde_json::from_str(&text).unwrap();
            text = serde_json::to_string_pretty(&value).unwrap();
        }
        texts.push((format.name(), text));
    }
    for (format, text) in texts {
        insta::with_settings!({omit_expression => true, prepend_module_to_snapshot => false}, {
            insta::assert_snapshot!(format!("{name}.{format}"), text);
        });
    }
}

#[test]
fn a_comparison_in_every_format() {
    golden("comparison", &nine_rounds());
}

#[test]
fn one_run_against_one_in_every_format() {
    golden("comparison_single", &one_run());
}

/// A variant with jobs of 16, 1 and 4 workers, with one directory per worker and fewer files in
/// each.
fn of_workers(name: &str, late: i64, rounds: usize) -> ComparedVariant {
    let mut all = variant(name, late, if late > 0 { 1.25 } else { 1.0 }, rounds);
    let of_job = |(number, workers): (usize, u32)| {
        let mut trials = all.trials.clone();
        for trial in &mut trials {
            trial.beginning.started_unix_ms += 100 * i64::try_from(number).unwrap();
            let parameters = [("files", 64 / workers), ("workers", workers)];
            trial.beginning.parameters =
                parameters.map(|(name, value)| (name.to_owned(), value.to_string())).to_vec();
        }
        trials
    };
    all.trials = [16, 1, 4].into_iter().enumerate().flat_map(of_job).collect();
    all
}

/// Answer on one screen for a comparison of jobs with 16, 1 and 4 workers.
fn answer_by_workers(rounds: usize) -> String {
    let (base, new) = (of_workers("base", 0, rounds), of_workers("new", 500, rounds));
    let outcome = compare(&base, &[new], &ComparisonTerms::default()).unwrap();
    let view = ComparisonView { detail: PageDetail::Answer, ..ComparisonView::default() };
    rendered(&page(&outcome, &view), *treering_report::formats::by_name("plain").as_ref().unwrap())
}

#[test]
fn jobs_of_one_workload_that_ran_once_are_rows_by_their_workers_without_verdicts() {
    let text = answer_by_workers(1);
    insta::assert_snapshot!("comparison_series_single", text);
    assert_eq!(text.matches("no verdict").count(), 1, "{text}");
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("9 of each side at least"), "of nine results: {text}");
}

#[test]
fn jobs_of_one_workload_are_rows_by_their_workers_with_verdicts() {
    insta::assert_snapshot!("comparison_series", answer_by_workers(9));
}

/// Answer on one screen for contenders with these factors.
fn answer_on(factors: &[f64]) -> String {
    let contender = |(number, factor): (usize, &f64)| {
        variant(&format!("kernel {number}"), 500 + 100 * i64::try_from(number).unwrap(), *factor, 9)
    };
    let contenders: Vec<ComparedVariant> = factors.iter().enumerate().map(contender).collect();
    let base = variant("base", 0, 1.0, 9);
    let outcome = compare(&base, &contenders, &ComparisonTerms::default()).unwrap();
    let view = ComparisonView { detail: PageDetail::Answer, ..ComparisonView::default() };
    let plain = treering_report::formats::by_name("plain").unwrap();
    rendered(&page(&outcome, &view), plain).split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn where_nothing_was_compared_the_answer_has_the_reason() {
    let base = variant("base", 0, 1.0, 9);
    let mut other = variant("other", 500, 1.0, 9);
    for trial in &mut other.trials {
        trial.beginning.workload = "fs_mark".to_owned();
        trial.cautions.push(Caution { code: CautionCode::Handicapped, message: String::new() });
    }
    let outcome = compare(&base, &[other], &ComparisonTerms::default()).unwrap();
    let view = ComparisonView { detail: PageDetail::Answer, ..ComparisonView::default() };
    let plain = treering_report::formats::by_name("plain").unwrap();
    let text = rendered(&page(&outcome, &view), plain);
    assert!(text.contains("nothing to compare") && text.contains("(nothing_in_common)"), "{text}");
    assert!(text.contains("one_sided"), "the other cautions are named: {text}");
}

#[test]
fn a_proven_regression_is_the_first_sentence_and_none_is_left_out_unsaid() {
    // The last contender is the only one that is worse at something.
    let text = answer_on(&[1.0, 1.0, 1.0, 0.5]);
    let places = text.match_indices(" against base, ");
    let sentences: Vec<&str> = places.map(|(at, _)| &text[at - "kernel 0".len()..at]).collect();
    assert_eq!(sentences, ["kernel 3", "kernel 0", "kernel 1"], "{text}");
    assert!(text.contains("And 1 more contender, none of them proven worse."), "{text}");
    let rows = text.split("metric contender").nth(1).unwrap();
    assert!(rows.contains("kernel 3 - worse"), "{text}");
    let text = answer_on(&[0.5, 0.5, 0.5, 0.5]);
    let said = "And 1 more contender, 1 of them worse at something: kernel 3.";
    assert!(text.contains(said), "{text}");
}

#[test]
fn mail_stays_within_its_columns() {
    let plain = treering_report::formats::by_name("plain").unwrap();
    for outcome in [nine_rounds(), one_run()] {
        let text = rendered(&page(&outcome, &ComparisonView::default()), plain);
        assert!(text.is_ascii());
        assert!(text.lines().all(|line| line.len() <= 72), "{text}");
    }
}

#[test]
fn one_run_against_one_has_no_colour() {
    let terminal = treering_report::formats::terminal::Terminal { width: 120, colour: true };
    let text = rendered(&page(&one_run(), &ComparisonView::default()), &terminal);
    let coloured: Vec<&str> =
        text.lines().filter(|line| line.contains("ran once") && line.contains('│')).collect();
    let judged =
        one_run().comparisons.iter().filter(|comparison| comparison.same_as.is_none()).count();
    assert_eq!(coloured.len(), judged);
    // Only rules are painted, never a word or a number.
    for line in coloured {
        let tail = line.replace("\x1b[2m│\x1b[0m", "│");
        assert!(!tail.contains('\x1b'), "{line}");
    }
}

/// Checks the fields and types against docs/json.md.
#[test]
fn the_json_is_as_documented() {
    let mut bytes = Vec::new();
    DataFormat::Json.write(&nine_rounds(), &mut bytes).unwrap();
    let value: serde_json::Value = serde_json::from_slice(&bytes).unwrap();
    let codes = ComparisonCautionCode::ALL.map(ComparisonCautionCode::name);
    let verdicts = Verdict::ALL.map(Verdict::name);
    assert_eq!(value["treering_comparison"]["version"], 2);
    for caution in value["cautions"].as_array().unwrap() {
        assert!(codes.contains(&caution["code"].as_str().unwrap()));
        assert!(caution["message"].is_string() && caution["advice"].is_string());
    }
    let comparisons = value["comparisons"].as_array().unwrap();
    assert!(!comparisons.is_empty());
    for comparison in comparisons {
        for text in ["workload", "metric", "unit", "baseline", "contender"] {
            assert!(comparison[text].is_string(), "{text}");
        }
        for number in ["pairs", "baseline_median", "contender_median"] {
            assert!(comparison[number].is_number(), "{number}");
        }
        for maybe in [
            "ratio",
            "ratio_low",
            "ratio_high",
            "p",
            "p_adjusted",
            "rounds_needed",
            "rounds_needed_most",
        ] {
            assert!(comparison[maybe].is_number() || comparison[maybe].is_null(), "{maybe}");
        }
        assert!(["higher", "lower"].contains(&comparison["better"].as_str().unwrap()));
        assert!(verdicts.contains(&comparison["verdict"].as_str().unwrap()));
        assert!(comparison["primary"].is_boolean());
    }
    let documented = include_str!("../../../../../docs/json.md");
    let fields = comparisons[0].as_object().unwrap().keys().map(String::as_str);
    for word in codes.into_iter().chain(verdicts).chain(fields) {
        assert!(documented.contains(&format!("`{word}`")), "docs/json.md lacks `{word}`");
    }
}

#[test]
fn what_emulated_guests_measure_is_told_once_above_the_verdict_and_is_no_caution() {
    let emulated = |accelerator: Accelerator| {
        let mut variants = [variant("ext4", 0, 1.0, 9), variant("xfs", 500, 1.08, 9)];
        for trial in variants.iter_mut().flat_map(|variant| &mut variant.trials) {
            let value = accelerator.name().to_owned();
            trial.facts.push(Fact { name: Accelerator::FACT.to_owned(), value });
            let message = "the processor of the guest was emulated".to_owned();
            trial.cautions.push(Caution { code: CautionCode::Emulated, message });
        }
        let [ext4, xfs] = variants;
        compare(&ext4, &[xfs], &ComparisonTerms::default()).unwrap()
    };
    for (accelerator, told) in [
        (Accelerator::Icount, Some("Emulated: instructions, not time: 2 ns each, on one CPU.")),
        (Accelerator::Tcg, Some("Emulated, without counting instructions (TCG): what is")),
        (Accelerator::Kvm, None),
    ] {
        let outcome = emulated(accelerator);
        let codes: Vec<_> = outcome.cautions.iter().map(|caution| caution.code).collect();
        assert!(!codes.contains(&ComparisonCautionCode::TrialCautions), "{codes:?}");
        for detail in [PageDetail::Answer, PageDetail::Brief, PageDetail::Full] {
            let view = ComparisonView { detail, ..ComparisonView::default() };
            let format = ALL.iter().find(|format| format.name() == "plain").unwrap();
            let text = rendered(&page(&outcome, &view), *format);
            let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
            assert_eq!(text.matches("Emulated").count(), usize::from(told.is_some()));
            if let Some(told) = told {
                let verdict = text.find("xfs against ext4, compilebench").unwrap();
                assert!(text.find(told).unwrap() < verdict, "{text}");
            }
        }
    }
}

//! Comparisons of synthetic trials: figures known by hand or from the reference vectors of the
//! statistics, verdicts, cautions, the gate, and properties that hold for any trials.
#![expect(clippy::unwrap_used, reason = "in a test the panic is the message")]

use proptest::prelude::{ProptestConfig, proptest};
use treering_analysis::compare::{
    ComparedVariant, ComparisonCautionCode as Code, ComparisonTerms, Factor, Gate, GateReason,
    MetricComparison, Outcome, Verdict, compare, compare_observed,
};
use treering_model::{
    BetterDirection, CHANGED_OPTIONS_FACT, Cell, CellRole, CpuTime, Ending, Fact, LEVEL_FACT,
    Metric, PhaseTotals, RunMode, Scope, Trial, TrialHeader, TrialId, Unit, WorkLimit,
};
use treering_stats::RoundsNeeded;

/// Ten paired rounds from the reference vectors of the statistics.
const P10A: [f64; 10] = [52.1, 49.8, 51.3, 50.7, 53.9, 48.2, 50.0, 52.8, 51.1, 49.5];
const P10B: [f64; 10] = [50.3, 49.1, 50.9, 48.8, 52.0, 48.6, 48.1, 51.5, 49.7, 49.9];
/// Two unpaired sets from the same reference vectors.
const A8: [f64; 8] = [102.0, 98.5, 101.3, 99.9, 100.4, 97.2, 103.8, 100.0];
const B7: [f64; 7] = [96.1, 99.9, 95.4, 98.5, 97.7, 94.0, 100.0];

fn metric(name: &str, value: f64, better: BetterDirection, primary: bool) -> Metric {
    let scope = Scope::Kind("create".to_owned());
    let unit = if better == BetterDirection::Higher { Unit::MibPerSecond } else { Unit::Seconds };
    Metric::new(name, scope, value, unit, better).primary_if(primary).of_tasks(3)
}

/// A completed trial with one primary rate, whose phase has the duration that matches the rate.
fn trial(started: i64, rate: f64) -> Trial {
    let wall_ns = 40_000_000_000;
    Trial {
        facts: vec![
            Fact { name: "kernel.release".to_owned(), value: "6.1.0".to_owned() },
            Fact { name: "filesystem.type".to_owned(), value: "ext4".to_owned() },
        ],
        phases: vec![PhaseTotals {
            name: "run".to_owned(),
            wall_ns,
            tasks: 3,
            files: 100,
            bytes: 1 << 20,
            cpu: CpuTime { user_ns: 1_000_000_000, system_ns: 4_000_000_000 },
            ..PhaseTotals::default()
        }],
        metrics: vec![metric("mib_per_second", rate, BetterDirection::Higher, true)],
        ending: Ending::Completed,
        wall_ns,
        ..Trial::new(TrialHeader {
            started_unix_ms: started,
            treering_version: "0.1.0".to_owned(),
            target: "/mnt".to_owned(),
            parameters: vec![
                ("runs".to_owned(), "30".to_owned()),
                ("seed".to_owned(), "1".to_owned()),
            ],
            ..TrialHeader::new(TrialId::new(), "compilebench", RunMode::Native)
        })
    }
}

/// A variant whose k-th trial started at 2 k, or at 2 k + 1 for the second variant. In every other
/// round the second variant runs first.
fn variant_of(name: &str, late: i64, rates: &[f64]) -> ComparedVariant {
    let place = |round: i64| late - late % 2 + (late + round) % 2;
    let rounds = (0..).zip(rates);
    let trials = rounds.map(|(round, rate)| trial(2 * round + place(round), *rate)).collect();
    ComparedVariant { name: name.to_owned(), factor: Factor::Label, against: None, trials }
}

fn compared(base: &[f64], other: &[f64]) -> Outcome {
    compare(&variant_of("a", 0, base), &[variant_of("b", 1, other)], &ComparisonTerms::default())
        .unwrap()
}

fn score(outcome: &Outcome) -> &MetricComparison {
    outcome.comparisons.iter().find(|comparison| comparison.primary).unwrap()
}

fn codes(outcome: &Outcome) -> Vec<Code> {
    outcome.cautions.iter().map(|caution| caution.code).collect()
}

fn near(actual: f64, expected: f64) {
    assert!((actual - expected).abs() < 1e-9 * expected.abs(), "{actual} against {expected}");
}

#[test]
fn jobs_of_one_variant_are_compared_whatever_their_parameters_are() {
    let job = |name: &str, late: i64, rates: &[f64], runs: &str| {
        let mut job = variant_of(name, late, rates);
        job.factor = Factor::Job;
        for trial in &mut job.trials {
            trial.beginning.parameters[0].1 = runs.to_owned();
        }
        job
    };
    let outcome_against = |other: &ComparedVariant| {
        compare(
            &job("few", 0, &P10A, "30"),
            std::slice::from_ref(other),
            &ComparisonTerms::default(),
        )
        .unwrap()
    };
    let outcome = outcome_against(&job("many", 1, &P10B, "60"));
    // Without round numbers of a plan, trials of different jobs are not paired.
    assert!(!score(&outcome).paired && score(&outcome).ratio.unwrap().value < 1.0);
    assert!(!codes(&outcome).contains(&Code::ParametersDiffer), "{:?}", codes(&outcome));
    // If the same trials are variants, their parameters differ undeclared.
    let variants = ComparedVariant { factor: Factor::Variant, ..job("many", 1, &P10B, "60") };
    assert!(codes(&outcome_against(&variants)).contains(&Code::ParametersDiffer));
}

#[test]
fn each_contender_is_compared_with_the_variant_that_it_names() {
    let named = |name: &str, late: i64, rates: &[f64], against: &str| ComparedVariant {
        against: Some(against.to_owned()),
        ..variant_of(name, late, rates)
    };
    let twice: Vec<f64> = P10A.iter().map(|rate| 2.0 * rate).collect();
    let twice_slow: Vec<f64> = P10B.iter().map(|rate| 2.0 * rate).collect();
    let others =
        [variant_of("b", 1, &P10B), named("c", 2, &twice, "c"), named("d", 3, &twice_slow, "c")];
    let outcome =
        compare(&variant_of("a", 0, &P10A), &others, &ComparisonTerms::default()).unwrap();
    let pairs: Vec<(&str, &str)> =
        outcome.contenders().map(|(base, contender)| (base, contender.name.as_str())).collect();
    assert_eq!(pairs, [("a", "b"), ("c", "d")]);
    assert!(!outcome.has_one_baseline());
    let primary: Vec<&MetricComparison> =
        outcome.comparisons.iter().filter(|comparison| comparison.primary).collect();
    assert_eq!(primary.len(), 2, "c is a baseline only");
    for contender in &primary {
        near(contender.ratio.unwrap().value, 0.978_379_845_786_214_5);
        // Two questions are corrected together, not three.
        near(contender.p_adjusted.unwrap(), 2.0 * 0.019_531_25);
    }
    near(primary[1].baseline_median, 2.0 * 50.9);
    let lost = [named("b", 1, &P10B, "gone")];
    let outcome = compare(&variant_of("a", 0, &P10A), &lost, &ComparisonTerms::default()).unwrap();
    assert!(outcome.comparisons.is_empty());
    assert_eq!(codes(&outcome), [Code::NothingInCommon]);
    assert_eq!(Gate::decide(&outcome), Gate::Unclear);
}

#[test]
fn paired_rounds_agree_with_the_vectors() {
    let outcome = compared(&P10A, &P10B);
    let comparison = score(&outcome);
    assert_eq!((comparison.pairs(), comparison.paired), (10, true));
    near(comparison.ratio.unwrap().value, 0.978_379_845_786_214_5);
    let (low, high) = comparison.ratio.unwrap().interval.unwrap();
    near(low, 0.965_100_232_179_414_8);
    near(high, 0.991_702_181_934_534);
    near(comparison.p.unwrap(), 0.019_531_25);
    near(comparison.p_adjusted.unwrap(), 0.019_531_25);
    near(comparison.baseline_median, 50.9);
    // The difference is significant, but below the threshold of 3 %.
    assert_eq!((comparison.verdict, comparison.rounds_needed), (Verdict::Small, None));
    assert_eq!(codes(&outcome), []);
    assert_eq!(Gate::decide(&outcome), Gate::Pass);
    let strict = compare(
        &variant_of("a", 0, &P10A),
        &[variant_of("b", 1, &P10B)],
        &ComparisonTerms { threshold: Some(0.01), ..ComparisonTerms::default() },
    )
    .unwrap();
    assert_eq!(score(&strict).verdict, Verdict::Worse);
    assert_eq!(Gate::decide(&strict), Gate::Worse);
}

#[test]
fn unpaired_trials_agree_with_the_vectors_and_are_cautioned() {
    let mut other = variant_of("b", 1, &B7);
    for trial in &mut other.trials {
        trial.beginning.parameters[1].1 = "another seed".to_owned();
    }
    let outcome = compare(&variant_of("a", 0, &A8), &[other], &ComparisonTerms::default()).unwrap();
    let comparison = score(&outcome);
    assert_eq!((comparison.pairs(), comparison.paired), (0, false));
    near(comparison.ratio.unwrap().value, 0.970_441_732_902_870_7);
    let (low, high) = comparison.ratio.unwrap().interval.unwrap();
    near(low, 0.941_757_156_959_526_7);
    near(high, 0.998_999_999_999_999_8);
    assert_eq!(codes(&outcome), [Code::Unpaired]);
}

#[test]
fn six_equal_ratios_have_the_expected_p_value() {
    let base = [100.0, 110.0, 90.0, 105.0, 95.0, 101.0];
    let outcome = compared(&base, &base.map(|rate| rate * 1.05));
    let comparison = score(&outcome);
    near(comparison.ratio.unwrap().value, 1.05);
    near(comparison.p.unwrap(), 2.0 / 64.0);
    assert_eq!(comparison.verdict, Verdict::Better);
    assert_eq!(Gate::decide(&outcome), Gate::Pass);
}

#[test]
fn single_runs_get_no_inference() {
    let outcome = compared(&[100.0], &[50.0]);
    let comparison = score(&outcome);
    near(comparison.ratio.unwrap().value, 0.5);
    assert_eq!((comparison.p, comparison.ratio.unwrap().interval), (None, None));
    assert_eq!(
        (comparison.verdict, comparison.rounds_needed),
        (Verdict::SingleRun, Some(RoundsNeeded::exactly(6)))
    );
    assert_eq!(Gate::decide(&outcome), Gate::Unclear);
    assert_eq!(codes(&outcome), [Code::TooFewRounds]);
}

#[test]
fn five_rounds_are_too_few_for_any_data() {
    let base = [100.0, 110.0, 90.0, 105.0, 95.0];
    let outcome = compared(&base, &base.map(|rate| rate / 2.0));
    let comparison = score(&outcome);
    assert_eq!(
        (comparison.verdict, comparison.rounds_needed),
        (Verdict::Unclear, Some(RoundsNeeded::exactly(6)))
    );
    assert!(comparison.few_rounds && comparison.ratio.unwrap().interval.is_some());
    assert_eq!(codes(&outcome), [Code::TooFewRounds]);
    assert_eq!(Gate::decide(&outcome), Gate::Unclear);
}

#[test]
fn a_failed_trial_drops_its_round_and_never_becomes_zero() {
    let rates = [100.0, 101.0, 99.0, 100.0, 102.0, 98.0, 100.0];
    let (base, mut other) = (variant_of("a", 0, &rates), variant_of("b", 1, &rates));
    other.trials[2].ending = Ending::Failed { why: "disk full".to_owned() };
    other.trials[2].metrics.clear();
    let outcome = compare(&base, &[other], &ComparisonTerms::default()).unwrap();
    assert_eq!(score(&outcome).pairs(), 6);
    near(score(&outcome).ratio.unwrap().value, 1.0);
    assert_eq!(codes(&outcome), [Code::FailedTrial]);
    assert!(outcome.cautions[0].message.contains("1 of 7 trials of 'b'"));
    assert!(outcome.cautions[0].message.contains("failed: disk full"));
    assert_eq!((outcome.variants[1].completed, outcome.variants[1].failed), (6, 1));
}

#[test]
fn a_repeated_round_makes_up_for_an_interrupted_one() {
    let rates = [100.0, 101.0, 99.0, 100.0, 102.0, 98.0];
    let (base, mut other) = (variant_of("a", 0, &rates), variant_of("b", 1, &rates));
    let mut interrupted = trial(4, 1.0);
    interrupted.ending = Ending::Interrupted;
    other.trials.push(interrupted);
    let outcome = compare(&base, &[other], &ComparisonTerms::default()).unwrap();
    assert_eq!((score(&outcome).paired, score(&outcome).pairs()), (true, 6));
    assert_eq!(codes(&outcome), [Code::FailedTrial]);
}

#[test]
fn unfair_comparisons_are_cautioned() {
    let rates = [100.0; 6];
    let base = variant_of("a", 0, &rates);
    let mut other = variant_of("b", 100, &rates);
    for trial in &mut other.trials {
        trial.phases[0].files = 99;
        trial.facts[0].value = "6.2.0".to_owned();
        trial.beginning.treering_version = "0.2.0".to_owned();
        trial.facts.push(Fact {
            name: "filesystem.capacity_bytes".to_owned(),
            value: "2000000".to_owned(),
        });
    }
    let outcome =
        compare(&base, std::slice::from_ref(&other), &ComparisonTerms::default()).unwrap();
    let expected = [
        Code::UnequalWork,
        Code::VersionsDiffer,
        Code::KernelsDiffer,
        Code::KnownOfOneSide,
        Code::NotInterleaved,
    ];
    assert_eq!(codes(&outcome), expected);
    assert!(outcome.cautions[0].message.contains("100 and 99 files"));
    // Randomly drawn work may differ slightly, time-limited work by any amount.
    for (work, files, reported) in
        [(WorkLimit::Drawn, 99, false), (WorkLimit::Drawn, 97, true), (WorkLimit::Timed, 50, false)]
    {
        let (mut base, mut other) = (base.clone(), other.clone());
        for trial in base.trials.iter_mut().chain(&mut other.trials) {
            let (name, value) = (WorkLimit::FACT.to_owned(), work.name().to_owned());
            trial.facts.push(Fact { name, value });
        }
        other.trials.iter_mut().for_each(|trial| trial.phases[0].files = files);
        let outcome = compare(&base, &[other], &ComparisonTerms::default()).unwrap();
        assert_eq!(codes(&outcome).contains(&Code::UnequalWork), reported, "{work:?} {files}");
    }
    // Bytes that the kernel charges to a command include metadata written by the filesystem.
    for (workload, reported) in [("command", false), ("fio", true)] {
        let (mut base, mut other) = (base.clone(), other.clone());
        for trial in base.trials.iter_mut().chain(&mut other.trials) {
            trial.beginning.workload = workload.to_owned();
            trial.phases[0].files = 100;
        }
        other.trials.iter_mut().for_each(|trial| trial.phases[0].bytes += 4096);
        let outcome = compare(&base, &[other], &ComparisonTerms::default()).unwrap();
        assert_eq!(codes(&outcome).contains(&Code::UnequalWork), reported, "{workload}");
    }
    // A declared difference of kernels causes no caution.
    other.factor = Factor::Kernel;
    let outcome = compare(&base, &[other], &ComparisonTerms::default()).unwrap();
    assert!(!codes(&outcome).contains(&Code::KernelsDiffer));
}

#[test]
fn different_device_sizes_are_cautioned() {
    let mut variants = [variant_of("a", 0, &[100.0; 6]), variant_of("b", 1, &[100.0; 6])];
    for (variant, bytes) in variants.iter_mut().zip([100_u64 << 30, 80 << 30]) {
        for trial in &mut variant.trials {
            let name = "filesystem.capacity_bytes".to_owned();
            trial.facts.push(Fact { name, value: bytes.to_string() });
        }
    }
    let outcome = compare(&variants[0], &variants[1..], &ComparisonTerms::default()).unwrap();
    assert_eq!(codes(&outcome), [Code::SizesDiffer]);
}

#[test]
fn a_job_whose_options_a_variant_changes_is_compared_as_the_same_job() {
    let campaign = TrialId::new();
    let of_plan = |name: &str, late: i64, rates: &[f64], depth: [&str; 2], is_changed: bool| {
        let mut variant = variant_of(name, late, &[rates, rates].concat());
        variant.factor = Factor::Variant;
        for (number, trial) in variant.trials.iter_mut().enumerate() {
            let job = usize::from(number >= rates.len());
            trial.beginning.parameters.push(("depth".to_owned(), depth[job].to_owned()));
            trial.beginning.cell = Some(Cell {
                campaign,
                plan: "plan".to_owned(),
                digest: String::new(),
                variant: name.to_owned(),
                job: ["shallow", "deep"][job].to_owned(),
                round: u32::try_from(number % rates.len()).unwrap() + 1,
                role: CellRole::Round,
            });
            let name = CHANGED_OPTIONS_FACT.to_owned();
            let fact = Fact { name, value: "depth=4".to_owned() };
            trial.facts.extend(is_changed.then_some(fact));
        }
        variant
    };
    let base = of_plan("a", 0, &P10A, ["1", "4"], false);
    let mut declared = of_plan("b", 1, &P10B, ["4", "4"], true);
    for phase in declared.trials.iter_mut().flat_map(|trial| &mut trial.phases) {
        phase.files += 100;
    }
    let outcome = compare(&base, &[declared], &ComparisonTerms::default()).unwrap();
    let unequal = outcome.cautions.iter().find(|caution| caution.code == Code::UnequalWork);
    assert!(unequal.is_some_and(|caution| caution.is_declared), "{:?}", outcome.cautions);
    assert!(!codes(&outcome).contains(&Code::ParametersDiffer), "{:?}", codes(&outcome));
    let primary: Vec<&MetricComparison> =
        outcome.comparisons.iter().filter(|comparison| comparison.primary).collect();
    let jobs: Vec<&str> = primary.iter().map(|comparison| comparison.title.as_str()).collect();
    assert_eq!(jobs, ["shallow", "deep"]);
    assert!(primary.iter().all(|comparison| comparison.paired));
    let undeclared = of_plan("b", 1, &P10B, ["4", "4"], false);
    let outcome = compare(&base, &[undeclared], &ComparisonTerms::default()).unwrap();
    assert!(codes(&outcome).contains(&Code::ParametersDiffer), "{:?}", codes(&outcome));
}

#[test]
fn jobs_of_a_plan_with_the_same_parameters_are_compared_each_with_its_own() {
    let campaign = TrialId::new();
    let of_plan = |name: &str, late: i64, rates: [&[f64]; 2]| {
        let jobs = rates.into_iter().zip(["before", "after"]).flat_map(|(rates, job)| {
            let mut trials = in_campaign(variant_of(name, late, rates), campaign, 1).trials;
            for cell in trials.iter_mut().filter_map(|trial| trial.beginning.cell.as_mut()) {
                job.clone_into(&mut cell.job);
            }
            trials
        });
        ComparedVariant { trials: jobs.collect(), ..variant_of(name, late, &[]) }
    };
    let twice = P10A.map(|rate| rate * 2.0);
    let base = of_plan("a", 0, [&P10A, &P10A]);
    let other = of_plan("b", 1, [&P10A, &twice]);
    let outcome = compare(&base, &[other], &ComparisonTerms::default()).unwrap();
    let primary: Vec<&MetricComparison> =
        outcome.comparisons.iter().filter(|comparison| comparison.primary).collect();
    let found: Vec<(&str, usize, bool)> = primary
        .iter()
        .map(|one| (one.title.as_str(), one.pairs(), one.verdict == Verdict::Better))
        .collect();
    assert_eq!(found, [("before", 10, false), ("after", 10, true)]);
    // A run outside of the plan belongs to neither of the jobs.
    let alone = variant_of("c", 1, &P10B);
    let outcome = compare(&base, &[alone], &ComparisonTerms::default()).unwrap();
    assert_eq!(codes(&outcome), [Code::NothingInCommon]);
}

#[test]
fn different_parameters_are_reported_and_not_paired() {
    let (base, mut other) = (variant_of("a", 0, &[100.0; 6]), variant_of("b", 1, &[100.0; 6]));
    for trial in &mut other.trials {
        trial.beginning.parameters[0].1 = "60".to_owned();
    }
    let outcome =
        compare(&base, std::slice::from_ref(&other), &ComparisonTerms::default()).unwrap();
    assert_eq!(codes(&outcome), [Code::ParametersDiffer, Code::Unpaired]);
    let said = "runs is 30 in 'a' and 60 in 'b'; `--ignore runs` if that is meant";
    assert!(outcome.cautions[0].message.ends_with(said), "{:?}", outcome.cautions);
    // If some trials match, the others are left out.
    other.trials.extend(variant_of("b", 1, &[100.0; 6]).trials);
    let mut both = base.clone();
    let outcome =
        compare(&base, std::slice::from_ref(&other), &ComparisonTerms::default()).unwrap();
    assert!(outcome.cautions[0].message.ends_with("6 trials with other parameters are left out"));
    both.trials.extend(variant_of("a", 2, &[100.0; 6]).trials.into_iter().map(|mut trial| {
        trial.beginning.parameters[0].1 = "90".to_owned();
        trial
    }));
    let left_out =
        compare(&both, std::slice::from_ref(&other), &ComparisonTerms::default()).unwrap();
    let said = "12 trials with other parameters are left out; the nearest: runs is 90 in 'a' and \
                60 in 'b'; `--ignore runs` compares them nevertheless";
    assert!(left_out.cautions[0].message.ends_with(said), "{:?}", left_out.cautions);
    assert_eq!(codes(&outcome), [Code::ParametersDiffer]);
    assert_eq!(score(&outcome).pairs(), 6);
}

#[test]
fn parameter_order_does_not_separate_jobs() {
    let (mut base, mut other) = (variant_of("a", 0, &[100.0; 6]), variant_of("b", 1, &[100.0; 6]));
    for trial in &mut base.trials {
        trial.beginning.parameters.push(("sync".to_owned(), "each".to_owned()));
    }
    for trial in &mut other.trials {
        trial.beginning.parameters.insert(0, ("sync".to_owned(), "each".to_owned()));
    }
    let outcome = compare(&base, &[other], &ComparisonTerms::default()).unwrap();
    assert_eq!(codes(&outcome), []);
    assert_eq!(score(&outcome).pairs(), 6);
}

#[test]
fn profiles_of_aging_are_jobs_of_their_own_and_the_file_of_an_ffsb_profile_is_not() {
    for (workload, jobs) in [("age", 2), ("ffsb", 1)] {
        let side = |name: &str, late: i64| {
            let mut variant = variant_of(name, late, &[100.0; 6]);
            for (trial, profile) in variant.trials.iter_mut().zip(["mail", "database"].repeat(3)) {
                trial.beginning.workload = workload.to_owned();
                trial.beginning.parameters.push(("profile".to_owned(), profile.to_owned()));
            }
            variant
        };
        let outcome = compare(&side("a", 0), &[side("b", 1)], &ComparisonTerms::default()).unwrap();
        let pairs = outcome.comparisons.iter().map(MetricComparison::pairs).max().unwrap();
        assert_eq!(pairs, 6 / jobs, "{workload}");
    }
}

#[test]
fn seeds_pair_rounds_and_other_seeds_do_not() {
    let (mut base, mut other) = (variant_of("a", 0, &[100.0; 6]), variant_of("b", 1, &[100.0; 6]));
    for variant in [&mut base, &mut other] {
        for (round, trial) in variant.trials.iter_mut().enumerate() {
            trial.beginning.parameters[1].1 = round.to_string();
        }
    }
    let outcome =
        compare(&base, std::slice::from_ref(&other), &ComparisonTerms::default()).unwrap();
    assert!(score(&outcome).paired);
    other.trials[0].beginning.parameters[1].1 = "77".to_owned();
    let outcome = compare(&base, &[other], &ComparisonTerms::default()).unwrap();
    assert!(!score(&outcome).paired);
}

#[test]
fn different_workloads_have_nothing_in_common() {
    let (base, mut other) = (variant_of("a", 0, &[100.0; 6]), variant_of("b", 1, &[100.0; 6]));
    for trial in &mut other.trials {
        trial.beginning.workload = "fs_mark".to_owned();
    }
    let outcome = compare(&base, &[other], &ComparisonTerms::default()).unwrap();
    assert_eq!(codes(&outcome), [Code::NothingInCommon, Code::NothingInCommon]);
    assert!(outcome.comparisons.is_empty());
    assert_eq!(Gate::decide(&outcome), Gate::Unclear);
}

#[test]
fn a_primary_metric_on_one_variant_keeps_the_gate_open() {
    let (base, mut other) = (variant_of("a", 0, &[100.0; 6]), variant_of("b", 1, &[100.0; 6]));
    for trial in &mut other.trials {
        trial.metrics.push(metric("files_per_second", 1.0, BetterDirection::Higher, true));
    }
    let outcome = compare(&base, &[other], &ComparisonTerms::default()).unwrap();
    assert_eq!(codes(&outcome), [Code::MetricMissing]);
    assert_eq!(Gate::decide(&outcome), Gate::Unclear);
}

/// The variant is worse by a fifth in every round, and has a different kernel.
#[test]
fn gate_is_unclear_when_undeclared_facts_differ() {
    let rates = [100.0, 110.0, 90.0, 105.0, 95.0, 101.0];
    let base = variant_of("a", 0, &rates);
    let gate = |factor: f64, kernel: &str, accepted: &[Code]| {
        let mut other = variant_of("b", 1, &rates.map(|rate| rate * factor));
        other.trials.iter_mut().for_each(|trial| trial.facts[0].value = kernel.to_owned());
        let mut outcome = compare(&base, &[other], &ComparisonTerms::default()).unwrap();
        outcome.accepted = accepted.to_vec();
        (Gate::decide(&outcome), Gate::reasons(&outcome))
    };
    assert_eq!(gate(0.8, "6.1.0", &[]).0, Gate::Worse);
    assert_eq!(gate(1.0, "6.1.0", &[]), (Gate::Pass, Vec::new()));
    for factor in [0.8, 1.0] {
        let (gate, reasons) = gate(factor, "6.2.0", &[]);
        assert_eq!(gate, Gate::Unclear);
        assert_eq!(reasons, [GateReason::Caution(Code::KernelsDiffer)]);
    }
    assert_eq!(gate(0.8, "6.2.0", &[Code::KernelsDiffer]).0, Gate::Worse);
    assert_eq!(gate(1.0, "6.2.0", &[Code::KernelsDiffer]).0, Gate::Pass);
    let nobody = compare(&base, &[], &ComparisonTerms::default()).unwrap();
    assert_eq!(Gate::decide(&nobody), Gate::Unclear, "nothing was compared");
}

/// Holm's correction over two contenders doubles the smaller p; the larger one becomes at least as
/// large.
#[test]
fn contenders_are_one_family() {
    let base = [100.0, 110.0, 90.0, 105.0, 95.0, 101.0, 100.5];
    let better = variant_of("b", 1, &base.map(|rate| rate * 1.1));
    let other = variant_of("c", 1, &base);
    let outcome =
        compare(&variant_of("a", 0, &base), &[better, other], &ComparisonTerms::default()).unwrap();
    let primary = |name: &str| outcome.primary_of(name).next().unwrap().clone();
    near(primary("b").p.unwrap(), 2.0 / 128.0);
    near(primary("b").p_adjusted.unwrap(), 4.0 / 128.0);
    assert_eq!(primary("b").verdict, Verdict::Better);
    near(primary("c").p_adjusted.unwrap(), 1.0);
    assert_eq!(primary("c").verdict, Verdict::Same);
}

#[test]
fn elapsed_and_cpu_time_are_added_and_zeros_use_differences() {
    let (base, mut other) = (variant_of("a", 0, &[100.0; 8]), variant_of("b", 1, &[100.0; 8]));
    for trial in &mut other.trials {
        trial.phases[0].cpu.user_ns = 0;
    }
    let outcome = compare(&base, &[other], &ComparisonTerms::default()).unwrap();
    let named =
        |name: &str| outcome.comparisons.iter().find(|comparison| comparison.name == name).unwrap();
    near(named("elapsed_seconds").baseline_median, 40.0);
    near(named("system_cpu_seconds").contender_median, 4.0);
    let user = named("user_cpu_seconds");
    assert_eq!(user.ratio, None);
    near(user.difference.unwrap().value, -1.0);
    assert_eq!(user.verdict, Verdict::Better);
}

#[test]
fn a_control_that_differs_from_itself_is_unstable() {
    let base = [100.0, 110.0, 90.0, 105.0, 95.0, 101.0];
    let (a, b) = (variant_of("a", 0, &base), variant_of("b", 1, &base));
    let mut outcome = compare(&a, &[b], &ComparisonTerms::default()).unwrap();
    outcome
        .check_control(&a, &variant_of("a (again)", 1, &base), &ComparisonTerms::default())
        .unwrap();
    assert_eq!(codes(&outcome), []);
    // With noise of about 3 % per round, six rounds detect the difference with 80 % power.
    let noisy = [104.0, 108.0, 92.0, 101.0, 99.0, 100.0];
    let again = variant_of("a (again)", 1, &noisy);
    outcome.check_control(&a, &again, &ComparisonTerms::default()).unwrap();
    let ratios: Vec<f64> = outcome
        .control
        .iter()
        .filter_map(|comparison| outcome.smallest_detectable(comparison))
        .collect();
    assert!(ratios.len() == 1 && (0.03..0.08).contains(&ratios[0]), "{ratios:?}");
    assert_eq!(codes(&outcome), []);
    let apart = base.map(|rate| rate * 1.1);
    outcome
        .check_control(&a, &variant_of("a (again)", 1, &apart), &ComparisonTerms::default())
        .unwrap();
    assert_eq!(codes(&outcome), [Code::Unstable]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn swapping_the_variants_mirrors_everything(
        values in proptest::collection::vec((50.0..200.0f64, 50.0..200.0f64), 1..14),
    ) {
        let (left, right): (Vec<f64>, Vec<f64>) = values.into_iter().unzip();
        let (in_order, swapped) = (compared(&left, &right), compared(&right, &left));
        let (in_order, swapped) = (score(&in_order), score(&swapped));
        near(in_order.ratio.unwrap().value * swapped.ratio.unwrap().value, 1.0);
        if let (Some(forward), Some(backward)) =
            (in_order.ratio.unwrap().interval, swapped.ratio.unwrap().interval)
        {
            near(forward.0 * backward.1, 1.0);
            near(forward.1 * backward.0, 1.0);
        }
        let mirrored = match in_order.verdict {
            Verdict::Better => Verdict::Worse,
            Verdict::Worse => Verdict::Better,
            same => same,
        };
        assert_eq!(swapped.verdict, mirrored);
        assert_eq!(swapped.p, in_order.p);
    }

    #[test]
    fn a_variant_against_itself_is_never_better_or_worse(
        rates in proptest::collection::vec(50.0..200.0f64, 1..14),
    ) {
        let outcome = compared(&rates, &rates);
        for comparison in &outcome.comparisons {
            let is_decided = matches!(comparison.verdict, Verdict::Better | Verdict::Worse);
            assert!(!is_decided, "{comparison:?}");
        }
        assert_ne!(Gate::decide(&outcome), Gate::Worse);
    }
}

/// Assigns the trials of a variant to a campaign; the k-th trial is round `first` + k.
fn in_campaign(mut variant: ComparedVariant, campaign: TrialId, first: u32) -> ComparedVariant {
    for (round, trial) in (first..).zip(&mut variant.trials) {
        trial.beginning.cell = Some(Cell {
            campaign,
            plan: "p".to_owned(),
            digest: "d".to_owned(),
            variant: variant.name.clone(),
            job: "compilebench".to_owned(),
            round,
            role: CellRole::Round,
        });
    }
    variant
}

#[test]
fn rounds_of_a_plan_are_paired_by_their_number() {
    let campaign = TrialId::new();
    let base = in_campaign(variant_of("a", 0, &P10A), campaign, 1);
    let mut other = in_campaign(variant_of("b", 1, &P10B), campaign, 1);
    // If round 3 of one variant is missing, the other pairs remain.
    other.trials.remove(2);
    let outcome =
        compare(&base, std::slice::from_ref(&other), &ComparisonTerms::default()).unwrap();
    let rate = &outcome.comparisons[0];
    assert!(rate.paired);
    assert_eq!(rate.pairs(), 9);
    assert_eq!(rate.rounds, [1, 2, 4, 5, 6, 7, 8, 9, 10]);
    assert_eq!((rate.baseline_values[2], rate.contender_values[2]), (P10A[3], P10B[3]));
    // Round 3 of another campaign does not replace round 3 of this one.
    let mut elsewhere = in_campaign(other, TrialId::new(), 1);
    elsewhere.trials.iter_mut().for_each(|trial| trial.beginning.started_unix_ms += 86_400_000);
    let outcome = compare(&base, &[elsewhere], &ComparisonTerms::default()).unwrap();
    assert!(!outcome.comparisons[0].paired);
    assert!(outcome.comparisons[0].rounds.is_empty());
}

#[test]
fn a_round_has_the_number_of_its_trial_of_the_baseline() {
    let (mut base, other) = (variant_of("a", 0, &P10A), variant_of("b", 1, &P10B));
    // Nine trials are paired with the nine completed ones, skipping the second trial of the
    // baseline.
    base.trials[1].ending = Ending::Interrupted;
    let mut fewer = variant_of("c", 1, &P10B);
    fewer.trials.pop();
    let outcome = compare(&base, &[other, fewer], &ComparisonTerms::default()).unwrap();
    let numbers: Vec<&Vec<u32>> = outcome
        .comparisons
        .iter()
        .filter(|comparison| comparison.primary)
        .map(|comparison| &comparison.rounds)
        .collect();
    assert_eq!(numbers, [&[1, 3, 4, 5, 6, 7, 8, 9, 10]; 2]);
}

#[test]
fn the_user_selects_the_primary_metrics() {
    let (base, other) = (variant_of("a", 0, &P10A), variant_of("b", 1, &P10B));
    let primary = vec!["system_cpu_seconds".to_owned(), "no/such".to_owned()];
    let terms = ComparisonTerms { primary, ..ComparisonTerms::default() };
    let outcome = compare(&base, &[other], &terms).unwrap();
    let deciding: Vec<String> =
        outcome.comparisons.iter().filter(|c| c.primary).map(MetricComparison::metric).collect();
    assert_eq!(deciding, ["system_cpu_seconds"]);
    let missing =
        outcome.cautions.iter().find(|caution| caution.code == Code::MetricMissing).unwrap();
    assert!(missing.message.contains("no/such"), "{}", missing.message);
    assert_eq!(Gate::decide(&outcome), Gate::Unclear);
}

#[test]
fn sequential_looks_use_their_significance_level() {
    // All ten rounds differ in the same direction, so p is 2/1024.
    let rates: Vec<f64> = (0..10).map(|k| 50.0 + f64::from(k) * 0.3).collect();
    let slower: Vec<f64> =
        rates.iter().enumerate().map(|(k, r)| r * (0.9 - k as f64 * 0.002)).collect();
    let verdict = |level: Option<&str>| {
        let (mut base, other) = (variant_of("a", 0, &rates), variant_of("b", 1, &slower));
        if let Some(level) = level {
            let fact = Fact { name: LEVEL_FACT.to_owned(), value: level.to_owned() };
            base.trials[9].facts.push(fact);
        }
        compare(&base, &[other], &ComparisonTerms::default()).unwrap().comparisons[0].verdict
    };
    assert_eq!(verdict(None), Verdict::Worse);
    assert_eq!(verdict(Some("0.0138")), Verdict::Worse);
    assert_eq!(verdict(Some("0.0001")), Verdict::Unclear);
    assert_eq!(verdict(Some("nonsense")), Verdict::Worse);
}

/// Gives every trial of a variant these facts.
fn with_facts(mut variant: ComparedVariant, facts: &[(&str, &str)]) -> ComparedVariant {
    for trial in &mut variant.trials {
        let facts = facts.iter().map(|(name, value)| (name.to_string(), value.to_string()));
        trial.facts.extend(facts.map(|(name, value)| Fact { name, value }));
    }
    variant
}

fn cautions(base: &ComparedVariant, other: ComparedVariant) -> Vec<Code> {
    let outcome = compare(base, &[other], &ComparisonTerms::default()).unwrap();
    outcome.cautions.iter().map(|caution| caution.code).collect()
}

#[test]
fn undeclared_mount_options_are_cautioned() {
    let options = |name: &str, late: i64, options: &str| {
        with_facts(variant_of(name, late, &P10A), &[("filesystem.mount_options", options)])
    };
    let base = options("a", 0, "rw,relatime");
    assert!(!cautions(&base, options("b", 1, "rw,relatime")).contains(&Code::MountOptionsDiffer));
    assert!(cautions(&base, options("b", 1, "rw,noatime")).contains(&Code::MountOptionsDiffer));
    assert!(
        cautions(&base, options("b", 1, "rw,relatime,sync")).contains(&Code::MountOptionsDiffer)
    );
    // Variants of a plan may have different mount options.
    let mut variant = options("b", 1, "rw,noatime");
    variant.factor = Factor::Variant;
    assert!(!cautions(&base, variant).contains(&Code::MountOptionsDiffer));
    // Between different filesystems only access-time options are comparable.
    let other = |options: &str| {
        let facts = [("filesystem.mount_options", options)];
        let mut variant = with_facts(variant_of("b", 1, &P10A), &facts);
        variant.factor = Factor::Filesystem;
        for trial in &mut variant.trials {
            trial
                .facts
                .iter_mut()
                .filter(|f| f.value == "ext4")
                .for_each(|f| f.value = "xfs".into());
        }
        variant
    };
    assert!(!cautions(&base, other("rw,relatime,logbufs=8")).contains(&Code::MountOptionsDiffer));
    assert!(cautions(&base, other("rw,noatime,logbufs=8")).contains(&Code::MountOptionsDiffer));
}

#[test]
fn devices_of_another_kind_are_cautioned() {
    let on_device = |name: &str, late: i64, rotational: &str| {
        with_facts(variant_of(name, late, &P10A), &[("device.rotational", rotational)])
    };
    let base = on_device("a", 0, "0");
    assert!(!cautions(&base, on_device("b", 1, "0")).contains(&Code::DevicesDiffer));
    assert!(cautions(&base, on_device("b", 1, "1")).contains(&Code::DevicesDiffer));
    let mut target = on_device("b", 1, "1");
    target.factor = Factor::Target;
    assert!(!cautions(&base, target).contains(&Code::DevicesDiffer));
}

#[test]
fn rounds_that_resemble_their_neighbours_are_cautioned() {
    let flat = [50.0; 16];
    let group: Vec<f64> = (0..16).map(|k| 50.0 + 4.0 * (f64::from(k) / 3.0).sin()).collect();
    assert!(
        cautions(&variant_of("a", 0, &flat), variant_of("b", 1, &group))
            .contains(&Code::SerialRounds)
    );
    let mixed: Vec<f64> = [3, 9, 1, 14, 6, 12, 0, 8, 15, 4, 10, 2, 13, 7, 11, 5]
        .iter()
        .map(|k| 50.0 + f64::from(*k) * 0.3)
        .collect();
    assert!(
        !cautions(&variant_of("a", 0, &flat), variant_of("b", 1, &mixed))
            .contains(&Code::SerialRounds)
    );
}

#[test]
fn sizes_are_those_of_the_devices_where_they_are_known() {
    let sized = |name: &str, late: i64, facts: &[(&str, &str)]| {
        with_facts(variant_of(name, late, &P10A), facts)
    };
    let capacity = "filesystem.capacity_bytes";
    let base = sized("a", 0, &[(capacity, "1000"), ("variant.device_bytes", "1073741824")]);
    assert!(cautions(&base, sized("b", 1, &[(capacity, "900")])).contains(&Code::SizesDiffer));
    // The filesystems reserve different amounts of the same device.
    let same = [(capacity, "900"), ("variant.device_bytes", "1073741824")];
    assert!(!cautions(&base, sized("b", 1, &same)).contains(&Code::SizesDiffer));
    let smaller = [(capacity, "1000"), ("variant.device_bytes", "536870912")];
    assert!(cautions(&base, sized("b", 1, &smaller)).contains(&Code::SizesDiffer));
}

/// Observed trials of a variant in a campaign, with the number of seeks in a phase.
fn watched(name: &str, late: i64, campaign: TrialId, seeks: &[f64]) -> ComparedVariant {
    let rates = vec![1000.0; seeks.len()];
    let mut variant = in_campaign(variant_of(name, late, &rates), campaign, 1);
    variant.name = format!("{name}{}", CellRole::Observed.suffix());
    for (trial, seeks) in variant.trials.iter_mut().zip(seeks) {
        trial.beginning.cell.as_mut().unwrap().role = CellRole::Observed;
        trial.beginning.parameters.push(("trace".to_owned(), "true".to_owned()));
        let scope = Scope::Phase("run".to_owned());
        trial.metrics.push(Metric::new(
            "trace_seeks",
            scope,
            *seeks,
            Unit::Count,
            BetterDirection::Lower,
        ));
    }
    variant
}

#[test]
fn observed_rounds_contribute_seeks_but_no_times() {
    let campaign = TrialId::new();
    let base = in_campaign(variant_of("a", 0, &P10A), campaign, 1);
    let other = in_campaign(variant_of("b", 1, &P10B), campaign, 1);
    let plain = compare(&base, std::slice::from_ref(&other), &ComparisonTerms::default()).unwrap();
    let seeks = [
        watched("a", 100, campaign, &[900.0, 910.0, 905.0, 915.0, 903.0, 908.0]),
        watched("b", 101, campaign, &[700.0, 720.0, 707.0, 713.0, 709.0, 704.0]),
    ];
    let contenders = std::slice::from_ref(&other);
    let outcome = compare_observed(&base, contenders, &seeks, &ComparisonTerms::default()).unwrap();
    // Measured rounds are identical.
    assert_eq!(outcome.comparisons[..plain.comparisons.len()], plain.comparisons[..]);
    let [observed] = &outcome.comparisons[plain.comparisons.len()..] else { panic!("{outcome:?}") };
    assert!(observed.observed && !observed.primary);
    assert_eq!(
        (&*observed.metric(), &*observed.baseline, &*observed.contender),
        ("phase run/trace_seeks", "a", "b")
    );
    assert_eq!((observed.pairs(), observed.verdict), (6, Verdict::Better));
    assert_eq!((outcome.variants[0].observed, outcome.variants[1].observed), (6, 6));
    assert_eq!((outcome.variants[0].completed, outcome.variants[0].failed), (10, 0));
    let codes = |outcome: &Outcome| outcome.cautions.iter().map(|c| c.code).collect::<Vec<_>>();
    assert_eq!(codes(&outcome), codes(&plain));
    // Observed trials contribute no times even if they are selected explicitly.
    let alone = compare(&seeks[0], &seeks[1..], &ComparisonTerms::default()).unwrap();
    assert!(
        alone.comparisons.iter().all(|comparison| comparison.name == "trace_seeks"),
        "{alone:?}"
    );
}

#[test]
fn a_primary_metric_may_come_from_observed_rounds_only() {
    let campaign = TrialId::new();
    let base = in_campaign(variant_of("a", 0, &P10A), campaign, 1);
    let other = in_campaign(variant_of("b", 1, &P10B), campaign, 1);
    let primary = vec!["phase run/trace_seeks".to_owned(), "phase run/trace_none".to_owned()];
    let terms = ComparisonTerms { primary, ..ComparisonTerms::default() };
    let seeks = [
        watched("a", 100, campaign, &[900.0, 910.0, 905.0, 915.0, 903.0, 908.0]),
        watched("b", 101, campaign, &[990.0, 1020.0, 1007.0, 1013.0, 1009.0, 1004.0]),
    ];
    let outcome = compare_observed(&base, std::slice::from_ref(&other), &seeks, &terms).unwrap();
    let missing: Vec<&str> = outcome
        .cautions
        .iter()
        .filter(|caution| caution.code == Code::MetricMissing)
        .map(|caution| caution.message.as_str())
        .collect();
    assert_eq!(missing.len(), 1, "{missing:?}");
    assert!(missing[0].ends_with(": phase run/trace_none"), "{missing:?}");
    assert_eq!(Gate::decide(&outcome), Gate::Worse);
}

/// Reports whether the comparison warns about a contradiction between time and seeks. `a` took 40
/// seconds and made 1000 seeks, `b` took `seconds` and made `seeks`.
fn is_cautioned(seconds: u64, seeks: f64) -> bool {
    let campaign = TrialId::new();
    let base = in_campaign(variant_of("a", 0, &[100.0]), campaign, 1);
    let mut other = in_campaign(variant_of("b", 1, &[100.0]), campaign, 1);
    for trial in &mut other.trials {
        trial.wall_ns = seconds * 1_000_000_000;
    }
    let seen = [watched("a", 10, campaign, &[1000.0]), watched("b", 11, campaign, &[seeks])];
    let contenders = std::slice::from_ref(&other);
    let outcome = compare_observed(&base, contenders, &seen, &ComparisonTerms::default()).unwrap();
    let mut cautions = outcome.cautions.iter().filter(|c| c.code == Code::TimeAgainstSeeks);
    let is_there = cautions.next().is_some_and(|caution| {
        caution.message
            == format!(
                "compilebench, 'b' against 'a': phase run took 40.00 s and {seconds}.00 s, with \
                 1000 and {seeks:.0} seeks"
            )
    });
    assert!(cautions.next().is_none());
    is_there
}

#[test]
fn times_contradicting_the_seeks_are_cautioned() {
    assert!(is_cautioned(32, 3000.0), "faster with more seeks");
    assert!(is_cautioned(52, 400.0), "slower with fewer");
    for (seconds, seeks) in [(32, 400.0), (52, 3000.0), (40, 3000.0), (32, 1100.0), (32, 1000.0)] {
        assert!(!is_cautioned(seconds, seeks), "{seconds} {seeks}");
    }
}

#[test]
fn a_better_layout_that_took_longer_is_cautioned() {
    let scored = |name: &str, late: i64, score: f64, seconds: u64| {
        let mut variant = variant_of(name, late, &[100.0]);
        let scope = Scope::Phase("run".to_owned());
        let name = "layout_traversal_score_percent";
        let metric = Metric::new(name, scope, score, Unit::Percent, BetterDirection::Higher);
        variant.trials[0].metrics.push(metric);
        variant.trials[0].wall_ns = seconds * 1_000_000_000;
        variant
    };
    let cautioned = |score: f64, seconds: u64| {
        let (base, other) = (scored("a", 0, 50.0, 40), scored("b", 1, score, seconds));
        let outcome = compare(&base, &[other], &ComparisonTerms::default()).unwrap();
        let caution =
            outcome.cautions.into_iter().find(|caution| caution.code == Code::TimeAgainstSeeks);
        caution.map(|caution| caution.message)
    };
    let caution = cautioned(80.0, 60).unwrap();
    assert!(
        caution.contains("40.00 s and 60.00 s, with traversal score 50.0 % and 80.0 %"),
        "{caution}"
    );
    assert!(cautioned(30.0, 30).is_some());
    assert!(cautioned(55.0, 60).is_none() && cautioned(80.0, 30).is_none());
}

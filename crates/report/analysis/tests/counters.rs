//! Counters of the kernel and of the devices in comparisons of synthetic trials.
#![expect(clippy::unwrap_used, reason = "in a test the panic is the message")]

use treering_analysis::compare::{
    ComparedVariant, ComparisonTerms, Factor, MetricComparison, Outcome, Verdict, compare,
};
use treering_analysis::leading_counters;
use treering_model::metrics::{device, kernel, times};
use treering_model::{
    Ending, Fact, Metric, RunMode, Scope, Trial, TrialHeader, TrialId, WorkLimit,
};

/// A trial in round `round` with these counters.
fn trial(round: i64, late: i64, counters: Vec<Metric>) -> Trial {
    let noise = 10.0 + 0.01 * ((round * 7) % 5) as f64;
    let elapsed = times::ELAPSED_SECONDS.of(Scope::Trial, noise).primary();
    Trial {
        metrics: std::iter::once(elapsed).chain(counters).collect(),
        ending: Ending::Completed,
        wall_ns: 10_000_000_000,
        ..Trial::new(TrialHeader {
            started_unix_ms: 2 * round + (late + round) % 2,
            target: "/mnt".to_owned(),
            ..TrialHeader::new(TrialId::new(), "fs_mark", RunMode::Native)
        })
    }
}

fn variant(
    name: &str,
    late: i64,
    rounds: usize,
    counters: &dyn Fn(f64) -> Vec<Metric>,
) -> ComparedVariant {
    let trials = (0_i64..).take(rounds).map(|round| {
        // Noise of one percent that differs between the variants.
        let noise = 1.0 + 0.01 * ((round * (3 + late)) % 4) as f64;
        trial(round, late, counters(noise))
    });
    ComparedVariant {
        name: name.to_owned(),
        factor: Factor::Label,
        against: None,
        trials: trials.collect(),
    }
}

fn counters(flushes: f64, written: f64, discards: f64, noise: f64) -> Vec<Metric> {
    vec![
        device::FLUSHES.of(Scope::Trial, flushes * noise),
        device::WRITTEN_BYTES.of(Scope::Trial, written * noise),
        device::DISCARD_REQUESTS.of(Scope::Trial, discards * noise),
        kernel::DIRTIED_BYTES.of(Scope::Trial, 100.0 * noise),
        device::FLUSHES.of(Scope::Phase("create".to_owned()), flushes * noise),
    ]
}

fn compared(rounds: usize) -> Outcome {
    let base = variant("base", 0, rounds, &|noise| counters(100.0, 1000.0, 0.0, noise));
    let other = variant("other", 1, rounds, &|noise| counters(250.0, 1500.0, 40.0, noise));
    compare(&base, &[other], &ComparisonTerms::default()).unwrap()
}

fn leading(outcome: &Outcome, most: usize) -> (Vec<&str>, usize) {
    let comparisons: Vec<&MetricComparison> = outcome.comparisons.iter().collect();
    let (leading, compared) = leading_counters(&comparisons, most);
    (leading.into_iter().map(|one| one.name.as_str()).collect(), compared)
}

#[test]
fn the_largest_differences_lead_and_equal_counters_are_left_out() {
    let outcome = compared(8);
    let (names, compared) = leading(&outcome, 8);
    let right = [device::DISCARD_REQUESTS.name, device::FLUSHES.name, device::WRITTEN_BYTES.name];
    assert_eq!((names, compared), (right.to_vec(), 4));
    assert_eq!(leading(&outcome, 2).0, right[..2]);
}

#[test]
fn single_trials_lead_by_their_ratio() {
    let outcome = compared(1);
    let (names, _) = leading(&outcome, 8);
    assert_eq!(names[..2], [device::DISCARD_REQUESTS.name, device::FLUSHES.name]);
}

#[test]
fn counters_do_not_make_other_results_uncertain() {
    let outcome = compared(8);
    let find = |name: &str| outcome.comparisons.iter().find(|one| one.name == name).unwrap();
    assert_eq!(find(device::FLUSHES.name).verdict, Verdict::Worse);
    // A single primary result needs no correction.
    let elapsed = find(times::ELAPSED_SECONDS.name);
    assert_eq!(elapsed.p, elapsed.p_adjusted);
}

/// Counts with a verdict beside the elapsed time, whose noise comes from [`trial`].
fn beside_time(outcome: &Outcome) -> Vec<String> {
    let open = outcome.comparisons.iter().find(|one| one.is_open_by_time()).unwrap();
    assert_eq!(open.name, times::ELAPSED_SECONDS.name);
    outcome.counts_decided_beside(open).into_iter().map(MetricComparison::metric).collect()
}

/// Trials whose times vary by up to 40 %, in an order that depends on the variant.
fn noisy(name: &str, late: i64, flushes: f64, work: Option<&str>) -> ComparedVariant {
    let mut noisy = variant(name, late, 8, &|noise| counters(flushes, 1000.0, 0.0, noise));
    for (round, trial) in (0_i64..).zip(&mut noisy.trials) {
        let elapsed = &mut trial.metrics[0];
        elapsed.value *= 1.0 + 0.1 * ((round * (3 + 2 * late) + late) % 5) as f64;
        trial.facts.extend(
            work.map(|value| Fact { name: WorkLimit::FACT.to_owned(), value: value.to_owned() }),
        );
    }
    noisy
}

#[test]
fn counts_are_named_that_decide_where_the_time_is_unclear() {
    let compared = |work| {
        let (base, other) = (noisy("base", 0, 100.0, work), noisy("other", 1, 250.0, work));
        compare(&base, &[other], &ComparisonTerms::default()).unwrap()
    };
    // Written bytes are equal, and the trial-wide flushes repeat those of the only phase.
    assert_eq!(beside_time(&compared(None)), [device::FLUSHES.name]);
    // In time-limited trials, a faster variant has larger counts.
    let timed = compared(Some(WorkLimit::Timed.name()));
    assert!(beside_time(&timed).is_empty());
}

#[test]
fn a_decided_time_needs_no_counts() {
    let outcome = compared(8);
    assert!(outcome.comparisons.iter().all(|one| !one.is_open_by_time()), "{outcome:?}");
}

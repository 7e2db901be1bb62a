//! Documented limits of the methods: exactness up to the limit, and above it an approximate result
//! or an error, without a long computation.
//!
//! Not here: correctness of the figures (`vectors.rs`, `oracle.rs`).

use treering_stats as stats;
use treering_stats::{Scale, StatsError, TestMethod};

/// Distinct values in no particular order: multiples of a number, modulo a number coprime to it.
fn distinct_values(n: usize) -> Vec<f64> {
    (0..n).map(|i| 1.0 + (i * 7_919 % 1_000_003) as f64 / 1_000.0).collect()
}

/// Differences of both signs.
fn values_of_both_signs(n: usize) -> Vec<f64> {
    distinct_values(n).iter().enumerate().map(|(i, x)| if i % 2 == 0 { *x } else { -*x }).collect()
}

#[test]
fn rank_tests_are_exact_up_to_their_limits() {
    let method = |n: usize| stats::signed_rank(&values_of_both_signs(n)).unwrap().method;
    assert_eq!(method(stats::SIGNED_RANK_EXACT_LIMIT), TestMethod::Exact);
    assert_eq!(method(stats::SIGNED_RANK_EXACT_LIMIT + 1), TestMethod::Normal);

    let values = distinct_values(200);
    let unpaired = |a: &[f64], b: &[f64]| stats::mann_whitney(a, b).unwrap().method;
    let half = stats::RANK_SUM_EXACT_LIMIT / 2;
    assert_eq!(unpaired(&values[..half], &values[half..2 * half]), TestMethod::Exact);
    assert_eq!(unpaired(&values[..half], &values[half..=2 * half]), TestMethod::Normal);

    let tied: Vec<f64> = (0..60).map(|i| f64::from(i % 7)).collect();
    let half = stats::RANK_SUM_TIED_LIMIT / 2;
    assert_eq!(unpaired(&tied[..half], &tied[half..2 * half]), TestMethod::Exact);
    assert_eq!(unpaired(&tied[..half], &tied[half..=2 * half]), TestMethod::Normal);
}

#[test]
fn null_distributions_are_listed_up_to_their_limits() {
    let listed = stats::signed_rank_probabilities(stats::MOST_SIGNED_RANKS).unwrap();
    assert_eq!(listed.len(), 500_501);
    assert_eq!(stats::signed_rank_probabilities(stats::MOST_SIGNED_RANKS + 1), None);
    assert!(stats::rank_sum_counts(stats::RANK_SUM_EXACT_LIMIT - 3, 3).is_some());
    assert!(stats::rank_sum_counts(stats::RANK_SUM_EXACT_LIMIT, 1).is_none());
}

#[test]
fn oversized_input_is_refused_at_once() {
    let long = vec![1.0; stats::LONGEST_CHANGE_SERIES + 1];
    let plan = stats::ChangePointPlan::default();
    assert_eq!(
        stats::change_points(&long, &plan),
        Err(StatsError::TooMany {
            limit: stats::LONGEST_CHANGE_SERIES,
            got: stats::LONGEST_CHANGE_SERIES + 1
        })
    );
    assert_eq!(
        stats::rounds_needed(1.0, 1e-3, &stats::PowerPlan::default()),
        Ok(None),
        "more than {} rounds",
        stats::MOST_ROUNDS
    );
}

#[test]
fn values_are_accepted_to_the_edge_of_their_range() {
    let edge = [stats::LARGEST_VALUE, stats::SMALLEST_RATIO_VALUE];
    let comparison = stats::compare_paired(&edge, &edge, Scale::Ratio, stats::ALPHA).unwrap();
    assert_eq!(comparison.estimate, 1.0);
    let beyond = [stats::SMALLEST_RATIO_VALUE / 2.0];
    let refused = stats::compare_paired(&beyond, &beyond, Scale::Ratio, stats::ALPHA);
    assert!(matches!(refused, Err(StatsError::OutOfRange { index: 0, .. })));
    assert!(stats::describe(&[stats::LARGEST_VALUE * 1.01]).is_err());
}

/// Regression, found by a long run of `properties.rs`: the spread of accepted values may exceed
/// their limit.
#[test]
fn the_spread_of_extreme_values_is_still_judged() {
    let (base, variant) = ([0.0, stats::LARGEST_VALUE, -stats::LARGEST_VALUE], [0.0, 0.0]);
    let comparison =
        stats::compare_unpaired(&base, &variant, Scale::Difference, stats::ALPHA).unwrap();
    assert!(comparison.spread.unwrap() > stats::LARGEST_VALUE);
    assert!(stats::check_control(&comparison, stats::ALPHA).is_ok());
    let criteria = stats::Criteria {
        direction: stats::Direction::LowerIsBetter,
        role: stats::CorrectionRole::Primary,
        effect_threshold: 1.0,
    };
    let verdict =
        stats::judge(&stats::ComparisonQuestion { comparison, criteria }, stats::ALPHA).unwrap();
    // Two and three runs are too few to estimate the noise, and the answer is the fewest that can
    // reach significance.
    assert_eq!(
        verdict.finding,
        stats::Finding::Unclear { rounds_needed: Some(stats::RoundsNeeded::exactly(4)) }
    );
}

#[test]
fn differences_below_the_resolution_tie() {
    let base = [100.0; 6];
    let near = base.map(|value| value * (1.0 + stats::LOG_RATIO_RESOLUTION / 3.0));
    let comparison = stats::compare_paired(&base, &near, Scale::Ratio, stats::ALPHA).unwrap();
    assert_eq!((comparison.zeros, comparison.p_value), (6, Some(1.0)));
    let near = base.map(|value| value + 100.0 * stats::RELATIVE_RESOLUTION / 3.0);
    let comparison = stats::compare_paired(&base, &near, Scale::Difference, stats::ALPHA).unwrap();
    assert_eq!((comparison.zeros, comparison.p_value), (6, Some(1.0)));
}

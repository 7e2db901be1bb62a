//! Properties that hold for any input; no input makes a function panic.
//!
//! Not here: figures (`vectors.rs`, `oracle.rs`). Random series mix ordinary numbers with repeated
//! ones, zeros, huge and tiny ones, NaN and infinities.

use proptest::collection::vec;
use proptest::prelude::{Just, Strategy, any, prop_assert, prop_assert_eq, prop_oneof, proptest};
use treering_stats as stats;
use treering_stats::{
    ComparisonQuestion, CorrectionRole, Criteria, Direction, Finding, Scale, StatsError,
};

/// Any number, including NaN, infinities and extreme values.
fn any_number() -> impl Strategy<Value = f64> {
    prop_oneof![
        4 => -100.0..100.0_f64,
        2 => (0..6_i32).prop_map(f64::from),
        1 => any::<f64>(),
        1 => Just(0.0),
        1 => Just(-0.0),
        1 => Just(1e60),
        1 => Just(-1e60),
        1 => Just(5e-324),
        1 => Just(1e-60),
    ]
}

/// Benchmark-like values: positive, occasionally repeated.
fn benchmark_values() -> impl Strategy<Value = f64> {
    prop_oneof![3 => 1.0..1000.0_f64, 1 => (1..9_i32).prop_map(f64::from)]
}

fn pairs(sizes: std::ops::Range<usize>) -> impl Strategy<Value = (Vec<f64>, Vec<f64>)> {
    sizes.prop_flat_map(|n| (vec(benchmark_values(), n), vec(benchmark_values(), n)))
}

fn near(left: f64, right: f64) -> bool {
    (left - right).abs() <= 1e-9 * left.abs().max(right.abs()).max(1.0)
}

/// Checks that the interval of an estimate contains it and is finite.
fn is_finite_around_estimate(estimate: &stats::HodgesLehmann) -> bool {
    estimate.estimate.is_finite()
        && estimate.interval.is_none_or(|interval| {
            interval.contains(estimate.estimate)
                && interval.low.is_finite()
                && interval.high.is_finite()
                && interval.achieved.is_none_or(|achieved| achieved >= interval.confidence - 1e-9)
        })
}

fn is_p(p: f64) -> bool {
    (0.0..=1.0).contains(&p)
}

proptest! {
    #[test]
    fn non_finite_input_is_named(
        mut values in vec(-9.0..9.0_f64, 1..30),
        place in any::<usize>(),
        bad in 0..3_u8,
    ) {
        let place = place % values.len();
        values[place] = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY][usize::from(bad)];
        let refused = |error: Option<StatsError>| match error {
            Some(StatsError::NotFinite { index, .. }) => index == place,
            _ => false,
        };
        let plan = stats::ChangePointPlan::default();
        prop_assert!(refused(stats::hodges_lehmann(&values, 0.95).err()));
        prop_assert!(refused(stats::hodges_lehmann_shift(&values, &[1.0], 0.95).err()));
        prop_assert!(refused(stats::signed_rank(&values).err()));
        prop_assert!(refused(stats::mann_whitney(&values, &[1.0]).err()));
        prop_assert!(refused(stats::describe(&values).err()));
        prop_assert!(refused(stats::change_points(&values, &plan).err()));
        prop_assert!(refused(stats::compare_paired(&values, &values, Scale::Ratio, 0.05).err()));
        prop_assert!(refused(
            stats::compare_unpaired(&values, &values, Scale::Difference, 0.05).err()
        ));
        prop_assert!(refused(stats::theil_sen(&[values.clone(), vec![1.0]].concat(), 0.95).err()));
        prop_assert!(refused(stats::serial_check(&[values, vec![1.0; 9]].concat()).err()));
    }

    #[test]
    fn series_methods_never_panic(
        values in vec(any_number(), 0..40),
        parameter in any_number(),
        count in 0..50_usize,
    ) {
        let _ = stats::quantile(&values, parameter);
        let _ = stats::mean_interval(&values, parameter);
        let _ = stats::student_test(&values, 0.95);
        let _ = stats::signed_rank_at(&values, parameter);
        let _ = stats::signed_rank_normal(&values, true);
        let _ = stats::mann_kendall(&values);
        let _ = stats::theil_sen(&values, 0.95);
        let _ = stats::autocorrelation(&values, count);
        let _ = stats::serial_check(&values);
        let _ = stats::ljung_box(&values, count);
        let _ = stats::split_statistics(&values);
        for adjust in [stats::holm, stats::benjamini_hochberg] {
            let _ = adjust(&values);
        }
        if let Ok(description) = stats::describe(&values) {
            prop_assert!(
                description.mean.is_finite()
                    && description.min <= description.median
                    && description.median <= description.max
            );
        }
        if let Ok(estimate) = stats::hodges_lehmann(&values, 0.95) {
            prop_assert!(is_finite_around_estimate(&estimate), "{estimate:?}");
        }
        let plan = stats::ChangePointPlan { permutations: 9, ..stats::ChangePointPlan::default() };
        if let Ok(changes) = stats::change_points(&values, &plan) {
            prop_assert!(changes.iter().all(|change| change.index < values.len()));
        }
    }

    #[test]
    fn group_methods_never_panic(
        a in vec(any_number(), 0..14),
        b in vec(any_number(), 0..14),
        parameter in any_number(),
    ) {
        let _ = stats::mann_whitney_normal(&a, &b, false);
        let _ = stats::paired_power(3, parameter, 1.0, 0.05);
        let _ = stats::rounds_needed(parameter, 0.02, &stats::PowerPlan::default());
        let _ = stats::smallest_detectable(9, parameter, &stats::PowerPlan::default());
        if let Ok(result) = stats::mann_whitney(&a, &b) {
            prop_assert!(is_p(result.p_value));
        }
        if let Ok(estimate) = stats::hodges_lehmann_shift(&a, &b, 0.95) {
            prop_assert!(is_finite_around_estimate(&estimate), "{estimate:?}");
        }
    }

    #[test]
    fn verdicts_never_panic(
        a in vec(any_number(), 0..14),
        b in vec(any_number(), 0..14),
        threshold in any_number(),
        paired in any::<bool>(),
        ratio in any::<bool>(),
    ) {
        let scale = if ratio { Scale::Ratio } else { Scale::Difference };
        let compare = if paired { stats::compare_paired } else { stats::compare_unpaired };
        if let Ok(comparison) = compare(&a, &b, scale, 0.05) {
            prop_assert!(comparison.estimate.is_finite());
            prop_assert!(comparison.p_value.is_none_or(is_p));
            let contained =
                comparison.interval.is_none_or(|interval| interval.contains(comparison.estimate));
            prop_assert!(contained, "{comparison:?}");
            let criteria = Criteria {
                direction: Direction::HigherIsBetter,
                role: CorrectionRole::Primary,
                effect_threshold: threshold,
            };
            let question = ComparisonQuestion { comparison, criteria };
            let judged = stats::judge_family(&[question; 3], 0.05);
            prop_assert_eq!(judged.is_ok(), (0.0..=1e60).contains(&threshold));
            if let Ok(verdicts) = judged
                && let Finding::Unclear { rounds_needed: Some(needed) } = verdicts[0].finding
            {
                prop_assert!(needed.typical as usize > comparison.runs());
            }
            prop_assert!(stats::check_control(&comparison, 0.05).is_ok());
        }
    }

    #[test]
    fn exchanging_the_sides_mirrors_all_results(
        (base, variant) in pairs(1..25),
        threshold in 0.0..0.2_f64,
    ) {
        let forward = stats::compare_paired(&base, &variant, Scale::Ratio, 0.05).unwrap();
        let backward = stats::compare_paired(&variant, &base, Scale::Ratio, 0.05).unwrap();
        prop_assert!(near(forward.estimate * backward.estimate, 1.0));
        prop_assert_eq!(forward.p_value, backward.p_value);
        if let (Some(interval), Some(inverse)) = (forward.interval, backward.interval) {
            prop_assert!(near(interval.low * inverse.high, 1.0));
            prop_assert!(near(interval.high * inverse.low, 1.0));
        }
        let finding = |comparison, direction| {
            let role = CorrectionRole::Primary;
            let criteria = Criteria { direction, role, effect_threshold: threshold };
            stats::judge(&ComparisonQuestion { comparison, criteria }, 0.05).unwrap().finding
        };
        // Twice the value is better exactly if half the value is worse.
        let judged = finding(forward, Direction::HigherIsBetter);
        let mirrored = match finding(backward, Direction::HigherIsBetter) {
            Finding::Better => Finding::Worse,
            Finding::Worse => Finding::Better,
            same => same,
        };
        prop_assert_eq!(std::mem::discriminant(&judged), std::mem::discriminant(&mirrored));
        // The inverse of the metric, judged in the opposite direction, has the same finding.
        let inverse = finding(backward, Direction::LowerIsBetter);
        prop_assert_eq!(std::mem::discriminant(&judged), std::mem::discriminant(&inverse));
    }

    #[test]
    fn results_do_not_depend_on_the_unit((base, variant) in pairs(6..20), power in -20..20_i32) {
        let unit = 2.0_f64.powi(power);
        let scaled = |values: &[f64]| values.iter().map(|value| value * unit).collect::<Vec<_>>();
        let plain = stats::compare_paired(&base, &variant, Scale::Ratio, 0.05).unwrap();
        let other =
            stats::compare_paired(&scaled(&base), &scaled(&variant), Scale::Ratio, 0.05).unwrap();
        prop_assert_eq!(plain, other);
        let differences = stats::differences(&base, &variant).unwrap();
        let result = stats::signed_rank(&differences).unwrap();
        let two = stats::signed_rank(&scaled(&differences)).unwrap();
        prop_assert_eq!(result, two);
    }

    #[test]
    fn results_do_not_depend_on_the_order_of_rounds(
        (base, variant) in pairs(2..20),
        turn in 0..20_usize,
    ) {
        let rotated = |values: &[f64]| {
            let mut copy = values.to_vec();
            copy.rotate_left(turn % values.len());
            copy
        };
        let comparison = stats::compare_paired(&base, &variant, Scale::Ratio, 0.05).unwrap();
        let two =
            stats::compare_paired(&rotated(&base), &rotated(&variant), Scale::Ratio, 0.05).unwrap();
        prop_assert_eq!((comparison.estimate, comparison.p_value), (two.estimate, two.p_value));
        if !comparison.few_rounds {
            prop_assert_eq!(comparison.interval, two.interval);
        }
    }

    #[test]
    fn a_shift_moves_the_estimate_by_its_size(
        values in vec(-50.0..50.0_f64, 6..60),
        shift in -9.0..9.0_f64,
    ) {
        let shifted: Vec<f64> = values.iter().map(|value| value + shift).collect();
        let narrow = stats::hodges_lehmann(&values, 0.95).unwrap();
        let wide = stats::hodges_lehmann(&shifted, 0.95).unwrap();
        prop_assert!(near(narrow.estimate + shift, wide.estimate));
        let (narrow, wide) = (narrow.interval.unwrap(), wide.interval.unwrap());
        prop_assert!(near(narrow.low + shift, wide.low) && near(narrow.high + shift, wide.high));
    }

    #[test]
    fn higher_confidence_widens_the_interval(values in vec(benchmark_values(), 8..60)) {
        let mut narrower: Option<stats::Interval> = None;
        for confidence in [0.5, 0.8, 0.9, 0.95, 0.99] {
            let interval = stats::hodges_lehmann(&values, confidence).unwrap().interval.unwrap();
            if let Some(narrower) = narrower {
                prop_assert!(narrower.lies_within(interval.low, interval.high));
            }
            narrower = Some(interval);
        }
    }

    /// Without ties and zeros the 95 % interval excludes zero exactly when p is below .05.
    #[test]
    fn interval_and_p_value_agree(values in vec(-1.0..1.5_f64, 6..50)) {
        let test = stats::signed_rank(&values).unwrap();
        let interval = stats::hodges_lehmann(&values, 0.95).unwrap().interval.unwrap();
        if !test.ties && test.zeros == 0 {
            prop_assert_eq!(
                test.p_value < 0.05,
                !interval.contains(0.0),
                "{:?} {:?}",
                test,
                interval
            );
        }
    }

    #[test]
    fn unpaired_interval_and_p_value_agree(
        a in vec(-1.0..1.0_f64, 4..20),
        b in vec(-1.0..2.0_f64, 4..20),
    ) {
        let test = stats::mann_whitney(&a, &b).unwrap();
        let interval = stats::hodges_lehmann_shift(&a, &b, 0.95).unwrap().interval.unwrap();
        if !test.ties {
            prop_assert_eq!(
                test.p_value < 0.05,
                !interval.contains(0.0),
                "{:?} {:?}",
                test,
                interval
            );
        }
    }

    /// Raising the variant in every round never turns better into worse.
    #[test]
    fn improvement_never_worsens_the_verdict(
        (base, variant) in pairs(6..16),
        factor in 1.0..2.0_f64,
    ) {
        let raised: Vec<f64> = variant.iter().map(|value| value * factor).collect();
        let comparison = stats::compare_paired(&base, &variant, Scale::Ratio, 0.05).unwrap();
        let two = stats::compare_paired(&base, &raised, Scale::Ratio, 0.05).unwrap();
        prop_assert!(two.estimate >= comparison.estimate * (1.0 - 1e-12));
        if comparison.estimate >= 1.0 {
            let p = |comparison: &stats::Comparison| comparison.p_value.unwrap();
            let w = |comparison: &stats::Comparison| comparison.interval.unwrap().low;
            prop_assert!(w(&two) >= w(&comparison) * (1.0 - 1e-12));
            prop_assert!(is_p(p(&two)));
        }
    }

    #[test]
    fn adjusted_p_values_keep_order_and_never_fall(p_values in vec(0.0..=1.0_f64, 0..40)) {
        for adjust in [stats::holm, stats::benjamini_hochberg] {
            let adjusted = adjust(&p_values).unwrap();
            prop_assert_eq!(adjusted.len(), p_values.len());
            for (i, p) in p_values.iter().enumerate() {
                prop_assert!(adjusted[i] >= *p - 1e-15 && adjusted[i] <= 1.0);
                for (j, q) in p_values.iter().enumerate() {
                    prop_assert!(p > q || adjusted[i] <= adjusted[j] + 1e-15);
                }
            }
        }
    }

    #[test]
    fn tied_exact_p_values_agree_with_enumeration(values in vec(-4..=4_i32, 1..11)) {
        let differences: Vec<f64> = values.iter().copied().map(f64::from).collect();
        let result = stats::signed_rank(&differences).unwrap();
        let used: Vec<f64> = differences.iter().copied().filter(|value| *value != 0.0).collect();
        let rank = |value: f64| {
            let below = used.iter().filter(|other| other.abs() < value.abs()).count() as f64;
            let equal = used.iter().filter(|other| other.abs() == value.abs()).count() as f64;
            below + f64::midpoint(equal, 1.0)
        };
        let ranks: Vec<f64> = used.iter().map(|value| rank(*value)).collect();
        let centre = ranks.iter().sum::<f64>() / 2.0;
        let observed: f64 =
            used.iter().zip(&ranks).filter(|(value, _)| **value > 0.0).map(|(_, rank)| rank).sum();
        let patterns = 1_u32 << used.len();
        let far = (0..patterns)
            .map(|pattern| {
                ranks
                    .iter()
                    .enumerate()
                    .filter(|(i, _)| pattern >> i & 1 == 1)
                    .map(|(_, rank)| rank)
                    .sum::<f64>()
            })
            .filter(|sum| (sum - centre).abs() >= (observed - centre).abs())
            .count();
        prop_assert!(near(result.p_value, far as f64 / f64::from(patterns)));
    }

    #[test]
    fn fewer_rounds_are_needed_for_larger_effects(
        spread in 0.001..0.2_f64,
        margin in 0.005..0.2_f64,
    ) {
        let plan = stats::PowerPlan::default();
        let needed =
            |margin| stats::rounds_needed(spread, margin, &plan).unwrap().unwrap_or(u32::MAX);
        prop_assert!(needed(margin * 1.2) <= needed(margin));
        let power = |rounds| stats::paired_power(rounds, margin, spread, 0.05).unwrap();
        prop_assert!(power(8) <= power(9) + 1e-6);
        if needed(margin) > 6 && needed(margin) < 10_000 {
            prop_assert!(power(needed(margin)) >= 0.8 && power(needed(margin) - 1) < 0.8);
        }
    }

    #[test]
    fn a_reversed_series_has_a_trend_of_opposite_sign(values in vec(-9.0..9.0_f64, 3..40)) {
        let reversed: Vec<f64> = values.iter().rev().copied().collect();
        let (first, second) =
            (stats::mann_kendall(&values).unwrap(), stats::mann_kendall(&reversed).unwrap());
        prop_assert_eq!((first.s, first.p_value), (-second.s, second.p_value));
        let (first, second) =
            (stats::theil_sen(&values, 0.9).unwrap(), stats::theil_sen(&reversed, 0.9).unwrap());
        prop_assert!(near(first.slope, -second.slope));
        prop_assert!(first.interval.is_none_or(|interval| interval.contains(first.slope)));
    }
}

//! Campaigns of every odd kind with the gate's answer: noise of several shapes, stalls, equal and
//! zero values, missing rounds, and units of counts. Each has a fixed seed, and values in the order
//! of time.

use treering_analysis::compare::{
    ComparisonCautionCode as Code, ComparisonTerms, Gate, GateReason, compare,
};
use treering_model::{BetterDirection, Unit};

use crate::campaign::variants;
use crate::noise::SeededNoise;

/// A trial of the contender (`true`) or the baseline, with its value.
type PlantedTrial = (bool, f64);

/// Name, trials, unit, the gate's answer, and cautions among those that stop it.
type PlantedCase = (&'static str, Vec<PlantedTrial>, Unit, Gate, &'static [Code]);

/// Rounds in random order, with the value of each side in each round.
fn rounds(
    count: u32,
    noise: &mut SeededNoise,
    mut value: impl FnMut(bool, u32, &mut SeededNoise) -> f64,
) -> Vec<PlantedTrial> {
    let mut planted = Vec::new();
    let mut goes_first = false;
    for round in 0..count {
        // In each pair of rounds either side goes first once, so that no order is one-sided.
        goes_first = if round % 2 == 0 { noise.uniform() < 0.5 } else { !goes_first };
        for side in [goes_first, !goes_first] {
            planted.push((side, value(side, round, noise)));
        }
    }
    planted
}

/// The gate's answer for times in milliseconds, or for values of another unit, with the cautions
/// that stop it.
fn answer(planted: &[PlantedTrial], unit: Unit) -> (Gate, Vec<Code>) {
    let (order, values): (Vec<bool>, Vec<f64>) = planted.iter().copied().unzip();
    let mut sides = variants(&order, &values);
    for trial in sides.iter_mut().flat_map(|side| &mut side.trials) {
        for metric in &mut trial.metrics {
            (metric.unit, metric.better) = (unit, BetterDirection::Lower);
        }
    }
    let [base, other] = sides;
    let outcome = compare(&base, &[other], &ComparisonTerms::default()).unwrap();
    let reasons = Gate::reasons(&outcome).into_iter();
    let code = |reason| if let GateReason::Caution(code) = reason { Some(code) } else { None };
    (Gate::decide(&outcome), reasons.filter_map(code).collect())
}

/// A time of 100 that varies by 2 %.
fn normal(noise: &mut SeededNoise) -> f64 {
    100.0 * (0.02 * noise.normal()).exp()
}

/// A time of 100 with double-exponential noise of 2 %.
fn laplace(noise: &mut SeededNoise) -> f64 {
    let size = -noise.uniform().ln() * 0.02 / 2.0_f64.sqrt();
    100.0 * (if noise.uniform() < 0.5 { size } else { -size }).exp()
}

/// A time of at least 98 with exponential noise of 2 %.
fn skewed(noise: &mut SeededNoise) -> f64 {
    98.0 - 2.0 * noise.uniform().ln()
}

/// Times that take one of two values.
fn either(low: f64, high: f64, noise: &mut SeededNoise) -> f64 {
    if noise.uniform() < 0.5 { low } else { high }
}

#[test]
fn differences_in_noise_of_any_shape_are_found_and_equal_sides_never_fail() {
    let shapes: [fn(&mut SeededNoise) -> f64; 3] = [normal, laplace, skewed];
    for (number, shape) in (70..).zip(shapes) {
        let mut noise = SeededNoise(number);
        let (mut failed, mut found) = (0, 0);
        for _ in 0..60 {
            let same = rounds(12, &mut noise, |_, _, noise| shape(noise));
            failed += usize::from(answer(&same, Unit::Seconds).0 == Gate::Worse);
            let slower =
                rounds(12, &mut noise, |new, _, noise| shape(noise) * if new { 1.1 } else { 1.0 });
            found += usize::from(answer(&slower, Unit::Seconds).0 == Gate::Worse);
        }
        assert!(failed <= 3 && found >= 51, "shape {number}: {failed} and {found} of 60");
    }
}

#[test]
fn planted_campaigns_have_the_answer_of_their_kind() {
    let mut noise = SeededNoise(7);
    let noise = &mut noise;
    let stalls = |of: &'static [u32], times: f64| {
        move |new: bool, round: u32, noise: &mut SeededNoise| {
            normal(noise) * if new && of.contains(&round) { times } else { 1.0 }
        }
    };
    let unequal = |count: u32, more: u32, noise: &mut SeededNoise| {
        let mut planted =
            rounds(count, noise, |new, _, noise| normal(noise) * if new { 1.2 } else { 1.0 });
        planted.extend((0..more).map(|_| (false, normal(noise))));
        planted
    };
    let zero_to_few = |new: bool, _: u32, noise: &mut SeededNoise| {
        if new { either(3.0, 5.0, noise) } else { 0.0 }
    };
    let cases: [PlantedCase; 17] = [
        ("equal times", rounds(10, noise, |_, _, _| 100.0), Unit::Seconds, Gate::Pass, &[]),
        (
            "coarse clocks",
            rounds(12, noise, |_, _, noise| either(10.0, 11.0, noise)),
            Unit::Seconds,
            Gate::Unclear,
            &[],
        ),
        (
            "coarse clocks and a slower side",
            rounds(12, noise, |new, _, noise| {
                either(10.0, 11.0, noise) + if new { 2.0 } else { 0.0 }
            }),
            Unit::Seconds,
            Gate::Worse,
            &[],
        ),
        ("one stall", rounds(12, noise, stalls(&[5], 10.0)), Unit::Seconds, Gate::Unclear, &[]),
        (
            "three stalls",
            rounds(12, noise, stalls(&[2, 6, 9], 3.0)),
            Unit::Seconds,
            Gate::Unclear,
            &[],
        ),
        (
            "stalls of both sides at once",
            rounds(12, noise, |_, round, noise| normal(noise) * if round == 3 { 5.0 } else { 1.0 }),
            Unit::Seconds,
            Gate::Pass,
            &[],
        ),
        (
            "a drift that both sides share",
            rounds(12, noise, |_, round, noise| normal(noise) * (1.0 + 0.05 * f64::from(round))),
            Unit::Seconds,
            Gate::Pass,
            &[],
        ),
        (
            "seven times the scatter",
            rounds(14, noise, |new, _, noise| {
                100.0 * (noise.normal() * if new { 0.15 } else { 0.02 }).exp()
            }),
            Unit::Seconds,
            Gate::Unclear,
            &[],
        ),
        (
            "the slower of two speeds in most rounds",
            rounds(16, noise, |new, round, noise| {
                let is_slow = new && round % 4 > 0;
                (0.005 * noise.normal()).exp() * if is_slow { 120.0 } else { 100.0 }
            }),
            Unit::Seconds,
            Gate::Worse,
            &[],
        ),
        ("no errors", rounds(8, noise, |_, _, _| 0.0), Unit::Count, Gate::Pass, &[]),
        ("errors from zero", rounds(10, noise, zero_to_few), Unit::Count, Gate::Worse, &[]),
        (
            "values below zero",
            rounds(10, noise, |_, _, noise| -normal(noise)),
            Unit::Count,
            Gate::Pass,
            &[],
        ),
        (
            "from below zero to above",
            rounds(10, noise, |new, _, noise| if new { normal(noise) } else { -normal(noise) }),
            Unit::Count,
            Gate::Worse,
            &[],
        ),
        ("two rounds", unequal(2, 0, noise), Unit::Seconds, Gate::Unclear, &[]),
        ("five rounds", unequal(5, 0, noise), Unit::Seconds, Gate::Unclear, &[]),
        (
            "six further trials of the old side",
            unequal(12, 6, noise),
            Unit::Seconds,
            Gate::Unclear,
            &[Code::Unpaired],
        ),
        (
            "a side that becomes slower by one per cent a round",
            rounds(20, noise, |new, round, noise| {
                normal(noise) * if new { 1.0 + 0.01 * f64::from(round) } else { 1.0 }
            }),
            Unit::Seconds,
            Gate::Unclear,
            &[Code::Drifting],
        ),
    ];
    for (name, planted, unit, gate, codes) in cases {
        let (found, stopping) = answer(&planted, unit);
        assert_eq!(found, gate, "{name}: {stopping:?}");
        assert!(codes.iter().all(|code| stopping.contains(code)), "{name}: {stopping:?}");
        assert!(!codes.is_empty() || stopping.is_empty(), "{name}: {stopping:?}");
    }
}

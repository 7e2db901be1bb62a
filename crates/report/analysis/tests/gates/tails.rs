//! A side with occasional stalls is not the same, and noise without stalls is seldom mistaken for
//! them.
#![expect(clippy::disallowed_macros, reason = "the figures are those of docs/evidence/truth.md")]

use treering_analysis::compare::{ComparisonCautionCode as Code, MetricComparison, Verdict};

use crate::campaign::{Answers, compared, rounds};
use crate::noise::SeededNoise;

/// Cautions about the order of rounds and about drift, which are not tested here.
const ACCEPTED: [Code; 2] = [Code::Drifting, Code::SerialRounds];

#[derive(Clone, Copy, Debug)]
enum NoiseKind {
    Normal,
    HeavyTailed,
    LogNormal,
}

const KINDS: [NoiseKind; 3] = [NoiseKind::Normal, NoiseKind::HeavyTailed, NoiseKind::LogNormal];

fn time(kind: NoiseKind, variation: f64, noise: &mut SeededNoise) -> f64 {
    match kind {
        NoiseKind::Normal => (1.0 + variation * noise.normal()).max(0.05),
        NoiseKind::HeavyTailed => {
            let squares: f64 = (0..3).map(|_| noise.normal().powi(2)).sum();
            (1.0 + variation * noise.normal() / squares.sqrt()).max(0.05)
        }
        NoiseKind::LogNormal => ((variation * variation).ln_1p().sqrt() * noise.normal()).exp(),
    }
}

/// Counts of answers over comparisons of the same size.
#[derive(Clone, Copy, Debug, Default)]
struct TailAnswers {
    same: usize,
    same_withheld: usize,
    notable: usize,
    one_sided: usize,
    gate: Answers,
}

impl TailAnswers {
    fn of(
        campaigns: usize,
        count: usize,
        noise: &mut SeededNoise,
        mut time: impl FnMut(bool, &mut SeededNoise) -> f64,
    ) -> Self {
        let mut answers = Self::default();
        for _ in 0..campaigns {
            let order = rounds(count, || noise.uniform() < 0.5);
            let rates: Vec<f64> = order.iter().map(|is_new| 100.0 / time(*is_new, noise)).collect();
            let outcome = compared(&order, &rates);
            let primary: &MetricComparison = outcome.primary_of("new").next().unwrap();
            answers.same += usize::from(primary.verdict == Verdict::Same);
            answers.same_withheld += usize::from(primary.same_withheld);
            answers.notable += usize::from(primary.notable_tails().is_some());
            let is_one_sided = primary.tails.is_some_and(|tails| tails.is_one_sided());
            answers.one_sided += usize::from(is_one_sided);
            answers.gate.count(outcome, &ACCEPTED);
        }
        answers
    }
}

#[test]
fn a_side_that_stalls_in_one_round_of_ten_is_not_the_same() {
    let mut noise = SeededNoise(41);
    let answers = TailAnswers::of(40, 30, &mut noise, |is_new, noise| {
        let stall = if is_new && noise.uniform() < 0.1 { 2.0 } else { 1.0 };
        stall * time(NoiseKind::Normal, 0.02, noise)
    });
    println!("stalls in 30 rounds: {answers:?}");
    assert!(answers.same <= 4 && answers.gate.pass <= 4, "{answers:?}");
    // With more rounds, Fisher's test of the counts detects the stalls.
    let answers = TailAnswers::of(20, 100, &mut noise, |is_new, noise| {
        let stall = if is_new && noise.uniform() < 0.1 { 2.0 } else { 1.0 };
        stall * time(NoiseKind::Normal, 0.02, noise)
    });
    println!("stalls in 100 rounds: {answers:?}");
    assert!(answers.one_sided >= 16 && answers.same == 0, "{answers:?}");
}

/// Stalls that both sides have by chance are no difference in Fisher's test.
#[test]
fn stalls_of_both_sides_seldom_differ_by_the_exact_test() {
    let mut noise = SeededNoise(42);
    let answers = TailAnswers::of(200, 30, &mut noise, |_, noise| {
        let stall = if noise.uniform() < 0.1 { 2.0 } else { 1.0 };
        stall * time(NoiseKind::Normal, 0.02, noise)
    });
    println!("stalls of both: {answers:?}");
    assert!(answers.one_sided <= 10, "{answers:?}");
}

#[test]
fn honest_noise_is_seldom_called_outlying_and_can_be_the_same() {
    let mut noise = SeededNoise(43);
    for kind in KINDS {
        for variation in [0.02, 0.05, 0.1, 0.3] {
            for count in [10, 30] {
                let answers = TailAnswers::of(100, count, &mut noise, |_, noise| {
                    time(kind, variation, noise)
                });
                println!("{kind:?} {variation} {count}: {answers:?}");
                assert!(answers.one_sided <= 5, "{kind:?} {variation} {count}: {answers:?}");
                assert!(answers.notable <= 5, "{kind:?} {variation} {count}: {answers:?}");
            }
        }
        let answers = TailAnswers::of(100, 30, &mut noise, |_, noise| time(kind, 0.02, noise));
        assert!(answers.same >= 90, "{kind:?}: {answers:?}");
    }
}

//! Cross-check against `anofox-statistics`, an independent implementation that follows R.
//!
//! Not here: fixed figures (`vectors.rs`). Data are seeded random series of many sizes. They have
//! no ties where the other implementation, like R, deviates from the plain definition on ties.

use anofox_statistics as oracle;
use oracle::{Alternative, PAdjustMethod, TTestKind};
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use treering_stats as stats;

struct RandomSource(Xoshiro256PlusPlus);

impl RandomSource {
    fn seeded(seed: u64) -> Self {
        Self(Xoshiro256PlusPlus::seed_from_u64(seed))
    }

    /// Random number between 0 and 1 that never repeats.
    fn unit(&mut self) -> f64 {
        (self.0.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
    }

    fn series(&mut self, n: usize, shift: f64) -> Vec<f64> {
        (0..n).map(|_| shift + 10.0 * self.unit() + self.unit() * self.unit()).collect()
    }

    /// Random integers 1..=8, which give many ties.
    fn tied(&mut self, n: usize) -> Vec<f64> {
        (0..n).map(|_| (8.0 * self.unit()).floor() + 1.0).collect()
    }
}

#[track_caller]
fn close(actual: f64, expected: f64, relative: f64) {
    let room = relative * expected.abs().max(1e-6);
    assert!((actual - expected).abs() <= room, "found {actual}, oracle {expected}");
}

#[test]
fn exact_mann_whitney_with_its_interval() {
    let mut source = RandomSource::seeded(1);
    for (m, n) in [(4, 4), (5, 9), (9, 5), (10, 10), (3, 20), (20, 21), (30, 19)] {
        for shift in [0.0, 2.0, 6.0] {
            let (a, b) = (source.series(m, 0.0), source.series(n, shift));
            let theirs =
                oracle::mann_whitney_u(&b, &a, Alternative::TwoSided, true, true, Some(0.95), None)
                    .unwrap();
            let ours = stats::mann_whitney(&a, &b).unwrap();
            close(ours.u_b, theirs.statistic, 1e-12);
            close(ours.p_value, theirs.p_value, 1e-9);
            let shift = stats::hodges_lehmann_shift(&a, &b, 0.95).unwrap();
            close(shift.estimate, theirs.estimate.unwrap(), 1e-9);
            if let (false, Some(interval), Some(expected)) =
                (shift.few_rounds, shift.interval, theirs.conf_int)
            {
                close(interval.low, expected.lower, 1e-9);
                close(interval.high, expected.upper, 1e-9);
            }
        }
    }
}

#[test]
fn tied_mann_whitney_by_the_normal_approximation() {
    let mut source = RandomSource::seeded(2);
    for (m, n) in [(6, 7), (12, 9), (60, 70), (300, 200)] {
        let (a, b) = (source.tied(m), source.tied(n));
        for correction in [true, false] {
            let two_sided = Alternative::TwoSided;
            let theirs =
                oracle::mann_whitney_u(&b, &a, two_sided, correction, false, None, None).unwrap();
            let ours = stats::mann_whitney_normal(&a, &b, correction).unwrap();
            close(ours.p_value, theirs.p_value, 1e-9);
        }
    }
}

#[test]
fn exact_signed_rank_with_its_interval() {
    let mut source = RandomSource::seeded(3);
    for n in [6, 7, 10, 15, 20, 33, 49] {
        for shift in [-5.0, -5.5, -4.0, -7.0] {
            let differences = source.series(n, shift);
            let zeros = vec![0.0; n];
            let theirs = oracle::wilcoxon_signed_rank(
                &differences,
                &zeros,
                Alternative::TwoSided,
                true,
                true,
                Some(0.95),
                None,
            )
            .unwrap();
            let ours = stats::signed_rank(&differences).unwrap();
            close(ours.w_plus, theirs.statistic, 1e-12);
            close(ours.p_value, theirs.p_value, 1e-9);
            let centre = stats::hodges_lehmann(&differences, 0.95).unwrap();
            let (interval, expected) = (centre.interval.unwrap(), theirs.conf_int.unwrap());
            close(centre.estimate, theirs.estimate.unwrap(), 1e-9);
            close(interval.low, expected.lower, 1e-9);
            close(interval.high, expected.upper, 1e-9);
        }
    }
}

#[test]
fn large_signed_rank_by_the_normal_approximation() {
    let mut source = RandomSource::seeded(4);
    for n in [60, 200, 1_000] {
        let (x, y) = (source.tied(n), source.tied(n));
        let theirs =
            oracle::wilcoxon_signed_rank(&x, &y, Alternative::TwoSided, true, false, None, None)
                .unwrap();
        let ours = stats::signed_rank(&stats::differences(&y, &x).unwrap()).unwrap();
        close(ours.w_plus, theirs.statistic, 1e-12);
        close(ours.p_value, theirs.p_value, 1e-9);
    }
}

#[test]
fn t_tests_agree() {
    let mut source = RandomSource::seeded(5);
    for n in [2, 3, 5, 10, 40] {
        let (a, b) = (source.series(n, 0.0), source.series(n, 1.0));
        let two_sided = || Alternative::TwoSided;
        let theirs =
            oracle::t_test(&b, &a, TTestKind::Paired, two_sided(), 0.0, Some(0.95)).unwrap();
        let ours = stats::student_test(&stats::differences(&a, &b).unwrap(), 0.95).unwrap();
        close(ours.t, theirs.statistic, 1e-11);
        close(ours.p_value, theirs.p_value, 1e-8);
    }
}

#[test]
fn adjusted_p_values_match() {
    type Adjust = fn(&[f64]) -> Result<Vec<f64>, stats::StatsError>;
    let mut source = RandomSource::seeded(7);
    let cases: [(Adjust, PAdjustMethod); 2] =
        [(stats::holm, PAdjustMethod::Holm), (stats::benjamini_hochberg, PAdjustMethod::BH)];
    for n in [1, 2, 7, 50, 400] {
        let p_values: Vec<f64> = (0..n).map(|_| source.unit().powi(3)).collect();
        for (adjust, method) in &cases {
            let theirs = oracle::p_adjust(&p_values, *method);
            for (actual, expected) in adjust(&p_values).unwrap().into_iter().zip(theirs) {
                close(actual, expected, 1e-12);
            }
        }
    }
}

#[test]
fn serial_statistics_match() {
    let mut source = RandomSource::seeded(8);
    for n in [8, 25, 90] {
        let x = source.series(n, 0.0);
        let theirs = oracle::ljung_box(&x, 5, 0).unwrap();
        let ours = stats::ljung_box(&x, 5).unwrap();
        close(ours.q, theirs.statistic, 1e-11);
        close(ours.p_value, theirs.p_value, 1e-9);
        let theirs = oracle::acf(&x, 6).unwrap();
        for (actual, expected) in
            stats::autocorrelation(&x, 6).unwrap().into_iter().zip(theirs.values)
        {
            close(actual, expected, 1e-11);
        }
    }
}

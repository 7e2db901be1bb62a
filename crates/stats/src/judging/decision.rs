//! Interval that agrees with a corrected verdict: it excludes "no difference" exactly if the
//! corrected test is significant.
//!
//! Not here: the uncorrected 95 % interval of one comparison (`hodges_lehmann`), which a corrected
//! test may contradict, and the corrections (`multiplicity`).
//!
//! Sources: Holm, Scandinavian Journal of Statistics 6, 1979 (the level of each step); Benjamini &
//! Yekutieli, Journal of the American Statistical Association 100, 2005 (intervals of selected
//! parameters).

use crate::error::StatsError;
use crate::inference::null_counts::{CutRank, rank_sum_cuts, signed_rank_cuts};
use crate::input::{largest_magnitude, require_count, require_probability, sorted};
use crate::interval::{Interval, IntervalMethod};
use crate::judging::comparison::{RunPairing, Scale};
use crate::judging::multiplicity::{benjamini_hochberg, holm};
use crate::judging::pair_selection::{AscendingRows, pairwise_differences, walsh_averages};
use crate::judging::rounds::{LOG_RATIO_RESOLUTION, RELATIVE_RESOLUTION, differences, log_ratios};
use crate::judging::verdict::CorrectionRole;

/// Significance level at which a family's correction decided each member, in input order: a member
/// is a discovery exactly if its p-value is below its level.
///
/// In a primary family this is the step of Holm's procedure that rejected the member, or the step
/// at which the procedure stopped. In an exploratory family it is alpha times the share of
/// discoveries (at least one), as recommended by Benjamini and Yekutieli.
pub fn decision_levels(
    role: CorrectionRole,
    p_values: &[f64],
    alpha: f64,
) -> Result<Vec<f64>, StatsError> {
    require_probability("alpha", alpha)?;
    let adjusted = match role {
        CorrectionRole::Primary => holm(p_values)?,
        CorrectionRole::Exploratory => benjamini_hochberg(p_values)?,
    };
    let hypotheses = p_values.len() as f64;
    let rejected = adjusted.iter().filter(|p| **p < alpha).count() as f64;
    let level = |(p, adjusted): (&f64, &f64)| match role {
        CorrectionRole::Exploratory => alpha * rejected.max(1.0) / hypotheses,
        // The step of a rejected member has its own factor, which is its adjusted p over its p.
        CorrectionRole::Primary if *adjusted < alpha && *p > 0.0 => alpha * p / adjusted,
        CorrectionRole::Primary => alpha / (hypotheses - rejected).max(1.0),
    };
    Ok(p_values.iter().zip(&adjusted).map(level).collect())
}

/// Distribution-free interval of a ratio or a difference at this level (1 - confidence) that agrees
/// with the test: it excludes "no difference" exactly if `decided`. `None` if unbounded, because so
/// few runs cannot reach the confidence.
///
/// The ends are cut as in the Hodges-Lehmann interval. If ties, rounds without any difference or an
/// approximate p-value make test and cut disagree, the next cut that agrees is used. If the
/// estimate itself is "no difference", the interval ends there.
pub fn decision_interval(
    (base, variant): (&[f64], &[f64]),
    scale: Scale,
    design: RunPairing,
    level: f64,
    decided: bool,
) -> Result<Option<Interval>, StatsError> {
    require_probability("level", level)?;
    require_count(base.len(), 1)?;
    require_count(variant.len(), 1)?;
    let resolution = match scale {
        Scale::Ratio => LOG_RATIO_RESOLUTION,
        Scale::Difference => {
            RELATIVE_RESOLUTION * largest_magnitude(base).max(largest_magnitude(variant))
        }
    };
    let requirements = IntervalRequirements { level, decided, resolution };
    let interval = match design {
        RunPairing::Paired => {
            let working = match scale {
                Scale::Ratio => log_ratios(base, variant)?,
                Scale::Difference => differences(base, variant)?,
            };
            let ascending = sorted(&working);
            let [cut] = signed_rank_cuts(working.len(), [level / 2.0]);
            requirements.cut(&walsh_averages(&ascending), cut, IntervalMethod::SignedRank)
        }
        RunPairing::Unpaired => {
            let (a, b) = match scale {
                Scale::Ratio => (logarithms(base)?, logarithms(variant)?),
                Scale::Difference => (sorted(base), sorted(variant)),
            };
            let [cut] = rank_sum_cuts(a.len(), b.len(), [level / 2.0]);
            requirements.cut(&pairwise_differences(&a, &b), cut, IntervalMethod::RankSum)
        }
    };
    Ok(interval.map(|interval| interval.mapped(|end| scale.to_reported(end))))
}

/// Logarithms in ascending order.
fn logarithms(values: &[f64]) -> Result<Vec<f64>, StatsError> {
    let ones = vec![1.0; values.len()];
    Ok(sorted(&log_ratios(&ones, values)?))
}

/// Requirements on the interval: level, and agreement with the test.
struct IntervalRequirements {
    level: f64,
    decided: bool,
    /// Differences up to this size count as zero.
    resolution: f64,
}

impl IntervalRequirements {
    fn cut<V: Fn(usize, usize) -> f64>(
        &self,
        pairs: &AscendingRows<V>,
        cut: Option<CutRank>,
        method: IntervalMethod,
    ) -> Option<Interval> {
        let cut = cut?;
        let total = pairs.total();
        let ends = |k: usize| {
            (self.snapped_to_zero(pairs.nth(k - 1)), self.snapped_to_zero(pairs.nth(total - k)))
        };
        let excludes_equality = |k: usize| {
            let (low, high) = ends(k);
            low > 0.0 || high < 0.0
        };
        // Intervals of larger k are nested in those of smaller k.
        let first = first_in(1, total.div_ceil(2), excludes_equality);
        let k = match (self.decided, excludes_equality(cut.k)) {
            (true, false) => first.unwrap_or(cut.k),
            (false, true) => first.map(|first| first - 1)?,
            (true, true) | (false, false) => cut.k,
        };
        if k == 0 {
            return None;
        }
        let (low, high) = ends(k);
        let achieved = cut.achieved.filter(|_| k == cut.k);
        Some(Interval { low, high, confidence: 1.0 - self.level, achieved, method })
    }

    fn snapped_to_zero(&self, value: f64) -> f64 {
        if value.abs() <= self.resolution { 0.0 } else { value }
    }
}

/// Smallest number in `low..=high` for which a monotone condition holds.
fn first_in(low: usize, high: usize, holds: impl Fn(usize) -> bool) -> Option<usize> {
    let (mut from, mut to) = (low, high + 1);
    while from < to {
        let middle = usize::midpoint(from, to);
        if holds(middle) { to = middle } else { from = middle + 1 }
    }
    (from <= high).then_some(from)
}

#[cfg(test)]
mod tests {
    use super::{decision_interval, decision_levels};
    use crate::{
        ALPHA, CorrectionRole, RunPairing, Scale, benjamini_hochberg, compare_paired,
        compare_unpaired,
    };
    use crate::{holm, smallest_rounds};
    use proptest::collection::vec;
    use proptest::prelude::{ProptestConfig, Strategy, any, proptest};

    /// By hand with Holm: 3 × .01 and 2 × .02 are below .05, .2 is not.
    #[test]
    fn interval_levels_follow_the_holm_steps() {
        let levels = decision_levels(CorrectionRole::Primary, &[0.2, 0.01, 0.02], ALPHA).unwrap();
        let near = |left: f64, right: f64| (left - right).abs() < 1e-12;
        assert!(near(levels[0], 0.05) && near(levels[1], 0.05 / 3.0) && near(levels[2], 0.025));
        let none = decision_levels(CorrectionRole::Primary, &[0.2, 0.04, 0.3], ALPHA).unwrap();
        assert!(none.iter().all(|level| near(*level, 0.05 / 3.0)));
        let explored =
            decision_levels(CorrectionRole::Exploratory, &[0.001, 0.03, 0.9], ALPHA).unwrap();
        assert!(explored.iter().all(|level| near(*level, 0.05 * 2.0 / 3.0)));
        assert!(decision_levels(CorrectionRole::Primary, &[], ALPHA).unwrap().is_empty());
    }

    /// Regression: with 9 of 10 rounds lower, a page showed 'unclear' next to the interval 0.64 to
    /// 0.90.
    #[test]
    fn an_unclear_row_of_a_family_has_an_interval_across_1() {
        let ratios = [0.70f64, 0.60, 0.82, 0.90, 0.55, 0.75, 0.85, 0.66, 0.95, 1.05];
        let base = [100.0; 10];
        let variant = ratios.map(|ratio| 100.0 * ratio);
        let alone = compare_paired(&base, &variant, Scale::Ratio, ALPHA).unwrap();
        assert!(alone.interval.unwrap().high < 1.0);
        let p = alone.p_value.unwrap();
        assert!(p < ALPHA && p * 18.0 > ALPHA);
        let level = decision_levels(CorrectionRole::Primary, &[p; 18], ALPHA).unwrap()[0];
        let sides = (&base[..], &variant[..]);
        let shown =
            decision_interval(sides, Scale::Ratio, RunPairing::Paired, level, false).unwrap();
        assert!(shown.is_none_or(|shown| shown.contains(1.0)), "{shown:?}");
    }

    #[test]
    fn too_few_rounds_have_no_bounds() {
        let (base, variant) = ([100.0; 6], [300.0, 301.0, 302.0, 303.0, 304.0, 305.0]);
        let sides = (&base[..], &variant[..]);
        let at = |level, decided| {
            decision_interval(sides, Scale::Ratio, RunPairing::Paired, level, decided).unwrap()
        };
        assert!(at(0.05, true).unwrap().low > 1.0);
        assert_eq!(smallest_rounds(9, ALPHA).unwrap(), 9);
        assert_eq!(at(0.05 / 9.0, false), None);
    }

    /// Generates a family of comparisons. Each has a shift and rounds with noise in discrete steps,
    /// so that ties and rounds without any difference occur.
    fn family() -> impl Strategy<Value = Vec<(f64, Vec<(i8, i8)>)>> {
        vec((-6.0..6.0f64, vec((any::<i8>(), any::<i8>()), 2..26)), 1..8)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(100))]
        #[test]
        fn an_interval_leaves_out_1_exactly_when_the_corrected_test_decides(
            family in family(),
            coarse in 0u8..3,
            paired in any::<bool>(),
            primary in any::<bool>(),
        ) {
            let role = if primary { CorrectionRole::Primary } else { CorrectionRole::Exploratory };
            let step = [1.0f64, 16.0, 64.0][usize::from(coarse)];
            let value = |noise: i8, shift: f64| {
                100.0 * ((f64::from(noise) / step).trunc() * step / 500.0 + shift / 20.0).exp()
            };
            let sides: Vec<(Vec<f64>, Vec<f64>)> = family
                .iter()
                .map(|(shift, rounds)| {
                    let shift = if coarse == 0 { *shift } else { shift.trunc() };
                    let base = rounds.iter().map(|(noise, _)| value(*noise, 0.0));
                    (base.collect(), rounds.iter().map(|(_, noise)| value(*noise, shift)).collect())
                })
                .collect();
            let design = if paired { RunPairing::Paired } else { RunPairing::Unpaired };
            let compare = |base: &[f64], variant: &[f64]| match design {
                RunPairing::Paired => compare_paired(base, variant, Scale::Ratio, ALPHA),
                RunPairing::Unpaired => compare_unpaired(base, variant, Scale::Ratio, ALPHA),
            };
            let comparisons: Vec<crate::Comparison> =
                sides.iter().map(|(b, v)| compare(b, v).unwrap()).collect();
            let p: Vec<f64> = comparisons.iter().map(|row| row.p_value.unwrap()).collect();
            let adjusted = if primary { holm(&p) } else { benjamini_hochberg(&p) }.unwrap();
            let levels = decision_levels(role, &p, ALPHA).unwrap();
            for (place, (base, variant)) in sides.iter().enumerate() {
                let decided = adjusted[place] < ALPHA;
                // For a p-value equal to the level, the result depends on rounding.
                let is_tied = (adjusted[place] - ALPHA).abs() < 1e-12;
                let is_below = p[place] < levels[place] * (1.0 - 1e-12);
                assert!(is_tied || decided == is_below, "{p:?} {levels:?}");
                let sides = (base.as_slice(), variant.as_slice());
                let shown =
                    decision_interval(sides, Scale::Ratio, design, levels[place], decided).unwrap();
                if decided && comparisons[place].effect().abs() < 1e-9 {
                    continue; // the estimate itself is no difference
                }
                let excludes_equality = shown.is_some_and(|shown| !shown.contains(1.0));
                assert_eq!(excludes_equality, decided, "{shown:?} {:?}", comparisons[place]);
            }
        }
    }
}

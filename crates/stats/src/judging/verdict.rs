//! Verdicts: results of a family of comparisons, in six categories.
//!
//! Not here: the comparison itself (`comparison`), and words or colours of verdicts. A verdict
//! needs three things: a p-value corrected for all comparisons of the family, an effect threshold,
//! and enough rounds. If one is missing, the finding is `Unclear`, with the rounds needed, or
//! `SingleRun`.

use crate::error::StatsError;
use crate::input::{LARGEST_VALUE, require_probability};
use crate::judging::comparison::{Comparison, RunPairing, Scale};
use crate::judging::multiplicity::{benjamini_hochberg, holm};
use crate::judging::power::{PowerPlan, smallest_rounds, smallest_runs_per_side};
use crate::judging::stopping::level_of_next_look;
use crate::series::settle::{RoundsNeeded, UnclearComparison};

/// Default effect threshold for throughput and CPU time: 2 %.
pub const THRESHOLD_THROUGHPUT: f64 = 0.02;

/// Default effect threshold for the 99th percentile of latency: 5 %.
pub const THRESHOLD_LATENCY_P99: f64 = 0.05;

/// Default effect threshold for counts of errors: any difference matters.
pub const THRESHOLD_ERRORS: f64 = 0.0;

/// Result of a comparison for one metric of one variant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Finding {
    /// Corrected p below alpha, and at least the threshold better.
    Better,
    /// Corrected p below alpha, and at least the threshold worse.
    Worse,
    /// Corrected p below alpha, but the difference is below the threshold: real but unimportant.
    Small,
    /// The 1 - 2 alpha interval lies within the threshold on both sides: shown to be the same for
    /// practical purposes.
    Same,
    /// Inconclusive. Not a synonym for "same".
    Unclear {
        /// Approximate number of rounds (runs per side, if unpaired) a verdict needs, including
        /// those so far; always more than there are. `None` if no reasonable number of rounds would
        /// help.
        rounds_needed: Option<RoundsNeeded>,
    },
    /// A side has a single run: the ratio is without inference, and never shown in colour.
    SingleRun,
}

/// Direction in which a metric is better.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Direction {
    /// Throughput.
    HigherIsBetter,
    /// Time, latency, CPU, errors.
    LowerIsBetter,
}

/// Family in which a comparison is corrected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CorrectionRole {
    /// Metrics declared before the run; few. Corrected by Holm over all primary comparisons.
    Primary,
    /// All other metrics. Corrected by Benjamini-Hochberg and labelled exploratory.
    Exploratory,
}

/// Criteria by which a comparison is judged.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Criteria {
    /// Better direction of the metric.
    pub direction: Direction,
    /// Family of the comparison.
    pub role: CorrectionRole,
    /// Smallest difference that matters: relative for ratios (.02 is 2 %, up or down), in the
    /// metric's unit for differences. With 0, any difference matters, and "same" means equal in all
    /// rounds.
    pub effect_threshold: f64,
}

/// Comparison with its criteria.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ComparisonQuestion {
    /// Compared numbers.
    pub comparison: Comparison,
    /// Criteria by which the comparison is judged.
    pub criteria: Criteria,
}

/// Finding of a comparison, with the correction and the family behind it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Verdict {
    /// Finding.
    pub finding: Finding,
    /// Family, which determines the correction of `p_adjusted`.
    pub role: CorrectionRole,
    /// Holm-adjusted p-value or Benjamini-Hochberg q-value; `None` for a single run. Must not be
    /// shown without the finding and the interval.
    pub p_adjusted: Option<f64>,
    /// Number of comparisons in the family that have a p-value.
    pub family: usize,
    /// Fewest rounds (runs per side) with which this family could ever reach significance.
    pub smallest_rounds: u32,
    /// True if there are fewer rounds than `smallest_rounds`.
    pub too_few_to_ever_show: bool,
}

/// Judges a single comparison as a family of one.
pub fn judge(question: &ComparisonQuestion, alpha: f64) -> Result<Verdict, StatsError> {
    let verdicts = judge_family(std::slice::from_ref(question), alpha)?;
    verdicts.first().copied().ok_or(StatsError::TooFew { needed: 1, got: 0 })
}

/// Judges all comparisons that belong to one report: primary ones corrected together by Holm,
/// exploratory ones by Benjamini-Hochberg. The answers are in the order of the questions. `alpha`
/// is usually [`crate::ALPHA`].
pub fn judge_family(
    questions: &[ComparisonQuestion],
    alpha: f64,
) -> Result<Vec<Verdict>, StatsError> {
    require_probability("alpha", alpha)?;
    require_probability("1 - 2 alpha", 1.0 - 2.0 * alpha)?;
    for question in questions {
        let value = question.criteria.effect_threshold;
        if !(0.0..=LARGEST_VALUE).contains(&value) {
            let expected = "a number of zero or more";
            return Err(StatsError::InvalidParameter { name: "effect threshold", value, expected });
        }
    }
    let adjusted = adjusted_p_values(questions)?;
    let family_size = |role: CorrectionRole| {
        let of_role = |question: &&ComparisonQuestion| question.criteria.role == role;
        questions.iter().filter(of_role).filter(|q| q.comparison.p_value.is_some()).count()
    };
    let families = (family_size(CorrectionRole::Primary), family_size(CorrectionRole::Exploratory));
    let is_rejected = |(question, p): &(&ComparisonQuestion, &Option<f64>)| {
        question.criteria.role == CorrectionRole::Primary && p.is_some_and(|p| p < alpha)
    };
    let rejected = questions.iter().zip(&adjusted).filter(is_rejected).count();
    let judged = |(question, p_adjusted): (&ComparisonQuestion, &Option<f64>)| {
        let family = match question.criteria.role {
            CorrectionRole::Primary => TestFamily { size: families.0, rejected },
            CorrectionRole::Exploratory => TestFamily { size: families.1, rejected: 0 },
        };
        verdict(question, *p_adjusted, &family, alpha)
    };
    questions.iter().zip(&adjusted).map(judged).collect()
}

/// Adjusted p-values in the order of the questions; `None` where there is no p-value.
fn adjusted_p_values(questions: &[ComparisonQuestion]) -> Result<Vec<Option<f64>>, StatsError> {
    let mut adjusted = vec![None; questions.len()];
    for role in [CorrectionRole::Primary, CorrectionRole::Exploratory] {
        let members: Vec<(usize, f64)> = (questions.iter().enumerate())
            .filter(|(_, question)| question.criteria.role == role)
            .filter_map(|(place, question)| Some((place, question.comparison.p_value?)))
            .collect();
        let p_values: Vec<f64> = members.iter().map(|&(_, p)| p).collect();
        let corrected = match role {
            CorrectionRole::Primary => holm(&p_values)?,
            CorrectionRole::Exploratory => benjamini_hochberg(&p_values)?,
        };
        for ((place, _), p) in members.into_iter().zip(corrected) {
            adjusted[place] = Some(p);
        }
    }
    Ok(adjusted)
}

/// Comparisons that are corrected together.
struct TestFamily {
    /// Number of comparisons with a p-value.
    size: usize,
    /// Number of comparisons that Holm's procedure has rejected; the others need no correction for
    /// them.
    rejected: usize,
}

fn verdict(
    question: &ComparisonQuestion,
    p_adjusted: Option<f64>,
    family: &TestFamily,
    alpha: f64,
) -> Result<Verdict, StatsError> {
    let ComparisonQuestion { comparison, criteria } = question;
    // In a Benjamini-Hochberg family all members may be discoveries together, so the floor is that
    // of a single comparison.
    let comparisons = match criteria.role {
        CorrectionRole::Primary => u32::try_from(family.size.max(1)).unwrap_or(u32::MAX),
        CorrectionRole::Exploratory => 1,
    };
    let undecided = comparisons - u32::try_from(family.rejected).unwrap_or(0).min(comparisons - 1);
    let smallest = |alpha: f64| match comparison.design {
        RunPairing::Paired => smallest_rounds(comparisons, alpha),
        RunPairing::Unpaired => smallest_runs_per_side(comparisons, alpha),
    };
    let smallest_rounds = smallest(alpha)?;
    let too_few_to_ever_show = comparison.runs() < smallest_rounds as usize;
    // A look that could not detect any difference has used no alpha.
    let next_alpha = if too_few_to_ever_show { alpha } else { level_of_next_look(alpha) };
    let next = NextLook {
        plan: PowerPlan { alpha: next_alpha, comparisons: undecided, ..PowerPlan::default() },
        alpha_same: next_alpha,
        floor: smallest(next_alpha)?,
    };
    Ok(Verdict {
        finding: finding(comparison, criteria, (p_adjusted, alpha), &next),
        role: criteria.role,
        p_adjusted,
        family: family.size,
        smallest_rounds,
        too_few_to_ever_show,
    })
}

/// Threshold on the working scale: ln(1 + delta) for ratios, so that 1 + delta and 1/(1 + delta)
/// are equally far from 1 and a verdict does not depend on the choice of the baseline.
fn margin(scale: Scale, effect_threshold: f64) -> f64 {
    match scale {
        Scale::Ratio => effect_threshold.ln_1p(),
        Scale::Difference => effect_threshold,
    }
}

/// Next look at an unclear comparison.
struct NextLook {
    plan: PowerPlan,
    /// Significance level of the equivalence test, on each side.
    alpha_same: f64,
    /// Fewest rounds with which the family can reach significance at the next look.
    floor: u32,
}

/// Determines the finding from the adjusted p-value and the level that it has to be below.
fn finding(
    comparison: &Comparison,
    criteria: &Criteria,
    (p_adjusted, alpha): (Option<f64>, f64),
    next: &NextLook,
) -> Finding {
    let Some(p_adjusted) = p_adjusted else {
        return Finding::SingleRun;
    };
    if comparison.is_single_run() {
        return Finding::SingleRun;
    }
    let effect = comparison.effect();
    let margin = margin(comparison.scale, criteria.effect_threshold);
    if p_adjusted < alpha {
        // An estimate of zero has no direction, even if any difference matters. The tolerance lets
        // a ratio of exactly 1.02 reach the threshold of 2 %.
        if effect == 0.0 || effect.abs() < margin * (1.0 - 1e-12) {
            return Finding::Small;
        }
        let higher = effect > 0.0;
        let wanted = criteria.direction == Direction::HigherIsBetter;
        return if higher == wanted { Finding::Better } else { Finding::Worse };
    }
    let working = |end: f64| comparison.scale.to_working(end);
    let within = comparison.equivalence_interval.is_some_and(|interval| {
        -margin <= working(interval.low) && working(interval.high) <= margin
    });
    if within && !comparison.few_rounds {
        return Finding::Same;
    }
    let rounds_needed = rounds_to_settle(comparison, effect, margin, next);
    Finding::Unclear { rounds_needed }
}

/// Rounds needed for a verdict. Below six rounds the noise is unknown, and the result is the fewest
/// rounds with which the family can reach significance.
fn rounds_to_settle(
    comparison: &Comparison,
    effect: f64,
    margin: f64,
    next: &NextLook,
) -> Option<RoundsNeeded> {
    if comparison.few_rounds {
        return Some(RoundsNeeded::exactly(next.floor));
    }
    let rounds = u32::try_from(comparison.runs()).unwrap_or(u32::MAX);
    let unsettled = UnclearComparison {
        effect,
        noise: comparison.rank_spread.or(comparison.spread)?,
        rounds,
        margin,
        alpha: next.plan.single_alpha(),
        alpha_same: next.alpha_same,
        floor: next.floor,
    };
    unsettled.rounds_needed()
}

#[cfg(test)]
mod tests {
    use crate::judging::comparison::{ALPHA, Comparison, Scale, compare_paired, compare_unpaired};
    use crate::judging::verdict::{
        ComparisonQuestion, CorrectionRole, Criteria, Direction, Finding, THRESHOLD_THROUGHPUT,
        judge, judge_family,
    };
    use crate::series::settle::RoundsNeeded;

    const NOISE: [f64; 10] =
        [0.002, -0.001, 0.003, -0.003, 0.001, -0.002, 0.0015, -0.0005, 0.0025, -0.0015];

    fn throughput(role: CorrectionRole) -> Criteria {
        let direction = Direction::HigherIsBetter;
        Criteria { direction, role, effect_threshold: THRESHOLD_THROUGHPUT }
    }

    /// Comparison over these rounds, with ratios of `factor` times noise of about 0.2 % times
    /// `scale`.
    fn compared(factor: f64, scale: f64, rounds: usize) -> Comparison {
        let base = vec![100.0; rounds];
        let variant: Vec<f64> =
            NOISE.iter().take(rounds).map(|noise| 100.0 * factor * (1.0 + noise * scale)).collect();
        compare_paired(&base, &variant, Scale::Ratio, ALPHA).unwrap()
    }

    fn judged(comparison: Comparison) -> Finding {
        let criteria = throughput(CorrectionRole::Primary);
        judge(&ComparisonQuestion { comparison, criteria }, ALPHA).unwrap().finding
    }

    #[test]
    fn all_six_verdicts_are_reached() {
        assert_eq!(judged(compared(1.05, 1.0, 10)), Finding::Better);
        assert_eq!(judged(compared(0.95, 1.0, 10)), Finding::Worse);
        assert_eq!(judged(compared(1.01, 1.0, 10)), Finding::Small);
        assert_eq!(judged(compared(1.0, 1.0, 10)), Finding::Same);
        assert!(matches!(
            judged(compared(1.0, 20.0, 10)),
            Finding::Unclear { rounds_needed: Some(needed) } if needed.typical > 10
        ));
        assert_eq!(judged(compared(2.0, 1.0, 1)), Finding::SingleRun);
    }

    #[test]
    fn lower_is_better_turns_the_verdict() {
        let criteria =
            Criteria { direction: Direction::LowerIsBetter, ..throughput(CorrectionRole::Primary) };
        let question = ComparisonQuestion { comparison: compared(1.05, 1.0, 10), criteria };
        assert_eq!(judge(&question, ALPHA).unwrap().finding, Finding::Worse);
    }

    /// 6 of 26 rounds have one error and the others none. The difference is significant, but its
    /// estimate over all rounds is zero.
    #[test]
    fn a_zero_effect_is_neither_better_nor_worse() {
        let errors: Vec<f64> = (0..26).map(|round| if round < 6 { 1.0 } else { 0.0 }).collect();
        let comparison = compare_paired(&[0.0; 26], &errors, Scale::Difference, ALPHA).unwrap();
        assert_eq!(comparison.effect(), 0.0);
        let direction = Direction::LowerIsBetter;
        let criteria = Criteria { direction, role: CorrectionRole::Primary, effect_threshold: 0.0 };
        let finding = judge(&ComparisonQuestion { comparison, criteria }, ALPHA).unwrap().finding;
        assert_eq!(finding, Finding::Small);
    }

    #[test]
    fn an_effect_of_exactly_the_threshold_counts() {
        let base = [100.0; 8];
        let question = |factor: f64| ComparisonQuestion {
            comparison: compare_paired(&base, &base.map(|v| v * factor), Scale::Ratio, ALPHA)
                .unwrap(),
            criteria: throughput(CorrectionRole::Primary),
        };
        assert_eq!(judge(&question(1.02), ALPHA).unwrap().finding, Finding::Better);
        assert_eq!(judge(&question(1.0 / 1.02), ALPHA).unwrap().finding, Finding::Worse);
        assert_eq!(judge(&question(1.0199), ALPHA).unwrap().finding, Finding::Small);
    }

    /// Five rounds cannot show any difference, however large, and the verdict reports it.
    #[test]
    fn five_rounds_are_never_enough() {
        let criteria = throughput(CorrectionRole::Primary);
        let verdict =
            judge(&ComparisonQuestion { comparison: compared(3.0, 1.0, 5), criteria }, ALPHA)
                .unwrap();
        assert_eq!(
            verdict.finding,
            Finding::Unclear { rounds_needed: Some(RoundsNeeded::exactly(6)) }
        );
        assert!(verdict.too_few_to_ever_show);
        assert_eq!(verdict.smallest_rounds, 6);
        // Five rounds cannot show equality either.
        assert!(matches!(judged(compared(1.0, 0.1, 5)), Finding::Unclear { .. }));
    }

    /// Six rounds can show one difference alone, but not one among five: 5 x 2/64 is above .05.
    #[test]
    fn a_family_needs_more_rounds() {
        let question = |role| ComparisonQuestion {
            comparison: compared(1.05, 1.0, 6),
            criteria: throughput(role),
        };
        assert_eq!(
            judge(&question(CorrectionRole::Primary), ALPHA).unwrap().finding,
            Finding::Better
        );
        let five = judge_family(&[question(CorrectionRole::Primary); 5], ALPHA).unwrap();
        assert!(five.iter().all(|verdict| verdict.too_few_to_ever_show));
        assert!(five.iter().all(|verdict| verdict.smallest_rounds == 8 && verdict.family == 5));
        assert!(matches!(
            five[0].finding,
            Finding::Unclear { rounds_needed: Some(RoundsNeeded { typical: 8.., .. }) }
        ));
        // All exploratory comparisons can be significant together.
        let exploratory = judge_family(&[question(CorrectionRole::Exploratory); 5], ALPHA).unwrap();
        assert!(exploratory.iter().all(|verdict| verdict.finding == Finding::Better));
    }

    /// With six rounds, thirty corrected comparisons cannot reach a p below .05, but their
    /// intervals exclude small differences, and no rounds are proposed to look for them.
    #[test]
    fn proposed_rounds_follow_the_interval_width() {
        let question = |factor: f64| {
            let question = ComparisonQuestion {
                comparison: compared(factor, 20.0, 6),
                criteria: throughput(CorrectionRole::Primary),
            };
            match judge_family(&[question; 30], ALPHA).unwrap()[0].finding {
                Finding::Unclear { rounds_needed: Some(rounds) } => rounds.pessimistic.unwrap(),
                other => panic!("{other:?}"),
            }
        };
        // Around 1 the proposal is the rounds that detect 2 %; at half the rate it is the smallest
        // number for thirty comparisons.
        assert!(question(1.0) > 50, "{}", question(1.0));
        assert!(question(0.5) < 15, "{}", question(0.5));
    }

    #[test]
    fn single_runs_do_not_enlarge_the_family() {
        let criteria = throughput(CorrectionRole::Primary);
        let ten = ComparisonQuestion { comparison: compared(1.05, 1.0, 10), criteria };
        let question = ComparisonQuestion { comparison: compared(1.05, 1.0, 1), criteria };
        let verdicts = judge_family(&[question, ten, question], ALPHA).unwrap();
        assert_eq!(verdicts[1].family, 1);
        assert_eq!((verdicts[0].finding, verdicts[0].p_adjusted), (Finding::SingleRun, None));
        assert!(judge_family(&[], ALPHA).unwrap().is_empty());
    }

    #[test]
    fn a_threshold_of_zero_makes_every_real_difference_count() {
        let criteria = Criteria {
            direction: Direction::LowerIsBetter,
            role: CorrectionRole::Primary,
            effect_threshold: 0.0,
        };
        let counts = [1.0, 2.0, 1.0, 3.0, 1.0, 2.0];
        let judged = |variant: &[f64]| {
            let comparison = compare_paired(&[0.0; 6], variant, Scale::Difference, ALPHA).unwrap();
            judge(&ComparisonQuestion { comparison, criteria }, ALPHA).unwrap().finding
        };
        assert_eq!(judged(&counts), Finding::Worse);
        assert_eq!(judged(&[0.0; 6]), Finding::Same);
        assert!(matches!(judged(&[0.0, 0.0, 1.0, 0.0, 0.0, 0.0]), Finding::Unclear { .. }));
        let nan = Criteria { effect_threshold: f64::NAN, ..criteria };
        let comparison = compared(1.0, 1.0, 6);
        assert!(judge(&ComparisonQuestion { comparison, criteria: nan }, ALPHA).is_err());
    }

    /// Regression: in a published report, one side measured once or twice proves nothing.
    #[test]
    fn imports_with_few_runs_are_unclear() {
        let comparison =
            compare_unpaired(&[100.0, 101.0, 99.0], &[80.0, 81.0, 79.0], Scale::Ratio, ALPHA)
                .unwrap();
        let criteria = throughput(CorrectionRole::Primary);
        let verdict = judge(&ComparisonQuestion { comparison, criteria }, ALPHA).unwrap();
        assert_eq!(verdict.smallest_rounds, 4);
        assert!(matches!(
            verdict.finding,
            Finding::Unclear { rounds_needed: Some(RoundsNeeded { typical: 4.., .. }) }
        ));
    }
}

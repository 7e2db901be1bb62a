//! Stopping rules that keep the error rate of the test: fixed N, precision, or planned looks.
//!
//! Not here: running rounds. Testing after every round from 6 to 30 and stopping at the first p
//! below .05 gives about 22 per cent false alarms; each of the three rules here keeps its nominal
//! rate.
//!
//! Sources: Pocock, Biometrika 64, 1977; O'Brien & Fleming, Biometrics 35, 1979; Wang & Tsiatis,
//! Biometrics 43, 1987; the integration: Armitage, McPherson & Rowe, Journal of the Royal
//! Statistical Society A 132, 1969.

use std::f64::consts::TAU;

use crate::distribution::{normal_quantile, normal_survival};
use crate::error::StatsError;
use crate::input::{
    count_rounded_up, require_at_most, require_count, require_positive_parameter,
    require_probability,
};
use crate::judging::comparison::ALPHA;

/// Numbers of rounds at the looks of the recommended sequential plan.
pub const RECOMMENDED_LOOKS: [u32; 5] = [6, 10, 15, 20, 30];

/// Nominal alpha at each recommended look, for .05 over all looks. Normal theory gives .0155, which
/// is too much for Student's t at few rounds (5.7 % false alarms over all, simulated); .0138 gives
/// 5.2 % with t and 4.2 % with the discrete signed-rank test. At six rounds the signed-rank test
/// cannot reach this level (its smallest p is .031); ten rounds are the first at which a verdict
/// can be better or worse.
pub const RECOMMENDED_LOOK_ALPHA: f64 = 0.0138;

/// Level of the first look after the end of a plan, see [`level_of_next_look`].
const LATER_LOOK_ALPHA: f64 = 0.01;

/// Largest number of looks.
const MOST_LOOKS: usize = 30;

/// Largest number of grid steps of the integration; looks that need more are rejected as too close
/// together.
const MOST_STEPS: u32 = 1_000;

/// Significance level of the look that follows one at `alpha`, if a campaign continues after the
/// end of its plan: .01, then half of the previous level at each further look.
///
/// A plan that ends after its rounds tests at 5 per cent and uses up all of alpha. Each further
/// look adds at most its own level to the chance of a false alarm: 6 per cent after two looks, 7
/// after any number of them. The exact tests use less than their level; `tests/settle.rs` simulates
/// the chance over two looks. Source: Lan & DeMets, Biometrika 70, 1983, for levels of looks that
/// were not planned.
pub fn level_of_next_look(alpha: f64) -> f64 {
    if alpha > LATER_LOOK_ALPHA { LATER_LOOK_ALPHA } else { alpha / 2.0 }
}

/// Stopping rule of a campaign.
#[derive(Debug, Clone, PartialEq)]
pub enum StoppingRule {
    /// Fixed number of rounds. The default.
    Fixed {
        /// Rounds to run.
        rounds: u32,
    },
    /// Runs until the interval is narrow enough, or up to a cap. Only the width decides, never the
    /// p-value.
    Precision {
        /// Largest accepted half width of the 95 per cent interval, on the scale of the comparison
        /// (log ratio or difference); usually half the effect threshold.
        half_width: f64,
        /// Fewest rounds before the width is checked, at least 6.
        fewest: u32,
        /// Limit of rounds.
        cap: u32,
    },
    /// Tests at planned looks only, each at a lower alpha.
    Sequential {
        /// The planned looks, in order of rounds.
        looks: Vec<PlannedLook>,
    },
}

/// Planned look.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PlannedLook {
    /// Rounds completed before the look.
    pub rounds: u32,
    /// Significance level at this look.
    pub alpha: f64,
}

/// Decision of a stopping rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StoppingDecision {
    /// More rounds are needed.
    Continue {
        /// Rounds after which to decide again.
        next_look: u32,
    },
    /// The planned number of rounds is complete.
    Done,
    /// The interval is narrow enough.
    Precise,
    /// A planned look found a difference.
    Crossed,
    /// The cap was reached first.
    Capped,
}

/// State of a campaign after some rounds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CampaignProgress {
    /// Complete rounds.
    pub rounds: u32,
    /// Half width of the 95 per cent interval on the scale of the comparison; `None` without an
    /// interval.
    pub half_width: Option<f64>,
    /// Adjusted p-value of the comparison; `None` without one.
    pub p_value: Option<f64>,
}

impl StoppingRule {
    /// Sequential rule with looks after these numbers of rounds, ascending, all at the same level.
    /// All looks together keep 5 per cent. For the recommended rounds, or a tail of them, the level
    /// was simulated; for others it is that of normal theory, or Bonferroni's where that cannot be
    /// computed.
    pub fn sequential(rounds: &[u32]) -> Self {
        let alpha = if !rounds.is_empty() && RECOMMENDED_LOOKS.ends_with(rounds) {
            RECOMMENDED_LOOK_ALPHA
        } else {
            let pocock = group_sequential(rounds, ALPHA, BoundaryShape::Pocock);
            let level = pocock.map(|looks| looks.iter().map(|look| look.alpha).fold(1.0, f64::min));
            level.unwrap_or(ALPHA / rounds.len().max(1) as f64)
        };
        let look = |&rounds: &u32| PlannedLook { rounds, alpha };
        Self::Sequential { looks: rounds.iter().map(look).collect() }
    }

    /// Level of the looks of a sequential rule; `None` for other rules, which look once, at 5 per
    /// cent.
    pub fn look_alpha(&self) -> Option<f64> {
        match self {
            Self::Sequential { looks } => looks.iter().map(|look| look.alpha).reduce(f64::min),
            Self::Fixed { .. } | Self::Precision { .. } => None,
        }
    }

    /// Rule that stops at a half width of half the effect threshold, on the scale of the
    /// comparison.
    pub fn precision(effect_threshold: f64, cap: u32) -> Result<Self, StatsError> {
        require_positive_parameter("effect threshold", effect_threshold)?;
        Ok(Self::Precision { half_width: effect_threshold / 2.0, fewest: 6, cap: cap.max(6) })
    }

    /// Decides whether to continue.
    pub fn decide(&self, progress: &CampaignProgress) -> StoppingDecision {
        let rounds = progress.rounds;
        match self {
            Self::Fixed { rounds: planned } if rounds >= *planned => StoppingDecision::Done,
            Self::Fixed { rounds: planned } => StoppingDecision::Continue { next_look: *planned },
            Self::Precision { half_width, fewest, cap } => {
                let narrow =
                    progress.half_width.is_some_and(|half_width_now| half_width_now <= *half_width);
                if narrow && rounds >= *fewest {
                    StoppingDecision::Precise
                } else if rounds >= *cap {
                    StoppingDecision::Capped
                } else {
                    let next_look = rounds.saturating_add(1).max(*fewest).min(*cap);
                    StoppingDecision::Continue { next_look }
                }
            }
            Self::Sequential { looks } => {
                let now = looks.iter().find(|look| look.rounds == rounds);
                let crossed = now.zip(progress.p_value).is_some_and(|(look, p)| p < look.alpha);
                if crossed {
                    return StoppingDecision::Crossed;
                }
                match looks.iter().find(|look| look.rounds > rounds) {
                    Some(next) => StoppingDecision::Continue { next_look: next.rounds },
                    None => StoppingDecision::Capped,
                }
            }
        }
    }
}

/// Alpha spending of a group-sequential plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BoundaryShape {
    /// The same nominal alpha at every look.
    Pocock,
    /// Strict at early looks, with almost the full alpha at the last one.
    OBrienFleming,
}

/// Nominal two-sided alpha of each look such that all looks together reject a true null hypothesis
/// with probability `alpha`. Uses normal theory with information in proportion to rounds. `rounds`
/// must be ascending.
///
/// Normal theory is slightly liberal for t at six rounds and conservative for the discrete
/// signed-rank test.
pub fn group_sequential(
    rounds: &[u32],
    alpha: f64,
    shape: BoundaryShape,
) -> Result<Vec<PlannedLook>, StatsError> {
    require_probability("alpha", alpha)?;
    require_count(rounds.len(), 1)?;
    require_at_most(rounds.len(), MOST_LOOKS)?;
    let rising = rounds[0] > 0 && rounds.windows(2).all(|pair| pair[0] < pair[1]);
    if !rising {
        let expected = "positive numbers in rising order";
        return Err(StatsError::InvalidParameter { name: "rounds", value: f64::NAN, expected });
    }
    let last = f64::from(rounds[rounds.len() - 1]);
    let information: Vec<f64> = rounds.iter().map(|&look| f64::from(look) / last).collect();
    let bounds = |constant: f64| -> Vec<f64> {
        let bound = |share: &f64| match shape {
            BoundaryShape::Pocock => constant,
            BoundaryShape::OBrienFleming => constant / share.sqrt(),
        };
        information.iter().map(bound).collect()
    };
    // Every constant lies between those of a single look and of Bonferroni.
    let mut low = -normal_quantile(alpha / 2.0);
    let mut high = -normal_quantile(alpha / 2.0 / rounds.len() as f64) + 1e-9;
    let widest = bounds(high);
    let steps = |look: usize| {
        SimpsonGrid::needed_steps(widest[look] * information[look].sqrt(), &information, look)
    };
    if (0..rounds.len()).any(|look| count_rounded_up(steps(look), MOST_STEPS).is_none()) {
        let expected = "looks not so close together";
        return Err(StatsError::InvalidParameter { name: "rounds", value: last, expected });
    }
    for _ in 0..30 {
        let middle = f64::midpoint(low, high);
        if crossing_probability(&information, &bounds(middle)) > alpha {
            low = middle;
        } else {
            high = middle;
        }
    }
    let nominal =
        |(&rounds, bound): (&u32, f64)| PlannedLook { rounds, alpha: 2.0 * normal_survival(bound) };
    Ok(rounds.iter().zip(bounds(high)).map(nominal).collect())
}

/// P(|Z| exceeds its bound at any look) for a Brownian motion observed at these shares of
/// information.
///
/// The density of paths that have not crossed yet is symmetric. It is propagated from look to look
/// on a grid of the non-negative half by Simpson's rule.
fn crossing_probability(information: &[f64], bounds: &[f64]) -> f64 {
    let mut crossed = 2.0 * normal_survival(bounds[0]);
    let edge = |look: usize| bounds[look] * information[look].sqrt();
    let density = |x: f64, variance: f64| (-x * x / 2.0 / variance).exp() / (TAU * variance).sqrt();
    let mut grid = SimpsonGrid::new(edge(0), information, 0);
    let mut uncrossed: Vec<f64> = grid.points().map(|x| density(x, information[0])).collect();
    for look in 1..information.len() {
        let variance = information[look] - information[look - 1];
        let deviation = variance.sqrt();
        let outside = |x: f64| {
            normal_survival((edge(look) - x) / deviation)
                + normal_survival((edge(look) + x) / deviation)
        };
        let weighted: Vec<(f64, f64)> = grid
            .points()
            .zip(grid.weights())
            .zip(&uncrossed)
            .map(|((x, w), f)| (x, w * f))
            .collect();
        // The grid covers only the non-negative half, hence the factor 2.
        crossed += 2.0 * weighted.iter().map(|&(x, mass)| mass * outside(x)).sum::<f64>();
        if look + 1 == information.len() {
            break;
        }
        let next = SimpsonGrid::new(edge(look), information, look);
        let propagated = |y: f64| -> f64 {
            let step = |&(x, mass): &(f64, f64)| {
                mass * (density(y - x, variance) + density(y + x, variance))
            };
            weighted.iter().map(step).sum()
        };
        uncrossed = next.points().map(propagated).collect();
        grid = next;
    }
    crossed
}

/// Simpson's rule from 0 to the edge, with an even number of steps fine enough for the narrowest
/// density.
#[derive(Clone, Copy)]
struct SimpsonGrid {
    step: f64,
    steps: u32,
}

impl SimpsonGrid {
    /// Number of steps that resolves the narrowest density before or after this look.
    fn needed_steps(edge: f64, information: &[f64], look: usize) -> f64 {
        let before = if look == 0 { 0.0 } else { information[look - 1] };
        let arriving = (information[look] - before).sqrt();
        let leaving = information.get(look + 1).map_or(1.0, |next| next - information[look]).sqrt();
        6.0 * edge / arriving.min(leaving)
    }

    fn new(edge: f64, information: &[f64], look: usize) -> Self {
        let needed_steps = Self::needed_steps(edge, information, look);
        let steps = count_rounded_up(needed_steps, MOST_STEPS).unwrap_or(MOST_STEPS).max(24);
        let steps = steps + steps % 2;
        Self { step: edge / f64::from(steps), steps }
    }

    fn points(self) -> impl Iterator<Item = f64> {
        (0..=self.steps).map(move |i| f64::from(i) * self.step)
    }

    fn weights(self) -> impl Iterator<Item = f64> {
        (0..=self.steps).map(move |i| {
            let weight = if i == 0 || i == self.steps { 1.0 } else { 2.0 + 2.0 * f64::from(i % 2) };
            weight * self.step / 3.0
        })
    }
}

#[cfg(test)]
mod tests {
    use crate::distribution::normal_quantile;
    use crate::judging::stopping::{
        BoundaryShape, CampaignProgress, RECOMMENDED_LOOK_ALPHA, RECOMMENDED_LOOKS,
        StoppingDecision, StoppingRule, group_sequential,
    };

    /// Constants of the tables in Jennison & Turnbull, "Group Sequential Methods", 2000, tables 2.1
    /// and 2.3, two-sided .05.
    #[test]
    fn boundaries_agree_with_the_tables() {
        for (looks, pocock, obrien) in [
            (1, 1.960, 1.960),
            (2, 2.178, 1.977),
            (3, 2.289, 2.004),
            (5, 2.413, 2.040),
            (10, 2.555, 2.087),
        ] {
            let rounds: Vec<u32> = (1..=looks).collect();
            let last = |shape| {
                let plan = group_sequential(&rounds, 0.05, shape).unwrap();
                normal_quantile(1.0 - plan[plan.len() - 1].alpha / 2.0)
            };
            assert!((last(BoundaryShape::Pocock) - pocock).abs() < 6e-4, "{looks}");
            assert!((last(BoundaryShape::OBrienFleming) - obrien).abs() < 6e-4, "{looks}");
        }
    }

    #[test]
    fn the_recommended_alpha_lies_between_bonferroni_and_normal_theory() {
        let normal = group_sequential(&RECOMMENDED_LOOKS, 0.05, BoundaryShape::Pocock).unwrap();
        assert!(0.01 < RECOMMENDED_LOOK_ALPHA && RECOMMENDED_LOOK_ALPHA < normal[0].alpha);
        assert!(normal.iter().all(|look| (look.alpha - normal[0].alpha).abs() < 1e-12));
    }

    #[test]
    fn planned_looks_must_increase() {
        assert!(group_sequential(&[5, 5], 0.05, BoundaryShape::Pocock).is_err());
        assert!(group_sequential(&[0, 5], 0.05, BoundaryShape::Pocock).is_err());
        assert!(group_sequential(&[], 0.05, BoundaryShape::Pocock).is_err());
        assert!(group_sequential(&[5], f64::NAN, BoundaryShape::Pocock).is_err());
        assert!(group_sequential(&[5, 9], 1e-300, BoundaryShape::Pocock).is_ok());
        let close = [1_000_000, 1_000_001, 1_000_002];
        assert!(group_sequential(&close, 0.05, BoundaryShape::OBrienFleming).is_err());
    }

    #[test]
    fn fixed_and_precision_rules_stop_at_their_bounds() {
        let at = |rounds, half_width| CampaignProgress { rounds, half_width, p_value: Some(0.001) };
        let fixed = StoppingRule::Fixed { rounds: 10 };
        assert_eq!(fixed.decide(&at(9, None)), StoppingDecision::Continue { next_look: 10 });
        assert_eq!(fixed.decide(&at(10, None)), StoppingDecision::Done);
        let precision = StoppingRule::precision(0.02, 30).unwrap();
        assert_eq!(
            precision.decide(&at(3, Some(0.001))),
            StoppingDecision::Continue { next_look: 6 }
        );
        assert_eq!(precision.decide(&at(6, Some(0.01))), StoppingDecision::Precise);
        assert_eq!(
            precision.decide(&at(7, Some(0.02))),
            StoppingDecision::Continue { next_look: 8 }
        );
        assert_eq!(precision.decide(&at(30, None)), StoppingDecision::Capped);
    }

    #[test]
    fn a_small_p_counts_only_at_a_planned_look() {
        let rule = StoppingRule::sequential(&RECOMMENDED_LOOKS);
        let at = |rounds, p| {
            rule.decide(&CampaignProgress { rounds, half_width: None, p_value: Some(p) })
        };
        assert_eq!(at(9, 0.001), StoppingDecision::Continue { next_look: 10 });
        assert_eq!(at(10, 0.001), StoppingDecision::Crossed);
        assert_eq!(at(10, 0.02), StoppingDecision::Continue { next_look: 15 });
        assert_eq!(at(30, 0.02), StoppingDecision::Capped);
    }
}

//! A/A control: a second measurement of the baseline yields the real noise floor and rate of false
//! alarms.
//!
//! Not here: running the control. Identical sides must not differ; if they do, either the metric or
//! the set-up is unstable, and comparisons with other variants cannot be trusted.

use crate::error::StatsError;
use crate::interval::Interval;
use crate::judging::comparison::{Comparison, Scale};
use crate::judging::power::{PowerPlan, smallest_detectable};

/// Result of the control for one metric.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ControlResult {
    /// True if the interval excludes "no difference" although both sides are equal: the metric is
    /// unstable. By chance this happens to one metric in twenty.
    pub unstable: bool,
    /// Interval of the control: ratio, or difference in the metric's unit. `None` for a single run.
    pub interval: Option<Interval>,
    /// Standard deviation of the differences on the working scale: the noise.
    pub spread: Option<f64>,
    /// Smallest effect that the same number of rounds detects four times out of five. A fraction
    /// for ratios (.03 is 3 %), otherwise in the metric's unit.
    pub smallest_detectable: Option<f64>,
}

/// Evaluates the comparison of the baseline with itself.
pub fn check_control(comparison: &Comparison, alpha: f64) -> Result<ControlResult, StatsError> {
    let plan = PowerPlan { alpha, ..PowerPlan::default() };
    let neutral = match comparison.scale {
        Scale::Ratio => 1.0,
        Scale::Difference => 0.0,
    };
    let rounds = u32::try_from(comparison.runs()).unwrap_or(u32::MAX);
    let working = match comparison.spread {
        Some(spread) => smallest_detectable(rounds, spread, &plan)?,
        None => None,
    };
    Ok(ControlResult {
        unstable: comparison.interval.is_some_and(|interval| !interval.contains(neutral)),
        interval: comparison.interval,
        spread: comparison.spread,
        smallest_detectable: working.map(|size| match comparison.scale {
            Scale::Ratio => size.min(700.0).exp_m1(),
            Scale::Difference => size,
        }),
    })
}

#[cfg(test)]
mod tests {
    use crate::judging::comparison::{ALPHA, Scale, compare_paired};
    use crate::judging::control::{ControlResult, check_control};

    fn control(values: &[f64]) -> ControlResult {
        let base = vec![100.0; values.len()];
        let comparison = compare_paired(&base, values, Scale::Ratio, ALPHA).unwrap();
        check_control(&comparison, ALPHA).unwrap()
    }

    #[test]
    fn equal_controls_are_stable_and_shifted_ones_are_not() {
        let stable = control(&[101.0, 99.0, 100.5, 99.5, 100.2, 99.8, 101.5, 98.5]);
        assert!(!stable.unstable);
        let detectable = stable.smallest_detectable.unwrap();
        assert!((0.005..0.02).contains(&detectable), "{detectable}");
        assert!(control(&[103.0, 104.0, 103.5, 102.0, 105.0, 103.2]).unstable);
        assert_eq!(control(&[103.0]).smallest_detectable, None);
    }
}

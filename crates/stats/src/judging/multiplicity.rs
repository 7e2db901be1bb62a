//! Adjustment of p-values for the number of comparisons.
//!
//! Not here: the grouping of comparisons into families (`verdict`). Functions return the values in
//! input order; adjusted values are monotone in the raw ones and never above 1.

use crate::error::StatsError;

/// Checks that every p-value lies in 0..=1.
fn require_p_values(p_values: &[f64]) -> Result<(), StatsError> {
    for &value in p_values {
        if !(0.0..=1.0).contains(&value) {
            let expected = "a number from 0 to 1";
            return Err(StatsError::InvalidParameter { name: "p value", value, expected });
        }
    }
    Ok(())
}

/// Positions from the smallest to the largest p-value.
fn ascending(p_values: &[f64]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..p_values.len()).collect();
    order.sort_by(|&left, &right| p_values[left].total_cmp(&p_values[right]));
    order
}

/// Adjusts from the smallest to the largest p-value, never decreasing, as step-down methods do.
/// `factor(i)` applies to the i-th smallest, from 0.
fn step_down(p_values: &[f64], factor: impl Fn(usize) -> f64) -> Vec<f64> {
    let mut adjusted = vec![0.0; p_values.len()];
    let mut floor: f64 = 0.0;
    for (i, place) in ascending(p_values).into_iter().enumerate() {
        floor = floor.max(p_values[place] * factor(i)).min(1.0);
        adjusted[place] = floor;
    }
    adjusted
}

/// Adjusts from the largest to the smallest p-value, never increasing, as step-up methods do.
fn step_up(p_values: &[f64], factor: impl Fn(usize) -> f64) -> Vec<f64> {
    let mut adjusted = vec![0.0; p_values.len()];
    let mut ceiling: f64 = 1.0;
    for (i, place) in ascending(p_values).into_iter().enumerate().rev() {
        ceiling = ceiling.min(p_values[place] * factor(i));
        adjusted[place] = ceiling;
    }
    adjusted
}

/// Holm's adjusted p-values, which limit the chance of any false alarm in the family under any
/// dependence. Used for the primary metrics.
///
/// Source: Holm, Scandinavian Journal of Statistics 6, 1979.
pub fn holm(p_values: &[f64]) -> Result<Vec<f64>, StatsError> {
    require_p_values(p_values)?;
    let n = p_values.len();
    Ok(step_down(p_values, |i| (n - i) as f64))
}

/// Benjamini-Hochberg q-values, which limit the expected share of false alarms among the
/// discoveries. Used for the exploratory metrics.
///
/// Source: Benjamini & Hochberg, Journal of the Royal Statistical Society B 57, 1995.
pub fn benjamini_hochberg(p_values: &[f64]) -> Result<Vec<f64>, StatsError> {
    require_p_values(p_values)?;
    let n = p_values.len() as f64;
    Ok(step_up(p_values, |i| n / (i + 1) as f64))
}

#[cfg(test)]
mod tests {
    use crate::judging::multiplicity::{benjamini_hochberg, holm};

    #[test]
    fn two_p_values_match_the_hand_calculation() {
        assert_eq!(holm(&[0.04, 0.02]), Ok(vec![0.04, 0.04]));
        assert_eq!(benjamini_hochberg(&[0.04, 0.03]), Ok(vec![0.04, 0.04]));
        assert_eq!(holm(&[]), Ok(vec![]));
    }

    #[test]
    fn values_outside_0_and_1_are_refused() {
        assert!(holm(&[0.5, f64::NAN]).is_err());
        assert!(benjamini_hochberg(&[-0.1]).is_err());
    }
}

//! CONFIRM: from a long series of past runs, how many repetitions would have been enough?
//!
//! What does not live here: a test. This is planning advice from a pilot; the answer depends on
//! seeded random subsets and is good to about two repetitions.
//!
//! Source: Maricq et al., "Taming performance variability", OSDI 2018.

use crate::error::StatsError;
use crate::generator::Generator;
use crate::input::{
    require_at_most, require_count, require_finite, require_positive_parameter, sorted,
};
use crate::quantile::{median, quantile_interval};

/// Random subsets per candidate number.
const SUBSETS: usize = 200;

/// Fewest repetitions ever proposed.
const FEWEST: usize = 10;

/// Longest pilot accepted.
const LONGEST: usize = 2_000;

/// The smallest number of repetitions, at least 10, whose order-statistic interval of the median
/// (95 per cent, mean ends over 200 random subsets) lies within the fraction `within` of the median
/// of all `values`. `None` when the pilot is too short to tell: more than its length are needed.
pub fn confirm_repetitions(
    values: &[f64],
    within: f64,
    seed: u64,
) -> Result<Option<usize>, StatsError> {
    require_finite(values)?;
    require_count(values.len(), FEWEST)?;
    require_at_most(values.len(), LONGEST)?;
    require_positive_parameter("within", within)?;
    let centre = median(values)?;
    let room = within * centre.abs();
    let mut generator = Generator::seeded(seed);
    let mut pool = values.to_vec();
    for size in FEWEST..=values.len() {
        // The ranks depend on the size only.
        let ranks = quantile_interval(&values[..size], 0.5, 0.95)?;
        let (mut low, mut high) = (0.0, 0.0);
        for _ in 0..SUBSETS {
            generator.choose_front(&mut pool, size);
            let subset = sorted(&pool[..size]);
            low += subset[ranks.low_rank - 1];
            high += subset[ranks.high_rank - 1];
        }
        let subsets = SUBSETS as f64;
        if low / subsets >= centre - room && high / subsets <= centre + room {
            return Ok(Some(size));
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use crate::judging::confirm::confirm_repetitions;

    #[test]
    fn quiet_pilots_need_ten_and_noisy_ones_more() {
        let quiet: Vec<f64> = (0..50).map(|i| 100.0 + f64::from(i % 5) * 0.01).collect();
        assert_eq!(confirm_repetitions(&quiet, 0.01, 1), Ok(Some(10)));
        let noisy: Vec<f64> = (0..200).map(|i| 100.0 + f64::from(i * 7919 % 200) / 20.0).collect();
        let needed = confirm_repetitions(&noisy, 0.01, 1).unwrap().unwrap();
        assert!((40..150).contains(&needed), "{needed}");
        assert_eq!(confirm_repetitions(&noisy[..20], 0.001, 1), Ok(None));
        assert!(confirm_repetitions(&noisy[..9], 0.01, 1).is_err());
    }
}

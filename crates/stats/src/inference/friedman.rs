//! The Friedman test with the Iman-Davenport correction: do any of K variants differ, given rounds
//! as blocks?
//!
//! What does not live here: which pairs differ (signed-rank tests of each pair, corrected
//! together). The chi-squared form is kept because people know it; decide by the F form, which is
//! less conservative.
//!
//! Sources: Friedman, Journal of the American Statistical Association 32, 1937; Iman & Davenport,
//! Communications in Statistics A 9, 1980.

use crate::distribution::{chi_squared_survival, f_survival};
use crate::error::StatsError;
use crate::input::{require_count, require_finite, require_same_length};
use crate::rank::midranks;

/// The result of a Friedman test.
#[derive(Debug, Clone, PartialEq)]
pub struct Friedman {
    /// Rounds (blocks).
    pub rounds: usize,
    /// Variants (columns).
    pub variants: usize,
    /// Tie-corrected chi-squared statistic.
    pub chi_squared: f64,
    /// Its p-value, K - 1 degrees of freedom.
    pub p_value: f64,
    /// Iman-Davenport F; `None` when every round ranks the variants the same way, where F is
    /// infinite.
    pub f: Option<f64>,
    /// The p-value to decide by. Under complete agreement the exact one, (K!)^(1-N).
    pub f_p_value: f64,
    /// Mean rank of each variant, 1 to K; a low rank means low values.
    pub mean_ranks: Vec<f64>,
}

/// Friedman test of rounds by variants: `rounds[r][v]` is the value of variant v in round r. At
/// least two rounds and two variants, all rounds complete.
pub fn friedman<R: AsRef<[f64]>>(rounds: &[R]) -> Result<Friedman, StatsError> {
    require_count(rounds.len(), 2)?;
    let variants = rounds[0].as_ref().len();
    require_count(variants, 2)?;
    let mut doubled_sums = vec![0_usize; variants];
    let mut tie_term = 0.0;
    for round in rounds {
        let round = round.as_ref();
        require_same_length(variants, round.len())?;
        require_finite(round)?;
        let ranks = midranks(round);
        tie_term += ranks.tie_term();
        for (sum, rank) in doubled_sums.iter_mut().zip(&ranks.doubled) {
            *sum += rank;
        }
    }
    let (n, k) = (rounds.len() as f64, variants as f64);
    let mean_ranks: Vec<f64> = doubled_sums.iter().map(|&sum| sum as f64 / 2.0 / n).collect();
    let centre = f64::midpoint(k, 1.0);
    let spread: f64 = mean_ranks.iter().map(|rank| (rank - centre) * (rank - centre)).sum();
    let untied = 1.0 - tie_term / (n * k * (k * k - 1.0));
    // Everything tied in every round: nothing distinguishes the variants.
    let chi_squared =
        if untied <= 0.0 { 0.0 } else { 12.0 * n / (k * (k + 1.0)) * spread / untied };
    let denominator = n * (k - 1.0) - chi_squared;
    let agreement = denominator <= n * (k - 1.0) * 1e-12;
    let f = (!agreement).then(|| (n - 1.0) * chi_squared / denominator);
    let f_p_value = match f {
        Some(f) => f_survival(f, k - 1.0, (k - 1.0) * (n - 1.0)),
        None => complete_agreement_p(variants, rounds.len()),
    };
    Ok(Friedman {
        rounds: rounds.len(),
        variants,
        chi_squared,
        p_value: chi_squared_survival(chi_squared, k - 1.0),
        f,
        f_p_value,
        mean_ranks,
    })
}

/// The chance that N random orders of K variants are all the same: (K!)^(1-N).
fn complete_agreement_p(variants: usize, rounds: usize) -> f64 {
    let log_orders: f64 = (2..=variants).map(|factor| (factor as f64).ln()).sum();
    (-log_orders * (rounds - 1) as f64).exp()
}

#[cfg(test)]
mod tests {
    use crate::error::StatsError;
    use crate::inference::friedman::friedman;

    #[test]
    fn complete_agreement_is_improbable_but_not_impossible() {
        let found = friedman(&[[1.0, 2.0, 3.0]; 4]).unwrap();
        assert_eq!(found.chi_squared, 8.0);
        assert_eq!(found.f, None);
        assert!((found.f_p_value - 1.0 / 216.0).abs() < 1e-15);
        assert_eq!(found.mean_ranks, [1.0, 2.0, 3.0]);
    }

    #[test]
    fn all_equal_differs_in_nothing() {
        let found = friedman(&[[5.0, 5.0, 5.0]; 4]).unwrap();
        assert_eq!((found.chi_squared, found.p_value, found.f_p_value), (0.0, 1.0, 1.0));
    }

    #[test]
    fn ragged_rounds_are_refused() {
        let rounds = [vec![1.0, 2.0], vec![1.0]];
        assert_eq!(friedman(&rounds), Err(StatsError::LengthsDiffer { left: 2, right: 1 }));
        assert!(friedman(&[[1.0]; 5]).is_err());
        assert!(friedman(&[[1.0, f64::NAN]; 5]).is_err());
    }
}

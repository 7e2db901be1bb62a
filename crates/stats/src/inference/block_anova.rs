//! Two-way analysis of variance of rounds by variants, without replication: what of the variance is
//! rounds, what is variants, what is left.
//!
//! What does not live here: the default omnibus test (`friedman`). Kept because its residual
//! variance is the noise that planning needs: the standard deviation of a paired difference is the
//! square root of twice it.
//!
//! Source: Fisher, "The Design of Experiments", 1935 (randomised blocks).

use crate::describe::mean;
use crate::distribution::f_survival;
use crate::error::StatsError;
use crate::input::{require_count, require_finite, require_same_length};

/// The result of a two-way analysis of variance.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BlockAnova {
    /// Variance left when rounds and variants are taken out, in the squared unit of the values.
    pub residual_variance: f64,
    /// Its degrees of freedom, (N - 1)(K - 1).
    pub freedom: usize,
    /// F of the variants; `None` when nothing is left over (no residual).
    pub f: Option<f64>,
    /// p-value of F; leans on normality.
    pub p_value: Option<f64>,
}

impl BlockAnova {
    /// Standard deviation of the difference between two variants in one round, in the unit of the
    /// values: what [`crate::rounds_needed`] takes as spread.
    pub fn paired_spread(&self) -> f64 {
        (2.0 * self.residual_variance).sqrt()
    }
}

/// Analysis of variance of `rounds[r][v]`: at least two complete rounds of at least two variants.
pub fn block_anova<R: AsRef<[f64]>>(rounds: &[R]) -> Result<BlockAnova, StatsError> {
    require_count(rounds.len(), 2)?;
    let variants = rounds[0].as_ref().len();
    require_count(variants, 2)?;
    for round in rounds {
        require_same_length(variants, round.as_ref().len())?;
        require_finite(round.as_ref())?;
    }
    let round_means: Vec<f64> = rounds.iter().map(|round| mean(round.as_ref())).collect();
    let grand = mean(&round_means);
    let variant_mean =
        |v: usize| rounds.iter().map(|round| round.as_ref()[v]).sum::<f64>() / rounds.len() as f64;
    let variant_means: Vec<f64> = (0..variants).map(variant_mean).collect();
    let mut residual = 0.0;
    for (round, round_mean) in rounds.iter().zip(&round_means) {
        for (value, variant_mean) in round.as_ref().iter().zip(&variant_means) {
            residual += (value - round_mean - variant_mean + grand).powi(2);
        }
    }
    let between: f64 = variant_means.iter().map(|mean| (mean - grand).powi(2)).sum();
    let freedom = (rounds.len() - 1) * (variants - 1);
    let residual_variance = residual / freedom as f64;
    let numerator = between * rounds.len() as f64 / (variants - 1) as f64;
    let f = Some(numerator / residual_variance).filter(|f| f.is_finite());
    let p_value = f.map(|f| f_survival(f, (variants - 1) as f64, freedom as f64));
    Ok(BlockAnova { residual_variance, freedom, f, p_value })
}

#[cfg(test)]
mod tests {
    use crate::inference::block_anova::block_anova;

    /// Rounds {1, 2} and {3, 6}: four residuals of one half, one degree of freedom: variance 1.
    /// Variant means 2 and 4: F = 2 x (1 + 1) = 4.
    #[test]
    fn by_hand() {
        let found = block_anova(&[[1.0, 2.0], [3.0, 6.0]]).unwrap();
        assert_eq!((found.residual_variance, found.freedom), (1.0, 1));
        assert!((found.f.unwrap() - 4.0).abs() < 1e-12);
        let additive = block_anova(&[[1.0, 2.0], [3.0, 4.0]]).unwrap();
        assert_eq!((additive.residual_variance, additive.f), (0.0, None));
        assert!(block_anova(&[[1.0], [2.0]]).is_err());
    }
}

//! The Kruskal-Wallis test: do any of K unpaired groups differ?
//!
//! What does not live here: the form for rounds (`friedman`), which is the one to use when rounds
//! exist.
//!
//! Source: Kruskal & Wallis, Journal of the American Statistical Association 47, 1952.

use crate::distribution::chi_squared_survival;
use crate::error::StatsError;
use crate::input::{require_count, require_finite};
use crate::rank::midranks;

/// The result of a Kruskal-Wallis test.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct KruskalWallis {
    /// Tie-corrected H.
    pub h: f64,
    /// p-value by chi-squared with K - 1 degrees of freedom; rough below five values a group.
    pub p_value: f64,
}

/// Kruskal-Wallis test of at least two groups with at least one value each.
pub fn kruskal_wallis<G: AsRef<[f64]>>(groups: &[G]) -> Result<KruskalWallis, StatsError> {
    require_count(groups.len(), 2)?;
    let mut all = Vec::new();
    for group in groups {
        require_count(group.as_ref().len(), 1)?;
        require_finite(group.as_ref())?;
        all.extend_from_slice(group.as_ref());
    }
    let ranks = midranks(&all);
    let total = all.len() as f64;
    let centre = f64::midpoint(total, 1.0);
    let mut start = 0;
    let mut between = 0.0;
    for group in groups {
        let size = group.as_ref().len();
        let sum: usize = ranks.doubled[start..start + size].iter().sum();
        let distance = sum as f64 / 2.0 / size as f64 - centre;
        between += size as f64 * distance * distance;
        start += size;
    }
    let untied = 1.0 - ranks.tie_term() / (total * total * total - total);
    let h = if untied <= 0.0 { 0.0 } else { 12.0 / (total * (total + 1.0)) * between / untied };
    Ok(KruskalWallis { h, p_value: chi_squared_survival(h, (groups.len() - 1) as f64) })
}

#[cfg(test)]
mod tests {
    use crate::inference::kruskal_wallis::kruskal_wallis;

    /// Ranks 1, 2 and 3, 4: H = 12/20 (2 + 2) = 2.4.
    #[test]
    fn two_groups_by_hand() {
        let found = kruskal_wallis(&[[1.0, 2.0], [3.0, 4.0]]).unwrap();
        assert!((found.h - 2.4).abs() < 1e-12);
        assert_eq!(kruskal_wallis(&[[1.0, 1.0], [1.0, 1.0]]).unwrap().p_value, 1.0);
        assert!(kruskal_wallis(&[vec![1.0], vec![]]).is_err());
    }
}

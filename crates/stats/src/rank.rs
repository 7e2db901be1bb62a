//! Midranks and ties, in integers.
//!
//! Not here: tests. A midrank is a multiple of one half. Ranks are stored doubled, so that rank
//! sums are integers and the exact null distributions can be counted without rounding.

/// Ranks of a series.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Ranks {
    /// Twice the midrank of each value, in input order; ranks count from 1.
    pub(crate) doubled: Vec<usize>,
    /// Sizes of the groups of equal values larger than one.
    pub(crate) tie_sizes: Vec<usize>,
}

impl Ranks {
    /// The sum of t^3 - t over the tie groups, used by every tie correction.
    pub(crate) fn tie_term(&self) -> f64 {
        self.tie_sizes
            .iter()
            .map(|&size| {
                let size = size as f64;
                size * size * size - size
            })
            .sum()
    }
}

/// Midranks of finite values; equal values share the mean of their ranks.
pub(crate) fn midranks(values: &[f64]) -> Ranks {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_unstable_by(|&left, &right| values[left].total_cmp(&values[right]));
    let mut doubled = vec![0; values.len()];
    let mut tie_sizes = Vec::new();
    let mut first = 0;
    while first < order.len() {
        let mut end = first + 1;
        while end < order.len() && values[order[end]] == values[order[first]] {
            end += 1;
        }
        for &place in &order[first..end] {
            // Twice the mean of the ranks first+1 ..= end.
            doubled[place] = first + 1 + end;
        }
        if end - first > 1 {
            tie_sizes.push(end - first);
        }
        first = end;
    }
    Ranks { doubled, tie_sizes }
}

/// Rounds values to multiples of `resolution`, so that floating-point noise cannot break a tie.
/// Negative zero becomes zero. A resolution of 0 leaves values unchanged.
pub(crate) fn quantised(values: &[f64], resolution: f64) -> Vec<f64> {
    values
        .iter()
        .map(|&value| {
            let multiple = if resolution > 0.0 { (value / resolution).round() } else { value };
            // If the quotient overflows, the value is far above any resolution and is kept.
            if multiple.is_finite() { multiple + 0.0 } else { value }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use crate::rank::{midranks, quantised};

    #[test]
    fn equal_values_share_the_mean_rank() {
        let ranks = midranks(&[3.0, 1.0, 3.0, 2.0, 3.0]);
        // Ranks 4, 1, 4, 2, 4.
        assert_eq!(ranks.doubled, [8, 2, 8, 4, 8]);
        assert_eq!(ranks.tie_sizes, [3]);
        assert_eq!(ranks.tie_term(), 24.0);
    }

    #[test]
    fn positive_and_negative_zero_tie() {
        assert_eq!(midranks(&[0.0, -0.0]).doubled, [3, 3]);
    }

    #[test]
    fn rounding_restores_ties() {
        let noisy = [0.3 - 0.1, 0.2, 0.1 + 0.1];
        assert_eq!(midranks(&quantised(&noisy, 1e-10)).tie_sizes, [3]);
    }
}

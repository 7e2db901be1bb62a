//! Order statistics of all pairwise averages or differences, without forming them all.
//!
//! Not here: the meaning of the pairs. There are n(n+1)/2 Walsh averages of n values, and mn
//! differences between m and n values. Both form ascending rows; the k-th smallest is found by
//! cutting the rows at a weighted median of their middles, in O(n log^2 n) time and O(n) memory.
//! For small inputs, such as comparisons of rounds, it is faster to list and sort all pairs.
//!
//! Source: Johnson & Mizoguchi, "Selecting the kth element in X + Y", SIAM J. Computing 7, 1978.

use std::ops::Range;

/// Number of pairs up to which all are listed and sorted.
const LISTED_PAIRS: usize = 4096;

/// Pairs (i, j) whose value is non-decreasing in j within a row.
pub(crate) struct AscendingRows<V: Fn(usize, usize) -> f64> {
    rows: Vec<Range<usize>>,
    value: V,
    total: usize,
    listed: Option<Vec<f64>>,
}

/// Averages (x_i + x_j)/2, i <= j, of values in ascending order.
pub(crate) fn walsh_averages(
    ascending: &[f64],
) -> AscendingRows<impl Fn(usize, usize) -> f64 + '_> {
    let n = ascending.len();
    let rows = (0..n).map(|i| i..n).collect();
    AscendingRows::new(rows, |i, j| f64::midpoint(ascending[i], ascending[j]))
}

/// Differences b_j - a_i of two series in ascending order.
pub(crate) fn pairwise_differences<'a>(
    a: &'a [f64],
    b: &'a [f64],
) -> AscendingRows<impl Fn(usize, usize) -> f64 + 'a> {
    let rows = a.iter().map(|_| 0..b.len()).collect();
    AscendingRows::new(rows, |i, j| b[j] - a[i])
}

impl<V: Fn(usize, usize) -> f64> AscendingRows<V> {
    fn new(rows: Vec<Range<usize>>, value: V) -> Self {
        let total = rows.iter().map(Range::len).sum();
        let listed = (total <= LISTED_PAIRS).then(|| {
            let mut list: Vec<f64> = (rows.iter().enumerate())
                .flat_map(|(i, row)| row.clone().map(move |j| (i, j)))
                .map(|(i, j)| value(i, j))
                .collect();
            list.sort_unstable_by(f64::total_cmp);
            list
        });
        Self { rows, value, total, listed }
    }

    /// Number of pairs.
    pub(crate) fn total(&self) -> usize {
        self.total
    }

    /// Median: the middle value, or the mean of the two middle ones. NaN without pairs.
    pub(crate) fn median(&self) -> f64 {
        if self.total == 0 {
            return f64::NAN;
        }
        let upper = self.nth(self.total / 2);
        if self.total % 2 == 1 { upper } else { f64::midpoint(self.nth(self.total / 2 - 1), upper) }
    }

    /// Value at `index` in ascending order, from 0; the last value for an index beyond the end.
    pub(crate) fn nth(&self, index: usize) -> f64 {
        let index = index.min(self.total.saturating_sub(1));
        match &self.listed {
            Some(list) => list.get(index).copied().unwrap_or(f64::NAN),
            None => self.select(index),
        }
    }

    fn select(&self, index: usize) -> f64 {
        let mut open = self.rows.clone();
        // Number of pairs known to be smaller than every candidate.
        let mut smaller = 0;
        loop {
            let remaining: usize = open.iter().map(Range::len).sum();
            if remaining <= LISTED_PAIRS.max(2 * open.len()) {
                return self.select_listed(&open, index - smaller);
            }
            let pivot = self.weighted_middle(&open);
            let below = self.cuts(&open, |value| value < pivot);
            let up_to = self.cuts(&open, |value| value <= pivot);
            let count = |cuts: &[usize]| -> usize {
                cuts.iter().zip(&open).map(|(cut, row)| cut - row.start).sum()
            };
            if index < smaller + count(&below) {
                open.iter_mut().zip(below).for_each(|(row, cut)| row.end = cut);
            } else if index < smaller + count(&up_to) {
                return pivot;
            } else {
                smaller += count(&up_to);
                open.iter_mut().zip(up_to).for_each(|(row, cut)| row.start = cut);
            }
        }
    }

    /// First column of each row where `holds` is false.
    fn cuts(&self, open: &[Range<usize>], holds: impl Fn(f64) -> bool) -> Vec<usize> {
        let cut = |(i, row): (usize, &Range<usize>)| {
            let (mut low, mut high) = (row.start, row.end);
            while low < high {
                let middle = usize::midpoint(low, high);
                if holds((self.value)(i, middle)) {
                    low = middle + 1;
                } else {
                    high = middle;
                }
            }
            low
        };
        open.iter().enumerate().map(cut).collect()
    }

    /// Median of the rows' middle values, weighted by the number of candidates per row. At least a
    /// quarter of the candidates lies on either side of it.
    fn weighted_middle(&self, open: &[Range<usize>]) -> f64 {
        let mut middles: Vec<(f64, usize)> = (open.iter().enumerate())
            .filter(|(_, row)| !row.is_empty())
            .map(|(i, row)| ((self.value)(i, usize::midpoint(row.start, row.end - 1)), row.len()))
            .collect();
        middles.sort_unstable_by(|left, right| left.0.total_cmp(&right.0));
        let half = middles.iter().map(|(_, weight)| weight).sum::<usize>() / 2;
        let mut passed = 0;
        for (value, weight) in middles {
            passed += weight;
            if passed > half {
                return value;
            }
        }
        f64::NAN
    }

    fn select_listed(&self, open: &[Range<usize>], index: usize) -> f64 {
        let mut list: Vec<f64> = (open.iter().enumerate())
            .flat_map(|(i, row)| row.clone().map(move |j| (i, j)))
            .map(|(i, j)| (self.value)(i, j))
            .collect();
        if index >= list.len() {
            return f64::NAN;
        }
        *list.select_nth_unstable_by(index, f64::total_cmp).1
    }
}

#[cfg(test)]
mod tests {
    use crate::generator::Generator;
    use crate::input::sorted;
    use crate::judging::pair_selection::{pairwise_differences, walsh_averages};

    fn random(n: usize, steps: usize, seed: u64) -> Vec<f64> {
        let mut generator = Generator::seeded(seed);
        sorted(&(0..n).map(|_| generator.below(steps) as f64 / 7.0).collect::<Vec<_>>())
    }

    #[test]
    fn selection_agrees_with_sorting_all_averages() {
        for (seed, steps) in [(1, 1_000_000), (2, 40), (3, 1)] {
            let values = random(200, steps, seed);
            let rows = walsh_averages(&values);
            let mut averages = Vec::new();
            for i in 0..values.len() {
                for j in i..values.len() {
                    averages.push(f64::midpoint(values[i], values[j]));
                }
            }
            let averages = sorted(&averages);
            assert!(rows.listed.is_none(), "large enough to be selected, not listed");
            assert_eq!(rows.total(), averages.len());
            for index in [0, 1, 77, 5_000, 10_049, 10_050, 20_098, 20_099, 1_000_000] {
                assert_eq!(
                    rows.nth(index),
                    averages[index.min(averages.len() - 1)],
                    "index {index}"
                );
            }
        }
    }

    #[test]
    fn selection_agrees_with_sorting_all_differences() {
        let (a, b) = (random(90, 500, 4), random(130, 500, 5));
        let rows = pairwise_differences(&a, &b);
        let differences =
            sorted(&a.iter().flat_map(|a| b.iter().map(move |b| b - a)).collect::<Vec<_>>());
        assert!(rows.listed.is_none());
        for index in [0, 3, 1_000, 5_849, 5_850, 11_699] {
            assert_eq!(rows.nth(index), differences[index]);
        }
        assert_eq!(rows.median(), f64::midpoint(differences[5_849], differences[5_850]));
    }

    #[test]
    fn empty_input_has_no_median() {
        assert!(walsh_averages(&[]).median().is_nan());
        assert!(pairwise_differences(&[], &[1.0]).nth(0).is_nan());
    }
}

//! The methods that treering's is compared with, and the most likely place where both levels are
//! known.

use treering_stats::{ChangePointPlan, change_points};

use crate::welch::welch_p;

/// E-divisive with permutations (Matteson & James 2014).
pub(crate) fn e_divisive(values: &[f64], seed: u64) -> Vec<usize> {
    let plan = ChangePointPlan { fewest: 3, seed, ..ChangePointPlan::default() };
    let changes = change_points(values, &plan).unwrap_or_default();
    changes.iter().map(|change| change.index).collect()
}

/// Binary splits by the smallest p of Welch's t, kept while it is at most .001, as Hunter and
/// Apache Otava do.
pub(crate) fn student_splits(values: &[f64]) -> Vec<usize> {
    let mut splits_found = Vec::new();
    let mut open = Vec::from([(0, values.len())]);
    while let Some((start, end)) = open.pop() {
        let splits = (start + 2)..end.saturating_sub(1);
        let p = |at: usize| welch_p(&values[start..at], &values[at..end]);
        let best = splits.map(|at| (at, p(at))).min_by(|a, b| a.1.total_cmp(&b.1));
        if let Some((at, p)) = best
            && p <= 0.001
        {
            splits_found.push(at);
            open.extend([(start, at), (at, end)]);
        }
    }
    splits_found.sort_unstable();
    splits_found
}

/// The most likely place of a shift of this size from level 0.
pub(crate) fn place_of(values: &[f64], shift: f64) -> usize {
    let cost = |at: usize| -> f64 {
        let before: f64 = values[..at].iter().map(|value| value.powi(2)).sum();
        before + values[at..].iter().map(|value| (value - shift).powi(2)).sum::<f64>()
    };
    (1..values.len()).min_by(|a, b| cost(*a).total_cmp(&cost(*b))).unwrap_or(0)
}

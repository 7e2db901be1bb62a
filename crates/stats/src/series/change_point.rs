//! E-divisive change points: positions where the level of a series jumps (a journal flush or a
//! cleaner that wakes up; in a history, a new kernel).
//!
//! Not here: the size of a jump (`level_shift`), and comparisons of runs. Every test is a seeded
//! permutation test within the segment; samples may have weights. One pass over a segment costs O(n
//! log n) instead of n^2: two Fenwick trees maintain the sums of pairwise distances while the split
//! moves.
//!
//! Source: Matteson & James, Journal of the American Statistical Association 109, 2014 (arXiv
//! 1306.4933), with alpha = 1.

use std::ops::Range;

use crate::describe::mean;
use crate::error::StatsError;
use crate::generator::Generator;
use crate::input::{require_at_most, require_count, require_finite, require_probability};

/// Longest series accepted; permutations of longer ones would take minutes.
pub const LONGEST_CHANGE_SERIES: usize = 100_000;

/// Search plan for change points.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ChangePointPlan {
    /// Largest permutation p-value of a reported change; .05 by default.
    pub alpha: f64,
    /// Permutations per test; 199 by default.
    pub permutations: usize,
    /// Fewest samples on each side of a change, at least 2; 5 by default.
    pub fewest: usize,
    /// Maximum number of reported changes; 20 by default.
    pub most_changes: usize,
    /// Seed of the permutations.
    pub seed: u64,
}

impl Default for ChangePointPlan {
    fn default() -> Self {
        Self { alpha: 0.05, permutations: 199, fewest: 5, most_changes: 20, seed: 1 }
    }
}

/// Detected change of the distribution.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ChangePoint {
    /// Index of the first sample after the change, from 0.
    pub index: usize,
    /// Energy statistic Q of the split, in the unit of the samples.
    pub q: f64,
    /// Permutation p-value of the split within its segment: (1 + permutations with a larger Q) / (1
    /// + permutations).
    pub p_value: f64,
}

/// Energy statistic Q(t) of every split of the series, in the unit of the samples, with the first t
/// samples on the left; element i belongs to t = i + 2. Empty below four samples.
pub fn split_statistics(values: &[f64]) -> Result<Vec<f64>, StatsError> {
    require_finite(values)?;
    require_at_most(values.len(), LONGEST_CHANGE_SERIES)?;
    let samples: Vec<WeightedSample> =
        values.iter().map(|&value| WeightedSample { value, weight: 1.0 }).collect();
    Ok(RankedSegment::new(&samples).split_statistics(&samples))
}

/// E-divisive: repeatedly takes the best split of all segments and keeps it if a permutation test
/// within its segment is significant. Returns the change points in order of position.
pub fn change_points(
    values: &[f64],
    plan: &ChangePointPlan,
) -> Result<Vec<ChangePoint>, StatsError> {
    require_finite(values)?;
    let samples: Vec<WeightedSample> =
        values.iter().map(|&value| WeightedSample { value, weight: 1.0 }).collect();
    change_points_of(&samples, plan)
}

/// Detects change points of weighted samples; weights are finite and positive, with a mean of about
/// 1.
pub(crate) fn change_points_of(
    values: &[WeightedSample],
    plan: &ChangePointPlan,
) -> Result<Vec<ChangePoint>, StatsError> {
    require_at_most(values.len(), LONGEST_CHANGE_SERIES)?;
    require_probability("alpha", plan.alpha)?;
    require_count(plan.fewest, 2)?;
    require_count(plan.permutations, 1)?;
    let mut generator = Generator::seeded(plan.seed);
    let mut changes: Vec<ChangePoint> = Vec::new();
    let mut open = vec![candidate(values, 0..values.len(), plan.fewest)];
    while changes.len() < plan.most_changes {
        let best = open
            .iter()
            .enumerate()
            .filter_map(|(place, candidate)| candidate.as_ref().map(|split| (place, split.q)))
            .max_by(|left, right| left.1.total_cmp(&right.1));
        let Some(split) = best.and_then(|(place, _)| open.swap_remove(place)) else {
            break;
        };
        let p_value = permutation_p(values, &split, plan, &mut generator);
        if p_value > plan.alpha {
            break;
        }
        changes.push(ChangePoint { index: split.index, q: split.q, p_value });
        open.push(candidate(values, split.range.start..split.index, plan.fewest));
        open.push(candidate(values, split.index..split.range.end, plan.fewest));
    }
    changes.sort_unstable_by_key(|change| change.index);
    Ok(changes)
}

/// Weighted sample.
#[derive(Debug, Clone, Copy)]
pub(crate) struct WeightedSample {
    pub(crate) value: f64,
    pub(crate) weight: f64,
}

/// Best split of a segment.
struct BestSplit {
    range: Range<usize>,
    index: usize,
    q: f64,
}

fn candidate(values: &[WeightedSample], range: Range<usize>, fewest: usize) -> Option<BestSplit> {
    let part = &values[range.clone()];
    let (offset, q) = best_split(&RankedSegment::new(part), part, fewest)?;
    Some(BestSplit { index: range.start + offset, range, q })
}

/// Split with the largest Q and at least `fewest` samples on each side; `None` if there is none or
/// all samples are equal.
fn best_split(
    segment: &RankedSegment,
    values: &[WeightedSample],
    fewest: usize,
) -> Option<(usize, f64)> {
    if values.len() < fewest.saturating_mul(2) {
        return None;
    }
    let statistics = segment.split_statistics(values);
    (fewest..=values.len() - fewest)
        .filter_map(|t| statistics.get(t - 2).map(|&q| (t, q)))
        .max_by(|left, right| left.1.total_cmp(&right.1))
        .filter(|&(_, q)| q > 0.0)
}

fn permutation_p(
    values: &[WeightedSample],
    split: &BestSplit,
    plan: &ChangePointPlan,
    generator: &mut Generator,
) -> f64 {
    let mut part = values[split.range.clone()].to_vec();
    let segment = RankedSegment::new(&part);
    let mut larger = 0_usize;
    let p_value = |larger: usize| (larger as f64 + 1.0) / (plan.permutations as f64 + 1.0);
    for _ in 0..plan.permutations {
        generator.shuffle(&mut part);
        let q = best_split(&segment, &part, plan.fewest).map_or(0.0, |(_, q)| q);
        larger += usize::from(q >= split.q * (1.0 - 1e-12));
        if p_value(larger) > plan.alpha {
            break; // further permutations cannot make it significant again
        }
    }
    p_value(larger)
}

/// Distinct values of a segment, which rank its samples.
struct RankedSegment {
    distinct: Vec<f64>,
    /// Value subtracted from all others, which keeps sums accurate far from zero.
    centre: f64,
}

impl RankedSegment {
    fn new(samples: &[WeightedSample]) -> Self {
        let mut distinct: Vec<f64> = samples.iter().map(|sample| sample.value).collect();
        let centre = if distinct.is_empty() { 0.0 } else { mean(&distinct) };
        distinct.sort_unstable_by(f64::total_cmp);
        distinct.dedup();
        Self { distinct, centre }
    }

    fn split_statistics(&self, samples: &[WeightedSample]) -> Vec<f64> {
        if samples.len() < 4 {
            return Vec::new();
        }
        let mut left = SplitSide::new(self.distinct.len());
        let mut right = SplitSide::new(self.distinct.len());
        let placed: Vec<(usize, WeightedSample)> = samples
            .iter()
            .map(|sample| {
                let place = self.distinct.partition_point(|&other| other < sample.value);
                (place, WeightedSample { value: sample.value - self.centre, ..*sample })
            })
            .collect();
        placed.iter().for_each(|&(place, sample)| right.add(place, sample));
        let all_pairs = right.within;
        let mut statistics = Vec::with_capacity(samples.len() - 3);
        for (moved, &(place, sample)) in placed.iter().enumerate().take(samples.len() - 2) {
            right.remove(place, sample);
            left.add(place, sample);
            if moved >= 1 {
                let (n, m) = (left.tree.count, right.tree.count);
                let between = all_pairs - left.within - right.within;
                let energy = 2.0 / (n * m) * between - left.mean_within() - right.mean_within();
                statistics.push(n * m / (n + m) * energy);
            }
        }
        statistics
    }
}

/// Samples on one side of a split.
struct SplitSide {
    tree: DistanceTree,
    /// Sum over all pairs of the distance times both weights.
    within: f64,
    /// Sum of the squared weights.
    squares: f64,
}

impl SplitSide {
    fn new(places: usize) -> Self {
        Self { tree: DistanceTree::new(places), within: 0.0, squares: 0.0 }
    }

    fn add(&mut self, place: usize, WeightedSample { value, weight }: WeightedSample) {
        self.within += weight * self.tree.sum_of_distances(place, value);
        self.squares += weight * weight;
        self.tree.add(place, value, weight);
    }

    fn remove(&mut self, place: usize, WeightedSample { value, weight }: WeightedSample) {
        self.tree.add(place, value, -weight);
        self.squares -= weight * weight;
        self.within -= weight * self.tree.sum_of_distances(place, value);
    }

    /// Mean distance between two samples.
    fn mean_within(&self) -> f64 {
        2.0 * self.within / (self.tree.count.powi(2) - self.squares)
    }
}

/// Two Fenwick trees, which hold the weight and the weighted sum of the values up to a position.
struct DistanceTree {
    nodes: Vec<(f64, f64)>,
    count: f64,
    sum: f64,
}

impl DistanceTree {
    fn new(places: usize) -> Self {
        Self { nodes: vec![(0.0, 0.0); places + 1], count: 0.0, sum: 0.0 }
    }

    fn add(&mut self, place: usize, value: f64, weight: f64) {
        self.count += weight;
        self.sum += weight * value;
        let mut node = place + 1;
        while let Some(entry) = self.nodes.get_mut(node) {
            entry.0 += weight;
            entry.1 += weight * value;
            node += node & node.wrapping_neg();
        }
    }

    /// Weighted sum of |value - v| over the stored values v.
    fn sum_of_distances(&self, place: usize, value: f64) -> f64 {
        let (mut below, mut sum_below) = (0.0, 0.0);
        let mut node = place + 1;
        while node > 0 {
            below += self.nodes[node].0;
            sum_below += self.nodes[node].1;
            node &= node - 1;
        }
        value * below - sum_below + (self.sum - sum_below) - value * (self.count - below)
    }
}

#[cfg(test)]
mod tests {
    use crate::series::change_point::{ChangePointPlan, change_points, split_statistics};

    fn by_definition(values: &[f64], t: usize) -> f64 {
        let (a, b) = values.split_at(t);
        let sum = |left: &[f64], right: &[f64]| -> f64 {
            left.iter().flat_map(|x| right.iter().map(move |y| (x - y).abs())).sum()
        };
        let (n, m) = (a.len() as f64, b.len() as f64);
        let energy =
            2.0 / (n * m) * sum(a, b) - sum(a, a) / (n * (n - 1.0)) - sum(b, b) / (m * (m - 1.0));
        n * m / (n + m) * energy
    }

    #[test]
    fn tree_based_split_statistics_agree_with_the_definition() {
        let values: Vec<f64> =
            (0..60).map(|i| f64::from(i * 29 % 13) + if i > 40 { 3.0 } else { 0.0 }).collect();
        let statistics = split_statistics(&values).unwrap();
        assert_eq!(statistics.len(), 57);
        for (i, q) in statistics.iter().enumerate() {
            assert!((q - by_definition(&values, i + 2)).abs() < 1e-9);
        }
    }

    #[test]
    fn two_steps_are_found_and_noise_is_not() {
        let level = |i: u32| {
            if i < 30 {
                10.0
            } else if i < 60 {
                20.0
            } else {
                5.0
            }
        };
        let noise = |i: u32| f64::from(i * i * 7919 % 1009) / 1009.0;
        let steps: Vec<f64> = (0..90).map(|i| level(i) + noise(i)).collect();
        let plan = ChangePointPlan::default();
        let changes = change_points(&steps, &plan).unwrap();
        assert_eq!(changes.iter().map(|change| change.index).collect::<Vec<_>>(), [30, 60]);
        assert!(changes.iter().all(|change| change.p_value <= 0.05));
        let quiet: Vec<f64> = (0..90).map(noise).collect();
        assert!(change_points(&quiet, &plan).unwrap().is_empty());
        assert_eq!(changes, change_points(&steps, &plan).unwrap(), "seeded");
    }

    #[test]
    fn short_and_flat_series_have_no_change() {
        let plan = ChangePointPlan::default();
        assert_eq!(change_points(&[], &plan), Ok(vec![]));
        assert_eq!(change_points(&[1.0; 9], &plan), Ok(vec![]));
        assert_eq!(change_points(&[1.0; 50], &plan), Ok(vec![]));
        assert_eq!(split_statistics(&[1.0, 2.0, 3.0]), Ok(vec![]));
        assert!(change_points(&[1.0; 50], &ChangePointPlan { fewest: 1, ..plan }).is_err());
        assert!(change_points(&[1.0, f64::INFINITY], &plan).is_err());
    }
}

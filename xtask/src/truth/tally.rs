//! Counts of verdicts, and of intervals that contain the true ratio.

use std::collections::BTreeMap;

use serde_json::Value;

/// Verdict counts of the comparisons of one kind.
#[derive(Default)]
pub(super) struct VerdictTally {
    pub(super) comparisons: u32,
    /// Number of primary metrics of all comparisons.
    pub(super) metrics: u32,
    verdicts: BTreeMap<String, u32>,
    /// Number of single tests below 5 %, without correction for multiple comparisons.
    pub(super) uncorrected: u32,
    /// Number of comparisons in which at least one primary metric differs.
    pub(super) alarmed: u32,
    /// Number of intervals, and number of those that contain the true ratio.
    pub(super) intervals: u32,
    pub(super) true_intervals: u32,
    /// Estimated ratios over true ratios, and half the widths of the intervals, as logarithms.
    errors: Vec<f64>,
    half_widths: Vec<f64>,
}

impl VerdictTally {
    /// Counts a comparison whose contender has `true_rate` times the rate of the baseline.
    pub(super) fn count_comparison(&mut self, outcome: &Value, true_rate: f64) {
        let comparisons = outcome["comparisons"].as_array().map(Vec::as_slice).unwrap_or_default();
        let mut is_alarmed = false;
        for comparison in comparisons.iter().filter(|comparison| comparison["primary"] == true) {
            let verdict = comparison["verdict"].as_str().unwrap_or_default();
            is_alarmed |= matches!(verdict, "better" | "worse" | "small");
            self.metrics += 1;
            self.uncorrected += u32::from(comparison["p"].as_f64().is_some_and(|p| p < 0.05));
            *self.verdicts.entry(verdict.to_owned()).or_default() += 1;
            let truth = if comparison["better"] == "lower" { 1.0 / true_rate } else { true_rate };
            self.estimate(comparison, truth);
        }
        self.comparisons += 1;
        self.alarmed += u32::from(is_alarmed);
    }

    fn estimate(&mut self, comparison: &Value, truth: f64) {
        let number = |key: &str| comparison[key].as_f64().filter(|ratio| *ratio > 0.0);
        let estimate_and_interval = (number("ratio"), number("ratio_low"), number("ratio_high"));
        let (Some(ratio), Some(low), Some(high)) = estimate_and_interval else { return };
        self.intervals += 1;
        self.true_intervals += u32::from((low..=high).contains(&truth));
        self.errors.push((ratio / truth).ln());
        self.half_widths.push((high / low).ln() / 2.0);
    }

    /// Number of occurrences of these verdicts.
    pub(super) fn count(&self, verdicts: &[&str]) -> u32 {
        verdicts.iter().filter_map(|verdict| self.verdicts.get(*verdict)).sum()
    }

    /// Median of the estimated ratio over the true one, as a difference in percent.
    pub(super) fn median_error_percent(&self) -> f64 {
        (median(&self.errors).exp() - 1.0) * 100.0
    }

    /// Half the width of the median interval, in percent.
    pub(super) fn median_half_width_percent(&self) -> f64 {
        (median(&self.half_widths).exp() - 1.0) * 100.0
    }

    pub(super) fn add(&mut self, other: &Self) {
        self.comparisons += other.comparisons;
        self.metrics += other.metrics;
        for (verdict, count) in &other.verdicts {
            *self.verdicts.entry(verdict.clone()).or_default() += count;
        }
        self.uncorrected += other.uncorrected;
        self.alarmed += other.alarmed;
        self.intervals += other.intervals;
        self.true_intervals += other.true_intervals;
        self.errors.extend(&other.errors);
        self.half_widths.extend(&other.half_widths);
    }
}

fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    match sorted.len() {
        0 => f64::NAN,
        count if count % 2 == 1 => sorted[count / 2],
        count => f64::midpoint(sorted[count / 2 - 1], sorted[count / 2]),
    }
}

/// Upper end of the one-sided 95 % interval (Clopper and Pearson) of a rate, if `seen` of `total`
/// were seen: at this rate, so few or fewer are seen with a probability of 5 %.
pub(super) fn at_most(seen: u32, total: u32) -> f64 {
    if seen >= total {
        return 1.0;
    }
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..60 {
        let middle = f64::midpoint(low, high);
        if at_most_chance(seen, total, middle) > 0.05 { low = middle } else { high = middle }
    }
    high
}

/// Probability of seeing at most `seen` of `total` at this rate.
fn at_most_chance(seen: u32, total: u32, rate: f64) -> f64 {
    let mut term = (1.0 - rate).powf(f64::from(total));
    let mut sum = term;
    for count in 0..seen {
        term *= f64::from(total - count) / f64::from(count + 1) * rate / (1.0 - rate);
        sum += term;
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::{VerdictTally, at_most};
    use serde_json::json;

    #[test]
    fn rate_bounds_agree_with_the_tables() {
        // Expected values: 1 - .05^(1/n), and a textbook's for 2 of 20.
        assert!((at_most(0, 100) - (1.0 - 0.05_f64.powf(0.01))).abs() < 1e-9);
        assert!((at_most(2, 20) - 0.282_62).abs() < 1e-4, "{}", at_most(2, 20));
        assert!((at_most(5, 5) - 1.0).abs() < 1e-12);
    }

    #[test]
    fn verdicts_and_intervals_are_counted() {
        let metric = |verdict: &str, better: &str, low: f64, high: f64| {
            json!({"primary": true, "verdict": verdict, "better": better, "p": 0.01,
                "ratio": (low * high).sqrt(), "ratio_low": low, "ratio_high": high})
        };
        let other = json!({"primary": false, "verdict": "worse", "p": 0.5});
        let outcome = json!({"comparisons": [
            metric("worse", "higher", 0.93, 0.97), metric("unclear", "lower", 1.06, 1.2), other,
        ]});
        let mut tally = VerdictTally::default();
        tally.count_comparison(&outcome, 1.0 / 1.05);
        assert_eq!((tally.comparisons, tally.metrics, tally.alarmed), (1, 2, 1));
        assert_eq!((tally.count(&["worse"]), tally.count(&["same", "unclear"])), (1, 1));
        // The true ratio of times is 1.05, just outside the interval.
        assert_eq!((tally.intervals, tally.true_intervals, tally.uncorrected), (2, 1, 2));
        let mut both = VerdictTally::default();
        both.add(&tally);
        both.add(&tally);
        assert_eq!((both.metrics, both.count(&["worse"]), both.true_intervals), (4, 2, 2));
    }
}

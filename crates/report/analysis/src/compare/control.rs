//! Control: a comparison of the baseline with itself, whose differences are noise.

use treering_stats::{
    ALPHA, PowerPlan, Scale, compare_paired, compare_unpaired, smallest_detectable,
};

use super::caution::{ComparisonCaution, ComparisonCautionCode as Code};
use super::judging::{CompareError, compare};
use super::{ComparedVariant, ComparisonTerms, MetricComparison, Outcome};

impl Outcome {
    /// Compares the baseline with a second run of itself. A primary metric that differs after
    /// correction for all primary metrics is unstable, which is reported as a caution. The
    /// comparisons are stored in `control`, belong to no family and do not influence any verdict;
    /// they show how small a difference could have been detected.
    ///
    /// # Errors
    /// As [`compare`].
    pub fn check_control(
        &mut self,
        baseline: &ComparedVariant,
        control: &ComparedVariant,
        terms: &ComparisonTerms,
    ) -> Result<(), CompareError> {
        let against_itself = compare(baseline, std::slice::from_ref(control), terms)?;
        let unstable: Vec<String> = against_itself
            .comparisons
            .iter()
            .filter(|comparison| comparison.primary)
            .filter_map(|comparison| {
                differing(comparison)
                    .map(|difference| format!("{} {difference}", comparison.metric()))
            })
            .collect();
        if !unstable.is_empty() {
            let message =
                format!("'{}' differs from itself: {}", self.baseline(), unstable.join(", "));
            self.cautions.push(ComparisonCaution::new(Code::Unstable, message));
            self.cautions.sort();
        }
        self.control = against_itself
            .comparisons
            .into_iter()
            .filter(|comparison| comparison.primary)
            .collect();
        Ok(())
    }

    /// Smallest relative difference (.03 is 3 %) that would have been detected with 80 % power in a
    /// metric of the control, given its rounds, noise and the number of primary comparisons. `None`
    /// when the rounds are too few to detect any, or the metric has no ratio.
    pub fn smallest_detectable(&self, control: &MetricComparison) -> Option<f64> {
        control.ratio?;
        let compare = if control.paired { compare_paired } else { compare_unpaired };
        let (base, again) = (&control.baseline_values, &control.contender_values);
        let spread = compare(base, again, Scale::Ratio, ALPHA).ok()?.spread?;
        let family = self
            .comparisons
            .iter()
            .filter(|comparison| comparison.primary && comparison.p.is_some())
            .count();
        let comparisons = u32::try_from(family.max(1)).unwrap_or(u32::MAX);
        let rounds = u32::try_from(control.runs()).unwrap_or(u32::MAX);
        let plan = PowerPlan { comparisons, ..PowerPlan::default() };
        let size = smallest_detectable(rounds, spread, &plan).ok()??;
        Some(size.min(700.0).exp_m1())
    }
}

/// Formats the interval of a control metric if the corrected test excludes equality.
fn differing(comparison: &MetricComparison) -> Option<String> {
    let (low, high) = comparison.decided?.interval?;
    let none = if comparison.ratio.is_some() { 1.0 } else { 0.0 };
    (low > none || high < none).then(|| format!("{low:.3} to {high:.3}"))
}

//! The control: the baseline against itself, which can only differ by noise.

use super::caution::{ComparisonCaution, ComparisonCautionCode as Code};
use super::judging::{CompareError, compare};
use super::{Estimate, MetricComparison, Outcome, Side, Terms};

impl Outcome {
    /// Compares the baseline with a second arm of itself. A primary metric whose interval leaves
    /// out 1 is unstable; that becomes a caution. The control is in no family and decides nothing;
    /// it is kept in `control`, since it shows what could have been found.
    ///
    /// # Errors
    /// As [`compare`].
    pub fn check_control(
        &mut self,
        baseline: &Side,
        control: &Side,
        terms: &Terms,
    ) -> Result<(), CompareError> {
        let against_itself = compare(baseline, std::slice::from_ref(control), terms)?;
        let unstable: Vec<String> = against_itself
            .comparisons
            .iter()
            .filter(|one| one.primary && !one.few_rounds)
            .filter_map(|one| differing(one).map(|said| format!("{} {said}", one.metric())))
            .collect();
        if !unstable.is_empty() {
            let message =
                format!("'{}' differs from itself: {}", self.baseline.name, unstable.join(", "));
            self.cautions.push(ComparisonCaution::new(Code::Unstable, message));
            self.cautions.sort();
        }
        self.control = against_itself.comparisons.into_iter().filter(|one| one.primary).collect();
        Ok(())
    }
}

/// The interval in words, when it leaves out what no difference would be.
fn differing(one: &MetricComparison) -> Option<String> {
    let outside = |estimate: Option<Estimate>, none: f64| {
        let (low, high) = estimate?.interval?;
        (low > none || high < none).then(|| format!("{low:.3} to {high:.3}"))
    };
    outside(one.ratio, 1.0).or_else(|| outside(one.difference, 0.0))
}

//! The control: the baseline against itself, which can only differ by noise.

use treering_stats::{
    ALPHA, PowerPlan, Scale, compare_paired, compare_unpaired, smallest_detectable,
};

use super::caution::{ComparisonCaution, ComparisonCautionCode as Code};
use super::judging::{CompareError, compare};
use super::{Estimate, MetricComparison, Outcome, Side, Terms};

/// What the control says of a primary metric.
#[derive(Clone, Debug, PartialEq)]
pub struct ControlNumber {
    /// The parameters that tell its job from others of the workload; empty when there is one.
    pub job: String,
    /// The workload's name.
    pub workload: String,
    /// The metric's name, as in JSON.
    pub metric: String,
    /// The baseline differs from itself: its interval leaves out "no difference".
    pub unstable: bool,
    /// Differences smaller than this share (.03 is 3 %) could not have been found: with so many
    /// rounds, this noise and so many primary comparisons a larger one is found four times out of
    /// five. `None` where the rounds are too few to find any, or the metric has no ratio.
    pub smallest_detectable: Option<f64>,
}

impl Outcome {
    /// Compares the baseline with a second run of itself. A primary metric whose interval leaves
    /// out 1 is unstable; that becomes a caution. The control is in no family and decides nothing.
    /// What it says of each primary metric, in the order of the comparisons.
    ///
    /// # Errors
    /// As [`compare`].
    pub fn check_control(
        &mut self,
        baseline: &Side,
        control: &Side,
        terms: &Terms,
    ) -> Result<Vec<ControlNumber>, CompareError> {
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
        let family = self.comparisons.iter().filter(|one| one.primary && one.p.is_some()).count();
        let primary = against_itself.comparisons.iter().filter(|one| one.primary);
        Ok(primary.map(|one| number(one, family)).collect())
    }
}

fn number(one: &MetricComparison, family: usize) -> ControlNumber {
    ControlNumber {
        job: one.job.clone(),
        workload: one.workload.clone(),
        metric: one.metric(),
        unstable: !one.few_rounds && differing(one).is_some(),
        smallest_detectable: detectable(one, family),
    }
}

/// The smallest difference that so many rounds find four times out of five among so many.
fn detectable(one: &MetricComparison, family: usize) -> Option<f64> {
    one.ratio?;
    let compare = if one.paired { compare_paired } else { compare_unpaired };
    let (base, again) = (&one.baseline_values, &one.contender_values);
    let spread = compare(base, again, Scale::Ratio, ALPHA).ok()?.spread?;
    let comparisons = u32::try_from(family.max(1)).unwrap_or(u32::MAX);
    let rounds = u32::try_from(one.runs()).unwrap_or(u32::MAX);
    let plan = PowerPlan { comparisons, ..PowerPlan::default() };
    let size = smallest_detectable(rounds, spread, &plan).ok()??;
    Some(size.min(700.0).exp_m1())
}

/// The interval in words, when it leaves out what no difference would be.
fn differing(one: &MetricComparison) -> Option<String> {
    let outside = |estimate: Option<Estimate>, none: f64| {
        let (low, high) = estimate?.interval?;
        (low > none || high < none).then(|| format!("{low:.3} to {high:.3}"))
    };
    outside(one.ratio, 1.0).or_else(|| outside(one.difference, 0.0))
}

//! Primary comparisons of a plan, known before it runs: the primary metrics of each job, the number
//! of comparisons corrected together, and the minimum number of rounds.

use treering_model::{Metric, Variant, counted};
use treering_stats::{ALPHA, RECOMMENDED_LOOKS, StoppingRule, smallest_rounds};

use super::contrasts::{baselines, is_between_variants, job_baselines};
use super::foreseen::ForeseenMetrics;
use super::{Judging, Plan, PlannedJob, Stopping};

/// Minimum number of rounds for an exact confidence interval.
const FEWEST_ROUNDS: u32 = 6;

impl PlannedJob {
    /// Full names of the metrics that decide the comparisons of the job, in the workload's order.
    pub fn primary(&self, judging: &Judging) -> Vec<String> {
        let foreseen = ForeseenMetrics::new(self);
        if judging.primary.is_empty() {
            let deciding = foreseen.metrics.iter().filter(|metric| metric.primary);
            return deciding.map(Metric::full_name).collect();
        }
        judging.primary.iter().filter(|name| foreseen.has(name)).cloned().collect()
    }
}

impl Plan {
    /// Number of comparisons that are corrected together: the primary metrics of all jobs for each
    /// variant with a baseline, and on each variant the primary metrics of each job with a
    /// baseline. A single variant is compared with itself, under another kernel for example, and
    /// counts as one contender.
    pub fn family(&self) -> u32 {
        family(&self.variants, &self.jobs, &self.judging)
    }

    /// Minimum number of rounds after which each primary comparison can show a difference, at least
    /// 6.
    pub fn rounds_needed(&self) -> u32 {
        rounds_needed(self.family(), self.stopping.level())
    }

    /// Message about the variants that are compared with nothing, although they run in every round;
    /// `None` if there are none. Also `None` for a single variant, which is compared with itself
    /// under another kernel, and if jobs are compared.
    pub(crate) fn uncompared(&self) -> Option<String> {
        if self.variants.len() < 2 || self.compares_jobs() {
            return None;
        }
        let baselines = baselines(&self.variants);
        let is_alone =
            |place: &usize| baselines[*place].is_none() && !baselines.contains(&Some(*place));
        let alone = (0..self.variants.len()).filter(is_alone);
        let names: Vec<&str> = alone.map(|place| self.variants[place].name.as_str()).collect();
        let (first, runs) = match names.as_slice() {
            [] => return None,
            [one] => (*one, "is compared with nothing, and runs in every round"),
            [first, ..] => (*first, "are compared with nothing, and run in every round"),
        };
        Some(format!(
            "{} {runs}; write against = \"{first}\" into a variant below, or leave it out",
            names.join(", ")
        ))
    }

    /// Message about a plan that may end before a difference can be shown, with the number of
    /// rounds needed; `None` if the plan has enough rounds.
    pub fn shortfall(&self) -> Option<String> {
        let (family, needed) = (self.family(), self.rounds_needed());
        let comparisons = match family {
            1 => "its primary comparison needs".to_owned(),
            _ => format!("{family} primary comparisons, corrected together, need"),
        };
        let most = self.stopping.most_rounds();
        if most < needed {
            return Some(format!(
                "{} cannot show a difference: {comparisons} at least {needed}",
                counted(most, "round")
            ));
        }
        let first = self.stopping.first_end();
        (first < needed).then(|| {
            format!(
                "after {} no difference can be shown yet: {comparisons} at least {needed}",
                counted(first, "round")
            )
        })
    }
}

impl Stopping {
    /// Rule with the minimum fixed number of rounds for a family of comparisons.
    pub(crate) fn fixed_for(family: u32) -> Self {
        Self::Fixed { rounds: rounds_needed(family, ALPHA) }
    }

    /// Rule for intervals of this half width, a fraction. The minimum number of rounds suffices for
    /// the family of comparisons; the maximum is `most`.
    pub(crate) fn precision_for(family: u32, half_width: f64, most: u32) -> Self {
        let fewest = rounds_needed(family, ALPHA);
        Self::Precision { half_width, fewest, most: most.max(fewest) }
    }

    /// Rule for a time limit in minutes. The minimum number of rounds suffices for the family of
    /// comparisons; the maximum is `most`.
    pub(crate) fn time_for(family: u32, minutes: f64, most: u32) -> Self {
        let fewest = rounds_needed(family, ALPHA);
        Self::Time { minutes, fewest, most: most.max(fewest) }
    }

    /// Rule with the recommended looks, except early ones at which the family of comparisons cannot
    /// show a difference yet.
    pub(crate) fn sequential_for(family: u32) -> Self {
        let mut looks = RECOMMENDED_LOOKS.to_vec();
        let needed = rounds_needed(family, level_of(&looks));
        looks.retain(|look| *look >= needed);
        if looks.is_empty() {
            looks.push(needed);
        }
        Self::Sequential { looks }
    }

    /// Minimum number of rounds before the plan can end.
    pub fn first_end(&self) -> u32 {
        match self {
            Self::Fixed { rounds } => *rounds,
            Self::Precision { fewest, .. } | Self::Time { fewest, .. } => *fewest,
            Self::Sequential { looks } => looks.first().copied().unwrap_or_default(),
        }
    }

    /// Significance level of each test: lower with several looks.
    fn level(&self) -> f64 {
        match self {
            Self::Fixed { .. } | Self::Precision { .. } | Self::Time { .. } => ALPHA,
            Self::Sequential { looks } => level_of(looks),
        }
    }
}

fn level_of(looks: &[u32]) -> f64 {
    StoppingRule::sequential(looks).look_alpha().unwrap_or(ALPHA)
}

fn rounds_needed(family: u32, level: f64) -> u32 {
    smallest_rounds(family, level).unwrap_or(FEWEST_ROUNDS).max(FEWEST_ROUNDS)
}

/// See [`Plan::family`].
pub(crate) fn family(variants: &[Variant], jobs: &[PlannedJob], judging: &Judging) -> u32 {
    let baselines_of_jobs = job_baselines(jobs);
    let primary = |counts: &dyn Fn(usize, Option<usize>) -> bool| -> usize {
        let numbered = jobs.iter().zip(&baselines_of_jobs).enumerate();
        let counted = numbered
            .filter(|(place, (job, baseline))| job.is_measured() && counts(*place, **baseline));
        counted.map(|(_, (job, _))| job.primary(judging).len()).sum()
    };
    let contenders = baselines(variants).into_iter().flatten().count();
    let compares_jobs = baselines_of_jobs.iter().any(Option::is_some);
    let contenders = if compares_jobs { contenders } else { contenders.max(1) };
    let between_variants =
        contenders.saturating_mul(primary(&|_, baseline| is_between_variants(variants, baseline)));
    let on_each = primary(&|place, baseline| baseline.is_some_and(|baseline| baseline != place));
    let between_jobs = variants.len().saturating_mul(on_each);
    u32::try_from(between_variants.saturating_add(between_jobs)).unwrap_or(u32::MAX)
}

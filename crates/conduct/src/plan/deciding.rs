//! Primary comparisons of a plan, known before it runs: the primary metrics of each job, the number
//! of comparisons corrected together, and the minimum number of rounds.

use std::collections::BTreeSet;

use treering_model::metrics::{cpu, is_call_latency, is_observation, times};
use treering_model::{Metric, Scope, Variant};
use treering_observe::deciding_latency;
use treering_script::TargetFacts;
use treering_stats::{ALPHA, RECOMMENDED_LOOKS, StoppingRule, smallest_rounds};

use super::contrasts::{baselines, job_baselines};
use super::{Judging, Plan, PlannedJob, Stopping};

/// Minimum number of rounds for an exact confidence interval.
const FEWEST_ROUNDS: u32 = 6;
/// Metrics that a report adds to every trial.
const OF_TRIAL: [&str; 3] =
    [times::ELAPSED_SECONDS.name, cpu::SYSTEM_CPU_SECONDS.name, cpu::USER_CPU_SECONDS.name];
/// Metrics that a report adds to each phase.
const OF_PHASE: [&str; 2] = [times::ELAPSED_SECONDS.name, cpu::SYSTEM_CPU_SECONDS.name];
/// Metrics that a report adds to each kind of task.
const OF_KIND: [&str; 2] = [times::SECONDS.name, cpu::SYSTEM_CPU_SECONDS.name];

impl PlannedJob {
    /// Full names of the metrics that decide the comparisons of the job, in the workload's order.
    pub fn primary(&self, judging: &Judging) -> Vec<String> {
        let foreseen = foreseen_of(self);
        if judging.primary.is_empty() {
            let deciding = foreseen.iter().filter(|metric| metric.primary);
            return deciding.map(Metric::full_name).collect();
        }
        let has = |name: &&String| has_metric(&foreseen, name);
        judging.primary.iter().filter(has).cloned().collect()
    }
}

impl Plan {
    /// Number of comparisons that are corrected together: the primary metrics of all jobs for each
    /// variant compared with another, and on each variant those of each job that is compared with
    /// another. A plan of a single variant is compared under something else,
    /// such as another kernel; that counts as one contender.
    pub fn family(&self) -> u32 {
        family(&self.variants, &self.jobs, &self.judging)
    }

    /// Minimum number of rounds after which each primary comparison can show a difference, at least
    /// 6.
    pub fn rounds_needed(&self) -> u32 {
        rounds_needed(self.family(), self.stopping.level())
    }

    /// Message about a plan that may end before a difference can be shown, with the number of
    /// rounds needed; `None` if there are enough.
    pub fn shortfall(&self) -> Option<String> {
        let (family, needed) = (self.family(), self.rounds_needed());
        let comparisons = match family {
            1 => "its primary comparison needs".to_owned(),
            _ => format!("{family} primary comparisons, corrected together, need"),
        };
        let most = self.stopping.most_rounds();
        if most < needed {
            return Some(format!(
                "{most} rounds cannot show a difference: {comparisons} at least {needed}"
            ));
        }
        let first = self.stopping.first_end();
        (first < needed).then(|| {
            format!(
                "after {first} rounds no difference can be shown yet: {comparisons} need at \
                 least {needed}"
            )
        })
    }
}

impl Stopping {
    /// Rule with the minimum fixed number of rounds for a family of comparisons.
    pub(crate) fn fixed_for(family: u32) -> Self {
        Self::Fixed { rounds: rounds_needed(family, ALPHA) }
    }

    /// Rule for intervals of this half width as a fraction, but not before the family of
    /// comparisons can show a difference; `most` rounds at most.
    pub(crate) fn precision_for(family: u32, half_width: f64, most: u32) -> Self {
        let fewest = rounds_needed(family, ALPHA);
        Self::Precision { half_width, fewest, most: most.max(fewest) }
    }

    /// Rule for a time limit in minutes, at most `most` rounds, but no fewer than the family of
    /// comparisons needs.
    pub(crate) fn time_for(family: u32, minutes: f64, most: u32) -> Self {
        let fewest = rounds_needed(family, ALPHA);
        Self::Time { minutes, fewest, most: most.max(fewest) }
    }

    /// Rule with the recommended looks, without those at which the family of comparisons cannot
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
    let between_variants = contenders.saturating_mul(primary(&|_, baseline| baseline.is_none()));
    let on_each = primary(&|place, baseline| baseline.is_some_and(|baseline| baseline != place));
    let between_jobs = variants.len().saturating_mul(on_each);
    u32::try_from(between_variants.saturating_add(between_jobs)).unwrap_or(u32::MAX)
}

/// Metrics that each job will give, as far as they are known before it runs.
pub(crate) fn foreseen(jobs: &[PlannedJob]) -> Vec<Vec<Metric>> {
    jobs.iter().map(foreseen_of).collect()
}

/// Metrics of a job with the latency of its syncs, if that decides.
fn foreseen_of(job: &PlannedJob) -> Vec<Metric> {
    let mut metrics = job.job.foreseen_metrics(&TargetFacts::unknown());
    metrics.extend(job.job.deciding_sync().map(deciding_latency));
    metrics
}

/// True if one of the jobs with these metrics can have a metric of this name.
pub(crate) fn is_known(foreseen: &[Vec<Metric>], name: &str) -> bool {
    foreseen.iter().any(|metrics| has_metric(metrics, name))
}

/// Names of the metrics that jobs with these metrics can give, primary ones first.
pub(crate) fn known_metrics(foreseen: &[Vec<Metric>]) -> Vec<String> {
    let (primary, others): (Vec<&Metric>, Vec<&Metric>) =
        foreseen.iter().flatten().partition(|one| one.primary);
    let names = primary.into_iter().chain(others).map(Metric::full_name);
    let mut seen = BTreeSet::new();
    let names = names.chain(OF_TRIAL.map(str::to_owned));
    names.filter(|name| seen.insert(name.clone())).collect()
}

/// True if a trial with these metrics can have a metric of this name, including those that reports
/// derive from the times of phases and tasks, and those of observers.
fn has_metric(foreseen: &[Metric], name: &str) -> bool {
    if foreseen.iter().any(|metric| metric.full_name() == name) || OF_TRIAL.contains(&name) {
        return true;
    }
    let (part, last) = name.rsplit_once('/').unwrap_or(("", name));
    let is_of_phase = part.strip_prefix("phase ").is_some_and(|phase| !phase.is_empty());
    if is_observation(last) || is_call_latency(last) {
        return part.is_empty() || is_of_phase;
    }
    let is_kind = |metric: &Metric| matches!(&metric.scope, Scope::Kind(kind) if kind == part);
    (is_of_phase && OF_PHASE.contains(&last))
        || (OF_KIND.contains(&last) && foreseen.iter().any(is_kind))
}

//! Sizes jobs by the warm-up: a job whose size the plan leaves open is scaled, once and equally for
//! all variants and rounds, until its phase takes the target time.

use std::collections::BTreeMap;

use treering_model::{CellRole, TrialId, thousands};
use treering_script::{ScaleUnit, TargetFacts, WorkScale, Workload};

use crate::cells::PlannedCell;
use crate::failure::Failure;
use crate::host::{ResultStore, WarmUpTrial};
use crate::plan::{ChangedJob, Plan, PlannedJob, Stopping};
use crate::room::shortage;

/// Target of a phase in seconds for jobs whose size the plan does not state.
const USUAL_SECONDS: u32 = 5;
/// Maximum percentage of the free space and of the free inodes that a scaled job may need.
const ROOM_PERCENT: u64 = 80;

/// A job with the size that the warm-up gave it.
struct SizedJob {
    job: PlannedJob,
    /// Old and new size with the reason, in words: `4,000 → 61,000 files, so that …`.
    words: String,
}

/// Jobs of a plan with the sizes that the warm-up gave them.
#[derive(Default)]
pub(super) struct SizedJobs {
    /// Sized form of each job, if it was scaled; `None` before the first call of
    /// [`SizedJobs::size`].
    jobs: Option<Vec<Option<SizedJob>>>,
}

impl SizedJobs {
    /// Sizes the jobs on the first call, and returns a line for each scaled job.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub(super) fn size(
        &mut self,
        plan: &Plan,
        done: &BTreeMap<PlannedCell, TrialId>,
        workloads: &[&'static dyn Workload],
        store: &dyn ResultStore,
    ) -> Result<Vec<String>, Failure> {
        if self.jobs.is_some() {
            return Ok(Vec::new());
        }
        let jobs = sized_jobs(plan, done, workloads, store)?;
        let sized = jobs.iter().flatten();
        let lines = sized.map(|sized| format!("{}: {}", sized.job.name, sized.words)).collect();
        self.jobs = Some(jobs);
        Ok(lines)
    }

    /// Job of a cell as its variant changes it: in the warm-up with the size of the plan, later
    /// with the size determined by the warm-up.
    pub(super) fn job<'j>(&'j self, plan: &'j Plan, cell: &PlannedCell) -> &'j PlannedJob {
        let sized = self.of(cell).filter(|_| cell.role != CellRole::WarmUp);
        let job = sized.map_or(&plan.jobs[cell.job], |sized| &sized.job);
        job.changed_by(&plan.variants[cell.variant].settings)
    }

    /// Old and new size of the job of a cell, in words; `None` if the job was not scaled.
    pub(super) fn words(&self, cell: &PlannedCell) -> Option<&str> {
        Some(&self.of(cell)?.words)
    }

    fn of(&self, cell: &PlannedCell) -> Option<&SizedJob> {
        self.jobs.as_ref()?.get(cell.job)?.as_ref()
    }
}

/// Option that scales a job, and the target time of its phase in seconds; `None` if the job keeps
/// its size.
pub(super) fn target(plan: &Plan, planned: &PlannedJob) -> Option<(WorkScale, f64)> {
    let scale = planned.job.scale().filter(|_| plan.conditions.warm_up)?;
    let mut forms = std::iter::once(planned).chain(planned.changed.iter().map(|it| &it.job));
    let seconds = match plan.conditions.phase_seconds {
        Some(seconds) => seconds,
        // Steps keep their size, since the plan determines their proportions.
        None if planned.step.is_some() => 0,
        None if forms.any(|job| scale.is_stated_by(&job.options)) => 0,
        None => USUAL_SECONDS,
    };
    (seconds > 0).then(|| (scale, f64::from(seconds)))
}

/// Sizes the jobs of a plan by its warm-up; `None` for each job that keeps its size.
///
/// # Errors
/// When the store cannot be read.
fn sized_jobs(
    plan: &Plan,
    done: &BTreeMap<PlannedCell, TrialId>,
    workloads: &[&'static dyn Workload],
    store: &dyn ResultStore,
) -> Result<Vec<Option<SizedJob>>, Failure> {
    let baselines = plan.job_baselines();
    let is_sized = |planned: &PlannedJob| target(plan, planned).is_some();
    if !plan.jobs.iter().any(is_sized) {
        return Ok(plan.jobs.iter().map(|_| None).collect());
    }
    let warm_ups = |grows: bool| {
        let is_meant = |cell: &PlannedCell| {
            cell.role == CellRole::WarmUp && is_sized(&plan.jobs[cell.job]) == grows
        };
        let trials = done.iter().filter(|(cell, _)| is_meant(cell)).map(|(_, trial)| *trial);
        store.warm_ups(&trials.collect::<Vec<TrialId>>())
    };
    let growth = growth_within_time(&plan.stopping, (&warm_ups(false)?, &warm_ups(true)?));
    let sized = |(place, planned): (usize, &PlannedJob)| -> Result<Option<SizedJob>, Failure> {
        let Some((scale, seconds)) = target(plan, planned) else { return Ok(None) };
        // Jobs that are compared with one another get the same work, scaled by the fastest trial.
        let group = last_baseline(&baselines, place);
        let is_its = |cell: &PlannedCell| {
            cell.role == CellRole::WarmUp && last_baseline(&baselines, cell.job) == group
        };
        let trials = done.iter().filter(|(cell, _)| is_its(cell)).map(|(_, trial)| *trial);
        let trials = store.warm_ups(&trials.collect::<Vec<TrialId>>())?;
        let measured = trials.iter().filter_map(|trial| measured_seconds(trial, &scale));
        let Some(measured) = measured.min_by(f64::total_cmp) else { return Ok(None) };
        let wanted = scale.value_for(measured, seconds);
        let most = growth.map_or(wanted, |growth| grown(&scale, growth));
        let target_value = wanted.min(most);
        if target_value == scale.value || wanted > scale.value && most <= scale.value {
            return Ok(None);
        }
        let with = |value| scaled(planned, (&scale, value), workloads);
        let room = available_space(&trials);
        let fits = |value: u64| with(value).is_some_and(|job| fits_into(&job, &room));
        let value = if fits(target_value) {
            target_value
        } else {
            largest(scale.value, target_value, fits)
        };
        let Some(job) = with(value).filter(|_| value > scale.value) else { return Ok(None) };
        let reason = match (value == target_value, &plan.stopping) {
            (true, Stopping::Time { minutes, fewest, .. }) if wanted > most => {
                format!("as much as lets {fewest} rounds fit into {minutes} min")
            }
            (true, _) => format!("so that the fastest variant's phase takes {seconds} s"),
            (false, _) => format!("as much as fits; a phase of {seconds} s needs more room"),
        };
        let words = words(&scale, value, &reason);
        Ok(Some(SizedJob { job, words }))
    };
    plan.jobs.iter().enumerate().map(sized).collect()
}

/// Factor by which the work of the warm-up may grow so that the fewest rounds of all variants, the
/// slow ones included, fit into the time of the plan; `None` without a limit of time. The first
/// warm-ups are those of jobs that keep their size.
fn growth_within_time(
    stopping: &Stopping,
    (fixed, growing): (&[WarmUpTrial], &[WarmUpTrial]),
) -> Option<f64> {
    let Stopping::Time { minutes, fewest, .. } = stopping else { return None };
    let seconds = |trials: &[WarmUpTrial]| {
        trials.iter().flat_map(|trial| &trial.phases).map(|(_, seconds)| seconds).sum::<f64>()
    };
    let boots = fixed.iter().chain(growing).map(|trial| trial.boot_seconds).sum::<f64>();
    let most_seconds = minutes * 60.0 / f64::from((*fewest).max(1)) - boots - seconds(fixed);
    let growing = seconds(growing);
    (growing > 0.0).then(|| (most_seconds / growing).max(1.0))
}

/// Value of the option after the work grew by this factor.
fn grown(scale: &WorkScale, growth: f64) -> u64 {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "at most u64::MAX")]
    let value = (scale.value as f64 * growth) as u64;
    // Two significant digits, as in other sizes, downwards.
    let step = 10_u64.pow(value.max(1).ilog10().saturating_sub(1));
    value / step * step
}

/// Returns the job with another value of the option. The forms that variants give it are scaled by
/// the same factor. `None` if a form cannot be scaled.
fn scaled(
    planned: &PlannedJob,
    (scale, value): (&WorkScale, u64),
    workloads: &[&'static dyn Workload],
) -> Option<PlannedJob> {
    let with = |job: &PlannedJob, scale: &WorkScale, value| {
        job.with_options(scale.with_value(&job.options, value), workloads).ok()
    };
    let mut job = with(planned, scale, value)?;
    for changed in &planned.changed {
        let own_scale = changed.job.job.scale()?;
        let value = scaled_value((scale, value), &own_scale)?;
        job.changed.push(ChangedJob {
            changes: changed.changes.clone(),
            env: changed.env.clone(),
            job: with(&changed.job, &own_scale, value)?,
        });
    }
    Some(job)
}

/// Value of the option that scales a changed job by the same factor; `None` if its size depends on
/// another option, or the value is out of range.
fn scaled_value((scale, value): (&WorkScale, u64), changed: &WorkScale) -> Option<u64> {
    let is_same =
        (scale.option, scale.key, scale.unit) == (changed.option, changed.key, changed.unit);
    if !is_same || scale.value == 0 {
        return None;
    }
    let product = u128::from(changed.value) * u128::from(value);
    let own_value = u64::try_from(product.div_ceil(u128::from(scale.value))).ok()?;
    (own_value <= changed.most).then_some(own_value)
}

/// Follows the chain of baselines from this job to its end. Jobs that are compared, directly or
/// indirectly, have the same end.
fn last_baseline(baselines: &[Option<usize>], job: usize) -> usize {
    let mut first = job;
    for _ in baselines {
        first = baselines[first].unwrap_or(first);
    }
    first
}

/// Seconds of the longest phase that the option scales, summed over its repetitions. `None` if
/// there is no such phase.
fn measured_seconds(trial: &WarmUpTrial, scale: &WorkScale) -> Option<f64> {
    let mut sums: BTreeMap<&str, f64> = BTreeMap::new();
    for (name, seconds) in trial.phases.iter().filter(|(name, _)| (scale.follows)(name)) {
        *sums.entry(without_number(name)).or_default() += seconds;
    }
    sums.into_values().max_by(f64::total_cmp).filter(|seconds| *seconds > 0.0)
}

/// Name of a phase without its repetition number.
fn without_number(name: &str) -> &str {
    name.trim_end_matches(|c: char| c.is_ascii_digit()).trim_end()
}

/// Space and inodes that a job may use on the smallest of the filesystems.
fn available_space(trials: &[WarmUpTrial]) -> TargetFacts {
    let least = |of: &dyn Fn(&WarmUpTrial) -> Option<u64>| {
        let share = |free: u64| free / 100 * ROOM_PERCENT;
        trials.iter().filter_map(of).min().map(share)
    };
    TargetFacts {
        free_bytes: least(&|trial| trial.free_bytes).unwrap_or(u64::MAX),
        free_inodes: least(&|trial| trial.free_inodes),
        ..TargetFacts::unknown()
    }
}

/// True if every form that variants give the job fits.
fn fits_into(job: &PlannedJob, room: &TargetFacts) -> bool {
    let forms = std::iter::once(job).chain(job.changed.iter().map(|changed| &changed.job));
    let mut forms = forms.map(|form| shortage(&form.job.footprint(room), room));
    forms.all(|shortage| shortage.is_none())
}

/// Finds the largest value from `least` to `most` that fits, by bisection; `least` if none does.
fn largest(least: u64, most: u64, fits: impl Fn(u64) -> bool) -> u64 {
    let (mut low, mut high) = (least, most);
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        if fits(middle) {
            low = middle;
        } else {
            high = middle;
        }
    }
    low
}

fn words(scale: &WorkScale, value: u64, why: &str) -> String {
    let (from, to) = match scale.unit {
        ScaleUnit::Amount { name, each } => {
            let amount = |value: u64| thousands(&value.saturating_mul(each).to_string());
            (amount(scale.value), format!("{} {name}", amount(value)))
        }
        ScaleUnit::Bytes => (mebibytes(scale.value), mebibytes(value)),
        ScaleUnit::Seconds => (format!("{} s", scale.value), format!("{value} s")),
    };
    format!("{from} → {to}, {why}")
}

fn mebibytes(bytes: u64) -> String {
    format!("{} MiB", thousands(&(bytes >> 20).to_string()))
}

#[cfg(test)]
mod tests {
    use treering_script::{ScaleUnit, WorkScale};

    use super::{
        WarmUpTrial, available_space, grown, growth_within_time, largest, last_baseline,
        measured_seconds, scaled, scaled_value, words,
    };
    use crate::plan::Stopping;
    use crate::plan::document::{Known, read};

    const SCALE: WorkScale = WorkScale {
        option: "iterations",
        key: None,
        value: 4,
        most: 1_000,
        unit: ScaleUnit::Amount { name: "files", each: 1_000 },
        follows: |phase| phase.starts_with("iteration"),
        sizes: &[],
    };

    fn trial(phases: &[(&str, f64)], free: u64) -> WarmUpTrial {
        let phases = phases.iter().map(|(name, seconds)| ((*name).to_owned(), *seconds)).collect();
        WarmUpTrial { phases, free_bytes: Some(free), ..WarmUpTrial::default() }
    }

    #[test]
    fn repetitions_of_a_phase_are_summed() {
        let phases =
            [("setup", 9.0), ("iteration 1", 0.5), ("iteration 2", 0.25), ("unlink 1", 7.0)];
        assert_eq!(measured_seconds(&trial(&phases, 0), &SCALE), Some(0.75));
        assert_eq!(measured_seconds(&trial(&phases[..1], 0), &SCALE), None);
    }

    #[test]
    fn work_grows_only_as_far_as_the_slow_variant_lets_rounds_fit_into_the_time() {
        let stopping = Stopping::Time { minutes: 1.0, fewest: 6, most: 20 };
        // A round of both takes 2 s, and six rounds may take 10 s each.
        let trials = [trial(&[("create", 0.1)], 0), trial(&[("create", 1.4), ("unlink", 0.5)], 0)];
        let growth = growth_within_time(&stopping, (&[], &trials)).unwrap();
        assert!((growth - 5.0).abs() < 1e-9, "{growth}");
        assert_eq!(grown(&WorkScale { value: 2469, ..SCALE }, growth), 12_000);
        let with_fixed = growth_within_time(&stopping, (&trials[1..], &trials[..1])).unwrap();
        assert!((with_fixed - 81.0).abs() < 1e-9, "{with_fixed}");
        let booted = WarmUpTrial { boot_seconds: 4.0, ..trials[0].clone() };
        let with_boot = growth_within_time(&stopping, (&[], &[booted, trials[1].clone()]));
        assert!((with_boot.unwrap() - 3.0).abs() < 1e-9, "{with_boot:?}");
        assert_eq!(growth_within_time(&Stopping::Fixed { rounds: 6 }, (&[], &trials)), None);
        assert_eq!(growth_within_time(&stopping, (&[], &[])), None);
    }

    #[test]
    fn a_fifth_of_the_smallest_filesystem_stays_free() {
        let room = available_space(&[trial(&[], 5_000), trial(&[], 1_000)]);
        assert_eq!((room.free_bytes, room.free_inodes), (800, None));
    }

    #[test]
    fn jobs_that_are_compared_are_sized_together() {
        // Job 1 is compared with job 0, job 2 with job 1, and job 3 with none.
        let baselines = [Some(0), Some(0), Some(1), None];
        let first: Vec<usize> = (0..4).map(|job| last_baseline(&baselines, job)).collect();
        assert_eq!(first, [0, 0, 0, 3]);
    }

    #[test]
    fn changed_jobs_are_scaled_by_the_same_factor_or_not_at_all() {
        let grown = |changed: WorkScale| scaled_value((&SCALE, 10), &changed);
        assert_eq!(grown(SCALE), Some(10));
        assert_eq!(grown(WorkScale { value: 8, ..SCALE }), Some(20));
        assert_eq!(grown(WorkScale { value: 1, ..SCALE }), Some(3), "never too little");
        assert_eq!(grown(WorkScale { value: 800, ..SCALE }), None, "more than the option takes");
        assert_eq!(grown(WorkScale { option: "files", ..SCALE }), None);
        assert_eq!(grown(WorkScale { unit: ScaleUnit::Seconds, ..SCALE }), None);
        assert_eq!(scaled_value((&WorkScale { value: 0, ..SCALE }, 10), &SCALE), None);
    }

    #[test]
    fn changed_forms_of_a_job_are_scaled_with_it() {
        let text = "[[variant]]\nfilesystem = \"ext4\"\n\
                    [[variant]]\nname = \"twice\"\nfilesystem = \"ext4\"\n\
                    options = { files = 200, size = 7 }\n\
                    [[job]]\nworkload = \"fs_mark\"\noptions = { files = 100, size = 5 }\n";
        let known = Known {
            workloads: treering_registry::workloads(),
            filesystems: &["ext4"],
            ..Known::default()
        };
        let plan = read(text, "plan.toml", &known).unwrap();
        let scale = plan.jobs[0].job.scale().unwrap();
        let sized = scaled(&plan.jobs[0], (&scale, 1_000), known.workloads).unwrap();
        for (variant, files, size) in [(0, "1000", "5"), (1, "2000", "7")] {
            let job = sized.changed_by(&plan.variants[variant].settings);
            let parameter = |name: &str| {
                let parameters = job.job.parameters();
                parameters.into_iter().find(|(known, _)| known == name).map(|(_, value)| value)
            };
            assert_eq!(parameter("files").as_deref(), Some(files));
            assert_eq!(parameter("size").as_deref(), Some(size));
        }
        let too_many = scale.most / 2 + 1;
        assert!(scaled(&plan.jobs[0], (&scale, too_many), known.workloads).is_none());
    }

    #[test]
    fn the_largest_size_that_fits_is_found() {
        assert_eq!(largest(4, 1_000_000, |value| value <= 777), 777);
        assert_eq!(largest(4, 5, |_| false), 4);
    }

    #[test]
    fn sizes_are_described_in_their_own_units() {
        let whole = words(&SCALE, 61, "so that it fits");
        assert_eq!(whole, "4,000 → 61,000 files, so that it fits");
        let of_time = WorkScale { unit: ScaleUnit::Seconds, ..SCALE };
        assert!(words(&of_time, 5, "").starts_with("4 s → 5 s, "));
        let of_bytes = WorkScale { unit: ScaleUnit::Bytes, value: 1 << 28, ..SCALE };
        assert!(words(&of_bytes, 1 << 32, "as much").starts_with("256 MiB → 4,096 MiB, as much"));
    }
}

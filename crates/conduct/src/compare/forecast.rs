//! Forecast of a plan before it runs: rounds, trials, comparisons and the expected duration.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use crate::cells::{PlannedCell, observing_rounds, rounds};
use crate::plan::{Plan, PlannedJob, ShippedPlan, Stopping};
use treering_model::{Accelerator, Cell, CellRole, DeviceSpec, TrialId, Variant, WorkLimit};
use treering_script::{Footprint, ScaleUnit, TargetFacts};
use treering_stats::median;

use super::announcement::announcement;
use super::overhead::{DEVICE_SECONDS, Overhead};
use super::sizing::target;
use crate::failure::Failure;
use crate::host::{EarlierTrial, ResultStore};

/// Maximum number of earlier trials read for an estimate.
const EARLIER_TRIALS_MAX: usize = 200;
/// Assumed throughput without earlier trials, in bytes and files per second.
const ASSUMED_BYTES: f64 = 200e6;
const ASSUMED_FILES: f64 = 10_000.0;
/// Duration of a job without earlier trials, if it does not follow from its bytes and files.
const UNKNOWN: &str = "the duration is unknown until the first round";
/// Maximum number of earlier boots read for an estimate.
const EARLIER_BOOTS_MAX: usize = 20;
/// Assumed duration of a boot in seconds, without earlier ones.
const ASSUMED_BOOT_SECONDS: f64 = 10.0;
/// Assumed factor by which emulation prolongs the work.
const ASSUMED_EMULATION: f64 = 20.0;
/// Names of workload parameters with a run time in seconds.
const RUN_TIME_PARAMETERS: [&str; 4] = ["seconds", "runtime", "time", "timelimit"];

/// Estimated cost of a trial of a job.
pub(crate) struct Estimate {
    pub(crate) footprint: Footprint,
    /// Duration of the work in seconds, in a guest with its boot; `None` if unknown.
    pub(crate) seconds: Option<f64>,
    /// Number of earlier trials behind the estimate.
    trials: usize,
    /// True if it runs in an emulated guest.
    is_emulated: bool,
}

impl Estimate {
    /// Estimated duration and its source, in words.
    pub(crate) fn words(&self) -> String {
        let Some(seconds) = self.seconds else {
            return UNKNOWN.to_owned();
        };
        let from = match self.trials {
            0 if self.is_emulated => {
                "with its boot, assuming that emulation takes 20 times as long as a machine with \
                 200 MB and 10,000 files per second"
            }
            0 => "assuming 200 MB and 10,000 files per second",
            1 => "from an earlier trial",
            _ => "the median of earlier trials",
        };
        format!("about {} ({from})", duration(seconds))
    }
}

/// Forecast of a plan before it runs.
pub(crate) struct Forecast {
    pub(crate) jobs: Vec<Estimate>,
    /// Lines of the forecast, in the order of the display.
    lines: Vec<String>,
}

impl Forecast {
    /// Forecasts the missing cells from the durations of earlier trials in the store.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub(crate) fn new(
        plan: &Plan,
        store: &dyn ResultStore,
        is_there: impl Fn(&PlannedCell) -> bool,
    ) -> Result<Self, Failure> {
        let guest = GuestForecast::new(plan, store)?;
        let digest = plan.digest();
        let is_played = plan.variants.iter().flat_map(Variant::devices).any(DeviceSpec::is_played);
        let estimated = |job: &PlannedJob| {
            let mut estimate = estimate((&digest, job), (guest.as_ref(), is_played), store)?;
            if let (Some(seconds), Some((_, sized))) = (&mut estimate.seconds, target(plan, job)) {
                *seconds = seconds.max(sized);
            }
            Ok(estimate)
        };
        let jobs: Result<Vec<Estimate>, Failure> = plan.jobs.iter().map(estimated).collect();
        let jobs = jobs?;
        let overhead = Overhead::new(plan, &digest, store)?;
        let aging = AgingForecast::new(plan, &digest, store)?;
        let expected = ExpectedSeconds { jobs: &jobs, overhead, aging };
        let lines = vec![trials(plan, &expected, is_there), announcement(plan), comparisons(plan)];
        Ok(Self { jobs, lines })
    }

    /// Lines about rounds, trials and time, about the comparisons, and about the rounds that they
    /// need.
    pub(crate) fn lines(&self) -> &[String] {
        &self.lines
    }
}

/// Line about rounds, trials and their estimated duration.
fn trials(
    plan: &Plan,
    expected: &ExpectedSeconds<'_>,
    is_there: impl Fn(&PlannedCell) -> bool,
) -> String {
    let measured = rounds(plan);
    let watched = observing_rounds(plan);
    let cells = || measured.iter().chain(&watched).flatten();
    let missing: Vec<&PlannedCell> = cells().filter(|cell| !is_there(cell)).collect();
    let (first, most) = (plan.stopping.first_end(), plan.stopping.most_rounds());
    let rounds = match (first, most) {
        (_, 1) => "1 round".to_owned(),
        _ if first == most => format!("{most} rounds"),
        _ => format!("{first} to {most} rounds"),
    };
    let mut notes = Vec::new();
    if plan.conditions.warm_up {
        notes.push("a warm-up round".to_owned());
    }
    match watched.len() {
        0 => {}
        1 => notes.push("an observing round".to_owned()),
        count => notes.push(format!("{count} observing rounds")),
    }
    let notes =
        if notes.is_empty() { String::new() } else { format!(" and {}", notes.join(" and ")) };
    let time = time(plan, expected, &missing);
    let count = cells().count();
    let left = match missing.len() {
        missing if missing == count => String::new(),
        missing => format!(", {missing} of them still to run"),
    };
    let at_most = if first == most { "" } else { "at most " };
    let trials = if count == 1 { "trial" } else { "trials" };
    format!("{rounds}{notes}: {at_most}{count} {trials}{left}, {time}")
}

/// Seconds that the cells of a plan are expected to take.
struct ExpectedSeconds<'a> {
    /// Estimate of each job.
    jobs: &'a [Estimate],
    /// Time around the work of each trial.
    overhead: Overhead,
    /// Aging in each round; `None` for a plan without it.
    aging: Option<AgingForecast>,
}

impl ExpectedSeconds<'_> {
    /// Seconds of these cells with the aging of their rounds; `None` if unknown.
    fn of<'c>(&self, cells: impl Iterator<Item = &'c PlannedCell> + Clone) -> Option<f64> {
        let each = |cell: &PlannedCell| {
            self.jobs[cell.job].seconds.map(|seconds| seconds + self.overhead.of(cell.variant))
        };
        let trials: f64 = cells.clone().map(each).sum::<Option<f64>>()?;
        let Some(aging) = &self.aging else { return Some(trials) };
        let of_aged = cells.filter(|cell| aging.variants[cell.variant]);
        let rounds: BTreeSet<(bool, u32)> =
            of_aged.map(|cell| (cell.role == CellRole::Observed, cell.round)).collect();
        if rounds.is_empty() {
            return Some(trials);
        }
        Some(trials + aging.seconds? * rounds.len() as f64)
    }
}

/// Cost of aging the filesystems of a plan.
struct AgingForecast {
    /// Seconds in each round, from earlier rounds of the plan; `None` if unknown.
    seconds: Option<f64>,
    /// True for each variant that has an age.
    variants: Vec<bool>,
}

impl AgingForecast {
    /// Cost of the aging; `None` for a plan without it.
    fn new(plan: &Plan, digest: &str, store: &dyn ResultStore) -> Result<Option<Self>, Failure> {
        let Some(job) = &plan.aging else { return Ok(None) };
        let earlier = store.earlier(&job.workload, EARLIER_TRIALS_MAX)?;
        let mut rounds: BTreeMap<(TrialId, u32), f64> = BTreeMap::new();
        let cells = earlier.iter().filter_map(|trial| Some((trial, trial.cell.as_ref()?)));
        let is_aging = |cell: &Cell| cell.role == CellRole::Preparation && cell.job == job.name;
        for (trial, cell) in cells.filter(|(_, cell)| cell.digest == digest && is_aging(cell)) {
            *rounds.entry((cell.campaign, cell.round)).or_default() +=
                trial.seconds + DEVICE_SECONDS;
        }
        let rounds: Vec<f64> = rounds.into_values().collect();
        let variants = plan.variants.iter().map(|variant| variant.age.is_some()).collect();
        Ok(Some(Self { seconds: median(&rounds).ok(), variants }))
    }
}

/// Estimated duration of these cells, from the earliest end of the plan to the latest.
fn time(plan: &Plan, expected: &ExpectedSeconds<'_>, missing: &[&PlannedCell]) -> String {
    let seconds = |is_counted: &dyn Fn(&PlannedCell) -> bool| {
        expected.of(missing.iter().copied().filter(|cell| is_counted(cell)))
    };
    let first = plan.stopping.first_end();
    let is_in_rounds =
        |cell: &PlannedCell| matches!(cell.role, CellRole::Round | CellRole::Preparation);
    let is_of_least = |cell: &PlannedCell| cell.round <= first || !is_in_rounds(cell);
    let is_unlimited = |cell: &PlannedCell| !is_in_rounds(cell);
    let (Some(all), Some(least), Some(unlimited)) =
        (seconds(&|_| true), seconds(&is_of_least), seconds(&is_unlimited))
    else {
        let Stopping::Time { minutes, .. } = plan.stopping else {
            return as_shipped(plan).unwrap_or_else(|| UNKNOWN.to_owned());
        };
        let minutes = duration(minutes * 60.0);
        return format!("{UNKNOWN}; as many rounds as fit into {minutes}");
    };
    let longest = match plan.stopping {
        Stopping::Time { minutes, .. } => all.min(unlimited + minutes * 60.0).max(least),
        _ => all,
    };
    match (duration(least), duration(longest)) {
        (least, longest) if least == longest => format!("about {longest}"),
        (least, longest) => format!("about {least} to {longest}"),
    }
}

/// Duration of a plan inside the program by its own head, where no earlier trial shows it.
fn as_shipped(plan: &Plan) -> Option<String> {
    let shipped = ShippedPlan::find(&plan.name)?;
    let minutes = Some(shipped.minutes()).filter(|_| shipped.question() == plan.question)?;
    Some(format!("about {minutes} min as shipped, on two CPUs; {UNKNOWN}"))
}

/// Line about the number of primary comparisons and the minimum number of rounds for them.
fn comparisons(plan: &Plan) -> String {
    let (family, needed) = (plan.family(), plan.rounds_needed());
    let corrected = if family > 1 { ", corrected together" } else { "" };
    let word = if family == 1 { "comparison" } else { "comparisons" };
    format!(
        "{family} primary {word}{corrected}: at least {needed} rounds are needed to show a \
         difference"
    )
}

/// Costs of the guests of a plan.
struct GuestForecast {
    /// Median of the machine's last boots in seconds, or the assumed duration.
    boot_seconds: f64,
    /// False where the plan asks for KVM.
    is_emulated: bool,
}

impl GuestForecast {
    /// Costs of the guests; `None` for a plan without guests.
    fn new(plan: &Plan, store: &dyn ResultStore) -> Result<Option<Self>, Failure> {
        let mut guests = plan.variants.iter().filter_map(|variant| variant.guest.as_ref());
        let Some(guest) = guests.next() else { return Ok(None) };
        let boots = store.boots(EARLIER_BOOTS_MAX)?;
        let boot_seconds = median(&boots).unwrap_or(ASSUMED_BOOT_SECONDS);
        let is_emulated = guest.accelerator != Some(Accelerator::Kvm);
        Ok(Some(Self { boot_seconds, is_emulated }))
    }
}

/// Estimate of a job. On a played disk (`is_played`) the work takes as long as the disk says, which
/// only earlier trials show.
fn estimate(
    (digest, job): (&str, &PlannedJob),
    (guest, is_played): (Option<&GuestForecast>, bool),
    store: &dyn ResultStore,
) -> Result<Estimate, Failure> {
    let footprint = job.job.footprint(&TargetFacts::unknown());
    let took = earlier_durations((digest, job), guest.is_some(), store)?;
    let is_emulated = guest.is_some_and(|guest| guest.is_emulated);
    let assumed = || {
        let here = assumed_duration(job, &footprint).filter(|_| !is_played)?;
        let work = if is_emulated { here * ASSUMED_EMULATION } else { here };
        Some(work + guest.map_or(0.0, |guest| guest.boot_seconds))
    };
    let seconds = median(&took).ok().or_else(assumed);
    Ok(Estimate { footprint, seconds, trials: took.len(), is_emulated })
}

/// Durations of earlier trials in guests or outside, in seconds: those of the same job of the same
/// plan, which the warm-up may have sized; without such trials, those with the same parameters.
fn earlier_durations(
    (digest, job): (&str, &PlannedJob),
    in_guests: bool,
    store: &dyn ResultStore,
) -> Result<Vec<f64>, Failure> {
    let mut trials = store.earlier(&job.workload, EARLIER_TRIALS_MAX)?;
    trials.retain(|trial| trial.is_of_guest == in_guests);
    let is_of_plan = |trial: &&EarlierTrial| {
        trial.cell.as_ref().is_some_and(|cell| {
            cell.digest == digest && cell.job == job.name && cell.role != CellRole::WarmUp
        })
    };
    let of_plan: Vec<f64> = trials.iter().filter(is_of_plan).map(|trial| trial.seconds).collect();
    if !of_plan.is_empty() {
        return Ok(of_plan);
    }
    let alike = trials.iter().filter(|trial| is_alike(job, &trial.parameters));
    Ok(alike.map(|trial| trial.seconds).collect())
}

/// Duration estimated without earlier trials, in seconds: from the bytes and files written, and the
/// requested run time. `None` for a job that waits for single requests, or whose amount of work is
/// drawn.
fn assumed_duration(job: &PlannedJob, footprint: &Footprint) -> Option<f64> {
    let work = footprint.written_bytes as f64 / ASSUMED_BYTES
        + footprint.written_files as f64 / ASSUMED_FILES;
    match job.job.work() {
        WorkLimit::Timed => Some(work + run_time(job)?),
        WorkLimit::Fixed if !job.job.waits_for_requests() => Some(work),
        WorkLimit::Fixed | WorkLimit::Drawn | WorkLimit::Named => None,
    }
}

/// Run time of a job that ends by time, in seconds.
fn run_time(job: &PlannedJob) -> Option<f64> {
    let scale = job.job.scale().filter(|scale| matches!(scale.unit, ScaleUnit::Seconds));
    if let Some(scale) = scale {
        return Some(scale.value as f64);
    }
    let parameters = job.job.parameters();
    RUN_TIME_PARAMETERS.iter().find_map(|name| {
        let (_, value) = parameters.iter().find(|(known, _)| known == name)?;
        value.parse::<f64>().ok().filter(|seconds| *seconds > 0.0)
    })
}

/// True if the trial parameters `given` contain all parameters of the job, except the seed.
fn is_alike(job: &PlannedJob, given: &[(String, String)]) -> bool {
    let own_parameters = job.job.parameters();
    own_parameters.iter().filter(|(name, _)| name != "seed").all(|one| given.contains(one))
}

/// Message for a plan that has all its results, with the option that extends it.
pub(crate) fn finished_message(plan: &Plan, rounds: u32) -> String {
    match plan.stopping {
        Stopping::Fixed { .. } if rounds == 1 => {
            "its only round is complete; nothing to run; add more with --rounds M".to_owned()
        }
        Stopping::Fixed { .. } => {
            format!("all {rounds} rounds are complete; nothing to run; add more with --rounds M")
        }
        Stopping::Precision { .. } | Stopping::Sequential { .. } | Stopping::Time { .. } => {
            format!(
                "complete: its rule ended it after {rounds} rounds; nothing to run; add more with \
                 --rounds M"
            )
        }
    }
}

/// Maximum number of cells of a plan.
pub(crate) fn planned_cells(plan: &Plan) -> usize {
    rounds(plan).iter().chain(&observing_rounds(plan)).map(Vec::len).sum()
}

/// Number of cells that a plan will have at its end if each takes so many seconds: with a limit of
/// time as many rounds as fit into it, but no fewer than are needed.
pub(crate) fn expected_cells(plan: &Plan, seconds: f64) -> usize {
    let Stopping::Time { minutes, fewest, .. } = plan.stopping else { return planned_cells(plan) };
    let mut left = minutes * 60.0;
    let mut expected = observing_rounds(plan).iter().map(Vec::len).sum();
    for cells in rounds(plan) {
        let round = cells.first().map_or(0, |cell| cell.round);
        // The warm-up is outside of the time.
        if round > 0 {
            left -= seconds * cells.len() as f64;
        }
        if round > fewest && left < 0.0 {
            break;
        }
        expected += cells.len();
    }
    expected
}

/// Duration in words.
pub(crate) fn duration(seconds: f64) -> String {
    let whole = Duration::try_from_secs_f64(seconds.max(0.0)).unwrap_or_default().as_secs();
    match whole {
        0..90 => format!("{whole} s"),
        90..5400 => format!("{} min", (whole + 30) / 60),
        _ => format!("{:.1} h", whole as f64 / 3600.0),
    }
}

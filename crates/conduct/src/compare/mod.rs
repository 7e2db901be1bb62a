//! Runs a plan from its first trial to its last: reads the finished cells, prepares guests, ranks
//! and reboots, then conducts every missing cell into the store.

mod announcement;
mod dry_run;
mod examination;
mod finished;
mod following;
mod forecast;
mod giving_up;
mod guest_files;
mod guests;
mod kernel_check;
mod launches;
mod leftovers;
mod overhead;
mod plan_facts;
mod reboots;
mod relay;
mod runner;
mod sizing;
mod warm_up;

use std::path::Path;

use treering_lab::{EraseList, Lab};
use treering_model::{DeviceSpec, TrialId};
use treering_sys::StopFlag;

pub use self::dry_run::{check_variants, dry_run};
pub use self::examination::{PlanExamination, examine_plan, foreseen_trial};
use self::finished::FinishedCells;
use self::forecast::finished_message;
use self::guests::Guests;
pub(crate) use self::guests::check_kernel;
pub use self::kernel_check::{KernelCheck, check_kernel_file};
use self::launches::Launches;
pub use self::launches::PROGRAM as LAUNCHED_PROGRAM;
use self::leftovers::free_own_leftovers;
pub use self::leftovers::{free_leftovers, freeing_words, mount_again, say_lab_cautions};
use self::reboots::Rebooting;
use self::runner::Runner;
use crate::campaign::conduct_plan;
use crate::failure::{Failure, watch_signals};
use crate::host::{Host, ParallelLaunch, PlanOptions, ResultStore};
use crate::plan::Plan;

/// End of a plan's run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PlanEnd {
    /// No cell is left that can run under this kernel; from [`run_plan`], also after a signal.
    Done {
        /// Identity of the campaign; `None` if no variant runs under this kernel.
        campaign: Option<TrialId>,
    },
    /// A signal ended the plan; finished trials are kept.
    Interrupted,
    /// The machine is rebooting for the next trial.
    Rebooting,
    /// A trial failed, and the options say that this ends the plan.
    GivenUp {
        /// Index of the variant in the plan.
        variant: usize,
        /// Error of the trial.
        why: String,
    },
}

/// Runs a plan until its end or a signal.
///
/// # Errors
/// When a launcher has started several such processes, and as for [`run_plan`].
pub fn carry_out(
    plan: &Plan,
    options: &PlanOptions<'_>,
    (store, host): (&dyn ResultStore, &dyn Host),
    lab: &Lab,
) -> Result<PlanEnd, Failure> {
    refuse_launched(plan, options)?;
    let signals = watch_signals()?;
    let end = run_plan(plan, options, (store, host), lab, signals.flag())?;
    if matches!(end, PlanEnd::Done { .. }) && signals.flag().is_raised() {
        host.say("interrupted: finished trials are kept; --resume continues with the rest");
        return Ok(PlanEnd::Interrupted);
    }
    Ok(end)
}

/// Refuses to conduct a plan in each of several processes started by a launcher, and to launch
/// ranks from within a rank.
fn refuse_launched(plan: &Plan, options: &PlanOptions<'_>) -> Result<(), Failure> {
    let Some(ParallelLaunch { size, variable, launcher }) = options.ranks.launch else {
        return Ok(());
    };
    let launches = plan.jobs.iter().any(|job| job.launch.is_some());
    if size < 2 && !(launches && variable != "SLURM_STEP_NUM_TASKS") {
        return Ok(());
    }
    let message = format!(
        "a launcher has started this ({variable}={size}, of {launcher}), but a plan is conducted \
         by one process, which starts the ranks itself"
    );
    let hint = "run `treering compare` without mpirun, and write into the plan how many ranks a \
                job has: ranks = 4";
    Err(Failure::usage(message).hint(hint))
}

/// Directories under test, which exist before the plan begins.
fn directories_under_test(plan: &Plan) -> Vec<&Path> {
    let devices = plan.variants.iter().map(|variant| &variant.device);
    devices
        .filter_map(|device| match device {
            DeviceSpec::Directory { path } => Some(path.as_path()),
            DeviceSpec::Loop { .. } | DeviceSpec::Block { .. } => None,
        })
        // A pattern of ranks names no directory.
        .filter(|path| path.is_dir())
        .collect()
}

/// Runs a plan: conducts every trial that the store does not have yet, and records it there.
///
/// # Errors
/// When a requirement of the plan is missing, or no further trial can be measured or recorded. A
/// failed trial is not an error.
pub fn run_plan(
    plan: &Plan,
    options: &PlanOptions<'_>,
    (store, host): (&dyn ResultStore, &dyn Host),
    lab: &Lab,
    stop: &StopFlag,
) -> Result<PlanEnd, Failure> {
    let around = (store, host);
    // A store among what is tested is refused before the warm-up, not behind it.
    store.file(&directories_under_test(plan))?;
    let reboots = Rebooting::prepare(plan, options, around)?;
    let going_on = reboots.as_ref().and_then(Rebooting::campaign);
    let mut finished = FinishedCells::open(plan, options, around, going_on)?;
    let reboots = reboots.map(|reboots| reboots.begin(&mut finished));
    let identity = finished.identity(plan);
    let guests = Guests::prepare(plan, options, host, stop)?;
    let launches = Launches::find(plan, &options.ranks, &options.search_path)?;
    launches.as_ref().map_or(Ok(()), |launches| launches.probe(stop))?;
    let others = (guests, launches, reboots);
    let mut runner = Runner::new(plan, options, around, finished, others, stop);
    if options.resume {
        free_own_leftovers(lab, &identity, host);
    }
    if let Some(rounds) = runner.rounds_if_finished()? {
        host.say(&finished_message(plan, rounds));
    } else {
        runner.announce()?;
        let erasing = EraseList::new(options.erase.iter().cloned());
        let lab = lab.clone().for_plan(identity);
        let templates = runner.kept_templates(&lab)?;
        let conducted = conduct_plan(plan, (&lab, &erasing), templates, &mut runner, stop);
        if let Some((variant, why)) = runner.given_up() {
            return Ok(PlanEnd::GivenUp { variant, why });
        }
        if runner.ended_or_rebooting(conducted)? {
            return Ok(PlanEnd::Rebooting);
        }
    }
    Ok(PlanEnd::Done { campaign: runner.campaign() })
}

//! A plan from its first trial to its last: what is done already, guests, ranks and boots of the
//! machine prepared, then every cell conducted into the store.

mod dry_run;
mod examination;
mod finished;
mod following;
mod forecast;
mod guest_files;
mod guests;
mod launches;
mod reboots;
mod relay;
mod runner;

use treering_lab::{EraseList, Lab};
use treering_model::TrialId;
use treering_sys::StopFlag;

pub use self::dry_run::dry_run;
pub use self::examination::{PlanExamination, examine_plan, foreseen_trial};
use self::finished::FinishedCells;
pub use self::forecast::Forecast;
use self::forecast::is_over;
use self::guests::Guests;
pub use self::guests::check_kernel;
use self::launches::Launches;
pub use self::launches::PROGRAM as LAUNCHED_PROGRAM;
use self::reboots::Rebooting;
use self::runner::Runner;
use crate::campaign::conduct_plan;
use crate::failure::Failure;
use crate::host::{Host, PlanOptions, ResultStore};
use crate::plan::Plan;

/// End of a plan's run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PlanEnd {
    /// Every cell has its result, or a signal came.
    Done {
        /// Identity of the campaign; `None` if no variant runs under this kernel.
        campaign: Option<TrialId>,
    },
    /// The machine is being booted for the next trial.
    Rebooting,
    /// A trial failed, and the options say that this ends the plan.
    GivenUp {
        /// Index of the variant in the plan.
        variant: usize,
        /// Error of the trial.
        why: String,
    },
}

/// Runs a plan: conducts every trial that the store does not have yet, and records it there.
///
/// # Errors
/// When something that the plan needs is missing, or nothing can be measured or kept any more. A
/// trial that fails is no error.
pub fn run_plan(
    plan: &Plan,
    options: &PlanOptions<'_>,
    (store, host): (&dyn ResultStore, &dyn Host),
    lab: &Lab,
    stop: &StopFlag,
) -> Result<PlanEnd, Failure> {
    let around = (store, host);
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
        host.free_leftovers(&identity);
    }
    if let Some(rounds) = runner.rounds_if_finished()? {
        host.say(&is_over(plan, rounds));
    } else {
        runner.announce()?;
        let erasing = EraseList::new(options.erase.iter().cloned());
        let lab = lab.clone().for_plan(identity);
        let conducted = conduct_plan(plan, &lab, &erasing, &mut runner, stop);
        if let Some((variant, why)) = runner.given_up() {
            return Ok(PlanEnd::GivenUp { variant, why });
        }
        if runner.ended_or_rebooting(conducted)? {
            return Ok(PlanEnd::Rebooting);
        }
    }
    Ok(PlanEnd::Done { campaign: runner.campaign() })
}

//! Tools that a launcher starts on several ranks: `mpirun -n 4 mdtest`.

use std::process::ExitCode;
use std::time::Duration;

use clap::{ArgMatches, FromArgMatches};
use treering_conduct::trial::classic_engine;
use treering_script::Workload;

use super::{configure, refuse_rejected, run_on};
use crate::arguments::{AnyRunArgs, settings};
use crate::commands::many::{self, Ranks};
use crate::failure::Failure;

/// Time after which a silent rank counts as lost, as in native runs.
const TIMEOUT: Duration = Duration::from_secs(300);

/// Runs the tool on every rank, if a launcher started several and the tool supports ranks.
pub(super) fn run(
    workload: &'static dyn Workload,
    matches: &ArgMatches,
) -> Result<Option<ExitCode>, Failure> {
    if workload.ranks_option().is_none() {
        return Ok(None);
    }
    many::run(TIMEOUT, |ranks| {
        if ranks.world.is_first() {
            run_on(workload, matches, Some(ranks))
        } else {
            assist(workload, matches, ranks).map(|()| ExitCode::SUCCESS)
        }
    })
}

/// Runs a rank other than the first.
fn assist(
    workload: &'static dyn Workload,
    matches: &ArgMatches,
    ranks: &Ranks<'_>,
) -> Result<(), Failure> {
    let specs = workload.manifest().classic;
    refuse_rejected(specs, matches)?;
    let any =
        AnyRunArgs::from_arg_matches(matches).map_err(|error| Failure::usage(error.to_string()))?;
    // All ranks also share the time of rank 0, from which data and orders derive.
    let settings = ranks.shared(&settings(specs, matches))?;
    let (job, tool) = configure(workload, &settings)?;
    if any.dry_run || tool.output.only_says().is_some() {
        return Ok(());
    }
    ranks.assist(&tool.roots, job.as_ref(), &classic_engine(workload, job.as_ref(), &tool))
}

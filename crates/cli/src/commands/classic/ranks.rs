//! Tools that a launcher starts on many ranks: `mpirun -n 4 mdtest`.

use std::process::ExitCode;
use std::time::Duration;

use clap::{ArgMatches, FromArgMatches};
use treering_script::{ConfigError, Settings, Workload};

use super::{configure, engine, refuse_rejected, run_on};
use crate::arguments::{AnyRunArgs, settings};
use crate::commands::many::{self, Ranks};
use crate::commands::trial::Distribution;
use crate::failure::{Failure, Kind};

/// Time after which a silent rank is lost; the default of native runs.
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

/// Runs the share of a rank other than the first.
fn assist(
    workload: &'static dyn Workload,
    matches: &ArgMatches,
    ranks: &Ranks<'_>,
) -> Result<(), Failure> {
    let specs = workload.manifest().classic;
    refuse_rejected(specs, matches)?;
    let any = AnyRunArgs::from_arg_matches(matches)
        .map_err(|error| Failure::new(Kind::Usage, error.to_string()))?;
    // Also the time is that of rank 0: data and orders begin from it.
    let settings = ranks.shared(&settings(specs, matches))?;
    let (job, tool) = configure(workload, &settings)?;
    if any.dry_run || tool.output.only_says().is_some() {
        return Ok(());
    }
    Ok(ranks.assist(&tool.roots, job.as_ref(), &engine(workload, job.as_ref(), &tool))?)
}

/// Settings with the number of ranks that the launcher has started.
pub(super) fn settings_of_all(
    workload: &dyn Workload,
    settings: &Settings,
    ranks: &Ranks<'_>,
) -> Result<Settings, ConfigError> {
    let (option, size) = number_of_ranks(workload, ranks);
    if let Some(given) = settings.text(&option).filter(|given| **given != size) {
        let message = format!("--{option} {given}: the launcher has started {size}");
        return Err(ConfigError::new(message).hint("leave it out: the launcher decides"));
    }
    let mut all = settings.options().to_vec();
    all.push((option, size));
    let mut settings = settings.with_options(all);
    settings.machine.nodes = nodes(&ranks.world.hosts());
    Ok(settings)
}

/// Number of each rank's machine; machines are numbered in the order of the ranks.
fn nodes(hosts: &[String]) -> Vec<u32> {
    let mut known: Vec<&String> = Vec::new();
    let mut nodes = Vec::with_capacity(hosts.len());
    for host in hosts {
        let at = known.iter().position(|one| *one == host).unwrap_or(known.len());
        if at == known.len() {
            known.push(host);
        }
        nodes.push(u32::try_from(at).unwrap_or(u32::MAX));
    }
    nodes
}

/// Distribution of a classic run over ranks.
pub(super) fn distribution<'r>(workload: &dyn Workload, ranks: &'r Ranks<'_>) -> Distribution<'r> {
    Distribution { world: ranks.world, each: Some(number_of_ranks(workload, ranks)) }
}

/// Option for the number of ranks, with its value.
fn number_of_ranks(workload: &dyn Workload, ranks: &Ranks<'_>) -> (String, String) {
    let option = workload.ranks_option().unwrap_or_default();
    (option.to_owned(), ranks.world.size().to_string())
}

#[cfg(test)]
mod tests {
    use super::nodes;

    #[test]
    fn machines_are_numbered_as_they_come() {
        assert_eq!(nodes(&["b", "b", "a", "b", "c"].map(str::to_owned)), [0, 0, 1, 0, 2]);
    }
}

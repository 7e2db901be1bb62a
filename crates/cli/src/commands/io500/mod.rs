//! `treering io500`: a rehearsal of its phases that projects the requirements of a full run, runs
//! of the installed program, and runs side by side.

mod installed;
mod list;

use std::fs;
use std::path::Path;
use std::process::ExitCode;

use clap::ArgMatches;
use treering_analysis::io500::{ClientMachines, FullRun, is_rehearsal};
use treering_io500::Io500Workload;
use treering_model::{Ending, Trial};
use treering_report::pages::tools::io500::{config, page};

use super::{native, output};
use crate::arguments::{InstalledArgs, Io500ListArgs, LIST, OutputArgs, REHEARSE};
use crate::failure::Failure;

/// Runs the rehearsal, or the installed program.
pub(crate) fn run(matches: &ArgMatches) -> Result<ExitCode, Failure> {
    match matches.subcommand() {
        Some((REHEARSE, below)) => native::run_then(&Io500Workload, below, |done, own| {
            let completed = done.conclusion.ending == Ending::Completed;
            let trial = done.trial.as_ref().filter(|trial| completed && is_rehearsal(trial));
            match trial {
                // Events on standard output must not be followed by other text.
                Some(trial) if !own.quiet && own.events.as_deref() != Some(Path::new("-")) => {
                    let dir = own.dir.as_deref().unwrap_or(Path::new("."));
                    tell(trial, dir)
                }
                _ => Ok(()),
            }
        }),
        Some((LIST, below)) => {
            let args =
                Io500ListArgs::of(below).map_err(|error| Failure::usage(error.to_string()))?;
            list::run(&args)
        }
        Some((_, below)) => {
            let args =
                InstalledArgs::of(below).map_err(|error| Failure::usage(error.to_string()))?;
            installed::run(&args)
        }
        None => Err(Failure::usage("rehearse or run is missing")),
    }
}

/// Prints the requirements of a full run.
fn tell(trial: &Trial, dir: &Path) -> Result<(), Failure> {
    let number = |name: &str| trial.fact(name).and_then(|fact| fact.parse().ok());
    let clients = ClientMachines {
        count: number("ranks.hosts").unwrap_or(1),
        memory_bytes: number("memory.bytes").unwrap_or(0),
        free_bytes: number("filesystem.free_bytes").unwrap_or(0),
    };
    let full = FullRun::project(trial, clients);
    let place = fs::canonicalize(dir).unwrap_or_else(|_| dir.to_owned());
    let has_ranks = trial.fact(treering_model::RANKS_FACT).is_some();
    output::write(&page(&full, has_ranks), &OutputArgs::default())?;
    output::with_writer(None, |out| {
        writeln!(out)?;
        config(&full, clients, &place).iter().try_for_each(|line| writeln!(out, "{line}"))
    })
}

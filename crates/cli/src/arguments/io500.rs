//! Command line of `treering io500`: a native run of the workload of that name under the subcommand
//! `rehearse`, and runs of the installed program.

use std::path::PathBuf;

use clap::{ArgMatches, Args, Command, FromArgMatches};
use treering_io500::Io500Workload;
use treering_script::Workload;

use super::settings::argument;
use super::{AnyRunArgs, NativeRunArgs, OutputArgs, StoreArgs};

/// Name of the verb.
pub(crate) const IO500: &str = "io500";
/// Name of the subcommand that rehearses.
pub(crate) const REHEARSE: &str = "rehearse";
/// Name of the subcommand that runs the installed program.
pub(crate) const RUN: &str = "run";

/// The verb below it that puts runs side by side.
pub(crate) const LIST: &str = "list";

/// Options of the list of runs.
#[derive(Clone, Debug, Args)]
pub(crate) struct Io500ListArgs {
    /// The trials: unique prefixes of their IDs, or `last`; the newest six when none is named.
    pub(crate) trials: Vec<String>,
    #[command(flatten)]
    pub(crate) store: StoreArgs,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

impl Io500ListArgs {
    /// Reads the arguments from the parsed command line.
    pub(crate) fn of(matches: &ArgMatches) -> Result<Self, clap::Error> {
        Self::from_arg_matches(matches)
    }
}

/// Options of a run of the installed program.
#[derive(Clone, Debug, Args)]
pub(crate) struct InstalledArgs {
    /// The installed io500.
    #[arg(long, value_name = "PATH")]
    pub(crate) with_io500: PathBuf,
    /// The configuration of io500, which names the directory to work in.
    #[arg(long, value_name = "FILE")]
    pub(crate) config: PathBuf,
    /// The launcher for several clients, as one text: `mpirun -n 4`.
    #[arg(long, value_name = "COMMAND")]
    pub(crate) launcher: Option<String>,
    /// A label for the trial, to find and compare it by.
    #[arg(long, default_value = "", hide_default_value = true)]
    pub(crate) label: String,
    #[command(flatten)]
    pub(crate) store: StoreArgs,
}

impl InstalledArgs {
    /// Reads the arguments from the parsed command line.
    pub(crate) fn of(matches: &ArgMatches) -> Result<Self, clap::Error> {
        Self::from_arg_matches(matches)
    }
}

const AFTER: &str = "\
Rehearse on one machine, with four workers:
  treering io500 rehearse --dir /mnt/test --workers 4
Rehearse on four clients:
  mpirun -n 4 treering-mpi io500 rehearse --dir /mnt/shared/work

Put a rehearsal beside results that others have published:
  treering import result.txt
  treering io500 list

Only IO500 itself scores: a rehearsal prints no score. docs/workloads/io500.md has the details.";

/// Command line of the verb.
pub(super) fn command() -> Command {
    let manifest = Io500Workload.manifest();
    let base =
        Command::new(REHEARSE).next_display_order(None).args(manifest.native.iter().map(argument));
    // Otherwise clap would take the doc comments of groups as descriptions of the commands.
    let rehearse = AnyRunArgs::augment_args(NativeRunArgs::augment_args(base))
        .about(manifest.about)
        .long_about(None);
    let run = InstalledArgs::augment_args(Command::new(RUN))
        .about("Run an installed io500, and keep its result and its files")
        .long_about(None);
    let list = Io500ListArgs::augment_args(Command::new(LIST))
        .about("Put rehearsals and imported results side by side, phase by phase")
        .long_about(None);
    Command::new(IO500)
        .about("Rehearse IO500, run an installed one and keep its result, or list results")
        .after_help(AFTER)
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommand(rehearse)
        .subcommand(run)
        .subcommand(list)
}

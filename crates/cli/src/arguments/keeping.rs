//! Arguments of `treering store`.

use clap::{Args, Subcommand};

use super::{MergeArgs, OutputArgs, OverviewArgs, PackArgs, StoreArgs};

#[derive(Debug, Args)]
pub(crate) struct KeepArgs {
    #[command(subcommand)]
    pub(crate) verb: KeepVerb,
}

#[derive(Debug, Subcommand)]
pub(crate) enum KeepVerb {
    /// Show where the store is, how large it is, and how many trials it has.
    Info {
        #[command(flatten)]
        store: StoreArgs,
        #[command(flatten)]
        output: OutputArgs,
    },
    /// Check the structure of the file, and read every trial whole. Nothing is written. Exits with
    /// 3 if anything is damaged.
    Check {
        #[command(flatten)]
        store: StoreArgs,
    },
    /// Rewrite the file without the space that is no longer used. Needs as much free space as the
    /// store has, beside it and in the temporary directory, and no run that is recording.
    Vacuum {
        #[command(flatten)]
        store: StoreArgs,
    },
    /// Write the whole store into one HTML file: every series, comparison and trial.
    Overview(OverviewArgs),
    /// Write trials into one file for others: figures, environment and plan, without names.
    Pack(PackArgs),
    /// Add the trials of a pack to the store, without duplicates.
    Merge(MergeArgs),
}

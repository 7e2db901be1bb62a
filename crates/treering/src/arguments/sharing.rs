//! Arguments of the verbs that hand trials on: `pack` and `merge`.

use std::path::PathBuf;

use clap::Args;

use super::{OutputArgs, StoreArgs};

#[derive(Debug, Args)]
#[command(after_help = PACK_HELP)]
pub(crate) struct PackArgs {
    /// The trials: unique prefixes of their IDs, or `last`; all that --plan and the others leave
    /// when none is named.
    #[arg(value_name = "TRIAL", conflicts_with_all = ["plan", "campaign", "label", "workload"])]
    pub(crate) trials: Vec<String>,
    /// Only trials of this plan.
    #[arg(long, value_name = "NAME")]
    pub(crate) plan: Option<String>,
    /// Only trials of this campaign, given as a unique prefix of the ID of its first trial.
    #[arg(long, value_name = "ID")]
    pub(crate) campaign: Option<String>,
    /// Only trials with this label.
    #[arg(long)]
    pub(crate) label: Option<String>,
    /// Only trials of this workload.
    #[arg(long)]
    pub(crate) workload: Option<String>,
    /// The pack to write.
    #[arg(long, short, value_name = "FILE", required_unless_present = "dry_run")]
    pub(crate) output: Option<PathBuf>,
    /// Keep names of machines and users, paths and serial numbers as they are.
    #[arg(long)]
    pub(crate) with_names: bool,
    /// Pack block traces, too.
    #[arg(long)]
    pub(crate) traces: bool,
    /// Only show what would be written and what would be left out.
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// The format of what is shown: terminal, plain, markdown, html, csv or json [default:
    /// terminal; plain in a pipe].
    #[arg(long)]
    pub(crate) format: Option<String>,
    #[command(flatten)]
    pub(crate) store: StoreArgs,
}

impl PackArgs {
    /// How the page is written: the file of --output is the pack.
    pub(crate) fn page(&self) -> OutputArgs {
        OutputArgs { format: self.format.clone(), ..OutputArgs::default() }
    }
}

const PACK_HELP: &str = "\
One file has all that the store keeps of the trials, and their plan. Names of machines and users,
paths and serial numbers are replaced, and what is replaced is shown before anything is written.
  treering pack --plan filesystems --dry-run
  treering pack --plan filesystems -o result.pack
  treering merge result.pack                      # where it was sent to";

#[derive(Debug, Args)]
#[command(after_help = MERGE_HELP)]
pub(crate) struct MergeArgs {
    /// The pack.
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// Only check the pack, and show what would be added.
    #[arg(long)]
    pub(crate) dry_run: bool,
    #[command(flatten)]
    pub(crate) store: StoreArgs,
}

const MERGE_HELP: &str = "\
All trials are added or none. Trials that are in the store already are left as they are; one that
has the ID of another trial is refused, and so is a pack that was damaged or changed.
  treering merge result.pack --dry-run
  treering merge result.pack --store results.treering";

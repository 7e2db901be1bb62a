//! Arguments of the verbs that exchange trials: `pack`, `merge` and `repeat`.

use std::path::PathBuf;

use clap::Args;

use super::quantities::{device, whole};
use super::{OutputArgs, StoreArgs};

#[derive(Debug, Args)]
#[command(after_help = PACK_HELP)]
pub(crate) struct PackArgs {
    /// The trials: unique prefixes of their IDs, or `last`; if none is named, all that match the
    /// other options.
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
    /// Pack block traces and the filesystems that guests started from, too.
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
    /// Output options of the page; `--output` itself names the pack, not the page.
    pub(crate) fn page(&self) -> OutputArgs {
        OutputArgs { format: self.format.clone(), ..OutputArgs::default() }
    }
}

const PACK_HELP: &str = "\
One file has all that the store keeps of the trials, and their plan. Names of machines and users,
paths and serial numbers are replaced, and what is replaced is shown before anything is written.
  treering store pack --plan filesystems --dry-run
  treering store pack --plan filesystems -o result.pack
  treering store merge result.pack                      # where it was sent to";

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
  treering store merge result.pack --dry-run
  treering store merge result.pack --store results.treering";

#[derive(Debug, Args)]
#[command(after_help = REPEAT_HELP)]
pub(crate) struct RepeatArgs {
    /// The pack.
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// The campaign to repeat, given as a unique prefix of the ID of its first trial [default: the
    /// only one].
    #[arg(long, value_name = "ID")]
    pub(crate) campaign: Option<String>,
    /// The directory to use for variants that used a directory.
    #[arg(long, value_name = "DIR")]
    pub(crate) dir: Option<PathBuf>,
    /// The block device to use for variants that used one; may be given several times.
    #[arg(long, value_name = "DEVICE", value_parser = device())]
    pub(crate) block: Vec<PathBuf>,
    /// Boot this kernel for variants that were booted in guests, or for one: VARIANT=FILE; may be
    /// given several times.
    #[arg(long, value_name = "KERNEL")]
    pub(crate) kernel: Vec<String>,
    /// Number of rounds [default: as many as the pack has].
    #[arg(long, value_name = "N", value_parser = whole::<u32>(1..=10_000))]
    pub(crate) rounds: Option<u32>,
    /// Allow this block device to be erased, whatever it contains; may be given several times.
    #[arg(long, value_name = "DEVICE", value_parser = device())]
    pub(crate) erase: Vec<PathBuf>,
    /// Say what cannot be the same, print every trial in its order, and touch no disk.
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Print no progress, only the comparison.
    #[arg(long, short)]
    pub(crate) quiet: bool,
    /// The format of the comparison: terminal, plain or markdown [default: terminal; plain in a
    /// pipe].
    #[arg(long, value_parser = ["terminal", "plain", "markdown"])]
    pub(crate) format: Option<String>,
    #[command(flatten)]
    pub(crate) store: StoreArgs,
}

const REPEAT_HELP: &str = "\
The plan, or the run without a plan, is run here with its job files, which the pack has. The trials
of the pack are added to the store, and each variant is compared with itself: packed, and here.
Devices are made, formatted and guarded as by compare.
  treering plan repeat result.pack --dry-run
  treering plan repeat result.pack
  treering plan repeat result.pack --block /dev/sdb --erase /dev/sdb";

//! Arguments of `treering watch`.

use std::path::PathBuf;

use clap::Args;

use super::quantities::{device, whole};
use super::{OutputArgs, StoreArgs, quantities};

#[derive(Debug, Args)]
#[command(after_help = WATCH_HELP)]
pub(crate) struct WatchArgs {
    /// A plan in TOML, whose variants are the anchor and the watched ones.
    #[arg(value_name = "PLAN")]
    pub(crate) plan: PathBuf,
    /// The variant that never changes; without it a change of the machine cannot be told from one
    /// of what is watched.
    #[arg(long, value_name = "VARIANT")]
    pub(crate) anchor: Option<String>,
    /// The name of the new point; a number is added if it is taken [default: the date; with
    /// --kernel the name of its file].
    #[arg(long, value_name = "TEXT")]
    pub(crate) label: Option<String>,
    /// Name the new point by this fact of the watched variant, such as kernel.release.
    #[arg(long, value_name = "FACT", conflicts_with = "label")]
    pub(crate) label_by: Option<String>,
    /// Boot this kernel in a guest for every variant but the anchor.
    #[arg(long, value_name = "KERNEL")]
    pub(crate) kernel: Option<PathBuf>,
    /// Rounds of a point: in each, every variant runs once, in random order.
    #[arg(long, default_value_t = 5, value_name = "N",
        value_parser = whole::<u32>(1..=1000))]
    pub(crate) rounds: u32,
    /// Number of points to measure, one after the other.
    #[arg(long, default_value_t = 1, value_name = "N",
        value_parser = whole::<u32>(1..=1000))]
    pub(crate) points: u32,
    /// Continue the series although the anchor is not what it was at the last point.
    #[arg(long, requires = "anchor")]
    pub(crate) accept_anchor: bool,
    /// Run the jobs of the plan at full size, where it gives them one (`full`).
    #[arg(long)]
    pub(crate) full_size: bool,
    /// Allow this block device to be erased, whatever it contains; may be given several times.
    #[arg(long, value_name = "DEVICE", value_parser = device())]
    pub(crate) erase: Vec<PathBuf>,
    /// Say which series would be continued, print every trial in its order, and touch no disk.
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Exit with 1 if a level that is worse began within the newest points, 0 if not, 5 if the
    /// newest point is suspect or no series has six points.
    #[arg(long)]
    pub(crate) gate: bool,
    /// With --gate: how many of the newest points count.
    #[arg(long, default_value_t = 5, value_name = "POINTS", value_parser = quantities::count)]
    pub(crate) recent: usize,
    /// With --gate: ignore new levels, and newest points, that differ by less.
    #[arg(long, value_name = "N%", requires = "gate")]
    pub(crate) smallest_change: Option<String>,
    /// Print no progress, only the history.
    #[arg(long, short)]
    pub(crate) quiet: bool,
    #[command(flatten)]
    pub(crate) store: StoreArgs,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

const WATCH_HELP: &str = "\
Each call measures one new point of a series: the variants of the plan take turns, and the history
of their ratios to the anchor says whether a level changed. What the anchor is (its kernel, its
mkfs, its mount options) must stay; the machine may change, for it changes both.
  treering watch plan.toml --anchor old --dry-run
  treering watch plan.toml --anchor old --label 6.12.9
  treering watch plan.toml --anchor old --kernel linux-image-6.13.deb --gate   # for cron or CI
  treering history --by label --anchor old --plan plan --format html -o history.html";

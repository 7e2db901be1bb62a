//! Arguments of `treering history` and of `treering store overview`, which show the same series.

use std::path::PathBuf;

use clap::Args;

use super::{OutputArgs, StoreArgs, quantities};

#[derive(Debug, Args)]
#[command(
    after_help = "A point is a kernel, a day or a label with all of its trials; from six points on, changes of level
are looked for. With --anchor the values are ratios to a variant that never changes, measured in
the same rounds, so that a change of the machine cancels.
  treering history --by kernel
  treering history --by date --anchor ext4 --format html -o history.html
  treering history --by label --gate              # in CI: exit 1 if it got worse"
)]
pub(crate) struct HistoryArgs {
    #[command(flatten)]
    pub(crate) series: SeriesArgs,
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
    /// Acknowledge the changes of level and the slow trends that begin at this point: they are
    /// shown as known, and no gate stops for them.
    #[arg(long, value_name = "POINT", requires = "reason", conflicts_with = "gate")]
    pub(crate) acknowledge: Option<String>,
    /// With --acknowledge: the reason, as histories are to show it.
    #[arg(long, value_name = "TEXT", requires = "acknowledge")]
    pub(crate) reason: Option<String>,
    /// Undo the acknowledgement of the changes that begin at this point.
    #[arg(long, value_name = "POINT", conflicts_with_all = ["gate", "acknowledge"])]
    pub(crate) withdraw: Option<String>,
    /// Address of a page about each point, with {} for its key.
    #[arg(long, value_name = "URL")]
    pub(crate) link: Option<String>,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

/// Selection of the series of a store.
#[derive(Debug, Args)]
pub(crate) struct SeriesArgs {
    /// Property that makes a point: kernel, date, label, or the name of a fact or parameter.
    #[arg(long, default_value = "date", value_name = "KEY")]
    pub(crate) by: String,
    /// This metric only, by its full name as in JSON [default: those that decide comparisons].
    #[arg(long)]
    pub(crate) metric: Option<String>,
    /// Show ratios to this variant of the plan, round by round.
    #[arg(long, value_name = "VARIANT")]
    pub(crate) anchor: Option<String>,
    /// Only trials of this workload.
    #[arg(long)]
    pub(crate) workload: Option<String>,
    /// Only trials of this plan.
    #[arg(long)]
    pub(crate) plan: Option<String>,
    #[command(flatten)]
    pub(crate) store: StoreArgs,
}

#[derive(Debug, Args)]
#[command(
    after_help = "The file needs no server and loads nothing. It begins with a table of small charts, a row for each
metric of each job, a column for each variant, the most recent changes for the worse first; from
there links lead to every series, comparison and trial, and can be bookmarked.
  treering store overview -o store.html
  treering store overview --by kernel -o kernels.html
  treering store overview --plan nightly --recent 10 -o nightly.html"
)]
pub(crate) struct OverviewArgs {
    #[command(flatten)]
    pub(crate) series: SeriesArgs,
    /// Number of the newest points that count as recent.
    #[arg(long, default_value_t = 20, value_name = "POINTS", value_parser = quantities::count)]
    pub(crate) recent: usize,
    /// Write to this file instead of standard output.
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}

//! The command line of `treering layout`.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use super::OutputArgs;
use super::quantities::{device, whole};

#[derive(Debug, Args)]
#[command(after_help = AFTER_LAYOUT)]
pub(crate) struct LayoutArgs {
    /// A directory, a block device, a filesystem image, or a file whose extents to list.
    #[arg(value_parser = device())]
    pub(crate) path: PathBuf,
    /// More files whose extents to list.
    #[arg(value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// List the extents of the file itself, even if it is a filesystem image.
    #[arg(long, conflicts_with_all = ["sample", "map", "fresh_copy", "heat"])]
    pub(crate) extents: bool,
    /// Measure about this many files, drawn at random in runs of neighbours, and give intervals;
    /// for trees of many millions of files.
    #[arg(long, value_name = "N", value_parser = whole::<u64>(1..=u64::MAX))]
    pub(crate) sample: Option<u64>,
    /// The seed that decides which files are drawn.
    #[arg(long, value_name = "N", default_value_t = 1, requires = "sample")]
    pub(crate) seed: u64,
    /// Do not sync first: data that has not been written yet has no location on disk.
    #[arg(long)]
    pub(crate) no_sync: bool,
    /// Also draw a map of the device to this file, as SVG; HTML pages include the map.
    #[arg(long, value_name = "FILE", conflicts_with = "sample")]
    pub(crate) map: Option<PathBuf>,
    /// Copy the tree to an empty filesystem, read both with cold caches, and report the difference.
    /// Without --on, the copy is made on a loop image of the same filesystem type and size.
    #[arg(long, conflicts_with_all = ["sample", "map"])]
    pub(crate) fresh_copy: bool,
    /// With --fresh-copy: an empty directory for the copy, or a device, which is formatted.
    #[arg(long, value_name = "PATH", requires = "fresh_copy", value_parser = device())]
    pub(crate) on: Option<PathBuf>,
    /// With --fresh-copy: how many times each of the two is read.
    #[arg(long, value_name = "N", default_value_t = 3, requires = "fresh_copy",
          value_parser = whole::<u32>(1..=1000))]
    pub(crate) repeat: u32,
    /// With --on DEVICE: allow it to be erased, whatever it contains.
    #[arg(long, value_name = "DEVICE", requires = "on", value_parser = device())]
    pub(crate) erase: Vec<PathBuf>,
    /// Instead report which files and which regions of the device the requests of this block trace
    /// went to; a file written by `treering trace --out` or blktrace.
    #[arg(long, value_name = "TRACE", conflicts_with_all = ["sample", "map", "fresh_copy"])]
    pub(crate) heat: Option<PathBuf>,
    /// With --heat: half-life of a request's contribution to the temperature, in seconds.
    #[arg(long, value_name = "SECONDS", default_value = "60", requires = "heat",
          value_parser = super::quantities::period)]
    pub(crate) heat_half_life: Duration,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

const AFTER_LAYOUT: &str = "\
The layout of a tree, of a whole disk, and of an image as JSON:
  treering layout /srv/build
  treering layout /dev/sdb1
  treering layout aged.img --format json
  treering layout big.db log.db            (their extents, as filefrag -v lists them)
  treering layout /srv/build --fresh-copy
  treering layout /srv/build --heat build.trace

Nothing is written, except for the copy of --fresh-copy. A filesystem that is not mounted is mounted
read-only in a private mount namespace (requires root) and unmounted afterwards. docs/layout.md
defines the measures.";

//! The command line of `treering layout`.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use super::OutputArgs;
use super::quantities::device;

#[derive(Debug, Args)]
#[command(after_help = AFTER_LAYOUT)]
pub(crate) struct LayoutArgs {
    /// A directory, a block device, an image of a filesystem, or a file whose extents are listed.
    #[arg(value_parser = device())]
    pub(crate) path: PathBuf,
    /// Further files whose extents are listed.
    #[arg(value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// List the extents of the files themselves, also of an image of a filesystem.
    #[arg(long, conflicts_with_all = ["sample", "map", "fresh_copy", "heat"])]
    pub(crate) extents: bool,
    /// Measure about so many files, drawn at random in runs of neighbours, and give intervals: for
    /// trees of many millions.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) sample: Option<u64>,
    /// The seed that decides which files are drawn.
    #[arg(long, value_name = "N", default_value_t = 1, requires = "sample")]
    pub(crate) seed: u64,
    /// Do not have what waits in memory written to disk first: it has no place before.
    #[arg(long)]
    pub(crate) no_sync: bool,
    /// Also draw what lies where on the device into this file, as SVG. HTML pages have the map.
    #[arg(long, value_name = "FILE", conflicts_with = "sample")]
    pub(crate) map: Option<PathBuf>,
    /// Copy the tree to an empty filesystem, read both with cold caches, and tell what the one
    /// costs over the other. Without --on it is an image of the same kind and size.
    #[arg(long, conflicts_with_all = ["sample", "map"])]
    pub(crate) fresh_copy: bool,
    /// With --fresh-copy: an empty directory for the copy, or a device, which is formatted.
    #[arg(long, value_name = "PATH", requires = "fresh_copy", value_parser = device())]
    pub(crate) on: Option<PathBuf>,
    /// With --fresh-copy: how often each of the two is read.
    #[arg(long, value_name = "N", default_value_t = 3, requires = "fresh_copy",
          value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) repeat: u32,
    /// With --on DEVICE: allow it to be erased, whatever it carries.
    #[arg(long, value_name = "DEVICE", requires = "on", value_parser = device())]
    pub(crate) erase: Vec<PathBuf>,
    /// Tell instead which files, and which places of the device, the requests of this block trace
    /// went to: a file of `treering trace --out`, or of blktrace.
    #[arg(long, value_name = "TRACE", conflicts_with_all = ["sample", "map", "fresh_copy"])]
    pub(crate) heat: Option<PathBuf>,
    /// With --heat: seconds after which a request counts half in the temperature.
    #[arg(long, value_name = "SECONDS", default_value = "60", requires = "heat",
          value_parser = super::quantities::half_life)]
    pub(crate) heat_half_life: Duration,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

const AFTER_LAYOUT: &str = "\
The layout of a tree, of all that is on a disk, and of an image, for programs:
  treering layout /srv/build
  treering layout /dev/sdb1
  treering layout aged.img --format json
  treering layout big.db log.db            (their extents, as filefrag -v lists them)
  treering layout /srv/build --fresh-copy
  treering layout /srv/build --heat build.trace

Nothing is written, but for a copy to where --fresh-copy makes it. What is mounted is looked at
where it is mounted; else it is mounted read-only, where nobody sees it, which needs root, and gone
afterwards. docs/layout.md defines the measures.";

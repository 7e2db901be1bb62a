//! Arguments of `treering lab`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::{OutputArgs, RootArgs};

#[derive(Debug, Args)]
pub(crate) struct LabArgs {
    #[command(subcommand)]
    pub(crate) verb: LabVerb,
}

#[derive(Debug, Subcommand)]
pub(crate) enum LabVerb {
    /// List the mounts, loop devices and images that treering made and has not removed, and the
    /// plan for which this machine is rebooted.
    List {
        #[command(flatten)]
        output: OutputArgs,
        #[command(flatten)]
        root: RootArgs,
    },
    /// Release what dead runs left behind, and end the reboots of a plan. Only what treering itself
    /// made is touched.
    Release {
        /// Only show what would be released.
        #[arg(long)]
        dry_run: bool,
        /// Give up cleanup commands that fail again: name each, write it down in the directory of
        /// the lab, and leave what it would have undone as it is.
        #[arg(long, conflicts_with = "dry_run")]
        give_up: bool,
        #[command(flatten)]
        root: RootArgs,
    },
    /// Attach a played disk: an empty loop device that answers when a modelled disk would. Prints
    /// its node, and keeps it until Ctrl-C; then says what the disk had to do.
    Disk(DiskArgs),
    /// Play a disk on a connection of FUSE, which standard input is, over the image that standard
    /// output is.
    #[command(hide = true)]
    Play {
        /// The path of the image, to be told.
        image: PathBuf,
        /// The name of the disk.
        name: String,
        /// File that describes it, in TOML.
        text: String,
    },
    /// List the filesystems that can be made and mounted here, and what the others lack.
    Filesystems {
        #[command(flatten)]
        output: OutputArgs,
    },
    /// Remove what a killed run left behind in a directory.
    ///
    /// While a native run goes on, a mark in its directory (`.treering-run`) lists each tree before
    /// it is made, and its identity once it is. Only trees of that identity are removed; whatever
    /// has the name of one now, and a mark that another user left or that was copied from another
    /// directory, stays, and you are told why.
    Clean(CleanArgs),
}

#[derive(Debug, Args)]
pub(crate) struct CleanArgs {
    /// The directory in which a killed run worked.
    pub(crate) dir: PathBuf,
    /// Only show what would be removed.
    #[arg(long)]
    pub(crate) dry_run: bool,
}

#[derive(Debug, Args)]
pub(crate) struct DiskArgs {
    /// The disk: hdd-7200, hdd-7200-write-through, hdd-7200-500g, hdd-5400, ssd-sata, ssd-ftl,
    /// hp97560, or a TOML file.
    #[arg(default_value = "hdd-7200")]
    pub(crate) disk: String,
    /// Size that it shows, from its outermost track on [default: 4GiB, or all of a smaller disk].
    #[arg(long)]
    pub(crate) size: Option<String>,
    /// Keep the image in this directory [default: /var/tmp/treering-UID].
    #[arg(long, value_name = "DIR")]
    pub(crate) images: Option<PathBuf>,
}

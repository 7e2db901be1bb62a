//! The command line of `treering links`.

use std::path::PathBuf;

use clap::Args;

#[derive(Debug, Args)]
#[command(after_help = AFTER_LINKS)]
pub(crate) struct LinksArgs {
    /// The directory for the links, which must exist.
    pub(crate) dir: PathBuf,
    /// Only say what would be done.
    #[arg(long)]
    pub(crate) dry_run: bool,
}

const AFTER_LINKS: &str = "\
A test suite that calls the original tools runs treering when it finds the links first:
  mkdir -p ~/treering-links
  treering links ~/treering-links
  PATH=~/treering-links:$PATH ./run-the-tests

The links lead to the treering that is running, by its absolute path. In the directory where this
treering itself is, they consist of its name alone, so that the directory can be moved.

An existing file is never overwritten. A link to treering, also to one that has moved, is replaced
where it does not lead to this one. Where something else has one of the names, it is left as it is,
the other links are made, and the exit code is 3.

Under the name fio, what treering does not run natively is given to the installed fio, the next one
in PATH.";

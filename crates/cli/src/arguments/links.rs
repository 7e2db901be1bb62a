//! The command line of `treering links`.

use std::path::PathBuf;

use clap::Args;

#[derive(Debug, Args)]
#[command(after_help = AFTER_LINKS)]
pub(crate) struct LinksArgs {
    /// The directory for the links; it must exist.
    pub(crate) dir: PathBuf,
    /// Only show what would be done.
    #[arg(long)]
    pub(crate) dry_run: bool,
}

const AFTER_LINKS: &str = "\
A test suite that calls the original tools runs treering if it finds the links first:
  mkdir -p ~/treering-links
  treering links ~/treering-links
  PATH=~/treering-links:$PATH ./run-the-tests

The links contain the absolute path of this treering, or only its name if they are in the same
directory, so that the directory can be moved.

Existing files are never overwritten. A link to another treering, or to one that has moved, is
replaced. If something else has one of the names, it is left as it is, the other links are created,
and the exit code is 3.

Under the name fio, jobs that treering does not run natively are passed to the installed fio, the
next one in PATH.";

//! Arguments of `treering image`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::OutputArgs;

#[derive(Debug, Args)]
#[command(after_help = AFTER_IMAGE)]
pub(crate) struct ImageArgs {
    #[command(subcommand)]
    pub(crate) verb: ImageVerb,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ImageVerb {
    /// List the saved images.
    List {
        #[command(flatten)]
        output: OutputArgs,
    },
    /// Show how an image was made, and its layout.
    Show {
        /// Name of the image.
        name: String,
        #[command(flatten)]
        output: OutputArgs,
    },
    /// Save a mounted filesystem as an image; it is unmounted for that and mounted again. Requires
    /// root.
    Save {
        /// The name of the new image.
        name: String,
        /// A directory on the filesystem.
        target: PathBuf,
    },
    /// Read images and compare them with what was saved.
    Verify {
        /// Names of the images [default: all].
        names: Vec<String>,
    },
    /// Remove images.
    Remove {
        /// Names of the images.
        #[arg(required = true)]
        names: Vec<String>,
    },
    /// Restore an image to a new, sparse file, to be mounted through a loop device.
    Restore {
        /// Name of the image.
        name: String,
        /// The file; it must not exist.
        #[arg(long, value_name = "FILE")]
        to: PathBuf,
    },
}

const AFTER_IMAGE: &str = "\
Age a filesystem, keep it, and start every trial of a plan from it:
  treering age /mnt/test --profile mail --until steady --save old-mail
  treering image show old-mail
A variant of a plan then has: filesystem = \"ext4\", image = \"old-mail\", device = { loop = \"4GiB\" }

Images are in the directory `images` of the data directory. docs/images.md has the details.";

//! Arguments of `treering lab disk`.

use std::path::PathBuf;

use clap::Args;

#[derive(Debug, Args)]
pub(crate) struct DiskArgs {
    /// The disk: hdd-7200, hdd-5400, ssd-sata, hp97560, or a TOML file.
    #[arg(default_value = "hdd-7200")]
    pub(crate) disk: String,
    /// Size of the disk, from its outermost track on.
    #[arg(long, default_value = "4GiB")]
    pub(crate) size: String,
    /// Keep the image in this directory [default: /var/tmp/treering-UID].
    #[arg(long, value_name = "DIR")]
    pub(crate) images: Option<PathBuf>,
}

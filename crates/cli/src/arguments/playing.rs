//! Arguments of `treering lab disk`.

use std::path::PathBuf;

use clap::Args;

#[derive(Debug, Args)]
pub(crate) struct DiskArgs {
    /// The disk: hdd-7200, hdd-7200-write-through, hdd-7200-500g, hdd-5400, ssd-sata, ssd-ftl,
    /// hp97560, or a TOML file.
    #[arg(default_value = "hdd-7200")]
    pub(crate) disk: String,
    /// How large it is shown, from its outermost track on [default: 4GiB, or all of a smaller
    /// disk].
    #[arg(long)]
    pub(crate) size: Option<String>,
    /// Keep the image in this directory [default: /var/tmp/treering-UID].
    #[arg(long, value_name = "DIR")]
    pub(crate) images: Option<PathBuf>,
}

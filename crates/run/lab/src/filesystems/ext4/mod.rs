//! ext4: with a journal, extents and delayed allocation.

use std::ffi::OsString;

use super::{Filesystem, MkfsRequest, OptionRefusal, Tool, mke2fs};

/// ext4.
#[derive(Debug)]
pub(super) struct Ext4;

const TOOL: Tool = Tool { program: "mkfs.ext4", package: "e2fsprogs", version_argument: "-V" };

/// Nothing is left to be initialised after the mount; the reason is in `mke2fs`.
const EXTENDED: &[&str] = &["lazy_itable_init=0", "lazy_journal_init=0"];

impl Filesystem for Ext4 {
    fn name(&self) -> &'static str {
        "ext4"
    }

    fn tool(&self) -> Option<&'static Tool> {
        Some(&TOOL)
    }

    fn kernel_option(&self) -> &'static str {
        "CONFIG_EXT4_FS"
    }

    fn bytes_min(&self) -> u64 {
        1 << 20
    }

    fn signature(&self) -> &'static str {
        "ext"
    }

    fn arguments(&self, request: &MkfsRequest<'_>) -> Result<Vec<OsString>, OptionRefusal> {
        mke2fs::arguments(request, EXTENDED)
    }
}

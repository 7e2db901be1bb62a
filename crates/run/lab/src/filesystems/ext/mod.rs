//! ext2, ext3 and ext4: one program makes them all, and the kernel's ext4 mounts them where the
//! older ones are not built. What they are is in the name under which mke2fs is called.

mod mke2fs;

use std::ffi::OsString;

use super::{Filesystem, MkfsRequest, OptionRefusal, Tool};

/// One of the three.
#[derive(Debug)]
pub(super) struct Ext {
    name: &'static str,
    tool: &'static Tool,
    /// What is to be initialised by mkfs and not after the mount; the reason is in `mke2fs`.
    extended: &'static [&'static str],
}

const fn tool(program: &'static str) -> Tool {
    Tool { program, package: "e2fsprogs", version_argument: "-V" }
}

/// Without a journal.
pub(super) const EXT2: Ext =
    Ext { name: "ext2", tool: &tool("mkfs.ext2"), extended: &["lazy_itable_init=0"] };

/// With a journal.
pub(super) const EXT3: Ext = Ext {
    name: "ext3",
    tool: &tool("mkfs.ext3"),
    extended: &["lazy_itable_init=0", "lazy_journal_init=0"],
};

/// With a journal, extents and delayed allocation.
pub(super) const EXT4: Ext = Ext { name: "ext4", tool: &tool("mkfs.ext4"), ..EXT3 };

impl Filesystem for Ext {
    fn name(&self) -> &'static str {
        self.name
    }

    fn tool(&self) -> Option<&'static Tool> {
        Some(self.tool)
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
        mke2fs::arguments(request, self.extended)
    }
}

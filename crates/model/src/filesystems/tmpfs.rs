//! tmpfs and ramfs, in memory. A tmpfs has the size of the loop images of the other variants,
//! unless the user gives a size; ramfs is only recognised.

use super::{CreationMethod, Filesystem};

/// Kernel's name of tmpfs.
pub const TMPFS: &str = "tmpfs";

pub(super) const ALL: &[Filesystem] = &[
    Filesystem {
        name: TMPFS,
        magic: 0x0102_1994,
        making: CreationMethod::Mounted { size: &["size", "nr_blocks"] },
        kernel_option: "CONFIG_TMPFS",
        bytes_min: 1 << 20,
        is_in_memory: true,
        lists_inodes: true,
        ..Filesystem::UNKNOWN
    },
    Filesystem { name: "ramfs", magic: 0x8584_58f6, is_in_memory: true, ..Filesystem::UNKNOWN },
];

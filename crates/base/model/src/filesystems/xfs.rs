//! XFS.

use super::{Checking, Filesystem, Making, Metadata, Mkfs, Place, Signature, UntouchedMount};

pub(super) const ALL: &[Filesystem] = &[XFS];

/// XFS.
pub const XFS: Filesystem = Filesystem {
    name: "xfs",
    magic: 0x5846_5342,
    signatures: &[
        Signature { name: "XFS", place: Place::Begin(0), magic: b"XFSB" },
        Signature { name: "XFS log", place: Place::Begin(0), magic: &[0xfe, 0xed, 0xba, 0xbe] },
    ],
    leaves: &["XFS"],
    making: Making::Formatted(&Mkfs {
        program: "mkfs.xfs",
        package: "xfsprogs",
        version_argument: "-V",
        with_value: "bcdilLmnprs",
        force: &["-f"],
        label: &["L"],
        extended: &[],
        refused: &[],
    }),
    kernel_option: "CONFIG_XFS_FS",
    // What xfsprogs since 5.19 refuses below; older ones made filesystems that nobody uses.
    bytes_min: 300 << 20,
    is_usual: true,
    has_blocks: true,
    lists_inodes: true,
    untouched: Some(UntouchedMount { fs_type: "xfs", options: "ro,norecovery,nouuid" }),
    of_copies: &["nouuid"],
    uuid_offset: Some(32),
    checking: Some(Checking { program: "xfs_repair", arguments: &["-n"] }),
    metadata: Metadata::Once,
    log_prefixes: &["XFS"],
    debug_options: &["CONFIG_XFS_DEBUG"],
    barrier_off: &["nobarrier"],
    ..Filesystem::UNKNOWN
};

//! NILFS2, a log-structured filesystem: mounted without its cleaner, so that nothing writes between
//! the operations of a trial; old checkpoints occupy space until the filesystem is made again.

use super::{Filesystem, Making, Metadata, Mkfs, Place, Signature, UntouchedMount};

pub(super) const ALL: &[Filesystem] = &[NILFS2];

const MAGIC: &[u8] = &[0x34, 0x34];

const NILFS2: Filesystem = Filesystem {
    name: "nilfs2",
    magic: 0x3434,
    signatures: &[
        Signature::new("NILFS2", Place::Begin(0x406), MAGIC),
        Signature::of_copy("NILFS2", Place::LastBlock(6), MAGIC),
    ],
    leaves: &["NILFS2"],
    making: Making::Formatted(&Mkfs {
        program: "mkfs.nilfs2",
        package: "nilfs-tools",
        version_argument: "-V",
        with_value: "bBLmOP",
        force: &["-f"],
        label: &["L"],
        extended: &[],
        refused: &[],
    }),
    kernel_option: "CONFIG_NILFS2_FS",
    // 16 segments of 8 MiB, plus the areas before and behind them.
    bytes_min: 129 << 20,
    has_blocks: true,
    lists_inodes: true,
    untouched: Some(UntouchedMount { fs_type: "nilfs2", options: "ro,norecovery,errors=continue" }),
    metadata: Metadata::Once,
    log_prefixes: &["NILFS"],
    barrier_off: &["nobarrier"],
    ..Filesystem::UNKNOWN
};

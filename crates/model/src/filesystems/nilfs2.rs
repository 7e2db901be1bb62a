//! NILFS2, a log-structured filesystem: mounted without its cleaner, so that nothing writes between
//! the operations of a trial; old checkpoints occupy space until the filesystem is made again.

use super::{
    CreationMethod, Filesystem, MagicPosition, MagicSignature, MetadataCopies, Mkfs, UntouchedMount,
};

pub(super) const ALL: &[Filesystem] = &[NILFS2];

const MAGIC: &[u8] = &[0x34, 0x34];

const NILFS2: Filesystem = Filesystem {
    name: "nilfs2",
    magic: 0x3434,
    signatures: &[
        MagicSignature::new("NILFS2", MagicPosition::Begin(0x406), MAGIC),
        MagicSignature::backup_copy("NILFS2", MagicPosition::LastBlock(6), MAGIC),
    ],
    leaves: &["NILFS2"],
    making: CreationMethod::Formatted(&Mkfs {
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
    metadata: MetadataCopies::Once,
    log_prefixes: &["NILFS"],
    barrier_off: &["nobarrier"],
    ..Filesystem::UNKNOWN
};

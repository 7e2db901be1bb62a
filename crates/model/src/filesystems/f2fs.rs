//! F2FS, on one device. (It can span several with `-c`, which is not offered.)

use super::{
    CreationMethod, Filesystem, MagicPosition, MagicSignature, MetadataCopies, Mkfs, RefusedOption,
    UntouchedMount,
};

pub(super) const ALL: &[Filesystem] = &[F2FS];

const MAGIC: &[u8] = &[0x10, 0x20, 0xf5, 0xf2];

/// F2FS.
pub const F2FS: Filesystem = Filesystem {
    name: "f2fs",
    checksum: Some("crc32"),
    magic: 0xf2f5_2010,
    signatures: &[
        MagicSignature::new("F2FS", MagicPosition::Begin(0x400), MAGIC),
        MagicSignature::backup_copy("F2FS", MagicPosition::Begin(0x1400), MAGIC),
    ],
    leaves: &["F2FS"],
    making: CreationMethod::Formatted(&Mkfs {
        program: "mkfs.f2fs",
        package: "f2fs-tools",
        version_argument: "-V",
        with_value: "acCdeEglOoRsStTUwzZ",
        force: &["-f"],
        label: &["l"],
        extended: &[],
        refused: &[RefusedOption {
            letter: "c",
            times_max: 0,
            why: "would format a device that the variant does not name",
        }],
    }),
    kernel_option: "CONFIG_F2FS_FS",
    bytes_min: 52 << 20,
    has_blocks: true,
    lists_inodes: true,
    untouched: Some(UntouchedMount { fs_type: "f2fs", options: "ro,norecovery" }),
    uuid_offset: Some(0x46c),
    metadata: MetadataCopies::Once,
    log_prefixes: &["F2FS-fs"],
    barrier_off: &["nobarrier", "fsync_mode=nobarrier"],
    ..Filesystem::UNKNOWN
};

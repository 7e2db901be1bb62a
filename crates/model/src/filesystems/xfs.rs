//! XFS.

use super::{
    CheckProgram, CreationMethod, Filesystem, MagicPosition, MagicSignature, MetadataCopies, Mkfs,
    OuterJournal, UntouchedMount,
};

pub(super) const ALL: &[Filesystem] = &[XFS];

/// Magic number of every superblock.
const MAGIC: &[u8] = b"XFSB";

/// XFS.
pub const XFS: Filesystem = Filesystem {
    name: "xfs",
    checksum: Some("crc32c"),
    magic: 0x5846_5342,
    signatures: &[
        MagicSignature::new("XFS", MagicPosition::Begin(0), MAGIC),
        MagicSignature::new("XFS log", MagicPosition::Begin(0), &[0xfe, 0xed, 0xba, 0xbe]),
    ],
    leaves: &["XFS"],
    making: CreationMethod::Formatted(&Mkfs {
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
    // Lower limit of xfsprogs since 5.19; older versions allowed smaller filesystems.
    bytes_min: 300 << 20,
    is_usual: true,
    outer_journal: Some(OuterJournal { making: &[], mkfs: ["-l", "logdev="], mount: "logdev" }),
    has_blocks: true,
    lists_inodes: true,
    untouched: Some(UntouchedMount { fs_type: "xfs", options: "ro,norecovery,nouuid" }),
    of_copies: &["nouuid"],
    uuid_offset: Some(32),
    checking: Some(CheckProgram { program: "xfs_repair", arguments: &["-n"] }),
    metadata: MetadataCopies::Once,
    log_prefixes: &["XFS"],
    debug_options: &["CONFIG_XFS_DEBUG"],
    barrier_off: &["nobarrier"],
    ..Filesystem::UNKNOWN
};

/// Possible offsets of the superblock of the second allocation group on a device of this size, and
/// its magic number: mkfs.xfs divides a device into 2 to 64 groups of equal size, or into groups of
/// nearly 1 TiB.
pub fn xfs_copies(device_bytes: u64) -> (Vec<u64>, &'static [u8]) {
    const BLOCK: u64 = 4096;
    const GROUP_MOST: u64 = (1 << 40) - BLOCK;
    let groups = (2..=16).chain([24, 32, 48, 64]);
    // If the groups do not divide the device evenly, their size is rounded to blocks.
    let begins = groups.flat_map(|groups| {
        let group = device_bytes / groups / BLOCK * BLOCK;
        [group, group + BLOCK]
    });
    let mut places: Vec<u64> = begins.chain([GROUP_MOST]).collect();
    places.retain(|place| *place >= BLOCK && *place < device_bytes);
    places.sort_unstable();
    places.dedup();
    (places, MAGIC)
}

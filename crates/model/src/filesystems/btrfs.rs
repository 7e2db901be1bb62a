//! btrfs, on one device or several. Mount options name the further devices, so no device scan is
//! needed.

use super::{
    CheckProgram, CreationMethod, Filesystem, MagicPosition, MagicSignature, MemberLocation,
    MetadataCopies, Mkfs, UntouchedMount,
};

pub(super) const ALL: &[Filesystem] = &[BTRFS];

/// Directory of the kernel's btrfs, which exists while its module is loaded.
pub const BTRFS_DIRECTORY: &str = "/sys/fs/btrfs";
/// Device that takes commands about the devices that btrfs knows; opening it loads the module.
pub const BTRFS_CONTROL: &str = "/dev/btrfs-control";

const MAGIC: &[u8] = b"_BHRfS_M";

/// btrfs.
pub const BTRFS: Filesystem = Filesystem {
    name: "btrfs",
    checksum: Some("crc32c"),
    magic: 0x9123_683e,
    signatures: &[
        MagicSignature::new("btrfs", MagicPosition::Begin(0x1_0040), MAGIC),
        // Superblock mirrors, with the magic at byte 64; the last one is written by old versions.
        MagicSignature::backup_copy("btrfs", MagicPosition::Begin((64 << 20) + 0x40), MAGIC),
        MagicSignature::backup_copy("btrfs", MagicPosition::Begin((256 << 30) + 0x40), MAGIC),
        MagicSignature::backup_copy("btrfs", MagicPosition::Begin((1 << 50) + 0x40), MAGIC),
    ],
    leaves: &["btrfs"],
    making: CreationMethod::Formatted(&Mkfs {
        program: "mkfs.btrfs",
        package: "btrfs-progs",
        version_argument: "--version",
        with_value: "AbdlLmnOrRsuU",
        force: &["-f"],
        label: &["L", "label"],
        extended: &[],
        refused: &[],
    }),
    kernel_option: "CONFIG_BTRFS_FS",
    // Per device. mkfs accepts less for some profiles, and reports it otherwise.
    bytes_min: 47 << 20,
    device_option: Some("device"),
    is_usual: true,
    has_blocks: true,
    lists_inodes: true,
    untouched: Some(UntouchedMount { fs_type: "btrfs", options: "ro,rescue=nologreplay" }),
    uuid_offset: Some(0x1_0020),
    checking: Some(CheckProgram { program: "btrfs", arguments: &["check", "--readonly"] }),
    metadata: MetadataCopies::Chosen {
        options: &["-m", "--metadata"],
        one_device: "dup",
        several: "raid1",
    },
    members: Some(MemberLocation::Folder("devices")),
    log_prefixes: &["BTRFS"],
    debug_options: &["CONFIG_BTRFS_ASSERT"],
    barrier_off: &["nobarrier"],
    ..Filesystem::UNKNOWN
};

/// Size of the nodes of a btrfs, given the first 256 bytes of its superblock; `None` for anything
/// else.
pub fn btrfs_node_bytes(superblock: &[u8; 256]) -> Option<u64> {
    let bytes = superblock.get(0x94..0x98)?.try_into().ok().map(u32::from_le_bytes)?;
    let is_btrfs = superblock.get(0x40..0x40 + MAGIC.len())? == MAGIC;
    (is_btrfs && bytes.is_power_of_two()).then_some(u64::from(bytes))
}

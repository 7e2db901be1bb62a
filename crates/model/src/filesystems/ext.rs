//! ext2, ext3 and ext4: one program makes them all, and the kernel's ext4 mounts them where the
//! older ones are not built. What they are is in the name under which mke2fs is called.
//!
//! By default mke2fs leaves inode tables and journal to be initialised after the first mount, in
//! the background: it would write during the trial, now in this phase, now in that. So both are
//! done at once (`lazy_itable_init=0,lazy_journal_init=0`), which costs time in mkfs and nothing
//! later.

use super::{Checking, Filesystem, Making, Metadata, Mkfs, RefusedOption, UntouchedMount};

pub(super) const ALL: &[Filesystem] = &[EXT4, EXT3, EXT2];

/// With a journal, extents and delayed allocation.
pub const EXT4: Filesystem = Filesystem {
    name: "ext4",
    leaves: &["ext4", "ext3", "ext2", JOURNAL],
    making: Making::Formatted(&Mkfs { program: "mkfs.ext4", ..MKE2FS }),
    is_usual: true,
    log_prefixes: &["EXT4-fs", "JBD2", "jbd2"],
    barrier_off: &["nobarrier", "barrier=0", "barrier=none"],
    ..COMMON
};

/// With a journal.
pub const EXT3: Filesystem = Filesystem {
    name: "ext3",
    leaves: &["ext3", "ext4", "ext2", JOURNAL],
    making: Making::Formatted(&Mkfs { program: "mkfs.ext3", ..MKE2FS }),
    log_prefixes: &["EXT3-fs", "EXT4-fs", "JBD2"],
    barrier_off: EXT4.barrier_off,
    ..COMMON
};

/// Without a journal.
pub const EXT2: Filesystem = Filesystem {
    name: "ext2",
    leaves: &["ext2", "ext4", "ext3", JOURNAL],
    making: Making::Formatted(&Mkfs {
        program: "mkfs.ext2",
        extended: &["lazy_itable_init=0"],
        ..MKE2FS
    }),
    log_prefixes: &["EXT2-fs", "EXT4-fs"],
    ..COMMON
};

/// The signature of a device that holds only a journal.
const JOURNAL: &str = "ext journal";

const COMMON: Filesystem = Filesystem {
    magic: 0xef53,
    kernel_option: "CONFIG_EXT4_FS",
    bytes_min: 1 << 20,
    has_blocks: true,
    lists_inodes: true,
    untouched: Some(UntouchedMount { fs_type: "ext4", options: "ro,noload,errors=continue" }),
    uuid_offset: Some(0x468),
    checking: Some(Checking { program: "e2fsck", arguments: &["-fn"] }),
    metadata: Metadata::Once,
    ..Filesystem::UNKNOWN
};

const MKE2FS: Mkfs = Mkfs {
    program: "",
    package: "e2fsprogs",
    version_argument: "-V",
    with_value: "bCdeEgGiIJlLmMNoOrRtTUz",
    force: &[],
    label: &["L"],
    extended: &["lazy_itable_init=0", "lazy_journal_init=0"],
    refused: &[RefusedOption {
        letter: "F",
        times_max: 1,
        why: "given twice it formats what is mounted",
    }],
};

/// The name of the signature in a superblock of ext, given its first 104 bytes, which begin 1024
/// bytes into the device; `None` where it is no such superblock.
pub fn ext_signature(superblock: &[u8; 104]) -> Option<&'static str> {
    if superblock[0x38..0x3a] != [0x53, 0xef] {
        return None;
    }
    let word =
        |at: usize| superblock[at..at + 4].iter().rev().fold(0, |n, b| n << 8 | u32::from(*b));
    let (compatible, incompatible, read_only) = (word(0x5c), word(0x60), word(0x64));
    // What ext3 has: file types, recovery, meta groups; sparse and large files, hashed directories.
    let beyond_ext3 = incompatible & !0x16 != 0 || read_only & !0x7 != 0;
    Some(if incompatible & 0x8 != 0 {
        JOURNAL
    } else if beyond_ext3 {
        EXT4.name
    } else if compatible & 0x4 != 0 {
        EXT3.name
    } else {
        EXT2.name
    })
}

/// Where copies of the superblock may stand on a device of so many bytes: mke2fs keeps them at the
/// beginning of block groups 1 and the powers of 3, 5 and 7 (`sparse_super`), or of every group. A
/// group has eight blocks for each byte of a block, whose size may be 1 KiB to 64 KiB.
pub fn ext_copies(device_bytes: u64) -> Vec<u64> {
    const GROUPS: [u64; 12] = [1, 3, 5, 7, 9, 25, 27, 49, 81, 125, 243, 343];
    let mut places = Vec::new();
    for block in (10..=16).map(|bits| 1u64 << bits) {
        // Blocks of 1 KiB are counted from the second: the first is left to a boot loader.
        let first = if block == 1024 { block } else { 0 };
        places.extend(GROUPS.map(|group| first + group * 8 * block * block));
    }
    places.retain(|place| *place < device_bytes);
    places.sort_unstable();
    places.dedup();
    places
}

//! ext2, ext3 and ext4: one mkfs program creates them all, depending on the name by which it is
//! called, and the kernel's ext4 mounts all three.
//!
//! By default mke2fs leaves inode tables and journal to be initialised in the background after the
//! first mount, which would write at random times during the trial.
//! `lazy_itable_init=0,lazy_journal_init=0` initialises both in mkfs. It also draws a random seed,
//! from which the order of the names in a directory follows; with [`HASH_SEED`] equal recipes give
//! equal orders.

use super::{
    CheckProgram, CreationMethod, Filesystem, MetadataCopies, Mkfs, OuterJournal, RefusedOption,
    UntouchedMount,
};

pub(super) const ALL: &[Filesystem] = &[EXT4, EXT3, EXT2];

/// ext4: journal, extents and delayed allocation.
pub const EXT4: Filesystem = Filesystem {
    name: "ext4",
    checksum: Some("crc32c"),
    leaves: &["ext4", "ext3", "ext2", JOURNAL],
    making: CreationMethod::Formatted(&Mkfs { program: "mkfs.ext4", ..MKE2FS }),
    is_usual: true,
    outer_journal: JOURNAL_DEVICE,
    log_prefixes: &["EXT4-fs", "JBD2", "jbd2"],
    barrier_off: &["nobarrier", "barrier=0", "barrier=none"],
    ..COMMON
};

/// ext3: with a journal.
pub const EXT3: Filesystem = Filesystem {
    name: "ext3",
    leaves: &["ext3", "ext4", "ext2", JOURNAL],
    making: CreationMethod::Formatted(&Mkfs { program: "mkfs.ext3", ..MKE2FS }),
    outer_journal: JOURNAL_DEVICE,
    log_prefixes: &["EXT3-fs", "EXT4-fs", "JBD2"],
    barrier_off: EXT4.barrier_off,
    ..COMMON
};

/// ext2: without a journal.
pub const EXT2: Filesystem = Filesystem {
    name: "ext2",
    leaves: &["ext2", "ext4", "ext3", JOURNAL],
    making: CreationMethod::Formatted(&Mkfs {
        program: "mkfs.ext2",
        extended: &["lazy_itable_init=0", HASH_SEED],
        ..MKE2FS
    }),
    log_prefixes: &["EXT2-fs", "EXT4-fs"],
    ..COMMON
};

/// Seed of the hashes of names, the same for every filesystem that treering makes.
const HASH_SEED: &str = "hash_seed=74726565-7269-6e67-7472-656572696e67";

/// Signature of an external journal device.
const JOURNAL: &str = "ext journal";

/// mkfs makes the journal first. The mount option holds even where the device has another number
/// than it had then.
const JOURNAL_DEVICE: Option<OuterJournal> = Some(OuterJournal {
    making: &["-O", "journal_dev"],
    mkfs: ["-J", "device="],
    mount: "journal_path",
});

const COMMON: Filesystem = Filesystem {
    magic: 0xef53,
    kernel_option: "CONFIG_EXT4_FS",
    bytes_min: 1 << 20,
    has_blocks: true,
    lists_inodes: true,
    has_inode_tables: true,
    untouched: Some(UntouchedMount { fs_type: "ext4", options: "ro,noload,errors=continue" }),
    uuid_offset: Some(0x468),
    checking: Some(CheckProgram { program: "e2fsck", arguments: &["-fn"] }),
    metadata: MetadataCopies::Once,
    ..Filesystem::UNKNOWN
};

const MKE2FS: Mkfs = Mkfs {
    program: "",
    package: "e2fsprogs",
    version_argument: "-V",
    with_value: "bCdeEgGiIJlLmMNoOrRtTUz",
    force: &[],
    label: &["L"],
    extended: &["lazy_itable_init=0", "lazy_journal_init=0", HASH_SEED],
    refused: &[RefusedOption {
        letter: "F",
        times_max: 1,
        why: "given twice it formats what is mounted",
    }],
};

/// Signature of an ext superblock, given its first 104 bytes, which begin at offset 1024 of the
/// device; `None` for anything else.
pub fn ext_signature(superblock: &[u8; 104]) -> Option<&'static str> {
    if superblock[0x38..0x3a] != [0x53, 0xef] {
        return None;
    }
    let word =
        |at: usize| superblock[at..at + 4].iter().rev().fold(0, |n, b| n << 8 | u32::from(*b));
    let (compatible, incompatible, read_only) = (word(0x5c), word(0x60), word(0x64));
    // Features of ext3: file types, recovery, meta groups; sparse and large files, hashed
    // directories.
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

/// Possible offsets of superblock copies on a device of this size: mke2fs keeps them at the
/// beginning of block group 1 and of the powers of 3, 5 and 7 (`sparse_super`), or of every group.
/// A group has eight blocks per byte of a block; blocks have 1 KiB to 64 KiB.
pub fn ext_copies(device_bytes: u64) -> Vec<u64> {
    const GROUPS: [u64; 12] = [1, 3, 5, 7, 9, 25, 27, 49, 81, 125, 243, 343];
    let mut places = Vec::new();
    for block in (10..=16).map(|bits| 1u64 << bits) {
        // With 1 KiB blocks the first block is reserved for a boot loader, so groups begin at block
        // 1.
        let first = if block == 1024 { block } else { 0 };
        places.extend(GROUPS.map(|group| first + group * 8 * block * block));
    }
    places.retain(|place| *place < device_bytes);
    places.sort_unstable();
    places.dedup();
    places
}

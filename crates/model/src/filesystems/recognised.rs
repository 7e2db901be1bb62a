//! Filesystems that are only recognised, by `statfs` magic or by a signature on the device. A
//! filesystem that treering can create has a file of its own.
//!
//! Offsets and magic numbers are those of the on-disk formats and of linux/magic.h, as in blkid(8)
//! of util-linux.

use super::MagicPosition::{BeforeEnd, Begin};
use super::{Filesystem, MagicPosition, MagicSignature, MemberLocation};

pub(super) const ALL: &[Filesystem] = &[
    Filesystem { log_prefixes: &["NFS", "nfs"], ..mounted("nfs", 0x6969) },
    Filesystem { log_prefixes: &["NFS", "nfs"], ..mounted("nfs4", 0x6969) },
    mounted(OVERLAY, 0x794c_7630),
    mounted("cifs", 0xff53_4d42),
    mounted("smb2", 0xfe53_4d42),
    mounted("ceph", 0x00c3_6400),
    mounted("fuse", 0x6573_5546),
    mounted(NINE_P, 0x0102_1997),
    ZFS,
    Filesystem {
        members: Some(MemberLocation::Linked("block")),
        ..known(
            "bcachefs",
            0xca45_1a4e,
            // The copy follows the space of the first superblock, 1 MiB by default.
            &[at("bcachefs", 0x1018, BCACHEFS), copy("bcachefs", Begin(0x10_1018), BCACHEFS)],
        )
    },
    known("jfs", 0x3153_464a, &[at("JFS", 0x8000, b"JFS1"), copy("JFS", Begin(0xf000), b"JFS1")]),
    known(
        "reiserfs",
        0x5265_4973,
        &[
            at("ReiserFS", 0x1_0034, b"ReIsErFs"),
            at("ReiserFS", 0x1_0034, b"ReIsEr2Fs"),
            at("ReiserFS", 0x1_0034, b"ReIsEr3Fs"),
            at("ReiserFS", 0x2034, b"ReIsErFs"),
            at("ReiserFS", 0x2014, b"ReIsErFs"),
        ],
    ),
    on_disk("reiser4", &[at("Reiser4", 0x1_0000, b"ReIsEr4")]),
    on_disk("gfs2", &[at("GFS", 0x1_0000, &[0x01, 0x16, 0x19, 0x70])]),
    on_disk(
        "ocfs2",
        &[
            at("OCFS2", 0x400, b"OCFSV2"),
            at("OCFS2", 0x800, b"OCFSV2"),
            at("OCFS2", 0x1000, b"OCFSV2"),
            at("OCFS2", 0x2000, b"OCFSV2"),
            copy("OCFS2", Begin(1 << 30), b"OCFSV2"),
            copy("OCFS2", Begin(4 << 30), b"OCFSV2"),
            copy("OCFS2", Begin(16 << 30), b"OCFSV2"),
            copy("OCFS2", Begin(64 << 30), b"OCFSV2"),
            copy("OCFS2", Begin(256 << 30), b"OCFSV2"),
            copy("OCFS2", Begin(1 << 40), b"OCFSV2"),
        ],
    ),
    on_disk("ocfs", &[at("OCFS", 0x2000, b"OracleCFS")]),
    on_disk(
        "squashfs",
        &[at("SquashFS", 0, b"hsqs"), at("SquashFS", 0, b"sqsh"), at("SquashFS", 0, b"hsqt")],
    ),
    on_disk("erofs", &[at("EROFS", 0x400, &[0xe2, 0xe1, 0xf5, 0xe0])]),
    on_disk(
        "cramfs",
        &[
            at("cramfs", 0, &[0x45, 0x3d, 0xcd, 0x28]),
            at("cramfs", 0, &[0x28, 0xcd, 0x3d, 0x45]),
            at("cramfs", 0x200, &[0x45, 0x3d, 0xcd, 0x28]),
        ],
    ),
    on_disk("romfs", &[at("romfs", 0, b"-rom1fs-")]),
    on_disk("bfs", &[at("BFS", 0, &[0xce, 0xfa, 0xad, 0x1b])]),
    on_disk("zonefs", &[at("zonefs", 0, b"SFOZ")]),
    on_disk("ubifs", &[at("UBIFS", 0, &[0x31, 0x18, 0x10, 0x06])]),
    on_disk("scoutfs", &[at("scoutfs", 0x1_0004, &[0x8b, 0x42, 0x3c, 0x10])]),
    on_disk("exfs", &[at("exfs", 0, b"EXFS")]),
    // Filesystems of other systems.
    FAT,
    Filesystem {
        has_boot_sector: true,
        ..known(
            "exfat",
            0x2011_bab0,
            // The copy is in sector 12, for any sector size.
            &[
                at("exFAT", 3, b"EXFAT   "),
                copy("exFAT", Begin(12 * 512 + 3), b"EXFAT   "),
                copy("exFAT", Begin(12 * 1024 + 3), b"EXFAT   "),
                copy("exFAT", Begin(12 * 2048 + 3), b"EXFAT   "),
                copy("exFAT", Begin(12 * 4096 + 3), b"EXFAT   "),
            ],
        )
    },
    Filesystem {
        has_boot_sector: true,
        ..known(
            "ntfs3",
            0x7366_746e,
            // The copy is in the last sector.
            &[
                at("NTFS", 3, b"NTFS    "),
                copy("NTFS", BeforeEnd(512 - 3), b"NTFS    "),
                copy("NTFS", BeforeEnd(4096 - 3), b"NTFS    "),
            ],
        )
    },
    on_disk(
        "refs",
        &[
            at("ReFS", 0, b"\0\0\0ReFS\0"),
            copy("ReFS", BeforeEnd(512), b"\0\0\0ReFS\0"),
            copy("ReFS", BeforeEnd(4096), b"\0\0\0ReFS\0"),
        ],
    ),
    on_disk("hpfs", &[at("HPFS", 0x2000, &[0x49, 0xe8, 0x95, 0xf9])]),
    on_disk("apfs", &[at("APFS", 0x20, b"NXSB")]),
    on_disk("hfs", &[at("HFS", 0x400, b"BD"), copy("HFS", BeforeEnd(1024), b"BD")]),
    on_disk(
        "hfsplus",
        &[
            at("HFS+", 0x400, b"H+"),
            at("HFS+", 0x400, b"HX"),
            copy("HFS+", BeforeEnd(1024), b"H+"),
            copy("HFS+", BeforeEnd(1024), b"HX"),
        ],
    ),
    on_disk("iso9660", &[at("ISO 9660", 0x8001, b"CD001"), at("High Sierra", 0x8009, b"CDROM")]),
    on_disk(
        "befs",
        &[
            at("BeFS", 0x20, b"BFS1"),
            at("BeFS", 0x20, b"1SFB"),
            at("BeFS", 0x220, b"BFS1"),
            at("BeFS", 0x220, b"1SFB"),
        ],
    ),
    on_disk(
        "vxfs",
        &[
            at("VxFS", 0x400, &[0xf5, 0xfc, 0x01, 0xa5]),
            at("VxFS", 0x2000, &[0xa5, 0x01, 0xfc, 0xf5]),
        ],
    ),
    on_disk(
        "sysv",
        &[at("Xenix", 0x7f9, &[0x2b, 0x55, 0x44]), at("Xenix", 0x7f8, &[0x44, 0x55, 0x2b])],
    ),
];

/// ZFS. Recognising it requires a search for labels and uberblock rings.
pub const ZFS: Filesystem = Filesystem { leaves: &["ZFS"], ..mounted("zfs", 0x2fc1_2fc1) };

/// FAT. Old versions have no magic number, only a plausible boot sector.
pub const FAT: Filesystem = Filesystem {
    has_boot_sector: true,
    leaves: &["FAT"],
    ..known(
        "vfat",
        0x4d44,
        &[
            at("FAT", 0x36, b"FAT12   "),
            at("FAT", 0x36, b"FAT16   "),
            at("FAT", 0x36, b"FAT     "),
            at("FAT", 0x36, b"MSDOS"),
            at("FAT", 0x52, b"FAT32   "),
            at("FAT", 0x52, b"MSWIN"),
            // The copy is in sector 6, for any sector size.
            copy("FAT", Begin(6 * 512 + 0x52), b"FAT32   "),
            copy("FAT", Begin(6 * 1024 + 0x52), b"FAT32   "),
            copy("FAT", Begin(6 * 2048 + 0x52), b"FAT32   "),
            copy("FAT", Begin(6 * 4096 + 0x52), b"FAT32   "),
        ],
    )
};

const BCACHEFS: &[u8] = b"\xc6\x85\x73\xf6\x66\xce\x90\xa9\xd9\x6a\x60\xcf\x80\x3d\xf7\xef";

/// Filesystem recognised when mounted.
const fn mounted(name: &'static str, magic: u64) -> Filesystem {
    Filesystem { name, magic, ..Filesystem::UNKNOWN }
}

/// Filesystem recognised on a device.
const fn on_disk(name: &'static str, signatures: &'static [MagicSignature]) -> Filesystem {
    known(name, 0, signatures)
}

/// Filesystem recognised both ways.
const fn known(
    name: &'static str,
    magic: u64,
    signatures: &'static [MagicSignature],
) -> Filesystem {
    Filesystem { name, magic, signatures, ..Filesystem::UNKNOWN }
}

const fn at(name: &'static str, offset: u64, magic: &'static [u8]) -> MagicSignature {
    MagicSignature::new(name, Begin(offset), magic)
}

const fn copy(name: &'static str, place: MagicPosition, magic: &'static [u8]) -> MagicSignature {
    MagicSignature::backup_copy(name, place, magic)
}

/// Type of overlayfs.
pub const OVERLAY: &str = "overlay";
/// Kernel's name of 9p, by which a guest can have files of its host.
pub const NINE_P: &str = "9p";
/// Folder of the 9p protocol in the source of the kernel.
pub const NINE_P_SOURCE: &str = "net/9p";
/// Kernel's name of virtiofs, by which a guest can have files of its host.
pub const VIRTIO_FS: &str = "virtiofs";

/// Filesystem type of a mounted played disk.
pub const PLAYED_MOUNT: &str = "fuse.treering";
/// Character device that connects a process to its FUSE mount.
pub const USER_SPACE_DEVICE: &str = "/dev/fuse";
/// Directory of FUSE connections by minor number, if the control filesystem is mounted.
pub const USER_SPACE_CONNECTIONS: &str = "/sys/fs/fuse/connections";

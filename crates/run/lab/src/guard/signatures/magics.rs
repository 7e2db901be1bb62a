//! Plain magic numbers: what stands where. Nothing here is looked at twice.
//!
//! Places and numbers are those of the on-disk formats; blkid(8) of util-linux knows the same.

use std::io;

use super::{Medium, Signature};

/// Where a magic number stands.
#[derive(Clone, Copy)]
enum Place {
    /// So many bytes from the beginning.
    Begin(u64),
    /// At the begin of the sector that is so many 512-byte sectors before the end, the last is 1.
    End(u64),
}
use Place::{Begin, End};

/// What two bytes at the end of the first sector say.
pub(super) const MBR: &str = "MBR partition table";

struct Magic(&'static str, Place, &'static [u8]);

/// Finds all of the table.
pub(super) fn search(medium: &Medium<'_>) -> io::Result<Vec<Signature>> {
    let mut found = Vec::new();
    for Magic(name, place, magic) in MAGICS {
        let offset = match *place {
            Begin(offset) => Some(offset),
            End(back) => medium.sector_from_end(back),
        };
        if let Some(offset) = offset
            && medium.has(offset, magic)?
        {
            found.push(Signature { offset, name });
        }
    }
    Ok(found)
}

const MAGICS: &[Magic] = &[
    // Filesystems of Linux.
    Magic("XFS", Begin(0), b"XFSB"),
    Magic("XFS log", Begin(0), &[0xfe, 0xed, 0xba, 0xbe]),
    Magic("btrfs", Begin(0x1_0040), b"_BHRfS_M"),
    Magic("F2FS", Begin(0x400), &[0x10, 0x20, 0xf5, 0xf2]),
    Magic("F2FS", Begin(0x1400), &[0x10, 0x20, 0xf5, 0xf2]),
    Magic("JFS", Begin(0x8000), b"JFS1"),
    Magic("NILFS2", Begin(0x406), &[0x34, 0x34]),
    Magic("ReiserFS", Begin(0x1_0034), b"ReIsErFs"),
    Magic("ReiserFS", Begin(0x1_0034), b"ReIsEr2Fs"),
    Magic("ReiserFS", Begin(0x1_0034), b"ReIsEr3Fs"),
    Magic("ReiserFS", Begin(0x2034), b"ReIsErFs"),
    Magic("ReiserFS", Begin(0x2014), b"ReIsErFs"),
    Magic("Reiser4", Begin(0x1_0000), b"ReIsEr4"),
    Magic("GFS", Begin(0x1_0000), &[0x01, 0x16, 0x19, 0x70]),
    Magic("OCFS2", Begin(0x400), b"OCFSV2"),
    Magic("OCFS2", Begin(0x800), b"OCFSV2"),
    Magic("OCFS2", Begin(0x1000), b"OCFSV2"),
    Magic("OCFS2", Begin(0x2000), b"OCFSV2"),
    Magic("OCFS", Begin(0x2000), b"OracleCFS"),
    Magic("SquashFS", Begin(0), b"hsqs"),
    Magic("SquashFS", Begin(0), b"sqsh"),
    Magic("SquashFS", Begin(0), b"hsqt"),
    Magic("EROFS", Begin(0x400), &[0xe2, 0xe1, 0xf5, 0xe0]),
    Magic("cramfs", Begin(0), &[0x45, 0x3d, 0xcd, 0x28]),
    Magic("cramfs", Begin(0), &[0x28, 0xcd, 0x3d, 0x45]),
    Magic("cramfs", Begin(0x200), &[0x45, 0x3d, 0xcd, 0x28]),
    Magic("romfs", Begin(0), b"-rom1fs-"),
    Magic("BFS", Begin(0), &[0xce, 0xfa, 0xad, 0x1b]),
    Magic("zonefs", Begin(0), b"SFOZ"),
    Magic("UBI", Begin(0), b"UBI#"),
    Magic("UBIFS", Begin(0), &[0x31, 0x18, 0x10, 0x06]),
    Magic("scoutfs", Begin(0x1_0004), &[0x8b, 0x42, 0x3c, 0x10]),
    Magic("mpool", Begin(0), b"mpoolDev"),
    Magic("exfs", Begin(0), b"EXFS"),
    // Caches, encryption, volumes, clusters.
    Magic("bcache", Begin(0x1018), BCACHE),
    Magic("bcachefs", Begin(0x1018), BCACHEFS),
    Magic("LUKS", Begin(0), b"LUKS\xba\xbe"),
    Magic("LUKS2 (second header)", Begin(0x4000), LUKS_SECOND),
    Magic("LUKS2 (second header)", Begin(0x8000), LUKS_SECOND),
    Magic("LUKS2 (second header)", Begin(0x1_0000), LUKS_SECOND),
    Magic("LUKS2 (second header)", Begin(0x2_0000), LUKS_SECOND),
    Magic("LUKS2 (second header)", Begin(0x4_0000), LUKS_SECOND),
    Magic("LUKS2 (second header)", Begin(0x8_0000), LUKS_SECOND),
    Magic("LUKS2 (second header)", Begin(0x10_0000), LUKS_SECOND),
    Magic("LUKS2 (second header)", Begin(0x20_0000), LUKS_SECOND),
    Magic("LUKS2 (second header)", Begin(0x40_0000), LUKS_SECOND),
    Magic("BitLocker", Begin(3), b"-FVE-FS-"),
    Magic("LVM2 physical volume", Begin(0x18), b"LVM2 001"),
    Magic("LVM2 physical volume", Begin(0x218), b"LVM2 001"),
    Magic("LVM2 physical volume", Begin(0x418), b"LVM2 001"),
    Magic("LVM2 physical volume", Begin(0x618), b"LVM2 001"),
    Magic("LVM1 physical volume", Begin(0), b"HM\x01\0"),
    Magic("LVM1 physical volume", Begin(0), b"HM\x02\0"),
    Magic("LVM snapshot", Begin(0), b"SnAp"),
    Magic("dm-verity", Begin(0), b"verity\0\0"),
    Magic("dm-integrity", Begin(0), b"integrt\0"),
    Magic("Stratis", Begin(0x204), b"!Stra0tis\x86\xff\x02^\x41rh"),
    Magic("Stratis", Begin(0x1204), b"!Stra0tis\x86\xff\x02^\x41rh"),
    Magic("VDO", Begin(0), b"dmvdo001"),
    Magic("Ceph BlueStore", Begin(0), b"bluestore block device"),
    Magic("Oracle ASM", Begin(0x20), b"ORCLDISK"),
    Magic("DRBD manage", Begin(0), b"$DRBDmgr=q"),
    Magic("DRBD proxy log", Begin(0), b"DRBDdlh*"),
    Magic("OpenSVC heartbeat", Begin(4), &[0x3d, 0xc1, 0x3c, 0x87, 0xc0, 0x5b, 0xe3, 0xb6]),
    Magic("VMFS", Begin(0x20_0000), &[0x5e, 0xf1, 0xab, 0x2f]),
    Magic("VMFS volume", Begin(0x10_0000), &[0x0d, 0xd0, 0x01, 0xc0]),
    // Hibernation.
    Magic("TuxOnIce", Begin(0), &[0xed, 0xc3, 0x02, 0xe9, 0x98, 0x56, 0xe5, 0x0c]),
    // Filesystems of other systems.
    Magic("FAT", Begin(0x36), b"FAT12   "),
    Magic("FAT", Begin(0x36), b"FAT16   "),
    Magic("FAT", Begin(0x36), b"FAT     "),
    Magic("FAT", Begin(0x36), b"MSDOS"),
    Magic("FAT", Begin(0x52), b"FAT32   "),
    Magic("FAT", Begin(0x52), b"MSWIN"),
    Magic("exFAT", Begin(3), b"EXFAT   "),
    Magic("NTFS", Begin(3), b"NTFS    "),
    Magic("ReFS", Begin(0), b"\0\0\0ReFS\0"),
    Magic("HPFS", Begin(0x2000), &[0x49, 0xe8, 0x95, 0xf9]),
    Magic("APFS", Begin(0x20), b"NXSB"),
    Magic("HFS", Begin(0x400), b"BD"),
    Magic("HFS+", Begin(0x400), b"H+"),
    Magic("HFS+", Begin(0x400), b"HX"),
    Magic("ISO 9660", Begin(0x8001), b"CD001"),
    Magic("High Sierra", Begin(0x8009), b"CDROM"),
    Magic("BeFS", Begin(0x20), b"BFS1"),
    Magic("BeFS", Begin(0x20), b"1SFB"),
    Magic("BeFS", Begin(0x220), b"BFS1"),
    Magic("BeFS", Begin(0x220), b"1SFB"),
    Magic("VxFS", Begin(0x400), &[0xf5, 0xfc, 0x01, 0xa5]),
    Magic("VxFS", Begin(0x2000), &[0xa5, 0x01, 0xfc, 0xf5]),
    Magic("NetWare NSS", Begin(0x1000), b"SPB5"),
    Magic("Xenix", Begin(0x7f9), &[0x2b, 0x55, 0x44]),
    Magic("Xenix", Begin(0x7f8), &[0x44, 0x55, 0x2b]),
    // Partition tables.
    Magic(MBR, Begin(0x1fe), &[0x55, 0xaa]),
    Magic("GPT partition table", Begin(0x200), b"EFI PART"),
    Magic("GPT partition table", Begin(0x1000), b"EFI PART"),
    Magic("BSD disk label", Begin(0x200), BSD_LABEL),
    Magic("BSD disk label", Begin(0x40), BSD_LABEL),
    Magic("BSD disk label", Begin(0x80), BSD_LABEL),
    Magic("Sun disk label", Begin(0x1fc), &[0xda, 0xbe]),
    Magic("SGI disk label", Begin(0), &[0x0b, 0xe5, 0xa9, 0x41]),
    Magic("AIX volume", Begin(0), &[0xc9, 0xc2, 0xd4, 0xc1]),
    Magic("Mac partition table", Begin(0), b"ER"),
    Magic("Mac partition table", Begin(0x200), b"PM\0"),
    Magic("Mac partition table", Begin(0x200), b"TS\0"),
    Magic("Ultrix disk label", Begin(0x3fb8), &[0x57, 0x29, 0x03, 0x00]),
    Magic("Parted loop label", Begin(0), b"GNU Parted Loopback"),
    Magic("Windows dynamic disk", Begin(0xc00), b"PRIVHEAD"),
    // RAID of boards.
    Magic("Intel RAID", End(2), b"Intel Raid ISM Cfg Sig. "),
    Magic("NVIDIA RAID", End(2), b"NVIDIA"),
    Magic("LSI MegaRAID", End(1), b"$XIDE$"),
    Magic("JMicron RAID", End(1), b"JM"),
    Magic("Adaptec RAID", End(1), &[0x37, 0xfc, 0x4d, 0x1e]),
    Magic("DDF RAID", End(1), &[0xde, 0x11, 0xde, 0x11]),
    Magic("DDF RAID", End(1), &[0x11, 0xde, 0x11, 0xde]),
    Magic("DDF RAID", End(257), &[0xde, 0x11, 0xde, 0x11]),
    Magic("DDF RAID", End(257), &[0x11, 0xde, 0x11, 0xde]),
    Magic("HighPoint RAID", Begin(0x1220), &[0xf0, 0x16, 0x78, 0x5a]),
    Magic("HighPoint RAID", Begin(0x1220), &[0xfd, 0x16, 0x78, 0x5a]),
    Magic("HighPoint RAID", End(11), &[0xf3, 0x16, 0x78, 0x5a]),
    Magic("HighPoint RAID", End(11), &[0xfd, 0x16, 0x78, 0x5a]),
];

const LUKS_SECOND: &[u8] = b"SKUL\xba\xbe";
const BSD_LABEL: &[u8] = &[0x57, 0x45, 0x56, 0x82];
const BCACHE: &[u8] = b"\xc6\x85\x73\xf6\x4e\x1a\x45\xca\x82\x65\xf5\x7f\x48\xba\x6d\x81";
const BCACHEFS: &[u8] = b"\xc6\x85\x73\xf6\x66\xce\x90\xa9\xd9\x6a\x60\xcf\x80\x3d\xf7\xef";

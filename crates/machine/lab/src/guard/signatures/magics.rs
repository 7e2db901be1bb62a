//! Plain magic numbers, without further checks: those of filesystems, and a table of all others.
//!
//! Offsets and numbers follow the on-disk formats, as in blkid(8) of util-linux.

use std::io;

use treering_model::filesystems::MagicPosition::{Begin, End};
use treering_model::filesystems::{MagicPosition, all};

use super::{DeviceSignature, ProbedMedium};

/// Name of the signature 55 aa at the end of the first sector.
pub(super) const MBR: &str = "MBR partition table";

struct MagicRow(&'static str, MagicPosition, &'static [u8]);

/// Finds all magic numbers listed in the tables.
pub(super) fn search(medium: &ProbedMedium<'_>) -> io::Result<Vec<DeviceSignature>> {
    let mut signatures = Vec::new();
    let of_filesystems = all().flat_map(|filesystem| filesystem.signatures);
    let of_filesystems = of_filesystems
        .map(|signature| (signature.name, signature.place, signature.magic, signature.is_copy));
    let others = MAGICS.iter().map(|&MagicRow(name, place, magic)| (name, place, magic, false));
    let copies = COPIES.iter().map(|&MagicRow(name, place, magic)| (name, place, magic, true));
    for (name, place, magic, is_copy) in of_filesystems.chain(others).chain(copies) {
        let offset = match place {
            Begin(offset) => Some(offset),
            End(back) => medium.sector_from_end(back),
            MagicPosition::BeforeEnd(back) => medium.bytes.checked_sub(back),
            MagicPosition::LastBlock(offset) => medium.last_block().map(|block| block + offset),
        };
        if let Some(offset) = offset
            && medium.has(offset, magic)?
        {
            signatures.push(DeviceSignature { offset, name, is_copy });
        }
    }
    Ok(signatures)
}

/// Magic numbers of backup copies, except those of filesystems.
const COPIES: &[MagicRow] = &[
    MagicRow("Ceph BlueStore", Begin(1 << 30), BLUESTORE),
    MagicRow("Ceph BlueStore", Begin(10 << 30), BLUESTORE),
    MagicRow("Ceph BlueStore", Begin(100 << 30), BLUESTORE),
    MagicRow("Ceph BlueStore", Begin(1000 << 30), BLUESTORE),
    // Last block of the second 1 MiB allocation unit.
    MagicRow("Oracle ASM", Begin((1 << 20) + 254 * 4096 + 0x20), b"ORCLDISK"),
    MagicRow("Windows dynamic disk", End(1), b"PRIVHEAD"),
    MagicRow("Windows dynamic disk", End(192), b"PRIVHEAD"),
];

/// Magic numbers, except those of filesystems.
const MAGICS: &[MagicRow] = &[
    MagicRow("UBI", Begin(0), b"UBI#"),
    MagicRow("mpool", Begin(0), b"mpoolDev"),
    // Caches, encryption, volumes, clusters.
    MagicRow("bcache", Begin(0x1018), BCACHE),
    MagicRow("LUKS", Begin(0), b"LUKS\xba\xbe"),
    MagicRow("LUKS2 (second header)", Begin(0x4000), LUKS_SECOND),
    MagicRow("LUKS2 (second header)", Begin(0x8000), LUKS_SECOND),
    MagicRow("LUKS2 (second header)", Begin(0x1_0000), LUKS_SECOND),
    MagicRow("LUKS2 (second header)", Begin(0x2_0000), LUKS_SECOND),
    MagicRow("LUKS2 (second header)", Begin(0x4_0000), LUKS_SECOND),
    MagicRow("LUKS2 (second header)", Begin(0x8_0000), LUKS_SECOND),
    MagicRow("LUKS2 (second header)", Begin(0x10_0000), LUKS_SECOND),
    MagicRow("LUKS2 (second header)", Begin(0x20_0000), LUKS_SECOND),
    MagicRow("LUKS2 (second header)", Begin(0x40_0000), LUKS_SECOND),
    MagicRow("BitLocker", Begin(3), b"-FVE-FS-"),
    MagicRow("LVM2 physical volume", Begin(0x18), b"LVM2 001"),
    MagicRow("LVM2 physical volume", Begin(0x218), b"LVM2 001"),
    MagicRow("LVM2 physical volume", Begin(0x418), b"LVM2 001"),
    MagicRow("LVM2 physical volume", Begin(0x618), b"LVM2 001"),
    MagicRow("LVM2 metadata", Begin(0x1004), LVM_METADATA),
    MagicRow("LVM1 physical volume", Begin(0), b"HM\x01\0"),
    MagicRow("LVM1 physical volume", Begin(0), b"HM\x02\0"),
    MagicRow("LVM snapshot", Begin(0), b"SnAp"),
    MagicRow("dm-verity", Begin(0), b"verity\0\0"),
    MagicRow("dm-integrity", Begin(0), b"integrt\0"),
    MagicRow("Stratis", Begin(0x204), b"!Stra0tis\x86\xff\x02^\x41rh"),
    MagicRow("Stratis", Begin(0x1204), b"!Stra0tis\x86\xff\x02^\x41rh"),
    MagicRow("VDO", Begin(0), b"dmvdo001"),
    MagicRow("Ceph BlueStore", Begin(0), BLUESTORE),
    MagicRow("Oracle ASM", Begin(0x20), b"ORCLDISK"),
    MagicRow("DRBD manage", Begin(0), b"$DRBDmgr=q"),
    MagicRow("DRBD proxy log", Begin(0), b"DRBDdlh*"),
    MagicRow("OpenSVC heartbeat", Begin(4), &[0x3d, 0xc1, 0x3c, 0x87, 0xc0, 0x5b, 0xe3, 0xb6]),
    MagicRow("VMFS", Begin(0x20_0000), &[0x5e, 0xf1, 0xab, 0x2f]),
    MagicRow("VMFS volume", Begin(0x10_0000), &[0x0d, 0xd0, 0x01, 0xc0]),
    // Hibernation.
    MagicRow("TuxOnIce", Begin(0), &[0xed, 0xc3, 0x02, 0xe9, 0x98, 0x56, 0xe5, 0x0c]),
    // Other operating systems.
    MagicRow("NetWare NSS", Begin(0x1000), b"SPB5"),
    // Partition tables.
    MagicRow(MBR, Begin(0x1fe), &[0x55, 0xaa]),
    MagicRow("GPT partition table", Begin(0x200), b"EFI PART"),
    MagicRow("GPT partition table", Begin(0x1000), b"EFI PART"),
    MagicRow("BSD disk label", Begin(0x200), BSD_LABEL),
    MagicRow("BSD disk label", Begin(0x40), BSD_LABEL),
    MagicRow("BSD disk label", Begin(0x80), BSD_LABEL),
    MagicRow("Sun disk label", Begin(0x1fc), &[0xda, 0xbe]),
    MagicRow("SGI disk label", Begin(0), &[0x0b, 0xe5, 0xa9, 0x41]),
    MagicRow("AIX volume", Begin(0), &[0xc9, 0xc2, 0xd4, 0xc1]),
    MagicRow("Mac partition table", Begin(0), b"ER"),
    MagicRow("Mac partition table", Begin(0x200), b"PM\0"),
    MagicRow("Mac partition table", Begin(0x200), b"TS\0"),
    MagicRow("Ultrix disk label", Begin(0x3fb8), &[0x57, 0x29, 0x03, 0x00]),
    MagicRow("Parted loop label", Begin(0), b"GNU Parted Loopback"),
    MagicRow("Windows dynamic disk", Begin(0xc00), b"PRIVHEAD"),
    // Firmware RAID.
    MagicRow("Intel RAID", End(2), b"Intel Raid ISM Cfg Sig. "),
    MagicRow("NVIDIA RAID", End(2), b"NVIDIA"),
    MagicRow("LSI MegaRAID", End(1), b"$XIDE$"),
    MagicRow("JMicron RAID", End(1), b"JM"),
    MagicRow("Adaptec RAID", End(1), &[0x37, 0xfc, 0x4d, 0x1e]),
    MagicRow("DDF RAID", End(1), &[0xde, 0x11, 0xde, 0x11]),
    MagicRow("DDF RAID", End(1), &[0x11, 0xde, 0x11, 0xde]),
    MagicRow("DDF RAID", End(257), &[0xde, 0x11, 0xde, 0x11]),
    MagicRow("DDF RAID", End(257), &[0x11, 0xde, 0x11, 0xde]),
    MagicRow("HighPoint RAID", Begin(0x1220), &[0xf0, 0x16, 0x78, 0x5a]),
    MagicRow("HighPoint RAID", Begin(0x1220), &[0xfd, 0x16, 0x78, 0x5a]),
    MagicRow("HighPoint RAID", End(11), &[0xf3, 0x16, 0x78, 0x5a]),
    MagicRow("HighPoint RAID", End(11), &[0xfd, 0x16, 0x78, 0x5a]),
];

const BLUESTORE: &[u8] = b"bluestore block device";
const LUKS_SECOND: &[u8] = b"SKUL\xba\xbe";
const LVM_METADATA: &[u8] = b" LVM2 x[5A%r0N*>";
const BSD_LABEL: &[u8] = &[0x57, 0x45, 0x56, 0x82];
const BCACHE: &[u8] = b"\xc6\x85\x73\xf6\x4e\x1a\x45\xca\x82\x65\xf5\x7f\x48\xba\x6d\x81";

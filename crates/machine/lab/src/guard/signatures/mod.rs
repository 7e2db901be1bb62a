//! Known signatures on a device, found without external programs.
//!
//! A false alarm costs an `--erase`, but a missed signature costs a user's data, so a magic number
//! counts even if its checksum is wrong. Plain magic numbers are in `magics`, formats that need
//! further checks in `probes`.

mod copies;
mod magics;
mod probes;

use std::fmt;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use treering_model::filesystems::all;

/// A known signature on a device.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct DeviceSignature {
    /// Offset of the magic number, in bytes.
    pub offset: u64,
    /// Usual name of the format: `ext4`, `LVM2 physical volume`.
    pub name: &'static str,
    /// True for a backup copy, such as a backup superblock.
    pub is_copy: bool,
}

impl DeviceSignature {
    /// Signature of a first, or only, superblock.
    pub(super) const fn new(offset: u64, name: &'static str) -> Self {
        Self { offset, name, is_copy: false }
    }

    /// Signature of a backup copy.
    const fn backup(offset: u64, name: &'static str) -> Self {
        Self { offset, name, is_copy: true }
    }

    /// True for a partition table or disk label.
    pub(super) fn is_partition_table(&self) -> bool {
        ["partition table", "disk label", "DASD label", "dynamic disk"]
            .iter()
            .any(|words| self.name.contains(words))
    }
}

/// Formats an offset on a device for messages.
pub(super) fn place_in_words(offset: u64) -> String {
    const MIB: f64 = (1u64 << 20) as f64;
    if offset < 1 << 20 {
        return format!("byte {offset}");
    }
    format!("{:.1} MiB (byte {offset})", offset as f64 / MIB)
}

impl fmt::Display for DeviceSignature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let copy = if self.is_copy { " (backup superblock)" } else { "" };
        write!(f, "{}{copy} at {}", self.name, place_in_words(self.offset))
    }
}

/// The device or image that is searched.
struct ProbedMedium<'a> {
    file: &'a File,
    bytes: u64,
}

impl ProbedMedium<'_> {
    /// Reads `length` bytes at `offset`; `None` beyond the end of the device.
    fn at(&self, offset: u64, length: usize) -> io::Result<Option<Vec<u8>>> {
        let end = offset.checked_add(length as u64);
        if end.is_none_or(|end| end > self.bytes) {
            return Ok(None);
        }
        let mut bytes = vec![0; length];
        self.file.read_exact_at(&mut bytes, offset)?;
        Ok(Some(bytes))
    }

    /// True if `magic` is at `offset`.
    fn has(&self, offset: u64, magic: &[u8]) -> io::Result<bool> {
        Ok(self.at(offset, magic.len())?.is_some_and(|bytes| bytes == magic))
    }

    /// Offset of the 512-byte sector that is `back` sectors before the end; 1 is the last sector.
    fn sector_from_end(&self, back: u64) -> Option<u64> {
        (self.bytes / 512).checked_sub(back).map(|sector| sector * 512)
    }

    /// Offset of the last whole block of 4 KiB.
    fn last_block(&self) -> Option<u64> {
        (self.bytes & !0xfff).checked_sub(0x1000)
    }
}

/// True if the filesystem of a signature begins with a boot sector.
fn is_boot_sector(signature: &str) -> bool {
    let mut boot_sector_filesystems = all().filter(|filesystem| filesystem.has_boot_sector);
    boot_sector_filesystems
        .any(|filesystem| filesystem.signatures.iter().any(|known| known.name == signature))
}

/// Finds all known signatures on a device or image of `bytes`, backup copies included, sorted by
/// offset.
///
/// # Errors
/// When the device cannot be read.
pub fn find_signatures(file: &File, bytes: u64) -> io::Result<Vec<DeviceSignature>> {
    let medium = ProbedMedium { file, bytes };
    let mut signatures = magics::search(&medium)?;
    for probe in probes::ALL.iter().chain(copies::ALL) {
        probe(&medium, &mut signatures)?;
    }
    // The 55 aa at the end of a boot sector belongs to the filesystem that is already reported.
    if signatures.iter().any(|signature| !signature.is_copy && is_boot_sector(signature.name)) {
        signatures.retain(|signature| signature.name != magics::MBR);
    }
    signatures.sort();
    signatures.dedup();
    Ok(signatures)
}

#[cfg(test)]
mod tests {
    use super::{DeviceSignature, find_signatures};
    use std::os::unix::fs::FileExt;

    const MIB: u64 = 1 << 20;

    const BCACHEFS: &[u8] = b"\xc6\x85\x73\xf6\x66\xce\x90\xa9\xd9\x6a\x60\xcf\x80\x3d\xf7\xef";

    fn found_on(bytes: u64, pieces: &[(u64, &[u8])]) -> Vec<(u64, &'static str)> {
        let actual = signatures(bytes, pieces);
        actual.into_iter().map(|DeviceSignature { offset, name, .. }| (offset, name)).collect()
    }

    fn signatures(bytes: u64, pieces: &[(u64, &[u8])]) -> Vec<DeviceSignature> {
        let file = tempfile::tempfile().unwrap();
        file.set_len(bytes).unwrap();
        for (offset, piece) in pieces {
            file.write_all_at(piece, *offset).unwrap();
        }
        find_signatures(&file, bytes).unwrap()
    }

    #[test]
    fn a_zeroed_device_has_no_signature() {
        for bytes in [0, 1, 511, 512, 513, 4096, 65_535, 65_536, MIB - 1, MIB, 5 * MIB + 512] {
            assert_eq!(found_on(bytes, &[]), [], "{bytes}");
        }
    }

    #[test]
    fn md_raid_is_found_at_every_superblock_offset() {
        let magic: &[u8] = &0xa92b_4efc_u32.to_le_bytes();
        let turned: &[u8] = &0xa92b_4efc_u32.to_be_bytes();
        let name = "md RAID";
        let odd = 8 * MIB + 5 * 512;
        assert_eq!(found_on(odd, &[(8 * MIB - 0x1_0000, magic)]), [(8 * MIB - 0x1_0000, name)]);
        assert_eq!(found_on(odd, &[(8 * MIB - 0x1_0000, turned)]), [(8 * MIB - 0x1_0000, name)]);
        assert_eq!(found_on(odd, &[(8 * MIB - 0x2000, magic)]), [(8 * MIB - 0x2000, name)]);
        assert_eq!(found_on(odd, &[(0, magic)]), [(0, name)]);
        assert_eq!(found_on(odd, &[(4096, magic)]), [(4096, name)]);
    }

    #[test]
    fn zfs_is_found_by_any_label() {
        let uberblock = 0x00ba_b10c_u64.to_le_bytes();
        let turned = 0x00ba_b10c_u64.to_be_bytes();
        let bytes = 64 * MIB + 4096;
        for label in [0, 256 << 10, 64 * MIB - (512 << 10), 64 * MIB - (256 << 10)] {
            for at in [label + (128 << 10), label + (132 << 10), label + (255 << 10)] {
                assert_eq!(found_on(bytes, &[(at, &uberblock)]), [(at, "ZFS")]);
            }
        }
        assert_eq!(found_on(bytes, &[(132 << 10, &turned)]), [(132 << 10, "ZFS")]);
    }

    #[test]
    fn bios_raid_and_mirrors_at_the_end_are_found() {
        let bytes = 16 * MIB;
        for (back, magic, name) in [
            (2, &b"Intel Raid ISM Cfg Sig. 1.3.00"[..], "Intel RAID"),
            (2, b"NVIDIA  ", "NVIDIA RAID"),
            (1, b"$XIDE$", "LSI MegaRAID"),
            (1, &[0xde, 0x11, 0xde, 0x11], "DDF RAID"),
            (257, &[0x11, 0xde, 0x11, 0xde], "DDF RAID"),
            (11, &[0xf3, 0x16, 0x78, 0x5a], "HighPoint RAID"),
            (63, b"Promise Technology, Inc.", "Promise RAID"),
            (3087, b"Promise Technology, Inc.", "Promise RAID"),
            (1, b"EFI PART", "GPT partition table (backup)"),
        ] {
            let at = bytes - back * 512;
            assert_eq!(found_on(bytes, &[(at, magic)]), [(at, name)]);
        }
        let drbd = 0x8374_026b_u32.to_be_bytes();
        let at = bytes - 4096 + 60;
        assert!(found_on(bytes, &[(at, &drbd)]).contains(&(at, "DRBD")));
    }

    #[test]
    fn uncommon_formats_are_found() {
        for (at, magic, name) in [
            (0, &b"bluestore block device"[..], "Ceph BlueStore"),
            (516, b"!Stra0tis\x86\xff\x02^\x41rh", "Stratis"),
            (0, b"dmvdo001", "VDO"),
            (32, b"NXSB", "APFS"),
            (3, b"-FVE-FS-", "BitLocker"),
            (0, b"\0\0\0ReFS\0", "ReFS"),
            (1024, b"H+", "HFS+"),
            (2 * MIB, &[0x5e, 0xf1, 0xab, 0x2f], "VMFS"),
            (MIB, &[0x0d, 0xd0, 0x01, 0xc0], "VMFS volume"),
            (0x40_0000, b"SKUL\xba\xbe", "LUKS2 (second header)"),
            (4096 + 24, BCACHEFS, "bcachefs"),
            (0, b"\xc9\xc2\xd4\xc1", "AIX volume"),
            (512 * 3, b"RDSK", "Amiga partition table"),
            (0, &[0xfe, 0xed, 0xba, 0xbe], "XFS log"),
        ] {
            assert_eq!(found_on(32 * MIB, &[(at, magic)]), [(at, name)]);
        }
    }

    #[test]
    fn backup_copies_are_found_without_the_primary() {
        let bytes = 300 << 30;
        for (at, magic, name) in [
            ((64 << 20) + 64, &b"_BHRfS_M"[..], "btrfs"),
            ((256 << 30) + 64, b"_BHRfS_M", "btrfs"),
            (bytes / 4, b"XFSB", "XFS"),
            (bytes / 7 / 4096 * 4096, b"XFSB", "XFS"),
            (bytes / 7 / 4096 * 4096 + 4096, b"XFSB", "XFS"),
            (0x1400, &[0x10, 0x20, 0xf5, 0xf2], "F2FS"),
            (bytes - 4096 + 6, &[0x34, 0x34], "NILFS2"),
            (0xf000, b"JFS1", "JFS"),
            (1 << 30, b"OCFSV2", "OCFS2"),
            (0x10_1018, BCACHEFS, "bcachefs"),
            (6 * 512 + 0x52, b"FAT32   ", "FAT"),
            (12 * 4096 + 3, b"EXFAT   ", "exFAT"),
            (bytes - 512 + 3, b"NTFS    ", "NTFS"),
            (bytes - 512, b"\0\0\0ReFS\0", "ReFS"),
            (bytes - 1024, b"H+", "HFS+"),
            (10 << 30, b"bluestore block device", "Ceph BlueStore"),
            (bytes - 512, b"PRIVHEAD", "Windows dynamic disk"),
        ] {
            let copies = signatures(bytes, &[(at, magic)]);
            assert_eq!(copies, [DeviceSignature { offset: at, name, is_copy: true }]);
        }
    }

    #[test]
    fn ext_backup_superblocks_are_found_for_every_block_size() {
        let mut superblock = [0u8; 1024];
        superblock[56..58].copy_from_slice(&[0x53, 0xef]);
        superblock[96..100].copy_from_slice(&0x42u32.to_le_bytes());
        for block in [1024u64, 2048, 4096, 1 << 16] {
            for group in [1, 3, 5, 7, 9, 25] {
                let at = group * 8 * block * block + if block == 1024 { 1024 } else { 0 };
                let actual = signatures(1 << 41, &[(at, &superblock)]);
                assert_eq!(actual, [DeviceSignature { offset: at, name: "ext4", is_copy: true }]);
            }
        }
        let copy = DeviceSignature { offset: 128 << 20, name: "ext4", is_copy: true };
        let words = "ext4 (backup superblock) at 128.0 MiB (byte 134217728)";
        assert_eq!(copy.to_string(), words);
    }

    #[test]
    fn udf_anchors_require_checksum_and_location() {
        let mut tag = [0u8; 16];
        tag[0] = 2;
        tag[2] = 3;
        tag[12..14].copy_from_slice(&256u16.to_le_bytes());
        tag[4] = tag.iter().fold(0u8, |sum, byte| sum.wrapping_add(*byte));
        assert_eq!(found_on(64 * MIB, &[(256 * 2048, &tag)]), [(256 * 2048, "UDF")]);
        assert_eq!(found_on(64 * MIB, &[(257 * 2048, &tag)]), []);
        tag[4] += 1;
        assert_eq!(found_on(64 * MIB, &[(256 * 2048, &tag)]), []);
    }

    #[test]
    fn fat_without_a_type_name_and_atari_tables_are_found() {
        let mut boot = [0u8; 512];
        boot[..3].copy_from_slice(&[0xeb, 0x3c, 0x90]);
        boot[11..13].copy_from_slice(&512u16.to_le_bytes());
        boot[13] = 4;
        boot[14] = 1;
        boot[16] = 2;
        boot[21] = 0xf8;
        assert_eq!(found_on(MIB, &[(0, &boot)]), [(0, "FAT")]);
        boot[13] = 3; // no power of two
        assert_eq!(found_on(MIB, &[(0, &boot)]), []);
        let mut atari = [0u8; 12];
        atari[..4].copy_from_slice(b"\x01GEM");
        atari[7] = 2;
        atari[11] = 100;
        assert_eq!(found_on(MIB, &[(0x1c6, &atari)]), [(0x1c6, "Atari partition table")]);
        atari[8] = 0xff; // longer than the disk
        assert_eq!(found_on(MIB, &[(0x1c6, &atari)]), []);
    }

    #[test]
    fn ext2_ext3_and_ext4_are_distinguished() {
        let with = |compatible: u32, incompatible: u32| {
            let mut block = [0u8; 1024];
            block[56..58].copy_from_slice(&[0x53, 0xef]);
            block[92..96].copy_from_slice(&compatible.to_le_bytes());
            block[96..100].copy_from_slice(&incompatible.to_le_bytes());
            found_on(MIB, &[(1024, &block)])
        };
        assert_eq!(with(0, 2), [(1080, "ext2")]);
        assert_eq!(with(4, 2), [(1080, "ext3")]);
        assert_eq!(with(4, 0x42), [(1080, "ext4")]);
        assert_eq!(with(0, 0x8), [(1080, "ext journal")]);
    }

    #[test]
    fn a_boot_signature_alone_is_a_partition_table() {
        assert_eq!(found_on(MIB, &[(510, &[0x55, 0xaa])]), [(510, "MBR partition table")]);
        let both = found_on(MIB, &[(510, &[0x55, 0xaa]), (4096, b"EFI PART")]);
        assert_eq!(both, [(510, "MBR partition table"), (4096, "GPT partition table")]);
        let boot_sector = found_on(MIB, &[(3, b"NTFS    "), (510, &[0x55, 0xaa])]);
        assert_eq!(boot_sector, [(3, "NTFS")]);
    }
}

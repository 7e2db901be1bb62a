//! Signatures that need further checks: offsets that depend on the device size, numbers in either
//! byte order, and heuristics for formats without a magic number.

use std::io;

use treering_model::filesystems::{FAT, ZFS, ext_signature};

use super::{DeviceSignature, ProbedMedium};

/// A function that appends the signatures of one format.
pub(super) type SignatureProbe = fn(&ProbedMedium<'_>, &mut Vec<DeviceSignature>) -> io::Result<()>;

/// Probes of all formats of this module.
pub(super) const ALL: &[SignatureProbe] = &[
    ext,
    swap,
    md_raid,
    zfs,
    ufs,
    minix,
    udf,
    system_v,
    end_formats,
    promise,
    via,
    fat,
    amiga,
    atari,
    dasd,
];

fn ext(medium: &ProbedMedium<'_>, signatures: &mut Vec<DeviceSignature>) -> io::Result<()> {
    let superblock = medium.at(0x400, 104)?.and_then(|bytes| bytes.try_into().ok());
    if let Some(name) = superblock.and_then(|superblock| ext_signature(&superblock)) {
        signatures.push(DeviceSignature::new(0x438, name));
    }
    Ok(())
}

/// Swap: magic number at the end of the first page, for every page size.
fn swap(medium: &ProbedMedium<'_>, signatures: &mut Vec<DeviceSignature>) -> io::Result<()> {
    for page in [0x1000u64, 0x2000, 0x4000, 0x8000, 0x1_0000] {
        let offset = page - 10;
        let Some(magic) = medium.at(offset, 10)? else {
            continue;
        };
        if magic == *b"SWAPSPACE2" || magic == *b"SWAP-SPACE" {
            signatures.push(DeviceSignature::new(offset, "swap"));
        }
        let asleep = [&b"S1SUSPEND"[..], b"S2SUSPEND", b"ULSUSPEND", b"LINHIB0001"];
        if asleep.iter().any(|word| magic.starts_with(word)) {
            signatures.push(DeviceSignature::new(offset, "hibernation"));
        }
    }
    Ok(())
}

fn md_raid(medium: &ProbedMedium<'_>, signatures: &mut Vec<DeviceSignature>) -> io::Result<()> {
    let magic = 0xa92b_4efc_u32;
    let version_0 = (medium.bytes & !0xffff).checked_sub(0x1_0000);
    let version_1_0 = (medium.bytes & !0xfff).checked_sub(0x2000);
    for offset in [version_0, version_1_0, Some(0), Some(0x1000)].into_iter().flatten() {
        // Version 0 has the byte order of the machine that made it.
        if medium.has(offset, &magic.to_le_bytes())? || medium.has(offset, &magic.to_be_bytes())? {
            signatures.push(DeviceSignature::new(offset, "md RAID"));
        }
    }
    Ok(())
}

/// ZFS: two labels at the beginning and two at the end, each with a ring of uberblocks of 1 KiB or
/// more.
fn zfs(medium: &ProbedMedium<'_>, signatures: &mut Vec<DeviceSignature>) -> io::Result<()> {
    const LABEL: u64 = 256 << 10;
    const RING_OFFSET: u64 = 128 << 10;
    const RING_LENGTH: usize = 128 << 10;
    let magic = 0x00ba_b10c_u64;
    let end = medium.bytes & !(LABEL - 1);
    let labels = [Some(0), Some(LABEL), end.checked_sub(2 * LABEL), end.checked_sub(LABEL)];
    for label in labels.into_iter().flatten() {
        let Some(ring) = medium.at(label + RING_OFFSET, RING_LENGTH)? else {
            continue;
        };
        let at = ring.chunks_exact(1024).position(|block| {
            block[..8] == magic.to_le_bytes() || block[..8] == magic.to_be_bytes()
        });
        if let Some(at) = at {
            let offset = label + RING_OFFSET + at as u64 * 1024;
            signatures.extend(ZFS.leaves.iter().map(|name| DeviceSignature::new(offset, name)));
        }
    }
    Ok(())
}

/// UFS: superblock at the beginning, and copies in the first cylinder groups.
fn ufs(medium: &ProbedMedium<'_>, signatures: &mut Vec<DeviceSignature>) -> io::Result<()> {
    let magics = [0x1954_0119_u32, 0x0001_1954, 0x0019_5612, 0x0009_5014, 0x0061_2195, 0x0523_1994];
    for block in [0u64, 8, 16, 64, 80, 96, 256] {
        let offset = block * 1024 + 1372;
        let Some(bytes) = medium.at(offset, 4)? else {
            continue;
        };
        if magics.iter().any(|magic| bytes == magic.to_le_bytes() || bytes == magic.to_be_bytes()) {
            signatures.push(DeviceSignature::new(offset, "UFS"));
        }
    }
    Ok(())
}

fn minix(medium: &ProbedMedium<'_>, signatures: &mut Vec<DeviceSignature>) -> io::Result<()> {
    let versions: [(u64, &[u16]); 2] =
        [(0x410, &[0x137f, 0x138f, 0x2468, 0x2478]), (0x418, &[0x4d5a])];
    for (offset, magics) in versions {
        let Some(bytes) = medium.at(offset, 2)? else {
            continue;
        };
        if magics.iter().any(|magic| bytes == magic.to_le_bytes() || bytes == magic.to_be_bytes()) {
            signatures.push(DeviceSignature::new(offset, "minix"));
        }
    }
    Ok(())
}

/// UDF: the first of the volume recognition descriptors, which every optical format shares.
fn udf(medium: &ProbedMedium<'_>, signatures: &mut Vec<DeviceSignature>) -> io::Result<()> {
    let Some(word) = medium.at(0x8001, 5)? else {
        return Ok(());
    };
    if [b"BEA01", b"BOOT2", b"CDW02", b"NSR02", b"NSR03", b"TEA01"].iter().any(|w| word == **w) {
        signatures.push(DeviceSignature::new(0x8001, "UDF"));
    }
    Ok(())
}

fn system_v(medium: &ProbedMedium<'_>, signatures: &mut Vec<DeviceSignature>) -> io::Result<()> {
    let magic = 0xfd18_7e20_u32;
    for block in [0u64, 9, 15, 18] {
        let offset = block * 1024 + 512 + 504;
        if medium.has(offset, &magic.to_le_bytes())? || medium.has(offset, &magic.to_be_bytes())? {
            signatures.push(DeviceSignature::new(offset, "System V"));
        }
    }
    Ok(())
}

/// Formats with a backup copy, or the only superblock, at the end of the device.
fn end_formats(medium: &ProbedMedium<'_>, signatures: &mut Vec<DeviceSignature>) -> io::Result<()> {
    for sector in [512u64, 4096] {
        if let Some(offset) = (medium.bytes / sector).checked_sub(1).map(|last| last * sector)
            && medium.has(offset, b"EFI PART")?
        {
            signatures.push(DeviceSignature::new(offset, "GPT partition table (backup)"));
        }
    }
    if let Some(block) = medium.last_block() {
        for version in [0x8374_026a_u32, 0x8374_026b, 0x8374_026c, 0x8374_026d] {
            if medium.has(block + 60, &version.to_be_bytes())? {
                signatures.push(DeviceSignature::new(block + 60, "DRBD"));
            }
        }
    }
    if let Some(last) = medium.sector_from_end(1)
        && medium.has(last + 0x60, &0x2f00_0000_u32.to_le_bytes())?
    {
        signatures.push(DeviceSignature::new(last + 0x60, "Silicon Image RAID"));
    }
    Ok(())
}

fn promise(medium: &ProbedMedium<'_>, signatures: &mut Vec<DeviceSignature>) -> io::Result<()> {
    for back in [63, 255, 256, 16, 399, 591, 675, 735, 911, 974, 991, 951, 3087] {
        if let Some(offset) = medium.sector_from_end(back)
            && medium.has(offset, b"Promise Technology, Inc.")?
        {
            signatures.push(DeviceSignature::new(offset, "Promise RAID"));
        }
    }
    Ok(())
}

/// VIA RAID: magic number 55 aa, which every boot sector has, confirmed by a checksum.
fn via(medium: &ProbedMedium<'_>, signatures: &mut Vec<DeviceSignature>) -> io::Result<()> {
    let Some(offset) = medium.sector_from_end(1) else {
        return Ok(());
    };
    let Some(block) = medium.at(offset, 51)? else {
        return Ok(());
    };
    let sum = block[..50].iter().fold(0u8, |sum, byte| sum.wrapping_add(*byte));
    if block[..2] == [0x55, 0xaa] && block[2] <= 2 && sum == block[50] {
        signatures.push(DeviceSignature::new(offset, "VIA RAID"));
    }
    Ok(())
}

/// Old FAT without a type name: a plausible boot sector.
fn fat(medium: &ProbedMedium<'_>, signatures: &mut Vec<DeviceSignature>) -> io::Result<()> {
    let Some(boot) = medium.at(0, 64)? else {
        return Ok(());
    };
    let sector_bytes = u16::from_le_bytes([boot[11], boot[12]]);
    let plausible = matches!(boot[0], 0xeb | 0xe9)
        && matches!(sector_bytes, 512 | 1024 | 2048 | 4096)
        && boot[13].is_power_of_two()
        && boot[14..16] != [0, 0]
        && matches!(boot[16], 1 | 2)
        && (boot[21] == 0xf0 || boot[21] >= 0xf8);
    for name in FAT.leaves.iter().filter(|_| plausible) {
        if !signatures.iter().any(|signature| signature.name == *name) {
            signatures.push(DeviceSignature::new(0, name));
        }
    }
    Ok(())
}

/// Amiga partition table, which can be in any of the first 16 sectors.
fn amiga(medium: &ProbedMedium<'_>, signatures: &mut Vec<DeviceSignature>) -> io::Result<()> {
    for sector in 0..16u64 {
        let offset = sector * 512;
        if medium.has(offset, b"RDSK")? {
            signatures.push(DeviceSignature::new(offset, "Amiga partition table"));
        }
    }
    Ok(())
}

/// Atari partition table, which has no magic number: recognised by a used partition that has a
/// three-letter name and fits on the disk.
fn atari(medium: &ProbedMedium<'_>, signatures: &mut Vec<DeviceSignature>) -> io::Result<()> {
    let sectors = medium.bytes / 512;
    for place in 0..4u64 {
        let offset = 0x1c6 + place * 12;
        let Some(entry) = medium.at(offset, 12)? else {
            return Ok(());
        };
        let number = |at: usize| {
            u64::from(u32::from_be_bytes([entry[at], entry[at + 1], entry[at + 2], entry[at + 3]]))
        };
        let (start, length) = (number(4), number(8));
        let plausible = entry[0] & 1 == 1
            && entry[1..4].iter().all(u8::is_ascii_alphanumeric)
            && (1..=sectors).contains(&start)
            && (1..=sectors).contains(&length)
            && start + length <= sectors;
        if plausible {
            signatures.push(DeviceSignature::new(offset, "Atari partition table"));
            return Ok(());
        }
    }
    Ok(())
}

/// Mainframe disks, whose labels are in EBCDIC: VOL1 at byte 4 of the block, LNX1 or CMS1 at byte
/// 0.
fn dasd(medium: &ProbedMedium<'_>, signatures: &mut Vec<DeviceSignature>) -> io::Result<()> {
    for block in [512u64, 1024, 2048, 4096] {
        let volume = medium.has(2 * block + 4, &[0xe5, 0xd6, 0xd3, 0xf1])?;
        let linux = medium.has(2 * block, &[0xd3, 0xd5, 0xe7, 0xf1])?;
        let cms = medium.has(2 * block, &[0xc3, 0xd4, 0xe2, 0xf1])?;
        if volume || linux || cms {
            signatures.push(DeviceSignature::new(2 * block, "DASD label"));
        }
    }
    Ok(())
}

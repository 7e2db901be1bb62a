//! Backup superblocks whose offsets depend on the size of the device, or that need further checks:
//! ext, allocation groups of XFS, anchors of UDF, metadata of LVM.
//!
//! Recovery tools find a filesystem by these copies after `wipefs` or `dd` removed the first
//! superblock.

use std::io;

use treering_model::filesystems::{XFS, ext_copies, ext_signature, xfs_copies};

use super::{DeviceSignature, ProbedMedium};

/// Probes for all backup superblocks of this module.
pub(super) const ALL: &[super::probes::SignatureProbe] = &[ext, xfs, udf, lvm];

fn ext(medium: &ProbedMedium<'_>, signatures: &mut Vec<DeviceSignature>) -> io::Result<()> {
    for place in ext_copies(medium.bytes) {
        let superblock = medium.at(place, 104)?.and_then(|bytes| bytes.try_into().ok());
        if let Some(name) = superblock.and_then(|superblock| ext_signature(&superblock)) {
            signatures.push(DeviceSignature::backup(place, name));
        }
    }
    Ok(())
}

fn xfs(medium: &ProbedMedium<'_>, signatures: &mut Vec<DeviceSignature>) -> io::Result<()> {
    let (places, magic) = xfs_copies(medium.bytes);
    for place in places {
        if medium.has(place, magic)? {
            signatures.extend(XFS.leaves.iter().map(|name| DeviceSignature::backup(place, name)));
        }
    }
    Ok(())
}

/// Anchors in block 256, in the last block, or 256 blocks before that. The checksum of the tag is
/// verified.
fn udf(medium: &ProbedMedium<'_>, signatures: &mut Vec<DeviceSignature>) -> io::Result<()> {
    const TAG_ANCHOR: [u8; 2] = [2, 0];
    for block in [512u64, 1024, 2048, 4096] {
        let last = (medium.bytes / block).checked_sub(1);
        let places = [Some(256), last, last.and_then(|last| last.checked_sub(256))];
        for place in places.into_iter().flatten() {
            let Some(tag) = medium.at(place * block, 16)? else { continue };
            let others = tag.iter().enumerate().filter(|(at, _)| *at != 4);
            let sum = others.fold(0u8, |sum, (_, byte)| sum.wrapping_add(*byte));
            let stands_at = u32::from_le_bytes([tag[12], tag[13], tag[14], tag[15]]);
            if tag[..2] == TAG_ANCHOR && tag[4] == sum && u64::from(stands_at) == place {
                signatures.push(DeviceSignature::backup(place * block, "UDF"));
            }
        }
    }
    Ok(())
}

/// Second metadata area, which `pvcreate --pvmetadatacopies 2` puts into the last MiB.
fn lvm(medium: &ProbedMedium<'_>, signatures: &mut Vec<DeviceSignature>) -> io::Result<()> {
    const MIB: u64 = 1 << 20;
    let end = medium.bytes & !(MIB - 1);
    for area in [end.checked_sub(MIB), Some(end)].into_iter().flatten() {
        if medium.has(area + 4, b" LVM2 x[5A%r0N*>")? {
            signatures.push(DeviceSignature::backup(area, "LVM2 metadata"));
        }
    }
    Ok(())
}

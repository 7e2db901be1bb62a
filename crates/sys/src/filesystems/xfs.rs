//! Geometry of a mounted XFS (`XFS_IOC_FSGEOMETRY`).
#![expect(unsafe_code, reason = "an ioctl that rustix has no function for")]

use std::os::fd::AsFd;

use rustix::io::Errno;
use rustix::ioctl::{Getter, ioctl, opcode};

/// Version 4 of the call, in every kernel since 2.6.12.
const GEOMETRY: u32 = opcode::read::<XfsGeometryV4>(b'X', 124);

/// `struct xfs_fsop_geom_v4` of xfs_fs.h.
#[repr(C)]
#[derive(Clone, Copy)]
struct XfsGeometryV4 {
    block_bytes: u32,
    realtime_extent_blocks: u32,
    group_blocks: u32,
    groups: u32,
    log_blocks: u32,
    sector_bytes: u32,
    inode_bytes: u32,
    inode_percent: u32,
    sizes: [u64; 4],
    uuid: [u8; 16],
    stripe_unit_blocks: u32,
    stripe_width_blocks: u32,
    version: i32,
    flags: u32,
    log_sector_bytes: u32,
    realtime_sector_bytes: u32,
    directory_block_bytes: u32,
    log_stripe_bytes: u32,
}

/// Geometry of an XFS.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct XfsGeometry {
    /// Block size in bytes.
    pub block_bytes: u32,
    /// Sector size of the data device, in bytes.
    pub sector_bytes: u32,
    /// Inode size in bytes.
    pub inode_bytes: u32,
    /// Directory block size in bytes.
    pub directory_block_bytes: u32,
    /// Number of allocation groups.
    pub groups: u32,
    /// Log size in bytes.
    pub log_bytes: u64,
    /// Stripe unit and width in blocks; 0 without striping.
    pub stripe_blocks: (u32, u32),
    /// Features, as named by `mkfs.xfs`.
    pub features: Vec<&'static str>,
}

/// Feature bits from xfs_fs.h, without those that only describe the superblock format.
const FEATURES: [(u32, &str); 15] = [
    (2, "quota"),
    (12, "ascii-ci"),
    (14, "lazy-count"),
    (15, "crc"),
    (16, "ftype"),
    (17, "finobt"),
    (18, "sparse"),
    (19, "rmapbt"),
    (20, "reflink"),
    (21, "bigtime"),
    (22, "inobtcount"),
    (23, "nrext64"),
    (24, "exchange"),
    (25, "parent"),
    (26, "metadir"),
];

/// Geometry of the XFS that contains an open file.
///
/// # Errors
/// `ENOTTY` on other filesystems.
pub fn xfs_geometry(fd: impl AsFd) -> Result<XfsGeometry, Errno> {
    // SAFETY: the call writes one `xfs_fsop_geom_v4`, which has the layout of `XfsGeometryV4`; any
    // bytes are valid.
    let raw: XfsGeometryV4 = unsafe { ioctl(fd, Getter::<GEOMETRY, XfsGeometryV4>::new())? };
    let has = |bit: &u32| raw.flags & (1 << bit) != 0;
    Ok(XfsGeometry {
        block_bytes: raw.block_bytes,
        sector_bytes: raw.sector_bytes,
        inode_bytes: raw.inode_bytes,
        directory_block_bytes: raw.directory_block_bytes,
        groups: raw.groups,
        log_bytes: u64::from(raw.log_blocks) * u64::from(raw.block_bytes),
        stripe_blocks: (raw.stripe_unit_blocks, raw.stripe_width_blocks),
        features: FEATURES.iter().filter(|(bit, _)| has(bit)).map(|&(_, name)| name).collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::{XfsGeometryV4, xfs_geometry};
    use std::fs::File;

    #[test]
    fn the_kernels_structure_has_112_bytes() {
        assert_eq!(size_of::<XfsGeometryV4>(), 112);
    }

    #[test]
    fn other_filesystems_have_no_xfs_geometry() {
        assert!(xfs_geometry(File::open("/proc").unwrap()).is_err());
    }
}

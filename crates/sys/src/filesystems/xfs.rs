//! Geometry of a mounted XFS (`XFS_IOC_FSGEOMETRY`), and the blocks of its directories
//! (`XFS_IOC_GETBMAPX`).
#![expect(unsafe_code, reason = "ioctls that rustix has no function for")]

use std::os::fd::AsFd;

use rustix::io::{Errno, retry_on_intr};
use rustix::ioctl::{Getter, Updater, ioctl, opcode};

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
    /// Blocks of an allocation group; the last one may have fewer.
    pub group_blocks: u32,
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
    let has_flag = |bit: &u32| raw.flags & (1 << bit) != 0;
    Ok(XfsGeometry {
        block_bytes: raw.block_bytes,
        sector_bytes: raw.sector_bytes,
        inode_bytes: raw.inode_bytes,
        directory_block_bytes: raw.directory_block_bytes,
        groups: raw.groups,
        group_blocks: raw.group_blocks,
        log_bytes: u64::from(raw.log_blocks) * u64::from(raw.block_bytes),
        stripe_blocks: (raw.stripe_unit_blocks, raw.stripe_width_blocks),
        features: FEATURES.iter().filter(|(bit, _)| has_flag(bit)).map(|&(_, name)| name).collect(),
    })
}

/// The number is that of the structure without the last fields, see xfs_fs.h.
const BLOCK_MAP: u32 = opcode::read_write::<[u64; 4]>(b'X', 56);
/// Unit of offsets and lengths.
const SECTOR_BYTES: u64 = 512;
/// Extents of one call.
const MAP_PAGE: usize = 256;

/// `struct getbmapx` of xfs_fs.h: a request first, then the extents.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct BlockMapEntry {
    offset: i64,
    block: i64,
    length: i64,
    count: i32,
    entries: i32,
    input_flags: i32,
    output_flags: i32,
    unused: [i32; 2],
}

/// Request with the room for its answer.
#[repr(C)]
struct BlockMapPage([BlockMapEntry; MAP_PAGE + 1]);

/// Calls `each` with the offset, the address and the length in bytes of every extent of an open
/// directory, in the order of the offsets.
///
/// # Errors
/// `ENOTTY` on other filesystems.
pub fn xfs_directory_extents(
    dir: impl AsFd,
    mut each: impl FnMut(u64, u64, u64),
) -> Result<(), Errno> {
    let mut page = Box::new(BlockMapPage([BlockMapEntry::default(); MAP_PAGE + 1]));
    let mut offset = 0;
    loop {
        page.0[0] = BlockMapEntry {
            offset,
            length: -1,
            count: i32::try_from(MAP_PAGE + 1).unwrap_or_default(),
            ..BlockMapEntry::default()
        };
        // SAFETY: the call reads the request, and writes at most `count` - 1 extents behind it.
        retry_on_intr(|| unsafe {
            ioctl(dir.as_fd(), Updater::<BLOCK_MAP, BlockMapPage>::new(&mut page))
        })?;
        let mapped = usize::try_from(page.0[0].entries).unwrap_or_default().min(MAP_PAGE);
        let extents = &page.0[1..=mapped];
        for extent in extents {
            let bytes = |sectors: i64| u64::try_from(sectors).ok()?.checked_mul(SECTOR_BYTES);
            let found = (bytes(extent.offset), bytes(extent.block), bytes(extent.length));
            // A hole has no block.
            if let (Some(logical), Some(physical), Some(length)) = found {
                each(logical, physical, length);
            }
        }
        let Some(last) = extents.last() else { return Ok(()) };
        let next = last.offset.saturating_add(last.length);
        if mapped < MAP_PAGE || next <= offset {
            return Ok(());
        }
        offset = next;
    }
}

#[cfg(test)]
mod tests {
    use super::{BLOCK_MAP, BlockMapEntry, XfsGeometryV4, xfs_directory_extents, xfs_geometry};
    use std::fs::File;

    #[test]
    fn the_kernels_structure_has_112_bytes() {
        assert_eq!(size_of::<XfsGeometryV4>(), 112);
    }

    #[test]
    fn the_kernels_block_map_has_48_bytes() {
        assert_eq!((size_of::<BlockMapEntry>(), BLOCK_MAP), (48, 0xc020_5838));
    }

    #[test]
    fn other_filesystems_have_no_xfs_geometry() {
        let proc = File::open("/proc").unwrap();
        assert!(xfs_geometry(&proc).is_err());
        assert!(xfs_directory_extents(&proc, |_, _, _| ()).is_err());
    }
}

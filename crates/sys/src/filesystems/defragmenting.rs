//! Calls that give a file other blocks: `EXT4_IOC_MOVE_EXT` and `XFS_IOC_SWAPEXT`, which exchange
//! them with a second file, and `BTRFS_IOC_DEFRAG_RANGE`.
#![expect(unsafe_code, reason = "ioctls that rustix has no function for")]

use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};

use rustix::fs::{Mode, OFlags, fstat, ioctl_getflags, openat};
use rustix::io::{Errno, retry_on_intr};
use rustix::ioctl::{Setter, Updater, ioctl, opcode};

use super::BTRFS;

/// `FS_EXTENT_FL`: the blocks of the file are mapped by extents.
const HAS_EXTENTS: u32 = 0x80000;
const MOVE_EXTENTS: u32 = opcode::read_write::<MovedExtents>(b'f', 15);
const SWAP_EXTENTS: u32 = opcode::read_write::<SwappedExtents>(b'X', 109);
const DEFRAGMENT: u32 = opcode::write::<DefragmentedRange>(BTRFS, 16);
/// `BTRFS_DEFRAG_RANGE_START_IO`.
const START_IO: u64 = 2;
/// Extents of this size and more are left alone: the default of `btrfs filesystem defragment`.
const LARGE_EXTENT_BYTES: u32 = 32 << 20;

/// `struct move_extent` of ext4, in blocks.
#[repr(C)]
#[derive(Clone, Copy)]
struct MovedExtents {
    reserved: u32,
    donor: u32,
    start: u64,
    donor_start: u64,
    length: u64,
    moved: u64,
}

/// `struct xfs_bstime`.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct XfsTime {
    seconds: i64,
    nanoseconds: i32,
}

/// `struct xfs_bstat`, of which the call compares the times.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct XfsAttributes {
    before: [u64; 5],
    accessed: XfsTime,
    modified: XfsTime,
    changed: XfsTime,
    behind: [u64; 6],
}

/// `struct xfs_swapext`.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct SwappedExtents {
    version: i64,
    target: i64,
    other: i64,
    start: i64,
    length: i64,
    reserved: [u64; 2],
    attributes: XfsAttributes,
}

/// `struct btrfs_ioctl_defrag_range_args`.
#[repr(C)]
#[derive(Clone, Copy)]
struct DefragmentedRange {
    start: u64,
    length: u64,
    flags: u64,
    large_extent_bytes: u32,
    compression: u32,
    unused: [u32; 4],
}

/// Creates a file without a name in an open directory, for reading and writing.
///
/// # Errors
/// `EOPNOTSUPP` if the filesystem has no such files, else as `openat`.
pub fn nameless_file(at: BorrowedFd<'_>) -> Result<OwnedFd, Errno> {
    let how = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
    retry_on_intr(|| openat(at, c".", how, Mode::RUSR | Mode::WUSR))
}

/// Moves the content of `blocks` blocks of a file, from `start` on, into the blocks that `donor`
/// has at the same place; returns how many it moved.
///
/// # Errors
/// `ENOTTY` on other filesystems than ext4, `EOPNOTSUPP` for files without extents.
pub fn move_extents(
    file: BorrowedFd<'_>,
    donor: BorrowedFd<'_>,
    start: u64,
    blocks: u64,
) -> Result<u64, Errno> {
    let donor = u32::try_from(donor.as_raw_fd()).map_err(|_negative| Errno::BADF)?;
    let mut moved =
        MovedExtents { reserved: 0, donor, start, donor_start: start, length: blocks, moved: 0 };
    // SAFETY: the call reads and writes one `move_extent`, which has the layout of `MovedExtents`.
    retry_on_intr(|| unsafe {
        ioctl(file, Updater::<MOVE_EXTENTS, MovedExtents>::new(&mut moved))
    })?;
    Ok(moved.moved)
}

/// State of a file at the beginning of its copy, which tells whether it was changed since.
#[derive(Clone, Copy, Debug)]
pub struct CopiedState {
    modified: (i64, i32),
    changed: (i64, i32),
    bytes: i64,
}

impl CopiedState {
    /// State of an open file now.
    ///
    /// # Errors
    /// As `fstat`.
    pub fn of(file: BorrowedFd<'_>) -> Result<Self, Errno> {
        let stat = fstat(file)?;
        let nanoseconds = |value: u64| i32::try_from(value).unwrap_or(0);
        Ok(Self {
            modified: (stat.st_mtime, nanoseconds(stat.st_mtime_nsec)),
            changed: (stat.st_ctime, nanoseconds(stat.st_ctime_nsec)),
            bytes: stat.st_size,
        })
    }
}

/// Exchanges all blocks of a file on XFS with those of its copy.
///
/// # Errors
/// `EBUSY` if the file was changed since `state`, `EFAULT` if the sizes differ, `ENOTTY` on other
/// filesystems.
pub fn swap_extents(
    file: BorrowedFd<'_>,
    copy: BorrowedFd<'_>,
    state: &CopiedState,
) -> Result<(), Errno> {
    let time = |(seconds, nanoseconds): (i64, i32)| XfsTime { seconds, nanoseconds };
    let attributes = XfsAttributes {
        modified: time(state.modified),
        changed: time(state.changed),
        ..XfsAttributes::default()
    };
    let mut swapped = SwappedExtents {
        target: i64::from(file.as_raw_fd()),
        other: i64::from(copy.as_raw_fd()),
        length: state.bytes,
        attributes,
        ..SwappedExtents::default()
    };
    // SAFETY: the call reads one `xfs_swapext`, which has the layout of `SwappedExtents`.
    retry_on_intr(|| unsafe {
        ioctl(file, Updater::<SWAP_EXTENTS, SwappedExtents>::new(&mut swapped))
    })
}

/// Asks btrfs to write a whole file anew where its extents are small.
///
/// # Errors
/// `ENOTTY` on other filesystems.
pub fn defragment_range(file: BorrowedFd<'_>) -> Result<(), Errno> {
    let range = DefragmentedRange {
        start: 0,
        length: u64::MAX,
        flags: START_IO,
        large_extent_bytes: LARGE_EXTENT_BYTES,
        compression: 0,
        unused: [0; 4],
    };
    // SAFETY: the call reads one `btrfs_ioctl_defrag_range_args`, which has the layout of
    // `DefragmentedRange`.
    retry_on_intr(|| unsafe { ioctl(file, Setter::<DEFRAGMENT, DefragmentedRange>::new(range)) })
}

/// True if the blocks of a file of ext4 are mapped by extents, and not one by one as those of ext3.
///
/// # Errors
/// If the filesystem has no such flag.
pub fn has_extents(file: BorrowedFd<'_>) -> Result<bool, Errno> {
    Ok(ioctl_getflags(file)?.bits() & HAS_EXTENTS != 0)
}

#[cfg(test)]
mod tests {
    use super::{
        CopiedState, DEFRAGMENT, MOVE_EXTENTS, SWAP_EXTENTS, SwappedExtents, XfsAttributes,
        defragment_range, move_extents, swap_extents,
    };
    use std::mem::offset_of;
    use std::os::fd::AsFd;

    #[test]
    fn the_calls_have_the_numbers_and_structures_of_the_kernel() {
        assert_eq!(
            (MOVE_EXTENTS, SWAP_EXTENTS, DEFRAGMENT),
            (0xc028_660f, 0xc0c0_586d, 0x4030_9410)
        );
        assert_eq!((size_of::<XfsAttributes>(), size_of::<SwappedExtents>()), (136, 192));
        assert_eq!(offset_of!(XfsAttributes, changed), 72);
    }

    #[test]
    fn files_in_memory_keep_their_blocks() {
        let (one, other) = (tempfile::tempfile_in("/dev/shm"), tempfile::tempfile_in("/dev/shm"));
        let (Ok(one), Ok(other)) = (one, other) else { return };
        let state = CopiedState::of(one.as_fd()).unwrap();
        assert!(move_extents(one.as_fd(), other.as_fd(), 0, 1).is_err());
        assert!(swap_extents(one.as_fd(), other.as_fd(), &state).is_err());
        assert!(defragment_range(one.as_fd()).is_err());
    }
}

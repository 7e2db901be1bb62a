//! Blocks that several files share: copies by reference (`FICLONE`), and equal ranges that become
//! one (`FIDEDUPERANGE`).
#![expect(unsafe_code, reason = "an ioctl that rustix has no function for")]

use std::os::fd::{AsFd, AsRawFd, BorrowedFd};

use rustix::fs::ioctl_ficlone;
use rustix::io::{Errno, retry_on_intr};
use rustix::ioctl::{Updater, ioctl, opcode};

const DEDUPE: u32 = opcode::read_write::<DedupeHead>(0x94, 54);
/// `FILE_DEDUPE_RANGE_DIFFERS`.
const DIFFERS: i32 = 1;

/// `struct file_dedupe_range` of linux/fs.h, without its array.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct DedupeHead {
    source_start: u64,
    length: u64,
    destinations: u16,
    reserved: [u16; 3],
}

/// `struct file_dedupe_range` with one `struct file_dedupe_range_info`.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct DedupeRequest {
    head: DedupeHead,
    file: i64,
    start: u64,
    shared_bytes: u64,
    status: i32,
    reserved: u32,
}

/// Makes all of `into` a copy of `from` that shares its blocks.
///
/// # Errors
/// `EOPNOTSUPP` if the filesystem cannot, `EXDEV` on two filesystems, `ENOSPC`.
pub fn reflink(from: BorrowedFd<'_>, into: BorrowedFd<'_>) -> Result<(), Errno> {
    retry_on_intr(|| ioctl_ficlone(into, from))
}

/// Lets `into` share the blocks of `from` in a range if both have the same bytes there; returns how
/// many bytes are shared, 0 where the files differ. The kernel compares them itself.
///
/// # Errors
/// `EOPNOTSUPP` if the filesystem cannot, `EINVAL` if a range ends inside of a block.
pub fn dedupe(
    from: BorrowedFd<'_>,
    into: BorrowedFd<'_>,
    start: u64,
    bytes: u64,
) -> Result<u64, Errno> {
    let head = DedupeHead { source_start: start, length: bytes, destinations: 1, reserved: [0; 3] };
    let file = i64::from(into.as_fd().as_raw_fd());
    let mut request = DedupeRequest { head, file, start, ..DedupeRequest::default() };
    // SAFETY: the call reads and writes a head with one entry, which are laid out like
    // `DedupeRequest`.
    retry_on_intr(|| unsafe { ioctl(from, Updater::<DEDUPE, DedupeRequest>::new(&mut request)) })?;
    match request.status {
        0 => Ok(request.shared_bytes),
        DIFFERS => Ok(0),
        error => Err(Errno::from_raw_os_error(error.wrapping_neg())),
    }
}

#[cfg(test)]
mod tests {
    use super::{DEDUPE, DedupeHead, DedupeRequest, dedupe, reflink};
    use std::os::fd::AsFd;

    #[test]
    fn the_structures_have_the_sizes_of_the_kernel() {
        assert_eq!((size_of::<DedupeHead>(), size_of::<DedupeRequest>()), (24, 56));
        assert_eq!(DEDUPE, 0xc018_9436);
    }

    #[test]
    fn files_in_memory_share_no_blocks() {
        let (one, other) = (tempfile::tempfile_in("/dev/shm"), tempfile::tempfile_in("/dev/shm"));
        let (Ok(one), Ok(other)) = (one, other) else { return };
        assert!(reflink(one.as_fd(), other.as_fd()).is_err());
        assert!(dedupe(one.as_fd(), other.as_fd(), 0, 4096).is_err());
    }
}

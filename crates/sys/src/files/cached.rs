//! Hints to the page cache and the allocator.
#![expect(unsafe_code, reason = "rustix has no sync_file_range")]

use std::num::NonZeroU64;
use std::os::fd::{AsRawFd, BorrowedFd};

use rustix::fs::{Advice, FallocateFlags, fadvise, fallocate};
use rustix::io::{Errno, retry_on_intr};

/// Tells the kernel that a range of a file is not needed any more: its clean pages are evicted. A
/// length of 0 means up to the end.
///
/// # Errors
/// As `posix_fadvise`.
pub fn forget(file: BorrowedFd<'_>, start: u64, bytes: u64) -> Result<(), Errno> {
    fadvise(file, start, NonZeroU64::new(bytes), Advice::DontNeed)
}

/// Sets the access pattern of a range: sequential, which increases read-ahead, or random, which
/// disables it. A length of 0 means up to the end.
///
/// # Errors
/// As `posix_fadvise`.
pub fn advise(file: BorrowedFd<'_>, start: u64, bytes: u64, random: bool) -> Result<(), Errno> {
    let advice = if random { Advice::Random } else { Advice::Sequential };
    fadvise(file, start, NonZeroU64::new(bytes), advice)
}

/// Starts or awaits writeback of a range, by the flags of the system call: 1 waits before, 2
/// writes, 4 waits after. Does not make metadata durable.
///
/// # Errors
/// As `sync_file_range`.
pub fn sync_range(file: BorrowedFd<'_>, start: u64, bytes: u64, flags: u32) -> Result<(), Errno> {
    let [start, bytes] =
        [start, bytes].map(|number| i64::try_from(number).map_err(|_| Errno::INVAL));
    let (start, bytes) = (start?, bytes?);
    // SAFETY: the descriptor is open while it is borrowed; no pointers are passed.
    let done = unsafe { libc::sync_file_range(file.as_raw_fd(), start, bytes, flags) };
    if done == 0 {
        return Ok(());
    }
    Err(std::io::Error::last_os_error().raw_os_error().map_or(Errno::IO, Errno::from_raw_os_error))
}

/// Allocates a range of a file, which extends the file or keeps its size.
///
/// # Errors
/// `EOPNOTSUPP` if the filesystem does not support it, `ENOSPC`, else as `fallocate`.
pub fn allocate(
    file: BorrowedFd<'_>,
    start: u64,
    bytes: u64,
    keep_size: bool,
) -> Result<(), Errno> {
    let mode = if keep_size { FallocateFlags::KEEP_SIZE } else { FallocateFlags::empty() };
    retry_on_intr(|| fallocate(file, mode, start, bytes))
}

/// Punches a hole: the range is deallocated and reads as zeros.
///
/// # Errors
/// As [`allocate`].
pub fn punch(file: BorrowedFd<'_>, start: u64, bytes: u64) -> Result<(), Errno> {
    let mode = FallocateFlags::KEEP_SIZE | FallocateFlags::PUNCH_HOLE;
    retry_on_intr(|| fallocate(file, mode, start, bytes))
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsFd;

    use rustix::io::Errno;

    use super::{advise, allocate, forget, sync_range};

    #[test]
    fn allocation_keeps_or_extends_the_size() {
        let file = tempfile::tempfile().unwrap();
        match allocate(file.as_fd(), 0, 10_000, true) {
            Err(errno) => assert_eq!(errno, Errno::OPNOTSUPP),
            Ok(()) => {
                assert_eq!(file.metadata().unwrap().len(), 0);
                allocate(file.as_fd(), 0, 10_000, false).unwrap();
                assert_eq!(file.metadata().unwrap().len(), 10_000);
            }
        }
        assert_eq!(forget(file.as_fd(), 0, 0), Ok(()));
        assert_eq!(sync_range(file.as_fd(), 0, 4096, 7), Ok(()));
        assert_eq!(sync_range(file.as_fd(), 0, 4096, 8), Err(Errno::INVAL));
        assert_eq!(advise(file.as_fd(), 0, 4096, true), Ok(()));
        assert_eq!(advise(file.as_fd(), 0, 0, false), Ok(()));
    }
}

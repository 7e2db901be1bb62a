//! What a program says of its file to the page cache and to the allocator.

use std::num::NonZeroU64;
use std::os::fd::BorrowedFd;

use rustix::fs::{Advice, FallocateFlags, fadvise, fallocate};
use rustix::io::{Errno, retry_on_intr};

/// Says that a part of a file will not be needed: what of it is clean leaves the page cache. 0
/// bytes are all behind.
///
/// # Errors
/// As `posix_fadvise`.
pub fn forget(file: BorrowedFd<'_>, start: u64, bytes: u64) -> Result<(), Errno> {
    fadvise(file, start, NonZeroU64::new(bytes), Advice::DontNeed)
}

/// Says how a part of a file will be read: in order, where the kernel reads further ahead, or at
/// random places, where it does not. 0 bytes are all behind.
///
/// # Errors
/// As `posix_fadvise`.
pub fn advise(file: BorrowedFd<'_>, start: u64, bytes: u64, random: bool) -> Result<(), Errno> {
    let advice = if random { Advice::Random } else { Advice::Sequential };
    fadvise(file, start, NonZeroU64::new(bytes), advice)
}

/// Allocates a part of a file, which then reaches at least to its end, or keeps its size.
///
/// # Errors
/// `EOPNOTSUPP` where the filesystem cannot, `ENOSPC`, else as `fallocate`.
pub fn allocate(
    file: BorrowedFd<'_>,
    start: u64,
    bytes: u64,
    keep_size: bool,
) -> Result<(), Errno> {
    let mode = if keep_size { FallocateFlags::KEEP_SIZE } else { FallocateFlags::empty() };
    retry_on_intr(|| fallocate(file, mode, start, bytes))
}

/// Gives a part of a file back: it has no room any more, and reads as zeros.
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

    use super::{advise, allocate, forget};

    #[test]
    fn room_is_allocated_with_and_without_size() {
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
        assert_eq!(advise(file.as_fd(), 0, 4096, true), Ok(()));
        assert_eq!(advise(file.as_fd(), 0, 0, false), Ok(()));
    }
}

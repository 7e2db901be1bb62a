//! Byte-range locks (`fcntl` with `F_SETLKW`). They belong to the process.
#![expect(unsafe_code, reason = "rustix locks whole files only")]

use std::os::fd::{AsRawFd, BorrowedFd};

use rustix::io::{Errno, retry_on_intr};

use crate::files::entries::last_error;

/// Locks `bytes` (0: up to the end) from `start` for writing, or unlocks them; blocks while others
/// hold a lock.
///
/// # Errors
/// `EOVERFLOW` if the range exceeds 63 bits, else as `fcntl`.
pub fn lock_range(file: BorrowedFd<'_>, start: u64, bytes: u64, locks: bool) -> Result<(), Errno> {
    let count = |number: u64| i64::try_from(number).map_err(|_too_large| Errno::OVERFLOW);
    // SAFETY: a flock consists of integers, for which zero is valid.
    let mut range: libc::flock = unsafe { std::mem::zeroed() };
    let kind = if locks { libc::F_WRLCK } else { libc::F_UNLCK };
    range.l_type = i16::try_from(kind).map_err(|_never| Errno::INVAL)?;
    range.l_whence = i16::try_from(libc::SEEK_SET).map_err(|_never| Errno::INVAL)?;
    (range.l_start, range.l_len) = (count(start)?, count(bytes)?);
    retry_on_intr(|| {
        // SAFETY: the descriptor is open, and the pointer is valid for a flock.
        match unsafe { libc::fcntl(file.as_raw_fd(), libc::F_SETLKW, &raw const range) } {
            -1 => Err(last_error()),
            _ => Ok(()),
        }
    })
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsFd;

    use rustix::io::Errno;

    use super::lock_range;

    #[test]
    fn ranges_are_locked_and_unlocked() {
        let file = tempfile::tempfile().unwrap();
        assert_eq!(lock_range(file.as_fd(), 10, 4, true), Ok(()));
        assert_eq!(lock_range(file.as_fd(), 10, 4, false), Ok(()));
        assert_eq!(lock_range(file.as_fd(), u64::MAX, 4, true), Err(Errno::OVERFLOW));
        let read_only = std::fs::File::open("/dev/null").unwrap();
        assert_eq!(lock_range(read_only.as_fd(), 0, 1, true), Err(Errno::BADF));
    }
}

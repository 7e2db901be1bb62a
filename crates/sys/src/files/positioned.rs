//! Positioned reads and writes, which leave the file position unchanged.

use std::io::{IoSlice, IoSliceMut};
use std::os::fd::BorrowedFd;

use rustix::io::{Errno, ReadWriteFlags, pread, preadv2, pwrite, pwritev, pwritev2, retry_on_intr};

/// Flags of a single read or write, as `preadv2` and request queues take them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RequestFlags {
    /// Polling of the device in place of an interrupt: `RWF_HIPRI`, or a polled ring.
    pub polled: bool,
    /// Failure with `EAGAIN` in place of waiting: `RWF_NOWAIT`.
    pub no_wait: bool,
    /// Removal of the data from the page cache afterwards: `RWF_DONTCACHE`, of Linux 6.14.
    pub uncached: bool,
}

impl RequestFlags {
    /// The same flags as `preadv2` takes them.
    pub(crate) fn of_call(self) -> ReadWriteFlags {
        const DONTCACHE: ReadWriteFlags = ReadWriteFlags::from_bits_retain(0x80);
        let mut flags = ReadWriteFlags::empty();
        flags.set(ReadWriteFlags::HIPRI, self.polled);
        flags.set(ReadWriteFlags::NOWAIT, self.no_wait);
        flags.set(DONTCACHE, self.uncached);
        flags
    }
}

/// Reads at `position`; returns the number of bytes, 0 at the end of the file.
///
/// # Errors
/// As `pread64`.
#[inline]
pub fn read_at(file: BorrowedFd<'_>, buffer: &mut [u8], position: u64) -> Result<usize, Errno> {
    retry_on_intr(|| pread(file, &mut *buffer, position))
}

/// Like [`read_at`], by `preadv2` into one buffer, with these flags.
///
/// # Errors
/// As `preadv2`.
pub fn read_vector_at(
    file: BorrowedFd<'_>,
    buffer: &mut [u8],
    position: u64,
    flags: RequestFlags,
) -> Result<usize, Errno> {
    let flags = flags.of_call();
    retry_on_intr(|| preadv2(file, &mut [IoSliceMut::new(&mut *buffer)], position, flags))
}

/// Like [`write_both_at`], by `pwritev2` with these flags; an empty second buffer is
/// omitted.
///
/// # Errors
/// As `pwritev2`.
pub fn write_vector_at(
    file: BorrowedFd<'_>,
    head: &[u8],
    tail: &[u8],
    position: u64,
    flags: RequestFlags,
) -> Result<usize, Errno> {
    let pieces = [IoSlice::new(head), IoSlice::new(tail)];
    let pieces = if tail.is_empty() { &pieces[..1] } else { &pieces[..] };
    retry_on_intr(|| pwritev2(file, pieces, position, flags.of_call()))
}

/// Writes at `position`; returns the number of bytes written, possibly fewer than given.
///
/// # Errors
/// As `pwrite64`.
#[inline]
pub fn write_at(file: BorrowedFd<'_>, bytes: &[u8], position: u64) -> Result<usize, Errno> {
    retry_on_intr(|| pwrite(file, bytes, position))
}

/// Writes two buffers in one call at `position`; returns the total number of bytes written.
///
/// # Errors
/// As `pwritev`.
pub fn write_both_at(
    file: BorrowedFd<'_>,
    head: &[u8],
    tail: &[u8],
    position: u64,
) -> Result<usize, Errno> {
    retry_on_intr(|| pwritev(file, &[IoSlice::new(head), IoSlice::new(tail)], position))
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::os::fd::AsFd;

    use super::{RequestFlags, read_at, read_vector_at, write_at, write_both_at, write_vector_at};

    #[test]
    fn positioned_calls_keep_the_file_position() {
        let mut file = tempfile::tempfile().unwrap();
        assert_eq!(write_at(file.as_fd(), b"abc", 2), Ok(3));
        assert_eq!(write_both_at(file.as_fd(), b"de", b"f", 5), Ok(3));
        let mut two = [0; 2];
        assert_eq!(read_at(file.as_fd(), &mut two, 4), Ok(2));
        assert_eq!(&two, b"cd");
        let none = RequestFlags::default();
        assert_eq!(write_vector_at(file.as_fd(), b"d", b"ef", 5, none), Ok(3));
        assert_eq!(write_vector_at(file.as_fd(), b"a", b"", 2, none), Ok(1));
        assert_eq!(read_vector_at(file.as_fd(), &mut two, 6, none), Ok(2));
        assert_eq!(&two, b"ef");
        // The file's own position is still its beginning.
        let mut blocks = Vec::new();
        file.read_to_end(&mut blocks).unwrap();
        assert_eq!(blocks, b"\0\0abcdef");
    }
}

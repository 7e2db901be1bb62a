//! Positioned reads and writes, which leave the file position unchanged.

use std::io::{IoSlice, IoSliceMut};
use std::os::fd::BorrowedFd;

use rustix::io::{Errno, ReadWriteFlags, pread, preadv2, pwrite, pwritev, pwritev2, retry_on_intr};

/// Reads at `position`; returns the number of bytes, 0 at the end of the file.
///
/// # Errors
/// As `pread64`.
#[inline]
pub fn read_at(file: BorrowedFd<'_>, buffer: &mut [u8], position: u64) -> Result<usize, Errno> {
    retry_on_intr(|| pread(file, &mut *buffer, position))
}

/// Like [`read_at`], by `preadv2` into one buffer, with these `RWF_` flags.
///
/// # Errors
/// As `preadv2`.
pub fn read_vector_at(
    file: BorrowedFd<'_>,
    buffer: &mut [u8],
    position: u64,
    flags: u32,
) -> Result<usize, Errno> {
    let flags = ReadWriteFlags::from_bits_retain(flags);
    retry_on_intr(|| preadv2(file, &mut [IoSliceMut::new(&mut *buffer)], position, flags))
}

/// Like [`write_both_at`], by `pwritev2` with these `RWF_` flags; an empty second buffer is
/// omitted.
///
/// # Errors
/// As `pwritev2`.
pub fn write_vector_at(
    file: BorrowedFd<'_>,
    head: &[u8],
    tail: &[u8],
    position: u64,
    flags: u32,
) -> Result<usize, Errno> {
    let pieces = [IoSlice::new(head), IoSlice::new(tail)];
    let pieces = if tail.is_empty() { &pieces[..1] } else { &pieces[..] };
    let flags = ReadWriteFlags::from_bits_retain(flags);
    retry_on_intr(|| pwritev2(file, pieces, position, flags))
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

    use super::{read_at, read_vector_at, write_at, write_both_at, write_vector_at};

    #[test]
    fn positioned_calls_keep_the_file_position() {
        let mut file = tempfile::tempfile().unwrap();
        assert_eq!(write_at(file.as_fd(), b"abc", 2), Ok(3));
        assert_eq!(write_both_at(file.as_fd(), b"de", b"f", 5), Ok(3));
        let mut two = [0; 2];
        assert_eq!(read_at(file.as_fd(), &mut two, 4), Ok(2));
        assert_eq!(&two, b"cd");
        assert_eq!(write_vector_at(file.as_fd(), b"d", b"ef", 5, 0), Ok(3));
        assert_eq!(write_vector_at(file.as_fd(), b"a", b"", 2, 0), Ok(1));
        assert_eq!(read_vector_at(file.as_fd(), &mut two, 6, 0), Ok(2));
        assert_eq!(&two, b"ef");
        // The file's own position is still its beginning.
        let mut blocks = Vec::new();
        file.read_to_end(&mut blocks).unwrap();
        assert_eq!(blocks, b"\0\0abcdef");
    }
}

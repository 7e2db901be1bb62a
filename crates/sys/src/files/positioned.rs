//! Reading and writing at a place of its own, which leaves the file's position alone.

use std::io::{IoSlice, IoSliceMut};
use std::os::fd::BorrowedFd;

use rustix::io::{Errno, ReadWriteFlags, pread, preadv2, pwrite, pwritev, pwritev2, retry_on_intr};

/// Reads from `position`: how many bytes came, 0 at the end.
///
/// # Errors
/// As `pread64`.
#[inline]
pub fn read_at(file: BorrowedFd<'_>, buffer: &mut [u8], position: u64) -> Result<usize, Errno> {
    retry_on_intr(|| pread(file, &mut *buffer, position))
}

/// As [`read_at`], by `preadv2` into one piece.
///
/// # Errors
/// As `preadv2`.
pub fn read_vector_at(
    file: BorrowedFd<'_>,
    buffer: &mut [u8],
    position: u64,
) -> Result<usize, Errno> {
    retry_on_intr(|| {
        preadv2(file, &mut [IoSliceMut::new(&mut *buffer)], position, ReadWriteFlags::empty())
    })
}

/// As [`write_both_at`], by `pwritev2`; a second piece that is empty is left out.
///
/// # Errors
/// As `pwritev2`.
pub fn write_vector_at(
    file: BorrowedFd<'_>,
    head: &[u8],
    tail: &[u8],
    position: u64,
) -> Result<usize, Errno> {
    let pieces = [IoSlice::new(head), IoSlice::new(tail)];
    let pieces = if tail.is_empty() { &pieces[..1] } else { &pieces[..] };
    retry_on_intr(|| pwritev2(file, pieces, position, ReadWriteFlags::empty()))
}

/// Writes to `position`: how many bytes were taken, perhaps fewer than given.
///
/// # Errors
/// As `pwrite64`.
#[inline]
pub fn write_at(file: BorrowedFd<'_>, bytes: &[u8], position: u64) -> Result<usize, Errno> {
    retry_on_intr(|| pwrite(file, bytes, position))
}

/// Writes two pieces as one to `position`: how many bytes were taken of both.
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
    fn places_are_ones_own() {
        let mut file = tempfile::tempfile().unwrap();
        assert_eq!(write_at(file.as_fd(), b"abc", 2), Ok(3));
        assert_eq!(write_both_at(file.as_fd(), b"de", b"f", 5), Ok(3));
        let mut two = [0; 2];
        assert_eq!(read_at(file.as_fd(), &mut two, 4), Ok(2));
        assert_eq!(&two, b"cd");
        assert_eq!(write_vector_at(file.as_fd(), b"d", b"ef", 5), Ok(3));
        assert_eq!(write_vector_at(file.as_fd(), b"a", b"", 2), Ok(1));
        assert_eq!(read_vector_at(file.as_fd(), &mut two, 6), Ok(2));
        assert_eq!(&two, b"ef");
        // The file's own position is still its beginning.
        let mut all = Vec::new();
        file.read_to_end(&mut all).unwrap();
        assert_eq!(all, b"\0\0abcdef");
    }
}

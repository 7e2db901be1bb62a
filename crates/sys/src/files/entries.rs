//! Operations on directory entries beyond creating and removing: renames, links, times and extended
//! attributes. Every name is a single component and never leads outside its directory.
#![expect(unsafe_code, reason = "rustix has no getxattr beneath a directory")]

use std::ffi::CStr;
use std::fmt::Write;
use std::os::fd::{AsRawFd, BorrowedFd};

use rustix::fs::{
    AtFlags, FileType, Mode, Timespec, Timestamps, XattrFlags, fgetxattr, fsetxattr, linkat,
    mknodat, renameat, symlinkat, utimensat,
};
use rustix::io::{Errno, retry_on_intr};

use crate::files::calls::single;

/// Renames `from` in `at` to `to` in `to_at`; an existing file is replaced.
///
/// # Errors
/// `EXDEV` if a name could lead outside, else as `renameat`.
pub fn rename(
    at: BorrowedFd<'_>,
    from: &CStr,
    to_at: BorrowedFd<'_>,
    to: &CStr,
) -> Result<(), Errno> {
    let (from, to) = (single(from)?, single(to)?);
    retry_on_intr(|| renameat(at, from, to_at, to))
}

/// Creates the hard link `to` in `to_at` to the file `from` in `at`; a symbolic link is not
/// followed.
///
/// # Errors
/// `EXDEV` if a name could lead outside, else as `linkat`.
pub fn link(
    at: BorrowedFd<'_>,
    from: &CStr,
    to_at: BorrowedFd<'_>,
    to: &CStr,
) -> Result<(), Errno> {
    let (from, to) = (single(from)?, single(to)?);
    retry_on_intr(|| linkat(at, from, to_at, to, AtFlags::empty()))
}

/// Creates the empty file `name` in `at` for its owner alone, who may read it (mode 0400).
///
/// # Errors
/// `EXDEV` if the name could lead outside, else as `mknodat`.
pub fn make_node(at: BorrowedFd<'_>, name: &CStr) -> Result<(), Errno> {
    let name = single(name)?;
    retry_on_intr(|| mknodat(at, name, FileType::RegularFile, Mode::RUSR, 0))
}

/// Creates the symbolic link `name` in `at` to `target`.
///
/// # Errors
/// `EXDEV` if the name could lead outside, else as `symlinkat`.
pub fn symlink(at: BorrowedFd<'_>, name: &CStr, target: &CStr) -> Result<(), Errno> {
    let name = single(name)?;
    retry_on_intr(|| symlinkat(target, at, name))
}

/// Sets the times of `name` in `at`, in seconds since 1970; those of a link itself, not of its
/// target.
///
/// # Errors
/// `EXDEV` if the name could lead outside, else as `utimensat`.
pub fn set_times(
    at: BorrowedFd<'_>,
    name: &CStr,
    accessed: i64,
    changed: i64,
) -> Result<(), Errno> {
    let name = single(name)?;
    let time = |seconds| Timespec { tv_sec: seconds, tv_nsec: 0 };
    let times = Timestamps { last_access: time(accessed), last_modification: time(changed) };
    retry_on_intr(|| utimensat(at, name, &times, AtFlags::SYMLINK_NOFOLLOW))
}

/// Reads an extended attribute of an open file; returns its size in bytes.
///
/// # Errors
/// `ENODATA` if the attribute does not exist, else as `fgetxattr`.
pub fn file_xattr(
    file: BorrowedFd<'_>,
    attribute: &CStr,
    buffer: &mut [u8],
) -> Result<usize, Errno> {
    retry_on_intr(|| fgetxattr(file, attribute, &mut *buffer))
}

/// Sets an extended attribute of an open file.
///
/// # Errors
/// As `fsetxattr`.
pub fn set_file_xattr(file: BorrowedFd<'_>, attribute: &CStr, value: &[u8]) -> Result<(), Errno> {
    retry_on_intr(|| fsetxattr(file, attribute, value, XattrFlags::empty()))
}

/// Reads an extended attribute of `name` in `at`; returns its size in bytes. One call through the
/// path of the directory in `/proc`, since `getxattrat` is newer than the kernels in use.
///
/// # Errors
/// `EXDEV` if the name could lead outside, `ENODATA` if the attribute does not exist, else as
/// `lgetxattr`.
pub fn xattr(
    at: BorrowedFd<'_>,
    name: &CStr,
    attribute: &CStr,
    buffer: &mut [u8],
) -> Result<usize, Errno> {
    let name = single(name)?;
    let mut path = String::with_capacity(32);
    // Writing into a String cannot fail.
    let _always = write!(path, "/proc/self/fd/{}/", at.as_raw_fd());
    let mut path = path.into_bytes();
    path.extend_from_slice(name.to_bytes_with_nul());
    retry_on_intr(|| {
        // SAFETY: both names end with NUL, and the buffer has the given length.
        let got = unsafe {
            libc::lgetxattr(
                path.as_ptr().cast(),
                attribute.as_ptr(),
                buffer.as_mut_ptr().cast(),
                buffer.len(),
            )
        };
        usize::try_from(got).map_err(|_negative| last_error())
    })
}

/// Errno of the last libc call.
pub(crate) fn last_error() -> Errno {
    Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::IO)
}

#[cfg(test)]
mod tests {
    use std::fs::{File, metadata, read_link, write};
    use std::os::fd::AsFd;
    use std::os::unix::fs::MetadataExt;

    use rustix::io::Errno;

    use super::{file_xattr, link, rename, set_file_xattr, set_times, symlink, xattr};

    #[test]
    fn renames_and_links_stay_within_their_directories() {
        let place = tempfile::tempdir().unwrap();
        std::fs::create_dir(place.path().join("other")).unwrap();
        write(place.path().join("a"), "x").unwrap();
        let top = File::open(place.path()).unwrap();
        let other = File::open(place.path().join("other")).unwrap();
        let (top, other) = (top.as_fd(), other.as_fd());
        link(top, c"a", other, c"b").unwrap();
        rename(other, c"b", top, c"c").unwrap();
        symlink(other, c"s", c"../a").unwrap();
        assert_eq!(metadata(place.path().join("c")).unwrap().nlink(), 2);
        assert_eq!(read_link(place.path().join("other/s")).unwrap().to_str(), Some("../a"));
        set_times(top, c"a", 1000, 998).unwrap();
        let metadata = metadata(place.path().join("c")).unwrap();
        assert_eq!((metadata.atime(), metadata.mtime()), (1000, 998));
        for outside in [c"..", c"other/x", c""] {
            assert_eq!(link(top, c"a", other, outside), Err(Errno::XDEV));
            assert_eq!(rename(top, outside, top, c"d"), Err(Errno::XDEV));
            assert_eq!(symlink(top, outside, c"a"), Err(Errno::XDEV));
            assert_eq!(set_times(top, outside, 0, 0), Err(Errno::XDEV));
            assert_eq!(xattr(top, outside, c"user.x", &mut []), Err(Errno::XDEV));
        }
    }

    #[test]
    fn attributes_are_read_by_name_and_by_descriptor() {
        let place = tempfile::tempdir_in(".").unwrap();
        write(place.path().join("a"), "x").unwrap();
        let top = File::open(place.path()).unwrap();
        let file = File::open(place.path().join("a")).unwrap();
        let mut buffer = [0; 64];
        match set_file_xattr(file.as_fd(), c"user.treering", &[7; 44]) {
            // Not every filesystem has them: then reading says the same.
            Err(errno) => {
                assert_eq!(file_xattr(file.as_fd(), c"user.treering", &mut buffer), Err(errno));
            }
            Ok(()) => {
                assert_eq!(file_xattr(file.as_fd(), c"user.treering", &mut buffer), Ok(44));
                assert_eq!(xattr(top.as_fd(), c"a", c"user.treering", &mut buffer), Ok(44));
                let none = xattr(top.as_fd(), c"a", c"user.other", &mut buffer);
                assert_eq!(none, Err(Errno::NODATA));
            }
        }
    }
}

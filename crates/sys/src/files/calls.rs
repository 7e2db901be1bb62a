//! Confined calls on directories and files: no name leads outside the given directory.
//!
//! A single name is opened with `O_NOFOLLOW`; a path of several components, and every directory,
//! with `openat2` beneath the directory and without following links. Without `openat2` (old kernel,
//! sandbox) a path is walked component by component, which is as safe but slower. Interrupted calls
//! are repeated.
#![expect(unsafe_code, reason = "a close that tells its error consumes a raw descriptor")]

use std::ffi::CStr;
use std::fs::read_link;
use std::io::{IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, IntoRawFd, OwnedFd};
use std::path::{Path, PathBuf};

pub use rustix::fs::FileType;
pub use rustix::io::Errno;

use rustix::fs::{
    AtFlags, Mode, OFlags, RawDir, ResolveFlags, SeekFrom, Stat, fdatasync, fstat, fsync,
    ftruncate, mkdirat, openat, openat2, seek, statat, syncfs, unlinkat,
};
use rustix::io::{readv, retry_on_intr, try_close, writev};
use rustix::path::Arg;

use crate::files::through::IoPath;

/// Mechanism that confines a path to its directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Confinement {
    /// `openat2` of the kernel, since Linux 5.6.
    Kernel,
    /// Walk by component, if the kernel or a sandbox denies `openat2`.
    Walk,
}

impl Confinement {
    /// Detects the available mechanism, once before a run.
    pub fn probe(dir: impl AsFd) -> Self {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        match openat2_beneath(dir.as_fd(), c".", flags, Mode::empty(), ResolveFlags::empty()) {
            Ok(_closed) => Self::Kernel,
            Err(_) => Self::Walk,
        }
    }
}

/// Open mode of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpenHow {
    /// `O_RDONLY`: an existing file.
    Read,
    /// `O_WRONLY`: an existing file.
    Write,
    /// `O_WRONLY | O_APPEND`: an existing file.
    WriteAtEnd,
    /// `O_RDWR | O_CREAT | O_APPEND`.
    Append,
    /// `O_WRONLY | O_CREAT | O_TRUNC`.
    Truncate,
    /// `O_RDWR | O_CREAT | O_TRUNC`.
    TruncateToRead,
    /// `O_WRONLY | O_CREAT | O_EXCL`.
    Exclusive,
    /// `O_RDWR | O_CREAT | O_EXCL`.
    ExclusiveToRead,
    /// `O_RDWR | O_CREAT`.
    OrMake,
    /// `O_RDWR`: an existing file.
    ReadWrite,
    /// `O_RDONLY | O_DIRECTORY`: an existing directory.
    Directory,
}

impl OpenHow {
    #[inline]
    pub(crate) const fn flags(self) -> OFlags {
        let flags = match self {
            Self::Read => OFlags::RDONLY,
            Self::Write => OFlags::WRONLY,
            Self::WriteAtEnd => OFlags::WRONLY.union(OFlags::APPEND),
            Self::Append => OFlags::RDWR.union(OFlags::CREATE).union(OFlags::APPEND),
            Self::Truncate => OFlags::WRONLY.union(OFlags::CREATE).union(OFlags::TRUNC),
            Self::TruncateToRead => OFlags::RDWR.union(OFlags::CREATE).union(OFlags::TRUNC),
            Self::Exclusive => OFlags::WRONLY.union(OFlags::CREATE).union(OFlags::EXCL),
            Self::ExclusiveToRead => OFlags::RDWR.union(OFlags::CREATE).union(OFlags::EXCL),
            Self::OrMake => OFlags::RDWR.union(OFlags::CREATE),
            Self::ReadWrite => OFlags::RDWR,
            Self::Directory => OFlags::RDONLY.union(OFlags::DIRECTORY),
        };
        flags.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC)
    }

    /// Reports whether a missing file is created.
    pub(crate) const fn makes(self) -> bool {
        self.flags().contains(OFlags::CREATE)
    }
}

/// Requested permissions, subject to the umask.
const FILE_MODE: Mode = Mode::from_raw_mode(0o666);
const DIR_MODE: Mode = Mode::from_raw_mode(0o777);
const DIR_FLAGS: OFlags =
    OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);
const PATH_FLAGS: OFlags = DIR_FLAGS.union(OFlags::PATH);

/// Classification of a path.
enum PathShape {
    /// A single component.
    Single,
    /// Several plain components.
    Several,
    /// Possibly leads outside, or is invalid.
    Odd,
}

#[inline]
fn shape(path: &[u8]) -> PathShape {
    if is_single_name(path) {
        PathShape::Single
    } else if path.split(|&byte| byte == b'/').all(is_single_name) {
        PathShape::Several
    } else {
        PathShape::Odd
    }
}

/// Reports whether a name can only refer to an entry of its directory: not empty, without a slash,
/// not `.` or `..`.
#[inline]
pub fn is_single_name(name: &[u8]) -> bool {
    // Without an early exit, so that the loop over the few bytes of a name is vectorized.
    let slashes =
        name.iter().fold(0u8, |slashes_seen, &byte| slashes_seen | u8::from(byte == b'/'));
    slashes == 0 && !matches!(name, b"" | b"." | b"..")
}

/// Errno for a path that could lead outside, as returned by `openat2`.
const OUTSIDE: Errno = Errno::XDEV;

#[inline]
pub(crate) fn single(name: &CStr) -> Result<&CStr, Errno> {
    if is_single_name(name.to_bytes()) { Ok(name) } else { Err(OUTSIDE) }
}

fn openat2_beneath(
    at: BorrowedFd<'_>,
    path: impl Arg + Copy,
    flags: OFlags,
    mode: Mode,
    also: ResolveFlags,
) -> Result<OwnedFd, Errno> {
    let resolve =
        ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS | also;
    retry_on_intr(|| openat2(at, path, flags, mode, resolve))
}

/// Splits at the last slash; `EXDEV` without one.
fn parent_and_name(path: &[u8]) -> Result<(&[u8], &[u8]), Errno> {
    let slash = path.iter().rposition(|&byte| byte == b'/').ok_or(OUTSIDE)?;
    Ok((&path[..slash], &path[slash + 1..]))
}

/// Opens the parent directory of a path with several components (`O_PATH`).
fn open_parent(
    confinement: Confinement,
    at: BorrowedFd<'_>,
    parent: &[u8],
) -> Result<OwnedFd, Errno> {
    if confinement == Confinement::Kernel {
        return openat2_beneath(at, parent, PATH_FLAGS, Mode::empty(), ResolveFlags::empty());
    }
    let mut here = None;
    for name in parent.split(|&byte| byte == b'/') {
        let from = here.as_ref().map_or(at, OwnedFd::as_fd);
        here = Some(retry_on_intr(|| openat(from, name, PATH_FLAGS, Mode::empty()))?);
    }
    here.ok_or(OUTSIDE)
}

fn open_confined(
    confinement: Confinement,
    at: BorrowedFd<'_>,
    path: &CStr,
    flags: OFlags,
    mode: Mode,
) -> Result<OwnedFd, Errno> {
    if confinement == Confinement::Kernel {
        return openat2_beneath(at, path, flags, mode, ResolveFlags::empty());
    }
    match parent_and_name(path.to_bytes()) {
        Ok((parent, name)) => {
            let parent = open_parent(confinement, at, parent)?;
            retry_on_intr(|| openat(&parent, name, flags, mode))
        }
        Err(_single) => retry_on_intr(|| openat(at, path, flags, mode)),
    }
}

/// Opens a directory given by the user, following links.
///
/// # Errors
/// As `openat(O_DIRECTORY)`.
pub fn open_top(path: &Path) -> Result<OwnedFd, Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    retry_on_intr(|| openat(rustix::fs::CWD, path, flags, Mode::empty()))
}

/// Reopens a directory with a separate read position.
///
/// # Errors
/// As `openat`; also if the directory was removed.
pub fn reopen_dir(dir: impl AsFd) -> Result<OwnedFd, Errno> {
    retry_on_intr(|| openat(&dir, c".", DIR_FLAGS, Mode::empty()))
}

/// Opens the directory `path` beneath `at` without following links.
///
/// # Errors
/// `EXDEV` if the path could lead outside, `ELOOP` or `ENOTDIR` if it contains a link, else as
/// `openat`.
pub fn open_dir(
    confinement: Confinement,
    at: BorrowedFd<'_>,
    path: &CStr,
) -> Result<OwnedFd, Errno> {
    match shape(path.to_bytes()) {
        PathShape::Odd => Err(OUTSIDE),
        PathShape::Single | PathShape::Several => {
            open_confined(confinement, at, path, DIR_FLAGS, Mode::empty())
        }
    }
}

/// Opens the directory `name` in `at` without following links or entering another mount.
///
/// # Errors
/// `EXDEV` if another filesystem is mounted there (without `openat2` a bind mount of the same
/// filesystem goes unnoticed) or the name could lead outside, else as `openat`.
pub fn open_subdir(
    confinement: Confinement,
    at: BorrowedFd<'_>,
    name: &CStr,
) -> Result<OwnedFd, Errno> {
    let name = single(name)?;
    match confinement {
        Confinement::Kernel => {
            openat2_beneath(at, name, DIR_FLAGS, Mode::empty(), ResolveFlags::NO_XDEV)
        }
        Confinement::Walk => {
            let dir = retry_on_intr(|| openat(at, name, DIR_FLAGS, Mode::empty()))?;
            let same = fstat(&dir)?.st_dev == fstat(at)?.st_dev;
            if same { Ok(dir) } else { Err(OUTSIDE) }
        }
    }
}

/// Opens or creates the file `path` beneath `at` without following links.
///
/// # Errors
/// `EXDEV` if the path could lead outside, `ELOOP` or `ENOTDIR` if it contains a link, else as
/// `openat`.
#[inline]
pub fn open_file(
    confinement: Confinement,
    at: BorrowedFd<'_>,
    path: &CStr,
    how: OpenHow,
    through: IoPath,
) -> Result<OwnedFd, Errno> {
    let mode = if how.makes() { FILE_MODE } else { Mode::empty() };
    let flags = how.flags().union(through.flags());
    match shape(path.to_bytes()) {
        PathShape::Single => retry_on_intr(|| openat(at, path, flags, mode)),
        PathShape::Several => open_confined(confinement, at, path, flags, mode),
        PathShape::Odd => Err(OUTSIDE),
    }
}

/// Opens the file `name` in `at` for inspection, without following links or entering another mount.
/// Never blocks, for example on a pipe.
///
/// # Errors
/// `EXDEV` if another file is mounted there (without `openat2` this goes unnoticed) or the name
/// could lead outside, else as `openat`.
#[inline]
pub fn open_to_look(
    confinement: Confinement,
    at: BorrowedFd<'_>,
    name: &CStr,
) -> Result<OwnedFd, Errno> {
    let name = single(name)?;
    let flags = OpenHow::Read.flags() | OFlags::NONBLOCK | OFlags::NOCTTY;
    match confinement {
        Confinement::Kernel => {
            openat2_beneath(at, name, flags, Mode::empty(), ResolveFlags::NO_XDEV)
        }
        Confinement::Walk => retry_on_intr(|| openat(at, name, flags, Mode::empty())),
    }
}

/// Opens the parent of an open directory.
///
/// # Errors
/// As `openat`.
pub fn open_above(dir: BorrowedFd<'_>) -> Result<OwnedFd, Errno> {
    retry_on_intr(|| openat(dir, c"..", DIR_FLAGS, Mode::empty()))
}

/// Reads at the file position; returns the number of bytes, 0 at the end of the file.
///
/// # Errors
/// As `read`.
#[inline]
pub fn read(file: BorrowedFd<'_>, buffer: &mut [u8]) -> Result<usize, Errno> {
    retry_on_intr(|| rustix::io::read(file, &mut *buffer))
}

/// Writes at the file position; returns the number of bytes written, possibly fewer than given.
///
/// # Errors
/// As `write`.
#[inline]
pub fn write(file: BorrowedFd<'_>, bytes: &[u8]) -> Result<usize, Errno> {
    retry_on_intr(|| rustix::io::write(file, bytes))
}

/// Like [`read`], by `readv` into one buffer.
///
/// # Errors
/// As `readv`.
pub fn read_vector(file: BorrowedFd<'_>, buffer: &mut [u8]) -> Result<usize, Errno> {
    retry_on_intr(|| readv(file, &mut [IoSliceMut::new(&mut *buffer)]))
}

/// Writes two buffers in one call at the file position; returns the total number of bytes written.
/// An empty second buffer is omitted.
///
/// # Errors
/// As `writev`.
pub fn write_both(file: BorrowedFd<'_>, head: &[u8], tail: &[u8]) -> Result<usize, Errno> {
    let pieces = [IoSlice::new(head), IoSlice::new(tail)];
    let pieces = if tail.is_empty() { &pieces[..1] } else { &pieces[..] };
    retry_on_intr(|| writev(file, pieces))
}

/// Sets the file position.
///
/// # Errors
/// As `lseek`.
#[inline]
pub fn seek_to(file: BorrowedFd<'_>, position: u64) -> Result<(), Errno> {
    seek(file, SeekFrom::Start(position)).map(|_position| ())
}

/// Sets the file position to the end; returns it.
///
/// # Errors
/// As `lseek`.
pub fn seek_to_end(file: BorrowedFd<'_>) -> Result<u64, Errno> {
    seek(file, SeekFrom::End(0))
}

/// Sets the file size.
///
/// # Errors
/// As `ftruncate`.
pub fn truncate(file: BorrowedFd<'_>, bytes: u64) -> Result<(), Errno> {
    retry_on_intr(|| ftruncate(file, bytes))
}

/// Waits until a file and the metadata needed to find it are on disk.
///
/// # Errors
/// As `fsync`.
#[inline]
pub fn sync_file(file: BorrowedFd<'_>) -> Result<(), Errno> {
    retry_on_intr(|| fsync(file))
}

/// Waits until the data of a file or directory is on disk.
///
/// # Errors
/// As `fdatasync`.
pub fn sync_data(file: BorrowedFd<'_>) -> Result<(), Errno> {
    retry_on_intr(|| fdatasync(file))
}

/// Closes a file or directory and returns the filesystem's error. The descriptor is closed in any
/// case.
///
/// # Errors
/// Errors of delayed writes: `EIO`, `ENOSPC`, `EDQUOT`.
#[inline]
pub fn close(fd: OwnedFd) -> Result<(), Errno> {
    // SAFETY: the descriptor is owned and given up here.
    match unsafe { try_close(fd.into_raw_fd()) } {
        // Linux closes the descriptor before it can be interrupted: a retry could close another
        // file.
        Ok(()) | Err(Errno::INTR) => Ok(()),
        Err(errno) => Err(errno),
    }
}

/// Creates the directory `name` in `at`.
///
/// # Errors
/// `EXDEV` if the name could lead outside, else as `mkdirat`.
pub fn make_dir(at: BorrowedFd<'_>, name: &CStr) -> Result<(), Errno> {
    let name = single(name)?;
    retry_on_intr(|| mkdirat(at, name, DIR_MODE))
}

/// Creates the directory `name` in `at` for its owner alone (mode 0700).
///
/// # Errors
/// As [`make_dir`].
pub fn make_private_dir(at: BorrowedFd<'_>, name: &CStr) -> Result<(), Errno> {
    let name = single(name)?;
    retry_on_intr(|| mkdirat(at, name, Mode::RWXU))
}

/// Calls `mkdirat` with the name `.` in the open directory `dir`.
///
/// # Errors
/// `EEXIST` or another error of `mkdirat`; never succeeds.
pub fn make_existing_dir(dir: BorrowedFd<'_>) -> Result<(), Errno> {
    retry_on_intr(|| mkdirat(dir, c".", DIR_MODE))
}

/// Removes the empty directory `name` in `at`.
///
/// # Errors
/// `EXDEV` if the name could lead outside, else as `unlinkat(AT_REMOVEDIR)`.
pub fn remove_dir(at: BorrowedFd<'_>, name: &CStr) -> Result<(), Errno> {
    let name = single(name)?;
    retry_on_intr(|| unlinkat(at, name, AtFlags::REMOVEDIR))
}

/// Removes the file `path` beneath `at`; a link itself is removed.
///
/// # Errors
/// `EXDEV` if the path could lead outside, `ELOOP` or `ENOTDIR` if it contains a link, else as
/// `unlinkat`.
#[inline]
pub fn unlink(confinement: Confinement, at: BorrowedFd<'_>, path: &CStr) -> Result<(), Errno> {
    match shape(path.to_bytes()) {
        PathShape::Single => retry_on_intr(|| unlinkat(at, path, AtFlags::empty())),
        PathShape::Several => {
            let (parent, name) = parent_and_name(path.to_bytes())?;
            let parent = open_parent(confinement, at, parent)?;
            retry_on_intr(|| unlinkat(&parent, name, AtFlags::empty()))
        }
        PathShape::Odd => Err(OUTSIDE),
    }
}

/// Attributes of a file or directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileAttributes {
    /// File type.
    pub kind: FileType,
    /// Size in bytes.
    pub bytes: u64,
    /// Device number of the filesystem (`st_dev`).
    pub device: u64,
    /// Inode number.
    pub inode: u64,
}

impl From<Stat> for FileAttributes {
    fn from(stat: Stat) -> Self {
        Self {
            kind: FileType::from_raw_mode(stat.st_mode),
            // The kernel has no file of negative size.
            bytes: stat.st_size.cast_unsigned(),
            device: stat.st_dev,
            inode: stat.st_ino,
        }
    }
}

/// Attributes of `name` in `at`; of a link itself, not of its target.
///
/// # Errors
/// `EXDEV` if the name could lead outside, else as `newfstatat`.
#[inline]
pub fn stat(at: BorrowedFd<'_>, name: &CStr) -> Result<FileAttributes, Errno> {
    let name = single(name)?;
    retry_on_intr(|| statat(at, name, AtFlags::SYMLINK_NOFOLLOW)).map(FileAttributes::from)
}

/// Attributes of an open file.
///
/// # Errors
/// As `fstat`.
pub fn attributes(fd: impl AsFd) -> Result<FileAttributes, Errno> {
    fstat(fd).map(FileAttributes::from)
}

/// Buffer for the entries of one `getdents64` call.
#[derive(Debug)]
pub struct EntryBuffer {
    bytes: Box<[MaybeUninit<u8>]>,
}

impl EntryBuffer {
    /// Allocates `bytes`, and at least enough for one entry.
    pub fn new(bytes: usize) -> Self {
        Self { bytes: Box::new_uninit_slice(bytes.max(1024)) }
    }
}

/// Reads the next batch of entries and calls `each` with them, except for `.` and `..`; returns the
/// number of calls. Without a call of `each` the directory is at its end.
///
/// # Errors
/// As `getdents64`; if the filesystem does not report file types, as `newfstatat` of the entry.
pub fn read_entries(
    dir: BorrowedFd<'_>,
    buffer: &mut EntryBuffer,
    mut each: impl FnMut(&CStr, FileType),
) -> Result<u32, Errno> {
    read_numbered_entries(dir, buffer, |name, kind, _inode| each(name, kind))
}

/// Like [`read_entries`], with the inode number of each entry, which identifies hard links.
///
/// # Errors
/// As [`read_entries`].
pub fn read_numbered_entries(
    dir: BorrowedFd<'_>,
    buffer: &mut EntryBuffer,
    mut each: impl FnMut(&CStr, FileType, u64),
) -> Result<u32, Errno> {
    let mut entries = RawDir::new(dir, &mut buffer.bytes);
    let (mut calls, mut handed) = (0, false);
    loop {
        if entries.is_buffer_empty() {
            // A batch may contain only dots, which is not the end.
            if handed {
                return Ok(calls);
            }
            calls += 1;
        }
        let entry = match entries.next() {
            None => return Ok(calls),
            Some(Err(Errno::INTR)) => continue,
            Some(entry) => entry?,
        };
        let name = entry.file_name();
        if !is_single_name(name.to_bytes()) {
            continue;
        }
        let kind = match entry.file_type() {
            FileType::Unknown => match stat(dir, name) {
                Ok(attributes) => attributes.kind,
                // Removed since it was listed.
                Err(Errno::NOENT) => continue,
                Err(errno) => return Err(errno),
            },
            kind => kind,
        };
        each(name, kind, entry.ino());
        handed = true;
    }
}

/// Rewinds a directory to its first entry.
///
/// # Errors
/// As `lseek`.
pub fn rewind_dir(dir: BorrowedFd<'_>) -> Result<(), Errno> {
    seek(dir, SeekFrom::Start(0)).map(|_at| ())
}

/// Waits until all data of the filesystem of `at` is on disk.
///
/// # Errors
/// `EIO`, `ENOSPC`, `EDQUOT` if data could not be written back.
pub fn sync_filesystem(at: BorrowedFd<'_>) -> Result<(), Errno> {
    retry_on_intr(|| syncfs(at))
}

/// Waits until the data of all filesystems is on disk. The kernel reports no errors here.
pub fn sync_machine() {
    rustix::fs::sync();
}

/// Path of an open file according to `/proc`; for messages only.
pub fn fd_path(fd: impl AsFd) -> Option<PathBuf> {
    read_link(format!("/proc/self/fd/{}", fd.as_fd().as_raw_fd())).ok()
}

#[cfg(test)]
mod tests {
    use super::{
        Confinement, EntryBuffer, Errno, FileType, OpenHow, attributes, close, fd_path,
        is_single_name, make_dir, make_private_dir, open_above, open_dir, open_file, open_subdir,
        open_to_look, open_top, read, read_entries, read_numbered_entries, remove_dir, reopen_dir,
        rewind_dir, seek_to, stat, sync_filesystem, truncate, unlink, write, write_both,
    };
    use crate::IoPath;
    use crate::files::entries::rename;
    use std::collections::BTreeSet;
    use std::ffi::CString;
    use std::fs;
    use std::os::fd::{AsFd, OwnedFd};
    use std::os::unix::fs::symlink;
    use tempfile::TempDir;

    const BOTH: [Confinement; 2] = [Confinement::Kernel, Confinement::Walk];

    fn place() -> (TempDir, OwnedFd) {
        let place = tempfile::tempdir().unwrap();
        let top = open_top(place.path()).unwrap();
        (place, top)
    }

    #[test]
    fn path_shapes_are_classified() {
        for plain in ["a", "..a", "...", "inode.c", "with space"] {
            assert!(is_single_name(plain.as_bytes()), "{plain}");
        }
        for odd in ["", ".", "..", "/", "a/", "/a", "a/b"] {
            assert!(!is_single_name(odd.as_bytes()), "{odd}");
        }
    }

    #[test]
    fn open_to_look_neither_blocks_nor_leaves_the_mount() {
        for confinement in BOTH {
            let (place, top) = place();
            let at = top.as_fd();
            fs::create_dir(place.path().join("sub")).unwrap();
            fs::write(place.path().join("file"), "x").unwrap();
            symlink("file", place.path().join("link")).unwrap();
            rustix::fs::mkfifoat(at, c"fifo", rustix::fs::Mode::RUSR).unwrap();
            open_to_look(confinement, at, c"file").unwrap();
            open_to_look(confinement, at, c"fifo").unwrap();
            assert_eq!(open_to_look(confinement, at, c"link").unwrap_err(), Errno::LOOP);
            assert_eq!(open_to_look(confinement, at, c"sub/x").unwrap_err(), Errno::XDEV);
            let sub = open_subdir(confinement, at, c"sub").unwrap();
            let above = attributes(open_above(sub.as_fd()).unwrap()).unwrap();
            assert_eq!(above, attributes(&top).unwrap());
            let mut numbers = Vec::new();
            let mut buffer = EntryBuffer::new(4096);
            read_numbered_entries(at, &mut buffer, |name, _, inode| {
                numbers.push((name.to_owned(), inode));
            })
            .unwrap();
            for (name, inode) in numbers {
                assert_eq!(stat(at, &name).unwrap().inode, inode);
            }
        }
    }

    #[test]
    fn files_are_written_read_truncated_and_removed() {
        for confinement in BOTH {
            let (place, top) = place();
            let (at, cached) = (top.as_fd(), IoPath::default());
            make_dir(at, c"sub").unwrap();
            for path in [c"file", c"sub/file"] {
                let file = open_file(confinement, at, path, OpenHow::Exclusive, cached).unwrap();
                assert_eq!(write(file.as_fd(), b"abc"), Ok(3));
                assert_eq!(write_both(file.as_fd(), b"de", b"f"), Ok(3));
                close(file).unwrap();
                let again = open_file(confinement, at, path, OpenHow::Exclusive, cached);
                assert_eq!(again.unwrap_err(), Errno::EXIST);
                let file = open_file(confinement, at, path, OpenHow::Append, cached).unwrap();
                truncate(file.as_fd(), 5).unwrap();
                let mut buffer = [0; 8];
                assert_eq!(read(file.as_fd(), &mut buffer), Ok(5));
                assert_eq!(&buffer[..5], b"abcde");
                assert_eq!(attributes(&file).unwrap().bytes, 5);
                seek_to(file.as_fd(), 3).unwrap();
                assert_eq!(read(file.as_fd(), &mut buffer), Ok(2));
                let file = open_file(confinement, at, path, OpenHow::Write, cached).unwrap();
                assert_eq!(write(file.as_fd(), b"A"), Ok(1));
                let file = open_file(confinement, at, path, OpenHow::WriteAtEnd, cached).unwrap();
                assert_eq!(write(file.as_fd(), b"F"), Ok(1));
                assert_eq!(read(file.as_fd(), &mut buffer), Err(Errno::BADF));
                let place = place.path().join(path.to_str().unwrap());
                assert_eq!(fs::read(place).unwrap(), b"AbcdeF");
                unlink(confinement, at, path).unwrap();
                assert_eq!(unlink(confinement, at, path), Err(Errno::NOENT));
                let missing = open_file(confinement, at, path, OpenHow::Write, cached);
                assert_eq!(missing.unwrap_err(), Errno::NOENT);
            }
            rename(at, c"sub", at, c"other").unwrap();
            assert_eq!(rename(at, c"sub", at, c"other"), Err(Errno::NOENT));
            rename(at, c"other", at, c"sub").unwrap();
            sync_filesystem(at).unwrap();
            remove_dir(at, c"sub").unwrap();
            assert_eq!(fs::read_dir(place.path()).unwrap().count(), 0);
        }
    }

    #[test]
    fn paths_do_not_escape_and_links_are_not_followed() {
        for confinement in BOTH {
            let (place, top) = place();
            let outside = tempfile::tempdir().unwrap();
            let at = top.as_fd();
            fs::write(outside.path().join("victim"), "dear").unwrap();
            symlink(outside.path(), place.path().join("link")).unwrap();
            symlink(outside.path().join("new"), place.path().join("dangling")).unwrap();
            let linked = |result: Result<(), Errno>, call: &str| {
                assert!(matches!(result, Err(Errno::LOOP | Errno::NOTDIR)), "{call}: {result:?}");
            };
            let open =
                |path, how| open_file(confinement, at, path, how, IoPath::default()).map(drop);
            linked(open_dir(confinement, at, c"link").map(drop), "open_dir");
            linked(open_dir(confinement, at, c"link/deeper").map(drop), "open_dir deeper");
            linked(open_subdir(confinement, at, c"link").map(drop), "open_subdir");
            linked(open(c"link/victim", OpenHow::Read), "read through a link");
            linked(open(c"link/victim", OpenHow::Truncate), "truncate through a link");
            linked(open(c"dangling", OpenHow::Append), "create through a link");
            linked(unlink(confinement, at, c"link/victim"), "unlink through a link");
            assert_eq!(make_dir(at, c"link"), Err(Errno::EXIST));
            assert_eq!(stat(at, c"link").unwrap().kind, FileType::Symlink);
            for odd in [c"..", c"../x", c"/etc", c"a/../../x", c"a//b", c"./a", c"a/", c".", c""] {
                assert_eq!(open(odd, OpenHow::Append), Err(Errno::XDEV), "{odd:?}");
                assert_eq!(unlink(confinement, at, odd), Err(Errno::XDEV), "{odd:?}");
                let opened = open_dir(confinement, at, odd).map(drop);
                assert_eq!(opened, Err(Errno::XDEV), "{odd:?}");
                assert_eq!(make_dir(at, odd), Err(Errno::XDEV), "{odd:?}");
                assert_eq!(make_private_dir(at, odd), Err(Errno::XDEV), "{odd:?}");
                assert_eq!(remove_dir(at, odd), Err(Errno::XDEV), "{odd:?}");
                assert_eq!(stat(at, odd).map(drop), Err(Errno::XDEV), "{odd:?}");
                assert_eq!(rename(at, odd, at, c"new"), Err(Errno::XDEV), "{odd:?}");
                assert_eq!(rename(at, c"link", at, odd), Err(Errno::XDEV), "{odd:?}");
            }
            unlink(confinement, at, c"link").unwrap();
            assert_eq!(fs::read(outside.path().join("victim")).unwrap(), b"dear");
            assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 1);
        }
    }

    #[test]
    fn all_entries_of_a_large_directory_come_in_batches() {
        let (place, top) = place();
        let mut expected = BTreeSet::new();
        for number in 0..3000 {
            let name = format!("file-with-a-rather-long-name-{number}");
            fs::write(place.path().join(&name), "").unwrap();
            expected.insert(CString::new(name).unwrap());
        }
        fs::create_dir(place.path().join("dir")).unwrap();
        expected.insert(CString::new("dir").unwrap());
        let mut buffer = EntryBuffer::new(8192);
        let dir = reopen_dir(&top).unwrap();
        for _ in 0..2 {
            let (mut seen, mut batches) = (BTreeSet::new(), 0);
            loop {
                let before = seen.len();
                let calls = read_entries(dir.as_fd(), &mut buffer, |name, kind| {
                    assert_eq!(kind == FileType::Directory, name == c"dir");
                    seen.insert(name.to_owned());
                });
                assert!(calls.unwrap() >= 1);
                if seen.len() == before {
                    break;
                }
                batches += 1;
            }
            assert_eq!(seen, expected);
            assert!(batches > 10);
            rewind_dir(dir.as_fd()).unwrap();
        }
    }

    #[test]
    fn open_files_have_a_path() {
        let (place, top) = place();
        assert_eq!(fd_path(&top), Some(place.path().canonicalize().unwrap()));
    }

    /// Runs `work` in a child in which `openat2` fails with `errno`.
    fn in_sandbox(errno: u16, work: impl FnOnce() -> bool) -> bool {
        use libc::{BPF_ABS, BPF_JEQ, BPF_JMP, BPF_K, BPF_LD, BPF_RET, BPF_W, sock_filter};
        let call = u32::try_from(libc::SYS_openat2).unwrap();
        let line =
            |code: u32, jt, jf, k| sock_filter { code: u16::try_from(code).unwrap(), jt, jf, k };
        let mut lines = [
            line(BPF_LD | BPF_W | BPF_ABS, 0, 0, 0),
            line(BPF_JMP | BPF_JEQ | BPF_K, 0, 1, call),
            line(BPF_RET | BPF_K, 0, 0, libc::SECCOMP_RET_ERRNO | u32::from(errno)),
            line(BPF_RET | BPF_K, 0, 0, libc::SECCOMP_RET_ALLOW),
        ];
        let filter = libc::sock_fprog { len: 4, filter: lines.as_mut_ptr() };
        // SAFETY: the child makes only system calls before it ends.
        let child = unsafe { libc::fork() };
        if child == 0 {
            // SAFETY: the filter is a valid program of its stated length.
            let status = unsafe {
                libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
                libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const filter)
            };
            let code = if status != 0 { 2 } else { i32::from(!work()) };
            // SAFETY: ends the child without running anything of the parent's.
            unsafe { libc::_exit(code) };
        }
        let child = rustix::process::Pid::from_raw(child).expect("fork works");
        let options = rustix::process::WaitOptions::empty();
        let (_, status) = rustix::process::waitpid(Some(child), options).unwrap().unwrap();
        status.exit_status() == Some(0)
    }

    #[test]
    fn without_openat2_paths_are_walked_by_component() {
        let (place, top) = place();
        fs::create_dir(place.path().join("sub")).unwrap();
        assert_eq!(Confinement::probe(&top), Confinement::Kernel);
        for errno in [Errno::PERM, Errno::NOSYS] {
            let errno = u16::try_from(errno.raw_os_error()).unwrap();
            assert!(in_sandbox(errno, || {
                let confinement = Confinement::probe(&top);
                let opened = open_dir(confinement, top.as_fd(), c"sub");
                let file = open_file(
                    confinement,
                    top.as_fd(),
                    c"sub/new",
                    OpenHow::Append,
                    IoPath::default(),
                );
                confinement == Confinement::Walk && opened.is_ok() && file.is_ok()
            }));
        }
    }
}

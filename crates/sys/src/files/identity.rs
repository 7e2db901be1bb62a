//! Identity of a file or directory: its numbers, its owner, and its birth time. It distinguishes
//! the file from a later one with the same name or inode number.

use std::ffi::CStr;
use std::os::fd::{AsFd, BorrowedFd};

use rustix::fs::{
    AtFlags, FileType, Stat, Statx, StatxFlags, fstat, fstatvfs, makedev, statat, statx,
};
use rustix::io::{Errno, retry_on_intr};

use crate::files::calls::single;

/// Time stamp of a filesystem: seconds since 1970, and nanoseconds.
type FileTime = (i64, u32);

/// Identity of a file or directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileIdentity {
    /// Device number of the filesystem (`st_dev`).
    pub device: u64,
    /// Inode number.
    pub inode: u64,
    /// Birth time (`stx_btime`); `None` if the filesystem or the kernel does not report it.
    pub born: Option<FileTime>,
    /// Owner of the file.
    pub user: u32,
    /// File, directory or something else.
    pub kind: FileType,
    /// Time of the last change of its content.
    pub modified: FileTime,
}

impl FileIdentity {
    /// Compares two identities: they are of the same file if their numbers are equal and, if both
    /// have a birth time, these are equal too.
    pub fn is_same_file(&self, other: &Self) -> bool {
        let of_one_time = self.born.is_none() || other.born.is_none() || self.born == other.born;
        (self.device, self.inode) == (other.device, other.inode) && of_one_time
    }
}

impl From<Statx> for FileIdentity {
    fn from(statx: Statx) -> Self {
        let time = |time: rustix::fs::StatxTimestamp| (time.tv_sec, time.tv_nsec);
        let has_birth = StatxFlags::from_bits_retain(statx.stx_mask).contains(StatxFlags::BTIME);
        Self {
            device: makedev(statx.stx_dev_major, statx.stx_dev_minor),
            inode: statx.stx_ino,
            born: has_birth.then(|| time(statx.stx_btime)),
            user: statx.stx_uid,
            kind: FileType::from_raw_mode(statx.stx_mode.into()),
            modified: time(statx.stx_mtime),
        }
    }
}

impl From<Stat> for FileIdentity {
    fn from(stat: Stat) -> Self {
        let nanoseconds = u32::try_from(stat.st_mtime_nsec).unwrap_or(0);
        Self {
            device: stat.st_dev,
            inode: stat.st_ino,
            born: None,
            user: stat.st_uid,
            kind: FileType::from_raw_mode(stat.st_mode),
            modified: (stat.st_mtime, nanoseconds),
        }
    }
}

/// Identity of the entry `name` in `at`; of a link itself, not of its target.
///
/// # Errors
/// `EXDEV` when the name could lead outside, else as `statx`.
pub fn identity_in(at: BorrowedFd<'_>, name: &CStr) -> Result<FileIdentity, Errno> {
    let name = single(name)?;
    identity(at, name, AtFlags::SYMLINK_NOFOLLOW)
}

/// Identity of an open file.
///
/// # Errors
/// As `statx`.
pub fn identity_of(open: impl AsFd) -> Result<FileIdentity, Errno> {
    identity(open.as_fd(), c"", AtFlags::EMPTY_PATH)
}

/// Filesystem ID (`f_fsid`), or 0 if there is none. Unlike the device number it often stays the
/// same across mounts.
///
/// # Errors
/// As `fstatvfs`.
pub fn filesystem_id(open: impl AsFd) -> Result<u64, Errno> {
    retry_on_intr(|| fstatvfs(&open)).map(|filesystem| filesystem.f_fsid)
}

fn identity(at: BorrowedFd<'_>, name: &CStr, flags: AtFlags) -> Result<FileIdentity, Errno> {
    let mask = StatxFlags::BASIC_STATS | StatxFlags::BTIME;
    match retry_on_intr(|| statx(at, name, flags, mask)) {
        Ok(statx) => Ok(statx.into()),
        // An old kernel, or a sandbox that does not know the call.
        Err(Errno::NOSYS | Errno::PERM) if name.is_empty() => fstat(at).map(Into::into),
        Err(Errno::NOSYS | Errno::PERM) => {
            retry_on_intr(|| statat(at, name, flags)).map(Into::into)
        }
        Err(errno) => Err(errno),
    }
}

#[cfg(test)]
mod tests {
    use std::fs::{self, File};
    use std::os::fd::AsFd;
    use std::os::unix::fs::{MetadataExt, symlink};

    use super::{FileIdentity, FileType, identity_in, identity_of};

    #[test]
    fn an_identity_by_name_is_that_of_the_open_directory_and_of_no_other() {
        let top = tempfile::tempdir().unwrap();
        for name in ["a", "b"] {
            fs::create_dir(top.path().join(name)).unwrap();
        }
        symlink("a", top.path().join("link")).unwrap();
        let open = File::open(top.path()).unwrap();
        let by_name = identity_in(open.as_fd(), c"a").unwrap();
        let opened = identity_of(File::open(top.path().join("a")).unwrap()).unwrap();
        assert!(by_name.is_same_file(&opened));
        let metadata = fs::metadata(top.path().join("a")).unwrap();
        assert_eq!((by_name.device, by_name.inode), (metadata.dev(), metadata.ino()));
        assert_eq!((by_name.user, by_name.kind), (metadata.uid(), FileType::Directory));
        let link = identity_in(open.as_fd(), c"link").unwrap();
        assert!(link.kind == FileType::Symlink && !link.is_same_file(&by_name));
        assert!(!identity_in(open.as_fd(), c"b").unwrap().is_same_file(&by_name));
        assert!(identity_in(open.as_fd(), c"a/..").is_err());
    }

    #[test]
    fn a_reused_inode_number_is_another_file_where_births_are_known() {
        let top = tempfile::tempdir().unwrap();
        let identity = identity_of(File::open(top.path()).unwrap()).unwrap();
        let later = FileIdentity { born: Some((i64::MAX, 0)), ..identity };
        let unknown = FileIdentity { born: None, ..identity };
        assert!(unknown.is_same_file(&later));
        assert!(!later.is_same_file(&FileIdentity { born: Some((0, 0)), ..identity }));
    }
}

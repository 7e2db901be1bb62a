//! Copies a tree: names, content with holes, links, modes, owners and times.
//!
//! The caller walks through the original and passes each directory and entry, so that the copy is
//! made in reading order.

use std::collections::HashMap;
use std::ffi::{CStr, CString};
use std::fmt;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::{
    AtFlags, Mode, OFlags, SeekFrom, Stat, Timespec, Timestamps, fchmod, fchown, ftruncate, linkat,
    openat, readlinkat, seek, statat, symlinkat, utimensat,
};
use rustix::fs::{Gid, Uid};
use treering_model::CopiedTree;
use treering_sys::{Confinement, Errno, FileType, make_dir, open_to_look, read, reopen_dir, write};

/// Size of a read and a write, in bytes.
const PIECE: usize = 1 << 20;

/// Error that ends a copy: a call on the copy failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CopyError {
    action: &'static str,
    name: String,
    errno: Errno,
}

impl fmt::Display for CopyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cannot {} {} in the copy: {}", self.action, self.name, self.errno)
    }
}

impl std::error::Error for CopyError {}

impl CopyError {
    /// True if the copy is out of space (`ENOSPC` or `EDQUOT`).
    pub fn is_full(&self) -> bool {
        matches!(self.errno, Errno::NOSPC | Errno::DQUOT)
    }

    fn new(action: &'static str, name: &CStr) -> impl FnOnce(Errno) -> Self {
        let name = name.to_string_lossy().into_owned();
        move |errno| Self { action, name, errno }
    }
}

/// Writer of a copy.
#[derive(Debug)]
pub(crate) struct ImageCopier {
    confinement: Confinement,
    top: OwnedFd,
    /// Names of the current directory and its parents, with the attributes that each gets at the
    /// end. Only the current one is open.
    path: Vec<(CString, Stat)>,
    current_dir: OwnedFd,
    /// First path in the copy of each file with several links, by the original's device and inode.
    names: HashMap<(u64, u64), CString>,
    buffer: Vec<u8>,
    copied: CopiedTree,
}

impl ImageCopier {
    /// Copies into the directory `to`. `from` is the top directory of the original.
    ///
    /// # Errors
    /// When the directory cannot be opened.
    pub(crate) fn new(from: BorrowedFd<'_>, to: BorrowedFd<'_>) -> Result<Self, CopyError> {
        let opened = || reopen_dir(to).map_err(CopyError::new("open", c"the top"));
        Ok(Self {
            confinement: Confinement::probe(from),
            top: opened()?,
            path: Vec::new(),
            current_dir: opened()?,
            names: HashMap::new(),
            buffer: vec![0; PIECE],
            copied: CopiedTree::default(),
        })
    }

    /// Counts of copied files, directories, links and bytes so far.
    pub(crate) fn copied(&self) -> CopiedTree {
        self.copied
    }

    /// Adds to the number of entries that could not be examined.
    pub(crate) fn failed(&mut self, count: u64) {
        self.copied.failed += count;
    }

    /// Makes a subdirectory of the current directory, and enters it.
    ///
    /// # Errors
    /// When the directory cannot be made.
    pub(crate) fn enter(&mut self, dir: BorrowedFd<'_>, name: &CStr) -> Result<(), CopyError> {
        let failed = |errno| CopyError::new("make the directory", name)(errno);
        let like = rustix::fs::fstat(dir).map_err(failed)?;
        match make_dir(self.current_dir.as_fd(), name) {
            // A fresh ext4 already has lost+found.
            Ok(()) | Err(Errno::EXIST) => {}
            Err(errno) => return Err(failed(errno)),
        }
        self.current_dir = open_dir(self.current_dir.as_fd(), name).map_err(failed)?;
        self.path.push((name.to_owned(), like));
        self.copied.directories += 1;
        Ok(())
    }

    /// Sets the attributes of the current directory, and leaves it.
    ///
    /// # Errors
    /// When the parent directory cannot be opened.
    pub(crate) fn leave(&mut self) -> Result<(), CopyError> {
        let Some((name, like)) = self.path.pop() else { return Ok(()) };
        self.current_dir = open_dir(self.current_dir.as_fd(), c"..")
            .map_err(CopyError::new("leave the directory", &name))?;
        let dir = open_dir(self.current_dir.as_fd(), &name);
        copy_attributes(&dir.map_err(CopyError::new("open the directory", &name))?, &like);
        // Times are set last, so that entries made later in the parent do not change them.
        let _only_for_show =
            utimensat(&self.current_dir, &name, &times(&like), AtFlags::SYMLINK_NOFOLLOW);
        Ok(())
    }

    /// Copies a file or symbolic link into the current directory; other kinds are only counted.
    ///
    /// # Errors
    /// When the entry cannot be made or written. Unreadable parts of the original are only counted.
    pub(crate) fn entry(
        &mut self,
        dir: BorrowedFd<'_>,
        name: &CStr,
        kind: FileType,
    ) -> Result<(), CopyError> {
        match kind {
            FileType::RegularFile => self.file(dir, name),
            FileType::Symlink => self.symlink(dir, name),
            _ => {
                self.copied.others += 1;
                Ok(())
            }
        }
    }

    fn symlink(&mut self, dir: BorrowedFd<'_>, name: &CStr) -> Result<(), CopyError> {
        let Ok(target) = readlinkat(dir, name, Vec::new()) else {
            self.copied.failed += 1;
            return Ok(());
        };
        symlinkat(&target, &self.current_dir, name)
            .map_err(CopyError::new("make the link", name))?;
        if let Ok(like) = statat(dir, name, AtFlags::SYMLINK_NOFOLLOW) {
            let _only_for_show =
                utimensat(&self.current_dir, name, &times(&like), AtFlags::SYMLINK_NOFOLLOW);
        }
        self.copied.symlinks += 1;
        Ok(())
    }

    fn file(&mut self, dir: BorrowedFd<'_>, name: &CStr) -> Result<(), CopyError> {
        let opened = open_to_look(self.confinement, dir, name)
            .and_then(|file| Ok((rustix::fs::fstat(&file)?, file)));
        let Ok((like, file)) = opened else {
            self.copied.failed += 1;
            return Ok(());
        };
        let number = (like.st_dev, like.st_ino);
        if like.st_nlink > 1 {
            if let Some(first) = self.names.get(&number) {
                linkat(&self.top, first, &self.current_dir, name, AtFlags::empty())
                    .map_err(CopyError::new("link", name))?;
                self.copied.hard_links += 1;
                return Ok(());
            }
            self.names.insert(number, self.path_of(name));
        }
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let made =
            openat(&self.current_dir, name, flags | OFlags::NOFOLLOW, Mode::from_raw_mode(0o600));
        let made = made.map_err(CopyError::new("make", name))?;
        let bytes = u64::try_from(like.st_size).unwrap_or(0);
        if !self.content(&file, &made, bytes).map_err(CopyError::new("write", name))? {
            self.copied.failed += 1;
        }
        copy_attributes(&made, &like);
        self.copied.files += 1;
        Ok(())
    }

    /// Copies the data between the holes; false if some data could not be read.
    fn content(&mut self, from: &OwnedFd, to: &OwnedFd, bytes: u64) -> Result<bool, Errno> {
        let mut at = 0;
        let mut is_whole = true;
        while at < bytes {
            let data = match seek(from, SeekFrom::Data(at)) {
                Ok(data) => data,
                // Only a hole is left up to the end.
                Err(Errno::NXIO) => break,
                // The filesystem does not support SEEK_DATA.
                Err(_) => at,
            };
            let hole = seek(from, SeekFrom::Hole(data)).unwrap_or(bytes).min(bytes);
            let seeks = seek(from, SeekFrom::Start(data)).is_ok();
            seek(to, SeekFrom::Start(data))?;
            let done =
                if seeks { self.copy_range(from, to, hole.saturating_sub(data))? } else { 0 };
            if data.saturating_add(done) < hole || done == 0 {
                is_whole = data >= bytes;
                break;
            }
            at = hole;
        }
        ftruncate(to, bytes)?;
        Ok(is_whole)
    }

    /// Copies up to `bytes`; returns the number copied, which is less at the end of the file or
    /// after a read error.
    fn copy_range(&mut self, from: &OwnedFd, to: &OwnedFd, bytes: u64) -> Result<u64, Errno> {
        let mut done = 0;
        while done < bytes {
            let length = usize::try_from(bytes - done).unwrap_or(PIECE).min(PIECE);
            let Ok(got @ 1..) = read(from.as_fd(), &mut self.buffer[..length]) else { break };
            let mut unwritten = &self.buffer[..got];
            while !unwritten.is_empty() {
                let written = write(to.as_fd(), unwritten)?;
                unwritten = &unwritten[written..];
            }
            done += got as u64;
            self.copied.bytes += got as u64;
        }
        Ok(done)
    }

    /// Path of an entry of the current directory, relative to the top of the copy.
    fn path_of(&self, name: &CStr) -> CString {
        let mut path = Vec::new();
        for (dir, _) in &self.path {
            path.extend_from_slice(dir.to_bytes());
            path.push(b'/');
        }
        path.extend_from_slice(name.to_bytes());
        CString::new(path).unwrap_or_default()
    }
}

/// Opens a directory of the copy, without following links.
fn open_dir(at: BorrowedFd<'_>, name: &CStr) -> Result<OwnedFd, Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    openat(at, name, flags, Mode::empty())
}

/// Sets mode, owner and times; failures are ignored.
fn copy_attributes(made: &OwnedFd, like: &Stat) {
    let (owner, group) = (Uid::from_raw(like.st_uid), Gid::from_raw(like.st_gid));
    let _only_for_show = fchown(made, Some(owner), Some(group));
    let _only_for_show = fchmod(made, Mode::from_raw_mode(like.st_mode & 0o7777));
    let _only_for_show = rustix::fs::futimens(made, &times(like));
}

fn times(like: &Stat) -> Timestamps {
    let time = |seconds: i64, nanoseconds: u64| Timespec {
        tv_sec: seconds,
        tv_nsec: i64::try_from(nanoseconds).unwrap_or(0),
    };
    Timestamps {
        last_access: time(like.st_atime, like.st_atime_nsec),
        last_modification: time(like.st_mtime, like.st_mtime_nsec),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::fd::AsFd;
    use std::os::unix::fs::{FileExt, MetadataExt, PermissionsExt, symlink};

    use treering_sys::{FileType, open_top};

    use super::{CopiedTree, ImageCopier};

    #[test]
    fn names_content_holes_links_and_modes_are_copied() {
        let place = tempfile::tempdir_in(".").unwrap();
        let path = |name: &str| place.path().join(name);
        fs::create_dir_all(path("from/dir")).unwrap();
        fs::create_dir(path("to")).unwrap();
        fs::write(path("from/dir/file"), vec![7; 3_000_000]).unwrap();
        fs::set_permissions(path("from/dir/file"), fs::Permissions::from_mode(0o640)).unwrap();
        fs::set_permissions(path("from/dir"), fs::Permissions::from_mode(0o750)).unwrap();
        fs::hard_link(path("from/dir/file"), path("from/name")).unwrap();
        symlink("dir/file", path("from/link")).unwrap();
        let sparse = fs::File::create(path("from/sparse")).unwrap();
        sparse.write_all_at(b"middle", 4 << 20).unwrap();
        sparse.set_len(8 << 20).unwrap();
        fs::write(path("from/empty"), "").unwrap();
        let (from, to) = (open_top(&path("from")).unwrap(), open_top(&path("to")).unwrap());
        let dir = open_top(&path("from/dir")).unwrap();
        let mut copier = ImageCopier::new(from.as_fd(), to.as_fd()).unwrap();
        let top = from.as_fd();
        copier.entry(top, c"name", FileType::RegularFile).unwrap();
        copier.entry(top, c"sparse", FileType::RegularFile).unwrap();
        copier.entry(top, c"empty", FileType::RegularFile).unwrap();
        copier.entry(top, c"link", FileType::Symlink).unwrap();
        copier.entry(top, c"gone", FileType::RegularFile).unwrap();
        copier.entry(top, c"pipe", FileType::Fifo).unwrap();
        copier.enter(dir.as_fd(), c"dir").unwrap();
        copier.entry(dir.as_fd(), c"file", FileType::RegularFile).unwrap();
        copier.leave().unwrap();
        let CopiedTree { files, directories, hard_links, symlinks, bytes, others, failed } =
            copier.copied();
        assert_eq!((files, directories, hard_links, symlinks), (3, 1, 1, 1));
        assert_eq!((others, failed), (1, 1));
        assert!(bytes < 8 << 20, "holes stay holes: {bytes}");
        for name in ["dir/file", "name", "sparse", "empty"] {
            let read = |top: &str| fs::read(path(top).join(name)).unwrap();
            assert!(read("from") == read("to"), "{name}");
        }
        let metadata = |name: &str| fs::symlink_metadata(path("to").join(name)).unwrap();
        assert_eq!(metadata("name").ino(), metadata("dir/file").ino());
        assert_eq!(
            (metadata("name").mode() & 0o7777, metadata("dir").mode() & 0o7777),
            (0o640, 0o750)
        );
        assert!(metadata("sparse").blocks() * 512 < 4 << 20);
        assert_eq!(fs::read_link(path("to/link")).unwrap().to_str(), Some("dir/file"));
        let again = copier.entry(top, c"empty", FileType::RegularFile).unwrap_err();
        assert!(again.to_string().contains("cannot make empty in the copy"), "{again}");
        assert!(!again.is_full());
    }
}

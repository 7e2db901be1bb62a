//! Files that appear under their name whole or not at all: written without a name where the
//! filesystem can (`O_TMPFILE`), else under a temporary one beside it; flushed; named last.
//!
//! A kill at any moment leaves the old file or the new one. Pipes, terminals and devices have no
//! content that could be partial: they are written in place.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt, fchown};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use rustix::fs::{AtFlags, CWD, OFlags, RenameFlags, linkat, renameat_with};
use rustix::io::Errno;

/// Counter that distinguishes concurrent writes of one process.
static COUNTER: AtomicU32 = AtomicU32::new(0);

/// Policy for an existing file of the name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExistingFile {
    /// The file is kept, and publishing fails with `AlreadyExists`.
    Keep,
    /// The file is replaced; its mode stays.
    Replace,
}

/// Location of the content until it is published.
#[derive(Debug)]
enum DraftLocation {
    /// In a file without a name.
    Nameless,
    /// In a file with a temporary name.
    Named(PathBuf),
    /// In the file itself.
    InPlace,
}

/// File being written. Dropping it before it is published leaves nothing.
#[derive(Debug)]
pub struct WholeFile {
    file: File,
    place: PathBuf,
    draft: DraftLocation,
    existing: ExistingFile,
}

impl WholeFile {
    /// Begins a file that will be published at `place`; `mode` (less the umask) applies if it does
    /// not exist.
    ///
    /// # Errors
    /// When an existing file is to be kept or is not writable, or no file can be created.
    pub fn create(place: &Path, mode: u32, existing: ExistingFile) -> io::Result<Self> {
        if existing == ExistingFile::Keep {
            if fs::symlink_metadata(place).is_ok() {
                return Err(io::ErrorKind::AlreadyExists.into());
            }
            let (file, draft) = draft_beside(place, mode)?;
            return Ok(Self { file, place: place.to_owned(), draft, existing });
        }
        let in_place = || {
            let opened = OpenOptions::new().write(true).create(true).truncate(true).open(place);
            opened.map(|file| (file, place.to_owned(), DraftLocation::InPlace))
        };
        let (file, place, draft) = match fs::metadata(place) {
            Ok(there) if there.is_file() => {
                // Whoever may not write the file may not replace it either.
                OpenOptions::new().write(true).open(place)?;
                let resolved = place.canonicalize()?;
                match draft_beside(&resolved, mode) {
                    Ok((file, draft)) => {
                        keep_owner_and_mode(&file, &there)?;
                        (file, resolved, draft)
                    }
                    // A file of ours in a directory of others.
                    Err(error) if is_refused(&error) => in_place()?,
                    Err(error) => return Err(error),
                }
            }
            // A link to nothing makes the file that it leads to.
            Err(error)
                if error.kind() == io::ErrorKind::NotFound
                    && fs::symlink_metadata(place).is_err() =>
            {
                let (file, draft) = draft_beside(place, mode)?;
                (file, place.to_owned(), draft)
            }
            _ => in_place()?,
        };
        Ok(Self { file, place, draft, existing })
    }

    /// File to write the content to.
    pub fn file(&self) -> &File {
        &self.file
    }

    /// Flushes the file and publishes it under its name.
    ///
    /// # Errors
    /// When it cannot be flushed or renamed; the previous file then stays.
    pub fn publish(mut self) -> io::Result<()> {
        if matches!(self.draft, DraftLocation::InPlace) {
            return Ok(());
        }
        self.file.sync_all()?;
        match (&self.draft, self.existing) {
            (DraftLocation::Nameless, ExistingFile::Keep) => self.name(&self.place)?,
            (DraftLocation::Nameless, ExistingFile::Replace) => match self.name(&self.place) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                    let beside = beside(&self.place);
                    self.name(&beside)?;
                    self.draft = DraftLocation::Named(beside.clone());
                    fs::rename(&beside, &self.place)?;
                }
                named => named?,
            },
            (DraftLocation::Named(beside), ExistingFile::Keep) => {
                rename_to_new(beside, &self.place)?;
            }
            (DraftLocation::Named(beside), ExistingFile::Replace) => {
                fs::rename(beside, &self.place)?;
            }
            (DraftLocation::InPlace, _) => {}
        }
        self.draft = DraftLocation::InPlace;
        // A directory that can be written but not read cannot be opened to be flushed.
        match File::open(parent(&self.place)) {
            Ok(directory) => directory.sync_all(),
            Err(_) => Ok(()),
        }
    }

    /// Gives a nameless file its name; never replaces another file.
    fn name(&self, path: &Path) -> io::Result<()> {
        let nameless = format!("/proc/self/fd/{}", self.file.as_raw_fd());
        Ok(linkat(CWD, nameless, CWD, path, AtFlags::SYMLINK_FOLLOW)?)
    }
}

impl Drop for WholeFile {
    fn drop(&mut self) {
        if let DraftLocation::Named(beside) = &self.draft {
            let _gone_already = fs::remove_file(beside);
        }
    }
}

/// Writes a file that appears whole or not at all; an existing one is replaced.
///
/// # Errors
/// Those of `write`, and those of [`WholeFile`].
pub fn write_whole_file(
    place: &Path,
    write: impl FnOnce(&File) -> io::Result<()>,
) -> io::Result<()> {
    let whole = WholeFile::create(place, 0o666, ExistingFile::Replace)?;
    write(whole.file())?;
    whole.publish()
}

fn draft_beside(place: &Path, mode: u32) -> io::Result<(File, DraftLocation)> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).mode(mode);
    // Without /proc a file could not be named later.
    if Path::new("/proc/self/fd").is_dir() {
        let nameless = OFlags::TMPFILE.bits().cast_signed();
        match options.clone().custom_flags(nameless).open(parent(place)) {
            Ok(file) => return Ok((file, DraftLocation::Nameless)),
            Err(error) if is_without_nameless(&error) => {}
            Err(error) => return Err(error),
        }
    }
    let beside = beside(place);
    let file = options.create_new(true).open(&beside)?;
    Ok((file, DraftLocation::Named(beside)))
}

/// True for the error of a filesystem without nameless files: kernels before 3.11 say `EISDIR`.
fn is_without_nameless(error: &io::Error) -> bool {
    let errno = Errno::from_io_error(error);
    errno.is_some_and(|errno| matches!(errno, Errno::OPNOTSUPP | Errno::ISDIR | Errno::INVAL))
}

fn is_refused(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem)
}

/// A temporary name of bounded length in the same directory.
fn beside(place: &Path) -> PathBuf {
    let count = COUNTER.fetch_add(1, Ordering::Relaxed);
    parent(place).join(format!(".treering-{}-{count}.partial", std::process::id()))
}

fn parent(place: &Path) -> &Path {
    match place.parent() {
        Some(parent) if parent.as_os_str().is_empty() => Path::new("."),
        Some(parent) => parent,
        None => Path::new("/"),
    }
}

fn keep_owner_and_mode(file: &File, there: &fs::Metadata) -> io::Result<()> {
    // Only root can give files away; anybody else gets their own.
    let _stays_ours = fchown(file, Some(there.uid()), Some(there.gid()));
    file.set_permissions(Permissions::from_mode(there.mode() & 0o7777))
}

/// Renames a file to a name that is not in use.
fn rename_to_new(beside: &Path, place: &Path) -> io::Result<()> {
    match renameat_with(CWD, beside, CWD, place, RenameFlags::NOREPLACE) {
        // Filesystems without this flag have links, which never replace a file either.
        Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => {
            fs::hard_link(beside, place)?;
            fs::remove_file(beside)
        }
        renamed => Ok(renamed?),
    }
}

#[cfg(test)]
mod tests {
    use super::{DraftLocation, ExistingFile, WholeFile, draft_beside, write_whole_file};
    use std::fs::{self, File};
    use std::io::{self, Write};
    use std::os::unix::fs::{PermissionsExt, symlink};
    use std::path::Path;

    fn names(dir: &Path) -> Vec<String> {
        let entries = fs::read_dir(dir).unwrap();
        let mut names: Vec<_> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    /// File whose draft has a temporary name, as on a filesystem without nameless files.
    fn named(place: &Path, existing: ExistingFile) -> WholeFile {
        let beside = super::beside(place);
        let file = File::create_new(&beside).unwrap();
        WholeFile { file, place: place.to_owned(), draft: DraftLocation::Named(beside), existing }
    }

    #[test]
    fn a_file_that_is_not_published_leaves_nothing_and_the_old_content_stays() {
        let top = tempfile::tempdir().unwrap();
        let place = top.path().join("report");
        let failed = write_whole_file(&place, |mut file| {
            file.write_all(b"half")?;
            Err(io::Error::other("killed"))
        });
        assert!(failed.is_err());
        assert_eq!(names(top.path()), Vec::<String>::new());
        fs::write(&place, "old").unwrap();
        let unnamed = || WholeFile::create(&place, 0o666, ExistingFile::Replace).unwrap();
        let with_name = || named(&place, ExistingFile::Replace);
        let makers: [&dyn Fn() -> WholeFile; 2] = [&unnamed, &with_name];
        for make in makers {
            let whole = make();
            whole.file().write_all(b"half").unwrap();
            assert_eq!(fs::read(&place).unwrap(), b"old");
            drop(whole);
            assert_eq!((names(top.path()).len(), fs::read(&place).unwrap()), (1, b"old".to_vec()));
        }
    }

    #[test]
    fn a_published_file_replaces_the_content_and_keeps_mode_and_link() {
        let top = tempfile::tempdir().unwrap();
        let (place, link) = (top.path().join("report"), top.path().join("link"));
        fs::write(&place, "a longer old text").unwrap();
        fs::set_permissions(&place, fs::Permissions::from_mode(0o640)).unwrap();
        symlink("report", &link).unwrap();
        write_whole_file(&link, |mut file| file.write_all(b"new")).unwrap();
        assert_eq!(fs::read(&place).unwrap(), b"new");
        assert_eq!(place.metadata().unwrap().permissions().mode() & 0o777, 0o640);
        assert!(link.symlink_metadata().unwrap().is_symlink());
        named(&place, ExistingFile::Replace).publish().unwrap();
        assert_eq!(fs::read(&place).unwrap(), b"");
        assert_eq!(names(top.path()), ["link", "report"]);
    }

    #[test]
    fn a_file_that_is_to_be_kept_is_never_replaced() {
        let top = tempfile::tempdir().unwrap();
        let place = top.path().join("image");
        let early = WholeFile::create(&place, 0o600, ExistingFile::Keep).unwrap();
        let late = named(&place, ExistingFile::Keep);
        fs::write(&place, "of somebody else").unwrap();
        for whole in [early, late] {
            let refused = whole.publish().unwrap_err();
            assert_eq!(refused.kind(), io::ErrorKind::AlreadyExists);
        }
        assert!(WholeFile::create(&place, 0o600, ExistingFile::Keep).is_err());
        assert_eq!(fs::read(&place).unwrap(), b"of somebody else");
        assert_eq!(names(top.path()), ["image"]);
        let other = top.path().join("other");
        named(&other, ExistingFile::Keep).publish().unwrap();
        WholeFile::create(&top.path().join("third"), 0o600, ExistingFile::Keep)
            .unwrap()
            .publish()
            .unwrap();
        assert_eq!(names(top.path()), ["image", "other", "third"]);
    }

    #[test]
    fn a_pipe_or_device_is_written_in_place() {
        write_whole_file(Path::new("/dev/null"), |mut file| file.write_all(b"x")).unwrap();
        assert!(write_whole_file(Path::new("/"), |_| Ok(())).is_err());
        let top = tempfile::tempdir().unwrap();
        symlink("target", top.path().join("link")).unwrap();
        let link = top.path().join("link");
        write_whole_file(&link, |mut file| file.write_all(b"x")).unwrap();
        assert_eq!(fs::read(top.path().join("target")).unwrap(), b"x");
        assert!(draft_beside(&top.path().join("none/file"), 0o600).is_err());
    }
}

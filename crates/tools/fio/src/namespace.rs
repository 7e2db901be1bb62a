//! Names of the files of all jobs: a directory number and a name within the directory.

use std::collections::HashMap;
use std::ffi::CString;
use std::fmt::Write;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

use crate::language::{Section, joined_path};
use treering_script::{Call, ConfigError, DirSlot};

use super::file_hash::hash;

/// Prefix of the directories that a native run creates below the target.
pub(super) const DIRECTORY: &str = "fio-";
/// Maximum number of directories of all jobs; each occupies a slot.
const DIRECTORIES_MAX: usize = 1000;
/// Longest file name of Linux, in bytes.
const NAME_BYTES_MAX: usize = 255;

/// Name of a directory below the target.
pub(super) fn directory(number: usize) -> String {
    format!("{DIRECTORY}{number}")
}

/// Names of the first `count` directories.
pub(super) fn numbered(count: usize) -> Vec<String> {
    (0..count).map(directory).collect()
}

/// File: the number of its directory, and its name within.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct FileName {
    pub(super) directory: u16,
    pub(super) name: CString,
    /// True for a block device, whose name is a whole path.
    pub(super) is_device: bool,
}

impl FileName {
    /// Slot of its directory.
    pub(super) const fn dir(&self) -> DirSlot {
        if self.is_device { DirSlot::DEVICES } else { slot(self.directory) }
    }
}

/// Slot of a directory.
pub(super) const fn slot(directory: u16) -> DirSlot {
    DirSlot(directory + 1)
}

/// Directories that the jobs name.
#[derive(Clone, Debug, Default)]
pub(super) struct Namespace {
    /// Paths of the directories as the jobs spell them, in the order of first use.
    pub(super) directories: Vec<String>,
    numbers: HashMap<String, u16>,
    /// Directory at which relative paths of logs begin.
    pub(super) base: PathBuf,
    /// True for classic runs, whose directories are anywhere and not below a target.
    pub(super) classic: bool,
    /// True if the paths of the jobs lead to existing files below the target.
    pub(super) in_place: bool,
    /// True if device names are accepted; no request is made to them.
    pub(super) allows_devices: bool,
}

impl Namespace {
    pub(super) fn new(classic: bool) -> Self {
        Self { classic, ..Self::default() }
    }

    /// Namespace of a native run, whose files are there (`in_place`) or in directories of its own.
    pub(super) fn native(in_place: bool) -> Self {
        Self { in_place, ..Self::default() }
    }

    /// Names of the directories below the target, by their numbers.
    pub(super) fn names(&self) -> Vec<String> {
        if self.in_place { self.directories.clone() } else { numbered(self.directories.len()) }
    }

    /// Accepts or refuses device names.
    pub(super) fn with_devices(self, allows_devices: bool) -> Self {
        Self { allows_devices, ..self }
    }

    /// Has relative paths of logs begin at this directory.
    pub(super) fn in_directory(self, base: PathBuf) -> Self {
        Self { base, ..self }
    }

    fn number(&mut self, directory: &str) -> Result<u16, ConfigError> {
        if let Some(&number) = self.numbers.get(directory) {
            return Ok(number);
        }
        let number = u16::try_from(self.directories.len()).unwrap_or(u16::MAX);
        if usize::from(number) >= DIRECTORIES_MAX {
            return Err(ConfigError::new(format!(
                "the jobs name more than {DIRECTORIES_MAX} directories"
            ))
            .hint("use fewer directories"));
        }
        self.directories.push(directory.to_owned());
        self.numbers.insert(directory.to_owned(), number);
        Ok(number)
    }

    /// Adds the files of a clone, and their directories.
    pub(super) fn files(
        &mut self,
        job: &Section,
        clone: u64,
    ) -> Result<Vec<FileName>, ConfigError> {
        let mut files = Vec::new();
        for number in 0..job.files {
            files.push(self.file(job, spelled(job, clone, number))?);
        }
        Ok(files)
    }

    /// Hashes of the file paths, if seeds depend on them. In native runs the paths are those that
    /// the original gets with `--with-fio`.
    pub(super) fn hashes(&self, job: &Section, clone: u64, files: &[FileName]) -> Vec<u32> {
        if !(job.rw.random && job.draws.distribution.is_by_file()) {
            return Vec::new();
        }
        let below = |file: &FileName| {
            [beside(file.directory).as_bytes(), b"/", file.name.as_bytes()].concat()
        };
        let of = |(number, file): (u64, &FileName)| {
            hash(&if self.classic { spelled(job, clone, number).into_bytes() } else { below(file) })
        };
        (0..).zip(files).map(of).collect()
    }

    /// Directories and file names of a job for the original, as paths relative to a sibling
    /// directory.
    pub(super) fn relayed(
        &mut self,
        job: &Section,
    ) -> Result<(Option<String>, Option<String>), ConfigError> {
        let colons = |names: Vec<String>| names.join(":");
        if !job.filenames.is_empty() {
            let mut paths = Vec::new();
            for path in &job.filenames {
                let FileName { directory, name, .. } = self.file_below(job, path.clone())?;
                let name = name.to_string_lossy().replace(':', "\\:");
                paths.push(format!("{}/{name}", beside(directory)));
            }
            return Ok((None, Some(colons(paths))));
        }
        let here = [".".to_owned()];
        let named = if job.directories.is_empty() { &here[..] } else { &job.directories };
        let mut directories = Vec::new();
        for directory in named {
            let path = joined_path(Some(directory), "file");
            directories.push(beside(self.file_below(job, path)?.directory));
        }
        Ok((Some(colons(directories)), None))
    }

    /// A file of a job that the original runs, which is no device.
    fn file_below(&mut self, job: &Section, path: String) -> Result<FileName, ConfigError> {
        let file = self.file(job, path)?;
        if !file.is_device {
            return Ok(file);
        }
        let name = file.name.to_string_lossy();
        let what = format!("[{}]: the file '{}' is a device", job.name, name.escape_debug());
        Err(ConfigError::new(what).hint("leave --with-fio out, or run treering fio"))
    }

    fn file(&mut self, job: &Section, path: String) -> Result<FileName, ConfigError> {
        // Jobs that are only read touch no file.
        let looks = self.classic && !self.allows_devices;
        let whole = if looks { resolve_link(path.clone()) } else { path.clone() };
        let (parent, name) = whole.rsplit_once('/').unwrap_or((".", &whole));
        let parent = if parent.is_empty() { "/" } else { parent };
        let wrong = |why: &str| {
            let what = format!("[{}]: the file '{}' {why}", job.name, path.escape_debug());
            ConfigError::new(what).hint("name files by directory= and filename=")
        };
        if name.is_empty() || name == "." || name == ".." || name.len() > NAME_BYTES_MAX {
            return Err(wrong("has no name that a file can have"));
        }
        let parent = plain(parent);
        if self.in_place && (parent.starts_with('/') || parent.split('/').any(|part| part == ".."))
        {
            return Err(wrong("is outside of the directory in which the job works in place"));
        }
        let among_devices =
            || !self.numbers.contains_key(&parent) && is_among_devices(Path::new(&parent));
        let named = |name: &str| CString::new(name).map_err(|_nul| wrong("has a NUL in its name"));
        if !self.allows_devices && (among_devices() || looks && is_no_file(Path::new(&whole))) {
            // A device that is missing is the error of its job, when it is opened.
            let is_device = is_block_device_or_missing(Path::new(&whole));
            let whole = std::path::absolute(&whole)
                .ok()
                .and_then(|path| path.into_os_string().into_string().ok())
                .unwrap_or(whole);
            if is_device && !job.extras.creates_only {
                return Ok(FileName { directory: 0, name: named(&whole)?, is_device });
            }
            return Err(wrong("is a device, and no block device")
                .hint("treering works on files and block devices"));
        }
        let directory = self.number(&parent)?;
        Ok(FileName { directory, name: named(name)?, is_device: false })
    }

    /// The call that opens a directory: one of the roots, or one below the target.
    pub(super) fn open<'n>(&self, number: u16, name: &'n CString) -> Call<'n> {
        if self.classic {
            Call::OpenRoot { root: number, into: slot(number) }
        } else if self.in_place && name.as_bytes() == b"." {
            Call::OpenRoot { root: 0, into: slot(number) }
        } else {
            Call::OpenDir { at: DirSlot::TARGET, path: name, into: slot(number) }
        }
    }
}

/// Directory of a clone's files, if the job names any.
fn directory_of(job: &Section, clone: u64) -> Option<&str> {
    let count = job.directories.len() as u64;
    let place = usize::try_from(clone.checked_rem(count)?).ok()?;
    job.directories.get(place).map(String::as_str)
}

/// Path of a clone's file as the original spells it.
pub(super) fn spelled(job: &Section, clone: u64, number: u64) -> String {
    let named = usize::try_from(number).ok().and_then(|at| job.filenames.get(at));
    named.cloned().unwrap_or_else(|| {
        let name = format_name(&job.filename_format, &job.heading.title, clone, number);
        joined_path(directory_of(job, clone), &name)
    })
}

/// Path of a directory below the target, relative to a sibling.
fn beside(number: u16) -> String {
    format!("../{}", directory(usize::from(number)))
}

/// Resolves a symbolic link, so that its destination is worked on and the link stays. Circular
/// links are returned unresolved.
fn resolve_link(path: String) -> String {
    let (mut at, mut left) = (path, LINKS_MAX);
    while let Ok(target) = std::fs::read_link(&at)
        && left > 0
    {
        left -= 1;
        let from = Path::new(&at).parent().unwrap_or(Path::new(""));
        let Ok(next) = from.join(target).into_os_string().into_string() else { break };
        at = next;
    }
    at
}

/// Maximum number of symbolic links that the kernel follows in one path.
const LINKS_MAX: u32 = 40;

/// True if the directory, resolved, is the one of the devices.
fn is_among_devices(directory: &Path) -> bool {
    let real = directory.canonicalize().unwrap_or_else(|_missing| directory.to_owned());
    real.starts_with("/dev") && !real.starts_with("/dev/shm")
}

/// True if the path exists and neither is a regular file nor leads to one, so that it must not be
/// removed.
fn is_no_file(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|metadata| {
        let kind = metadata.file_type();
        !(kind.is_file() || kind.is_symlink() || kind.is_dir())
    })
}

/// True if the path leads to a block device.
pub(crate) fn is_block_device(path: &Path) -> bool {
    path.metadata().is_ok_and(|metadata| metadata.file_type().is_block_device())
}

/// True if the path leads to a block device, or to nothing.
fn is_block_device_or_missing(path: &Path) -> bool {
    let is_missing = |error: std::io::Error| error.kind() == std::io::ErrorKind::NotFound;
    is_block_device(path) || path.metadata().is_err_and(is_missing)
}

/// Normalises a path, so that one directory has one spelling.
fn plain(path: &str) -> String {
    let mut plain = String::new();
    let parts = path.split('/').filter(|part| !part.is_empty() && *part != ".");
    for part in parts {
        if !plain.is_empty() || path.starts_with('/') {
            plain.push('/');
        }
        plain.push_str(part);
    }
    match (plain.is_empty(), path.starts_with('/')) {
        (true, true) => "/".to_owned(),
        (true, false) => ".".to_owned(),
        (false, _) => plain,
    }
}

/// Generated name of a file that the job does not name.
fn format_name(format: &str, job: &str, clone: u64, file: u64) -> String {
    let format = if format.is_empty() { "$jobname.$jobnum.$filenum" } else { format };
    let (mut name, mut rest) = (String::new(), format);
    while let Some(at) = rest.find('$') {
        name.push_str(&rest[..at]);
        rest = &rest[at..];
        // Writing into a string cannot fail.
        if let Some(after) = rest.strip_prefix("$jobname") {
            name.push_str(job);
            rest = after;
        } else if let Some(after) = rest.strip_prefix("$jobnum") {
            let _ = write!(name, "{clone}");
            rest = after;
        } else if let Some(after) = rest.strip_prefix("$filenum") {
            let _ = write!(name, "{file}");
            rest = after;
        } else {
            name.push('$');
            rest = &rest[1..];
        }
    }
    name + rest
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{
        format_name, is_among_devices, is_block_device_or_missing, is_no_file, plain, resolve_link,
    };

    #[test]
    fn symbolic_links_are_resolved_to_their_destination() {
        let dir = tempfile::tempdir().unwrap();
        let path = |name: &str| dir.path().join(name).to_str().unwrap().to_owned();
        std::os::unix::fs::symlink("b", path("a")).unwrap();
        std::os::unix::fs::symlink(path("c"), path("b")).unwrap();
        assert_eq!(resolve_link(path("a")), path("c"));
        assert_eq!(resolve_link(path("c")), path("c"));
        std::os::unix::fs::symlink("d", path("d")).unwrap();
        assert!(resolve_link(path("d")).ends_with("/d"));
    }

    #[test]
    fn device_paths_are_recognised_in_any_spelling() {
        for devices in ["/dev", "/proc/../dev", "/dev/../dev/mapper", "/dev/no such directory"] {
            assert!(is_among_devices(Path::new(devices)), "{devices}");
        }
        for place in ["/dev/shm", "/tmp", "device", "/no/such"] {
            assert!(!is_among_devices(Path::new(place)), "{place}");
        }
        assert!(is_no_file(Path::new("/dev/null")));
        assert!(!is_block_device_or_missing(Path::new("/dev/null")));
        assert!(is_block_device_or_missing(Path::new("/dev/no such device")));
        let file = tempfile::NamedTempFile::new().unwrap();
        assert!(!is_no_file(file.path()));
        assert!(!is_no_file(Path::new("/no/such")));
    }

    #[test]
    fn directory_paths_are_normalised() {
        for (path, named) in
            [("/mnt//x/", "/mnt/x"), ("./a/./b", "a/b"), ("./", "."), ("//", "/"), ("../x", "../x")]
        {
            assert_eq!(plain(path), named);
        }
    }

    #[test]
    fn generated_file_names_follow_filename_format() {
        assert_eq!(format_name("$jobname.$jobnum.$filenum", "a", 2, 3), "a.2.3");
        assert_eq!(format_name("f-$filenum$", "a", 2, 3), "f-3$");
        assert_eq!(format_name("", "a b", 0, 0), "a b.0.0");
    }
}

//! tracefs: tracepoint control files, accessed relative to an open directory.
//!
//! An existing mount is used if there is one. Otherwise a detached mount (`fsmount`) is created,
//! which is invisible to other processes and ends with this one.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;

use rustix::fs::{AtFlags, CWD, Mode, OFlags, mkdirat, openat, unlinkat};
use rustix::io::Errno;
use rustix::mount::{FsMountFlags, FsOpenFlags, MountAttrFlags, fsconfig_create, fsmount, fsopen};

use crate::MountTable;

/// Limit of a tracefs file that is read, in bytes.
const FILE_BYTES_MAX: u64 = 1 << 20;

/// Open tracefs root, or one of its instances.
#[derive(Debug)]
pub struct Tracefs {
    root: OwnedFd,
}

impl Tracefs {
    /// Opens tracefs.
    ///
    /// # Errors
    /// `EACCES` and `EPERM` without permission, `ENODEV` if the kernel lacks tracefs.
    pub fn open() -> Result<Self, Errno> {
        let table = MountTable::read().unwrap_or_default();
        let mounted = table.mounts.iter().find(|mount| mount.fs_type == "tracefs");
        // Another mount may cover the mount point.
        if let Some(mount) = mounted
            && let Ok(opened) = Self::at(CWD, &mount.point)
        {
            return Ok(opened);
        }
        let context = fsopen("tracefs", FsOpenFlags::FSOPEN_CLOEXEC)?;
        fsconfig_create(&context)?;
        let flags = MountAttrFlags::MOUNT_ATTR_NOEXEC
            | MountAttrFlags::MOUNT_ATTR_NOSUID
            | MountAttrFlags::MOUNT_ATTR_NODEV;
        let mount = fsmount(&context, FsMountFlags::FSMOUNT_CLOEXEC, flags)?;
        Self::at(mount.as_fd(), Path::new("."))
    }

    fn at(dir: BorrowedFd<'_>, path: &Path) -> Result<Self, Errno> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        // Opening a file checks the permission to read, which opening the directory does not.
        let root = openat(dir, path, flags, Mode::empty())?;
        let opened = Self { root };
        opened.file("trace_clock", OFlags::RDONLY).map(|_readable| opened)
    }

    fn file(&self, name: &str, flags: OFlags) -> Result<File, Errno> {
        let flags = flags | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        openat(&self.root, name, flags, Mode::empty()).map(File::from)
    }

    /// Reads a file as text.
    ///
    /// # Errors
    /// `ENOENT` if the file does not exist, else as `open` and `read`.
    pub fn read(&self, name: &str) -> Result<String, Errno> {
        let mut bytes = Vec::new();
        let file = self.file(name, OFlags::RDONLY)?;
        file.take(FILE_BYTES_MAX).read_to_end(&mut bytes).map_err(|error| errno(&error))?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// Writes a text into a file, in one call.
    ///
    /// # Errors
    /// `EINVAL` if the kernel rejects the text, else as `open` and `write`.
    pub fn write(&self, name: &str, text: &str) -> Result<(), Errno> {
        let mut file = self.file(name, OFlags::WRONLY | OFlags::TRUNC)?;
        file.write_all(text.as_bytes()).map_err(|error| errno(&error))
    }

    /// Appends a text to a file, in one call: a definition of an event or a trigger. Others stay,
    /// which [`Self::write`] would remove.
    ///
    /// # Errors
    /// As [`Self::write`].
    pub fn append(&self, name: &str, text: &str) -> Result<(), Errno> {
        let mut file = self.file(name, OFlags::WRONLY | OFlags::APPEND)?;
        file.write_all(text.as_bytes()).map_err(|error| errno(&error))
    }

    /// Opens the raw ring pages of a CPU for non-blocking reads.
    ///
    /// # Errors
    /// As `open`.
    pub fn raw_pages(&self, cpu: u32) -> Result<OwnedFd, Errno> {
        let name = format!("per_cpu/cpu{cpu}/trace_pipe_raw");
        self.file(&name, OFlags::RDONLY | OFlags::NONBLOCK).map(OwnedFd::from)
    }

    /// Creates and opens an instance with rings of its own.
    ///
    /// # Errors
    /// `EEXIST` if the instance exists, else as `mkdir`.
    pub fn make_instance(&self, name: &str) -> Result<Self, Errno> {
        let path = format!("instances/{name}");
        mkdirat(&self.root, path.as_str(), Mode::from_raw_mode(0o700))?;
        Self::at(self.root.as_fd(), Path::new(&path)).inspect_err(|_| {
            let _nobody_has_it_open = self.remove_instance(name);
        })
    }

    /// Opens an existing instance.
    ///
    /// # Errors
    /// `ENOENT` if it does not exist, else as `open`.
    pub fn instance(&self, name: &str) -> Result<Self, Errno> {
        Self::at(self.root.as_fd(), Path::new(&format!("instances/{name}")))
    }

    /// Removes an instance.
    ///
    /// # Errors
    /// `EBUSY` while one of its files is open, `ENOENT` if it does not exist.
    pub fn remove_instance(&self, name: &str) -> Result<(), Errno> {
        unlinkat(&self.root, format!("instances/{name}"), AtFlags::REMOVEDIR)
    }

    /// Names of the existing instances.
    ///
    /// # Errors
    /// As `open` and `getdents`.
    pub fn instances(&self) -> Result<Vec<String>, Errno> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let dir = openat(&self.root, "instances", flags, Mode::empty())?;
        let mut names = Vec::new();
        for entry in rustix::fs::Dir::read_from(&dir)? {
            let name = entry?.file_name().to_string_lossy().into_owned();
            if name != "." && name != ".." {
                names.push(name);
            }
        }
        Ok(names)
    }
}

fn errno(error: &std::io::Error) -> Errno {
    Errno::from_io_error(error).unwrap_or(Errno::IO)
}

#[cfg(test)]
#[expect(clippy::disallowed_macros, reason = "a test that must be skipped says so")]
mod tests {
    use rustix::io::Errno;

    use super::Tracefs;

    #[test]
    fn files_are_read_and_instances_are_created_and_removed() {
        let traces = match Tracefs::open() {
            Ok(traces) => traces,
            Err(errno) => {
                println!("skipped: no tracefs here: {errno}");
                return;
            }
        };
        let format = traces.read("events/block/block_rq_issue/format").unwrap();
        assert!(format.starts_with("name: block_rq_issue"), "{format}");
        assert_eq!(traces.read("events/block/no_such_event/format").err(), Some(Errno::NOENT));
        let name = format!("treering-test-{}", std::process::id());
        let own = traces.make_instance(&name).unwrap();
        assert_eq!(traces.make_instance(&name).err(), Some(Errno::EXIST));
        own.write("buffer_size_kb", "64").unwrap();
        assert!(own.read("buffer_size_kb").unwrap().trim().parse::<u32>().unwrap() >= 64);
        assert!(traces.instances().unwrap().contains(&name));
        drop(own);
        traces.remove_instance(&name).unwrap();
        assert!(!traces.instances().unwrap().contains(&name));
        assert_eq!(traces.remove_instance(&name), Err(Errno::NOENT));
    }
}

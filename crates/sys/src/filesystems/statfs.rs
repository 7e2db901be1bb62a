//! Filesystem statistics: sizes, free space, type and mount flags (`statvfs`, `statfs`).

use std::os::fd::AsFd;

use rustix::fs::{StatVfsMountFlags, fstatfs, fstatvfs};
use rustix::io::{Errno, retry_on_intr};

/// Statistics of a filesystem.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FilesystemFacts {
    /// Block size in bytes, the unit of allocation.
    pub block_bytes: u64,
    /// Capacity in bytes.
    pub capacity_bytes: u64,
    /// Bytes available to this process.
    pub free_bytes: u64,
    /// Free bytes, including those reserved for the superuser.
    pub unused_bytes: u64,
    /// Inodes available to this process; `None` if their number is not limited in advance.
    pub free_inodes: Option<u64>,
    /// Used and total inodes; `None` if their number is not limited in advance.
    pub used_inodes: Option<(u64, u64)>,
    /// Filesystem magic number (`f_type`).
    pub type_magic: u64,
    /// Mount flags, named as in mount(8).
    pub flags: Vec<&'static str>,
}

impl FilesystemFacts {
    /// Reports whether the mount is read-only.
    pub fn is_read_only(&self) -> bool {
        self.flags.contains(&"ro")
    }
}

const FLAGS: [(StatVfsMountFlags, &str); 9] = [
    (StatVfsMountFlags::RDONLY, "ro"),
    (StatVfsMountFlags::NOSUID, "nosuid"),
    (StatVfsMountFlags::NODEV, "nodev"),
    (StatVfsMountFlags::NOEXEC, "noexec"),
    (StatVfsMountFlags::SYNCHRONOUS, "sync"),
    (StatVfsMountFlags::MANDLOCK, "mand"),
    (StatVfsMountFlags::NOATIME, "noatime"),
    (StatVfsMountFlags::NODIRATIME, "nodiratime"),
    (StatVfsMountFlags::RELATIME, "relatime"),
];

/// Statistics of the filesystem that contains an open file.
///
/// # Errors
/// As `fstatfs`.
pub fn filesystem_facts(fd: impl AsFd) -> Result<FilesystemFacts, Errno> {
    let figures = retry_on_intr(|| fstatvfs(&fd))?;
    let kind = retry_on_intr(|| fstatfs(&fd))?;
    let unit = if figures.f_frsize == 0 { figures.f_bsize } else { figures.f_frsize };
    let flags = FLAGS.iter().filter(|(flag, _)| figures.f_flag.contains(*flag));
    Ok(FilesystemFacts {
        block_bytes: unit,
        capacity_bytes: figures.f_blocks.saturating_mul(unit),
        free_bytes: figures.f_bavail.saturating_mul(unit),
        unused_bytes: figures.f_bfree.saturating_mul(unit),
        free_inodes: (figures.f_files > 0).then_some(figures.f_favail),
        used_inodes: (figures.f_files > 0)
            .then(|| (figures.f_files.saturating_sub(figures.f_ffree), figures.f_files)),
        // The magic has 32 bits; some types use all of them, and the field is signed.
        type_magic: kind.f_type.cast_unsigned() & 0xffff_ffff,
        flags: flags.map(|&(_, word)| word).collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::filesystem_facts;
    use std::fs::File;

    #[test]
    fn a_directory_has_capacity_and_type() {
        let place = tempfile::tempdir().unwrap();
        let facts = filesystem_facts(File::open(place.path()).unwrap()).unwrap();
        assert!(facts.block_bytes.is_power_of_two());
        assert!(facts.free_bytes > 0 && facts.free_bytes <= facts.unused_bytes);
        assert!(facts.unused_bytes <= facts.capacity_bytes);
        assert!(!facts.is_read_only());
    }

    #[test]
    fn proc_has_its_own_magic() {
        let facts = filesystem_facts(File::open("/proc").unwrap()).unwrap();
        assert_eq!(facts.type_magic, 0x9fa0);
        assert_eq!(facts.free_inodes, None);
    }
}

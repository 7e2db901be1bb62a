//! Facts about filesystems, in one table: a file for each family, a line for each file in
//! `FAMILIES`. What is done with a fact (calling mkfs, reading a superblock) is not here.
//!
//! Names of filesystems and their numbers stand here and nowhere else; `cargo xtask tidy` refuses
//! them elsewhere.

mod btrfs;
mod ext;
mod f2fs;
mod nilfs2;
mod recognised;
mod tmpfs;
mod xfs;

pub use btrfs::BTRFS;
pub use ext::{EXT2, EXT3, EXT4, ext_copies, ext_signature};
pub use f2fs::F2FS;
pub use recognised::{FAT, PLAYED_MOUNT, USER_SPACE_CONNECTIONS, USER_SPACE_DEVICE, ZFS};
pub use xfs::{XFS, xfs_copies};

/// Every family, in the order in which its members are listed. Of filesystems with one number the
/// first is the one that is distinguished from the number alone.
const FAMILIES: &[&[Filesystem]] =
    &[ext::ALL, xfs::ALL, btrfs::ALL, f2fs::ALL, tmpfs::ALL, nilfs2::ALL, recognised::ALL];

/// What is known of one filesystem.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Filesystem {
    /// The type by which the kernel mounts it.
    pub name: &'static str,
    /// The number that `statfs` gives (`f_type`), from linux/magic.h or the filesystem's own
    /// header; 0 where it has none that we know.
    pub magic: u64,
    /// Magic numbers on the device that need no second look.
    pub signatures: &'static [Signature],
    /// Names of the signatures that its mkfs may leave, its own first.
    pub leaves: &'static [&'static str],
    /// How a fresh one is made.
    pub making: Making,
    /// The option of the kernel's configuration that brings it.
    pub kernel_option: &'static str,
    /// The smallest device in bytes: below it mkfs refuses, or makes something that nobody uses.
    pub bytes_min: u64,
    /// The mount option by which further devices are named; `None` where it has one device only.
    pub device_option: Option<&'static str>,
    /// Compared when nobody names filesystems.
    pub is_usual: bool,
    /// Its files are in memory and nowhere else.
    pub is_in_memory: bool,
    /// It is on a disk, and `statfs` counts in blocks of that disk. Elsewhere a "block" is
    /// something else: a request of NFS, a record of ZFS.
    pub has_blocks: bool,
    /// Directories list the inode numbers that `stat` gives. Elsewhere they may not: overlayfs
    /// lists the numbers of its layers, among which different files share one.
    pub lists_inodes: bool,
    /// The device begins with a boot sector, whose last two bytes are those of a partition table.
    pub has_boot_sector: bool,
    /// How it is mounted so that nothing of it is changed.
    pub untouched: Option<UntouchedMount>,
    /// Mount options by which a copy is mounted while its original may be, too.
    pub of_copies: &'static [&'static str],
    /// Where the 16 bytes of its UUID are on the device; `None` where that is not known.
    pub uuid_offset: Option<u64>,
    /// The program that checks an unmounted one and changes nothing; it comes with mkfs.
    pub checking: Option<Checking>,
    /// How often metadata is stored.
    pub metadata: Metadata,
    /// Where sysfs lists the devices of a mounted one.
    pub members: Option<Members>,
    /// How its lines in the kernel's log begin.
    pub log_prefixes: &'static [&'static str],
    /// Options of the kernel's configuration that check it at run time, and make it slow.
    pub debug_options: &'static [&'static str],
    /// Mount options that leave out the flushes which keep the order of writes.
    pub barrier_off: &'static [&'static str],
}

/// How a fresh one is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Making {
    /// Not by us.
    Never,
    /// By the mount alone, without a device.
    Mounted {
        /// The mount options that set its size; the first is given a number of bytes.
        size: &'static [&'static str],
    },
    /// By a program, on a device.
    Formatted(&'static Mkfs),
}

/// The program that makes a filesystem.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mkfs {
    /// Its name.
    pub program: &'static str,
    /// The package it comes in, by its name in Debian.
    pub package: &'static str,
    /// What makes it tell its version.
    pub version_argument: &'static str,
    /// Letters that take a value, as in the option string of getopt(3).
    pub with_value: &'static str,
    /// What makes it overwrite a filesystem; empty where it does so anyway. The guard has looked
    /// at the device, and mkfs would otherwise stop at our own filesystem of the trial before.
    pub force: &'static [&'static str],
    /// The options that set the label, without their dashes, the letter first.
    pub label: &'static [&'static str],
    /// Settings added behind `-E`, unless the user gives them.
    pub extended: &'static [&'static str],
    /// Options of the user that are not passed on.
    pub refused: &'static [RefusedOption],
}

/// An option of the user that is not passed on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RefusedOption {
    /// Its letter.
    pub letter: &'static str,
    /// How often it may be given all the same.
    pub times_max: usize,
    /// Why not.
    pub why: &'static str,
}

/// Where a magic number stands, and what it says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Signature {
    /// What it belongs to, in the field's usual word: `XFS`, `XFS log`.
    pub name: &'static str,
    /// Where.
    pub place: Place,
    /// Its bytes.
    pub magic: &'static [u8],
    /// Whether it belongs to a further copy of what stands elsewhere: by such a copy a tool finds a
    /// filesystem whose first superblock is lost, but nothing is mounted by it.
    pub is_copy: bool,
}

impl Signature {
    /// The magic number of a superblock that is mounted.
    const fn new(name: &'static str, place: Place, magic: &'static [u8]) -> Self {
        Self { name, place, magic, is_copy: false }
    }

    /// The magic number of a further copy.
    const fn of_copy(name: &'static str, place: Place, magic: &'static [u8]) -> Self {
        Self { name, place, magic, is_copy: true }
    }
}

/// Where a magic number stands on a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// So many bytes from the beginning.
    Begin(u64),
    /// At the beginning of the sector that is so many 512-byte sectors before the end; the last
    /// is 1.
    End(u64),
    /// So many bytes before the end.
    BeforeEnd(u64),
    /// So many bytes into the last whole block of 4 KiB.
    LastBlock(u64),
}

/// A mount that changes nothing on the device, the journal included, and with which a damaged
/// filesystem does not stop the machine (its superblock may ask for a panic).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UntouchedMount {
    /// The type it is mounted as.
    pub fs_type: &'static str,
    /// The options, separated by commas.
    pub options: &'static str,
}

/// The program that checks a filesystem: it exits with 0 where nothing is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Checking {
    /// Its name.
    pub program: &'static str,
    /// What stands before the device.
    pub arguments: &'static [&'static str],
}

/// How often metadata is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Metadata {
    /// Not known.
    Unknown,
    /// Always once.
    Once,
    /// As mkfs is asked to.
    Chosen {
        /// The options of mkfs, short and long.
        options: &'static [&'static str],
        /// The profile on one device, when mkfs is not asked.
        one_device: &'static str,
        /// The profile on several, when mkfs is not asked.
        several: &'static str,
    },
}

/// The profile of metadata that is stored once.
pub const SINGLE: &str = "single";

/// Where sysfs lists the devices of a mounted filesystem, below `/sys/fs/NAME/UUID`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Members {
    /// As entries of a folder of this name.
    Folder(&'static str),
    /// As folders, each with a link of this name to the device.
    Linked(&'static str),
}

impl Filesystem {
    /// Nothing known: what a filesystem's own entry begins with.
    const UNKNOWN: Self = Self {
        name: "",
        magic: 0,
        signatures: &[],
        leaves: &[],
        making: Making::Never,
        kernel_option: "",
        bytes_min: 0,
        device_option: None,
        is_usual: false,
        is_in_memory: false,
        has_blocks: false,
        lists_inodes: false,
        has_boot_sector: false,
        untouched: None,
        of_copies: &[],
        uuid_offset: None,
        checking: None,
        metadata: Metadata::Unknown,
        members: None,
        log_prefixes: &[],
        debug_options: &[],
        barrier_off: &[],
    };

    /// The program that makes it; `None` when it needs neither that nor a device.
    pub fn mkfs(&self) -> Option<&'static Mkfs> {
        match self.making {
            Making::Formatted(mkfs) => Some(mkfs),
            Making::Never | Making::Mounted { .. } => None,
        }
    }

    /// How many devices it may have.
    pub fn devices_max(&self) -> usize {
        if self.device_option.is_some() { usize::MAX } else { 1 }
    }

    /// The profile in which mkfs stores metadata on so many devices when it is called with these
    /// options; `None` where that is not known.
    pub fn metadata_profile(&self, mkfs: &[String], devices: usize) -> Option<String> {
        let Metadata::Chosen { options, one_device, several } = self.metadata else {
            return (self.metadata == Metadata::Once).then(|| SINGLE.to_owned());
        };
        let asked = mkfs.iter().enumerate().find_map(|(place, word)| {
            if options.contains(&word.as_str()) {
                return mkfs.get(place + 1).cloned();
            }
            options.iter().find_map(|option| {
                let joined = word.strip_prefix(option)?;
                if option.starts_with("--") { joined.strip_prefix('=') } else { Some(joined) }
                    .map(str::to_owned)
            })
        });
        let usual = if devices > 1 { several } else { one_device };
        Some(asked.unwrap_or_else(|| usual.to_owned()))
    }
}

/// Every filesystem, those that can be made first.
pub fn all() -> impl Iterator<Item = &'static Filesystem> {
    FAMILIES.iter().copied().flatten()
}

/// The filesystem that is mounted as this type.
pub fn by_name(name: &str) -> Option<&'static Filesystem> {
    all().find(|filesystem| filesystem.name == name)
}

/// The filesystem with this number (`f_type` of `statfs`). ext2, ext3 and ext4 share one, and ext4
/// is given for it: the mount table tells them apart.
pub fn by_magic(magic: u64) -> Option<&'static Filesystem> {
    all().find(|filesystem| magic != 0 && filesystem.magic == magic)
}

/// The name of the filesystem with this number, as [`by_magic`] finds it.
pub fn name_of(magic: u64) -> Option<&'static str> {
    by_magic(magic).map(|filesystem| filesystem.name)
}

/// The filesystem whose own signature has this name.
pub fn by_signature(name: &str) -> Option<&'static Filesystem> {
    all().find(|filesystem| filesystem.leaves.first() == Some(&name))
}

/// Whether files of this type are in memory and nowhere else.
pub fn is_in_memory(name: &str) -> bool {
    by_name(name).is_some_and(|filesystem| filesystem.is_in_memory)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::{FAMILIES, Making, all, by_magic, by_name, by_signature};

    #[test]
    fn names_are_there_once_and_each_is_found_by_its_own() {
        let names: Vec<&str> = all().map(|filesystem| filesystem.name).collect();
        let different: BTreeSet<&str> = names.iter().copied().collect();
        assert_eq!(names.len(), different.len(), "{names:?}");
        assert!(all().all(|filesystem| by_name(filesystem.name) == Some(filesystem)));
        assert!(FAMILIES.iter().all(|family| !family.is_empty()));
    }

    #[test]
    fn numbers_and_signatures_lead_to_a_filesystem() {
        assert_eq!(by_magic(0xef53).unwrap().name, "ext4");
        assert_eq!(by_magic(0x6969).unwrap().name, "nfs");
        assert_eq!(by_magic(0x9fa0), None);
        assert_eq!(by_magic(0), None);
        assert_eq!(by_signature("XFS").unwrap().name, "xfs");
        assert_eq!(by_signature("XFS log"), None);
        assert_eq!(by_signature("ext3").unwrap().name, "ext3");
    }

    #[test]
    fn what_is_made_is_recognised_and_needs_the_kernel() {
        for filesystem in all().filter(|filesystem| filesystem.making != Making::Never) {
            let name = filesystem.name;
            assert!(filesystem.kernel_option.starts_with("CONFIG_"), "{name}");
            assert!(filesystem.magic != 0 && filesystem.bytes_min > 0, "{name}");
            assert_eq!(filesystem.mkfs().is_some(), !filesystem.leaves.is_empty(), "{name}");
            for signature in filesystem.signatures {
                assert!(!signature.magic.is_empty(), "{name}");
            }
        }
    }

    #[test]
    fn profiles_are_those_of_mkfs() {
        let profile = |name: &str, mkfs: &[&str], devices| {
            let mkfs: Vec<String> = mkfs.iter().map(|&word| word.to_owned()).collect();
            by_name(name).unwrap().metadata_profile(&mkfs, devices)
        };
        assert_eq!(profile("ext4", &["-m", "0"], 1).as_deref(), Some("single"));
        assert_eq!(profile("btrfs", &[], 1).as_deref(), Some("dup"));
        assert_eq!(profile("btrfs", &[], 2).as_deref(), Some("raid1"));
        for mkfs in [&["-m", "single"][..], &["-msingle"], &["--metadata=single"]] {
            assert_eq!(profile("btrfs", mkfs, 1).as_deref(), Some("single"), "{mkfs:?}");
        }
        assert_eq!(profile("btrfs", &["--metadata", "raid0"], 2).as_deref(), Some("raid0"));
        assert_eq!(profile("tmpfs", &[], 0), None);
    }
}

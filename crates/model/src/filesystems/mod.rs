//! Table of filesystem facts: one file per family, one line per file in `FAMILIES`. Using the facts
//! (calling mkfs, reading a superblock) is up to other crates.
//!
//! Filesystem names and magic numbers are declared here and nowhere else; `cargo xtask tidy`
//! refuses them elsewhere.

mod btrfs;
mod ext;
mod f2fs;
mod nilfs2;
mod recognised;
mod tmpfs;
mod xfs;

pub use btrfs::{BTRFS, BTRFS_CONTROL, BTRFS_DIRECTORY, btrfs_node_bytes};
pub use ext::{EXT2, EXT3, EXT4, ext_copies, ext_signature};
pub use f2fs::F2FS;
pub use recognised::{
    FAT, NINE_P, NINE_P_SOURCE, OVERLAY, PLAYED_MOUNT, USER_SPACE_CONNECTIONS, USER_SPACE_DEVICE,
    VIRTIO_FS, ZFS,
};
pub use tmpfs::TMPFS;
pub use xfs::{XFS, xfs_copies};

/// Every family, in listing order. Of filesystems with the same magic number the first is the
/// default for it.
const FAMILIES: &[&[Filesystem]] =
    &[ext::ALL, xfs::ALL, btrfs::ALL, f2fs::ALL, tmpfs::ALL, nilfs2::ALL, recognised::ALL];

/// Facts about one filesystem.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Filesystem {
    /// Type name for mount(2).
    pub name: &'static str,
    /// `statfs` magic number (`f_type`), from linux/magic.h or the filesystem's own header; 0 if
    /// unknown.
    pub magic: u64,
    /// Magic numbers on the device that need no further check.
    pub signatures: &'static [MagicSignature],
    /// Names of the signatures that its mkfs may leave behind, its own first.
    pub leaves: &'static [&'static str],
    /// Method of creating the filesystem.
    pub making: CreationMethod,
    /// Kernel configuration option that provides it.
    pub kernel_option: &'static str,
    /// Smallest supported device in bytes: below, mkfs refuses or the filesystem is not practical.
    pub bytes_min: u64,
    /// Mount option that names further devices; `None` for single-device filesystems.
    pub device_option: Option<&'static str>,
    /// Options for a journal on a device of its own; `None` if it cannot be there.
    pub outer_journal: Option<OuterJournal>,
    /// True if it is part of the default comparison.
    pub is_usual: bool,
    /// True if its files are in memory only.
    pub is_in_memory: bool,
    /// True if it is on a disk and `statfs` counts blocks of that disk. Elsewhere a "block" is
    /// something else: a request of NFS, a record of ZFS.
    pub has_blocks: bool,
    /// True if directories list the inode numbers that `stat` returns. overlayfs, for example,
    /// lists numbers of its layers, where different files can share one.
    pub lists_inodes: bool,
    /// True if inodes lie in tables that mkfs allocates, so that files take no free bytes for them.
    pub has_inode_tables: bool,
    /// True if the device begins with a boot sector, which ends like a partition table.
    pub has_boot_sector: bool,
    /// Read-only mount that leaves the device unchanged.
    pub untouched: Option<UntouchedMount>,
    /// Mount options required while the original of a copy is mounted.
    pub of_copies: &'static [&'static str],
    /// Offset of its 16-byte UUID on the device; `None` if unknown.
    pub uuid_offset: Option<u64>,
    /// Read-only check program for the unmounted filesystem; part of the mkfs package.
    pub checking: Option<CheckProgram>,
    /// Number of metadata copies.
    pub metadata: MetadataCopies,
    /// Location in sysfs of the devices of a mounted filesystem.
    pub members: Option<MemberLocation>,
    /// Prefixes of its kernel log messages.
    pub log_prefixes: &'static [&'static str],
    /// Kernel configuration options that add run-time checks and slow it down.
    pub debug_options: &'static [&'static str],
    /// Mount options that disable write barriers.
    pub barrier_off: &'static [&'static str],
    /// Algorithm of its checksums, as the kernel's cryptography names it.
    pub checksum: Option<&'static str>,
}

/// Method of creating a filesystem.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CreationMethod {
    /// Not created by treering.
    Never,
    /// Created by mounting it, without a device.
    Mounted {
        /// Mount options that set the size; the first accepts a number of bytes.
        size: &'static [&'static str],
    },
    /// Created by a mkfs program on a device.
    Formatted(&'static Mkfs),
}

/// mkfs program of a filesystem.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mkfs {
    /// Program name.
    pub program: &'static str,
    /// Debian package that contains it.
    pub package: &'static str,
    /// Option that prints the version.
    pub version_argument: &'static str,
    /// Option letters that take a value, as in the option string of getopt(3).
    pub with_value: &'static str,
    /// Option that overwrites an existing filesystem; empty if that is the default. The guard has
    /// checked the device already, and mkfs would otherwise refuse to overwrite the filesystem of
    /// the previous trial.
    pub force: &'static [&'static str],
    /// Options that set the label, without dashes, the letter first.
    pub label: &'static [&'static str],
    /// Default settings for `-E`; settings of the user take precedence.
    pub extended: &'static [&'static str],
    /// User options that are rejected.
    pub refused: &'static [RefusedOption],
}

/// User option that is rejected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RefusedOption {
    /// Option letter.
    pub letter: &'static str,
    /// Number of occurrences that are still accepted.
    pub times_max: usize,
    /// Reason for users.
    pub why: &'static str,
}

/// Magic number on a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MagicSignature {
    /// Common name of the owner of the signature: `XFS`, `XFS log`.
    pub name: &'static str,
    /// Position on the device.
    pub place: MagicPosition,
    /// Bytes of the magic number.
    pub magic: &'static [u8],
    /// True for a backup copy, by which tools find a filesystem with a lost superblock but which is
    /// never mounted.
    pub is_copy: bool,
}

impl MagicSignature {
    /// Signature of a primary superblock.
    const fn new(name: &'static str, place: MagicPosition, magic: &'static [u8]) -> Self {
        Self { name, place, magic, is_copy: false }
    }

    /// Signature of a backup copy.
    const fn backup_copy(name: &'static str, place: MagicPosition, magic: &'static [u8]) -> Self {
        Self { name, place, magic, is_copy: true }
    }
}

/// Position of a magic number on a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MagicPosition {
    /// Offset from the beginning, in bytes.
    Begin(u64),
    /// Distance from the end in sectors of 512 bytes; the last sector is 1.
    End(u64),
    /// Distance from the end, in bytes.
    BeforeEnd(u64),
    /// Offset in the last whole block of 4 KiB, in bytes.
    LastBlock(u64),
}

/// Mount that leaves the device unchanged, including the journal, and cannot panic the kernel on a
/// damaged filesystem (which its superblock may request).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UntouchedMount {
    /// Filesystem type of the mount.
    pub fs_type: &'static str,
    /// Mount options, separated by commas.
    pub options: &'static str,
}

/// Check program of a filesystem; exit code 0 means no errors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CheckProgram {
    /// Program name.
    pub program: &'static str,
    /// Arguments before the device.
    pub arguments: &'static [&'static str],
}

/// Number of metadata copies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MetadataCopies {
    /// Unknown.
    Unknown,
    /// Always one copy.
    Once,
    /// Chosen by mkfs options.
    Chosen {
        /// mkfs options that choose the profile, short and long.
        options: &'static [&'static str],
        /// Default profile on one device.
        one_device: &'static str,
        /// Default profile on several devices.
        several: &'static str,
    },
}

/// Profile name for a single metadata copy.
pub const SINGLE: &str = "single";

/// Options for a journal on a device of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OuterJournal {
    /// Options with which mkfs first makes the journal alone; empty if it makes both at once.
    pub making: &'static [&'static str],
    /// Option of mkfs that names the device: its name, and what is before the device in its value.
    pub mkfs: [&'static str; 2],
    /// Mount option that names the device.
    pub mount: &'static str,
}

/// Location in sysfs of the devices of a mounted filesystem, below `/sys/fs/NAME/UUID`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemberLocation {
    /// Directory with one entry per device.
    Folder(&'static str),
    /// Directories, each with a link of this name to its device.
    Linked(&'static str),
}

impl Filesystem {
    /// Empty entry, the base of every table entry.
    const UNKNOWN: Self = Self {
        checksum: None,
        name: "",
        magic: 0,
        signatures: &[],
        leaves: &[],
        making: CreationMethod::Never,
        kernel_option: "",
        bytes_min: 0,
        device_option: None,
        outer_journal: None,
        is_usual: false,
        is_in_memory: false,
        has_blocks: false,
        lists_inodes: false,
        has_inode_tables: false,
        has_boot_sector: false,
        untouched: None,
        of_copies: &[],
        uuid_offset: None,
        checking: None,
        metadata: MetadataCopies::Unknown,
        members: None,
        log_prefixes: &[],
        debug_options: &[],
        barrier_off: &[],
    };

    /// mkfs program; `None` for filesystems without one.
    pub fn mkfs(&self) -> Option<&'static Mkfs> {
        match self.making {
            CreationMethod::Formatted(mkfs) => Some(mkfs),
            CreationMethod::Never | CreationMethod::Mounted { .. } => None,
        }
    }

    /// Maximum number of devices.
    pub fn devices_max(&self) -> usize {
        if self.device_option.is_some() { usize::MAX } else { 1 }
    }

    /// Metadata profile of mkfs on this many devices with these options; `None` if unknown.
    pub fn metadata_profile(&self, mkfs: &[String], devices: usize) -> Option<String> {
        let MetadataCopies::Chosen { options, one_device, several } = self.metadata else {
            return (self.metadata == MetadataCopies::Once).then(|| SINGLE.to_owned());
        };
        let requested = mkfs.iter().enumerate().find_map(|(place, word)| {
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
        Some(requested.unwrap_or_else(|| usual.to_owned()))
    }
}

/// Every filesystem, those that treering can create first.
pub fn all() -> impl Iterator<Item = &'static Filesystem> {
    FAMILIES.iter().copied().flatten()
}

/// Looks up a filesystem by mount type.
pub fn by_name(name: &str) -> Option<&'static Filesystem> {
    all().find(|filesystem| filesystem.name == name)
}

/// Looks up a filesystem by `statfs` magic. ext2, ext3 and ext4 share one, which gives ext4: the
/// mount table tells them apart.
pub fn by_magic(magic: u64) -> Option<&'static Filesystem> {
    all().find(|filesystem| magic != 0 && filesystem.magic == magic)
}

/// Name of the filesystem with this `statfs` magic, as in [`by_magic`].
pub fn name_of(magic: u64) -> Option<&'static str> {
    by_magic(magic).map(|filesystem| filesystem.name)
}

/// Looks up a filesystem by the name of its primary signature.
pub fn by_signature(name: &str) -> Option<&'static Filesystem> {
    all().find(|filesystem| filesystem.leaves.first() == Some(&name))
}

/// Reports whether files of this filesystem type are in memory only.
pub fn is_in_memory(name: &str) -> bool {
    by_name(name).is_some_and(|filesystem| filesystem.is_in_memory)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::{CreationMethod, FAMILIES, all, by_magic, by_name, by_signature};

    #[test]
    fn names_are_unique_and_found() {
        let names: Vec<&str> = all().map(|filesystem| filesystem.name).collect();
        let different: BTreeSet<&str> = names.iter().copied().collect();
        assert_eq!(names.len(), different.len(), "{names:?}");
        assert!(all().all(|filesystem| by_name(filesystem.name) == Some(filesystem)));
        assert!(FAMILIES.iter().all(|family| !family.is_empty()));
    }

    #[test]
    fn magics_and_signatures_are_found() {
        assert_eq!(by_magic(0xef53).unwrap().name, "ext4");
        assert_eq!(by_magic(0x6969).unwrap().name, "nfs");
        assert_eq!(by_magic(0x9fa0), None);
        assert_eq!(by_magic(0), None);
        assert_eq!(by_signature("XFS").unwrap().name, "xfs");
        assert_eq!(by_signature("XFS log"), None);
        assert_eq!(by_signature("ext3").unwrap().name, "ext3");
    }

    #[test]
    fn creatable_filesystems_have_signatures_and_a_kernel_option() {
        for filesystem in all().filter(|filesystem| filesystem.making != CreationMethod::Never) {
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
    fn metadata_profiles_follow_mkfs_options() {
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

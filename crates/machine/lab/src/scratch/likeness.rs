//! Parameters for making a filesystem like another one: type, size, and the mkfs options that
//! follow from its superblock.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use treering_model::filesystems::{
    BTRFS, EXT2, EXT3, EXT4, MagicPosition, MagicSignature, XFS, ext_signature,
};
use treering_model::{DeviceSpec, PlayedStatus};
use treering_observe::played_disk_at;
use treering_sys::{DeviceOpenMode, MountTable, fd_path, loop_status, open_device};

use crate::error::unfit;
use crate::machine::{KernelMounts, block_number, word};
use crate::view::{ReadOnlyView, ViewKind};
use crate::{DeviceCaution, LabError};

/// Parameters of a filesystem, for making another one like it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FilesystemProfile {
    /// Filesystem type.
    pub fs_type: String,
    /// Options of mkfs, as far as they are known.
    pub mkfs: Vec<String>,
    /// Mount options that influence allocation.
    pub mount: Vec<String>,
    /// Size in bytes, if known.
    pub bytes: Option<u64>,
    /// Path of the original tree.
    pub(super) path: PathBuf,
    /// Path of the tree relative to its mount point.
    pub(super) below: PathBuf,
    /// Path of the image that holds the filesystem; true if it is read with direct I/O.
    image: Option<(PathBuf, bool)>,
    /// Name of the played disk on the image, if any.
    disk: Option<String>,
    /// Reason why the size is unknown.
    problem: Option<String>,
}

/// Parser of a superblock: returns the size of the filesystem in bytes, and mkfs options.
type SuperblockParser = fn(&File) -> Option<(u64, Vec<String>)>;

/// Superblock parsers by filesystem type.
const SUPERBLOCKS: &[(&str, SuperblockParser)] =
    &[(EXT2.name, ext), (EXT3.name, ext), (EXT4.name, ext), (XFS.name, xfs), (BTRFS.name, btrfs)];

/// Bytes of a superblock, with accessors for numbers.
struct Superblock(Vec<u8>);

impl Superblock {
    fn read(file: &File, at: u64) -> Option<Self> {
        let mut bytes = vec![0; 4096];
        file.read_exact_at(&mut bytes, at).ok()?;
        Some(Self(bytes))
    }

    fn bytes<const N: usize>(&self, at: usize) -> [u8; N] {
        self.0.get(at..at + N).and_then(|bytes| bytes.try_into().ok()).unwrap_or([0; N])
    }

    /// True if this block, which begins at byte `at` of the device, has one of the signatures.
    fn has(&self, at: u64, signatures: &[MagicSignature]) -> bool {
        signatures.iter().any(|signature| {
            let MagicPosition::Begin(offset) = signature.place else { return false };
            let begin = offset.checked_sub(at).and_then(|begin| usize::try_from(begin).ok());
            begin
                .and_then(|begin| self.0.get(begin..))
                .is_some_and(|tail| tail.starts_with(signature.magic))
        })
    }

    fn read_le(&self, at: usize) -> u64 {
        u64::from(u32::from_le_bytes(self.bytes(at)))
    }

    fn read_be(&self, at: usize) -> u64 {
        u64::from(u32::from_be_bytes(self.bytes(at)))
    }
}

impl FilesystemProfile {
    /// Reads the parameters of the filesystem behind a view.
    ///
    /// # Errors
    /// When the table of mounts cannot be read.
    pub fn read(view: &ReadOnlyView, path: &Path) -> Result<Self, LabError> {
        let path = path.canonicalize().map_err(LabError::io("cannot find", path))?;
        let mut like = Self { path: path.clone(), ..Self::default() };
        let source = match view.kind() {
            ViewKind::Private { fs_type, .. } => {
                (*fs_type).clone_into(&mut like.fs_type);
                path
            }
            ViewKind::Directory | ViewKind::Mounted { .. } => {
                let table = MountTable::read();
                let table = table.map_err(LabError::io("cannot read", "/proc/self/mountinfo"))?;
                let none = || unfit(format!("the device of {} is unknown", path.display()));
                let mount = table.mount_of(view.root()).ok_or_else(none)?;
                like.fs_type.clone_from(&mount.fs_type);
                let top = fd_path(view.root()).unwrap_or(path);
                let below = top.strip_prefix(&mount.point).unwrap_or(Path::new(""));
                below.clone_into(&mut like.below);
                let options = mount.super_options.split(',');
                let kept = options.filter(|option| option.starts_with("compress"));
                like.mount = kept.map(str::to_owned).collect();
                PathBuf::from(&mount.source)
            }
        };
        like.read_superblock(&source);
        Ok(like)
    }

    /// Reads the superblock of the device and finds the image that holds it.
    fn read_superblock(&mut self, source: &Path) {
        let is_device = block_number(source).is_some();
        let opened = match is_device {
            true => open_device(source, DeviceOpenMode::Look).map_err(std::io::Error::from),
            false if source.is_file() => File::open(source),
            false => return self.problem = Some(format!("{} is not a device", source.display())),
        };
        let file = match opened {
            Ok(file) => file,
            Err(error) => {
                return self.problem = Some(format!("cannot open {}: {error}", source.display()));
            }
        };
        let reader = SUPERBLOCKS.iter().find(|(name, _)| *name == self.fs_type);
        let known = reader.and_then(|(_, read)| read(&file));
        match known {
            Some((bytes, mkfs)) => (self.bytes, self.mkfs) = (Some(bytes), mkfs),
            None if is_device => self.bytes = treering_sys::device_bytes(&file).ok(),
            None => self.bytes = file.metadata().ok().map(|metadata| metadata.len()),
        }
        self.image = if is_device {
            let folder = block_number(source).and_then(|n| KernelMounts::default().block_folder(n));
            let backing = folder.and_then(|folder| word(&folder.join("loop/backing_file")));
            let direct = loop_status(&file).ok().flatten().is_some_and(|loops| loops.direct_io);
            let backing = backing.map(PathBuf::from);
            match backing.as_deref().and_then(played_disk_at) {
                // The played disk's own FUSE directory cannot hold another image, so the real
                // image's directory is used.
                Some(PlayedStatus { disk, image, .. }) => {
                    self.disk = Some(disk);
                    Some((PathBuf::from(image), direct))
                }
                None => backing.map(|backing| (backing, direct)),
            }
        } else {
            Some((source.to_owned(), false))
        };
    }

    /// Options of mkfs that do not depend on the size.
    pub(super) fn mkfs_without_size(&self) -> Vec<String> {
        let is_sized = |pair: &&[String]| {
            pair.iter().any(|option| option == "-N" || option.starts_with("agcount="))
        };
        self.mkfs.chunks(2).filter(|pair| !is_sized(pair)).flatten().cloned().collect()
    }

    /// Cautions about times measured on the original.
    pub fn cautions(&self) -> Vec<DeviceCaution> {
        let cached = self.image.iter().filter(|(_, direct)| !direct);
        cached
            .map(|(image, _)| DeviceCaution::HostCacheAnswers {
                image: image.clone(),
                direct_io: false,
            })
            .collect()
    }

    /// Specification of an image with these parameters, in the directory of the original's image,
    /// if there is one.
    pub(super) fn image(&self) -> Result<DeviceSpec, LabError> {
        let Some(bytes) = self.bytes else {
            let why = self.problem.as_deref().unwrap_or("its size is unknown");
            return Err(unfit(format!(
                "cannot make an image like it: {why}; name an empty directory with --on"
            )));
        };
        let directory = self.image.as_ref().and_then(|(image, _)| image.parent());
        Ok(DeviceSpec::Loop {
            // The size is a multiple of sectors and pages.
            bytes: bytes.next_multiple_of(4096),
            count: 1,
            sparse: true,
            direct_io: self.image.as_ref().is_none_or(|(_, direct)| *direct),
            sector_bytes: 512,
            directory: directory.filter(|directory| directory.is_dir()).map(Path::to_owned),
            disk: self.disk.clone(),
        })
    }
}

/// Size and mke2fs options of an ext filesystem. The same hash seed gives directory entries the
/// same order.
fn ext(file: &File) -> Option<(u64, Vec<String>)> {
    let block = Superblock::read(file, 1024)?;
    ext_signature(&block.bytes(0))?;
    let block_bytes = 1024_u64.checked_shl(u32::try_from(block.read_le(0x18)).ok()?)?;
    let is_64bit = block.read_le(0x60) & 0x80 != 0;
    let high = if is_64bit { block.read_le(0x150) } else { 0 };
    let blocks = high << 32 | block.read_le(0x4);
    let inode_bytes = u16::from_le_bytes(block.bytes(0x58));
    let mut options = vec!["-b".to_owned(), block_bytes.to_string()];
    options.extend(["-I".to_owned(), inode_bytes.to_string()]);
    options.extend(["-N".to_owned(), block.read_le(0).to_string()]);
    let seed = block.bytes::<16>(0xec);
    if seed != [0; 16] {
        let hex = format!("{:032x}", u128::from_be_bytes(seed));
        let parts = [&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]];
        options.extend(["-E".to_owned(), format!("hash_seed={}", parts.join("-"))]);
    }
    if block.read_le(0x5c) & 0x4 == 0 {
        options.extend(["-O".to_owned(), "^has_journal".to_owned()]);
    }
    Some((block_bytes.checked_mul(blocks)?, options))
}

/// Size and mkfs options of an XFS filesystem.
fn xfs(file: &File) -> Option<(u64, Vec<String>)> {
    let block = Superblock::read(file, 0)?;
    if !block.has(0, &XFS.signatures[..1]) {
        return None;
    }
    let block_bytes = block.read_be(4);
    let directory_bytes = block_bytes.checked_shl(u32::from(block.bytes::<1>(192)[0]))?;
    let inode_bytes = u16::from_be_bytes(block.bytes(104));
    let sized = |letter: &str, suboption: &str, value: u64| {
        [letter.to_owned(), format!("{suboption}={value}")]
    };
    let options = [
        sized("-b", "size", block_bytes),
        sized("-d", "agcount", block.read_be(88)),
        sized("-i", "size", u64::from(inode_bytes)),
        sized("-n", "size", directory_bytes),
    ];
    let bytes = block_bytes.checked_mul(u64::from_be_bytes(block.bytes(8)))?;
    Some((bytes, options.concat()))
}

/// Size and mkfs options of a btrfs filesystem.
fn btrfs(file: &File) -> Option<(u64, Vec<String>)> {
    let block = Superblock::read(file, 64 << 10)?;
    if !block.has(64 << 10, BTRFS.signatures) {
        return None;
    }
    let sized = |letter: &str, value: u64| [letter.to_owned(), value.to_string()];
    let options = [sized("-s", block.read_le(0x90)), sized("-n", block.read_le(0x94))];
    Some((u64::from_le_bytes(block.bytes(0x70)), options.concat()))
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::path::Path;
    use std::process::Command;

    use super::{FilesystemProfile, btrfs, ext, xfs};

    /// Makes an image with mkfs; `None` if that mkfs is not installed.
    fn make_image(dir: &Path, kind: &str, options: &[&str]) -> Option<File> {
        let image = dir.join(kind);
        File::create(&image).unwrap().set_len(512 << 20).unwrap();
        let mut mkfs = Command::new(format!("mkfs.{kind}"));
        let done = mkfs.arg("-q").args(options).arg(&image).status().ok()?;
        assert!(done.success(), "{kind} {options:?}");
        Some(File::open(image).unwrap())
    }

    #[test]
    fn mkfs_options_are_read_from_superblocks() {
        let dir = tempfile::tempdir().unwrap();
        let seed = "hash_seed=04dd9889-cb9e-45c2-a5a4-7b3e83c771ee";
        let options = ["-b", "1024", "-I", "512", "-E", seed, "-O", "^has_journal"];
        if let Some(image) = make_image(dir.path(), "ext4", &options) {
            let (bytes, mkfs) = ext(&image).unwrap();
            assert_eq!(bytes, 512 << 20);
            for pair in options.chunks(2) {
                assert!(mkfs.windows(2).any(|two| two == pair), "{pair:?} {mkfs:?}");
            }
            assert!(xfs(&image).is_none() && btrfs(&image).is_none());
            let like = FilesystemProfile { mkfs, ..FilesystemProfile::default() };
            assert!(!like.mkfs_without_size().contains(&"-N".to_owned()));
            assert!(like.mkfs_without_size().contains(&seed.to_owned()));
        }
        if let Some(image) = make_image(dir.path(), "xfs", &["-d", "agcount=3", "-i", "size=1024"])
        {
            let (bytes, mkfs) = xfs(&image).unwrap();
            assert!((500 << 20..=512 << 20).contains(&bytes), "{bytes}");
            let mkfs = mkfs.join(" ");
            assert!(mkfs.contains("-d agcount=3") && mkfs.contains("-i size=1024"), "{mkfs}");
        }
        if let Some(image) = make_image(dir.path(), "btrfs", &["-n", "32768"]) {
            let (bytes, mkfs) = btrfs(&image).unwrap();
            assert_eq!((bytes, mkfs.join(" ")), (512 << 20, "-s 4096 -n 32768".to_owned()));
        }
    }
}

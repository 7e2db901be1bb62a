//! Read-only views of filesystems. A directory is viewed as it is; a device or an image through its
//! existing mount, or else through a private read-only mount.
//!
//! A private mount exists only while its descriptor is open, and the loop device of an image only
//! while it is mounted. Both end with the view, however this process ends, so the register does not
//! list them.

use std::fs::File;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::Duration;

use treering_model::filesystems::{UntouchedMount, by_signature};
use treering_sys::{
    DeviceOpenMode, Errno, LoopDevice, Mount, MountOptions, MountTable, attach_loop_to_read,
    device_bytes, mount_detached, open_device, open_top, reopen_dir,
};

use crate::error::unfit;
use crate::families::mounted_families;
use crate::guard::{DeviceSignature, find_signatures};
use crate::machine::{DeviceNumber, KernelMounts, block_number, word};
use crate::release::{PATIENCE, STEP};
use crate::{DeviceError, LabError};

/// Mark by which a loop device is recognised as treering's.
const MARK: &str = "treering looks";
/// Sector size that every filesystem accepts.
const SECTOR_BYTES: u32 = 512;

/// Way in which a filesystem is read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ViewKind {
    /// A directory that the user named.
    Directory,
    /// An existing mount.
    Mounted {
        /// Mount point.
        point: PathBuf,
        /// Path within the filesystem that is mounted there: `/` for the whole filesystem.
        root: PathBuf,
    },
    /// A private mount of treering.
    Private {
        /// Filesystem type.
        fs_type: &'static str,
        /// Mount options.
        options: &'static str,
    },
}

impl ViewKind {
    /// Describes the mount through which the files are read; empty for a directory.
    pub fn words(&self) -> String {
        match self {
            Self::Directory => String::new(),
            Self::Mounted { point, root } => {
                let part = match root.to_str() {
                    Some("/") => String::new(),
                    _ => format!(", which shows only {} of it", root.display()),
                };
                format!("its mount at {}{part}", point.display())
            }
            Self::Private { fs_type, options } => {
                format!(
                    "a mount of treering's own ({fs_type}, {options}): the journal is not replayed"
                )
            }
        }
    }
}

/// Read-only view of a filesystem.
#[derive(Debug)]
pub struct ReadOnlyView {
    // Drop order matters: the mount is dropped before the loop device below it.
    root: OwnedFd,
    kind: ViewKind,
    /// Private mount, which ends with this descriptor.
    _mount: Option<OwnedFd>,
    /// Loop device below the private mount.
    _below: Option<LoopDevice>,
}

impl ReadOnlyView {
    /// Opens a directory, a device or an image.
    ///
    /// # Errors
    /// When the path does not exist or is none of these, its filesystem is not supported, or the
    /// kernel refuses the mount. Viewing an unmounted device requires root.
    pub fn open(path: &Path) -> Result<Self, LabError> {
        let resolved = path.canonicalize().map_err(LabError::io("cannot find", path))?;
        let metadata = resolved.metadata().map_err(LabError::io("cannot look at", &resolved))?;
        if metadata.is_dir() {
            let opened = open_top(&resolved);
            let root =
                opened.map_err(|errno| LabError::io("cannot open", &resolved)(errno.into()))?;
            return Ok(Self { root, kind: ViewKind::Directory, _mount: None, _below: None });
        }
        let machine = KernelMounts::default();
        if metadata.file_type().is_block_device() {
            let number = DeviceNumber::from_stat(metadata.rdev());
            return match view_of_mount(&machine, number)? {
                Some(view) => Ok(view),
                None => open_device_view(&resolved),
            };
        }
        if metadata.is_file() {
            let file = (metadata.dev(), metadata.ino());
            return match mounted_image(&machine, file)? {
                Some(view) => Ok(view),
                None => open_image_view(&resolved),
            };
        }
        Err(unfit(format!("{} is not a directory, block device or image", resolved.display())))
    }

    /// Top directory of the filesystem or directory.
    pub fn root(&self) -> BorrowedFd<'_> {
        self.root.as_fd()
    }

    /// Way in which the filesystem is read.
    pub fn kind(&self) -> &ViewKind {
        &self.kind
    }
}

/// True if a file is an image of a filesystem that [`ReadOnlyView::open`] can open.
///
/// # Errors
/// When the file cannot be read.
pub fn is_image(path: &Path) -> Result<bool, LabError> {
    let flags = rustix::fs::OFlags::NONBLOCK.bits().cast_signed();
    let opened = File::options().read(true).custom_flags(flags).open(path);
    let file = opened.map_err(LabError::io("cannot open", path))?;
    let bytes = file.metadata().map_err(LabError::io("cannot look at", path))?.len();
    let signatures = find_signatures(&file, bytes).map_err(LabError::io("cannot read", path))?;
    Ok(signatures.iter().any(|signature| read_only_mount(signature).is_some()))
}

/// View through an existing mount of the device, if any.
fn view_of_mount(
    machine: &KernelMounts,
    number: DeviceNumber,
) -> Result<Option<ReadOnlyView>, LabError> {
    let table = MountTable::read().map_err(LabError::io("cannot read", "/proc/self/mountinfo"))?;
    let family = member_devices(machine, number);
    let is_on_it = |mount: &&Mount| {
        let (major, minor) = mount.device;
        let mounted_number = DeviceNumber { major, minor };
        // btrfs uses device numbers of its own, so it is recognised by its mount source.
        mounted_number == number
            || block_number(Path::new(&mount.source)).is_some_and(|source| family.contains(&source))
    };
    let mut mounts: Vec<&Mount> = table.mounts.iter().filter(is_on_it).collect();
    // The mount that shows the largest part of the filesystem comes first.
    mounts.sort_by_key(|mount| mount.root.components().count());
    for mount in mounts {
        let Ok(root) = open_top(&mount.point) else { continue };
        // Another filesystem may be mounted on top.
        if table.mount_of(&root).is_some_and(|there| there.id == mount.id) {
            let kind = ViewKind::Mounted { point: mount.point.clone(), root: mount.root.clone() };
            return Ok(Some(ReadOnlyView { root, kind, _mount: None, _below: None }));
        }
    }
    Ok(None)
}

/// Member devices of the mounted multi-device filesystem on this device; the device alone for other
/// filesystems.
fn member_devices(machine: &KernelMounts, number: DeviceNumber) -> Vec<DeviceNumber> {
    let mut families = mounted_families(machine).into_iter().map(|family| family.numbers);
    families.find(|devices| devices.contains(&number)).unwrap_or_else(|| vec![number])
}

/// View of an image through an existing mount of a loop device on it, if any.
fn mounted_image(
    machine: &KernelMounts,
    file: (u64, u64),
) -> Result<Option<ReadOnlyView>, LabError> {
    for (_, folder) in machine.block_devices_with("loop") {
        let Some(backing) = word(&folder.join("loop/backing_file")) else { continue };
        let is_backing_file =
            Path::new(&backing).metadata().is_ok_and(|m| (m.dev(), m.ino()) == file);
        let number = word(&folder.join("dev")).and_then(|number| number.parse().ok());
        if let Some(number) = number.filter(|_| is_backing_file)
            && let Some(view) = view_of_mount(machine, number)?
        {
            return Ok(Some(view));
        }
    }
    Ok(None)
}

fn open_device_view(path: &Path) -> Result<ReadOnlyView, LabError> {
    let failed = |errno: Errno| LabError::io("cannot open", path)(errno.into());
    let device = open_device(path, DeviceOpenMode::Look).map_err(failed)?;
    let bytes = device_bytes(&device).map_err(failed)?;
    let (fs_type, options) = type_of(path, &device, bytes)?;
    private_view(path, path, fs_type, options, None)
}

fn open_image_view(path: &Path) -> Result<ReadOnlyView, LabError> {
    let flags = rustix::fs::OFlags::NONBLOCK.bits().cast_signed();
    let opened = File::options().read(true).custom_flags(flags).open(path);
    let image = opened.map_err(LabError::io("cannot open", path))?;
    let bytes = image.metadata().map_err(LabError::io("cannot look at", path))?.len();
    let (fs_type, options) = type_of(path, &image, bytes)?;
    needs_root()?;
    let device =
        attach_loop_to_read(image.as_fd(), SECTOR_BYTES, MARK).map_err(DeviceError::Loop)?;
    let node = device.path.clone();
    private_view(path, &node, fs_type, options, Some(device))
}

fn needs_root() -> Result<(), LabError> {
    if rustix::process::geteuid().is_root() {
        return Ok(());
    }
    let action = "looking into a device or image that is not mounted";
    Err(DeviceError::NotRoot { what: action }.into())
}

/// Type and options of a mount that writes nothing, for a filesystem with this signature.
fn read_only_mount(signature: &DeviceSignature) -> Option<UntouchedMount> {
    // A backup superblock is not sufficient for a mount.
    by_signature(signature.name).filter(|_| !signature.is_copy)?.untouched
}

/// Type and mount options of the filesystem on a device or image.
fn type_of(path: &Path, file: &File, bytes: u64) -> Result<(&'static str, &'static str), LabError> {
    let signatures = find_signatures(file, bytes).map_err(LabError::io("cannot read", path))?;
    if let Some(mount) = signatures.iter().find_map(read_only_mount) {
        return Ok((mount.fs_type, mount.options));
    }
    let carried: Vec<&str> = signatures.iter().map(|signature| signature.name).collect();
    let content = if carried.is_empty() {
        "not a filesystem known to treering".to_owned()
    } else {
        format!("{}, which is not a filesystem that treering can read", carried.join(", "))
    };
    Err(unfit(format!("{} carries {content}", path.display())))
}

fn private_view(
    path: &Path,
    node: &Path,
    fs_type: &'static str,
    options: &'static str,
    below: Option<LoopDevice>,
) -> Result<ReadOnlyView, LabError> {
    needs_root()?;
    let parsed = MountOptions::parse(&[options]).map_err(DeviceError::MountOption)?;
    let mut waited = Duration::ZERO;
    let mounted = loop {
        match mount_detached(node.as_os_str(), fs_type, &parsed) {
            // A filesystem stays mounted until its last program and mount namespace let go.
            Err((Errno::BUSY, _)) if waited < PATIENCE => {}
            mounted => break mounted,
        }
        sleep(STEP);
        waited += STEP;
    };
    match mounted {
        Ok(mount) => {
            // The descriptor of the mount is path-only (`O_PATH`).
            let root = reopen_dir(&mount)
                .map_err(|errno| LabError::io("cannot open the top of", path)(errno.into()))?;
            let kind = ViewKind::Private { fs_type, options };
            Ok(ReadOnlyView { root, kind, _mount: Some(mount), _below: below })
        }
        Err((errno, words)) => {
            let why = match (errno, words) {
                (Errno::NOSYS, _) => "the kernel is older than Linux 5.2; mount it read-only \
                                      yourself and name the directory"
                    .to_owned(),
                (Errno::BUSY, words) => format!(
                    "{}; another mount namespace may still have it mounted (lsns -t mnt)",
                    words.unwrap_or_else(|| errno.to_string())
                ),
                (errno, Some(words)) => format!("{errno}: {words}"),
                (errno, None) => errno.to_string(),
            };
            let (mount_source, options) = (path.to_owned(), options.to_owned());
            Err(DeviceError::Mount { mount_source, fs_type, options, why }.into())
        }
    }
}

//! Loop images: files of the host attached as disks, emptied between trials and removed at the end.

use std::fs::{File, OpenOptions};
use std::os::fd::AsFd;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{Advice, FallocateFlags, fadvise, fallocate};
use treering_model::PlayedCounts;
use treering_model::filesystems::{BTRFS_CONTROL, BTRFS_DIRECTORY, by_magic};
use treering_sys::{
    DeviceOpenMode, Errno, FilesystemFacts, LoopSettings, attach_loop, discard, filesystem_facts,
    flush_buffers, forget_btrfs_device, lock_exclusive, loop_status, open_device, sector_sizes,
};

use crate::device_caution::DeviceCaution;
use crate::guard::{FormatObstacle, clear_signatures, find_signatures, obstacles_to_use};
use crate::lab::Lab;
use crate::machine::DeviceNumber;
use crate::master::{MasterImage, is_empty};
use crate::played::{DiskPlayer, PlayedModel};
use crate::register::{
    FileNumber, OwnedRecord, RecordId, ResourceKind, file_line, loop_line, mounted_line,
    player_line,
};
use crate::release::{PlayedImage, free_image, free_played};
use crate::{DeviceError, LabError};

/// Parameters of an image.
#[derive(Clone, Debug)]
pub(crate) struct ImageSpec {
    pub(crate) bytes: u64,
    pub(crate) is_sparse: bool,
    pub(crate) direct_io: bool,
    pub(crate) sector_bytes: u32,
    /// Model of the played disk on the image, if any.
    pub(crate) model: Option<Arc<PlayedModel>>,
}

/// An image attached to a loop device. Dropping detaches the device and removes the image.
#[derive(Debug)]
pub(crate) struct LoopImage {
    lab: Lab,
    spec: ImageSpec,
    path: PathBuf,
    file_number: FileNumber,
    /// Backing file of the loop device: the image, or the file of the played disk.
    seen: FileNumber,
    node: PathBuf,
    number: DeviceNumber,
    direct_io: bool,
    /// True until the image is written to after it was made or emptied.
    is_fresh: bool,
    /// Open descriptors and record; `None` only during the release.
    open: Option<OpenImage>,
}

/// Open descriptors of an image. An open device keeps its number from being reused.
#[derive(Debug)]
struct OpenImage {
    image: File,
    device: File,
    player: Option<DiskPlayer>,
    record: OwnedRecord,
}

impl LoopImage {
    /// Makes an image in `directory` and attaches a loop device to it.
    pub(crate) fn make(lab: &Lab, directory: &Path, spec: ImageSpec) -> Result<Self, LabError> {
        let is_played = spec.model.is_some();
        let kind = |id: &RecordId| {
            let (image, file, number) = (directory.join(id.image_name()), None, None);
            if is_played {
                ResourceKind::Played { image, file, mounted: None, player: None, number }
            } else {
                ResourceKind::Loop { image, file, number }
            }
        };
        let mut record = lab.register.record(&lab.machine, kind)?;
        let path = directory.join(record.id().image_name());
        match build(lab, &path, &spec, &mut record) {
            Ok(ImageParts { image, file_number, seen, device, node, number, player }) => {
                let status = loop_status(&device).ok().flatten();
                Ok(Self {
                    lab: lab.clone(),
                    spec,
                    path,
                    file_number,
                    seen,
                    node,
                    number,
                    direct_io: status.is_some_and(|status| status.direct_io),
                    is_fresh: true,
                    open: Some(OpenImage { image, device, player, record }),
                })
            }
            Err(error) => {
                let facts = record.facts().ok().map(|facts| facts.kind);
                let freed = match facts {
                    Some(ResourceKind::Played { file, mounted, .. }) => {
                        free_played(&lab.machine, &played_image(lab, &record, &path, file, mounted))
                    }
                    Some(ResourceKind::Loop { file, .. }) => {
                        free_image(&lab.machine, record.id(), &path, file)
                    }
                    // Records of images have no other kind.
                    Some(_) | None => free_image(&lab.machine, record.id(), &path, None),
                };
                // An image that cannot be cleaned up stays in the register.
                if freed.is_ok() {
                    record.remove()?;
                }
                Err(error)
            }
        }
    }

    /// Path of the loop device node.
    pub(crate) fn node(&self) -> &Path {
        &self.node
    }

    /// Number of the loop device.
    pub(crate) fn number(&self) -> DeviceNumber {
        self.number
    }

    /// Loop device, opened for inspection only.
    pub(crate) fn device(&self) -> Option<&File> {
        self.open.as_ref().map(|open| &open.device)
    }

    /// Path of the image file.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Cautions about measurements on this image.
    pub(crate) fn cautions(&self) -> Vec<DeviceCaution> {
        let mut cautions = Vec::new();
        let path = self.path.clone();
        if !self.direct_io {
            cautions.push(DeviceCaution::HostCacheAnswers {
                image: path,
                direct_io: self.spec.direct_io,
            });
        }
        let sectors = self.device().map(sector_sizes);
        if let Some(Ok(sectors)) = sectors
            && sectors.logical_bytes != self.spec.sector_bytes
        {
            let bytes = sectors.logical_bytes;
            cautions.push(DeviceCaution::OtherSectors { device: self.node.clone(), bytes });
        }
        cautions
    }

    /// Checks that the loop device is still attached to the image and has no users, and empties it.
    pub(crate) fn prepare(&mut self) -> Result<(), LabError> {
        let Some(open) = &self.open else {
            return Ok(());
        };
        // Work before the mount is not measured, and needs no modelled timing.
        self.play(false)?;
        let failed = |errno: Errno| LabError::io("cannot empty", &self.node)(errno.into());
        let status = loop_status(&open.device).map_err(failed)?;
        let is_ours = status.is_some_and(|status| {
            let file = FileNumber { device: status.file_device, inode: status.file_inode };
            status.mark == open.record.id().mark() && file == self.seen
        });
        if !is_ours {
            let why = "somebody detached it from its image".to_owned();
            return Err(DeviceError::NotOurs { what: self.node.display().to_string(), why }.into());
        }
        let users = obstacles_to_use(&self.lab.machine, &self.node, self.number)?;
        if !users.is_empty() {
            let by = users.iter().map(FormatObstacle::to_string).collect();
            let device = self.node.display().to_string();
            return Err(DeviceError::StillUsed { what: device, by }.into());
        }
        if !self.is_fresh {
            let device = open_device(&self.node, DeviceOpenMode::WriteAlone).map_err(failed)?;
            // Discards the blocks of the last trial, so that every trial begins with the same file.
            // A host filesystem that cannot make holes keeps the old blocks.
            match discard(&device, self.spec.bytes) {
                Ok(()) | Err(Errno::OPNOTSUPP) => {}
                Err(errno) => return Err(failed(errno)),
            }
            flush_buffers(&device).map_err(failed)?;
            let signatures = find_signatures(&device, self.spec.bytes);
            if !signatures.map_err(LabError::io("cannot read", &self.node))?.is_empty() {
                clear_signatures(&device, self.spec.bytes)
                    .map_err(LabError::io("cannot empty", &self.node))?;
            }
        }
        self.is_fresh = false;
        Ok(())
    }

    /// Allocates all blocks again after mkfs, which discards the whole device.
    pub(crate) fn refill(&self) -> Result<(), LabError> {
        match &self.open {
            Some(open) if !self.spec.is_sparse => {
                preallocate(&open.image, self.spec.bytes, &self.path)
            }
            _ => Ok(()),
        }
    }

    /// Copy of the current content.
    pub(crate) fn master_copy(&self) -> Result<Option<MasterImage>, LabError> {
        self.forget()?;
        let Some(open) = &self.open else { return Ok(None) };
        let directory = self.path.parent().unwrap_or(Path::new("/"));
        let master = MasterImage::copy_of(&open.image, directory);
        master.map(Some).map_err(LabError::io("cannot copy", &self.path))
    }

    /// Writes a master copy into the emptied image; false if the image is not empty, because the
    /// host filesystem cannot punch holes.
    pub(crate) fn fill(&self, master: &MasterImage) -> Result<bool, LabError> {
        let failed = || LabError::io("cannot fill", &self.path);
        let Some(open) = &self.open else { return Ok(false) };
        open.image.sync_all().map_err(failed())?;
        if !is_empty(&open.image).map_err(failed())? {
            return Ok(false);
        }
        master.write_to(&open.image).map_err(failed())?;
        self.refill()?;
        self.forget()?;
        Ok(true)
    }

    /// Writes back and drops the kernel's caches of the image, on both sides of the loop device.
    pub(crate) fn forget(&self) -> Result<(), LabError> {
        let Some(open) = &self.open else {
            return Ok(());
        };
        flush_buffers(&open.device)
            .map_err(|errno| LabError::io("cannot flush", &self.node)(errno.into()))?;
        if open.player.is_some() {
            // The host's page cache may serve a played disk, whose timing comes from the model.
            return Ok(());
        }
        let failed = || LabError::io("cannot write back", &self.path);
        open.image.sync_all().map_err(failed())?;
        fadvise(&open.image, 0, None, Advice::DontNeed).map_err(|errno| failed()(errno.into()))
    }

    /// Detaches the loop device and removes the image.
    pub(crate) fn release(mut self) -> Result<(), LabError> {
        self.free()
    }

    /// Switches the played disk between answering at modelled times (`true`) and at once (`false`).
    pub(crate) fn play(&self, plays: bool) -> Result<(), LabError> {
        let player = self.open.as_ref().and_then(|open| open.player.as_ref());
        player.map_or(Ok(()), |player| player.play(plays))
    }

    /// Counters of the played disk; `None` without a played disk.
    pub(crate) fn played(&self) -> Option<Result<PlayedCounts, LabError>> {
        self.open.as_ref()?.player.as_ref().map(DiskPlayer::counts)
    }

    /// Model of the played disk, if any.
    pub(crate) fn model(&self) -> Option<&PlayedModel> {
        self.spec.model.as_deref()
    }

    fn free(&mut self) -> Result<(), LabError> {
        let Some(OpenImage { image, device, player, record }) = self.open.take() else {
            return Ok(());
        };
        forget_btrfs(&self.node);
        // Closes the descriptors first, since the kernel detaches only a device that is not open.
        drop((image, device));
        let file = Some(self.file_number);
        let Some(player) = player else {
            free_image(&self.lab.machine, record.id(), &self.path, file)?;
            return record.remove();
        };
        let played = played_image(&self.lab, &record, &self.path, file, player.mounted);
        free_played(&self.lab.machine, &played)?;
        player.wait_for_end();
        record.remove()
    }
}

/// Lets the kernel forget a btrfs on the device. It remembers one of several devices behind its
/// unmount, and then refuses an older copy of the filesystem on other devices.
fn forget_btrfs(node: &Path) {
    // Without the module, opening its device would load it.
    if !Path::new(BTRFS_DIRECTORY).exists() {
        return;
    }
    let control = OpenOptions::new().read(true).write(true).open(BTRFS_CONTROL);
    if let Ok(control) = control {
        let _it_may_know_none = forget_btrfs_device(control.as_fd(), node);
    }
}

fn played_image(
    lab: &Lab,
    record: &OwnedRecord,
    image: &Path,
    file: Option<FileNumber>,
    mounted: Option<DeviceNumber>,
) -> PlayedImage {
    let (id, point) = (record.id().clone(), lab.register.mount_point(record.id()));
    PlayedImage { id, image: image.to_owned(), file, point, mounted }
}

/// Parts of a newly made image.
struct ImageParts {
    image: File,
    file_number: FileNumber,
    seen: FileNumber,
    player: Option<DiskPlayer>,
    device: File,
    node: PathBuf,
    number: DeviceNumber,
}

fn build(
    lab: &Lab,
    path: &Path,
    spec: &ImageSpec,
    record: &mut OwnedRecord,
) -> Result<ImageParts, LabError> {
    let image = OpenOptions::new()
        .read(true)
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)
        .map_err(LabError::io("cannot make", path))?;
    let file_number = file_number_of(&image, path)?;
    record.append(&file_line(file_number))?;
    // The lock marks the image as used for a search for images without a record. The loop device
    // keeps the lock.
    let _not_every_filesystem_locks = lock_exclusive(&image);
    image.set_len(spec.bytes).map_err(LabError::io("cannot size", path))?;
    if !spec.is_sparse {
        preallocate(&image, spec.bytes, path)?;
    }
    let point = lab.register.mount_point(record.id());
    let player =
        spec.model.as_deref().map(|model| play(lab, &point, (&image, path, model), record));
    let player = player.transpose()?;
    let shown = player.as_ref().map(|player| open_shown(&player.image())).transpose()?;
    let file = shown.as_ref().unwrap_or(&image);
    let seen = file_number_of(file, path)?;
    let attached = attach_loop(&LoopSettings {
        file: file.as_fd(),
        sector_bytes: spec.sector_bytes,
        direct_io: spec.direct_io,
        partitions: false,
        mark: &record.id().mark(),
    })
    .map_err(DeviceError::Loop)?;
    record.append(&loop_line(attached.number))?;
    let node = attached.path;
    let metadata = attached.file.metadata().map_err(LabError::io("cannot look at", &node))?;
    // Opens the device read-only, since closing a writable descriptor would make udev probe it.
    let device = open_device(&node, DeviceOpenMode::Look)
        .map_err(|errno| LabError::io("cannot open", &node)(errno.into()))?;
    let number = DeviceNumber::from_stat(metadata.rdev());
    Ok(ImageParts { image, file_number, seen, player, device, node, number })
}

fn file_number_of(file: &File, path: &Path) -> Result<FileNumber, LabError> {
    let metadata = file.metadata().map_err(LabError::io("cannot look at", path))?;
    Ok(FileNumber { device: metadata.dev(), inode: metadata.ino() })
}

/// Starts a played disk over an image and records its process and mount.
fn play(
    lab: &Lab,
    point: &Path,
    played: (&File, &Path, &PlayedModel),
    record: &mut OwnedRecord,
) -> Result<DiskPlayer, LabError> {
    let player = DiskPlayer::start(point, &record.id().mark(), played, &lab.self_exec)?;
    let start = lab.machine.process_start(player.pid()).unwrap_or(0);
    let mounted = player.mounted.map(mounted_line).unwrap_or_default();
    record.append(&format!("{mounted}{}", player_line((player.pid(), start))))?;
    Ok(player)
}

/// Opens the image file of a played disk's FUSE filesystem.
fn open_shown(path: &Path) -> Result<File, LabError> {
    let opened = OpenOptions::new().read(true).write(true).open(path);
    opened.map_err(LabError::io("cannot open", path))
}

impl Drop for LoopImage {
    fn drop(&mut self) {
        // An image that cannot be freed stays in the register.
        let _in_the_register = self.free();
    }
}

/// Allocates all blocks of a file.
fn preallocate(image: &File, bytes: u64, path: &Path) -> Result<(), LabError> {
    fallocate(image, FallocateFlags::empty(), 0, bytes)
        .map_err(|errno| LabError::io("cannot allocate all blocks of", path)(errno.into()))
}

/// Checks that the images fit in the free space of their directory. A lack is an error for
/// preallocated images, and a caution for sparse ones.
pub(crate) fn check_room(
    directory: &Path,
    count: u64,
    spec: &ImageSpec,
) -> Result<Vec<DeviceCaution>, LabError> {
    let failed = || LabError::io("cannot look at", directory);
    let opened = File::open(directory).map_err(failed())?;
    let host: FilesystemFacts =
        filesystem_facts(&opened).map_err(|errno| failed()(errno.into()))?;
    let needed_bytes = spec.bytes.saturating_mul(count);
    let mut cautions = Vec::new();
    if host.free_bytes < needed_bytes {
        let (directory, free_bytes) = (directory.to_owned(), host.free_bytes);
        if !spec.is_sparse {
            return Err(DeviceError::NoRoom { directory, needed_bytes, free_bytes }.into());
        }
        cautions.push(DeviceCaution::HostMayFill { directory, needed_bytes, free_bytes });
    }
    // The backing storage does not affect the timing of a played disk.
    if spec.model.is_none()
        && by_magic(host.type_magic).is_some_and(|filesystem| filesystem.is_in_memory)
    {
        cautions.push(DeviceCaution::ImageInMemory { directory: directory.to_owned() });
    }
    Ok(cautions)
}

//! Acquired devices for filesystems: locked, inspected by the guard, and released.
//!
//! State chain: `LabDevice` → `Volume` (formatted) → `MountedVolume`, and back. `release` returns
//! errors; dropping releases as far as possible, and failures stay in the register.

use std::fmt::Debug;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use treering_model::filesystems::Filesystem;
use treering_model::{DeviceSpec, Variant};
use treering_sys::{DeviceOpenMode, Errno, MountOptions, device_bytes, flush_buffers, open_device};

use crate::device_caution::DeviceCaution;
use crate::error::unfit;
use crate::filesystems::{self, Availability, MkfsRequest, OptionRefusal};
use crate::guard::{
    DeviceSignature, EraseList, Inspection, SearchDepth, clear_signatures, content_of, erase,
    find_signatures, obstacles_to_use,
};
use crate::images::{ImageSpec, LoopImage, check_room};
use crate::lab::Lab;
use crate::machine::{DeviceNumber, block_number};
use crate::master::MasterImage;
use crate::played::PlayedModel;
use crate::settings::control_group::check_limits;
use crate::{DeviceError, LabError};

mod raw;
mod second;

pub use raw::RawDevices;
use raw::inspected;

/// Block device that is a member of a [`LabDevice`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemberDevice {
    /// Path as written in the plan; the image path for a loop device.
    pub asked_path: PathBuf,
    /// Path of the device node.
    pub node: PathBuf,
    /// Major and minor number.
    pub number: DeviceNumber,
    /// Size in bytes.
    pub bytes: u64,
}

/// A device, several devices, or a directory that this run owns until released.
#[derive(Debug)]
pub struct LabDevice {
    pub(crate) lab: Lab,
    // Drop order matters: a layer is dropped before the part below it.
    pub(crate) storage: AcquiredStorage,
    /// Part below this device, if it is a layer.
    pub(crate) below: Option<Box<dyn LowerPart>>,
    /// Device of the filesystem's journal, if it has one of its own.
    pub(crate) journal: Option<Box<Self>>,
    pub(crate) cautions: Vec<DeviceCaution>,
}

/// Kind of the acquired resource.
#[derive(Debug)]
pub(crate) enum AcquiredStorage {
    Images(Vec<LoopImage>, u64),
    Blocks(Vec<BlockDevice>),
    Directory(PathBuf),
    Memory(u64),
    /// Devices of a layer, which are mapped to the devices below it.
    Mapped(Box<dyn MappedDevices>),
    /// Devices of two kinds.
    Joined(Box<[LabDevice; 2]>),
}

/// Part below a layer: a device, or a filesystem on a device.
pub(crate) trait LowerPart: Debug {
    /// Device of the part.
    fn device(&self) -> Option<&LabDevice>;

    /// Unmounts the filesystem, if any, and returns the device.
    fn into_device(self: Box<Self>) -> Result<LabDevice, LabError>;
}

/// Devices of a layer, which are mapped to the devices below it.
pub(crate) trait MappedDevices: Debug {
    /// Devices that the next layer or the filesystem uses.
    fn members(&self) -> Vec<MemberDevice>;

    /// Writes back and drops the kernel's buffers of the devices.
    fn forget(&self) -> Result<(), LabError>;

    /// Removes the devices.
    fn release(self: Box<Self>) -> Result<(), LabError>;
}

/// A block device of the machine.
#[derive(Debug)]
pub(crate) struct BlockDevice {
    member: MemberDevice,
    /// Open descriptor that keeps the kernel from reusing the device number.
    device: File,
    /// Lock against other runs of treering.
    _lock: File,
    content: DeviceContent,
}

/// Known content of an acquired block device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum DeviceContent {
    /// Empty when it was acquired.
    Empty,
    /// Erased with the user's consent (`--erase`): the device has no recognisable signature any
    /// more.
    Erased,
    /// A filesystem made by this run.
    Ours,
}

impl LabDevice {
    /// Acquires the devices of a variant. Before anything is made or erased, checks the tool and
    /// kernel support of the filesystem, the options, the sizes, and each device with the guard.
    ///
    /// # Errors
    /// When the filesystem cannot be made here, the guard refuses a device, or an image cannot be
    /// made.
    pub fn acquire(variant: &Variant, erasing: &EraseList, lab: &Lab) -> Result<Self, LabError> {
        Self::examine_blocks(variant, erasing, lab)?;
        let first = Self::acquire_first(variant, erasing, lab)?;
        let Some(second) = &variant.settings.second_device else { return Ok(first) };
        Ok(first.with_second(Self::acquire_second(second, erasing, lab)?, second))
    }

    /// Acquires the first device of a variant, as [`LabDevice::acquire`].
    ///
    /// # Errors
    /// As for [`LabDevice::acquire`].
    pub fn acquire_first(
        variant: &Variant,
        erasing: &EraseList,
        lab: &Lab,
    ) -> Result<Self, LabError> {
        let filesystem = Self::check(variant, lab)?;
        let (lowest, devices) =
            Self::lowest_filesystem(&variant.settings.layers, variant.member_count());
        let filesystem = lowest.transpose()?.or(filesystem);
        match (&variant.device, filesystem) {
            (DeviceSpec::Directory { path }, None) => Self::directory(path, lab),
            (DeviceSpec::Directory { path }, Some(filesystem)) => {
                let name = filesystem.name;
                Err(unfit(format!(
                    "{} is used as it is: {name} is not made on a directory",
                    path.display()
                )))
            }
            (_, None) => Err(unfit("a device needs a filesystem".to_owned())),
            (DeviceSpec::Block { .. }, Some(filesystem)) if filesystem.mkfs().is_none() => {
                Err(unfit(format!("{} is in memory and needs no device", filesystem.name)))
            }
            (DeviceSpec::Loop { bytes, .. }, Some(filesystem)) if filesystem.mkfs().is_none() => {
                check_size(filesystem, *bytes)?;
                Ok(Self::new(lab, AcquiredStorage::Memory(*bytes), Vec::new()))
            }
            (DeviceSpec::Loop { bytes, .. }, Some(filesystem)) => {
                check_device_count(filesystem, devices)?;
                check_size(filesystem, *bytes)?;
                Self::images(&variant.device, lab)
            }
            (DeviceSpec::Block { paths }, Some(filesystem)) => {
                check_device_count(filesystem, devices)?;
                Self::blocks(paths, Some(filesystem), erasing, lab)
            }
        }
    }

    /// Makes a played disk without a filesystem, as a loop device on a new image.
    ///
    /// # Errors
    /// When the modelled disk is smaller, the user is not root, or the image cannot be made.
    pub fn played_disk(
        model: PlayedModel,
        bytes: u64,
        images: Option<&Path>,
        lab: &Lab,
    ) -> Result<Self, LabError> {
        let spec = ImageSpec {
            bytes: bytes.next_multiple_of(4096),
            is_sparse: true,
            direct_io: true,
            sector_bytes: 512,
            model: Some(fitted_to_size(model, bytes)?),
        };
        if !rustix::process::geteuid().is_root() {
            return Err(DeviceError::NotRoot { what: "making a loop device" }.into());
        }
        let directory = lab.images(images)?;
        let mut cautions = check_room(&directory, 1, &spec)?;
        let image = LoopImage::make(lab, &directory, spec)?;
        cautions.extend(image.cautions());
        image.play(true)?;
        Ok(Self::new(lab, AcquiredStorage::Images(vec![image], bytes), cautions))
    }

    /// Checks a variant without examining its device: the filesystem's tool, the options, and
    /// kernel support unless a guest mounts the filesystem. `None` for a directory that is used as
    /// it is.
    ///
    /// # Errors
    /// When the filesystem cannot be made or mounted here, or an option is refused.
    pub fn check(variant: &Variant, lab: &Lab) -> Result<Option<&'static Filesystem>, LabError> {
        if variant.guest.is_none() {
            check_limits(&variant.settings.limits, &lab.machine)?;
        }
        let filesystem = match variant.filesystem.as_str() {
            "" => return Ok(None),
            name => find_filesystem(name)?,
        };
        let availability = match &variant.guest {
            Some(_) => lab.availability_for_guests(filesystem),
            None => lab.availability(filesystem),
        };
        require_available(filesystem, availability)?;
        check_options(filesystem, variant)?;
        if let Some(device) = &variant.settings.second_device {
            second::check(filesystem, device)?;
        }
        // The guest's kernel makes the layers.
        if variant.guest.is_none() {
            Self::check_layers(&variant.settings.layers, variant.member_count(), lab)?;
        }
        Ok(Some(filesystem))
    }

    fn directory(path: &Path, lab: &Lab) -> Result<Self, LabError> {
        let resolved = path.canonicalize().map_err(LabError::io("cannot find", path))?;
        if !resolved.is_dir() {
            return Err(LabError::NotADirectory { path: path.to_owned() });
        }
        Ok(Self::new(lab, AcquiredStorage::Directory(resolved), Vec::new()))
    }

    fn images(device: &DeviceSpec, lab: &Lab) -> Result<Self, LabError> {
        let DeviceSpec::Loop { bytes, count, sparse, direct_io, sector_bytes, directory, disk } =
            device
        else {
            return Err(unfit("no loop image".to_owned()));
        };
        let model = disk.as_deref().map(|name| find_model(name, *bytes)).transpose()?;
        let spec = ImageSpec {
            bytes: *bytes,
            is_sparse: *sparse,
            direct_io: *direct_io,
            sector_bytes: *sector_bytes,
            model,
        };
        if !matches!(sector_bytes, 512 | 1024 | 2048 | 4096) {
            return Err(unfit(format!("a sector has 512 or 4096 bytes, not {sector_bytes}")));
        }
        if *bytes % u64::from(*sector_bytes) != 0 {
            return Err(unfit(format!("{bytes} bytes is not a multiple of the sector size")));
        }
        if !rustix::process::geteuid().is_root() {
            return Err(DeviceError::NotRoot { what: "making a loop device" }.into());
        }
        let directory = lab.images(directory.as_deref())?;
        let mut cautions = check_room(&directory, u64::from(*count), &spec)?;
        let mut images = Vec::new();
        for _ in 0..*count {
            images.push(LoopImage::make(lab, &directory, spec.clone())?);
        }
        cautions.extend(images.iter().flat_map(LoopImage::cautions));
        Ok(Self::new(lab, AcquiredStorage::Images(images, *bytes), cautions))
    }

    fn blocks(
        paths: &[PathBuf],
        filesystem: Option<&Filesystem>,
        erasing: &EraseList,
        lab: &Lab,
    ) -> Result<Self, LabError> {
        if !rustix::process::geteuid().is_root() {
            return Err(DeviceError::NotRoot { what: "formatting a device" }.into());
        }
        let taken = inspected(paths, erasing, lab)?;
        for (inspection, _) in &taken {
            filesystem.map_or(Ok(()), |it| check_size(it, inspection.bytes))?;
        }
        let mut blocks = Vec::new();
        for (inspection, lock) in taken {
            let failed =
                |errno: Errno| LabError::io("cannot open", &inspection.resolved)(errno.into());
            let device = open_device(&inspection.resolved, DeviceOpenMode::Look).map_err(failed)?;
            let mut content = DeviceContent::Empty;
            if !inspection.obstacles.is_empty() {
                erase(&lab.machine, &inspection)?;
                content = DeviceContent::Erased;
            }
            let member = MemberDevice {
                asked_path: inspection.asked_path,
                node: inspection.resolved,
                number: inspection.number,
                bytes: inspection.bytes,
            };
            blocks.push(BlockDevice { member, device, _lock: lock, content });
        }
        Ok(Self::new(lab, AcquiredStorage::Blocks(blocks), Vec::new()))
    }

    /// Acquires the disks of a guest without inspection: no other machine uses them, and their
    /// content is of no value.
    ///
    /// # Errors
    /// When a disk is not a block device, or cannot be opened.
    pub fn of_guest(disks: &[PathBuf], lab: &Lab) -> Result<Self, LabError> {
        let mut blocks = Vec::new();
        for node in disks {
            let failed = |errno: Errno| LabError::io("cannot open", node)(errno.into());
            let number = block_number(node).ok_or_else(|| failed(Errno::NOTBLK))?;
            let device = open_device(node, DeviceOpenMode::Look).map_err(failed)?;
            let bytes = device_bytes(&device).map_err(failed)?;
            let lock = lab.register.take_device(number, node)?;
            let (asked_path, node) = (node.clone(), node.clone());
            let member = MemberDevice { asked_path, node, number, bytes };
            blocks.push(BlockDevice { member, device, _lock: lock, content: DeviceContent::Ours });
        }
        Ok(Self::new(lab, AcquiredStorage::Blocks(blocks), Vec::new()))
    }

    /// Cautions about measurements on this device.
    pub fn cautions(&self) -> Vec<DeviceCaution> {
        let mut cautions = self.cautions.clone();
        for caution in self.journal.iter().flat_map(|journal| &journal.cautions) {
            if !cautions.contains(caution) {
                cautions.push(caution.clone());
            }
        }
        cautions
    }

    /// Block devices of this device, that of the journal last; empty for a directory and for
    /// memory.
    pub fn members(&self) -> Vec<MemberDevice> {
        let mut members = self.members_of_data();
        members.extend(self.journal.iter().flat_map(|journal| journal.members()));
        members
    }

    /// Block devices of the filesystem, without that of its journal.
    pub fn members_of_data(&self) -> Vec<MemberDevice> {
        match &self.storage {
            AcquiredStorage::Images(images, bytes) => images
                .iter()
                .map(|image| MemberDevice {
                    asked_path: image.path().to_owned(),
                    node: image.node().to_owned(),
                    number: image.number(),
                    bytes: *bytes,
                })
                .collect(),
            AcquiredStorage::Blocks(blocks) => {
                blocks.iter().map(|block| block.member.clone()).collect()
            }
            AcquiredStorage::Mapped(mapped) => mapped.members(),
            AcquiredStorage::Joined(parts) => parts.iter().flat_map(Self::members).collect(),
            AcquiredStorage::Directory(_) | AcquiredStorage::Memory(_) => Vec::new(),
        }
    }

    /// Releases the device: takes layers down, detaches loop devices, and removes their images.
    ///
    /// # Errors
    /// When a part is still in use or cannot be removed; the other parts are released all the same.
    pub fn release(self) -> Result<(), LabError> {
        let Self { storage, journal, .. } = self.uncovered()?;
        let freed = storage.release();
        journal.map_or(Ok(()), |journal| journal.release()).and(freed)
    }

    /// Checks that each device is still the acquired one and has no users, and removes the content
    /// that this run wrote to it.
    pub(crate) fn prepare(&mut self) -> Result<(), LabError> {
        match &mut self.storage {
            AcquiredStorage::Images(images, _) => {
                images.iter_mut().try_for_each(LoopImage::prepare)
            }
            AcquiredStorage::Blocks(blocks) => {
                let lab = &self.lab;
                blocks.iter_mut().try_for_each(|block| block.prepare(lab))
            }
            AcquiredStorage::Joined(parts) => parts.iter_mut().try_for_each(Self::prepare),
            // A mapped device is used for a single filesystem, so it is still empty.
            _ => Ok(()),
        }?;
        self.journal.as_mut().map_or(Ok(()), |journal| journal.prepare())
    }

    /// Preallocates images again after mkfs, which discards their blocks.
    pub(crate) fn refill(&self) -> Result<(), LabError> {
        match &self.storage {
            AcquiredStorage::Images(images, _) => images.iter().try_for_each(LoopImage::refill),
            AcquiredStorage::Joined(parts) => parts.iter().try_for_each(Self::refill),
            _ => Ok(()),
        }?;
        self.journal.as_ref().map_or(Ok(()), |journal| journal.refill())
    }

    /// Writes back and drops the kernel's buffers of the block devices themselves.
    ///
    /// # Errors
    /// When a device cannot be flushed.
    pub fn forget(&self) -> Result<(), LabError> {
        match &self.storage {
            AcquiredStorage::Images(images, _) => images.iter().try_for_each(LoopImage::forget)?,
            AcquiredStorage::Blocks(blocks) => blocks.iter().try_for_each(|block| {
                let failed = LabError::io("cannot flush", &block.member.node);
                flush_buffers(&block.device).map_err(|errno| failed(errno.into()))
            })?,
            AcquiredStorage::Mapped(mapped) => mapped.forget()?,
            AcquiredStorage::Joined(parts) => parts.iter().try_for_each(Self::forget)?,
            AcquiredStorage::Directory(_) | AcquiredStorage::Memory(_) => {}
        }
        self.journal.as_ref().map_or(Ok(()), |journal| journal.forget())?;
        self.lower().map_or(Ok(()), Self::forget)
    }

    /// Copies of the images; empty for other kinds of device.
    pub(crate) fn master_copy(&self) -> Result<Vec<MasterImage>, LabError> {
        let Some(images) = self.own_images() else { return Ok(Vec::new()) };
        let copies = images.iter().map(|image| image.master_copy().map(Option::into_iter));
        Ok(copies.collect::<Result<Vec<_>, LabError>>()?.into_iter().flatten().collect())
    }

    /// Writes master copies into the emptied images; false if the images cannot be emptied.
    pub(crate) fn fill(&self, masters: &[MasterImage]) -> Result<bool, LabError> {
        let Some(images) = self.own_images() else { return Ok(false) };
        if images.len() != masters.len() {
            return Ok(false);
        }
        for (image, master) in images.iter().zip(masters) {
            if !image.fill(master)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// True if the guard now finds one of these signatures on each member of the filesystem.
    pub(crate) fn has_signature(&self, signatures: &[&str]) -> Result<bool, LabError> {
        for member in self.members_of_data() {
            let failed = || LabError::io("cannot read", &member.node);
            let device = open_device(&member.node, DeviceOpenMode::Look)
                .map_err(|errno| failed()(errno.into()))?;
            let signatures_found = find_signatures(&device, member.bytes).map_err(failed())?;
            let is_listed = |signatures_found: &DeviceSignature| {
                !signatures_found.is_copy && signatures.contains(&signatures_found.name)
            };
            if !signatures_found.iter().any(is_listed) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Refuses an option that names a block device outside this device: mkfs or mount would write
    /// to a device that the guard has not inspected.
    pub(crate) fn refuse_other_devices(
        &self,
        options: &[String],
        folder: &Path,
    ) -> Result<(), LabError> {
        let members = self.members();
        for option in options {
            let strangers = filesystems::paths_in(option).into_iter().any(|path| {
                let number = block_number(&folder.join(path));
                number.is_some_and(|number| members.iter().all(|member| member.number != number))
            });
            let by_name = option.contains("UUID=") || option.contains("LABEL=");
            if strangers || by_name {
                let why = "it names a device that is not the variant's; that of a journal is \
                           named by the key `journal` of the variant"
                    .to_owned();
                return Err(DeviceError::OptionRefused { option: option.clone(), why }.into());
            }
        }
        Ok(())
    }
}

impl BlockDevice {
    fn prepare(&mut self, lab: &Lab) -> Result<(), LabError> {
        let MemberDevice { asked_path, node, number, bytes } = &self.member;
        let is_same =
            block_number(node) == Some(*number) && device_bytes(&self.device) == Ok(*bytes);
        if !is_same {
            let why = "it is not the device that was opened".to_owned();
            return Err(DeviceError::NotOurs { what: node.display().to_string(), why }.into());
        }
        let mut obstacles = obstacles_to_use(&lab.machine, node, *number)?;
        if obstacles.is_empty() {
            let failed = |errno: Errno| LabError::io("cannot open", node)(errno.into());
            let device = open_device(node, DeviceOpenMode::WriteAlone).map_err(failed)?;
            if self.content == DeviceContent::Ours {
                clear_signatures(&device, *bytes).map_err(LabError::io("cannot empty", node))?;
            }
            // Searches for content again through the exclusive descriptor. Data on a device that
            // was empty when acquired belong to somebody else. A device that had content before may
            // still have remains of it.
            let depth = match self.content {
                DeviceContent::Empty => SearchDepth::Full,
                DeviceContent::Erased | DeviceContent::Ours => SearchDepth::Glance,
            };
            let content = content_of(&lab.machine, *number, (&device, *bytes), depth);
            obstacles.extend(content.map_err(LabError::io("cannot read", node))?.obstacles);
        }
        if !obstacles.is_empty() {
            let (asked_path, resolved) = (asked_path.clone(), node.clone());
            let (number, bytes) = (*number, *bytes);
            return Err(DeviceError::Refused(Inspection {
                asked_path,
                resolved,
                number,
                bytes,
                obstacles,
                coverage: None,
            })
            .into());
        }
        self.content = DeviceContent::Ours;
        Ok(())
    }
}

/// Looks up a filesystem by name.
pub(crate) fn find_filesystem(name: &str) -> Result<&'static Filesystem, LabError> {
    let filesystem = filesystems::find(name);
    Ok(filesystem.ok_or_else(|| DeviceError::UnknownFilesystem { name: name.to_owned() })?)
}

/// Refuses options early that `format` or `mount` would refuse.
fn check_options(filesystem: &Filesystem, variant: &Variant) -> Result<(), LabError> {
    let devices = [PathBuf::new()];
    let request = MkfsRequest { devices: &devices, label: "", options: &variant.mkfs };
    filesystems::arguments(filesystem, &request).map_err(refused_option)?;
    MountOptions::parse(&variant.mount).map_err(DeviceError::MountOption)?;
    Ok(())
}

/// Error for a refused option.
pub(crate) fn refused_option(refusal: OptionRefusal) -> LabError {
    DeviceError::OptionRefused { option: refusal.option, why: refusal.why }.into()
}

/// Path and version of the filesystem's mkfs, if the filesystem is available.
pub(crate) fn require_available(
    filesystem: &Filesystem,
    availability: Availability,
) -> Result<(Option<PathBuf>, Option<String>), LabError> {
    match availability {
        Availability::Ready { tool, version } => Ok((tool, version)),
        Availability::Missing { why, how } => {
            let filesystem = filesystem.name;
            Err(DeviceError::Missing { filesystem, why, how }.into())
        }
    }
}

/// Refuses a number of devices that the filesystem cannot span.
pub(crate) fn check_device_count(filesystem: &Filesystem, count: usize) -> Result<(), LabError> {
    let name = filesystem.name;
    match (count, filesystem.devices_max()) {
        (0, _) => Err(unfit(format!("{name} needs a device"))),
        (devices, 1) if devices > 1 => {
            Err(unfit(format!("{name} takes one device, but {devices} are given")))
        }
        _ => Ok(()),
    }
}

/// Refuses a device smaller than the filesystem's minimum size.
pub(crate) fn check_size(filesystem: &Filesystem, bytes: u64) -> Result<(), LabError> {
    let (name, least) = (filesystem.name, filesystem.bytes_min);
    if bytes < least {
        return Err(unfit(format!("{name} needs {least} bytes, but the device has {bytes}")));
    }
    Ok(())
}

/// Finds the disk model with this name; refuses a model with less capacity than `bytes`.
fn find_model(name: &str, bytes: u64) -> Result<Arc<PlayedModel>, LabError> {
    fitted_to_size(PlayedModel::find(name)?, bytes)
}

fn fitted_to_size(model: PlayedModel, bytes: u64) -> Result<Arc<PlayedModel>, LabError> {
    let name = &model.name;
    let capacity = model.disk.capacity_bytes();
    if capacity < bytes {
        return Err(unfit(format!("disk {name} has {capacity} bytes, less than {bytes}")));
    }
    Ok(Arc::new(model))
}

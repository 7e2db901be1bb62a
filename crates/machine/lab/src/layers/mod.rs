//! Layers of a variant: built on its device before mkfs, or mounted above its filesystem. They are
//! taken down in reverse order.
//!
//! A device with layers is a [`LabDevice`] that owns the parts below it. Each part has its own
//! record in the register, written before the part is made; a release takes the parts down from the
//! top.

mod array;
mod array_removal;
mod cache;
mod cache_removal;
mod file;
mod mapping;
mod overlay;
mod parts;
mod recorded_device;
mod removal;
mod superblock;
mod targets;

use std::path::PathBuf;
use treering_model::filesystems::{Filesystem, OVERLAY};

use treering_model::{Layer, OverlayLayer};

use crate::device::{AcquiredStorage, LabDevice, LowerPart, find_filesystem, require_available};
use crate::error::unfit;
use crate::filesystems::kernel_has;
use crate::images::LoopImage;
use crate::volume::MountedVolume;
use crate::{DeviceError, Lab, LabError};

pub(crate) use array_removal::free_array;
pub(crate) use cache_removal::free_cache;
pub(crate) use overlay::OverlayMount;
pub(crate) use removal::free_mapping;

impl LowerPart for LabDevice {
    fn device(&self) -> Option<&LabDevice> {
        Some(self)
    }

    fn into_device(self: Box<Self>) -> Result<LabDevice, LabError> {
        Ok(*self)
    }
}

impl LowerPart for MountedVolume {
    fn device(&self) -> Option<&LabDevice> {
        Self::device(self)
    }

    fn into_device(self: Box<Self>) -> Result<LabDevice, LabError> {
        self.release()
    }
}

impl LabDevice {
    /// Builds the layers below the filesystem, the lowest first. [`MountedVolume::covered`] builds
    /// those above it.
    ///
    /// # Errors
    /// When a layer cannot be made here; the layers below it are then taken down.
    pub fn covered(self, layers: &[Layer]) -> Result<Self, LabError> {
        let mut device = self;
        // Layers are built on the devices of the filesystem; its journal stays as it is.
        let journal = device.journal.take();
        for layer in layers {
            device = match layer {
                Layer::Loop(layer) => file::on_filesystem(device, layer)?,
                Layer::Md(layer) => array::of_disks(device, layer)?,
                Layer::Bcache(layer) => cache::before_disk(device, layer)?,
                Layer::Overlay(_) => device,
                Layer::Crypt(_) | Layer::Linear | Layer::Thin(_) | Layer::Snapshot(_) => {
                    targets::mapped(device, layer)?
                }
            };
        }
        device.journal = journal;
        Ok(device)
    }

    /// Takes all layers down, the highest first, and returns the device below.
    ///
    /// # Errors
    /// When a layer is in use; this layer and those below it stay in the register.
    pub fn uncovered(mut self) -> Result<Self, LabError> {
        let journal = self.journal.take();
        while let Some(below) = self.below.take() {
            self.storage.release()?;
            self = below.into_device()?;
        }
        self.journal = journal;
        Ok(self)
    }

    /// Empties the device for layers that a guest builds on it.
    ///
    /// # Errors
    /// When the device is in use, or cannot be emptied.
    pub fn emptied(mut self) -> Result<Self, LabError> {
        self.prepare()?;
        self.forget()?;
        Ok(self)
    }

    /// Device below this one, if this one is a layer.
    pub(crate) fn lower(&self) -> Option<&Self> {
        self.below.as_ref().and_then(|below| below.device())
    }

    /// Device below all layers.
    pub(crate) fn bottom(&self) -> &Self {
        let mut device = self;
        while let Some(lower) = device.lower() {
            device = lower;
        }
        device
    }
}

impl AcquiredStorage {
    /// Detaches loop devices and removes their images, and removes mapped devices.
    pub(crate) fn release(self) -> Result<(), LabError> {
        match self {
            Self::Images(images, _) => {
                let freed: Vec<_> = images.into_iter().map(LoopImage::release).collect();
                freed.into_iter().collect()
            }
            Self::Mapped(mapped) => mapped.release(),
            Self::Joined(parts) => {
                let freed = parts.map(LabDevice::release);
                freed.into_iter().collect()
            }
            Self::Blocks(_) | Self::Directory(_) | Self::Memory(_) => Ok(()),
        }
    }
}

impl LabDevice {
    /// Filesystem of the lowest layer that has its own, and the number of devices below it;
    /// `devices` is the number at the bottom. If no layer has a filesystem: `None`, and the number
    /// of devices below the variant's.
    pub(crate) fn lowest_filesystem(
        layers: &[Layer],
        mut devices: usize,
    ) -> (Option<Result<&'static Filesystem, LabError>>, usize) {
        for layer in layers {
            if let Layer::Loop(layer) = layer {
                return (Some(find_filesystem(&layer.on)), devices);
            }
            devices = layer.devices_above(devices);
        }
        (None, devices)
    }

    /// Checks that this machine has the kernel support and the programs for these layers.
    pub(crate) fn check_layers(
        layers: &[Layer],
        mut devices: usize,
        lab: &Lab,
    ) -> Result<(), LabError> {
        for layer in layers {
            match layer {
                Layer::Md(layer) => array::check(layer, devices, lab)?,
                Layer::Bcache(_) => cache::check(devices, lab)?,
                Layer::Loop(layer) => {
                    let filesystem = find_filesystem(&layer.on)?;
                    require_available(filesystem, lab.availability(filesystem))?;
                }
                Layer::Overlay(layer) => {
                    overlay::check_options(layer)?;
                    if !kernel_has(OVERLAY, &lab.machine, &lab.tools) {
                        return Err(missing("overlay", "CONFIG_OVERLAY_FS", "overlay").into());
                    }
                }
                Layer::Crypt(_) | Layer::Linear | Layer::Thin(_) | Layer::Snapshot(_) => {
                    targets::check(layer, &lab.tools)?;
                }
            }
            devices = layer.devices_above(devices);
        }
        let is_under_another = |pair: &[Layer]| pair[0].is_above_filesystem();
        if layers.windows(2).any(is_under_another) {
            return Err(unfit("an overlay is the last of the layers".to_owned()));
        }
        Ok(())
    }
}

impl MountedVolume {
    /// Mounts those layers that are above the filesystem; their root becomes the target directory.
    ///
    /// # Errors
    /// When the kernel refuses a layer.
    pub fn covered(self, layers: &[Layer]) -> Result<Self, LabError> {
        let above = layers.iter().filter_map(|layer| match layer {
            Layer::Overlay(layer) => Some(layer),
            _ => None,
        });
        above.take(1).try_fold(self, Self::overlaid)
    }

    /// Directory that will be the lower one of an overlay above this filesystem, made if missing.
    /// Its files may change only until the overlay is mounted.
    ///
    /// # Errors
    /// When it cannot be made.
    pub fn lower_directory(&self) -> Result<PathBuf, LabError> {
        overlay::lower_directory(self.own_root())
    }

    /// Mounts an overlay above the filesystem.
    pub(crate) fn overlaid(mut self, layer: &OverlayLayer) -> Result<Self, LabError> {
        let lab = self.lab()?.clone();
        self.overlay = Some(OverlayMount::new(&lab, layer.clone(), self.own_root())?);
        Ok(self)
    }
}

fn missing(layer: &'static str, option: &str, module: &str) -> DeviceError {
    DeviceError::Missing {
        filesystem: layer,
        why: format!("the running kernel has no {module}"),
        how: format!("boot a kernel built with {option}, or install the module {module}"),
    }
}

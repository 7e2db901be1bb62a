//! Devices of two kinds: a journal on a device of its own, and further members.

use std::path::PathBuf;

use treering_model::filesystems::Filesystem;
use treering_model::{DeviceSpec, SecondDevice, Variant};

use super::raw::RawDevices;
use super::{AcquiredStorage, LabDevice};
use crate::device_caution::DeviceCaution;
use crate::error::unfit;
use crate::guard::EraseList;
use crate::images::LoopImage;
use crate::{Lab, LabError};

impl LabDevice {
    pub(crate) fn new(lab: &Lab, storage: AcquiredStorage, cautions: Vec<DeviceCaution>) -> Self {
        Self { lab: lab.clone(), storage, below: None, journal: None, cautions }
    }

    /// Layer with this storage above the device.
    pub(crate) fn below(self, storage: AcquiredStorage) -> Self {
        let (lab, cautions) = (self.lab.clone(), self.cautions.clone());
        Self { lab, storage, below: Some(Box::new(self)), journal: None, cautions }
    }

    /// Examines the block devices of a variant with two devices together, so that neither is erased
    /// where the other is refused.
    ///
    /// # Errors
    /// When the guard refuses one, both are the same, or another run holds one.
    pub fn examine_blocks(
        variant: &Variant,
        erasing: &EraseList,
        lab: &Lab,
    ) -> Result<(), LabError> {
        let Some(second) = &variant.settings.second_device else { return Ok(()) };
        let blocks = [&variant.device, second.spec()].into_iter().filter_map(|spec| match spec {
            DeviceSpec::Block { paths } => Some(paths.as_slice()),
            DeviceSpec::Loop { .. } | DeviceSpec::Directory { .. } => None,
        });
        let blocks: Vec<PathBuf> = blocks.flatten().cloned().collect();
        RawDevices::take(&blocks, erasing, lab).map(drop)
    }

    /// Acquires the second device of a variant, without the first.
    ///
    /// # Errors
    /// When the guard refuses it, or its image cannot be made.
    pub fn acquire_second(
        second: &SecondDevice,
        erasing: &EraseList,
        lab: &Lab,
    ) -> Result<Self, LabError> {
        match second.spec() {
            spec @ DeviceSpec::Loop { .. } => Self::images(spec, lab),
            DeviceSpec::Block { paths } => Self::blocks(paths, None, erasing, lab),
            DeviceSpec::Directory { path } => {
                Err(unfit(format!("{} is a directory, not a second device", path.display())))
            }
        }
    }

    /// Adds the second device of a variant.
    #[must_use]
    pub fn with_second(mut self, device: Self, second: &SecondDevice) -> Self {
        if second.is_journal() {
            self.journal = Some(Box::new(device));
            return self;
        }
        let lab = self.lab.clone();
        let cautions = [self.cautions.clone(), device.cautions.clone()].concat();
        Self::new(&lab, AcquiredStorage::Joined(Box::new([self, device])), cautions)
    }

    /// Separates the second device, if there is one, from the first.
    #[must_use]
    pub fn parted(mut self) -> (Self, Option<Self>) {
        if let Some(journal) = self.journal.take() {
            return (self, Some(*journal));
        }
        match self.storage {
            AcquiredStorage::Joined(parts) => {
                let [first, second] = *parts;
                (first, Some(second))
            }
            _ => (self, None),
        }
    }

    /// Node of the journal's device; `None` for a journal inside the filesystem.
    pub(crate) fn journal_node(&self) -> Option<PathBuf> {
        let journal = self.journal.as_ref()?.members().into_iter().next()?;
        Some(journal.node)
    }

    /// Images that the filesystem and its journal are on; `None` if a part is on another kind of
    /// device.
    pub(super) fn own_images(&self) -> Option<Vec<&LoopImage>> {
        let mut images: Vec<&LoopImage> = match &self.storage {
            AcquiredStorage::Images(images, _) => images.iter().collect(),
            AcquiredStorage::Joined(parts) => {
                let of_parts: Option<Vec<_>> = parts.iter().map(Self::own_images).collect();
                of_parts?.concat()
            }
            _ => return None,
        };
        if let Some(journal) = &self.journal {
            images.extend(journal.own_images()?);
        }
        Some(images)
    }

    /// Images below all layers, and those of the journal.
    pub(crate) fn bottom_images(&self) -> Vec<&LoopImage> {
        let mut images: Vec<&LoopImage> = match &self.bottom().storage {
            AcquiredStorage::Images(images, _) => images.iter().collect(),
            AcquiredStorage::Joined(parts) => parts.iter().flat_map(Self::bottom_images).collect(),
            _ => Vec::new(),
        };
        images.extend(self.journal.iter().flat_map(|journal| journal.bottom_images()));
        images
    }
}

/// Refuses a second device that is a journal's, for a filesystem that has none on another device.
pub(super) fn check(filesystem: &Filesystem, second: &SecondDevice) -> Result<(), LabError> {
    let name = filesystem.name;
    if second.is_journal() && filesystem.outer_journal.is_none() {
        return Err(unfit(format!("{name} has no journal on another device")));
    }
    if second.is_journal() && second.spec().count() != 1 {
        let count = second.spec().count();
        return Err(unfit(format!("a journal of {name} is on one device, not on {count}")));
    }
    Ok(())
}

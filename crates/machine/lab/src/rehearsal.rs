//! Rehearsal of a variant before anything is measured: makes and mounts its filesystem on sparse
//! images of the same size, and checks its settings: sysfs attributes are written for the images,
//! and values that belong to the machine are compared with the present ones.
//!
//! The rehearsal checks only the contents of the plan. Missing programs, rights, devices or kernel
//! support are reported when the plan is run.

use std::path::PathBuf;

use treering_model::{DeviceSpec, Variant};
use treering_sys::is_root;

use crate::filesystems::{self, Availability};
use crate::guard::EraseList;
use crate::settings::{impossible_attribute, impossible_sysctl, refused_attribute};
use crate::{Lab, LabDevice, LabError};

/// Maximum size of a rehearsed image. A refusal on an image smaller than the plan's proves nothing.
const BYTES_MAX: u64 = 16 << 30;
/// Size of the image in place of a second block device.
const SECOND_BYTES: u64 = 1 << 30;

/// Part of a variant that the machine refuses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RefusedPart {
    /// The options of mkfs.
    Mkfs,
    /// The mount options.
    Mount,
    /// A sysctl of this name.
    Sysctl(String),
    /// An attribute in sysfs of this name.
    Sysfs(String),
}

/// Error of a rehearsal.
#[derive(Debug)]
pub struct RehearsalError {
    /// Refused part of the variant; `None` if the rehearsed filesystem cannot be removed again.
    pub part: Option<RefusedPart>,
    /// Error of mkfs, of the mount or of the setting.
    pub error: Box<LabError>,
}

impl From<LabError> for RehearsalError {
    fn from(error: LabError) -> Self {
        Self { part: None, error: Box::new(error) }
    }
}

/// Makes the filesystem of a variant on sparse images and mounts it, then removes everything. A
/// filesystem for a guest or for another kernel (`is_for_other_kernel`) is not mounted.
///
/// # Errors
/// When mkfs or the kernel refuses a part of the variant, or a setting cannot have its value.
pub fn rehearse(
    variant: &Variant,
    is_for_other_kernel: bool,
    lab: &Lab,
) -> Result<(), RehearsalError> {
    let refused = |part| move |error| RehearsalError { part: Some(part), error: Box::new(error) };
    let is_for_this_kernel =
        !is_for_other_kernel && variant.guest.is_none() && variant.kernel.is_none();
    if is_for_this_kernel && let Some((name, error)) = impossible_sysctl(&variant.settings, lab) {
        return Err(refused(RefusedPart::Sysctl(name))(error));
    }
    let Some((sample, is_as_large)) = sample(variant).filter(|_| is_root()) else { return Ok(()) };
    let Ok(device) = LabDevice::acquire(&sample, &EraseList::default(), lab) else {
        return Ok(());
    };
    let nodes: Vec<PathBuf> = device.members().into_iter().map(|member| member.node).collect();
    let volume = match device.format(&sample.filesystem, &sample.mkfs) {
        Ok(volume) => volume,
        Err(error) if is_as_large => return Err(refused(RefusedPart::Mkfs)(error)),
        Err(_) => return Ok(()),
    };
    let can_be_mounted = filesystems::find(&sample.filesystem)
        .is_some_and(|found| matches!(lab.availability(found), Availability::Ready { .. }));
    if !is_for_this_kernel || !can_be_mounted {
        return Ok(volume.into_device().release()?);
    }
    let mounted = volume.mount(&sample.mount).map_err(refused(RefusedPart::Mount))?;
    let of_device = match &variant.device {
        DeviceSpec::Block { paths } => paths,
        DeviceSpec::Loop { .. } | DeviceSpec::Directory { .. } => &nodes,
    };
    let filesystem = (variant.filesystem.as_str(), nodes.as_slice());
    let mut impossible = impossible_attribute(&variant.settings, filesystem, of_device, lab);
    // A value that a smaller image refuses may fit the plan's device.
    if impossible.is_none() && is_as_large && matches!(variant.device, DeviceSpec::Loop { .. }) {
        impossible = refused_attribute(&variant.settings, filesystem, lab);
    }
    let released = mounted.release().and_then(LabDevice::release);
    if let Some((name, error)) = impossible {
        return Err(refused(RefusedPart::Sysfs(name))(error));
    }
    Ok(released?)
}

/// Variant on sparse images in place of its device, and true if the images have the size of the
/// device; `None` for a directory, which is used as it is.
fn sample(variant: &Variant) -> Option<(Variant, bool)> {
    let mut sample = variant.clone();
    let second = sample.settings.second_device.take();
    let (bytes, count, sector_bytes) = match &variant.device {
        DeviceSpec::Loop { bytes, count, sector_bytes, .. } => (*bytes, *count, *sector_bytes),
        DeviceSpec::Block { paths } => (u64::MAX, u16::try_from(paths.len()).ok()?, 512),
        DeviceSpec::Directory { .. } => return None,
    };
    let has_layers = !sample.settings.layers.is_empty();
    let is_below_layers = has_layers && second.as_ref().is_some_and(|second| !second.is_journal());
    let count = if is_below_layers { variant.member_count() } else { count.into() };
    // Layers are left out: their devices are together no larger than the devices below.
    let layers = std::mem::take(&mut sample.settings.layers);
    let above = layers.iter().fold(count, |below, layer| layer.devices_above(below));
    let bytes = bytes.saturating_mul(count as u64) / above.max(1) as u64;
    let bytes = bytes / u64::from(sector_bytes) * u64::from(sector_bytes);
    sample.device = sparse(bytes.min(BYTES_MAX), above, sector_bytes)?;
    let mut is_as_large = bytes <= BYTES_MAX;
    if let Some(second) = second {
        // The members below layers are all taken as the first one, whatever their sizes.
        let is_image = matches!(second.spec(), DeviceSpec::Loop { .. });
        is_as_large &= is_image && !is_below_layers;
        let count = second.spec().count();
        let spec = match second.spec() {
            DeviceSpec::Loop { bytes, sector_bytes, .. } => sparse(*bytes, count, *sector_bytes)?,
            _ => sparse(SECOND_BYTES, count, sector_bytes)?,
        };
        sample.settings.second_device = (!is_below_layers).then(|| second.with_spec(spec));
    }
    Some((sample, is_as_large))
}

/// Sparse images; `None` for more than there can be.
fn sparse(bytes: u64, count: usize, sector_bytes: u32) -> Option<DeviceSpec> {
    Some(DeviceSpec::Loop {
        bytes,
        count: u16::try_from(count).ok()?,
        sparse: true,
        direct_io: false,
        sector_bytes,
        directory: None,
        disk: None,
    })
}

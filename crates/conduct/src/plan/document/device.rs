//! Device of a variant: a loop image, block devices or a directory.

use std::ops::Range;
use std::path::PathBuf;

use treering_model::DeviceSpec;
use treering_model::nearest::suggestion;
use treering_trace::ModelledDisk;

use super::format::DeviceTable;
use super::tree::{Entry, Optional};
use super::values::{BlockDevices, DiskName, WholeNumber};
use crate::plan::error::{Fault, quoted};

/// Size of the loop image of variants that name no device.
const DEFAULT_BYTES: u64 = 4 << 30;
const DEVICES_MAX: usize = 64;

/// Device with its position in the document.
#[derive(Clone, Debug)]
pub(super) struct PlacedDevice {
    pub(super) spec: DeviceSpec,
    /// Position of the value that names the device; `None` for the default.
    pub(super) span: Option<Range<usize>>,
}

impl PlacedDevice {
    /// Position of the device if it was named, else of the section.
    pub(super) fn place_or(&self, section: &Range<usize>) -> Range<usize> {
        self.span.as_ref().unwrap_or(section).clone()
    }
}

/// Device of a section.
pub(super) fn device(section: Option<&Entry<DeviceTable>>) -> Result<Option<PlacedDevice>, Fault> {
    let Some(section) = section else { return Ok(None) };
    let kinds = [section.r#loop.key(), section.block.key(), section.directory.key()];
    let mut kinds = kinds.into_iter().flatten();
    let Some(kind) = kinds.next() else {
        let message = "the device is neither loop nor block nor directory";
        let hint = "write one of: loop = \"8GiB\", block = \"/dev/sdb1\", directory = \"/mnt/x\"";
        return Err(section.fault(message, "").hint(hint));
    };
    if let Some(other) = kinds.next() {
        let message = format!("a device is either `{}` or `{}`, not both", *kind, *other);
        return Err(other
            .fault(message, "conflicts with the other")
            .also(kind.span, "the other")
            .hint("leave one of them out"));
    }
    let of_loops = [
        section.count.key(),
        section.sparse.key(),
        section.direct_io.key(),
        section.sector_bytes.key(),
        section.images.key(),
        section.disk.key(),
    ];
    let stray = of_loops.into_iter().flatten().next();
    if let Some(stray) = stray.filter(|_| section.r#loop.is_none()) {
        let message = format!("`{}` is for loop images, not for `{}`", *stray, *kind);
        return Err(stray
            .fault(message, "has no meaning here")
            .also(kind.span, "the device")
            .hint(format!("leave `{}` out", *stray)));
    }
    let (spec, span) = match (&section.r#loop, &section.block, &section.directory) {
        (Some(bytes), _, _) => (images(section)?, &bytes.span),
        (_, Some(block), _) => (DeviceSpec::Block { paths: block_devices(block)? }, &block.span),
        (_, _, Some(directory)) => {
            (DeviceSpec::Directory { path: absolute(directory)? }, &directory.span)
        }
        (None, None, None) => return Ok(None),
    };
    Ok(Some(PlacedDevice { spec, span: Some(span.clone()) }))
}

fn images(section: &DeviceTable) -> Result<DeviceSpec, Fault> {
    let default = DeviceSpec::loop_image(DEFAULT_BYTES);
    let sector_bytes = match &section.sector_bytes {
        None => 512,
        Some(sectors) => match sectors.0 {
            known @ (512 | 4096) => known,
            other => {
                let message = format!("sectors of {other} bytes cannot be made");
                return Err(sectors.fault(message, "write 512 or 4096"));
            }
        },
    };
    let Some(size) = &section.r#loop else { return Ok(default) };
    let bytes = size.0;
    if bytes % sector_bytes != 0 {
        let message =
            format!("{bytes} bytes is not a multiple of the sector size of {sector_bytes}");
        return Err(size.fault(message, "").hint("write a size as \"8GiB\""));
    }
    Ok(DeviceSpec::Loop {
        bytes,
        count: section.count.value().map_or(1, WholeNumber::small),
        sparse: section.sparse.value().unwrap_or(false),
        direct_io: section.direct_io.value().unwrap_or(true),
        sector_bytes: u32::try_from(sector_bytes).unwrap_or(512),
        directory: section.images.as_ref().map(absolute).transpose()?,
        disk: section.disk.as_ref().map(|disk| disk_of(disk, bytes)).transpose()?,
    })
}

/// Adds the simulated disk from the key `disk` to a loop device.
pub(super) fn played(
    on: PlacedDevice,
    disk: Option<&Entry<DiskName>>,
) -> Result<PlacedDevice, Fault> {
    let Some(value) = disk else { return Ok(on) };
    let PlacedDevice { mut spec, span } = on;
    if let DeviceSpec::Loop { bytes, disk, .. } = &mut spec {
        *disk = Some(disk_of(value, *bytes)?);
        return Ok(PlacedDevice { spec, span });
    }
    let fault = value.fault("a disk is played over loop images only", "has no meaning here");
    let fault = span.into_iter().fold(fault, |fault, span| fault.also(span, "the device"));
    Err(fault.hint("leave `disk` out, or give a device such as { loop = \"4GiB\" }"))
}

/// Name of a built-in disk, or path of a TOML file, which the lab reads.
fn disk_of(name: &Entry<DiskName>, bytes: u64) -> Result<String, Fault> {
    if name.contains('/') {
        return Ok(absolute(name)?.to_string_lossy().into_owned());
    }
    let Some(disk) = ModelledDisk::named(name) else {
        let model_names: Vec<&str> = ModelledDisk::names().collect();
        let hint = suggestion(name, &model_names, "disks");
        let hint = format!("{hint}; or give the absolute path of a TOML file");
        return Err(name.fault(format!("no disk is called {}", quoted(name)), "").hint(hint));
    };
    if disk.capacity_bytes() < bytes {
        let message = format!("{} has {} bytes", quoted(name), disk.capacity_bytes());
        let hint = format!("the image has {bytes}: make it smaller, or play a larger disk");
        return Err(name.fault(message, "too small").hint(hint));
    }
    Ok(name.to_string())
}

fn block_devices(devices: &Entry<BlockDevices>) -> Result<Vec<PathBuf>, Fault> {
    let elements = devices.0.elements(&devices.span);
    if elements.is_empty() || elements.len() > DEVICES_MAX {
        let message = format!("`block` names {} devices", elements.len());
        return Err(devices.fault(message, format!("write from 1 to {DEVICES_MAX}")));
    }
    let mut paths: Vec<PathBuf> = Vec::new();
    for (span, text) in &elements {
        let path = path("block", span, text)?;
        if let Some(first) = paths.iter().position(|other| *other == path) {
            let message = format!("{} appears twice", quoted(text));
            let fault = Fault::at((*span).clone(), message, "again");
            return Err(fault.also(elements[first].0.clone(), "the first"));
        }
        paths.push(path);
    }
    Ok(paths)
}

fn absolute<T: std::ops::Deref<Target = str>>(entry: &Entry<T>) -> Result<PathBuf, Fault> {
    path(&entry.key, &entry.span, &entry.value)
}

/// Absolute path at a position.
fn path(key: &str, span: &Range<usize>, text: &str) -> Result<PathBuf, Fault> {
    if text.starts_with('/') {
        return Ok(PathBuf::from(text));
    }
    let message = format!("`{key}`: {} does not begin with /", quoted(text));
    Err(Fault::at(span.clone(), message, "")
        .hint("give the absolute path, so that the plan means the same wherever it is started"))
}

/// Device of variants without one of their own: the device of the plan, or a loop image.
pub(super) fn shared(
    section: Option<&Entry<DeviceTable>>,
    disk: Option<&Entry<DiskName>>,
) -> Result<PlacedDevice, Fault> {
    let default = || PlacedDevice { spec: DeviceSpec::loop_image(DEFAULT_BYTES), span: None };
    played(device(section)?.unwrap_or_else(default), disk)
}

//! Device of a variant: a loop image, block devices or a directory.

use std::ops::Range;
use std::path::PathBuf;

use toml::de::DeValue;
use treering_model::DeviceSpec;
use treering_trace::ModelledDisk;

use super::nearest::suggestion;
use super::quantity::size;
use super::section::{Section, Value};
use crate::plan::error::{Fault, quoted};
use crate::plan::loop_device;

/// Size of the loop image of variants that name no device.
const DEFAULT_BYTES: u64 = 4 << 30;
/// Minimum size of a device in bytes; no filesystem fits on less.
const BYTES_MIN: u64 = 1 << 20;
/// Largest file of any filesystem, so that sums over all images stay within bounds.
const BYTES_MAX: u64 = 1 << 56;
const DEVICES_MAX: usize = 64;
const KINDS: [&str; 3] = ["loop", "block", "directory"];
const OF_LOOPS: [&str; 6] = ["count", "sparse", "direct-io", "sector-bytes", "images", "disk"];

/// Device with its position in the document.
#[derive(Clone, Debug)]
pub(super) struct PlacedDevice {
    pub(super) spec: DeviceSpec,
    /// Position of the value that names the device; `None` for the default.
    pub(super) span: Option<Range<usize>>,
}

impl Default for PlacedDevice {
    fn default() -> Self {
        Self { spec: loop_device(DEFAULT_BYTES), span: None }
    }
}

/// Reads the device of a section.
pub(super) fn device(section: &Section<'_>) -> Result<PlacedDevice, Fault> {
    let mut kinds = KINDS.into_iter().filter_map(|key| section.get(key));
    let Some(kind) = kinds.next() else {
        let message = "the device is neither loop nor block nor directory";
        let hint = "write one of: loop = \"8GiB\", block = \"/dev/sdb1\", directory = \"/mnt/x\"";
        return Err(Fault::at(section.span.clone(), message, "").hint(hint));
    };
    if let Some(other) = kinds.next() {
        let message = format!("a device is either `{}` or `{}`, not both", kind.key, other.key);
        return Err(Fault::at(other.key_span, message, "conflicts with the other")
            .also(kind.key_span, "the other")
            .hint("leave one of them out"));
    }
    let span = Some(kind.span.clone());
    let of_loops = section.any_of(&OF_LOOPS).filter(|_| kind.key != "loop");
    if let Some(stray) = of_loops {
        let message = format!("`{}` is for loop images, not for `{}`", stray.key, kind.key);
        return Err(Fault::at(stray.key_span, message, "has no meaning here")
            .also(kind.key_span, "the device")
            .hint(format!("leave `{}` out", stray.key)));
    }
    let spec = match kind.key {
        "loop" => images(section, &kind)?,
        "block" => DeviceSpec::Block { paths: block_devices(&kind)? },
        _ => DeviceSpec::Directory { path: path(&kind)? },
    };
    Ok(PlacedDevice { spec, span })
}

fn images(section: &Section<'_>, value: &Value<'_>) -> Result<DeviceSpec, Fault> {
    let bytes = size(value)?;
    if !(BYTES_MIN..=BYTES_MAX).contains(&bytes) {
        let is = if bytes < BYTES_MIN { "small" } else { "large" };
        let message = format!("an image of {bytes} bytes is too {is}");
        return Err(value.fault(message, "").hint("an image has from 1MiB to 64 PiB (65536TiB)"));
    }
    let flag = |key: &str, default| section.get(key).map_or(Ok(default), |value| value.flag());
    let count = section.get("count").map_or(Ok(1), |count| count.whole(1..=DEVICES_MAX as u64))?;
    let sector_bytes = match section.get("sector-bytes") {
        None => 512,
        Some(sectors) => match sectors.whole_u32(0..=u32::MAX)? {
            known @ (512 | 4096) => known,
            other => {
                let message = format!("sectors of {other} bytes cannot be made");
                return Err(sectors.fault(message, "write 512 or 4096"));
            }
        },
    };
    if bytes % u64::from(sector_bytes) != 0 {
        let message = format!(
            "{bytes} bytes is not a multiple of the sector size of \
                               {sector_bytes}"
        );
        return Err(value.fault(message, "").hint("write a size as \"8GiB\""));
    }
    Ok(DeviceSpec::Loop {
        bytes,
        count: u16::try_from(count).unwrap_or(1),
        sparse: flag("sparse", false)?,
        direct_io: flag("direct-io", true)?,
        sector_bytes,
        directory: section.get("images").map(|images| path(&images)).transpose()?,
        disk: section.get("disk").map(|value| disk_of(&value, bytes)).transpose()?,
    })
}

/// Adds the simulated disk from the key `disk` to a loop device.
pub(super) fn played(on: PlacedDevice, value: Option<&Value<'_>>) -> Result<PlacedDevice, Fault> {
    let Some(value) = value else { return Ok(on) };
    let PlacedDevice { spec, span } = on;
    let (DeviceSpec::Block { .. } | DeviceSpec::Directory { .. }) = &spec else {
        let mut spec = spec;
        if let DeviceSpec::Loop { bytes, disk, .. } = &mut spec {
            *disk = Some(disk_of(value, *bytes)?);
        }
        return Ok(PlacedDevice { spec, span });
    };
    let fault = value.fault("a disk is played over loop images only", "has no meaning here");
    let fault = match span {
        Some(span) => fault.also(span, "the device"),
        None => fault,
    };
    Err(fault.hint("leave `disk` out, or give a device such as { loop = \"4GiB\" }"))
}

/// Reads the name of a built-in disk, or the path of a TOML file, which the lab reads.
fn disk_of(value: &Value<'_>, bytes: u64) -> Result<String, Fault> {
    let name = value.word("the name of a disk, or the path of its file")?;
    if name.contains('/') {
        return Ok(path(value)?.to_string_lossy().into_owned());
    }
    let Some(disk) = ModelledDisk::named(name) else {
        let known: Vec<&str> = ModelledDisk::names().collect();
        let hint = suggestion(name, &known, "disks");
        let hint = format!("{hint}; or give the absolute path of a TOML file");
        return Err(value.fault(format!("no disk is called {}", quoted(name)), "").hint(hint));
    };
    if disk.capacity_bytes() < bytes {
        let message = format!("{} has {} bytes", quoted(name), disk.capacity_bytes());
        let hint = format!("the image has {bytes}: make it smaller, or play a larger disk");
        return Err(value.fault(message, "too small").hint(hint));
    }
    Ok(name.to_owned())
}

fn block_devices(value: &Value<'_>) -> Result<Vec<PathBuf>, Fault> {
    let values = match value.value {
        DeValue::Array(array) => value.elements(array),
        DeValue::String(_) => vec![value.clone()],
        _ => return Err(value.wrong("a device as \"/dev/sdb1\", or an array of them")),
    };
    if values.is_empty() || values.len() > DEVICES_MAX {
        let message = format!("`block` names {} devices", values.len());
        return Err(value.fault(message, format!("write from 1 to {DEVICES_MAX}")));
    }
    let mut paths: Vec<PathBuf> = Vec::new();
    for (index, value) in values.iter().enumerate() {
        let path = path(value)?;
        if let Some(first) = paths.iter().position(|other| *other == path) {
            debug_assert!(first < index, "only earlier ones are there");
            let message = format!("{} appears twice", quoted(&path.to_string_lossy()));
            return Err(value
                .fault(message, "again")
                .also(values[first].span.clone(), "the first"));
        }
        paths.push(path);
    }
    Ok(paths)
}

/// Reads an absolute path.
fn path(value: &Value<'_>) -> Result<PathBuf, Fault> {
    let text = value.word("a path that begins with /")?;
    if text.starts_with('/') {
        return Ok(PathBuf::from(text));
    }
    let message = format!("`{}`: {} does not begin with /", value.key, quoted(text));
    Err(value
        .fault(message, "")
        .hint("give the absolute path, so that the plan means the same wherever it is started"))
}

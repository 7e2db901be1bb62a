//! Loop device on a file of another filesystem, which is made on the device below.

use treering_model::LoopLayer;
use treering_sys::{DeviceOpenMode, filesystem_facts, open_device, sector_sizes};

use crate::LabError;
use crate::device::{AcquiredStorage, LabDevice};
use crate::error::unfit;
use crate::images::{ImageSpec, LoopImage, check_room};

/// Default size of the file, in percent of the free space; the filesystem needs the rest for
/// metadata.
const FILE_PERCENT: u64 = 90;
/// Granularity of the file's size, in bytes.
const UNIT_BYTES: u64 = 1 << 20;

/// Makes the lower filesystem on this device, and the loop device on a file in it.
pub(super) fn on_filesystem(device: LabDevice, layer: &LoopLayer) -> Result<LabDevice, LabError> {
    let lab = device.lab.clone();
    let sector_bytes = sector_bytes(&device)?;
    let mut cautions = device.cautions.clone();
    let mounted = device.format(&layer.on, &layer.mkfs)?.mount(&layer.mount)?;
    let root = mounted.root();
    let opened = std::fs::File::open(root).map_err(LabError::io("cannot open", root))?;
    let failed = LabError::io("cannot look at", root);
    let facts = filesystem_facts(&opened).map_err(|errno| failed(errno.into()))?;
    let free_bytes = facts.free_bytes / 100 * FILE_PERCENT;
    let bytes = layer.bytes.unwrap_or(free_bytes / UNIT_BYTES * UNIT_BYTES);
    if bytes == 0 {
        let why = format!("{} has no room for the file of a loop device", layer.on);
        return Err(unfit(why));
    }
    let spec = ImageSpec {
        bytes,
        is_sparse: layer.sparse,
        direct_io: layer.direct_io,
        sector_bytes,
        model: None,
    };
    drop(opened);
    cautions.extend(check_room(root, 1, &spec)?);
    let image = LoopImage::make(&lab, root, spec)?;
    cautions.extend(image.cautions());
    let storage = AcquiredStorage::Images(vec![image], bytes);
    Ok(LabDevice { lab, storage, below: Some(Box::new(mounted)), journal: None, cautions })
}

/// Sector size for the loop device: direct I/O requires the sector size of the devices below.
fn sector_bytes(device: &LabDevice) -> Result<u32, LabError> {
    let mut bytes = 512;
    for member in device.members() {
        let failed =
            |errno: treering_sys::Errno| LabError::io("cannot look at", &member.node)(errno.into());
        let node = open_device(&member.node, DeviceOpenMode::Look).map_err(failed)?;
        bytes = bytes.max(sector_sizes(&node).map_err(failed)?.logical_bytes);
    }
    Ok(bytes)
}

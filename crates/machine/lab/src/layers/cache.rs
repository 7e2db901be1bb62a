//! bcache: a slow device with a fast one in front of it. The superblocks are written here, with a
//! UUID derived from the record, and erased at the end, so that no later boot assembles the cache.

use std::fs;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use treering_model::{CacheLayer, Layer};
use treering_sys::{DeviceOpenMode, Errno, open_device, sector_sizes};

use super::cache_removal::{
    attached_set, cache_set_uuid, folder_of, free_cache, uuid_text, wait_until,
};
use super::mapping::MappingStack;
use super::parts::{DeviceOverParts, cut};
use super::recorded_device::RecordedDevice;
use super::superblock::{self, CacheSuperblock, DeviceRole};
use super::targets;
use crate::device::{AcquiredStorage, LabDevice, MappedDevices, MemberDevice};
use crate::error::unfit;
use crate::filesystems::load_module;
use crate::machine::KernelMounts;
use crate::register::{OwnedRecord, ResourceKind};
use crate::{DeviceError, Lab, LabError};

/// File below sysfs that registers a device. Registering a device twice is no error.
const REGISTER: &str = "fs/bcache/register_quiet";
/// Minimum number of buckets of a cache. The kernel rounds the number up to a power of two, and
/// keeps a 1024th of that free.
const BUCKETS_MIN: u64 = 513;

/// Checks that the kernel supports bcache, and the device mapper if a single device is to be cut;
/// loads the modules.
pub(super) fn check(devices: usize, lab: &Lab) -> Result<(), LabError> {
    let has_it = || lab.machine.sys.join(REGISTER).exists();
    if !has_it() {
        load_module("bcache", &lab.tools);
    }
    if !has_it() {
        let why = "the running kernel has no bcache".to_owned();
        let how = "boot a kernel built with CONFIG_BCACHE, or install the module bcache; or name \
                   the package of such a kernel as `kernel` of the variant, which is then booted \
                   in a guest"
            .to_owned();
        return Err(DeviceError::Missing { filesystem: "bcache", why, how }.into());
    }
    if devices == 1 { targets::check(&Layer::Linear, &lab.tools) } else { Ok(()) }
}

/// Puts a cache in front of the first of two devices, or of the first part of a single one.
pub(super) fn before_disk(
    mut device: LabDevice,
    layer: &CacheLayer,
) -> Result<LabDevice, LabError> {
    if !rustix::process::geteuid().is_root() {
        return Err(DeviceError::NotRoot { what: "making a cache" }.into());
    }
    device.prepare()?;
    let lab = device.lab.clone();
    let members = device.members();
    let mut parts = MappingStack::default();
    let device_above = match members.as_slice() {
        [whole] => {
            let share = u64::from(layer.cache_percent);
            parts = cut(&lab, whole, &[100 - share, share])?;
            make_cache(&lab, layer, &parts.members())?
        }
        _ => make_cache(&lab, layer, &members)?,
    };
    let over = DeviceOverParts { device: device_above, parts };
    let storage = AcquiredStorage::Mapped(Box::new(over));
    Ok(device.below(storage))
}

/// Makes a device with a cache, which is stopped when the returned device is dropped.
fn make_cache(
    lab: &Lab,
    layer: &CacheLayer,
    disks: &[MemberDevice],
) -> Result<RecordedDevice, LabError> {
    let [backing, cache] = disks else {
        let count = disks.len();
        return Err(unfit(format!("a cache needs a disk and a fast disk, not {count} disks")));
    };
    if cache.bytes / layer.bucket_bytes < BUCKETS_MIN {
        let (bytes, bucket) = (cache.bytes, layer.bucket_bytes);
        let why = format!(
            "a cache needs {BUCKETS_MIN} buckets of {bucket} bytes, and its disk has {bytes}"
        );
        return Err(unfit(why));
    }
    let devices = vec![backing.number, cache.number];
    let record = lab.register.record(&lab.machine, |_| ResourceKind::Cache { devices })?;
    let set = cache_set_uuid(record.id());
    let end =
        |machine: &KernelMounts, record: &OwnedRecord, _: &MemberDevice| match record.facts()?.kind
        {
            ResourceKind::Cache { devices } => free_cache(machine, record.id(), &devices),
            _ => Ok(()),
        };
    let mut cached = RecordedDevice::new(&lab.machine, backing.clone(), record, end);
    format(layer, (backing, cache), set)?;
    for member in [cache, backing] {
        let register = lab.machine.sys.join(REGISTER);
        let node = member.node.display().to_string();
        let failed = LabError::io("the kernel's log says why bcache does not take", &member.node);
        fs::write(register, node).map_err(failed)?;
    }
    let folder = folder_of(&lab.machine, backing.number);
    cached.member.node = node_above(&folder, backing, &set)?;
    cached.member.asked_path.clone_from(&cached.member.node);
    cached.open()?;
    if let Some(bytes) = layer.sequential_cutoff {
        let (path, value) = (folder.join("sequential_cutoff"), bytes.to_string());
        fs::write(&path, &value).map_err(|error| {
            let why = error.to_string();
            DeviceError::Setting { path, value, why }
        })?;
    }
    Ok(cached)
}

/// Waits for the bcache device above both; returns its node.
fn node_above(folder: &Path, backing: &MemberDevice, set: &[u8; 16]) -> Result<PathBuf, LabError> {
    let is_up = || folder.join("dev").exists() && attached_set(folder) == Some(uuid_text(set));
    let failed = LabError::io("bcache makes no device on", &backing.node);
    if !wait_until(is_up) {
        return Err(failed(std::io::ErrorKind::TimedOut.into()));
    }
    let above = folder.join("dev").canonicalize().map_err(failed)?;
    Ok(Path::new("/dev").join(above.file_name().unwrap_or_default()))
}

/// Writes the superblocks of both devices.
fn format(
    layer: &CacheLayer,
    (backing, cache): (&MemberDevice, &MemberDevice),
    set: [u8; 16],
) -> Result<(), LabError> {
    let mut block_bytes = 512;
    for member in [backing, cache] {
        let failed = |errno: Errno| LabError::io("cannot look at", &member.node)(errno.into());
        let node = open_device(&member.node, DeviceOpenMode::Look).map_err(failed)?;
        let sizes = sector_sizes(&node).map_err(failed)?;
        block_bytes = block_bytes.max(sizes.logical_bytes.into());
    }
    let roles = [
        (cache, DeviceRole::Cache { bytes: cache.bytes }),
        (backing, DeviceRole::Backing { mode: layer.mode_number() }),
    ];
    for (place, (member, role)) in (1_u8..).zip(roles) {
        let mut uuid = set;
        uuid[0] ^= place;
        let bucket_bytes = layer.bucket_bytes;
        let superblock = CacheSuperblock { role, uuid, set, bucket_bytes, block_bytes };
        let failed = || LabError::io("cannot write the superblock of a cache to", &member.node);
        let node = open_device(&member.node, DeviceOpenMode::WriteAlone)
            .map_err(|errno| failed()(errno.into()))?;
        let written = node.write_all_at(&superblock.to_bytes(), superblock::OFFSET);
        written.and_then(|()| node.sync_all()).map_err(failed())?;
    }
    Ok(())
}

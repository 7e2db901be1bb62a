//! Stops bcache devices by the UUID derived from the record. Erases the superblocks, so that no
//! later boot assembles the cache.

use std::fs::{self, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::Duration;

use treering_model::Fingerprint;
use treering_sys::{DeviceOpenMode, open_device};

use super::superblock;
use crate::guard::{FormatObstacle, obstacles_to_use};
use crate::machine::{DeviceNumber, KernelMounts, block_number};
use crate::register::RecordId;
use crate::{DeviceError, LabError};

/// Longest wait for a cache to start or stop, which includes writing its journal.
const PATIENCE: Duration = Duration::from_secs(30);
const STEP: Duration = Duration::from_millis(20);

/// Stops the cache of a record on a backing device and a cache device, and erases the superblocks.
/// Missing parts are no error; a device that now belongs to another cache is left unchanged.
pub(crate) fn free_cache(
    machine: &KernelMounts,
    id: &RecordId,
    devices: &[DeviceNumber],
) -> Result<(), LabError> {
    let set = cache_set_uuid(id);
    let name = uuid_text(&set);
    let set_folder = machine.sys.join("fs/bcache").join(&name);
    if let Some(backing) = devices.first() {
        let folder = folder_of(machine, *backing);
        let is_ours = attached_set(&folder).is_none_or(|attached| attached == name);
        if folder.exists() && !is_ours {
            let why = "another cache is in front of it".to_owned();
            let what = machine.block_name(*backing).unwrap_or_else(|| backing.to_string());
            return Err(DeviceError::NotOurs { what, why }.into());
        }
        if let Ok(above) = folder.join("dev").canonicalize() {
            refuse_users(machine, &above)?;
        }
        stop(&folder)?;
    }
    stop(&set_folder)?;
    let is_gone = || {
        let registered = |device: &DeviceNumber| folder_of(machine, *device).exists();
        !set_folder.exists() && !devices.iter().any(registered)
    };
    if !wait_until(is_gone) {
        let by = vec!["bcache, which has not ended it yet".to_owned()];
        return Err(DeviceError::StillUsed { what: format!("the cache {name}"), by }.into());
    }
    devices.iter().try_for_each(|device| empty(machine, *device, &set))
}

/// Refuses to stop a device that is in use.
fn refuse_users(machine: &KernelMounts, above: &Path) -> Result<(), LabError> {
    let node = Path::new("/dev").join(above.file_name().unwrap_or_default());
    let Some(number) = block_number(&node) else { return Ok(()) };
    let users = obstacles_to_use(machine, &node, number)?;
    if users.is_empty() {
        return Ok(());
    }
    let by = users.iter().map(FormatObstacle::to_string).collect();
    Err(DeviceError::StillUsed { what: node.display().to_string(), by }.into())
}

/// Tells bcache to stop the device or cache set of this sysfs folder, if it exists.
fn stop(folder: &Path) -> Result<(), LabError> {
    let file = folder.join("stop");
    match OpenOptions::new().write(true).open(&file).and_then(|_| fs::write(&file, "1")) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(LabError::io("cannot stop a cache by", file)(error))
        }
        _ => Ok(()),
    }
}

/// Overwrites the superblock of a device if it belongs to this cache set.
fn empty(machine: &KernelMounts, device: DeviceNumber, set: &[u8; 16]) -> Result<(), LabError> {
    let Some(name) = machine.block_name(device) else { return Ok(()) };
    let node = PathBuf::from(format!("/dev/{name}"));
    let failed = || LabError::io("cannot empty", &node);
    let opened = open_device(&node, DeviceOpenMode::WriteAlone);
    let opened = opened.map_err(|errno| failed()(errno.into()))?;
    let mut bytes = [0; superblock::BYTES];
    opened.read_exact_at(&mut bytes, superblock::OFFSET).map_err(failed())?;
    if superblock::is_of_set(&bytes, set) {
        let emptied = opened.write_all_at(&[0; superblock::BYTES], superblock::OFFSET);
        emptied.and_then(|()| opened.sync_all()).map_err(failed())?;
    }
    Ok(())
}

/// bcache folder in sysfs of a registered device.
pub(super) fn folder_of(machine: &KernelMounts, device: DeviceNumber) -> PathBuf {
    machine.sys.join("dev/block").join(device.to_string()).join("bcache")
}

/// UUID of the cache set that is in front of a backing device, if any.
pub(super) fn attached_set(folder: &Path) -> Option<String> {
    let set = folder.join("cache").canonicalize().ok()?;
    Some(set.file_name()?.to_string_lossy().into_owned())
}

pub(super) fn wait_until(is_done: impl Fn() -> bool) -> bool {
    let mut waited = Duration::ZERO;
    while !is_done() {
        if waited >= PATIENCE {
            return false;
        }
        sleep(STEP);
        waited += STEP;
    }
    true
}

/// UUID of the cache set of a record.
pub(super) fn cache_set_uuid(id: &RecordId) -> [u8; 16] {
    let half = |text: String| Fingerprint::from_bytes(text.as_bytes()).text();
    let digits = half(format!("set of {}", id.as_str())) + &half(format!("{} set", id.as_str()));
    u128::from_str_radix(&digits, 16).unwrap_or_default().to_be_bytes()
}

/// UUID in the form of sysfs.
pub(super) fn uuid_text(uuid: &[u8; 16]) -> String {
    let digits = format!("{:032x}", u128::from_be_bytes(*uuid));
    let part = |from: usize, to: usize| &digits[from..to];
    [part(0, 8), part(8, 12), part(12, 16), part(16, 20), part(20, 32)].join("-")
}

#[cfg(test)]
mod tests {
    use super::{cache_set_uuid, uuid_text};
    use crate::register::RecordId;

    #[test]
    fn every_record_has_its_own_cache_set() {
        let (first, second) = (RecordId::new(1, 2, "ab", 3), RecordId::new(1, 2, "ab", 4));
        assert_ne!(cache_set_uuid(&first), cache_set_uuid(&second));
        let uuid = 0x0011_2233_4455_6677_8899_aabb_ccdd_eeff_u128.to_be_bytes();
        assert_eq!(uuid_text(&uuid), "00112233-4455-6677-8899-aabbccddeeff");
    }
}

//! Arrays of the md driver. They have no superblock, so that only the filesystem writes to the
//! disks. An array is identified by its number, its disks, and the sequence number of its device.

use std::fs;
use std::path::{Path, PathBuf};

use rustix::fs::makedev;
use treering_model::{ArrayLayer, Layer};
use treering_sys::{ArraySettings, Errno, start_array};

use super::array_removal::{free_array, sequence};
use super::mapping::MappingStack;
use super::parts::{DeviceOverParts, cut};
use super::recorded_device::{RecordedDevice, open_node};
use super::targets;
use crate::device::{AcquiredStorage, LabDevice, MappedDevices, MemberDevice};
use crate::error::unfit;
use crate::filesystems::load_module;
use crate::machine::{DeviceNumber, KernelMounts, word};
use crate::register::{OwnedRecord, RecordedArray, ResourceKind, sequence_line};
use crate::{DeviceError, Lab, LabError};

/// Largest array number to try; mdadm begins there too.
const NUMBER_MAX: u32 = 127;
/// Module parameter, below sysfs, that makes an array with the name written to it.
const NEW_ARRAY: &str = "module/md_mod/parameters/new_array";

/// Parity layout that the driver calls left-symmetric, the default of mdadm.
const LEFT_SYMMETRIC: i32 = 2;
/// RAID 10 layout with two near copies, the default of mdadm.
const TWO_NEAR_COPIES: i32 = 1 << 8 | 2;

/// Checks that the kernel supports a RAID level, and the device mapper if a single device is to be
/// cut; loads the modules.
pub(super) fn check(layer: &ArrayLayer, devices: usize, lab: &Lab) -> Result<(), LabError> {
    let level = format!("[raid{}]", layer.level);
    let levels = lab.machine.proc.join("mdstat");
    let has_it = || {
        let listed = fs::read_to_string(&levels).unwrap_or_default();
        listed.lines().any(|line| line.starts_with("Personalities") && line.contains(&level))
    };
    if !has_it() {
        load_module("md_mod", &lab.tools);
        load_module(layer.module(), &lab.tools);
    }
    if !has_it() {
        let (level, module) = (layer.level, layer.module());
        let why = format!("the running kernel has no RAID {level} of the driver md");
        let how = format!(
            "boot a kernel that has it, or install the module {module}; or name the package of \
             such a kernel as `kernel` of the variant, which is then booted in a guest"
        );
        return Err(DeviceError::Missing { filesystem: "md", why, how }.into());
    }
    if devices == 1 { targets::check(&Layer::Linear, &lab.tools) } else { Ok(()) }
}

/// Makes an array of the devices below, or of the parts of a single one.
pub(super) fn of_disks(mut device: LabDevice, layer: &ArrayLayer) -> Result<LabDevice, LabError> {
    if !rustix::process::geteuid().is_root() {
        return Err(DeviceError::NotRoot { what: "making an array" }.into());
    }
    device.prepare()?;
    let lab = device.lab.clone();
    let members = device.members();
    let mut parts = MappingStack::default();
    let disks = match members.as_slice() {
        [whole] => {
            parts = cut(&lab, whole, &vec![1; layer.disk_count(1)])?;
            parts.members()
        }
        _ => members,
    };
    let disks_min = usize::from(layer.disks_min());
    if disks.len() < disks_min {
        let (level, count) = (layer.level, disks.len());
        let why = format!("RAID {level} needs {disks_min} disks, and the device has {count}");
        return Err(unfit(why));
    }
    if let Some(other) = disks.iter().find(|disk| layer.level == 0 && disk.bytes != disks[0].bytes)
    {
        let (first, bytes) = (disks[0].bytes, other.bytes);
        let why = format!("RAID 0 needs disks of one size, not of {first} and {bytes} bytes");
        return Err(unfit(why));
    }
    let array = make_array(&lab, layer, &disks)?;
    let storage = AcquiredStorage::Mapped(Box::new(DeviceOverParts { device: array, parts }));
    Ok(device.below(storage))
}

/// Makes and starts an array, which is stopped when the returned device is dropped.
fn make_array(
    lab: &Lab,
    layer: &ArrayLayer,
    disks: &[MemberDevice],
) -> Result<RecordedDevice, LabError> {
    let folder = |number: u32| lab.machine.sys.join(format!("block/md{number}"));
    let number = (0..=NUMBER_MAX).rev().find(|number| !folder(*number).exists());
    let number = number.ok_or_else(|| unfit("all numbers of arrays are taken".to_owned()))?;
    let kind = ResourceKind::Array(RecordedArray {
        level: layer.level.into(),
        number,
        disks: disks.iter().map(|disk| disk.number).collect(),
        sequence: None,
    });
    let mut record = lab.register.record(&lab.machine, |_| kind)?;
    let new_array = lab.machine.sys.join(NEW_ARRAY);
    if let Err(error) = fs::write(&new_array, format!("md{number}")) {
        record.remove()?;
        return Err(LabError::io("cannot make an array by", new_array)(error));
    }
    let sequence = sequence(&folder(number));
    if let Some(sequence) = sequence {
        record.append(&sequence_line(sequence))?;
    }
    let node = PathBuf::from(format!("/dev/md{number}"));
    let none = DeviceNumber { major: 0, minor: 0 };
    let member =
        MemberDevice { asked_path: node.clone(), node: node.clone(), number: none, bytes: 0 };
    let end =
        |machine: &KernelMounts, record: &OwnedRecord, _: &MemberDevice| match record.facts()?.kind
        {
            ResourceKind::Array(array) => free_array(machine, &array),
            _ => Ok(()),
        };
    let mut array = RecordedDevice::new(&lab.machine, member, record, end);
    let numbers: Vec<u64> =
        disks.iter().map(|disk| makedev(disk.number.major, disk.number.minor)).collect();
    let failed = LabError::io("the kernel's log says why it does not start", &node);
    start_array(&open_node(&node)?, settings(layer)?, &numbers)
        .map_err(|errno: Errno| failed(errno.into()))?;
    array.open()?;
    set_attributes(layer, &folder(number))?;
    Ok(array)
}

/// Sets the attributes of a started array.
fn set_attributes(layer: &ArrayLayer, folder: &Path) -> Result<(), LabError> {
    let stripes = layer.stripe_cache.map(|pages| ("md/stripe_cache_size", pages));
    let threads = layer.threads.map(|threads| ("md/group_thread_cnt", threads.into()));
    for (attribute, value) in stripes.into_iter().chain(threads) {
        let (path, value) = (folder.join(attribute), value.to_string());
        let failed = |why| DeviceError::Setting { path: path.clone(), value: value.clone(), why };
        fs::write(&path, &value).map_err(|error| failed(error.to_string()))?;
        let read_back = word(&path).unwrap_or_default();
        if read_back != value {
            return Err(failed(format!("it keeps `{read_back}`")).into());
        }
    }
    Ok(())
}

fn settings(layer: &ArrayLayer) -> Result<ArraySettings, LabError> {
    let layout = match layer.level {
        5 | 6 => LEFT_SYMMETRIC,
        10 => TWO_NEAR_COPIES,
        _ => 0,
    };
    let chunk_bytes = if layer.level == 1 { 0 } else { layer.chunk_bytes };
    let chunk_bytes = i32::try_from(chunk_bytes)
        .map_err(|_too_large| unfit(format!("a chunk has no {chunk_bytes} bytes")))?;
    Ok(ArraySettings { level: layer.level.into(), layout, chunk_bytes })
}

#[cfg(test)]
mod tests {
    use super::settings;
    use treering_model::ArrayLayer;

    #[test]
    fn chunk_sizes_are_refused_for_levels_without_chunks() {
        assert_eq!(settings(&ArrayLayer::new(1)).unwrap().chunk_bytes, 0);
        assert_eq!(settings(&ArrayLayer::new(5)).unwrap().chunk_bytes, 512 << 10);
        assert!(settings(&ArrayLayer { chunk_bytes: 1 << 40, ..ArrayLayer::new(0) }).is_err());
    }
}

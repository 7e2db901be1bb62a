//! Arrays of the driver md. They have no superblock: nothing but the filesystem writes to the
//! disks, and an array is known by its number, its disks and the sequence number of its device.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use rustix::fs::makedev;
use treering_model::{ArrayLayer, Layer};
use treering_sys::{ArraySettings, Errno, device_bytes, flush_buffers, start_array};

use super::array_removal::{free_array, sequence};
use super::mapping::{MappingStack, open_node};
use super::parts::{DeviceOfDisks, DeviceOverParts, cut};
use super::targets;
use crate::device::{AcquiredStorage, LabDevice, MappedDevices, MemberDevice};
use crate::error::unfit;
use crate::filesystems::load_module;
use crate::machine::{DeviceNumber, KernelMounts, block_number, word};
use crate::register::{OwnedRecord, RecordedArray, ResourceKind, sequence_line};
use crate::{DeviceError, Lab, LabError};

/// Largest number of an array that is tried; mdadm begins there, too.
const NUMBER_MAX: u32 = 127;
/// Attribute of the driver that makes an array of the name written to it, below sysfs.
const NEW_ARRAY: &str = "module/md_mod/parameters/new_array";

/// Placement of parity that the driver calls left-symmetric, the default of mdadm.
const LEFT_SYMMETRIC: i32 = 2;
/// Placement of two near copies in RAID 10, the default of mdadm.
const TWO_NEAR_COPIES: i32 = 1 << 8 | 2;

/// Checks that the kernel has a level, after loading its module if there is one, and the device
/// mapper if a single device is to be cut.
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
    let array = RunningArray::new(&lab, layer, &disks)?;
    let storage = AcquiredStorage::Mapped(Box::new(DeviceOverParts { device: array, parts }));
    let cautions = device.cautions.clone();
    Ok(LabDevice { lab, storage, below: Some(Box::new(device)), cautions })
}

/// Started array. Dropping stops it.
#[derive(Debug)]
struct RunningArray {
    machine: KernelMounts,
    member: MemberDevice,
    /// Record of the array; `None` after its end.
    record: Option<OwnedRecord>,
    /// Open descriptor of the array; `None` while it is stopped.
    device: Option<File>,
}

impl RunningArray {
    fn new(lab: &Lab, layer: &ArrayLayer, disks: &[MemberDevice]) -> Result<Self, LabError> {
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
        let member = MemberDevice { asked_path: node.clone(), node, number: none, bytes: 0 };
        let machine = lab.machine.clone();
        let mut array = Self { machine, member, record: Some(record), device: None };
        array.start(layer, disks)?;
        tune(layer, &folder(number))?;
        Ok(array)
    }

    fn start(&mut self, layer: &ArrayLayer, disks: &[MemberDevice]) -> Result<(), LabError> {
        let node = self.member.node.clone();
        let device = open_node(&node)?;
        let number = |disk: &MemberDevice| makedev(disk.number.major, disk.number.minor);
        let numbers: Vec<u64> = disks.iter().map(number).collect();
        let started = start_array(&device, settings(layer)?, &numbers);
        let failed = |action: &'static str| {
            let node = node.clone();
            move |errno: Errno| LabError::io(action, node)(errno.into())
        };
        started.map_err(failed("the kernel's log says why it does not start"))?;
        self.member.bytes = device_bytes(&device).map_err(failed("cannot look at"))?;
        self.member.number = block_number(&node).unwrap_or(self.member.number);
        self.device = Some(device);
        Ok(())
    }
}

impl DeviceOfDisks for RunningArray {
    fn member(&self) -> &MemberDevice {
        &self.member
    }

    fn forget(&self) -> Result<(), LabError> {
        let Some(device) = &self.device else { return Ok(()) };
        let failed = LabError::io("cannot flush", &self.member.node);
        flush_buffers(device).map_err(|errno| failed(errno.into()))
    }

    fn free(&mut self) -> Result<(), LabError> {
        self.device = None;
        let Some(record) = self.record.take() else { return Ok(()) };
        if let ResourceKind::Array(array) = record.facts()?.kind {
            free_array(&self.machine, &array)?;
        }
        record.remove()
    }
}

impl Drop for RunningArray {
    fn drop(&mut self) {
        // An array that is in use stays in the register.
        let _in_the_register = self.free();
    }
}

/// Sets the attributes of a started array.
fn tune(layer: &ArrayLayer, folder: &Path) -> Result<(), LabError> {
    let stripes = layer.stripe_cache.map(|pages| ("md/stripe_cache_size", pages));
    let threads = layer.threads.map(|threads| ("md/group_thread_cnt", threads.into()));
    for (attribute, value) in stripes.into_iter().chain(threads) {
        let (path, value) = (folder.join(attribute), value.to_string());
        let failed = |why| DeviceError::Setting { path: path.clone(), value: value.clone(), why };
        fs::write(&path, &value).map_err(|error| failed(error.to_string()))?;
        let kept = word(&path).unwrap_or_default();
        if kept != value {
            return Err(failed(format!("it keeps `{kept}`")).into());
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
    fn chunks_are_for_levels_that_have_them() {
        assert_eq!(settings(&ArrayLayer::new(1)).unwrap().chunk_bytes, 0);
        assert_eq!(settings(&ArrayLayer::new(5)).unwrap().chunk_bytes, 512 << 10);
        assert!(settings(&ArrayLayer { chunk_bytes: 1 << 40, ..ArrayLayer::new(0) }).is_err());
    }
}

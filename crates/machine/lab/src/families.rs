//! Mounted multi-device filesystems with their member devices, from sysfs.

use treering_model::filesystems::{Filesystem, MemberLocation, all};

use crate::machine::{DeviceNumber, KernelMounts, names, word};

/// A mounted filesystem whose devices sysfs lists.
#[derive(Debug)]
pub(crate) struct MountedFamily {
    /// Filesystem type.
    pub(crate) filesystem: &'static str,
    /// Name of the filesystem's folder below `/sys/fs/TYPE`, usually a UUID.
    pub(crate) uuid: String,
    /// Kernel names of the member devices.
    pub(crate) devices: Vec<String>,
    /// Numbers of the member devices that sysfs shows.
    pub(crate) numbers: Vec<DeviceNumber>,
}

/// Lists all mounted filesystems of types that support several devices.
pub(crate) fn mounted_families(machine: &KernelMounts) -> Vec<MountedFamily> {
    all().flat_map(|filesystem| families_of(machine, filesystem)).collect()
}

fn families_of(machine: &KernelMounts, filesystem: &Filesystem) -> Vec<MountedFamily> {
    let Some(members) = filesystem.members else { return Vec::new() };
    let top = machine.sys.join("fs").join(filesystem.name);
    let family = |uuid: String| {
        let folder = top.join(&uuid);
        let mut devices = Vec::new();
        let mut numbers = Vec::new();
        match members {
            MemberLocation::Folder(name) => {
                let folder = folder.join(name);
                for device in names(&folder) {
                    numbers.extend(word(&folder.join(&device).join("dev")));
                    devices.push(device);
                }
            }
            MemberLocation::Linked(link) => {
                for member in names(&folder) {
                    let Ok(block) = folder.join(member).join(link).canonicalize() else { continue };
                    numbers.extend(word(&block.join("dev")));
                    devices.extend(block.file_name().map(|n| n.to_string_lossy().into_owned()));
                }
            }
        }
        let numbers = numbers.iter().filter_map(|number| number.parse().ok()).collect();
        MountedFamily { filesystem: filesystem.name, uuid, devices, numbers }
    };
    names(&top).into_iter().map(family).collect()
}

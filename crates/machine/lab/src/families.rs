//! Mounted filesystems of several devices, with the devices of each, as sysfs lists them.

use treering_model::filesystems::{Filesystem, Members, all};

use crate::machine::{DeviceNumber, Machine, names, word};

/// A mounted filesystem that lists its devices.
#[derive(Debug)]
pub(crate) struct MountedFamily {
    /// Its type.
    pub(crate) filesystem: &'static str,
    /// By what sysfs lists it.
    pub(crate) uuid: String,
    /// The names of its devices.
    pub(crate) devices: Vec<String>,
    /// Their numbers, of those that have one.
    pub(crate) numbers: Vec<DeviceNumber>,
}

/// All that are mounted.
pub(crate) fn mounted_families(machine: &Machine) -> Vec<MountedFamily> {
    all().flat_map(|filesystem| families_of(machine, filesystem)).collect()
}

fn families_of(machine: &Machine, filesystem: &Filesystem) -> Vec<MountedFamily> {
    let Some(members) = filesystem.members else { return Vec::new() };
    let top = machine.sys.join("fs").join(filesystem.name);
    let family = |uuid: String| {
        let folder = top.join(&uuid);
        let mut devices = Vec::new();
        let mut numbers = Vec::new();
        match members {
            Members::Folder(name) => {
                let folder = folder.join(name);
                for device in names(&folder) {
                    numbers.extend(word(&folder.join(&device).join("dev")));
                    devices.push(device);
                }
            }
            Members::Linked(link) => {
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

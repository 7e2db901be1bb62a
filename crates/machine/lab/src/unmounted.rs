//! Foreign filesystems that treering unmounts temporarily. The register has their mount parameters
//! from before the unmount until they are mounted again, so that a kill loses nothing.
//!
//! A filesystem is mounted again only from the same device and at the same mount point, if neither
//! has changed since.

use std::fmt::Write;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use treering_model::filesystems::by_name;
use treering_sys::{
    DeviceOpenMode, Errno, LoopStatus, Mount, MountOptions, MountTable, loop_status, mount,
    open_device, set_loop_autoclear, unmount,
};

use crate::error::unfit;
use crate::machine::{DeviceNumber, KernelMounts, block_number, word};
use crate::register::{
    DeviceIdentity, FileNumber, ForeignMount, LabRegister, OwnedRecord, ResourceKind,
};
use crate::{DeviceError, LabError};

/// A foreign filesystem that is temporarily unmounted. Dropping leaves it in the register.
#[derive(Debug)]
pub(crate) struct TemporaryUnmount {
    foreign: ForeignMount,
    options: MountOptions,
    record: OwnedRecord,
    /// Open descriptor, which keeps a loop device made by `mount -o loop` from disappearing with
    /// the mount.
    device: File,
}

impl TemporaryUnmount {
    /// Records the mount parameters and unmounts the filesystem. `advice` is added to the error
    /// when the filesystem is in use.
    ///
    /// # Errors
    /// When the filesystem cannot be recorded or unmounted; it is then still mounted.
    pub(crate) fn begin(
        mount: &Mount,
        (register, machine): (&LabRegister, &KernelMounts),
        advice: &str,
    ) -> Result<Self, LabError> {
        let text = options_in_force(&mount.options, &mount.super_options);
        let options = MountOptions::parse(&[&text]).map_err(DeviceError::MountOption)?;
        let node = PathBuf::from(&mount.source);
        let failed = LabError::io("cannot open", &node);
        let device =
            open_device(&node, DeviceOpenMode::Look).map_err(|errno| failed(errno.into()))?;
        let number = block_number(&node);
        let number = number.ok_or_else(|| unfit(format!("{} is no device", node.display())))?;
        let loops = loop_status(&device).ok().flatten();
        let foreign = ForeignMount {
            point: mount.point.clone(),
            source: node,
            fs_type: mount.fs_type.clone(),
            options: text,
            parent: mount.parent,
            autoclear: loops.as_ref().is_some_and(|loops| loops.autoclear),
            device: identity(machine, number, &device, &mount.fs_type),
        };
        let record = register.record(machine, |_| ResourceKind::Unmounted(foreign.clone()))?;
        // Without autoclear the device outlives this process, so that its filesystem can be mounted
        // again.
        if foreign.autoclear
            && let Err(errno) = set_loop_autoclear(&device, false)
        {
            record.remove()?;
            return Err(LabError::io("cannot keep", foreign.source)(errno.into()));
        }
        if let Err(errno) = unmount(&foreign.point) {
            restore_autoclear(&foreign, &device);
            record.remove()?;
            let point = foreign.point.display();
            return Err(match errno {
                Errno::BUSY => unfit(format!("{point} is in use and cannot be unmounted{advice}")),
                errno => LabError::io("cannot unmount", foreign.point)(errno.into()),
            });
        }
        Ok(Self { foreign, options, record, device })
    }

    /// Mounts the filesystem again with its old parameters.
    ///
    /// # Errors
    /// When the filesystem cannot be mounted; it then stays in the register.
    pub(crate) fn end(self) -> Result<(), LabError> {
        mount_as_before(&self.foreign, &self.options)
            .map_err(|why| stays_unmounted(&self.foreign, self.record.path(), why))?;
        restore_autoclear(&self.foreign, &self.device);
        self.record.remove()
    }
}

/// Mounts again a filesystem that a killed run had unmounted; does nothing if it is mounted
/// already.
///
/// # Errors
/// When another filesystem is mounted there, the device has changed, or the kernel refuses.
pub(crate) fn mount_again(
    machine: &KernelMounts,
    foreign: &ForeignMount,
    record: &Path,
) -> Result<(), LabError> {
    let failed = |why: String| stays_unmounted(foreign, record, why);
    let table = MountTable::read().map_err(LabError::io("cannot read", "/proc/self/mountinfo"))?;
    let at = table.mounts.iter().rev().find(|mount| mount.point == foreign.point);
    match at {
        Some(mount) if is_unmounted_filesystem(machine, foreign, mount) => {
            if let Ok(device) = open_device(&foreign.source, DeviceOpenMode::Look)
                && is_same_device(machine, foreign, &device).is_ok()
            {
                restore_autoclear(foreign, &device);
            }
            return Ok(());
        }
        Some(mount) if mount.id != foreign.parent => {
            let source = Path::new(&mount.source).display();
            return Err(failed(format!("{} from {source} is mounted there now", mount.fs_type)));
        }
        _ => {}
    }
    if !rustix::process::geteuid().is_root() {
        return Err(DeviceError::NotRoot { what: "mounting" }.into());
    }
    let device = open_device(&foreign.source, DeviceOpenMode::Look)
        .map_err(|errno| failed(format!("{}: {errno}", foreign.source.display())))?;
    is_same_device(machine, foreign, &device).map_err(failed)?;
    let number = foreign.device.number;
    let elsewhere = table.mounts.iter().find(|mount| {
        number_of(mount) == number || block_number(Path::new(&mount.source)) == Some(number)
    });
    if let Some(mount) = elsewhere {
        return Err(failed(format!("it is mounted at {} now", mount.point.display())));
    }
    let is_directory = foreign.point.is_dir()
        && foreign.point.canonicalize().is_ok_and(|point| point == foreign.point);
    if !is_directory {
        return Err(failed("there is no such directory any more".to_owned()));
    }
    let options = MountOptions::parse(&[&foreign.options]).map_err(DeviceError::MountOption)?;
    mount_as_before(foreign, &options).map_err(failed)?;
    restore_autoclear(foreign, &device);
    Ok(())
}

/// Effective options of a mount, without duplicates: those of the mount itself and those of its
/// filesystem, as `/proc/self/mountinfo` has them.
pub fn options_in_force(of_mount: &str, of_filesystem: &str) -> String {
    let all_options = of_mount.split(',').chain(of_filesystem.split(','));
    let mut kept: Vec<&str> = Vec::new();
    for option in all_options.filter(|option| !option.is_empty()) {
        if !kept.contains(&option) {
            kept.push(option);
        }
    }
    kept.join(",")
}

fn stays_unmounted(foreign: &ForeignMount, record: &Path, why: String) -> LabError {
    let (source, point) = (foreign.source.clone(), foreign.point.clone());
    DeviceError::StaysUnmounted { node: source, point, why, record: record.to_owned() }.into()
}

fn mount_as_before(foreign: &ForeignMount, options: &MountOptions) -> Result<(), String> {
    let ForeignMount { source, point, fs_type, .. } = foreign;
    mount(source.as_os_str(), point, fs_type, options).map_err(|errno| errno.to_string())
}

/// Restores the autoclear flag of a loop device. On failure only the loop device stays attached.
fn restore_autoclear(foreign: &ForeignMount, device: &File) {
    if foreign.autoclear {
        let _stays_attached = set_loop_autoclear(device, true);
    }
}

/// True if a mount has the filesystem that was unmounted.
fn is_unmounted_filesystem(machine: &KernelMounts, foreign: &ForeignMount, mount: &Mount) -> bool {
    let source = Path::new(&mount.source);
    if mount.fs_type != foreign.fs_type {
        return false;
    }
    if let Some(number) = block_number(source)
        && let Ok(device) = open_device(source, DeviceOpenMode::Look)
    {
        let present = identity(machine, number, &device, &foreign.fs_type);
        return match (&present.uuid, &foreign.device.uuid) {
            (Some(present), Some(recorded)) => present == recorded,
            _ => number == foreign.device.number,
        };
    }
    number_of(mount) == foreign.device.number
}

fn number_of(mount: &Mount) -> DeviceNumber {
    let (major, minor) = mount.device;
    DeviceNumber { major, minor }
}

/// Checks that the recorded node still leads to the recorded device; the error describes the
/// difference.
fn is_same_device(
    machine: &KernelMounts,
    foreign: &ForeignMount,
    device: &File,
) -> Result<(), String> {
    let node = foreign.source.display();
    let recorded = &foreign.device;
    let number = block_number(&foreign.source);
    let number = number.ok_or_else(|| format!("{node} is not a block device any more"))?;
    let present = identity(machine, number, device, &foreign.fs_type);
    let differs =
        |attribute: &str| Err(format!("{node} is another device than before ({attribute})"));
    if present.number != recorded.number {
        return differs(&format!("{}, not {}", present.number, recorded.number));
    }
    if present.sequence != recorded.sequence || present.file != recorded.file {
        return differs("it was detached meanwhile");
    }
    if present.uuid != recorded.uuid {
        return differs("another filesystem is on it");
    }
    Ok(())
}

fn identity(
    machine: &KernelMounts,
    number: DeviceNumber,
    device: &File,
    fs_type: &str,
) -> DeviceIdentity {
    let file =
        |loops: LoopStatus| FileNumber { device: loops.file_device, inode: loops.file_inode };
    DeviceIdentity {
        number,
        sequence: sequence(machine, number),
        file: loop_status(device).ok().flatten().map(file),
        uuid: uuid(device, fs_type),
    }
}

/// Disk sequence number (`diskseq`); a partition has the number of its disk.
fn sequence(machine: &KernelMounts, number: DeviceNumber) -> Option<u64> {
    let folder = machine.block_folder(number)?;
    let sequence_of = |folder: &Path| word(&folder.join("diskseq"))?.parse().ok();
    sequence_of(&folder).or_else(|| sequence_of(folder.parent()?))
}

fn uuid(device: &File, fs_type: &str) -> Option<String> {
    let mut bytes = [0; 16];
    device.read_exact_at(&mut bytes, by_name(fs_type)?.uuid_offset?).ok()?;
    let mut text = String::with_capacity(32);
    for byte in bytes {
        // Writing to a string does not fail.
        let _never = write!(text, "{byte:02x}");
    }
    Some(text)
}

//! Releases the lab's resources, in the same way after a run and for leftovers of a killed run.
//!
//! Two independent signs must prove ownership before anything is changed. For a loop device these
//! are its mark and file, then its path. For a mount they are its type and device at the register's
//! mount point, then the ID of the mount at the path. Lazy unmounts and detaches are not used.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::Duration;

use rustix::fs::{Mode, OFlags};
use treering_model::filesystems::PLAYED_MOUNT;
use treering_sys::{
    DeviceOpenMode, Errno, LoopStatus, Mount, MountTable, detach_loop, loop_status, open_device,
    unmount,
};

use crate::guard::{FormatObstacle, obstacles_to_use};
use crate::machine::{DeviceNumber, KernelMounts, names, word};
use crate::played::image_in;
use crate::register::{FileNumber, RecordId};
use crate::{DeviceError, LabError};

/// Longest wait for a resource that is being closed.
pub(crate) const PATIENCE: Duration = Duration::from_secs(5);
/// Longest wait for a killed program to end, which first waits for its disk.
pub(crate) const KILLED_PATIENCE: Duration = Duration::from_secs(120);
pub(crate) const STEP: Duration = Duration::from_millis(50);

/// A loop device with a backing file.
struct AttachedLoop {
    /// Kernel name, such as `loop3`.
    name: String,
    path: PathBuf,
    number: DeviceNumber,
    status: LoopStatus,
    /// Path of the backing file, from sysfs.
    backing: PathBuf,
}

/// Detaches the loop device of this image and removes the image. Missing parts are no error.
pub(crate) fn free_image(
    machine: &KernelMounts,
    id: &RecordId,
    image: &Path,
    file: Option<FileNumber>,
) -> Result<(), LabError> {
    // Without a recorded identity, looks for the file at this path.
    let existing = fs::symlink_metadata(image).ok();
    let existing =
        existing.map(|metadata| FileNumber { device: metadata.dev(), inode: metadata.ino() });
    for attached in attached(machine)? {
        let has_mark = attached.status.mark == id.mark();
        let backing_file =
            FileNumber { device: attached.status.file_device, inode: attached.status.file_inode };
        match (has_mark, Some(backing_file) == file.or(existing)) {
            (false, false) => {}
            (true, true) if attached.backing == image => detach(machine, &attached)?,
            (true, _) => {
                let why = format!("its file is {}", attached.backing.display());
                return Err(DeviceError::NotOurs { what: attached.name, why }.into());
            }
            (false, true) => {
                let by = format!("{}, which treering did not make", attached.name);
                let path = image.display().to_string();
                return Err(DeviceError::StillUsed { what: path, by: vec![by] }.into());
            }
        }
    }
    remove_image(image, id, file)
}

/// An image with a played disk over it, to be released.
pub(crate) struct PlayedImage {
    pub(crate) id: RecordId,
    pub(crate) image: PathBuf,
    pub(crate) file: Option<FileNumber>,
    /// Mount point of the played disk; `mounted` is the number of its mount.
    pub(crate) point: PathBuf,
    pub(crate) mounted: Option<DeviceNumber>,
}

/// Detaches the loop device of a played disk, unmounts the disk, which ends its process, and
/// removes the image. Missing parts are no error.
pub(crate) fn free_played(machine: &KernelMounts, played: &PlayedImage) -> Result<(), LabError> {
    let PlayedImage { id, image, file, point, mounted } = played;
    for attached in attached(machine)? {
        if attached.status.mark != id.mark() {
            continue;
        }
        if attached.backing != image_in(point) {
            let why = format!("its file is {}", attached.backing.display());
            return Err(DeviceError::NotOurs { what: attached.name, why }.into());
        }
        detach(machine, &attached)?;
    }
    free_mount(
        machine,
        &ExpectedMount { id, point, fs_type: PLAYED_MOUNT, devices: &[], mounted: *mounted },
    )?;
    remove_image(image, id, *file)
}

fn attached(machine: &KernelMounts) -> Result<Vec<AttachedLoop>, LabError> {
    let mut loops = Vec::new();
    for (name, folder) in machine.block_devices_with("loop") {
        let backing = word(&folder.join("loop/backing_file")).unwrap_or_default();
        let backing = PathBuf::from(backing.trim_end_matches(" (deleted)"));
        let Some(number) = word(&folder.join("dev")).and_then(|text| text.parse().ok()) else {
            continue;
        };
        let path = Path::new("/dev").join(&name);
        let opened = open_device(&path, DeviceOpenMode::Look);
        let status = opened.and_then(|device| loop_status(&device));
        match status {
            Ok(Some(status)) => loops.push(AttachedLoop { name, path, number, status, backing }),
            // The device has been detached in the meantime.
            Ok(None) | Err(Errno::NXIO | Errno::NOENT | Errno::NODEV) => {}
            Err(errno) => return Err(LabError::io("cannot look at", path)(errno.into())),
        }
    }
    Ok(loops)
}

fn detach(machine: &KernelMounts, attached: &AttachedLoop) -> Result<(), LabError> {
    let users = obstacles_to_use(machine, &attached.path, attached.number)?;
    if !users.is_empty() {
        let by = users.iter().map(FormatObstacle::to_string).collect();
        return Err(DeviceError::StillUsed { what: attached.name.clone(), by }.into());
    }
    let failed = |errno: Errno| LabError::io("cannot detach", &attached.path)(errno.into());
    let device = open_device(&attached.path, DeviceOpenMode::Look).map_err(failed)?;
    // Checks again through the open descriptor, since the number may have been reused.
    match loop_status(&device).map_err(failed)? {
        None => return Ok(()),
        Some(status) if status == attached.status => {}
        Some(_) => {
            let why = "it changed hands while we looked".to_owned();
            return Err(DeviceError::NotOurs { what: attached.name.clone(), why }.into());
        }
    }
    match detach_loop(&device) {
        Ok(()) | Err(Errno::NXIO) => {}
        Err(errno) => return Err(failed(errno)),
    }
    drop(device);
    // The kernel detaches the device when its last user closes it.
    let file = machine.sys.join("block").join(&attached.name).join("loop/backing_file");
    let mut waited = Duration::ZERO;
    while word(&file).is_some_and(|path| is_file(&path, &attached.backing)) {
        if waited >= PATIENCE {
            let by = vec!["a program that has it open".to_owned()];
            return Err(DeviceError::StillUsed { what: attached.name.clone(), by }.into());
        }
        sleep(STEP);
        waited += STEP;
    }
    Ok(())
}

fn is_file(reported: &str, path: &Path) -> bool {
    Path::new(reported.trim_end_matches(" (deleted)")) == path
}

fn remove_image(image: &Path, id: &RecordId, file: Option<FileNumber>) -> Result<(), LabError> {
    let metadata = match fs::symlink_metadata(image) {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(LabError::io("cannot look at", image)(error)),
    };
    let identity = FileNumber { device: metadata.dev(), inode: metadata.ino() };
    // If the owner was killed before the identity was recorded, the file name decides, which nobody
    // else uses.
    let by_name = RecordId::from_image_path(image).as_ref() == Some(id)
        && metadata.uid() == rustix::process::geteuid().as_raw();
    if !metadata.is_file() || !by_name || file.is_some_and(|file| file != identity) {
        let why = "it is another file than the image that was made".to_owned();
        return Err(DeviceError::NotOurs { what: image.display().to_string(), why }.into());
    }
    fs::remove_file(image).map_err(LabError::io("cannot remove", image))
}

/// Expected properties of a mount that treering made.
pub(crate) struct ExpectedMount<'a> {
    pub(crate) id: &'a RecordId,
    pub(crate) point: &'a Path,
    pub(crate) fs_type: &'a str,
    pub(crate) devices: &'a [DeviceNumber],
    pub(crate) mounted: Option<DeviceNumber>,
}

/// Unmounts a filesystem and removes its mount point. Missing parts are no error.
pub(crate) fn free_mount(machine: &KernelMounts, ours: &ExpectedMount<'_>) -> Result<(), LabError> {
    let point = ours.point;
    let table = MountTable::read().map_err(LabError::io("cannot read", "/proc/self/mountinfo"))?;
    let at: Vec<&Mount> = table.mounts.iter().filter(|mount| mount.point == point).collect();
    let below = table.mounts.iter().find(|m| m.point != point && m.point.starts_with(point));
    if let Some(below) = below {
        let by = vec![format!("what is mounted at {}", below.point.display())];
        return Err(DeviceError::StillUsed { what: point.display().to_string(), by }.into());
    }
    let not_ours = |why: String| DeviceError::NotOurs { what: point.display().to_string(), why };
    match at.as_slice() {
        [] => {}
        [mount] => {
            if let Some(why) = why_not_ours(ours, mount) {
                return Err(not_ours(why).into());
            }
            if mount_id_at(point, &table).is_none_or(|there| there != mount.id) {
                return Err(not_ours("the path leads to another mount".to_owned()).into());
            }
            unmount_patiently(machine, point)?;
        }
        several => {
            let why =
                format!("{} filesystems are mounted there, one over the other", several.len());
            return Err(not_ours(why).into());
        }
    }
    match fs::remove_dir(point) {
        Ok(()) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(LabError::io("cannot remove the mount point", point)(error)),
    }
}

/// Checks the first sign of ownership, type and device; returns the difference, if any.
fn why_not_ours(ours: &ExpectedMount<'_>, mount: &Mount) -> Option<String> {
    let (major, minor) = mount.device;
    let mounted_device = DeviceNumber { major, minor };
    if mount.fs_type != ours.fs_type {
        return Some(format!("{} is mounted there, not {}", mount.fs_type, ours.fs_type));
    }
    let source = Path::new(&mount.source);
    let is_ours = match ours.mounted {
        Some(number) => number == mounted_device,
        // The owner was killed before the number was recorded.
        None if ours.devices.is_empty() => mount.source.to_str() == Some(&ours.id.mark()),
        None => {
            let source = crate::machine::block_number(source);
            ours.devices.contains(&mounted_device)
                || source.is_some_and(|s| ours.devices.contains(&s))
        }
    };
    (!is_ours).then(|| {
        format!("another device ({mounted_device}, {}) is mounted there", source.display())
    })
}

/// Returns the second sign of ownership: the ID of the mount at the path.
fn mount_id_at(point: &Path, table: &MountTable) -> Option<u64> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let opened = rustix::fs::open(point, flags, Mode::empty()).ok()?;
    table.mount_of(&opened).map(|mount| mount.id)
}

fn unmount_patiently(machine: &KernelMounts, point: &Path) -> Result<(), LabError> {
    let mut waited = Duration::ZERO;
    loop {
        match unmount(point) {
            Ok(()) => return Ok(()),
            Err(Errno::BUSY) => {}
            Err(errno) => return Err(LabError::io("cannot unmount", point)(errno.into())),
        }
        // Closed files are released soon, and a killed program ends once its disk has answered. A
        // program that still works there is reported early.
        let users = users_of(machine, point);
        let works = users.iter().any(|pid| !machine.is_ending(pid));
        let patience = if users.is_empty() || works { PATIENCE } else { KILLED_PATIENCE };
        if waited >= patience || (works && waited > STEP * 4) {
            let name = |pid: &String| format!("{} (process {pid})", machine.program(pid));
            let by = users.iter().map(name).collect();
            let path = point.display().to_string();
            return Err(DeviceError::StillUsed { what: path, by }.into());
        }
        sleep(STEP);
        waited += STEP;
    }
}

/// Process IDs of programs whose working directory, root or open files are in the directory.
fn users_of(machine: &KernelMounts, point: &Path) -> Vec<String> {
    let entries = names(&machine.proc).into_iter();
    let processes = entries.filter(|name| name.bytes().all(|byte| byte.is_ascii_digit()));
    let uses = |pid: &String| {
        let process = machine.proc.join(pid);
        let inside = |link: PathBuf| fs::read_link(link).is_ok_and(|path| path.starts_with(point));
        inside(process.join("cwd"))
            || inside(process.join("root"))
            || names(&process.join("fd")).iter().any(|fd| inside(process.join("fd").join(fd)))
    };
    processes.filter(uses).collect()
}

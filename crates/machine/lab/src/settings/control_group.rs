//! Control groups in the kernel: the mounted hierarchy, checks that limits can be set, and the
//! removal of a group. `limited.rs` makes the groups.
//!
//! Only control groups of version 2 are used.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::Duration;

use treering_model::LimitSettings;
use treering_sys::MountTable;

use crate::machine::KernelMounts;
use crate::register::{FileNumber, RecordId, RecordedGroup};
use crate::{DeviceError, LabError};

/// Longest wait for ended processes to leave the group.
const PATIENCE: Duration = Duration::from_secs(5);
const STEP: Duration = Duration::from_millis(50);
/// File of a group with its processes.
pub(super) const PROCESSES: &str = "cgroup.procs";
/// File of a group with the controllers enabled for its child groups.
pub(super) const CHILD_CONTROLLERS: &str = "cgroup.subtree_control";

/// Checks that these limits can be set here. Changes nothing.
///
/// # Errors
/// When the kernel has no such controller for groups of version 2, or the user is not root.
pub(crate) fn check_limits(limits: &LimitSettings, machine: &KernelMounts) -> Result<(), LabError> {
    if limits.is_empty() {
        return Ok(());
    }
    let unfit = |why: String| LabError::from(DeviceError::Unfit(why));
    let root = root(machine).ok_or_else(|| {
        unfit("`limits` need control groups of version 2, which are not mounted here".into())
    })?;
    for name in limits.controllers() {
        if !has_word(&root.join("cgroup.controllers"), name) {
            let why = if is_of_version_1(machine, name) {
                "it belongs to control groups of version 1 here"
            } else {
                "this kernel does not offer it"
            };
            return Err(unfit(format!(
                "`limits` need the controller `{name}` of control groups: {why}"
            )));
        }
        // The root group has no such file.
        let is_below = root.join("cgroup.events").exists();
        if is_below && !has_word(&root.join(CHILD_CONTROLLERS), name) {
            return Err(unfit(format!(
                "`limits` need the controller `{name}`, which the control group of this \
                 container does not pass on"
            )));
        }
    }
    if !treering_sys::is_root() {
        return Err(DeviceError::NotRoot { what: "limiting a trial" }.into());
    }
    Ok(())
}

/// Removes a group, and disables the controllers that were enabled for it in the parent. Missing
/// parts are no error.
pub(crate) fn free_group(
    machine: &KernelMounts,
    id: &RecordId,
    group: &RecordedGroup,
) -> Result<(), LabError> {
    let folder = &group.folder;
    let not_ours = |why: &str| {
        let what = folder.display().to_string();
        LabError::from(DeviceError::NotOurs { what, why: why.to_owned() })
    };
    let Some(root) = root(machine) else { return Ok(()) };
    if *folder != root.join(name(id)) {
        return Err(not_ours("it is no control group of this record"));
    }
    match identity(folder) {
        Ok(here) if group.file.is_some_and(|file| file != here) => {
            return Err(not_ours("it is another control group than the one that was made"));
        }
        Ok(_) => remove_patiently(folder)?,
        Err(_) if !folder.exists() => {}
        Err(error) => return Err(error),
    }
    group.enabled.iter().try_for_each(|controller| {
        let passed_on = root.join(CHILD_CONTROLLERS);
        if has_word(&passed_on, controller) {
            write(&passed_on, &format!("-{controller}"))
        } else {
            Ok(())
        }
    })
}

/// Removes a group without groups below it, as soon as its last process has ended.
fn remove_patiently(folder: &Path) -> Result<(), LabError> {
    let mut waited = Duration::ZERO;
    loop {
        match fs::remove_dir(folder) {
            Err(error) if error.kind() == io::ErrorKind::ResourceBusy && waited < PATIENCE => {}
            Err(error) if error.kind() == io::ErrorKind::ResourceBusy => {
                let processes = fs::read_to_string(folder.join(PROCESSES)).unwrap_or_default();
                let by = processes.lines().map(|pid| format!("process {pid}")).collect();
                let what = folder.display().to_string();
                return Err(DeviceError::StillUsed { what, by }.into());
            }
            removed => return removed.map_err(LabError::io("cannot remove", folder)),
        }
        sleep(STEP);
        waited += STEP;
    }
}

/// Name of the group of a record.
pub(super) fn name(id: &RecordId) -> String {
    format!("treering-{}", id.as_str())
}

/// Topmost mounted directory of the control groups of version 2.
pub(super) fn root(machine: &KernelMounts) -> Option<PathBuf> {
    Some(mount(machine)?.0)
}

/// Mount point of the control groups of version 2, and the path of the group that is mounted there.
fn mount(machine: &KernelMounts) -> Option<(PathBuf, PathBuf)> {
    let text = fs::read(machine.proc.join("self/mountinfo")).ok()?;
    let mounts = MountTable::parse(&text).mounts.into_iter();
    let mut groups = mounts.filter(|mount| mount.fs_type == "cgroup2");
    groups.next().map(|mount| (mount.point, PathBuf::from(&mount.root)))
}

/// Folder of the group of this process.
pub(super) fn own_group(machine: &KernelMounts) -> Option<PathBuf> {
    let (point, top) = mount(machine)?;
    let groups = fs::read_to_string(machine.proc.join("self/cgroup")).ok()?;
    let path = groups.lines().find_map(|line| line.strip_prefix("0::"))?;
    let path = Path::new(path);
    let below = path.strip_prefix(&top).or_else(|_| path.strip_prefix("/")).ok()?;
    Some(point.join(below))
}

/// True if a controller is used by groups of version 1.
fn is_of_version_1(machine: &KernelMounts, controller: &str) -> bool {
    let groups = fs::read_to_string(machine.proc.join("self/cgroup")).unwrap_or_default();
    let name = if controller == "io" { "blkio" } else { controller };
    groups.lines().any(|line| {
        let mut parts = line.split(':');
        parts.next() != Some("0")
            && parts.next().is_some_and(|names| names.split(',').any(|one| one == name))
    })
}

/// True if a file has this word.
pub(super) fn has_word(file: &Path, word: &str) -> bool {
    fs::read_to_string(file).is_ok_and(|text| text.split_whitespace().any(|one| one == word))
}

pub(super) fn identity(folder: &Path) -> Result<FileNumber, LabError> {
    let metadata = fs::symlink_metadata(folder).map_err(LabError::io("cannot look at", folder))?;
    Ok(FileNumber { device: metadata.dev(), inode: metadata.ino() })
}

/// Writes a value to a cgroup file.
pub(super) fn write(path: &Path, value: &str) -> Result<(), LabError> {
    let written = OpenOptions::new().write(true).open(path);
    written.and_then(|mut file| file.write_all(value.as_bytes())).map_err(|error| {
        let (path, value, why) = (path.to_owned(), value.to_owned(), error.to_string());
        DeviceError::Setting { path, value, why }.into()
    })
}

#[cfg(test)]
mod tests {
    use super::check_limits;
    use crate::machine::KernelMounts;
    use crate::{DeviceError, LabError};
    use std::fs;
    use std::path::Path;
    use treering_model::LimitSettings;

    /// A machine whose /proc and control groups are ordinary files.
    fn machine(top: &Path, controllers: &str) -> KernelMounts {
        let groups = top.join("groups");
        fs::create_dir_all(top.join("proc/self")).unwrap();
        fs::create_dir_all(&groups).unwrap();
        fs::write(groups.join("cgroup.controllers"), controllers).unwrap();
        fs::write(groups.join("cgroup.subtree_control"), "cpu\n").unwrap();
        let mountinfo = format!("30 1 0:26 / {} rw - cgroup2 cgroup rw\n", groups.display());
        fs::write(top.join("proc/self/mountinfo"), mountinfo).unwrap();
        fs::write(top.join("proc/self/cgroup"), "7:blkio:/\n0::/\n").unwrap();
        KernelMounts { proc: top.join("proc"), sys: top.join("sys") }
    }

    #[test]
    fn controllers_that_are_absent_are_refused_with_the_reason() {
        let top = tempfile::tempdir().unwrap();
        let machine = machine(top.path(), "cpu memory\n");
        let all = LimitSettings {
            memory_bytes: Some(512 << 20),
            cpu_percent: Some(150),
            io_read_bytes: Some(10 << 20),
            io_write_bytes: None,
        };
        let refused = |limits: &LimitSettings| match check_limits(limits, &machine) {
            Err(LabError::Device(DeviceError::Unfit(why))) => why,
            other => panic!("{other:?}"),
        };
        let why = refused(&all);
        assert!(why.contains("`io`") && why.contains("version 1"), "{why}");
        let limits = LimitSettings { io_read_bytes: None, ..all };
        fs::write(top.path().join("groups/cgroup.events"), "populated 1\n").unwrap();
        let why = refused(&limits);
        assert!(why.contains("`memory`") && why.contains("container"), "{why}");
        fs::write(top.path().join("proc/self/mountinfo"), "").unwrap();
        assert!(refused(&limits).contains("not mounted"));
        check_limits(&LimitSettings::default(), &machine).unwrap();
    }
}

//! Filesystems on loop devices for tests, unmounted and deleted when dropped.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread::sleep;
use std::time::Duration;

use rustix::fs::statvfs;
use tempfile::TempDir;

use crate::block_device::attach;
use crate::{temp_dir, temp_dir_in};

/// Number of tries, and the pause between them, while another test uses the device.
const TRIES: u32 = 300;
const PAUSE: Duration = Duration::from_millis(100);

/// A filesystem that stays mounted until this is dropped, even if the test panics.
///
/// The loop device detaches itself after its last user, so that an unmount is all that is needed.
#[derive(Debug)]
pub struct LoopFs {
    mount_point: PathBuf,
    _files: TempDir,
}

impl LoopFs {
    /// Makes a filesystem of this size and kind (`ext4`, `xfs`, `btrfs`, or any other with a mkfs),
    /// and mounts it. Call [`require_loop_fs!`](crate::require_loop_fs) first.
    pub fn new(kind: &str, mebibytes: u64) -> Self {
        Self::with_options(kind, mebibytes, &[])
    }

    /// Makes and mounts a filesystem as [`LoopFs::new`], with additional options of mkfs.
    pub fn with_options(kind: &str, mebibytes: u64, options: &[&str]) -> Self {
        let files = temp_dir_in(&image_directory(mebibytes << 20));
        let image = files.path().join("image");
        let made = std::fs::File::create(&image).and_then(|file| file.set_len(mebibytes << 20));
        made.expect("an image can be made");
        let mount_point = files.path().join("mounted");
        std::fs::create_dir(&mount_point).expect("a mount point can be made");
        let device = AttachedLoop::attach(&image);
        let quiet = if kind == "ext4" { ["-q", "-F"].as_slice() } else { &["-q", "-f"] };
        let mkfs = format!("mkfs.{kind}");
        run_retrying(Command::new(mkfs).args(quiet).args(options).arg(&device.path));
        run(Command::new("mount").args(["-t", kind]).arg(&device.path).arg(&mount_point));
        // A device that is detached while in use goes when the filesystem is unmounted.
        device.detach();
        Self { mount_point, _files: files }
    }

    /// Makes and mounts a btrfs whose data are striped over several devices of this size.
    pub fn striped_btrfs(mebibytes: u64, devices: usize) -> Self {
        let files = temp_dir_in(&image_directory((mebibytes << 20) * devices as u64));
        let mount_point = files.path().join("mounted");
        std::fs::create_dir(&mount_point).expect("a mount point can be made");
        let attached = (0..devices).map(|number| {
            let image = files.path().join(format!("image-{number}"));
            let made = std::fs::File::create(&image).and_then(|file| file.set_len(mebibytes << 20));
            made.expect("an image can be made");
            AttachedLoop::attach(&image)
        });
        let attached: Vec<AttachedLoop> = attached.collect();
        let paths = || attached.iter().map(|device| &device.path);
        let mut mkfs = Command::new("mkfs.btrfs");
        run_retrying(mkfs.args(["-q", "-f", "-d", "raid0", "-m", "raid0"]).args(paths()));
        let members: Vec<String> =
            paths().map(|path| format!("device={}", path.display())).collect();
        let mut mount = Command::new("mount");
        mount
            .args(["-t", "btrfs", "-o", &members.join(",")])
            .args(paths().next())
            .arg(&mount_point);
        run(&mut mount);
        attached.into_iter().for_each(AttachedLoop::detach);
        Self { mount_point, _files: files }
    }

    /// Mounts a tmpfs of this size, which needs no loop device.
    pub fn in_memory(mebibytes: u64) -> Self {
        let files = temp_dir();
        let mount_point = files.path().join("mounted");
        std::fs::create_dir(&mount_point).expect("a mount point can be made");
        let size = format!("size={mebibytes}M");
        run(Command::new("mount").args(["-t", "tmpfs", "-o", &size, "treering"]).arg(&mount_point));
        Self { mount_point, _files: files }
    }

    /// Mount point.
    pub fn path(&self) -> &Path {
        &self.mount_point
    }
}

impl Drop for LoopFs {
    fn drop(&mut self) {
        // A process that another test is just forking can hold a descriptor for a moment.
        for _ in 0..TRIES {
            if try_run(Command::new("umount").arg(&self.mount_point)).is_ok() {
                return;
            }
            sleep(PAUSE);
        }
        let lazily = try_run(Command::new("umount").arg("-l").arg(&self.mount_point));
        let busy = format!("{} was busy and is unmounted lazily", self.mount_point.display());
        assert!(std::thread::panicking(), "{busy}: {lazily:?}");
    }
}

/// Directory for an image of this size: in memory if there is plenty of it, since tests on a shared
/// disk would mostly wait for flushes.
fn image_directory(bytes: u64) -> PathBuf {
    let memory = Path::new("/dev/shm");
    let free_bytes =
        statvfs(memory).map_or(0, |stats| stats.f_bavail.saturating_mul(stats.f_frsize));
    if free_bytes / 6 > bytes { memory.to_owned() } else { std::env::temp_dir() }
}

/// An attached loop device; detached when it is dropped.
struct AttachedLoop {
    path: PathBuf,
    is_attached: bool,
}

impl AttachedLoop {
    fn attach(image: &Path) -> Self {
        Self { path: attach(image).into(), is_attached: true }
    }

    fn detach(mut self) {
        self.is_attached = false;
        run(Command::new("losetup").arg("--detach").arg(&self.path));
    }
}

impl Drop for AttachedLoop {
    fn drop(&mut self) {
        if self.is_attached {
            let _reported_by_the_panic_before =
                try_run(Command::new("losetup").arg("--detach").arg(&self.path));
        }
    }
}

/// Runs a command that must succeed, and returns its output.
fn run(command: &mut Command) -> String {
    try_run(command).unwrap_or_else(|error| panic!("{error}"))
}

/// Runs a command that must succeed, retrying while the device is busy: other tests may hold it for
/// a moment, and mkfs.btrfs examines all loop devices, including those whose file is just being
/// deleted.
fn run_retrying(command: &mut Command) {
    for _ in 0..TRIES {
        match try_run(command) {
            Err(error) if error.contains("abort") || error.contains("busy") => sleep(PAUSE),
            ended => return drop(ended.unwrap_or_else(|error| panic!("{error}"))),
        }
    }
    run(command);
}

fn try_run(command: &mut Command) -> Result<String, String> {
    let words: Vec<&OsStr> =
        std::iter::once(command.get_program()).chain(command.get_args()).collect();
    let line = words.join(OsStr::new(" ")).to_string_lossy().into_owned();
    let output = command.output().map_err(|error| format!("{line}: {error}"))?;
    let errors = String::from_utf8_lossy(&output.stderr);
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    Err(format!("{line}: {}: {}", output.status, errors.trim()))
}

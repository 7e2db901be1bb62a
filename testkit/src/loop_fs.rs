//! Real filesystems of a test's own, in a file on a loop device, gone when they are dropped.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread::sleep;
use std::time::Duration;

use rustix::fs::statvfs;
use tempfile::TempDir;

use crate::block_device::attach;
use crate::{temp_dir, temp_dir_in};

/// How often, and after what pause, something is tried again that another test is in the way of.
const TRIES: u32 = 300;
const STEP: Duration = Duration::from_millis(100);

/// A filesystem that is mounted for as long as this lives, also when the test panics.
///
/// The loop device is told to go with its last user, so that an unmount is all that is needed.
#[derive(Debug)]
pub struct LoopFs {
    mounted: PathBuf,
    _files: TempDir,
}

impl LoopFs {
    /// Makes and mounts one of `ext4`, `xfs` or `btrfs` (or what else has a mkfs) of this size.
    /// Ask [`require_loop_fs!`](crate::require_loop_fs) first.
    pub fn new(kind: &str, mebibytes: u64) -> Self {
        Self::with_options(kind, mebibytes, &[])
    }

    /// The same with more words for mkfs.
    pub fn with_options(kind: &str, mebibytes: u64, options: &[&str]) -> Self {
        let files = temp_dir_in(&dir_for(mebibytes << 20));
        let image = files.path().join("image");
        let made = std::fs::File::create(&image).and_then(|file| file.set_len(mebibytes << 20));
        made.expect("an image can be made");
        let mounted = files.path().join("mounted");
        std::fs::create_dir(&mounted).expect("a mount point can be made");
        let device = AttachedLoop::attach(&image);
        let quiet = if kind == "ext4" { ["-q", "-F"].as_slice() } else { &["-q", "-f"] };
        let mkfs = format!("mkfs.{kind}");
        run_in_time(Command::new(mkfs).args(quiet).args(options).arg(&device.path));
        run(Command::new("mount").args(["-t", kind]).arg(&device.path).arg(&mounted));
        // Detached while in use, the device goes when the filesystem is unmounted.
        device.detach();
        Self { mounted, _files: files }
    }

    /// A btrfs on so many devices of this size, its data striped over them.
    pub fn striped_btrfs(mebibytes: u64, devices: usize) -> Self {
        let files = temp_dir_in(&dir_for((mebibytes << 20) * devices as u64));
        let mounted = files.path().join("mounted");
        std::fs::create_dir(&mounted).expect("a mount point can be made");
        let attached = (0..devices).map(|number| {
            let image = files.path().join(format!("image-{number}"));
            let made = std::fs::File::create(&image).and_then(|file| file.set_len(mebibytes << 20));
            made.expect("an image can be made");
            AttachedLoop::attach(&image)
        });
        let attached: Vec<AttachedLoop> = attached.collect();
        let paths = || attached.iter().map(|device| &device.path);
        let mut mkfs = Command::new("mkfs.btrfs");
        run_in_time(mkfs.args(["-q", "-f", "-d", "raid0", "-m", "raid0"]).args(paths()));
        let members: Vec<String> =
            paths().map(|path| format!("device={}", path.display())).collect();
        let mut mount = Command::new("mount");
        mount.args(["-t", "btrfs", "-o", &members.join(",")]).args(paths().next()).arg(&mounted);
        run(&mut mount);
        attached.into_iter().for_each(AttachedLoop::detach);
        Self { mounted, _files: files }
    }

    /// A filesystem in memory of this size, to be had without loop devices.
    pub fn in_memory(mebibytes: u64) -> Self {
        let files = temp_dir();
        let mounted = files.path().join("mounted");
        std::fs::create_dir(&mounted).expect("a mount point can be made");
        let size = format!("size={mebibytes}M");
        run(Command::new("mount").args(["-t", "tmpfs", "-o", &size, "treering"]).arg(&mounted));
        Self { mounted, _files: files }
    }

    /// Mount point.
    pub fn path(&self) -> &Path {
        &self.mounted
    }
}

impl Drop for LoopFs {
    fn drop(&mut self) {
        // A command that another test is just starting can hold a descriptor for a moment.
        for _ in 0..TRIES {
            if try_run(Command::new("umount").arg(&self.mounted)).is_ok() {
                return;
            }
            sleep(STEP);
        }
        let lazily = try_run(Command::new("umount").arg("-l").arg(&self.mounted));
        let busy = format!("{} was busy and is unmounted lazily", self.mounted.display());
        assert!(std::thread::panicking(), "{busy}: {lazily:?}");
    }
}

/// Where an image is put: in memory where there is plenty of it, since flushes of a shared disk are
/// what such tests would wait for.
fn dir_for(bytes: u64) -> PathBuf {
    let memory = Path::new("/dev/shm");
    let room = statvfs(memory).map_or(0, |about| about.f_bavail.saturating_mul(about.f_frsize));
    if room / 6 > bytes { memory.to_owned() } else { std::env::temp_dir() }
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

/// Runs a command that must succeed; what it printed.
fn run(command: &mut Command) -> String {
    try_run(command).unwrap_or_else(|error| panic!("{error}"))
}

/// The same, but other tests may hold the device for a moment, or have a loop device whose file is
/// just dying: mkfs.btrfs looks at all of them.
fn run_in_time(command: &mut Command) {
    for _ in 0..TRIES {
        match try_run(command) {
            Err(error) if error.contains("abort") || error.contains("busy") => sleep(STEP),
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

//! The owner's side of a played disk: mounts it, starts its process, sets its timing, and ends it.

use std::ffi::OsStr;
use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::DirBuilderExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::thread::{self, sleep};
use std::time::Duration;

use treering_model::filesystems::{PLAYED_MOUNT, USER_SPACE_CONNECTIONS, USER_SPACE_DEVICE};
use treering_model::{PLAYED_STATUS, PlayedCounts, PlayedStatus};
use treering_sys::{MountOptions, MountTable, kill_at_once, mount};

use super::{HURRY, IMAGE, PLAY, PlayedModel};
use crate::LabError;
use crate::error::unfit;
use crate::machine::{DeviceNumber, KernelMounts};
use crate::tools::SelfExec;

/// Longest wait for a reply from the process of a played disk, and for its end.
const PATIENCE: Duration = Duration::from_secs(10);
const STEP: Duration = Duration::from_millis(10);

/// A played disk owned by this process.
#[derive(Debug)]
pub(crate) struct DiskPlayer {
    point: PathBuf,
    child: Child,
    /// Device number of the disk's mount.
    pub(crate) mounted: Option<DeviceNumber>,
}

impl DiskPlayer {
    /// Makes the mount point `point`, mounts the filesystem of a played disk there, and starts its
    /// process.
    pub(crate) fn start(
        point: &Path,
        mark: &str,
        (image, path, model): (&File, &Path, &PlayedModel),
        self_exec: &SelfExec,
    ) -> Result<Self, LabError> {
        let made = DirBuilder::new().mode(0o700).create(point);
        made.map_err(LabError::io("cannot make the mount point", point))?;
        let connection = OpenOptions::new().read(true).write(true).open(USER_SPACE_DEVICE);
        let connection = connection.map_err(|error| {
            let action = "a disk cannot be played without";
            LabError::io(action, USER_SPACE_DEVICE)(error)
        })?;
        let options = format!("fd={},rootmode=40000,user_id=0,group_id=0", connection.as_raw_fd());
        let options = [options.as_str(), "nosuid", "nodev", "noexec", "noatime"];
        let options = MountOptions::parse(&options).map_err(crate::DeviceError::MountOption)?;
        mount(OsStr::new(mark), point, PLAYED_MOUNT, &options)
            .map_err(|errno| LabError::io("cannot mount", point)(errno.into()))?;
        let image = image.try_clone().map_err(LabError::io("cannot open again", point))?;
        let mut command = Command::new(&self_exec.program);
        command.args(&self_exec.arguments).arg(path).arg(&model.name).arg(&model.text);
        // The process is detached from the terminal's Ctrl-C and hangup, and from the working
        // directory.
        command.arg0("treering").process_group(0).current_dir("/");
        command.stdin(OwnedFd::from(connection)).stdout(OwnedFd::from(image));
        let child = command.stderr(Stdio::piped()).spawn();
        let child = child.map_err(LabError::io("cannot start", &self_exec.program))?;
        // Closes this process's copy of the connection, so that the connection ends with the disk's
        // process.
        drop(command);
        let mut player = Self { point: point.to_owned(), child, mounted: None };
        if let Err(error) = player.counts() {
            return Err(player.explain(error));
        }
        let table = MountTable::read().map_err(LabError::io("cannot read", "/proc/self/mountinfo"));
        let own_mount = table?.mounts.into_iter().find(|mount| mount.point == point);
        player.mounted =
            own_mount.map(|mount| DeviceNumber { major: mount.device.0, minor: mount.device.1 });
        Ok(player)
    }

    /// Adds the standard error of the process to the error, if it has written any.
    fn explain(&mut self, error: LabError) -> LabError {
        let _gone_already = self.child.kill();
        let _ended = self.child.wait();
        let mut words = String::new();
        if let Some(errors) = &mut self.child.stderr {
            let _nothing_said = errors.take(1 << 12).read_to_string(&mut words);
        }
        let words = words.trim();
        if words.is_empty() { error } else { unfit(format!("no disk is played: {words}")) }
    }

    /// Process ID of the played disk.
    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Path of the image as the played disk shows it.
    pub(crate) fn image(&self) -> PathBuf {
        image_in(&self.point)
    }

    /// Switches between answers at modelled times (`true`) and at once (`false`).
    pub(crate) fn play(&self, plays: bool) -> Result<(), LabError> {
        let failed = LabError::io("cannot reach the played disk at", &self.point);
        write_word(&self.point, if plays { PLAY } else { HURRY }).map_err(failed)
    }

    /// Counters of the played disk so far.
    pub(crate) fn counts(&self) -> Result<PlayedCounts, LabError> {
        let failed = || LabError::io("cannot reach the played disk at", &self.point);
        let mut text = String::new();
        File::open(self.point.join(PLAYED_STATUS))
            .and_then(|mut file| file.read_to_string(&mut text))
            .map_err(failed())?;
        let status: Result<PlayedStatus, _> = serde_json::from_str(&text);
        Ok(status.map_err(|error| failed()(error.into()))?.counts)
    }

    /// Waits for the end of the process after its mount is gone.
    pub(crate) fn wait_for_end(mut self) {
        let mut waited = Duration::ZERO;
        while matches!(self.child.try_wait(), Ok(None)) {
            if waited >= PATIENCE {
                let _gone_already = self.child.kill();
                break;
            }
            sleep(STEP);
            waited += STEP;
        }
        let _ended = self.child.wait();
    }
}

pub(crate) fn image_in(point: &Path) -> PathBuf {
    point.join(IMAGE)
}

fn write_word(point: &Path, word: &str) -> io::Result<()> {
    OpenOptions::new().write(true).open(point.join(PLAYED_STATUS))?.write_all(word.as_bytes())
}

/// A played disk whose owner may be dead.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OrphanDisk<'a> {
    /// Mount point of its filesystem.
    pub(crate) point: &'a Path,
    /// Device number of the mount, if known.
    pub(crate) mounted: Option<DeviceNumber>,
    /// Process ID and start time of the process that plays it.
    pub(crate) player: Option<(u32, u64)>,
}

/// Unblocks everything that waits for a played disk. The disk answers at once from now on; if its
/// process does not respond, all requests fail.
pub(crate) fn rescue(machine: &KernelMounts, remains: OrphanDisk<'_>) {
    let is_mounted = MountTable::read().is_ok_and(|table| {
        table
            .mounts
            .iter()
            .any(|mount| mount.point == remains.point && mount.fs_type == PLAYED_MOUNT)
    });
    if !is_mounted {
        return;
    }
    // The thread may block; it is abandoned until the connection breaks.
    let (sender, answer) = mpsc::channel();
    let point = remains.point.to_owned();
    let sent = thread::Builder::new().spawn(move || sender.send(write_word(&point, HURRY)));
    if sent.is_ok() && answer.recv_timeout(PATIENCE).is_ok() {
        // The disk accepted the word, or the connection is already broken.
        return;
    }
    if let Some((pid, start)) = remains.player
        && machine.process_start(pid) == Some(start)
    {
        let _gone_meanwhile = kill_at_once(pid);
    }
    if let Some(number) = remains.mounted {
        let connection = Path::new(USER_SPACE_CONNECTIONS).join(number.minor.to_string());
        // The write fails if the connection is gone, or fusectl is not mounted.
        let _nothing_to_abort = std::fs::write(connection.join("abort"), "1");
    }
}

//! A block device of a test's own.

use std::path::Path;
use std::process::Command;

/// Attaches a file to a free loop device; the device's path.
/// Partitions that somebody's earlier file left on the device are forgotten: treering would refuse
/// to format it.
pub(crate) fn attach(file: &Path) -> String {
    let made = Command::new("losetup").args(["--find", "--show"]).arg(file).output();
    let made = made.expect("losetup can be run");
    assert!(made.status.success(), "{made:?}");
    let device = String::from_utf8_lossy(&made.stdout).trim().to_owned();
    let name = device.trim_start_matches("/dev/");
    let listed = std::fs::read_dir(Path::new("/sys/block").join(name)).into_iter().flatten();
    let is_partition = |entry: &std::fs::DirEntry| entry.path().join("partition").exists();
    if listed.flatten().any(|entry| is_partition(&entry)) {
        let forgotten = Command::new("partx").args(["--delete", &device]).output();
        assert!(forgotten.is_ok(), "{device} has partitions that another file left: {forgotten:?}");
    }
    device
}

/// A block device on a file, detached when this is dropped.
#[derive(Debug)]
pub struct BlockDevice(String);

impl BlockDevice {
    /// On a file that is there.
    pub fn on(file: &Path) -> Self {
        Self(attach(file))
    }

    /// Path in `/dev`.
    pub fn path(&self) -> &str {
        &self.0
    }
}

impl Drop for BlockDevice {
    fn drop(&mut self) {
        let _detached = Command::new("losetup").args(["--detach", &self.0]).status();
    }
}

//! Loop devices for tests.

use std::path::Path;
use std::process::Command;

/// Attaches a file to a free loop device and returns the path of the device. Partitions that an
/// earlier file left on the device are removed: treering would refuse to format it.
pub(crate) fn attach(file: &Path) -> String {
    let output = Command::new("losetup").args(["--find", "--show"]).arg(file).output();
    let output = output.expect("losetup can be run");
    assert!(output.status.success(), "{output:?}");
    let device = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    let name = device.trim_start_matches("/dev/");
    let entries = std::fs::read_dir(Path::new("/sys/block").join(name)).into_iter().flatten();
    let is_partition = |entry: &std::fs::DirEntry| entry.path().join("partition").exists();
    if entries.flatten().any(|entry| is_partition(&entry)) {
        let deleted = Command::new("partx").args(["--delete", &device]).output();
        assert!(deleted.is_ok(), "{device} has partitions that another file left: {deleted:?}");
    }
    device
}

/// A loop device, detached when this is dropped.
#[derive(Debug)]
pub struct BlockDevice(String);

impl BlockDevice {
    /// Attaches an existing file.
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

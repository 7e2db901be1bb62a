//! A block device of a test's own.

use std::path::Path;
use std::process::Command;

/// A block device on a file, detached when this is dropped.
#[derive(Debug)]
pub struct BlockDevice(String);

impl BlockDevice {
    /// On a file that is there.
    pub fn on(file: &Path) -> Self {
        let made = Command::new("losetup").args(["--find", "--show"]).arg(file).output();
        let made = made.expect("losetup can be run");
        assert!(made.status.success(), "{made:?}");
        Self(String::from_utf8_lossy(&made.stdout).trim().to_owned())
    }

    /// Its path in `/dev`.
    pub fn path(&self) -> &str {
        &self.0
    }
}

impl Drop for BlockDevice {
    fn drop(&mut self) {
        let _detached = Command::new("losetup").args(["--detach", &self.0]).status();
    }
}

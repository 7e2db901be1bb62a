//! Where the machine tells about itself: `/proc` and `/sys`, or what a test puts in their place.

use std::fs::read_to_string;
use std::path::PathBuf;

/// The places.
#[derive(Clone, Debug)]
pub(crate) struct Places {
    pub(crate) proc: PathBuf,
    pub(crate) sys: PathBuf,
}

impl Default for Places {
    fn default() -> Self {
        Self { proc: PathBuf::from("/proc"), sys: PathBuf::from("/sys") }
    }
}

impl Places {
    /// A file below `/proc`, where it can be read.
    pub(crate) fn proc(&self, name: &str) -> Option<String> {
        read_to_string(self.proc.join(name)).ok()
    }

    /// A file below `/sys`, without the blanks around it.
    pub(crate) fn sys(&self, name: &str) -> Option<String> {
        Some(read_to_string(self.sys.join(name)).ok()?.trim().to_owned())
    }

    /// A line of meminfo, in bytes.
    pub(crate) fn memory_bytes(&self, key: &str) -> Option<u64> {
        let text = self.proc("meminfo")?;
        let line = text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(':'))?;
        let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
        kib.checked_mul(1024)
    }
}

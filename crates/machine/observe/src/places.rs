//! Roots of `/proc` and `/sys`, replaceable in tests.

use std::fs::read_to_string;
use std::path::PathBuf;

/// Roots of the kernel's virtual filesystems.
#[derive(Clone, Debug)]
pub(crate) struct KernelRoots {
    pub(crate) proc: PathBuf,
    pub(crate) sys: PathBuf,
}

impl Default for KernelRoots {
    fn default() -> Self {
        Self { proc: PathBuf::from("/proc"), sys: PathBuf::from("/sys") }
    }
}

impl KernelRoots {
    /// Reads a file below `/proc`; `None` if it cannot be read.
    pub(crate) fn proc(&self, name: &str) -> Option<String> {
        read_to_string(self.proc.join(name)).ok()
    }

    /// Reads a file below `/sys` and trims it.
    pub(crate) fn sys(&self, name: &str) -> Option<String> {
        Some(read_to_string(self.sys.join(name)).ok()?.trim().to_owned())
    }

    /// Value of a meminfo line in bytes.
    pub(crate) fn memory_bytes(&self, key: &str) -> Option<u64> {
        let text = self.proc("meminfo")?;
        let line = text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(':'))?;
        let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
        kib.checked_mul(1024)
    }
}

//! Recursive read, like `grep -r`: every directory and every byte of every file in directory order.
//! Access times are preserved where permitted.

use std::ffi::CStr;
use std::fmt;
use std::hash::{DefaultHasher, Hasher};
use std::ops::ControlFlow;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use treering_sys::{Confinement, Errno, FileType, monotonic_ns, open_to_look, read};

use crate::tree::{SkipReason, TreeEntry, TreeVisitor, WalkError, traverse};

/// Read size in bytes.
const READ_BYTES: usize = 128 << 10;
/// Files between two calls of the progress callback.
const NEWS_EVERY: u64 = 64;

/// Result of a recursive read.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ScanResult {
    /// Number of files read.
    pub files: u64,
    /// Number of directories read.
    pub directories: u64,
    /// Bytes read.
    pub bytes: u64,
    /// Entries that could not be read, or were removed during the scan.
    pub failed: u64,
    /// Duration in seconds.
    pub seconds: f64,
    /// Hash of all names in order of occurrence: equal for trees with the same names in the same
    /// order.
    pub order: u64,
}

/// Failure of a walk over a whole tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScanError {
    /// Stopped by the progress callback.
    Stopped,
    /// A call failed: action and errno.
    Failed(&'static str, Errno),
}

impl From<WalkError> for ScanError {
    fn from(WalkError(action, errno): WalkError) -> Self {
        Self::Failed(action, errno)
    }
}

impl fmt::Display for ScanError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stopped => write!(f, "stopped"),
            Self::Failed(what, errno) => write!(f, "cannot {what}: {errno}"),
        }
    }
}

impl std::error::Error for ScanError {}

/// Reads everything beneath a directory. `news` gets the progress and can stop the read.
///
/// # Errors
/// If the callback stops the read, or directories cannot be opened at all.
pub fn scan(
    top: BorrowedFd<'_>,
    progress: &mut dyn FnMut(&ScanResult) -> ControlFlow<()>,
) -> Result<ScanResult, ScanError> {
    let began = monotonic_ns();
    let mut reader = ScanVisitor {
        confinement: Confinement::probe(top),
        buffer: vec![0; READ_BYTES],
        scan: ScanResult::default(),
        order: DefaultHasher::new(),
        progress,
    };
    traverse(reader.confinement, top, &mut reader)?;
    let seconds = monotonic_ns().saturating_sub(began) as f64 / 1e9;
    Ok(ScanResult { seconds, order: reader.order.finish(), ..reader.scan })
}

struct ScanVisitor<'n> {
    confinement: Confinement,
    buffer: Vec<u8>,
    scan: ScanResult,
    order: DefaultHasher,
    progress: &'n mut dyn FnMut(&ScanResult) -> ControlFlow<()>,
}

impl ScanVisitor<'_> {
    fn read(&mut self, file: &OwnedFd) -> Result<(), Errno> {
        loop {
            let bytes = read(file.as_fd(), &mut self.buffer)?;
            if bytes == 0 {
                return Ok(());
            }
            self.scan.bytes += bytes as u64;
        }
    }
}

/// Sets `O_NOATIME`, which only the owner of a file may do.
fn without_times(file: impl AsFd) {
    if let Ok(flags) = fcntl_getfl(&file) {
        let _not_our_file = fcntl_setfl(&file, flags | OFlags::NOATIME);
    }
}

impl TreeVisitor for ScanVisitor<'_> {
    type Halt = ScanError;

    fn enter(&mut self, dir: BorrowedFd<'_>, name: Option<&CStr>) -> Result<(), ScanError> {
        without_times(dir);
        self.scan.directories += 1;
        if let Some(name) = name {
            self.order.write(name.to_bytes_with_nul());
        }
        Ok(())
    }

    fn entry(&mut self, entry: &TreeEntry<'_>) -> Result<(), ScanError> {
        if entry.kind != FileType::RegularFile {
            return Ok(());
        }
        self.order.write(entry.name.to_bytes_with_nul());
        let done = match open_to_look(self.confinement, entry.dir, entry.name) {
            Ok(file) => {
                without_times(&file);
                self.read(&file)
            }
            Err(errno @ (Errno::MFILE | Errno::NFILE | Errno::NOMEM)) => {
                return Err(ScanError::Failed("open a file", errno));
            }
            Err(errno) => Err(errno),
        };
        match done {
            Ok(()) => self.scan.files += 1,
            Err(_) => self.scan.failed += 1,
        }
        if self.scan.files.is_multiple_of(NEWS_EVERY) && (self.progress)(&self.scan).is_break() {
            return Err(ScanError::Stopped);
        }
        Ok(())
    }

    fn leave(&mut self) -> Result<(), ScanError> {
        self.order.write(b"/");
        Ok(())
    }

    fn passed(&mut self, reason: SkipReason, count: u64) {
        if reason != SkipReason::Mount {
            self.scan.failed += count;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::ops::ControlFlow;
    use std::os::fd::AsFd;

    use treering_sys::open_top;

    use super::{ScanError, ScanResult, scan};

    fn read(path: &std::path::Path) -> ScanResult {
        let top = open_top(path).unwrap();
        scan(top.as_fd(), &mut |_| ControlFlow::Continue(())).unwrap()
    }

    #[test]
    fn every_byte_is_read_once_and_the_order_hash_is_stable() {
        let place = tempfile::tempdir().unwrap();
        let path = |name: &str| place.path().join(name);
        fs::create_dir_all(path("a/b")).unwrap();
        fs::write(path("a/b/one"), vec![1; 300_000]).unwrap();
        fs::write(path("two"), b"12").unwrap();
        std::os::unix::fs::symlink("two", path("link")).unwrap();
        let first = read(place.path());
        assert_eq!((first.files, first.directories, first.bytes), (2, 3, 300_002));
        assert_eq!((first.failed, first.order), (0, read(place.path()).order));
        fs::rename(path("two"), path("a/two")).unwrap();
        assert_ne!(read(place.path()).order, first.order);
        let top = open_top(place.path()).unwrap();
        for number in 0..70 {
            fs::write(path(&format!("f{number}")), b"").unwrap();
        }
        let stopped = scan(top.as_fd(), &mut |_| ControlFlow::Break(()));
        assert_eq!(stopped, Err(ScanError::Stopped));
    }
}

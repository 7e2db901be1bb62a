//! Dropping the kernel's caches: page cache, dentries and inodes of the whole machine.

use std::fs::OpenOptions;
use std::io::Write;
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::io::Errno;

/// Reason for a failed drop of caches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DropCachesError {
    /// Not root, or a container makes `/proc/sys` read-only.
    NotPermitted(Errno),
    /// The kernel lacks the file, or `/proc` is not mounted.
    Unavailable(Errno),
    /// Any other error.
    Failed(Errno),
}

impl DropCachesError {
    /// Errno of the kernel.
    pub const fn errno(self) -> Errno {
        match self {
            Self::NotPermitted(errno) | Self::Unavailable(errno) | Self::Failed(errno) => errno,
        }
    }
}

impl From<Errno> for DropCachesError {
    fn from(errno: Errno) -> Self {
        match errno {
            Errno::ACCESS | Errno::PERM | Errno::ROFS => Self::NotPermitted(errno),
            Errno::NOENT | Errno::NOTDIR => Self::Unavailable(errno),
            _ => Self::Failed(errno),
        }
    }
}

/// Number of cache drops by this process.
static DROPS: AtomicU64 = AtomicU64::new(0);

/// Number of cache drops by this process; further ones in the kernel's counter come from others.
pub fn cache_drops() -> u64 {
    DROPS.load(Ordering::Relaxed)
}

/// Drops clean pages, dentries and inodes. Dirty ones stay: sync before.
///
/// # Errors
/// If the kernel denies it.
pub fn drop_caches() -> Result<(), DropCachesError> {
    let path = "/proc/sys/vm/drop_caches";
    let written =
        OpenOptions::new().write(true).open(path).and_then(|mut file| file.write_all(b"3"));
    written.map_err(|error| {
        DropCachesError::from(Errno::from_io_error(&error).unwrap_or(Errno::IO))
    })?;
    DROPS.fetch_add(1, Ordering::Relaxed);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{DropCachesError, cache_drops, drop_caches};
    use rustix::io::Errno;

    #[test]
    fn errnos_are_classified() {
        assert_eq!(
            DropCachesError::from(Errno::ACCESS),
            DropCachesError::NotPermitted(Errno::ACCESS)
        );
        assert_eq!(DropCachesError::from(Errno::ROFS).errno(), Errno::ROFS);
        assert_eq!(DropCachesError::from(Errno::NOENT), DropCachesError::Unavailable(Errno::NOENT));
        assert_eq!(DropCachesError::from(Errno::IO), DropCachesError::Failed(Errno::IO));
    }

    #[test]
    fn dropping_caches_requires_root() {
        // As root this would slow down everything else on the machine.
        if !rustix::process::geteuid().is_root() {
            let refused = drop_caches();
            assert!(matches!(refused, Err(DropCachesError::NotPermitted(_))), "{refused:?}");
            assert_eq!(cache_drops(), 0, "what was refused is not counted");
        }
    }
}

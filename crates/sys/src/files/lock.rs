//! Directory lock against concurrent runs (`flock`).

use std::os::fd::AsFd;

use rustix::fs::{FlockOperation, flock};
use rustix::io::{Errno, retry_on_intr};

/// Reason for a failed lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LockError {
    /// Another process holds the lock.
    Held,
    /// The filesystem does not support locks on directories, or refuses this one.
    Unsupported(Errno),
}

/// Locks the directory for us alone, without waiting. The lock ends when the descriptor and all
/// copies of it are closed, also when the process is killed.
///
/// # Errors
/// If another process holds the lock, or the filesystem cannot lock.
pub fn lock_exclusive(dir: impl AsFd) -> Result<(), LockError> {
    lock(dir, FlockOperation::NonBlockingLockExclusive)
}

/// Locks the directory together with others, against those that want it alone. It ends as
/// [`lock_exclusive`].
///
/// # Errors
/// If another process has it alone, or the filesystem cannot lock.
pub fn lock_shared(dir: impl AsFd) -> Result<(), LockError> {
    lock(dir, FlockOperation::NonBlockingLockShared)
}

fn lock(dir: impl AsFd, how: FlockOperation) -> Result<(), LockError> {
    match retry_on_intr(|| flock(&dir, how)) {
        Ok(()) => Ok(()),
        Err(Errno::WOULDBLOCK) => Err(LockError::Held),
        Err(errno) => Err(LockError::Unsupported(errno)),
    }
}

#[cfg(test)]
mod tests {
    use super::{LockError, lock_exclusive, lock_shared};
    use std::fs::File;

    #[test]
    fn the_second_lock_is_refused_until_the_first_is_closed() {
        let place = tempfile::tempdir().unwrap();
        let first = File::open(place.path()).unwrap();
        let second = File::open(place.path()).unwrap();
        assert_eq!(lock_exclusive(&first), Ok(()));
        assert_eq!(lock_exclusive(&second), Err(LockError::Held));
        assert_eq!(lock_shared(&second), Err(LockError::Held));
        drop(first);
        assert_eq!(lock_shared(&second), Ok(()));
        let third = File::open(place.path()).unwrap();
        assert_eq!(lock_shared(&third), Ok(()));
        assert_eq!(lock_exclusive(&third), Err(LockError::Held));
    }

    #[test]
    fn unsupported_locks_return_an_error() {
        let path = rustix::fs::open(
            "/",
            rustix::fs::OFlags::PATH | rustix::fs::OFlags::CLOEXEC,
            rustix::fs::Mode::empty(),
        );
        assert!(matches!(lock_exclusive(path.unwrap()), Err(LockError::Unsupported(_))));
    }
}

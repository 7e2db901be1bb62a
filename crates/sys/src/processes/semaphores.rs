//! System V semaphores as barriers between processes: each process decrements one and waits for
//! zero.
#![expect(unsafe_code, reason = "rustix has no System V semaphores")]

use rustix::io::Errno;

use crate::files::entries::last_error;

/// Set of semaphores, identified by a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SemaphoreSet {
    id: libc::c_int,
}

/// Permissions: any user.
const MODE: libc::c_int = 0o666;

fn checked(result: libc::c_int) -> Result<libc::c_int, Errno> {
    if result < 0 { Err(last_error()) } else { Ok(result) }
}

impl SemaphoreSet {
    /// Creates a set of `count` semaphores, or opens an existing one, and sets each to `value`.
    ///
    /// # Errors
    /// As `semget` and `semctl`.
    pub fn make(key: i32, count: u16, value: u16) -> Result<Self, Errno> {
        // SAFETY: integer arguments.
        let id = unsafe { libc::semget(key, i32::from(count), libc::IPC_CREAT | MODE) };
        let made = Self { id: checked(id)? };
        for number in 0..i32::from(count) {
            // SAFETY: the fourth argument of SETVAL is an integer.
            checked(unsafe {
                libc::semctl(made.id, number, libc::SETVAL, libc::c_int::from(value))
            })?;
        }
        Ok(made)
    }

    /// Opens the existing set with this key.
    ///
    /// # Errors
    /// `ENOENT` if it does not exist, `EINVAL` if it has fewer semaphores, else as `semget`.
    pub fn find(key: i32, count: u16) -> Result<Self, Errno> {
        // SAFETY: integer arguments.
        let id = unsafe { libc::semget(key, i32::from(count), MODE) };
        checked(id).map(|id| Self { id })
    }

    /// Decrements a semaphore and waits until it is zero, that is until all expected processes have
    /// arrived.
    ///
    /// # Errors
    /// `EAGAIN` if it is already zero, `EINTR` on a signal, `EIDRM` if the set was removed.
    pub fn meet(self, number: u16) -> Result<(), Errno> {
        let step = |operation, flags: libc::c_int| -> Result<(), Errno> {
            let sem_flg = i16::try_from(flags).map_err(|_never| Errno::INVAL)?;
            let mut operation_on_one = libc::sembuf { sem_num: number, sem_op: operation, sem_flg };
            // SAFETY: the pointer is valid for one operation.
            checked(unsafe { libc::semop(self.id, &raw mut operation_on_one, 1) }).map(|_zero| ())
        };
        step(-1, libc::IPC_NOWAIT)?;
        step(0, 0)
    }

    /// Removes the set.
    ///
    /// # Errors
    /// As `semctl`.
    pub fn remove(self) -> Result<(), Errno> {
        // SAFETY: integer arguments; IPC_RMID takes no fourth one.
        checked(unsafe { libc::semctl(self.id, 0, libc::IPC_RMID) }).map(|_zero| ())
    }
}

#[cfg(test)]
mod tests {
    use rustix::io::Errno;

    use super::SemaphoreSet;

    #[test]
    fn meeting_ends_when_all_processes_have_arrived() {
        // A key of this process alone; containers may have no semaphores at all.
        let key = i32::try_from(std::process::id()).unwrap() | 0x4000_0000;
        let Ok(made) = SemaphoreSet::make(key, 3, 2) else { return };
        assert_eq!(SemaphoreSet::find(key, 3), Ok(made));
        std::thread::scope(|scope| {
            let meeting = scope.spawn(|| made.meet(2));
            assert_eq!(made.meet(2), Ok(()));
            assert_eq!(meeting.join().unwrap(), Ok(()));
        });
        // It was for two.
        assert_eq!(made.meet(2), Err(Errno::AGAIN));
        assert_eq!(made.remove(), Ok(()));
        assert_eq!(SemaphoreSet::find(key, 3), Err(Errno::NOENT));
        assert!(made.meet(0).is_err());
    }
}

//! CPU affinity, nice value and I/O priority of the calling thread.
#![expect(unsafe_code, reason = "rustix has no function for most of these")]

use rustix::io::Errno;

/// Scheduling parameters of a thread.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SchedulingParameters {
    /// Allowed CPUs; empty for all.
    pub cpus: Vec<u32>,
    /// Increment of the nice value.
    pub nice: i32,
    /// I/O class and level, encoded as for `ioprio_set`.
    pub io_priority: Option<u16>,
}

/// Guard that changes the scheduling of the calling thread until it is dropped.
#[derive(Debug)]
pub struct SchedulingGuard {
    cpus: Option<libc::cpu_set_t>,
    nice: Option<i32>,
    io_priority: bool,
}

const SET_BYTES: usize = size_of::<libc::cpu_set_t>();
/// `IOPRIO_WHO_PROCESS`, which addresses a thread.
const OF_THREAD: libc::c_int = 1;

fn done(result: libc::c_int) -> Result<libc::c_int, Errno> {
    let error = || std::io::Error::last_os_error().raw_os_error().unwrap_or(libc::EIO);
    if result < 0 { Err(Errno::from_raw_os_error(error())) } else { Ok(result) }
}

impl SchedulingGuard {
    /// Applies the parameters to the calling thread.
    ///
    /// # Errors
    /// `EINVAL` if no such CPU exists, `EPERM` for privileged values.
    pub fn put_on(parameters: &SchedulingParameters) -> Result<Self, Errno> {
        let mut scheduled = Self { cpus: None, nice: None, io_priority: false };
        if !parameters.cpus.is_empty() {
            // SAFETY: all-zero bit sets are valid, and the calls get their size.
            let (mut before, mut wanted) = unsafe {
                (std::mem::zeroed::<libc::cpu_set_t>(), std::mem::zeroed::<libc::cpu_set_t>())
            };
            let most = u32::try_from(SET_BYTES * 8).unwrap_or(0);
            for &cpu in parameters.cpus.iter().filter(|cpu| **cpu < most) {
                // SAFETY: the CPU number is below the size of the set.
                unsafe { libc::CPU_SET(usize::try_from(cpu).unwrap_or(0), &mut wanted) };
            }
            // SAFETY: both sets are local and have the given size.
            done(unsafe { libc::sched_getaffinity(0, SET_BYTES, &raw mut before) })?;
            // SAFETY: as above.
            done(unsafe { libc::sched_setaffinity(0, SET_BYTES, &raw const wanted) })?;
            scheduled.cpus = Some(before);
        }
        if parameters.nice != 0 {
            // SAFETY: integer arguments; 0 is the calling thread.
            let before = unsafe { libc::getpriority(libc::PRIO_PROCESS, 0) };
            // SAFETY: as above.
            done(unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, before + parameters.nice) })?;
            scheduled.nice = Some(before);
        }
        if let Some(priority) = parameters.io_priority {
            set_io_priority(priority)?;
            scheduled.io_priority = true;
        }
        Ok(scheduled)
    }
}

fn set_io_priority(priority: u16) -> Result<(), Errno> {
    // SAFETY: integer arguments; 0 is the calling thread.
    let result =
        unsafe { libc::syscall(libc::SYS_ioprio_set, OF_THREAD, 0, libc::c_int::from(priority)) };
    done(if result < 0 { -1 } else { 0 }).map(|_| ())
}

impl Drop for SchedulingGuard {
    fn drop(&mut self) {
        if let Some(before) = self.cpus {
            // SAFETY: the set comes from the kernel.
            unsafe { libc::sched_setaffinity(0, SET_BYTES, &raw const before) };
        }
        if let Some(before) = self.nice {
            // SAFETY: integer arguments. If lowering is not permitted, the thread ends soon anyway.
            unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, before) };
        }
        if self.io_priority {
            // Priority 0 means no explicit I/O priority.
            let _undone = set_io_priority(0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{SchedulingGuard, SchedulingParameters};

    #[test]
    fn affinity_is_applied_and_restored() {
        let count = || std::thread::available_parallelism().unwrap().get();
        let before = count();
        // Whichever processors this test may use: the first of them is found by trying.
        let put = (0..64).find_map(|cpu| {
            SchedulingGuard::put_on(&SchedulingParameters {
                cpus: vec![cpu],
                ..SchedulingParameters::default()
            })
            .ok()
        });
        assert_eq!(count(), 1);
        drop(put);
        assert_eq!(count(), before);
        let nowhere = SchedulingParameters { cpus: vec![1023], ..SchedulingParameters::default() };
        assert!(SchedulingGuard::put_on(&nowhere).is_err());
    }
}

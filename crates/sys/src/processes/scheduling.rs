//! On which processors the calling thread runs, and how urgently the scheduler and the block layer
//! serve it.
#![expect(unsafe_code, reason = "rustix has no function for most of these")]

use rustix::io::Errno;

/// What a thread asks of the schedulers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Scheduling {
    /// The processors that it may run on, by their numbers; any where there are none.
    pub cpus: Vec<u32>,
    /// How much nicer it is than it was.
    pub nice: i32,
    /// Its class and level of I/O, as `ioprio_set` takes them.
    pub io_priority: Option<u16>,
}

/// The thread is scheduled in another way until this is dropped.
#[derive(Debug)]
pub struct Scheduled {
    cpus: Option<libc::cpu_set_t>,
    nice: Option<i32>,
    io_priority: bool,
}

const SET_BYTES: usize = size_of::<libc::cpu_set_t>();
/// This thread, for the calls on I/O priorities.
const OF_THREAD: libc::c_int = 1;

fn done(result: libc::c_int) -> Result<libc::c_int, Errno> {
    let error = || std::io::Error::last_os_error().raw_os_error().unwrap_or(libc::EIO);
    if result < 0 { Err(Errno::from_raw_os_error(error())) } else { Ok(result) }
}

impl Scheduled {
    /// Schedules the calling thread so.
    ///
    /// # Errors
    /// `EINVAL` where no such processor is there, `EPERM` for what only root may have.
    pub fn put_on(asked: &Scheduling) -> Result<Self, Errno> {
        let mut scheduled = Self { cpus: None, nice: None, io_priority: false };
        if !asked.cpus.is_empty() {
            // SAFETY: a set of bits may be all zeros, and the calls get its size.
            let (mut before, mut wanted) = unsafe {
                (std::mem::zeroed::<libc::cpu_set_t>(), std::mem::zeroed::<libc::cpu_set_t>())
            };
            let most = u32::try_from(SET_BYTES * 8).unwrap_or(0);
            for &cpu in asked.cpus.iter().filter(|cpu| **cpu < most) {
                // SAFETY: the bit is one of the set's.
                unsafe { libc::CPU_SET(usize::try_from(cpu).unwrap_or(0), &mut wanted) };
            }
            // SAFETY: both sets are ours, and as long as is said.
            done(unsafe { libc::sched_getaffinity(0, SET_BYTES, &raw mut before) })?;
            // SAFETY: as above.
            done(unsafe { libc::sched_setaffinity(0, SET_BYTES, &raw const wanted) })?;
            scheduled.cpus = Some(before);
        }
        if asked.nice != 0 {
            // SAFETY: plain numbers; 0 is the calling thread.
            let before = unsafe { libc::getpriority(libc::PRIO_PROCESS, 0) };
            // SAFETY: as above.
            done(unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, before + asked.nice) })?;
            scheduled.nice = Some(before);
        }
        if let Some(priority) = asked.io_priority {
            set_io_priority(priority)?;
            scheduled.io_priority = true;
        }
        Ok(scheduled)
    }
}

fn set_io_priority(priority: u16) -> Result<(), Errno> {
    // SAFETY: plain numbers; 0 is the calling thread.
    let result =
        unsafe { libc::syscall(libc::SYS_ioprio_set, OF_THREAD, 0, libc::c_int::from(priority)) };
    done(if result < 0 { -1 } else { 0 }).map(|_| ())
}

impl Drop for Scheduled {
    fn drop(&mut self) {
        if let Some(before) = self.cpus {
            // SAFETY: a set that the kernel has given us.
            unsafe { libc::sched_setaffinity(0, SET_BYTES, &raw const before) };
        }
        if let Some(before) = self.nice {
            // SAFETY: plain numbers. Where it may not be undone, the thread ends soon.
            unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, before) };
        }
        if self.io_priority {
            // What nobody asked for: that of the scheduler.
            let _undone = set_io_priority(0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Scheduled, Scheduling};

    #[test]
    fn a_thread_runs_where_it_is_put_and_is_put_back() {
        let count = || std::thread::available_parallelism().unwrap().get();
        let before = count();
        // Whichever processors this test may use: the first of them is found by trying.
        let put = (0..64).find_map(|cpu| {
            Scheduled::put_on(&Scheduling { cpus: vec![cpu], ..Scheduling::default() }).ok()
        });
        assert_eq!(count(), 1);
        drop(put);
        assert_eq!(count(), before);
        let nowhere = Scheduling { cpus: vec![1023], ..Scheduling::default() };
        assert!(Scheduled::put_on(&nowhere).is_err());
    }
}

//! `io_uring`: two rings that we and the kernel have in common.

use io_uring::{IoUring, opcode, types};
use rustix::io::Errno;

use super::{Ended, Raw};

/// The rings of one queue.
pub(super) struct Uring {
    ring: IoUring,
}

impl std::fmt::Debug for Uring {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Uring")
    }
}

fn errno(error: &std::io::Error) -> Errno {
    Errno::from_io_error(error).unwrap_or(Errno::IO)
}

impl Uring {
    /// Rings for so many requests, of which this thread alone gives and takes. What ends is then
    /// worked off where the thread waits, and does not interrupt it: with 64 under way on a loop
    /// device the rate is almost half as much again. Kernels before 6.1 do without.
    pub(super) fn new(depth: u32) -> Result<Self, Errno> {
        let ring = IoUring::builder()
            .setup_coop_taskrun()
            .setup_single_issuer()
            .setup_defer_taskrun()
            .build(depth);
        let ring = match ring {
            Err(error) if errno(&error) == Errno::INVAL => IoUring::new(depth),
            ring => ring,
        };
        ring.map(|ring| Self { ring }).map_err(|error| errno(&error))
    }

    /// Gives requests to the kernel; all of them, unless it fails.
    ///
    /// # Safety
    /// Descriptors must be open, and addresses valid and nobody else's until a request has ended.
    pub(super) unsafe fn submit(&mut self, requests: &[Raw]) -> Result<usize, Errno> {
        let mut queue = self.ring.submission();
        for request in requests {
            let Raw { file, writes, address, bytes, position, tag } = *request;
            let fd = types::Fd(file);
            let entry = if writes {
                opcode::Write::new(fd, address, bytes).offset(position).build()
            } else {
                opcode::Read::new(fd, address, bytes).offset(position).build()
            };
            // SAFETY: what the caller promises.
            let pushed = unsafe { queue.push(&entry.user_data(u64::from(tag))) };
            // There are as many places as tags.
            pushed.map_err(|_full| Errno::AGAIN)?;
        }
        drop(queue);
        let mut taken = 0;
        while taken < requests.len() {
            match self.ring.submit() {
                Ok(0) => return Err(Errno::AGAIN),
                Ok(more) => taken += more,
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(error) => return Err(errno(&error)),
            }
        }
        Ok(taken)
    }

    /// Waits for so many and tells all that have ended; how many calls that took.
    pub(super) fn reap(&mut self, least: u32, ended: &mut Vec<Ended>) -> Result<u32, Errno> {
        let before = ended.len();
        let least = usize::try_from(least).unwrap_or(usize::MAX);
        let mut calls = 0;
        loop {
            ended.extend(
                self.ring
                    .completion()
                    .map(|entry| Ended::new(entry.user_data(), i64::from(entry.result()))),
            );
            let came = ended.len() - before;
            if came >= least {
                return Ok(calls);
            }
            calls += 1;
            match self.ring.submit_and_wait(least - came) {
                Ok(_) => {}
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(error) => return Err(errno(&error)),
            }
        }
    }
}

//! `io_uring`: submission and completion rings shared with the kernel.

use io_uring::{IoUring, opcode, squeue, types};
use rustix::io::Errno;

use super::{CompletedRequest, RawRequest};

/// Size of the table of registered files, whose index is the number of the descriptor.
const TABLE: usize = 1024;
/// Number of requests to a descriptor after which its file is registered: files of few requests are
/// not worth the two calls.
const MANY_REQUESTS: u8 = 64;

/// Rings of one queue.
pub(super) struct Uring {
    ring: IoUring,
    /// Requests of each descriptor, up to [`MANY_REQUESTS`], from when on its file is registered:
    /// the kernel then looks up no descriptor. Empty if the kernel registers none.
    requests: Vec<u8>,
    has_table: bool,
}

impl std::fmt::Debug for Uring {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Uring")
    }
}

impl Drop for Uring {
    /// Lets go of the registered files now: the kernel takes a closed ring apart later, and until
    /// then these files would keep their filesystem mounted.
    fn drop(&mut self) {
        if self.has_table {
            let _no_table_is_left = self.ring.submitter().unregister_files();
        }
    }
}

fn errno(error: &std::io::Error) -> Errno {
    Errno::from_io_error(error).unwrap_or(Errno::IO)
}

impl Uring {
    /// Creates rings for `depth` requests with a single issuer thread. Completions are then
    /// processed where the thread waits, without interrupting it, which improves the rate with 64
    /// requests in flight on a loop device by almost half. Kernels before 6.1 lack this mode.
    pub(super) fn new(depth: u32, is_polled: bool) -> Result<Self, Errno> {
        let builder = || {
            let mut builder = IoUring::builder();
            if is_polled {
                builder.setup_iopoll();
            }
            builder
        };
        let ring =
            builder().setup_coop_taskrun().setup_single_issuer().setup_defer_taskrun().build(depth);
        let ring = match ring {
            Err(error) if errno(&error) == Errno::INVAL => builder().build(depth),
            ring => ring,
        };
        let ring = ring.map_err(|error| errno(&error))?;
        Ok(Self { ring, requests: vec![0; TABLE], has_table: false })
    }

    /// True if the file of a descriptor is registered, perhaps by this call.
    #[inline]
    fn is_registered(&mut self, file: i32) -> bool {
        let place = usize::try_from(file).unwrap_or(usize::MAX);
        match self.requests.get_mut(place) {
            None => false,
            Some(&mut MANY_REQUESTS) => true,
            Some(requests) => {
                *requests += 1;
                *requests == MANY_REQUESTS && self.register(place, file)
            }
        }
    }

    #[cold]
    fn register(&mut self, place: usize, file: i32) -> bool {
        let submitter = self.ring.submitter();
        let (Ok(size), Ok(offset)) = (u32::try_from(TABLE), u32::try_from(place)) else {
            return false;
        };
        if !self.has_table && submitter.register_files_sparse(size).is_err() {
            self.requests.clear();
            return false;
        }
        self.has_table = true;
        let is_registered = submitter.register_files_update(offset, &[file]).is_ok();
        if !is_registered {
            self.requests[place] = 0;
        }
        is_registered
    }

    /// Forgets the file of a descriptor that is about to be closed.
    pub(super) fn forget_file(&mut self, file: i32) {
        let place = usize::try_from(file).unwrap_or(usize::MAX);
        let Some(requests) = self.requests.get_mut(place) else { return };
        let was_registered = std::mem::take(requests) == MANY_REQUESTS;
        if was_registered && let Ok(offset) = u32::try_from(place) {
            // A place that cannot be emptied would keep the file open: the table goes as a whole.
            let emptied = self.ring.submitter().register_files_update(offset, &[-1]);
            if emptied.is_err() {
                let _gone = self.ring.submitter().unregister_files();
                self.requests.clear();
            }
        }
    }

    /// Submits all requests, unless an error occurs.
    ///
    /// # Safety
    /// Descriptors must be open, and addresses valid and unaliased until the request completes. A
    /// descriptor that was closed since an earlier request must have been forgotten.
    pub(super) unsafe fn submit(&mut self, requests: &[RawRequest]) -> Result<usize, Errno> {
        for request in requests {
            let RawRequest { file, writes, address, bytes, position, tag, flags } = *request;
            let flags = flags.cast_signed();
            let is_registered = self.is_registered(file);
            let fd = types::Fd(file);
            let entry = if writes {
                opcode::Write::new(fd, address, bytes).offset(position).rw_flags(flags).build()
            } else {
                opcode::Read::new(fd, address, bytes).offset(position).rw_flags(flags).build()
            };
            // The number of a registered file is that of its descriptor.
            let entry = if is_registered { entry.flags(squeue::Flags::FIXED_FILE) } else { entry };
            // SAFETY: by the contract of this function.
            let pushed = unsafe { self.ring.submission().push(&entry.user_data(u64::from(tag))) };
            // The ring has as many entries as there are tags.
            pushed.map_err(|_full| Errno::AGAIN)?;
        }
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

    /// Waits for at least `least` completions, appends all to `ended`, returns the number of
    /// `io_uring_enter` calls.
    pub(super) fn reap(
        &mut self,
        least: u32,
        ended: &mut Vec<CompletedRequest>,
    ) -> Result<u32, Errno> {
        let before = ended.len();
        let least = usize::try_from(least).unwrap_or(usize::MAX);
        let mut calls = 0;
        loop {
            ended.extend(
                self.ring.completion().map(|entry| {
                    CompletedRequest::new(entry.user_data(), i64::from(entry.result()))
                }),
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

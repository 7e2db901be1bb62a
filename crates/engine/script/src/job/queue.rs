//! Asynchronous I/O queue that a task asks for: interface, depth, and sizes of its buffers.

/// Asynchronous I/O queue of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IoQueue {
    /// Kernel interface.
    pub kind: QueueKind,
    /// Maximum queue depth, at least 1.
    pub depth: u16,
    /// Largest read in bytes, for buffers that have their memory before the task begins; 0 where
    /// they are made on demand.
    pub read_bytes: u32,
    /// Largest write, likewise.
    pub write_bytes: u32,
    /// What is asked of the kernel for each request.
    pub flags: RequestFlags,
}

/// Requests to the kernel about single reads and writes: the `RWF_` flags of `preadv2`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RequestFlags {
    /// Waits for the device by polling it (`RWF_HIPRI`, a polled ring).
    pub polled: bool,
    /// Fails with `EAGAIN` in place of waiting (`RWF_NOWAIT`).
    pub no_wait: bool,
    /// Removes the data from the page cache afterwards (`RWF_DONTCACHE`).
    pub uncached: bool,
}

impl RequestFlags {
    /// Bits of `linux/fs.h`.
    pub fn bits(self) -> u32 {
        const HIPRI: u32 = 1;
        const NOWAIT: u32 = 8;
        const DONTCACHE: u32 = 0x80;
        let flags = [(self.polled, HIPRI), (self.no_wait, NOWAIT), (self.uncached, DONTCACHE)];
        flags.into_iter().filter(|(is_set, _)| *is_set).fold(0, |bits, (_, bit)| bits | bit)
    }
}

/// Kernel interface of a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueueKind {
    /// Linux AIO: `io_submit` and `io_getevents`.
    Libaio,
    /// `io_uring_enter`.
    IoUring,
}

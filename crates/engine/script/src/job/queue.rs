//! Asynchronous I/O queue that a task asks for: interface, depth, and sizes of its buffers.

use treering_sys::RequestFlags;

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
    /// Flags of each request.
    pub flags: RequestFlags,
}

/// Kernel interface of a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueueKind {
    /// Linux AIO: `io_submit` and `io_getevents`.
    Libaio,
    /// `io_uring_enter`.
    IoUring,
}

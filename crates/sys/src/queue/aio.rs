//! Linux AIO by its system calls, as wrapped by the library `libaio`.

use rustix::io::Errno;

use super::{CompletedRequest, RawRequest};
use crate::files::entries::last_error;

/// `struct iocb` of `linux/aio_abi.h`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
struct ControlBlock {
    data: u64,
    /// Key, which is zero, and the `RWF_` flags. Their order follows that of bytes.
    key_and_flags: [u32; 2],
    opcode: u16,
    priority: i16,
    file: u32,
    address: u64,
    bytes: u64,
    position: i64,
    reserved: u64,
    flags: u32,
    event_file: u32,
}

const READ: u16 = 0;
const WRITE: u16 = 1;

/// `struct io_event` of `linux/aio_abi.h`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
struct IoEvent {
    data: u64,
    block: u64,
    result: i64,
    more: i64,
}

/// AIO context of one queue.
#[derive(Debug)]
pub(super) struct Aio {
    context: libc::c_ulong,
    blocks: Vec<ControlBlock>,
    events: Vec<IoEvent>,
}

impl Aio {
    /// Creates a context for `depth` requests.
    pub(super) fn new(depth: u32) -> Result<Self, Errno> {
        let mut context: libc::c_ulong = 0;
        // SAFETY: the pointer is valid for the context that the kernel writes.
        let made = unsafe { libc::syscall(libc::SYS_io_setup, depth, &raw mut context) };
        if made < 0 {
            return Err(last_error());
        }
        let events = vec![IoEvent::default(); usize::try_from(depth).unwrap_or(1)];
        Ok(Self { context, blocks: Vec::with_capacity(events.len()), events })
    }

    /// Submits requests; returns how many the kernel accepted.
    ///
    /// # Safety
    /// Descriptors must be open, and addresses valid and unaliased until the request completes.
    pub(super) unsafe fn submit(&mut self, requests: &[RawRequest]) -> Result<usize, Errno> {
        self.blocks.clear();
        for request in requests {
            self.blocks.push(ControlBlock {
                data: u64::from(request.tag),
                key_and_flags: if cfg!(target_endian = "little") {
                    [0, request.flags]
                } else {
                    [request.flags, 0]
                },
                opcode: if request.writes { WRITE } else { READ },
                file: u32::try_from(request.file).map_err(|_closed| Errno::BADF)?,
                address: request.address as u64,
                bytes: u64::from(request.bytes),
                position: i64::try_from(request.position).map_err(|_| Errno::INVAL)?,
                ..ControlBlock::default()
            });
        }
        let list: Vec<*mut ControlBlock> =
            self.blocks.iter_mut().map(|block| &raw mut *block).collect();
        loop {
            // SAFETY: the list and the blocks are valid during the call, which copies them;
            // descriptors and addresses are valid by the contract of this function.
            let taken = unsafe {
                libc::syscall(libc::SYS_io_submit, self.context, list.len(), list.as_ptr())
            };
            match usize::try_from(taken) {
                Ok(taken) => return Ok(taken),
                Err(_negative) if last_error() == Errno::INTR => {}
                Err(_negative) => return Err(last_error()),
            }
        }
    }

    /// Waits for at least `least` completions, appends all to `ended`, returns the number of system
    /// calls.
    pub(super) fn reap(
        &mut self,
        least: u32,
        ended: &mut Vec<CompletedRequest>,
    ) -> Result<u32, Errno> {
        let (mut calls, mut came) = (0, 0);
        loop {
            let wanted = u64::from(least).saturating_sub(came);
            // SAFETY: the buffer has room for the given number of events; without a timeout the
            // call blocks.
            let got = unsafe {
                libc::syscall(
                    libc::SYS_io_getevents,
                    self.context,
                    wanted,
                    self.events.len(),
                    self.events.as_mut_ptr(),
                    std::ptr::null_mut::<libc::timespec>(),
                )
            };
            calls += 1;
            match usize::try_from(got) {
                Ok(got) => {
                    let events = self.events.iter().take(got);
                    ended.extend(
                        events.map(|event| CompletedRequest::new(event.data, event.result)),
                    );
                    came += got as u64;
                }
                Err(_negative) if last_error() == Errno::INTR => {}
                Err(_negative) => return Err(last_error()),
            }
            if came >= u64::from(least) {
                return Ok(calls);
            }
        }
    }
}

impl Drop for Aio {
    fn drop(&mut self) {
        // SAFETY: the context is owned; the kernel waits for requests in flight before it returns.
        unsafe {
            libc::syscall(libc::SYS_io_destroy, self.context);
        }
    }
}

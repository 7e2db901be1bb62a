//! Asynchronous reads and writes: Linux AIO (`libaio`) and `io_uring`.
//!
//! Each request has a tag, and each tag has a buffer owned by the queue: the kernel accesses it
//! until the request completes, and the queue outlives all of its requests.
#![expect(unsafe_code, reason = "the kernel works in our buffers while we go on")]

mod aio;
mod uring;

use std::os::fd::BorrowedFd;
use std::sync::Arc;

use rustix::io::Errno;

use crate::{PageBuffer, RequestFlags};
use aio::Aio;
use uring::Uring;

/// Kernel interface of a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueueKind {
    /// `io_submit` and `io_getevents`.
    Aio,
    /// `io_uring_enter`.
    Uring,
}

/// Largest queue depth.
const QUEUE_DEPTH_MAX: u16 = 4096;

/// Read or write request.
#[derive(Clone, Copy, Debug)]
pub struct Transfer<'f> {
    /// File to read or write.
    pub file: BorrowedFd<'f>,
    /// True for a write.
    pub writes: bool,
    /// Length in bytes, within the tag's buffer.
    pub bytes: usize,
    /// Offset in the file.
    pub position: u64,
    /// Tag of the request; unique among the requests in flight.
    pub tag: u16,
    /// True for a write of the bytes at the start of the queue's source, not of the tag's buffer.
    pub from_source: bool,
}

/// Completed request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CompletedRequest {
    /// Tag of the request.
    pub tag: u16,
    /// Bytes transferred, or errno.
    pub result: Result<u32, Errno>,
}

impl CompletedRequest {
    /// Converts the kernel's result: a byte count, or a negative errno.
    fn new(tag: u64, result: i64) -> Self {
        let result = match u32::try_from(result) {
            Ok(bytes) => Ok(bytes),
            Err(_negative) => {
                let errno = i32::try_from(result.unsigned_abs()).unwrap_or(libc::EIO);
                Err(Errno::from_raw_os_error(errno))
            }
        };
        Self { tag: u16::try_from(tag).unwrap_or(u16::MAX), result }
    }
}

#[derive(Debug)]
enum QueueBackend {
    Aio(Aio),
    Uring(Box<Uring>),
}

/// Request as passed to the kernel.
#[derive(Clone, Copy, Debug)]
struct RawRequest {
    file: i32,
    writes: bool,
    address: *mut u8,
    bytes: u32,
    position: u64,
    tag: u16,
    /// `RWF_` flags; polling is a property of the whole ring.
    flags: u32,
}

/// Asynchronous request queue. Must be used by the thread that created it: other threads may get
/// `EEXIST`, and the buffers of requests in flight are then leaked to the kernel.
#[derive(Debug)]
pub struct RequestQueue {
    kernel: QueueBackend,
    /// `RWF_` flags of every request.
    flags: u32,
    buffers: Vec<PageBuffer>,
    /// Data of all writes that name no data of their own; the kernel only reads them.
    source: Option<Arc<PageBuffer>>,
    /// Flag per tag: its request is in flight.
    busy: Vec<bool>,
    under_way: u32,
    raw: Vec<RawRequest>,
    /// True after an error that leaves unknown requests in the ring.
    broken: bool,
}

// SAFETY: the addresses in `raw` are used within one call only; buffers and rings are owned by the
// queue.
unsafe impl Send for RequestQueue {}

impl RequestQueue {
    /// Creates a queue for up to `depth` requests in flight, whose buffers have this size from the
    /// start, with all their memory; larger buffers are made on demand. Its requests have these
    /// flags; AIO cannot poll.
    ///
    /// # Errors
    /// `EINVAL` for a depth of 0 or more than 4096, else as `io_setup` and `io_uring_setup`:
    /// `ENOSYS` or `EPERM` if the kernel or a sandbox denies it, `EAGAIN` if too many queues exist.
    pub fn new(
        kind: QueueKind,
        depth: u16,
        buffer_bytes: usize,
        flags: RequestFlags,
    ) -> Result<Self, Errno> {
        if depth == 0 || depth > QUEUE_DEPTH_MAX || flags.polled && kind == QueueKind::Aio {
            return Err(Errno::INVAL);
        }
        let kernel = match kind {
            QueueKind::Aio => QueueBackend::Aio(Aio::new(u32::from(depth))?),
            QueueKind::Uring => {
                QueueBackend::Uring(Box::new(Uring::new(u32::from(depth), flags.polled)?))
            }
        };
        let tags = usize::from(depth);
        Ok(Self {
            kernel,
            flags: RequestFlags { polled: false, ..flags }.of_call().bits(),
            // Zeros would have no memory before they are written.
            buffers: (0..tags).map(|_| PageBuffer::filled(u8::MAX, buffer_bytes)).collect(),
            source: None,
            busy: vec![false; tags],
            under_way: 0,
            raw: Vec::with_capacity(tags),
            broken: false,
        })
    }

    /// Sets the data of writes from the source.
    pub fn set_source(&mut self, source: Arc<PageBuffer>) {
        if self.under_way == 0 && !self.broken {
            self.source = Some(source);
        }
    }

    /// Buffer of a tag, with at least `bytes` bytes: holds the data of a write, or those of a
    /// completed read.
    ///
    /// # Errors
    /// `EINVAL` for an unknown tag, `EBUSY` while its request is in flight.
    pub fn buffer(&mut self, tag: u16, bytes: usize) -> Result<&mut [u8], Errno> {
        let number = usize::from(tag);
        if *self.busy.get(number).ok_or(Errno::INVAL)? {
            return Err(Errno::BUSY);
        }
        let buffer = &mut self.buffers[number];
        if buffer.len() < bytes {
            *buffer = PageBuffer::filled(0, bytes);
        }
        Ok(&mut buffer[..bytes])
    }

    /// Forgets a file that is about to be closed: a ring may hold it open. Requests by its
    /// descriptor would still go to this file otherwise.
    pub fn forget_file(&mut self, file: BorrowedFd<'_>) {
        use std::os::fd::AsRawFd;
        if let QueueBackend::Uring(uring) = &mut self.kernel {
            uring.forget_file(file.as_raw_fd());
        }
    }

    /// Submits requests; returns how many the kernel accepted, possibly fewer than given. After an
    /// error of a ring the queue accepts no more. Before a file is closed,
    /// [`RequestQueue::forget_file`] must be called.
    ///
    /// # Errors
    /// Errors in `transfers`, and `EINVAL` and `EBUSY` as in [`RequestQueue::buffer`], before any
    /// request is submitted; `EBUSY` also if two of them have the same tag; else as `io_submit` and
    /// `io_uring_enter`.
    pub fn submit<'f>(
        &mut self,
        transfers: impl IntoIterator<Item = Result<Transfer<'f>, Errno>>,
    ) -> Result<u32, Errno> {
        if self.broken {
            return Err(Errno::IO);
        }
        self.raw.clear();
        for transfer in transfers {
            if let Err(errno) = transfer.and_then(|transfer| self.prepare(&transfer)) {
                self.release(0);
                return Err(errno);
            }
        }
        let taken = match &mut self.kernel {
            // SAFETY: the descriptors are borrowed until this returns, when the kernel holds
            // references to the files; the buffers are owned by the queue, used by no other
            // request, and not accessed, moved or freed before the request completes, which `busy`
            // ensures.
            QueueBackend::Aio(aio) => unsafe { aio.submit(&self.raw) },
            // SAFETY: as above.
            QueueBackend::Uring(uring) => unsafe { uring.submit(&self.raw) },
        };
        self.broken = taken.is_err() && matches!(self.kernel, QueueBackend::Uring(_));
        // With a broken ring it is unknown which requests it accepted: their buffers stay busy.
        if !self.broken {
            self.release(taken.unwrap_or(0));
        }
        let taken = taken?;
        let taken = u32::try_from(taken).unwrap_or(u32::MAX);
        self.under_way += taken;
        Ok(taken)
    }

    /// Marks a transfer's buffer as busy and appends the request.
    fn prepare(&mut self, transfer: &Transfer<'_>) -> Result<(), Errno> {
        use std::os::fd::AsRawFd;
        let Transfer { file, writes, bytes, position, tag, from_source } = *transfer;
        let length = u32::try_from(bytes).map_err(|_too_many| Errno::INVAL)?;
        let address = if writes && from_source {
            self.buffer(tag, 0)?;
            let source = self.source.as_ref().and_then(|source| source.get(..bytes));
            // A write only reads from the address, and the source outlives it.
            source.ok_or(Errno::INVAL)?.as_ptr().cast_mut()
        } else {
            self.buffer(tag, bytes)?.as_mut_ptr()
        };
        self.busy[usize::from(tag)] = true;
        let (file, flags) = (file.as_raw_fd(), self.flags);
        self.raw.push(RawRequest { file, writes, address, bytes: length, position, tag, flags });
        Ok(())
    }

    /// Releases the buffers of prepared requests, except the first `taken`.
    fn release(&mut self, taken: usize) {
        for raw in self.raw.iter().skip(taken) {
            self.busy[usize::from(raw.tag)] = false;
        }
    }

    /// Waits for at least `least` completions, capped at the number in flight, and appends all to
    /// `ended`. Returns the number of system calls: 0 if the completions were already in the ring.
    ///
    /// # Errors
    /// As `io_getevents` and `io_uring_enter`.
    pub fn reap(&mut self, least: u32, ended: &mut Vec<CompletedRequest>) -> Result<u32, Errno> {
        let before = ended.len();
        let least = least.min(self.under_way);
        let calls = match &mut self.kernel {
            QueueBackend::Aio(aio) => aio.reap(least, ended),
            QueueBackend::Uring(uring) => uring.reap(least, ended),
        };
        for completion in &ended[before..] {
            self.under_way = self.under_way.saturating_sub(1);
            if let Some(busy) = self.busy.get_mut(usize::from(completion.tag)) {
                *busy = false;
            }
        }
        calls
    }

    /// Number of requests in flight.
    #[cfg(test)]
    pub(crate) fn under_way(&self) -> u32 {
        self.under_way
    }
}

impl Drop for RequestQueue {
    fn drop(&mut self) {
        // The kernel still accesses the buffers. If the completions cannot be awaited, the buffers
        // are leaked.
        let mut ended = Vec::new();
        while self.under_way > 0 && !self.broken {
            self.broken = self.reap(self.under_way, &mut ended).is_err();
        }
        if self.broken {
            std::mem::take(&mut self.buffers).into_iter().for_each(std::mem::forget);
            std::mem::forget(self.source.take());
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Seek, Write};
    use std::os::fd::AsFd;
    use std::sync::Arc;

    use rustix::io::Errno;

    use crate::PageBuffer;

    use super::{CompletedRequest, QueueKind, RequestFlags, RequestQueue, Transfer};

    const BLOCK: usize = 4096;

    /// Creates a queue, unless this kernel or sandbox denies it.
    fn queue(kind: QueueKind, depth: u16) -> Option<RequestQueue> {
        match RequestQueue::new(kind, depth, 0, RequestFlags::default()) {
            Ok(queue) => Some(queue),
            Err(errno) => {
                assert!(matches!(errno, Errno::NOSYS | Errno::PERM | Errno::ACCESS), "{errno}");
                None
            }
        }
    }

    fn submit(queue: &mut RequestQueue, transfers: &[Transfer<'_>]) -> Result<u32, Errno> {
        queue.submit(transfers.iter().copied().map(Ok))
    }

    fn all(queue: &mut RequestQueue) -> Vec<CompletedRequest> {
        let mut ended = Vec::new();
        while queue.under_way() > 0 {
            queue.reap(1, &mut ended).unwrap();
        }
        ended.sort_by_key(|completion| completion.tag);
        ended
    }

    #[test]
    fn written_bytes_are_read_back() {
        for kind in [QueueKind::Aio, QueueKind::Uring] {
            let Some(mut queue) = queue(kind, 8) else { continue };
            let mut file = tempfile::tempfile().unwrap();
            let twin = file.try_clone().unwrap();
            let transfer = |writes: bool, tag: u16| Transfer {
                file: twin.as_fd(),
                writes,
                bytes: BLOCK,
                position: u64::from(tag) * BLOCK as u64,
                tag,
                from_source: false,
            };
            for tag in 0..8 {
                queue.buffer(tag, BLOCK).unwrap().fill(b'a' + u8::try_from(tag).unwrap());
            }
            let writes: Vec<_> = (0..8).map(|tag| transfer(true, tag)).collect();
            assert_eq!(submit(&mut queue, &writes), Ok(8), "{kind:?}");
            let ended = all(&mut queue);
            assert_eq!(ended.len(), 8);
            assert!(
                ended.iter().all(|completion| completion.result == Ok(4096)),
                "{kind:?} {ended:?}"
            );
            let mut content = Vec::new();
            file.rewind().unwrap();
            file.read_to_end(&mut content).unwrap();
            assert_eq!(content.len(), 8 * BLOCK);
            assert!(
                content
                    .chunks(BLOCK)
                    .zip(b'a'..)
                    .all(|(block, with)| { block.iter().all(|byte| *byte == with) })
            );
            file.rewind().unwrap();
            file.write_all(&[b'z'; 2 * BLOCK]).unwrap();
            let reads = [transfer(false, 1), transfer(false, 7)];
            assert_eq!(submit(&mut queue, &reads), Ok(2));
            assert_eq!(queue.buffer(1, BLOCK).err(), Some(Errno::BUSY));
            assert_eq!(submit(&mut queue, &reads[..1]), Err(Errno::BUSY));
            assert_eq!(all(&mut queue).len(), 2);
            let larger = Transfer { bytes: 2 * BLOCK, ..reads[0] };
            assert_eq!(submit(&mut queue, &[reads[0], larger]), Err(Errno::BUSY));
            assert_eq!(submit(&mut queue, &reads[..1]), Ok(1), "it was given back");
            assert_eq!(all(&mut queue).len(), 1);
            assert_eq!(queue.buffer(1, BLOCK).unwrap()[0], b'z');
            assert_eq!(queue.buffer(7, BLOCK).unwrap()[0], b'h');
        }
    }

    #[test]
    fn failed_requests_report_their_tags() {
        for kind in [QueueKind::Aio, QueueKind::Uring] {
            let Some(mut queue) = queue(kind, 2) else { continue };
            let read_only = std::fs::File::open("/dev/null").unwrap();
            let write = Transfer {
                file: read_only.as_fd(),
                writes: true,
                bytes: BLOCK,
                position: 0,
                tag: 1,
                from_source: false,
            };
            match submit(&mut queue, &[write]) {
                // Linux AIO looks at the file when it is given.
                Err(errno) => assert_eq!((kind, errno), (QueueKind::Aio, Errno::BADF)),
                Ok(1) => {
                    let expected = [CompletedRequest { tag: 1, result: Err(Errno::BADF) }];
                    assert_eq!(all(&mut queue), expected, "{kind:?}");
                }
                Ok(odd) => panic!("{odd} taken"),
            }
            let beyond = Transfer { tag: 2, ..write };
            assert_eq!(submit(&mut queue, &[beyond]), Err(Errno::INVAL));
            assert_eq!(queue.reap(5, &mut Vec::new()).map(|_calls| ()), Ok(()));
        }
    }

    #[test]
    fn writes_from_the_source_share_its_bytes_and_need_no_buffer() {
        for kind in [QueueKind::Aio, QueueKind::Uring] {
            let Some(mut queue) = queue(kind, 3) else { continue };
            let mut file = tempfile::tempfile().unwrap();
            let twin = file.try_clone().unwrap();
            let write = |tag: u16| Transfer {
                file: twin.as_fd(),
                writes: true,
                bytes: BLOCK,
                position: u64::from(tag) * BLOCK as u64,
                tag,
                from_source: true,
            };
            assert_eq!(submit(&mut queue, &[write(0)]), Err(Errno::INVAL), "it has no source");
            queue.set_source(Arc::new(PageBuffer::filled(b's', BLOCK)));
            let beyond = Transfer { bytes: BLOCK + 1, ..write(0) };
            assert_eq!(submit(&mut queue, &[beyond]), Err(Errno::INVAL));
            assert_eq!(submit(&mut queue, &[write(0), write(1), write(2)]), Ok(3), "{kind:?}");
            assert!(all(&mut queue).iter().all(|ended| ended.result == Ok(4096)));
            let mut content = Vec::new();
            file.rewind().unwrap();
            file.read_to_end(&mut content).unwrap();
            assert_eq!(content, vec![b's'; 3 * BLOCK]);
        }
    }

    #[test]
    fn a_reused_descriptor_reads_its_new_file_once_the_old_one_is_forgotten() {
        for kind in [QueueKind::Aio, QueueKind::Uring] {
            let Some(mut queue) = queue(kind, 1) else { continue };
            let dir = tempfile::tempdir().unwrap();
            for content in [b'1', b'2', b'3'] {
                std::fs::write(dir.path().join("file"), [content; BLOCK]).unwrap();
                // The lowest free number is that of the file closed before.
                let file = std::fs::File::open(dir.path().join("file")).unwrap();
                std::fs::remove_file(dir.path().join("file")).unwrap();
                let read = Transfer {
                    file: file.as_fd(),
                    writes: false,
                    bytes: BLOCK,
                    position: 0,
                    tag: 0,
                    from_source: false,
                };
                for _ in 0..100 {
                    assert_eq!(submit(&mut queue, &[read]), Ok(1));
                    assert_eq!(all(&mut queue)[0].result, Ok(4096));
                    assert_eq!(queue.buffer(0, BLOCK).unwrap()[7], content, "{kind:?}");
                }
                queue.forget_file(file.as_fd());
            }
        }
    }

    #[test]
    fn queues_can_be_dropped_with_requests_in_flight() {
        for kind in [QueueKind::Aio, QueueKind::Uring] {
            let Some(mut queue) = queue(kind, 4) else { continue };
            let file = tempfile::tempfile().unwrap();
            let write = |tag| Transfer {
                file: file.as_fd(),
                writes: true,
                bytes: 1 << 20,
                position: 0,
                tag,
                from_source: false,
            };
            assert_eq!(submit(&mut queue, &[write(0), write(1), write(2)]), Ok(3));
            drop(queue);
        }
        let made = |depth, polled| {
            let flags = RequestFlags { polled, ..RequestFlags::default() };
            RequestQueue::new(QueueKind::Aio, depth, 0, flags)
        };
        assert!(made(0, false).is_err() && made(8, true).is_err());
    }
}

//! Asynchronous requests of a task, in flight while its script goes on.

use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;

use treering_script::{AsyncRequest, Buffers, Completion, IoQueue, QueueKind};
use treering_sys::{
    CompletedRequest, Errno, PageBuffer, QueueKind as Kind, RequestQueue, Transfer,
};

use crate::{LARGEST_CALL_BYTES, Payload};

/// Source of written data.
pub(crate) struct WriteSource<'s> {
    pub(crate) payload: &'s mut Payload,
    pub(crate) buffers: Option<&'s Buffers>,
}

/// Request queue of the task, if it has one, and its completions.
#[derive(Debug, Default)]
pub(crate) struct TaskRequests {
    queue: Option<RequestQueue>,
    ended: Vec<CompletedRequest>,
    completions: Vec<Completion>,
}

impl TaskRequests {
    /// Opens the queue of a task, or none. Its buffers have their memory at once, so that no page
    /// fault falls into the task; writes of `constant` data need none.
    pub(crate) fn open(
        queue: Option<IoQueue>,
        constant: Option<Arc<PageBuffer>>,
    ) -> Result<Self, Errno> {
        let make = |IoQueue { kind, depth, read_bytes, write_bytes, flags }| {
            let write_bytes = if constant.is_some() { 0 } else { write_bytes };
            let bytes = usize::try_from(read_bytes.max(write_bytes)).unwrap_or(usize::MAX);
            let kind = match kind {
                QueueKind::Libaio => Kind::Aio,
                QueueKind::IoUring => Kind::Uring,
            };
            let mut queue = RequestQueue::new(kind, depth, bytes, flags)?;
            constant.into_iter().for_each(|source| queue.set_source(source));
            Ok(queue)
        };
        let queue = queue.map(make).transpose()?;
        Ok(Self { queue, ..Self::default() })
    }

    /// Submits requests to the kernel; returns how many were accepted.
    pub(crate) fn submit(
        &mut self,
        requests: &[AsyncRequest],
        files: &[Option<OwnedFd>],
        source: WriteSource<'_>,
    ) -> Result<u32, Errno> {
        let queue = self.queue.as_mut().ok_or(Errno::BADF)?;
        let WriteSource { payload, buffers } = source;
        let length = |bytes: u32| {
            let bytes = usize::try_from(bytes).ok();
            let most = if buffers.is_some() { usize::MAX } else { LARGEST_CALL_BYTES };
            bytes.filter(|bytes| *bytes <= most).ok_or(Errno::INVAL)
        };
        let from_source = buffers.is_none() && payload.constant().is_some();
        for request in requests.iter().filter(|request| request.writes && !from_source) {
            let bytes = length(request.bytes)?;
            let buffer = queue.buffer(request.tag, bytes)?;
            if let Some(buffers) = buffers {
                buffer.copy_from_slice(buffers.open().get(request.tag, bytes));
                continue;
            }
            let (head, tail) = payload.take(request.position, bytes);
            buffer[..head.len()].copy_from_slice(head);
            buffer[head.len()..].copy_from_slice(tail);
        }
        queue.submit(requests.iter().map(|request| {
            let AsyncRequest { file, writes, bytes, position, tag } = *request;
            let slot = files.get(usize::from(file.0)).and_then(Option::as_ref);
            let file = slot.ok_or(Errno::BADF)?.as_fd();
            Ok(Transfer { file, writes, bytes: length(bytes)?, position, tag, from_source })
        }))
    }

    /// Waits for at least `least` completions; returns the number of system calls.
    pub(crate) fn reap(&mut self, least: u16, buffers: Option<&Buffers>) -> Result<u32, Errno> {
        self.ended.clear();
        let queue = self.queue.as_mut().ok_or(Errno::BADF)?;
        let calls = queue.reap(u32::from(least), &mut self.ended)?;
        if let Some(buffers) = buffers {
            let mut buffers = buffers.open();
            for completion in &self.ended {
                let bytes = usize::try_from(completion.result.unwrap_or(0)).unwrap_or(0);
                let came = queue.buffer(completion.tag, bytes)?;
                buffers.get(completion.tag, bytes).copy_from_slice(came);
            }
        }
        self.completions.clear();
        self.completions.extend(self.ended.iter().map(|completion| Completion {
            tag: completion.tag,
            result: completion.result.map_err(Errno::raw_os_error),
        }));
        Ok(calls)
    }

    /// Forgets a file that is about to be closed.
    pub(crate) fn forget_file(&mut self, file: &OwnedFd) {
        self.queue.iter_mut().for_each(|queue| queue.forget_file(file.as_fd()));
    }

    /// Completions of the last reap.
    pub(crate) fn reaped(&self) -> &[Completion] {
        &self.completions
    }
}

//! Buffers shared by a script and the engine, for scripts that determine each written byte or
//! examine the data they read. They replace the payload.
//!
//! Buffers are numbered by the tags of requests; calls without a tag use number 0.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use treering_sys::PageBuffer;

/// Buffers by number.
#[derive(Clone, Debug, Default)]
pub struct Buffers {
    buffers: Arc<Mutex<Vec<PageBuffer>>>,
}

/// Guard that gives access to the buffers of a task.
#[derive(Debug)]
pub struct OpenBuffers<'b>(MutexGuard<'b, Vec<PageBuffer>>);

impl Buffers {
    /// Locks the buffers. A script may hold the lock only between its steps; the engine holds it
    /// during a step.
    pub fn open(&self) -> OpenBuffers<'_> {
        OpenBuffers(self.buffers.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl OpenBuffers<'_> {
    /// Beginning of a buffer, which is page-aligned and grows on demand.
    pub fn get(&mut self, number: u16, bytes: usize) -> &mut [u8] {
        let number = usize::from(number);
        if self.0.len() <= number {
            self.0.resize_with(number + 1, || PageBuffer::filled(0, 0));
        }
        let buffer = &mut self.0[number];
        if buffer.len() < bytes {
            let mut larger = PageBuffer::filled(0, bytes);
            larger[..buffer.len()].copy_from_slice(buffer);
            *buffer = larger;
        }
        &mut buffer[..bytes]
    }
}

#[cfg(test)]
mod tests {
    use super::Buffers;

    #[test]
    fn growing_buffers_keep_their_content() {
        let script = Buffers::default();
        let engine = script.clone();
        script.open().get(3, 4).copy_from_slice(b"abcd");
        assert_eq!(engine.open().get(3, 6), b"abcd\0\0");
        assert_eq!(engine.open().get(0, 1), [0]);
    }
}

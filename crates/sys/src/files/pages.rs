//! Page-aligned memory, as required by `O_DIRECT`.

use std::ops::{Deref, DerefMut};

/// Alignment sufficient for every filesystem and device, in bytes.
const PAGE_BYTES: usize = 4096;

/// Buffer that begins at a page boundary.
#[derive(Debug)]
pub struct PageBuffer {
    bytes: Vec<u8>,
    start: usize,
    length: usize,
}

impl PageBuffer {
    /// Allocates `length` bytes of this value. Zeros occupy no memory until they are written.
    pub fn filled(value: u8, length: usize) -> Self {
        let bytes = vec![value; length + PAGE_BYTES];
        let start = bytes.as_ptr().align_offset(PAGE_BYTES);
        // If the address cannot be aligned, which does not happen in practice, the buffer stays
        // unaligned.
        let start = if start < PAGE_BYTES { start } else { 0 };
        Self { bytes, start, length }
    }
}

impl Clone for PageBuffer {
    fn clone(&self) -> Self {
        let mut copy = Self::filled(0, self.length);
        copy.copy_from_slice(self);
        copy
    }
}

impl Deref for PageBuffer {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        &self.bytes[self.start..self.start + self.length]
    }
}

impl DerefMut for PageBuffer {
    #[inline]
    fn deref_mut(&mut self) -> &mut [u8] {
        &mut self.bytes[self.start..self.start + self.length]
    }
}

#[cfg(test)]
mod tests {
    use super::{PAGE_BYTES, PageBuffer};

    #[test]
    fn clones_are_page_aligned() {
        let mut pages = PageBuffer::filled(7, 10_000);
        pages[9_999] = 8;
        let copy = pages.clone();
        for pages in [&pages, &copy] {
            assert_eq!(pages.as_ptr().align_offset(PAGE_BYTES), 0);
            assert_eq!((pages.len(), pages[0], pages[9_999]), (10_000, 7, 8));
        }
    }
}

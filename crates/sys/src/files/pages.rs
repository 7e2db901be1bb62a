//! Page-aligned memory, as required by `O_DIRECT`.

use std::ops::{Deref, DerefMut};

use memmap2::MmapMut;

/// Buffer that begins at a page boundary. It is a mapping of its own: no page of it is touched
/// before it is used, so that a fork copies nothing of it.
#[derive(Debug)]
pub struct PageBuffer {
    /// `None` for an empty buffer.
    pages: Option<MmapMut>,
}

impl PageBuffer {
    /// Allocates `length` bytes of this value. Zeros occupy no memory until they are written.
    ///
    /// # Panics
    /// When the process may not have as much memory.
    pub fn filled(value: u8, length: usize) -> Self {
        if length == 0 {
            return Self { pages: None };
        }
        let mut pages = MmapMut::map_anon(length).expect("pages of memory");
        if value != 0 {
            pages.fill(value);
        }
        Self { pages: Some(pages) }
    }
}

impl Clone for PageBuffer {
    fn clone(&self) -> Self {
        let mut copy = Self::filled(0, self.len());
        copy.copy_from_slice(self);
        copy
    }
}

impl Deref for PageBuffer {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        self.pages.as_deref().unwrap_or_default()
    }
}

impl DerefMut for PageBuffer {
    #[inline]
    fn deref_mut(&mut self) -> &mut [u8] {
        self.pages.as_deref_mut().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::PageBuffer;

    const PAGE_BYTES: usize = 4096;

    #[test]
    fn clones_are_page_aligned() {
        let mut pages = PageBuffer::filled(7, 10_000);
        pages[9_999] = 8;
        let copy = pages.clone();
        for pages in [&pages, &copy] {
            assert_eq!(pages.as_ptr().align_offset(PAGE_BYTES), 0);
            assert_eq!((pages.len(), pages[0], pages[9_999]), (10_000, 7, 8));
        }
        assert!(PageBuffer::filled(7, 0).clone().is_empty());
    }
}

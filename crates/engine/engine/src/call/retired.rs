//! Mappings of closed files, which are removed when the task has ended: fio never removes one
//! before its process ends, so that the time of a pass holds no page that is unmapped.

use std::sync::atomic::{AtomicUsize, Ordering};

use treering_sys::FileMapping;

/// Most bytes of such mappings in the process; their page tables take a five-hundredth of that.
const BYTES_MAX: usize = 16 << 30;
/// Most such mappings in the process, far below the 65,530 that the kernel allows it.
const MAPPINGS_MAX: usize = 16_384;

/// Bytes and number of the retired mappings of all threads.
static BYTES: AtomicUsize = AtomicUsize::new(0);
static MAPPINGS: AtomicUsize = AtomicUsize::new(0);

/// Mappings of one thread that nothing uses any more.
#[derive(Debug, Default)]
pub(super) struct RetiredMappings {
    mappings: Vec<FileMapping>,
    bytes: usize,
}

impl Drop for RetiredMappings {
    fn drop(&mut self) {
        self.clear();
    }
}

impl RetiredMappings {
    /// Keeps a mapping for later; removes those of this thread when all are too many.
    pub(super) fn add(&mut self, mapping: Option<FileMapping>) {
        let Some(mapping) = mapping else { return };
        let length = mapping.length();
        self.bytes += length;
        self.mappings.push(mapping);
        let bytes = BYTES.fetch_add(length, Ordering::Relaxed) + length;
        let mappings = MAPPINGS.fetch_add(1, Ordering::Relaxed) + 1;
        if bytes > BYTES_MAX || mappings > MAPPINGS_MAX {
            self.clear();
        }
    }

    /// Removes them.
    pub(super) fn clear(&mut self) {
        BYTES.fetch_sub(self.bytes, Ordering::Relaxed);
        MAPPINGS.fetch_sub(self.mappings.len(), Ordering::Relaxed);
        self.mappings.clear();
        self.bytes = 0;
    }
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsFd;

    use treering_sys::FileMapping;

    use super::{MAPPINGS_MAX, RetiredMappings};

    #[test]
    fn retired_mappings_of_all_threads_are_removed_before_they_are_too_many() {
        let file = tempfile::tempfile().unwrap();
        file.set_len(4096).unwrap();
        let (mut one, mut other) = (RetiredMappings::default(), RetiredMappings::default());
        one.add(None);
        for place in 0..MAPPINGS_MAX {
            let mapping = FileMapping::new(file.as_fd(), 4096, false).unwrap();
            if place % 2 == 0 { one.add(Some(mapping)) } else { other.add(Some(mapping)) }
        }
        let half = MAPPINGS_MAX / 2;
        // Other tests of this process may retire some, too.
        assert!(one.mappings.len() <= half && other.mappings.len() <= half);
        assert_eq!(one.bytes, one.mappings.len() * 4096);
        one.add(Some(FileMapping::new(file.as_fd(), 4096, false).unwrap()));
        assert_eq!((one.mappings.len(), one.bytes), (0, 0));
        drop(other);
    }
}

//! Mappings of closed files, which are removed when the task has ended: fio never removes one
//! before its process ends, so that the time of a pass holds no page that is unmapped.

use treering_sys::FileMapping;

/// Most bytes of such mappings; their page tables take a five-hundredth of that.
const BYTES_MAX: usize = 16 << 30;
/// Most such mappings, far below what the kernel allows a process.
const MAPPINGS_MAX: usize = 4096;

/// Mappings that nothing uses any more.
#[derive(Debug, Default)]
pub(super) struct RetiredMappings {
    mappings: Vec<FileMapping>,
    bytes: usize,
}

impl RetiredMappings {
    /// Keeps a mapping for later; removes all when they are too many.
    pub(super) fn add(&mut self, mapping: Option<FileMapping>) {
        let Some(mapping) = mapping else { return };
        self.bytes = self.bytes.saturating_add(mapping.length());
        self.mappings.push(mapping);
        if self.bytes > BYTES_MAX || self.mappings.len() > MAPPINGS_MAX {
            self.clear();
        }
    }

    /// Removes them.
    pub(super) fn clear(&mut self) {
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
    fn retired_mappings_are_removed_before_they_are_too_many() {
        let file = tempfile::tempfile().unwrap();
        file.set_len(4096).unwrap();
        let mut retired = RetiredMappings::default();
        retired.add(None);
        for _ in 0..MAPPINGS_MAX {
            retired.add(Some(FileMapping::new(file.as_fd(), 4096, false).unwrap()));
        }
        assert_eq!((retired.mappings.len(), retired.bytes), (MAPPINGS_MAX, MAPPINGS_MAX * 4096));
        retired.add(Some(FileMapping::new(file.as_fd(), 4096, false).unwrap()));
        assert_eq!((retired.mappings.len(), retired.bytes), (0, 0));
    }
}

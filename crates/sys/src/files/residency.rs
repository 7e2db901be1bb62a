//! Page cache residency of a file (`mincore`), to verify that caches were dropped.
#![expect(unsafe_code, reason = "mincore needs a mapping, and rustix has no mincore")]

use std::os::fd::AsFd;
use std::ptr;

use rustix::io::Errno;
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};
use rustix::param::page_size;

/// Cached share of a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PageResidency {
    /// Cached pages.
    pub resident_pages: u64,
    /// Examined pages.
    pub pages: u64,
}

/// Counts the cached pages among the first bytes of a file, without reading it. The kernel is
/// accurate only for files that the caller owns or may write to; of others it reports every page as
/// cached.
///
/// # Errors
/// As `mmap` and `mincore`; `EINVAL` for a length of 0.
pub fn residency(file: impl AsFd, bytes: usize) -> Result<PageResidency, Errno> {
    let pages = bytes.div_ceil(page_size());
    let mut present = vec![0u8; pages];
    // SAFETY: a new mapping at an address chosen by the kernel, never read or written.
    let place =
        unsafe { mmap(ptr::null_mut(), bytes, ProtFlags::empty(), MapFlags::SHARED, file, 0)? };
    // SAFETY: the mapping has this length, and the vector has one byte per page.
    let status = unsafe { libc::mincore(place, bytes, present.as_mut_ptr()) };
    let failed = std::io::Error::last_os_error();
    // SAFETY: the mapping was created above with this length and is not used afterwards.
    unsafe { munmap(place, bytes)? };
    if status != 0 {
        return Err(Errno::from_io_error(&failed).unwrap_or(Errno::IO));
    }
    let resident = present.iter().filter(|page| **page & 1 == 1).count();
    Ok(PageResidency { resident_pages: resident as u64, pages: pages as u64 })
}

#[cfg(test)]
mod tests {
    use super::{PageResidency, residency};
    use rustix::io::Errno;
    use std::io::Write;

    #[test]
    fn freshly_written_pages_are_cached() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(&vec![1; 100_000]).unwrap();
        let residency_now = residency(file.as_file(), 100_000).unwrap();
        assert!(
            residency_now.pages > 1 && residency_now.resident_pages == residency_now.pages,
            "{residency_now:?}"
        );
        assert_eq!(residency(file.as_file(), 0), Err(Errno::INVAL));
        assert_ne!(residency_now, PageResidency::default());
    }
}

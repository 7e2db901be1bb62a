//! Discarding the free space of a mounted filesystem (`FITRIM`), as fstrim does.
#![expect(unsafe_code, reason = "an ioctl that rustix has no function for")]

use std::os::fd::AsFd;

use rustix::io::{Errno, retry_on_intr};
use rustix::ioctl::{Updater, ioctl, opcode};

const FITRIM: u32 = opcode::read_write::<TrimRange>(b'X', 121);

/// `struct fstrim_range` of linux/fs.h.
#[repr(C)]
#[derive(Clone, Copy)]
struct TrimRange {
    start: u64,
    length: u64,
    shortest: u64,
}

/// Discards the free space in the first `bytes` of the filesystem of an open file. What filesystems
/// report as discarded differs, and is left out: XFS reports the length of the range.
///
/// # Errors
/// `EOPNOTSUPP` if the filesystem or its device cannot, `EPERM` without root.
pub fn trim(filesystem: impl AsFd, bytes: u64) -> Result<(), Errno> {
    let mut range = TrimRange { start: 0, length: bytes, shortest: 0 };
    // SAFETY: the call reads and writes one `fstrim_range`, which has the layout of `TrimRange`.
    retry_on_intr(|| unsafe {
        ioctl(filesystem.as_fd(), Updater::<FITRIM, TrimRange>::new(&mut range))
    })
}

#[cfg(test)]
mod tests {
    use super::trim;
    use std::fs::File;

    #[test]
    fn the_call_has_the_number_of_the_kernel() {
        assert_eq!(super::FITRIM, 0xc018_5879);
    }

    #[test]
    fn proc_has_no_free_space_to_discard() {
        assert!(trim(File::open("/proc").unwrap(), 1 << 20).is_err());
    }
}

//! What every block of a filesystem is used for (`FS_IOC_GETFSMAP`): ext4 and xfs, asked page by
//! page. No privilege is needed to learn what is free; who owns the rest is told to root only.
#![expect(unsafe_code, reason = "an ioctl that rustix has no function for")]

use std::os::fd::AsFd;

use rustix::io::{Errno, retry_on_intr};
use rustix::ioctl::{Updater, ioctl, opcode};

/// Records asked for at a time: 256 KiB.
const PAGE: usize = 4096;

const GETFSMAP: u32 = opcode::read_write::<Head>(b'X', 59);

/// `struct fsmap` of linux/fsmap.h.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Raw {
    device: u32,
    flags: u32,
    physical: u64,
    owner: u64,
    offset: u64,
    length: u64,
    reserved: [u64; 3],
}

/// `struct fsmap_head`, without its array.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Head {
    input_flags: u32,
    output_flags: u32,
    room: u32,
    entries: u32,
    reserved: [u64; 6],
    /// From the first to the last record wanted.
    keys: [Raw; 2],
}

#[repr(C)]
struct Page {
    head: Head,
    records: [Raw; PAGE],
}

const SPECIAL_OWNER: u32 = 0x10;
const LAST: u32 = 0x20;
/// `FMR_OWN_FREE`.
const OWNER_FREE: u64 = 1;

/// A run of blocks with one use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SpaceRecord {
    /// Which of the filesystem's devices, by a number of the kernel; only good to compare.
    pub device: u32,
    /// Where it begins on the device, in bytes.
    pub physical: u64,
    /// Bytes.
    pub length: u64,
    /// Whether nothing uses it.
    pub is_free: bool,
}

/// Hands the use of every block to `each`, in the order of the devices: how many calls it took.
///
/// # Errors
/// `ENOTTY` or `EOPNOTSUPP` when the filesystem does not tell.
pub fn space_map(filesystem: impl AsFd, mut each: impl FnMut(&SpaceRecord)) -> Result<u32, Errno> {
    let mut page: Box<Page> = empty_page();
    // The high key is all ones but for the length and what is reserved: else it is refused.
    let highest = Raw {
        device: u32::MAX,
        flags: u32::MAX,
        physical: u64::MAX,
        owner: u64::MAX,
        offset: u64::MAX,
        ..Raw::default()
    };
    let (mut low, mut calls) = (Raw::default(), 0);
    loop {
        let room = u32::try_from(PAGE).unwrap_or(u32::MAX);
        page.head = Head { room, keys: [low, highest], ..Head::default() };
        // SAFETY: the call reads the head and writes it and at most as many records as there is
        // room for.
        retry_on_intr(|| unsafe {
            ioctl(filesystem.as_fd(), Updater::<GETFSMAP, Page>::new(&mut page))
        })?;
        calls += 1;
        let entries = usize::try_from(page.head.entries).unwrap_or(usize::MAX).min(PAGE);
        let records = &page.records[..entries];
        for raw in records {
            each(&SpaceRecord {
                device: raw.device,
                physical: raw.physical,
                length: raw.length,
                is_free: raw.flags & SPECIAL_OWNER != 0 && raw.owner == OWNER_FREE,
            });
        }
        let Some(&last) = records.last() else { return Ok(calls) };
        let gets_on = (last.device, last.physical) > (low.device, low.physical) || calls == 1;
        if last.flags & LAST != 0 || !gets_on {
            return Ok(calls);
        }
        // With its length in the low key, the kernel goes on behind it.
        low = last;
    }
}

/// On the heap from the start: it is large.
fn empty_page() -> Box<Page> {
    let mut page = Box::<Page>::new_uninit();
    // SAFETY: numbers only, for which zeroes are values.
    unsafe {
        page.as_mut_ptr().write_bytes(0, 1);
        page.assume_init()
    }
}

#[cfg(test)]
mod tests {
    use super::{Head, Page, Raw, space_map};
    use std::fs::File;

    #[test]
    fn the_structures_have_the_sizes_of_the_kernel() {
        assert_eq!((size_of::<Head>(), size_of::<Raw>()), (192, 64));
        assert_eq!(std::mem::offset_of!(Page, records), 192);
        assert_eq!(super::GETFSMAP, 0xc0c0_583b);
    }

    #[test]
    fn proc_has_no_blocks() {
        assert!(space_map(File::open("/proc").unwrap(), |_| ()).is_err());
    }
}

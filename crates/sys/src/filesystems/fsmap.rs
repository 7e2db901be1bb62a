//! Reverse block map of ext4 and XFS (`FS_IOC_GETFSMAP`), queried in pages. Free space is reported
//! without privilege, owners to root only.
#![expect(unsafe_code, reason = "an ioctl that rustix has no function for")]

use std::os::fd::AsFd;

use rustix::io::{Errno, retry_on_intr};
use rustix::ioctl::{Updater, ioctl, opcode};

/// Records per call: 256 KiB.
const PAGE: usize = 4096;

const GETFSMAP: u32 = opcode::read_write::<FsmapHeader>(b'X', 59);

/// `struct fsmap` of linux/fsmap.h.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct FsmapRecord {
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
struct FsmapHeader {
    input_flags: u32,
    output_flags: u32,
    room: u32,
    entries: u32,
    reserved: [u64; 6],
    /// First and last record of the query.
    keys: [FsmapRecord; 2],
}

#[repr(C)]
struct FsmapPage {
    head: FsmapHeader,
    records: [FsmapRecord; PAGE],
}

const SPECIAL_OWNER: u32 = 0x10;
const LAST: u32 = 0x20;
/// `FMR_OWN_FREE`.
const OWNER_FREE: u64 = 1;

/// Run of blocks with the same owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SpaceRecord {
    /// Device within the filesystem, as an opaque number for comparison.
    pub device: u32,
    /// Address on the device, in bytes.
    pub physical: u64,
    /// Length in bytes.
    pub length: u64,
    /// True for free space.
    pub is_free: bool,
}

/// Calls `each` with every record, in device order; returns the number of calls.
///
/// # Errors
/// `ENOTTY` or `EOPNOTSUPP` if the filesystem does not support it.
pub fn space_map(filesystem: impl AsFd, mut each: impl FnMut(&SpaceRecord)) -> Result<u32, Errno> {
    let mut page: Box<FsmapPage> = empty_page();
    // All fields of the high key are ones, except length and reserved ones, which must be 0.
    let highest = FsmapRecord {
        device: u32::MAX,
        flags: u32::MAX,
        physical: u64::MAX,
        owner: u64::MAX,
        offset: u64::MAX,
        ..FsmapRecord::default()
    };
    let (mut low, mut calls) = (FsmapRecord::default(), 0);
    loop {
        let room = u32::try_from(PAGE).unwrap_or(u32::MAX);
        page.head = FsmapHeader { room, keys: [low, highest], ..FsmapHeader::default() };
        // SAFETY: the call reads and writes the head, and at most as many records as the head
        // allows.
        retry_on_intr(|| unsafe {
            ioctl(filesystem.as_fd(), Updater::<GETFSMAP, FsmapPage>::new(&mut page))
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
        // A low key with a length makes the kernel continue behind that record.
        low = last;
    }
}

/// Allocates the page on the heap directly, as it is too large for the stack.
fn empty_page() -> Box<FsmapPage> {
    let mut page = Box::<FsmapPage>::new_uninit();
    // SAFETY: integers only, for which zero is valid.
    unsafe {
        page.as_mut_ptr().write_bytes(0, 1);
        page.assume_init()
    }
}

#[cfg(test)]
mod tests {
    use super::{FsmapHeader, FsmapPage, FsmapRecord, space_map};
    use std::fs::File;

    #[test]
    fn the_structures_have_the_sizes_of_the_kernel() {
        assert_eq!((size_of::<FsmapHeader>(), size_of::<FsmapRecord>()), (192, 64));
        assert_eq!(std::mem::offset_of!(FsmapPage, records), 192);
        assert_eq!(super::GETFSMAP, 0xc0c0_583b);
    }

    #[test]
    fn proc_has_no_blocks() {
        assert!(space_map(File::open("/proc").unwrap(), |_| ()).is_err());
    }
}

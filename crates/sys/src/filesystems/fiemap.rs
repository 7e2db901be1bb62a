//! Extent map of a file (`FS_IOC_FIEMAP`), queried in pages. Requires no privilege.
//!
//! The meaning of an address depends on the filesystem: an offset on the device, or on btrfs in its
//! logical address space. Dirty data is not written back first: see [`crate::sync_filesystem`].
#![expect(unsafe_code, reason = "an ioctl that rustix has no function for")]

use std::fmt;
use std::os::fd::AsFd;

use rustix::io::{Errno, retry_on_intr};
use rustix::ioctl::{Updater, ioctl, opcode};

/// Extents per call; few files have more.
const PAGE: usize = 128;

const FIEMAP: u32 = opcode::read_write::<FiemapHeader>(b'f', 11);

/// `struct fiemap` of linux/fiemap.h, without its array.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct FiemapHeader {
    start: u64,
    length: u64,
    flags: u32,
    mapped: u32,
    room: u32,
    reserved: u32,
}

/// `struct fiemap_extent`.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct FiemapExtent {
    logical: u64,
    physical: u64,
    length: u64,
    reserved: [u64; 2],
    flags: u32,
    reserved_more: [u32; 3],
}

#[repr(C)]
struct FiemapPage {
    head: FiemapHeader,
    extents: [FiemapExtent; PAGE],
}

const LAST: u32 = 0x1;
const UNKNOWN: u32 = 0x2;
const DELAYED: u32 = 0x4;
const ENCODED: u32 = 0x8;
const INLINE: u32 = 0x200;
const TAIL: u32 = 0x400;
const UNWRITTEN: u32 = 0x800;
const SHARED: u32 = 0x2000;

/// Flag names of filefrag.
const NAMES: [(u32, &str); 11] = [
    (LAST, "last"),
    (UNKNOWN, "unknown_loc"),
    (DELAYED, "delalloc"),
    (ENCODED, "encoded"),
    (0x80, "encrypted"),
    (0x100, "not_aligned"),
    (INLINE, "inline"),
    (TAIL, "tail_packed"),
    (UNWRITTEN, "unwritten"),
    (0x1000, "merged"),
    (SHARED, "shared"),
];

/// Contiguous extent of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileExtent {
    /// Offset in the file, in bytes.
    pub logical: u64,
    /// Address on the device, in bytes; undefined unless [`FileExtent::is_placed`].
    pub physical: u64,
    /// Length in the file, in bytes; a compressed extent occupies less on the device.
    pub length: u64,
    /// Flags of linux/fiemap.h.
    flags: u32,
}

impl FileExtent {
    /// Builds an extent from the kernel's values.
    pub const fn new(logical: u64, physical: u64, length: u64, flags: u32) -> Self {
        Self { logical, physical, length, flags }
    }

    /// Reports whether the extent has its own blocks at a known address.
    pub const fn is_placed(&self) -> bool {
        self.flags & (UNKNOWN | DELAYED | INLINE | TAIL) == 0
    }

    /// Reports whether the data is stored in the metadata, without blocks of its own.
    pub const fn is_inline(&self) -> bool {
        self.flags & (INLINE | TAIL) != 0
    }

    /// Reports whether the blocks were never written: reads return zeros without I/O.
    pub const fn is_unwritten(&self) -> bool {
        self.flags & UNWRITTEN != 0
    }

    /// Reports whether other files, or other ranges of this one, share the blocks.
    pub const fn is_shared(&self) -> bool {
        self.flags & SHARED != 0
    }

    /// Reports whether the extent is compressed or encrypted.
    pub const fn is_encoded(&self) -> bool {
        self.flags & ENCODED != 0
    }

    /// Flag names of filefrag.
    pub fn flag_names(&self) -> Vec<&'static str> {
        let set = NAMES.iter().filter(|(flag, _)| self.flags & flag != 0);
        set.map(|&(_, name)| name).collect()
    }

    /// Address behind the last byte; undefined for encoded extents.
    pub const fn end(&self) -> u64 {
        self.physical.saturating_add(self.length)
    }
}

/// Buffer for the extents of one call.
pub struct ExtentBuffer {
    page: Box<FiemapPage>,
}

impl fmt::Debug for ExtentBuffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ExtentBuffer").finish_non_exhaustive()
    }
}

impl Default for ExtentBuffer {
    fn default() -> Self {
        let page =
            FiemapPage { head: FiemapHeader::default(), extents: [FiemapExtent::default(); PAGE] };
        Self { page: Box::new(page) }
    }
}

/// Calls `each` with every extent of a file in file order; returns the number of calls. Holes have
/// no extent.
///
/// # Errors
/// `EOPNOTSUPP` if the filesystem does not support it.
pub fn file_extents(
    file: impl AsFd,
    buffer: &mut ExtentBuffer,
    mut each: impl FnMut(&FileExtent),
) -> Result<u32, Errno> {
    let page = &mut *buffer.page;
    let (mut start, mut calls) = (0u64, 0);
    loop {
        page.head = FiemapHeader {
            start,
            length: u64::MAX - start,
            room: u32::try_from(PAGE).unwrap_or(u32::MAX),
            ..FiemapHeader::default()
        };
        // SAFETY: FIEMAP reads and writes the head and at most as many extents as the head allows.
        retry_on_intr(|| unsafe { ioctl(file.as_fd(), Updater::<FIEMAP, FiemapPage>::new(page)) })?;
        calls += 1;
        let mapped = usize::try_from(page.head.mapped).unwrap_or(usize::MAX).min(PAGE);
        let extents = &page.extents[..mapped];
        for raw in extents {
            each(&FileExtent::new(raw.logical, raw.physical, raw.length, raw.flags));
        }
        let Some(last) = extents.last() else { return Ok(calls) };
        let next = last.logical.saturating_add(last.length);
        // No progress, or a page that is not full, marks the end.
        if last.flags & LAST != 0 || next <= start || mapped < PAGE {
            return Ok(calls);
        }
        start = next;
    }
}

#[cfg(test)]
#[expect(clippy::disallowed_macros, reason = "a test that must be skipped says so")]
mod tests {
    use super::{ExtentBuffer, FiemapExtent, FiemapHeader, FiemapPage, FileExtent, file_extents};
    use rustix::io::Errno;
    use std::fs::File;
    use std::os::unix::fs::FileExt;

    #[test]
    fn the_structures_have_the_sizes_of_the_kernel() {
        assert_eq!((size_of::<FiemapHeader>(), size_of::<FiemapExtent>()), (32, 56));
        assert_eq!(std::mem::offset_of!(FiemapPage, extents), 32);
        assert_eq!(super::FIEMAP, 0xc020_660b);
    }

    #[test]
    fn flags_classify_extents() {
        let with_flags = |flags| FileExtent::new(0, 4096, 4096, flags);
        assert!(with_flags(0).is_placed() && with_flags(0x1 | 0x800 | 0x2000 | 0x8).is_placed());
        assert!(with_flags(0x300).is_inline() && !with_flags(0x300).is_placed());
        assert!(
            !with_flags(0x6).is_inline() && !with_flags(0x6).is_placed(),
            "written, not yet allocated"
        );
        assert!(
            with_flags(0x800).is_unwritten()
                && with_flags(0x2000).is_shared()
                && with_flags(0x8).is_encoded()
        );
        assert_eq!(FileExtent::new(0, u64::MAX, 2, 0).end(), u64::MAX);
    }

    #[test]
    fn fragmented_files_are_reported_completely() {
        // Beside the program, where it is built: hardly ever a filesystem in memory.
        let place = tempfile::tempdir_in(".").unwrap();
        let file = File::create_new(place.path().join("pieces")).unwrap();
        let pieces = 2 * super::PAGE + 7;
        for piece in 0..pieces {
            file.write_all_at(b"x", piece as u64 * 65_536).unwrap();
        }
        file.sync_all().unwrap();
        let mut buffer = ExtentBuffer::default();
        let mut extents = Vec::new();
        match file_extents(&file, &mut buffer, |extent| extents.push(*extent)) {
            Err(Errno::OPNOTSUPP | Errno::NOTTY) => {
                println!("skipped: no FIEMAP here");
                return;
            }
            calls => assert!(calls.unwrap() >= 3),
        }
        assert!(extents.windows(2).all(|pair| pair[0].logical < pair[1].logical));
        let whole = |extent: &FileExtent| (0..pieces).any(|p| extent.logical == p as u64 * 65_536);
        assert!(extents.iter().all(whole), "{extents:?}");
        assert_eq!(extents.len(), pieces);
    }

    #[test]
    fn filesystems_without_fiemap_return_an_error() {
        let mut buffer = ExtentBuffer::default();
        let none = file_extents(File::open("/proc/version").unwrap(), &mut buffer, |_| ());
        assert!(none.is_err());
    }
}

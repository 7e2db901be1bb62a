//! Ring buffer of one CPU: a control page and a power of two of pages with records.

use std::os::fd::{AsFd, OwnedFd};
use std::ptr::{self, NonNull};
use std::slice;
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::io::Errno;
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};
use rustix::param::page_size;

use super::TraceSample;

/// Offsets of the kernel's write position and of our read position in the control page.
const HEAD: usize = 1024;
const TAIL: usize = 1032;

/// `PERF_RECORD_LOST`, `PERF_RECORD_SAMPLE` and `PERF_RECORD_LOST_SAMPLES`.
const LOST: u32 = 2;
const SAMPLE: u32 = 9;
const LOST_SAMPLES: u32 = 13;

/// Size of a record header in bytes: type, flags and length.
const HEADER_BYTES: usize = 8;

/// Mapped ring and the event descriptor that owns it.
#[derive(Debug)]
pub(super) struct PerfRing {
    event: OwnedFd,
    cpu: u32,
    page: NonNull<AtomicU64>,
    page_bytes: usize,
    bytes: usize,
    /// Buffer for a record that wraps around the end of the ring.
    record: Vec<u8>,
}

// SAFETY: the mapping is private to this value, and only its owner accesses it.
unsafe impl Send for PerfRing {}

/// Ring size in bytes for a requested size: a power of two of pages.
pub(super) fn rounded(bytes: usize) -> usize {
    let pages = bytes.div_ceil(page_size()).clamp(1, 1 << 20);
    pages.next_power_of_two() * page_size()
}

impl PerfRing {
    pub(super) fn new(event: OwnedFd, cpu: u32, bytes: usize) -> Result<Self, Errno> {
        let (page_bytes, bytes) = (page_size(), rounded(bytes));
        let protection = ProtFlags::READ | ProtFlags::WRITE;
        let length = page_bytes + bytes;
        // SAFETY: the kernel chooses a free place for the new mapping.
        let page = unsafe {
            mmap(ptr::null_mut(), length, protection, MapFlags::SHARED, event.as_fd(), 0)
        }?;
        let page = NonNull::new(page.cast::<AtomicU64>()).ok_or(Errno::NOMEM)?;
        Ok(Self { event, cpu, page, page_bytes, bytes, record: Vec::new() })
    }

    pub(super) fn event(&self) -> &OwnedFd {
        &self.event
    }

    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    fn counter(&self, place: usize) -> &AtomicU64 {
        // SAFETY: within the first page, aligned to eight, and touched by atomic operations only.
        unsafe { &*self.page.as_ptr().add(place / size_of::<AtomicU64>()) }
    }

    /// Returns `length` bytes of the ring from the running position `from`. Records that wrap
    /// around the end are copied into `over_end`. No record is as long as the ring.
    fn bytes_at<'a>(&'a self, from: u64, length: usize, over_end: &'a mut Vec<u8>) -> &'a [u8] {
        // The ring size is a power of two, so masking a running position gives an offset.
        let start = usize::try_from(from & (self.bytes as u64 - 1)).unwrap_or(0);
        let length = length.min(self.bytes);
        let first = length.min(self.bytes - start);
        // SAFETY: both parts are within the ring's data pages; the kernel does not write there
        // before the tail has passed them.
        let (first, wrapped) = unsafe {
            let pages = self.page.as_ptr().cast::<u8>().add(self.page_bytes);
            let wrapped = slice::from_raw_parts(pages, length - first);
            (slice::from_raw_parts(pages.add(start), first), wrapped)
        };
        if wrapped.is_empty() {
            return first;
        }
        over_end.clear();
        over_end.extend_from_slice(first);
        over_end.extend_from_slice(wrapped);
        over_end
    }

    /// Calls `each` with every record; returns the number of lost events.
    pub(super) fn drain(&mut self, each: &mut impl FnMut(&TraceSample<'_>)) -> u64 {
        let head = self.counter(HEAD).load(Ordering::Acquire);
        let mut tail = self.counter(TAIL).load(Ordering::Relaxed);
        let mut lost = 0;
        let mut record = std::mem::take(&mut self.record);
        while head.saturating_sub(tail) >= HEADER_BYTES as u64 {
            // Records are multiples of eight bytes, so a header never wraps.
            let header = self.bytes_at(tail, HEADER_BYTES, &mut record);
            let kind = u32::from_ne_bytes([header[0], header[1], header[2], header[3]]);
            let length = usize::from(u16::from_ne_bytes([header[6], header[7]]));
            if length < HEADER_BYTES || length as u64 > head - tail {
                tail = head; // never seen; without a length there is no next record
                break;
            }
            let body = tail.wrapping_add(HEADER_BYTES as u64);
            let body = self.bytes_at(body, length - HEADER_BYTES, &mut record);
            lost += self.tell(kind, body, each);
            tail += length as u64;
        }
        self.record = record;
        self.counter(TAIL).store(tail, Ordering::Release);
        lost
    }

    /// Handles one record; returns the number of lost events that it reports.
    fn tell(&self, kind: u32, body: &[u8], each: &mut impl FnMut(&TraceSample<'_>)) -> u64 {
        match kind {
            SAMPLE => {
                let (Some(time_ns), Some(length)) = (number(body, 0), body.get(8..12)) else {
                    return 0;
                };
                let length = u32::from_ne_bytes([length[0], length[1], length[2], length[3]]);
                let end = usize::try_from(length).ok().and_then(|length| length.checked_add(12));
                if let Some(fields) = end.and_then(|end| body.get(12..end)) {
                    each(&TraceSample { cpu: self.cpu, time_ns, fields });
                }
                0
            }
            LOST => number(body, 8).unwrap_or(0),
            LOST_SAMPLES => number(body, 0).unwrap_or(0),
            _ => 0,
        }
    }
}

fn number(bytes: &[u8], at: usize) -> Option<u64> {
    let bytes = bytes.get(at..at + 8)?;
    bytes.try_into().ok().map(u64::from_ne_bytes)
}

impl Drop for PerfRing {
    fn drop(&mut self) {
        let length = self.page_bytes + self.bytes;
        // SAFETY: the mapping is ours, and nobody has a way to it any more.
        let _it_was_mapped = unsafe { munmap(self.page.as_ptr().cast(), length) };
    }
}

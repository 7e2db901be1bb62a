//! `request_loops ROW FILE BYTES REQUESTS [untimed]`: the leanest loops that make the requests of
//! the rows of `docs/evidence/fio.md`, which limit what any program can reach there.
//!
//! A row is `psync`, `io_uring`, `libaio-read`, `libaio-write`, `null`, `mmap` or `large`. Each
//! request is timed by two readings of the clock and counted in a bucket, unless `untimed` is
//! given. Prints the CPU time of a request in nanoseconds, that of user space alone, and requests
//! per second.
#![expect(unsafe_code, reason = "rings without a layer between")]
#![expect(
    clippy::disallowed_macros,
    clippy::disallowed_methods,
    reason = "a program of its own: it reads its arguments and prints"
)]

use std::fs::{File, OpenOptions};
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::fs::{FileExt, OpenOptionsExt};

use io_uring::{IoUring, opcode, types};
use treering_sys::{FileMapping, PageBuffer, monotonic_ns, thread_cpu};

type Fault = Box<dyn std::error::Error>;

/// Requests in flight of the small rows with a queue, and of the large one.
const SMALL_DEPTH: u16 = 32;
const LARGE_DEPTH: u16 = 64;
const LARGE_BYTES: usize = 1 << 20;
const BLOCK_BYTES: usize = 4096;

/// Row that is measured.
struct RowOfRequests {
    file: File,
    bytes: u64,
    requests: u64,
    is_timed: bool,
    random: u64,
    latencies: Vec<u64>,
}

impl RowOfRequests {
    /// Draws an offset: xorshift64 (Marsaglia).
    #[inline]
    fn offset(&mut self, length: u64) -> u64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        (self.random >> 32) * (self.bytes / length) / (1 << 32) * length
    }

    #[inline]
    fn now_ns(&self) -> u64 {
        if self.is_timed { monotonic_ns() } else { 0 }
    }

    /// Counts a latency in a bucket of its power of two.
    #[inline]
    fn count(&mut self, ns: u64) {
        if self.is_timed {
            self.latencies[(u64::BITS - ns.leading_zeros()) as usize] += 1;
        }
    }

    fn one_by_one(
        &mut self,
        mut request: impl FnMut(&File, u64) -> Result<(), Fault>,
    ) -> Result<(), Fault> {
        for _ in 0..self.requests {
            let position = self.offset(BLOCK_BYTES as u64);
            let began = self.now_ns();
            request(&self.file, position)?;
            let ended = self.now_ns();
            self.count(ended - began);
        }
        Ok(())
    }
}

/// Ring with a registered file and registered buffers.
fn ring(row: &RowOfRequests, buffers: &mut [PageBuffer]) -> Result<IoUring, Fault> {
    let depth = u32::try_from(buffers.len())?;
    let ring = IoUring::builder()
        .setup_coop_taskrun()
        .setup_single_issuer()
        .setup_defer_taskrun()
        .build(depth)?;
    ring.submitter().register_files(&[row.file.as_raw_fd()])?;
    let vectors: Vec<libc::iovec> = buffers
        .iter_mut()
        .map(|buffer| libc::iovec { iov_base: buffer.as_mut_ptr().cast(), iov_len: buffer.len() })
        .collect();
    // SAFETY: the buffers outlive the ring in the caller.
    unsafe { ring.submitter().register_buffers(&vectors) }?;
    Ok(ring)
}

/// Requests through a ring, one to a call, reads alone or alternately reads and writes.
fn through_ring(
    row: &mut RowOfRequests,
    depth: u16,
    bytes: usize,
    mixed: bool,
) -> Result<(), Fault> {
    let mut buffers: Vec<PageBuffer> = (0..depth).map(|_| PageBuffer::filled(1, bytes)).collect();
    let mut ring = ring(row, &mut buffers)?;
    let mut issued_ns = vec![0; usize::from(depth)];
    let mut free: Vec<u16> = (0..depth).collect();
    let (mut issued, mut ended) = (0, 0);
    let length = u32::try_from(bytes)?;
    measured(row, |row| {
        while ended < row.requests {
            if let Some(tag) = free.pop().filter(|_| issued < row.requests) {
                let position = row.offset(bytes as u64);
                let address = buffers[usize::from(tag)].as_mut_ptr();
                let entry = if mixed && row.random & 1 == 1 {
                    opcode::WriteFixed::new(types::Fixed(0), address, length, tag)
                        .offset(position)
                        .build()
                } else {
                    opcode::ReadFixed::new(types::Fixed(0), address, length, tag)
                        .offset(position)
                        .build()
                };
                issued_ns[usize::from(tag)] = row.now_ns();
                // SAFETY: a buffer is used by one request at a time, and outlives the ring.
                unsafe { ring.submission().push(&entry.user_data(tag.into())) }?;
                ring.submit()?;
                issued += 1;
                continue;
            }
            if ring.completion().is_empty() {
                ring.submit_and_wait(1)?;
            }
            let now = row.now_ns();
            for done in ring.completion() {
                let tag = u16::try_from(done.user_data())?;
                row.count(now - issued_ns[usize::from(tag)]);
                free.push(tag);
                ended += 1;
                if done.result() < 0 {
                    return Err(std::io::Error::from_raw_os_error(-done.result()).into());
                }
            }
        }
        Ok(())
    })
}

#[repr(C)]
#[derive(Clone, Copy, Default)]
struct ControlBlock {
    data: u64,
    key_and_flags: [u32; 2],
    opcode: u16,
    priority: i16,
    file: u32,
    address: u64,
    bytes: u64,
    position: i64,
    reserved: u64,
    flags: u32,
    event_file: u32,
}

/// Requests by Linux AIO, one to a call.
fn through_aio(row: &mut RowOfRequests, writes: bool) -> Result<(), Fault> {
    let depth = usize::from(SMALL_DEPTH);
    let mut buffers: Vec<PageBuffer> =
        (0..depth).map(|_| PageBuffer::filled(1, BLOCK_BYTES)).collect();
    let mut context: libc::c_ulong = 0;
    let done = |status: libc::c_long| {
        if status < 0 { Err(std::io::Error::last_os_error()) } else { Ok(status) }
    };
    // SAFETY: the kernel writes the context.
    done(unsafe { libc::syscall(libc::SYS_io_setup, depth, &raw mut context) })?;
    let file = u32::try_from(row.file.as_raw_fd())?;
    let mut issued_ns = vec![0; depth];
    let mut free: Vec<usize> = (0..depth).collect();
    let mut events = vec![[0_u64; 4]; depth];
    let (mut issued, mut ended) = (0, 0);
    measured(row, |row| {
        while ended < row.requests {
            if let Some(tag) = free.pop().filter(|_| issued < row.requests) {
                let mut block = ControlBlock {
                    data: tag as u64,
                    opcode: u16::from(writes),
                    file,
                    address: buffers[tag].as_mut_ptr() as u64,
                    bytes: BLOCK_BYTES as u64,
                    position: i64::try_from(row.offset(BLOCK_BYTES as u64))?,
                    ..ControlBlock::default()
                };
                issued_ns[tag] = row.now_ns();
                let list = [&raw mut block];
                // SAFETY: the block is copied by the call; its buffer outlives the context.
                done(unsafe { libc::syscall(libc::SYS_io_submit, context, 1, list.as_ptr()) })?;
                issued += 1;
                continue;
            }
            let none = std::ptr::null_mut::<libc::timespec>();
            let into = events.as_mut_ptr();
            // SAFETY: there is room for as many events as requests are in flight.
            let came =
                unsafe { libc::syscall(libc::SYS_io_getevents, context, 1, depth, into, none) };
            let now = row.now_ns();
            for event in &events[..usize::try_from(done(came)?)?] {
                let tag = usize::try_from(event[0])?;
                row.count(now - issued_ns[tag]);
                free.push(tag);
                ended += 1;
            }
        }
        Ok(())
    })?;
    // SAFETY: nothing is in flight.
    unsafe { libc::syscall(libc::SYS_io_destroy, context) };
    Ok(())
}

/// Measures a loop and prints its cost.
fn measured(
    row: &mut RowOfRequests,
    work: impl FnOnce(&mut RowOfRequests) -> Result<(), Fault>,
) -> Result<(), Fault> {
    let (began, before) = (monotonic_ns(), thread_cpu());
    work(row)?;
    let (ended, after) = (monotonic_ns(), thread_cpu());
    let requests = row.requests as f64;
    let user = (after.user_ns - before.user_ns) as f64 / requests;
    let system = (after.system_ns - before.system_ns) as f64 / requests;
    println!("{:.1} {user:.1} {:.0}", user + system, requests * 1e9 / (ended - began) as f64);
    Ok(())
}

fn main() -> Result<(), Fault> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [name, path, bytes, requests, mode @ ..] = words.as_slice() else {
        return Err("ROW FILE BYTES REQUESTS [untimed]".into());
    };
    let direct = if name.starts_with("libaio") { libc::O_DIRECT } else { 0 };
    let mut row = RowOfRequests {
        file: OpenOptions::new().read(true).write(true).custom_flags(direct).open(path)?,
        bytes: bytes.parse()?,
        requests: requests.parse()?,
        is_timed: mode.is_empty(),
        random: 88_172_645_463_325_252,
        latencies: vec![0; 65],
    };
    let mut buffer = PageBuffer::filled(0, BLOCK_BYTES);
    match name.as_str() {
        "psync" => measured(&mut row, |row| {
            row.one_by_one(|file, position| Ok(file.read_exact_at(&mut buffer, position)?))
        }),
        "null" => measured(&mut row, |row| {
            row.one_by_one(|_, position| {
                std::hint::black_box(position);
                Ok(())
            })
        }),
        "mmap" => measured(&mut row, |row| {
            let (length, passes) = (row.bytes, row.requests / (row.bytes / BLOCK_BYTES as u64));
            let mut mappings = Vec::new();
            row.requests /= passes.max(1);
            for _ in 0..passes.max(1) {
                let length = usize::try_from(length)?;
                let mapping = FileMapping::new(row.file.as_fd(), length, false)?;
                mapping.advise(true)?;
                row.one_by_one(|_, position| Ok(mapping.read(position, &mut buffer)?))?;
                mappings.push(mapping);
            }
            row.requests *= passes.max(1);
            Ok(())
        }),
        "io_uring" => through_ring(&mut row, SMALL_DEPTH, BLOCK_BYTES, false),
        "large" => through_ring(&mut row, LARGE_DEPTH, LARGE_BYTES, true),
        "libaio-read" => through_aio(&mut row, false),
        "libaio-write" => through_aio(&mut row, true),
        other => Err(format!("unknown row {other}").into()),
    }
}

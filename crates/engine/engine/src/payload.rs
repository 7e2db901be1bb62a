//! Data written to files: the classic letter, or bytes that no filesystem can shrink.
//!
//! Native payload is one buffer of random bytes for all workers, generated once before the run. The
//! data at a file offset come from the same offset of the buffer, so that small files always read
//! its start, which stays in the CPU cache. Each 4 KiB block of a write carries a unique number, so
//! that no two blocks of a run are equal and deduplication finds nothing. Numbers are stored in
//! place: each worker has a copy of the blocks that it writes, made on the first write.

use std::sync::Arc;

use treering_script::Random;

use crate::LARGEST_CALL_BYTES;
use treering_sys::PageBuffer;

/// Size of a numbered block in bytes: the unit in which filesystems store, compress and
/// deduplicate.
const BLOCK_BYTES: usize = 4096;
const STAMP_BYTES: usize = size_of::<u64>();
/// Maximum number of workers that copy the whole buffer, so that no block is copied twice; further
/// workers copy a window, so that hundreds of workers do not take 4 MiB each.
const WHOLE_COPIES_MOST: u16 = 16;
/// Size of a window in bytes, unless a single write is larger.
const WINDOW_BYTES: usize = 64 * 1024;

/// Kind of data that is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PayloadKind {
    /// The letter `a`, repeated, as compilebench writes.
    Classic,
    /// Zeros, as fs_mark writes.
    Zeros,
    /// Random bytes, of which a part can be zero.
    Native {
        /// Percentage of each 4 KiB block that is zero, at its end. At 100 (and above) only the
        /// block's number remains, followed by as many random bytes.
        compressibility: u8,
    },
}

/// Data written by one worker.
#[derive(Clone, Debug)]
pub struct Payload {
    /// Buffer shared by all workers.
    shared: Arc<PageBuffer>,
    /// Random bytes at the start of each block; 0 in classic payload, which has no numbers.
    random_bytes: usize,
    stamp: u64,
    window: CopiedBlocks,
}

/// The blocks that a worker has copied.
#[derive(Clone, Debug)]
struct CopiedBlocks {
    /// Empty before the first write.
    bytes: PageBuffer,
    /// Bitmap of copied blocks.
    copied: Vec<u64>,
    /// Offset of the window's first block in the shared buffer.
    start: usize,
    /// Window size in bytes, unless a single write is larger.
    wanted_bytes: usize,
}

/// Odd constant that looks random (2^64 divided by the golden ratio); its multiples visit every
/// 64-bit number once.
const STRIDE: u64 = 0x9e37_79b9_7f4a_7c15;

impl Payload {
    /// The payload of worker 0. Takes some milliseconds.
    pub fn new(kind: PayloadKind, seed: u64) -> Self {
        let compressibility = match kind {
            PayloadKind::Native { compressibility } => compressibility,
            PayloadKind::Classic => {
                return Self::from_parts(PageBuffer::filled(b'a', LARGEST_CALL_BYTES), 0, 0);
            }
            PayloadKind::Zeros => {
                return Self::from_parts(PageBuffer::filled(0, LARGEST_CALL_BYTES), 0, 0);
            }
        };
        let mut bytes = PageBuffer::filled(0, LARGEST_CALL_BYTES);
        Random::for_part(seed, "payload").fill(&mut bytes);
        let zero_bytes = BLOCK_BYTES * usize::from(compressibility.min(100)) / 100;
        // Room for a whole number also when a write ends within the one before it.
        let random_bytes = (BLOCK_BYTES - zero_bytes).max(2 * STAMP_BYTES);
        bytes.chunks_exact_mut(BLOCK_BYTES).for_each(|block| block[random_bytes..].fill(0));
        Self::from_parts(bytes, random_bytes, seed)
    }

    fn from_parts(bytes: PageBuffer, random_bytes: usize, stamp: u64) -> Self {
        let window = CopiedBlocks::new(LARGEST_CALL_BYTES);
        Self { shared: Arc::new(bytes), random_bytes, stamp, window }
    }

    /// Payload for another worker, with block numbers of its own.
    pub(crate) fn for_worker(&self, worker: u16) -> Self {
        let numbers_before = u64::from(worker) << 48;
        let stamp = self.stamp.wrapping_add(numbers_before.wrapping_mul(STRIDE));
        let is_whole = worker < WHOLE_COPIES_MOST;
        let window = CopiedBlocks::new(if is_whole { LARGEST_CALL_BYTES } else { WINDOW_BYTES });
        Self { shared: Arc::clone(&self.shared), random_bytes: self.random_bytes, stamp, window }
    }

    /// Buffer with the data of every write, if these are the same everywhere; at most
    /// [`LARGEST_CALL_BYTES`] are written at once.
    pub(crate) fn constant(&self) -> Option<Arc<PageBuffer>> {
        (self.random_bytes == 0).then(|| Arc::clone(&self.shared))
    }

    /// Data from `position` of a file on, in two pieces to be written one after the other; the
    /// second is usually empty. At most [`LARGEST_CALL_BYTES`] are returned, even if more are
    /// requested.
    #[inline]
    pub fn take(&mut self, position: u64, bytes: usize) -> (&[u8], &[u8]) {
        let length = self.shared.len();
        let bytes = bytes.min(length);
        if self.random_bytes == 0 {
            return (&self.shared[..bytes], &[]);
        }
        let start = usize::try_from(position % length as u64).unwrap_or(0);
        // The place in the window, which may begin anywhere in the buffer and goes on at its start.
        let mut from = start + if start < self.window.start { length } else { 0 };
        from -= self.window.start;
        let held = self.window.bytes.len();
        if from + bytes > held && (held < length || held == 0) {
            self.window.move_to(start, bytes, length);
            from = start - self.window.start;
        }
        let (end, held) = (from + bytes, self.window.bytes.len());
        if end <= held {
            self.stamp_blocks(from, end);
            return (&self.window.bytes[from..end], &[]);
        }
        self.stamp_blocks(from, held);
        self.stamp_blocks(0, end - held);
        (&self.window.bytes[from..], &self.window.bytes[..end - held])
    }

    /// Writes a new number into every block that this range of the window touches, at the first
    /// byte of the block within the range.
    #[inline]
    fn stamp_blocks(&mut self, start: usize, end: usize) {
        let mut at = start;
        while at < end {
            let block = at - at % BLOCK_BYTES;
            self.window.ensure(block, &self.shared);
            self.stamp = self.stamp.wrapping_add(STRIDE);
            // Zero bytes at a block's end stay zero.
            let stop = (at + STAMP_BYTES).min(block + self.random_bytes);
            if let Some(place) = self.window.bytes.get_mut(at..stop) {
                let stamp = self.stamp.to_le_bytes();
                match <&mut [u8; STAMP_BYTES]>::try_from(&mut *place) {
                    Ok(whole) => *whole = stamp,
                    Err(_) => place.copy_from_slice(&stamp[..place.len()]),
                }
            }
            at = block + BLOCK_BYTES;
        }
    }
}

impl CopiedBlocks {
    /// Builds a window that takes no memory before the first write.
    fn new(wanted_bytes: usize) -> Self {
        Self { bytes: PageBuffer::filled(0, 0), copied: Vec::new(), start: 0, wanted_bytes }
    }

    /// Moves the window to the start of a write of `bytes`, with nothing copied; a window of the
    /// whole buffer always starts at offset 0.
    #[cold]
    fn move_to(&mut self, start: usize, bytes: usize, whole: usize) {
        let block = start - start % BLOCK_BYTES;
        let needed = (start - block + bytes).next_multiple_of(BLOCK_BYTES);
        let held = self.bytes.len().max(self.wanted_bytes).max(needed).min(whole);
        if held > self.bytes.len() {
            self.bytes = PageBuffer::filled(0, held);
        }
        self.copied.clear();
        self.copied.resize(held.div_ceil(64 * BLOCK_BYTES), 0);
        self.start = if held == whole { 0 } else { block };
    }

    /// Copies a block of the shared buffer unless that was done before.
    #[inline]
    fn ensure(&mut self, block: usize, shared: &[u8]) {
        let number = block / BLOCK_BYTES;
        let bit = 1 << (number % 64);
        let word = &mut self.copied[number / 64];
        if *word & bit == 0 {
            *word |= bit;
            let from = (self.start + block) % shared.len();
            self.bytes[block..block + BLOCK_BYTES]
                .copy_from_slice(&shared[from..from + BLOCK_BYTES]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{BLOCK_BYTES, Payload, PayloadKind};
    use crate::LARGEST_CALL_BYTES;
    use std::collections::HashSet;

    /// Content of a file of `bytes`, written in pieces of `piece` bytes.
    fn file(payload: &mut Payload, bytes: usize, piece: usize) -> Vec<u8> {
        let mut file = Vec::new();
        while file.len() < bytes {
            let wanted = piece.min(bytes - file.len());
            let (head, tail) = payload.take(file.len() as u64, wanted);
            assert_eq!(head.len() + tail.len(), wanted);
            file.extend_from_slice(head);
            file.extend_from_slice(tail);
        }
        file
    }

    fn native(compressibility: u8) -> Payload {
        Payload::new(PayloadKind::Native { compressibility }, 42)
    }

    fn compressed_share(payload: &mut Payload, bytes: usize) -> f64 {
        let file = file(payload, bytes, 128 * 1024);
        zstd::bulk::compress(&file, 3).unwrap().len() as f64 / file.len() as f64
    }

    #[test]
    fn native_payload_compresses_as_reported_and_classic_to_nothing() {
        assert!(compressed_share(&mut native(0), 10_000) > 0.999);
        for bytes in [3 * BLOCK_BYTES, 1 << 20, 3 << 20] {
            assert!(compressed_share(&mut native(0), bytes) > 0.999);
            let half = compressed_share(&mut native(50), bytes);
            assert!((0.48..0.53).contains(&half), "{half}");
            let quarter = compressed_share(&mut native(75), bytes);
            assert!((0.23..0.29).contains(&quarter), "{quarter}");
            assert!(compressed_share(&mut native(100), bytes) < 0.02);
            assert!(compressed_share(&mut native(255), bytes) < 0.02);
            assert!(compressed_share(&mut Payload::new(PayloadKind::Classic, 1), bytes) < 0.01);
        }
        let mut classic = Payload::new(PayloadKind::Classic, 1);
        assert!(file(&mut classic, 100_000, 4096).iter().all(|&byte| byte == b'a'));
    }

    #[test]
    fn payload_blocks_of_a_run_are_distinct() {
        for compressibility in [0, 50, 100] {
            let first = native(compressibility);
            let mut seen = HashSet::new();
            let mut blocks = 0;
            for worker in [0, 1, 400] {
                let mut payload = first.for_worker(worker);
                for number in 0..700 {
                    // Small files and pieces that are no whole blocks; blocks as a file has them.
                    let file = file(&mut payload, 20_000, 3000 + number);
                    for block in file.chunks_exact(BLOCK_BYTES) {
                        assert!(seen.insert(block.to_vec()), "worker {worker} file {number}");
                        blocks += 1;
                    }
                }
            }
            assert!(blocks > 8000);
        }
    }

    #[test]
    fn workers_share_one_buffer_and_copy_only_what_they_write() {
        let first = native(0);
        let mut workers: Vec<Payload> = (0..500).map(|number| first.for_worker(number)).collect();
        assert!(workers.iter().all(|worker| worker.window.bytes.is_empty()));
        for (number, worker) in (0_u64..).zip(&mut workers) {
            assert_eq!(worker.shared.as_ptr(), first.shared.as_ptr());
            for position in [0, 17 << 20, number * 123_457, u64::MAX] {
                worker.take(position, 16 * 1024);
            }
        }
        let windows = workers[super::WHOLE_COPIES_MOST.into()..].iter();
        let bytes: usize = windows.map(|worker| worker.window.bytes.len()).sum();
        assert!(bytes <= 500 * super::WINDOW_BYTES, "{bytes}");
    }

    #[test]
    fn a_payload_window_equals_that_part_of_the_buffer() {
        let first = native(50);
        let (mut whole, mut window) = (first.for_worker(1), first.for_worker(400));
        let length = LARGEST_CALL_BYTES as u64;
        let places = [0, 1, 4095, 70_000, length - 100, length - 9000, 5 * length + 3, 60_000];
        for (position, bytes) in places.iter().flat_map(|at| [1, 5000, 70_000].map(|n| (*at, n))) {
            let joined = |payload: &mut Payload| {
                let (head, tail) = payload.take(position, bytes);
                [head, tail].concat()
            };
            let (of_whole, of_window) = (joined(&mut whole), joined(&mut window));
            assert_eq!((of_whole.len(), of_window.len()), (bytes, bytes));
            let start = usize::try_from(position).unwrap();
            let at = |index: usize| (start + index) % LARGEST_CALL_BYTES;
            // All but the numbers, which stand at the start of a block or of the write, and those
            // of earlier writes.
            let shared = (0..bytes).filter(|index| first.shared[at(*index)] == of_window[*index]);
            assert!(shared.count() + 8 * (bytes / BLOCK_BYTES + 20) >= bytes, "{position}");
            let zeros = (0..bytes).filter(|index| at(*index) % BLOCK_BYTES >= 2048);
            assert!(zeros.clone().all(|index| of_window[index] == 0), "{position} {bytes}");
            assert!(zeros.into_iter().all(|index| of_whole[index] == 0));
        }
    }

    #[test]
    fn zero_payload_stays_zero_in_any_window() {
        let mut payload = native(50);
        for piece in [1, 7, 100, 2044, 2047, 3000, 4095] {
            file(&mut payload, 50_000, piece);
        }
        let whole = file(&mut payload, 1 << 20, 1 << 20);
        for block in whole.chunks_exact(BLOCK_BYTES) {
            assert!(block[2048..].iter().all(|&byte| byte == 0));
        }
    }

    #[test]
    fn pieces_across_the_buffer_end_are_split() {
        let mut payload = native(0);
        let position = 3 * LARGEST_CALL_BYTES as u64 - 5000;
        let (head, tail) = payload.take(position, 12_000);
        assert_eq!((head.len(), tail.len()), (5000, 7000));
        let (head, tail) = payload.take(u64::MAX, usize::MAX);
        assert_eq!(head.len() + tail.len(), LARGEST_CALL_BYTES);
        let (head, tail) = payload.take(0, 0);
        assert!(head.is_empty() && tail.is_empty());
    }
}

//! Searches for data on a device. A small device is read as a whole; a large one is sampled.
//!
//! No list of signatures is complete: raw databases, archives, virtual disks and filesystems
//! without superblocks have none. Therefore any non-zero byte counts as data. A device that reads
//! as 0xff everywhere is erased flash, and counts as empty.

use std::fs::File;
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::ops::Range;
use std::os::fd::AsFd;
use std::os::unix::fs::FileExt;

use treering_sys::{Errno, PageBuffer, forget, open_past_cache};

/// Largest device that is read as a whole, in bytes.
const WHOLE_BYTES_MAX: u64 = 4 << 30;
/// Number of samples of a larger device.
const SAMPLES: u64 = 4096;
/// Size of a sample, in bytes. No sector is larger.
const SAMPLE_BYTES: u64 = 64 << 10;
/// Size in bytes of each of the three parts that are always read: beginning, middle and end.
const EDGE_BYTES: u64 = 1 << 20;
/// Size of one read, in bytes.
const READ_BYTES: u64 = 1 << 20;
/// Alignment of the middle part, in bytes.
const ALIGNMENT: u64 = 4096;
/// Byte that erased flash reads as.
const ERASED: u8 = 0xff;

/// Part of a device that was read in search of data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SearchCoverage {
    /// The first, middle and last MiB only.
    Edges,
    /// The whole device.
    Whole,
    /// The allocated extents of the file behind a loop device; the rest of the file is holes.
    Extents {
        /// Total size of the extents.
        bytes: u64,
    },
    /// The first, middle and last MiB, and a random sample in each of `count` equal parts.
    Places {
        /// Number of parts.
        count: u64,
        /// Size of each sample.
        bytes: u64,
    },
}

/// Depth of a search for data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SearchDepth {
    /// The first, middle and last MiB only: for a list of devices, and for a device whose old data
    /// may be overwritten.
    Glance,
    /// The full search before a device is formatted.
    Full,
}

/// Result of a search for data.
pub(super) struct DataSearch {
    pub(super) coverage: SearchCoverage,
    /// Offset of the first byte found that differs from the empty byte.
    pub(super) first: Option<u64>,
}

/// The first, middle and last MiB of a device of this size, in order, without overlap; the whole
/// device if it has at most three MiB.
pub(super) fn edges(bytes: u64) -> Vec<Range<u64>> {
    if bytes <= 3 * EDGE_BYTES {
        return std::iter::once(0..bytes).collect();
    }
    let middle = (bytes / 2 - EDGE_BYTES / 2) & !(ALIGNMENT - 1);
    let last = bytes - EDGE_BYTES;
    vec![0..EDGE_BYTES, middle..(middle + EDGE_BYTES).min(last), last..bytes]
}

/// Searches a device for data. `extents` has the allocated parts of a loop device, if known.
///
/// # Errors
/// When the device cannot be read.
pub(super) fn search(
    device: &File,
    bytes: u64,
    depth: SearchDepth,
    extents: Option<Vec<Range<u64>>>,
) -> io::Result<DataSearch> {
    let mut reader = DeviceReader::new(device);
    let empty = reader.empty_byte(bytes)?;
    let extents = extents.map(|extents| aligned(&extents, bytes));
    let (coverage, parts): (SearchCoverage, Vec<Range<u64>>) = match extents {
        _ if depth == SearchDepth::Glance => (SearchCoverage::Edges, Vec::new()),
        // Holes read as zeroes, so they can be skipped only if zero is the empty byte.
        Some(parts) if empty == 0 && length(&parts) < bytes => {
            (SearchCoverage::Extents { bytes: length(&parts) }, parts)
        }
        _ if bytes <= WHOLE_BYTES_MAX => {
            (SearchCoverage::Whole, std::iter::once(0..bytes).collect())
        }
        _ => {
            (SearchCoverage::Places { count: SAMPLES, bytes: SAMPLE_BYTES }, random_samples(bytes))
        }
    };
    for part in edges(bytes).into_iter().chain(parts) {
        let first = reader.first_difference(part, empty)?;
        if first.is_some() {
            return Ok(DataSearch { coverage, first });
        }
    }
    Ok(DataSearch { coverage, first: None })
}

/// Random samples, one in each of [`SAMPLES`] equal parts of a device.
fn random_samples(bytes: u64) -> Vec<Range<u64>> {
    let random = RandomState::new();
    let slots = bytes / SAMPLE_BYTES;
    let place = |part: u64| {
        let (begin, end) = (part * slots / SAMPLES, (part + 1) * slots / SAMPLES);
        let slot = begin + random.hash_one(part) % (end - begin).max(1);
        slot * SAMPLE_BYTES..(slot + 1) * SAMPLE_BYTES
    };
    (0..SAMPLES).map(place).collect()
}

/// Aligns ranges for direct I/O, and joins adjacent ones.
fn aligned(parts: &[Range<u64>], bytes: u64) -> Vec<Range<u64>> {
    let mut joined: Vec<Range<u64>> = Vec::new();
    for part in parts {
        let begin = part.start / SAMPLE_BYTES * SAMPLE_BYTES;
        let end = part.end.next_multiple_of(SAMPLE_BYTES).min(bytes);
        match joined.last_mut() {
            Some(last) if begin <= last.end => last.end = last.end.max(end),
            _ if begin < end => joined.push(begin..end),
            _ => {}
        }
    }
    joined
}

fn length(parts: &[Range<u64>]) -> u64 {
    parts.iter().map(|part| part.end - part.start).sum()
}

/// Reader of a device. Uses direct I/O, so that reading a whole disk does not displace the page
/// cache, or buffered I/O if that is not possible.
struct DeviceReader<'d> {
    device: &'d File,
    past_cache: Option<File>,
    piece: PageBuffer,
    uniform: Vec<u8>,
}

impl<'d> DeviceReader<'d> {
    fn new(device: &'d File) -> Self {
        let past_cache = open_past_cache(device).ok();
        let piece = PageBuffer::filled(0, usize::try_from(READ_BYTES).unwrap_or_default());
        let uniform = vec![0; piece.len()];
        Self { device, past_cache, piece, uniform }
    }

    /// Byte that an empty device would consist of: 0xff if the first byte is 0xff, otherwise 0.
    fn empty_byte(&mut self, bytes: u64) -> io::Result<u8> {
        if bytes == 0 {
            return Ok(0);
        }
        let length = usize::try_from(bytes.min(SAMPLE_BYTES)).unwrap_or_default();
        self.read(0, length)?;
        Ok(if self.piece[0] == ERASED { ERASED } else { 0 })
    }

    /// Offset of the first byte of a range that differs from `byte`.
    fn first_difference(&mut self, part: Range<u64>, byte: u8) -> io::Result<Option<u64>> {
        if self.uniform[0] != byte {
            self.uniform.fill(byte);
        }
        let mut at = part.start;
        while at < part.end {
            let length = usize::try_from((part.end - at).min(READ_BYTES)).unwrap_or_default();
            self.read(at, length)?;
            let piece = &self.piece[..length];
            if piece != &self.uniform[..length] {
                let first = piece.iter().position(|&actual| actual != byte).unwrap_or_default();
                return Ok(Some(at + first as u64));
            }
            at += length as u64;
        }
        Ok(None)
    }

    fn read(&mut self, at: u64, length: usize) -> io::Result<()> {
        let piece = &mut self.piece[..length];
        if let Some(past_cache) = &self.past_cache {
            match past_cache.read_exact_at(piece, at) {
                Err(error) if Errno::from_io_error(&error) == Some(Errno::INVAL) => {
                    self.past_cache = None;
                }
                done => return done,
            }
        }
        self.device.read_exact_at(piece, at)?;
        let _only_advice = forget(self.device.as_fd(), at, length as u64);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::{
        SAMPLE_BYTES, SAMPLES, SearchCoverage, SearchDepth, aligned, edges, random_samples, search,
    };
    use std::fs::File;
    use std::os::unix::fs::FileExt;

    const MIB: u64 = 1 << 20;
    const GIB: u64 = 1 << 30;

    fn first(file: &File, bytes: u64, depth: SearchDepth) -> Option<u64> {
        search(file, bytes, depth, None).unwrap().first
    }

    #[test]
    fn edges_lie_within_the_device_and_do_not_overlap() {
        assert_eq!(edges(0), vec![std::ops::Range { start: 0, end: 0 }]);
        assert_eq!(edges(3 * MIB), vec![std::ops::Range { start: 0, end: 3 * MIB }]);
        for bytes in [3 * MIB + 1, 3 * MIB + 512, 4 * MIB - 1, 80 * MIB + 513, 1 << 50] {
            let edges = edges(bytes);
            assert_eq!((edges[0].clone(), edges[2].clone()), (0..MIB, bytes - MIB..bytes));
            assert!(edges[1].start >= MIB && edges[1].end <= bytes - MIB, "{bytes}");
            assert!(edges[1].contains(&(bytes / 2)) && edges[1].start.is_multiple_of(4096));
        }
    }

    #[test]
    fn one_byte_anywhere_in_a_small_device_is_found() {
        for bytes in [1, 511, 4096, MIB, 3 * MIB - 1, 3 * MIB + 1, 9 * MIB + 512] {
            let file = tempfile::tempfile().unwrap();
            file.set_len(bytes).unwrap();
            assert_eq!(first(&file, bytes, SearchDepth::Full), None, "{bytes}");
            for at in [bytes - 1, bytes * 2 / 3, bytes / 2, bytes * 3 / 8, 0] {
                file.write_all_at(&[7], at).unwrap();
                assert_eq!(first(&file, bytes, SearchDepth::Full), Some(at), "{bytes}");
                file.write_all_at(&[0], at).unwrap();
            }
        }
    }

    #[test]
    fn a_glance_search_reads_only_the_edges() {
        let file = tempfile::tempfile().unwrap();
        file.set_len(64 * MIB).unwrap();
        file.write_all_at(b"x", 20 * MIB).unwrap();
        assert_eq!(first(&file, 64 * MIB, SearchDepth::Glance), None);
        assert_eq!(first(&file, 64 * MIB, SearchDepth::Full), Some(20 * MIB));
        file.write_all_at(b"x", 32 * MIB).unwrap();
        assert_eq!(first(&file, 64 * MIB, SearchDepth::Glance), Some(32 * MIB));
    }

    #[test]
    fn erased_flash_counts_as_empty_but_mixed_bytes_do_not() {
        let file = tempfile::tempfile().unwrap();
        let bytes = 5 * MIB;
        file.write_all_at(&vec![0xff; 5 << 20], 0).unwrap();
        assert_eq!(first(&file, bytes, SearchDepth::Full), None);
        file.write_all_at(&[0], MIB + 7).unwrap();
        assert_eq!(first(&file, bytes, SearchDepth::Full), Some(MIB + 7));
        file.write_all_at(&[0xff], MIB + 7).unwrap();
        file.write_all_at(&[0; 4096], 0).unwrap();
        assert_eq!(first(&file, bytes, SearchDepth::Full), Some(4096));
        // Holes read as zeroes, which count as data among bytes of 0xff.
        file.write_all_at(&[0xff; 4096], 0).unwrap();
        let extents = Some(vec![0..MIB, 2 * MIB..5 * MIB]);
        let result = search(&file, bytes, SearchDepth::Full, extents).unwrap();
        assert_eq!((result.coverage, result.first), (SearchCoverage::Whole, None));
    }

    #[test]
    fn only_allocated_extents_of_a_sparse_file_are_read() {
        let file = tempfile::tempfile().unwrap();
        let bytes = 64 * MIB;
        file.set_len(bytes).unwrap();
        file.write_all_at(b"x", 20 * MIB + 5).unwrap();
        let with = |extents| {
            let result = search(&file, bytes, SearchDepth::Full, Some(extents)).unwrap();
            (result.coverage, result.first)
        };
        let some = vec![20 * MIB..20 * MIB + 100, 20 * MIB + 200..20 * MIB + 4096];
        assert_eq!(
            with(some),
            (SearchCoverage::Extents { bytes: SAMPLE_BYTES }, Some(20 * MIB + 5))
        );
        assert_eq!(with(Vec::new()), (SearchCoverage::Extents { bytes: 0 }, None));
        let whole = with(std::iter::once(0..bytes).collect());
        assert_eq!(whole, (SearchCoverage::Whole, Some(20 * MIB + 5)));
        assert_eq!(aligned(&[3..5, 70_000..70_001, 200_000..200_001], 200_001).len(), 2);
    }

    #[test]
    fn sample_positions_of_a_large_device_are_stratified_and_random() {
        for bytes in [4 * GIB + 512, 5 * GIB, 100 * GIB + 4096, 1 << 50] {
            let places = random_samples(bytes);
            assert_eq!(places.len() as u64, SAMPLES);
            for (part, place) in places.iter().enumerate() {
                let within = |at: u64| at / SAMPLE_BYTES * SAMPLES / (bytes / SAMPLE_BYTES);
                assert!(place.end <= bytes && place.end - place.start == SAMPLE_BYTES);
                assert!(within(place.start).abs_diff(part as u64) <= 1, "{bytes}: {place:?}");
            }
            assert!(places.windows(2).all(|two| two[0].end <= two[1].start));
            assert_ne!(places, random_samples(bytes));
        }
        let file = tempfile::tempfile().unwrap();
        file.set_len(5 * GIB).unwrap();
        let result = search(&file, 5 * GIB, SearchDepth::Full, None).unwrap();
        assert_eq!(result.coverage, SearchCoverage::Places { count: SAMPLES, bytes: SAMPLE_BYTES });
        assert_eq!(result.first, None);
    }

    #[test]
    fn a_device_that_ends_too_early_is_an_error() {
        let file = tempfile::tempfile().unwrap();
        file.set_len(MIB).unwrap();
        assert!(search(&file, 8 * MIB, SearchDepth::Full, None).is_err());
    }
}

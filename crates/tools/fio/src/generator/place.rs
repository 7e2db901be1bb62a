//! Offset and length of the next request in a file.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::language::{Direction, Distribution, Section, Zone};

use super::super::random_map::RandomMap;
use super::super::sizes::Extent;
use super::files::FileState;
use super::{Generator, IoAction, IoRequest};

/// Maximum number of draws of a size before the smallest is taken. A range yields a fitting size
/// eventually, though perhaps after millions of draws; a split perhaps never.
const DRAWS_MAX: u32 = 1 << 26;
const SPLIT_DRAWS_MAX: u32 = 10_000;

/// Draws of one request that are not counted, since only requests near the end of a file need more.
const DRAWS_UNCOUNTED: u64 = 64;

/// Number of drawn sizes that did not fit, of all jobs of this process.
static REJECTED_DRAWS: AtomicU64 = AtomicU64::new(0);

/// Number of drawn sizes that did not fit, of all jobs of this process: CPU work that a job file
/// can cause without a call.
pub fn rejected_draws() -> u64 {
    REJECTED_DRAWS.load(Ordering::Relaxed)
}

/// Length of the range in which offsets are drawn.
#[inline]
pub(super) fn part_bytes(job: &Section, extent: Extent) -> u64 {
    match job.extras.strides.bytes {
        0 => extent.bytes.min(extent.file_bytes),
        _ => job.extras.strides.range,
    }
}

/// Quotient of numbers of which the divisor is mostly a power of two, where a shift costs less.
#[inline]
const fn quotient(bytes: u64, size: u64) -> u64 {
    if size.is_power_of_two() { bytes >> size.trailing_zeros() } else { bytes / size }
}

impl Generator {
    /// Next request in a file; `None` if the file is complete.
    #[inline]
    pub(super) fn place(&mut self, file: usize, direction: Direction) -> Option<IoRequest> {
        let (within, random, marks) = self.offset(file, direction)?;
        let trims = self.job.rw.is_trim_write() && self.job.rw.random;
        let extent = self.files[file].extent;
        if within >= extent.bytes {
            return None;
        }
        let offset = within + self.files[file].start;
        if offset >= extent.file_bytes {
            return None;
        }
        let mut bytes = if trims && direction == Direction::Write {
            self.trimmed_bytes(file)
        } else {
            self.bytes(file, direction, offset, random)?
        };
        if offset + bytes > extent.file_bytes {
            return None;
        }
        if self.job.rw.random && self.job.draws.random_map && marks && !self.is_unmarked {
            bytes = self.mark(file, direction, within, bytes);
        }
        let state = &mut self.files[file];
        let again = state.last_start[Direction::Trim.place()] == Some(offset);
        if trims && direction == Direction::Trim && again {
            // The same block is trimmed again: changing the start of the last write shows that
            // another write follows.
            let before = &mut state.last_start[Direction::Write.place()];
            *before = before.map(|offset| offset.wrapping_sub(1));
        }
        Some(IoRequest { file, direction, offset, bytes, verifies: None })
    }

    /// Length of the last trim of a file.
    fn trimmed_bytes(&self, file: usize) -> u64 {
        let (state, direction) = (&self.files[file], Direction::Trim.place());
        state.last_end[direction] - state.last_start[direction].unwrap_or(state.last_end[direction])
    }

    /// Offset in the job's range, true if it is random, and true if it is to be marked in the
    /// random map.
    #[inline]
    fn offset(&mut self, file: usize, direction: Direction) -> Option<(u64, bool, bool)> {
        self.until_draw -= 1;
        let draws = self.until_draw == 0;
        if draws {
            self.until_draw = self.job.sequence;
        }
        let random = self.job.rw.random;
        if random && self.job.rw.is_trim_write() && direction == Direction::Write {
            // As in the original: the offset in the file, to which that of the job's range is
            // added.
            let begun = self.files[file].last_start[Direction::Trim.place()].unwrap_or(0);
            return Some((begun, true, false));
        }
        if draws && random && self.draws_offset(direction) {
            return self.block(file, direction).map(|offset| (offset, true, true));
        }
        self.is_unmarked = random;
        if draws && !random {
            return self.following(file, direction).map(|offset| (offset, false, false));
        }
        if !draws && self.job.repeats {
            let state = &self.files[file];
            let last = state.last_start[direction.place()].unwrap_or(state.start);
            return Some((last - state.start, false, false));
        }
        match self.following(file, direction) {
            Some(offset) => Some((offset, false, false)),
            None => self.block(file, direction).map(|offset| (offset, draws, false)),
        }
    }

    fn draws_offset(&mut self, direction: Direction) -> bool {
        let percent = self.job.draws.percent_random[direction.place()];
        percent == 100 || self.order[direction.place()].percent() <= percent
    }

    /// Offset of a random block.
    #[inline]
    fn block(&mut self, file: usize, direction: Direction) -> Option<u64> {
        let block = match self.draw(file, direction) {
            Some(block) => Some(block),
            None if self.job.is_timed() => {
                // Every block was used: the file starts over.
                self.files[file].reset();
                self.forget(file);
                self.draw(file, direction)
            }
            None => None,
        };
        block.map(|block| block * self.job.align(direction))
    }

    #[inline]
    fn draw(&mut self, file: usize, direction: Direction) -> Option<u64> {
        if let Some(drawing) = &mut self.files[file].drawing {
            return Some(drawing.draw());
        }
        let last = self.last_block(file, direction)?;
        if self.zones.is_some() {
            return self.zoned(direction, last);
        }
        if let Some(register) = &mut self.files[file].register {
            return register.next();
        }
        let block = self.blocks.below(last);
        if !self.job.draws.random_map {
            return Some(block);
        }
        let map = self.map(file);
        if map.is_free(block) { Some(block) } else { map.next_free(block) }
    }

    /// Last block that can be drawn; `None` if no request fits.
    #[inline]
    fn last_block(&self, file: usize, direction: Direction) -> Option<u64> {
        let extent = self.files[file].extent;
        let align = self.job.align(direction);
        let least = self.job.blocks(direction).least;
        let bytes = part_bytes(&self.job, extent).saturating_sub(least.saturating_sub(align));
        Some(quotient(bytes, align)).filter(|last| *last > 0)
    }

    /// Random block of the current zone; `None` if the zone lies after the end of the file.
    fn zoned(&mut self, direction: Direction, last: u64) -> Option<u64> {
        let drawn = self.zones.as_mut()?.percent();
        let part = |zones: &[Vec<Zone>; 3]| {
            let (mut accesses, mut begin) = (0, 0);
            for zone in &zones[direction.place()] {
                accesses += zone.accesses;
                if drawn <= accesses {
                    return (begin, begin + zone.size);
                }
                begin += zone.size;
            }
            (0, begin)
        };
        let (begin, blocks) = match &self.job.draws.distribution {
            Distribution::Zoned(zones) => {
                let (begin, end) = part(zones);
                let percent = |percent: u64| {
                    let blocks = u128::from(last) * u128::from(percent) / 100;
                    u64::try_from(blocks).unwrap_or(u64::MAX)
                };
                (percent(begin), percent(end - begin))
            }
            Distribution::ZonedAbs(zones) => {
                let (begin, end) = part(zones);
                let align = self.job.align(direction);
                if end / align > last {
                    return None;
                }
                (begin / align, end / align - begin / align)
            }
            _ => (0, last),
        };
        Some(begin + self.blocks.below(blocks))
    }

    #[inline]
    fn map(&mut self, file: usize) -> &mut RandomMap {
        let Self { job, files, .. } = self;
        let FileState { map, extent, .. } = &mut files[file];
        map.get_or_insert_with(|| RandomMap::new(part_bytes(job, *extent) / job.least_block()))
    }

    /// Marks the blocks of a request, and returns the length that is left for it.
    #[inline]
    fn mark(&mut self, file: usize, direction: Direction, within: u64, bytes: u64) -> u64 {
        let least = self.job.blocks(direction).least;
        let wanted = if bytes == least { 1 } else { bytes.div_ceil(least) };
        let taken = self.map(file).take(quotient(within, least), wanted).max(1);
        bytes.min(taken.saturating_mul(least))
    }

    /// Offset after the last request of this direction.
    fn following(&mut self, file: usize, direction: Direction) -> Option<u64> {
        let place = direction.place();
        let (extent, start) = (self.files[file].extent, self.files[file].start);
        let wraps = self.job.is_timed() && self.job.files == 1;
        if wraps && self.files[file].last_end[place] >= extent.limit() {
            self.files[file].last_end[place] = start;
            self.forget(file);
        }
        let last_end = self.files[file].last_end[place];
        if last_end >= extent.file_bytes {
            return None;
        }
        let within = last_end.saturating_sub(start);
        if self.job.hole == 0 || within == 0 {
            return Some(within);
        }
        let moved = within.checked_add_signed(self.job.hole);
        match moved {
            Some(within) if within < extent.file_bytes => Some(within),
            _ if self.job.hole > 0 => Some(start),
            _ => extent.bytes.min(extent.file_bytes).checked_add_signed(self.job.hole),
        }
    }

    /// Queues dropping the file from the page cache, if the job asks for it.
    fn forget(&mut self, file: usize) {
        if self.job.invalidate && !self.job.direct {
            self.pending.push_back(IoAction::Forget(file));
        }
    }

    fn fits(&self, file: usize, offset: u64, bytes: u64) -> bool {
        offset.saturating_add(bytes) <= self.files[file].extent.limit()
    }

    /// Length of the request.
    #[inline]
    fn bytes(
        &mut self,
        file: usize,
        direction: Direction,
        offset: u64,
        random: bool,
    ) -> Option<u64> {
        let direction = match (self.job.blocks_by_order, random) {
            (false, _) => direction,
            (true, true) => Direction::Write,
            (true, false) => Direction::Read,
        };
        let blocks = self.job.blocks(direction);
        let (least, most) = (blocks.least, blocks.most);
        if least == most {
            return Some(least);
        }
        if !self.fits(file, offset, least) {
            return None;
        }
        if !blocks.split.is_empty() {
            for _ in 0..SPLIT_DRAWS_MAX {
                let bytes = self.split_bytes(file, direction, offset);
                if bytes > 0 && self.fits(file, offset, bytes) {
                    return Some(bytes);
                }
            }
            return Some(least);
        }
        let room = self.files[file].extent.limit().saturating_sub(offset);
        let unaligned = self.job.unaligned;
        // Near the end of a file few sizes fit, so that very many draws may be needed: a copy of
        // the generator stays in registers.
        let mut draws = self.sizes[direction.place()];
        let mut made = 0;
        let mut fitting = (0..DRAWS_MAX).map(|_| {
            made += 1;
            let bytes = least + draws.below(most);
            let bytes = if unaligned { bytes } else { bytes - bytes % least };
            bytes.min(most)
        });
        let fitting_size = fitting.find(|bytes| *bytes > 0 && *bytes <= room);
        self.sizes[direction.place()] = draws;
        if made > DRAWS_UNCOUNTED {
            REJECTED_DRAWS.fetch_add(made, Ordering::Relaxed);
        }
        Some(fitting_size.unwrap_or(least))
    }

    fn split_bytes(&mut self, file: usize, direction: Direction, offset: u64) -> u64 {
        let blocks = self.job.blocks(direction);
        let drawn = self.sizes[direction.place()].draw();
        let greatest = self.sizes[direction.place()].greatest();
        let (mut bytes, mut percent) = (blocks.least, 0);
        for &(size, share) in blocks.split.iter().filter(|(_, share)| *share > 0) {
            bytes = size;
            percent += share;
            let within = drawn / percent <= greatest / 100;
            if within && self.fits(file, offset, size) {
                break;
            }
        }
        let bytes = if self.job.unaligned { bytes } else { bytes - bytes % blocks.least };
        bytes.min(blocks.most)
    }
}

//! Generator of a clone's requests, with the decisions of fio.
//!
//! The generator knows neither time nor the kernel, except for pauses it asks for. Acts around a
//! request, such as opening its file, are returned in order, one [`IoAction`] at a time.

mod drawing;
mod ended;
mod files;
mod mix;
mod place;
mod register;
mod strides;

pub use self::place::rejected_draws;

use std::collections::VecDeque;
use std::sync::Arc;

use crate::language::{Direction, Distribution, Engine, Section};

use super::sizes::{Extent, Extents};
use super::tausworthe::{SeedUse, Seeds, Tausworthe};
use super::verify::WrittenPiece;
use drawing::{BlockSampler, ZetaSums};
use ended::NullQueue;
use files::{FileSelector, FileState};
use mix::DirectionMix;
use place::part_bytes;
use register::ShiftRegister;

/// Request to a file (fio: `io_u`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct IoRequest {
    /// Number of the file within the clone.
    pub(super) file: usize,
    pub(super) direction: Direction,
    pub(super) offset: u64,
    pub(super) bytes: u64,
    /// Written piece that this read verifies.
    pub(super) verifies: Option<WrittenPiece>,
}

/// Next act of a clone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum IoAction {
    /// Opens a file.
    Open(usize),
    /// Closes a file.
    Close(usize),
    /// Drops the job's range of a file from the page cache.
    Forget(usize),
    /// Issues a request.
    Request(IoRequest),
    /// Syncs a file by fsync or fdatasync.
    Sync { file: usize, data_only: bool },
    /// Starts writeback of a range by sync_file_range.
    SyncRange { file: usize, start: u64, bytes: u64 },
    /// No file can be opened now: requests in flight must end first.
    Busy,
    /// Waits for this many microseconds, then asks again.
    Wait(u64),
    /// The pass is complete.
    End,
}

/// Decision on the next turn: data in a direction, a sync, or a wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum DirectionChoice {
    Data(Direction),
    Sync,
    DataSync,
    RangeSync,
    Wait(u64),
}

/// Generator of one clone.
#[derive(Debug)]
pub(super) struct Generator {
    job: Arc<Section>,
    seeds: Seeds,
    files: Vec<FileState>,
    turn: FileSelector,
    mix: DirectionMix,
    blocks: Tausworthe,
    /// Draws the zone of a zoned distribution.
    zones: Option<Tausworthe>,
    sizes: [Tausworthe; 3],
    order: [Tausworthe; 3],
    /// Requests left before the next random offset.
    until_draw: u64,
    pending: VecDeque<IoAction>,
    /// Generator and next due time of each direction, where request times are drawn
    /// (`rate_process=poisson`).
    poisson: Option<Box<[(Tausworthe, u64); 3]>>,
    /// Pauses that no rate catches up with, in microseconds.
    skipped_us: u64,
    /// Bytes moved in the current zone.
    zone_bytes: u64,
    /// True if a sequential offset was computed since the last request. As in the original, the
    /// next request is then not marked in the random map.
    is_unmarked: bool,
    /// Totals issued in all, and in this pass.
    pub(super) issued: IssuedTotals,
    pub(super) last_was_sync: bool,
    ended: Option<NullQueue>,
    /// True if the last completion seen was a sync; only for `libaio`, which syncs at once and
    /// completes other requests later.
    has_seen_sync: bool,
}

/// Issued requests and bytes, by direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct IssuedTotals {
    pub(super) requests: [u64; 3],
    pub(super) bytes: [u64; 3],
    pub(super) bytes_of_pass: u64,
    /// Bytes issued during the ramp time, by direction.
    pub(super) uncounted: [u64; 3],
}

impl IssuedTotals {
    /// Total bytes.
    pub(super) const fn total(&self) -> u64 {
        self.bytes[0] + self.bytes[1] + self.bytes[2]
    }

    /// Total requests.
    pub(super) const fn total_requests(&self) -> u64 {
        self.requests[0] + self.requests[1] + self.requests[2]
    }
}

impl Generator {
    /// Creates the generator; `hashes` are the hashes of the file paths.
    pub(super) fn new(job: Arc<Section>, extents: &Extents, hashes: &[u32], seeds: Seeds) -> Self {
        let mut zeta = ZetaSums::default();
        let mut hashes = hashes.iter();
        let mut file = |extent: &Extent| {
            let blocks = extent.bytes.min(extent.file_bytes).div_ceil(job.least_block());
            let seed = seeds.of_file(hashes.next().copied().unwrap_or(0));
            let drawing = job
                .rw
                .random
                .then(|| BlockSampler::new(&job.draws.distribution, blocks, seed, &mut zeta));
            FileState::new(*extent, drawing.flatten())
        };
        let files = extents.files.iter().map(&mut file).collect();
        let mut generator = Self {
            turn: FileSelector::new(&job, &seeds),
            mix: DirectionMix::new(seeds.generator(SeedUse::DirectionMix)),
            blocks: seeds.generator(SeedUse::Block),
            zones: zones(&job, &seeds),
            sizes: sizes(&job, &seeds),
            order: [seeds.generator(SeedUse::OrderRead); 3],
            until_draw: 1,
            pending: VecDeque::new(),
            poisson: poisson(&job, &seeds),
            skipped_us: 0,
            zone_bytes: 0,
            is_unmarked: false,
            issued: IssuedTotals::default(),
            last_was_sync: false,
            ended: NullQueue::from_job(&job),
            has_seen_sync: false,
            job,
            seeds,
            files,
        };
        generator.begin_registers();
        generator.files.iter_mut().for_each(FileState::reset);
        generator
    }

    /// Creates the shift registers of all files, for `random_generator=lfsr`.
    fn begin_registers(&mut self) {
        if !(self.job.draws.register && self.job.rw.random) {
            return;
        }
        for file in 0..self.files.len() {
            let blocks = part_bytes(&self.job, self.files[file].extent) / self.job.least_block();
            self.files[file].register = ShiftRegister::new(blocks, self.seeds.of_blocks());
        }
    }

    /// Decides on the next act, at `now_us` microseconds after the start.
    pub(super) fn next(&mut self, now_us: u64) -> IoAction {
        match self.pending.pop_front() {
            Some(act) => act,
            None => self.decide(now_us),
        }
    }

    fn decide(&mut self, now_us: u64) -> IoAction {
        loop {
            let file = match self.next_file() {
                Ok(file) => file,
                Err(act) => return self.queue_and_take(act),
            };
            let direction = match self.direction(now_us) {
                DirectionChoice::Data(_) if self.job.rw.is_trim_write() => self.trim_or_write(file),
                DirectionChoice::Data(direction) => direction,
                DirectionChoice::Wait(us) => {
                    self.turn.return_turn();
                    return self.queue_and_take(IoAction::Wait(us));
                }
                choice => {
                    (self.last_was_sync, self.has_seen_sync) = (true, true);
                    self.ended.iter_mut().for_each(|ended| ended.issue(true));
                    let written = self.files[file].written.take();
                    if choice == DirectionChoice::RangeSync {
                        let (start, end) = written.unwrap_or_default();
                        let bytes = end - start;
                        return self.queue_and_take(IoAction::SyncRange { file, start, bytes });
                    }
                    let data_only = choice == DirectionChoice::DataSync;
                    return self.queue_and_take(IoAction::Sync { file, data_only });
                }
            };
            if self.job.extras.strides.bytes > 0 {
                self.enter_zone(file, direction);
            }
            match self.place(file, direction) {
                Some(request) => {
                    self.issue(request);
                    return self.queue_and_take(IoAction::Request(request));
                }
                None => {
                    // The file is complete.
                    self.files[file].open = false;
                    self.pending.push_back(IoAction::Close(file));
                    self.turn.closed(file);
                    // As in the original, each file starts over if files are drawn by a
                    // distribution; a file without space for a request would do so for ever.
                    let is_drawn = self.job.extras.service != Distribution::Even;
                    let begins_anew = is_drawn && self.files[file].has_begun();
                    if !begins_anew {
                        self.files[file].done = true;
                        self.turn.done += 1;
                    }
                }
            }
        }
    }

    /// Queues an action, and takes the first one of the queue.
    fn queue_and_take(&mut self, act: IoAction) -> IoAction {
        match self.pending.pop_front() {
            Some(first) => {
                self.pending.push_back(act);
                first
            }
            None => act,
        }
    }

    #[inline]
    fn issue(&mut self, request: IoRequest) {
        let IoRequest { file, direction, offset, bytes, .. } = request;
        let state = &mut self.files[file];
        state.last_start[direction.place()] = Some(offset);
        state.last_end[direction.place()] = offset + bytes;
        if direction == Direction::Write {
            let (least, most) = state.written.unwrap_or((offset, offset + bytes));
            state.written = Some((least.min(offset), most.max(offset + bytes)));
        }
        self.issued.requests[direction.place()] += 1;
        self.issued.bytes[direction.place()] += bytes;
        self.issued.bytes_of_pass += bytes;
        self.zone_bytes += bytes;
        if self.poisson.is_some() {
            self.draw_time(direction);
        }
        self.last_was_sync = false;
        if let Some(ended) = &mut self.ended {
            ended.issue(false);
        }
        self.is_unmarked = false;
    }

    /// Resets rates, the mix and request numbers at the end of the ramp time, from when on times
    /// count anew. The bytes still count towards the end.
    pub(super) fn count_anew(&mut self) {
        for (_, due_us) in self.poisson.iter_mut().flat_map(|times| times.iter_mut()) {
            *due_us = 0;
        }
        self.skipped_us = 0;
        self.issued.requests = [0; 3];
        self.issued.uncounted = self.issued.bytes;
        self.last_was_sync = false;
        self.mix.begin_anew();
    }

    /// True if the last completed request was a sync.
    pub(super) fn has_synced(&self) -> bool {
        match &self.ended {
            Some(ended) => ended.was_sync(),
            None if self.job.engine == Engine::Libaio => self.has_seen_sync,
            None => self.last_was_sync,
        }
    }

    /// Moves the due times of all later rate-limited requests by a pause of the job.
    pub(super) fn skip_pause(&mut self, us: u64) {
        self.skipped_us = self.skipped_us.saturating_add(us);
    }

    /// Notes the completion of a request, for jobs with several in flight.
    pub(super) fn has_ended(&mut self) {
        self.has_seen_sync = false;
    }

    /// True if decided acts are not taken yet.
    #[inline]
    pub(super) fn is_pending(&self) -> bool {
        !self.pending.is_empty()
    }

    /// Begins another pass with all files closed; repeatable runs draw the same numbers again.
    pub(super) fn begin_pass(&mut self) {
        self.pending.clear();
        (self.last_was_sync, self.has_seen_sync) = (false, false);
        self.ended.iter_mut().for_each(NullQueue::clear);
        self.issued.bytes_of_pass = 0;
        self.turn.restart();
        self.zone_bytes = 0;
        for file in &mut self.files {
            (file.open, file.done) = (false, false);
            // As in the original, appended data lies before the range of the next pass, which has
            // no space left.
            file.start = file.extent.later_offset;
            file.reset();
        }
        // As in the original, draws continue if the job sets a seed.
        if self.job.draws.repeatable && !self.job.sets("randseed") {
            self.turn.reseed(&self.job, &self.seeds);
            self.mix.reseed(self.seeds.generator(SeedUse::DirectionMix));
            self.blocks = self.seeds.generator(SeedUse::Block);
            self.zones = zones(&self.job, &self.seeds);
            self.sizes = sizes(&self.job, &self.seeds);
            self.order = [self.seeds.generator(SeedUse::OrderRead); 3];
        }
    }
}

/// Generators of the sizes. Where writes are verified by reads, or follow trims, those directions
/// draw the same sequence.
fn sizes(job: &Section, seeds: &Seeds) -> [Tausworthe; 3] {
    let writes =
        if job.extras.verify.kind.is_some() { SeedUse::ReadSize } else { SeedUse::WriteSize };
    let trims = if job.rw.is_trim_write() { writes } else { SeedUse::TrimSize };
    [SeedUse::ReadSize, writes, trims].map(|of| seeds.generator(of))
}

fn poisson(job: &Section, seeds: &Seeds) -> Option<Box<[(Tausworthe, u64); 3]>> {
    let uses = [SeedUse::PoissonRead, SeedUse::PoissonWrite, SeedUse::PoissonTrim];
    job.extras.is_poisson.then(|| Box::new(uses.map(|of| (seeds.generator(of), 0))))
}

fn zones(job: &Section, seeds: &Seeds) -> Option<Tausworthe> {
    let has_parts =
        matches!(job.draws.distribution, Distribution::Zoned(_) | Distribution::ZonedAbs(_));
    has_parts.then(|| seeds.generator(SeedUse::Zone))
}

#[cfg(test)]
mod tests;

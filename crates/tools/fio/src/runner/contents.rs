//! Contents of requests that the job determines: blocks to be verified, and patterns. Also
//! schedules the reads that verify them.

use crate::language::{
    Direction, Distribution, Engine, Pattern, Redundancy, Section, VerifyKind, Warning,
};
use treering_script::Buffers;

use super::super::generator::{IoAction, IoRequest};
use super::super::tally::VerifyError;
use super::super::tausworthe::{SeedUse, Tausworthe};
use super::super::verify::{
    BlockLayout, ExpectedBlock, FileRange, History, RangesInFlight, ReadBackOrder, WrittenPiece,
    random,
};
use super::super::worker::Worker;
use super::slots::FileSlots;

/// Buffer of requests without a tag.
pub(super) const UNTAGGED: u16 = 0;
/// Maximum number of verification errors that are kept; further ones are only counted.
const COMPLAINTS_MAX: usize = 64;

/// Contents of a clone's requests.
#[derive(Debug)]
pub(super) struct Contents {
    pub(super) buffers: Buffers,
    block: Option<BlockLayout>,
    pattern: Option<Pattern>,
    /// True if other data is random and not zeros.
    is_random: bool,
    content: Redundancy,
    /// Seeds of buffers that may be repeated.
    seeds: Vec<u64>,
    repeats: Tausworthe,
    draws: Tausworthe,
    history: History,
    /// True if writes are remembered for verification.
    remembers: bool,
    /// True if the job's own reads are verified: it writes nothing.
    verifies_reads: bool,
    /// True if the seeds, and the write numbers, can be predicted.
    predicts: [bool; 2],
    /// Writes in flight and, if writes may overlap, reads that verify.
    in_flight: RangesInFlight,
    /// Piece to be read back once its file is open.
    opening: Option<WrittenPiece>,
    /// True while written data is being read back.
    pub(super) reads_back: bool,
    backlog: [u64; 2],
    batch: u64,
    last_was_read: bool,
    complaints: Vec<VerifyError>,
}

impl Contents {
    /// Creates the contents; `None` if the default payload suffices.
    pub(super) fn for_worker(worker: &Worker, classic: bool) -> Option<Box<Self>> {
        let job = &worker.job;
        let verify = &job.extras.verify;
        let large =
            Direction::ALL.iter().any(|direction| job.blocks(*direction).most > PAYLOAD_BYTES_MAX);
        let plain = verify.kind.is_none() && job.extras.buffer_pattern.is_none() && !large;
        let plain = plain && job.extras.content == Redundancy::default();
        let can = job.engine.moves_data() || job.engine == Engine::Null;
        if plain || !can {
            return None;
        }
        let thread = worker.seeds.clone_number();
        let shared = job.extras.warnings.contains(&Warning::Writers);
        let block = verify.kind.map(|kind| {
            BlockLayout::new(kind, verify, job.unaligned, thread).shared_by_others(shared)
        });
        let fixed = job.blocks(Direction::Write).least == job.blocks(Direction::Write).most
            && job.blocks(Direction::Read).least == job.blocks(Direction::Write).least;
        let mixed_alone = job.rw.is_mixed() && verify.backlog == 0;
        Some(Box::new(Self {
            buffers: Buffers::default(),
            block: block.filter(|block| block.kind != VerifyKind::Null && job.engine.moves_data()),
            pattern: job.extras.buffer_pattern.clone(),
            is_random: !classic,
            content: job.extras.content,
            seeds: Vec::new(),
            repeats: worker.seeds.generator(SeedUse::Repeat),
            draws: worker.seeds.generator(SeedUse::Verify),
            history: History::new(read_back_order(job)),
            remembers: verify.reads_again && job.rw.writes && verify.kind.is_some(),
            verifies_reads: !job.rw.writes,
            predicts: [mixed_alone, fixed && !job.time_based && !verify.only],
            in_flight: RangesInFlight::default(),
            opening: None,
            reads_back: false,
            backlog: [verify.backlog, verify.batch],
            batch: 0,
            last_was_read: false,
            complaints: Vec::new(),
        }))
    }

    /// True if written data of this pass remains to be read back.
    pub(super) fn must_read_back(&self) -> bool {
        self.remembers && (self.opening.is_some() || self.history.len() > 0)
    }

    /// Next action of reading back, if written data is or must now be read back. `is_pending` if
    /// the generator has actions around a request left.
    pub(super) fn next_action(&mut self, slots: &FileSlots, is_pending: bool) -> Option<IoAction> {
        if !self.reads_back && is_pending {
            return None;
        }
        let Some(piece) = self.due() else {
            return self.reads_back.then_some(IoAction::End);
        };
        let WrittenPiece { file, offset, bytes, .. } = piece;
        if !slots.is_open(file) {
            self.opening = Some(piece);
            return Some(IoAction::Open(file));
        }
        let direction = Direction::Read;
        Some(IoAction::Request(IoRequest { file, direction, offset, bytes, verifies: Some(piece) }))
    }

    /// Forgets all earlier writes.
    pub(super) fn forget(&mut self) {
        self.history.clear();
        self.in_flight.clear();
        (self.opening, self.batch) = (None, 0);
    }

    /// Returns a fresh seed or, by the deduplication percentage, an earlier one.
    fn repeated(&mut self, fresh: u64) -> u64 {
        let Redundancy { alike, among, .. } = self.content;
        let again = !self.seeds.is_empty() && self.repeats.percent() <= alike;
        if again {
            let place = self.repeats.below(self.seeds.len() as u64);
            let seed = usize::try_from(place).ok().and_then(|at| self.seeds.get(at));
            return seed.copied().unwrap_or(fresh);
        }
        // The last buffer is repeated, or one of a working set of a hundred for each percent.
        let most = if among == 0 { 1 } else { usize::try_from(among * 100).unwrap_or(1) };
        if self.seeds.len() < most {
            self.seeds.push(fresh);
        } else if among == 0 {
            self.seeds[0] = fresh;
        }
        fresh
    }

    /// Fills the buffer of a write, and remembers it for verification.
    pub(super) fn fill(&mut self, tag: u16, request: IoRequest, number: u64, now_ns: u64) {
        let IoRequest { file, offset, bytes, .. } = request;
        self.last_was_read = request.direction == Direction::Read;
        if self.is_guarded(&request) {
            self.in_flight.begin(range_of(&request));
        }
        if request.direction != Direction::Write {
            return;
        }
        let [low, high, ..] = number.to_le_bytes();
        let number = u16::from_le_bytes([low, high]);
        let (first, second) = (self.draws.draw(), self.draws.draw());
        let seed = first.wrapping_mul(second);
        let is_part = self.content != Redundancy::default() && self.block.is_none();
        let content_seed = if is_part { self.repeated(seed) } else { seed };
        let mut buffers = self.buffers.open();
        let into = buffers.get(tag, usize::try_from(bytes).unwrap_or(0));
        match (&self.block, &self.pattern) {
            (Some(block), _) => {
                let expected = ExpectedBlock { offset, seed: Some(seed), number: Some(number) };
                block.fill(&expected, now_ns, into);
            }
            (None, Some(pattern)) => pattern.fill(offset, into),
            (None, None) if is_part => partly_random(&self.content, content_seed, into),
            (None, None) if self.is_random => random(seed, into),
            (None, None) => {}
        }
        drop(buffers);
        if self.remembers {
            self.history.add(WrittenPiece { file, offset, bytes, seed, number });
        }
    }

    /// True if no later write may overlap this request while it is in flight.
    fn is_guarded(&self, request: &IoRequest) -> bool {
        match request.direction {
            Direction::Write => self.block.is_some(),
            Direction::Read => request.verifies.is_some() && self.history.may_overlap(),
            Direction::Trim => false,
        }
    }

    /// True if this is a write to a place that a request in flight writes or verifies: which of
    /// them comes last would be up to the kernel.
    pub(super) fn must_wait(&self, request: &IoRequest) -> bool {
        let is_guarded_write = request.direction == Direction::Write && self.block.is_some();
        is_guarded_write
            && self.history.may_overlap()
            && self.in_flight.overlaps(&range_of(request))
    }

    /// Ends a failed request; a failed write is not read back.
    pub(super) fn failed(&mut self, request: IoRequest) {
        self.ended(request);
        if request.direction == Direction::Write {
            self.history.remove(request.file, request.offset);
        }
    }

    /// Ends a request.
    fn ended(&mut self, request: IoRequest) {
        if self.is_guarded(&request) {
            self.in_flight.end(range_of(&request));
        }
    }

    /// Ends a request whose data is verified if it is a read; false if the data is wrong.
    #[cold]
    pub(super) fn verify(
        &mut self,
        tag: u16,
        request: IoRequest,
        bytes: u64,
        worker: &Worker,
    ) -> bool {
        self.ended(request);
        if request.direction != Direction::Read {
            return true;
        }
        let name = worker.spelled_file(request.file);
        let Some(complaint) = self.complaint(tag, request, bytes, &name) else { return true };
        if self.complaints.len() < COMPLAINTS_MAX {
            self.complaints.push(complaint);
        }
        false
    }

    /// Verifies the data of a read; returns the error, if any.
    fn complaint(
        &mut self,
        tag: u16,
        request: IoRequest,
        bytes: u64,
        file: &str,
    ) -> Option<VerifyError> {
        let block = self.block.as_ref()?;
        if request.verifies.is_none() && !self.verifies_reads {
            return None;
        }
        let piece = request.verifies;
        let seed = piece.map(|piece| piece.seed).filter(|_| self.predicts[0]);
        let number = piece.map(|piece| piece.number).filter(|_| self.predicts[1]);
        let expected = ExpectedBlock { offset: request.offset, seed, number };
        let mut buffers = self.buffers.open();
        let whole = usize::try_from(request.bytes).unwrap_or(0);
        let read = buffers.get(tag, whole);
        read[usize::try_from(bytes).unwrap_or(whole).min(whole)..].fill(0);
        let fault = block.look(&expected, file, read).err()?;
        let dumps = fault.received.map(|(at, received)| {
            let mut expected_bytes = vec![0; whole];
            let seed = piece.map_or_else(|| BlockLayout::seed_of(&received), |piece| piece.seed);
            let seed = Some(seed);
            block.fill(&ExpectedBlock { seed, ..expected }, 0, &mut expected_bytes);
            let from = usize::try_from(at - expected.offset).unwrap_or(0);
            expected_bytes.drain(..from.min(whole));
            expected_bytes.truncate(received.len());
            (at, received, expected_bytes)
        });
        Some(VerifyError { text: fault.text, file: request.file as u64, dumps })
    }

    /// Next piece that is due to be read back: all at the end, before that as the backlog demands.
    fn due(&mut self) -> Option<WrittenPiece> {
        if let Some(piece) = self.opening.take() {
            return Some(piece);
        }
        if self.reads_back {
            return self.history.take();
        }
        let [backlog, batch] = self.backlog;
        if backlog == 0 || self.history.len() == 0 {
            return None;
        }
        if self.batch == 0 {
            let is_due = self.history.len().is_multiple_of(backlog) && !self.last_was_read;
            if !is_due {
                return None;
            }
            self.batch = if batch == 0 { backlog } else { batch };
        }
        let WrittenPiece { file, offset, bytes, .. } = *self.history.first()?;
        if self.in_flight.overlaps(&FileRange { file, offset, bytes }) {
            return None;
        }
        self.batch -= 1;
        self.history.take()
    }

    /// Takes the verification errors.
    pub(super) fn take_complaints(&mut self) -> Vec<VerifyError> {
        std::mem::take(&mut self.complaints)
    }
}

fn range_of(request: &IoRequest) -> FileRange {
    let IoRequest { file, offset, bytes, .. } = *request;
    FileRange { file, offset, bytes }
}

/// Order in which the writes of a job are read back. A random map keeps writes apart only if every
/// offset is drawn from it, once, and all requests have one size.
fn read_back_order(job: &Section) -> ReadBackOrder {
    if !(job.rw.random && job.draws.random_map) {
        return ReadBackOrder::Offset;
    }
    let size = job.blocks(Direction::Write).least;
    let is_fixed = [Direction::Read, Direction::Write].iter().all(|direction| {
        let blocks = job.blocks(*direction);
        (blocks.least, blocks.most) == (size, size)
    });
    let is_drawn = job.sequence <= 1 && job.draws.percent_random == [100; 3];
    let restarts = job.is_timed()
        || job.extras.strides.bytes > 0
        || job.extras.service != Distribution::Even
        || job.extras.replay.is_some();
    let is_apart = is_fixed && is_drawn && !job.unaligned && !job.rw.trims && !restarts;
    if is_apart { ReadBackOrder::Written } else { ReadBackOrder::LastWritten }
}

/// Fills with random bytes, and zeros at the end of each part.
fn partly_random(content: &Redundancy, seed: u64, into: &mut [u8]) {
    let part = usize::try_from(content.part).unwrap_or(0);
    let part = if part == 0 { into.len() } else { part };
    random(seed, into);
    for bytes in into.chunks_mut(part.max(1)) {
        let random_bytes = bytes.len() as u64 * (100 - content.zeros) / 100;
        bytes[usize::try_from(random_bytes).unwrap_or(0)..].fill(0);
    }
}

/// Largest request whose data comes from the payload.
const PAYLOAD_BYTES_MAX: u64 = 4 << 20;

//! Contents of requests that the job determines: blocks to be verified, and patterns. Also
//! schedules the reads that verify them.

use crate::language::{Direction, Engine, Pattern, Redundancy, VerifyKind};
use treering_script::Buffers;

use super::super::generator::{Act, IoRequest};
use super::super::tally::Complaint;
use super::super::tausworthe::{Tausworthe, Use};
use super::super::verify::{Block, Expected, History, Piece, random};
use super::super::worker::Worker;
use super::Runner;

/// Errno of a block that failed verification (`EILSEQ`).
pub(super) const WRONG: i32 = 84;
/// Buffer of requests without a tag.
pub(super) const UNTAGGED: u16 = 0;
/// Most verification errors that are kept; further ones are only counted.
const COMPLAINTS_MAX: usize = 64;

/// Contents of a clone's requests.
#[derive(Debug)]
pub(super) struct Contents {
    pub(super) buffers: Buffers,
    block: Option<Block>,
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
    looks: bool,
    /// True if the seeds, and the write numbers, can be predicted.
    knows: [bool; 2],
    /// Offsets of writes in flight, by file.
    under_way: Vec<(usize, u64)>,
    /// Piece to be read back once its file is open.
    waiting: Option<Piece>,
    /// True while written data is being read back.
    pub(super) reads_again: bool,
    backlog: [u64; 2],
    batch: u64,
    last_was_read: bool,
    complaints: Vec<Complaint>,
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
        let block = verify.kind.map(|kind| Block::new(kind, verify, job.unaligned, thread));
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
            repeats: worker.seeds.generator(Use::Repeat),
            draws: worker.seeds.generator(Use::Verify),
            history: History::new(!(job.rw.random && job.draws.random_map)),
            remembers: verify.reads_again && job.rw.writes && verify.kind.is_some(),
            looks: !job.rw.writes,
            knows: [mixed_alone, fixed && !job.time_based && !verify.only],
            under_way: Vec::new(),
            waiting: None,
            reads_again: false,
            backlog: [verify.backlog, verify.batch],
            batch: 0,
            last_was_read: false,
            complaints: Vec::new(),
        }))
    }

    /// True if written data remains to be read back.
    pub(super) fn has_more(&self) -> bool {
        self.waiting.is_some() || self.history.len() > 0
    }

    /// Forgets all earlier writes.
    pub(super) fn forget(&mut self) {
        self.history.clear();
        self.under_way.clear();
        (self.waiting, self.batch) = (None, 0);
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
    fn fill(&mut self, tag: u16, request: IoRequest, number: u64, now_ns: u64) {
        let IoRequest { file, offset, bytes, .. } = request;
        self.last_was_read = request.direction == Direction::Read;
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
                let expected = Expected { offset, seed: Some(seed), number: Some(number) };
                block.fill(&expected, now_ns, into);
            }
            (None, Some(pattern)) => pattern.fill(offset, into),
            (None, None) if is_part => partly_random(&self.content, content_seed, into),
            (None, None) if self.is_random => random(seed, into),
            (None, None) => {}
        }
        drop(buffers);
        if self.remembers {
            self.history.add(Piece { file, offset, bytes, seed, number });
            self.under_way.push((file, offset));
        }
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
        if request.direction == Direction::Write {
            let place = (request.file, request.offset);
            if let Some(at) = self.under_way.iter().position(|one| *one == place) {
                self.under_way.swap_remove(at);
            }
        }
    }

    /// Verifies the data of a read; returns the error, if any.
    fn look(&mut self, tag: u16, request: IoRequest, bytes: u64, file: &str) -> Option<Complaint> {
        let block = self.block.as_ref()?;
        if request.again.is_none() && !self.looks {
            return None;
        }
        let piece = request.again;
        let seed = piece.map(|piece| piece.seed).filter(|_| self.knows[0]);
        let number = piece.map(|piece| piece.number).filter(|_| self.knows[1]);
        let expected = Expected { offset: request.offset, seed, number };
        let mut buffers = self.buffers.open();
        let whole = usize::try_from(request.bytes).unwrap_or(0);
        let read = buffers.get(tag, whole);
        read[usize::try_from(bytes).unwrap_or(whole).min(whole)..].fill(0);
        let fault = block.look(&expected, file, read).err()?;
        let dumps = fault.received.map(|(at, received)| {
            let mut expected_bytes = vec![0; whole];
            let seed = piece.map_or_else(|| Block::seed_of(&received), |piece| piece.seed);
            let seed = Some(seed);
            block.fill(&Expected { seed, ..expected }, 0, &mut expected_bytes);
            let from = usize::try_from(at - expected.offset).unwrap_or(0);
            expected_bytes.drain(..from.min(whole));
            expected_bytes.truncate(received.len());
            (at, received, expected_bytes)
        });
        Some(Complaint { text: fault.text, file: request.file as u64, dumps })
    }

    /// Next piece that is due to be read back: all at the end, before that as the backlog demands.
    fn due(&mut self) -> Option<Piece> {
        if let Some(piece) = self.waiting.take() {
            return Some(piece);
        }
        if self.reads_again {
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
        let first = self.history.first()?;
        if self.under_way.contains(&(first.file, first.offset)) {
            return None;
        }
        self.batch -= 1;
        self.history.take()
    }

    /// Takes the verification errors.
    pub(super) fn take_complaints(&mut self) -> Vec<Complaint> {
        std::mem::take(&mut self.complaints)
    }
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

impl Runner {
    /// Next act of reading back, if written data is or must now be read back.
    pub(super) fn act_again(&mut self) -> Option<Act> {
        let contents = self.contents.as_mut()?;
        if !contents.reads_again && self.generator.is_pending() {
            return None;
        }
        let Some(piece) = contents.due() else {
            return contents.reads_again.then_some(Act::End);
        };
        let Piece { file, offset, bytes, .. } = piece;
        if !self.slots.is_open(file) {
            contents.waiting = Some(piece);
            return Some(Act::Open(file));
        }
        Some(Act::Request(IoRequest {
            file,
            direction: Direction::Read,
            offset,
            bytes,
            again: Some(piece),
        }))
    }

    /// Fills the buffer of a request about to be issued.
    #[inline]
    pub(super) fn fill(&mut self, tag: u16, request: IoRequest) {
        if let Some(contents) = &mut self.contents {
            let number = self.generator.issued.requests[Direction::Write.place()].saturating_sub(1);
            contents.fill(tag, request, number, self.clock.now_ns().unwrap_or(0));
        }
    }

    /// Verifies a completed request.
    #[inline]
    pub(super) fn look(&mut self, tag: u16, request: IoRequest, bytes: u64) {
        if self.contents.is_some() {
            self.look_closely(tag, request, bytes);
        }
    }

    #[cold]
    fn look_closely(&mut self, tag: u16, request: IoRequest, bytes: u64) {
        let Some(contents) = &mut self.contents else { return };
        contents.ended(request);
        if request.direction != Direction::Read {
            return;
        }
        let name = self.worker.spelled_file(request.file);
        let Some(complaint) = contents.look(tag, request, bytes, &name) else { return };
        if contents.complaints.len() < COMPLAINTS_MAX {
            contents.complaints.push(complaint);
        }
        self.wrong();
    }

    /// True if the data of this pass must be read back now.
    pub(super) fn must_read_again(&self) -> bool {
        self.contents.as_ref().is_some_and(|contents| contents.remembers && contents.has_more())
            && !self.terminated
    }

    /// True while written data is being read back.
    pub(super) fn is_reading_again(&self) -> bool {
        self.contents.as_ref().is_some_and(|contents| contents.reads_again)
    }
}

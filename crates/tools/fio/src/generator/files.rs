//! Files of a clone: the state of each, and the order in which they are used.

use crate::language::{FileOrder, Section};

use super::super::random_map::RandomMap;
use super::super::sizes::Extent;
use super::super::tausworthe::{SeedUse, Seeds, Tausworthe};
use super::drawing::BlockSampler;
use super::register::ShiftRegister;
use super::{Generator, IoAction};

/// State of a file.
#[derive(Debug)]
pub(super) struct FileState {
    pub(super) extent: Extent,
    /// Start of the current range: that of the job, or of its zone.
    pub(super) start: u64,
    pub(super) open: bool,
    pub(super) done: bool,
    /// Start and end of the last request, by direction.
    pub(super) last_start: [Option<u64>; 3],
    pub(super) last_end: [u64; 3],
    /// Range written since the last sync: start and end.
    pub(super) written: Option<(u64, u64)>,
    /// Random map, created at the first request to the file.
    pub(super) map: Option<RandomMap>,
    /// Distribution of its offsets, unless uniform.
    pub(super) drawing: Option<BlockSampler>,
    /// Shift register for `random_generator=lfsr`.
    pub(super) register: Option<ShiftRegister>,
}

impl FileState {
    pub(super) fn new(extent: Extent, drawing: Option<BlockSampler>) -> Self {
        let last_end = [extent.offset; 3];
        Self {
            extent,
            start: extent.offset,
            open: false,
            done: false,
            last_start: [None; 3],
            last_end,
            written: None,
            map: None,
            drawing,
            register: None,
        }
    }

    /// True if the file has had a request since its last reset.
    pub(super) fn has_begun(&self) -> bool {
        self.last_start.iter().any(Option::is_some)
    }

    /// Starts the file over.
    pub(super) fn reset(&mut self) {
        self.last_start = [None; 3];
        self.last_end = [self.start; 3];
        if let Some(map) = &mut self.map {
            map.reset();
        }
        if let Some(register) = &mut self.register {
            register.reset();
        }
    }
}

/// Choice of the next file (`file_service_type`).
#[derive(Debug)]
pub(super) struct FileSelector {
    service: FileOrder,
    next: usize,
    /// File in use, and the number of requests left before the next file.
    serving: Option<(usize, u64)>,
    draws: Tausworthe,
    /// Distribution of the files, unless uniform.
    drawing: Option<BlockSampler>,
    open: u64,
    /// Number of files that are complete.
    pub(super) done: usize,
}

impl FileSelector {
    pub(super) fn new(job: &Section, seeds: &Seeds) -> Self {
        Self {
            service: job.service,
            next: 0,
            serving: None,
            draws: seeds.generator(SeedUse::File),
            drawing: BlockSampler::of_files(&job.extras.service, job.files, seeds.of_files()),
            open: 0,
            done: 0,
        }
    }

    /// Restarts the random draws from their seeds.
    pub(super) fn reseed(&mut self, job: &Section, seeds: &Seeds) {
        self.draws = seeds.generator(SeedUse::File);
        self.drawing = BlockSampler::of_files(&job.extras.service, job.files, seeds.of_files());
    }

    /// Prepares another pass, in which all files are closed. The next file stays the same.
    pub(super) fn restart(&mut self) {
        (self.serving, self.open, self.done) = (None, 0, 0);
    }

    pub(super) fn closed(&mut self, file: usize) {
        self.open = self.open.saturating_sub(1);
        self.serving = self.serving.filter(|(serving, _)| *serving != file);
    }

    /// Returns a turn that was not used.
    pub(super) fn return_turn(&mut self) {
        if let Some((_, left)) = &mut self.serving {
            *left += 1;
        }
    }
}

impl Generator {
    /// Chooses the file of the next request. If it is not open, the error is the action that must
    /// come first.
    pub(super) fn next_file(&mut self) -> Result<usize, IoAction> {
        if self.turn.done >= self.files.len() {
            return Err(IoAction::End);
        }
        if let Some((file, left)) = &mut self.turn.serving
            && self.files[*file].open
        {
            if self.turn.service == FileOrder::Sequential {
                return Ok(*file);
            }
            if *left > 0 {
                *left -= 1;
                return Ok(*file);
            }
        }
        let file = match self.turn.service {
            FileOrder::Random => self.drawn_file()?,
            FileOrder::RoundRobin | FileOrder::Sequential => self.following_file()?,
        };
        self.turn.serving = Some((file, self.job.service_requests - 1));
        Ok(file)
    }

    fn following_file(&mut self) -> Result<usize, IoAction> {
        for _ in 0..self.files.len() {
            let file = self.turn.next;
            self.turn.next = if file + 1 >= self.files.len() { 0 } else { file + 1 };
            if !self.files[file].done {
                self.opened(file)?;
                return Ok(file);
            }
        }
        Err(IoAction::End)
    }

    fn drawn_file(&mut self) -> Result<usize, IoAction> {
        loop {
            let drawn = match &mut self.turn.drawing {
                Some(drawing) => drawing.draw_file(),
                None => self.turn.draws.below(self.files.len() as u64),
            };
            let file = usize::try_from(drawn).unwrap_or(0);
            if !self.files[file].done {
                self.opened(file)?;
                return Ok(file);
            }
        }
    }

    /// Returns the act that opens the file, unless it is open.
    fn opened(&mut self, file: usize) -> Result<(), IoAction> {
        if self.files[file].open {
            return Ok(());
        }
        if self.turn.open >= self.job.open_files {
            return Err(IoAction::Busy);
        }
        self.turn.open += 1;
        self.files[file].open = true;
        self.files[file].reset();
        self.pending.push_back(IoAction::Open(file));
        Ok(())
    }
}

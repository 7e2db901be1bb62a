//! Random seeks: several seekers take tickets in turn, each an offset to read a chunk at; every
//! tenth is written back.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use treering_model::Counters;
use treering_script::{Io, OpenHow, Script, Stop};

use super::asked::IoShape;
use super::dice::RandomList;
use super::io::FILE;
use super::meter::{TestIrregularity, TestMeter};
use super::shape::{CopyLocation, ExtraFsync};

/// Number of tickets per update, on average.
const UPDATE_EACH: u32 = 10;

/// Tickets of a copy, shared by its seekers.
#[derive(Clone, Debug)]
pub(super) struct SeekTickets {
    dice: RandomList,
    count: u64,
    next: Arc<AtomicU64>,
}

impl SeekTickets {
    /// A number of tickets.
    pub(super) fn new(dice: RandomList, count: u64) -> Self {
        Self { dice, count, next: Arc::default() }
    }

    fn take(&self) -> Option<u32> {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        (number < self.count).then(|| self.dice.at(number))
    }
}

/// Code of one seeker.
#[derive(Debug)]
pub(super) struct SeekScript {
    home: CopyLocation,
    tickets: SeekTickets,
    chunk: u32,
    chunks: u64,
    syncs: bool,
    meter: TestMeter,
}

impl SeekScript {
    /// A seeker that shares these tickets.
    pub(super) fn new(
        home: CopyLocation,
        tickets: SeekTickets,
        io: &IoShape,
        fsync: ExtraFsync,
        all_timed: bool,
    ) -> Self {
        let share = tickets.count / u64::from(io.seekers.max(1));
        Self {
            home,
            tickets,
            chunk: io.chunk,
            chunks: io.bytes / u64::from(io.chunk.max(1)),
            syncs: fsync >= ExtraFsync::Updates,
            meter: TestMeter::new(share, all_timed),
        }
    }

    /// Reads the chunk of a ticket, and for an update writes it back; false after a short read.
    fn seek(&mut self, io: &mut dyn Io, ticket: u32) -> Result<bool, Stop> {
        let position = u64::from(ticket) % self.chunks.max(1) * u64::from(self.chunk);
        io.seek(FILE, position)?;
        self.meter.call(io.timed());
        let read = io.read(FILE, self.chunk)?;
        let is_whole = read >= u64::from(self.chunk);
        if ticket.is_multiple_of(UPDATE_EACH) {
            self.meter.call(io.timed());
            if !is_whole {
                return Ok(false);
            }
            io.seek(FILE, position)?;
            self.meter.call(io.timed());
            io.write(FILE, self.chunk, position)?;
            if self.syncs {
                self.meter.call(io.timed());
                io.fsync(FILE)?;
            }
        }
        self.meter.last(io.timed());
        Ok(is_whole)
    }
}

impl Script for SeekScript {
    fn run(&mut self, io: &mut dyn Io) -> Result<(), Stop> {
        self.home.enter(io)?;
        io.open(self.home.dir(), &self.home.name, OpenHow::ReadWrite, FILE)?;
        let mut is_whole = true;
        while is_whole && let Some(ticket) = self.tickets.take() {
            is_whole = self.seek(io, ticket)?;
        }
        if is_whole {
            io.fsync(FILE)?;
            self.meter.closing(io.timed());
        } else {
            self.meter.trouble = TestIrregularity::ShortRead;
        }
        io.close(FILE)?;
        self.meter.closing(io.timed());
        Ok(())
    }

    fn counters(&mut self) -> Counters {
        self.meter.counters()
    }
}

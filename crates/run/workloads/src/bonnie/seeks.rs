//! The seeks: several seekers take tickets in turn, each a place to read a chunk at; for a tenth of
//! them it is written back.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use treering_script::{Call, OpenHow, Outcome, Step, Steps};

use super::dice::Dice;
use super::io::{FILE, enter};
use super::meter::{Meter, Part, Trouble};
use super::shape::{Fsync, Home, IoShape};

/// One ticket in so many is an update.
const UPDATE_EACH: u32 = 10;

/// The tickets of a copy.
#[derive(Clone, Debug)]
pub(super) struct Tickets {
    dice: Dice,
    count: u64,
    next: Arc<AtomicU64>,
}

impl Tickets {
    /// So many.
    pub(super) fn new(dice: Dice, count: u64) -> Self {
        Self { dice, count, next: Arc::default() }
    }

    fn take(&self) -> Option<u32> {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        (number < self.count).then(|| self.dice.at(number))
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Enter,
    Open,
    Seek,
    Read,
    SeekBack,
    Write,
    FsyncUpdate,
    Close,
    End,
}

/// The script of one seeker.
#[derive(Debug)]
pub(super) struct Seeker {
    home: Home,
    tickets: Tickets,
    chunk: u32,
    chunks: u64,
    syncs: bool,
    stage: Stage,
    position: u64,
    updates: bool,
    meter: Meter,
}

impl Seeker {
    /// One of those that share these tickets.
    pub(super) fn new(
        home: Home,
        tickets: Tickets,
        io: &IoShape,
        fsync: Fsync,
        all_timed: bool,
    ) -> Self {
        let share = tickets.count / u64::from(io.seekers.max(1));
        Self {
            home,
            tickets,
            chunk: io.chunk,
            chunks: io.bytes / u64::from(io.chunk.max(1)),
            syncs: fsync >= Fsync::Updates,
            stage: Stage::Enter,
            position: 0,
            updates: false,
            meter: Meter::new(share, all_timed),
        }
    }

    /// The next ticket's first call, or the end.
    fn seek(&mut self) -> Call<'static> {
        let Some(ticket) = self.tickets.take() else {
            self.meter.step(Part::Closing);
            self.stage = Stage::Close;
            return Call::Fsync { file: FILE };
        };
        self.meter.step(Part::First);
        self.updates = ticket % UPDATE_EACH == 0;
        let chunk = u64::from(ticket) % self.chunks.max(1);
        self.position = chunk * u64::from(self.chunk);
        self.stage = Stage::Read;
        Call::Seek { file: FILE, position: self.position }
    }
}

impl Steps for Seeker {
    fn next<'s>(&'s mut self, last: Outcome<'_>) -> Option<Step<'s>> {
        if let (Outcome::Bytes(bytes), Stage::Seek | Stage::SeekBack) = (&last, self.stage)
            && *bytes < u64::from(self.chunk)
        {
            self.meter.trouble = Trouble::ShortRead;
            self.stage = Stage::Close;
        }
        if self.stage == Stage::Enter {
            self.stage = Stage::Open;
            if self.home.root.is_some() {
                return enter(&self.home);
            }
        }
        let call = match self.stage {
            Stage::Enter | Stage::Open => {
                self.stage = Stage::Seek;
                let (at, path) = (self.home.dir(), self.home.name.as_c_str());
                Call::Open { at, path, how: OpenHow::ReadWrite, into: FILE }
            }
            Stage::Seek => self.seek(),
            Stage::Read => {
                self.meter.step(if self.updates { Part::Middle } else { Part::Last });
                self.stage = if self.updates { Stage::SeekBack } else { Stage::Seek };
                Call::Read { file: FILE, bytes: self.chunk }
            }
            Stage::SeekBack => {
                self.meter.step(Part::Middle);
                self.stage = Stage::Write;
                Call::Seek { file: FILE, position: self.position }
            }
            Stage::Write => {
                self.meter.step(if self.syncs { Part::Middle } else { Part::Last });
                self.stage = if self.syncs { Stage::FsyncUpdate } else { Stage::Seek };
                Call::Write { file: FILE, bytes: self.chunk, position: self.position }
            }
            Stage::FsyncUpdate => {
                self.meter.step(Part::Last);
                self.stage = Stage::Seek;
                Call::Fsync { file: FILE }
            }
            Stage::Close => {
                self.meter.step(Part::Closing);
                self.stage = Stage::End;
                Call::Close { file: FILE }
            }
            Stage::End => return None,
        };
        Some(call.into())
    }

    fn timed(&mut self, began_ns: u64, ended_ns: u64) {
        self.meter.timed(began_ns, ended_ns);
    }

    fn notes(&mut self) -> Vec<u64> {
        self.meter.notes()
    }
}

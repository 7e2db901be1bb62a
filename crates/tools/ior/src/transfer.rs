//! Work of a rank in a test: opens the file, transfers data, closes the file.

use std::ffi::{CStr, CString};
use std::ops::Range;

use treering_kit::packet::PacketPattern;
use treering_model::Counters;
use treering_model::workloads::ior::{TimeSpan, TransferCounts};
use treering_script::{
    Buffers, CreateHow, Deadline, DirSlot, ExpectedErrors, FileSlot, Io, OpenHow, Script, Stop,
};

use super::places::TransferPlaces;
use super::shape::FsyncPolicy;

const FILE: FileSlot = FileSlot(0);
/// The slot of the directory of a native run.
const OWN_DIR: DirSlot = DirSlot(1);
/// The directory of a native run.
pub(super) const OWN_DIRECTORY: &CStr = c"ior-0";

/// File relative to the target, or to the directory of a native run.
#[derive(Clone, Debug)]
pub(super) struct FileLocation {
    pub(super) is_in_own_directory: bool,
    pub(super) name: CString,
}

impl FileLocation {
    /// Opens the file's directory if it is not open, and returns its slot.
    fn directory(&self, io: &mut dyn Io) -> Result<DirSlot, Stop> {
        if !self.is_in_own_directory {
            return Ok(DirSlot::TARGET);
        }
        io.open_dir(DirSlot::TARGET, OWN_DIRECTORY, OWN_DIR)?;
        Ok(OWN_DIR)
    }
}

/// Operation on each transfer of a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TransferOp {
    Write,
    Read,
    /// Reads and compares with the data that this rank wrote.
    Check,
}

/// Data buffer of a rank whose bytes match the original's.
#[derive(Debug)]
pub(super) struct PatternData {
    pub(super) buffers: Buffers,
    pub(super) pattern: PacketPattern,
}

/// A rank's part of a test.
#[derive(Debug)]
pub(super) struct TransferScript {
    pub(super) place: FileLocation,
    pub(super) op: TransferOp,
    pub(super) places: TransferPlaces,
    /// Indices of the transfers to do.
    pub(super) range: Range<u64>,
    pub(super) bytes: u32,
    pub(super) fsync: FsyncPolicy,
    /// Time limit that ends the test early.
    pub(super) wall: Option<Deadline>,
    pub(super) data: Option<PatternData>,
    pub(super) counts: TransferCounts,
    /// Buffer with the expected data of a read.
    pub(super) expected: Vec<u8>,
}

impl TransferScript {
    fn open(&mut self, io: &mut dyn Io) -> Result<(), Stop> {
        let dir = self.place.directory(io)?;
        let name = &self.place.name;
        if self.op == TransferOp::Write {
            io.create(dir, name, CreateHow::OrOpen, FILE)?;
        } else {
            io.open(dir, name, OpenHow::Read, FILE)?;
        }
        self.counts.open = last_call(io);
        Ok(())
    }

    fn transfer(&mut self, io: &mut dyn Io, position: u64) -> Result<(), Stop> {
        let bytes = self.bytes;
        let moved = if self.op == TransferOp::Write {
            self.prepare(io, position)?;
            let moved = if self.data.is_some() {
                io.write(FILE, bytes, position)?
            } else {
                io.write_at(FILE, bytes, position)?
            };
            if self.fsync == FsyncPolicy::AfterEach {
                io.fsync(FILE)?;
            }
            moved
        } else if self.data.is_some() {
            io.seek(FILE, position)?;
            io.read(FILE, bytes)?
        } else {
            io.read_at(FILE, bytes, position)?
        };
        if self.op == TransferOp::Check {
            self.compare(position, moved);
        }
        self.counts.bytes += moved;
        self.counts.transfers += 1;
        Ok(())
    }

    /// Fills the buffer and seeks before a write, as the original does.
    fn prepare(&mut self, io: &mut dyn Io, position: u64) -> Result<(), Stop> {
        let Some(PatternData { buffers, pattern }) = &self.data else { return Ok(()) };
        pattern.update(position, buffers.open().get(0, self.bytes as usize));
        io.seek(FILE, position)
    }

    /// Compares the buffer with the data written at this offset; counts a mismatch.
    fn compare(&mut self, position: u64, read: u64) {
        let Some(PatternData { buffers, pattern }) = &self.data else { return };
        self.expected.resize(self.bytes as usize, 0);
        pattern.fill(&mut self.expected);
        pattern.update(position, &mut self.expected);
        let is_same = *self.expected == *buffers.open().get(0, self.bytes as usize);
        self.counts.wrong += u64::from(!is_same || read < u64::from(self.bytes));
    }

    fn move_all(&mut self, io: &mut dyn Io) -> Result<(), Stop> {
        for transfer in self.range.clone() {
            self.transfer(io, self.places.at(transfer))?;
            if self.wall.as_ref().is_some_and(Deadline::is_reached) {
                self.counts.ended_by_time = transfer + 1 < self.range.end;
                break;
            }
        }
        if self.op == TransferOp::Write && self.fsync == FsyncPolicy::AtEnd {
            io.fsync(FILE)?;
        }
        Ok(())
    }
}

/// Start and end of the last call; the script's start if the call was not timed.
fn last_call(io: &dyn Io) -> TimeSpan {
    let (began_ns, ended_ns) = io.timed().unwrap_or((io.began_ns(), io.began_ns()));
    TimeSpan { began_ns, ended_ns }
}

impl Script for TransferScript {
    fn run(&mut self, io: &mut dyn Io) -> Result<(), Stop> {
        if let Some(PatternData { buffers, pattern }) = &self.data {
            pattern.fill(buffers.open().get(0, self.bytes as usize));
        }
        self.open(io)?;
        let began_ns = self.counts.open.ended_ns;
        self.move_all(io)?;
        let ended_ns = last_call(io).ended_ns.max(began_ns);
        self.counts.moved = TimeSpan { began_ns, ended_ns };
        io.close(FILE)?;
        self.counts.close = last_call(io);
        Ok(())
    }

    fn counters(&mut self) -> Counters {
        Counters::from_value(&self.counts)
    }
}

/// Script that removes a rank's file.
#[derive(Debug)]
pub(super) struct RemoveScript {
    pub(super) place: FileLocation,
}

impl Script for RemoveScript {
    fn run(&mut self, io: &mut dyn Io) -> Result<(), Stop> {
        let dir = self.place.directory(io)?;
        io.unlink(dir, &self.place.name).unless_missing()?;
        Ok(())
    }
}

/// Script that makes or removes the directory of a rank's file.
#[derive(Debug)]
pub(super) struct OwnDirectory {
    pub(super) path: CString,
    pub(super) makes: bool,
}

impl Script for OwnDirectory {
    fn run(&mut self, io: &mut dyn Io) -> Result<(), Stop> {
        if self.makes {
            match io.make_dir(DirSlot::TARGET, &self.path).unless_existing()? {
                Some(()) => Ok(()),
                // Calls by whole paths follow links on the way; this call refuses them.
                None => io.open_dir(DirSlot::TARGET, &self.path, OWN_DIR),
            }
        } else {
            io.remove_dir(DirSlot::TARGET, &self.path)
        }
    }
}

/// Script that waits before a test.
#[derive(Debug)]
pub(super) struct DelayScript {
    pub(super) seconds: u64,
}

impl Script for DelayScript {
    fn run(&mut self, io: &mut dyn Io) -> Result<(), Stop> {
        // Each on its own, so that it can be stopped, and is seen to go on.
        (0..self.seconds).try_for_each(|_second| io.pause(1_000_000_000))
    }
}

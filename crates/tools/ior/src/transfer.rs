//! Work of a rank in a test: opens the file, transfers data, closes the file.

use std::ffi::{CStr, CString};
use std::ops::Range;
use std::sync::atomic::Ordering;

use serde::{Deserialize, Serialize};
use treering_kit::op_times::OpTimes;
use treering_kit::packet::PacketPattern;
use treering_model::Counters;
use treering_model::workloads::ior::{TimeSpan, TransferCounts};
use treering_script::{
    Buffers, CounterBoard, CreateHow, Deadline, DirSlot, Errno, ExpectedErrors, FileSlot, Io,
    OpenHow, Script, Stop,
};

use super::places::TransferPlaces;
use super::shape::{IoInterface, SyncMoments};

const FILE: FileSlot = FileSlot(0);
/// The slot of the directory of a native run.
const OWN_DIR: DirSlot = DirSlot(1);
/// Time between two looks at a barrier.
const BARRIER_POLL_NS: u64 = 20_000;
/// The directory of a native run.
pub(super) const OWN_DIRECTORY: &CStr = c"ior-0";

/// File relative to the target, to another root, or to the directory of a native run.
#[derive(Clone, Debug)]
pub(super) struct FileLocation {
    pub(super) is_in_own_directory: bool,
    /// Root of the file, if that is not the target of the rank.
    pub(super) root: Option<u16>,
    pub(super) name: CString,
}

impl FileLocation {
    /// Opens the file's directory if it is not open, and returns its slot.
    fn directory(&self, io: &mut dyn Io) -> Result<DirSlot, Stop> {
        if let Some(root) = self.root {
            io.open_root(root, OWN_DIR)?;
            return Ok(OWN_DIR);
        }
        if !self.is_in_own_directory {
            return Ok(DirSlot::TARGET);
        }
        io.open_dir(DirSlot::TARGET, OWN_DIRECTORY, OWN_DIR)?;
        Ok(OWN_DIR)
    }
}

/// Barrier at which the ranks of a group wait for one another, on one machine.
#[derive(Clone, Debug)]
pub(super) struct RankBarrier {
    board: CounterBoard,
    ranks: u64,
}

impl RankBarrier {
    /// Barrier of so many ranks.
    pub(super) fn new(ranks: u16) -> Self {
        Self { board: CounterBoard::default(), ranks: ranks.into() }
    }

    /// Waits at the barrier of this number until all ranks have come.
    fn pass(&self, io: &mut dyn Io, number: usize) -> Result<(), Stop> {
        let arrived = self.board.cell(number);
        arrived.fetch_add(1, Ordering::AcqRel);
        while arrived.load(Ordering::Acquire) < self.ranks {
            io.pause(BARRIER_POLL_NS)?;
            if io.timed().is_none() {
                // Without a clock the calls are only told, one rank after the other.
                break;
            }
        }
        Ok(())
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

/// Calls by which a rank reaches its file, and what they need.
#[derive(Debug)]
pub(super) struct AccessMethod {
    pub(super) interface: IoInterface,
    /// Bytes of the files of all ranks, which a mapping has.
    pub(super) mapped_bytes: u64,
    /// The file is this rank's own.
    pub(super) is_own: bool,
    pub(super) barrier: Option<RankBarrier>,
    /// Time for which transfers begin again.
    pub(super) least_ns: u64,
}

/// A rank's part of a test.
#[derive(Debug)]
pub(super) struct TransferScript {
    pub(super) place: FileLocation,
    pub(super) op: TransferOp,
    pub(super) places: TransferPlaces,
    /// Indices of the transfers to do.
    pub(super) range: Range<u64>,
    /// Transfers of the whole test, after which they begin again.
    pub(super) all: u64,
    pub(super) access: AccessMethod,
    pub(super) bytes: u32,
    pub(super) fsync: SyncMoments,
    /// Time limit that ends the test early.
    pub(super) wall: Option<Deadline>,
    pub(super) data: Option<PatternData>,
    /// Times of all transfers, if they are kept.
    pub(super) times: Option<OpTimes>,
    pub(super) counts: TransferCounts,
    /// Buffer with the expected data of a read.
    pub(super) expected: Vec<u8>,
}

impl TransferScript {
    fn open(&mut self, io: &mut dyn Io) -> Result<(), Stop> {
        let interface = self.access.interface;
        if interface == IoInterface::Dummy {
            io.pause(0)?;
            self.counts.open = last_call(io);
            return Ok(());
        }
        let dir = self.place.directory(io)?;
        let name = &self.place.name;
        if self.places.needs_size() {
            let bytes = io.size(dir, name)?;
            if !self.places.set_size(bytes) {
                return Err(Stop::Failed(Errno::INVAL.into()));
            }
        }
        let writes = self.op == TransferOp::Write;
        if writes {
            io.create(dir, name, CreateHow::OrOpen, FILE)?;
        } else {
            io.open(dir, name, OpenHow::Read, FILE)?;
        }
        self.counts.open = last_call(io);
        match interface {
            IoInterface::Mmap => {
                let bytes = self.access.mapped_bytes;
                if writes {
                    io.truncate(FILE, bytes)?;
                }
                io.map(FILE, bytes, writes, self.places.is_random())?;
            }
            // Of a file that all have, nothing is left before the first rank opens it.
            IoInterface::Mpiio if writes && self.access.is_own => io.truncate(FILE, 0)?,
            _ => return Ok(()),
        }
        self.counts.open.ended_ns = last_call(io).ended_ns;
        Ok(())
    }

    fn transfer(&mut self, io: &mut dyn Io, position: u64) -> Result<(), Stop> {
        let moved = if self.op == TransferOp::Write {
            self.write(io, position)?
        } else {
            self.read(io, position)?
        };
        if self.op == TransferOp::Check && self.access.interface != IoInterface::Dummy {
            self.compare(position, moved);
        }
        if let (Some(times), Some((began_ns, ended_ns))) = (&mut self.times, io.timed()) {
            times.add(began_ns, ended_ns);
        }
        self.counts.bytes += moved;
        self.counts.transfers += 1;
        Ok(())
    }

    fn write(&mut self, io: &mut dyn Io, position: u64) -> Result<u64, Stop> {
        let bytes = self.bytes;
        if let Some(PatternData { buffers, pattern }) = &self.data {
            pattern.update(position, buffers.open().get(0, bytes as usize));
        }
        let syncs = self.fsync.after_each;
        match self.access.interface {
            IoInterface::Dummy => Ok(bytes.into()),
            IoInterface::Mmap => {
                let moved = io.write_mapped(FILE, bytes, position)?;
                if syncs {
                    io.sync_mapped(FILE)?;
                    io.sync_mapped(FILE)?;
                }
                Ok(moved)
            }
            IoInterface::Posix if self.data.is_some() => {
                io.seek(FILE, position)?;
                let moved = io.write(FILE, bytes, position)?;
                if syncs {
                    // The original syncs in its interface, and once more behind it.
                    io.fsync(FILE)?;
                    io.fsync(FILE)?;
                }
                Ok(moved)
            }
            IoInterface::Posix | IoInterface::Mpiio => {
                let moved = io.write_at(FILE, bytes, position)?;
                if syncs {
                    io.fsync(FILE)?;
                }
                Ok(moved)
            }
        }
    }

    fn read(&mut self, io: &mut dyn Io, position: u64) -> Result<u64, Stop> {
        let bytes = self.bytes;
        match self.access.interface {
            IoInterface::Dummy => Ok(bytes.into()),
            IoInterface::Mmap => io.read_mapped(FILE, bytes, position),
            IoInterface::Posix if self.data.is_some() => {
                io.seek(FILE, position)?;
                io.read(FILE, bytes)
            }
            IoInterface::Posix | IoInterface::Mpiio => io.read_at(FILE, bytes, position),
        }
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

    /// Does all transfers, and begins again with the first one until the least time is over.
    fn move_all(&mut self, io: &mut dyn Io, began_ns: u64) -> Result<(), Stop> {
        loop {
            for transfer in self.range.clone() {
                let position = self.places.at(transfer % self.all.max(1));
                self.transfer(io, position)?;
                if self.wall.as_ref().is_some_and(Deadline::is_reached) {
                    self.counts.ended_by_time = transfer + 1 < self.range.end;
                    return self.end_moving(io);
                }
            }
            let is_over = |(_, ended_ns): (u64, u64)| ended_ns >= began_ns + self.access.least_ns;
            if self.range.is_empty() || io.timed().is_none_or(is_over) {
                return self.end_moving(io);
            }
        }
    }

    fn end_moving(&mut self, io: &mut dyn Io) -> Result<(), Stop> {
        let syncs = self.op == TransferOp::Write && self.fsync.at_end;
        match self.access.interface {
            IoInterface::Dummy => io.pause(0),
            IoInterface::Mmap if syncs => io.sync_mapped(FILE),
            _ if syncs => io.fsync(FILE),
            _ => Ok(()),
        }
    }

    fn close(&mut self, io: &mut dyn Io) -> Result<(), Stop> {
        if self.access.interface == IoInterface::Dummy { io.pause(0) } else { io.close(FILE) }
    }

    /// Waits for the other ranks, if ranks wait for one another.
    fn meet(&self, io: &mut dyn Io, number: usize) -> Result<(), Stop> {
        self.access.barrier.as_ref().map_or(Ok(()), |barrier| barrier.pass(io, number))
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
        self.meet(io, 0)?;
        let began_ns = last_call(io).ended_ns.max(self.counts.open.ended_ns);
        self.move_all(io, began_ns)?;
        let ended_ns = last_call(io).ended_ns.max(began_ns);
        self.counts.moved = TimeSpan { began_ns, ended_ns };
        self.meet(io, 1)?;
        self.close(io)?;
        self.counts.close = last_call(io);
        Ok(())
    }

    fn counters(&mut self) -> Counters {
        let times = self.times.take().unwrap_or_default();
        Counters::from_value(&self.counts).with_bulk(times.into_numbers())
    }
}

/// Answer to the question whether a file is there before a test.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct FilePresence {
    pub(super) is_there: bool,
}

/// Script that looks for a rank's file.
#[derive(Debug)]
pub(super) struct LookScript {
    pub(super) place: FileLocation,
    pub(super) presence: FilePresence,
}

impl Script for LookScript {
    fn run(&mut self, io: &mut dyn Io) -> Result<(), Stop> {
        let dir = self.place.directory(io)?;
        self.presence.is_there = io.stat(dir, &self.place.name).unless_missing()?.is_some();
        Ok(())
    }

    fn counters(&mut self) -> Counters {
        Counters::from_value(&self.presence)
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
    /// The directory is made with mode 0700, as the original makes those of `-u`.
    pub(super) is_private: bool,
}

impl Script for OwnDirectory {
    fn run(&mut self, io: &mut dyn Io) -> Result<(), Stop> {
        if self.makes {
            let made = if self.is_private {
                io.make_private_dir(DirSlot::TARGET, &self.path)
            } else {
                io.make_dir(DirSlot::TARGET, &self.path)
            };
            match made.unless_existing()? {
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

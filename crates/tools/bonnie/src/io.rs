//! Tests on the large file except the seeks: write, rewrite and read, byte by byte or in chunks.

use treering_model::Counters;
use treering_script::{CreateHow, FileSlot, Io, OpenHow, Script, Stop};

use super::asked::IoShape;
use super::meter::{TestIrregularity, TestMeter};
use super::shape::{CopyLocation, ExtraFsync};
use super::test::Test;

pub(super) const FILE: FileSlot = FileSlot(0);

/// Code of one copy.
#[derive(Debug)]
pub(super) struct IoScript {
    home: CopyLocation,
    test: Test,
    /// Total size in bytes; `chunk` is the size of a loop body.
    bytes: u64,
    chunk: u32,
    syncs_each: bool,
    meter: TestMeter,
}

impl IoScript {
    /// Code of one of the five tests.
    pub(super) fn new(
        home: CopyLocation,
        test: Test,
        io: &IoShape,
        fsync: ExtraFsync,
        all_timed: bool,
    ) -> Self {
        let bytes = if test.is_per_char() { io.char_bytes } else { io.bytes };
        let writes = matches!(test, Test::BlockWrite | Test::Rewrite);
        Self {
            home,
            test,
            bytes,
            chunk: io.chunk,
            syncs_each: fsync == ExtraFsync::Each && writes,
            meter: TestMeter::new(bytes / u64::from(io.chunk.max(1)), all_timed),
        }
    }

    /// Executes one loop body of `bytes`; false after a short read.
    fn body(&mut self, io: &mut dyn Io, position: u64, bytes: u32) -> Result<bool, Stop> {
        let moved = match self.test {
            Test::CharWrite => io.write_each(FILE, bytes, position)?,
            Test::CharRead => io.read_each(FILE, bytes)?,
            Test::BlockRead => io.read(FILE, bytes)?,
            Test::Rewrite => {
                let read = io.read(FILE, bytes)?;
                self.meter.call(io.timed());
                if read < u64::from(bytes) {
                    return Ok(false);
                }
                io.seek(FILE, position)?;
                self.meter.call(io.timed());
                io.write(FILE, bytes, position)?
            }
            _ => io.write(FILE, bytes, position)?,
        };
        if self.syncs_each {
            self.meter.call(io.timed());
            io.fsync(FILE)?;
        }
        self.meter.last(io.timed());
        Ok(moved >= u64::from(bytes))
    }
}

impl Script for IoScript {
    fn run(&mut self, io: &mut dyn Io) -> Result<(), Stop> {
        self.home.enter(io)?;
        let (at, path) = (self.home.dir(), self.home.name.as_c_str());
        match self.test {
            Test::CharWrite | Test::BlockWrite => {
                io.create(at, path, CreateHow::ExclusiveToRead, FILE)?;
            }
            _ => io.open(at, path, OpenHow::ReadWrite, FILE)?,
        }
        if matches!(self.test, Test::Rewrite | Test::BlockRead) {
            // The original seeks to the start, where the offset is already.
            io.seek(FILE, 0)?;
        }
        let mut position = 0;
        while position < self.bytes {
            let bytes = piece(self.bytes - position, self.chunk);
            if !self.body(io, position, bytes)? {
                self.meter.trouble = TestIrregularity::ShortRead;
                break;
            }
            position += u64::from(bytes);
        }
        io.fsync(FILE)?;
        self.meter.closing(io.timed());
        io.close(FILE)?;
        self.meter.closing(io.timed());
        Ok(())
    }

    fn counters(&mut self) -> Counters {
        self.meter.counters()
    }
}

/// Size of the next call when `left` bytes remain.
pub(super) fn piece(left: u64, chunk: u32) -> u32 {
    u32::try_from(left).unwrap_or(u32::MAX).min(chunk)
}

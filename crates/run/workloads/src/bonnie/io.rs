//! The tests on the large file but for the seeks: it is written, rewritten and read, byte by byte
//! or in chunks.

use treering_script::{Call, CreateHow, File, OpenHow, Outcome, Step, Steps};

use super::meter::{Meter, Part, Trouble};
use super::shape::{Fsync, Home, IoShape};
use super::test::Test;

pub(super) const FILE: File = File(0);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// The copy's own directory is opened.
    Enter,
    Open,
    /// The position is set to the start, as the original does it.
    Rewind,
    /// The first call of a body,
    Move,
    /// and of a rewrite the other two.
    Back,
    Write,
    /// The fsync of one write.
    FsyncEach,
    Fsync,
    Close,
    End,
}

/// The script of one copy.
#[derive(Debug)]
pub(super) struct IoScript {
    home: Home,
    test: Test,
    /// Bytes in all, and of a body.
    bytes: u64,
    chunk: u32,
    syncs_each: bool,
    stage: Stage,
    position: u64,
    meter: Meter,
}

impl IoScript {
    /// One of the five tests.
    pub(super) fn new(home: Home, test: Test, io: &IoShape, fsync: Fsync, all_timed: bool) -> Self {
        let bytes = if test.is_per_char() { io.char_bytes } else { io.bytes };
        let writes = matches!(test, Test::BlockWrite | Test::Rewrite);
        Self {
            home,
            test,
            bytes,
            chunk: io.chunk,
            syncs_each: fsync == Fsync::Each && writes,
            stage: Stage::Enter,
            position: 0,
            meter: Meter::new(bytes / u64::from(io.chunk.max(1)), all_timed),
        }
    }

    /// Bytes of the present body.
    fn present(&self) -> u32 {
        u32::try_from(self.bytes - self.position).unwrap_or(u32::MAX).min(self.chunk)
    }

    /// The present body is done but for an fsync.
    fn after_body(&mut self, bytes: u32) {
        self.position += u64::from(bytes);
        self.stage = if self.syncs_each { Stage::FsyncEach } else { self.next_body() };
    }

    fn next_body(&self) -> Stage {
        if self.position < self.bytes { Stage::Move } else { Stage::Fsync }
    }

    /// A body's first call.
    fn first(&mut self) -> Call<'static> {
        let bytes = self.present();
        let position = self.position;
        if self.test == Test::Rewrite {
            self.meter.step(Part::First);
            self.stage = Stage::Back;
            return Call::Read { file: FILE, bytes };
        }
        self.meter.step(if self.syncs_each { Part::First } else { Part::Only });
        self.after_body(bytes);
        match self.test {
            Test::CharWrite => Call::WriteEach { file: FILE, bytes, position },
            Test::CharRead => Call::ReadEach { file: FILE, bytes },
            Test::BlockRead => Call::Read { file: FILE, bytes },
            _ => Call::Write { file: FILE, bytes, position },
        }
    }

    /// Whether the last read brought all.
    fn hear(&mut self, last: &Outcome<'_>) {
        let Outcome::Bytes(bytes) = *last else { return };
        let wanted = match self.test {
            // The present chunk of a rewrite counts only when it was written.
            Test::Rewrite if self.stage == Stage::Back => u64::from(self.present()),
            Test::CharRead | Test::BlockRead => {
                let before = self.position - 1;
                self.position - before / u64::from(self.chunk) * u64::from(self.chunk)
            }
            _ => return,
        };
        if bytes < wanted {
            self.meter.trouble = Trouble::ShortRead;
            self.stage = Stage::Fsync;
        }
    }
}

impl Steps for IoScript {
    fn next<'s>(&'s mut self, last: Outcome<'_>) -> Option<Step<'s>> {
        self.hear(&last);
        if self.stage == Stage::Enter {
            self.stage = Stage::Open;
            if self.home.root.is_some() {
                return enter(&self.home);
            }
        }
        let call = match self.stage {
            Stage::Enter | Stage::Open => {
                let rewinds = matches!(self.test, Test::Rewrite | Test::BlockRead);
                self.stage = if rewinds { Stage::Rewind } else { self.next_body() };
                let (at, path) = (self.home.dir(), self.home.name.as_c_str());
                match self.test {
                    Test::CharWrite | Test::BlockWrite => {
                        let how = CreateHow::ExclusiveToRead;
                        Call::Create { at, path, how, into: FILE }
                    }
                    _ => Call::Open { at, path, how: OpenHow::ReadWrite, into: FILE },
                }
            }
            Stage::Rewind => {
                self.stage = self.next_body();
                Call::Seek { file: FILE, position: 0 }
            }
            Stage::Move => self.first(),
            Stage::Back => {
                self.meter.step(Part::Middle);
                self.stage = Stage::Write;
                Call::Seek { file: FILE, position: self.position }
            }
            Stage::Write => {
                self.meter.step(if self.syncs_each { Part::Middle } else { Part::Last });
                let (bytes, position) = (self.present(), self.position);
                self.after_body(bytes);
                Call::Write { file: FILE, bytes, position }
            }
            Stage::FsyncEach => {
                self.meter.step(Part::Last);
                self.stage = self.next_body();
                Call::Fsync { file: FILE }
            }
            Stage::Fsync => {
                self.meter.step(Part::Closing);
                self.stage = Stage::Close;
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

/// Opens a copy's own directory, where it has one.
pub(super) fn enter(home: &Home) -> Option<Step<'_>> {
    let path = home.root.as_deref()?;
    Some(Call::OpenDir { at: treering_script::Dir::TARGET, path, into: home.dir() }.into())
}

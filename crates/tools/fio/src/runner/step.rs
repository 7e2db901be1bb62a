//! Next step of a clone, as a call to the kernel.

use crate::language::{Direction, Engine, FadviseHint};
use treering_script::{Call, CreateHow, OpenHow};

use super::super::generator::IoRequest;
use super::Runner;

/// Next step of a clone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum IoStep {
    Nothing,
    Directory(u16),
    Pause(u64),
    Open(usize),
    Forget(usize),
    Advise(usize),
    Map(usize),
    /// Reads a part of a file before the work, for `pre_read`.
    PreRead(usize, u64),
    Seek(usize, u64),
    Move(IoRequest),
    /// Syncs a file; `counts` if the sync counts as a request of the job.
    Sync {
        file: usize,
        data_only: bool,
        counts: bool,
    },
    /// Starts writeback of a range of a file; does nothing if the range is empty.
    SyncRange {
        file: usize,
        start: u64,
        bytes: u64,
    },
    Submit,
    Reap(u16),
    /// Syncs a file before it is closed, also if it is mapped.
    CloseSync(usize),
    Close(usize),
    Unlink(usize),
}

/// Bytes per call of reading files before the work.
pub(super) const PRE_READ_BYTES: u32 = 1 << 20;

/// Call that does nothing.
const NOTHING: Call<'_> = Call::Pause { ns: 0 };

/// Length of a request as the calls take it; never more than 4 MiB.
pub(super) fn length(bytes: u64) -> u32 {
    u32::try_from(bytes).unwrap_or(u32::MAX)
}

impl Runner {
    /// Call of the present step.
    #[inline]
    pub(super) fn call(&mut self) -> Call<'_> {
        match self.step {
            IoStep::Move(request) => self.transfer(request),
            _ => self.other_call(),
        }
    }

    #[inline]
    fn transfer(&self, request: IoRequest) -> Call<'_> {
        let IoRequest { file, direction, offset: position, bytes, .. } = request;
        let (file, bytes) = (self.slots.of(file), length(bytes));
        match (self.worker.job.engine, direction) {
            (Engine::Ftruncate, _) => Call::Truncate { file, bytes: position },
            (Engine::Falloc, Direction::Trim) => {
                Call::Punch { file, start: position, bytes: u64::from(bytes) }
            }
            (Engine::Falloc, direction) => {
                let (bytes, keep_size) = (u64::from(bytes), direction == Direction::Read);
                Call::Allocate { file, start: position, bytes, keep_size }
            }
            (engine, _) if !engine.moves_data() => NOTHING,
            // Data that is only verified was written before.
            (_, Direction::Write) if self.worker.job.extras.verify.only => NOTHING,
            (Engine::Mmap, Direction::Read) => Call::ReadMapped { file, bytes, position },
            (Engine::Mmap, Direction::Write) => Call::WriteMapped { file, bytes, position },
            (Engine::Sync | Engine::Vsync, Direction::Read) => Call::Read { file, bytes },
            (Engine::Sync | Engine::Vsync, Direction::Write) => {
                Call::Write { file, bytes, position }
            }
            (_, Direction::Read) => Call::ReadAt { file, bytes, position },
            (_, Direction::Write) => Call::WriteAt { file, bytes, position },
            // Such requests fail before they are issued.
            (_, Direction::Trim) => NOTHING,
        }
    }

    /// True if opening a file may create it.
    fn creates(&self) -> bool {
        let job = &self.worker.job;
        let is_engines = matches!(job.engine, Engine::FileCreate | Engine::Falloc);
        is_engines || job.rw.writes || job.create_on_open
    }

    fn sync_range(&self, file: usize, start: u64, bytes: u64) -> Call<'_> {
        let job = &self.worker.job;
        let (file, flags) = (self.slots.of(file), job.extras.range_sync.flags);
        match job.engine {
            Engine::Mmap => Call::SyncMapped { file },
            // As in the original, which has no such asynchronous request.
            Engine::Libaio => Call::Fsync { file },
            engine if !engine.moves_data() => NOTHING,
            _ => Call::SyncRange { file, start, bytes, flags },
        }
    }

    fn other_call(&mut self) -> Call<'_> {
        let job = &self.worker.job;
        let extent = |file: usize| self.extents.files[file];
        match self.step {
            IoStep::Nothing => NOTHING,
            IoStep::Directory(number) => {
                self.namespace.open(number, &self.names[usize::from(number)])
            }
            IoStep::Pause(us) => Call::Pause { ns: us * 1000 },
            IoStep::Open(file) => {
                let name = &self.worker.files[file];
                let (at, path, into) = (name.dir(), name.name.as_c_str(), self.slots.of(file));
                match job.engine {
                    Engine::Null => NOTHING,
                    Engine::FileStat => Call::Stat { at, name: path },
                    Engine::FileDelete => Call::Unlink { at, path },
                    _ if self.creates() => Call::Create { at, path, how: CreateHow::OrOpen, into },
                    _ => Call::Open { at, path, how: OpenHow::Read, into },
                }
            }
            IoStep::Forget(_) if !job.engine.uses_cache() => NOTHING,
            IoStep::Forget(number) => {
                let (file, extent) = (self.slots.of(number), extent(number));
                Call::Forget { file, start: extent.offset, bytes: extent.bytes }
            }
            IoStep::Advise(number) => {
                let (file, extent) = (self.slots.of(number), extent(number));
                let (start, bytes) = (extent.offset, extent.bytes);
                let random = match job.extras.advice {
                    FadviseHint::Random(random) => random,
                    _ => job.rw.random,
                };
                Call::Advise { file, start, bytes, random }
            }
            IoStep::Map(number) => {
                let (file, bytes) = (self.slots.of(number), extent(number).file_bytes);
                Call::Map { file, bytes, writes: job.rw.writes, random: job.rw.random }
            }
            IoStep::PreRead(file, position) => {
                Call::ReadAt { file: self.slots.of(file), bytes: PRE_READ_BYTES, position }
            }
            IoStep::Seek(file, position) => Call::Seek { file: self.slots.of(file), position },
            IoStep::Move(request) => self.transfer(request),
            IoStep::Sync { file, data_only, .. } => {
                let file = self.slots.of(file);
                match (job.engine, data_only) {
                    (engine, _) if !engine.moves_data() => NOTHING,
                    (Engine::Mmap, _) => Call::SyncMapped { file },
                    (_, true) => Call::DataSync { file },
                    (_, false) => Call::Fsync { file },
                }
            }
            IoStep::SyncRange { bytes: 0, .. } => NOTHING,
            IoStep::SyncRange { file, start, bytes } => self.sync_range(file, start, bytes),
            IoStep::CloseSync(_) if !job.engine.moves_data() => NOTHING,
            IoStep::CloseSync(file) => Call::Fsync { file: self.slots.of(file) },
            IoStep::Submit => Call::Submit { requests: self.queued.batch() },
            IoStep::Reap(least) => Call::Reap { least },
            IoStep::Close(file) if !job.engine.has_open_files() => {
                self.slots.close(file);
                NOTHING
            }
            IoStep::Close(file) => Call::Close { file: self.slots.close(file) },
            IoStep::Unlink(file) => {
                let name = &self.worker.files[file];
                Call::Unlink { at: name.dir(), path: &name.name }
            }
        }
    }
}

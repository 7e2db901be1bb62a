//! Calls of a clone: each makes one or more calls to the kernel and takes account of their results.

use crate::language::{Direction, Engine, FadviseHint};
use treering_script::{Call, CallResult, CreateHow, ExpectedErrors, Io, OpenHow, Stop};

use super::super::generator::IoRequest;
use super::super::logs::{CLOSED, DATA_SYNC, ISSUED, OPENED, RANGE_SYNC, SYNC};
use super::{PAUSE_MAX_US, Runner};

/// Bytes per call of reading files before the work.
pub(super) const PRE_READ_BYTES: u32 = 1 << 20;

/// Call that does nothing.
const NOTHING: Call<'_> = Call::Pause { ns: 0 };

/// Length of a request as the calls take it; never more than 4 MiB.
pub(super) fn length(bytes: u64) -> u32 {
    u32::try_from(bytes).unwrap_or(u32::MAX)
}

impl Runner {
    /// Ends a call that needs no other accounting.
    pub(super) fn finish<T>(&mut self, io: &dyn Io, done: Result<T, Stop>) -> Result<(), Stop> {
        self.clock.follow(io);
        done?;
        self.end_call(io);
        Ok(())
    }

    /// Ends the ramp time if it is over, and publishes the progress if that is asked for; after
    /// each call.
    #[inline]
    pub(super) fn end_call(&mut self, io: &dyn Io) {
        if self.clock.ends_ramp() {
            self.tally.clear();
            self.generator.count_anew();
            self.begin_depth();
        }
        if let Some(snapshot) = &self.deadlines.snapshot
            && snapshot.is_asked()
        {
            self.show(snapshot, io.spent());
        }
    }

    /// Ends a transfer or sync, whose end may be that of a request of an offered load.
    #[inline]
    fn end_transfer(&mut self, io: &dyn Io) {
        if let Some(schedule) = &mut self.pacing.schedule
            && io.timed().is_some()
        {
            schedule.ended(self.clock.last_known_ns());
        }
        self.end_call(io);
    }

    pub(super) fn pause(&mut self, io: &mut dyn Io, us: u64) -> Result<(), Stop> {
        let done = io.pause(us * 1000);
        self.clock.follow(io);
        done?;
        self.clock.paused(us);
        self.end_call(io);
        Ok(())
    }

    /// Pauses for one piece of the time that is left.
    pub(super) fn pause_piece(&mut self, io: &mut dyn Io) -> Result<(), Stop> {
        let piece_us = self.pacing.pause_left_us.min(PAUSE_MAX_US);
        self.pacing.pause_left_us -= piece_us;
        self.pause(io, piece_us)
    }

    /// Opens a file and hints its access pattern to the page cache. False if it failed, which ends
    /// the job.
    pub(super) fn open(&mut self, io: &mut dyn Io, file: usize) -> Result<bool, Stop> {
        if !self.open_file(io, file)? {
            return Ok(false);
        }
        let job = &self.worker.job;
        if !job.engine.uses_cache() {
            return Ok(true);
        }
        if job.invalidate && !job.extras.reads_before {
            self.forget(io, file)?;
        }
        if self.worker.job.extras.advice != FadviseHint::Nothing {
            self.advise(io, file)?;
        }
        if self.worker.job.engine == Engine::Mmap {
            self.map(io, file)?;
        }
        Ok(true)
    }

    /// Opens a file, without hints. False if it failed, which ends the job.
    pub(super) fn open_file(&mut self, io: &mut dyn Io, file: usize) -> Result<bool, Stop> {
        self.slots.open(file);
        self.log_issue(OPENED, [file as u64, 0, 0, 0]);
        let done = io.call(&self.open_call(file));
        self.clock.follow(io);
        // A failed open is reported as the original does.
        let opened = done.or_errno()?;
        match opened {
            Ok(_) if self.worker.job.engine.works_by_opening() => self.opened(),
            Ok(_) => {}
            Err(errno) => self.not_opened(file, errno.raw_os_error()),
        }
        self.end_call(io);
        Ok(opened.is_ok())
    }

    fn open_call(&self, file: usize) -> Call<'_> {
        let job = &self.worker.job;
        let name = &self.worker.files[file];
        let (at, path, into) = (name.dir(), name.name.as_c_str(), self.slots.slot(file));
        let creates = matches!(job.engine, Engine::FileCreate | Engine::Falloc)
            || job.rw.writes
            || job.create_on_open;
        match job.engine {
            Engine::Null => NOTHING,
            _ if name.is_device => {
                let how = if job.rw.writes { OpenHow::ReadWrite } else { OpenHow::Read };
                Call::Open { at, path, how, into }
            }
            Engine::FileStat => Call::Stat { at, name: path },
            Engine::FileDelete => Call::Unlink { at, path },
            _ if creates => Call::Create { at, path, how: CreateHow::OrOpen, into },
            _ => Call::Open { at, path, how: OpenHow::Read, into },
        }
    }

    /// Drops the job's range of a file from the page cache.
    pub(super) fn forget(&mut self, io: &mut dyn Io, file: usize) -> Result<(), Stop> {
        let extent = self.extents.files[file];
        let done = if self.worker.job.engine.uses_cache() {
            io.forget(self.slots.slot(file), extent.offset, extent.bytes)
        } else {
            io.pause(0)
        };
        self.finish(io, done)
    }

    fn advise(&mut self, io: &mut dyn Io, file: usize) -> Result<(), Stop> {
        let job = &self.worker.job;
        let extent = self.extents.files[file];
        let random = match job.extras.advice {
            FadviseHint::Random(random) => random,
            _ => job.rw.random,
        };
        let done = io.advise(self.slots.slot(file), extent.offset, extent.bytes, random);
        self.finish(io, done)
    }

    fn map(&mut self, io: &mut dyn Io, file: usize) -> Result<(), Stop> {
        let (rw, bytes) = (self.worker.job.rw, self.extents.files[file].file_bytes);
        let done = io.map(self.slots.slot(file), bytes, rw.writes, rw.random);
        self.finish(io, done)
    }

    /// Carries out a request by the engine's call, after a seek if the engine uses the file
    /// position.
    #[inline]
    pub(super) fn transfer(&mut self, io: &mut dyn Io, request: IoRequest) -> Result<(), Stop> {
        let IoRequest { file, direction, offset, bytes, .. } = request;
        let seeks = match self.worker.job.engine {
            Engine::Sync => !self.slots.is_at(file, offset),
            engine => engine == Engine::Vsync,
        };
        if seeks {
            let done = io.seek(self.slots.slot(file), offset);
            self.finish(io, done)?;
        }
        self.log_issue(ISSUED, [file as u64, direction.place() as u64, bytes, offset]);
        let done = io.call(&self.transfer_call(request));
        self.clock.follow(io);
        match done.or_errno()? {
            Ok(CallResult::Bytes(bytes)) => self.moved(request, bytes),
            // No data was moved, but the request counts.
            Ok(_) => self.moved(request, request.bytes),
            Err(errno) => self.request_failed(request, errno.raw_os_error()),
        }
        self.end_transfer(io);
        Ok(())
    }

    #[inline]
    fn transfer_call(&self, request: IoRequest) -> Call<'_> {
        let IoRequest { file, direction, offset: position, bytes, .. } = request;
        let (file, bytes) = (self.slots.slot(file), length(bytes));
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

    /// Syncs a file as a request of the job.
    pub(super) fn sync(
        &mut self,
        io: &mut dyn Io,
        file: usize,
        data_only: bool,
    ) -> Result<(), Stop> {
        self.call_sync(io, file, data_only)?;
        self.synced(data_only.then_some(Direction::Read));
        self.end_transfer(io);
        Ok(())
    }

    /// Syncs a file at the end of a pass, which counts as no request.
    pub(super) fn end_sync_file(&mut self, io: &mut dyn Io, file: usize) -> Result<(), Stop> {
        self.call_sync(io, file, false)?;
        self.end_transfer(io);
        Ok(())
    }

    fn call_sync(&mut self, io: &mut dyn Io, file: usize, data_only: bool) -> Result<(), Stop> {
        let direction = if data_only { DATA_SYNC } else { SYNC };
        self.log_issue(ISSUED, [file as u64, direction, 0, 0]);
        let slot = self.slots.slot(file);
        let done = match (self.worker.job.engine, data_only) {
            (engine, _) if !engine.moves_data() => io.pause(0),
            (Engine::Mmap, _) => io.sync_mapped(slot),
            (_, true) => io.data_sync(slot),
            (_, false) => io.fsync(slot),
        };
        self.clock.follow(io);
        done
    }

    /// Starts writeback of a range of a file, as a request of the job; does nothing if the range is
    /// empty.
    pub(super) fn sync_range(
        &mut self,
        io: &mut dyn Io,
        file: usize,
        start: u64,
        bytes: u64,
    ) -> Result<(), Stop> {
        self.log_issue(ISSUED, [file as u64, RANGE_SYNC, 0, 0]);
        let job = &self.worker.job;
        let slot = self.slots.slot(file);
        let done = match job.engine {
            _ if bytes == 0 => io.pause(0),
            Engine::Mmap => io.sync_mapped(slot),
            // As in the original, which has no such asynchronous request.
            Engine::Libaio => io.fsync(slot),
            engine if !engine.moves_data() => io.pause(0),
            _ => io.sync_range(slot, start, bytes, job.extras.range_sync.flags),
        };
        self.clock.follow(io);
        done?;
        self.synced(Some(Direction::Write));
        self.end_transfer(io);
        Ok(())
    }

    /// Closes a file, after a sync if `fsync_on_close` wants one.
    pub(super) fn close(&mut self, io: &mut dyn Io, file: usize) -> Result<(), Stop> {
        let job = &self.worker.job;
        if job.fsync_on_close && job.rw.writes && !self.generator.last_was_sync {
            // Mapped files too are synced by their descriptor.
            let slot = self.slots.slot(file);
            let done = if job.engine.moves_data() { io.fsync(slot) } else { io.pause(0) };
            self.finish(io, done)?;
        }
        self.close_file(io, file)
    }

    pub(super) fn close_file(&mut self, io: &mut dyn Io, file: usize) -> Result<(), Stop> {
        self.log_issue(CLOSED, [file as u64, 0, 0, 0]);
        let slot = self.slots.close(file);
        let has_open_files = self.worker.job.engine.has_open_files();
        let done = if has_open_files { io.close(slot) } else { io.pause(0) };
        self.finish(io, done)
    }

    /// Unlinks a file, unless it is missing.
    pub(super) fn unlink(&mut self, io: &mut dyn Io, file: usize) -> Result<(), Stop> {
        let name = &self.worker.files[file];
        if name.is_device {
            return Ok(());
        }
        let done = io.unlink(name.dir(), &name.name).unless_missing();
        self.finish(io, done)
    }

    /// Logs the start of a call for `write_iolog`: the file's number, the direction, bytes and the
    /// offset.
    #[inline]
    pub(super) fn log_issue(&mut self, kind: u64, [file, direction, bytes, offset]: [u64; 4]) {
        if let Some(logs) = &mut self.logs {
            let us = self.clock.since_start_us();
            logs.issued(kind, [us, file, direction, bytes, offset]);
        }
    }
}

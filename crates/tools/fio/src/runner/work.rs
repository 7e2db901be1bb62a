//! Work of a pass, as fio's `do_io`: one request or other action at a time, and between them the
//! checks of time, pauses, queue depth and flow.

use crate::language::{Amount, Direction, Engine};
use treering_script::{Io, Stop};

use super::super::generator::{IoAction, IoRequest};
use super::super::offered::Dispatch;
use super::contents::UNTAGGED;
use super::depth::WindowTransition;
use super::{PAUSE_MAX_US, Runner};

/// Errno of a trim of a file (`ENOTTY`), since the call only applies to devices.
const NOT_OF_FILES: i32 = 25;

impl Runner {
    /// Carries out the actions of the generator until the pass is complete, or the job is over.
    /// Requests of a queued engine may be in flight at the end.
    pub(super) fn do_io(&mut self, io: &mut dyn Io) -> Result<(), Stop> {
        // Action that must wait: until its request is due, or until the queue is empty.
        let mut postponed = None;
        loop {
            if self.is_over() {
                self.progress.is_terminated = true;
                return Ok(());
            }
            if self.pacing.pause_left_us > 0 && self.rest(io)? {
                continue;
            }
            if self.pacing.depth.is_some() && self.steer_depth(io)? {
                continue;
            }
            let is_new = postponed.is_none();
            if is_new && !self.generator.is_pending() && self.is_issued() {
                return Ok(());
            }
            if self.worker.job.engine.is_queued() && !self.has_room(io)? {
                continue;
            }
            if is_new && let Some(us) = self.ahead_of_flow_us() {
                self.pause(io, us)?;
                continue;
            }
            let act = postponed.take().unwrap_or_else(|| self.next_action());
            match act {
                IoAction::Request(request) if self.must_wait_for_overlap(&request) => {
                    postponed = Some(act);
                    self.end_one(io)?;
                }
                IoAction::Request(request) => match self.dispatch() {
                    Dispatch::Now => self.issue(io, request)?,
                    Dispatch::Wait(us) => {
                        postponed = Some(act);
                        self.pause(io, us)?;
                    }
                    Dispatch::Over => self.progress.is_terminated = true,
                },
                IoAction::Open(file) => {
                    self.open(io, file)?;
                }
                IoAction::Forget(file) => self.forget(io, file)?,
                IoAction::Sync { file, data_only } => self.sync(io, file, data_only)?,
                IoAction::SyncRange { file, start, bytes } => {
                    self.sync_range(io, file, start, bytes)?;
                }
                IoAction::Close(_) | IoAction::Wait(_) if self.queue.is_busy() => {
                    postponed = Some(act);
                    self.end_some(io)?;
                }
                IoAction::Close(file) => self.close(io, file)?,
                IoAction::Wait(us) => self.pause(io, us.min(PAUSE_MAX_US))?,
                IoAction::Busy => {
                    self.end_some(io)?;
                }
                IoAction::End => return Ok(()),
            }
        }
    }

    /// True if this write must wait until a request in flight to the same place has ended.
    #[inline]
    fn must_wait_for_overlap(&self, request: &IoRequest) -> bool {
        self.queue.is_busy()
            && self.contents.as_ref().is_some_and(|contents| contents.must_wait(request))
    }

    /// True if time or another job has ended this one.
    #[inline]
    pub(super) fn is_over(&self) -> bool {
        self.progress.is_terminated || self.clock.is_over() || self.deadlines.are_over()
    }

    /// True if all bytes of the pass have been issued.
    #[inline]
    fn is_issued(&self) -> bool {
        let (job, issued) = (&self.worker.job, &self.generator.issued);
        if job.extras.creates_only {
            return true;
        }
        if self.is_reading_back() || job.extras.replay.is_some() {
            // Reading back and replaying end by themselves.
            return false;
        }
        // As in the original, a runtime takes precedence over a number of requests.
        if job.is_timed() {
            // But written data is read back in between.
            let verifies = job.extras.verify.kind.is_some() && job.engine.counts_at_issue();
            return verifies && issued.bytes_of_pass >= self.bytes_of_pass();
        }
        if job.number_ios > 0 {
            let requests = issued.total_requests();
            let each = if job.rw.is_trim_write() { 2 } else { 1 };
            if requests >= job.number_ios.saturating_mul(job.loops * each) {
                return true;
            }
        }
        let size = self.extents.size;
        let limit = job.io_bytes(size).unwrap_or(size).saturating_mul(job.loops);
        // As in the original, otherwise a pass ends only when its files are complete.
        let ends = job.engine.counts_at_issue() && issued.bytes_of_pass >= self.bytes_of_pass();
        // Trimmed blocks are written too, and count once.
        let done = if job.rw.is_trim_write() { issued.bytes[1] } else { issued.total() };
        done >= limit || ends
    }

    /// Bytes after which a pass ends.
    fn bytes_of_pass(&self) -> u64 {
        let job = &self.worker.job;
        let overwrites = job.rw.writes && job.rw.random && !job.draws.random_map;
        let size = match job.io_size {
            // As in the original, a percentage refers to the size of the files.
            Some(Amount::Percent(_)) => job.io_bytes(self.extents.size),
            _ => None,
        };
        let size = size.unwrap_or(self.extents.size);
        let once = job.io_bytes(self.extents.size).filter(|_| overwrites);
        let once = once.map_or(size, |bytes| bytes.max(size));
        if job.rw.is_trim_write() { once + size } else { once }
    }

    /// Makes one call of a due pause: towards the end of the requests in flight, then to sleep for
    /// a part of the time. False if the last completions were reaped before; then the pause
    /// follows the next action.
    fn rest(&mut self, io: &mut dyn Io) -> Result<bool, Stop> {
        if self.queue.is_busy() {
            return self.end_some(io);
        }
        self.pause_piece(io)?;
        Ok(true)
    }

    /// Evaluates the latencies of the window of `latency_target`. True if a call was made, to end
    /// the requests in flight before another window.
    #[cold]
    fn steer_depth(&mut self, io: &mut dyn Io) -> Result<bool, Stop> {
        let Some(control) = &mut self.pacing.depth else { return Ok(false) };
        if !self.clock.is_in_ramp() {
            let now_ns = self.clock.now_ns().unwrap_or(0);
            self.progress.is_terminated |= control.is_done(now_ns, self.tally.requests());
        }
        let Some(transition) = control.transition else { return Ok(false) };
        if self.queue.is_busy() {
            self.end_some(io)?;
            return Ok(true);
        }
        control.transition = None;
        if transition == WindowTransition::LastWindow {
            self.tally.clear();
            self.generator.count_anew();
            self.clock.start();
            self.clock.begin_pass();
        }
        control.begin_window(self.clock.now_ns().unwrap_or(0), self.tally.requests());
        Ok(false)
    }

    /// Begins the search for a depth, perhaps once more.
    pub(super) fn begin_depth(&mut self) {
        if let Some(control) = &mut self.pacing.depth {
            control.begin(self.clock.now_ns().unwrap_or(0), self.tally.requests());
        }
    }

    /// Pause in microseconds if the clone is ahead of its share of the flow.
    #[inline]
    fn ahead_of_flow_us(&mut self) -> Option<u64> {
        let is_busy = self.queue.is_busy();
        self.pacing.flow.as_mut()?.pause_us(is_busy)
    }

    /// Draws the next action: reading back what was written, the next line of a replayed log, or
    /// what the generator decides.
    #[inline]
    fn next_action(&mut self) -> IoAction {
        let act = self.verifying_action().or_else(|| self.replayed_action());
        let act = act.unwrap_or_else(|| self.generator.next(self.clock.since_start_us()));
        if let Some(flow) = &mut self.pacing.flow
            && matches!(
                act,
                IoAction::Request(_) | IoAction::Sync { .. } | IoAction::SyncRange { .. }
            )
        {
            flow.end_turn();
        }
        act
    }

    #[inline]
    fn verifying_action(&mut self) -> Option<IoAction> {
        let contents = self.contents.as_mut()?;
        contents.next_action(&self.slots, self.generator.is_pending())
    }

    #[inline]
    fn replayed_action(&mut self) -> Option<IoAction> {
        let job = &self.worker.job;
        let log = job.extras.replay.as_ref()?;
        let since_start_us = self.clock.since_start_us();
        let stalls = job.extras.replay_stalls;
        let (act, pause_us) = self.replay.next(log, stalls, &self.slots, since_start_us);
        self.pacing.pause_left_us += pause_us;
        if let IoAction::Request(IoRequest { direction, bytes, .. }) = act {
            self.generator.issued.requests[direction.place()] += 1;
            self.generator.issued.bytes[direction.place()] += bytes;
        }
        Some(act)
    }

    /// Decides whether a request is due, which it always is without an offered load.
    #[inline]
    fn dispatch(&mut self) -> Dispatch {
        let schedule = self.pacing.schedule.as_mut();
        schedule.map_or(Dispatch::Now, |schedule| schedule.turn(self.clock.last_known_ns()))
    }

    /// Carries out a request, or queues it and perhaps submits the batch.
    #[inline]
    fn issue(&mut self, io: &mut dyn Io, request: IoRequest) -> Result<(), Stop> {
        if self.progress.is_terminated {
            return Ok(());
        }
        let job = &self.worker.job;
        let is_trim = request.direction == Direction::Trim;
        // As in the original, files can only be trimmed by the engine that punches holes, and by
        // the one that does nothing.
        if is_trim && (job.engine.moves_data() || job.engine == Engine::Ftruncate) {
            self.tally.directions[Direction::Trim.place()].requests += 1;
            self.failed(request.direction, NOT_OF_FILES);
            return Ok(());
        }
        let is_only_verified = job.extras.verify.only && request.direction == Direction::Write;
        if job.engine.is_queued() && !is_only_verified {
            return self.enqueue(io, request);
        }
        self.fill(UNTAGGED, request);
        self.transfer(io, request)
    }
}

//! Accounting of a completed request: its bytes and latency, its log line, or its error.

use crate::language::{Direction, ThinkTime};

use super::super::generator::IoRequest;
use super::super::logs::CompletedRequest;
use super::super::tally::VerifyError;
use super::Runner;
use super::contents::UNTAGGED;

/// Errnos of a full filesystem (`ENOSPC`), and of a request that exceeded its latency limit
/// (`ETIMEDOUT`).
const NO_ROOM: i32 = 28;
const TOO_LATE: i32 = 110;
/// Errno of a read that returned no data (`EIO`).
const NOTHING_READ: i32 = 5;
/// Errno of a block that failed verification (`EILSEQ`).
const WRONG: i32 = 84;
/// Errno of a job whose rate is too low (`EIO`).
const TOO_SLOW: i32 = 5;
/// Time before rates are checked.
const SETTLES_NS: u64 = 2_000_000_000;

impl Runner {
    /// Records a request of a synchronous engine.
    #[inline]
    pub(super) fn moved(&mut self, request: IoRequest, bytes: u64) {
        let direction = request.direction.place();
        if bytes == 0 && request.direction == Direction::Read {
            // As in the original, a read beyond the end of the file counts as a request, and fails.
            self.tally.directions[direction].requests += 1;
            self.failed(Direction::Read, NOTHING_READ);
            return;
        }
        let tells = !self.worker.job.engine.works_by_opening();
        if let Some(ns) = self.clock.took().filter(|_| tells) {
            self.tally.took(direction, ns);
            self.log(request, bytes, None, ns);
        }
        self.tally.depths[0] += 1;
        self.tally.submits[1] += 1;
        self.tally.completes[1] += 1;
        self.slots.moved(request.file, request.offset + bytes);
        self.counted(request, bytes);
        self.verify(UNTAGGED, request, bytes);
    }

    /// Fills the buffer of a request about to be issued.
    #[inline]
    pub(super) fn fill(&mut self, tag: u16, request: IoRequest) {
        if let Some(contents) = &mut self.contents {
            let number = self.generator.issued.requests[Direction::Write.place()].saturating_sub(1);
            contents.fill(tag, request, number, self.clock.now_ns().unwrap_or(0));
        }
    }

    /// Verifies a completed request.
    #[inline]
    pub(super) fn verify(&mut self, tag: u16, request: IoRequest, bytes: u64) {
        if let Some(contents) = &mut self.contents
            && !contents.verify(tag, request, bytes, &self.worker)
        {
            self.failed(Direction::Read, WRONG);
        }
    }

    /// Ends the job because a file could not be opened.
    #[cold]
    pub(super) fn not_opened(&mut self, file: usize, errno: i32) {
        self.slots.close(file);
        self.tally.errno = u64::from(errno.unsigned_abs());
        self.progress.is_terminated = true;
    }

    /// Records a failed request, whose bytes are not counted.
    #[cold]
    pub(super) fn request_failed(&mut self, request: IoRequest, errno: i32) {
        if let Some(contents) = &mut self.contents {
            contents.failed(request);
        }
        // As in the original, a failed request was issued, and counts.
        self.tally.directions[request.direction.place()].requests += 1;
        if !self.worker.job.engine.is_queued() {
            self.tally.issued(1);
        }
        self.failed(request.direction, errno);
    }

    /// Records an error, which ends the job unless errors of this kind are tolerated.
    #[cold]
    pub(super) fn failed(&mut self, direction: Direction, errno: i32) {
        let number = u64::from(errno.unsigned_abs());
        if self.worker.job.extras.tolerance.tolerates(direction, errno) {
            if self.tally.errors[0] == 0 {
                self.tally.errors[1] = number;
            }
            self.tally.errors[0] += 1;
            return;
        }
        if self.worker.job.extras.fills && errno == NO_ROOM {
            self.progress.is_terminated = true;
            return;
        }
        self.tally.errno = u64::from(errno.unsigned_abs());
        self.progress.is_terminated = true;
    }

    /// Records a sync. As in the original, one that leaves out metadata counts as a short request
    /// of this direction, though its latency is one of syncs.
    pub(super) fn synced(&mut self, short: Option<Direction>) {
        let short = short.filter(|_| self.namespace.classic);
        if let Some(direction) = short {
            self.tally.directions[direction.place()].short += 1;
        }
        if let Some(ns) = self.clock.took() {
            self.tally.sync.add(ns);
            self.tally.short_syncs += u64::from(short.is_some());
        }
    }

    /// Records that a file was created, looked up or removed, for engines whose latencies are those
    /// of such calls.
    pub(super) fn opened(&mut self) {
        let direction = if self.worker.job.rw.reads { Direction::Read } else { Direction::Write };
        if let Some(ns) = self.clock.took() {
            self.tally.took(direction.place(), ns);
        }
    }

    /// Logs a request, if asked for, and checks its latency limits.
    #[inline]
    pub(super) fn log(
        &mut self,
        request: IoRequest,
        bytes: u64,
        slat_ns: Option<u64>,
        clat_ns: u64,
    ) {
        if let Some(logs) = &mut self.logs
            && let Some(at_ms) = self.clock.logged_ms()
        {
            let (direction, offset) = (request.direction.place(), request.offset);
            logs.ended(CompletedRequest { at_ms, direction, bytes, offset, slat_ns, clat_ns });
        }
        let latency_ns = slat_ns.unwrap_or(0) + clat_ns;
        let control = self.pacing.depth.as_mut().filter(|_| !self.worker.job.reported.disable_lat);
        let is_too_late = control.is_some_and(|control| control.is_too_late(latency_ns));
        let most_us = self.worker.job.extras.max_latency_us;
        if is_too_late || most_us > 0 && latency_ns > most_us * 1000 {
            self.failed(request.direction, TOO_LATE);
        }
    }

    /// Counts the bytes of a request, and begins a pause if one is due.
    #[inline]
    pub(super) fn counted(&mut self, request: IoRequest, bytes: u64) {
        let tally = &mut self.tally.directions[request.direction.place()];
        tally.bytes += bytes;
        tally.requests += 1;
        // As in the original, short requests of asynchronous engines are not counted.
        let is_queued = self.worker.job.engine.is_queued();
        tally.short += u64::from(bytes < request.bytes && !is_queued);
        self.clock.sample(&mut self.tally);
        if self.end_conditions.rates.is_some() {
            self.check_rates();
        }
        if self.end_conditions.steady.is_some() {
            self.check_steady_state(bytes);
        }
        if self.worker.job.think.us > 0 {
            self.think();
        }
    }

    /// Ends the job if one of its rates is too low.
    #[cold]
    fn check_rates(&mut self) {
        let (Some(watch), Some(now_ns)) = (&mut self.end_conditions.rates, self.clock.now_ns())
        else {
            return;
        };
        if self.clock.since_pass_ns() < SETTLES_NS {
            return;
        }
        for text in watch.too_low(&self.worker.job.name, &self.tally, now_ns) {
            self.tally.complaints.push(VerifyError { text, ..VerifyError::default() });
            self.tally.errno = u64::from(TOO_SLOW.unsigned_abs());
            self.progress.is_terminated = true;
        }
    }

    /// Counts a completed request in the rates of the group, and ends the job in a steady state.
    #[cold]
    fn check_steady_state(&mut self, bytes: u64) {
        let (Some(share), Some(now_ns)) = (&mut self.end_conditions.steady, self.clock.now_ns())
        else {
            return;
        };
        share.counted(bytes);
        self.progress.is_terminated |= share.is_reached(now_ns, self.clock.began_work_ns());
    }

    /// Begins a pause if one is due: after a number of requests, or after a time with requests.
    fn think(&mut self) {
        let ThinkTime { us, blocks, io_us } = self.worker.job.think;
        let is_timed = io_us > 0;
        let is_time = is_timed && self.clock.since_pause_us() >= io_us + us;
        // As in the original, requests are not counted if only the time is given.
        let counts = !is_timed || self.worker.job.sets("thinktime_blocks");
        if is_time || counts && self.tally.requests().is_multiple_of(blocks) {
            self.pacing.pause_left_us += us;
            if self.worker.job.extras.skips_pauses {
                self.generator.skip_pause(us);
            }
            self.clock.pauses(us);
        }
    }
}

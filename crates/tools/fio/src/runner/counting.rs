//! Accounting of a completed request: its bytes and latency, its log line, or its error.

use crate::language::Direction;

use super::super::generator::IoRequest;
use super::super::logs::CompletedRequest;
use super::Runner;
use super::contents::{UNTAGGED, WRONG};

/// Errnos of a full filesystem (`ENOSPC`), and of a request that exceeded its latency limit
/// (`ETIMEDOUT`).
const NO_ROOM: i32 = 28;
const TOO_LATE: i32 = 110;
/// Errno of a read that returned no data (`EIO`).
const NOTHING_READ: i32 = 5;

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
        self.look(UNTAGGED, request, bytes);
    }

    /// Records a verification error.
    pub(super) fn wrong(&mut self) {
        self.failed(Direction::Read, WRONG);
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
        if self.worker.job.extras.tolerance.bears(direction, errno) {
            if self.tally.errors[0] == 0 {
                self.tally.errors[1] = number;
            }
            self.tally.errors[0] += 1;
            return;
        }
        if self.worker.job.extras.fills && errno == NO_ROOM {
            self.terminated = true;
            return;
        }
        self.tally.errno = u64::from(errno.unsigned_abs());
        self.terminated = true;
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
        let is_too_late = self.depth.is_some()
            && !self.worker.job.reported.disable_lat
            && self.is_too_late(slat_ns.unwrap_or(0) + clat_ns);
        let most_us = self.worker.job.extras.max_latency_us;
        if is_too_late || most_us > 0 && slat_ns.unwrap_or(0) + clat_ns > most_us * 1000 {
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
        if self.watch.is_some() {
            self.look_at_rates();
        }
        if self.steady.is_some() {
            self.look_at_state(bytes);
        }
        if self.worker.job.think.us > 0 {
            self.think();
        }
    }
}

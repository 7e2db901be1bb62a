//! Limits on a clone from outside its own generator: its share of a flow, and minimum rates.

use std::sync::atomic::Ordering;

use crate::language::{Direction, MinimumRates, Section, ThinkTime};
use treering_script::CounterBoard;

use super::super::tally::{Complaint, Tally};
use super::{IoStep, Runner};

/// Cells of a flow's board: requests and weights, each summed over all clones.
const COUNT: usize = 0;
const WEIGHT: usize = 1;
/// Pause in microseconds of a clone ahead of its share, if the job sets none.
const WAIT_US: u64 = 1;
/// Time before rates are checked.
const SETTLES_NS: u64 = 2_000_000_000;
/// Errno of a job whose rate is too low (`EIO`).
const TOO_SLOW: i32 = 5;

/// A clone's share of a flow.
#[derive(Clone, Debug)]
pub(in super::super) struct FlowShare {
    board: CounterBoard,
    weight: u64,
    sleep_us: u64,
    count: u64,
}

impl FlowShare {
    /// Joins the board of the flow; `None` if the job has no flow.
    pub(in super::super) fn of(job: &Section, board: CounterBoard) -> Option<Self> {
        let weight = job.extras.flow.weight;
        if weight == 0 {
            return None;
        }
        board.cell(WEIGHT).fetch_add(weight, Ordering::Relaxed);
        Some(Self { board, weight, sleep_us: job.extras.flow.sleep_us, count: 0 })
    }

    /// True if the clone is ahead of its share; otherwise counts a request.
    fn is_ahead(&mut self) -> bool {
        let all = self.board.cell(COUNT).load(Ordering::Relaxed) + 1;
        let weights = self.board.cell(WEIGHT).load(Ordering::Relaxed);
        // Compares the clone's share of all requests with its share of all weights.
        if u128::from(self.count) * u128::from(weights) > u128::from(self.weight) * u128::from(all)
        {
            return true;
        }
        self.board.cell(COUNT).fetch_add(1, Ordering::Relaxed);
        self.count += 1;
        false
    }

    /// Leaves the flow.
    fn leave(&self) {
        self.board.cell(COUNT).fetch_sub(self.count, Ordering::Relaxed);
        self.board.cell(WEIGHT).fetch_sub(self.weight, Ordering::Relaxed);
    }
}

/// Check of minimum rates.
#[derive(Debug)]
pub(super) struct RateWatch {
    lowest: MinimumRates,
    /// Bytes, requests and time of the last check, by direction.
    last: [Option<(u64, u64, u64)>; 3],
}

impl RateWatch {
    pub(super) fn from_job(job: &Section) -> Option<Box<Self>> {
        let lowest = job.extras.lowest;
        lowest.are_any().then(|| Box::new(Self { lowest, last: [None; 3] }))
    }

    /// Error message if a rate is too low.
    fn too_low(
        &mut self,
        name: &str,
        direction: usize,
        tally: &Tally,
        now_ns: u64,
    ) -> Option<String> {
        let done = &tally.directions[direction];
        let (bytes, requests) = (self.lowest.bytes[direction], self.lowest.requests[direction]);
        if bytes == 0 && requests == 0 || done.bytes == 0 {
            return None;
        }
        if let Some((bytes_before, requests_before, at_ns)) = self.last[direction] {
            let spent_ms = (now_ns - at_ns) / 1_000_000;
            if spent_ms < self.lowest.cycle_ms || spent_ms == 0 {
                return None;
            }
            let rate = |now: u64, before: u64| now.saturating_sub(before) * 1000 / spent_ms;
            let (rate, wanted) = match bytes {
                0 => (rate(done.requests, requests_before), requests),
                bytes => (rate(done.bytes, bytes_before), bytes),
            };
            if rate < wanted {
                return Some(match bytes {
                    0 => format!("{name}: rate_iops_min={wanted} not met, got {rate} IOPS\n"),
                    _ => format!("{name}: rate_min={wanted}B/s not met, got {rate}B/s\n"),
                });
            }
        }
        self.last[direction] = Some((done.bytes, done.requests, now_ns));
        None
    }
}

impl Runner {
    /// Begins a pause if one is due: after a number of requests, or after a time with requests.
    pub(super) fn think(&mut self) {
        let ThinkTime { us, blocks, io_us } = self.worker.job.think;
        let is_timed = io_us > 0;
        let is_time = is_timed && self.clock.since_pause_us() >= io_us + us;
        // As in the original, requests are not counted if only the time is given.
        let counts = !is_timed || self.worker.job.sets("thinktime_blocks");
        let done = self.tally.directions.iter().map(|direction| direction.requests).sum::<u64>();
        if is_time || counts && done.is_multiple_of(blocks) {
            self.rest_us += us;
            self.clock.pauses(us);
        }
    }

    /// Pauses while the clone is ahead of its share of the flow.
    pub(super) fn held_by_flow(&mut self) -> Option<IoStep> {
        let sleep_us = self.flow.as_ref()?.sleep_us;
        if sleep_us > 0 && self.queued.is_busy() {
            return None;
        }
        let is_ahead = self.flow.as_mut()?.is_ahead();
        is_ahead.then(|| IoStep::Pause(sleep_us.max(WAIT_US)))
    }

    /// Leaves the flow.
    pub(super) fn leave_flow(&mut self) {
        if let Some(flow) = self.flow.take() {
            flow.leave();
        }
    }

    /// Ends the job if one of its rates is too low.
    #[cold]
    pub(super) fn look_at_rates(&mut self) {
        let (Some(watch), Some(now_ns)) = (&mut self.watch, self.clock.now_ns()) else { return };
        if self.clock.since_pass_ns() < SETTLES_NS {
            return;
        }
        let name = &self.worker.job.name;
        let messages = Direction::ALL
            .map(|direction| watch.too_low(name, direction.place(), &self.tally, now_ns));
        for text in messages.into_iter().flatten() {
            self.tally.complaints.push(Complaint { text, ..Complaint::default() });
            self.tally.errno = u64::from(TOO_SLOW.unsigned_abs());
            self.terminated = true;
        }
    }
}

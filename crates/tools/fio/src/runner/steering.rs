//! Limits on a clone from outside its own generator: its share of a flow, and minimum rates.

use std::sync::atomic::Ordering;

use crate::language::{Direction, MinimumRates, Section};
use treering_script::CounterBoard;

use super::super::tally::Tally;

/// Cells of a flow's board: requests and weights, each summed over all clones.
const COUNT: usize = 0;
const WEIGHT: usize = 1;
/// Pause in microseconds of a clone ahead of its share, if the job sets none.
const WAIT_US: u64 = 1;

/// A clone's share of a flow.
#[derive(Clone, Debug)]
pub(in super::super) struct FlowShare {
    board: CounterBoard,
    weight: u64,
    sleep_us: u64,
    count: u64,
    /// True if the next request is counted already. Actions around a request, such as the pause of
    /// a rate limit, belong to its turn.
    has_turn: bool,
}

impl FlowShare {
    /// Joins the board of the flow; `None` if the job has no flow.
    pub(in super::super) fn from_job(job: &Section, board: CounterBoard) -> Option<Self> {
        let weight = job.extras.flow.weight;
        if weight == 0 {
            return None;
        }
        board.cell(WEIGHT).fetch_add(weight, Ordering::Relaxed);
        Some(Self { board, weight, sleep_us: job.extras.flow.sleep_us, count: 0, has_turn: false })
    }

    /// Pause in microseconds if the clone is ahead of its share. `is_busy` if requests are in
    /// flight, which a clone that sleeps does not wait for.
    pub(super) fn pause_us(&mut self, is_busy: bool) -> Option<u64> {
        let may_go = self.has_turn || self.sleep_us > 0 && is_busy;
        self.has_turn = may_go || !self.is_ahead();
        (!self.has_turn).then(|| self.sleep_us.max(WAIT_US))
    }

    /// Ends the turn, since its request is issued.
    pub(super) fn end_turn(&mut self) {
        self.has_turn = false;
    }

    /// True if the clone is ahead of its share; otherwise counts a request.
    fn is_ahead(&mut self) -> bool {
        let requests = self.board.cell(COUNT).load(Ordering::Relaxed) + 1;
        let weights = self.board.cell(WEIGHT).load(Ordering::Relaxed);
        // Compares the clone's share of all requests with its share of all weights.
        if u128::from(self.count) * u128::from(weights)
            > u128::from(self.weight) * u128::from(requests)
        {
            return true;
        }
        self.board.cell(COUNT).fetch_add(1, Ordering::Relaxed);
        self.count += 1;
        false
    }

    /// Leaves the flow.
    pub(super) fn leave(&self) {
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

    /// Error messages of the rates that are too low.
    pub(super) fn too_low(&mut self, name: &str, tally: &Tally, now_ns: u64) -> Vec<String> {
        let rates = Direction::ALL.into_iter();
        rates
            .filter_map(|direction| self.too_low_in(name, direction.place(), tally, now_ns))
            .collect()
    }

    /// Error message if the rate of a direction is too low.
    fn too_low_in(
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

//! Direction of the next request: due syncs, the mix of reads and writes, and the rate.

use crate::language::Direction;

use super::super::tausworthe::Tausworthe;
use super::{DirectionChoice, Generator};

/// Mix of reads and writes (`rwmixread`).
#[derive(Debug)]
pub(super) struct DirectionMix {
    draws: Tausworthe,
    direction: Direction,
    /// Requests left before the direction is drawn again.
    until: u64,
    /// Direction chosen before a pause.
    waited: Option<Direction>,
    /// Requests with a rate that began late.
    late: u64,
}

/// Delay in microseconds from which on a request with a rate counts as late.
const LATE_US: u64 = 1000;

impl DirectionMix {
    pub(super) const fn new(draws: Tausworthe) -> Self {
        Self { draws, direction: Direction::Read, until: 0, waited: None, late: 0 }
    }

    /// Resets the counts at the end of the ramp time.
    pub(super) fn begin_anew(&mut self) {
        self.until = 0;
        self.waited = None;
        self.late = 0;
    }

    /// Restarts the draws for another pass.
    pub(super) fn reseed(&mut self, draws: Tausworthe) {
        self.draws = draws;
        self.until = 0;
        self.waited = None;
    }
}

const fn other(direction: Direction) -> Direction {
    match direction {
        Direction::Read => Direction::Write,
        Direction::Write | Direction::Trim => Direction::Read,
    }
}

impl Generator {
    /// Direction of the next request.
    #[inline]
    pub(super) fn direction(&mut self, now_us: u64) -> DirectionChoice {
        if let Some(direction) = self.mix.waited.take() {
            return DirectionChoice::Data(direction);
        }
        let written = self.issued.requests[Direction::Write.place()];
        // Each read is followed by another sync until something is written again.
        if self.job.rw.writes && !self.has_synced() && written > 0 {
            let due = |every: u64| every > 0 && written.is_multiple_of(every);
            if due(self.job.fsync) {
                return DirectionChoice::Sync;
            }
            if due(self.job.fdatasync) {
                return DirectionChoice::DataSync;
            }
            if due(self.job.extras.range_sync.every) {
                return DirectionChoice::RangeSync;
            }
        }
        let rw = self.job.rw;
        let direction = if rw.is_mixed() {
            self.mixed()
        } else if rw.reads {
            Direction::Read
        } else if rw.writes {
            Direction::Write
        } else {
            Direction::Trim
        };
        self.paced(direction, now_us)
    }

    fn mixed(&mut self) -> Direction {
        let issued = self.issued.requests[self.mix.direction.place()];
        if issued >= self.mix.until {
            let share = [self.job.mix_read, 100 - self.job.mix_read];
            let reads = self.mix.draws.percent() <= share[0];
            let direction = if reads { Direction::Read } else { Direction::Write };
            if direction != self.mix.direction {
                self.mix.until = issued.saturating_mul(share[direction.place()]) / 100;
            }
            self.mix.direction = direction;
        }
        self.mix.direction
    }

    /// Direction of the next request of a `trimwrite` job: each block is trimmed and then written.
    pub(super) fn trim_or_write(&self, file: usize) -> Direction {
        let begun = &self.files[file].last_start;
        let is_pair = begun[Direction::Write.place()] == begun[Direction::Trim.place()];
        if is_pair { Direction::Trim } else { Direction::Write }
    }

    /// Due time of the next request of a direction, in microseconds from the start; 0 without a
    /// rate.
    fn due_us(&self, direction: Direction) -> u64 {
        let place = direction.place();
        let per_second = match (self.job.rate[place], self.job.rate_iops[place]) {
            (0, 0) => return 0,
            (0, requests) => requests.saturating_mul(self.job.blocks(direction).least),
            (bytes, _) => bytes,
        };
        if let Some(times) = &self.poisson {
            return times[place].1.saturating_add(self.skipped_us);
        }
        let bytes = self.issued.bytes[place] - self.issued.uncounted[place];
        let due = u128::from(bytes) * 1_000_000 / u128::from(per_second.max(1));
        u64::try_from(due).unwrap_or(u64::MAX).saturating_add(self.skipped_us)
    }

    /// Number of requests with a rate that began late, because earlier ones took longer than the
    /// rate leaves for them.
    pub(in super::super) const fn late(&self) -> u64 {
        self.mix.late
    }

    /// Draws the due time of the next request, after one was made.
    pub(super) fn draw_time(&mut self, direction: Direction) {
        let (place, least) = (direction.place(), self.job.blocks(direction).least.max(1));
        let (rate, requests) = (self.job.rate[place], self.job.rate_iops[place]);
        let Some(times) = &mut self.poisson else { return };
        let per_second = if rate > 0 { rate / least } else { requests };
        let Some(mean_us) = 1_000_000_u64.checked_div(per_second) else { return };
        let (draws, at_us) = &mut times[place];
        let share = (draws.draw() as f64 + 1.0) / 4_294_967_296.0;
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "not below 0")]
        let us = (mean_us as f64 * -share.ln()) as u64;
        *at_us = at_us.saturating_add(us);
    }

    fn paced(&mut self, direction: Direction, now_us: u64) -> DirectionChoice {
        let due = self.due_us(direction);
        if due <= now_us {
            // Without a rate everything is due from the start.
            let is_late = due > 0 && now_us - due > LATE_US;
            self.mix.late += u64::from(is_late);
            return DirectionChoice::Data(direction);
        }
        let other = other(direction);
        let share = [self.job.mix_read, 100 - self.job.mix_read, 0][other.place()];
        let (mut direction, mut due) = (direction, due);
        if self.job.rw.is_mixed() && share > 0 {
            let due_other = self.due_us(other);
            if due_other <= now_us || due_other < due {
                (direction, due) = (other, due_other);
            }
        }
        self.mix.direction = direction;
        if due <= now_us {
            return DirectionChoice::Data(direction);
        }
        self.mix.waited = Some(direction);
        DirectionChoice::Wait(due - now_us)
    }
}

//! Flowops that limit a thread to the rate of events, and those that end the run.

use std::sync::atomic::Ordering;

use treering_script::Io;

use super::super::plan::FlowopKind;
use super::{FlowopExit, WAIT_NS, Worker};

/// Bytes that an event permits.
const BYTES_OF_EVENT: u64 = 1 << 20;

/// Progress of each limiting flowop.
#[derive(Debug)]
pub(super) struct FlowopLimits {
    /// Count at the last execution; `None` before the first.
    last: Vec<Option<u64>>,
    /// Units left over from events that were taken.
    credit: Vec<u64>,
}

impl FlowopLimits {
    pub(super) fn new(steps: usize) -> Self {
        Self { last: vec![None; steps], credit: vec![0; steps] }
    }
}

impl Worker {
    /// Operations, or bytes, of the target row or of the whole thread.
    fn progress(&self, kind: FlowopKind) -> u64 {
        let Some(target) = self.flow().target else {
            return match kind {
                FlowopKind::BwLimit => self.rows.bytes,
                FlowopKind::IopsLimit => self.rows.moves,
                _ => self.rows.operations,
            };
        };
        let own = self.rows.of_row(&self.steps, target);
        let watched = &self.namespace.common.watched[target];
        let (count, bytes) = own.unwrap_or_else(|| {
            (watched.count.load(Ordering::Relaxed), watched.bytes.load(Ordering::Relaxed))
        });
        if kind == FlowopKind::BwLimit { bytes } else { count }
    }

    /// Takes as many events as the progress since the last execution needs. As in the original,
    /// without an event generator nothing is limited, and the flowop is not counted.
    pub(super) fn limit(&mut self, io: &mut dyn Io, kind: FlowopKind) -> Result<(), FlowopExit> {
        if self.namespace.plan.rate.is_none() {
            return Err(FlowopExit::Skipped);
        }
        if kind == FlowopKind::EventLimit {
            return self.take_events(io, 1);
        }
        let now = self.progress(kind);
        let last = self.limits.last[self.pc].replace(now).ok_or(FlowopExit::Skipped)?;
        let used = now.saturating_sub(last);
        let credit = &mut self.limits.credit[self.pc];
        if used <= *credit {
            *credit -= used;
            return Ok(());
        }
        let missing = used - *credit;
        *credit = 0;
        if kind != FlowopKind::BwLimit {
            return self.take_events(io, missing);
        }
        let events = missing / BYTES_OF_EVENT + 1;
        *credit = events * BYTES_OF_EVENT - missing;
        self.take_events(io, events)
    }

    /// Takes `left` events, waiting until there are as many.
    fn take_events(&mut self, io: &mut dyn Io, mut left: u64) -> Result<(), FlowopExit> {
        loop {
            let common = &self.namespace.common;
            let seen = common.event_came.count();
            left -= common.take_events(left);
            if left == 0 {
                return Ok(());
            }
            io.wait_for(&common.event_came, seen, WAIT_NS)?;
            self.count_call(io);
            self.check_end()?;
        }
    }

    /// Ends the run if all threads together have done enough.
    pub(super) fn finish(&self, kind: FlowopKind) -> Result<(), FlowopExit> {
        let common = &self.namespace.common;
        let watched = self.flow().target.map_or(&common.total, |row| &common.watched[row]);
        let enough = self.constants[self.pc];
        let is_over = match kind {
            FlowopKind::FinishOnBytes => watched.bytes.load(Ordering::Relaxed) > enough,
            _ => watched.count.load(Ordering::Relaxed) >= enough,
        };
        if is_over {
            common.deadline.reach();
            return Err(FlowopExit::Over);
        }
        Ok(())
    }
}

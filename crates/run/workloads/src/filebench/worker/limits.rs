//! Flowops that hold a thread back to the rate of events, and those that end the run.

use std::sync::atomic::Ordering;

use super::super::plan::Kind;
use super::doing::Doing;
use super::{Then, Worker};

/// An event stands for so many bytes.
const BYTES_OF_EVENT: u64 = 1 << 20;

/// How far each limiting flowop has counted.
#[derive(Debug)]
pub(super) struct Limits {
    /// What was there the last time; `None` before the first.
    last: Vec<Option<u64>>,
    /// What is paid for and was not used yet.
    credit: Vec<u64>,
}

impl Limits {
    pub(super) fn new(steps: usize) -> Self {
        Self { last: vec![None; steps], credit: vec![0; steps] }
    }
}

impl Worker {
    /// Operations, or bytes, of the target or of the whole thread.
    fn progress(&self, kind: Kind) -> u64 {
        let Some(target) = self.flow().target else {
            return match kind {
                Kind::BwLimit => self.rows.bytes,
                Kind::IopsLimit => self.rows.moves,
                _ => self.rows.operations,
            };
        };
        let own = self.rows.of_row(&self.steps, target);
        let watched = &self.land.crew.watched[target];
        let (count, bytes) = own.unwrap_or_else(|| {
            (watched.count.load(Ordering::Relaxed), watched.bytes.load(Ordering::Relaxed))
        });
        if kind == Kind::BwLimit { bytes } else { count }
    }

    /// As the original: without a generator of events nothing is limited, and nothing counts.
    pub(super) fn limit(&mut self, kind: Kind) -> Then {
        if self.land.plan.rate.is_none() {
            return Then::Skip;
        }
        if kind == Kind::EventLimit {
            self.present.left = 1;
            return self.take_events();
        }
        let now = self.progress(kind);
        let Some(last) = self.limits.last[self.pc].replace(now) else { return Then::Skip };
        let used = now.saturating_sub(last);
        let credit = &mut self.limits.credit[self.pc];
        if used <= *credit {
            *credit -= used;
            return Then::Count;
        }
        let missing = used - *credit;
        *credit = 0;
        self.present.left = match kind {
            Kind::BwLimit => {
                let events = missing / BYTES_OF_EVENT + 1;
                self.limits.credit[self.pc] = events * BYTES_OF_EVENT - missing;
                events
            }
            _ => missing,
        };
        self.take_events()
    }

    /// Takes what events there are, until it has enough.
    pub(super) fn take_events(&mut self) -> Then {
        let seen = self.land.crew.event_came.count();
        self.present.left -= self.land.crew.take_events(self.present.left);
        if self.present.left == 0 { Then::Count } else { Then::Do(Doing::AwaitEvent(seen)) }
    }

    /// Whether enough was done by all threads together.
    pub(super) fn finish(&mut self, kind: Kind) -> Then {
        let crew = &self.land.crew;
        let watched = self.flow().target.map_or(&crew.total, |row| &crew.watched[row]);
        let enough = self.constants[self.pc];
        let is_over = match kind {
            Kind::FinishOnBytes => watched.bytes.load(Ordering::Relaxed) > enough,
            _ => watched.count.load(Ordering::Relaxed) >= enough,
        };
        if is_over {
            crew.bell.ring();
            return Then::End;
        }
        Then::Count
    }
}

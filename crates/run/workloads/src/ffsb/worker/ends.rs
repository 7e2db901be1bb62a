//! When a worker ends, and what it looks at to know.

use super::{Stage, Worker};
use crate::ffsb::plan::Kept;

/// Operations without the filesystem getting any fuller.
const STUCK_AFTER: u64 = 2_000_000;

/// When a worker ends, beside when the bell rings.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::ffsb) enum Ends {
    /// Only then.
    AtBell,
    /// After so many operations.
    After(u64),
    /// When the filesystem has grown by so many bytes.
    Grown(u64),
    /// When this share of the filesystem is used.
    Filled(f64),
    /// When this share is used; then all that age the filesystem do.
    Aged(f64),
}

impl Worker {
    /// How full the filesystem is.
    pub(super) fn weigh(&mut self, share: f64, grown: u64) {
        let over = match self.ends {
            Ends::Grown(bytes) => grown >= bytes,
            Ends::Filled(until) | Ends::Aged(until) => share >= until,
            Ends::AtBell | Ends::After(_) => false,
        };
        if share > self.fullest.0 {
            self.fullest = (share, self.done);
        }
        if over {
            self.ends = Ends::After(self.done);
            if matches!(self.plan.files, Kept::Fill) {
                self.crew.bell.ring();
            }
        } else if self.done - self.fullest.1 > STUCK_AFTER {
            let what = if matches!(self.ends, Ends::Aged(_)) { "aging" } else { "making files" };
            self.crew.fail(format!(
                "{what} does not fill the filesystem: after {STUCK_AFTER} more operations it is \
                 still at {:.2} %; give creates and appends more weight than deletes",
                self.fullest.0 * 100.0
            ));
        }
        self.stage = Stage::Rest;
    }

    /// Whether it is to end now.
    #[inline]
    pub(super) fn is_over(&self) -> bool {
        self.crew.bell.has_rung() || matches!(self.ends, Ends::After(most) if self.done >= most)
    }
}

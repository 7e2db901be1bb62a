//! End conditions of a worker and their checks.

use treering_script::{Io, SessionError, Stop};

use super::Worker;
use crate::plan::PopulationKind;
use crate::slots::KeptDirectory;

/// Number of operations of an aging worker, or share of the filesystem it has written
/// (1/`LOOK_SHARE`), after which fullness is checked.
const LOOK_EVERY: u64 = 16;
const LOOK_SHARE: u64 = 500;
/// Number of operations without growth of the filesystem after which a worker gives up.
const STUCK_AFTER: u64 = 2_000_000;

/// End condition of a worker, besides the deadline.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum EndCondition {
    /// Ends at the deadline only.
    AtDeadline,
    /// Ends after this many operations.
    After(u64),
    /// Ends when the used space has grown by this many bytes.
    Grown(u64),
    /// Ends at this used fraction of the filesystem, 0 to 1.
    Filled(f64),
    /// Used fraction, 0 to 1; ends all workers that age the filesystem.
    Aged(f64),
}

impl Worker {
    /// Checks the fullness of the filesystem, if it decides the worker's end and may have changed.
    #[inline]
    pub(super) fn look_if_due(&mut self, io: &mut dyn Io) -> Result<(), Stop> {
        let (written, enough) = self.unweighed;
        match self.ends {
            EndCondition::AtDeadline | EndCondition::After(_) => Ok(()),
            EndCondition::Aged(_) if written < enough && !self.done.is_multiple_of(LOOK_EVERY) => {
                Ok(())
            }
            EndCondition::Grown(_) | EndCondition::Filled(_) | EndCondition::Aged(_) => {
                self.look(io)
            }
        }
    }

    fn look(&mut self, io: &mut dyn Io) -> Result<(), Stop> {
        let filesystem = self.plan.bound.unwrap_or(0);
        let root = self.open_part(io, filesystem, KeptDirectory::Root)?;
        let room = io.room(root)?;
        self.unweighed = (0, room.capacity_bytes / LOOK_SHARE);
        let (share, grown) = self.namespace.filesets[filesystem].fullness(room);
        let is_over = match self.ends {
            EndCondition::Grown(bytes) => grown >= bytes,
            EndCondition::Filled(until) | EndCondition::Aged(until) => share >= until,
            EndCondition::AtDeadline | EndCondition::After(_) => false,
        };
        if share > self.fullest.0 {
            self.fullest = (share, self.done);
        }
        if is_over {
            self.ends = EndCondition::After(self.done);
            if self.plan.files == PopulationKind::Fill {
                self.common.deadline.reach();
            }
        } else if self.done - self.fullest.1 > STUCK_AFTER {
            let activity =
                if matches!(self.ends, EndCondition::Aged(_)) { "aging" } else { "making files" };
            self.common.fail(SessionError::new(format!(
                "{activity} does not fill the filesystem: after {STUCK_AFTER} more operations it is \
                 still at {:.2} %; give creates and appends more weight than deletes",
                self.fullest.0 * 100.0
            )));
        }
        Ok(())
    }

    /// True if the worker must end now.
    #[inline]
    pub(super) fn is_over(&self) -> bool {
        self.common.deadline.is_reached()
            || matches!(self.ends, EndCondition::After(most) if self.done >= most)
    }
}

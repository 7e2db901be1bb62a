//! Sessions that another workload can run part by part, within its own phases.

use treering_script::{Conductor, Session, SessionResult};

/// A session that can also be run part by part.
pub trait PartedSession: Session {
    /// Runs the groups of the next part, within a phase that the caller has begun.
    ///
    /// # Errors
    /// When the session cannot go on, or the conductor ended the run.
    fn run_next_part(&mut self, conductor: &mut dyn Conductor) -> SessionResult;
}

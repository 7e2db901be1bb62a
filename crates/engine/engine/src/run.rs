//! Entry point that runs a session at any place, with one struct of options.

use treering_script::Session;

use crate::conduct::conduct;
use crate::heat::HeatedPlace;
use crate::places::renewal::RenewablePlace;
use crate::{EngineError, MemoryFilesystem, RunOptions, SessionPlace, Target};

/// Place at which sessions are run.
///
/// The loop over the steps is generic over the kind of place. For real directories it is compiled
/// in this crate, which is optimised for speed, rather than in the calling crate; therefore they
/// have a `run` of their own.
pub trait RunSessions: SessionPlace {
    /// Runs a session to its end. Pushes all events from the first
    /// [`PhaseBegan`](treering_model::TrialEvent::PhaseBegan) to the last
    /// [`PhaseEnded`](treering_model::TrialEvent::PhaseEnded); the caller begins and ends the trial
    /// and pushes its metrics.
    ///
    /// # Errors
    /// When a call fails, a signal asks to stop, a worker panics or cannot be started, the target
    /// cannot be remounted, or a listener fails. Except after a failed listener, the finished tasks
    /// and the totals of the phase so far, including the calls of unfinished tasks, have been
    /// pushed.
    fn run(&self, session: &mut dyn Session, options: RunOptions<'_>) -> Result<(), EngineError> {
        run_at(self, session, options)
    }
}

fn run_at<P: SessionPlace + ?Sized>(
    place: &P,
    session: &mut dyn Session,
    options: RunOptions<'_>,
) -> Result<(), EngineError> {
    match options.heat {
        None => conduct(place, session, options),
        Some(log) => conduct(&HeatedPlace::new(place, log), session, options),
    }
}

impl RunSessions for Target {
    fn run(&self, session: &mut dyn Session, options: RunOptions<'_>) -> Result<(), EngineError> {
        run_at(self, session, options)
    }
}

/// Several targets: workers take turns at them.
impl RunSessions for [Target] {
    fn run(&self, session: &mut dyn Session, options: RunOptions<'_>) -> Result<(), EngineError> {
        run_at(self, session, options)
    }
}

impl RunSessions for RenewablePlace<'_> {
    fn run(&self, session: &mut dyn Session, options: RunOptions<'_>) -> Result<(), EngineError> {
        run_at(self, session, options)
    }
}

impl RunSessions for MemoryFilesystem {}
impl RunSessions for [MemoryFilesystem] {}

//! The call that runs a session: one for all places, with one struct of options.

use treering_script::Session;

use crate::conduct::conduct;
use crate::heat::HeatedPlace;
use crate::places::renewal::RenewablePlace;
use crate::{EngineError, MemoryFilesystem, RunOptions, SessionPlace, Target};

/// A place at which sessions are run.
///
/// The loop over the steps is compiled for each kind of place. Those of real directories have it
/// compiled in this crate, which is compiled for speed, and not in the one that calls it: they
/// have a `run` of their own.
pub trait RunSessions: SessionPlace {
    /// Runs a session to its end. Pushes everything from the first
    /// [`PhaseBegan`](treering_model::TrialEvent::PhaseBegan) to the last
    /// [`PhaseEnded`](treering_model::TrialEvent::PhaseEnded); the caller begins and ends the trial
    /// and pushes its metrics.
    ///
    /// # Errors
    /// When a call fails, a signal asks to stop, a worker panics or cannot be started, the place
    /// cannot be had again between two phases, or a listener fails. But for the last, tasks that
    /// were finished and the totals of the phase so far, the unfinished tasks' calls included, have
    /// been pushed then.
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

/// Workers take turns at them.
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

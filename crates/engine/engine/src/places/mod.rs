//! Places in which sessions run: a directory, several at which workers take turns, or memory.

pub(crate) mod manifest;
mod program;
pub(crate) mod remove;
pub(crate) mod renewal;
pub(crate) mod target;
pub(crate) mod watched_program;

use std::io;
use std::process;

use treering_model::{Caution, CautionCode};
use treering_script::{ExternalProgram, ProgramEnd};
use treering_sys::{Confinement, DropCachesError, StopFlag, drop_caches};

use crate::{
    Caller, EngineError, HeatBook, MemoryCaller, MemoryFilesystem, Payload, SyncCaller, Target,
    TrialClock,
};
use program::run_program;

/// Place in which sessions run.
pub trait SessionPlace {
    /// Maker of the calls of a worker.
    type Caller: Caller;

    /// Caller for another worker, with block numbers of its own in the payload.
    ///
    /// # Errors
    /// When the system denies it.
    fn caller(&self, payload: &Payload, worker: u16) -> io::Result<Self::Caller>;

    /// Drops the caches of the place, if it has any.
    ///
    /// # Errors
    /// When the system denies it.
    fn drop_caches(&self) -> Result<(), DropCachesError> {
        Ok(())
    }

    /// Runs a shell command, unless the place is in memory, where no command could have an effect.
    /// The output is that of this process; the exit code is ignored.
    ///
    /// # Errors
    /// When there is no shell.
    fn shell(&self, _command: &str) -> io::Result<()> {
        Ok(())
    }

    /// Runs another program in the place, until it ends.
    ///
    /// # Errors
    /// When it cannot be started, or the place is in memory.
    fn program(
        &self,
        _program: &ExternalProgram,
        _clock: TrialClock,
        _stop: &StopFlag,
    ) -> io::Result<ProgramEnd> {
        Err(io::Error::other("no program can work in memory"))
    }

    /// Cautions about the place, reported before the first phase.
    fn cautions(&self) -> Vec<Caution> {
        Vec::new()
    }

    /// Takes the heat record of a task that ended, if heat is recorded.
    fn gather(&self, _book: HeatBook) {}

    /// True if the place is renewed between two phases; no worker has anything open there
    /// meanwhile.
    fn is_renewed(&self) -> bool {
        false
    }

    /// Renews the place.
    ///
    /// # Errors
    /// When it cannot be opened again.
    fn renew(&self) -> Result<(), EngineError> {
        Ok(())
    }
}

impl SessionPlace for Target {
    type Caller = SyncCaller;

    fn caller(&self, payload: &Payload, worker: u16) -> io::Result<SyncCaller> {
        let payload = payload.for_worker(worker);
        let caller = SyncCaller::new(self.dir(), self.confinement(), payload)?;
        Ok(caller.named(self.user_path()).recorded_in(self.manifest()))
    }

    fn drop_caches(&self) -> Result<(), DropCachesError> {
        drop_caches()
    }

    fn shell(&self, command: &str) -> io::Result<()> {
        let mut shell = process::Command::new("sh");
        shell.arg("-c").arg(command).status().map(|_status| ())
    }

    fn program(
        &self,
        program: &ExternalProgram,
        clock: TrialClock,
        stop: &StopFlag,
    ) -> io::Result<ProgramEnd> {
        run_program(self, program, clock, stop)
    }

    fn cautions(&self) -> Vec<Caution> {
        let message = "this kernel or sandbox has no openat2".to_owned();
        let walk = Caution { code: CautionCode::ConfinedByWalk, message };
        Some(walk).filter(|_| self.confinement() == Confinement::Walk).into_iter().collect()
    }
}

/// Several directories as one place: workers take turns at them, and may open all of them.
impl SessionPlace for [Target] {
    type Caller = SyncCaller;

    fn caller(&self, payload: &Payload, worker: u16) -> io::Result<SyncCaller> {
        let roots: Vec<_> = self.iter().map(Target::dir).collect();
        Ok(place_of_worker(self, worker)?.caller(payload, worker)?.with_roots(&roots)?)
    }

    fn drop_caches(&self) -> Result<(), DropCachesError> {
        self.first().map_or(Ok(()), SessionPlace::drop_caches)
    }

    fn shell(&self, command: &str) -> io::Result<()> {
        self.first().map_or(Ok(()), |place| place.shell(command))
    }

    fn program(
        &self,
        program: &ExternalProgram,
        clock: TrialClock,
        stop: &StopFlag,
    ) -> io::Result<ProgramEnd> {
        place_of_worker(self, 0)?.program(program, clock, stop)
    }

    fn cautions(&self) -> Vec<Caution> {
        self.first().map(SessionPlace::cautions).unwrap_or_default()
    }
}

/// Place in which a worker runs; workers take turns at the places.
fn place_of_worker<P>(places: &[P], worker: u16) -> io::Result<&P> {
    let place = places.get(usize::from(worker) % places.len().max(1));
    place.ok_or_else(|| io::Error::other("there is no place"))
}

/// Several filesystems in memory; a worker sees only its own.
impl SessionPlace for [MemoryFilesystem] {
    type Caller = MemoryCaller;

    fn caller(&self, payload: &Payload, worker: u16) -> io::Result<MemoryCaller> {
        place_of_worker(self, worker)?.caller(payload, worker)
    }
}

/// Place in memory: no payload is written, there are no caches to drop, and shell commands have no
/// effect.
impl SessionPlace for MemoryFilesystem {
    type Caller = MemoryCaller;

    fn caller(&self, _payload: &Payload, _worker: u16) -> io::Result<MemoryCaller> {
        Ok(MemoryCaller::new(self))
    }
}

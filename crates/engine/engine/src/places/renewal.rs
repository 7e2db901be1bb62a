//! Target that is unmounted and mounted again between the phases of a session, so that nothing of a
//! phase remains in memory in the next.

use std::cell::RefCell;
use std::error::Error;
use std::io;

use treering_model::Caution;
use treering_script::{ExternalProgram, ProgramEnd};
use treering_sys::{DropCachesError, StopFlag};

use crate::{EngineError, Payload, SessionPlace, SyncCaller, Target, TrialClock};

/// Target that can be renewed; nothing of it may be open meanwhile.
pub trait RenewableTarget {
    /// Current target.
    fn target(&self) -> &Target;

    /// Releases the target and opens it again.
    ///
    /// # Errors
    /// When it cannot be opened again.
    fn renew(&mut self) -> Result<(), Box<dyn Error + Send + Sync>>;
}

/// Place of sessions whose target can be renewed.
pub struct RenewablePlace<'r> {
    holder: RefCell<&'r mut dyn RenewableTarget>,
}

impl<'r> RenewablePlace<'r> {
    /// Creates the place for a renewable target.
    pub fn new(holder: &'r mut dyn RenewableTarget) -> Self {
        Self { holder: RefCell::new(holder) }
    }
}

impl SessionPlace for RenewablePlace<'_> {
    type Caller = SyncCaller;

    fn caller(&self, payload: &Payload, worker: u16) -> io::Result<SyncCaller> {
        self.holder.borrow().target().caller(payload, worker)
    }

    fn drop_caches(&self) -> Result<(), DropCachesError> {
        self.holder.borrow().target().drop_caches()
    }

    fn shell(&self, command: &str) -> io::Result<()> {
        self.holder.borrow().target().shell(command)
    }

    fn program(
        &self,
        program: &ExternalProgram,
        clock: TrialClock,
        stop: &StopFlag,
    ) -> io::Result<ProgramEnd> {
        self.holder.borrow().target().program(program, clock, stop)
    }

    fn cautions(&self) -> Vec<Caution> {
        self.holder.borrow().target().cautions()
    }

    fn is_renewed(&self) -> bool {
        true
    }

    fn renew(&self) -> Result<(), EngineError> {
        self.holder.borrow_mut().renew().map_err(|source| EngineError::Renewal { source })
    }
}

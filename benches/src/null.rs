//! A place that does nothing: every step succeeds at once, or after a spin of known length.
//!
//! What is left is the cost of scripts, engine and recorder alone.

use std::hint::black_box;
use std::io;

use treering_engine::{CallFailure, Caller, Payload, Place, Reply};
use treering_script::{Call, Entries, Outcome, Queue, Step, Synchronous};

/// Does nothing for so many turns at each step.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct NullPlace {
    /// Turns of the spin.
    pub turns: u32,
}

/// Does nothing.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NullCaller {
    turns: u32,
}

impl NullCaller {
    /// What a bare loop does instead of a call: the same spin. Without a hint to the processor,
    /// which would hand it to a hypervisor.
    #[inline(never)]
    pub(crate) fn spin(turns: u32) {
        for turn in 0..turns {
            black_box(turn);
        }
    }
}

impl Place for NullPlace {
    type Caller = NullCaller;

    fn caller(&self, _payload: &Payload, _worker: u16) -> io::Result<NullCaller> {
        Ok(NullCaller { turns: self.turns })
    }
}

impl Caller for NullCaller {
    #[inline]
    fn call(&mut self, step: &Step<'_>) -> Result<Reply<'_>, Box<CallFailure>> {
        Self::spin(self.turns);
        Ok(Reply { outcome: outcome(step), calls: 1 })
    }

    fn open_through(&mut self, _direct: bool, _synchronous: Synchronous) {}

    fn open_queue(&mut self, _queue: Option<Queue>) -> io::Result<()> {
        Ok(())
    }

    fn close_all(&mut self) {}
}

/// What a step comes to where everything works and every directory is empty.
#[inline]
pub fn outcome(step: &Step<'_>) -> Outcome<'static> {
    match step.call {
        Call::Write { bytes, .. } => Outcome::Bytes(u64::from(bytes)),
        Call::Read { .. } => Outcome::Bytes(0),
        Call::ReadDir { .. } => Outcome::Entries(Entries::new(&[])),
        _ => Outcome::Done,
    }
}

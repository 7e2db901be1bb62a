//! A place that does nothing: every call succeeds at once, or after a spin of known length.
//!
//! What is left is the cost of tasks, engine and recorder alone.

use std::hint::black_box;
use std::io;
use std::path::PathBuf;

use treering_engine::{CallReply, Caller, Payload, RunSessions, SessionPlace};
use treering_script::{
    Call, CallError, CallResult, CallSubject, Completion, DirEntries, Io, IoQueue, Stop, SyncMode,
};

/// Does nothing for so many turns at each call.
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

impl RunSessions for NullPlace {}

impl SessionPlace for NullPlace {
    type Caller = NullCaller;

    fn caller(&self, _payload: &Payload, _worker: u16) -> io::Result<NullCaller> {
        Ok(NullCaller { turns: self.turns })
    }
}

impl Caller for NullCaller {
    #[inline]
    fn call(&mut self, call: &Call<'_>) -> Result<CallReply, CallError> {
        Self::spin(self.turns);
        Ok(CallReply::once(done(call)))
    }

    fn entries(&self) -> DirEntries<'_> {
        DirEntries::new(&[])
    }

    fn reaped(&self) -> &[Completion] {
        &[]
    }

    fn path_of(&self, _subject: CallSubject<'_>) -> PathBuf {
        PathBuf::new()
    }

    fn open_through(&mut self, _direct: bool, _synchronous: SyncMode) {}

    fn open_queue(&mut self, _queue: Option<IoQueue>) -> io::Result<()> {
        Ok(())
    }

    fn close_all(&mut self) {}
}

/// What a call comes to where everything works and every directory is empty.
#[inline]
const fn done(call: &Call<'_>) -> CallResult {
    match *call {
        Call::Write { bytes, .. } => CallResult::Bytes(bytes as u64),
        Call::Read { .. } => CallResult::Bytes(0),
        Call::ReadDir { .. } => CallResult::Entries,
        _ => CallResult::Plain,
    }
}

/// What the code of a task costs alone: it is answered at once, and its calls are counted.
#[derive(Debug, Default)]
pub(crate) struct NullIo {
    /// Calls that were made.
    pub(crate) calls: u64,
}

impl Io for NullIo {
    #[inline(never)]
    fn call(&mut self, call: &Call<'_>) -> Result<CallResult, Stop> {
        self.calls += 1;
        Ok(done(black_box(call)))
    }

    fn entries(&self) -> DirEntries<'_> {
        DirEntries::new(&[])
    }

    fn reaped(&self) -> &[Completion] {
        &[]
    }

    fn timed(&self) -> Option<(u64, u64)> {
        None
    }

    fn began_ns(&self) -> u64 {
        0
    }
}

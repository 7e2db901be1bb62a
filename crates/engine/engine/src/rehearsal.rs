//! Runs the code of a session or task without an engine: calls in sequence, in simulated time.
//!
//! This serves tests and the inspection of sequences: nothing is counted, and every call takes a
//! given time. A [`SteppedTask`] pauses between its calls, so that a single thread can interleave
//! several tasks in any order, reproducibly.

use std::ops::ControlFlow;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{Builder, JoinHandle};

use treering_script::{
    Call, CallError, CallResult, Completion, Conductor, DirEntries, Io, ParallelGroup, Phase,
    Script, Session, SessionError, SessionResult, SessionStop, Stop, TaskListener,
};

use crate::Caller;

/// Request of a session to its conductor.
pub enum SessionRequest<'s> {
    /// Beginning of a phase.
    Phase(Phase),
    /// Group to run; its totals go to the listener.
    Group(ParallelGroup, &'s mut dyn TaskListener),
}

struct RequestConductor<'f>(&'f mut dyn FnMut(SessionRequest<'_>) -> SessionResult);

impl Conductor for RequestConductor<'_> {
    fn phase(&mut self, phase: Phase) -> SessionResult {
        (self.0)(SessionRequest::Phase(phase))
    }

    fn group(&mut self, group: ParallelGroup, listener: &mut dyn TaskListener) -> SessionResult {
        (self.0)(SessionRequest::Group(group, listener))
    }
}

/// Runs a session without a target: `answer` receives its phases and groups, and may end it.
///
/// # Errors
/// When the session cannot go on. A session that `answer` ended is no error.
pub fn rehearse_session(
    session: &mut dyn Session,
    answer: &mut dyn FnMut(SessionRequest<'_>) -> SessionResult,
) -> Result<(), SessionError> {
    match session.run(&mut RequestConductor(answer)) {
        Ok(()) | Err(SessionStop::Ended) => Ok(()),
        Err(SessionStop::Failed(error)) => Err(error),
    }
}

/// Callback for each call and its result; breaks to end the task.
type CallWatcher<'w> =
    &'w mut dyn FnMut(&Call<'_>, Result<CallResult, CallError>) -> ControlFlow<()>;

struct Rehearsal<'w, C> {
    caller: &'w mut C,
    call_ns: u64,
    now_ns: u64,
    watch: CallWatcher<'w>,
    is_over: bool,
}

/// Runs the code of a task in simulated time, `call_ns` nanoseconds for each call. `watch` is
/// called after each call, and may end the task.
///
/// # Errors
/// When a call fails that the code does not expect. A task that `watch` ended is no error.
pub fn rehearse<C: Caller>(
    script: &mut dyn Script,
    caller: &mut C,
    call_ns: u64,
    watch: CallWatcher<'_>,
) -> Result<(), CallError> {
    let mut io = Rehearsal { caller, call_ns, now_ns: 0, watch, is_over: false };
    match script.run(&mut io) {
        Ok(()) | Err(Stop::Asked) => Ok(()),
        Err(Stop::Failed(error)) => Err(error),
    }
}

impl<C: Caller> Io for Rehearsal<'_, C> {
    fn call(&mut self, call: &Call<'_>) -> Result<CallResult, Stop> {
        if self.is_over {
            return Err(Stop::Asked);
        }
        let done = self.caller.call(call).map(|reply| reply.done);
        self.now_ns += self.call_ns;
        self.is_over = (self.watch)(call, done).is_break();
        done.map_err(Stop::Failed)
    }

    fn entries(&self) -> DirEntries<'_> {
        self.caller.entries()
    }

    fn reaped(&self) -> &[Completion] {
        self.caller.reaped()
    }

    fn timed(&self) -> Option<(u64, u64)> {
        Some((self.now_ns.saturating_sub(self.call_ns), self.now_ns))
    }

    fn began_ns(&self) -> u64 {
        0
    }
}

/// Task that makes its calls on request. Dropping it ends the task.
#[derive(Debug)]
pub struct SteppedTask<T> {
    cues: Option<Sender<()>>,
    reports: Receiver<T>,
    thread: Option<JoinHandle<Box<dyn Script>>>,
}

impl<T: Send + 'static> SteppedTask<T> {
    /// A task that has not begun, with its own caller. `describe` converts each call for the
    /// observer.
    ///
    /// # Panics
    /// When no thread can be created.
    pub fn new<C: Caller + 'static>(
        mut script: Box<dyn Script>,
        mut caller: C,
        mut describe: impl FnMut(&Call<'_>, Result<CallResult, CallError>) -> T + Send + 'static,
    ) -> Self {
        let (cues, cued) = channel();
        let (reporter, reports) = channel();
        let act = move || {
            let mut watch = |call: &Call<'_>, done: Result<CallResult, CallError>| {
                let goes_on = reporter.send(describe(call, done)).is_ok() && cued.recv().is_ok();
                if goes_on { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
            };
            if cued.recv().is_ok() {
                // What ended it was said as the last call.
                let _ended = rehearse(script.as_mut(), &mut caller, 1000, &mut watch);
            }
            script
        };
        let thread = Builder::new().spawn(act).expect("a thread for a task");
        Self { cues: Some(cues), reports, thread: Some(thread) }
    }
}

impl<T> SteppedTask<T> {
    /// Ends the task at its current call and returns its code with its state; `None` after a panic.
    pub fn end(mut self) -> Option<Box<dyn Script>> {
        self.cues = None;
        self.thread.take()?.join().ok()
    }
}

impl<T> Iterator for SteppedTask<T> {
    type Item = T;

    /// Lets the task make its next call; `None` once it has ended.
    fn next(&mut self) -> Option<T> {
        self.cues.as_ref()?.send(()).ok()?;
        self.reports.recv().ok()
    }
}

impl<T> Drop for SteppedTask<T> {
    fn drop(&mut self) {
        self.cues = None;
        // A test that fails by a panic in its task has said so.
        let _panicked = self.thread.take().map(JoinHandle::join);
    }
}

//! Forked processes that do one piece of work and return bytes through a pipe.
//!
//! The child has only the forking thread. It may allocate, since glibc and musl keep their
//! allocators usable across a fork, but must not take a lock that another thread may hold: no
//! standard output or error, no access to a store. It exits without running destructors.
#![expect(unsafe_code, reason = "fork and _exit")]

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::retry_on_intr;
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{
    Pid, Signal, WaitId, WaitIdOptions, WaitOptions, getpid, getppid, kill_process,
    set_parent_process_death_signal, setsid, waitid, waitpid,
};

use super::panics::{silence_child, silence_children};

/// Exit codes of a child: work done, and failed.
const DONE: i32 = 0;
const FAILED: i32 = 70;
/// Last byte of every complete answer. A child that has sent it has nothing left to do and is
/// killed instead of awaited, as it could be stopped between its answer and its exit.
const COMPLETE: u8 = b'.';

/// Gate at which forked processes wait for each other; dropping it in the parent releases all.
#[derive(Debug)]
pub struct ForkGate {
    wait: OwnedFd,
    hold: OwnedFd,
}

impl ForkGate {
    /// Creates a closed gate.
    ///
    /// # Errors
    /// As `pipe`.
    pub fn new() -> io::Result<Self> {
        let (wait, hold) = pipe_with(PipeFlags::CLOEXEC)?;
        Ok(Self { wait, hold })
    }

    /// Waits in a child until the parent has dropped the gate.
    fn pass(&self) {
        let _opened = retry_on_intr(|| poll(&mut [PollFd::new(&self.wait, PollFlags::IN)], None));
    }
}

impl Drop for ForkGate {
    /// Opens the gate by a byte that nobody reads. The end of the pipe would not do: processes
    /// forked meanwhile by another thread hold it, too, and may wait for a gate themselves.
    fn drop(&mut self) {
        let _a_new_pipe_has_room = rustix::io::write(&self.hold, b".");
    }
}

/// Forked process at work; dropping it kills the process.
#[derive(Debug)]
pub struct ForkedProcess {
    pid: Option<Pid>,
    answer: Option<File>,
    bytes: Vec<u8>,
    is_stopped: bool,
}

/// Result of a forked process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ForkEnd {
    /// Answer of the process.
    Answered(Vec<u8>),
    /// Process ended without an answer; the text describes its exit status or signal.
    Lost(String),
}

/// Forks a child that prepares, passes the gate, does the work, sends the answer and exits. The
/// child is killed if its parent ends.
///
/// # Errors
/// As `fork` and `pipe`.
pub fn fork_worker<P>(
    gate: Option<&ForkGate>,
    prepare: impl FnOnce() -> P,
    work: impl FnOnce(P) -> Vec<u8>,
) -> io::Result<ForkedProcess> {
    silence_children();
    let (read, write) = pipe_with(PipeFlags::CLOEXEC)?;
    let parent = getpid();
    // SAFETY: the child continues with this thread alone, within the limits described for this
    // module.
    let pid = unsafe { libc::fork() };
    if pid < 0 {
        return Err(io::Error::last_os_error());
    }
    if pid == 0 {
        drop(read);
        let done = catch_unwind(AssertUnwindSafe(|| {
            silence_child();
            let _as_old_as_linux = set_parent_process_death_signal(Some(Signal::KILL));
            if getppid() != Some(parent) {
                return false;
            }
            let prepared = prepare();
            if let Some(gate) = gate {
                gate.pass();
            }
            let mut answer = work(prepared);
            answer.push(COMPLETE);
            File::from(write).write_all(&answer).is_ok()
        }));
        let code = if matches!(done, Ok(true)) { DONE } else { FAILED };
        // SAFETY: ends the child without running destructors or exit handlers of the parent.
        unsafe { libc::_exit(code) };
    }
    let answer = Some(File::from(read));
    Ok(ForkedProcess { pid: Pid::from_raw(pid), answer, bytes: Vec::new(), is_stopped: false })
}

/// Starts a new session in a forked process, so that signals of the terminal do not reach it.
pub fn own_session() {
    let _is_in_one_already = setsid();
}

impl ForkedProcess {
    /// Reports whether the answer is complete, or none will arrive.
    pub fn is_over(&self) -> bool {
        self.answer.is_none()
    }

    /// Reports whether the process ended without a complete answer.
    pub fn is_lost(&self) -> bool {
        self.is_over() && self.bytes.last() != Some(&COMPLETE)
    }

    fn take(&mut self, most: usize) {
        let Some(answer) = &mut self.answer else { return };
        let mut piece = [0; 16_384];
        match answer.read(&mut piece) {
            Ok(0) => self.answer = None,
            Ok(count) if self.bytes.len() + count <= most.saturating_add(1) => {
                self.bytes.extend_from_slice(&piece[..count]);
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            // An answer above the limit is discarded.
            Ok(_) | Err(_) => {
                self.answer = None;
                self.bytes.clear();
            }
        }
    }

    /// Reports whether the process is stopped by a signal such as SIGSTOP.
    pub fn is_stopped(&mut self) -> bool {
        let Some(pid) = self.pid else { return false };
        let options = WaitIdOptions::STOPPED | WaitIdOptions::CONTINUED | WaitIdOptions::NOHANG;
        // The kernel reports each change once.
        while let Ok(Some(change)) = retry_on_intr(|| waitid(WaitId::Pid(pid), options)) {
            self.is_stopped = change.stopped();
        }
        self.is_stopped
    }

    /// Continues the process if it is stopped.
    pub fn resume(&self) {
        self.signal(Signal::CONT);
    }

    /// Sends SIGTERM; a stopped process is continued, as it could not handle the signal otherwise.
    pub fn terminate(&self) {
        self.signal(Signal::TERM);
        self.signal(Signal::CONT);
    }

    /// Kills the process, stopped or not.
    pub fn kill(&self) {
        self.signal(Signal::KILL);
    }

    fn signal(&self, signal: Signal) {
        let _ended_already = self.pid.map(|pid| kill_process(pid, signal));
    }

    /// Kills the process unless it closed its pipe without a complete answer, reaps it, and returns
    /// its result.
    pub fn end(mut self) -> ForkEnd {
        let is_complete = self.answer.is_none() && self.bytes.last() == Some(&COMPLETE);
        if is_complete || self.answer.is_some() {
            self.kill();
        } else {
            // The process has closed its end of the pipe and is about to exit.
            self.resume();
        }
        let Some(pid) = self.pid.take() else { return ForkEnd::Lost("gone".to_owned()) };
        let status = retry_on_intr(|| waitpid(Some(pid), WaitOptions::empty()));
        if is_complete {
            self.bytes.pop();
            return ForkEnd::Answered(std::mem::take(&mut self.bytes));
        }
        let Ok(Some((_, status))) = status else { return ForkEnd::Lost("gone".to_owned()) };
        match (status.exit_status(), status.terminating_signal()) {
            (Some(code), _) => ForkEnd::Lost(format!("it ended with code {code}")),
            (None, Some(signal)) => ForkEnd::Lost(format!("it was killed by signal {signal}")),
            (None, None) => ForkEnd::Lost("it ended".to_owned()),
        }
    }
}

impl Drop for ForkedProcess {
    fn drop(&mut self) {
        if let Some(pid) = self.pid.take() {
            let _ended_already = kill_process(pid, Signal::KILL);
            let _ended = retry_on_intr(|| waitpid(Some(pid), WaitOptions::empty()));
        }
    }
}

/// Waits until any unfinished process has output, at most for `wait`, and reads it; an answer of
/// more than `most` bytes is discarded. Returns false if all are finished.
///
/// # Errors
/// As `poll`.
pub fn read_answers(
    children: &mut [ForkedProcess],
    most: usize,
    wait: Duration,
) -> io::Result<bool> {
    let wait = Timespec::try_from(wait).ok();
    let ready: Vec<bool> = {
        let answers = children.iter().map(|forked| forked.answer.as_ref());
        let open: Vec<Option<BorrowedFd<'_>>> =
            answers.map(|answer| answer.map(File::as_fd)).collect();
        let mut polled: Vec<PollFd<'_>> =
            open.iter().flatten().map(|fd| PollFd::from_borrowed_fd(*fd, PollFlags::IN)).collect();
        if polled.is_empty() {
            return Ok(false);
        }
        retry_on_intr(|| poll(&mut polled, wait.as_ref()))?;
        let mut events = polled.iter().map(|polled| !polled.revents().is_empty());
        open.iter().map(|fd| fd.is_some() && events.next().unwrap_or(false)).collect()
    };
    for (forked, ready) in children.iter_mut().zip(ready) {
        if ready {
            forked.take(most);
        }
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::{ForkEnd, ForkGate, fork_worker, read_answers};
    use crate::processes::panics::{has_panicked, report_panics};
    use crate::processes::shared::SharedValue;
    use std::sync::atomic::Ordering;
    use std::time::Duration;

    /// Timeout that only a child without an answer would reach.
    const LONG: Duration = Duration::from_secs(60);

    fn forked(
        gate: Option<&ForkGate>,
        work: impl FnOnce() -> Vec<u8>,
    ) -> std::io::Result<super::ForkedProcess> {
        fork_worker(gate, || (), |()| work())
    }

    fn end_all(mut children: Vec<super::ForkedProcess>) -> Vec<ForkEnd> {
        while read_answers(&mut children, 1 << 24, LONG).unwrap() {}
        children.into_iter().map(super::ForkedProcess::end).collect()
    }

    #[test]
    fn answers_and_killed_children_are_reported() {
        let children = vec![
            forked(None, || vec![7; 1_000_000]).unwrap(),
            forked(None, Vec::new).unwrap(),
            forked(None, || panic!("nobody hears this")).unwrap(),
            forked(None, || {
                let _killed = rustix::process::kill_process(
                    rustix::process::getpid(),
                    rustix::process::Signal::KILL,
                );
                Vec::new()
            })
            .unwrap(),
        ];
        let ends = end_all(children);
        assert_eq!(ends[0], ForkEnd::Answered(vec![7; 1_000_000]));
        assert_eq!(ends[1], ForkEnd::Answered(Vec::new()));
        assert_eq!(ends[2], ForkEnd::Lost("it ended with code 70".to_owned()));
        assert_eq!(ends[3], ForkEnd::Lost("it was killed by signal 9".to_owned()));
    }

    #[test]
    fn gates_open_though_waiting_children_of_another_run_hold_their_pipes() {
        let (one, other) = (ForkGate::new().unwrap(), ForkGate::new().unwrap());
        let children = [&one, &other].map(|gate| forked(Some(gate), || vec![1]).unwrap());
        drop(one);
        let [first, second] = children;
        assert_eq!(end_all(vec![first]), [ForkEnd::Answered(vec![1])]);
        drop(other);
        assert_eq!(end_all(vec![second]), [ForkEnd::Answered(vec![1])]);
    }

    #[test]
    fn panics_of_children_are_counted_for_the_parent() {
        report_panics(|panic| {
            let _unseen =
                std::io::Write::write_all(&mut std::io::stderr(), panic.to_string().as_bytes());
        });
        let child = forked(None, || panic!("counted, and not reported")).unwrap();
        assert_eq!(end_all(vec![child]), [ForkEnd::Lost("it ended with code 70".to_owned())]);
        assert!(has_panicked());
    }

    #[test]
    fn children_wait_at_the_gate_until_it_is_dropped() {
        let gate = ForkGate::new().unwrap();
        let passed = SharedValue::number();
        let work = || {
            passed.fetch_add(1, Ordering::SeqCst);
            Vec::new()
        };
        let children = (0..4).map(|_| forked(Some(&gate), work).unwrap()).collect();
        std::thread::sleep(Duration::from_millis(100));
        assert_eq!(passed.load(Ordering::SeqCst), 0);
        drop(gate);
        assert!(end_all(children).iter().all(|end| *end == ForkEnd::Answered(Vec::new())));
        assert_eq!(passed.load(Ordering::SeqCst), 4);
    }

    #[test]
    fn children_with_too_long_answers_or_dropped_handles_are_killed() {
        let mut children = vec![forked(None, || vec![0; 1 << 20]).unwrap()];
        while read_answers(&mut children, 1000, LONG).unwrap() {}
        assert!(children[0].is_lost());
        assert!(matches!(children.remove(0).end(), ForkEnd::Lost(_)));
        let gate = ForkGate::new().unwrap();
        drop(forked(Some(&gate), Vec::new).unwrap());
    }

    #[test]
    fn a_stopped_child_is_recognised_and_continues_when_resumed() {
        let gate = ForkGate::new().unwrap();
        let mut child = forked(Some(&gate), || vec![1, 2]).unwrap();
        assert!(!child.is_stopped());
        child.signal(rustix::process::Signal::STOP);
        while !child.is_stopped() {
            std::thread::yield_now();
        }
        assert!(child.is_stopped(), "until it is continued");
        drop(gate);
        let mut children = vec![child];
        assert!(read_answers(&mut children, 1000, Duration::ZERO).unwrap(), "it says nothing");
        assert!(!children[0].is_over());
        children[0].resume();
        assert_eq!(end_all(children), [ForkEnd::Answered(vec![1, 2])]);
    }

    #[test]
    fn a_stopped_child_is_killed_when_it_is_given_up() {
        let gate = ForkGate::new().unwrap();
        let child = forked(Some(&gate), Vec::new).unwrap();
        child.signal(rustix::process::Signal::STOP);
        assert_eq!(child.end(), ForkEnd::Lost("it was killed by signal 9".to_owned()));
    }

    #[test]
    fn a_child_that_is_stopped_after_its_answer_is_not_waited_for() {
        let mut children = vec![forked(None, || vec![3]).unwrap()];
        while read_answers(&mut children, 1000, LONG).unwrap() {}
        children[0].signal(rustix::process::Signal::STOP);
        assert_eq!(children.remove(0).end(), ForkEnd::Answered(vec![3]));
    }
}

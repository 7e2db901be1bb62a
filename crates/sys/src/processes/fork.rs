//! Forked processes that do one piece of work and answer with bytes through a pipe.
//!
//! The child has the forking thread only. It may allocate, since glibc and musl see to their
//! allocators at a fork, but must not take a lock that another thread may hold: no standard output
//! or error, nothing of a store. It ends without running any destructor of its parent.
#![expect(unsafe_code, reason = "fork and _exit")]

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
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

/// The exit code of a child that did its work.
const DONE: i32 = 0;
const FAILED: i32 = 70;
/// The last byte of every complete answer. A child that has sent it has nothing left to do, and is
/// not waited for: it could be stopped between its answer and its exit.
const COMPLETE: u8 = b'.';

/// A gate at which forked processes wait for each other: it opens for all when it is dropped.
#[derive(Debug)]
pub struct ForkGate {
    wait: OwnedFd,
    hold: OwnedFd,
}

impl ForkGate {
    /// A closed gate.
    ///
    /// # Errors
    /// As `pipe`.
    pub fn new() -> io::Result<Self> {
        let (wait, hold) = pipe_with(PipeFlags::CLOEXEC)?;
        Ok(Self { wait, hold })
    }

    /// In a child: waits until the parent has dropped the gate.
    fn pass(&self) {
        // SAFETY: the child's own copy, which nobody uses any more: it ends without destructors.
        unsafe { libc::close(self.hold.as_raw_fd()) };
        // Nobody writes: the reading ends when the last holder is gone.
        let _ended = retry_on_intr(|| rustix::io::read(&self.wait, &mut [0]));
    }
}

/// A forked process at work. It is killed when this is dropped before its end.
#[derive(Debug)]
pub struct Forked {
    pid: Option<Pid>,
    answer: Option<File>,
    bytes: Vec<u8>,
    is_stopped: bool,
}

/// How a forked process ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ForkEnd {
    /// With an answer.
    Answered(Vec<u8>),
    /// Without one: killed by a signal, or for another reason, in words.
    Lost(String),
}

/// Forks; the child passes the gate, does the work, answers and ends. It also ends with its parent.
///
/// # Errors
/// As `fork` and `pipe`.
pub fn fork_worker(gate: Option<&ForkGate>, work: impl FnOnce() -> Vec<u8>) -> io::Result<Forked> {
    silence_children();
    let (read, write) = pipe_with(PipeFlags::CLOEXEC)?;
    let parent = getpid();
    // SAFETY: the child goes on with this thread alone, and does only what is said above.
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
            if let Some(gate) = gate {
                gate.pass();
            }
            let mut answer = work();
            answer.push(COMPLETE);
            File::from(write).write_all(&answer).is_ok()
        }));
        let code = if matches!(done, Ok(true)) { DONE } else { FAILED };
        // SAFETY: ends the child without running anything of the parent's.
        unsafe { libc::_exit(code) };
    }
    let answer = Some(File::from(read));
    Ok(Forked { pid: Pid::from_raw(pid), answer, bytes: Vec::new(), is_stopped: false })
}

/// Begins a session of its own in a forked process, which has none yet: signals of the terminal do
/// not reach it then.
pub fn own_session() {
    let _is_in_one_already = setsid();
}

impl Forked {
    /// Whether the answer is complete, or there will be none.
    pub fn is_over(&self) -> bool {
        self.answer.is_none()
    }

    /// Whether it is over without a complete answer.
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
            // Too long an answer is none.
            Ok(_) | Err(_) => {
                self.answer = None;
                self.bytes.clear();
            }
        }
    }

    /// Whether a signal such as SIGSTOP has stopped the process and none has continued it since.
    pub fn is_stopped(&mut self) -> bool {
        let Some(pid) = self.pid else { return false };
        let options = WaitIdOptions::STOPPED | WaitIdOptions::CONTINUED | WaitIdOptions::NOHANG;
        // Each change is told once.
        while let Ok(Some(change)) = retry_on_intr(|| waitid(WaitId::Pid(pid), options)) {
            self.is_stopped = change.stopped();
        }
        self.is_stopped
    }

    /// Continues the process if it is stopped.
    pub fn resume(&self) {
        self.signal(Signal::CONT);
    }

    /// Asks the process to end; a stopped one is continued, or it would not notice.
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

    /// Reaps the process. One whose answer is complete, or not at its end, is killed.
    pub fn end(mut self) -> ForkEnd {
        let is_complete = self.answer.is_none() && self.bytes.last() == Some(&COMPLETE);
        if is_complete || self.answer.is_some() {
            self.kill();
        } else {
            // It has closed its end of the pipe: it is about to exit.
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

impl Drop for Forked {
    fn drop(&mut self) {
        if let Some(pid) = self.pid.take() {
            let _ended_already = kill_process(pid, Signal::KILL);
            let _ended = retry_on_intr(|| waitpid(Some(pid), WaitOptions::empty()));
        }
    }
}

/// Waits for something to read from any of those that are not over, at most for so long, and takes
/// it; none of them may say more than `most` bytes. Returns whether any was left.
///
/// # Errors
/// As `poll`.
pub fn hear_forked(all: &mut [Forked], most: usize, wait: Duration) -> io::Result<bool> {
    let wait = Timespec::try_from(wait).ok();
    let ready: Vec<bool> = {
        let answers = all.iter().map(|forked| forked.answer.as_ref());
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
    for (forked, ready) in all.iter_mut().zip(ready) {
        if ready {
            forked.take(most);
        }
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::{ForkEnd, ForkGate, fork_worker, hear_forked};
    use crate::processes::panics::{has_panicked, report_panics};
    use crate::processes::shared::Shared;
    use std::sync::atomic::Ordering;
    use std::time::Duration;

    /// Only a child that never answers would take it.
    const LONG: Duration = Duration::from_secs(60);

    fn end_all(mut all: Vec<super::Forked>) -> Vec<ForkEnd> {
        while hear_forked(&mut all, 1 << 24, LONG).unwrap() {}
        all.into_iter().map(super::Forked::end).collect()
    }

    #[test]
    fn children_answer_and_lost_ones_are_reported() {
        let all = vec![
            fork_worker(None, || vec![7; 1_000_000]).unwrap(),
            fork_worker(None, Vec::new).unwrap(),
            fork_worker(None, || panic!("nobody hears this")).unwrap(),
            fork_worker(None, || {
                let _killed = rustix::process::kill_process(
                    rustix::process::getpid(),
                    rustix::process::Signal::KILL,
                );
                Vec::new()
            })
            .unwrap(),
        ];
        let ends = end_all(all);
        assert_eq!(ends[0], ForkEnd::Answered(vec![7; 1_000_000]));
        assert_eq!(ends[1], ForkEnd::Answered(Vec::new()));
        assert_eq!(ends[2], ForkEnd::Lost("it ended with code 70".to_owned()));
        assert_eq!(ends[3], ForkEnd::Lost("it was killed by signal 9".to_owned()));
    }

    #[test]
    fn panics_of_children_are_counted_for_the_parent() {
        report_panics(|panic| eprintln!("{panic}"));
        let child = fork_worker(None, || panic!("counted, and not reported")).unwrap();
        assert_eq!(end_all(vec![child]), [ForkEnd::Lost("it ended with code 70".to_owned())]);
        assert!(has_panicked());
    }

    #[test]
    fn nobody_passes_a_gate_before_it_is_dropped() {
        let gate = ForkGate::new().unwrap();
        let passed = Shared::number();
        let work = || {
            passed.fetch_add(1, Ordering::SeqCst);
            Vec::new()
        };
        let all = (0..4).map(|_| fork_worker(Some(&gate), work).unwrap()).collect();
        std::thread::sleep(Duration::from_millis(100));
        assert_eq!(passed.load(Ordering::SeqCst), 0);
        drop(gate);
        assert!(end_all(all).iter().all(|end| *end == ForkEnd::Answered(Vec::new())));
        assert_eq!(passed.load(Ordering::SeqCst), 4);
    }

    #[test]
    fn one_that_says_too_much_or_is_given_up_is_killed() {
        let mut all = vec![fork_worker(None, || vec![0; 1 << 20]).unwrap()];
        while hear_forked(&mut all, 1000, LONG).unwrap() {}
        assert!(all[0].is_lost());
        assert!(matches!(all.remove(0).end(), ForkEnd::Lost(_)));
        let gate = ForkGate::new().unwrap();
        drop(fork_worker(Some(&gate), Vec::new).unwrap());
    }

    #[test]
    fn a_stopped_child_is_recognised_and_continues_when_resumed() {
        let gate = ForkGate::new().unwrap();
        let mut child = fork_worker(Some(&gate), || vec![1, 2]).unwrap();
        assert!(!child.is_stopped());
        child.signal(rustix::process::Signal::STOP);
        while !child.is_stopped() {
            std::thread::yield_now();
        }
        assert!(child.is_stopped(), "until it is continued");
        drop(gate);
        let mut all = vec![child];
        assert!(hear_forked(&mut all, 1000, Duration::ZERO).unwrap(), "it says nothing");
        assert!(!all[0].is_over());
        all[0].resume();
        assert_eq!(end_all(all), [ForkEnd::Answered(vec![1, 2])]);
    }

    #[test]
    fn a_stopped_child_is_killed_when_it_is_given_up() {
        let gate = ForkGate::new().unwrap();
        let child = fork_worker(Some(&gate), Vec::new).unwrap();
        child.signal(rustix::process::Signal::STOP);
        assert_eq!(child.end(), ForkEnd::Lost("it was killed by signal 9".to_owned()));
    }

    #[test]
    fn a_child_that_is_stopped_after_its_answer_is_not_waited_for() {
        let mut all = vec![fork_worker(None, || vec![3]).unwrap()];
        while hear_forked(&mut all, 1000, LONG).unwrap() {}
        all[0].signal(rustix::process::Signal::STOP);
        assert_eq!(all.remove(0).end(), ForkEnd::Answered(vec![3]));
    }
}

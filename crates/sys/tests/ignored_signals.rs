//! Signals that the parent told this program to ignore. A program of its own: its children must not
//! inherit handlers that another test installed.
#![expect(unsafe_code, reason = "forks, and sets dispositions in the children")]
#![expect(clippy::unwrap_used, reason = "tests")]

use rustix::process::{Pid, Signal, WaitOptions, getpid, kill_process, waitpid};
use treering_sys::SignalWatch;

/// State of a watch in a child that inherited all three signals ignored.
fn seen_by(begin: fn() -> std::io::Result<SignalWatch>, signal: Signal) -> Option<i32> {
    // SAFETY: this process has no other thread that holds a lock, and the child ends by _exit.
    let child = unsafe { libc::fork() };
    if child == 0 {
        for ignored in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP] {
            // SAFETY: a disposition of this child's own.
            unsafe { libc::signal(ignored, libc::SIG_IGN) };
        }
        let watch = begin().expect("handlers can be installed");
        kill_process(getpid(), signal).expect("a process may signal itself");
        let seen = watch.flag().signal().unwrap_or(0);
        // SAFETY: ends the child without running anything of the parent's.
        unsafe { libc::_exit(seen) };
    }
    let child = Pid::from_raw(child).expect("fork works");
    let (_, status) = waitpid(Some(child), WaitOptions::empty()).unwrap().unwrap();
    status.exit_status()
}

#[test]
fn an_ignored_sigint_is_watched_only_when_asked_for_and_sigterm_always() {
    assert_eq!(seen_by(SignalWatch::begin, Signal::INT), Some(0));
    assert_eq!(seen_by(SignalWatch::begin, Signal::HUP), Some(0));
    assert_eq!(seen_by(SignalWatch::begin, Signal::TERM), Some(libc::SIGTERM));
    assert_eq!(seen_by(SignalWatch::begin_despite_ignored, Signal::INT), Some(libc::SIGINT));
}

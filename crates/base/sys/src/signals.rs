//! Stopping from outside: SIGINT, SIGTERM and SIGHUP raise a flag that workers look at.
//!
//! The first signal only raises the flag, so that a run can end in order. A second one of the same
//! kind does what it does by default, at once: a run that hangs in a filesystem can be left.
//! Signals that the parent told us to ignore (nohup, background jobs) stay ignored.
#![expect(unsafe_code, reason = "signal handlers, and asking for the present disposition")]

use std::io;
use std::mem::MaybeUninit;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use crate::Shared;
use signal_hook::low_level::{emulate_default_handler, register};

/// The signals that ask a run to end.
const ASKING: [i32; 3] = [libc::SIGINT, libc::SIGTERM, libc::SIGHUP];

const GO: i32 = 0;
const HALT: i32 = -1;

/// A flag that all workers of a run look at before every step: one relaxed load of one word.
///
/// It holds the number of the first signal that asked to stop, or a halt called by the run itself
/// because one of its workers failed. Forked processes have it in common.
#[derive(Clone, Debug)]
pub struct StopFlag {
    word: Arc<Shared<AtomicI32>>,
}

impl Default for StopFlag {
    fn default() -> Self {
        Self { word: Arc::new(Shared::number()) }
    }
}

impl StopFlag {
    /// A flag of its own, not raised, that no signal raises.
    pub fn new() -> Self {
        Self::default()
    }

    /// Whether to stop.
    #[inline]
    pub fn is_raised(&self) -> bool {
        self.word.load(Ordering::Relaxed) != GO
    }

    /// Whether the run itself called a halt, and no signal came before.
    #[inline]
    pub fn is_halted(&self) -> bool {
        self.word.load(Ordering::Relaxed) == HALT
    }

    /// The first signal that asked to stop.
    pub fn signal(&self) -> Option<i32> {
        Some(self.word.load(Ordering::Relaxed)).filter(|&word| word > GO)
    }

    /// Asks to stop as this signal would; the first one stays. Numbers below 1 ask nothing.
    pub fn raise(&self, signal: i32) {
        if signal > GO && self.swap(GO, signal).is_err() {
            // A halt must not hide that somebody asked.
            let _first_signal_stays = self.swap(HALT, signal);
        }
    }

    /// Stops the workers of this run without a signal.
    pub fn halt(&self) {
        let _raised_already = self.swap(GO, HALT);
    }

    /// Takes back a halt; a signal stays.
    pub fn lift_halt(&self) {
        let _not_halted = self.swap(HALT, GO);
    }

    fn swap(&self, from: i32, to: i32) -> Result<i32, i32> {
        self.word.compare_exchange(from, to, Ordering::Relaxed, Ordering::Relaxed)
    }
}

/// What the handlers look at. They stay installed for the life of the process, since a handler that
/// is taken away and comes back could lose a signal between; without a watch they do what the
/// signal does by default.
struct Handlers {
    flag: StopFlag,
    watches: AtomicUsize,
    seen: [AtomicBool; ASKING.len()],
}

static HANDLERS: OnceLock<Arc<Handlers>> = OnceLock::new();
static INSTALLING: Mutex<()> = Mutex::new(());

/// While one is alive, signals raise its flag.
#[derive(Debug)]
pub struct SignalWatch {
    flag: StopFlag,
}

impl SignalWatch {
    /// Begins to watch. The first watch takes back what an earlier one has seen.
    ///
    /// # Errors
    /// When a handler cannot be installed.
    pub fn begin() -> io::Result<Self> {
        let _one_at_a_time = INSTALLING.lock().unwrap_or_else(PoisonError::into_inner);
        let handlers = match HANDLERS.get() {
            Some(handlers) => handlers,
            None => HANDLERS.get_or_init({
                let installed = install()?;
                || installed
            }),
        };
        if handlers.watches.load(Ordering::Relaxed) == 0 {
            handlers.flag.word.store(GO, Ordering::Relaxed);
            handlers.seen.iter().for_each(|seen| seen.store(false, Ordering::Relaxed));
        }
        handlers.watches.fetch_add(1, Ordering::Relaxed);
        Ok(Self { flag: handlers.flag.clone() })
    }

    /// The flag that signals raise.
    pub fn flag(&self) -> &StopFlag {
        &self.flag
    }
}

impl Drop for SignalWatch {
    fn drop(&mut self) {
        if let Some(handlers) = HANDLERS.get() {
            handlers.watches.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

fn install() -> io::Result<Arc<Handlers>> {
    let handlers = Arc::new(Handlers {
        flag: StopFlag::new(),
        watches: AtomicUsize::new(0),
        seen: [const { AtomicBool::new(false) }; ASKING.len()],
    });
    for (place, signal) in ASKING.into_iter().enumerate() {
        if is_ignored(signal) {
            continue;
        }
        let handlers = Arc::clone(&handlers);
        let action = move || {
            let alone = handlers.watches.load(Ordering::Relaxed) == 0;
            if alone || handlers.seen[place].swap(true, Ordering::Relaxed) {
                // Ends the process. An error would mean an unknown signal: then nothing is done.
                let _ended = emulate_default_handler(signal);
            }
            handlers.flag.raise(signal);
        };
        // SAFETY: the action only uses atomics and emulate_default_handler, both safe in a handler;
        // it neither allocates, locks nor unwinds.
        unsafe { register(signal, action)? };
    }
    Ok(handlers)
}

fn is_ignored(signal: i32) -> bool {
    let mut present = MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: no new action is given, and the old one is written into memory of its size.
    let status = unsafe { libc::sigaction(signal, ptr::null(), present.as_mut_ptr()) };
    // SAFETY: all-zero bytes are a valid sigaction, and the call writes only valid ones.
    status == 0 && unsafe { present.assume_init() }.sa_sigaction == libc::SIG_IGN
}

#[cfg(test)]
mod tests {
    use super::{SignalWatch, StopFlag};
    use rustix::process::{Pid, Signal, WaitOptions, getpid, kill_process, waitpid};

    #[test]
    fn the_first_signal_stays_and_a_halt_can_be_lifted() {
        let flag = StopFlag::new();
        assert!(!flag.is_raised());
        flag.halt();
        assert!(flag.is_raised());
        assert_eq!(flag.signal(), None);
        flag.lift_halt();
        assert!(!flag.is_raised());
        flag.halt();
        flag.raise(2);
        flag.raise(15);
        flag.lift_halt();
        assert_eq!(flag.signal(), Some(2));
        flag.halt();
        assert_eq!(flag.signal(), Some(2));
        let other = StopFlag::new();
        other.raise(0);
        assert!(!other.is_raised());
    }

    /// Runs `work` in a forked child and says how it ended: exit code or signal.
    fn in_child(work: impl FnOnce() -> i32) -> Result<i32, i32> {
        // SAFETY: the child uses only atomics and system calls before it ends.
        let child = unsafe { libc::fork() };
        if child == 0 {
            let code = work();
            // SAFETY: ends the child without running anything of the parent's.
            unsafe { libc::_exit(code) };
        }
        let child = Pid::from_raw(child).expect("fork works");
        let (_, status) = waitpid(Some(child), WaitOptions::empty()).unwrap().unwrap();
        status.exit_status().ok_or_else(|| status.terminating_signal().unwrap_or(0))
    }

    #[test]
    fn one_signal_raises_the_flag_and_two_of_a_kind_end_the_process() {
        let watch = SignalWatch::begin().unwrap();
        let flag = watch.flag().clone();
        let send = |signal| kill_process(getpid(), signal).unwrap();
        let once = in_child(|| {
            send(Signal::TERM);
            send(Signal::INT);
            flag.signal().unwrap_or(0)
        });
        assert_eq!(once, Ok(libc::SIGTERM));
        let twice = in_child(|| {
            send(Signal::INT);
            send(Signal::INT);
            0
        });
        assert_eq!(twice, Err(libc::SIGINT));
        // Forked processes have the flag in common.
        assert_eq!(flag.signal(), Some(libc::SIGTERM));
        drop(watch);
        let unwatched = in_child(|| {
            send(Signal::TERM);
            0
        });
        assert_eq!(unwatched, Err(libc::SIGTERM));
    }
}

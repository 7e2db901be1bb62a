//! Graceful stop: SIGINT, SIGTERM and SIGHUP raise a flag that workers check.
//!
//! The first signal only raises the flag, so that a run can end in order. The same signal within a
//! second counts as a repetition: a terminal and a program such as `make` or `timeout` may both
//! send it. A later or different signal has its default effect, so a run that hangs in a filesystem
//! can still be killed. SIGINT and SIGHUP that were ignored at the start (background jobs of a
//! script, nohup) stay ignored, unless a watch asks for SIGINT explicitly; SIGTERM is always
//! handled.
#![expect(unsafe_code, reason = "signal handlers, and asking for the present disposition")]

use std::io;
use std::mem::MaybeUninit;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use crate::{SharedValue, monotonic_ns};
use signal_hook::low_level::{emulate_default_handler, register};

/// Signals that ask a run to stop.
const ASKING: [i32; 3] = [libc::SIGINT, libc::SIGTERM, libc::SIGHUP];

/// Interval after the first signal in which the same signal counts as a repetition, in nanoseconds.
const SAME_NS: u64 = 1_000_000_000;

const GO: i32 = 0;
const HALT: i32 = -1;

/// Stop flag that all workers check before every step: one relaxed load of one word.
///
/// It holds the first stop signal, or a halt called by the run itself after a worker failed. Forked
/// processes share it.
#[derive(Clone, Debug)]
pub struct StopFlag {
    word: Arc<SharedValue<AtomicI32>>,
}

impl Default for StopFlag {
    fn default() -> Self {
        Self { word: Arc::new(SharedValue::number()) }
    }
}

impl StopFlag {
    /// Creates a lowered flag that is not connected to signals.
    pub fn new() -> Self {
        Self::default()
    }

    /// Reports whether to stop.
    #[inline]
    pub fn is_raised(&self) -> bool {
        self.word.load(Ordering::Relaxed) != GO
    }

    /// Reports whether the run itself called a halt and no signal came before.
    #[inline]
    pub fn is_halted(&self) -> bool {
        self.word.load(Ordering::Relaxed) == HALT
    }

    /// First stop signal.
    pub fn signal(&self) -> Option<i32> {
        Some(self.word.load(Ordering::Relaxed)).filter(|&word| word > GO)
    }

    /// Raises the flag as this signal would; the first signal is kept. Numbers below 1 have no
    /// effect.
    pub fn raise(&self, signal: i32) {
        if signal > GO && self.swap(GO, signal).is_err() {
            // A signal replaces a halt.
            let _first_signal_stays = self.swap(HALT, signal);
        }
    }

    /// Stops the workers of this run without a signal.
    pub fn halt(&self) {
        let _raised_already = self.swap(GO, HALT);
    }

    /// Lowers the flag after a halt; a signal stays.
    pub fn lift_halt(&self) {
        let _not_halted = self.swap(HALT, GO);
    }

    fn swap(&self, from: i32, to: i32) -> Result<i32, i32> {
        self.word.compare_exchange(from, to, Ordering::Relaxed, Ordering::Relaxed)
    }
}

/// State of the signal handlers. They stay installed for the life of the process, since removing
/// and reinstalling them could lose a signal; without a watch they have the default effect.
struct SignalHandlers {
    flag: StopFlag,
    watches: AtomicUsize,
    /// First signal seen; 0 before.
    first: AtomicI32,
    /// Time of the first signal.
    first_ns: AtomicU64,
    installed: [AtomicBool; ASKING.len()],
}

impl SignalHandlers {
    fn new(flag: StopFlag) -> Self {
        Self {
            flag,
            watches: AtomicUsize::new(0),
            first: AtomicI32::new(0),
            first_ns: AtomicU64::new(0),
            installed: [const { AtomicBool::new(false) }; ASKING.len()],
        }
    }

    /// Handles a signal. Uses only atomics and the clock, as it runs in a signal handler.
    fn handle(&self, signal: i32) {
        let is_watched = self.watches.load(Ordering::Relaxed) > 0;
        if !is_watched || self.is_another(signal, monotonic_ns()) {
            // Ends the process. An error would mean an unknown signal, which is ignored.
            let _ended = emulate_default_handler(signal);
        }
        self.flag.raise(signal);
    }

    /// Reports whether this signal differs from the first one, or came too late to be a repetition.
    fn is_another(&self, signal: i32, now_ns: u64) -> bool {
        match self.first.compare_exchange(0, signal, Ordering::AcqRel, Ordering::Acquire) {
            Ok(_none_before) => {
                self.first_ns.store(now_ns, Ordering::Release);
                false
            }
            Err(first) => {
                // 0 while the handler of the first signal is still storing it.
                let began_ns = self.first_ns.load(Ordering::Acquire);
                let soon = began_ns == 0 || now_ns.saturating_sub(began_ns) < SAME_NS;
                first != signal || !soon
            }
        }
    }

    fn forget(&self) {
        self.flag.word.store(GO, Ordering::Relaxed);
        self.first.store(0, Ordering::Release);
        self.first_ns.store(0, Ordering::Release);
    }

    /// Installs missing handlers. A signal ignored at the start stays ignored, except for those in
    /// `all_the_same`.
    fn install(self: &Arc<Self>, all_the_same: &[i32]) -> io::Result<()> {
        for (signal, installed) in ASKING.into_iter().zip(&self.installed) {
            let is_left = !all_the_same.contains(&signal) && is_ignored(signal);
            if is_left || installed.load(Ordering::Relaxed) {
                continue;
            }
            let handlers = Arc::clone(self);
            let action = move || handlers.handle(signal);
            // SAFETY: the action uses atomics, clock_gettime and emulate_default_handler, which are
            // async-signal-safe; it neither allocates, locks nor unwinds.
            unsafe { register(signal, action)? };
            installed.store(true, Ordering::Relaxed);
        }
        Ok(())
    }
}

static HANDLERS: OnceLock<Arc<SignalHandlers>> = OnceLock::new();
static INSTALLING: Mutex<()> = Mutex::new(());

/// Guard: while one exists, signals raise its flag.
#[derive(Debug)]
pub struct SignalWatch {
    flag: StopFlag,
}

impl SignalWatch {
    /// Starts watching. The first watch resets the state of earlier ones.
    ///
    /// # Errors
    /// If a handler cannot be installed.
    pub fn begin() -> io::Result<Self> {
        Self::begin_with(&[libc::SIGTERM])
    }

    /// Starts watching, including SIGINT even if it was ignored at the start, like tools that
    /// install a handler unconditionally.
    ///
    /// # Errors
    /// As [`SignalWatch::begin`].
    pub fn begin_despite_ignored() -> io::Result<Self> {
        Self::begin_with(&[libc::SIGTERM, libc::SIGINT])
    }

    fn begin_with(all_the_same: &[i32]) -> io::Result<Self> {
        let _one_at_a_time = INSTALLING.lock().unwrap_or_else(PoisonError::into_inner);
        let handlers = HANDLERS.get_or_init(|| Arc::new(SignalHandlers::new(StopFlag::new())));
        if handlers.watches.load(Ordering::Relaxed) == 0 {
            handlers.forget();
        }
        handlers.watches.fetch_add(1, Ordering::Relaxed);
        let watch = Self { flag: handlers.flag.clone() };
        handlers.install(all_the_same)?;
        Ok(watch)
    }

    /// Flag raised by signals.
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

/// Raises the flag on every SIGUSR1; the reader lowers it.
///
/// # Errors
/// If the handler cannot be installed.
pub fn raise_on_usr1(flag: Arc<AtomicBool>) -> io::Result<()> {
    let action = move || flag.store(true, Ordering::Relaxed);
    // SAFETY: the action only stores into an atomic that lives as long as it does.
    unsafe { register(libc::SIGUSR1, action)? };
    Ok(())
}

fn is_ignored(signal: i32) -> bool {
    let mut present = MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: no new action is passed, and the old one is written into memory of its size.
    let status = unsafe { libc::sigaction(signal, ptr::null(), present.as_mut_ptr()) };
    // SAFETY: all-zero bytes are a valid sigaction, and the call writes only valid ones.
    status == 0 && unsafe { present.assume_init() }.sa_sigaction == libc::SIG_IGN
}

#[cfg(test)]
mod tests {
    use super::{SignalHandlers, SignalWatch, StopFlag};

    use rustix::process::{Pid, Signal, WaitOptions, getpid, kill_process, waitpid};

    #[test]
    fn the_first_signal_is_kept_and_a_halt_can_be_lifted() {
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

    /// Runs `work` in a forked child; returns its exit code, or the signal that ended it as the
    /// error.
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
    fn the_first_signal_raises_the_flag_and_a_different_one_kills() {
        // SAFETY: no handler is taken away from anybody; a harness may have us ignore it.
        unsafe { libc::signal(libc::SIGINT, libc::SIG_DFL) };
        let watch = SignalWatch::begin().unwrap();
        let flag = watch.flag().clone();
        let send = |signal| kill_process(getpid(), signal).unwrap();
        let once = in_child(|| {
            send(Signal::TERM);
            flag.signal().unwrap_or(0)
        });
        assert_eq!(once, Ok(libc::SIGTERM));
        let another = in_child(|| {
            send(Signal::TERM);
            send(Signal::INT);
            0
        });
        assert_eq!(another, Err(libc::SIGINT));
        // Forked processes have the flag in common.
        assert_eq!(flag.signal(), Some(libc::SIGTERM));
        drop(watch);
        let unwatched = in_child(|| {
            send(Signal::TERM);
            0
        });
        assert_eq!(unwatched, Err(libc::SIGTERM));
    }

    #[test]
    fn a_repeated_signal_within_a_second_is_ignored() {
        let handlers = SignalHandlers::new(StopFlag::new());
        let at = |signal, ms: u64| handlers.is_another(signal, ms * 1_000_000);
        assert!(!at(libc::SIGINT, 5_000), "the first");
        assert!(!at(libc::SIGINT, 5_001) && !at(libc::SIGINT, 5_999));
        assert!(at(libc::SIGTERM, 5_002), "another kind");
        assert!(at(libc::SIGINT, 6_000), "later");
        handlers.forget();
        assert!(!at(libc::SIGTERM, 6_001) && !at(libc::SIGTERM, 6_002));
    }
}

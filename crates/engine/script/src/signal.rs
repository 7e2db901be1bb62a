//! Signal on which threads wait.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Event counter on which threads of the process can wait.
///
/// A waiter reads the count, checks its condition, and only then waits for the count to change, so
/// no event is missed. Raising the signal takes no lock if nobody waits.
#[derive(Debug, Default)]
pub struct WakeSignal {
    count: AtomicU64,
    waiting: AtomicU64,
    lock: Mutex<()>,
    raised: Condvar,
}

impl WakeSignal {
    /// Number of times the signal was raised.
    #[inline]
    pub fn count(&self) -> u64 {
        self.count.load(Ordering::SeqCst)
    }

    /// Raises the signal and wakes all waiting threads.
    pub fn raise(&self) {
        self.count.fetch_add(1, Ordering::SeqCst);
        if self.waiting.load(Ordering::SeqCst) > 0 {
            // A thread that is about to wait holds the lock until it waits.
            drop(self.lock.lock().unwrap_or_else(PoisonError::into_inner));
            self.raised.notify_all();
        }
    }

    /// Waits until the count differs from `seen`, for at most `most`.
    pub fn wait(&self, seen: u64, most: Duration) {
        let until = Instant::now() + most;
        self.waiting.fetch_add(1, Ordering::SeqCst);
        let mut lock = self.lock.lock().unwrap_or_else(PoisonError::into_inner);
        while self.count() == seen {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            let waited = self.raised.wait_timeout(lock, left);
            lock = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        drop(lock);
        self.waiting.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Compares by identity: two signals are equal if they are the same object.
impl PartialEq for WakeSignal {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self, other)
    }
}

impl Eq for WakeSignal {}

#[cfg(test)]
mod tests {
    use std::thread;
    use std::time::Duration;

    use super::WakeSignal;

    #[test]
    fn a_raised_signal_wakes_waiters_without_lost_wakeups() {
        let (ping, pong) = (WakeSignal::default(), WakeSignal::default());
        thread::scope(|scope| {
            scope.spawn(|| {
                for round in 0..1000 {
                    while ping.count() == round {
                        ping.wait(round, Duration::from_secs(60));
                    }
                    pong.raise();
                }
            });
            for round in 0..1000 {
                ping.raise();
                while pong.count() == round {
                    pong.wait(round, Duration::from_secs(60));
                }
            }
        });
        assert_eq!((ping.count(), pong.count()), (1000, 1000));
    }

    #[test]
    fn a_wait_ends_at_its_timeout() {
        let signal = WakeSignal::default();
        signal.wait(0, Duration::from_millis(1));
        signal.wait(7, Duration::from_secs(3600));
        assert_eq!(signal.count(), 0);
        assert_ne!(signal, WakeSignal::default());
    }
}

//! Start of a group: workers go only once all have arrived; if one fails to start, the others are
//! released.
//!
//! A barrier of the standard library would wait for ever when a thread cannot be started.

use std::sync::{Condvar, Mutex, PoisonError};

/// Gate that releases a number of workers at once.
#[derive(Debug)]
pub(crate) struct StartGate {
    state: Mutex<GateState>,
    changed: Condvar,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum GateState {
    /// Number of workers still missing.
    Waiting(usize),
    Open,
    Cancelled,
}

impl StartGate {
    /// Gate that opens when `workers` workers wait at it.
    pub(crate) const fn new(workers: usize) -> Self {
        Self { state: Mutex::new(GateState::Waiting(workers)), changed: Condvar::new() }
    }

    /// Waits for the other workers; false if the start was cancelled.
    pub(crate) fn pass(&self) -> bool {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if let GateState::Waiting(missing) = *state {
            *state = if missing <= 1 { GateState::Open } else { GateState::Waiting(missing - 1) };
        }
        if *state == GateState::Open {
            self.changed.notify_all();
        }
        let waiting = |state: &mut GateState| matches!(state, GateState::Waiting(_));
        let state = self.changed.wait_while(state, waiting);
        *state.unwrap_or_else(PoisonError::into_inner) == GateState::Open
    }

    /// Cancels the start and releases all waiting workers.
    pub(crate) fn cancel(&self) {
        *self.state.lock().unwrap_or_else(PoisonError::into_inner) = GateState::Cancelled;
        self.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::StartGate;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::thread;

    #[test]
    fn the_gate_opens_when_all_workers_have_arrived() {
        let (gate, there) = (StartGate::new(8), AtomicUsize::new(0));
        thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    there.fetch_add(1, Ordering::SeqCst);
                    assert!(gate.pass());
                    assert_eq!(there.load(Ordering::SeqCst), 8);
                });
            }
        });
    }

    #[test]
    fn a_cancelled_gate_blocks_no_worker() {
        let gate = StartGate::new(2);
        thread::scope(|scope| {
            let waiting = scope.spawn(|| gate.pass());
            gate.cancel();
            assert!(!waiting.join().unwrap());
        });
    }
}

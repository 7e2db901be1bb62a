//! Synchronisation of threads: semaphores with a high-water mark, blocks and wakeups; and delays.

use std::hint::black_box;
use std::sync::atomic::{AtomicI64, Ordering};

use treering_script::{Io, WakeSignal};

use super::super::namespace::SyncGate;
use super::{FlowopExit, WAIT_NS, Worker};

/// Number of wait pieces, a second in total, after which a deadlock is assumed.
const STUCK_MAX: u32 = 50;
const SECOND_NS: u64 = 1_000_000_000;

/// Subtracts `much` if at least that much is available; otherwise returns false.
fn take(from: &AtomicI64, much: i64) -> bool {
    let less = |count: i64| (count >= much).then_some(count - much);
    from.fetch_update(Ordering::SeqCst, Ordering::SeqCst, less).is_ok()
}

impl Worker {
    fn value(&self) -> i64 {
        i64::try_from(self.constants[self.pc]).unwrap_or(i64::MAX).min(1 << 40)
    }

    fn own_gate(&self) -> usize {
        let first = self.namespace.common.first_gate.get(self.number).copied().unwrap_or(0);
        first + self.flow().gate
    }

    /// Waits until enough was posted, and takes it.
    pub(super) fn sem_block(&mut self, io: &mut dyn Io) -> Result<(), FlowopExit> {
        let (own, value) = (self.own_gate(), self.value());
        // A thread that waits for `value` posts permits as many more.
        let gate = &self.namespace.common.gates[own];
        gate.room.fetch_add(value, Ordering::SeqCst);
        gate.was_taken.raise();
        loop {
            let gate = &self.namespace.common.gates[own];
            let seen = gate.was_posted.count();
            if take(&gate.posted, value) {
                break;
            }
            self.wait(io, own, |gate| &gate.was_posted, seen)?;
        }
        self.passed();
        Ok(())
    }

    /// Posts to the semaphores of the target, one after the other.
    pub(super) fn sem_post(&mut self, io: &mut dyn Io) -> Result<(), FlowopExit> {
        let (value, blocking) = (self.value(), self.flow().blocking);
        let target = self.flow().target.unwrap_or(0);
        for place in 0..self.namespace.common.gates_of_row[target].len() {
            let number = self.namespace.common.gates_of_row[target][place];
            loop {
                let gate = &self.namespace.common.gates[number];
                let seen = gate.was_taken.count();
                if !blocking || take(&gate.room, value) {
                    break;
                }
                self.wait(io, number, |gate| &gate.was_taken, seen)?;
            }
            let gate = &self.namespace.common.gates[number];
            gate.posted.fetch_add(value, Ordering::SeqCst);
            gate.was_posted.raise();
        }
        self.passed();
        Ok(())
    }

    /// Waits for a wakeup.
    pub(super) fn block(&mut self, io: &mut dyn Io) -> Result<(), FlowopExit> {
        let own = self.own_gate();
        let seen = self.namespace.common.gates[own].was_posted.count();
        while self.namespace.common.gates[own].was_posted.count() == seen {
            self.wait(io, own, |gate| &gate.was_posted, seen)?;
        }
        self.passed();
        Ok(())
    }

    /// Wakes all threads at the target block.
    pub(super) fn wake_up(&self) {
        let target = self.flow().target.unwrap_or(0);
        for gate in &self.namespace.common.gates_of_row[target] {
            self.namespace.common.gates[*gate].was_posted.raise();
        }
    }

    /// Notes that the thread has passed a gate.
    fn passed(&mut self) {
        self.namespace.common.passed.fetch_add(1, Ordering::Relaxed);
        self.stuck.0 = 0;
    }

    /// Waits at a gate for one piece of time.
    fn wait(
        &mut self,
        io: &mut dyn Io,
        gate: usize,
        signal: fn(&SyncGate) -> &WakeSignal,
        seen: u64,
    ) -> Result<(), FlowopExit> {
        let common = &self.namespace.common;
        common.waiting.fetch_add(1, Ordering::SeqCst);
        io.wait_for(signal(&common.gates[gate]), seen, WAIT_NS)?;
        let waiting = common.waiting.fetch_sub(1, Ordering::SeqCst);
        let passed = common.passed.load(Ordering::Relaxed);
        let alone = waiting >= common.working.load(Ordering::SeqCst) && passed == self.stuck.1;
        self.stuck = (if alone { self.stuck.0 + 1 } else { 0 }, passed);
        self.count_call(io);
        if self.stuck.0 > STUCK_MAX {
            return Err(self.fail("every thread waits for another one, and none goes on"));
        }
        self.check_end()
    }

    pub(super) fn hog(&mut self) {
        let loops = self.steps[self.pc].value.draw(&mut self.random);
        let mut byte = 0_u8;
        for _ in 0..loops {
            byte = black_box(byte.wrapping_add(1));
        }
    }

    pub(super) fn delay(&mut self, io: &mut dyn Io) -> Result<(), FlowopExit> {
        let seconds = self.steps[self.pc].value.draw(&mut self.random);
        let mut left_ns = seconds.saturating_mul(SECOND_NS);
        while left_ns > 0 {
            let piece_ns = left_ns.min(WAIT_NS);
            left_ns -= piece_ns;
            io.pause(piece_ns)?;
            self.count_call(io);
            self.check_end()?;
        }
        Ok(())
    }
}

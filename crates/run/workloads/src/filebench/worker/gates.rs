//! Threads wait for one another: semaphores with a high-water mark, blocks and wakeups; and waits
//! for time.

use std::hint::black_box;
use std::sync::atomic::{AtomicI64, Ordering};

use super::super::plan::Kind;
use super::doing::Doing;
use super::{Then, WAIT_NS, Worker};

/// Pieces of waits after which all who wait are taken to wait for ever: a second.
const STUCK_MAX: u32 = 50;
const SECOND_NS: u64 = 1_000_000_000;

/// Takes so much, if there is as much.
fn take(from: &AtomicI64, much: i64) -> bool {
    let less = |there: i64| (there >= much).then_some(there - much);
    from.fetch_update(Ordering::SeqCst, Ordering::SeqCst, less).is_ok()
}

impl Worker {
    fn value(&self) -> i64 {
        i64::try_from(self.constants[self.pc]).unwrap_or(i64::MAX).min(1 << 40)
    }

    fn own_gate(&self) -> usize {
        let first = self.land.crew.first_gate.get(self.number).copied().unwrap_or(0);
        first + self.flow().gate
    }

    pub(super) fn at_gate(&mut self, kind: Kind) -> Then {
        let own = self.own_gate();
        match kind {
            Kind::SemBlock => {
                // Who waits for so much lets others post as much more.
                let gate = &self.land.crew.gates[own];
                gate.room.fetch_add(self.value(), Ordering::SeqCst);
                gate.was_taken.raise();
                self.take_posted()
            }
            Kind::Block => {
                self.present.left = self.land.crew.gates[own].was_posted.count();
                self.present.at = 1;
                self.look_for_wakeup()
            }
            Kind::SemPost => self.post(),
            _ => {
                let target = self.flow().target.unwrap_or(0);
                for gate in &self.land.crew.gates_of_row[target] {
                    self.land.crew.gates[*gate].was_posted.raise();
                }
                Then::Count
            }
        }
    }

    fn take_posted(&mut self) -> Then {
        let own = self.own_gate();
        let gate = &self.land.crew.gates[own];
        let seen = gate.was_posted.count();
        if take(&gate.posted, self.value()) {
            return self.passed();
        }
        self.stand(own, true, seen)
    }

    fn look_for_wakeup(&mut self) -> Then {
        let own = self.own_gate();
        let seen = self.present.left;
        if self.land.crew.gates[own].was_posted.count() != seen {
            return self.passed();
        }
        self.stand(own, true, seen)
    }

    /// Posts to one semaphore of the target after the other.
    fn post(&mut self) -> Then {
        let (value, blocking) = (self.value(), self.flow().blocking);
        let target = self.flow().target.unwrap_or(0);
        while let Some(&number) = self.land.crew.gates_of_row[target].get(self.present.at) {
            let gate = &self.land.crew.gates[number];
            let seen = gate.was_taken.count();
            if blocking && !take(&gate.room, value) {
                return self.stand(number, false, seen);
            }
            gate.posted.fetch_add(value, Ordering::SeqCst);
            gate.was_posted.raise();
            self.present.at += 1;
        }
        self.passed()
    }

    /// Nobody else is needed any more.
    fn passed(&mut self) -> Then {
        self.land.crew.passed.fetch_add(1, Ordering::Relaxed);
        self.stuck.0 = 0;
        Then::Count
    }

    /// Waits for another thread.
    fn stand(&mut self, gate: usize, posted: bool, seen: u64) -> Then {
        self.land.crew.waiting.fetch_add(1, Ordering::SeqCst);
        Then::Do(Doing::Await { gate, posted, seen })
    }

    /// A piece of a wait is over.
    pub(super) fn waited(&mut self) -> Then {
        let kind = self.flow().kind;
        let crew = &self.land.crew;
        if matches!(self.doing, Doing::Await { .. }) {
            let waiting = crew.waiting.fetch_sub(1, Ordering::SeqCst);
            let passed = crew.passed.load(Ordering::Relaxed);
            let alone = waiting >= crew.working.load(Ordering::SeqCst) && passed == self.stuck.1;
            self.stuck = (if alone { self.stuck.0 + 1 } else { 0 }, passed);
            if self.stuck.0 > STUCK_MAX {
                return self.fail("every thread waits for another one, and none goes on");
            }
        }
        if crew.bell.has_rung() {
            return Then::End;
        }
        match kind {
            Kind::SemBlock => self.take_posted(),
            Kind::Block => self.look_for_wakeup(),
            Kind::SemPost => self.post(),
            Kind::Delay => self.rest(),
            Kind::EventLimit | Kind::OpsLimit | Kind::IopsLimit | Kind::BwLimit => {
                self.take_events()
            }
            _ => self.start(kind),
        }
    }

    pub(super) fn hog(&mut self) -> Then {
        let loops = self.flow().value.clone().draw(&mut self.random);
        let mut byte = 0_u8;
        for _ in 0..loops {
            byte = black_box(byte.wrapping_add(1));
        }
        Then::Count
    }

    pub(super) fn delay(&mut self) -> Then {
        let seconds = self.flow().value.clone().draw(&mut self.random);
        self.present.left = seconds.saturating_mul(SECOND_NS);
        self.rest()
    }

    fn rest(&mut self) -> Then {
        if self.present.left == 0 {
            return Then::Count;
        }
        let piece = self.present.left.min(WAIT_NS);
        self.present.left -= piece;
        Then::Do(Doing::Pause(piece))
    }
}

//! The disk at work: requests come from the kernel, wait for the model's head, and are answered at
//! its time. A late answer delays nothing after it: the next one is due by the model's clock.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use fuser::{ReplyData, ReplyEmpty, ReplyWrite};
use treering_model::PlayedCounts;
use treering_sys::{monotonic_ns, process_cpu_ns, sleep_until};
use treering_trace::{Disk, DiskAnswer, DiskRequest, PlayedHead};

/// How somebody who waits is answered.
pub(super) enum Answer {
    Read(ReplyData, Vec<u8>),
    Written(ReplyWrite, u32),
    Done(ReplyEmpty),
}

impl Answer {
    fn send(self) {
        match self {
            Self::Read(reply, data) => reply.data(&data),
            Self::Written(reply, bytes) => reply.written(bytes),
            Self::Done(reply) => reply.ok(),
        }
    }
}

/// What somebody asked for.
#[derive(Clone, Copy)]
pub(super) struct Request {
    /// When it came.
    pub(super) at_ns: u64,
    pub(super) offset: u64,
    pub(super) bytes: u64,
    pub(super) is_write: bool,
}

impl Request {
    /// Of now.
    pub(super) fn new(offset: u64, bytes: u64, is_write: bool) -> Self {
        Self { at_ns: monotonic_ns(), offset, bytes, is_write }
    }
}

/// What is done already, but for the answer.
struct Waiting {
    answer: Answer,
    bytes: u64,
    is_write: bool,
}

struct State {
    head: PlayedHead,
    waiting: BTreeMap<u64, Waiting>,
    /// The request that the head is at.
    served: Option<u64>,
    /// Flushes with the number of the first request that they need not wait for.
    flushes: Vec<(u64, ReplyEmpty)>,
    next_number: u64,
    counts: PlayedCounts,
    is_over: bool,
}

/// A disk at work.
pub(super) struct Spindle {
    state: Mutex<State>,
    work: Condvar,
    hurries: AtomicBool,
}

impl Spindle {
    /// At rest, in a hurry until it is told to play.
    pub(super) fn new(disk: &Disk) -> Self {
        let state = State {
            head: PlayedHead::new(disk),
            waiting: BTreeMap::new(),
            served: None,
            flushes: Vec::new(),
            next_number: 0,
            counts: PlayedCounts::default(),
            is_over: false,
        };
        Self { state: Mutex::new(state), work: Condvar::new(), hurries: AtomicBool::new(true) }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // What panicked did not leave anything half done that matters to an answer.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A request that is done already is to be answered when the disk would have done it, had it
    /// come when it came to us.
    pub(super) fn take(&self, request: Request, answer: Answer) {
        let Request { at_ns, offset, bytes, is_write } = request;
        let mut state = self.state();
        let number = state.next_number;
        state.next_number += 1;
        state.waiting.insert(number, Waiting { answer, bytes, is_write });
        state.head.take(at_ns, DiskRequest { number, offset, bytes, is_write });
        self.work.notify_one();
    }

    /// A flush: answered when all that came before it is on the platter.
    pub(super) fn flush(&self, reply: ReplyEmpty) {
        let mut state = self.state();
        if !self.hurries() {
            state.counts.flushes += 1;
        }
        if state.waiting.is_empty() && state.served.is_none() {
            drop(state);
            return reply.ok();
        }
        let before = state.next_number;
        state.flushes.push((before, reply));
    }

    /// Whether answers come at once.
    pub(super) fn hurries(&self) -> bool {
        self.hurries.load(Ordering::Relaxed)
    }

    /// Says whether answers come at once.
    pub(super) fn hurry(&self, hurries: bool) {
        self.hurries.store(hurries, Ordering::Relaxed);
    }

    /// What was done so far.
    pub(super) fn counts(&self) -> PlayedCounts {
        PlayedCounts { cpu_ns: process_cpu_ns(), ..self.state().counts.clone() }
    }

    /// Nothing comes any more.
    pub(super) fn end(&self) {
        self.state().is_over = true;
        self.work.notify_one();
    }

    /// Answers until nothing comes any more.
    pub(super) fn turn(&self) {
        while let Some((answer, waiting)) = self.next() {
            let plays = !self.hurries();
            if plays {
                sleep_until(answer.due_ns);
            }
            let Waiting { answer: reply, bytes, is_write } = waiting;
            reply.send();
            let now_ns = monotonic_ns();
            let mut state = self.state();
            state.served = None;
            if plays {
                let late_ns = now_ns.saturating_sub(answer.due_ns);
                state.counts.add(answer.parts, bytes, is_write, late_ns);
            } else {
                state.head.reset(now_ns);
            }
            let oldest = state.waiting.keys().next().copied().unwrap_or(u64::MAX);
            let done = state.flushes.extract_if(.., |(before, _)| *before <= oldest);
            let done: Vec<_> = done.collect();
            drop(state);
            done.into_iter().for_each(|(_, reply)| reply.ok());
        }
    }

    fn next(&self) -> Option<(DiskAnswer, Waiting)> {
        let mut state = self.state();
        while state.head.is_idle() {
            if state.is_over {
                return None;
            }
            state = self.work.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        let answer = state.head.next_answer()?;
        let waiting = state.waiting.remove(&answer.number)?;
        state.served = Some(answer.number);
        Some((answer, waiting))
    }
}

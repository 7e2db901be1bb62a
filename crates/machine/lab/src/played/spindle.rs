//! Timing of a played disk: kernel requests queue for the model's head, and are answered at the
//! modelled time. A late answer does not delay the next ones, since the model's clock determines
//! when each is due.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use fuser::{ReplyData, ReplyEmpty, ReplyWrite};
use treering_model::PlayedCounts;
use treering_sys::{monotonic_ns, process_cpu_ns, sleep_until};
use treering_trace::{DiskAnswer, DiskRequest, ModelledDisk, PlayedHead};

/// FUSE reply to a request, with its result.
pub(super) enum DelayedReply {
    Read(ReplyData, Vec<u8>),
    Written(ReplyWrite, u32),
    Done(ReplyEmpty),
}

impl DelayedReply {
    fn send(self) {
        match self {
            Self::Read(reply, data) => reply.data(&data),
            Self::Written(reply, bytes) => reply.written(bytes),
            Self::Done(reply) => reply.ok(),
        }
    }
}

/// A request of the kernel.
#[derive(Clone, Copy)]
pub(super) struct QueuedRequest {
    /// Arrival time on the monotonic clock.
    pub(super) at_ns: u64,
    pub(super) offset: u64,
    pub(super) bytes: u64,
    pub(super) is_write: bool,
}

impl QueuedRequest {
    /// Request that arrives now.
    pub(super) fn new(offset: u64, bytes: u64, is_write: bool) -> Self {
        Self { at_ns: monotonic_ns(), offset, bytes, is_write }
    }
}

/// Completed request whose FUSE reply waits for its modelled time.
struct PendingReply {
    answer: DelayedReply,
    bytes: u64,
    is_write: bool,
    is_flush: bool,
}

struct SpindleState {
    head: PlayedHead,
    waiting: BTreeMap<u64, PendingReply>,
    next_number: u64,
    counts: PlayedCounts,
    is_over: bool,
}

/// Queue and clock of a played disk.
pub(super) struct Spindle {
    state: Mutex<SpindleState>,
    work: Condvar,
    hurries: AtomicBool,
}

impl Spindle {
    /// Creates an idle disk, which answers at once until it is switched to modelled times.
    pub(super) fn new(disk: &ModelledDisk) -> Self {
        let state = SpindleState {
            head: PlayedHead::new(disk),
            waiting: BTreeMap::new(),
            next_number: 0,
            counts: PlayedCounts::default(),
            is_over: false,
        };
        Self { state: Mutex::new(state), work: Condvar::new(), hurries: AtomicBool::new(true) }
    }

    fn state(&self) -> MutexGuard<'_, SpindleState> {
        // A panic leaves the state usable, so a poisoned lock is ignored.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Queues a completed request; it is answered when the modelled disk would have completed it.
    pub(super) fn take(&self, request: QueuedRequest, answer: DelayedReply) {
        let QueuedRequest { at_ns, offset, bytes, is_write } = request;
        let mut state = self.state();
        let number = state.next_number;
        state.next_number += 1;
        state.waiting.insert(number, PendingReply { answer, bytes, is_write, is_flush: false });
        state.head.take(at_ns, DiskRequest { number, offset, bytes, is_write });
        self.work.notify_one();
    }

    /// Queues a flush, which is answered once all earlier requests are on the platter.
    pub(super) fn flush(&self, reply: ReplyEmpty) {
        let mut state = self.state();
        let number = state.next_number;
        state.next_number += 1;
        let answer = DelayedReply::Done(reply);
        let pending = PendingReply { answer, bytes: 0, is_write: false, is_flush: true };
        state.waiting.insert(number, pending);
        state.head.take_flush(monotonic_ns(), number);
        self.work.notify_one();
    }

    /// Discards a range.
    pub(super) fn discard(&self, offset: u64, bytes: u64) {
        self.state().head.discard(offset, bytes);
    }

    /// True if answers come at once.
    pub(super) fn answers_at_once(&self) -> bool {
        self.hurries.load(Ordering::Relaxed)
    }

    /// Switches between answers at once (`true`) and at modelled times.
    pub(super) fn set_answers_at_once(&self, hurries: bool) {
        self.hurries.store(hurries, Ordering::Relaxed);
    }

    /// Counters so far.
    pub(super) fn counts(&self) -> PlayedCounts {
        PlayedCounts { cpu_ns: process_cpu_ns(), ..self.state().counts.clone() }
    }

    /// Ends [`Spindle::answer_queued`] once all queued requests are answered.
    pub(super) fn end(&self) {
        self.state().is_over = true;
        self.work.notify_one();
    }

    /// Answers queued requests until [`Spindle::end`] is called.
    pub(super) fn answer_queued(&self) {
        while let Some((answer, waiting)) = self.next() {
            let plays = !self.answers_at_once();
            if plays {
                sleep_until(answer.due_ns);
            }
            let PendingReply { answer: reply, bytes, is_write, is_flush } = waiting;
            reply.send();
            let now_ns = monotonic_ns();
            let mut state = self.state();
            if plays {
                let late_ns = now_ns.saturating_sub(answer.due_ns);
                if is_flush {
                    state.counts.add_flush(answer.parts);
                } else {
                    state.counts.add(answer.parts, bytes, is_write, late_ns);
                }
            } else {
                state.head.reset(now_ns);
            }
        }
    }

    fn next(&self) -> Option<(DiskAnswer, PendingReply)> {
        let mut state = self.state();
        while state.head.is_idle() {
            if state.is_over {
                return None;
            }
            state = self.work.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        let answer = state.head.next_answer()?;
        let waiting = state.waiting.remove(&answer.number)?;
        Some((answer, waiting))
    }
}

//! Asynchronous requests, several of them in flight.

use std::collections::VecDeque;

use crate::language::Direction;
use treering_script::{AsyncRequest, Completion};

use super::super::generator::IoRequest;
use super::step::length;
use super::{IoStep, Runner};

/// Request in flight.
#[derive(Clone, Copy, Debug)]
struct InFlight {
    request: IoRequest,
    /// Submission latency, and the time of submission; `None` if not timed.
    slat_ns: Option<u64>,
    issued_ns: u64,
}

/// Requests in flight, and the batch to be submitted.
#[derive(Debug)]
pub(super) struct RequestQueue {
    tags: Vec<Option<InFlight>>,
    free: Vec<u16>,
    batch: Vec<AsyncRequest>,
    under_way: u16,
    /// Completions reaped from the kernel but not yet processed by the job.
    unheard: VecDeque<Completion>,
    /// True while a full queue is being drained.
    empties: bool,
}

impl RequestQueue {
    pub(super) fn new(depth: u64) -> Self {
        let depth = u16::try_from(depth).unwrap_or(u16::MAX);
        Self {
            tags: vec![None; usize::from(depth)],
            free: (0..depth).rev().collect(),
            batch: Vec::new(),
            under_way: 0,
            unheard: VecDeque::new(),
            empties: false,
        }
    }

    /// Batch of requests to be submitted next.
    pub(super) fn batch(&self) -> &[AsyncRequest] {
        &self.batch
    }

    /// True if requests are in flight or to be submitted.
    pub(super) const fn is_busy(&self) -> bool {
        self.under_way > 0 || !self.batch.is_empty()
    }

    fn depth(&self) -> u64 {
        u64::from(self.under_way) + self.batch.len() as u64
    }
}

impl Runner {
    /// Step that must be done before there is room for another request. A full queue is drained by
    /// one reaping, down to `iodepth_low`.
    pub(super) fn queue_full(&mut self) -> Option<IoStep> {
        loop {
            let most = self.depth.as_ref().map_or(u64::MAX, |control| control.depth());
            let is_full = self.queued.free.is_empty() || self.queued.depth() >= most;
            if is_full {
                self.queued.empties = true;
            }
            let job = &self.worker.job;
            let low = self.queued.depth() <= job.depth_low && !is_full;
            if !self.queued.empties || low {
                self.queued.empties = false;
                return None;
            }
            if !self.queued.batch.is_empty() {
                return Some(IoStep::Submit);
            }
            if self.queued.unheard.is_empty() {
                let least = u16::try_from(job.least_reaped.max(1)).unwrap_or(u16::MAX);
                return Some(IoStep::Reap(least.min(self.queued.under_way)));
            }
            self.heard(self.clock.now_ns());
        }
    }

    /// Adds a request to the batch, and submits the batch when it is large enough.
    pub(super) fn enqueue(&mut self, request: IoRequest) -> Option<IoStep> {
        let tag = self.queued.free.pop()?;
        self.log_issue(IoStep::Move(request));
        self.fill(tag, request);
        let file = self.slots.of(request.file);
        let IoRequest { direction, offset: position, bytes, .. } = request;
        let writes = direction == Direction::Write;
        self.queued.batch.push(AsyncRequest { file, writes, bytes: length(bytes), position, tag });
        let under_way = InFlight { request, slat_ns: None, issued_ns: 0 };
        self.queued.tags[usize::from(tag)] = Some(under_way);
        self.tally.issued(self.queued.depth());
        (self.queued.batch.len() as u64 >= self.worker.job.batch).then_some(IoStep::Submit)
    }

    /// Marks the first requests of the batch as accepted by the kernel.
    pub(super) fn taken(&mut self, taken: u32) {
        let taken = usize::try_from(taken).unwrap_or(usize::MAX).min(self.queued.batch.len());
        let span = self.clock.span();
        for request in self.queued.batch.drain(..taken) {
            let Some(Some(under_way)) = self.queued.tags.get_mut(usize::from(request.tag)) else {
                continue;
            };
            if let Some((began_ns, ended_ns)) = span {
                under_way.slat_ns = Some(ended_ns - began_ns);
                under_way.issued_ns = ended_ns;
            }
            self.queued.under_way += 1;
        }
        if taken > 0 {
            self.tally.submitted(taken as u64);
        }
    }

    /// Takes over reaped completions, and processes them.
    pub(super) fn reaped(&mut self, ended: &[Completion]) {
        let now_ns = self.clock.span().map(|(_, ended_ns)| ended_ns);
        self.queued.unheard.extend(ended);
        self.heard(now_ns);
    }

    /// Processes as many completions as the job reaps at once.
    fn heard(&mut self, now_ns: Option<u64>) {
        let most = self.worker.job.most_reaped;
        let mut heard = 0;
        while heard < most
            && let Some(one) = self.queued.unheard.pop_front()
        {
            heard += 1;
            self.ended(one, now_ns);
        }
        if heard > 0 {
            self.tally.completed(heard);
        }
    }

    fn ended(&mut self, one: Completion, now_ns: Option<u64>) {
        let tag = usize::from(one.tag);
        let Some(under_way) = self.queued.tags.get_mut(tag).and_then(Option::take) else { return };
        self.queued.free.push(one.tag);
        self.queued.under_way -= 1;
        self.generator.has_ended();
        let InFlight { request, slat_ns, issued_ns } = under_way;
        let direction = request.direction.place();
        if let (Some(slat_ns), Some(now_ns)) = (slat_ns, now_ns) {
            let clat_ns = now_ns - issued_ns;
            self.tally.took(direction, clat_ns);
            self.tally.directions[direction].slat.add(slat_ns);
            self.tally.directions[direction].lat.add(slat_ns + clat_ns);
            self.log(request, request.bytes, Some(slat_ns), clat_ns);
        }
        match one.result {
            Ok(bytes) => {
                self.counted(request, u64::from(bytes));
                self.look(one.tag, request, u64::from(bytes));
            }
            Err(errno) => self.request_failed(request, errno),
        }
    }

    /// Ends all requests in flight, step by step.
    pub(super) fn drain(&mut self) -> Option<IoStep> {
        if !self.queued.batch.is_empty() {
            return Some(IoStep::Submit);
        }
        while !self.queued.unheard.is_empty() {
            self.heard(self.clock.now_ns());
        }
        (self.queued.under_way > 0).then_some(IoStep::Reap(self.queued.under_way))
    }
}

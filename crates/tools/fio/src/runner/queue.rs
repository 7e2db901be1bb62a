//! Asynchronous requests, several of them in flight.

use std::collections::VecDeque;

use crate::language::Direction;
use treering_script::{AsyncRequest, Completion, Io, Stop};

use super::super::generator::IoRequest;
use super::super::logs::ISSUED;
use super::Runner;
use super::calls::length;

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
    /// Number of requests that were submitted and whose completion is not processed.
    in_flight: u16,
    /// Completions reaped from the kernel but not yet processed by the job.
    reaped: VecDeque<Completion>,
    /// True while a full queue is being drained.
    is_draining: bool,
}

impl RequestQueue {
    pub(super) fn new(depth: u64) -> Self {
        let depth = u16::try_from(depth).unwrap_or(u16::MAX);
        Self {
            tags: vec![None; usize::from(depth)],
            free: (0..depth).rev().collect(),
            batch: Vec::new(),
            in_flight: 0,
            reaped: VecDeque::new(),
            is_draining: false,
        }
    }

    /// True if requests are in flight or to be submitted.
    #[inline]
    pub(super) const fn is_busy(&self) -> bool {
        self.in_flight > 0 || !self.batch.is_empty()
    }

    fn depth(&self) -> u64 {
        u64::from(self.in_flight) + self.batch.len() as u64
    }

    /// True if there is room for another request: the queue is not full, and not being drained to
    /// `low` after it was full at `most` requests.
    fn has_room(&mut self, most: u64, low: u64) -> bool {
        if self.free.is_empty() || self.depth() >= most {
            self.is_draining = true;
        } else if self.depth() <= low {
            self.is_draining = false;
        }
        !self.is_draining
    }
}

impl Runner {
    /// True if there is room for another request; else makes one call towards it. A full queue is
    /// drained by one reaping, down to `iodepth_low`.
    pub(super) fn has_room(&mut self, io: &mut dyn Io) -> Result<bool, Stop> {
        loop {
            let most = self.pacing.depth.as_ref().map_or(u64::MAX, |control| control.depth());
            if self.queue.has_room(most, self.worker.job.depth_low) {
                return Ok(true);
            }
            if !self.queue.batch.is_empty() {
                self.submit(io)?;
                return Ok(false);
            }
            if self.queue.reaped.is_empty() {
                let least = self.worker.job.least_reaped.max(1);
                let least = u16::try_from(least).unwrap_or(u16::MAX);
                self.reap(io, least.min(self.queue.in_flight))?;
                return Ok(false);
            }
            self.process_completions(self.clock.now_ns());
        }
    }

    /// Makes one call towards the end of a request in flight, or processes completions.
    pub(super) fn end_one(&mut self, io: &mut dyn Io) -> Result<(), Stop> {
        if !self.queue.batch.is_empty() {
            return self.submit(io);
        }
        if self.queue.reaped.is_empty() {
            return self.reap(io, 1);
        }
        self.process_completions(self.clock.now_ns());
        Ok(())
    }

    /// Makes one call towards the end of all requests in flight; false if all have ended.
    pub(super) fn end_some(&mut self, io: &mut dyn Io) -> Result<bool, Stop> {
        if !self.queue.batch.is_empty() {
            self.submit(io)?;
            return Ok(true);
        }
        while !self.queue.reaped.is_empty() {
            self.process_completions(self.clock.now_ns());
        }
        if self.queue.in_flight == 0 {
            return Ok(false);
        }
        self.reap(io, self.queue.in_flight)?;
        Ok(true)
    }

    /// Adds a request to the batch, and submits the batch when it is large enough.
    pub(super) fn enqueue(&mut self, io: &mut dyn Io, request: IoRequest) -> Result<(), Stop> {
        let Some(tag) = self.queue.free.pop() else { return Ok(()) };
        let IoRequest { direction, offset: position, bytes, .. } = request;
        self.log_issue(ISSUED, [request.file as u64, direction.place() as u64, bytes, position]);
        self.fill(tag, request);
        let file = self.slots.slot(request.file);
        let writes = direction == Direction::Write;
        self.queue.batch.push(AsyncRequest { file, writes, bytes: length(bytes), position, tag });
        let in_flight = InFlight { request, slat_ns: None, issued_ns: 0 };
        self.queue.tags[usize::from(tag)] = Some(in_flight);
        self.tally.issued(self.queue.depth());
        if self.queue.batch.len() as u64 >= self.worker.job.batch {
            self.submit(io)?;
        }
        Ok(())
    }

    /// Submits the batch, of which the kernel may accept only the first requests.
    fn submit(&mut self, io: &mut dyn Io) -> Result<(), Stop> {
        let accepted = io.submit(&self.queue.batch);
        self.clock.follow(io);
        let accepted = usize::try_from(accepted?).unwrap_or(usize::MAX);
        let accepted = accepted.min(self.queue.batch.len());
        let span = self.clock.span();
        for request in self.queue.batch.drain(..accepted) {
            let Some(Some(in_flight)) = self.queue.tags.get_mut(usize::from(request.tag)) else {
                continue;
            };
            if let Some((began_ns, ended_ns)) = span {
                in_flight.slat_ns = Some(ended_ns - began_ns);
                in_flight.issued_ns = ended_ns;
            }
            self.queue.in_flight += 1;
        }
        if accepted > 0 {
            self.tally.submitted(accepted as u64);
        }
        self.end_call(io);
        Ok(())
    }

    /// Reaps at least `least` completions, and processes as many as the job takes at once.
    fn reap(&mut self, io: &mut dyn Io, least: u16) -> Result<(), Stop> {
        let reaped = io.reap(least).map(|completions| self.queue.reaped.extend(completions));
        self.clock.follow(io);
        reaped?;
        let now_ns = self.clock.span().map(|(_, ended_ns)| ended_ns);
        self.process_completions(now_ns);
        self.end_call(io);
        Ok(())
    }

    /// Processes as many completions as the job reaps at once.
    fn process_completions(&mut self, now_ns: Option<u64>) {
        let most = self.worker.job.most_reaped;
        let mut processed = 0;
        while processed < most
            && let Some(completion) = self.queue.reaped.pop_front()
        {
            processed += 1;
            self.process_completion(completion, now_ns);
        }
        if processed > 0 {
            self.tally.completed(processed);
        }
    }

    fn process_completion(&mut self, completion: Completion, now_ns: Option<u64>) {
        let Completion { tag, result } = completion;
        let in_flight = self.queue.tags.get_mut(usize::from(tag)).and_then(Option::take);
        let Some(InFlight { request, slat_ns, issued_ns }) = in_flight else { return };
        self.queue.free.push(tag);
        self.queue.in_flight -= 1;
        self.generator.has_ended();
        let direction = request.direction.place();
        if let (Some(slat_ns), Some(now_ns)) = (slat_ns, now_ns) {
            let clat_ns = now_ns - issued_ns;
            self.tally.took(direction, clat_ns);
            let tally = &mut self.tally.directions[direction];
            if self.worker.job.reported.slat_percentiles {
                tally.slat.add(slat_ns);
            } else {
                // As in the original, a histogram that nobody asked for is not kept.
                tally.slat.stat.add(slat_ns);
            }
            tally.lat.add(slat_ns + clat_ns);
            self.log(request, request.bytes, Some(slat_ns), clat_ns);
        }
        match result {
            Ok(bytes) => {
                self.counted(request, u64::from(bytes));
                self.verify(tag, request, u64::from(bytes));
            }
            Err(errno) => self.request_failed(request, errno),
        }
    }
}

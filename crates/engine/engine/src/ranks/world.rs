//! World of the ranks: barriers, gathering and broadcasts, each with a time limit.
//!
//! All messages go through rank 0, which therefore always knows who is missing. A waiting rank
//! sends heartbeats with the number of its calls; a rank that is silent for too long, or whose
//! calls make no progress, is reported.

use std::cell::{Cell, RefCell};
use std::collections::{HashMap, VecDeque};
use std::ops::Range;
use std::sync::Arc;
use std::time::{Duration, Instant};

use treering_sys::{StopFlag, monotonic_ns};

use crate::ranks::idle::IdleBackoff;
use crate::ranks::messages::{MessageKind, number};
use crate::ranks::packed::{packed, unpacked};
use crate::ranks::silence::{SilenceKind, SilenceWatch, beat_interval};
use crate::ranks::spread::{BroadcastHeader, RELAYED_FROM_BYTES, before, next_ranks};
use crate::{ClockRelation, RankLink, RankSkew};

/// Failure of a rank.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("rank {rank} on {host}: {why}")]
pub struct RankError {
    /// Number of the rank.
    pub rank: usize,
    /// Host name of the rank; `?` if unknown.
    pub host: String,
    /// Description of the failure.
    pub why: String,
}

/// Number of round trips to measure the clock offset of a rank.
const CLOCK_ROUND_TRIPS: usize = 24;
/// Time that ranks wait for the farewell of another.
const FAREWELL: Duration = Duration::from_secs(10);

/// Request of another rank to stop the current group.
struct StopRequest {
    /// Signal that caused the halt.
    signal: Option<i32>,
}

/// Set of all ranks of a run, as seen by one of them.
pub struct World<'l> {
    link: &'l dyn RankLink,
    limit: Cell<Duration>,
    state: RefCell<WorldState>,
    /// Number of calls made by this rank.
    calls: Cell<u64>,
    beaten: Cell<Instant>,
}

struct WorldState {
    inbox: HashMap<(MessageKind, usize), VecDeque<Vec<u8>>>,
    silence: SilenceWatch,
    /// True while a group works that has not exchanged its results yet.
    works: bool,
    hosts: Vec<String>,
    clocks: Vec<ClockRelation>,
    skews: Vec<RankSkew>,
    /// Arrival of the last rank at the last meeting before a group; only at rank 0.
    last_arrival_ns: u64,
    /// Number of broadcasts so far.
    broadcasts: u32,
    /// Number of the current group, counted from 1, and of the last group that was halted.
    group: u64,
    halted: u64,
    /// Rank that was lost, if any.
    lost: Option<RankError>,
    sent_bytes: u64,
    received_bytes: u64,
}

impl<'l> World<'l> {
    /// Joins the world through this link. A rank that is silent for longer than the limit counts as
    /// lost.
    pub fn new(link: &'l dyn RankLink, limit: Duration) -> Self {
        let (size, now) = (link.size(), Instant::now());
        let state = WorldState {
            inbox: HashMap::new(),
            silence: SilenceWatch::new(size, now),
            works: false,
            hosts: vec!["?".to_owned(); size],
            clocks: vec![ClockRelation::default(); size],
            skews: Vec::new(),
            last_arrival_ns: 0,
            broadcasts: 0,
            group: 0,
            halted: 0,
            lost: None,
            sent_bytes: 0,
            received_bytes: 0,
        };
        Self {
            link,
            limit: Cell::new(limit),
            state: RefCell::new(state),
            calls: Cell::new(0),
            beaten: Cell::new(now),
        }
    }

    /// Sets the time limit after which a silent rank counts as lost.
    pub fn set_limit(&self, limit: Duration) {
        self.limit.set(limit);
    }

    /// Number of this rank.
    pub fn rank(&self) -> usize {
        self.link.rank()
    }

    /// Number of ranks.
    pub fn size(&self) -> usize {
        self.link.size()
    }

    /// True for the rank that keeps the results and prints.
    pub fn is_first(&self) -> bool {
        self.rank() == 0
    }

    /// Sets the host names of the ranks, for messages.
    pub fn name_hosts(&self, hosts: Vec<String>) {
        self.state.borrow_mut().hosts = hosts;
    }

    /// Host names of the ranks.
    pub fn hosts(&self) -> Vec<String> {
        self.state.borrow().hosts.clone()
    }

    /// Clock offset of each rank, at rank 0; other ranks know only their own.
    pub fn clocks(&self) -> Vec<ClockRelation> {
        self.state.borrow().clocks.clone()
    }

    /// Skew of each phase so far, at rank 0.
    pub fn skews(&self) -> Vec<RankSkew> {
        self.state.borrow().skews.clone()
    }

    /// Bytes sent and received by this rank so far.
    pub fn traffic_bytes(&self) -> (u64, u64) {
        let state = self.state.borrow();
        (state.sent_bytes, state.received_bytes)
    }

    /// Rank that was lost, if any; no more meetings take place then.
    pub(crate) fn lost(&self) -> Option<RankError> {
        self.state.borrow().lost.clone()
    }

    /// Gathers the bytes of all ranks, in their order, at rank 0.
    ///
    /// # Errors
    /// When a rank is lost or has left.
    pub fn gather(&self, bytes: &[u8]) -> Result<Option<Vec<Vec<u8>>>, RankError> {
        if !self.is_first() {
            self.send(0, MessageKind::Meeting, bytes);
            return Ok(None);
        }
        let (parts, lost) = self.gather_most(bytes);
        match lost {
            None => Ok(Some(parts.into_iter().flatten().collect())),
            Some(error) => Err(error),
        }
    }

    /// Gathers the bytes of all ranks as far as they arrive; also returns the rank that was lost,
    /// if any. At rank 0.
    pub(crate) fn gather_most(&self, bytes: &[u8]) -> (Vec<Option<Vec<u8>>>, Option<RankError>) {
        {
            let mut state = self.state.borrow_mut();
            if !std::mem::take(&mut state.works) {
                // The ranks were not working until now: their silence does not count.
                state.silence.restart();
            }
        }
        let mut parts = vec![None; self.size()];
        parts[0] = Some(bytes.to_vec());
        let mut lost = self.lost();
        let mut hurried_since = lost.is_some().then(Instant::now);
        for (from, part) in parts.iter_mut().enumerate().skip(1) {
            let mut message = self.next_meeting_message(from, lost.as_ref(), hurried_since);
            if let (Err(error), None) = (&message, &lost) {
                // The others would work for nothing.
                self.halt(None);
                hurried_since = Some(Instant::now());
                lost = Some(error.clone());
                if error.rank != from {
                    message = self.next_meeting_message(from, lost.as_ref(), hurried_since);
                }
            }
            *part = message.ok();
        }
        if lost.is_some() {
            self.state.borrow_mut().lost.clone_from(&lost);
        }
        (parts, lost)
    }

    /// Message of a rank for the current meeting; a lost rank is not waited for.
    fn next_meeting_message(
        &self,
        from: usize,
        lost: Option<&RankError>,
        hurried_since: Option<Instant>,
    ) -> Result<Vec<u8>, RankError> {
        match lost.filter(|lost| lost.rank == from) {
            Some(lost) => self.take(MessageKind::Meeting, from).ok_or_else(|| lost.clone()),
            None => self.next(MessageKind::Meeting, from, hurried_since),
        }
    }

    /// Sends the bytes of rank 0 to all ranks and returns them there; the bytes of other ranks are
    /// ignored.
    ///
    /// # Errors
    /// When rank 0 has left.
    pub fn broadcast(&self, bytes: &[u8]) -> Result<Vec<u8>, RankError> {
        let number = {
            let mut state = self.state.borrow_mut();
            state.broadcasts += 1;
            state.broadcasts
        };
        if !self.is_first() {
            let message =
                self.wait_for((0, number), None, &mut || self.take_broadcast(number).map(Ok))?;
            let not_understood = |error| self.error(0, format!("it is not understood: {error}"));
            return unpacked(&message).map_err(not_understood);
        }
        // The children of a lost rank would wait in vain.
        let is_passed_on = bytes.len() > RELAYED_FROM_BYTES && self.lost().is_none();
        let to = if is_passed_on { next_ranks(0, self.size()) } else { 1..self.size() };
        let heading = BroadcastHeader { number, is_passed_on };
        self.send_to(to, MessageKind::Broadcast, &heading.head(&packed(bytes)));
        Ok(bytes.to_vec())
    }

    /// Broadcast of this number, from rank 0 or from the parent in the tree.
    fn take_broadcast(&self, number: u32) -> Option<Vec<u8>> {
        let mut state = self.state.borrow_mut();
        [0, before(self.rank())].into_iter().find_map(|from| {
            let queue = state.inbox.get_mut(&(MessageKind::Broadcast, from))?;
            let (heading, word) = BroadcastHeader::split(queue.front()?)?;
            if heading.number != number {
                return None;
            }
            let word = word.to_vec();
            queue.pop_front();
            Some(word)
        })
    }

    /// Waits until all ranks have arrived.
    ///
    /// # Errors
    /// When a rank is lost or has left.
    pub fn barrier(&self) -> Result<(), RankError> {
        self.gather(&[])?;
        self.broadcast(&[]).map(|_nothing| ())
    }

    /// Relates the clocks of all ranks with that of rank 0.
    ///
    /// # Errors
    /// When a rank is lost or has left.
    pub fn relate_clocks(&self) -> Result<(), RankError> {
        self.barrier()?;
        if self.is_first() {
            for rank in 1..self.size() {
                let mut relation = ClockRelation { offset_ns: 0, uncertainty_ns: u64::MAX };
                for _ in 0..CLOCK_ROUND_TRIPS {
                    let asked_ns = monotonic_ns();
                    self.send(rank, MessageKind::ClockRequest, &[]);
                    let answer = self.next(MessageKind::ClockReading, rank, None)?;
                    let answered_ns = monotonic_ns();
                    let remote_ns = number(&answer);
                    let sample = ClockRelation::from_exchange(asked_ns, answered_ns, remote_ns);
                    relation = relation.more_certain(sample);
                }
                let bytes = serde_json::to_vec(&relation).unwrap_or_default();
                self.send(rank, MessageKind::Meeting, &bytes);
                self.state.borrow_mut().clocks[rank] = relation;
            }
            return Ok(());
        }
        let own = serde_json::from_slice(&self.next(MessageKind::Meeting, 0, None)?);
        let own = own.map_err(|error| self.error(0, format!("it is not understood: {error}")))?;
        self.state.borrow_mut().clocks[self.rank()] = own;
        Ok(())
    }

    fn own_clock(&self) -> ClockRelation {
        self.state.borrow().clocks[self.rank()]
    }

    /// Converts a reading of the local clock to the clock of rank 0.
    pub(crate) fn to_first(&self, ns: u64) -> u64 {
        self.own_clock().to_first(ns)
    }

    /// Converts a reading of the clock of rank 0 to the local clock.
    pub(crate) fn on_own_clock(&self, ns: u64) -> u64 {
        self.own_clock().on_own_clock(ns)
    }

    /// Begins a new group; halts of the previous one no longer count.
    pub(crate) fn begin_group(&self) {
        let mut state = self.state.borrow_mut();
        state.group += 1;
        state.works = true;
        state.silence.restart();
    }

    pub(crate) fn have_met(&self) {
        self.state.borrow_mut().last_arrival_ns = monotonic_ns();
    }

    /// Arrival of the last rank at the last meeting, at rank 0.
    pub(crate) fn last_arrival_ns(&self) -> u64 {
        self.state.borrow().last_arrival_ns
    }

    pub(crate) fn add_skew(&self, skew: Option<RankSkew>) {
        self.state.borrow_mut().skews.extend(skew);
    }

    /// Stops the tasks of the current group on all ranks, unless this was done already.
    pub(crate) fn halt(&self, signal: Option<i32>) {
        let group = {
            let mut state = self.state.borrow_mut();
            if state.halted == state.group {
                return;
            }
            state.halted = state.group;
            state.group
        };
        let signal = u64::from(signal.unwrap_or(0).unsigned_abs());
        let word = [group.to_le_bytes(), signal.to_le_bytes()].concat();
        self.send_to(self.others(), MessageKind::Halt, &word);
    }

    /// Receives messages and reports that this rank is alive; to be called regularly while tasks
    /// work.
    pub(crate) fn turn(&self, calls: u64, stop: &StopFlag) {
        self.calls.set(calls);
        self.listen();
        self.beat();
        if self.is_first() && self.lost().is_none() {
            // The tasks of this rank may go on for much longer than the limit.
            if let Err(lost) = self.any_overdue(1..self.size()) {
                self.state.borrow_mut().lost = Some(lost);
                stop.halt();
            }
        }
        if stop.is_raised() {
            self.halt(stop.signal());
        }
        match self.take_halt() {
            None => {}
            Some(StopRequest { signal: Some(signal) }) => stop.raise(signal),
            Some(StopRequest { signal: None }) => stop.halt(),
        }
    }

    /// Takes a request of another rank to stop the current group, with the signal that caused it.
    /// Rank 0 passes it on to the others.
    fn take_halt(&self) -> Option<StopRequest> {
        let (halts, group) = {
            let mut state = self.state.borrow_mut();
            let of_halt = |(key, queue): (&(MessageKind, usize), &mut VecDeque<Vec<u8>>)| {
                (key.0 == MessageKind::Halt).then(|| queue.drain(..).collect::<Vec<_>>())
            };
            let halts = state.inbox.iter_mut().filter_map(of_halt).flatten().collect::<Vec<_>>();
            (halts, state.group)
        };
        let halt = halts.into_iter().find(|halt| number(halt) == group)?;
        let signal = i32::try_from(halt.get(8..).map_or(0, number)).ok();
        let signal = signal.filter(|signal| *signal > 0);
        if self.is_first() {
            self.halt(signal);
        }
        Some(StopRequest { signal })
    }

    /// Leaves the run early, or because of a failure: ranks that wait for this one get the reason,
    /// and the number of broadcasts under way.
    pub fn leave(&self, why: &str) {
        let broadcasts = self.state.borrow().broadcasts;
        let word = [&broadcasts.to_le_bytes(), why.as_bytes()].concat();
        self.send_to(self.others(), MessageKind::Left, &word);
    }

    /// Reason why a rank has left; `None` while a broadcast it sent before may still arrive through
    /// other ranks.
    fn has_left(&self, from: usize, awaited: u32, began: Instant) -> Option<RankError> {
        let mut state = self.state.borrow_mut();
        let queue = state.inbox.get_mut(&(MessageKind::Left, from))?;
        let (sent_broadcasts, why) = queue.front()?.split_first_chunk()?;
        let is_under_way = from == 0 && awaited <= u32::from_le_bytes(*sent_broadcasts);
        if is_under_way && began.elapsed() < FAREWELL.min(self.limit.get()) {
            return None;
        }
        let why = String::from_utf8_lossy(why).into_owned();
        drop(state);
        Some(self.error(from, why))
    }

    /// Ranks that this rank talks to: all others for rank 0, rank 0 for the others.
    fn others(&self) -> Range<usize> {
        if self.is_first() { 1..self.size() } else { 0..1 }
    }

    /// Last meeting, before the process ends; rank 0 arrives last.
    ///
    /// # Errors
    /// When a rank does not come.
    pub fn farewell(&self) -> Result<(), RankError> {
        if !self.is_first() {
            self.send(0, MessageKind::Farewell, &[]);
            return self.wait_for_farewell(0, None);
        }
        let until = Instant::now() + FAREWELL.min(self.limit.get());
        let mut missing = Ok(());
        for from in 1..self.size() {
            let came = match self.lost() {
                Some(lost) if lost.rank == from && self.is_silent(from) => Err(lost),
                _ => self.wait_for_farewell(from, Some(until)),
            };
            missing = missing.and(came);
        }
        self.send_to(1..self.size(), MessageKind::Farewell, &[]);
        missing
    }

    fn wait_for_farewell(&self, from: usize, until: Option<Instant>) -> Result<(), RankError> {
        let mut idle = IdleBackoff::default();
        loop {
            self.listen();
            if self.take(MessageKind::Farewell, from).is_some() {
                return Ok(());
            }
            if until.is_some_and(|until| Instant::now() > until) {
                return Err(self.error(from, "it did not end with the others".to_owned()));
            }
            idle.rest();
        }
    }

    /// Next message of this kind. With `hurried_since`, it waits only for a limited time after that
    /// instant.
    fn next(
        &self,
        kind: MessageKind,
        from: usize,
        hurried_since: Option<Instant>,
    ) -> Result<Vec<u8>, RankError> {
        let is_gathering =
            kind == MessageKind::Meeting && self.is_first() && hurried_since.is_none();
        // The messages of lower ranks have been taken already.
        let awaited = if is_gathering { from..self.size() } else { 0..0 };
        self.wait_for((from, u32::MAX), hurried_since, &mut || {
            let message = self.take(kind, from).map(Ok);
            message.or_else(|| self.any_overdue(awaited.clone()).err().map(Err))
        })
    }

    /// Waits until `take` returns a message; `awaited` is the number of the broadcast it waits for,
    /// if it is one.
    fn wait_for(
        &self,
        (from, awaited): (usize, u32),
        hurried_since: Option<Instant>,
        take: &mut dyn FnMut() -> Option<Result<Vec<u8>, RankError>>,
    ) -> Result<Vec<u8>, RankError> {
        let began = Instant::now();
        let mut idle = IdleBackoff::default();
        loop {
            if self.listen() {
                // A rank that asks for the clock asks again at once.
                idle = IdleBackoff::default();
            }
            if let Some(message) = take() {
                return message;
            }
            if let Some(left) = self.has_left(from, awaited, began) {
                return Err(left);
            }
            let hurried_for = hurried_since.map_or(Duration::ZERO, |since| since.elapsed());
            if hurried_for > FAREWELL.min(self.limit.get()) {
                return Err(self.error(from, "it was not waited for any longer".to_owned()));
            }
            self.beat();
            if self.is_first() {
                // This rank's tasks are done, but those of others are not.
                let _told_to_the_others = self.take_halt();
            }
            self.overdue(from)?;
            idle.rest();
        }
    }

    /// Fails if an awaited rank is silent or stuck. Rank 0 is exempt, since it may be busy for
    /// long.
    fn overdue(&self, rank: usize) -> Result<(), RankError> {
        let limit = self.limit.get();
        let overdue = self.state.borrow().silence.overdue(rank, limit);
        let seconds = limit.as_secs_f64();
        let why = match overdue.filter(|_| rank != 0) {
            None => return Ok(()),
            Some(SilenceKind::Silent) => {
                format!("not a word for {seconds} s (--rank-timeout): it hangs, or is gone")
            }
            Some(SilenceKind::Stuck { calls }) => format!(
                "none of its calls has ended for {seconds} s (--rank-timeout); it has made {calls}"
            ),
        };
        Err(self.error(rank, why))
    }

    /// Fails if one of `ranks` is overdue whose message for the current meeting is missing; at rank
    /// 0.
    fn any_overdue(&self, ranks: Range<usize>) -> Result<(), RankError> {
        ranks.filter(|rank| !self.has_arrived(*rank)).try_for_each(|rank| self.overdue(rank))
    }

    fn has_arrived(&self, rank: usize) -> bool {
        let state = self.state.borrow();
        state.inbox.get(&(MessageKind::Meeting, rank)).is_some_and(|queue| !queue.is_empty())
    }

    fn is_silent(&self, rank: usize) -> bool {
        self.state.borrow().silence.overdue(rank, self.limit.get()) == Some(SilenceKind::Silent)
    }

    pub(crate) fn error(&self, rank: usize, why: String) -> RankError {
        RankError { rank, host: self.state.borrow().hosts[rank].clone(), why }
    }

    fn take(&self, kind: MessageKind, from: usize) -> Option<Vec<u8>> {
        self.state.borrow_mut().inbox.get_mut(&(kind, from))?.pop_front()
    }

    fn send(&self, to: usize, kind: MessageKind, bytes: &[u8]) {
        self.send_to(to..to + 1, kind, bytes);
    }

    /// Sends a message to several ranks, from one allocation.
    fn send_to(&self, to: Range<usize>, kind: MessageKind, bytes: &[u8]) {
        let message: Arc<[u8]> = [&[kind as u8], bytes].concat().into();
        self.state.borrow_mut().sent_bytes += (message.len() * to.len()) as u64;
        to.for_each(|to| self.link.send(to, &message));
    }

    /// Receives the messages that have arrived; true if there were any.
    fn listen(&self) -> bool {
        let mut has_come = false;
        self.state.borrow_mut().silence.advance(Instant::now(), self.limit.get());
        while let Some((from, message)) = self.link.receive() {
            has_come = true;
            let Some((kind, bytes)) = message.split_first() else { continue };
            let Some(kind) = MessageKind::from_byte(*kind) else { continue };
            if kind == MessageKind::ClockRequest {
                self.send(from, MessageKind::ClockReading, &monotonic_ns().to_le_bytes());
                continue;
            }
            let mut state = self.state.borrow_mut();
            state.received_bytes += message.len() as u64;
            state.silence.record_message(from);
            if kind == MessageKind::Beat {
                state.silence.count(from, number(bytes));
                continue;
            }
            let passes_on = kind == MessageKind::Broadcast
                && BroadcastHeader::split(bytes).is_some_and(|(heading, _)| heading.is_passed_on);
            if passes_on {
                drop(state);
                self.send_to(next_ranks(self.rank(), self.size()), MessageKind::Broadcast, bytes);
                state = self.state.borrow_mut();
            }
            state.inbox.entry((kind, from)).or_default().push_back(bytes.to_vec());
        }
        has_come
    }

    /// Sends a heartbeat, if the last one is old enough.
    fn beat(&self) {
        let every = beat_interval(self.limit.get());
        if self.is_first() || self.beaten.get().elapsed() < every {
            return;
        }
        self.beaten.set(Instant::now());
        self.send(0, MessageKind::Beat, &self.calls.get().to_le_bytes());
    }
}

//! The world of the ranks: meetings, each with a limit to the waiting, and words in between.
//!
//! All goes through rank 0, so that it always knows who has not come. A rank that waits says now
//! and then that it is there, and how many calls it has made; who is silent for too long, or whose
//! calls do not end, is named.

use std::cell::{Cell, RefCell};
use std::collections::{HashMap, VecDeque};
use std::ops::Range;
use std::sync::Arc;
use std::time::{Duration, Instant};

use treering_sys::{StopFlag, monotonic_ns};

use crate::ranks::idle::Idle;
use crate::ranks::messages::{Kind, number};
use crate::ranks::packed::{packed, unpacked};
use crate::ranks::silence::{Overdue, SilenceWatch, beat_interval};
use crate::ranks::spread::{Heading, LONG, before, next_ranks};
use crate::{ClockRelation, Link, RankSkew};

/// A rank that did not do its part.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("rank {rank} on {host}: {why}")]
pub struct RankError {
    /// Which.
    pub rank: usize,
    /// The machine that it is on; `?` where it has not said.
    pub host: String,
    /// What became of it.
    pub why: String,
}

/// How many times the clock of a rank is asked.
const QUESTIONS: usize = 24;
/// How long ranks wait for the last words of another.
const FAREWELL: Duration = Duration::from_secs(10);

/// Another rank asked the present group to stop.
struct Halt {
    /// The signal that asked it to.
    signal: Option<i32>,
}

/// All ranks of a run, as one of them sees them.
pub struct World<'l> {
    link: &'l dyn Link,
    limit: Cell<Duration>,
    state: RefCell<State>,
    /// How many calls this rank has made.
    calls: Cell<u64>,
    beaten: Cell<Instant>,
}

struct State {
    inbox: HashMap<(Kind, usize), VecDeque<Vec<u8>>>,
    silence: SilenceWatch,
    /// Whether a group works that has not exchanged its results yet.
    works: bool,
    hosts: Vec<String>,
    clocks: Vec<ClockRelation>,
    skews: Vec<RankSkew>,
    /// When the last rank came to the last meeting before a group, at rank 0.
    met_ns: u64,
    /// How often rank 0 has spoken to all.
    told: u32,
    /// The present group, counted from 1, and the last one that was halted.
    group: u64,
    halted: u64,
    /// Who is missing since it was lost.
    lost: Option<RankError>,
    sent_bytes: u64,
    received_bytes: u64,
}

impl<'l> World<'l> {
    /// Connected by this link; a rank that is not heard of for longer than the limit is lost.
    pub fn new(link: &'l dyn Link, limit: Duration) -> Self {
        let (size, now) = (link.size(), Instant::now());
        let state = State {
            inbox: HashMap::new(),
            silence: SilenceWatch::new(size, now),
            works: false,
            hosts: vec!["?".to_owned(); size],
            clocks: vec![ClockRelation::default(); size],
            skews: Vec::new(),
            met_ns: 0,
            told: 0,
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

    /// From now on a rank that is not heard of for longer than this is lost.
    pub fn set_limit(&self, limit: Duration) {
        self.limit.set(limit);
    }

    /// Which rank this is.
    pub fn rank(&self) -> usize {
        self.link.rank()
    }

    /// How many there are.
    pub fn size(&self) -> usize {
        self.link.size()
    }

    /// Whether this is the one that keeps results and speaks.
    pub fn is_first(&self) -> bool {
        self.rank() == 0
    }

    /// Names the machines of the ranks, for what is said of them.
    pub fn name_hosts(&self, hosts: Vec<String>) {
        self.state.borrow_mut().hosts = hosts;
    }

    /// The machines of the ranks.
    pub fn hosts(&self) -> Vec<String> {
        self.state.borrow().hosts.clone()
    }

    /// The clock of each rank against that of rank 0, at rank 0; elsewhere only the own one is
    /// known.
    pub fn clocks(&self) -> Vec<ClockRelation> {
        self.state.borrow().clocks.clone()
    }

    /// How unequal the ranks were in each phase so far, at rank 0.
    pub fn skews(&self) -> Vec<RankSkew> {
        self.state.borrow().skews.clone()
    }

    /// Bytes that this rank has sent and received so far.
    pub fn traffic_bytes(&self) -> (u64, u64) {
        let state = self.state.borrow();
        (state.sent_bytes, state.received_bytes)
    }

    /// The rank that was lost, if one was: there are no more meetings.
    pub(crate) fn lost(&self) -> Option<RankError> {
        self.state.borrow().lost.clone()
    }

    /// Everybody's bytes, in the order of the ranks, at rank 0.
    ///
    /// # Errors
    /// When a rank is lost or has left.
    pub fn gather(&self, bytes: &[u8]) -> Result<Option<Vec<Vec<u8>>>, RankError> {
        if !self.is_first() {
            self.send(0, Kind::Meeting, bytes);
            return Ok(None);
        }
        let (parts, lost) = self.gather_most(bytes);
        match lost {
            None => Ok(Some(parts.into_iter().flatten().collect())),
            Some(error) => Err(error),
        }
    }

    /// The same as far as it can be had, and who is lost, at rank 0.
    pub(crate) fn gather_most(&self, bytes: &[u8]) -> (Vec<Option<Vec<u8>>>, Option<RankError>) {
        {
            let mut state = self.state.borrow_mut();
            if !std::mem::take(&mut state.works) {
                // They had other things to do until now.
                state.silence.restart();
            }
        }
        let mut parts = vec![None; self.size()];
        parts[0] = Some(bytes.to_vec());
        let mut lost = self.lost();
        let mut hurried = lost.is_some().then(Instant::now);
        for (from, part) in parts.iter_mut().enumerate().skip(1) {
            let mut told = self.next_of_meeting(from, lost.as_ref(), hurried);
            if let (Err(error), None) = (&told, &lost) {
                // The others would work for nothing.
                self.halt(None);
                hurried = Some(Instant::now());
                lost = Some(error.clone());
                if error.rank != from {
                    told = self.next_of_meeting(from, lost.as_ref(), hurried);
                }
            }
            *part = told.ok();
        }
        if lost.is_some() {
            self.state.borrow_mut().lost.clone_from(&lost);
        }
        (parts, lost)
    }

    /// The message of a rank for the present meeting; nobody waits for one that is lost.
    fn next_of_meeting(
        &self,
        from: usize,
        lost: Option<&RankError>,
        hurried: Option<Instant>,
    ) -> Result<Vec<u8>, RankError> {
        match lost.filter(|lost| lost.rank == from) {
            Some(lost) => self.take(Kind::Meeting, from).ok_or_else(|| lost.clone()),
            None => self.next(Kind::Meeting, from, hurried),
        }
    }

    /// What rank 0 says, at all of them; the others' bytes are not looked at.
    ///
    /// # Errors
    /// When rank 0 has left.
    pub fn broadcast(&self, bytes: &[u8]) -> Result<Vec<u8>, RankError> {
        let number = {
            let mut state = self.state.borrow_mut();
            state.told += 1;
            state.told
        };
        if !self.is_first() {
            let message =
                self.wait_for((0, number), None, &mut || self.take_told(number).map(Ok))?;
            let not_understood = |error| self.error(0, format!("it is not understood: {error}"));
            return unpacked(&message).map_err(not_understood);
        }
        // Of a rank that is lost others would wait in vain.
        let is_passed_on = bytes.len() > LONG && self.lost().is_none();
        let to = if is_passed_on { next_ranks(0, self.size()) } else { 1..self.size() };
        let heading = Heading { number, is_passed_on };
        self.send_to(to, Kind::Told, &heading.head(&packed(bytes)));
        Ok(bytes.to_vec())
    }

    /// The word of rank 0 with this number, whichever way it came.
    fn take_told(&self, number: u32) -> Option<Vec<u8>> {
        let mut state = self.state.borrow_mut();
        [0, before(self.rank())].into_iter().find_map(|from| {
            let queue = state.inbox.get_mut(&(Kind::Told, from))?;
            let (heading, word) = Heading::split(queue.front()?)?;
            if heading.number != number {
                return None;
            }
            let word = word.to_vec();
            queue.pop_front();
            Some(word)
        })
    }

    /// Waits until all are here.
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
                for _ in 0..QUESTIONS {
                    let asked_ns = monotonic_ns();
                    self.send(rank, Kind::Ask, &[]);
                    let said = self.next(Kind::Said, rank, None)?;
                    let answered_ns = monotonic_ns();
                    let said_ns = number(&said);
                    relation = relation.surer(ClockRelation::of(asked_ns, answered_ns, said_ns));
                }
                self.send(rank, Kind::Meeting, &serde_json::to_vec(&relation).unwrap_or_default());
                self.state.borrow_mut().clocks[rank] = relation;
            }
            return Ok(());
        }
        let own = serde_json::from_slice(&self.next(Kind::Meeting, 0, None)?);
        let own = own.map_err(|error| self.error(0, format!("it is not understood: {error}")))?;
        self.state.borrow_mut().clocks[self.rank()] = own;
        Ok(())
    }

    fn own_clock(&self) -> ClockRelation {
        self.state.borrow().clocks[self.rank()]
    }

    /// A reading of the clock here as rank 0 would have read its own.
    pub(crate) fn to_first(&self, ns: u64) -> u64 {
        self.own_clock().to_first(ns)
    }

    /// A reading of the clock of rank 0 as it would have been read here.
    pub(crate) fn by_own(&self, ns: u64) -> u64 {
        self.own_clock().by_own(ns)
    }

    /// A new group begins: halts of the one before mean nothing any more.
    pub(crate) fn begin_group(&self) {
        let mut state = self.state.borrow_mut();
        state.group += 1;
        state.works = true;
        state.silence.restart();
    }

    pub(crate) fn have_met(&self) {
        self.state.borrow_mut().met_ns = monotonic_ns();
    }

    /// When the last rank came to the last meeting, at rank 0.
    pub(crate) fn met_ns(&self) -> u64 {
        self.state.borrow().met_ns
    }

    pub(crate) fn add_skew(&self, skew: Option<RankSkew>) {
        self.state.borrow_mut().skews.extend(skew);
    }

    /// Has the tasks of the present group stop at all ranks, unless that was done already.
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
        self.send_to(self.others(), Kind::Halt, &word);
    }

    /// To be called now and then while tasks work: listens, and says that we are here.
    pub(crate) fn turn(&self, calls: u64, stop: &StopFlag) {
        self.calls.set(calls);
        self.listen();
        self.beat();
        if self.is_first() && self.lost().is_none() {
            // Our own tasks may go on for much longer than the limit.
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
            Some(Halt { signal: Some(signal) }) => stop.raise(signal),
            Some(Halt { signal: None }) => stop.halt(),
        }
    }

    /// Whether another rank asked the present group to stop, and the signal that asked it to. Rank
    /// 0 tells the others.
    fn take_halt(&self) -> Option<Halt> {
        let (halts, group) = {
            let mut state = self.state.borrow_mut();
            let of_halt = |(key, queue): (&(Kind, usize), &mut VecDeque<Vec<u8>>)| {
                (key.0 == Kind::Halt).then(|| queue.drain(..).collect::<Vec<_>>())
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
        Some(Halt { signal })
    }

    /// Leaves the run before its end, or because it ended so: whoever waits for us hears why, and
    /// how many words of rank 0 are under way.
    pub fn leave(&self, why: &str) {
        let told = self.state.borrow().told;
        let word = [&told.to_le_bytes(), why.as_bytes()].concat();
        self.send_to(self.others(), Kind::Left, &word);
    }

    /// Why a rank has left, unless what it said before must still come, by way of others.
    fn has_left(&self, from: usize, awaited: u32, began: Instant) -> Option<RankError> {
        let mut state = self.state.borrow_mut();
        let queue = state.inbox.get_mut(&(Kind::Left, from))?;
        let (told, why) = queue.front()?.split_first_chunk()?;
        let is_under_way = from == 0 && awaited <= u32::from_le_bytes(*told);
        if is_under_way && began.elapsed() < FAREWELL.min(self.limit.get()) {
            return None;
        }
        let why = String::from_utf8_lossy(why).into_owned();
        drop(state);
        Some(self.error(from, why))
    }

    /// Whom this rank speaks to: rank 0 to all others, these to rank 0.
    fn others(&self) -> Range<usize> {
        if self.is_first() { 1..self.size() } else { 0..1 }
    }

    /// The last meeting, before the process ends: rank 0 is the last to come.
    ///
    /// # Errors
    /// When a rank does not come.
    pub fn farewell(&self) -> Result<(), RankError> {
        if !self.is_first() {
            self.send(0, Kind::Farewell, &[]);
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
        self.send_to(1..self.size(), Kind::Farewell, &[]);
        missing
    }

    fn wait_for_farewell(&self, from: usize, until: Option<Instant>) -> Result<(), RankError> {
        let mut idle = Idle::default();
        loop {
            self.listen();
            if self.take(Kind::Farewell, from).is_some() {
                return Ok(());
            }
            if until.is_some_and(|until| Instant::now() > until) {
                return Err(self.error(from, "it did not end with the others".to_owned()));
            }
            idle.rest();
        }
    }

    /// The next message of this kind. Who hurries since some time takes what is there or comes
    /// soon after.
    fn next(
        &self,
        kind: Kind,
        from: usize,
        hurried: Option<Instant>,
    ) -> Result<Vec<u8>, RankError> {
        let is_gathering = kind == Kind::Meeting && self.is_first() && hurried.is_none();
        // What those before it had to say was taken already.
        let awaited = if is_gathering { from..self.size() } else { 0..0 };
        self.wait_for((from, u32::MAX), hurried, &mut || {
            let message = self.take(kind, from).map(Ok);
            message.or_else(|| self.any_overdue(awaited.clone()).err().map(Err))
        })
    }

    /// Waits until there is a message that depends on this rank, and the word of rank 0 that it is,
    /// if it is one.
    fn wait_for(
        &self,
        (from, awaited): (usize, u32),
        hurried: Option<Instant>,
        take: &mut dyn FnMut() -> Option<Result<Vec<u8>, RankError>>,
    ) -> Result<Vec<u8>, RankError> {
        let began = Instant::now();
        let mut idle = Idle::default();
        loop {
            if self.listen() {
                // Who asks for our clock asks again at once.
                idle = Idle::default();
            }
            if let Some(message) = take() {
                return message;
            }
            if let Some(left) = self.has_left(from, awaited, began) {
                return Err(left);
            }
            let hurries_for = hurried.map_or(Duration::ZERO, |since| since.elapsed());
            if hurries_for > FAREWELL.min(self.limit.get()) {
                return Err(self.error(from, "it was not waited for any longer".to_owned()));
            }
            self.beat();
            if self.is_first() {
                // Our own tasks are done; those of others are not.
                let _told_to_the_others = self.take_halt();
            }
            self.overdue(from)?;
            idle.rest();
        }
    }

    /// Whether a rank that is waited for is there and works. Rank 0 may have much else to do.
    fn overdue(&self, rank: usize) -> Result<(), RankError> {
        let limit = self.limit.get();
        let overdue = self.state.borrow().silence.overdue(rank, limit);
        let seconds = limit.as_secs_f64();
        let why = match overdue.filter(|_| rank != 0) {
            None => return Ok(()),
            Some(Overdue::Silent) => {
                format!("not a word for {seconds} s (--rank-timeout): it hangs, or is gone")
            }
            Some(Overdue::Stuck { calls }) => format!(
                "none of its calls has ended for {seconds} s (--rank-timeout); it has made {calls}"
            ),
        };
        Err(self.error(rank, why))
    }

    /// The same for those of these ranks whose message for the present meeting has not come, at
    /// rank 0.
    fn any_overdue(&self, ranks: Range<usize>) -> Result<(), RankError> {
        ranks.filter(|rank| !self.has_come(*rank)).try_for_each(|rank| self.overdue(rank))
    }

    fn has_come(&self, rank: usize) -> bool {
        let state = self.state.borrow();
        state.inbox.get(&(Kind::Meeting, rank)).is_some_and(|queue| !queue.is_empty())
    }

    fn is_silent(&self, rank: usize) -> bool {
        self.state.borrow().silence.overdue(rank, self.limit.get()) == Some(Overdue::Silent)
    }

    pub(crate) fn error(&self, rank: usize, why: String) -> RankError {
        RankError { rank, host: self.state.borrow().hosts[rank].clone(), why }
    }

    fn take(&self, kind: Kind, from: usize) -> Option<Vec<u8>> {
        self.state.borrow_mut().inbox.get_mut(&(kind, from))?.pop_front()
    }

    fn send(&self, to: usize, kind: Kind, bytes: &[u8]) {
        self.send_to(to..to + 1, kind, bytes);
    }

    /// The same to several ranks, from one piece of memory.
    fn send_to(&self, to: Range<usize>, kind: Kind, bytes: &[u8]) {
        let message: Arc<[u8]> = [&[kind as u8], bytes].concat().into();
        self.state.borrow_mut().sent_bytes += (message.len() * to.len()) as u64;
        to.for_each(|to| self.link.send(to, &message));
    }

    /// Takes in what has come, if something has.
    fn listen(&self) -> bool {
        let mut has_come = false;
        self.state.borrow_mut().silence.look(Instant::now(), self.limit.get());
        while let Some((from, message)) = self.link.receive() {
            has_come = true;
            let Some((kind, bytes)) = message.split_first() else { continue };
            let Some(kind) = Kind::of(*kind) else { continue };
            if kind == Kind::Ask {
                self.send(from, Kind::Said, &monotonic_ns().to_le_bytes());
                continue;
            }
            let mut state = self.state.borrow_mut();
            state.received_bytes += message.len() as u64;
            state.silence.hear(from);
            if kind == Kind::Beat {
                state.silence.count(from, number(bytes));
                continue;
            }
            let passes_on = kind == Kind::Told
                && Heading::split(bytes).is_some_and(|(heading, _)| heading.is_passed_on);
            if passes_on {
                drop(state);
                self.send_to(next_ranks(self.rank(), self.size()), Kind::Told, bytes);
                state = self.state.borrow_mut();
            }
            state.inbox.entry((kind, from)).or_default().push_back(bytes.to_vec());
        }
        has_come
    }

    /// Says that we are here, if the last time is some time ago.
    fn beat(&self) {
        let every = beat_interval(self.limit.get());
        if self.is_first() || self.beaten.get().elapsed() < every {
            return;
        }
        self.beaten.set(Instant::now());
        self.send(0, Kind::Beat, &self.calls.get().to_le_bytes());
    }
}

//! Script of a worker: plays a load for one client, or each line for several in turn.
//!
//! `client` holds the state of each client, `places` and `handles` its open directories and files;
//! `resolve` looks names up, `operations` and `transfer` carry out lines, `deltree` removes files.

mod client;
mod deltree;
mod handles;
mod operations;
mod places;
mod resolve;
mod transfer;

use std::ffi::CStr;
use std::sync::Arc;

use treering_model::Counters;
use treering_script::{DirSlot, Errno, ExpectedErrors, Io, MAX_DIRS, Script, Stop};

use super::account::WorkerReport;
use super::counters::{ClientCounters, CounterIndex, PhaseSignal};
use super::tick::RunPhase;
use crate::language::{ExpectedOutcome, Load, LoadLine, NameId, Operation};
use client::ClientState;

/// Slot of a directory that is read or synced.
const SCAN: DirSlot = DirSlot(1);
/// First slot for the directories of a recursive removal, and the number of these slots.
const TREE: u16 = 2;
const TREE_LEVELS: usize = 32;
/// First slot of the directories that stay open.
const KEPT: u16 = TREE + 32;
/// Maximum number of files that a client has open, as in the original.
const OPEN_MAX: u16 = 200;
/// Maximum number of clients of one worker.
pub(super) const CLIENTS_MAX: u32 = 32;
/// Length of one piece of a wait: a pause cannot be interrupted, so the end of the run is checked
/// between pieces.
const PIECE_NS: u64 = 20_000_000;
/// Interval at which another client's sync point is polled.
const POLL_NS: u64 = 1_000_000;
/// Number of consecutive lines without a call after which one is made, so that signals are noticed.
const SILENT_MAX: u32 = 1000;

/// Playback options.
#[derive(Clone, Debug)]
pub(super) struct PlaybackOptions {
    /// Path of the load's top directory, relative to the target; empty for the target itself.
    pub(super) base: Vec<u8>,
    /// Search a missing name in its directory without regard to case.
    pub(super) resolve: bool,
    pub(super) sync_dir: bool,
    pub(super) fsync: bool,
    pub(super) xattr: bool,
    pub(super) stat_check: bool,
    pub(super) fake_io: bool,
    pub(super) one_byte_write_fix: bool,
    /// Remove the client's files at the end.
    pub(super) cleans_up: bool,
    /// Bytes per second of each client.
    pub(super) rate: Option<f64>,
    /// Number of passes after which a client ends; `None` ends clients by the run phase.
    pub(super) passes: Option<u64>,
    pub(super) clients: u32,
    pub(super) seed: u64,
}

/// State shared by all clients of a run.
#[derive(Clone, Debug, Default)]
pub(super) struct SharedState {
    pub(super) signal: PhaseSignal,
    /// Shared counters, one set for each client.
    pub(super) client_counters: Vec<ClientCounters>,
}

/// Outcome of a call as the filesystem returned it.
type CallOutcome<T> = Result<T, Errno>;

/// The code of a worker.
pub(super) struct Player {
    plan: Arc<PlaybackOptions>,
    common: SharedState,
    clients: Vec<ClientState>,
    /// Index of the client whose turn it is.
    present: usize,
    op: LoadLine,
    /// The names of the current operation, and the slots of their directories.
    named: [NameId; 2],
    at: [DirSlot; 2],
    found: [bool; 2],
    /// Errno with which opening a name's directory failed.
    lost: [Option<Errno>; 2],
    /// True until the first call of the current operation was made.
    begins: bool,
    /// Start of the first call of the current operation, if that call was timed.
    op_began_ns: Option<u64>,
    now_ns: u64,
    began_ns: u64,
    silent: u32,
    xattrs: u64,
    account: WorkerReport,
}

impl Player {
    /// Creates the player of the clients with these numbers.
    pub(super) fn new(
        plan: Arc<PlaybackOptions>,
        common: &SharedState,
        load: &Arc<Load>,
        numbers: &[u32],
    ) -> Self {
        let count = u16::try_from(numbers.len()).unwrap_or(u16::MAX).max(1);
        let dirs = (MAX_DIRS - KEPT) / count;
        let files = (256 / count).min(OPEN_MAX);
        let clients = (0..).zip(numbers).map(|(at, &number): (u16, _)| {
            let first = KEPT + at * dirs;
            let first_file = u8::try_from(at * files).unwrap_or(u8::MAX);
            let last_file = u8::try_from((at + 1) * files).unwrap_or(u8::MAX);
            let counters = common.client_counters.get(number as usize).cloned().unwrap_or_default();
            ClientState::new(
                number,
                Arc::clone(load),
                &plan.base,
                first..first + dirs,
                u16::from(first_file)..u16::from(last_file),
                plan.seed,
            )
            .showing(counters)
        });
        Self {
            clients: clients.collect(),
            plan,
            common: common.clone(),
            present: 0,
            op: LoadLine { operation: Operation::QueryFs, line: 0, status: 0 },
            named: [0; 2],
            at: [DirSlot::TARGET; 2],
            found: [false; 2],
            lost: [None; 2],
            begins: false,
            op_began_ns: None,
            now_ns: 0,
            began_ns: 0,
            silent: 0,
            xattrs: 0,
            account: WorkerReport::default(),
        }
    }

    #[inline]
    fn client(&mut self) -> &mut ClientState {
        &mut self.clients[self.present]
    }

    #[inline]
    fn spot(&self, which: usize) -> &places::NameLocation {
        self.clients[self.present].places.spot(self.named[which])
    }

    /// Last component of the name, relative to its directory.
    #[inline]
    fn name(&self, which: usize) -> &CStr {
        &self.spot(which).name
    }

    fn shown(&mut self, which: usize) -> String {
        let spot = self.named[which];
        self.client().shown(spot)
    }

    fn expected(&self) -> ExpectedOutcome {
        self.clients[self.present].expected(&self.op)
    }

    /// Number that determines an attribute's value: four of five writes change it.
    fn xattr_value(&mut self) -> u64 {
        self.xattrs += 1;
        self.xattrs - u64::from(self.xattrs.is_multiple_of(5))
    }

    /// Records a message about an operation whose outcome differs from the load's.
    fn report(&mut self, message: String) {
        let line = self.op.line;
        self.account.report(format!("[{line}] {message}"));
    }

    /// Records a fatal error of this client and ends the run.
    fn fail(&mut self, message: String) {
        let (line, number) = (self.op.line, self.clients[self.present].number);
        self.report(message.clone());
        if self.account.failure.is_none() {
            let why = format!("client {number} failed at line {line}: {message}");
            self.account.failure = Some(why);
        }
        self.common.signal.set(RunPhase::Over);
    }

    /// Outcome of the call just made; records when the call ended.
    #[inline]
    fn outcome_of<T>(
        &mut self,
        io: &dyn Io,
        done: Result<T, Stop>,
    ) -> Result<CallOutcome<T>, Stop> {
        self.silent = 0;
        if let Some((began_ns, ended_ns)) = io.timed() {
            self.now_ns = ended_ns;
            let begins = std::mem::take(&mut self.begins);
            let client = &mut self.clients[self.present];
            client.counters.set(CounterIndex::Seen, ended_ns);
            if begins {
                self.op_began_ns = Some(began_ns);
                let gap_ns = began_ns.saturating_sub(client.op_began_ns);
                client.op_began_ns = began_ns;
                if gap_ns > client.counters.get(CounterIndex::Gap) {
                    client.counters.set(CounterIndex::Gap, gap_ns);
                }
            }
        }
        done.or_errno()
    }

    fn pause(&mut self, io: &mut dyn Io, ns: u64) -> Result<(), Stop> {
        let paused = io.pause(ns);
        self.outcome_of(io, paused).map(|_| ())
    }

    /// Turn of the current client: plays its lines up to the end of an operation, or of the client.
    fn turn(&mut self, io: &mut dyn Io) -> Result<(), Stop> {
        loop {
            self.silent += 1;
            if self.silent > SILENT_MAX {
                self.pause(io, 1)?;
            }
            let part = self.common.signal.part();
            if part == RunPhase::Over {
                return self.leave(io);
            }
            let now_ns = self.now_ns;
            let client = self.client();
            if part == RunPhase::Measured && !client.measured {
                client.measured = true;
                client.account.reset(now_ns);
            }
            let ClientState { cursor, load, .. } = client;
            let Some(op) = cursor.take(load) else {
                if self.ends_with_pass(io)? {
                    return self.leave(io);
                }
                continue;
            };
            let Some(kind) = load.kind(op.operation) else {
                self.directive(io, op)?;
                continue;
            };
            self.op = op;
            let clients = self.plan.clients;
            let client = self.client();
            client.account.lines += 1;
            client.counters.set(CounterIndex::Lines, client.account.lines);
            let Some(operation) = client.drawn(op, clients) else {
                self.report("a number that was drawn is too large".to_owned());
                self.client().done(kind, true, None, now_ns);
                return Ok(());
            };
            if let Some(behind_ns) = self.behind_rate()
                && !self.wait(io, behind_ns)?
            {
                continue;
            }
            self.begins = true;
            self.op_began_ns = None;
            let surprise = self.operate(io, operation)?;
            let (began_ns, now_ns) = (self.op_began_ns, self.now_ns);
            self.client().done(kind, surprise, began_ns, now_ns);
            return Ok(());
        }
    }

    /// Time the current operation must wait to keep to the rate limit, in nanoseconds; `None` if it
    /// is not ahead.
    fn behind_rate(&mut self) -> Option<u64> {
        let rate = self.plan.rate?;
        let now_ns = self.now_ns;
        let client = self.client();
        let bytes = client.account.all_bytes;
        let (bytes_before, then_ns) = client.rate.replace((bytes, now_ns))?;
        if bytes_before == 0 {
            return None;
        }
        let due_s = bytes.saturating_sub(bytes_before) as f64 / rate;
        let left_ms = due_s * 1e3 - now_ns.saturating_sub(then_ns) as f64 / 1e6;
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "not below 0")]
        let left_ms = left_ms.clamp(0.0, 1e9) as u64;
        if left_ms == 0 {
            return None;
        }
        // The next interval starts at the end of the wait.
        client.rate = Some((bytes, now_ns + left_ms * 1_000_000));
        Some(left_ms * 1_000_000)
    }

    /// Waits for `ns` nanoseconds; false if the run ended meanwhile.
    fn wait(&mut self, io: &mut dyn Io, ns: u64) -> Result<bool, Stop> {
        let mut left = ns;
        while left > 0 {
            if self.common.signal.part() == RunPhase::Over {
                return Ok(false);
            }
            let piece = left.min(PIECE_NS);
            self.pause(io, piece)?;
            left -= piece;
        }
        Ok(true)
    }

    /// Carries out a directive: a line that is not an operation.
    fn directive(&mut self, io: &mut dyn Io, op: LoadLine) -> Result<(), Stop> {
        let now_ns = self.now_ns;
        let rated = self.plan.rate.is_some();
        let client = self.client();
        client.account.lines += u64::from(!matches!(op.operation, Operation::Until { .. }));
        match op.operation {
            Operation::Sleep { us } => _ = self.wait(io, u64::from(us) * 1000)?,
            Operation::Until { us } if !rated => {
                let age_us = now_ns.saturating_sub(client.cursor.pass_began_ns) / 1000;
                self.wait(io, us.saturating_sub(age_us) * 1000)?;
            }
            Operation::SetPoint { point } => {
                client.counters.set(CounterIndex::Point, point.saturating_add(1));
            }
            Operation::WaitPoint { client, point } => self.wait_for_point(io, client, point)?,
            Operation::DrawText { into, text } => client.draw_text(into, text),
            _ => {}
        }
        Ok(())
    }

    /// Waits until another client has set a point.
    fn wait_for_point(&mut self, io: &mut dyn Io, client: u32, point: u64) -> Result<(), Stop> {
        let Some(counters) = self.common.client_counters.get(client as usize).cloned() else {
            return Ok(());
        };
        while counters.get(CounterIndex::Point) <= point
            && counters.get(CounterIndex::Done) == 0
            && self.common.signal.part() != RunPhase::Over
        {
            self.pause(io, POLL_NS)?;
        }
        Ok(())
    }

    /// Closes the handles that a pass has left open; true if it was the client's last pass.
    fn ends_with_pass(&mut self, io: &mut dyn Io) -> Result<bool, Stop> {
        while let Some(file) = self.client().handles.any() {
            self.client().handles.closed(file);
            let closed = io.close(file);
            let _whatever = self.outcome_of(io, closed)?;
        }
        let (now_ns, began_ns) = (self.now_ns, self.began_ns);
        let client = self.client();
        client.passed(now_ns, began_ns);
        let passes = client.cursor.passes;
        Ok(self.plan.passes.is_some_and(|most| passes >= most))
    }

    /// Ends the current client; it removes its files if cleanup is requested.
    fn leave(&mut self, io: &mut dyn Io) -> Result<(), Stop> {
        if self.plan.cleans_up && self.account.failure.is_none() {
            let own = self.client().own_directory();
            self.named = [own; 2];
            self.deltree(io)?;
        }
        let client = self.client();
        client.finished = true;
        client.counters.set(CounterIndex::Done, 1);
        Ok(())
    }
}

impl Script for Player {
    fn run(&mut self, io: &mut dyn Io) -> Result<(), Stop> {
        let at_ns = io.began_ns();
        self.began_ns = at_ns;
        self.now_ns = at_ns;
        for client in &mut self.clients {
            client.account.from_ns = at_ns;
            client.account.to_ns = at_ns;
            client.cursor.pass_began_ns = at_ns;
            client.op_began_ns = at_ns;
            client.counters.set(CounterIndex::Began, at_ns);
            client.counters.set(CounterIndex::Seen, at_ns);
        }
        while self.clients.iter().any(|client| !client.finished) {
            for present in 0..self.clients.len() {
                self.present = present;
                if !self.client().finished {
                    self.turn(io)?;
                }
            }
        }
        Ok(())
    }

    fn counters(&mut self) -> Counters {
        self.account.clients = self.clients.iter().map(|client| client.account.clone()).collect();
        self.account.counters()
    }
}

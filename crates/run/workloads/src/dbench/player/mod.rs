//! The script of a worker: it plays a load for one client, or each line for several in turn.
//!
//! `client` is what each has of its own, `places` and `handles` what it has open, `resolve` how
//! names are looked for, `act` and `transfer` the operations, `deltree` the removal of files.

mod act;
mod client;
mod deltree;
mod doing;
mod handles;
mod places;
mod resolve;
mod transfer;

use std::sync::Arc;

use treering_script::{Dir, File, MAX_DIRS, Outcome, Script, Step};

use super::account::Account;
use super::loadfile::{Deed, Expected, Kind, Load, NameId, Op};
use super::panel::{Dial, Panel, Part, Signal};
use client::Client;
use deltree::{Tree, Walk};
use doing::Doing;
use resolve::Search;

/// The slot of a directory that is read or synced.
const SCAN: Dir = Dir(1);
/// The first slot of the directories that a removal of files is in, and how many it has.
const TREE: u16 = 2;
const TREE_LEVELS: usize = 32;
/// The first slot of the directories that stay open.
const KEPT: u16 = TREE + 32;
/// Files that a client has open, at most; as the original.
const OPEN_MAX: u16 = 200;
/// Clients of one worker, at most.
pub(super) const CLIENTS_MAX: u32 = 32;
/// Nothing ends a wait early: it is made in pieces.
const PIECE_NS: u64 = 20_000_000;
/// How often another client is asked whether it has come to a point.
const POLL_NS: u64 = 1_000_000;
/// Lines without a call before one is made, so that a signal is heard.
const SILENT_MAX: u32 = 1000;

/// How a load is played.
#[derive(Clone, Debug)]
pub(super) struct Manner {
    /// Where the load's directory under test is, in the target; empty for the target.
    pub(super) base: Vec<u8>,
    /// Whether a name that is not there is looked for in its directory.
    pub(super) resolve: bool,
    pub(super) sync_dir: bool,
    pub(super) fsync: bool,
    pub(super) xattr: bool,
    pub(super) stat_check: bool,
    pub(super) fake_io: bool,
    pub(super) one_byte_write_fix: bool,
    /// Whether the client's files are removed at the end.
    pub(super) cleans_up: bool,
    /// Bytes per second of each client.
    pub(super) rate: Option<f64>,
    /// Passes after which a client ends; else it is told when.
    pub(super) passes: Option<u64>,
    pub(super) clients: u32,
    pub(super) seed: u64,
}

/// What is in common to all clients while they play.
#[derive(Clone, Debug, Default)]
pub(super) struct Crew {
    pub(super) signal: Signal,
    /// One for each client.
    pub(super) panels: Vec<Panel>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// The next line of the present client.
    Next,
    /// A wait, in nanoseconds that are left; the next line comes after it.
    Wait(u64),
    /// A wait for the rate, the same; the present operation comes after it.
    Delay(u64),
    /// Until another client has set a point.
    Point(u32, u64),
    Resolve(Search),
    /// The calls of the operation itself, by their number.
    Act(u8),
    Deltree(Walk),
    /// Files that a pass has left open are closed.
    CloseLeft,
}

/// What came of the last call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Heard {
    /// Done; with bytes or a size.
    Done(u64),
    /// Failed, with an error number.
    Failed(i32),
}

impl Heard {
    const fn errno(self) -> Option<i32> {
        match self {
            Self::Failed(errno) => Some(errno),
            Self::Done(_) => None,
        }
    }

    const fn value(self) -> u64 {
        match self {
            Self::Done(value) => value,
            Self::Failed(_) => 0,
        }
    }
}

/// The script.
pub(super) struct Player {
    plan: Arc<Manner>,
    crew: Crew,
    clients: Vec<Client>,
    /// Whose turn it is.
    present: usize,
    stage: Stage,
    heard: Heard,
    op: Op,
    deed: Deed,
    kind: Kind,
    /// The names of the present operation, and the slots of their directories.
    named: [NameId; 2],
    at: [Dir; 2],
    names: usize,
    resolving: usize,
    found: [bool; 2],
    /// Why a name's directory could not be opened.
    lost: [Option<i32>; 2],
    file: File,
    moved: u64,
    /// Entries of the last batch, and of all of them.
    batch: usize,
    entries: usize,
    troubled: bool,
    deltree: Tree,
    /// Whether the next call is the first of an operation.
    begins: bool,
    now_ns: u64,
    began_ns: u64,
    silent: u32,
    xattrs: u64,
    account: Account,
}

impl Player {
    /// The player of these clients, by their numbers.
    pub(super) fn new(plan: Arc<Manner>, crew: &Crew, load: &Arc<Load>, numbers: &[u32]) -> Self {
        let count = u16::try_from(numbers.len()).unwrap_or(u16::MAX).max(1);
        let dirs = (MAX_DIRS - KEPT) / count;
        let files = (256 / count).min(OPEN_MAX);
        let clients = (0..).zip(numbers).map(|(at, &number): (u16, _)| {
            let first = KEPT + at * dirs;
            let first_file = u8::try_from(at * files).unwrap_or(u8::MAX);
            let last_file = u8::try_from((at + 1) * files).unwrap_or(u8::MAX);
            let panel = crew.panels.get(number as usize).cloned().unwrap_or_default();
            Client::new(
                number,
                Arc::clone(load),
                &plan.base,
                first..first + dirs,
                u16::from(first_file)..u16::from(last_file),
                plan.seed,
            )
            .showing(panel)
        });
        Self {
            clients: clients.collect(),
            plan,
            crew: crew.clone(),
            present: 0,
            stage: Stage::Next,
            heard: Heard::Done(0),
            op: Op { deed: Deed::QueryFs, line: 0, status: 0 },
            deed: Deed::QueryFs,
            kind: Kind::Qfsinfo,
            named: [0; 2],
            at: [Dir::TARGET; 2],
            names: 0,
            resolving: 0,
            found: [false; 2],
            lost: [None; 2],
            file: File(0),
            moved: 0,
            batch: 0,
            entries: 0,
            troubled: false,
            deltree: Tree::default(),
            begins: false,
            now_ns: 0,
            began_ns: 0,
            silent: 0,
            xattrs: 0,
            account: Account::default(),
        }
    }

    #[inline]
    fn client(&mut self) -> &mut Client {
        &mut self.clients[self.present]
    }

    #[inline]
    fn spot(&self, which: usize) -> &places::Spot {
        self.clients[self.present].places.spot(self.named[which])
    }

    fn shown(&mut self, which: usize) -> String {
        let spot = self.named[which];
        self.client().shown(spot)
    }

    fn expected(&self) -> Expected {
        self.clients[self.present].expected(&self.op)
    }

    /// What tells the value of an attribute: a new one in four of five writes.
    fn xattr_value(&mut self) -> u64 {
        self.xattrs += 1;
        self.xattrs - u64::from(self.xattrs.is_multiple_of(5))
    }

    /// Something came out otherwise than the load says.
    fn say(&mut self, what: String) {
        let line = self.op.line;
        self.account.say(format!("[{line}] {what}"));
    }

    /// It cannot go on; the others need not.
    fn give_up(&mut self, what: String) {
        let (line, number) = (self.op.line, self.clients[self.present].number);
        self.say(what.clone());
        if self.account.failure.is_none() {
            let why = format!("client {number} failed at line {line}: {what}");
            self.account.failure = Some(why);
        }
        self.crew.signal.set(Part::Over);
    }

    /// The present operation is over.
    #[inline]
    fn finish(&mut self, surprise: bool) {
        let (kind, now_ns) = (self.kind, self.now_ns);
        self.client().done(kind, surprise, now_ns);
        self.next_client();
    }

    #[inline]
    fn next_client(&mut self) {
        self.stage = Stage::Next;
        self.present = (self.present + 1) % self.clients.len();
    }

    /// A client is done with everything.
    fn leave(&mut self) {
        let client = self.client();
        client.finished = true;
        client.panel.set(Dial::Done, 1);
        self.next_client();
    }

    fn hear(&mut self, last: Outcome<'_>) {
        self.heard = match last {
            Outcome::Bytes(value) | Outcome::Size(value) | Outcome::Full(value) => {
                Heard::Done(value)
            }
            Outcome::Failed(errno) => Heard::Failed(errno),
            _ => Heard::Done(0),
        };
        if matches!(last, Outcome::Entries(_)) {
            match self.stage {
                Stage::Deltree(_) => self.keep_batch(&last),
                _ => self.look_through(last),
            }
        } else {
            self.batch = 0;
        }
    }

    /// The next thing to do; `None` at the end.
    fn advance(&mut self) -> Option<Doing> {
        loop {
            let doing = match self.stage {
                Stage::Act(act) => self.act(act),
                Stage::Resolve(search) => self.search(search),
                Stage::Next => {
                    if self.clients.iter().all(|client| client.finished) {
                        return None;
                    }
                    self.silent += 1;
                    if self.silent > SILENT_MAX { Some(Doing::Pause(1)) } else { self.next_line() }
                }
                Stage::Wait(0) => {
                    self.stage = Stage::Next;
                    None
                }
                Stage::Delay(0) => self.begin(),
                Stage::Wait(left) => self.wait(left, Stage::Wait),
                Stage::Delay(left) => self.wait(left, Stage::Delay),
                Stage::Point(client, point) => self.await_point(client, point),
                Stage::Deltree(walk) => self.walk(walk),
                Stage::CloseLeft => self.close_left(),
            };
            if doing.is_some() {
                self.silent = 0;
                return doing;
            }
        }
    }

    /// Begins the next line of the present client.
    fn next_line(&mut self) -> Option<Doing> {
        if self.client().finished {
            self.next_client();
            return None;
        }
        let part = self.crew.signal.part();
        if part == Part::Over {
            return self.begin_leaving();
        }
        let now_ns = self.now_ns;
        let client = self.client();
        if part == Part::Measured && !client.measured {
            client.measured = true;
            client.account.reset(now_ns);
        }
        let Client { cursor, load, .. } = client;
        let Some(op) = cursor.take(load) else {
            self.stage = Stage::CloseLeft;
            return None;
        };
        let Some(kind) = load.kind(op.deed) else {
            self.directive(op);
            return None;
        };
        let clients = self.plan.clients;
        let client = &mut self.clients[self.present];
        client.account.lines += 1;
        client.panel.set(Dial::Lines, client.account.lines);
        let deed = client.drawn(op, clients);
        (self.op, self.kind) = (op, kind);
        let Some(deed) = deed else {
            self.say("a number that was drawn is too large".to_owned());
            self.finish(true);
            return None;
        };
        self.deed = deed;
        if let Some(left) = self.behind_rate() {
            // The operation comes when the wait is over.
            self.stage = Stage::Delay(left);
            return None;
        }
        self.begin()
    }

    /// The first call of the present operation.
    fn begin(&mut self) -> Option<Doing> {
        self.client().account.spans.begin();
        self.begins = true;
        self.heard = Heard::Done(0);
        self.troubled = false;
        let one = |name| ([name, name], 1);
        let (named, names) = match self.deed {
            Deed::Create { name, .. }
            | Deed::Unlink { name }
            | Deed::Rmdir { name }
            | Deed::Mkdir { name }
            | Deed::QueryPath { name }
            | Deed::Find { name, .. } => one(name),
            Deed::Rename { from, to } => ([from, to], 2),
            Deed::Deltree { name } => {
                self.named = [name, name];
                return self.begin_deltree(false);
            }
            _ => {
                self.stage = Stage::Act(0);
                return None;
            }
        };
        self.named = named;
        self.resolve(names)
    }

    /// With a rate, how long the present operation has to wait.
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
        // From the end of the wait on.
        client.rate = Some((bytes, now_ns + left_ms * 1_000_000));
        Some(left_ms * 1_000_000)
    }

    fn wait(&mut self, left: u64, rest: fn(u64) -> Stage) -> Option<Doing> {
        if self.crew.signal.part() == Part::Over {
            self.stage = Stage::Next;
            return None;
        }
        let piece = left.min(PIECE_NS);
        self.stage = rest(left - piece);
        Some(Doing::Pause(piece))
    }

    /// A line that is no operation.
    fn directive(&mut self, op: Op) {
        let now_ns = self.now_ns;
        let rated = self.plan.rate.is_some();
        let client = self.client();
        client.account.lines += u64::from(!matches!(op.deed, Deed::Until { .. }));
        match op.deed {
            Deed::Sleep { us } => self.stage = Stage::Wait(u64::from(us) * 1000),
            Deed::Until { us } if !rated => {
                let age_us = now_ns.saturating_sub(client.cursor.pass_began_ns) / 1000;
                self.stage = Stage::Wait(us.saturating_sub(age_us) * 1000);
            }
            Deed::SetPoint { point } => client.panel.set(Dial::Point, point.saturating_add(1)),
            Deed::WaitPoint { client, point } => self.stage = Stage::Point(client, point),
            Deed::DrawText { into, text } => client.draw_text(into, text),
            _ => {}
        }
    }

    fn await_point(&mut self, client: u32, point: u64) -> Option<Doing> {
        let panel = self.crew.panels.get(client as usize);
        let there =
            panel.is_none_or(|panel| panel.get(Dial::Point) > point || panel.get(Dial::Done) != 0);
        if there || self.crew.signal.part() == Part::Over {
            self.stage = Stage::Next;
            return None;
        }
        Some(Doing::Pause(POLL_NS))
    }

    /// Closes what a pass has left open; then the next one begins, or none.
    fn close_left(&mut self) -> Option<Doing> {
        if let Some(file) = self.client().handles.any() {
            self.client().handles.closed(file);
            return Some(Doing::Close(file));
        }
        let (now_ns, began_ns) = (self.now_ns, self.began_ns);
        self.client().passed(now_ns, began_ns);
        let passes = self.client().cursor.passes;
        if self.plan.passes.is_some_and(|most| passes >= most) {
            return self.begin_leaving();
        }
        self.stage = Stage::Next;
        None
    }

    /// The present client is over: it removes its files, if it is to.
    fn begin_leaving(&mut self) -> Option<Doing> {
        if !self.plan.cleans_up || self.account.failure.is_some() {
            self.leave();
            return None;
        }
        let own = self.client().own_directory();
        self.named = [own; 2];
        self.begin_deltree(true)
    }
}

impl Script for Player {
    #[inline]
    fn next<'s>(&'s mut self, last: Outcome<'_>) -> Option<Step<'s>> {
        self.hear(last);
        let doing = self.advance()?;
        Some(self.step(doing))
    }

    fn began(&mut self, at_ns: u64) {
        self.began_ns = at_ns;
        self.now_ns = at_ns;
        for client in &mut self.clients {
            client.account.from_ns = at_ns;
            client.account.to_ns = at_ns;
            client.cursor.pass_began_ns = at_ns;
            client.op_began_ns = at_ns;
            client.panel.set(Dial::Began, at_ns);
            client.panel.set(Dial::Seen, at_ns);
        }
    }

    #[inline]
    fn timed(&mut self, began_ns: u64, ended_ns: u64) {
        self.now_ns = ended_ns;
        let begins = std::mem::take(&mut self.begins);
        let client = &mut self.clients[self.present];
        client.account.spans.timed(began_ns, ended_ns);
        client.panel.set(Dial::Seen, ended_ns);
        if begins {
            let gap_ns = began_ns.saturating_sub(client.op_began_ns);
            client.op_began_ns = began_ns;
            if gap_ns > client.panel.get(Dial::Gap) {
                client.panel.set(Dial::Gap, gap_ns);
            }
        }
    }

    fn notes(&mut self) -> Vec<u64> {
        self.account.clients = self.clients.iter().map(|client| client.account.clone()).collect();
        self.account.to_words()
    }
}

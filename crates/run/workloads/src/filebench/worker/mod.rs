//! A thread at work: the flowops of its program, one after the other and again from the first,
//! until the time is over, there is no file left for it, or somebody ends the run.

mod directories;
mod doing;
mod files;
mod gates;
mod limits;
mod moves;
mod rows;

use std::sync::Arc;
use std::sync::atomic::Ordering;

use treering_script::{Outcome, Random, Request, Step, Steps};

use super::land::Land;
use super::names::Name;
use super::plan::{FDS, Kind, Step as Flow};
use super::tally::Account;
use directories::Slots;
use doing::Doing;
use files::Descriptor;
use limits::Limits;
use rows::Rows;

/// Nothing ends a wait early: it is made in pieces.
const WAIT_NS: u64 = 20_000_000;
/// Flowops without a call after which the engine is asked whether to go on.
const SILENT_MAX: u32 = 1000;
/// Requests of a thread under way.
pub(super) const DEPTH: u16 = 128;

/// What a worker is at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// Filesets are opened, from this one on.
    Roots(usize),
    /// A flowop begins.
    Begin,
    /// A flowop is being done.
    Within,
    Over,
}

/// What comes next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Then {
    /// A call.
    Do(Doing),
    /// The next flowop: this one is done, and counts.
    Count,
    /// The next flowop: this one did nothing.
    Skip,
    /// The thread has no work any more.
    End,
}

/// The flowop that is being done.
#[derive(Clone, Copy, Debug, Default)]
struct Present {
    fileset: usize,
    /// The file or directory in hand, by its number.
    entry: u32,
    fd: u8,
    /// Bytes that are to be moved in all, in one call, and that were.
    wanted: u64,
    piece: u64,
    moved: u64,
    position: u64,
    /// What it still has to take, or to wait for.
    left: u64,
    /// The target it is at, or the level of a path.
    at: usize,
    /// Of the calls that belong to it: how many, how many were timed, and when they were.
    calls: u32,
    timed: u32,
    began_ns: u64,
    ended_ns: u64,
}

/// The script.
pub(super) struct Worker {
    land: Arc<Land>,
    number: usize,
    steps: Arc<[Flow]>,
    random: Random,
    stage: Stage,
    doing: Doing,
    pc: usize,
    /// Iterations that are left of each flowop in the loops that are under way.
    left: Vec<u64>,
    present: Present,
    fds: Vec<Descriptor>,
    fd_rotor: usize,
    slots: Slots,
    name: Name,
    serials: Vec<u32>,
    rows: Rows,
    limits: Limits,
    /// Values that are drawn once.
    constants: Vec<u64>,
    tags: Vec<u16>,
    request: [Request; 1],
    began_ns: u64,
    snapshot: u64,
    silent: u32,
    /// Pieces of waits without anybody passing a gate, and how many had passed before.
    stuck: (u32, u64),
    ran_out: bool,
}

impl Worker {
    /// The worker of a number, of these threads.
    pub(super) fn new(land: &Arc<Land>, number: usize, thread: usize, seed: u64) -> Self {
        let plan = &land.plan;
        let steps: Arc<[Flow]> = plan.threads[thread].steps.clone().into();
        let mut random = Random::for_part(seed, &format!("filebench worker {number}"));
        let constants = steps.iter().map(|step| step.value.draw(&mut random)).collect();
        let nothing =
            Request { file: treering_script::File(0), writes: true, bytes: 0, position: 0, tag: 0 };
        Self {
            number,
            random,
            stage: Stage::Roots(0),
            doing: Doing::Nothing,
            pc: 0,
            left: vec![0; steps.len()],
            present: Present::default(),
            fds: vec![Descriptor::default(); usize::try_from(FDS).unwrap_or(0)],
            fd_rotor: 0,
            slots: Slots::new(land),
            name: Name::default(),
            serials: Vec::new(),
            rows: Rows::new(&steps, plan.histograms),
            limits: Limits::new(steps.len()),
            constants,
            tags: (0..DEPTH).rev().collect(),
            request: [nothing],
            began_ns: 0,
            snapshot: 0,
            silent: 0,
            stuck: (0, 0),
            ran_out: false,
            steps,
            land: Arc::clone(land),
        }
    }

    #[inline]
    fn flow(&self) -> &Flow {
        &self.steps[self.pc]
    }

    /// The next call; `None` at the end.
    #[inline]
    fn advance(&mut self, last: &Outcome<'_>) -> Option<Doing> {
        let mut then = match self.stage {
            Stage::Within => Some(self.hear(last)),
            Stage::Roots(_) | Stage::Begin | Stage::Over => None,
        };
        loop {
            match then.take() {
                Some(Then::Do(doing)) => return Some(doing),
                Some(Then::Count) => self.count(),
                Some(Then::Skip) => self.next_flow(),
                Some(Then::End) => self.stage = Stage::Over,
                None => {}
            }
            match self.stage {
                Stage::Roots(fileset) => {
                    if let Some(doing) = self.roots(fileset) {
                        return Some(doing);
                    }
                }
                Stage::Begin | Stage::Within => {
                    if self.land.crew.bell.has_rung() {
                        self.stage = Stage::Over;
                        continue;
                    }
                    self.silent += 1;
                    if self.silent > SILENT_MAX {
                        self.silent = 0;
                        self.stage = Stage::Begin;
                        return Some(Doing::Pause(0));
                    }
                    then = Some(self.begin());
                }
                Stage::Over => {
                    self.leave();
                    return None;
                }
            }
        }
    }

    /// The filesets are opened, with the directories above them.
    fn roots(&mut self, step: usize) -> Option<Doing> {
        let fileset = step / 2;
        if fileset >= self.land.filesets.len() {
            self.stage = Stage::Begin;
            return None;
        }
        self.stage = Stage::Roots(step + 1);
        if step.is_multiple_of(2) {
            self.land.classic.then_some(Doing::OpenAbove(fileset))
        } else {
            Some(Doing::OpenRoot(fileset))
        }
    }

    /// A flowop begins: the present one, or again.
    #[inline]
    fn begin(&mut self) -> Then {
        if self.land.plan.course.period.is_some() {
            self.tell_snapshot();
        }
        if self.left[self.pc] == 0 {
            let iterations = self.steps[self.pc].iterations.draw(&mut self.random);
            if iterations == 0 {
                self.skip_flow();
                return Then::Skip;
            }
            self.left[self.pc] = iterations;
        }
        self.stage = Stage::Within;
        let flow = &self.steps[self.pc];
        self.present = Present { fd: flow.fd, ..Present::default() };
        let kind = flow.kind;
        self.start(kind)
    }

    /// A flowop without iterations: a composite one is passed over whole.
    fn skip_flow(&mut self) {
        self.left[self.pc] = 1;
        if self.flow().kind == Kind::Enter {
            self.pc = self.flow().begin;
        }
    }

    /// One iteration of the present flowop is over: the next one, or the next flowop.
    #[inline]
    fn next_flow(&mut self) {
        let flow = &self.steps[self.pc];
        match flow.kind {
            Kind::Enter => {
                self.pc += 1;
            }
            Kind::Leave => {
                let begin = flow.begin;
                self.left[self.pc] = 0;
                self.left[begin] -= 1;
                self.pc = if self.left[begin] > 0 { begin } else { self.pc + 1 };
            }
            _ => {
                let left = &mut self.left[self.pc];
                *left -= 1;
                if *left == 0 {
                    self.pc += 1;
                }
            }
        }
        if self.pc >= self.steps.len() {
            self.pc = 0;
        }
        self.stage = Stage::Begin;
    }

    fn start(&mut self, kind: Kind) -> Then {
        match kind {
            Kind::OpenFile => self.open_file(),
            Kind::CreateFile => self.create_file(),
            Kind::CloseFile => self.close_file(),
            Kind::DeleteFile => self.delete_file(),
            Kind::StatFile => self.stat_file(),
            Kind::Fsync => self.sync_file(),
            Kind::FsyncSet => self.sync_set(),
            Kind::Read
            | Kind::Write
            | Kind::ReadWholeFile
            | Kind::WriteWholeFile
            | Kind::AppendFile
            | Kind::AppendFileRand
            | Kind::AioWrite => self.move_bytes(),
            Kind::AioWait => self.wait_for_requests(),
            Kind::MakeDir | Kind::RemoveDir => self.leaf_dir(kind),
            Kind::ListDir => self.list_dir(),
            Kind::Block | Kind::Wakeup | Kind::SemBlock | Kind::SemPost => self.at_gate(kind),
            Kind::Hog => self.hog(),
            Kind::Delay => self.delay(),
            Kind::EventLimit | Kind::OpsLimit | Kind::IopsLimit | Kind::BwLimit => self.limit(kind),
            Kind::FinishOnCount | Kind::FinishOnBytes => self.finish(kind),
            Kind::Enter => Then::Count,
            Kind::Leave => Then::Skip,
        }
    }

    /// The flowop is done.
    #[inline]
    fn count(&mut self) {
        let present = self.present;
        let flow = &self.steps[self.pc];
        let crew = &self.land.crew;
        let took = (present.calls > 0 && present.timed == present.calls)
            .then(|| present.ended_ns.saturating_sub(present.began_ns));
        self.rows.count(self.pc, present.moved, present.calls, took);
        if flow.watched {
            let watched = &crew.watched[flow.row];
            watched.count.fetch_add(1, Ordering::Relaxed);
            watched.bytes.fetch_add(present.moved, Ordering::Relaxed);
        }
        if self.land.plan.watches_all && self.land.plan.rows[flow.row].class.counts() {
            crew.total.count.fetch_add(1, Ordering::Relaxed);
            crew.total.bytes.fetch_add(present.moved, Ordering::Relaxed);
        }
        self.silent = if present.calls > 0 { 0 } else { self.silent };
        self.next_flow();
    }

    /// The thread ends: nobody waits for it.
    fn leave(&mut self) {
        self.land.crew.working.fetch_sub(1, Ordering::SeqCst);
    }

    /// There is no file for a flowop.
    fn out_of_files(&mut self) -> Then {
        use super::wml::Quit;
        self.ran_out = true;
        match self.land.plan.course.quit {
            Quit::AllDone => {}
            Quit::FirstDone => self.land.crew.bell.ring(),
            Quit::Timeout => {
                let name = self.land.plan.rows[self.flow().row].name.escape_debug().to_string();
                self.land.crew.fail(format!(
                    "{name} could not obtain a file: reduce the runtime, increase the entries of \
                     the fileset ($nfiles), or set another mode"
                ));
            }
        }
        Then::End
    }

    /// Something that the run cannot go on after.
    fn fail(&self, why: &str) -> Then {
        let name = self.land.plan.rows[self.flow().row].name.escape_debug().to_string();
        self.land.crew.fail(format!("{name}: {why}"));
        Then::End
    }

    fn tell_snapshot(&mut self) {
        let asked = self.land.crew.snapshot.load(Ordering::Relaxed);
        if asked != self.snapshot {
            self.snapshot = asked;
            let words = self.account().to_words();
            if let Some(Ok(mut told)) =
                self.land.crew.told.get(self.number).map(std::sync::Mutex::lock)
            {
                *told = words;
            }
        }
    }

    fn account(&self) -> Account {
        Account {
            began_ns: self.began_ns,
            ran_out: self.ran_out,
            rows: self.rows.tallies(&self.steps),
        }
    }
}

impl Steps for Worker {
    #[inline]
    fn next<'s>(&'s mut self, last: Outcome<'_>) -> Option<Step<'s>> {
        self.doing = self.advance(&last)?;
        if self.doing.belongs() {
            self.present.calls += 1;
        }
        Some(self.step())
    }

    fn began(&mut self, at_ns: u64) {
        self.began_ns = at_ns;
    }

    #[inline]
    fn timed(&mut self, began_ns: u64, ended_ns: u64) {
        if self.doing.belongs() {
            if self.present.timed == 0 {
                self.present.began_ns = began_ns;
            }
            self.present.timed += 1;
            self.present.ended_ns = ended_ns;
        }
    }

    fn notes(&mut self) -> Vec<u64> {
        self.account().to_words()
    }
}

//! Script of a thread: the flowops of its program, repeated until the time is over, no file is left
//! for it, or another thread ends the run.
//!
//! A program counter selects the next flowop, since a workload file is a program. Each kind of
//! flowop is a function.

mod directories;
mod files;
mod gates;
mod limits;
mod moves;
mod rows;

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};

use treering_model::Counters;
use treering_script::{FileSlot, Io, Random, Script, SessionError, Stop};

use super::names::NameBuffer;
use super::namespace::Namespace;
use super::plan::{FDS, FlowopKind, ProgramStep as Flow};
use super::tally::WorkerReport;
use crate::language::EndCondition;
use directories::DirSlots;
use files::DescriptorState;
use limits::FlowopLimits;
use rows::WorkerRows;

/// Longest single wait, since nothing interrupts a wait.
const WAIT_NS: u64 = 20_000_000;
/// Wait before retrying an entry that another thread has reserved.
const MOMENT_NS: u64 = 10_000;
/// Number of consecutive flowops without a call after which the engine is asked whether to
/// continue.
const SILENT_MAX: u32 = 1000;
/// Maximum number of asynchronous requests in flight of a thread.
pub(super) const DEPTH: u16 = 128;

/// Reason why a flowop was not carried out.
#[derive(Clone, Copy, Debug)]
enum FlowopExit {
    /// Other threads have reserved the needed entries: the flowop is retried after a moment.
    Busy,
    /// The flowop did nothing, and does not count.
    Skipped,
    /// The thread has no more work.
    Over,
    /// A call ended the task.
    Stop(Stop),
}

impl From<Stop> for FlowopExit {
    fn from(stop: Stop) -> Self {
        Self::Stop(stop)
    }
}

/// Flowop being executed.
#[derive(Clone, Copy, Debug, Default)]
struct CurrentFlowop {
    fd: u8,
    /// Bytes that it moved.
    moved: u64,
    /// Number of attempts to find a file that no worker has open.
    tries: u64,
    /// Calls of the flowop: their number, the number of timed ones, and the time span of these.
    calls: u32,
    timed: u32,
    began_ns: u64,
    ended_ns: u64,
}

impl CurrentFlowop {
    /// Slot of its file.
    const fn file(&self) -> FileSlot {
        FileSlot(self.fd as u16)
    }
}

/// Script of a thread.
pub(super) struct Worker {
    namespace: Arc<Namespace>,
    number: usize,
    steps: Arc<[Flow]>,
    random: Random,
    /// Program counter: index of the current step.
    pc: usize,
    /// Iterations left of each flowop in the loops in progress.
    left: Vec<u64>,
    present: CurrentFlowop,
    fds: Vec<DescriptorState>,
    fd_rotor: usize,
    slots: DirSlots,
    name: NameBuffer,
    serials: Vec<u32>,
    rows: WorkerRows,
    limits: FlowopLimits,
    /// Values that were drawn once, by step.
    constants: Vec<u64>,
    /// Tags of free asynchronous requests.
    tags: Vec<u16>,
    began_ns: u64,
    snapshot: u64,
    silent: u32,
    /// Consecutive wait pieces without anyone passing a gate, and the number of passes before.
    stuck: (u32, u64),
    ran_out: bool,
}

impl Worker {
    /// Creates the worker for instance `number` of a thread definition.
    pub(super) fn new(namespace: &Arc<Namespace>, number: usize, thread: usize, seed: u64) -> Self {
        let plan = &namespace.plan;
        let steps: Arc<[Flow]> = plan.threads[thread].steps.clone().into();
        let mut random = Random::for_part(seed, &format!("filebench worker {number}"));
        let constants = steps.iter().map(|step| step.value.draw(&mut random)).collect();
        Self {
            number,
            random,
            pc: 0,
            left: vec![0; steps.len()],
            present: CurrentFlowop::default(),
            fds: vec![DescriptorState::default(); usize::try_from(FDS).unwrap_or(0)],
            fd_rotor: 0,
            slots: DirSlots::new(namespace),
            name: NameBuffer::default(),
            serials: Vec::new(),
            rows: WorkerRows::new(&steps, plan.histograms),
            limits: FlowopLimits::new(steps.len()),
            constants,
            tags: (0..DEPTH).rev().collect(),
            began_ns: 0,
            snapshot: 0,
            silent: 0,
            stuck: (0, 0),
            ran_out: false,
            steps,
            namespace: Arc::clone(namespace),
        }
    }

    #[inline]
    fn flow(&self) -> &Flow {
        &self.steps[self.pc]
    }

    /// Executes an iteration of the current flowop.
    #[inline]
    fn iteration(&mut self, io: &mut dyn Io) -> Result<(), FlowopExit> {
        if self.namespace.plan.run_length.period.is_some() {
            self.tell_snapshot();
        }
        if self.left[self.pc] == 0 {
            let iterations = self.steps[self.pc].iterations.draw(&mut self.random);
            if iterations == 0 {
                self.skip_flow();
                return Err(FlowopExit::Skipped);
            }
            self.left[self.pc] = iterations;
        }
        let flow = &self.steps[self.pc];
        self.present = CurrentFlowop { fd: flow.fd, ..CurrentFlowop::default() };
        let kind = flow.kind;
        loop {
            let ended = self.flowop(io, kind);
            if !matches!(ended, Err(FlowopExit::Busy)) {
                return ended;
            }
            io.pause(MOMENT_NS)?;
            self.count_call(io);
            self.check_end()?;
        }
    }

    /// Skips a flowop with zero iterations; a composite one as a whole.
    fn skip_flow(&mut self) {
        self.left[self.pc] = 1;
        if self.flow().kind == FlowopKind::Enter {
            self.pc = self.flow().begin;
        }
    }

    /// Ends an iteration of the current flowop, and goes on to the next iteration or flowop.
    #[inline]
    fn next_flow(&mut self) {
        let flow = &self.steps[self.pc];
        match flow.kind {
            FlowopKind::Enter => {
                self.pc += 1;
            }
            FlowopKind::Leave => {
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
    }

    /// Executes a flowop of this kind.
    #[inline]
    fn flowop(&mut self, io: &mut dyn Io, kind: FlowopKind) -> Result<(), FlowopExit> {
        match kind {
            FlowopKind::OpenFile => self.open_file(io),
            FlowopKind::CreateFile => self.create_file(io),
            FlowopKind::CloseFile => self.close_file(io),
            FlowopKind::DeleteFile => self.delete_file(io),
            FlowopKind::StatFile => self.stat_file(io),
            FlowopKind::Fsync => self.sync_file(io),
            FlowopKind::FsyncSet => self.sync_set(io),
            FlowopKind::Read
            | FlowopKind::Write
            | FlowopKind::ReadWholeFile
            | FlowopKind::WriteWholeFile
            | FlowopKind::AppendFile
            | FlowopKind::AppendFileRand
            | FlowopKind::AioWrite => self.move_bytes(io, kind),
            FlowopKind::AioWait => self.wait_for_requests(io),
            FlowopKind::MakeDir | FlowopKind::RemoveDir => self.leaf_dir(io, kind),
            FlowopKind::ListDir => self.list_dir(io),
            FlowopKind::SemBlock => self.sem_block(io),
            FlowopKind::SemPost => self.sem_post(io),
            FlowopKind::Block => self.block(io),
            FlowopKind::Wakeup => {
                self.wake_up();
                Ok(())
            }
            FlowopKind::Hog => {
                self.hog();
                Ok(())
            }
            FlowopKind::Delay => self.delay(io),
            FlowopKind::EventLimit
            | FlowopKind::OpsLimit
            | FlowopKind::IopsLimit
            | FlowopKind::BwLimit => self.limit(io, kind),
            FlowopKind::FinishOnCount | FlowopKind::FinishOnBytes => self.finish(kind),
            FlowopKind::Enter => Ok(()),
            FlowopKind::Leave => Err(FlowopExit::Skipped),
        }
    }

    /// Adds the last call and its time to the flowop.
    #[inline]
    fn count_call(&mut self, io: &dyn Io) {
        let present = &mut self.present;
        present.calls += 1;
        if let Some((began_ns, ended_ns)) = io.timed() {
            if present.timed == 0 {
                present.began_ns = began_ns;
            }
            present.timed += 1;
            present.ended_ns = ended_ns;
        }
    }

    /// Ends the thread after a wait if the run has ended.
    fn check_end(&self) -> Result<(), FlowopExit> {
        if self.namespace.common.deadline.is_reached() { Err(FlowopExit::Over) } else { Ok(()) }
    }

    /// Counts the completed flowop.
    #[inline]
    fn count(&mut self) {
        let present = self.present;
        let flow = &self.steps[self.pc];
        let common = &self.namespace.common;
        let took = (present.calls > 0 && present.timed == present.calls)
            .then(|| present.ended_ns.saturating_sub(present.began_ns));
        self.rows.count(self.pc, present.moved, present.calls, took);
        if flow.watched {
            let watched = &common.watched[flow.row];
            watched.count.fetch_add(1, Ordering::Relaxed);
            watched.bytes.fetch_add(present.moved, Ordering::Relaxed);
        }
        if self.namespace.plan.watches_all && self.namespace.plan.rows[flow.row].class.counts() {
            common.total.count.fetch_add(1, Ordering::Relaxed);
            common.total.bytes.fetch_add(present.moved, Ordering::Relaxed);
        }
        self.silent = if present.calls > 0 { 0 } else { self.silent };
        self.next_flow();
    }

    /// Ends the thread for lack of files.
    #[cold]
    fn out_of_files(&mut self) -> FlowopExit {
        self.ran_out = true;
        match self.namespace.plan.run_length.quit {
            EndCondition::AllDone => {}
            EndCondition::FirstDone => self.namespace.common.deadline.reach(),
            EndCondition::Timeout => {
                let name =
                    self.namespace.plan.rows[self.flow().row].name.escape_debug().to_string();
                self.namespace.common.fail(SessionError::new(format!(
                    "{name} could not obtain a file: reduce the runtime, increase the entries of \
                     the fileset ($nfiles), or set another mode"
                )));
            }
        }
        FlowopExit::Over
    }

    /// Fails the run with a message about the current flowop.
    #[cold]
    fn fail(&self, why: &str) -> FlowopExit {
        let name = self.namespace.plan.rows[self.flow().row].name.escape_debug().to_string();
        self.namespace.common.fail(SessionError::at(name, why));
        FlowopExit::Over
    }

    fn tell_snapshot(&mut self) {
        let requested = self.namespace.common.snapshot.load(Ordering::Relaxed);
        if requested != self.snapshot {
            self.snapshot = requested;
            let account = self.account();
            if let Some(Ok(mut reported)) =
                self.namespace.common.reported.get(self.number).map(Mutex::lock)
            {
                *reported = account;
            }
        }
    }

    fn account(&self) -> WorkerReport {
        WorkerReport {
            began_ns: self.began_ns,
            ran_out: self.ran_out,
            rows: self.rows.tallies(&self.steps),
        }
    }
}

impl Script for Worker {
    fn run(&mut self, io: &mut dyn Io) -> Result<(), Stop> {
        self.began_ns = io.began_ns();
        let namespace = Arc::clone(&self.namespace);
        for fileset in 0..namespace.filesets.len() {
            namespace.open_above(io, fileset)?;
            namespace.open_root(io, fileset)?;
        }
        while !namespace.common.deadline.is_reached() {
            self.silent += 1;
            if self.silent > SILENT_MAX {
                self.silent = 0;
                io.pause(0)?;
                continue;
            }
            match self.iteration(io) {
                Ok(()) => self.count(),
                Err(FlowopExit::Skipped | FlowopExit::Busy) => self.next_flow(),
                Err(FlowopExit::Over) => break,
                Err(FlowopExit::Stop(stop)) => return Err(stop),
            }
        }
        // No other thread waits for this one any more.
        namespace.common.working.fetch_sub(1, Ordering::SeqCst);
        Ok(())
    }

    fn counters(&mut self) -> Counters {
        Counters::from_value(&self.account())
    }
}

//! Worker that draws operations and carries them out until its end condition is met.
//!
//! The same worker creates the first files, ages a filesystem and runs the benchmark; only its plan
//! and its end condition differ.

mod ends;
mod meta;
mod transfer;

use std::ffi::CString;
use std::sync::Arc;

use treering_model::Counters;
use treering_script::{DirSlot, Io, Random, Script, SessionError, Stop};

use super::fileset::SharedState;
use super::names::{DATA, DATADIR, DATAFILE, FILLFILE, META, NameBuffer};
use super::namespace::{FilesLocation, Namespace, directory};
use super::operation::Operation;
use super::plan::{PopulationKind, WorkerPlan};
use super::population::{Concurrency, FileLookup, LockMode, LockedFile};
use super::slots::{DirSlots, KeptDirectory};
use super::tally::{CallTimes, WorkerCounters};
use crate::language::TimedCall;
pub(super) use ends::EndCondition;

/// Length of one piece of a wait: a pause cannot be interrupted, so the end is checked between
/// pieces.
const PIECE_NS: u64 = 20_000_000;
/// Pause when all files are in use, and when no file exists.
const BUSY_NS: u64 = 50_000;
const NO_FILE_NS: u64 = 1_000_000;
/// Number of draws without an available file after which missing files are checked for.
const VAIN_MAX: u32 = 1000;

/// Data moved by an operation.
#[derive(Clone, Copy, Debug, Default)]
struct TransferCounts {
    bytes: u64,
    /// Blocks, the unit of transactions.
    blocks: u64,
}

/// The code of a worker.
pub(super) struct Worker {
    plan: Arc<WorkerPlan>,
    namespace: Namespace,
    common: SharedState,
    ends: EndCondition,
    /// Generator of operations and sizes, separate so that the sequence does not depend on other
    /// workers.
    choices: Random,
    /// Draws files, directories and offsets.
    random: Random,
    concurrency: Concurrency,
    slots: DirSlots,
    tally: WorkerCounters,
    /// Name of the current file or directory.
    name: NameBuffer,
    /// Operations carried out.
    done: u64,
    vain: u32,
    /// Bytes written since the last check of the filesystem's space, and the number of bytes that
    /// make another one due.
    unweighed: (u64, u64),
    /// Largest used share so far, and the number of operations at that time.
    fullest: (f64, u64),
}

impl Worker {
    /// Worker with its own random generator, one of `workers`.
    pub(super) fn new(
        plan: Arc<WorkerPlan>,
        namespace: Namespace,
        common: SharedState,
        ends: EndCondition,
        random: Random,
        workers: u16,
    ) -> Self {
        common.join(&plan);
        let mut tally = WorkerCounters::default();
        let ranges = plan.stats.as_ref().map_or(0, |stats| stats.ranges_ms.len());
        for times in &mut tally.calls {
            *times = CallTimes { in_range: vec![0; ranges], ..CallTimes::default() };
        }
        Self {
            slots: DirSlots::new(namespace.filesets.len(), workers),
            concurrency: if workers == 1 { Concurrency::One } else { Concurrency::Many },
            plan,
            namespace,
            common,
            ends,
            choices: random.clone(),
            random: random.apart(),
            tally,
            name: NameBuffer::default(),
            done: 0,
            vain: 0,
            unweighed: (0, 0),
            fullest: (0.0, 0),
        }
    }

    /// Draws an operation and a filesystem, and carries the operation out; false if no file was
    /// available.
    fn operate(&mut self, io: &mut dyn Io) -> Result<bool, Stop> {
        let operation = self.plan.draw(&mut self.choices);
        let filesystem = match self.plan.bound {
            Some(filesystem) => filesystem,
            None if self.namespace.filesets.len() == 1 => 0,
            None => self.choices.index(self.namespace.filesets.len()),
        };
        let part =
            if operation == Operation::MetaOp { KeptDirectory::Meta } else { KeptDirectory::Data };
        let dir = self.open_part(io, filesystem, part)?;
        if self.common.deadline.is_reached() {
            return Ok(false);
        }
        let mut moved = TransferCounts::default();
        match operation {
            Operation::MetaOp => self.metaop(io, filesystem, dir)?,
            Operation::CreateDir => self.create_dir(io, filesystem, dir)?,
            _ => {
                let Some(file) = self.choose_file(io, operation, filesystem)? else {
                    return Ok(false);
                };
                let dir = self.open_datadir(io, filesystem, dir, file.dir)?;
                moved = self.use_file(io, operation, filesystem, dir, file)?;
                self.unlock_files(operation, filesystem, file, moved.bytes);
            }
        }
        let done = &mut self.tally.done[operation.place()];
        done.operations += 1;
        done.bytes += moved.bytes;
        let moves = operation.reads() || operation.writes();
        done.transactions += if moves { moved.blocks } else { 1 };
        self.done += 1;
        self.vain = 0;
        self.unweighed.0 += moved.bytes;
        Ok(true)
    }

    /// Opens a part of a filesystem, unless it is open.
    #[inline]
    fn open_part(
        &mut self,
        io: &mut dyn Io,
        filesystem: usize,
        part: KeptDirectory,
    ) -> Result<DirSlot, Stop> {
        if self.slots.opens_part(filesystem, part) {
            self.open_new_part(io, filesystem, part)?;
        }
        Ok(DirSlots::part(filesystem, part))
    }

    #[cold]
    fn open_new_part(
        &mut self,
        io: &mut dyn Io,
        filesystem: usize,
        part: KeptDirectory,
    ) -> Result<(), Stop> {
        let into = DirSlots::part(filesystem, part);
        let name = match part {
            KeptDirectory::Data => DATA,
            KeptDirectory::Meta => META,
            KeptDirectory::Root => {
                return match self.namespace.places[filesystem] {
                    FilesLocation::Root(root) => io.open_root(root, into),
                    FilesLocation::Below => {
                        let name = CString::new(directory(filesystem)).unwrap_or_default();
                        io.open_dir(DirSlot::TARGET, &name, into)
                    }
                };
            }
        };
        let root = self.open_part(io, filesystem, KeptDirectory::Root)?;
        io.open_dir(root, name, into)
    }

    /// Opens the directory of a file, unless it is open.
    #[inline]
    fn open_datadir(
        &mut self,
        io: &mut dyn Io,
        filesystem: usize,
        data: DirSlot,
        number: u32,
    ) -> Result<DirSlot, Stop> {
        if number == 0 {
            return Ok(data);
        }
        let dir = self.slots.dir(filesystem, number);
        if self.slots.opens_dir(filesystem, number) {
            self.name.set(DATADIR, u64::from(number - 1));
            io.open_dir(data, self.name.as_c_str(), dir)?;
        }
        Ok(dir)
    }

    /// Locks a file for an operation, or allocates the number of a new one; `None` if no file is
    /// available or the worker must end.
    #[inline]
    fn choose_file(
        &mut self,
        io: &mut dyn Io,
        operation: Operation,
        filesystem: usize,
    ) -> Result<Option<LockedFile>, Stop> {
        let Self { plan, namespace, common, random, concurrency, .. } = self;
        let fileset = &namespace.filesets[filesystem];
        let files = fileset.files(plan.files);
        if operation.makes() {
            let dir =
                || if plan.files == PopulationKind::Fill { 0 } else { fileset.draw_dir(random) };
            return Ok(Some(files.allocate_number(dir)));
        }
        let hold = if operation == Operation::Delete { LockMode::Alone } else { LockMode::Shared };
        loop {
            match files.find(random, hold, *concurrency) {
                FileLookup::File(file) => return Ok(Some(file)),
                FileLookup::Busy => io.pause(BUSY_NS)?,
                FileLookup::Nothing => break,
            }
            if common.deadline.is_reached() {
                return Ok(None);
            }
        }
        self.record_no_file(io)?;
        Ok(None)
    }

    /// Records that no file was available; another operation is drawn.
    #[cold]
    fn record_no_file(&mut self, io: &mut dyn Io) -> Result<(), Stop> {
        self.vain += 1;
        if self.vain < VAIN_MAX {
            return Ok(());
        }
        self.vain = 0;
        if self.plan.makes_files || self.common.has_creators(&self.plan) {
            return io.pause(NO_FILE_NS);
        }
        self.common.fail(SessionError::new(
            "no files are left, and nothing in the profile makes new ones: give more files, less \
             time, or a create_weight",
        ));
        Ok(())
    }

    /// Carries out an operation on a file.
    #[inline]
    fn use_file(
        &mut self,
        io: &mut dyn Io,
        operation: Operation,
        filesystem: usize,
        dir: DirSlot,
        file: LockedFile,
    ) -> Result<TransferCounts, Stop> {
        let word = match self.plan.files {
            PopulationKind::Data => DATAFILE,
            PopulationKind::Fill => FILLFILE,
        };
        self.name.set(word, file.number);
        match operation {
            Operation::Stat => {
                io.stat(dir, self.name.as_c_str())?;
                self.timed(io, TimedCall::Stat);
            }
            Operation::Delete => {
                io.unlink(dir, self.name.as_c_str())?;
                self.timed(io, TimedCall::Unlink);
            }
            _ => {
                self.open(io, operation, dir)?;
                let mut moved = TransferCounts::default();
                if operation != Operation::OpenClose {
                    let wanted = self.draw_wanted(operation, filesystem, file.bytes);
                    moved = self.transfer(io, operation, wanted, file.bytes)?;
                }
                self.close(io, operation.syncs())?;
                return Ok(moved);
            }
        }
        Ok(TransferCounts::default())
    }

    /// Unlocks the files of a finished operation, and records their new state.
    #[inline]
    fn unlock_files(&self, operation: Operation, filesystem: usize, file: LockedFile, moved: u64) {
        let fileset = &self.namespace.filesets[filesystem];
        let files = fileset.files(self.plan.files);
        if operation.makes() {
            fileset.resized(0, moved);
            files.mark_created(file.number, moved);
        } else if operation == Operation::Delete {
            fileset.resized(file.bytes, 0);
            files.mark_deleted(file.number);
        } else {
            if operation.appends() {
                fileset.resized(file.bytes, file.bytes + moved);
                files.grow(file.number, moved);
            }
            files.unlock(file.number, LockMode::Shared, self.concurrency);
        }
    }

    /// `createdir`: creates another directory for files.
    fn create_dir(
        &mut self,
        io: &mut dyn Io,
        filesystem: usize,
        data: DirSlot,
    ) -> Result<(), Stop> {
        let dirs = &self.namespace.filesets[filesystem].dirs;
        let number = dirs.next_number();
        self.name.set(DATADIR, number.into());
        io.make_dir(data, self.name.as_c_str())?;
        dirs.complete(number);
        Ok(())
    }

    /// Records the latency of the last call, if it is one that the original measures.
    #[inline]
    fn timed(&mut self, io: &dyn Io, call: TimedCall) {
        let Some(stats) = self.plan.stats.as_ref().filter(|_| self.plan.worker_options.classic)
        else {
            return;
        };
        if stats.ignored[call.place()] {
            return;
        }
        let Some((began_ns, ended_ns)) = io.timed() else { return };
        let us = ended_ns.saturating_sub(began_ns) / 1000;
        let times = &mut self.tally.calls[call.place()];
        times.record(us);
        let ms = us as f64 / 1000.0;
        let range = stats.ranges_ms.iter().position(|&(from, to)| from <= ms && ms <= to);
        if let Some(count) = range.and_then(|range| times.in_range.get_mut(range)) {
            *count += 1;
        }
    }

    /// Pauses for the delay between two operations.
    #[inline]
    fn pause(&self, io: &mut dyn Io) -> Result<(), Stop> {
        let mut left_ns = self.plan.delay_ns;
        while left_ns > 0 && !self.is_over() {
            let piece_ns = left_ns.min(PIECE_NS);
            left_ns -= piece_ns;
            io.pause(piece_ns)?;
        }
        Ok(())
    }
}

impl Script for Worker {
    fn run(&mut self, io: &mut dyn Io) -> Result<(), Stop> {
        self.look_if_due(io)?;
        while !self.is_over() {
            if self.operate(io)? {
                self.look_if_due(io)?;
                self.pause(io)?;
            }
        }
        self.common.leave(&self.plan);
        Ok(())
    }

    fn counters(&mut self) -> Counters {
        Counters::from_value(&self.tally)
    }
}

//! Worker of an iteration: creates files, syncs them, and in classic mode unlinks them.

use std::ffi::CString;

use treering_model::Counters;
use treering_script::{
    CreateHow, DirSlot, ExpectedErrors, FileSlot, Io, OpenHow, Script, Stop, SyncScope,
};

use super::account::{CallAccount, CallKind, FileCounters};
use super::locator::{FileLocator, ROOT};
use super::methods::{ReopenOrder, SyncMethod};
use super::naming::dir_name;
use super::shape::RunShape;

const FILE: FileSlot = FileSlot(0);
/// The slot of the subdirectory in which a classic worker unlinks.
const UNLINK_DIR: DirSlot = DirSlot(2);

/// State of a classic worker beyond that of a native one.
#[derive(Debug)]
struct ClassicState {
    account: CallAccount,
    /// Second of Unix time at which the trial began.
    started_unix_s: u64,
    /// Nanoseconds within that second.
    started_ns: u64,
    /// Name of the current subdirectory.
    subdir: CString,
    subdir_number: Option<u32>,
}

impl ClassicState {
    /// Unix time in seconds at `at_ns` after the start of the trial.
    fn second(&self, at_ns: u64) -> u64 {
        self.started_unix_s + (self.started_ns + at_ns) / 1_000_000_000
    }
}

/// Classic or native behaviour.
#[derive(Debug)]
enum WorkerMode {
    /// Classic: paths from the root, a mkdir before each file, unlinks at the end, and its own
    /// accounts.
    Classic(Box<ClassicState>),
    /// Native: names in open directories, below a root that must be opened.
    Native { root: CString },
}

/// Script of a worker.
#[derive(Debug)]
pub(super) struct Worker {
    shape: RunShape,
    key: u64,
    mode: WorkerMode,
    locator: FileLocator,
    /// Number of files created.
    files: u64,
    /// True once the filesystem is full.
    full: bool,
    /// True if the worker did not start because there was no room for all files.
    no_room: bool,
}

impl Worker {
    /// Creates a worker of the original, in a trial that began at this time.
    pub(super) fn classic(shape: &RunShape, key: u64, started_unix_ms: u64) -> Self {
        let only_first = shape.sync.reopened() == ReopenOrder::First;
        let classic = ClassicState {
            account: CallAccount::new(only_first),
            started_unix_s: started_unix_ms / 1000,
            started_ns: started_unix_ms % 1000 * 1_000_000,
            subdir: CString::default(),
            subdir_number: None,
        };
        let locator = FileLocator::classic(shape, key, started_unix_ms / 1000);
        Self::new(shape, key, WorkerMode::Classic(Box::new(classic)), locator)
    }

    /// Creates a native worker of an iteration, below this root.
    pub(super) fn native(shape: &RunShape, key: u64, iteration: u32, root: CString) -> Self {
        let locator = FileLocator::native(shape, key, iteration);
        Self::new(shape, key, WorkerMode::Native { root }, locator)
    }

    fn new(shape: &RunShape, key: u64, mode: WorkerMode, locator: FileLocator) -> Self {
        let shape = shape.clone();
        Self { shape, key, mode, locator, files: 0, full: false, no_room: false }
    }

    /// Directory that all paths are relative to.
    fn top(&self) -> DirSlot {
        if self.is_classic() { DirSlot::TARGET } else { ROOT }
    }

    fn is_classic(&self) -> bool {
        matches!(self.mode, WorkerMode::Classic(_))
    }

    /// Current second, in classic mode.
    fn second(&self) -> Option<u64> {
        match &self.mode {
            WorkerMode::Classic(classic) => Some(classic.second(classic.account.now_ns())),
            WorkerMode::Native { .. } => None,
        }
    }

    /// Accounts for the time of the last call, in classic mode.
    fn account(&mut self, call: CallKind, io: &dyn Io) {
        if let (WorkerMode::Classic(classic), Some((began_ns, ended_ns))) =
            (&mut self.mode, io.timed())
        {
            classic.account.add(call, began_ns, ended_ns);
        }
    }

    /// False if `done` failed because the filesystem is full; only in runs that fill it, other
    /// errors are passed on.
    fn check_space<T>(&self, done: Result<T, Stop>) -> Result<bool, Stop> {
        if self.shape.until_full { Ok(done.unless_full()?.is_ok()) } else { done.map(|_| true) }
    }

    /// Checks for room for all files: as in the original, each worker counts only its own, without
    /// metadata.
    fn has_room(&mut self, io: &mut dyn Io) -> Result<bool, Stop> {
        let room = io.room(DirSlot::TARGET)?;
        self.account(CallKind::Before, io);
        let needs = self.shape.files.saturating_mul(self.shape.bytes);
        Ok(self.shape.until_full || room.free_bytes >= needs)
    }

    fn make_files(&mut self, io: &mut dyn Io) -> Result<(), Stop> {
        while self.files < self.shape.files && !self.full {
            let second = self.second();
            self.locator.advance(self.files, second);
            if self.make_directory(io)? && self.make_file(io)? {
                self.files += 1;
            } else {
                self.full = true;
            }
        }
        Ok(())
    }

    /// Prepares the directory of the next file: the original's mkdir, or the first open of a
    /// subdirectory. False if the filesystem is full.
    fn make_directory(&mut self, io: &mut dyn Io) -> Result<bool, Stop> {
        let made = match &mut self.mode {
            WorkerMode::Native { .. } => {
                if let Some((subdir, slot)) = self.locator.opens() {
                    io.open_dir(ROOT, &c_string(&dir_name(subdir)), slot)?;
                }
                return Ok(true);
            }
            WorkerMode::Classic(classic) => match self.locator.subdir() {
                None => io.make_existing_dir(DirSlot::TARGET),
                Some(subdir) => {
                    if classic.subdir_number.replace(subdir) != Some(subdir) {
                        classic.subdir = c_string(&dir_name(subdir));
                    }
                    io.make_dir(DirSlot::TARGET, &classic.subdir)
                }
            },
        };
        self.account(CallKind::Other, io);
        match made.unless_existing() {
            Ok(_made_or_there) => Ok(true),
            Err(stop) => self.check_space(Err::<(), _>(stop)),
        }
    }

    /// Creates and writes a file; false if the filesystem ran full.
    fn make_file(&mut self, io: &mut dyn Io) -> Result<bool, Stop> {
        let (at, path) = self.locator.place(self.files, self.top());
        let created = io.create(at, path, CreateHow::TruncateToRead, FILE);
        self.account(CallKind::Create, io);
        if !self.check_space(created)? {
            return Ok(false);
        }
        let is_whole =
            self.write(io)? && (self.shape.sync != SyncMethod::Inband || self.fsync(io)?);
        io.close(FILE)?;
        self.account(CallKind::Close, io);
        Ok(is_whole)
    }

    /// Writes a file's data, with one write of 0 bytes for an empty file. False if the filesystem
    /// is full.
    fn write(&mut self, io: &mut dyn Io) -> Result<bool, Stop> {
        let mut position = 0;
        loop {
            let left = u32::try_from(self.shape.bytes - position).unwrap_or(u32::MAX);
            let bytes = left.min(self.shape.write_bytes);
            let written = io.write(FILE, bytes, position);
            self.account(CallKind::Write, io);
            if !self.check_space(written)? {
                return Ok(false);
            }
            position += u64::from(bytes);
            if position >= self.shape.bytes {
                return Ok(true);
            }
        }
    }

    fn fsync(&mut self, io: &mut dyn Io) -> Result<bool, Stop> {
        let synced = io.fsync(FILE);
        self.account(CallKind::Fsync, io);
        self.check_space(synced)
    }

    /// Syncs after all files, if the method asks for it.
    fn sync_all(&mut self, io: &mut dyn Io) -> Result<(), Stop> {
        if self.shape.sync.syncs() {
            let is_classic = self.is_classic();
            io.sync(if is_classic { SyncScope::Machine } else { SyncScope::Target })?;
            self.account(CallKind::Sync, io);
        }
        Ok(())
    }

    /// Reopens and fsyncs files, as the sync method requires.
    fn sync_again(&mut self, io: &mut dyn Io) -> Result<(), Stop> {
        match self.shape.sync.reopened() {
            ReopenOrder::Nothing => Ok(()),
            ReopenOrder::First => (0..self.files.min(1)).try_for_each(|n| self.reopen(io, n)),
            ReopenOrder::Forward => (0..self.files).try_for_each(|n| self.reopen(io, n)),
            ReopenOrder::Backward => (0..self.files).rev().try_for_each(|n| self.reopen(io, n)),
        }
    }

    fn reopen(&mut self, io: &mut dyn Io, file: u64) -> Result<(), Stop> {
        self.locator.recall(file);
        let (at, path) = self.locator.place(file, self.top());
        io.open(at, path, OpenHow::Read, FILE)?;
        self.account(CallKind::Reopen, io);
        self.full |= !self.fsync(io)?;
        io.close(FILE)?;
        self.account(CallKind::CloseAgain, io);
        Ok(())
    }

    /// Unlinks the files in order, each by one call in its open subdirectory.
    fn unlink_files(&mut self, io: &mut dyn Io) -> Result<(), Stop> {
        let mut open = None;
        for file in 0..self.files {
            self.locator.recall(file);
            let wanted = self.locator.subdir();
            if let Some(subdir) = wanted.filter(|_| open != wanted) {
                io.open_dir(DirSlot::TARGET, &c_string(&dir_name(subdir)), UNLINK_DIR)?;
                // The unlinks have begun: the loop is over.
                self.account(CallKind::Outside, io);
            }
            open = wanted;
            let at = if wanted.is_some() { UNLINK_DIR } else { DirSlot::TARGET };
            // Of two files with the same name, the second unlink finds nothing.
            io.unlink(at, self.locator.bare_name(file)).unless_missing()?;
            self.account(CallKind::Unlink, io);
        }
        Ok(())
    }

    /// Runs as the original: paths from the root, a mkdir before each file, unlinks at the end.
    fn run_classic(&mut self, io: &mut dyn Io) -> Result<(), Stop> {
        if let WorkerMode::Classic(classic) = &mut self.mode {
            classic.account.begin(io.began_ns());
            let second = classic.second(io.began_ns());
            self.locator = FileLocator::classic(&self.shape, self.key, second);
        }
        self.no_room = !self.has_room(io)?;
        if self.no_room {
            return Ok(());
        }
        self.make_files(io)?;
        self.sync_all(io)?;
        self.sync_again(io)?;
        if self.shape.keep { Ok(()) } else { self.unlink_files(io) }
    }
}

/// Converts a generated name, which has only hexadecimal digits and letters.
pub(super) fn c_string(name: &str) -> CString {
    CString::new(name).unwrap_or_default()
}

impl Script for Worker {
    fn run(&mut self, io: &mut dyn Io) -> Result<(), Stop> {
        let WorkerMode::Native { root } = &self.mode else { return self.run_classic(io) };
        io.open_dir(DirSlot::TARGET, root, ROOT)?;
        self.make_files(io)?;
        self.sync_all(io)?;
        self.sync_again(io)
    }

    fn counters(&mut self) -> Counters {
        match &self.mode {
            WorkerMode::Classic(classic) => {
                let counters = classic.account.close(self.files, self.full, self.locator.since());
                Counters::from_value(&FileCounters { no_room: self.no_room, ..counters })
            }
            WorkerMode::Native { .. } => Counters::from_value(&FileCounters {
                files: self.files,
                full: self.full,
                ..FileCounters::default()
            }),
        }
    }
}

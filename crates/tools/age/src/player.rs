//! Executes operations: the calls of each, and the names of files.
//!
//! A population is a directory `NAME` below the root of the run, or a tree of directories if it has
//! a fan-out; a file is `f` and its number, a unit `u` and its number.

use std::collections::HashSet;
use std::ffi::CString;
use std::fmt::Write as _;
use std::sync::{Arc, Mutex, PoisonError};

use treering_model::Counters;
use treering_script::{
    CreateHow, DirSlot, ExpectedErrors, FileSlot, Io, OpenHow, Script, Stop, SyncScope,
};

use super::fast_forward::FastForward;
use super::generator::{LiveFile, Operation, OperationAction, OperationGenerator};
use super::profile::FilesPlan;
use treering_kit::ahead::{AheadCounters, can_allocate};

/// Name of the tree of a run.
pub(super) const ROOT: &str = "age-0";

pub(super) const ROOT_DIR: DirSlot = DirSlot(1);
pub(super) const HERE: DirSlot = DirSlot(2);
const THERE: DirSlot = DirSlot(3);
pub(super) const FILE: FileSlot = FileSlot(0);
/// Size of one read, in bytes.
const READ_BYTES: u32 = 1 << 17;
/// Largest size of one write, in bytes.
const WRITE_BYTES: u64 = 1 << 20;

/// Work of one task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TaskWork {
    /// Makes the directories of all populations.
    Prepare,
    /// Creates the initial files of a population.
    Fill(usize),
    /// Executes a number of operations.
    Operate(u64),
    /// Reads all existing files, then executes a number of operations.
    ReadAndOperate(u64),
    /// Writes the data of a population's files that are only allocated.
    Write(usize),
}

/// Code of a task. One task runs at a time.
#[derive(Debug)]
pub(super) struct OperationScript {
    part: TaskWork,
    generator: Arc<Mutex<OperationGenerator>>,
    forward: Option<FastForward>,
    counted: AheadCounters,
}

impl OperationScript {
    pub(super) fn new(
        part: TaskWork,
        generator: &Arc<Mutex<OperationGenerator>>,
        forward: Option<FastForward>,
    ) -> Self {
        Self { part, generator: Arc::clone(generator), forward, counted: AheadCounters::default() }
    }
}

/// Path of a directory below the root, with its ancestors by the fan-out.
fn directory_path(plan: &FilesPlan, directory: u64) -> String {
    let mut numbers = vec![directory];
    let above = |number: u64| number.checked_sub(1)?.checked_div(plan.fan_out);
    while let Some(number) = numbers.last().and_then(|number| above(*number)) {
        numbers.push(number);
    }
    let mut path = plan.name.clone();
    for number in numbers.iter().rev() {
        // Writing to a string does not fail.
        let _ = write!(path, "/d{number}");
    }
    path
}

fn path(plan: &FilesPlan, live: &LiveFile) -> String {
    if let Some(tree) = &plan.tree {
        return format!("{}/{}", plan.name, tree.path(live.id));
    }
    let kind = if live.files.is_some() { 'u' } else { 'f' };
    format!("{}/{kind}{}", directory_path(plan, live.directory), live.id)
}

fn c_string(text: String) -> CString {
    CString::new(text).expect("names are made of letters, digits, '-' and '/'")
}

/// Outcome of a write.
pub(super) enum WriteOutcome {
    All,
    /// The filesystem became full before the end.
    Full,
}

pub(super) fn write(io: &mut dyn Io, from: u64, bytes: u64) -> Result<WriteOutcome, Stop> {
    let mut done = 0;
    while done < bytes {
        let piece = u32::try_from((bytes - done).min(WRITE_BYTES)).unwrap_or(u32::MAX);
        match io.write(FILE, piece, from + done).unless_full()? {
            Ok(moved) => done += moved,
            Err(_) => return Ok(WriteOutcome::Full),
        }
    }
    Ok(WriteOutcome::All)
}

/// Directories of a tree, made together with the first file in each.
#[derive(Debug, Default)]
struct MadeDirectories {
    made: HashSet<String>,
}

impl MadeDirectories {
    /// Makes the ancestors of a path below the population's directory; false if the filesystem is
    /// full.
    fn make(&mut self, io: &mut dyn Io, path: &str) -> Result<bool, Stop> {
        let parents = path.match_indices('/').map(|(place, _)| &path[..place]).skip(1);
        for parent in parents {
            if self.made.contains(parent) {
                continue;
            }
            let (above, name) = parent.rsplit_once('/').unwrap_or(("", parent));
            io.open_dir(ROOT_DIR, &c_string(above.to_owned()), HERE)?;
            if io.make_dir(HERE, &c_string(name.to_owned())).unless_full()?.is_err() {
                return Ok(false);
            }
            self.made.insert(parent.to_owned());
        }
        Ok(true)
    }
}

/// Production of file data: written, or only allocated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DataMode {
    Written,
    /// Allocated by fallocate, without data.
    Allocated,
}

fn put(io: &mut dyn Io, data: DataMode, from: u64, bytes: u64) -> Result<WriteOutcome, Stop> {
    if data == DataMode::Written || bytes == 0 {
        return write(io, from, bytes);
    }
    let allocated = io.allocate(FILE, from, bytes, false).unless_full()?;
    Ok(if allocated.is_ok() { WriteOutcome::All } else { WriteOutcome::Full })
}

/// Creates a whole file under a name.
pub(super) fn create(
    io: &mut dyn Io,
    name: &CString,
    how: CreateHow,
    (data, bytes): (DataMode, u64),
    fsync: bool,
) -> Result<WriteOutcome, Stop> {
    if io.create(ROOT_DIR, name, how, FILE).unless_full()?.is_err() {
        return Ok(WriteOutcome::Full);
    }
    let wrote = put(io, data, 0, bytes)?;
    if fsync && matches!(wrote, WriteOutcome::All) {
        io.fsync(FILE)?;
    }
    io.close(FILE)?;
    Ok(wrote)
}

impl OperationScript {
    fn lock(&self) -> std::sync::MutexGuard<'_, OperationGenerator> {
        self.generator.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn plan(&self, files: usize) -> FilesPlan {
        self.lock().model().files[files].clone()
    }

    fn prepare(&mut self, io: &mut dyn Io) -> Result<(), Stop> {
        let plans = self.lock().model().files.clone();
        let root = c_string(ROOT.to_owned());
        io.make_dir(DirSlot::TARGET, &root)?;
        io.open_dir(DirSlot::TARGET, &root, ROOT_DIR)?;
        if self.forward.is_some() && !can_allocate(io, ROOT_DIR, FILE)? {
            self.counted.cannot_allocate = true;
            return io.remove_dir(DirSlot::TARGET, &root);
        }
        for plan in plans {
            io.make_dir(ROOT_DIR, &c_string(plan.name.clone()))?;
            for directory in 0..plan.directories {
                let path = directory_path(&plan, directory);
                let (parent, name) = path.rsplit_once('/').unwrap_or(("", &path));
                io.open_dir(ROOT_DIR, &c_string(parent.to_owned()), HERE)?;
                io.make_dir(HERE, &c_string(name.to_owned()))?;
            }
        }
        Ok(())
    }

    /// Executes the operations of the task.
    fn operate(&mut self, io: &mut dyn Io) -> Result<(), Stop> {
        io.open_dir(DirSlot::TARGET, &c_string(ROOT.to_owned()), ROOT_DIR)?;
        match self.part {
            TaskWork::Prepare => {}
            TaskWork::Write(files) => {
                let standing = self.lock().standing(files);
                let plan = self.plan(files);
                for live in standing {
                    // A file that does not fit must not keep the others from being written.
                    let wrote = self.write_allocated(io, &plan, files, &live)?;
                    self.counted.is_full |= matches!(wrote, WriteOutcome::Full);
                }
            }
            TaskWork::Fill(files) => {
                let made = self.lock().initial(files);
                let plan = self.plan(files);
                let mut parents = MadeDirectories::default();
                for turn in 0..made {
                    let next = self.lock().initial_file(files, turn);
                    let Some(live) = next else { break };
                    if plan.tree.is_some() && !parents.make(io, &path(&plan, &live))? {
                        self.counted.is_full = true;
                        return Ok(());
                    }
                    if !self.perform(io, &plan, Operation::birth(files, live))? {
                        return Ok(());
                    }
                }
            }
            TaskWork::Operate(count) | TaskWork::ReadAndOperate(count) => {
                if matches!(self.part, TaskWork::ReadAndOperate(_)) {
                    self.read_all(io)?;
                }
                let plans = self.lock().model().files.clone();
                let sync_every = self.lock().model().sync_every;
                for number in 1..=count {
                    let next = self.lock().next();
                    let Some(operation) = next else { return Ok(()) };
                    let files = operation.files;
                    if !self.perform(io, &plans[files], operation)? {
                        return Ok(());
                    }
                    if number < count && number.is_multiple_of(sync_every) {
                        io.sync(SyncScope::Target)?;
                    }
                }
            }
        }
        // Delayed allocations would be missing in the layout.
        io.sync(SyncScope::Target)
    }

    /// Reads all plain files.
    fn read_all(&self, io: &mut dyn Io) -> Result<(), Stop> {
        let plans = self.lock().model().files.clone();
        for (files, plan) in plans.iter().enumerate() {
            let standing = self.lock().standing(files);
            for live in standing.iter().filter(|live| live.files.is_none()) {
                io.open(ROOT_DIR, &c_string(path(plan, live)), OpenHow::Read, FILE)?;
                while io.read(FILE, READ_BYTES)? > 0 {}
                io.close(FILE)?;
            }
        }
        Ok(())
    }

    /// Executes one operation; false if the filesystem is full.
    fn perform(
        &mut self,
        io: &mut dyn Io,
        plan: &FilesPlan,
        operation: Operation,
    ) -> Result<bool, Stop> {
        match self.carry_out(io, plan, &operation)? {
            WriteOutcome::All => self.counted.operations += 1,
            WriteOutcome::Full => self.counted.is_full = true,
        }
        Ok(!self.counted.is_full)
    }

    fn carry_out(
        &mut self,
        io: &mut dyn Io,
        plan: &FilesPlan,
        operation: &Operation,
    ) -> Result<WriteOutcome, Stop> {
        let fsync = operation.fsync;
        let name = |live: &LiveFile| c_string(path(plan, live));
        match &operation.action {
            OperationAction::Create(live) if live.files.is_some() => {
                self.create_unit(io, plan, operation, live)
            }
            OperationAction::Create(live) => {
                let data = self.ahead(live.bytes);
                create(io, &name(live), CreateHow::Exclusive, data, fsync)
            }
            OperationAction::Rewrite(live, bytes) => {
                self.emptied(operation.files, live);
                let data = self.ahead(*bytes);
                create(io, &name(live), CreateHow::Truncate, data, fsync)
            }
            OperationAction::Replace(live, bytes) => {
                let (name, other) = (format!("f{}", live.id), format!("t{}", live.id));
                let directory = directory_path(plan, live.directory);
                let temporary = c_string(format!("{directory}/{other}"));
                let data = self.ahead(*bytes);
                let wrote = create(io, &temporary, CreateHow::Exclusive, data, fsync)?;
                if matches!(wrote, WriteOutcome::All) {
                    self.emptied(operation.files, live);
                    io.open_dir(ROOT_DIR, &c_string(directory), HERE)?;
                    io.rename(HERE, &c_string(other), HERE, &c_string(name))?;
                }
                Ok(wrote)
            }
            OperationAction::Append(live, bytes) => {
                let data = self.more(operation.files, live, *bytes);
                append(io, &name(live), live.bytes, data, fsync)
            }
            OperationAction::Overwrite(live, position, bytes) => {
                if let WriteOutcome::Full = self.write_allocated(io, plan, operation.files, live)? {
                    return Ok(WriteOutcome::Full);
                }
                io.open(ROOT_DIR, &name(live), OpenHow::Write, FILE)?;
                io.seek(FILE, *position)?;
                let wrote = write(io, *position, *bytes)?;
                finish(io, fsync)?;
                Ok(wrote)
            }
            OperationAction::Rename(live, to) => {
                let file = c_string(format!("f{}", live.id));
                io.open_dir(ROOT_DIR, &c_string(directory_path(plan, live.directory)), HERE)?;
                io.open_dir(ROOT_DIR, &c_string(directory_path(plan, *to)), THERE)?;
                io.rename(HERE, &file, THERE, &file)?;
                Ok(WriteOutcome::All)
            }
            OperationAction::Delete(live) => {
                self.emptied(operation.files, live);
                Self::delete(io, plan, live).map(|()| WriteOutcome::All)
            }
            OperationAction::Compact(gone, output) => {
                let data = self.ahead(output.bytes);
                let wrote = create(io, &name(output), CreateHow::Exclusive, data, fsync)?;
                if matches!(wrote, WriteOutcome::All) {
                    gone.iter().for_each(|live| self.emptied(operation.files, live));
                    gone.iter().try_for_each(|live| Self::delete(io, plan, live))?;
                }
                Ok(wrote)
            }
        }
    }

    /// Data for a new file: in fast-forward an allocation, which is counted.
    fn ahead(&mut self, bytes: u64) -> (DataMode, u64) {
        if self.forward.is_none() {
            return (DataMode::Written, bytes);
        }
        self.counted.ahead_bytes = self.counted.ahead_bytes.saturating_add_unsigned(bytes);
        (DataMode::Allocated, bytes)
    }

    /// Data for an append: written if the file has real data, otherwise as for a new file.
    fn more(&mut self, files: usize, live: &LiveFile, bytes: u64) -> (DataMode, u64) {
        let is_written = |forward: &FastForward| forward.is_written(files, live.id);
        let is_written = self.forward.as_ref().is_none_or(is_written);
        if is_written { (DataMode::Written, bytes) } else { self.ahead(bytes) }
    }

    fn emptied(&self, files: usize, live: &LiveFile) {
        if let Some(forward) = &self.forward {
            forward.emptied(files, live.id);
        }
    }

    /// Writes the data of a file or unit that is only allocated.
    fn write_allocated(
        &mut self,
        io: &mut dyn Io,
        plan: &FilesPlan,
        files: usize,
        live: &LiveFile,
    ) -> Result<WriteOutcome, Stop> {
        let Some(forward) = self.forward.clone() else { return Ok(WriteOutcome::All) };
        if forward.is_written(files, live.id) {
            return Ok(WriteOutcome::All);
        }
        let path = path(plan, live);
        let parts: Vec<(String, u64)> = if live.files.is_some() {
            let sizes = (0u64..).zip(self.lock().unit_sizes(files, live));
            sizes.map(|(number, bytes)| (format!("{path}/f{number}"), bytes)).collect()
        } else {
            vec![(path, live.bytes)]
        };
        for (name, bytes) in parts {
            // The last file before the filesystem became full may be missing.
            let opened = io.open(ROOT_DIR, &c_string(name), OpenHow::Write, FILE);
            if opened.unless_missing()?.is_none() {
                continue;
            }
            let wrote = write(io, 0, bytes)?;
            io.close(FILE)?;
            if let WriteOutcome::Full = wrote {
                return Ok(WriteOutcome::Full);
            }
            self.counted.ahead_bytes = self.counted.ahead_bytes.saturating_sub_unsigned(bytes);
        }
        forward.wrote(files, live.id);
        Ok(WriteOutcome::All)
    }

    fn create_unit(
        &mut self,
        io: &mut dyn Io,
        plan: &FilesPlan,
        operation: &Operation,
        unit: &LiveFile,
    ) -> Result<WriteOutcome, Stop> {
        let sizes: Vec<u64> = self.lock().unit_sizes(operation.files, unit).collect();
        let directory = directory_path(plan, unit.directory);
        io.open_dir(ROOT_DIR, &c_string(directory), HERE)?;
        let name = c_string(format!("u{}", unit.id));
        if io.make_dir(HERE, &name).unless_full()?.is_err() {
            return Ok(WriteOutcome::Full);
        }
        let path = path(plan, unit);
        for (number, bytes) in (0..).zip(sizes) {
            let number: u64 = number;
            let file = c_string(format!("{path}/f{number}"));
            let data = self.ahead(bytes);
            if let WriteOutcome::Full =
                create(io, &file, CreateHow::Exclusive, data, operation.fsync)?
            {
                return Ok(WriteOutcome::Full);
            }
        }
        Ok(WriteOutcome::All)
    }

    fn delete(io: &mut dyn Io, plan: &FilesPlan, live: &LiveFile) -> Result<(), Stop> {
        let path = path(plan, live);
        let Some(files) = live.files else { return io.unlink(ROOT_DIR, &c_string(path)) };
        for number in 0..files {
            io.unlink(ROOT_DIR, &c_string(format!("{path}/f{number}")))?;
        }
        io.open_dir(ROOT_DIR, &c_string(directory_path(plan, live.directory)), HERE)?;
        io.remove_dir(HERE, &c_string(format!("u{}", live.id)))
    }
}

/// Appends to a file.
fn append(
    io: &mut dyn Io,
    name: &CString,
    end: u64,
    (data, bytes): (DataMode, u64),
    fsync: bool,
) -> Result<WriteOutcome, Stop> {
    io.open(ROOT_DIR, name, OpenHow::Append, FILE)?;
    let wrote = put(io, data, end, bytes)?;
    finish(io, fsync)?;
    Ok(wrote)
}

fn finish(io: &mut dyn Io, fsync: bool) -> Result<(), Stop> {
    if fsync {
        io.fsync(FILE)?;
    }
    io.close(FILE)
}

impl Script for OperationScript {
    fn run(&mut self, io: &mut dyn Io) -> Result<(), Stop> {
        if self.part == TaskWork::Prepare { self.prepare(io) } else { self.operate(io) }
    }

    fn counters(&mut self) -> Counters {
        Counters::from_value(&self.counted)
    }
}

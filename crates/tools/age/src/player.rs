//! Executes operations.

use std::ffi::CString;
use std::sync::{Arc, Mutex, PoisonError};

use treering_model::Counters;
use treering_script::{
    CreateHow, DirSlot, Errno, ExpectedErrors, Io, OpenHow, Script, Stop, SyncScope,
};

use super::calls::{
    DataMode, FILE, HERE, LIVE, MadeDirectories, ROOT, ROOT_DIR, THERE, WriteOutcome, c_string,
    copy_file, create, directories_to_make, directory_path, is_in_subvolume, path, punch, put,
    reflink, remove_file, root_path, write,
};
use super::fast_forward::FastForward;
use super::generator::OperationGenerator;
use super::maintenance::script::first_refused;
use super::operation::{LiveFile, Operation, OperationAction};
use super::profile::FilesPlan;
use super::restore::{first_foreign, restore};
use super::steps::{SpaceAnswer, StepCounters, StepRecord};
use treering_kit::ahead::{AheadCounters, can_allocate};

/// Operations between two reads of the reported use, in a run that keeps a level. The report
/// includes space reserved for data not yet written.
const HOLD_EVERY: u64 = 50;
/// Size of one read, in bytes.
const READ_BYTES: u32 = 1 << 17;

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
    /// Restores the files to their state after the last complete step of an interrupted run.
    Restore,
    /// Writes the data of a population's files that are only allocated.
    Write(usize),
}

/// Code of a task. One task runs at a time.
#[derive(Debug)]
pub(super) struct OperationScript {
    part: TaskWork,
    generator: Arc<Mutex<OperationGenerator>>,
    forward: Option<FastForward>,
    /// True if the run ends when the filesystem is full.
    ends_full: bool,
    counted: AheadCounters,
    step: StepRecord,
    /// Steps of the interrupted run that this one continues.
    earlier: Vec<StepRecord>,
    put_back: u64,
    /// First required call that the filesystem does not support.
    refused: Option<String>,
    /// Entry in the way of an interrupted run that goes on.
    foreign: Option<String>,
}

impl OperationScript {
    pub(super) fn new(
        part: TaskWork,
        generator: &Arc<Mutex<OperationGenerator>>,
        forward: Option<FastForward>,
        ends_full: bool,
    ) -> Self {
        let generator = Arc::clone(generator);
        Self {
            part,
            generator,
            forward,
            ends_full,
            counted: AheadCounters::default(),
            step: StepRecord::default(),
            earlier: Vec::new(),
            put_back: 0,
            refused: None,
            foreign: None,
        }
    }

    /// Records the steps so far and the target bytes of existing files with the task.
    pub(super) fn recording(mut self, live_bytes: u64, earlier: Vec<StepRecord>) -> Self {
        self.step.live_bytes = live_bytes;
        self.earlier = earlier;
        self
    }
}

impl OperationScript {
    fn lock(&self) -> std::sync::MutexGuard<'_, OperationGenerator> {
        self.generator.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn plan(&self, files: usize) -> FilesPlan {
        self.lock().model().files[files].clone()
    }

    fn prepare(&mut self, io: &mut dyn Io) -> Result<(), Stop> {
        let model = self.lock().model().clone();
        let root = c_string(ROOT.to_owned());
        io.make_dir(DirSlot::TARGET, &root)?;
        io.open_dir(DirSlot::TARGET, &root, ROOT_DIR)?;
        self.refused = first_refused(io, &model)?;
        if self.refused.is_some() {
            return io.remove_dir(DirSlot::TARGET, &root);
        }
        if is_in_subvolume(&model) {
            io.make_subvolume(ROOT_DIR, &c_string(LIVE.to_owned()))?;
            io.open_dir(DirSlot::TARGET, &c_string(root_path(&model)), ROOT_DIR)?;
        }
        if self.forward.is_some() && !can_allocate(io, ROOT_DIR, FILE)? {
            self.counted.cannot_allocate = true;
            return io.remove_dir(DirSlot::TARGET, &root);
        }
        for plan in model.files {
            io.make_dir(ROOT_DIR, &c_string(plan.name.clone()))?;
            for directory in directories_to_make(&plan) {
                let path = directory_path(&plan, directory);
                let (parent, name) = path.rsplit_once('/').unwrap_or(("", &path));
                io.open_dir(ROOT_DIR, &c_string(parent.to_owned()), HERE)?;
                io.make_dir(HERE, &c_string(name.to_owned()))?;
            }
        }
        Ok(())
    }

    /// Restores all files to their state after the last complete step; false if something that is
    /// not of the run is in the way, or without space.
    fn restore(&mut self, io: &mut dyn Io) -> Result<bool, Stop> {
        let plans = self.lock().model().files.clone();
        // What is not of the run stays: nothing is changed before all was looked at.
        for plan in &plans {
            self.foreign = first_foreign(io, plan)?;
            if self.foreign.is_some() {
                return Ok(false);
            }
        }
        for (files, plan) in plans.iter().enumerate() {
            let standing = self.lock().standing(files);
            let put_back =
                restore(io, plan, &standing, |unit| self.lock().unit_sizes(files, unit).collect())?;
            let Some(put_back) = put_back else {
                self.counted.is_full = true;
                return Ok(false);
            };
            self.put_back += put_back;
        }
        Ok(true)
    }

    /// Executes the operations of the task.
    fn operate(&mut self, io: &mut dyn Io) -> Result<(), Stop> {
        let root = root_path(self.lock().model());
        io.open_dir(DirSlot::TARGET, &c_string(root), ROOT_DIR)?;
        match self.part {
            TaskWork::Prepare => {}
            TaskWork::Restore => {
                if !self.restore(io)? {
                    return Ok(());
                }
            }
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
                if !self.fill(io, files)? {
                    return Ok(());
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
                    self.step.drawn = number;
                    let files = operation.files;
                    if !self.perform(io, &plans[files], &operation)?
                        && !self.make_room(io, &plans, &operation)?
                    {
                        self.counted.is_full = true;
                        return Ok(());
                    }
                    if number < count && number.is_multiple_of(sync_every) {
                        self.commit(io)?;
                        self.hold(io)?;
                    } else if number < count && number.is_multiple_of(HOLD_EVERY) {
                        self.hold(io)?;
                    }
                }
                self.commit(io)?;
                return self.hold(io);
            }
        }
        // Delayed allocations would be missing in the layout.
        io.sync(SyncScope::Target)
    }

    /// Creates the initial files of a population; false if the run ends because no space is left.
    fn fill(&mut self, io: &mut dyn Io, files: usize) -> Result<bool, Stop> {
        let made = self.lock().initial(files);
        let plan = self.plan(files);
        let mut parents = MadeDirectories::default();
        for turn in 0..made {
            let next = self.lock().initial_file(files, turn);
            let Some(live) = next else { break };
            if plan.tree.is_some() && !parents.make(io, &path(&plan, &live))? {
                self.counted.is_full = true;
                return Ok(false);
            }
            if !self.perform(io, &plan, &Operation::birth(files, live))? {
                if !self.lock().model().deletes(files) {
                    self.counted.is_full = true;
                    return Ok(false);
                }
                // The operations keep those that have found space.
                self.lock().forget_from(files, turn);
                self.remove(io, &plan, &live)?;
                self.counted.short_of_space += 1;
                self.step.answers.push(SpaceAnswer::Short(turn as u64));
                break;
            }
        }
        Ok(true)
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
        operation: &Operation,
    ) -> Result<bool, Stop> {
        // Space that writing back needs may be missing only at an fsync or a rename.
        let outcome = self.carry_out(io, plan, operation).unless_full()?;
        let is_done = matches!(outcome, Ok(WriteOutcome::All));
        self.counted.operations += u64::from(is_done);
        Ok(is_done)
    }

    /// Reads the reported use, if the run keeps a level.
    fn hold(&mut self, io: &mut dyn Io) -> Result<(), Stop> {
        if self.lock().model().hold_full.is_some() {
            let room = io.room(ROOT_DIR)?;
            let used_bytes = room.capacity_bytes.saturating_sub(room.free_bytes);
            let (number, all_bytes) = (self.step.drawn, room.capacity_bytes);
            self.step.answers.push(SpaceAnswer::Used(number, used_bytes, all_bytes));
            self.lock().hold(used_bytes, all_bytes);
        }
        Ok(())
    }

    /// Deletes files after an operation that found no space; false if that does not help.
    fn make_room(
        &mut self,
        io: &mut dyn Io,
        plans: &[FilesPlan],
        failed: &Operation,
    ) -> Result<bool, Stop> {
        if self.ends_full {
            return Ok(false);
        }
        self.step.answers.push(SpaceAnswer::Short(self.step.drawn));
        let gone = self.lock().make_room(failed);
        if gone.len() < 2 {
            return Ok(false);
        }
        self.counted.short_of_space += 1;
        for (files, live) in gone {
            self.emptied(files, &live);
            self.remove(io, &plans[files], &live)?;
            self.counted.deleted_for_space += 1;
        }
        // A filesystem may give back the space of deleted files only with the next commit.
        self.commit(io)?;
        Ok(true)
    }

    /// Syncs the filesystem. Data that find no space then are lost, which is counted.
    fn commit(&mut self, io: &mut dyn Io) -> Result<(), Stop> {
        let is_short = io.sync(SyncScope::Target).unless_full()?.is_err();
        self.counted.short_of_space += u64::from(is_short);
        Ok(())
    }

    /// Removes a file or unit, even if incomplete. If a full filesystem has no space to remove it,
    /// a commit comes first.
    fn remove(&mut self, io: &mut dyn Io, plan: &FilesPlan, live: &LiveFile) -> Result<(), Stop> {
        let path = path(plan, live);
        let Some(count) = live.files else {
            remove_file(io, &c_string(path))?;
            let (directory, name) = (directory_path(plan, live.directory), live.id);
            return match plan.tree {
                Some(_) => Ok(()),
                None => remove_file(io, &c_string(format!("{directory}/t{name}"))),
            };
        };
        for number in 0..count {
            remove_file(io, &c_string(format!("{path}/f{number}")))?;
        }
        io.open_dir(ROOT_DIR, &c_string(directory_path(plan, live.directory)), HERE)?;
        let name = c_string(format!("u{}", live.id));
        match io.remove_dir(HERE, &name).or_errno()? {
            Ok(()) | Err(Errno::NOENT) => Ok(()),
            Err(_) => {
                self.commit(io)?;
                io.remove_dir(HERE, &name)
            }
        }
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
                self.replace(io, plan, (operation.files, live), *bytes, fsync)
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
            OperationAction::Punch(live, position, bytes) => {
                punch(io, &name(live), (*position, *bytes), fsync)
            }
            OperationAction::Copy(original, copy) => {
                copy_file(io, (&name(original), &name(copy)), original.bytes, fsync)
            }
            OperationAction::Reflink(original, copy) => {
                reflink(io, (&name(original), &name(copy)), fsync)
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

    /// Writes a file under another name and renames it over the old one.
    fn replace(
        &mut self,
        io: &mut dyn Io,
        plan: &FilesPlan,
        (files, live): (usize, &LiveFile),
        bytes: u64,
        fsync: bool,
    ) -> Result<WriteOutcome, Stop> {
        let (name, other) = (format!("f{}", live.id), format!("t{}", live.id));
        let directory = directory_path(plan, live.directory);
        let temporary = c_string(format!("{directory}/{other}"));
        let data = self.ahead(bytes);
        let wrote = create(io, &temporary, CreateHow::Exclusive, data, fsync)?;
        if matches!(wrote, WriteOutcome::All) {
            self.emptied(files, live);
            io.open_dir(ROOT_DIR, &c_string(directory), HERE)?;
            io.rename(HERE, &c_string(other), HERE, &c_string(name))?;
        }
        Ok(wrote)
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
        let drawn_print = self.lock().fingerprint().number();
        let (ahead, step) = (self.counted, StepRecord { drawn_print, ..self.step.clone() });
        let (earlier, put_back) = (self.earlier.clone(), self.put_back);
        let (refused, foreign) = (self.refused.clone(), self.foreign.clone());
        Counters::from_value(&StepCounters {
            ahead,
            step,
            earlier,
            put_back,
            refused,
            foreign,
            ..StepCounters::default()
        })
    }
}

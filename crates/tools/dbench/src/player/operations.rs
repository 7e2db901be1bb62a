//! Operations of a load. Each returns true if its outcome differs from the recorded one.

use treering_script::{CreateHow, Errno, FileSlot, Io, OpenHow, Stop};

use super::client::words;
use super::handles::OpenedName;
use super::transfer::RecordedTransfer;
use super::{Player, SCAN};
use crate::language::{CreateDisposition, ExpectedOutcome, HandleId, Operation};

/// Bytes of the attribute.
const XATTR_BYTES: u32 = 44;

impl Player {
    /// Does the current operation.
    pub(super) fn operate(&mut self, io: &mut dyn Io, operation: Operation) -> Result<bool, Stop> {
        match operation {
            Operation::Create { name, handle, how, directory } => {
                self.find_name(io, name)?;
                self.create(io, handle, how, directory)
            }
            Operation::Unlink { name } => {
                self.find_name(io, name)?;
                self.remove(io, false)
            }
            Operation::Rmdir { name } => {
                self.find_name(io, name)?;
                self.remove(io, true)
            }
            Operation::Mkdir { name } => {
                self.find_name(io, name)?;
                self.make_dir(io).map(|()| false)
            }
            Operation::Rename { from, to } => {
                self.named = [from, to];
                self.resolve(io, 2)?;
                self.rename(io)
            }
            Operation::QueryPath { name } => self.find_name(io, name).map(|()| false),
            Operation::Find { name, most } => {
                self.find_name(io, name)?;
                self.find(io, most).map(|()| false)
            }
            Operation::Deltree { name } => {
                self.named = [name, name];
                self.deltree(io).map(|()| false)
            }
            Operation::QueryFs => self.query_fs(io),
            Operation::Close { handle } => self.close(io, handle),
            Operation::Flush { handle } => self.flush(io, handle),
            Operation::QueryFile { handle } => self.query_file(io, handle),
            Operation::SetFile { handle } => self.set_file(io, handle),
            Operation::Lock { handle, start, bytes, locks } => {
                self.lock(io, handle, (start, bytes), locks)
            }
            Operation::Read { handle, offset, bytes, moved } => {
                self.read(io, RecordedTransfer { handle, offset, bytes, moved })
            }
            Operation::Write { handle, offset, bytes, moved } => {
                self.write(io, RecordedTransfer { handle, offset, bytes, moved })
            }
            _ => Ok(false),
        }
    }

    fn find_name(&mut self, io: &mut dyn Io, name: u32) -> Result<(), Stop> {
        self.named = [name, name];
        self.resolve(io, 1)
    }

    /// True if a call can be skipped since it would change nothing; only with `--stat-check`.
    fn can_skip(&self, already: bool) -> bool {
        self.plan.stat_check && already
    }

    fn create(
        &mut self,
        io: &mut dyn Io,
        handle: HandleId,
        how: CreateDisposition,
        directory: bool,
    ) -> Result<bool, Stop> {
        if directory {
            self.make_dir(io)?;
        }
        let Some(file) = self.client().handles.free() else {
            let name = self.shown(0);
            self.fail(format!("file table full for {name}"));
            return Ok(true);
        };
        if let Some(errno) = self.lost[0] {
            return Ok(self.not_opened(handle, errno));
        }
        let (at, name) = (self.at[0], self.name(0));
        let mut is_dir = directory;
        let mut opened = match how {
            _ if directory => io.open(at, name, OpenHow::Directory, file),
            CreateDisposition::Create if !self.can_skip(self.found[0]) => {
                io.create(at, name, CreateHow::OrOpen, file)
            }
            CreateDisposition::Open | CreateDisposition::Create => {
                io.open(at, name, OpenHow::ReadWrite, file)
            }
            CreateDisposition::Overwrite => io.create(at, name, CreateHow::TruncateToRead, file),
        };
        let mut answer = self.outcome_of(io, opened)?;
        if !directory && answer == Err(Errno::ISDIR) {
            is_dir = true;
            opened = io.open(at, self.name(0), OpenHow::Directory, file);
            answer = self.outcome_of(io, opened)?;
        }
        match answer {
            Err(errno) => Ok(self.not_opened(handle, errno)),
            Ok(()) => self.opened(io, handle, file, is_dir),
        }
    }

    fn not_opened(&mut self, handle: HandleId, errno: Errno) -> bool {
        let surprise = self.expected() == ExpectedOutcome::Success;
        if surprise {
            let (name, why) = (self.shown(0), words(errno));
            let number = self.client().handle_number(handle);
            self.report(format!("open {name} failed for handle {number} ({why})"));
        }
        surprise
    }

    fn opened(
        &mut self,
        io: &mut dyn Io,
        handle: HandleId,
        file: FileSlot,
        is_dir: bool,
    ) -> Result<bool, Stop> {
        if self.expected() == ExpectedOutcome::Failure {
            let (name, number) = (self.shown(0), self.client().handle_number(handle));
            self.report(format!("open {name} succeeded for handle {number}"));
            let closed = io.close(file);
            let _whatever = self.outcome_of(io, closed)?;
            return Ok(true);
        }
        let spot = self.named[0];
        let places = &self.client().places;
        let by = if places.is_drawn(spot) {
            OpenedName::Path(places.path(places.spot(spot)))
        } else {
            OpenedName::Spot(spot)
        };
        self.client().handles.opened(handle, file, by);
        self.stat_file(io, file)?;
        if self.plan.xattr && !is_dir {
            self.get_xattr(io, file)?;
            self.set_xattr(io, file)?;
        }
        Ok(false)
    }

    fn make_dir(&mut self, io: &mut dyn Io) -> Result<(), Stop> {
        if self.lost[0].is_none() && !self.can_skip(self.found[0]) {
            let made = io.make_dir(self.at[0], self.name(0));
            let _whatever = self.outcome_of(io, made)?;
        }
        Ok(())
    }

    /// Removes a file or directory; the outcome must match the load.
    fn remove(&mut self, io: &mut dyn Io, directory: bool) -> Result<bool, Stop> {
        if directory && self.lost[0].is_none() && self.can_skip(!self.found[0]) {
            self.lost[0] = Some(Errno::NOENT);
        }
        let failed = match self.lost[0] {
            Some(errno) => Some(errno),
            None => {
                let (at, name) = (self.at[0], self.name(0));
                let removed = if directory { io.remove_dir(at, name) } else { io.unlink(at, name) };
                self.outcome_of(io, removed)?.err()
            }
        };
        if failed.is_none() {
            let spot = self.named[0];
            self.client().places.moved(spot);
        }
        let (verb, name) = (if directory { "rmdir" } else { "unlink" }, self.shown(0));
        if self.require(failed, &format!("{verb} {name}")) {
            return Ok(true);
        }
        self.sync_parent(io, 0)
    }

    fn rename(&mut self, io: &mut dyn Io) -> Result<bool, Stop> {
        let mut failed = self.lost[0].or(self.lost[1]);
        if self.can_skip(!self.found[0]) {
            failed = Some(Errno::NOENT);
        }
        if failed.is_none() {
            let [at, to_at] = self.at;
            let renamed = io.rename(at, self.name(0), to_at, self.name(1));
            failed = self.outcome_of(io, renamed)?.err();
        }
        if failed.is_none() {
            let [from, to] = self.named;
            self.client().places.moved(from);
            self.client().places.moved(to);
        }
        let operation = format!("rename {} {}", self.shown(0), self.shown(1));
        if self.require(failed, &operation) {
            return Ok(true);
        }
        self.sync_parent(io, 1)
    }

    /// Checks an operation whose outcome must match the load; on a mismatch the client gives up and
    /// the result is true.
    fn require(&mut self, failed: Option<Errno>, action: &str) -> bool {
        let right = match self.expected() {
            ExpectedOutcome::Either => true,
            ExpectedOutcome::Success => failed.is_none(),
            ExpectedOutcome::Failure => failed.is_some(),
        };
        if !right {
            let status = self.clients[self.present].load.status(&self.op).text.clone();
            let came = match failed {
                Some(errno) => format!("failed ({})", words(errno)),
                None => "succeeded".to_owned(),
            };
            self.fail(format!("{action} {came} - expected {status}"));
        }
        !right
    }

    /// Syncs the directory of a name if `--sync-dir` is set.
    fn sync_parent(&mut self, io: &mut dyn Io, which: usize) -> Result<bool, Stop> {
        if !self.plan.sync_dir || self.lost[which].is_some() {
            return Ok(false);
        }
        if let Err(errno) = self.open_parent(io, which)? {
            let (name, why) = (self.shown(which), words(errno));
            self.report(format!("open directory of {name} for sync failed: {why}"));
            return Ok(true);
        }
        let synced = io.sync_dir(SCAN, true);
        let synced = self.outcome_of(io, synced)?;
        if let Err(errno) = synced {
            let (name, why) = (self.shown(which), words(errno));
            self.report(format!("datasync directory of {name} failed: {why}"));
        }
        let closed = io.close_dir(SCAN);
        let _whatever = self.outcome_of(io, closed)?;
        Ok(synced.is_err())
    }

    /// Reads the directory of a pattern, up to `most` entries.
    fn find(&mut self, io: &mut dyn Io, most: u32) -> Result<(), Stop> {
        let is_pattern = self.name(0).to_bytes().iter().any(|byte| b"<>*?\"".contains(byte));
        if self.lost[0].is_some() || !is_pattern || self.open_parent(io, 0)?.is_err() {
            return Ok(());
        }
        // The directory itself and the one above it come first.
        let mut entries = 2usize;
        loop {
            let batch = io.read_dir(SCAN).map(Iterator::count);
            let batch = self.outcome_of(io, batch)?.unwrap_or(0);
            entries = entries.saturating_add(batch);
            if batch == 0 || entries >= most as usize {
                break;
            }
        }
        let closed = io.close_dir(SCAN);
        let _whatever = self.outcome_of(io, closed)?;
        Ok(())
    }

    fn query_fs(&mut self, io: &mut dyn Io) -> Result<bool, Stop> {
        // Below a directory of our own it may never have been opened.
        let (dir, _reached) = self.reach(io, 0)?;
        let room = io.room(dir);
        Ok(self.outcome_of(io, room)?.is_err())
    }

    /// Open file of a handle; a missing one is reported.
    pub(super) fn file_of(&mut self, handle: HandleId) -> Option<FileSlot> {
        let file = self.client().handles.file(handle);
        if file.is_none() {
            let number = self.client().handle_number(handle);
            self.report(format!("handle {number} was not found"));
        }
        file
    }

    fn close(&mut self, io: &mut dyn Io, handle: HandleId) -> Result<bool, Stop> {
        let Some(file) = self.file_of(handle) else { return Ok(true) };
        self.client().handles.closed(file);
        let closed = io.close(file);
        Ok(self.outcome_of(io, closed)?.is_err())
    }

    fn flush(&mut self, io: &mut dyn Io, handle: HandleId) -> Result<bool, Stop> {
        let Some(file) = self.file_of(handle) else { return Ok(true) };
        let synced = io.fsync(file);
        let answer = self.outcome_of(io, synced)?;
        Ok(self.has_failed("fsync", handle, answer))
    }

    fn lock(
        &mut self,
        io: &mut dyn Io,
        handle: HandleId,
        (start, bytes): (u32, u32),
        locks: bool,
    ) -> Result<bool, Stop> {
        let Some(file) = self.file_of(handle) else { return Ok(true) };
        let locked = io.lock(file, start.into(), bytes.into(), locks);
        let answer = self.outcome_of(io, locked)?;
        Ok(self.has_failed(if locks { "lock" } else { "unlock" }, handle, answer))
    }

    /// True if the operation on a handle failed; the failure is reported.
    fn has_failed(&mut self, action: &str, handle: HandleId, answer: Result<(), Errno>) -> bool {
        if let Err(errno) = answer {
            let number = self.client().handle_number(handle);
            self.report(format!("{action} failed on handle {number} ({})", words(errno)));
        }
        answer.is_err()
    }

    fn query_file(&mut self, io: &mut dyn Io, handle: HandleId) -> Result<bool, Stop> {
        let Some(file) = self.file_of(handle) else { return Ok(true) };
        self.stat_file(io, file)?;
        if self.plan.xattr {
            self.get_xattr(io, file)?;
        }
        Ok(false)
    }

    fn set_file(&mut self, io: &mut dyn Io, handle: HandleId) -> Result<bool, Stop> {
        let Some(file) = self.file_of(handle) else { return Ok(true) };
        if self.plan.xattr {
            self.get_xattr(io, file)?;
        }
        self.stat_file(io, file)?;
        self.named[0] = match self.client().handles.name(file).cloned() {
            Some(OpenedName::Spot(spot)) => spot,
            Some(OpenedName::Path(path)) => self.client().places.take(0, &path),
            None => return Ok(true),
        };
        let dir = self.spot(0).dir;
        let (at, _reached) = self.reach(io, dir)?;
        if !self.name(0).is_empty() {
            let set = io.set_times(at, self.name(0));
            let _whatever = self.outcome_of(io, set)?;
        }
        if self.plan.xattr {
            self.get_xattr(io, file)?;
            self.set_xattr(io, file)?;
        }
        Ok(false)
    }

    fn stat_file(&mut self, io: &mut dyn Io, file: FileSlot) -> Result<(), Stop> {
        let size = io.file_size(file);
        self.outcome_of(io, size).map(|_whatever| ())
    }

    fn get_xattr(&mut self, io: &mut dyn Io, file: FileSlot) -> Result<(), Stop> {
        let got = io.get_file_xattr(file);
        self.outcome_of(io, got).map(|_whatever| ())
    }

    fn set_xattr(&mut self, io: &mut dyn Io, file: FileSlot) -> Result<(), Stop> {
        let value = self.xattr_value();
        let set = io.set_file_xattr(file, XATTR_BYTES, value);
        self.outcome_of(io, set).map(|_whatever| ())
    }
}

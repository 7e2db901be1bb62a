//! The operations, call by call, once their names are looked for.

use treering_script::{CreateHow, OpenHow};

use super::client::words;
use super::doing::Doing;
use super::handles::OpenedBy;
use super::{Heard, Player, SCAN, Stage};
use crate::dbench::loadfile::{Deed, Disposition, Expected, HandleId};

/// `EISDIR`.
const IS_DIRECTORY: i32 = 21;

impl Player {
    /// The first call of an operation, or the one after `act` others.
    pub(super) fn act(&mut self, act: u8) -> Option<Doing> {
        match self.deed {
            Deed::Create { handle, how, directory, .. } => self.create(act, handle, how, directory),
            Deed::Rename { .. } => self.rename(act),
            Deed::Unlink { .. } => self.remove(act, "unlink", false),
            Deed::Rmdir { .. } => self.remove(act, "rmdir", true),
            Deed::Mkdir { .. } => self.make_dir(act),
            Deed::Find { most, .. } => self.find(act, most),
            Deed::QueryPath { .. } => self.over(false),
            Deed::QueryFs => match act {
                0 => self.query_fs(),
                _ => self.over(self.heard.errno().is_some()),
            },
            Deed::Close { handle } => self.close(act, handle),
            Deed::Flush { handle } => self.flush(act, handle),
            Deed::QueryFile { handle } => self.query_file(act, handle),
            Deed::SetFile { handle } => self.set_file(act, handle),
            Deed::Lock { handle, start, bytes, locks } => {
                self.lock(act, handle, start, bytes, locks)
            }
            Deed::Read { handle, offset, bytes, moved } => {
                self.read(act, handle, offset, bytes, moved)
            }
            Deed::Write { handle, offset, bytes, moved } => {
                self.write(act, handle, offset, bytes, moved)
            }
            _ => self.over(false),
        }
    }

    /// The next call of the operation is the one with this number.
    #[expect(clippy::unnecessary_wraps, reason = "what an operation does next is a call or none")]
    fn then(&mut self, act: u8, doing: Doing) -> Option<Doing> {
        self.stage = Stage::Act(act);
        Some(doing)
    }

    /// The operation is over.
    fn over(&mut self, surprise: bool) -> Option<Doing> {
        self.finish(surprise);
        None
    }

    /// The present name could not be reached, or the last call failed.
    fn failed(&self, which: usize) -> Option<i32> {
        self.lost[which].or(self.heard.errno())
    }

    fn create(
        &mut self,
        act: u8,
        handle: HandleId,
        how: Disposition,
        directory: bool,
    ) -> Option<Doing> {
        let at = self.at[0];
        match act {
            0 if directory && self.lost[0].is_none() && !self.pointless(self.found[0]) => {
                self.then(1, Doing::MakeDir(at, 0))
            }
            0 | 1 => {
                self.heard = Heard::Done(0);
                let Some(file) = self.client().handles.free() else {
                    let name = self.shown(0);
                    self.give_up(format!("file table full for {name}"));
                    return self.over(true);
                };
                self.file = file;
                if self.lost[0].is_some() {
                    return self.not_opened(handle);
                }
                if directory {
                    return self.then(4, Doing::Open(at, OpenHow::Directory, file));
                }
                let doing = match how {
                    Disposition::Create if !self.pointless(self.found[0]) => {
                        Doing::Create(at, CreateHow::OrOpen, file)
                    }
                    Disposition::Open | Disposition::Create => {
                        Doing::Open(at, OpenHow::ReadWrite, file)
                    }
                    Disposition::Overwrite => Doing::Create(at, CreateHow::TruncateToRead, file),
                };
                self.then(3, doing)
            }
            3 if self.heard.errno() == Some(IS_DIRECTORY) => {
                self.then(4, Doing::Open(at, OpenHow::Directory, self.file))
            }
            3 | 4 if self.heard.errno().is_some() => self.not_opened(handle),
            3 | 4 => self.opened(handle, act == 4),
            5 if self.plan.xattr => self.then(6, Doing::GetFileXattr(self.file)),
            6 => {
                let value = self.xattr_value();
                self.then(8, Doing::SetFileXattr(self.file, value))
            }
            7 => self.over(true),
            _ => self.over(false),
        }
    }

    fn not_opened(&mut self, handle: HandleId) -> Option<Doing> {
        let surprise = self.expected() == Expected::Success;
        if surprise {
            let (name, why) = (self.shown(0), words(self.failed(0).unwrap_or_default()));
            let number = self.client().handle_number(handle);
            self.say(format!("open {name} failed for handle {number} ({why})"));
        }
        self.over(surprise)
    }

    fn opened(&mut self, handle: HandleId, is_dir: bool) -> Option<Doing> {
        if self.expected() == Expected::Failure {
            let (name, number) = (self.shown(0), self.client().handle_number(handle));
            self.say(format!("open {name} succeeded for handle {number}"));
            return self.then(7, Doing::Close(self.file));
        }
        let (spot, file) = (self.named[0], self.file);
        let places = &self.client().places;
        let by = if places.is_drawn(spot) {
            OpenedBy::Path(places.path(places.spot(spot)))
        } else {
            OpenedBy::Spot(spot)
        };
        self.client().handles.opened(handle, file, by);
        self.then(if is_dir { 9 } else { 5 }, Doing::FileStat(file))
    }

    /// Whether a call can be left out since it would change nothing: with `--stat-check` only.
    fn pointless(&self, already: bool) -> bool {
        self.plan.stat_check && already
    }

    fn make_dir(&mut self, act: u8) -> Option<Doing> {
        if act > 0 || self.lost[0].is_some() || self.pointless(self.found[0]) {
            return self.over(false);
        }
        self.then(1, Doing::MakeDir(self.at[0], 0))
    }

    fn remove(&mut self, act: u8, verb: &str, directory: bool) -> Option<Doing> {
        let at = self.at[0];
        match act {
            0 if self.lost[0].is_some() => self.removed(verb),
            0 if directory && self.pointless(!self.found[0]) => {
                self.lost[0] = Some(ENOENT);
                self.removed(verb)
            }
            0 if directory => self.then(1, Doing::RemoveDir(at, 0)),
            0 => self.then(1, Doing::Unlink(at, 0)),
            1 => self.removed(verb),
            _ => self.sync_parent(act, 0),
        }
    }

    /// An unlink or a rmdir must succeed or fail as the load says.
    fn removed(&mut self, verb: &str) -> Option<Doing> {
        let failed = self.failed(0);
        if failed.is_none() {
            let spot = self.named[0];
            self.client().places.moved(spot);
        }
        let name = self.shown(0);
        if self.must(failed, &format!("{verb} {name}")) {
            return self.over(true);
        }
        self.begin_sync(0)
    }

    /// Whether an operation that must come out as recorded did not: then it all ends.
    fn must(&mut self, failed: Option<i32>, what: &str) -> bool {
        let right = match self.expected() {
            Expected::Either => true,
            Expected::Success => failed.is_none(),
            Expected::Failure => failed.is_some(),
        };
        if !right {
            let status = self.clients[self.present].load.status(&self.op).text.clone();
            let came = match failed {
                Some(errno) => format!("failed ({})", words(errno)),
                None => "succeeded".to_owned(),
            };
            self.give_up(format!("{what} {came} - expected {status}"));
        }
        !right
    }

    fn rename(&mut self, act: u8) -> Option<Doing> {
        match act {
            0 => {
                self.lost[0] = self.lost[0].or(self.lost[1]);
                if self.pointless(!self.found[0]) {
                    self.lost[0] = Some(ENOENT);
                }
                if self.lost[0].is_some() {
                    return self.rename(1);
                }
                self.then(1, Doing::Rename(self.at[0], self.at[1]))
            }
            1 => {
                let failed = self.failed(0);
                if failed.is_none() {
                    let (from, to) = (self.named[0], self.named[1]);
                    self.client().places.moved(from);
                    self.client().places.moved(to);
                }
                let what = format!("rename {} {}", self.shown(0), self.shown(1));
                if self.must(failed, &what) {
                    return self.over(true);
                }
                self.begin_sync(1)
            }
            _ => self.sync_parent(act, 1),
        }
    }

    /// With `--sync-dir`, the directory of a name is synced.
    fn begin_sync(&mut self, which: usize) -> Option<Doing> {
        if !self.plan.sync_dir || self.lost[which].is_some() {
            return self.over(false);
        }
        let doing = self.open_parent(which);
        self.then(2, doing)
    }

    fn sync_parent(&mut self, act: u8, which: usize) -> Option<Doing> {
        match (act, self.heard.errno()) {
            (2, None) => self.then(3, Doing::SyncDir(SCAN)),
            (2, Some(errno)) => {
                let (name, why) = (self.shown(which), words(errno));
                self.say(format!("open directory of {name} for sync failed: {why}"));
                self.over(true)
            }
            (3, failed) => {
                self.troubled = failed.is_some();
                if let Some(errno) = failed {
                    let (name, why) = (self.shown(which), words(errno));
                    self.say(format!("datasync directory of {name} failed: {why}"));
                }
                self.then(4, Doing::CloseDir(SCAN))
            }
            _ => self.over(self.troubled),
        }
    }

    fn find(&mut self, act: u8, most: u32) -> Option<Doing> {
        let is_pattern = self.spot(0).name.to_bytes().iter().any(|byte| b"<>*?\"".contains(byte));
        match act {
            0 if self.lost[0].is_some() || !is_pattern => self.over(false),
            0 => {
                // The directory itself and the one above it come first.
                self.entries = 2;
                let doing = self.open_parent(0);
                self.then(1, doing)
            }
            1 if self.heard.errno().is_some() => self.over(false),
            1 => self.then(2, Doing::ReadDir(SCAN)),
            2 => {
                self.entries = self.entries.saturating_add(self.batch);
                let more = self.heard.errno().is_none() && self.batch > 0;
                if more && self.entries < most as usize {
                    return self.then(2, Doing::ReadDir(SCAN));
                }
                self.then(3, Doing::CloseDir(SCAN))
            }
            _ => self.over(false),
        }
    }

    fn query_fs(&mut self) -> Option<Doing> {
        let top = self.client().places.reach(0);
        match top {
            (dir, false) => self.then(1, Doing::Statfs(dir)),
            // Below a directory of our own that was never opened.
            (dir, true) => {
                self.stage = Stage::Act(0);
                Some(Doing::OpenDir(0, dir))
            }
        }
    }

    /// The file of a handle, or an end of the operation.
    pub(super) fn handle(&mut self, handle: HandleId) -> bool {
        let file = self.client().handles.file(handle);
        if let Some(file) = file {
            self.file = file;
            return true;
        }
        let number = self.client().handle_number(handle);
        self.say(format!("handle {number} was not found"));
        self.finish(true);
        false
    }

    fn close(&mut self, act: u8, handle: HandleId) -> Option<Doing> {
        if act > 0 {
            return self.over(self.heard.errno().is_some());
        }
        if !self.handle(handle) {
            return None;
        }
        let file = self.file;
        self.client().handles.closed(file);
        self.then(1, Doing::Close(file))
    }

    fn flush(&mut self, act: u8, handle: HandleId) -> Option<Doing> {
        if act > 0 {
            return self.told("fsync", handle);
        }
        if !self.handle(handle) {
            return None;
        }
        self.then(1, Doing::Fsync(self.file))
    }

    /// Ends an operation on a handle, and says why it failed.
    fn told(&mut self, what: &str, handle: HandleId) -> Option<Doing> {
        let failed = self.heard.errno();
        if let Some(errno) = failed {
            let number = self.client().handle_number(handle);
            self.say(format!("{what} failed on handle {number} ({})", words(errno)));
        }
        self.over(failed.is_some())
    }

    fn query_file(&mut self, act: u8, handle: HandleId) -> Option<Doing> {
        match act {
            0 if !self.handle(handle) => None,
            0 => self.then(1, Doing::FileStat(self.file)),
            1 if self.plan.xattr => self.then(2, Doing::GetFileXattr(self.file)),
            _ => self.over(false),
        }
    }

    fn set_file(&mut self, act: u8, handle: HandleId) -> Option<Doing> {
        match act {
            0 if !self.handle(handle) => None,
            0 if self.plan.xattr => self.then(1, Doing::GetFileXattr(self.file)),
            0 | 1 => self.then(2, Doing::FileStat(self.file)),
            2 => {
                let file = self.file;
                let by = self.client().handles.name(file).cloned();
                self.named[0] = match by {
                    Some(OpenedBy::Spot(spot)) => spot,
                    Some(OpenedBy::Path(path)) => self.client().places.take(0, &path),
                    None => return self.over(true),
                };
                let dir = self.spot(0).dir;
                let (slot, opens) = self.client().places.reach(dir);
                self.at[0] = slot;
                if opens {
                    return self.then(3, Doing::OpenDir(dir, slot));
                }
                self.set_file(3, handle)
            }
            3 if self.spot(0).name.is_empty() => self.set_file(4, handle),
            3 => self.then(4, Doing::SetTimes(self.at[0], 0)),
            4 if self.plan.xattr => self.then(5, Doing::GetFileXattr(self.file)),
            5 => {
                let value = self.xattr_value();
                self.then(6, Doing::SetFileXattr(self.file, value))
            }
            _ => self.over(false),
        }
    }

    fn lock(
        &mut self,
        act: u8,
        handle: HandleId,
        start: u32,
        bytes: u32,
        locks: bool,
    ) -> Option<Doing> {
        if act > 0 {
            return self.told(if locks { "lock" } else { "unlock" }, handle);
        }
        if !self.handle(handle) {
            return None;
        }
        self.then(1, Doing::Lock(self.file, start, bytes, locks))
    }
}

/// `ENOENT`.
const ENOENT: i32 = 2;

//! The sequential stat and delete: directory by directory, in the order in which it lists its
//! entries.

use std::ffi::{CStr, CString};

use treering_script::{Call, Dir, Entries, EntryKind, OpenHow, Outcome, Step, Steps, Tolerate};

use super::{Deed, Ground};
use crate::bonnie::io::{FILE, enter};
use crate::bonnie::meter::{Meter, Part, Trouble};
use crate::bonnie::names::subdir_name;
use crate::bonnie::shape::TOP;

/// The slot of the subdirectory that is walked.
const HERE: Dir = Dir(TOP.0 + 1);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Enter,
    Top,
    /// The next directory is opened.
    Open,
    List,
    /// The next entry.
    Entry,
    SyncDir,
    /// The entry's content.
    OpenFile,
    Read,
    CloseFile,
    /// The emptied subdirectory goes.
    RemoveSubdir,
    RemoveTop,
    Sync,
    End,
}

/// The script of one copy.
#[derive(Debug)]
pub(in crate::bonnie) struct Walk {
    ground: Ground,
    deed: Deed,
    stage: Stage,
    subdir: u32,
    subdir_name: CString,
    /// Names of the present batch, each closed by a NUL, and where the next one begins.
    names: Vec<u8>,
    next: usize,
    /// Where the present one begins.
    present: usize,
    /// Bytes of the present file, and how many were read.
    bytes: u64,
    read: u64,
    /// Whether anything was removed since the directory was opened.
    progressed: bool,
    ends_with_sync: bool,
    meter: Meter,
}

impl Walk {
    /// Looks at all files, or removes them and their directories.
    pub(in crate::bonnie) fn new(ground: Ground, deed: Deed) -> Self {
        let meter = Meter::new(u64::from(ground.files.count), ground.all_timed);
        Self {
            ground,
            deed,
            stage: Stage::Enter,
            subdir: 0,
            subdir_name: CString::default(),
            names: Vec::new(),
            next: 0,
            present: 0,
            bytes: 0,
            read: 0,
            progressed: false,
            ends_with_sync: deed.removes(),
            meter,
        }
    }

    /// The same, without the sync at the end.
    pub(in crate::bonnie) fn unsynced(self) -> Self {
        Self { ends_with_sync: false, ..self }
    }

    fn has_subdirs(&self) -> bool {
        self.ground.files.subdirs() > 0
    }

    /// The directory that is walked.
    fn here(&self) -> Dir {
        if self.has_subdirs() { HERE } else { TOP }
    }

    fn name(&self, from: usize) -> &CStr {
        let bytes = self.names.get(from..).unwrap_or_default();
        CStr::from_bytes_until_nul(bytes).unwrap_or(c"")
    }

    /// Takes a batch of entries over.
    fn take(&mut self, entries: &Entries<'_>) {
        self.names.clear();
        self.next = 0;
        // What we made are files and links.
        let files = entries.clone().filter(|entry| entry.kind != EntryKind::Directory);
        files.for_each(|entry| self.names.extend_from_slice(entry.name.to_bytes_with_nul()));
        self.stage = if !entries.is_empty() {
            Stage::Entry
        } else if self.deed.removes() {
            if self.has_subdirs() { Stage::RemoveSubdir } else { Stage::RemoveTop }
        } else {
            self.next_subdir()
        };
    }

    /// A directory is done.
    fn next_subdir(&mut self) -> Stage {
        self.subdir += 1;
        if self.subdir < self.ground.files.subdirs() {
            Stage::Open
        } else if self.deed.removes() {
            Stage::RemoveTop
        } else {
            Stage::End
        }
    }

    fn hear(&mut self, last: &Outcome<'_>) {
        match (self.stage, last) {
            (Stage::List, Outcome::Entries(entries)) => self.take(entries),
            (Stage::OpenFile, Outcome::Size(bytes)) => {
                self.bytes = *bytes;
                self.read = 0;
            }
            (Stage::Read, Outcome::Bytes(bytes)) => {
                self.read += bytes;
                if *bytes == 0 {
                    self.meter.trouble = Trouble::ShortRead;
                }
                if self.read >= self.bytes || *bytes == 0 {
                    self.stage = Stage::CloseFile;
                }
            }
            // Some filesystems leave entries out of a listing while others go.
            (_, Outcome::Failed(_)) if self.progressed => self.stage = Stage::Open,
            (_, Outcome::Failed(_)) => {
                self.meter.trouble = Trouble::NotEmpty;
                self.stage = Stage::End;
            }
            (Stage::RemoveSubdir, _) => {
                self.progressed = false;
                self.stage = self.next_subdir();
            }
            (Stage::RemoveTop, _) => self.stage = Stage::Sync,
            _ => {}
        }
    }

    /// Opens the directory of all files.
    fn open_top(&mut self) -> Call<'_> {
        self.progressed = false;
        self.stage = if self.has_subdirs() { Stage::Open } else { Stage::List };
        let (at, path) = (self.ground.home.dir(), self.ground.home.name.as_c_str());
        Call::OpenDir { at, path, into: TOP }
    }

    /// Opens the present subdirectory.
    fn open_subdir(&mut self) -> Call<'_> {
        self.meter.step(Part::Outside);
        self.progressed = false;
        self.stage = Stage::List;
        self.subdir_name = subdir_name(self.subdir);
        Call::OpenDir { at: TOP, path: &self.subdir_name, into: HERE }
    }

    /// What is done to the present entry first.
    fn entry(&mut self) -> Step<'_> {
        self.present = self.next;
        self.next += self.name(self.present).to_bytes_with_nul().len();
        let at = self.here();
        match self.deed {
            Deed::Delete => {
                let syncs = self.ground.syncs();
                self.meter.step(if syncs { Part::First } else { Part::Only });
                self.progressed = true;
                if syncs {
                    self.stage = Stage::SyncDir;
                }
                Call::Unlink { at, path: self.name(self.present) }.into()
            }
            Deed::Stat if self.ground.has_content() => {
                self.meter.step(Part::First);
                self.stage = Stage::OpenFile;
                Call::Size { at, name: self.name(self.present) }.into()
            }
            Deed::Stat => {
                self.meter.step(Part::Only);
                Call::Stat { at, name: self.name(self.present) }.into()
            }
        }
    }

    /// A directory that may turn out not to be empty goes.
    fn remove<'s>(at: Dir, name: &'s CStr) -> Step<'s> {
        Step { call: Call::RemoveDir { at, name }, tolerate: Tolerate::Anything }
    }
}

impl Steps for Walk {
    fn next<'s>(&'s mut self, last: Outcome<'_>) -> Option<Step<'s>> {
        self.hear(&last);
        if self.stage == Stage::Enter {
            self.stage = Stage::Top;
            if self.ground.home.root.is_some() {
                return enter(&self.ground.home);
            }
        }
        if self.stage == Stage::Open && !self.has_subdirs() {
            // The directory itself is listed from its beginning.
            self.stage = Stage::Top;
        }
        if self.stage == Stage::Entry && self.next >= self.names.len() {
            self.stage = Stage::List;
        }
        let call = match self.stage {
            Stage::Enter | Stage::Top => self.open_top(),
            Stage::Open => self.open_subdir(),
            Stage::List => {
                self.meter.step(Part::Outside);
                Call::ReadDir { dir: self.here() }
            }
            Stage::Entry => return Some(self.entry()),
            Stage::SyncDir => {
                self.meter.step(Part::Last);
                self.stage = Stage::Entry;
                Call::SyncDir { dir: self.here(), data_only: false }
            }
            Stage::OpenFile => {
                self.meter.step(Part::Middle);
                self.stage = if self.bytes > 0 { Stage::Read } else { Stage::CloseFile };
                let path = self.name(self.present);
                Call::Open { at: self.here(), path, how: OpenHow::Read, into: FILE }
            }
            Stage::Read => {
                self.meter.step(Part::Middle);
                let left = u32::try_from(self.bytes - self.read).unwrap_or(u32::MAX);
                Call::Read { file: FILE, bytes: left.min(self.ground.files.chunk) }
            }
            Stage::CloseFile => {
                self.meter.step(Part::Last);
                self.stage = Stage::Entry;
                Call::Close { file: FILE }
            }
            Stage::RemoveSubdir => {
                self.meter.step(Part::Outside);
                return Some(Self::remove(TOP, &self.subdir_name));
            }
            Stage::RemoveTop => {
                self.meter.step(Part::Outside);
                return Some(Self::remove(self.ground.home.dir(), &self.ground.home.name));
            }
            Stage::Sync if self.ends_with_sync => {
                self.meter.step(Part::Closing);
                self.stage = Stage::End;
                Call::Sync { scope: self.ground.sync }
            }
            Stage::Sync | Stage::End => return None,
        };
        Some(call.into())
    }

    fn timed(&mut self, began_ns: u64, ended_ns: u64) {
        self.meter.timed(began_ns, ended_ns);
    }

    fn notes(&mut self) -> Vec<u64> {
        self.meter.notes()
    }
}

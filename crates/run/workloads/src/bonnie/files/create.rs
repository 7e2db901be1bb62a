//! Makes the files, or links to the first one.

use std::ffi::CString;

use treering_script::{Call, CreateHow, Dir, Outcome, Step, Steps};

use super::slots::Slots;
use super::{Deed, Ground};
use crate::bonnie::dice::Dice;
use crate::bonnie::io::{FILE, enter};
use crate::bonnie::meter::{Meter, Part};
use crate::bonnie::names::{FileNames, subdir_name};
use crate::bonnie::shape::{FileKind, TOP};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Enter,
    Top,
    /// The next file's subdirectory is opened.
    Subdir,
    Make,
    Write,
    Fsync,
    SyncDir,
    Close,
    Sync,
    End,
}

/// The script of one copy.
#[derive(Debug)]
pub(in crate::bonnie) struct Create {
    ground: Ground,
    names: FileNames,
    sizes: Dice,
    slots: Slots,
    stage: Stage,
    file: u32,
    /// Bytes of the present file, and how many of them are written.
    bytes: u64,
    written: u64,
    /// The name of the first file, to which links are made.
    first: CString,
    subdir: CString,
    /// Whether everything is synced at the end.
    ends_with_sync: bool,
    meter: Meter,
}

impl Create {
    /// Makes the files of the sequential or the random tests.
    pub(in crate::bonnie) fn new(ground: Ground, random: bool) -> Self {
        let mut names = ground.names(random);
        let first = names.name(0).to_owned();
        Self {
            names,
            sizes: ground.source.dice(if random { "random sizes" } else { "sizes" }),
            slots: Slots::default(),
            stage: Stage::Enter,
            file: 0,
            bytes: 0,
            written: 0,
            first,
            subdir: CString::default(),
            ends_with_sync: true,
            meter: Meter::new(u64::from(ground.files.count), ground.all_timed),
            ground,
        }
    }

    /// The same, without the sync at the end.
    pub(in crate::bonnie) fn unsynced(self) -> Self {
        Self { ends_with_sync: false, ..self }
    }

    fn is_link(&self) -> bool {
        self.ground.files.kind != FileKind::Regular && self.file > 0
    }

    fn size(&self) -> u64 {
        let files = &self.ground.files;
        match files.kind {
            FileKind::Regular => {
                let more = (files.max_bytes - files.min_bytes).saturating_add(1);
                files.min_bytes + self.sizes.below(u64::from(self.file), more)
            }
            FileKind::HardLinks | FileKind::SymbolicLinks => 0,
        }
    }

    /// What comes after the content.
    fn after_content(&self) -> Stage {
        match (self.ground.syncs(), self.is_link()) {
            (true, true) => Stage::SyncDir,
            (true, false) => Stage::Fsync,
            (false, true) => self.next_file(),
            (false, false) => Stage::Close,
        }
    }

    /// What comes after a file; it has not been counted yet.
    fn next_file(&self) -> Stage {
        if self.file + 1 < self.ground.files.count { Stage::Subdir } else { Stage::Sync }
    }

    /// The file is done.
    fn count(&mut self) {
        self.file += 1;
    }

    /// Makes the present file.
    fn make(&mut self) -> Step<'_> {
        let at = Slots::dir(self.ground.files.subdir(self.file));
        self.bytes = self.size();
        self.written = 0;
        let after = if self.bytes > 0 { Stage::Write } else { self.after_content() };
        let is_whole = matches!(after, Stage::Subdir | Stage::Sync);
        self.meter.step(if is_whole { Part::Only } else { Part::First });
        self.stage = after;
        let (file, is_link) = (self.file, self.is_link());
        if is_whole {
            self.count();
        }
        let path = self.names.name(file);
        let call = match self.ground.files.kind {
            FileKind::HardLinks if is_link => {
                let from = Slots::dir(self.ground.files.subdir(0));
                Call::Link { at: from, from: &self.first, to_at: at, to: path }
            }
            FileKind::SymbolicLinks if is_link => {
                Call::Symlink { at, name: path, target: &self.first }
            }
            _ => Call::Create { at, path, how: CreateHow::Exclusive, into: FILE },
        };
        call.into()
    }

    /// The next piece of the content.
    fn write(&mut self) -> Call<'static> {
        self.meter.step(Part::Middle);
        let left = u32::try_from(self.bytes - self.written).unwrap_or(u32::MAX);
        let (bytes, position) = (left.min(self.ground.files.chunk), self.written);
        self.written += u64::from(bytes);
        if self.written >= self.bytes {
            self.stage = self.after_content();
        }
        Call::Write { file: FILE, bytes, position }
    }
}

impl Steps for Create {
    fn next<'s>(&'s mut self, _last: Outcome<'_>) -> Option<Step<'s>> {
        if self.stage == Stage::Enter {
            self.stage = Stage::Top;
            if self.ground.home.root.is_some() {
                return enter(&self.ground.home);
            }
        }
        if self.stage == Stage::Subdir {
            self.stage = Stage::Make;
            if let Some(subdir) = self.ground.files.subdir(self.file)
                && self.slots.opens(subdir)
            {
                self.meter.step(Part::Outside);
                self.subdir = subdir_name(subdir);
                let into = Slots::dir(Some(subdir));
                return Some(Call::OpenDir { at: TOP, path: &self.subdir, into }.into());
            }
        }
        let call = match self.stage {
            Stage::Enter | Stage::Top => {
                self.stage = Stage::Subdir;
                let (at, path) = (self.ground.home.dir(), self.ground.home.name.as_c_str());
                Call::OpenDir { at, path, into: TOP }
            }
            Stage::Subdir | Stage::Make => return Some(self.make()),
            Stage::Write => self.write(),
            Stage::Fsync => {
                self.meter.step(Part::Middle);
                self.stage = Stage::SyncDir;
                Call::Fsync { file: FILE }
            }
            Stage::SyncDir => {
                let dir: Dir = Slots::dir(self.ground.files.subdir(self.file));
                if self.is_link() {
                    self.meter.step(Part::Last);
                    self.stage = self.next_file();
                    self.count();
                } else {
                    self.meter.step(Part::Middle);
                    self.stage = Stage::Close;
                }
                Call::SyncDir { dir, data_only: false }
            }
            Stage::Close => {
                self.meter.step(Part::Last);
                self.stage = self.next_file();
                self.count();
                Call::Close { file: FILE }
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

impl Deed {
    /// Whether the deed takes the files away.
    pub(super) fn removes(self) -> bool {
        self == Self::Delete
    }
}

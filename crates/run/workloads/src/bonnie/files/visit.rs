//! The random stat and delete: every file by its name, in an order that was shuffled before.

use std::ffi::CString;

use treering_script::{Call, OpenHow, Outcome, Step, Steps};

use super::slots::Slots;
use super::{Deed, Ground};
use crate::bonnie::dice::shuffle;
use crate::bonnie::io::{FILE, enter};
use crate::bonnie::meter::{Meter, Part, Trouble};
use crate::bonnie::names::{FileNames, subdir_name};
use crate::bonnie::shape::TOP;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Enter,
    Top,
    /// The next file's subdirectory is opened.
    Subdir,
    Visit,
    SyncDir,
    Open,
    Read,
    Close,
    RemoveDirs,
    Sync,
    End,
}

/// The script of one copy.
#[derive(Debug)]
pub(in crate::bonnie) struct Visit {
    ground: Ground,
    deed: Deed,
    names: FileNames,
    order: Vec<u32>,
    slots: Slots,
    stage: Stage,
    /// How many were visited.
    visited: usize,
    bytes: u64,
    read: u64,
    /// Subdirectories that were removed.
    removed: u32,
    subdir: CString,
    meter: Meter,
}

impl Visit {
    /// Looks at all files, or removes them and their directories.
    pub(in crate::bonnie) fn new(ground: Ground, deed: Deed) -> Self {
        let mut order: Vec<u32> = (0..ground.files.count).collect();
        let dice = ground.source.dice(if deed.removes() { "order of deletes" } else { "order" });
        shuffle(&mut order, &dice);
        let meter = Meter::new(u64::from(ground.files.count), ground.all_timed);
        Self {
            names: ground.names(true),
            order,
            slots: Slots::default(),
            stage: Stage::Enter,
            visited: 0,
            bytes: 0,
            read: 0,
            removed: 0,
            subdir: CString::default(),
            meter,
            ground,
            deed,
        }
    }

    /// The present file, and its subdirectory.
    fn present(&self) -> (u32, Option<u32>) {
        let file = self.order.get(self.visited).copied().unwrap_or(0);
        (file, self.ground.files.subdir(file))
    }

    /// What comes after a file.
    fn next_file(&mut self) {
        self.visited += 1;
        self.stage = if self.visited < self.order.len() {
            Stage::Subdir
        } else if self.deed.removes() {
            Stage::RemoveDirs
        } else {
            Stage::End
        };
    }

    fn visit(&mut self) -> Step<'_> {
        let (file, subdir) = self.present();
        let at = Slots::dir(subdir);
        let syncs = self.ground.syncs();
        match self.deed {
            Deed::Delete => {
                if syncs {
                    self.stage = Stage::SyncDir;
                } else {
                    self.next_file();
                }
                self.meter.step(if syncs { Part::First } else { Part::Only });
                Call::Unlink { at, path: self.names.name(file) }.into()
            }
            Deed::Stat if self.ground.has_content() => {
                self.stage = Stage::Open;
                self.meter.step(Part::First);
                Call::Size { at, name: self.names.name(file) }.into()
            }
            Deed::Stat => {
                self.next_file();
                self.meter.step(Part::Only);
                Call::Stat { at, name: self.names.name(file) }.into()
            }
        }
    }

    fn hear(&mut self, last: &Outcome<'_>) {
        match (self.stage, last) {
            (Stage::Open, Outcome::Size(bytes)) => {
                self.bytes = *bytes;
                self.read = 0;
            }
            (Stage::Read, Outcome::Bytes(bytes)) => {
                self.read += bytes;
                if *bytes == 0 {
                    self.meter.trouble = Trouble::ShortRead;
                }
                if self.read >= self.bytes || *bytes == 0 {
                    self.stage = Stage::Close;
                }
            }
            _ => {}
        }
    }

    /// The directories go.
    fn remove(&mut self) -> Step<'_> {
        self.meter.step(Part::Outside);
        if self.removed < self.ground.files.subdirs() {
            self.subdir = subdir_name(self.removed);
            self.removed += 1;
            return Call::RemoveDir { at: TOP, name: &self.subdir }.into();
        }
        self.stage = Stage::Sync;
        let home = &self.ground.home;
        Call::RemoveDir { at: home.dir(), name: &home.name }.into()
    }
}

impl Steps for Visit {
    fn next<'s>(&'s mut self, last: Outcome<'_>) -> Option<Step<'s>> {
        self.hear(&last);
        if self.stage == Stage::Enter {
            self.stage = Stage::Top;
            if self.ground.home.root.is_some() {
                return enter(&self.ground.home);
            }
        }
        if self.stage == Stage::Subdir {
            self.stage = Stage::Visit;
            if let Some(subdir) = self.present().1
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
            Stage::Subdir | Stage::Visit => return Some(self.visit()),
            Stage::SyncDir => {
                let dir = Slots::dir(self.present().1);
                self.next_file();
                self.meter.step(Part::Last);
                Call::SyncDir { dir, data_only: false }
            }
            Stage::Open => {
                self.meter.step(Part::Middle);
                self.stage = if self.bytes > 0 { Stage::Read } else { Stage::Close };
                let (file, subdir) = self.present();
                let (at, path) = (Slots::dir(subdir), self.names.name(file));
                Call::Open { at, path, how: OpenHow::Read, into: FILE }
            }
            Stage::Read => {
                self.meter.step(Part::Middle);
                let left = u32::try_from(self.bytes - self.read).unwrap_or(u32::MAX);
                Call::Read { file: FILE, bytes: left.min(self.ground.files.chunk) }
            }
            Stage::Close => {
                self.meter.step(Part::Last);
                self.next_file();
                Call::Close { file: FILE }
            }
            Stage::RemoveDirs => return Some(self.remove()),
            Stage::Sync => {
                self.meter.step(Part::Closing);
                self.stage = Stage::End;
                Call::Sync { scope: self.ground.sync }
            }
            Stage::End => return None,
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

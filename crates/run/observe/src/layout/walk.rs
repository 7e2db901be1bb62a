//! The walk: every directory of a tree, its own files first in the order of its entries, then the
//! directories in it in that order. Nothing is followed, no other mount is entered.
//!
//! A file costs an open, one question for its extents, and a close. No path is kept: of each
//! directory on the way down its descriptor (of the deepest ones only) and the names that are yet
//! to be entered.

use std::ffi::{CStr, CString};
use std::ops::ControlFlow;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use treering_model::LayoutPassed;
use treering_stats::layout::{Extent, MapMeasures, Placement, TreeMeasures};
use treering_sys::{
    Attributes, Confinement, EntryBuffer, Errno, ExtentBuffer, FileExtent, FileType, attributes,
    dir_again, file_extents, open_above, open_subdir, open_to_look, read_numbered_entries,
    rewind_dir,
};

use super::inodes::Inodes;

/// Directories that are held open on the way down; those above are opened again from below.
const OPEN_LEVELS: usize = 128;
/// Names of directories that are kept of one directory; one with more is read once more.
const KEPT_NAMES: usize = 4096;
/// Files beside each other that are drawn together in a sample.
pub(super) const RUN: u64 = 64;
/// Files between two looks at the clock, or at who wants to stop.
const NEWS_EVERY: u64 = 512;

/// What was met besides measured files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Met {
    /// Regular files, each counted once, measured or not.
    pub files: u64,
    /// Directories that were read.
    pub directories: u64,
    /// Further names of files that were met before.
    pub hard_links: u64,
    /// Links, devices, pipes and sockets.
    pub others: u64,
    /// Places where something else is mounted.
    pub mounts: u64,
    /// Files and directories that could not be looked at.
    pub unreadable: u64,
    /// Files that were removed while we looked.
    pub vanished: u64,
}

impl Met {
    /// What was met besides files that could be measured.
    pub(super) fn passed(&self) -> LayoutPassed {
        LayoutPassed {
            hard_links: self.hard_links,
            others: self.others,
            mounts: self.mounts,
            unreadable: self.unreadable,
            vanished: self.vanished,
        }
    }
}

/// Why a walk ended before its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Halt {
    /// Whoever hears of the progress wanted it.
    Stopped,
    /// The kernel does not tell where files lie here.
    NoExtents,
    /// A call failed whose failure is not one of a single file.
    Failed(&'static str, Errno),
}

/// Draws of a sample, from a seed: SplitMix64 by Steele, Lea and Flood (OOPSLA 2014).
#[derive(Clone, Copy, Debug)]
pub(super) struct Draws {
    state: u64,
    /// How large a draw may be at most.
    threshold: u64,
}

impl Draws {
    /// Takes this share of the runs.
    pub(super) fn new(seed: u64, share: f64) -> Self {
        // A cast of a float saturates: a share of 1 takes every run.
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "between 0 and 2^64"
        )]
        let threshold = (share.clamp(0.0, 1.0) * 2.0_f64.powi(64)) as u64;
        Self { state: seed, threshold }
    }

    fn takes(&mut self) -> bool {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) <= self.threshold
    }
}

/// What is done with files.
#[derive(Clone, Copy, Debug)]
pub(super) enum Purpose {
    /// Nothing: they are counted.
    Count,
    /// All are measured.
    Measure,
    /// Some runs of them are measured.
    Sample(Draws),
}

/// Whoever hears how far the walk is; may stop it.
pub(super) type News<'n> = &'n mut dyn FnMut(&Met) -> ControlFlow<()>;

/// A walk and what it found.
pub(super) struct Walk<'w> {
    confinement: Confinement,
    purpose: Purpose,
    news: News<'w>,
    pub(super) met: Met,
    pub(super) tree: TreeMeasures,
    pub(super) map: Option<MapMeasures>,
    inodes: Inodes,
    extents: ExtentBuffer,
    halt: Option<Halt>,
    /// Files that were opened and told their extents.
    told: u64,
    /// Whether the present run is taken, and how many files it has had.
    run: (bool, u64),
    /// Whether all files of the present directory were measured.
    is_whole: bool,
}

/// A directory on the way down.
struct Level {
    /// `None` while it is closed, being far above.
    dir: Option<OwnedFd>,
    id: Attributes,
    /// Names yet to be entered, the next one last.
    pending: Vec<CString>,
    /// Whether more of them are to be read.
    has_more: bool,
}

impl<'w> Walk<'w> {
    pub(super) fn new(
        confinement: Confinement,
        block_bytes: u64,
        purpose: Purpose,
        map: Option<MapMeasures>,
        news: News<'w>,
    ) -> Self {
        Self {
            confinement,
            purpose,
            news,
            met: Met::default(),
            tree: TreeMeasures::new(block_bytes),
            map,
            inodes: Inodes::default(),
            extents: ExtentBuffer::default(),
            halt: None,
            told: 0,
            run: (false, 0),
            is_whole: true,
        }
    }

    /// Walks through everything beneath a directory.
    pub(super) fn go(&mut self, top: BorrowedFd<'_>) -> Result<(), Halt> {
        let mut buffer = EntryBuffer::new(256 << 10);
        let opened = dir_again(top).map_err(|errno| Halt::Failed("open", errno))?;
        let mut levels = vec![self.enter(opened, &mut buffer)?];
        while let Some(level) = levels.last_mut() {
            let Some(name) = next_name(level, &mut buffer) else {
                self.leave(&mut levels);
                continue;
            };
            let Some(dir) = &level.dir else {
                levels.pop();
                continue;
            };
            let below = open_subdir(self.confinement, dir.as_fd(), &name);
            let is_top = levels.len() == 1;
            if is_top && let Some(map) = &mut self.map {
                map.begin_group(&name.to_string_lossy());
            }
            match below {
                Ok(below) => {
                    let below = self.enter(below, &mut buffer)?;
                    levels.push(below);
                    close_one_above(&mut levels);
                }
                Err(Errno::XDEV) => self.met.mounts += 1,
                Err(Errno::NOENT) => self.met.vanished += 1,
                Err(errno @ (Errno::MFILE | Errno::NFILE | Errno::NOMEM)) => {
                    return Err(Halt::Failed("open a directory", errno));
                }
                // Without permission, or not a directory any more.
                Err(_) => self.met.unreadable += 1,
            }
        }
        Ok(())
    }

    /// Goes up; a directory that was closed is opened again, if it still is the one below which we
    /// were.
    fn leave(&mut self, levels: &mut Vec<Level>) {
        let Some(left) = levels.pop() else { return };
        let Some(above) = levels.last_mut() else { return };
        if above.dir.is_some() {
            return;
        }
        let again = left.dir.as_ref().and_then(|dir| open_above(dir.as_fd()).ok());
        let is_it = |dir: &OwnedFd| {
            attributes(dir)
                .is_ok_and(|id| (id.device, id.inode) == (above.id.device, above.id.inode))
        };
        match again.filter(is_it) {
            Some(dir) => above.dir = Some(dir),
            None => {
                // It was moved: what was left of it, and of those above, is out of reach.
                self.met.unreadable +=
                    levels.iter().map(|level| level.pending.len() as u64).sum::<u64>();
                levels.clear();
            }
        }
    }

    /// Looks at the files of a directory.
    fn enter(&mut self, dir: OwnedFd, buffer: &mut EntryBuffer) -> Result<Level, Halt> {
        self.met.directories += 1;
        let id = attributes(&dir).map_err(|errno| Halt::Failed("look at a directory", errno))?;
        let mut level = Level { dir: None, id, pending: Vec::new(), has_more: false };
        self.tree.begin_directory();
        self.is_whole = true;
        self.run = (false, 0);
        loop {
            let mut found = false;
            let listed = read_numbered_entries(dir.as_fd(), buffer, |name, kind, inode| {
                found = true;
                match kind {
                    _ if self.halt.is_some() => {}
                    FileType::RegularFile => self.meet(dir.as_fd(), id.device, name, inode),
                    FileType::Directory => level.note(name),
                    _ => self.met.others += 1,
                }
            });
            if let Some(halt) = self.halt.take() {
                return Err(halt);
            }
            match listed {
                Ok(_) if found => {}
                Ok(_) => break,
                Err(_) => {
                    self.met.unreadable += 1;
                    break;
                }
            }
        }
        self.end_run();
        self.tree.end_directory(self.is_whole);
        level.end_of_files(&dir);
        level.dir = Some(dir);
        Ok(level)
    }

    /// A file: counted, and measured unless it is to be passed over.
    fn meet(&mut self, dir: BorrowedFd<'_>, device: u64, name: &CStr, inode: u64) {
        if !self.inodes.insert(device, inode) {
            self.met.hard_links += 1;
            return;
        }
        self.met.files += 1;
        if self.met.files.is_multiple_of(NEWS_EVERY) && (self.news)(&self.met).is_break() {
            self.halt = Some(Halt::Stopped);
        }
        let is_taken = match &mut self.purpose {
            Purpose::Count => false,
            Purpose::Measure => true,
            Purpose::Sample(draws) => {
                if self.run.1.is_multiple_of(RUN) {
                    if self.run.0 {
                        self.tree.break_off();
                    }
                    self.run.0 = draws.takes();
                }
                self.run.1 += 1;
                self.run.0
            }
        };
        if is_taken {
            self.measure(dir, name);
        } else {
            self.is_whole = false;
        }
    }

    fn end_run(&mut self) {
        if matches!(self.purpose, Purpose::Sample(_)) && self.run.0 {
            self.tree.break_off();
        }
        self.run = (false, 0);
    }

    fn measure(&mut self, dir: BorrowedFd<'_>, name: &CStr) {
        let file = match open_to_look(self.confinement, dir, name) {
            Ok(file) => file,
            Err(errno) => return self.not_opened(errno),
        };
        self.tree.begin_file();
        let (tree, map) = (&mut self.tree, &mut self.map);
        let asked = file_extents(&file, &mut self.extents, |extent| {
            let extent = placed(extent);
            tree.extent(&extent);
            if let Some(map) = map {
                map.extent(&extent);
            }
        });
        match asked {
            Ok(_) => self.told += 1,
            Err(Errno::OPNOTSUPP | Errno::NOTTY) if self.told == 0 => {
                self.halt = Some(Halt::NoExtents);
            }
            Err(_) => {
                self.met.unreadable += 1;
                self.met.files -= 1;
                return;
            }
        }
        self.tree.end_file();
    }

    fn not_opened(&mut self, errno: Errno) {
        self.met.files -= 1;
        self.is_whole = false;
        match errno {
            Errno::NOENT => self.met.vanished += 1,
            Errno::XDEV => self.met.mounts += 1,
            Errno::MFILE | Errno::NFILE | Errno::NOMEM => {
                self.halt = Some(Halt::Failed("open a file", errno));
            }
            _ => self.met.unreadable += 1,
        }
    }
}

impl Level {
    /// Notes the name of a directory, as long as there are not too many.
    fn note(&mut self, name: &CStr) {
        if self.pending.len() >= KEPT_NAMES {
            self.has_more = true;
        } else if !self.has_more {
            self.pending.push(name.to_owned());
        }
    }

    /// All files were met: names are taken from the end, or, where there are too many, read anew.
    fn end_of_files(&mut self, dir: &OwnedFd) {
        if self.has_more {
            self.pending.clear();
            // A directory that cannot be rewound is at its end.
            self.has_more = rewind_dir(dir.as_fd()).is_ok();
        }
        self.pending.reverse();
    }
}

/// The next directory to be entered.
fn next_name(level: &mut Level, buffer: &mut EntryBuffer) -> Option<CString> {
    loop {
        if let Some(name) = level.pending.pop() {
            return Some(name);
        }
        let dir = level.dir.as_ref().filter(|_| level.has_more)?;
        let (mut found, pending) = (false, &mut level.pending);
        let listed = read_numbered_entries(dir.as_fd(), buffer, |name, kind, _inode| {
            found = true;
            if kind == FileType::Directory {
                pending.push(name.to_owned());
            }
        });
        level.has_more = found && listed.is_ok();
        level.pending.reverse();
    }
}

/// Closes the lowest directory that is too far above, unless it is being read.
fn close_one_above(levels: &mut [Level]) {
    let Some(far) = levels.len().checked_sub(OPEN_LEVELS + 1) else { return };
    if let Some(level) = levels.get_mut(far)
        && !level.has_more
    {
        level.dir = None;
    }
}

/// From the kernel's words to those of the measures.
pub(super) fn placed(extent: &FileExtent) -> Extent {
    let placement = if extent.is_inline() {
        Placement::Inline
    } else if extent.is_placed() {
        Placement::Placed
    } else {
        Placement::Delayed
    };
    Extent {
        logical: extent.logical,
        physical: extent.physical,
        length: extent.length,
        placement,
        unwritten: extent.is_unwritten(),
        shared: extent.is_shared(),
        encoded: extent.is_encoded(),
    }
}

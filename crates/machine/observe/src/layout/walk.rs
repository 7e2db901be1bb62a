//! The walk that measures: every file of a tree costs an open, one question for its extents, and a
//! close.

use std::ffi::CStr;
use std::ops::ControlFlow;
use std::os::fd::BorrowedFd;

use treering_model::LayoutPassed;
use treering_stats::layout::{Draws, Extent, MapMeasures, Placement, TreeMeasures};
use treering_sys::{
    Confinement, Errno, ExtentBuffer, FileExtent, FileType, file_extents, open_to_look,
};

use super::inodes::Inodes;
use super::whole_read::WholeRead;
use crate::tree::{Entry, Passed, Visit, WalkError, traverse};

/// Files beside each other that are drawn together in a sample.
const RUN: u64 = 64;
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

impl From<WalkError> for Halt {
    fn from(WalkError(what, errno): WalkError) -> Self {
        Self::Failed(what, errno)
    }
}

/// What is done with files.
#[derive(Clone, Debug)]
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
    pub(super) read: Option<WholeRead>,
    inodes: Inodes,
    extents: ExtentBuffer,
    /// Files that were opened and reported their extents.
    reported: u64,
    /// Whether the present run is taken, and how many files it has had.
    run: (bool, u64),
    /// Whether all files of the present directory were measured.
    is_whole: bool,
    /// How many directories down we are; the top is the first.
    depth: usize,
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
            read: WholeRead::new(),
            inodes: Inodes::default(),
            extents: ExtentBuffer::default(),
            reported: 0,
            run: (false, 0),
            is_whole: true,
            depth: 0,
        }
    }

    /// Walks through everything beneath a directory.
    pub(super) fn go(&mut self, top: BorrowedFd<'_>) -> Result<(), Halt> {
        traverse(self.confinement, top, self)
    }

    /// Whether a file that is met now is to be measured.
    fn takes(&mut self) -> bool {
        match &mut self.purpose {
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
        }
    }

    fn end_run(&mut self) {
        if matches!(self.purpose, Purpose::Sample(_)) && self.run.0 {
            self.tree.break_off();
        }
        self.run = (false, 0);
    }

    fn measure(&mut self, dir: BorrowedFd<'_>, name: &CStr) -> Result<(), Halt> {
        let file = match open_to_look(self.confinement, dir, name) {
            Ok(file) => file,
            Err(errno) => return self.not_opened(errno),
        };
        self.tree.begin_file();
        let (tree, map, read) = (&mut self.tree, &mut self.map, &mut self.read);
        let asked = file_extents(&file, &mut self.extents, |extent| {
            let extent = placed(extent);
            tree.extent(&extent);
            if let Some(map) = map {
                map.extent(&extent);
            }
            if let Some(read) = read {
                read.extent(&extent);
            }
        });
        match asked {
            Ok(_) => self.reported += 1,
            Err(Errno::OPNOTSUPP | Errno::NOTTY) if self.reported == 0 => {
                return Err(Halt::NoExtents);
            }
            Err(_) => {
                self.met.unreadable += 1;
                self.met.files -= 1;
                return Ok(());
            }
        }
        self.tree.end_file();
        Ok(())
    }

    fn not_opened(&mut self, errno: Errno) -> Result<(), Halt> {
        self.met.files -= 1;
        self.is_whole = false;
        match errno {
            Errno::NOENT => self.met.vanished += 1,
            Errno::XDEV => self.met.mounts += 1,
            Errno::MFILE | Errno::NFILE | Errno::NOMEM => {
                return Err(Halt::Failed("open a file", errno));
            }
            _ => self.met.unreadable += 1,
        }
        Ok(())
    }
}

impl Visit for Walk<'_> {
    type Halt = Halt;

    fn enter(&mut self, _dir: BorrowedFd<'_>, name: Option<&CStr>) -> Result<(), Halt> {
        self.depth += 1;
        if let (2, Some(name), Some(map)) = (self.depth, name, &mut self.map) {
            map.begin_group(&name.to_string_lossy());
        }
        self.met.directories += 1;
        self.tree.begin_directory();
        self.is_whole = true;
        self.run = (false, 0);
        Ok(())
    }

    /// A file is counted, and measured unless it is to be passed over.
    fn entry(&mut self, entry: &Entry<'_>) -> Result<(), Halt> {
        if entry.kind != FileType::RegularFile {
            self.met.others += 1;
            return Ok(());
        }
        if !self.inodes.insert(entry.device, entry.inode) {
            self.met.hard_links += 1;
            return Ok(());
        }
        self.met.files += 1;
        if self.met.files.is_multiple_of(NEWS_EVERY) && (self.news)(&self.met).is_break() {
            return Err(Halt::Stopped);
        }
        if self.takes() {
            return self.measure(entry.dir, entry.name);
        }
        self.is_whole = false;
        Ok(())
    }

    fn entries_end(&mut self) {
        self.end_run();
        self.tree.end_directory(self.is_whole);
    }

    fn leave(&mut self) -> Result<(), Halt> {
        self.depth = self.depth.saturating_sub(1);
        Ok(())
    }

    fn passed(&mut self, what: Passed, count: u64) {
        match what {
            Passed::Mount => self.met.mounts += count,
            Passed::Vanished => self.met.vanished += count,
            Passed::Unreadable => self.met.unreadable += count,
        }
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

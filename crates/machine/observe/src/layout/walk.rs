//! Measuring walk: each file costs an open, an extent query and a close.

use std::ffi::CStr;
use std::ops::ControlFlow;
use std::os::fd::BorrowedFd;

use treering_model::SkippedEntries;
use treering_stats::layout::{Extent, ExtentPlacement, MapMeasures, SampleDraws, TreeMeasures};
use treering_sys::{
    Confinement, Errno, ExtentBuffer, FileExtent, FileType, file_extents, open_to_look,
};

use super::inodes::InodeSet;
use super::structure::StructureWalk;
use super::whole_read::WholeRead;
use crate::tree::{SkipReason, TreeEntry, TreeVisitor, WalkError, traverse};

/// Length of a run of neighbouring files that are sampled together.
const RUN: u64 = 64;
/// Files between two calls of the progress callback.
const NEWS_EVERY: u64 = 512;

/// Entries met by the walk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WalkCounts {
    /// Regular files, each counted once, measured or not.
    pub files: u64,
    /// Directories read.
    pub directories: u64,
    /// Further hard links to files already counted.
    pub hard_links: u64,
    /// Symbolic links, device nodes, pipes and sockets.
    pub other_entries: u64,
    /// Mount points of other filesystems.
    pub mounts: u64,
    /// Files and directories that could not be read.
    pub unreadable: u64,
    /// Files removed during the walk.
    pub vanished: u64,
}

impl WalkCounts {
    /// Entries that were not measured.
    pub(super) fn passed(&self) -> SkippedEntries {
        SkippedEntries {
            hard_links: self.hard_links,
            others: self.other_entries,
            mounts: self.mounts,
            unreadable: self.unreadable,
            vanished: self.vanished,
        }
    }
}

/// Reason for an early end of the walk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WalkEnd {
    /// Stopped by the progress callback.
    Stopped,
    /// The filesystem does not report extents.
    NoExtents,
    /// A call failed with an error that does not concern a single file.
    Failed(&'static str, Errno),
}

impl From<WalkError> for WalkEnd {
    fn from(WalkError(action, errno): WalkError) -> Self {
        Self::Failed(action, errno)
    }
}

/// Treatment of files.
#[derive(Clone, Debug)]
pub(super) enum FileTreatment {
    /// Count only.
    Count,
    /// Measure all files.
    Measure,
    /// Measure random runs of files.
    Sample(SampleDraws),
}

/// Progress callback; can stop the walk.
pub(super) type ProgressCallback<'n> = &'n mut dyn FnMut(&WalkCounts) -> ControlFlow<()>;

/// Walk and its results.
pub(super) struct LayoutWalk<'w> {
    confinement: Confinement,
    purpose: FileTreatment,
    progress: ProgressCallback<'w>,
    pub(super) counts: WalkCounts,
    pub(super) tree: TreeMeasures,
    pub(super) map: Option<MapMeasures>,
    pub(super) read: Option<WholeRead>,
    /// Directories and inodes; `None` if files are only counted.
    pub(super) structure: Option<StructureWalk>,
    inodes: InodeSet,
    extents: ExtentBuffer,
    /// Files whose extents were reported.
    reported: u64,
    /// Current run: whether it is measured, and its number of files so far.
    run: (bool, u64),
    /// True while all files of the current directory were measured.
    is_whole: bool,
    /// Depth of the current directory; the top is 1.
    depth: usize,
}

impl<'w> LayoutWalk<'w> {
    pub(super) fn new(
        confinement: Confinement,
        block_bytes: u64,
        purpose: FileTreatment,
        map: Option<MapMeasures>,
        progress: ProgressCallback<'w>,
    ) -> Self {
        Self {
            confinement,
            purpose,
            progress,
            counts: WalkCounts::default(),
            tree: TreeMeasures::new(block_bytes),
            map,
            read: WholeRead::new(),
            structure: None,
            inodes: InodeSet::default(),
            extents: ExtentBuffer::default(),
            reported: 0,
            run: (false, 0),
            is_whole: true,
            depth: 0,
        }
    }

    /// Walks through everything beneath a directory.
    pub(super) fn go(&mut self, top: BorrowedFd<'_>) -> Result<(), WalkEnd> {
        traverse(self.confinement, top, self)
    }

    /// Decides whether to measure the next file.
    fn takes(&mut self) -> bool {
        match &mut self.purpose {
            FileTreatment::Count => false,
            FileTreatment::Measure => true,
            FileTreatment::Sample(draws) => {
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
        if matches!(self.purpose, FileTreatment::Sample(_)) && self.run.0 {
            self.tree.break_off();
        }
        self.run = (false, 0);
    }

    fn measure(&mut self, dir: BorrowedFd<'_>, name: &CStr) -> Result<(), WalkEnd> {
        let file = match open_to_look(self.confinement, dir, name) {
            Ok(file) => file,
            Err(errno) => return self.not_opened(errno),
        };
        self.tree.begin_file();
        let (tree, map, read) = (&mut self.tree, &mut self.map, &mut self.read);
        let structure = &mut self.structure;
        let mut is_first = true;
        let mapped = file_extents(&file, &mut self.extents, |extent| {
            let extent = placed(extent);
            tree.extent(&extent);
            if let Some(structure) = structure
                && extent.placement == ExtentPlacement::Placed
                && std::mem::take(&mut is_first)
            {
                structure.first_block(extent.physical);
            }
            if let Some(map) = map {
                map.extent(&extent);
            }
            if let Some(read) = read {
                read.extent(&extent);
            }
        });
        match mapped {
            Ok(_) => self.reported += 1,
            Err(Errno::OPNOTSUPP | Errno::NOTTY) if self.reported == 0 => {
                return Err(WalkEnd::NoExtents);
            }
            Err(_) => {
                self.counts.unreadable += 1;
                self.counts.files -= 1;
                return Ok(());
            }
        }
        self.tree.end_file();
        Ok(())
    }

    fn not_opened(&mut self, errno: Errno) -> Result<(), WalkEnd> {
        self.counts.files -= 1;
        self.is_whole = false;
        match errno {
            Errno::NOENT => self.counts.vanished += 1,
            Errno::XDEV => self.counts.mounts += 1,
            Errno::MFILE | Errno::NFILE | Errno::NOMEM => {
                return Err(WalkEnd::Failed("open a file", errno));
            }
            _ => self.counts.unreadable += 1,
        }
        Ok(())
    }
}

impl TreeVisitor for LayoutWalk<'_> {
    type Halt = WalkEnd;

    fn enter(&mut self, dir: BorrowedFd<'_>, name: Option<&CStr>) -> Result<(), WalkEnd> {
        self.depth += 1;
        if let (2, Some(name), Some(map)) = (self.depth, name, &mut self.map) {
            map.begin_group(&name.to_string_lossy());
        }
        self.counts.directories += 1;
        self.tree.begin_directory();
        if let Some(structure) = &mut self.structure {
            structure.directory(dir, &mut self.extents);
        }
        self.is_whole = true;
        self.run = (false, 0);
        Ok(())
    }

    /// Counts a file, and measures it unless it is not sampled.
    fn entry(&mut self, entry: &TreeEntry<'_>) -> Result<(), WalkEnd> {
        if entry.kind != FileType::RegularFile {
            self.counts.other_entries += 1;
            return Ok(());
        }
        if !self.inodes.insert(entry.device, entry.inode) {
            self.counts.hard_links += 1;
            return Ok(());
        }
        self.counts.files += 1;
        if let Some(structure) = &mut self.structure {
            structure.file(entry.inode);
        }
        if self.counts.files.is_multiple_of(NEWS_EVERY) && (self.progress)(&self.counts).is_break()
        {
            return Err(WalkEnd::Stopped);
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
        if let Some(structure) = &mut self.structure {
            structure.end_directory();
        }
    }

    fn leave(&mut self) -> Result<(), WalkEnd> {
        self.depth = self.depth.saturating_sub(1);
        Ok(())
    }

    fn passed(&mut self, reason: SkipReason, count: u64) {
        match reason {
            SkipReason::Mount => self.counts.mounts += count,
            SkipReason::Vanished => self.counts.vanished += count,
            SkipReason::Unreadable => self.counts.unreadable += count,
        }
    }
}

/// Converts an extent of the kernel.
pub(super) fn placed(extent: &FileExtent) -> Extent {
    let placement = if extent.is_inline() {
        ExtentPlacement::Inline
    } else if extent.is_placed() {
        ExtentPlacement::Placed
    } else {
        ExtentPlacement::Delayed
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

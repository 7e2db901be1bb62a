//! Stat and delete of all small files, in the order in which directories list their entries, or by
//! name in a shuffled order.

use std::ffi::CStr;

use treering_model::Counters;
use treering_script::{DirEntries, DirSlot, EntryKind, ExpectedErrors, Io, OpenHow, Script, Stop};

use super::TestContext;
use super::slots::SubdirSlots;
use crate::dice::shuffle;
use crate::io::{FILE, piece};
use crate::meter::{TestIrregularity, TestMeter};
use crate::names::subdir_name;
use crate::shape::TOP;

/// Slot of the subdirectory that is listed.
const HERE: DirSlot = DirSlot(TOP.0 + 1);

/// Operation on existing files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FileOperation {
    /// Reads the attributes, and the content if there is any.
    Stat,
    /// Unlinks files, removes directories, and syncs at the end.
    Delete,
    /// Unlinks files and removes directories, without a sync.
    Clear,
}

/// Code of one copy.
#[derive(Debug)]
pub(crate) struct VisitScript {
    context: TestContext,
    operation: FileOperation,
    /// Shuffled order of the files; `None` for directory order.
    order: Option<Vec<u32>>,
    meter: TestMeter,
}

impl VisitScript {
    /// Visit of all files in directory order.
    pub(crate) fn as_listed(context: TestContext, operation: FileOperation) -> Self {
        let meter = TestMeter::new(u64::from(context.files.count), context.all_timed);
        Self { context, operation, order: None, meter }
    }

    /// Visit of all files in random order.
    pub(crate) fn shuffled(context: TestContext, operation: FileOperation) -> Self {
        let part = if operation == FileOperation::Stat { "order" } else { "order of deletes" };
        let mut order: Vec<u32> = (0..context.files.count).collect();
        shuffle(&mut order, &context.source.dice(part));
        Self { order: Some(order), ..Self::as_listed(context, operation) }
    }

    /// True if the operation removes files.
    fn removes(&self) -> bool {
        self.operation != FileOperation::Stat
    }

    /// Applies the operation to one file.
    fn file(&mut self, io: &mut dyn Io, at: DirSlot, name: &CStr) -> Result<(), Stop> {
        match self.operation {
            FileOperation::Stat if self.context.has_content() => return self.read(io, at, name),
            FileOperation::Stat => io.stat(at, name)?,
            FileOperation::Delete | FileOperation::Clear => {
                io.unlink(at, name)?;
                if self.context.syncs() {
                    self.meter.call(io.timed());
                    io.sync_dir(at, false)?;
                }
            }
        }
        self.meter.last(io.timed());
        Ok(())
    }

    /// Stats a file and reads it to its end.
    fn read(&mut self, io: &mut dyn Io, at: DirSlot, name: &CStr) -> Result<(), Stop> {
        let bytes = io.size(at, name)?;
        self.meter.call(io.timed());
        io.open(at, name, OpenHow::Read, FILE)?;
        self.meter.call(io.timed());
        let mut position = 0;
        while position < bytes {
            let read = io.read(FILE, piece(bytes - position, self.context.files.chunk))?;
            self.meter.call(io.timed());
            if read == 0 {
                self.meter.trouble = TestIrregularity::ShortRead;
                break;
            }
            position += read;
        }
        io.close(FILE)?;
        self.meter.last(io.timed());
        Ok(())
    }

    /// Visits all files, directory by directory; false if a directory could not be removed.
    fn all_as_listed(&mut self, io: &mut dyn Io) -> Result<bool, Stop> {
        let home = self.context.home.clone();
        home.enter(io)?;
        let subdirs = self.context.files.subdirs();
        if subdirs == 0 {
            return self.directory(io, home.dir(), &home.name, TOP);
        }
        home.open_top(io)?;
        for subdir in 0..subdirs {
            if !self.directory(io, TOP, &subdir_name(subdir), HERE)? {
                return Ok(false);
            }
        }
        Ok(!self.removes() || io.remove_dir(home.dir(), &home.name).or_errno()?.is_ok())
    }

    /// Visits the files of a directory and removes it after a delete; false if it could not be
    /// removed.
    fn directory(
        &mut self,
        io: &mut dyn Io,
        at: DirSlot,
        name: &CStr,
        dir: DirSlot,
    ) -> Result<bool, Stop> {
        // Some filesystems leave entries out of a listing while others are removed: the directory
        // is opened again until none is found.
        loop {
            io.open_dir(at, name, dir)?;
            let is_present = self.listing(io, dir)?;
            if !self.removes() || io.remove_dir(at, name).or_errno()?.is_ok() {
                return Ok(true);
            }
            if !is_present {
                return Ok(false);
            }
        }
    }

    /// Visits the files that a directory lists; false if there were none.
    fn listing(&mut self, io: &mut dyn Io, dir: DirSlot) -> Result<bool, Stop> {
        let (mut is_present, mut listed) = (false, Vec::new());
        loop {
            listed.clear();
            listed.extend_from_slice(io.read_dir(dir)?.packed());
            if listed.is_empty() {
                return Ok(is_present);
            }
            // Only files and links were made.
            let is_ours = |kind| kind != EntryKind::Directory;
            for entry in DirEntries::new(&listed).filter(|entry| is_ours(entry.kind)) {
                self.file(io, dir, entry.name)?;
                is_present = true;
            }
        }
    }

    /// Visits all files in this order, then removes their directories after a delete.
    fn all_in_order(&mut self, io: &mut dyn Io, order: &[u32]) -> Result<(), Stop> {
        let home = self.context.home.clone();
        home.enter(io)?;
        home.open_top(io)?;
        let (mut slots, mut names) = (SubdirSlots::default(), self.context.names(true));
        for &file in order {
            let at = slots.open(io, self.context.files.subdir(file))?;
            self.file(io, at, names.name(file))?;
        }
        if self.removes() {
            for subdir in 0..self.context.files.subdirs() {
                io.remove_dir(TOP, &subdir_name(subdir))?;
            }
            io.remove_dir(home.dir(), &home.name)?;
        }
        Ok(())
    }
}

impl Script for VisitScript {
    fn run(&mut self, io: &mut dyn Io) -> Result<(), Stop> {
        if let Some(order) = self.order.take() {
            self.all_in_order(io, &order)?;
        } else if !self.all_as_listed(io)? {
            self.meter.trouble = TestIrregularity::NotEmpty;
            return Ok(());
        }
        if self.operation == FileOperation::Delete {
            io.sync(self.context.sync)?;
            self.meter.closing(io.timed());
        }
        Ok(())
    }

    fn counters(&mut self) -> Counters {
        self.meter.counters()
    }
}

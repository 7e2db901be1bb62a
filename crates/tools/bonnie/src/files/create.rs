//! Creates the small files, or links to the first one.

use std::ffi::CString;

use treering_model::Counters;
use treering_script::{CreateHow, DirSlot, Io, Script, Stop};

use super::TestContext;
use super::slots::SubdirSlots;
use crate::asked::FileKind;
use crate::dice::RandomList;
use crate::io::{FILE, piece};
use crate::meter::TestMeter;
use crate::names::FileNames;

/// Code of one copy.
#[derive(Debug)]
pub(crate) struct CreateScript {
    context: TestContext,
    names: FileNames,
    /// Name of the first file, to which links are made.
    first: CString,
    sizes: RandomList,
    /// True if a sync follows the last file.
    ends_with_sync: bool,
    meter: TestMeter,
}

impl CreateScript {
    /// Creation of the files of the sequential or the random tests.
    pub(crate) fn new(context: TestContext, random: bool) -> Self {
        let mut names = context.names(random);
        Self {
            first: names.name(0).to_owned(),
            names,
            sizes: context.source.dice(if random { "random sizes" } else { "sizes" }),
            ends_with_sync: true,
            meter: TestMeter::new(u64::from(context.files.count), context.all_timed),
            context,
        }
    }

    /// Removes the final sync.
    pub(crate) fn unsynced(self) -> Self {
        Self { ends_with_sync: false, ..self }
    }

    fn size(&self, file: u32) -> u64 {
        let files = &self.context.files;
        match files.kind {
            FileKind::Regular => {
                let more = (files.max_bytes - files.min_bytes).saturating_add(1);
                files.min_bytes + self.sizes.below(u64::from(file), more)
            }
            FileKind::HardLinks | FileKind::SymbolicLinks => 0,
        }
    }

    /// Creates a file and writes its content.
    fn make(&mut self, io: &mut dyn Io, at: DirSlot, file: u32) -> Result<(), Stop> {
        io.create(at, self.names.name(file), CreateHow::Exclusive, FILE)?;
        self.meter.call(io.timed());
        let bytes = self.size(file);
        let mut position = 0;
        while position < bytes {
            let piece = piece(bytes - position, self.context.files.chunk);
            io.write(FILE, piece, position)?;
            self.meter.call(io.timed());
            position += u64::from(piece);
        }
        if self.context.syncs() {
            io.fsync(FILE)?;
            self.meter.call(io.timed());
            io.sync_dir(at, false)?;
            self.meter.call(io.timed());
        }
        io.close(FILE)?;
        self.meter.last(io.timed());
        Ok(())
    }

    /// Creates a link to the first file.
    fn link(&mut self, io: &mut dyn Io, at: DirSlot, file: u32) -> Result<(), Stop> {
        let name = self.names.name(file);
        if self.context.files.kind == FileKind::HardLinks {
            io.link(SubdirSlots::dir(self.context.files.subdir(0)), &self.first, at, name)?;
        } else {
            io.symlink(at, name, &self.first)?;
        }
        if self.context.syncs() {
            self.meter.call(io.timed());
            io.sync_dir(at, false)?;
        }
        self.meter.last(io.timed());
        Ok(())
    }
}

impl Script for CreateScript {
    fn run(&mut self, io: &mut dyn Io) -> Result<(), Stop> {
        let TestContext { files, sync, .. } = self.context;
        self.context.home.enter(io)?;
        self.context.home.open_top(io)?;
        let mut slots = SubdirSlots::default();
        for file in 0..files.count {
            let at = slots.open(io, files.subdir(file))?;
            match files.kind {
                FileKind::HardLinks | FileKind::SymbolicLinks if file > 0 => {
                    self.link(io, at, file)?;
                }
                _ => self.make(io, at, file)?,
            }
        }
        if self.ends_with_sync {
            io.sync(sync)?;
            self.meter.closing(io.timed());
        }
        Ok(())
    }

    fn counters(&mut self) -> Counters {
        self.meter.counters()
    }
}

//! Code of an operation that changes a tree: create, patch, compile, clean.
//!
//! Files are removed, then written, in the order of the recipe. The sequence of calls per file is
//! the original's: open to append, for a patch read the old content and truncate, write, close.

use std::collections::HashSet;
use std::ffi::{CStr, CString};
use std::sync::Arc;

use treering_model::Counters;
use treering_script::{
    CreateHow, DirSlot, ExpectedErrors, FileSlot, Io, NameId, NameTree, Script, Stop, SyncScope,
};

use super::cursor::{DirStack, TOP};
use super::recipes::TreeChange;
use treering_kit::ahead::{AheadCounters, can_allocate};

/// Write mode of a change.
#[derive(Clone, Debug)]
pub(super) struct WriteMode {
    /// Open mode for written files.
    pub(super) how: CreateHow,
    /// True if the old content is read and truncated before writing, as a patch does.
    pub(super) rewrite: bool,
    /// True if each file is unlinked before it is written.
    pub(super) unlink_first: bool,
    /// True for a new tree.
    pub(super) fresh: bool,
    /// Bytes per read and write.
    pub(super) chunk_bytes: u32,
    /// Scope of the sync at the end, if any.
    pub(super) sync: Option<SyncScope>,
    /// Fast-forward mode, if any.
    pub(super) ahead: Option<FastForwardMode>,
}

/// Fast-forward mode of a change.
#[derive(Clone, Debug)]
pub(super) enum FastForwardMode {
    /// Only allocates these files, which are deleted or replaced later.
    Allocate(Arc<HashSet<NameId>>),
    /// Allocates like `Allocate`, after a check that the filesystem can; for the first change of a
    /// run.
    Probe(Arc<HashSet<NameId>>),
    /// Writes the data of files that are only allocated.
    Write,
}

impl FastForwardMode {
    fn allocates(&self, file: NameId) -> bool {
        match self {
            Self::Allocate(files) | Self::Probe(files) => files.contains(&file),
            Self::Write => false,
        }
    }
}

const FILE: FileSlot = FileSlot(0);

impl WriteMode {
    /// Writes a file from its start or at its end, or only allocates it.
    fn file(
        &self,
        io: &mut dyn Io,
        (at, path): (DirSlot, &CStr),
        size: u64,
        allocates: bool,
    ) -> Result<(), Stop> {
        if self.unlink_first {
            io.unlink(at, path).unless_missing()?;
        }
        io.create(at, path, self.how, FILE)?;
        if self.rewrite {
            while io.read(FILE, self.chunk_bytes)? > 0 {}
            io.truncate(FILE, 0)?;
        }
        let mut written = 0;
        if allocates && size > 0 {
            io.allocate(FILE, 0, size, false)?;
            written = size;
        }
        while written < size {
            let left = u32::try_from(size - written).unwrap_or(u32::MAX);
            let bytes = left.min(self.chunk_bytes);
            io.write(FILE, bytes, written)?;
            written += u64::from(bytes);
        }
        io.close(FILE)
    }
}

/// Code of a change.
#[derive(Debug)]
pub(super) struct ChangeTree {
    tree: CString,
    change: Arc<TreeChange>,
    write_mode: WriteMode,
    cursor: DirStack,
    counted: AheadCounters,
}

impl ChangeTree {
    /// Change of the tree of this name.
    pub(super) fn new(
        tree: CString,
        names: &Arc<NameTree>,
        change: Arc<TreeChange>,
        write_mode: WriteMode,
    ) -> Self {
        let cursor = DirStack::new(Arc::clone(names), write_mode.fresh);
        Self { tree, change, write_mode, cursor, counted: AheadCounters::default() }
    }
}

impl Script for ChangeTree {
    fn run(&mut self, io: &mut dyn Io) -> Result<(), Stop> {
        let Self { tree, change, write_mode, cursor, counted } = self;
        if matches!(write_mode.ahead, Some(FastForwardMode::Probe(_)))
            && !can_allocate(io, DirSlot::TARGET, FILE)?
        {
            counted.cannot_allocate = true;
            return Ok(());
        }
        if write_mode.fresh {
            io.make_dir(DirSlot::TARGET, tree).unless_existing()?;
        }
        io.open_dir(DirSlot::TARGET, tree, TOP)?;
        let mut removes = change.removes.iter().copied().peekable();
        while let Some(file) = removes.next() {
            cursor.go(io, file, removes.peek().copied())?;
            let (at, path) = cursor.place(file);
            io.unlink(at, path)?;
        }
        // Files cannot be reached by path then: an unlink takes one name in an open directory.
        cursor.by_path = !write_mode.unlink_first;
        let mut writes = change.writes.iter().peekable();
        while let Some((file, size)) = writes.next() {
            cursor.go(io, file, writes.peek().map(|(next, _)| *next))?;
            let allocates = write_mode.ahead.as_ref().is_some_and(|ahead| ahead.allocates(file));
            write_mode.file(io, cursor.place(file), size, allocates)?;
            let ahead_bytes = counted.ahead_bytes;
            counted.ahead_bytes = match write_mode.ahead {
                Some(FastForwardMode::Write) => ahead_bytes.saturating_sub_unsigned(size),
                _ if allocates => ahead_bytes.saturating_add_unsigned(size),
                _ => ahead_bytes,
            };
        }
        counted.operations = u64::from(!matches!(write_mode.ahead, Some(FastForwardMode::Write)));
        cursor.close(io, 0)?;
        write_mode.sync.map_or(Ok(()), |scope| io.sync(scope))
    }

    fn counters(&mut self) -> Counters {
        let counts = self.write_mode.ahead.is_some();
        if counts { Counters::from_value(&self.counted) } else { Counters::default() }
    }
}

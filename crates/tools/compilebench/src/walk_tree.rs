//! Walks through a tree in directory order: read, stat, delete, determine the order.
//!
//! Reads walk from the top down, deletes and stats from the bottom up, as the original does. In
//! classic style every entry is stat'ed when its directory has been listed, and each directory once
//! more before it is entered, as the walk of Python 2 does.

use std::ffi::{CStr, CString};
use std::sync::{Arc, Mutex};

use treering_script::{
    DirEntries, DirEntry, DirSlot, EntryKind, FileSlot, Io, MAX_DIRS, NameId, NameTree, OpenHow,
    Script, Stop, SyncScope,
};

use super::cursor::TOP;

/// Action on the entries of a walk.
#[derive(Clone, Debug)]
pub(super) enum EntryAction {
    /// Records the order of the files.
    Order(Arc<NameTree>, Arc<Mutex<Vec<NameId>>>),
    /// Reads every file, with this many bytes per read.
    Read(u32),
    /// Stats files and directories.
    Stat,
    /// Removes files and directories; the top directory too if `true`.
    Delete(bool),
}

const FILE: FileSlot = FileSlot(0);

/// Code of a walk.
#[derive(Debug)]
pub(super) struct WalkTree {
    tree: CString,
    visit: EntryAction,
    stat_entries: bool,
    sync: Option<SyncScope>,
    order: Vec<NameId>,
}

impl WalkTree {
    /// Walk through the tree of this name.
    pub(super) fn new(
        tree: CString,
        visit: EntryAction,
        stat_entries: bool,
        sync: Option<SyncScope>,
    ) -> Self {
        Self { tree, visit, stat_entries, sync, order: Vec::new() }
    }

    fn top_down(&self) -> bool {
        matches!(self.visit, EntryAction::Order(..) | EntryAction::Read(_))
    }

    /// Walks an open directory and everything below it, and closes it. `entries` holds those of all
    /// directories on the way down; `dir` is its name when the order is recorded.
    fn directory(
        &mut self,
        io: &mut dyn Io,
        entries: &mut Vec<u8>,
        open_dir: DirSlot,
        dir: Option<NameId>,
    ) -> Result<(), Stop> {
        let start = entries.len();
        loop {
            let batch = io.read_dir(open_dir)?;
            if batch.is_empty() {
                break;
            }
            entries.extend_from_slice(batch.packed());
        }
        if self.stat_entries {
            DirEntries::new(&entries[start..])
                .try_for_each(|entry| io.stat(open_dir, entry.name))?;
        }
        if self.top_down() {
            self.files(io, DirEntries::new(&entries[start..]), open_dir, dir)?;
            self.directories_below(io, entries, start, open_dir, dir)?;
        } else {
            self.directories_below(io, entries, start, open_dir, dir)?;
            self.files(io, DirEntries::new(&entries[start..]), open_dir, dir)?;
            for entry in DirEntries::new(&entries[start..]).filter(is_directory) {
                match self.visit {
                    EntryAction::Delete(_) => io.remove_dir(open_dir, entry.name)?,
                    _ => io.stat(open_dir, entry.name)?,
                }
            }
        }
        entries.truncate(start);
        io.close_dir(open_dir)
    }

    /// Enters the directories among the entries that begin at `start`.
    fn directories_below(
        &mut self,
        io: &mut dyn Io,
        entries: &mut Vec<u8>,
        start: usize,
        open_dir: DirSlot,
        dir: Option<NameId>,
    ) -> Result<(), Stop> {
        let below = DirSlot(open_dir.0 + 1);
        if below.0 >= MAX_DIRS {
            return Ok(()); // deeper than anything we made
        }
        let mut offset = start;
        loop {
            let mut list = DirEntries::new(&entries[offset..]);
            let Some(entry) = list.find(is_directory) else { return Ok(()) };
            offset = entries.len() - list.packed().len();
            if self.stat_entries {
                io.stat(open_dir, entry.name)?;
            }
            io.open_dir(open_dir, entry.name, below)?;
            let dir = self.name_id(dir, entry.name);
            self.directory(io, entries, below, dir)?;
        }
    }

    /// Visits the entries that are not directories.
    fn files(
        &mut self,
        io: &mut dyn Io,
        entries: DirEntries<'_>,
        open_dir: DirSlot,
        dir: Option<NameId>,
    ) -> Result<(), Stop> {
        for entry in entries.filter(|entry| !is_directory(entry)) {
            match self.visit {
                EntryAction::Order(..) => self.order.extend(self.name_id(dir, entry.name)),
                EntryAction::Read(_) if entry.kind != EntryKind::File => {}
                EntryAction::Read(chunk) => {
                    io.open(open_dir, entry.name, OpenHow::Read, FILE)?;
                    while io.read(FILE, chunk)? > 0 {}
                    io.close(FILE)?;
                }
                EntryAction::Stat => io.stat(open_dir, entry.name)?,
                EntryAction::Delete(_) => io.unlink(open_dir, entry.name)?,
            }
        }
        Ok(())
    }

    /// Name of a directory's entry in the tree of names, when the order is recorded.
    fn name_id(&self, dir: Option<NameId>, name: &CStr) -> Option<NameId> {
        match &self.visit {
            EntryAction::Order(names, _) => names.find(dir?, name.to_bytes()),
            _ => None,
        }
    }
}

impl Script for WalkTree {
    fn run(&mut self, io: &mut dyn Io) -> Result<(), Stop> {
        io.open_dir(DirSlot::TARGET, &self.tree, TOP)?;
        self.directory(io, &mut Vec::new(), TOP, Some(NameId::ROOT))?;
        match &self.visit {
            EntryAction::Order(_, order) => {
                let mut shared = order.lock().expect("nobody panics while holding it");
                *shared = std::mem::take(&mut self.order);
            }
            EntryAction::Delete(true) => io.remove_dir(DirSlot::TARGET, &self.tree)?,
            EntryAction::Read(_) | EntryAction::Stat | EntryAction::Delete(false) => {}
        }
        self.sync.map_or(Ok(()), |scope| io.sync(scope))
    }
}

fn is_directory(entry: &DirEntry<'_>) -> bool {
    entry.kind == EntryKind::Directory
}

#[cfg(test)]
mod tests {
    use std::ops::ControlFlow;

    use treering_engine::{Caller, MemoryCaller, MemoryFilesystem, rehearse};
    use treering_model::Op;
    use treering_script::{Call, DirSlot, MAX_DIRS};

    use super::{EntryAction, WalkTree};

    #[test]
    fn walk_of_a_tree_deeper_than_the_slots_stops_at_the_deepest_slot() {
        let memory = MemoryFilesystem::default();
        let mut caller = MemoryCaller::new(&memory);
        let mut at = DirSlot::TARGET;
        for depth in 0..MAX_DIRS + 100 {
            let (name, into) = (c"deep", DirSlot(1 + depth % 2));
            caller.call(&Call::MakeDir { at, name }).unwrap();
            caller.call(&Call::OpenDir { at, path: name, into }).unwrap();
            at = into;
        }
        caller.close_all();
        let (mut opened, mut closed, mut seen) = (0, 0, 0);
        let mut watch = |call: &Call<'_>, _done| {
            match call.op() {
                Op::OpenDir => opened += 1,
                Op::CloseDir => closed += 1,
                Op::Stat => seen += 1,
                _ => {}
            }
            ControlFlow::Continue(())
        };
        let mut walk = WalkTree::new(c"deep".to_owned(), EntryAction::Stat, false, None);
        rehearse(&mut walk, &mut caller, 1, &mut watch).unwrap();
        assert_eq!([opened, closed, seen], [MAX_DIRS - 1; 3]);
    }
}

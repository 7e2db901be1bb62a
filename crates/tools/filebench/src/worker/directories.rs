//! Directories that a worker keeps open, and the way to others; operations on leaf directories, and
//! listing.

use treering_script::{DirSlot, ExpectedErrors, Io, Stop};

use super::super::namespace::Namespace;
use super::super::plan::FlowopKind;
use super::super::pool::EntryState;
use super::super::tree::{ROOT, TreeEntry};
use super::{FlowopExit, Worker};

/// Tag of an empty slot.
const NONE: u64 = u64::MAX;

/// Tag of the directory that is open in each slot.
#[derive(Debug)]
pub(super) struct DirSlots {
    open: Vec<u64>,
}

fn tag(fileset: usize, dir: u32) -> u64 {
    (fileset as u64) << 32 | u64::from(dir)
}

impl DirSlots {
    pub(super) fn new(namespace: &Namespace) -> Self {
        Self { open: vec![NONE; namespace.slots as usize] }
    }

    #[inline]
    fn place(&self, fileset: usize, dir: u32) -> usize {
        (dir as usize).wrapping_add(fileset * 31) % self.open.len()
    }

    /// Slot of a directory, whether it is open or not.
    fn slot(&self, namespace: &Namespace, fileset: usize, dir: u32) -> DirSlot {
        namespace.slot(u32::try_from(self.place(fileset, dir)).unwrap_or(0))
    }

    #[inline]
    fn has(&self, fileset: usize, dir: u32) -> bool {
        self.open[self.place(fileset, dir)] == tag(fileset, dir)
    }

    fn opened(&mut self, fileset: usize, dir: u32) {
        let place = self.place(fileset, dir);
        self.open[place] = tag(fileset, dir);
    }
}

impl Worker {
    /// Prepares access to an entry: opens its directory and sets its name. Returns the directory to
    /// which the name is relative.
    #[inline]
    pub(super) fn locate(
        &mut self,
        io: &mut dyn Io,
        fileset: usize,
        entry: TreeEntry,
        takes_path: bool,
    ) -> Result<DirSlot, Stop> {
        if !self.slots.has(fileset, entry.dir) {
            self.namespace.serials(fileset, entry.dir, &mut self.serials);
            if takes_path && self.namespace.by_path(fileset) {
                self.name.set_path(&self.serials, Some(entry.serial));
                return Ok(self.namespace.root(fileset));
            }
            self.open_dir(io, fileset, entry.dir)?;
        }
        self.name.set(entry.serial);
        Ok(self.slots.slot(&self.namespace, fileset, entry.dir))
    }

    /// Opens the directory at the end of the serial numbers; missing ones are created.
    fn open_dir(&mut self, io: &mut dyn Io, fileset: usize, dir: u32) -> Result<(), Stop> {
        let Self { namespace, slots, name, serials, .. } = self;
        let (root, passing) = (namespace.root(fileset), namespace.passing());
        let into = slots.slot(namespace, fileset, dir);
        loop {
            name.set_path(serials, None);
            let opened = io.open_dir(root, name.as_c_str(), into);
            if namespace.filesets[fileset].plan.prealloc.is_some() {
                opened?;
                break;
            }
            if opened.unless_missing()?.is_some() {
                break;
            }
            let mut at = root;
            for &serial in &*serials {
                name.set(serial);
                io.make_dir(at, name.as_c_str()).unless_existing()?;
                io.open_dir(at, name.as_c_str(), passing)?;
                at = passing;
            }
        }
        slots.opened(fileset, dir);
        Ok(())
    }

    pub(super) fn leaf_dir(&mut self, io: &mut dyn Io, kind: FlowopKind) -> Result<(), FlowopExit> {
        let Some(fileset) = self.flow().fileset else { return Err(FlowopExit::Skipped) };
        let makes = kind == FlowopKind::MakeDir;
        let state = if makes { EntryState::Missing } else { EntryState::Standing };
        let leaf = self.pick(fileset, |of| (&of.leaves, &of.tree.leaves), state)?;
        let entry = self.namespace.filesets[fileset].tree.leaves[leaf as usize];
        let at = self.locate(io, fileset, entry, false)?;
        let leaves = &self.namespace.filesets[fileset].leaves;
        if makes {
            io.make_dir(at, self.name.as_c_str())?;
            leaves.add_created(leaf);
        } else {
            io.remove_dir(at, self.name.as_c_str())?;
            leaves.remove_deleted(leaf);
        }
        self.count_call(io);
        Ok(())
    }

    pub(super) fn list_dir(&mut self, io: &mut dyn Io) -> Result<(), FlowopExit> {
        let Some(fileset) = self.flow().fileset else { return Err(FlowopExit::Skipped) };
        let dir = self.namespace.filesets[fileset].next_dir();
        let passing = self.namespace.passing();
        let opened = if dir == ROOT {
            let name = self.namespace.filesets[fileset].name.as_c_str();
            io.open_dir(self.namespace.above(fileset), name, passing)
        } else {
            self.namespace.serials(fileset, dir, &mut self.serials);
            self.name.set_path(&self.serials, None);
            io.open_dir(self.namespace.root(fileset), self.name.as_c_str(), passing)
        };
        let is_there = opened.unless_missing()?.is_some();
        self.count_call(io);
        if !is_there {
            return Ok(());
        }
        loop {
            let names = io.read_dir(passing)?.map(|entry| entry.name.to_bytes().len() as u64);
            let bytes: u64 = names.sum();
            self.count_call(io);
            self.present.moved += bytes;
            if bytes == 0 {
                break;
            }
        }
        io.close_dir(passing)?;
        self.count_call(io);
        Ok(())
    }
}

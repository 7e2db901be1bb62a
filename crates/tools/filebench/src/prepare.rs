//! Preparation of the filesets: remains of an earlier run are removed, then directories and files
//! are created.

use std::sync::Arc;

use treering_model::Counters;
use treering_script::{CreateHow, DirSlot, EntryKind, ExpectedErrors, FileSlot, Io, Script, Stop};

use super::names::{NameBuffer, serial};
use super::namespace::Namespace;
use super::tally::{RemainsTreatment, TreeCounters};
use super::tree::ROOT;

/// Task that creates the directories of one fileset.
pub(super) struct MakeDirectories {
    namespace: Arc<Namespace>,
    fileset: usize,
    became: RemainsTreatment,
    name: NameBuffer,
}

/// Remains of a fileset from an earlier run.
struct FilesetRemains {
    /// Directories, each with the index of its parent; the first is the fileset's root, without a
    /// parent.
    dirs: Vec<(usize, u32)>,
    /// Files, each with the index of its directory.
    files: Vec<(usize, u32)>,
}

impl FilesetRemains {
    /// Path of an entry in a directory, or of the directory itself.
    fn path_of(&self, dir: usize, last: Option<u32>) -> NameBuffer {
        let (mut serials, mut at) = (Vec::new(), dir);
        while at != 0 {
            let (parent, serial) = self.dirs[at];
            serials.push(serial);
            at = parent;
        }
        serials.reverse();
        let mut name = NameBuffer::default();
        name.set_path(&serials, last);
        name
    }
}

impl MakeDirectories {
    pub(super) fn new(namespace: &Arc<Namespace>, fileset: usize) -> Self {
        let namespace = Arc::clone(namespace);
        Self { namespace, fileset, became: RemainsTreatment::Made, name: NameBuffer::default() }
    }

    /// Opens one of the directories that remain.
    fn open(&self, io: &mut dyn Io, left: &FilesetRemains, dir: usize) -> Result<DirSlot, Stop> {
        let (root, passing) = (self.namespace.root(self.fileset), self.namespace.passing());
        // The fileset's own directory is open already.
        if dir == 0 {
            return Ok(root);
        }
        io.open_dir(root, left.path_of(dir, None).as_c_str(), passing)?;
        Ok(passing)
    }

    /// Lists the remains of an earlier run; `None` if there is an entry that no fileset has.
    fn find(&self, io: &mut dyn Io) -> Result<Option<FilesetRemains>, Stop> {
        let mut left = FilesetRemains { dirs: vec![(0, 0)], files: Vec::new() };
        let mut number = 0;
        while number < left.dirs.len() {
            let dir = self.open(io, &left, number)?;
            loop {
                let entries = io.read_dir(dir)?;
                if entries.is_empty() {
                    break;
                }
                for entry in entries {
                    match (serial(entry.name), entry.kind) {
                        (Some(serial), EntryKind::Directory) => left.dirs.push((number, serial)),
                        (Some(serial), EntryKind::File) => left.files.push((number, serial)),
                        _ => return Ok(None),
                    }
                }
            }
            number += 1;
        }
        Ok(Some(left))
    }

    /// Removes the files, then the directories from the last one on.
    fn remove(&mut self, io: &mut dyn Io, left: &FilesetRemains) -> Result<(), Stop> {
        let root = self.namespace.root(self.fileset);
        for &(dir, serial) in &left.files {
            io.unlink(root, left.path_of(dir, Some(serial)).as_c_str())?;
        }
        for &(parent, serial) in left.dirs.iter().skip(1).rev() {
            let at = self.open(io, left, parent)?;
            self.name.set(serial);
            io.remove_dir(at, self.name.as_c_str())?;
        }
        Ok(())
    }

    /// Slot of the directory at this depth during creation.
    fn creation_slot(&self, depth: u32) -> DirSlot {
        if depth == 0 { self.namespace.root(self.fileset) } else { self.namespace.slot(depth - 1) }
    }

    /// Creates the directories of the tree, and opens those that contain others.
    fn plant(&mut self, io: &mut dyn Io) -> Result<(), Stop> {
        let namespace = Arc::clone(&self.namespace);
        let dirs = &namespace.filesets[self.fileset].tree.dirs;
        for (number, dir) in dirs.iter().enumerate().skip(1) {
            let at = self.creation_slot(dir.depth - 1);
            self.name.set(dir.serial);
            let made = io.make_dir(at, self.name.as_c_str());
            if self.became == RemainsTreatment::Reused {
                made.unless_existing()?;
            } else {
                made?;
            }
            if dirs.get(number + 1).is_some_and(|next| next.parent as usize == number) {
                io.open_dir(at, self.name.as_c_str(), self.creation_slot(dir.depth))?;
            }
        }
        Ok(())
    }
}

impl Script for MakeDirectories {
    fn run(&mut self, io: &mut dyn Io) -> Result<(), Stop> {
        let namespace = Arc::clone(&self.namespace);
        let fileset = &namespace.filesets[self.fileset];
        namespace.open_above(io, self.fileset)?;
        let made = io.make_dir(namespace.above(self.fileset), &fileset.name);
        if !namespace.classic {
            made?;
        } else if made.unless_existing()?.is_none() {
            let keeps = fileset.plan.reuse || fileset.plan.trust;
            self.became = if keeps { RemainsTreatment::Reused } else { RemainsTreatment::Cleared };
        }
        namespace.open_root(io, self.fileset)?;
        if self.became == RemainsTreatment::Cleared {
            let Some(left) = self.find(io)? else {
                self.became = RemainsTreatment::Foreign;
                return Ok(());
            };
            self.remove(io, &left)?;
        }
        if fileset.plan.prealloc.is_some() {
            self.plant(io)?;
        }
        Ok(())
    }

    fn counters(&mut self) -> Counters {
        let tree = &self.namespace.filesets[self.fileset].tree;
        let (became, bytes, mean_depth) = (self.became, tree.bytes, tree.mean_depth);
        Counters::from_value(&TreeCounters { became, bytes, mean_depth })
    }
}

/// Maximum number of bytes of one write during preallocation.
const PIECE_BYTES: u64 = 1 << 20;
const FILE: FileSlot = FileSlot(0);

/// Task that creates and fills every `stride`th preallocated file.
pub(super) struct AllocateFiles {
    namespace: Arc<Namespace>,
    fileset: usize,
    /// Index of the first file, and the distance to the next.
    first: usize,
    stride: usize,
    reuses: bool,
    /// Number of the directory that is open.
    open: u32,
    name: NameBuffer,
    serials: Vec<u32>,
}

impl AllocateFiles {
    pub(super) fn new(
        namespace: &Arc<Namespace>,
        fileset: usize,
        first: usize,
        stride: usize,
        reuses: bool,
    ) -> Self {
        Self {
            namespace: Arc::clone(namespace),
            fileset,
            first,
            stride,
            reuses,
            open: ROOT,
            name: NameBuffer::default(),
            serials: Vec::new(),
        }
    }

    /// Opens the directory of an entry, unless it is open.
    fn locate(&mut self, io: &mut dyn Io, dir: u32, serial: u32) -> Result<DirSlot, Stop> {
        let into = self.namespace.passing();
        if self.open != dir {
            self.namespace.serials(self.fileset, dir, &mut self.serials);
            self.name.set_path(&self.serials, None);
            io.open_dir(self.namespace.root(self.fileset), self.name.as_c_str(), into)?;
            self.open = dir;
        }
        self.name.set(serial);
        Ok(into)
    }

    /// Creates a file of this many bytes. A file of an earlier run is kept if its size matches, and
    /// otherwise truncated or written anew.
    fn make_file(&self, io: &mut dyn Io, at: DirSlot, wanted: u64) -> Result<(), Stop> {
        let name = self.name.as_c_str();
        let size = if self.reuses { io.size(at, name).unless_missing()? } else { None };
        if size == Some(wanted) {
            return Ok(());
        }
        io.create(at, name, CreateHow::OrOpen, FILE)?;
        if size.is_some_and(|size| size > wanted) {
            io.truncate(FILE, wanted)?;
        } else {
            let mut written = 0;
            while written < wanted {
                let piece = PIECE_BYTES.min(wanted - written);
                io.write(FILE, u32::try_from(piece).unwrap_or(0), written)?;
                written += piece;
            }
        }
        io.close(FILE)
    }
}

impl Script for AllocateFiles {
    fn run(&mut self, io: &mut dyn Io) -> Result<(), Stop> {
        let namespace = Arc::clone(&self.namespace);
        namespace.open_above(io, self.fileset)?;
        namespace.open_root(io, self.fileset)?;
        let fileset = &namespace.filesets[self.fileset];
        for &file in fileset.made_before.iter().skip(self.first).step_by(self.stride) {
            let entry = fileset.tree.files[file as usize];
            let at = self.locate(io, entry.dir, entry.serial)?;
            self.make_file(io, at, fileset.tree.sizes.bytes(file))?;
        }
        for &leaf in fileset.leaves_before.iter().skip(self.first).step_by(self.stride) {
            let entry = fileset.tree.leaves[leaf as usize];
            let at = self.locate(io, entry.dir, entry.serial)?;
            let made = io.make_dir(at, self.name.as_c_str());
            if self.reuses {
                made.unless_existing()?;
            } else {
                made?;
            }
        }
        Ok(())
    }
}

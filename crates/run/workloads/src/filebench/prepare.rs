//! What is done before a run: directories, after what an earlier run left was removed; then files.

use std::sync::Arc;

use treering_script::{Call, CreateHow, Dir, EntryKind, File, Outcome, Step, Steps};

use super::land::Land;
use super::names::{Name, serial};
use super::tree::ROOT;

/// What the first note of [`Directories`] says.
pub(super) const MADE: u64 = 0;
pub(super) const REUSED: u64 = 1;
pub(super) const CLEARED: u64 = 2;
/// There is something in the way.
pub(super) const FOREIGN: u64 = 3;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Above,
    Make,
    Open,
    /// The directory of this number, among those that were found, is read.
    Look(usize),
    Read(usize),
    /// Files, then directories, from the last one on, are removed.
    Unlink(usize),
    OpenParent(usize),
    Remove(usize),
    Plant,
    Enter,
    End,
}

/// Makes the directories of one fileset.
pub(super) struct Directories {
    land: Arc<Land>,
    fileset: usize,
    stage: Stage,
    became: u64,
    /// What an earlier run left: directories with the one each is in, and files.
    found: Vec<(usize, u32)>,
    files: Vec<(usize, u32)>,
    serials: Vec<u32>,
    name: Name,
    next: usize,
}

impl Directories {
    pub(super) fn new(land: &Arc<Land>, fileset: usize) -> Self {
        Self {
            land: Arc::clone(land),
            fileset,
            stage: Stage::Above,
            became: MADE,
            found: vec![(0, 0)],
            files: Vec::new(),
            serials: Vec::new(),
            name: Name::default(),
            next: 1,
        }
    }

    /// The path of a directory that was found.
    fn path_of(&mut self, number: usize, last: Option<u32>) {
        self.serials.clear();
        let mut at = number;
        while at != 0 {
            let (parent, serial) = self.found[at];
            self.serials.push(serial);
            at = parent;
        }
        self.serials.reverse();
        self.name.set_path(&self.serials, last);
    }

    /// The slot of a directory at this depth that is being planted.
    fn planting(&self, depth: u32) -> Dir {
        if depth == 0 { self.land.root(self.fileset) } else { self.land.slot(depth - 1) }
    }

    fn keeps(&self) -> bool {
        let plan = &self.land.filesets[self.fileset].plan;
        plan.reuse || plan.trust
    }

    fn hear(&mut self, last: &Outcome<'_>) {
        self.stage = match self.stage {
            Stage::Above => Stage::Make,
            Stage::Make => {
                if matches!(last, Outcome::Refused) {
                    self.became = if self.keeps() { REUSED } else { CLEARED };
                }
                Stage::Open
            }
            Stage::Open if self.became == CLEARED => Stage::Read(0),
            Stage::Open => Stage::Plant,
            Stage::Look(number) => Stage::Read(number),
            Stage::Read(number) => self.read(number, last),
            Stage::Unlink(number) => Stage::Unlink(number + 1),
            Stage::OpenParent(number) => Stage::Remove(number),
            Stage::Remove(number) => Stage::OpenParent(number - 1),
            Stage::Plant if self.has_children() => Stage::Enter,
            Stage::Plant | Stage::Enter => {
                self.next += 1;
                Stage::Plant
            }
            Stage::End => Stage::End,
        };
    }

    fn has_children(&self) -> bool {
        let dirs = &self.land.filesets[self.fileset].tree.dirs;
        dirs.get(self.next + 1).is_some_and(|dir| dir.parent as usize == self.next)
    }

    /// A batch of what is there.
    fn read(&mut self, number: usize, last: &Outcome<'_>) -> Stage {
        let Outcome::Entries(entries) = last else { return Stage::Read(number) };
        if entries.is_empty() {
            let next = number + 1;
            return if next < self.found.len() { Stage::Look(next) } else { Stage::Unlink(0) };
        }
        for entry in entries.clone() {
            match (serial(entry.name), entry.kind) {
                (Some(serial), EntryKind::Directory) => self.found.push((number, serial)),
                (Some(serial), EntryKind::File) => self.files.push((number, serial)),
                _ => {
                    self.became = FOREIGN;
                    return Stage::End;
                }
            }
        }
        Stage::Read(number)
    }

    fn step(&mut self) -> Option<Step<'_>> {
        let fileset = self.fileset;
        loop {
            match self.stage {
                Stage::Above if !self.land.classic => self.stage = Stage::Make,
                Stage::Unlink(number) if number >= self.files.len() => {
                    self.stage = Stage::OpenParent(self.found.len() - 1);
                }
                Stage::OpenParent(0) => self.stage = Stage::Plant,
                // The fileset's own directory is open already.
                Stage::OpenParent(number) if self.found[number].0 == 0 => {
                    self.stage = Stage::Remove(number);
                }
                _ => break,
            }
        }
        let (root, passing) = (self.land.root(fileset), self.land.passing());
        match self.stage {
            Stage::Above => self.land.open_above(fileset).map(Step::from),
            Stage::Make => {
                let (at, name) =
                    (self.land.above(fileset), self.land.filesets[fileset].name.as_c_str());
                let make = Call::MakeDir { at, name };
                Some(if self.land.classic { make.unless_existing() } else { make.into() })
            }
            Stage::Open => Some(self.land.open_root(fileset).into()),
            Stage::Look(number) => {
                self.path_of(number, None);
                let path = self.name.as_c_str();
                Some(Call::OpenDir { at: root, path, into: passing }.into())
            }
            Stage::Read(number) => {
                let dir = if number == 0 { root } else { passing };
                Some(Call::ReadDir { dir }.into())
            }
            Stage::Unlink(number) => {
                let (dir, serial) = self.files[number];
                self.path_of(dir, Some(serial));
                Some(Call::Unlink { at: root, path: self.name.as_c_str() }.into())
            }
            Stage::OpenParent(number) => {
                self.path_of(self.found[number].0, None);
                let path = self.name.as_c_str();
                Some(Call::OpenDir { at: root, path, into: passing }.into())
            }
            Stage::Remove(number) => {
                let (parent, serial) = self.found[number];
                let at = if parent == 0 { root } else { passing };
                self.name.set(serial);
                Some(Call::RemoveDir { at, name: self.name.as_c_str() }.into())
            }
            Stage::Plant | Stage::Enter => self.plant(),
            Stage::End => None,
        }
    }

    /// The next directory of the tree, or into the one that was made.
    fn plant(&mut self) -> Option<Step<'_>> {
        let fileset = &self.land.filesets[self.fileset];
        fileset.plan.prealloc?;
        let dir = *fileset.tree.dirs.get(self.next)?;
        let at = self.planting(dir.depth - 1);
        let into = self.planting(dir.depth);
        self.name.set(dir.serial);
        let name = self.name.as_c_str();
        if self.stage == Stage::Enter {
            return Some(Call::OpenDir { at, path: name, into }.into());
        }
        let make = Call::MakeDir { at, name };
        Some(if self.became == REUSED { make.unless_existing() } else { make.into() })
    }
}

impl Steps for Directories {
    fn next<'s>(&'s mut self, last: Outcome<'_>) -> Option<Step<'s>> {
        if !matches!(last, Outcome::Start) {
            self.hear(&last);
        }
        self.step()
    }

    /// What became of it; the bytes of all files, and how deep the tree is on average.
    fn notes(&mut self) -> Vec<u64> {
        let tree = &self.land.filesets[self.fileset].tree;
        vec![self.became, tree.bytes, tree.mean_depth.to_bits()]
    }
}

/// The most that one write of a file takes.
const PIECE_BYTES: u64 = 1 << 20;
const FILE: File = File(0);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Above,
    Root,
    Next,
    Dir,
    Size,
    Create,
    Cut,
    Write,
    Close,
    Leaf,
    LeafDir,
    End,
}

/// Makes every so many'th file that stands from the beginning on, and fills it.
pub(super) struct Allocation {
    land: Arc<Land>,
    fileset: usize,
    /// Files from this one on, and how far it is to the next.
    place: usize,
    stride: usize,
    part: Part,
    /// The directory that is open.
    open: u32,
    name: Name,
    /// The path of the directory.
    path: Name,
    serials: Vec<u32>,
    reuses: bool,
    /// Bytes the file has, of these.
    written: u64,
    wanted: u64,
    there: Option<u64>,
    leaf: usize,
}

impl Allocation {
    pub(super) fn new(
        land: &Arc<Land>,
        fileset: usize,
        first: usize,
        stride: usize,
        reuses: bool,
    ) -> Self {
        Self {
            land: Arc::clone(land),
            fileset,
            place: first,
            stride,
            part: Part::Above,
            open: ROOT,
            name: Name::default(),
            path: Name::default(),
            serials: Vec::new(),
            reuses,
            written: 0,
            wanted: 0,
            there: None,
            leaf: first,
        }
    }

    fn hear(&mut self, last: &Outcome<'_>) {
        self.part = match self.part {
            Part::Above => Part::Root,
            Part::Root | Part::Close => Part::Next,
            Part::Dir if self.reuses => Part::Size,
            Part::Dir => Part::Create,
            Part::Size => {
                self.there = if let Outcome::Size(bytes) = last { Some(*bytes) } else { None };
                if self.there == Some(self.wanted) { Part::Next } else { Part::Create }
            }
            Part::Create => match self.there {
                Some(there) if there > self.wanted => Part::Cut,
                _ if self.wanted > 0 => Part::Write,
                _ => Part::Close,
            },
            Part::Write => {
                self.written += PIECE_BYTES.min(self.wanted - self.written);
                if self.written < self.wanted { Part::Write } else { Part::Close }
            }
            Part::Cut => Part::Close,
            Part::LeafDir => Part::Leaf,
            Part::Leaf => {
                self.leaf += self.stride;
                Part::Next
            }
            Part::Next | Part::End => self.part,
        };
        if self.part == Part::Next {
            self.go_on();
        }
    }

    /// The next file, or leaf directory.
    fn go_on(&mut self) {
        let fileset = &self.land.filesets[self.fileset];
        if let Some(&file) = fileset.made_before.get(self.place) {
            self.place += self.stride;
            let entry = fileset.tree.files[file as usize];
            self.wanted = fileset.tree.sizes.of(file);
            (self.written, self.there) = (0, None);
            self.part = if self.reuses { Part::Size } else { Part::Create };
            if self.open != entry.dir {
                self.part = Part::Dir;
            }
            self.open = entry.dir;
            self.name.set(entry.serial);
            return;
        }
        let Some(&leaf) = fileset.leaves_before.get(self.leaf) else {
            self.part = Part::End;
            return;
        };
        let entry = fileset.tree.leaves[leaf as usize];
        self.part = if self.open == entry.dir { Part::Leaf } else { Part::LeafDir };
        self.open = entry.dir;
        self.name.set(entry.serial);
    }

    fn step(&mut self) -> Option<Step<'_>> {
        if self.part == Part::Above && !self.land.classic {
            self.part = Part::Root;
        }
        let (land, fileset) = (&self.land, self.fileset);
        let into = land.passing();
        match self.part {
            Part::Above => land.open_above(fileset).map(Step::from),
            Part::Root => Some(land.open_root(fileset).into()),
            Part::Dir | Part::LeafDir => {
                land.serials(fileset, self.open, &mut self.serials);
                self.path.set_path(&self.serials, None);
                let path = self.path.as_c_str();
                Some(Call::OpenDir { at: land.root(fileset), path, into }.into())
            }
            Part::Size => {
                Some(Call::Size { at: into, name: self.name.as_c_str() }.unless_missing())
            }
            Part::Create => {
                let path = self.name.as_c_str();
                Some(Call::Create { at: into, path, how: CreateHow::OrOpen, into: FILE }.into())
            }
            Part::Cut => Some(Call::Truncate { file: FILE, bytes: self.wanted }.into()),
            Part::Write => {
                let bytes = PIECE_BYTES.min(self.wanted - self.written);
                let bytes = u32::try_from(bytes).unwrap_or(0);
                Some(Call::Write { file: FILE, bytes, position: self.written }.into())
            }
            Part::Close => Some(Call::Close { file: FILE }.into()),
            Part::Leaf => {
                let make = Call::MakeDir { at: into, name: self.name.as_c_str() };
                Some(if self.reuses { make.unless_existing() } else { make.into() })
            }
            Part::Next | Part::End => None,
        }
    }
}

impl Steps for Allocation {
    fn next<'s>(&'s mut self, last: Outcome<'_>) -> Option<Step<'s>> {
        if !matches!(last, Outcome::Start) {
            self.hear(&last);
        }
        self.step()
    }
}

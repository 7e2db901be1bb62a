//! Which directories a worker has open, and how it comes to others; leaf directories, and lists.

use treering_script::{Dir, Outcome};

use super::super::land::Land;
use super::super::plan::Kind;
use super::super::pool::{Pick, Wanted};
use super::super::tree::{Entry, ROOT};
use super::doing::Doing;
use super::{Then, Worker};

/// No directory.
const NONE: u64 = u64::MAX;

/// What is open in which slot.
#[derive(Debug)]
pub(super) struct Slots {
    open: Vec<u64>,
    /// Where the name of the entry in hand begins.
    pub(super) at: Dir,
}

fn tag(fileset: usize, dir: u32) -> u64 {
    (fileset as u64) << 32 | u64::from(dir)
}

impl Slots {
    pub(super) fn new(land: &Land) -> Self {
        Self { open: vec![NONE; land.slots as usize], at: Dir::TARGET }
    }

    #[inline]
    fn place(&self, fileset: usize, dir: u32) -> usize {
        (dir as usize).wrapping_add(fileset * 31) % self.open.len()
    }

    /// The slot in which a directory is, or will be.
    pub(super) fn slot(&self, land: &Land, fileset: usize, dir: u32) -> Dir {
        land.slot(u32::try_from(self.place(fileset, dir)).unwrap_or(0))
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
    /// Where the entry in hand is: its name is set, and where that begins; or what must be done
    /// before.
    #[inline]
    pub(super) fn locate(
        &mut self,
        fileset: usize,
        entry: Entry,
        takes_path: bool,
    ) -> Option<Doing> {
        if self.slots.has(fileset, entry.dir) {
            self.slots.at = self.slots.slot(&self.land, fileset, entry.dir);
            self.name.set(entry.serial);
            return None;
        }
        self.land.serials(fileset, entry.dir, &mut self.serials);
        if takes_path && self.land.by_path(fileset) {
            self.slots.at = self.land.root(fileset);
            self.name.set_path(&self.serials, Some(entry.serial));
            return None;
        }
        self.name.set_path(&self.serials, None);
        Some(Doing::OpenDir { fileset, dir: entry.dir })
    }

    /// A directory was asked for; one that is missing is made.
    pub(super) fn dir_opened(
        &mut self,
        fileset: usize,
        dir: u32,
        last: &Outcome<'_>,
    ) -> Option<Then> {
        if matches!(last, Outcome::Refused) {
            return Some(self.make_above(fileset, dir, 0));
        }
        self.slots.opened(fileset, dir);
        None
    }

    /// The directory at this level of the way is made.
    pub(super) fn make_above(&mut self, fileset: usize, dir: u32, level: usize) -> Then {
        self.land.serials(fileset, dir, &mut self.serials);
        match self.serials.get(level) {
            Some(serial) => {
                self.name.set(*serial);
                Then::Do(Doing::MakeAbove { fileset, dir, level })
            }
            None => {
                self.name.set_path(&self.serials, None);
                Then::Do(Doing::OpenDir { fileset, dir })
            }
        }
    }

    pub(super) fn leaf_dir(&mut self, kind: Kind) -> Then {
        let Some(fileset) = self.flow().fileset else { return Then::Skip };
        let wanted = if kind == Kind::MakeDir { Wanted::Missing } else { Wanted::Standing };
        let leaves = &self.land.filesets[fileset].leaves;
        let pick = match &self.steps[self.pc].indexed {
            None => leaves.next(wanted),
            Some(index) => {
                let count = self.land.filesets[fileset].tree.leaves.len() as u64;
                leaves.from(Self::index(index, count, &mut self.random), wanted)
            }
        };
        match pick {
            Pick::None => self.out_of_files(),
            Pick::Busy => self.again(),
            Pick::One(entry) => {
                self.present.fileset = fileset;
                self.present.entry = entry;
                self.leaf_in_hand(kind)
            }
        }
    }

    pub(super) fn leaf_in_hand(&mut self, kind: Kind) -> Then {
        let fileset = self.present.fileset;
        let entry = self.land.filesets[fileset].tree.leaves[self.present.entry as usize];
        let doing = if kind == Kind::MakeDir { Doing::MakeLeaf } else { Doing::RemoveLeaf };
        Then::Do(self.locate(fileset, entry, false).unwrap_or(doing))
    }

    pub(super) fn leaf_done(&mut self, made: bool) -> Then {
        let leaves = &self.land.filesets[self.present.fileset].leaves;
        if made {
            leaves.made(self.present.entry)
        } else {
            leaves.gone(self.present.entry)
        }
        Then::Count
    }

    pub(super) fn list_dir(&mut self) -> Then {
        let Some(fileset) = self.flow().fileset else { return Then::Skip };
        let dir = self.land.filesets[fileset].next_dir();
        self.present.fileset = fileset;
        self.present.entry = dir;
        if dir != ROOT {
            self.land.serials(fileset, dir, &mut self.serials);
            self.name.set_path(&self.serials, None);
        }
        Then::Do(Doing::OpenList)
    }

    /// Entries of a list came.
    pub(super) fn listed(&mut self, last: &Outcome<'_>) -> Then {
        match last {
            Outcome::Entries(entries) if !entries.is_empty() => {
                let names = entries.clone().map(|entry| entry.name.to_bytes().len() as u64);
                self.present.moved += names.sum::<u64>();
                Then::Do(Doing::List)
            }
            _ => Then::Do(Doing::CloseList),
        }
    }
}

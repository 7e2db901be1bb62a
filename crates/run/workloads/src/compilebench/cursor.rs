//! The way through a tree's directories: which are open, which must be made or entered next.
//!
//! Files are reached relative to an open directory, as `tar` and `git` do it, so that a create
//! costs little more than open, write and close. A directory with a single file is not opened at
//! all: its file is reached by a path of two components.

use std::ffi::CStr;
use std::sync::Arc;

use treering_script::{Call, Dir, NameId, Names, Step};

/// What to do about a directory met for the first time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Making {
    /// Make it, then open it: the tree is new.
    MakeFirst,
    /// Open it, and make it when it is missing.
    OpenFirst,
    /// It must be there.
    Never,
}

/// How far the directory at the end of the way is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Begin,
    Made,
    Opened,
}

/// A move from directory to directory, without borrowed names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Move {
    /// Closes a directory.
    Close(Dir),
    /// Makes a directory in the deepest open one.
    Make(NameId),
    /// Opens a directory in the deepest open one.
    Open {
        /// Which.
        dir: NameId,
        /// Whether it may be missing, to be made then.
        unless_missing: bool,
    },
}

/// A stack of open directories, from the tree's top down.
#[derive(Debug)]
pub(super) struct Cursor {
    names: Arc<Names>,
    making: Making,
    /// Whether a file may be reached by a path of several components.
    by_path: bool,
    /// Open directories; the one at place `i` is in slot `i + 1`.
    stack: Vec<NameId>,
    /// How much of the stack stays open.
    keep: usize,
    /// Directories still to enter, the next one last.
    way: Vec<NameId>,
    stage: Stage,
    /// Whether the last directory of the way is made but not opened.
    skip_last_open: bool,
    /// Where the file's path starts.
    base: NameId,
    /// One bit a name: directories that are known to be there.
    seen: Vec<u64>,
    path: Vec<u8>,
}

/// The slot of the tree's top directory.
pub(super) const TOP: Dir = Dir(1);

impl Cursor {
    /// Whether files may be reached by a path of several components.
    pub(super) fn reach_by_path(&mut self, by_path: bool) {
        self.by_path = by_path;
    }

    /// A cursor in a tree whose top directory the caller opens in slot [`TOP`].
    pub(super) fn new(names: Arc<Names>, making: Making, by_path: bool) -> Self {
        let words = names.len().div_ceil(64);
        Self {
            names,
            making,
            by_path,
            stack: vec![NameId::ROOT],
            keep: 1,
            way: Vec::new(),
            stage: Stage::Begin,
            skip_last_open: false,
            base: NameId::ROOT,
            seen: vec![0; words],
            path: Vec::new(),
        }
    }

    /// Sets out for a file; `next` is the file after it, if any.
    pub(super) fn set_out(&mut self, file: NameId, next: Option<NameId>) {
        let dir = self.names.parent(file);
        if self.stack.last() == Some(&dir) {
            self.base = dir;
            return;
        }
        self.way.clear();
        let mut at = dir;
        let common = loop {
            if let Some(place) = self.stack.iter().rposition(|&open| open == at) {
                break place;
            }
            self.way.push(at);
            at = self.names.parent(at);
        };
        self.base = self.stack[common];
        let alone = self.by_path && !next.is_some_and(|next| self.is_below(next, dir));
        if alone && self.is_known(dir) {
            self.way.clear(); // reached by path; what is open stays open
            return;
        }
        self.keep = common + 1;
        self.stage = Stage::Begin;
        self.skip_last_open = alone && !self.way.is_empty();
    }

    /// Sets out for closing every directory, the top included.
    pub(super) fn leave(&mut self) {
        self.way.clear();
        self.keep = 0;
    }

    /// The next move on the way, `refused` telling how the one before went; `None` on arrival.
    pub(super) fn advance(&mut self, refused: bool) -> Option<Move> {
        if self.stack.len() > self.keep {
            self.stack.pop();
            return Some(Move::Close(slot(self.stack.len())));
        }
        loop {
            let &dir = self.way.last()?;
            let ends_here = self.skip_last_open && self.way.len() == 1;
            match self.stage {
                Stage::Begin => {
                    let make = self.making != Making::Never
                        && !self.is_known(dir)
                        && (ends_here || self.making == Making::MakeFirst);
                    self.stage = if make { Stage::Made } else { Stage::Opened };
                    return Some(if make { Move::Make(dir) } else { self.open(dir) });
                }
                Stage::Made if ends_here => {
                    self.know(dir);
                    self.way.pop();
                    self.base = *self.stack.last().expect("the top stays open on the way");
                    self.stage = Stage::Begin;
                }
                Stage::Made => {
                    self.know(dir);
                    self.stage = Stage::Opened;
                    return Some(self.open(dir));
                }
                Stage::Opened if refused => {
                    self.stage = Stage::Made;
                    return Some(Move::Make(dir));
                }
                Stage::Opened => {
                    self.know(dir);
                    self.stack.push(dir);
                    self.keep = self.stack.len();
                    self.base = dir;
                    self.way.pop();
                    self.stage = Stage::Begin;
                }
            }
        }
    }

    /// The step of a move.
    pub(super) fn step(&self, way: Move) -> Step<'_> {
        let deepest = self.stack.len();
        match way {
            Move::Close(dir) => Call::CloseDir { dir }.into(),
            Move::Make(dir) => Call::MakeDir { at: slot(deepest - 1), name: self.names.name(dir) }
                .unless_existing(),
            Move::Open { dir, unless_missing } => {
                let path = self.names.name(dir);
                let call = Call::OpenDir { at: slot(deepest - 1), path, into: slot(deepest) };
                if unless_missing { call.unless_missing() } else { call.into() }
            }
        }
    }

    /// Where the file is that the cursor set out for: an open directory and the path from it.
    pub(super) fn place(&mut self, file: NameId) -> (Dir, &CStr) {
        let base = self.stack.iter().rposition(|&open| open == self.base).unwrap_or(0);
        let at = slot(base);
        if self.names.parent(file) == self.base {
            return (at, self.names.name(file));
        }
        self.path.clear();
        write_path_below(&self.names, self.base, file, &mut self.path);
        self.path.push(0);
        let path = CStr::from_bytes_with_nul(&self.path).expect("names have no NUL inside");
        (at, path)
    }

    fn open(&self, dir: NameId) -> Move {
        let unless_missing = self.making == Making::OpenFirst && !self.is_known(dir);
        Move::Open { dir, unless_missing }
    }

    fn is_below(&self, file: NameId, dir: NameId) -> bool {
        let mut at = self.names.parent(file);
        while at != dir && at != NameId::ROOT {
            at = self.names.parent(at);
        }
        at == dir
    }

    fn is_known(&self, dir: NameId) -> bool {
        self.making == Making::Never || self.seen[dir.index() / 64] >> (dir.index() % 64) & 1 == 1
    }

    fn know(&mut self, dir: NameId) {
        self.seen[dir.index() / 64] |= 1 << (dir.index() % 64);
    }
}

fn slot(place: usize) -> Dir {
    Dir(u16::try_from(place).expect("trees are at most 250 deep") + TOP.0)
}

fn write_path_below(names: &Names, base: NameId, id: NameId, path: &mut Vec<u8>) {
    let parent = names.parent(id);
    if parent != base && parent != NameId::ROOT {
        write_path_below(names, base, parent, path);
        path.push(b'/');
    }
    path.extend_from_slice(names.name(id).to_bytes());
}

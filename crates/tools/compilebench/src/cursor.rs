//! Cursor in a tree: which directories are open, and how the next file is reached.
//!
//! Files are reached relative to an open directory, as `tar` and `git` do it, so that a create
//! costs little more than open, write and close. A directory with a single file is not opened at
//! all: its file is reached by a path of two components.

use std::ffi::CStr;
use std::sync::Arc;

use treering_script::{DirSlot, ExpectedErrors, Io, NameId, NameTree, Stop};

/// Stack of open directories, from the tree's top down.
#[derive(Debug)]
pub(super) struct DirStack {
    names: Arc<NameTree>,
    /// True for a new tree: directories are made before they are opened, not only where they are
    /// missing.
    is_new: bool,
    /// True if a file may be reached by a path of several components.
    pub(super) by_path: bool,
    /// Open directories; the one at index `i` is in slot `i + 1`.
    stack: Vec<NameId>,
    /// Directories still to enter, the next one last.
    ahead: Vec<NameId>,
    /// Directory at which the file's path starts.
    base: NameId,
    /// Bit set of directories known to exist, indexed by name.
    seen: Vec<u64>,
    path: Vec<u8>,
}

/// Slot of the tree's top directory.
pub(super) const TOP: DirSlot = DirSlot(1);

impl DirStack {
    /// Cursor in a tree whose top directory the caller opens in slot [`TOP`].
    pub(super) fn new(names: Arc<NameTree>, is_new: bool) -> Self {
        let words = names.len().div_ceil(64);
        Self {
            names,
            is_new,
            by_path: false,
            stack: vec![NameId::ROOT],
            ahead: Vec::new(),
            base: NameId::ROOT,
            seen: vec![0; words],
            path: Vec::new(),
        }
    }

    /// Moves to a file's directory; `next` is the file after it, if any.
    pub(super) fn go(
        &mut self,
        io: &mut dyn Io,
        file: NameId,
        next: Option<NameId>,
    ) -> Result<(), Stop> {
        let dir = self.names.parent(file);
        if self.stack.last() == Some(&dir) {
            self.base = dir;
            return Ok(());
        }
        self.ahead.clear();
        let mut at = dir;
        let common = loop {
            if let Some(place) = self.stack.iter().rposition(|&open| open == at) {
                break place;
            }
            self.ahead.push(at);
            at = self.names.parent(at);
        };
        self.base = self.stack[common];
        let alone = self.by_path && !next.is_some_and(|next| self.is_below(next, dir));
        if alone && self.is_known(dir) {
            return Ok(()); // reached by path; what is open stays open
        }
        self.close(io, common + 1)?;
        while let Some(dir) = self.ahead.pop() {
            if alone && self.ahead.is_empty() {
                io.make_dir(slot(self.stack.len() - 1), self.names.name(dir)).unless_existing()?;
            } else {
                self.enter(io, dir)?;
            }
            self.mark_seen(dir);
        }
        Ok(())
    }

    /// Opens a directory in the deepest open one, making it if it may be missing.
    fn enter(&mut self, io: &mut dyn Io, dir: NameId) -> Result<(), Stop> {
        let (at, into) = (slot(self.stack.len() - 1), slot(self.stack.len()));
        let name = self.names.name(dir);
        if self.is_known(dir) {
            io.open_dir(at, name, into)?;
        } else if self.is_new || io.open_dir(at, name, into).unless_missing()?.is_none() {
            io.make_dir(at, name).unless_existing()?;
            io.open_dir(at, name, into)?;
        }
        self.stack.push(dir);
        self.base = dir;
        Ok(())
    }

    /// Closes directories, the deepest first, until `keep` are open.
    pub(super) fn close(&mut self, io: &mut dyn Io, keep: usize) -> Result<(), Stop> {
        while self.stack.len() > keep {
            self.stack.pop();
            io.close_dir(slot(self.stack.len()))?;
        }
        Ok(())
    }

    /// Location of the file to which the cursor moved: an open directory and the path from it.
    pub(super) fn place(&mut self, file: NameId) -> (DirSlot, &CStr) {
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

    fn is_below(&self, file: NameId, dir: NameId) -> bool {
        let mut at = self.names.parent(file);
        while at != dir && at != NameId::ROOT {
            at = self.names.parent(at);
        }
        at == dir
    }

    fn is_known(&self, dir: NameId) -> bool {
        self.seen[dir.index() / 64] >> (dir.index() % 64) & 1 == 1
    }

    fn mark_seen(&mut self, dir: NameId) {
        self.seen[dir.index() / 64] |= 1 << (dir.index() % 64);
    }
}

fn slot(place: usize) -> DirSlot {
    DirSlot(u16::try_from(place).expect("trees are at most 250 deep") + TOP.0)
}

fn write_path_below(names: &NameTree, base: NameId, id: NameId, path: &mut Vec<u8>) {
    let parent = names.parent(id);
    if parent != base && parent != NameId::ROOT {
        write_path_below(names, base, parent, path);
        path.push(b'/');
    }
    path.extend_from_slice(names.name(id).to_bytes());
}

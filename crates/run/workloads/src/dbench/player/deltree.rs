//! Removing all files below a directory; the directories stay, as the original leaves them.

use std::ffi::CString;

use treering_script::{Dir, Entries, EntryKind, Outcome};

use super::client::name_of;
use super::doing::Doing;
use super::{Player, Stage, TREE, TREE_LEVELS};

/// Where the walk is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Walk {
    /// The first directory's own directory is being opened.
    Reaching,
    /// A directory is being opened.
    Opening,
    Reading,
    /// The entry in hand was asked for.
    Asking,
    /// The entry in hand was removed.
    Removed,
    Closing,
}

/// A walk through a tree.
#[derive(Debug, Default)]
pub(super) struct Tree {
    /// The entries of each directory that is open that are still to come, as the engine packs them.
    levels: Vec<(Vec<u8>, usize)>,
    pub(super) entry: CString,
    is_dir: bool,
    /// Whether it is the original's end of a client, and not an operation.
    pub(super) cleans_up: bool,
}

/// The slot of a level's directory.
fn slot(level: usize) -> Dir {
    Dir(TREE + u16::try_from(level).unwrap_or_default())
}

impl Player {
    /// Begins to remove the files below the present operation's name.
    pub(super) fn begin_deltree(&mut self, cleans_up: bool) -> Option<Doing> {
        self.deltree = Tree { cleans_up, ..Tree::default() };
        let dir = self.spot(0).dir;
        let (at, opens) = self.client().places.reach(dir);
        self.at[0] = at;
        if opens {
            return self.walking(Walk::Reaching, Doing::OpenDir(dir, at));
        }
        self.open_tree()
    }

    fn open_tree(&mut self) -> Option<Doing> {
        if self.spot(0).name.is_empty() {
            return self.walked();
        }
        let doing = Doing::OpenSpot(self.at[0], 0, slot(0));
        self.walking(Walk::Opening, doing)
    }

    /// Keeps a batch of entries.
    pub(super) fn keep_batch(&mut self, last: &Outcome<'_>) {
        if let (Outcome::Entries(entries), Some(level)) = (last, self.deltree.levels.last_mut()) {
            *level = (entries.packed().to_vec(), 0);
        }
    }

    pub(super) fn walk(&mut self, walk: Walk) -> Option<Doing> {
        let failed = self.heard.errno();
        let level = self.deltree.levels.len().saturating_sub(1);
        match walk {
            Walk::Reaching if failed.is_some() => {
                let dir = self.spot(0).dir;
                self.client().places.lost(dir);
                self.walked()
            }
            Walk::Reaching => self.open_tree(),
            Walk::Opening if failed.is_some() && self.deltree.levels.is_empty() => self.walked(),
            Walk::Opening if failed.is_some() => self.next_entry(),
            Walk::Opening => {
                let level = self.deltree.levels.len();
                self.deltree.levels.push((Vec::new(), 0));
                self.walking(Walk::Reading, Doing::ReadDir(slot(level)))
            }
            Walk::Reading => {
                let empty = self.deltree.levels.last().is_none_or(|(batch, _)| batch.is_empty());
                if failed.is_some() || empty {
                    return self.walking(Walk::Closing, Doing::CloseDir(slot(level)));
                }
                self.next_entry()
            }
            Walk::Asking if self.deltree.is_dir => {
                if level + 1 >= TREE_LEVELS {
                    self.say("Deltree goes no deeper than 32 directories".to_owned());
                    return self.next_entry();
                }
                self.walking(Walk::Opening, Doing::OpenEntry(slot(level), slot(level + 1)))
            }
            Walk::Asking => self.walking(Walk::Removed, Doing::UnlinkEntry(slot(level))),
            Walk::Removed => self.next_entry(),
            Walk::Closing => {
                self.deltree.levels.pop();
                if self.deltree.levels.is_empty() { self.walked() } else { self.next_entry() }
            }
        }
    }

    /// Goes on to the next entry of the innermost directory.
    fn next_entry(&mut self) -> Option<Doing> {
        let level = self.deltree.levels.len().saturating_sub(1);
        let Some((batch, read)) = self.deltree.levels.last_mut() else { return self.walked() };
        let mut entries = Entries::new(&batch[*read..]);
        let Some(entry) = entries.next() else {
            batch.clear();
            return self.walking(Walk::Reading, Doing::ReadDir(slot(level)));
        };
        self.deltree.entry = name_of(entry.name.to_bytes());
        self.deltree.is_dir = entry.kind == EntryKind::Directory;
        *read = batch.len() - entries.packed().len();
        self.walking(Walk::Asking, Doing::StatEntry(slot(level)))
    }

    #[expect(clippy::unnecessary_wraps, reason = "what an operation does next is a call or none")]
    fn walking(&mut self, walk: Walk, doing: Doing) -> Option<Doing> {
        self.stage = Stage::Deltree(walk);
        Some(doing)
    }

    fn walked(&mut self) -> Option<Doing> {
        if self.deltree.cleans_up {
            self.leave();
        } else {
            self.finish(false);
        }
        None
    }
}

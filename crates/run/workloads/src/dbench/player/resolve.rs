//! How a name is found: asked for, and where it is not there, its directory read for one that
//! differs in case only, as a server for clients without case would.
//!
//! As in the original, such a name ends the search and is not used: the operation goes on with the
//! name as it is written.

use treering_script::{Dir, Outcome};

use super::doing::Doing;
use super::{Heard, Player, SCAN, Stage};

/// Where the search is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Search {
    Begin,
    /// The directory is being opened into its slot.
    Reaching,
    Asking,
    /// Its attribute was asked for.
    Xattr,
    /// The directory is being opened to be read.
    Opening,
    Reading,
    /// A name like it was read.
    Similar,
    Closing,
}

impl Player {
    /// Looks for the names of the present operation, one after the other.
    pub(super) fn resolve(&mut self, names: usize) -> Option<Doing> {
        self.names = names;
        self.resolving = 0;
        self.found = [false; 2];
        self.lost = [None; 2];
        self.stage = Stage::Resolve(Search::Begin);
        None
    }

    /// What a batch of entries says of the name that is looked for.
    pub(super) fn look_through(&mut self, last: Outcome<'_>) {
        let Outcome::Entries(entries) = last else { return };
        if self.stage != Stage::Resolve(Search::Reading) {
            self.batch = entries.count();
            return;
        }
        // Here only whether there are any counts.
        self.batch = usize::from(!entries.is_empty());
        let wanted = self.spot(self.resolving).name.as_bytes();
        let similar = |name: &[u8]| name.eq_ignore_ascii_case(wanted);
        if entries.into_iter().any(|entry| similar(entry.name.to_bytes())) {
            self.stage = Stage::Resolve(Search::Similar);
        }
    }

    pub(super) fn search(&mut self, search: Search) -> Option<Doing> {
        let which = self.resolving;
        let (dir, is_top) = (self.spot(which).dir, self.spot(which).name.is_empty());
        let failed = self.heard.errno();
        match search {
            Search::Begin => {
                let (slot, opens) = self.client().places.reach(dir);
                self.at[which] = slot;
                if opens {
                    return self.searching(Search::Reaching, Doing::OpenDir(dir, slot));
                }
                self.ask(which, is_top)
            }
            Search::Reaching => {
                if let Some(errno) = failed {
                    self.client().places.lost(dir);
                    self.lost[which] = Some(errno);
                    return self.resolved();
                }
                self.ask(which, is_top)
            }
            Search::Asking if failed.is_none() => {
                self.found[which] = true;
                if self.plan.xattr {
                    let doing = Doing::GetXattr(self.at[which], which);
                    return self.searching(Search::Xattr, doing);
                }
                self.resolved()
            }
            Search::Asking if self.plan.resolve => {
                let doing = self.open_parent(which);
                self.searching(Search::Opening, doing)
            }
            Search::Opening if failed.is_none() => {
                self.searching(Search::Reading, Doing::ReadDir(SCAN))
            }
            Search::Reading if failed.is_none() && self.batch > 0 => {
                self.searching(Search::Reading, Doing::ReadDir(SCAN))
            }
            Search::Reading | Search::Similar => {
                self.searching(Search::Closing, Doing::CloseDir(SCAN))
            }
            Search::Asking | Search::Xattr | Search::Opening | Search::Closing => self.resolved(),
        }
    }

    fn ask(&mut self, which: usize, is_top: bool) -> Option<Doing> {
        if is_top {
            // There is no name that it could be asked for by; it is there.
            self.found[which] = true;
            return self.resolved();
        }
        self.searching(Search::Asking, Doing::Stat(self.at[which], which))
    }

    #[expect(clippy::unnecessary_wraps, reason = "what an operation does next is a call or none")]
    fn searching(&mut self, search: Search, doing: Doing) -> Option<Doing> {
        self.stage = Stage::Resolve(search);
        Some(doing)
    }

    fn resolved(&mut self) -> Option<Doing> {
        self.resolving += 1;
        self.heard = Heard::Done(0);
        self.stage =
            if self.resolving < self.names { Stage::Resolve(Search::Begin) } else { Stage::Act(0) };
        None
    }

    /// Opens the directory of a name once more, to read or to sync it.
    pub(super) fn open_parent(&mut self, which: usize) -> Doing {
        if self.at[which] == Dir::TARGET {
            return Doing::OpenTop(SCAN);
        }
        Doing::OpenDir(self.spot(which).dir, SCAN)
    }
}

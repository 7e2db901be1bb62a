//! The scripts that walk a tree in the order of its directories: read, stat, delete, find the
//! order.
//!
//! Reading walks from the top down, deleting and stating from the bottom up, as the original does.
//! In classic style every entry is stat'ed when its directory has been listed, and each directory
//! once more before it is entered: that is what the walk of Python 2 does.

use std::ffi::{CStr, CString};
use std::ops::Range;
use std::sync::{Arc, Mutex};

use treering_script::{
    Call, Dir, File, MAX_DIRS, NameId, Names, OpenHow, Outcome, Step, Steps, SyncScope,
};

use super::cursor::TOP;

/// What the walk does with what it finds.
#[derive(Clone, Debug)]
pub(super) enum Visit {
    /// Notes the order of the files.
    Order(Arc<Names>, Arc<Mutex<Vec<NameId>>>),
    /// Reads every file, so many bytes at a time.
    Read(u32),
    /// Stats files and directories.
    Stat,
    /// Removes files and directories; the top directory when `true`.
    Delete(bool),
}

/// Which entries of a directory are being gone through, and what for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Pass {
    /// Listing the directory.
    List,
    /// Classic: stat of every entry.
    StatEntries,
    /// The visit of the files.
    Files,
    /// Going into the directories.
    Enter,
    /// The visit of the directories, from the bottom up only.
    Dirs,
    /// Closing the directory.
    Leave,
}

/// A directory on the way down.
#[derive(Debug)]
struct Frame {
    /// Where its entries begin among all that are kept.
    start: usize,
    /// The next entry to look at.
    at: usize,
    pass: Pass,
    /// The directory's name in the tree of names, when the order is noted.
    dir: Option<NameId>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    OpenTop,
    Walk,
    /// Classic: the directory has been stat'ed and is entered now.
    Descend,
    ReadFile,
    RemoveTop,
    Sync,
    End,
}

/// A step whose name is a range of the kept entries.
enum Doing {
    Plain(Step<'static>),
    OpenTop,
    RemoveTop,
    Named(NamedCall, Range<usize>),
    Pass,
    End,
}

#[derive(Clone, Copy)]
enum NamedCall {
    Stat(Dir),
    OpenFile(Dir),
    Unlink(Dir),
    RemoveDir(Dir),
    OpenDir(Dir, Dir),
}

/// Yields the steps of a walk.
#[derive(Debug)]
pub(super) struct WalkTree {
    tree: CString,
    visit: Visit,
    stat_entries: bool,
    sync: Option<SyncScope>,
    frames: Vec<Frame>,
    /// Entries of all directories on the way down: one byte for the kind, the name, a NUL.
    entries: Vec<u8>,
    /// The entry being entered, in classic style between its stat and its opening.
    entering: Range<usize>,
    stage: Stage,
    order: Vec<NameId>,
}

const FILE: File = File(0);
const KIND_FILE: u8 = 0;
const KIND_DIRECTORY: u8 = 1;

impl WalkTree {
    /// The walk through the tree of this name.
    pub(super) fn new(
        tree: CString,
        visit: Visit,
        stat_entries: bool,
        sync: Option<SyncScope>,
    ) -> Self {
        Self {
            tree,
            visit,
            stat_entries,
            sync,
            frames: Vec::new(),
            entries: Vec::new(),
            entering: 0..0,
            stage: Stage::OpenTop,
            order: Vec::new(),
        }
    }

    fn top_down(&self) -> bool {
        matches!(self.visit, Visit::Order(..) | Visit::Read(_))
    }

    fn here(&self) -> Dir {
        slot(self.frames.len().saturating_sub(1))
    }

    fn push_frame(&mut self, dir: Option<NameId>) {
        let start = self.entries.len();
        self.frames.push(Frame { start, at: start, pass: Pass::List, dir });
    }

    /// The pass after one, by style.
    fn after(&self, pass: Pass) -> Pass {
        match (pass, self.top_down()) {
            (Pass::List, _) if self.stat_entries => Pass::StatEntries,
            (Pass::List | Pass::StatEntries, true) | (Pass::Enter, false) => Pass::Files,
            (Pass::List | Pass::StatEntries, false) | (Pass::Files, true) => Pass::Enter,
            (Pass::Files, false) => Pass::Dirs,
            (Pass::Enter, true) | (Pass::Dirs | Pass::Leave, _) => Pass::Leave,
        }
    }

    /// The next entry of the present directory that this pass is about: its kind and name.
    fn next_entry(&mut self) -> Option<(u8, Range<usize>)> {
        let end = self.entries.len();
        let frame = self.frames.last_mut()?;
        while frame.at < end {
            let kind = self.entries[frame.at];
            let start = frame.at + 1;
            let length = self.entries[start..].iter().position(|&byte| byte == 0)? + 1;
            frame.at = start + length;
            let wanted = match frame.pass {
                Pass::StatEntries => true,
                Pass::Files => kind != KIND_DIRECTORY,
                Pass::Enter | Pass::Dirs => kind == KIND_DIRECTORY,
                Pass::List | Pass::Leave => false,
            };
            if wanted {
                return Some((kind, start..start + length));
            }
        }
        None
    }

    fn list(&mut self, last: Outcome<'_>) -> Doing {
        if let Outcome::Entries(entries) = last {
            if entries.is_empty() {
                self.end_pass();
                return Doing::Pass;
            }
            self.entries.extend_from_slice(entries.packed());
        }
        Doing::Plain(Call::ReadDir { dir: self.here() }.into())
    }

    fn end_pass(&mut self) {
        let next = self.frames.last().map(|frame| self.after(frame.pass));
        if let (Some(frame), Some(next)) = (self.frames.last_mut(), next) {
            frame.pass = next;
            frame.at = frame.start;
        }
    }

    fn walk(&mut self, last: Outcome<'_>) -> Doing {
        let Some(frame) = self.frames.last() else {
            self.stage = Stage::RemoveTop;
            return Doing::Pass;
        };
        let pass = frame.pass;
        match pass {
            Pass::List => return self.list(last),
            Pass::Leave => return self.leave(),
            Pass::StatEntries | Pass::Files | Pass::Enter | Pass::Dirs => {}
        }
        let Some((kind, name)) = self.next_entry() else {
            self.end_pass();
            return Doing::Pass;
        };
        let here = self.here();
        match pass {
            Pass::Enter => self.enter(name),
            Pass::StatEntries => Doing::Named(NamedCall::Stat(here), name),
            Pass::Files => self.visit_file(kind, name, here),
            Pass::Dirs => match self.visit {
                Visit::Stat => Doing::Named(NamedCall::Stat(here), name),
                Visit::Delete(_) => Doing::Named(NamedCall::RemoveDir(here), name),
                Visit::Order(..) | Visit::Read(_) => Doing::Pass,
            },
            Pass::List | Pass::Leave => Doing::Pass,
        }
    }

    fn visit_file(&mut self, kind: u8, name: Range<usize>, here: Dir) -> Doing {
        match &self.visit {
            Visit::Order(names, _) => {
                let dir = self.frames.last().and_then(|frame| frame.dir);
                let bytes = &self.entries[name.start..name.end - 1];
                self.order.extend(dir.and_then(|dir| names.find(dir, bytes)));
                Doing::Pass
            }
            Visit::Read(_) if kind != KIND_FILE => Doing::Pass,
            Visit::Read(_) => {
                self.stage = Stage::ReadFile;
                Doing::Named(NamedCall::OpenFile(here), name)
            }
            Visit::Stat => Doing::Named(NamedCall::Stat(here), name),
            Visit::Delete(_) => Doing::Named(NamedCall::Unlink(here), name),
        }
    }

    fn enter(&mut self, name: Range<usize>) -> Doing {
        if self.frames.len() + usize::from(TOP.0) >= usize::from(MAX_DIRS) {
            return Doing::Pass; // deeper than anything we made
        }
        self.entering = name.clone();
        if self.stat_entries {
            self.stage = Stage::Descend;
            return Doing::Named(NamedCall::Stat(self.here()), name);
        }
        self.descend()
    }

    fn descend(&mut self) -> Doing {
        let name = self.entering.clone();
        let (here, below) = (self.here(), slot(self.frames.len()));
        let dir = match &self.visit {
            Visit::Order(names, _) => {
                let bytes = &self.entries[name.start..name.end - 1];
                let dir = self.frames.last().and_then(|frame| frame.dir);
                dir.and_then(|dir| names.find(dir, bytes))
            }
            Visit::Read(_) | Visit::Stat | Visit::Delete(_) => None,
        };
        self.stage = Stage::Walk;
        self.push_frame(dir);
        Doing::Named(NamedCall::OpenDir(here, below), name)
    }

    fn leave(&mut self) -> Doing {
        let dir = self.here();
        if let Some(frame) = self.frames.pop() {
            self.entries.truncate(frame.start);
        }
        Doing::Plain(Call::CloseDir { dir }.into())
    }

    fn read_file(&mut self, last: &Outcome<'_>) -> Doing {
        if matches!(last, Outcome::Bytes(0)) {
            self.stage = Stage::Walk;
            return Doing::Plain(Call::Close { file: FILE }.into());
        }
        let bytes = if let Visit::Read(chunk) = self.visit { chunk } else { 1 };
        Doing::Plain(Call::Read { file: FILE, bytes }.into())
    }

    fn advance(&mut self, last: &mut Outcome<'_>) -> Doing {
        // Only the first stage asked may look at what came of the step before.
        let last = std::mem::replace(last, Outcome::Start);
        match self.stage {
            Stage::OpenTop => {
                self.stage = Stage::Walk;
                self.push_frame(Some(NameId::ROOT));
                Doing::OpenTop
            }
            Stage::Walk => self.walk(last),
            Stage::Descend => self.descend(),
            Stage::ReadFile => self.read_file(&last),
            Stage::RemoveTop => {
                self.stage = Stage::Sync;
                if let Visit::Order(_, order) = &self.visit {
                    let mut shared = order.lock().expect("nobody panics while holding it");
                    *shared = std::mem::take(&mut self.order);
                }
                let remove = matches!(self.visit, Visit::Delete(true));
                if remove { Doing::RemoveTop } else { Doing::Pass }
            }
            Stage::Sync => {
                self.stage = Stage::End;
                match self.sync {
                    Some(scope) => Doing::Plain(Call::Sync { scope }.into()),
                    None => Doing::Pass,
                }
            }
            Stage::End => Doing::End,
        }
    }

    fn name(&self, range: Range<usize>) -> &CStr {
        CStr::from_bytes_with_nul(&self.entries[range]).expect("ranges end at the NUL")
    }
}

impl Steps for WalkTree {
    fn next<'s>(&'s mut self, mut last: Outcome<'_>) -> Option<Step<'s>> {
        let doing = loop {
            match self.advance(&mut last) {
                Doing::Pass => {}
                doing => break doing,
            }
        };
        let step = match doing {
            Doing::Plain(step) => step,
            Doing::OpenTop => Call::OpenDir { at: Dir::TARGET, path: &self.tree, into: TOP }.into(),
            Doing::RemoveTop => Call::RemoveDir { at: Dir::TARGET, name: &self.tree }.into(),
            Doing::Named(call, range) => {
                let name = self.name(range);
                match call {
                    NamedCall::Stat(at) => Call::Stat { at, name },
                    NamedCall::OpenFile(at) => {
                        Call::Open { at, path: name, how: OpenHow::Read, into: FILE }
                    }
                    NamedCall::Unlink(at) => Call::Unlink { at, path: name },
                    NamedCall::RemoveDir(at) => Call::RemoveDir { at, name },
                    NamedCall::OpenDir(at, into) => Call::OpenDir { at, path: name, into },
                }
                .into()
            }
            Doing::Pass | Doing::End => return None,
        };
        Some(step)
    }
}

fn slot(depth: usize) -> Dir {
    Dir(u16::try_from(depth).expect("fewer than MAX_DIRS frames") + TOP.0)
}

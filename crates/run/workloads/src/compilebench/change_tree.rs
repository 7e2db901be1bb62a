//! The script of an operation that changes a tree: create, patch, compile, clean.
//!
//! Files are removed, then written, in the order of the recipe. The sequence of calls per file is
//! the original's: open to append, for a patch read the old content and truncate, write, close.

use std::ffi::CString;
use std::sync::Arc;

use treering_script::{Call, CreateHow, Dir, File, NameId, Names, Outcome, Step, Steps, SyncScope};

use super::cursor::{Cursor, Making, Move, TOP};
use super::recipes::Change;

/// How a change is written.
#[derive(Clone, Copy, Debug)]
pub(super) struct Writing {
    /// How files are created.
    pub(super) how: CreateHow,
    /// Whether the old content is read and cut before writing, as a patch does.
    pub(super) rewrite: bool,
    /// Whether each file is unlinked before it is written.
    pub(super) unlink_first: bool,
    /// Whether the tree is new.
    pub(super) fresh: bool,
    /// Bytes per read and write.
    pub(super) chunk_bytes: u32,
    /// The last step.
    pub(super) sync: Option<SyncScope>,
}

/// The step that comes next, unless the stage is passed over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    MakeTop,
    OpenTop,
    TakeRemove,
    GoToRemove,
    TakeFile,
    GoToFile,
    Unlink,
    Create,
    Read,
    Truncate,
    Write,
    Leave,
    Sync,
    End,
}

/// Yields the steps of a change.
#[derive(Debug)]
pub(super) struct ChangeTree {
    tree: CString,
    change: Arc<Change>,
    writing: Writing,
    cursor: Cursor,
    /// The place in the list of files to remove, then in that of files to write.
    place: usize,
    stage: Stage,
    file: NameId,
    size: u64,
    written: u64,
}

const FILE: File = File(0);

/// What a stage comes to: a step without borrowed names, or nothing to do.
enum Doing {
    Move(Move),
    Plain(Step<'static>),
    MakeTop,
    OpenTop,
    Unlink { expected: bool },
    Create,
    Pass,
    End,
}

impl ChangeTree {
    /// The script that applies a change to the tree of this name.
    pub(super) fn new(
        tree: CString,
        names: &Arc<Names>,
        change: Arc<Change>,
        writing: Writing,
    ) -> Self {
        let making = if writing.fresh { Making::MakeFirst } else { Making::OpenFirst };
        Self {
            tree,
            change,
            writing,
            // An unlink takes one name in an open directory: no reaching by path then.
            cursor: Cursor::new(Arc::clone(names), making, false),
            place: 0,
            stage: if writing.fresh { Stage::MakeTop } else { Stage::OpenTop },
            file: NameId::ROOT,
            size: 0,
            written: 0,
        }
    }

    fn take_remove(&mut self) -> Stage {
        let removes = &self.change.removes;
        let Some(&file) = removes.get(self.place) else {
            self.place = 0;
            self.cursor.reach_by_path(!self.writing.unlink_first);
            return Stage::TakeFile;
        };
        self.file = file;
        self.cursor.set_out(file, removes.get(self.place + 1).copied());
        self.place += 1;
        Stage::GoToRemove
    }

    fn take_file(&mut self) -> Stage {
        let Some((file, size)) = self.change.writes.get(self.place) else {
            self.cursor.leave();
            return Stage::Leave;
        };
        let next = self.change.writes.get(self.place + 1).map(|(next, _)| next);
        (self.file, self.size, self.written) = (file, size, 0);
        self.cursor.set_out(file, next);
        self.place += 1;
        Stage::GoToFile
    }

    /// What the present stage comes to; moves on to the stage after it.
    fn advance(&mut self, last: &mut Outcome<'_>) -> Doing {
        // Only the first stage asked may look at what came of the step before.
        let last = std::mem::replace(last, Outcome::Start);
        let (next, doing) = match self.stage {
            Stage::MakeTop => (Stage::OpenTop, Doing::MakeTop),
            Stage::OpenTop => (Stage::TakeRemove, Doing::OpenTop),
            Stage::TakeRemove => (self.take_remove(), Doing::Pass),
            Stage::TakeFile => (self.take_file(), Doing::Pass),
            Stage::GoToRemove => match self.cursor.advance(matches!(last, Outcome::Refused)) {
                Some(way) => (Stage::GoToRemove, Doing::Move(way)),
                None => (Stage::TakeRemove, Doing::Unlink { expected: true }),
            },
            Stage::GoToFile => match self.cursor.advance(matches!(last, Outcome::Refused)) {
                Some(way) => (Stage::GoToFile, Doing::Move(way)),
                None if self.writing.unlink_first => (Stage::Unlink, Doing::Pass),
                None => (Stage::Create, Doing::Pass),
            },
            Stage::Unlink => (Stage::Create, Doing::Unlink { expected: false }),
            Stage::Create if self.writing.rewrite => (Stage::Read, Doing::Create),
            Stage::Create => (Stage::Write, Doing::Create),
            Stage::Read if matches!(last, Outcome::Bytes(0)) => (Stage::Truncate, Doing::Pass),
            Stage::Read => {
                let bytes = self.writing.chunk_bytes;
                (Stage::Read, Doing::Plain(Call::Read { file: FILE, bytes }.into()))
            }
            Stage::Truncate => {
                (Stage::Write, Doing::Plain(Call::Truncate { file: FILE, bytes: 0 }.into()))
            }
            Stage::Write => self.write_or_close(),
            Stage::Leave => match self.cursor.advance(false) {
                Some(way) => (Stage::Leave, Doing::Move(way)),
                None => (Stage::Sync, Doing::Pass),
            },
            Stage::Sync => (
                Stage::End,
                match self.writing.sync {
                    Some(scope) => Doing::Plain(Call::Sync { scope }.into()),
                    None => Doing::Pass,
                },
            ),
            Stage::End => (Stage::End, Doing::End),
        };
        self.stage = next;
        doing
    }

    fn write_or_close(&mut self) -> (Stage, Doing) {
        let left = self.size - self.written;
        if left == 0 {
            return (Stage::TakeFile, Doing::Plain(Call::Close { file: FILE }.into()));
        }
        let bytes = u32::try_from(left).unwrap_or(u32::MAX).min(self.writing.chunk_bytes);
        let position = self.written;
        self.written += u64::from(bytes);
        (Stage::Write, Doing::Plain(Call::Write { file: FILE, bytes, position }.into()))
    }
}

impl Steps for ChangeTree {
    fn next<'s>(&'s mut self, mut last: Outcome<'_>) -> Option<Step<'s>> {
        let doing = loop {
            match self.advance(&mut last) {
                Doing::Pass => {}
                doing => break doing,
            }
        };
        let step = match doing {
            Doing::Move(way) => self.cursor.step(way),
            Doing::Plain(step) => step,
            Doing::MakeTop => Call::MakeDir { at: Dir::TARGET, name: &self.tree }.unless_existing(),
            Doing::OpenTop => Call::OpenDir { at: Dir::TARGET, path: &self.tree, into: TOP }.into(),
            Doing::Unlink { expected } => {
                let (at, path) = self.cursor.place(self.file);
                let call = Call::Unlink { at, path };
                if expected { call.into() } else { call.unless_missing() }
            }
            Doing::Create => {
                let how = self.writing.how;
                let (at, path) = self.cursor.place(self.file);
                Call::Create { at, path, how, into: FILE }.into()
            }
            Doing::Pass | Doing::End => return None,
        };
        Some(step)
    }
}

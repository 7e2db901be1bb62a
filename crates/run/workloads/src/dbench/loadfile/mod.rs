//! The language of load files: lines of operations, parsed once and shared by all clients.
//!
//! `words` cuts lines, `numbers` and `text` are what stands in them, `parse` makes operations of
//! them, `read` finds the file, `weigh` says what it asks of a filesystem.

mod messages;
mod numbers;
mod parse;
mod read;
#[cfg(test)]
mod tests;
mod text;
mod verbs;
mod weigh;
mod words;

use std::collections::HashMap;

pub(super) use numbers::Number;
pub(super) use parse::{Lines, parse};
pub(super) use read::read;
pub(super) use text::{RandomText, Template};
pub(super) use verbs::long_name;

/// A name of a load, by its number.
pub(super) type NameId = u32;
/// A handle of a load, by its number among all handles.
pub(super) type HandleId = u32;

/// The kinds of operation, in the order of the original's table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub(super) enum Kind {
    NtCreateX,
    Close,
    Rename,
    Unlink,
    Deltree,
    Rmdir,
    Mkdir,
    Qpathinfo,
    Qfileinfo,
    Qfsinfo,
    Sfileinfo,
    Find,
    WriteX,
    ReadX,
    LockX,
    UnlockX,
    Flush,
}

impl Kind {
    /// All kinds.
    pub(super) const ALL: [Self; 17] = [
        Self::NtCreateX,
        Self::Close,
        Self::Rename,
        Self::Unlink,
        Self::Deltree,
        Self::Rmdir,
        Self::Mkdir,
        Self::Qpathinfo,
        Self::Qfileinfo,
        Self::Qfsinfo,
        Self::Sfileinfo,
        Self::Find,
        Self::WriteX,
        Self::ReadX,
        Self::LockX,
        Self::UnlockX,
        Self::Flush,
    ];

    /// How many there are.
    pub(super) const COUNT: usize = Self::ALL.len();

    /// The name in the original's table.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::NtCreateX => "NTCreateX",
            Self::Close => "Close",
            Self::Rename => "Rename",
            Self::Unlink => "Unlink",
            Self::Deltree => "Deltree",
            Self::Rmdir => "Rmdir",
            Self::Mkdir => "Mkdir",
            Self::Qpathinfo => "Qpathinfo",
            Self::Qfileinfo => "Qfileinfo",
            Self::Qfsinfo => "Qfsinfo",
            Self::Sfileinfo => "Sfileinfo",
            Self::Find => "Find",
            Self::WriteX => "WriteX",
            Self::ReadX => "ReadX",
            Self::LockX => "LockX",
            Self::UnlockX => "UnlockX",
            Self::Flush => "Flush",
        }
    }
}

/// How a file is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Disposition {
    /// It must be there.
    Open,
    /// It is made where it is not there.
    Create,
    /// What is in it goes.
    Overwrite,
}

/// What is to be done, without the names themselves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operation {
    Create {
        name: NameId,
        handle: HandleId,
        how: Disposition,
        directory: bool,
    },
    Close {
        handle: HandleId,
    },
    Rename {
        from: NameId,
        to: NameId,
    },
    Unlink {
        name: NameId,
    },
    Deltree {
        name: NameId,
    },
    Rmdir {
        name: NameId,
    },
    Mkdir {
        name: NameId,
    },
    QueryPath {
        name: NameId,
    },
    QueryFile {
        handle: HandleId,
    },
    QueryFs,
    SetFile {
        handle: HandleId,
    },
    Find {
        name: NameId,
        most: u32,
    },
    Write {
        handle: HandleId,
        offset: u64,
        bytes: u32,
        moved: u32,
    },
    Read {
        handle: HandleId,
        offset: u64,
        bytes: u32,
        moved: u32,
    },
    Lock {
        handle: HandleId,
        start: u32,
        bytes: u32,
        locks: bool,
    },
    Flush {
        handle: HandleId,
    },
    /// The numbers or names of this operation are drawn each time.
    Drawn(u32),
    /// Waits so many microseconds.
    Sleep {
        us: u32,
    },
    /// Waits until the pass is so many microseconds old.
    Until {
        us: u64,
    },
    /// What follows, to the end, so many times; `end` is the number of the end.
    Loop {
        times: u64,
        end: u32,
    },
    EndLoop {
        start: u32,
    },
    /// Says that this point is reached.
    SetPoint {
        point: u64,
    },
    /// Waits until a client has reached a point.
    WaitPoint {
        client: u32,
        point: u64,
    },
    /// Draws a random string.
    DrawText {
        into: u8,
        text: u32,
    },
}

/// What a line expects of its operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Expected {
    Success,
    Failure,
    Either,
}

/// A line that is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Op {
    pub(super) operation: Operation,
    /// The line in its file.
    pub(super) line: u32,
    /// The status that stands at its end.
    pub(super) status: u16,
}

/// An operation whose numbers or names are drawn when it is done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Drawn {
    pub(super) kind: Kind,
    pub(super) names: Vec<Template>,
    pub(super) numbers: Vec<Number>,
}

/// A status that lines end with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Status {
    pub(super) text: String,
    pub(super) expected: Expected,
}

/// A load.
#[derive(Debug, Default)]
pub(super) struct Load {
    pub(super) ops: Vec<Op>,
    pub(super) names: Vec<Template>,
    /// The number that each handle has in the file.
    pub(super) handles: Vec<u64>,
    pub(super) handle_ids: HashMap<u64, HandleId>,
    pub(super) statuses: Vec<Status>,
    pub(super) drawn: Vec<Drawn>,
    pub(super) texts: Vec<RandomText>,
    pub(super) warnings: Vec<String>,
    /// Lines of the file that were taken.
    pub(super) lines: u32,
}

impl Load {
    /// Operations of each kind in a pass, those in loops once.
    pub(super) fn counts(&self) -> [u64; Kind::COUNT] {
        let mut counts = [0; Kind::COUNT];
        for kind in self.ops.iter().filter_map(|op| self.kind(op.operation)) {
            counts[kind as usize] += 1;
        }
        counts
    }

    /// The kind of what is to be done; directives have none.
    pub(super) fn kind(&self, operation: Operation) -> Option<Kind> {
        Some(match operation {
            Operation::Create { .. } => Kind::NtCreateX,
            Operation::Close { .. } => Kind::Close,
            Operation::Rename { .. } => Kind::Rename,
            Operation::Unlink { .. } => Kind::Unlink,
            Operation::Deltree { .. } => Kind::Deltree,
            Operation::Rmdir { .. } => Kind::Rmdir,
            Operation::Mkdir { .. } => Kind::Mkdir,
            Operation::QueryPath { .. } => Kind::Qpathinfo,
            Operation::QueryFile { .. } => Kind::Qfileinfo,
            Operation::QueryFs => Kind::Qfsinfo,
            Operation::SetFile { .. } => Kind::Sfileinfo,
            Operation::Find { .. } => Kind::Find,
            Operation::Write { .. } => Kind::WriteX,
            Operation::Read { .. } => Kind::ReadX,
            Operation::Lock { locks: true, .. } => Kind::LockX,
            Operation::Lock { locks: false, .. } => Kind::UnlockX,
            Operation::Flush { .. } => Kind::Flush,
            Operation::Drawn(number) => self.drawn.get(number as usize)?.kind,
            _ => return None,
        })
    }

    /// The status at the end of an operation's line.
    pub(super) fn status(&self, op: &Op) -> &Status {
        &self.statuses[usize::from(op.status)]
    }
}

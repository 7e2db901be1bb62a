//! The language of load files: lines of operations, parsed once and shared by all clients.
//!
//! `words` cuts lines, `numbers` and `text` are what stands in them, `parse` makes operations of
//! them, and `generate` writes a load of our own with the published mix.

pub mod generate;
mod numbers;
mod parse;
#[cfg(test)]
mod tests;
mod text;
mod verbs;
mod words;

use std::collections::HashMap;

pub(crate) use numbers::Number;
pub(crate) use parse::{Lines, parse};
pub(crate) use text::{RandomText, Template};
pub(crate) use verbs::long_name;

/// A name of a load, by its number.
pub(crate) type NameId = u32;
/// A handle of a load, by its number among all handles.
pub(crate) type HandleId = u32;

/// The kinds of operation, in the order of the original's table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub(crate) enum Kind {
    /// Opens or creates a file or a directory.
    NtCreateX,
    /// Closes a handle.
    Close,
    /// Renames.
    Rename,
    /// Removes a file, or files that match a pattern.
    Unlink,
    /// Removes a directory with everything in it.
    Deltree,
    /// Removes an empty directory.
    Rmdir,
    /// Creates a directory.
    Mkdir,
    /// Looks a name up.
    Qpathinfo,
    /// Looks an open file up.
    Qfileinfo,
    /// Asks for the free space.
    Qfsinfo,
    /// Sets the times of an open file.
    Sfileinfo,
    /// Lists a directory.
    Find,
    /// Writes.
    WriteX,
    /// Reads.
    ReadX,
    /// Locks a range of bytes.
    LockX,
    /// Unlocks a range of bytes.
    UnlockX,
    /// An fsync.
    Flush,
}

impl Kind {
    /// All kinds.
    pub(crate) const ALL: [Self; 17] = [
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
    pub(crate) const COUNT: usize = Self::ALL.len();

    /// The name in the original's table.
    pub(crate) const fn name(self) -> &'static str {
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
pub(crate) enum Disposition {
    /// It must be there.
    Open,
    /// It is made where it is not there.
    Create,
    /// What is in it goes.
    Overwrite,
}

/// What is to be done, without the names themselves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operation {
    /// `NTCreateX`.
    Create {
        /// The name, by its number.
        name: NameId,
        /// The handle, by its number.
        handle: HandleId,
        /// How it is opened.
        how: Disposition,
        /// Whether it is a directory.
        directory: bool,
    },
    /// Closes a handle.
    Close {
        /// The handle, by its number.
        handle: HandleId,
    },
    /// Renames.
    Rename {
        /// The old name.
        from: NameId,
        /// The new name.
        to: NameId,
    },
    /// Removes a file, or files that match a pattern.
    Unlink {
        /// The name, by its number.
        name: NameId,
    },
    /// Removes a directory with everything in it.
    Deltree {
        /// The name, by its number.
        name: NameId,
    },
    /// Removes an empty directory.
    Rmdir {
        /// The name, by its number.
        name: NameId,
    },
    /// Creates a directory.
    Mkdir {
        /// The name, by its number.
        name: NameId,
    },
    /// `QUERY_PATH_INFORMATION`.
    QueryPath {
        /// The name, by its number.
        name: NameId,
    },
    /// `QUERY_FILE_INFORMATION`.
    QueryFile {
        /// The handle, by its number.
        handle: HandleId,
    },
    /// `QUERY_FS_INFORMATION`.
    QueryFs,
    /// `SET_FILE_INFORMATION`.
    SetFile {
        /// The handle, by its number.
        handle: HandleId,
    },
    /// Lists a directory.
    Find {
        /// The name, by its number.
        name: NameId,
        /// Entries that are listed at most.
        most: u32,
    },
    /// `WriteX`.
    Write {
        /// The handle, by its number.
        handle: HandleId,
        /// Bytes from the start of the file.
        offset: u64,
        /// Bytes that are asked for.
        bytes: u32,
        /// Bytes that moved when the load was recorded.
        moved: u32,
    },
    /// `ReadX`.
    Read {
        /// The handle, by its number.
        handle: HandleId,
        /// Bytes from the start of the file.
        offset: u64,
        /// Bytes that are asked for.
        bytes: u32,
        /// Bytes that moved when the load was recorded.
        moved: u32,
    },
    /// `LockX` or `UnlockX`.
    Lock {
        /// The handle, by its number.
        handle: HandleId,
        /// The first byte of the range.
        start: u32,
        /// Bytes that are asked for.
        bytes: u32,
        /// Whether it locks; otherwise it unlocks.
        locks: bool,
    },
    /// An fsync.
    Flush {
        /// The handle, by its number.
        handle: HandleId,
    },
    /// The numbers or names of this operation are drawn each time.
    Drawn(u32),
    /// Waits so many microseconds.
    Sleep {
        /// Microseconds.
        us: u32,
    },
    /// Waits until the pass is so many microseconds old.
    Until {
        /// Microseconds.
        us: u64,
    },
    /// What follows, to the end, so many times; `end` is the number of the end.
    Loop {
        /// How often.
        times: u64,
        /// The number of the operation that ends it.
        end: u32,
    },
    /// The end of a loop.
    EndLoop {
        /// The number of the operation that begins it.
        start: u32,
    },
    /// Says that this point is reached.
    SetPoint {
        /// The number of the point.
        point: u64,
    },
    /// Waits until a client has reached a point.
    WaitPoint {
        /// The client that is waited for.
        client: u32,
        /// The number of the point.
        point: u64,
    },
    /// Draws a random string.
    DrawText {
        /// Which of the ten strings it becomes.
        into: u8,
        /// The text.
        text: u32,
    },
}

/// What a line expects of its operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Expected {
    /// It succeeds.
    Success,
    /// It fails.
    Failure,
    /// Either is right.
    Either,
}

/// A line that is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Op {
    /// What is to be done.
    pub operation: Operation,
    /// The line in its file.
    pub line: u32,
    /// The status that stands at its end.
    pub status: u16,
}

/// An operation whose numbers or names are drawn when it is done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Drawn {
    /// The kind of operation.
    pub kind: Kind,
    /// Its names.
    pub names: Vec<Template>,
    /// Its numbers, in the order of the line.
    pub numbers: Vec<Number>,
}

/// A status that lines end with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Status {
    /// The text.
    pub text: String,
    /// What it says of the outcome.
    pub expected: Expected,
}

/// A load.
#[derive(Debug, Default)]
pub(crate) struct Load {
    /// The operations, in order.
    pub ops: Vec<Op>,
    /// Its names.
    pub names: Vec<Template>,
    /// The number that each handle has in the file.
    pub handles: Vec<u64>,
    /// The number of each handle of the file.
    pub handle_ids: HashMap<u64, HandleId>,
    /// The different statuses.
    pub statuses: Vec<Status>,
    /// The operations that are drawn, by their number.
    pub drawn: Vec<Drawn>,
    /// The random strings, by their number.
    pub texts: Vec<RandomText>,
    /// What was accepted but is questionable, with line and column.
    pub warnings: Vec<String>,
    /// Lines of the file that were taken.
    pub lines: u32,
}

impl Load {
    /// Operations of each kind in a pass, those in loops once.
    pub(crate) fn counts(&self) -> [u64; Kind::COUNT] {
        let mut counts = [0; Kind::COUNT];
        for kind in self.ops.iter().filter_map(|op| self.kind(op.operation)) {
            counts[kind as usize] += 1;
        }
        counts
    }

    /// The kind of what is to be done; directives have none.
    pub(crate) fn kind(&self, operation: Operation) -> Option<Kind> {
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
    pub(crate) fn status(&self, op: &Op) -> &Status {
        &self.statuses[usize::from(op.status)]
    }
}

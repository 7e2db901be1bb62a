//! Language of load files: lines of operations, parsed once and shared by all clients.
//!
//! `words` splits lines, `numbers` and `text` parse their words, `parse` builds the operations, and
//! `generate` writes a load of our own with the published mix.

pub mod generate;
mod numbers;
mod parse;
#[cfg(test)]
mod tests;
mod text;
mod verbs;
mod words;

use std::collections::HashMap;

pub(crate) use numbers::LoadNumber;
pub(crate) use parse::{LineRange, parse};
pub(crate) use text::{PathTemplate, RandomText};
pub(crate) use verbs::long_name;

/// Index of a name of the load.
pub(crate) type NameId = u32;
/// Index of a handle of the load.
pub(crate) type HandleId = u32;

treering_model::named_enum! {
    /// The kinds of operation, in the order of the original's table.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
    #[repr(u8)]
    pub(crate) enum OperationKind {
        /// Opens or creates a file or a directory.
        NtCreateX = "NTCreateX",
        /// Closes a handle.
        Close = "Close",
        /// Renames.
        Rename = "Rename",
        /// Removes a file, or files that match a pattern.
        Unlink = "Unlink",
        /// Removes a directory with everything in it.
        Deltree = "Deltree",
        /// Removes an empty directory.
        Rmdir = "Rmdir",
        /// Creates a directory.
        Mkdir = "Mkdir",
        /// Looks a name up.
        Qpathinfo = "Qpathinfo",
        /// Looks an open file up.
        Qfileinfo = "Qfileinfo",
        /// Asks for the free space.
        Qfsinfo = "Qfsinfo",
        /// Sets the times of an open file.
        Sfileinfo = "Sfileinfo",
        /// Lists a directory.
        Find = "Find",
        /// Writes.
        WriteX = "WriteX",
        /// Reads.
        ReadX = "ReadX",
        /// Locks a range of bytes.
        LockX = "LockX",
        /// Unlocks a range of bytes.
        UnlockX = "UnlockX",
        /// An fsync.
        Flush = "Flush",
    }
}

impl OperationKind {
    /// Number of kinds.
    pub(crate) const COUNT: usize = Self::ALL.len();
}

/// Create disposition of an open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CreateDisposition {
    /// Opens an existing file; fails if it is missing.
    Open,
    /// Opens the file, or creates it if it is missing.
    Create,
    /// Opens or creates the file and truncates it.
    Overwrite,
}

/// Operation of a load; names and handles are indices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operation {
    /// `NTCreateX`.
    Create {
        /// Index of the name.
        name: NameId,
        /// Index of the handle.
        handle: HandleId,
        /// Create disposition.
        how: CreateDisposition,
        /// True for a directory.
        directory: bool,
    },
    /// Closes a handle.
    Close {
        /// Index of the handle.
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
        /// Index of the name.
        name: NameId,
    },
    /// Removes a directory with everything in it.
    Deltree {
        /// Index of the name.
        name: NameId,
    },
    /// Removes an empty directory.
    Rmdir {
        /// Index of the name.
        name: NameId,
    },
    /// Creates a directory.
    Mkdir {
        /// Index of the name.
        name: NameId,
    },
    /// `QUERY_PATH_INFORMATION`.
    QueryPath {
        /// Index of the name.
        name: NameId,
    },
    /// `QUERY_FILE_INFORMATION`.
    QueryFile {
        /// Index of the handle.
        handle: HandleId,
    },
    /// `QUERY_FS_INFORMATION`.
    QueryFs,
    /// `SET_FILE_INFORMATION`.
    SetFile {
        /// Index of the handle.
        handle: HandleId,
    },
    /// Lists a directory.
    Find {
        /// Index of the name.
        name: NameId,
        /// Maximum number of listed entries.
        most: u32,
    },
    /// `WriteX`.
    Write {
        /// Index of the handle.
        handle: HandleId,
        /// Bytes from the start of the file.
        offset: u64,
        /// Requested bytes.
        bytes: u32,
        /// Bytes that moved when the load was recorded.
        moved: u32,
    },
    /// `ReadX`.
    Read {
        /// Index of the handle.
        handle: HandleId,
        /// Bytes from the start of the file.
        offset: u64,
        /// Requested bytes.
        bytes: u32,
        /// Bytes that moved when the load was recorded.
        moved: u32,
    },
    /// `LockX` or `UnlockX`.
    Lock {
        /// Index of the handle.
        handle: HandleId,
        /// The first byte of the range.
        start: u32,
        /// Requested bytes.
        bytes: u32,
        /// True locks the range; false unlocks it.
        locks: bool,
    },
    /// An fsync.
    Flush {
        /// Index of the handle.
        handle: HandleId,
    },
    /// Index of an operation whose numbers or names are drawn each time.
    Drawn(u32),
    /// Waits.
    Sleep {
        /// Microseconds.
        us: u32,
    },
    /// Waits until this many microseconds after the start of the pass.
    Until {
        /// Microseconds.
        us: u64,
    },
    /// Repeats the operations up to `end`.
    Loop {
        /// Number of repetitions.
        times: u64,
        /// Index of the matching `EndLoop`.
        end: u32,
    },
    /// The end of a loop.
    EndLoop {
        /// Index of the matching `Loop`.
        start: u32,
    },
    /// Sets a sync point.
    SetPoint {
        /// The number of the point.
        point: u64,
    },
    /// Waits until a client has reached a point.
    WaitPoint {
        /// Client to wait for.
        client: u32,
        /// The number of the point.
        point: u64,
    },
    /// Draws a random string.
    DrawText {
        /// Index of the string to set, 0 to 9.
        into: u8,
        /// The text.
        text: u32,
    },
}

/// Expected outcome of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ExpectedOutcome {
    /// The operation succeeds.
    Success,
    /// The operation fails.
    Failure,
    /// Both outcomes are accepted.
    Either,
}

/// Executable line of a load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LoadLine {
    /// Operation to carry out.
    pub operation: Operation,
    /// Line number in the load file.
    pub line: u32,
    /// Index of the status at the end of the line.
    pub status: u16,
}

/// Operation with numbers or names that are drawn at run time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct DrawnOperation {
    /// The kind of operation.
    pub kind: OperationKind,
    /// Names of the operation.
    pub names: Vec<PathTemplate>,
    /// Numbers, in the order of the line.
    pub numbers: Vec<LoadNumber>,
}

/// A status that lines end with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StatusCode {
    /// The text.
    pub text: String,
    /// Expected outcome of the line.
    pub expected: ExpectedOutcome,
}

/// A load.
#[derive(Debug, Default)]
pub(crate) struct Load {
    /// The operations, in order.
    pub ops: Vec<LoadLine>,
    /// Names used by the operations.
    pub names: Vec<PathTemplate>,
    /// Handle numbers as written in the file, by handle index.
    pub handles: Vec<u64>,
    /// Handle index of each number written in the file.
    pub handle_ids: HashMap<u64, HandleId>,
    /// Distinct statuses.
    pub statuses: Vec<StatusCode>,
    /// Drawn operations, by their index.
    pub drawn: Vec<DrawnOperation>,
    /// Random strings, by their index.
    pub texts: Vec<RandomText>,
    /// Warnings about accepted but questionable input, with line and column.
    pub warnings: Vec<String>,
    /// Number of lines that were parsed.
    pub lines: u32,
}

impl Load {
    /// Number of operations of each kind in a pass; loops are counted once.
    pub(crate) fn counts(&self) -> [u64; OperationKind::COUNT] {
        let mut counts = [0; OperationKind::COUNT];
        for kind in self.ops.iter().filter_map(|op| self.kind(op.operation)) {
            counts[kind as usize] += 1;
        }
        counts
    }

    /// Kind of an operation; `None` for directives.
    pub(crate) fn kind(&self, operation: Operation) -> Option<OperationKind> {
        Some(match operation {
            Operation::Create { .. } => OperationKind::NtCreateX,
            Operation::Close { .. } => OperationKind::Close,
            Operation::Rename { .. } => OperationKind::Rename,
            Operation::Unlink { .. } => OperationKind::Unlink,
            Operation::Deltree { .. } => OperationKind::Deltree,
            Operation::Rmdir { .. } => OperationKind::Rmdir,
            Operation::Mkdir { .. } => OperationKind::Mkdir,
            Operation::QueryPath { .. } => OperationKind::Qpathinfo,
            Operation::QueryFile { .. } => OperationKind::Qfileinfo,
            Operation::QueryFs => OperationKind::Qfsinfo,
            Operation::SetFile { .. } => OperationKind::Sfileinfo,
            Operation::Find { .. } => OperationKind::Find,
            Operation::Write { .. } => OperationKind::WriteX,
            Operation::Read { .. } => OperationKind::ReadX,
            Operation::Lock { locks: true, .. } => OperationKind::LockX,
            Operation::Lock { locks: false, .. } => OperationKind::UnlockX,
            Operation::Flush { .. } => OperationKind::Flush,
            Operation::Drawn(number) => self.drawn.get(number as usize)?.kind,
            _ => return None,
        })
    }

    /// The status at the end of an operation's line.
    pub(crate) fn status(&self, op: &LoadLine) -> &StatusCode {
        &self.statuses[usize::from(op.status)]
    }
}

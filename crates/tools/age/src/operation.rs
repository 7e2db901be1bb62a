//! Operations on the files of a profile.

/// An existing file or unit; a unit is a directory of files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LiveFile {
    pub(super) id: u64,
    /// Number of its directory within the population.
    pub(super) directory: u64,
    /// Bytes of the file, or of all files of the unit.
    pub(super) bytes: u64,
    /// Number of files of a unit; `None` for a plain file.
    pub(super) files: Option<u64>,
}

/// Change to one file, unit or set of files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum OperationAction {
    /// Creates a file or unit.
    Create(LiveFile),
    /// Appends bytes; the file is as before the append.
    Append(LiveFile, u64),
    /// Overwrites in place: file, offset, bytes.
    Overwrite(LiveFile, u64, u64),
    /// Truncates the file to zero and writes bytes.
    Rewrite(LiveFile, u64),
    /// Writes a file of these bytes and renames it over the old one.
    Replace(LiveFile, u64),
    /// Moves the file to the directory of this number.
    Rename(LiveFile, u64),
    /// Deletes the file or unit.
    Delete(LiveFile),
    /// Deletes the listed files after writing one of their total size.
    Compact(Vec<LiveFile>, LiveFile),
    /// Writes a copy of a file: the original and the new file.
    Copy(LiveFile, LiveFile),
    /// Makes a copy of a file that shares its blocks.
    Reflink(LiveFile, LiveFile),
    /// Punches a hole: file, offset, bytes.
    Punch(LiveFile, u64, u64),
}

/// Operation drawn from the model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Operation {
    /// Index of the population in the model.
    pub(super) files: usize,
    pub(super) action: OperationAction,
    pub(super) fsync: bool,
}

impl Operation {
    /// Creates one of the initial files of a population.
    pub(super) const fn birth(files: usize, live: LiveFile) -> Self {
        Self { files, action: OperationAction::Create(live), fsync: false }
    }
}

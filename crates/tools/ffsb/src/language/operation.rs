//! Operations of FFSB in its order: names, locking and accounting.

/// An operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub(crate) enum Operation {
    /// Reads some bytes of a file.
    Read,
    /// Reads a whole file.
    ReadAll,
    /// Overwrites some bytes of a file.
    Write,
    /// Creates a file.
    Create,
    /// Makes a file longer.
    Append,
    /// Removes a file.
    Delete,
    /// Creates, renames or removes a directory.
    MetaOp,
    /// Creates a directory.
    CreateDir,
    /// Looks a file up.
    Stat,
    /// Overwrites a whole file.
    WriteAll,
    /// `WriteAll` followed by an fsync.
    WriteAllFsync,
    /// Opens and closes a file.
    OpenClose,
    /// `Write` with an fsync at the end.
    WriteFsync,
    /// `Create` with an fsync at the end.
    CreateFsync,
    /// `Append` with an fsync at the end.
    AppendFsync,
}

impl Operation {
    /// Every operation, in the order of their numbers: that of the original's tables.
    pub(crate) const ALL: [Self; 15] = [
        Self::Read,
        Self::ReadAll,
        Self::Write,
        Self::Create,
        Self::Append,
        Self::Delete,
        Self::MetaOp,
        Self::CreateDir,
        Self::Stat,
        Self::WriteAll,
        Self::WriteAllFsync,
        Self::OpenClose,
        Self::WriteFsync,
        Self::CreateFsync,
        Self::AppendFsync,
    ];

    /// Number of operations.
    pub(crate) const COUNT: usize = Self::ALL.len();

    /// The name in tables; a profile's key is this and `_weight`.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::ReadAll => "readall",
            Self::Write => "write",
            Self::Create => "create",
            Self::Append => "append",
            Self::Delete => "delete",
            Self::MetaOp => "metaop",
            Self::CreateDir => "createdir",
            Self::Stat => "stat",
            Self::WriteAll => "writeall",
            Self::WriteAllFsync => "writeall_fsync",
            Self::OpenClose => "open_close",
            Self::WriteFsync => "write_fsync",
            Self::CreateFsync => "create_fsync",
            Self::AppendFsync => "append_fsync",
        }
    }

    /// Index in tables.
    pub(crate) const fn place(self) -> usize {
        self as usize
    }

    /// True if the operation reads file content.
    pub(crate) const fn reads(self) -> bool {
        matches!(self, Self::Read | Self::ReadAll)
    }

    /// True if the operation writes file content.
    pub(crate) const fn writes(self) -> bool {
        matches!(
            self,
            Self::Write
                | Self::WriteFsync
                | Self::WriteAll
                | Self::WriteAllFsync
                | Self::Create
                | Self::CreateFsync
                | Self::Append
                | Self::AppendFsync
        )
    }

    /// True if the operation ends with an fsync.
    pub(crate) const fn syncs(self) -> bool {
        matches!(
            self,
            Self::WriteFsync | Self::WriteAllFsync | Self::CreateFsync | Self::AppendFsync
        )
    }

    /// True if the operation creates a file.
    pub(crate) const fn makes(self) -> bool {
        matches!(self, Self::Create | Self::CreateFsync)
    }

    /// True if the operation grows a file.
    pub(crate) const fn appends(self) -> bool {
        matches!(self, Self::Append | Self::AppendFsync)
    }

    /// True if the operation may be used to age a filesystem.
    pub(crate) const fn ages(self) -> bool {
        self.makes() || self.appends() || matches!(self, Self::Delete)
    }
}

#[cfg(test)]
mod tests {
    use super::Operation;

    #[test]
    fn numbers_and_names_agree() {
        for (number, operation) in Operation::ALL.into_iter().enumerate() {
            assert_eq!(operation.place(), number);
            assert_eq!(operation.syncs(), operation.name().ends_with("_fsync"));
        }
    }
}

//! Operations of FFSB in its order: names, locking and accounting.

treering_model::named_enum! {
    /// An operation.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
    #[repr(u8)]
    pub(crate) enum Operation {
        /// Reads some bytes of a file.
        Read = "read",
        /// Reads a whole file.
        ReadAll = "readall",
        /// Overwrites some bytes of a file.
        Write = "write",
        /// Creates a file.
        Create = "create",
        /// Makes a file longer.
        Append = "append",
        /// Removes a file.
        Delete = "delete",
        /// Creates, renames or removes a directory.
        MetaOp = "metaop",
        /// Creates a directory.
        CreateDir = "createdir",
        /// Looks a file up.
        Stat = "stat",
        /// Overwrites a whole file.
        WriteAll = "writeall",
        /// `WriteAll` followed by an fsync.
        WriteAllFsync = "writeall_fsync",
        /// Opens and closes a file.
        OpenClose = "open_close",
        /// `Write` with an fsync at the end.
        WriteFsync = "write_fsync",
        /// `Create` with an fsync at the end.
        CreateFsync = "create_fsync",
        /// `Append` with an fsync at the end.
        AppendFsync = "append_fsync",
    }
}

impl Operation {
    /// Number of operations.
    pub(crate) const COUNT: usize = Self::ALL.len();

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

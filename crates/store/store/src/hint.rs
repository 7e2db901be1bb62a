//! Advice for each kind of error, one line each. The errors are in `error`.

use crate::StoreError;

impl StoreError {
    /// Advice on the error; `None` where the message is sufficient.
    pub const fn hint(&self) -> Option<&'static str> {
        Some(match self {
            Self::Missing { .. } => "run a workload first, or name another store with --store FILE",
            Self::Empty { .. } => "it has no records yet",
            Self::NotAFile { .. } => "name a file, not its directory",
            Self::Denied { .. } => {
                "check the owner and mode of the file and of its directory, or name another store"
            }
            Self::NotSqlite { .. } | Self::OtherApplication { .. } => {
                "name a store that treering made; treering never writes to other files"
            }
            Self::UnknownFormat { .. } => "use the newer version of treering that wrote it",
            Self::NewerFormat { .. } => {
                "write with the newer treering that made it, or name a new store; reading it works"
            }
            Self::Schema { .. } => {
                "the file was edited or crafted: restore a backup, or ask its maker for a pack"
            }
            Self::Damaged { .. } | Self::TooMuchWork { .. } => {
                "copy the file (with its -wal file) and try `sqlite3 FILE .recover`, or restore a \
                 backup"
            }
            Self::Content { .. } => {
                "a newer treering recorded it, or the file was edited: update, or restore a backup"
            }
            Self::Busy { .. } => "another treering is writing; try again when it is done",
            Self::Full { .. } => "free some space, or name a store on another filesystem",
            Self::NoSuchTrial { .. } => "`treering list` shows the trials of a store and their IDs",
            Self::StillRecorded { .. } => "try again when `treering list` shows that it has ended",
            Self::Ambiguous { .. } => "give more characters of the ID",
            Self::Io { .. }
            | Self::ReadOnly { .. }
            | Self::AlreadyThere { .. }
            | Self::Order(_)
            | Self::Unstorable { .. }
            | Self::Sqlite { .. } => return None,
        })
    }
}

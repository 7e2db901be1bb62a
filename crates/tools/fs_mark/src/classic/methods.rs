//! Sync methods and subdirectory policies, with the numbers and names of the original.

/// The sync methods of the original, by their numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SyncMethod {
    /// 0: none.
    Nothing,
    /// 1: fsync before each close.
    Inband,
    /// 2: sync, then the first file reopened and fsynced.
    SystemFirst,
    /// 3: every file reopened and fsynced, last one first.
    Reverse,
    /// 4: sync, then every file reopened and fsynced, last one first.
    SystemReverse,
    /// 5: every file reopened and fsynced, in order.
    Post,
    /// 6: sync, then every file reopened and fsynced, in order.
    SystemPost,
}

/// Files that are reopened and fsynced after all are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ReopenOrder {
    /// No file.
    Nothing,
    /// The first.
    First,
    /// All files, in the order in which they were written.
    Forward,
    /// All files in reverse order.
    Backward,
}

impl SyncMethod {
    /// All methods, in the order of their numbers.
    pub(crate) const ALL: [Self; 7] = [
        Self::Nothing,
        Self::Inband,
        Self::SystemFirst,
        Self::Reverse,
        Self::SystemReverse,
        Self::Post,
        Self::SystemPost,
    ];

    /// The word of the native option.
    pub(crate) const fn word(self) -> &'static str {
        match self {
            Self::Nothing => "none",
            Self::Inband => "fsync",
            Self::SystemFirst => "sync-first",
            Self::Reverse => "reverse",
            Self::SystemReverse => "sync-reverse",
            Self::Post => "post",
            Self::SystemPost => "sync-post",
        }
    }

    /// The method of a word or a number.
    pub(crate) fn from_text(text: &str) -> Option<Self> {
        let of_number = text.parse::<usize>().ok().and_then(|number| Self::ALL.get(number));
        of_number.copied().or_else(|| Self::ALL.into_iter().find(|method| method.word() == text))
    }

    /// True if the filesystem is synced after the files are written.
    pub(crate) const fn syncs(self) -> bool {
        matches!(self, Self::SystemFirst | Self::SystemReverse | Self::SystemPost)
    }

    /// Files that are reopened and fsynced after all files were written.
    pub(crate) const fn reopened(self) -> ReopenOrder {
        match self {
            Self::Nothing | Self::Inband => ReopenOrder::Nothing,
            Self::SystemFirst => ReopenOrder::First,
            Self::Reverse | Self::SystemReverse => ReopenOrder::Backward,
            Self::Post | Self::SystemPost => ReopenOrder::Forward,
        }
    }
}

/// Choice of the subdirectory of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SubdirPolicy {
    /// No subdirectories.
    Flat,
    /// Next subdirectory after every [`HASH_SECONDS`].
    TimeHash {
        /// Number of subdirectories.
        subdirs: u32,
    },
    /// Next subdirectory after a number of files.
    RoundRobin {
        /// Number of subdirectories.
        subdirs: u32,
        /// Files per turn; 0 stays in one subdirectory.
        files: u64,
    },
    /// Random subdirectory for each file, drawn from the seed.
    Random {
        /// Number of subdirectories.
        subdirs: u32,
    },
}

/// Seconds that the time hash stays in one subdirectory.
pub(crate) const HASH_SECONDS: u64 = 180;

impl SubdirPolicy {
    /// Number of subdirectories of each root.
    pub(crate) const fn subdirs(self) -> u32 {
        match self {
            Self::Flat => 0,
            Self::TimeHash { subdirs }
            | Self::RoundRobin { subdirs, .. }
            | Self::Random { subdirs } => subdirs,
        }
    }

    /// Files per turn of a subdirectory; `None` if turns are not counted in files.
    pub(crate) const fn files(self) -> Option<u64> {
        match self {
            Self::RoundRobin { files, .. } => Some(files),
            Self::Flat | Self::TimeHash { .. } | Self::Random { .. } => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::SyncMethod;

    #[test]
    fn sync_methods_parse_from_numbers_and_words() {
        for (number, method) in SyncMethod::ALL.into_iter().enumerate() {
            assert_eq!(SyncMethod::from_text(&number.to_string()), Some(method));
            assert_eq!(SyncMethod::from_text(method.word()), Some(method));
        }
        for wrong in ["7", "-1", "", "Fsync", "99999999999999999999999"] {
            assert_eq!(SyncMethod::from_text(wrong), None, "{wrong}");
        }
    }
}

//! The twelve tests, in the order in which they are run and printed.

/// Test of bonnie++; there are twelve.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub(crate) enum Test {
    /// Writes the large file byte by byte.
    CharWrite,
    /// Writes the large file in chunks.
    BlockWrite,
    /// Reads, changes and writes back each chunk.
    Rewrite,
    /// Reads the large file byte by byte.
    CharRead,
    /// Reads the large file in chunks.
    BlockRead,
    /// Reads random chunks, and writes some back.
    Seeks,
    /// Creates files in the order of their names.
    SequentialCreate,
    /// Stats the files in directory order.
    SequentialStat,
    /// Deletes the files in directory order.
    SequentialDelete,
    /// Creates files with random names.
    RandomCreate,
    /// Stats the files in random order.
    RandomStat,
    /// Deletes the files in random order.
    RandomDelete,
}

/// Unit of a test's rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RateUnit {
    /// Bytes of the large file.
    Bytes,
    /// Seeks, each with a read.
    Seeks,
    /// Files created, looked up or removed.
    Files,
}

impl Test {
    /// Tests in the order of a run.
    pub(crate) const ALL: [Self; 12] = [
        Self::CharWrite,
        Self::BlockWrite,
        Self::Rewrite,
        Self::CharRead,
        Self::BlockRead,
        Self::Seeks,
        Self::SequentialCreate,
        Self::SequentialStat,
        Self::SequentialDelete,
        Self::RandomCreate,
        Self::RandomStat,
        Self::RandomDelete,
    ];

    /// Number of tests.
    pub(crate) const COUNT: usize = Self::ALL.len();

    /// Name of its phase and tasks, also in imported results.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::CharWrite => "per-char write",
            Self::BlockWrite => "block write",
            Self::Rewrite => "rewrite",
            Self::CharRead => "per-char read",
            Self::BlockRead => "block read",
            Self::Seeks => "seeks",
            Self::SequentialCreate => "sequential create",
            Self::SequentialStat => "sequential stat",
            Self::SequentialDelete => "sequential delete",
            Self::RandomCreate => "random create",
            Self::RandomStat => "random stat",
            Self::RandomDelete => "random delete",
        }
    }

    /// Test of this name, with blanks or hyphens.
    pub(crate) fn from_name(name: &str) -> Option<Self> {
        let plain = |name: &str| name.replace('-', " ");
        Self::ALL.into_iter().find(|test| plain(test.name()) == plain(name))
    }

    /// Index in tables, and number in prompts.
    pub(crate) const fn place(self) -> usize {
        self as usize
    }

    /// True if the test works on the large file.
    pub(crate) const fn is_io(self) -> bool {
        matches!(self.counted(), RateUnit::Bytes | RateUnit::Seeks)
    }

    /// True if the test transfers single bytes.
    pub(crate) const fn is_per_char(self) -> bool {
        matches!(self, Self::CharWrite | Self::CharRead)
    }

    /// Unit of the test's rate.
    pub(crate) const fn counted(self) -> RateUnit {
        match self {
            Self::Seeks => RateUnit::Seeks,
            Self::CharWrite
            | Self::BlockWrite
            | Self::Rewrite
            | Self::CharRead
            | Self::BlockRead => RateUnit::Bytes,
            _ => RateUnit::Files,
        }
    }

    /// True if the files have the names of the random tests.
    pub(crate) const fn is_random(self) -> bool {
        matches!(self, Self::RandomCreate | Self::RandomStat | Self::RandomDelete)
    }

    /// True if the test makes the files of later tests.
    pub(crate) const fn makes(self) -> bool {
        matches!(
            self,
            Self::CharWrite | Self::BlockWrite | Self::SequentialCreate | Self::RandomCreate
        )
    }
}

#[cfg(test)]
mod tests {
    use super::Test;

    #[test]
    fn tests_are_found_by_their_names() {
        for (place, test) in Test::ALL.into_iter().enumerate() {
            assert_eq!(test.place(), place);
            assert_eq!(Test::from_name(test.name()), Some(test));
            assert_eq!(Test::from_name(&test.name().replace(' ', "-")), Some(test));
        }
        assert_eq!(Test::from_name("write"), None);
    }
}

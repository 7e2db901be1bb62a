//! The twelve tests, in the order in which they are run and printed.

treering_model::named_enum! {
    /// Test of bonnie++; there are twelve.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
    #[repr(u8)]
    pub(crate) enum Test {
        /// Writes the large file byte by byte.
        CharWrite = "per-char write",
        /// Writes the large file in chunks.
        BlockWrite = "block write",
        /// Reads, changes and writes back each chunk.
        Rewrite = "rewrite",
        /// Reads the large file byte by byte.
        CharRead = "per-char read",
        /// Reads the large file in chunks.
        BlockRead = "block read",
        /// Reads random chunks, and writes some back.
        Seeks = "seeks",
        /// Creates files in the order of their names.
        SequentialCreate = "sequential create",
        /// Stats the files in directory order.
        SequentialStat = "sequential stat",
        /// Deletes the files in directory order.
        SequentialDelete = "sequential delete",
        /// Creates files with random names.
        RandomCreate = "random create",
        /// Stats the files in random order.
        RandomStat = "random stat",
        /// Deletes the files in random order.
        RandomDelete = "random delete",
    }
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
    /// Number of tests.
    pub(crate) const COUNT: usize = Self::ALL.len();

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

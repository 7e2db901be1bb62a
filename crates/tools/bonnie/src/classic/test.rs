//! The twelve tests, in the order in which they are run and printed.

/// One of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub(crate) enum Test {
    /// The large file is written by single bytes.
    CharWrite,
    /// It is written by chunks.
    BlockWrite,
    /// Each chunk is read, changed and written again.
    Rewrite,
    /// It is read by single bytes.
    CharRead,
    /// It is read by chunks.
    BlockRead,
    /// Chunks anywhere in it are read, some written.
    Seeks,
    /// Files are created in the order of their names.
    SequentialCreate,
    /// They are looked up in that order.
    SequentialStat,
    /// They are removed in that order.
    SequentialDelete,
    /// Files are created in random order.
    RandomCreate,
    /// They are looked up in random order.
    RandomStat,
    /// They are removed in random order.
    RandomDelete,
}

/// What a rate of a test counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Counted {
    /// Bytes of the large file.
    Bytes,
    /// Seeks, each with a read.
    Seeks,
    /// Files.
    Files,
}

impl Test {
    /// All of them.
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

    /// How many there are.
    pub(crate) const COUNT: usize = Self::ALL.len();

    /// The name of its phase and of its tasks: what imported results call it, too.
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

    /// The test of this name; hyphens may stand for its blanks.
    pub(crate) fn from_name(name: &str) -> Option<Self> {
        let plain = |name: &str| name.replace('-', " ");
        Self::ALL.into_iter().find(|test| plain(test.name()) == plain(name))
    }

    /// Its place in tables, and its number in prompts.
    pub(crate) const fn place(self) -> usize {
        self as usize
    }

    /// Whether it works on the large file.
    pub(crate) const fn is_io(self) -> bool {
        matches!(self.counted(), Counted::Bytes | Counted::Seeks)
    }

    /// Whether it moves single bytes.
    pub(crate) const fn is_per_char(self) -> bool {
        matches!(self, Self::CharWrite | Self::CharRead)
    }

    /// What its rate counts.
    pub(crate) const fn counted(self) -> Counted {
        match self {
            Self::Seeks => Counted::Seeks,
            Self::CharWrite
            | Self::BlockWrite
            | Self::Rewrite
            | Self::CharRead
            | Self::BlockRead => Counted::Bytes,
            _ => Counted::Files,
        }
    }

    /// Whether files have the names of the random tests.
    pub(crate) const fn is_random(self) -> bool {
        matches!(self, Self::RandomCreate | Self::RandomStat | Self::RandomDelete)
    }

    /// Whether it makes what later tests work on.
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
    fn names_lead_back_to_their_tests() {
        for (place, test) in Test::ALL.into_iter().enumerate() {
            assert_eq!(test.place(), place);
            assert_eq!(Test::from_name(test.name()), Some(test));
            assert_eq!(Test::from_name(&test.name().replace(' ', "-")), Some(test));
        }
        assert_eq!(Test::from_name("write"), None);
    }
}
